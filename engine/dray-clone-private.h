/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sharing extents: let the file system do it, first. */
#pragma once

#include "engine/dray-transfer-private.h"

/* The three ways in which a kernel method can fail to do its work. */
typedef enum
{
  DRAY_ATTEMPT_DONE,
  DRAY_ATTEMPT_UNSUITED, /* never here, or not this time; the destination is as before: go on */
  DRAY_ATTEMPT_FAILED,   /* a real error */
} DrayAttempt;

/**
 * dray_clone_file:
 * @transfer: an open pair; the destination is empty
 * @out_error: (out): -errno, set only with %DRAY_ATTEMPT_FAILED
 *
 * Clones the whole file in one call, as stock does, so that the extents are the same. Before that
 * it writes out what of a big source is still dirty, piece by piece: the clone would have to do the
 * same, but deaf to cancellation.
 *
 * Threads: the one that owns @transfer.
 * Errors: -ECANCELED; the destination could not be emptied again. Whatever else keeps the kernel
 * from cloning also keeps a copy from working, or does not matter to it.
 */
DrayAttempt dray_clone_file (DrayTransfer *transfer, int *out_error);
