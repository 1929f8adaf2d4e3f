/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Moving bytes: short reads, short writes and pacing end here. */
#pragma once

#include "engine/dray-plan-private.h"
#include "engine/dray-pulse-private.h"

/* One file's bytes under way. */
typedef struct
{
  int source_fd;         /* (not owned) */
  int dest_fd;           /* (not owned) new and empty at the beginning */
  const DrayFacts *facts; /* (not owned) */
  DrayPlan plan;
  void *buffer;          /* (not owned) DRAY_SLAB_BYTES */
  DrayPulseFile *pulse;  /* (not owned) */
  DrayCopyReport *report; /* (not owned) method, bytes, calls and sparse are kept up to date */
  size_t chunk;          /* bytes of the next call of an in-kernel method; 0 before the first */
} DrayTransfer;

/**
 * dray_transfer_file:
 * @transfer: an open pair and its plan
 * @out_end: (out): length of the destination in bytes, set only on success
 *
 * Brings all bytes across: clone, else ranges of data, else everything. A source that grows is
 * followed to its end, one that shrinks ends early; neither is an error.
 *
 * Threads: the one that owns @transfer.
 * Errors: -ECANCELED; else what the system call said.
 *
 * Returns: 0 or -errno.
 */
int dray_transfer_file (DrayTransfer *transfer, uint64_t *out_end);

/**
 * dray_transfer_chunk:
 * @transfer: its descriptors alone are used
 * @buffer: %DRAY_SLAB_BYTES of the calling thread's own
 * @offset: (inout): where to begin, bytes; moved on to where it ended, also on failure
 * @length: bytes, at most %DRAY_SLAB_BYTES
 * @out_calls: (inout): the system calls that moved bytes are added
 *
 * Reads once and writes all of what came.
 *
 * Threads: any, several at once on different ranges.
 *
 * Returns: 0 or -errno.
 */
int dray_transfer_chunk (const DrayTransfer *transfer, void *buffer, uint64_t *offset,
                         size_t length, uint64_t *out_calls);

/**
 * dray_transfer_range:
 * @offset: (inout): where to begin, bytes; moved on to where it ended, also on failure
 * @end: where to stop, or %UINT64_MAX for the end of the file, wherever that will be
 *
 * Brings one range across. Ends before @end only where the source does.
 *
 * Returns: 0 or -errno.
 */
int dray_transfer_range (DrayTransfer *transfer, uint64_t *offset, uint64_t end);
