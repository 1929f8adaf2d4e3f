/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The slot itself. */
#pragma once

#include <gio/gio.h>

/**
 * dray_copy_slot:
 *
 * GFileIface.copy for local files. Takes the copy, or declines it to what was in the slot before
 * us, which is GIO's own code.
 *
 * Threads: any; the progress callback runs on the calling one.
 * Errors: %G_IO_ERROR_NOT_SUPPORTED when declined, and then nothing has happened; else what stock
 * would say. FALSE never comes without an error, which GIO would crash on.
 */
gboolean dray_copy_slot (GFile *source, GFile *destination, GFileCopyFlags flags,
                         GCancellable *cancellable, GFileProgressCallback progress_callback,
                         gpointer progress_callback_data, GError **error);
