/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files to copy: many small ones, and a big one. */
#pragma once

#include <glib.h>
#include <stdint.h>

/**
 * dray_demo_files_make_small:
 * @folder: empty
 * @n_files: files of 4 KiB; one more of another size and with other metadata for each 20
 *
 * Returns: FALSE with @error set.
 */
gboolean dray_demo_files_make_small (const char *folder, guint n_files, GError **error);

/**
 * dray_demo_files_make_big:
 * @folder: empty
 * @size: bytes
 *
 * Writes a file of bytes that no file system can compress or leave out.
 *
 * Returns: FALSE with @error set.
 */
gboolean dray_demo_files_make_big (const char *folder, uint64_t size, GError **error);

/**
 * dray_demo_files_measure_free:
 * @folder: any
 *
 * Returns: bytes that we may still write where @folder is; 0 when that cannot be found out.
 */
uint64_t dray_demo_files_measure_free (const char *folder);

/**
 * dray_demo_files_measure_used:
 * @folder: with folders in it
 *
 * Returns: bytes of all regular files in it.
 */
uint64_t dray_demo_files_measure_used (const char *folder);
