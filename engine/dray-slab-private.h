/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Buffers for file data, allocated once and used again. */
#pragma once

#include <stddef.h>

/* Bytes of each buffer. 256 KiB is where read() and write() are at their best: larger ones fall out
 * of the second-level cache (tests/performance/README.md). */
#define DRAY_SLAB_BYTES ((size_t) 256 << 10)

/**
 * dray_slab_take:
 *
 * Threads: any; waits for none.
 *
 * Returns: (transfer full) (nullable): %DRAY_SLAB_BYTES bytes, page-aligned, of any content; to be
 * given back with dray_slab_give(). %NULL when memory is short.
 */
void *dray_slab_take (void);

/** dray_slab_give: @buffer (transfer full) (nullable): from dray_slab_take(). Threads: any. */
void dray_slab_give (void *buffer);
