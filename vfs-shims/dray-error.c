/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The words of stock GIO for what the engine reports. */
#include "config.h"
#include "vfs-shims/dray-error-private.h"

/* Messages of GLib are looked up where GLib's translators put them. */
#define GLIB_TEXT(message) g_dgettext ("glib20", message)

void
dray_error_set_failed (GError **error, const DrayCopyReport *report)
{
  const int error_number = -report->error;
  GIOErrorEnum code = g_io_error_from_errno (error_number);
  /* All data of a local copy goes through splice() or copy_file_range() in stock, and both say
   * "splicing" (gio/gfile.c). */
  const char *format = "Error splicing file: %s";

  switch (report->step)
    {
    case DRAY_STEP_CANCEL:
      /* As g_cancellable_set_error_if_cancelled() has it. */
      g_set_error_literal (error, G_IO_ERROR, G_IO_ERROR_CANCELLED,
                           GLIB_TEXT ("Operation was cancelled"));
      return;
    case DRAY_STEP_CLOSE:
      format = "Error closing file: %s";
      break;
    case DRAY_STEP_TRANSFER:
    case DRAY_STEP_NONE:
      break;
    }

  if (code == G_IO_ERROR_NOT_SUPPORTED)
    code = G_IO_ERROR_FAILED;
  G_GNUC_BEGIN_IGNORE_DEPRECATIONS
  g_set_error (error, G_IO_ERROR, code, GLIB_TEXT (format), g_strerror (error_number));
  G_GNUC_END_IGNORE_DEPRECATIONS
}

void
dray_error_set_declined (GError **error, DrayDecline reason)
{
  g_set_error_literal (error, G_IO_ERROR, G_IO_ERROR_NOT_SUPPORTED,
                       dray_decline_get_name (reason));
}
