/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From the engine's counts to GIO's. How often is the engine's to decide (dray-pulse). */
#include "config.h"
#include "vfs-shims/dray-progress-private.h"

static void
progress_cb (uint64_t current, uint64_t total, void *user_data)
{
  DrayProgress *progress = user_data;

  progress->callback ((goffset) current, (goffset) total, progress->callback_data);
}

static bool
cancelled_cb (void *user_data)
{
  DrayProgress *progress = user_data;

  return g_cancellable_is_cancelled (progress->cancellable) != FALSE;
}

void
dray_progress_init_monitor (DrayProgress *progress, DrayCopyMonitor *out_monitor)
{
  *out_monitor = (DrayCopyMonitor) {
    .progress_cb = progress->callback != NULL ? progress_cb : NULL,
    .cancelled_cb = progress->cancellable != NULL ? cancelled_cb : NULL,
    .user_data = progress,
  };
}
