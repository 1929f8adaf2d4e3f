/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copies the files of a folder by the engine's door, without GIO, and prints microseconds:
 * batch-copy one|batch SOURCE-FOLDER DESTINATION-FOLDER, each file for itself or all at once. */
#include "config.h"
#include "engine/dray-engine.h"

#include <fcntl.h>
#include <glib.h>
#include <string.h>

int
main (int argc, char *argv[])
{
  if (argc != 4)
    {
      g_printerr ("usage: %s one|batch SOURCE-FOLDER DESTINATION-FOLDER\n", argv[0]);
      return 2;
    }

  g_autoptr (GDir) folder = g_dir_open (argv[2], 0, NULL);
  g_autoptr (GPtrArray) paths = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GArray) requests = g_array_new (FALSE, TRUE, sizeof (DrayCopyRequest));
  const char *name;

  while (folder != NULL && (name = g_dir_read_name (folder)) != NULL)
    {
      DrayCopyRequest request = { .source_dir = AT_FDCWD, .dest_dir = AT_FDCWD };

      request.source = g_build_filename (argv[2], name, NULL);
      request.dest = g_build_filename (argv[3], name, NULL);
      g_ptr_array_add (paths, (char *) request.source);
      g_ptr_array_add (paths, (char *) request.dest);
      g_array_append_val (requests, request);
    }

  g_autofree DrayCopyReport *reports = g_new0 (DrayCopyReport, requests->len);
  const DrayCopyRequest *first = (const DrayCopyRequest *) (void *) requests->data;
  const gint64 started = g_get_monotonic_time ();
  if (strcmp (argv[1], "batch") == 0)
    dray_engine_submit (first, requests->len, NULL, reports);
  else
    for (guint i = 0; i < requests->len; i++)
      dray_engine_submit (&first[i], 1, NULL, &reports[i]);
  const gint64 took = g_get_monotonic_time () - started;

  for (guint i = 0; i < requests->len; i++)
    if (reports[i].outcome != DRAY_OUTCOME_COPIED)
      {
        g_printerr ("%s: not copied\n", first[i].source);
        return 1;
      }
  g_print ("%" G_GINT64_FORMAT " %u\n", took, requests->len);
  return 0;
}
