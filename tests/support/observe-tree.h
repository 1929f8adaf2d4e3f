/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* All that can be seen of a folder, as text that can be compared. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/**
 * observe_tree:
 * @folder: looked at with all below it, of any depth
 *
 * One line for each file, sorted by name, and one more for each xattr: type, mode, owner, links,
 * size, sum of the content, whether extents are shared, inode flags, times. A time that the clock
 * has set within the last minutes reads "recent"; of a folder no times are told, and no links.
 * Allocation is not part of the text, see observe_blocks().
 *
 * Looking may change access times. What the caller owns and may not read is made readable for the
 * look.
 *
 * Returns: (transfer full): lines
 */
char *observe_tree (const char *folder);

/**
 * observe_blocks:
 * @file: flushed first
 * @out_bytes: (out): allocated to it
 *
 * Returns: (transfer full): the map of data and holes, one word for each range
 */
char *observe_blocks (const char *file, uint64_t *out_bytes);

/**
 * observe_is_shared:
 * @file: a regular file
 *
 * Returns: whether FIEMAP tells extents that other files have too
 */
bool observe_is_shared (const char *file);
