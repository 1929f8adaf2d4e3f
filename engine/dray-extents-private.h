/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where a file has data: holes stay holes. */
#pragma once

#include "engine/dray-transfer-private.h"

/**
 * dray_extents_transfer:
 * @transfer: as for dray_transfer_file()
 * @out_end: (out): length of the destination in bytes, set only on success
 *
 * Copies the ranges with data, one after the other, and gives the destination its length. A file
 * system that cannot tell data from holes says that all is data.
 *
 * Errors: as dray_transfer_file().
 *
 * Returns: 0 or -errno.
 */
int dray_extents_transfer (DrayTransfer *transfer, uint64_t *out_end);
