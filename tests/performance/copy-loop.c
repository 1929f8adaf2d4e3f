/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copies every file of a folder with g_file_copy(), serially, as a file manager does, and prints
 * microseconds: copy-loop SOURCE-FOLDER DESTINATION-FOLDER */
#include <gio/gio.h>
#include <stdlib.h>

static void
progress_cb (goffset current, goffset total, gpointer user_data)
{
  (void) current;
  (void) total;
  (void) user_data;
}

int
main (int argc, char *argv[])
{
  g_autoptr (GError) error = NULL;

  if (argc != 3)
    {
      g_printerr ("usage: %s SOURCE-FOLDER DESTINATION-FOLDER\n", argv[0]);
      return 2;
    }

  g_autoptr (GFile) source = g_file_new_for_path (argv[1]);
  g_autoptr (GFile) dest = g_file_new_for_path (argv[2]);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GFileEnumerator) files
    = g_file_enumerate_children (source, G_FILE_ATTRIBUTE_STANDARD_NAME,
                                 G_FILE_QUERY_INFO_NOFOLLOW_SYMLINKS, NULL, &error);
  unsigned n_files = 0;
  const gint64 started = g_get_monotonic_time ();

  while (error == NULL)
    {
      GFileInfo *info;
      GFile *child;

      if (!g_file_enumerator_iterate (files, &info, &child, NULL, &error) || info == NULL)
        break;
      g_autoptr (GFile) target = g_file_get_child (dest, g_file_info_get_name (info));
      if (!g_file_copy (child, target, G_FILE_COPY_NOFOLLOW_SYMLINKS, cancellable, progress_cb,
                        NULL, &error))
        break;
      n_files++;
    }
  if (error != NULL)
    {
      g_printerr ("%s\n", error->message);
      return 1;
    }

  g_print ("%" G_GINT64_FORMAT " %u\n", g_get_monotonic_time () - started, n_files);
  return 0;
}
