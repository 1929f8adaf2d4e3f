/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One copying pass, as a file manager makes it: serially, a callback and a cancellable for each
 * file. A process of its own, since a module stays loaded for as long as a process lives. */
#include "config.h"
#include "tools/dray-copy-loop-private.h"

#include <gio/gio.h>

#define ATTRIBUTES G_FILE_ATTRIBUTE_STANDARD_NAME "," G_FILE_ATTRIBUTE_STANDARD_TYPE

static void
progress_cb (goffset current, goffset total, gpointer user_data)
{
  (void) current;
  (void) total;
  (void) user_data;
}

static gboolean copy_folder (GFile *source, GFile *dest, GCancellable *cancellable, guint *n_files,
                             GError **error);

static gboolean
copy_child (GFile *child, GFileType type, GFile *target, GCancellable *cancellable, guint *n_files,
            GError **error)
{
  switch (type)
    {
    case G_FILE_TYPE_DIRECTORY:
      return g_file_make_directory (target, cancellable, error) &&
             copy_folder (child, target, cancellable, n_files, error);

    case G_FILE_TYPE_REGULAR:
    case G_FILE_TYPE_SYMBOLIC_LINK:
      *n_files += 1;
      return g_file_copy (child, target, G_FILE_COPY_NOFOLLOW_SYMLINKS, cancellable, progress_cb,
                          NULL, error);

    case G_FILE_TYPE_SPECIAL:
    case G_FILE_TYPE_SHORTCUT:
    case G_FILE_TYPE_MOUNTABLE:
    case G_FILE_TYPE_UNKNOWN:
      break;
    }
  return TRUE;
}

static gboolean
copy_folder (GFile *source, GFile *dest, GCancellable *cancellable, guint *n_files, GError **error)
{
  g_autoptr (GFileEnumerator) files = g_file_enumerate_children (
      source, ATTRIBUTES, G_FILE_QUERY_INFO_NOFOLLOW_SYMLINKS, cancellable, error);

  if (files == NULL)
    return FALSE;
  while (TRUE)
    {
      GFileInfo *info;
      GFile *child;

      if (!g_file_enumerator_iterate (files, &info, &child, cancellable, error))
        return FALSE;
      if (info == NULL)
        return TRUE;
      g_autoptr (GFile) target = g_file_get_child (dest, g_file_info_get_name (info));
      if (!copy_child (child, g_file_info_get_file_type (info), target, cancellable, n_files,
                       error))
        {
          g_prefix_error (error, "%s: ", g_file_peek_path (child));
          return FALSE;
        }
    }
}

int
dray_copy_loop_run (int argc, char *argv[])
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;
  guint n_files = 0;

  if (argc != 3)
    {
      g_printerr ("usage: dray copy-loop SOURCE-FOLDER DESTINATION-FOLDER\n");
      return 2;
    }

  g_autoptr (GFile) source = g_file_new_for_path (argv[1]);
  g_autoptr (GFile) dest = g_file_new_for_path (argv[2]);
  const gint64 started = g_get_monotonic_time ();
  if (!copy_folder (source, dest, cancellable, &n_files, &error))
    {
      g_printerr ("%s\n", error->message);
      return 1;
    }
  g_print ("%" G_GINT64_FORMAT " %u\n", g_get_monotonic_time () - started, n_files);
  return 0;
}
