/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The words of stock GIO for what the engine reports. */
#include "config.h"
#include "vfs-shims/dray-error-private.h"

/* As stock words it, in GLib's translation. Besides, GLib binds its text domain (its folder, and
 * UTF-8 whatever the locale) when it looks up its first message, which is this one if no other. */
static GError *
make_cancelled_error (void)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  GError *error = NULL;

  g_cancellable_cancel (cancellable);
  (void) g_cancellable_set_error_if_cancelled (cancellable, &error);
  return error;
}

void
dray_error_set_failed (GError **error, const DrayCopyReport *report)
{
  g_autoptr (GError) cancelled = make_cancelled_error ();
  const int error_number = -report->error;
  GIOErrorEnum code = g_io_error_from_errno (error_number);

  if (report->step == DRAY_STEP_CANCEL)
    {
      g_propagate_error (error, g_steal_pointer (&cancelled));
      return;
    }

  /* All data of a local copy goes through splice() or copy_file_range() in stock, and both say
   * "splicing" (gio/gfile.c). */
  const char *format = report->step == DRAY_STEP_CLOSE ? "Error closing file: %s"
                                                       : "Error splicing file: %s";
  /* GIO would take this one for a decline and start over, though we have begun. */
  if (code == G_IO_ERROR_NOT_SUPPORTED)
    code = G_IO_ERROR_FAILED;
  g_set_error (error, G_IO_ERROR, (gint) code, g_dgettext ("glib20", format),
               g_strerror (error_number));
}

void
dray_error_set_declined (GError **error, DrayDecline reason)
{
  g_set_error_literal (error, G_IO_ERROR, G_IO_ERROR_NOT_SUPPORTED,
                       dray_decline_get_name (reason));
}
