/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* GLocalFile, which GIO does not show: its type and its copy slot. */
#pragma once

#include <gio/gio.h>
#include <stdbool.h>

/* GFileIface.copy. */
typedef gboolean (*DrayCopySlot) (GFile *source,
                                  GFile *destination,
                                  GFileCopyFlags flags,
                                  GCancellable *cancellable,
                                  GFileProgressCallback progress_callback,
                                  gpointer progress_callback_data,
                                  GError **error);

/**
 * dray_local_file_take_copy_slot:
 * @slot: to be called from now on when a local file is the destination (or the source beside a
 *   file of another type) of g_file_copy()
 *
 * Threads: once in a process.
 *
 * Returns: false, and nothing is changed, when GIO's local files are not called GLocalFile.
 */
bool dray_local_file_take_copy_slot (DrayCopySlot slot);

/**
 * dray_local_file_get_previous_slot:
 *
 * Returns: (nullable): what was in the slot before ours; %NULL in every GLib from 2.63 on unless
 * another module came first.
 */
DrayCopySlot dray_local_file_get_previous_slot (void);

/**
 * dray_local_file_is_local:
 * @file: any file
 *
 * Returns: whether @file is a GLocalFile, which also means that g_file_peek_path() costs nothing.
 */
bool dray_local_file_is_local (GFile *file);
