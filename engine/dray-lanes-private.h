/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One big range copied by two threads at once. */
#pragma once

#include "engine/dray-transfer-private.h"

/* Bytes from which a second thread is worth starting (tests/performance/README.md). */
#define DRAY_LANES_LEAST ((uint64_t) 128 << 20)

/**
 * dray_lanes_transfer:
 * @transfer: as for dray_transfer_range()
 * @offset: (inout): where to begin; moved on to where all bytes are in place
 * @end: where to stop, at most the size that the source was opened with
 *
 * Copies a range by reading and writing on the calling thread and on one more, so that the copy out
 * of the page cache overlaps the copy into it. The other thread is never more than a few MiB ahead
 * of the calling one, so whoever holds that up in a progress callback holds up the copy; it calls
 * nobody back and is gone when this returns.
 *
 * A source that was cut meanwhile ends the copy where it was cut.
 *
 * Errors: as dray_transfer_range().
 *
 * Returns: 0 or -errno.
 */
int dray_lanes_transfer (DrayTransfer *transfer, uint64_t *offset, uint64_t end);
