/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whether a folder's copy is like the folder. */
#pragma once

#include <glib.h>

/**
 * dray_compare_folders:
 * @source: path of a folder
 * @copy: path of its copy
 * @out_difference: (out) (transfer full) (nullable): words for the first difference
 *
 * Compares the files and symbolic links of two folders and of all folders in them: type, bytes,
 * permissions, modification time to the nanosecond and `user.` xattrs. Opens each file.
 *
 * Returns: number of files that differ or that only @source has.
 */
guint dray_compare_folders (const char *source, const char *copy, char **out_difference);
