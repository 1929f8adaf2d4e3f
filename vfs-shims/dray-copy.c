/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One g_file_copy(): judged here, copied by the engine, answered in GIO's terms. */
#include "config.h"
#include "vfs-shims/dray-copy-private.h"

#include "engine/dray-engine.h"
#include "vfs-shims/dray-eligibility-private.h"
#include "vfs-shims/dray-error-private.h"
#include "vfs-shims/dray-local-file-private.h"
#include "vfs-shims/dray-progress-private.h"
#include "vfs-shims/dray-settings-private.h"
#include "vfs-shims/dray-trace-private.h"

#include <fcntl.h>

static void
judge_and_run (const DrayEligibilityFacts *facts, DrayProgress *progress, DrayCopyReport *report)
{
  const DrayDecline reason = dray_eligibility_judge (facts);
  DrayCopyMonitor monitor;

  if (reason != DRAY_DECLINE_NONE)
    {
      *report = (DrayCopyReport) { .outcome = DRAY_OUTCOME_DECLINED, .decline = reason };
      return;
    }

  const DrayCopyRequest request = {
    .source_dir = AT_FDCWD,
    .dest_dir = AT_FDCWD,
    .source = facts->source_path,
    .dest = facts->dest_path,
    .flags = dray_eligibility_get_copy_flags (facts->flags, glib_minor_version),
  };
  dray_progress_init_monitor (progress, &monitor);
  dray_engine_submit (&request, 1, &monitor, report);
}

gboolean
dray_copy_slot (GFile *source, GFile *destination, GFileCopyFlags flags, GCancellable *cancellable,
                GFileProgressCallback progress_callback, gpointer progress_callback_data,
                GError **error)
{
  const bool source_is_local = dray_local_file_is_local (source);
  const bool dest_is_local = dray_local_file_is_local (destination);
  /* A file of another type may ask its server for a path. */
  const DrayEligibilityFacts facts = {
    .settings = dray_settings_get (),
    .source_is_local = source_is_local,
    .dest_is_local = dest_is_local,
    .source_path = source_is_local ? g_file_peek_path (source) : NULL,
    .dest_path = dest_is_local ? g_file_peek_path (destination) : NULL,
    .flags = (unsigned) flags,
  };
  DrayProgress progress = { progress_callback, progress_callback_data, cancellable };
  const gint64 started = facts.settings->trace ? g_get_monotonic_time () : 0;
  DrayCopyReport report;

  judge_and_run (&facts, &progress, &report);
  if (facts.settings->trace)
    dray_trace_print (&report, facts.source_path, facts.dest_path,
                      g_get_monotonic_time () - started);

  switch (report.outcome)
    {
    case DRAY_OUTCOME_COPIED:
      return TRUE;
    case DRAY_OUTCOME_FAILED:
      dray_error_set_failed (error, &report);
      return FALSE;
    case DRAY_OUTCOME_DECLINED:
      break;
    }

  DrayCopySlot previous = dray_local_file_get_previous_slot ();
  if (previous != NULL)
    return previous (source, destination, flags, cancellable, progress_callback,
                     progress_callback_data, error);
  dray_error_set_declined (error, report.decline);
  return FALSE;
}
