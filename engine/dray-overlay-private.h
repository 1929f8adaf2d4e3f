/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What an overlayfs mount is made of, from the mount table. */
#pragma once

#include "engine/dray-filesystem-private.h"

/**
 * dray_overlay_find:
 * @fd: a descriptor on the overlay
 *
 * Reads the mount's layers from /proc/self/mountinfo and looks each up in the table.
 *
 * Threads: any.
 *
 * Returns: a row that is taken when every layer can be seen from here and is taken by itself
 * (one row for layers that clone, one for others), else a row that is not.
 */
const DrayFilesystem *dray_overlay_find (int fd);

/**
 * dray_overlay_judge_line:
 * @line: one line of /proc/self/mountinfo
 * @mount_id: the mount that is looked for
 * @find_layer: says what file system a layer's path is on
 * @out_filesystem: (out): set only when true is returned
 *
 * Parses one line; apart from @find_layer no system call. Spaces and colons in names are escaped
 * there as `\040` and `\:` (proc(5), Documentation/filesystems/overlayfs.rst).
 *
 * Returns: whether the line is the mount's.
 */
bool dray_overlay_judge_line (const char *line, uint64_t mount_id,
                              const DrayFilesystem *(*find_layer) (const char *path),
                              const DrayFilesystem **out_filesystem);
