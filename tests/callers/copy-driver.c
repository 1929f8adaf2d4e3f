/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One g_file_copy() or g_file_move() as a program asks for it, told in lines that a test can
 * compare. */
#include <dirent.h>
#include <gio/gio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static gboolean move = FALSE;
static int flags = 0;
static int times = 1;
static gint64 cancel_at = -1;
static gboolean tell_process = FALSE;
static gboolean tell_vfs = FALSE;
static char *module_path = NULL;

static const GOptionEntry entries[] = {
  { "move", 0, 0, G_OPTION_ARG_NONE, &move, "g_file_move() instead of g_file_copy()", NULL },
  { "flags", 0, 0, G_OPTION_ARG_INT, &flags, "GFileCopyFlags", "N" },
  { "times", 0, 0, G_OPTION_ARG_INT, &times, "Copy to DEST, DEST.2, DEST.3 ...", "N" },
  { "cancel-at", 0, 0, G_OPTION_ARG_INT64, &cancel_at,
    "Cancel in the progress call that has reached so many bytes", "BYTES" },
  { "tell-process", 0, 0, G_OPTION_ARG_NONE, &tell_process,
    "Say before and after what threads and descriptors there are; no files: only once", NULL },
  { "tell-vfs", 0, 0, G_OPTION_ARG_NONE, &tell_vfs, "Say what the default GVfs is", NULL },
  { "module", 0, 0, G_OPTION_ARG_FILENAME, &module_path, "Load this module as GIO would", "PATH" },
  { .long_name = NULL },
};

typedef struct
{
  GCancellable *cancellable;
  goffset current;
  goffset total;
  gboolean fell;
  GThread *thread;
  gboolean elsewhere;
} Progress;

static void
progress_cb (goffset current, goffset total, gpointer data)
{
  Progress *progress = data;

  progress->fell |= current < progress->current;
  progress->elsewhere |= g_thread_self () != progress->thread;
  progress->current = current;
  progress->total = total;
  if (cancel_at >= 0 && current >= cancel_at)
    g_cancellable_cancel (progress->cancellable);
}

/* What a process carries about: threads, descriptors, and whether the module is in it. */
static void
print_process (void)
{
  g_autoptr (GDir) tasks = g_dir_open ("/proc/self/task", 0, NULL);
  g_autofree char *maps = NULL;
  int n_threads = 0;

  while (tasks != NULL && g_dir_read_name (tasks) != NULL)
    n_threads++;
  g_clear_pointer (&tasks, g_dir_close);
  (void) g_file_get_contents ("/proc/self/maps", &maps, NULL, NULL);
  g_print ("module %s\n", maps != NULL && strstr (maps, "libgiodray") != NULL ? "yes" : "no");
  g_print ("threads %d\n", n_threads);

  DIR *descriptors = opendir ("/proc/self/fd");
  if (descriptors == NULL)
    return;
  for (struct dirent *entry; (entry = readdir (descriptors)) != NULL;)
    {
      g_autofree char *path = g_strdup_printf ("/proc/self/fd/%s", entry->d_name);
      g_autofree char *target = g_file_read_link (path, NULL);
      const int number = atoi (entry->d_name);

      /* Pipes and the like are numbered anew in every run. */
      if (target != NULL && strchr (target, '[') != NULL)
        *strchr (target, '[') = '\0';
      if (entry->d_name[0] != '.' && number > STDERR_FILENO && number != dirfd (descriptors))
        g_print ("descriptor %s\n", target != NULL ? target : "?");
    }
  (void) closedir (descriptors);
}

static gboolean
copy_once (const char *source_path, const char *dest_path)
{
  g_autoptr (GFile) source = g_file_new_for_commandline_arg (source_path);
  g_autoptr (GFile) dest = g_file_new_for_commandline_arg (dest_path);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;
  Progress progress = { .cancellable = cancellable, .current = -1, .thread = g_thread_self () };
  gboolean done = move ? g_file_move (source, dest, (GFileCopyFlags) flags, cancellable,
                                      progress_cb, &progress, &error)
                       : g_file_copy (source, dest, (GFileCopyFlags) flags, cancellable,
                                      progress_cb, &progress, &error);

  if (done != (error == NULL))
    g_print ("result and error disagree\n");
  if (error != NULL)
    g_print ("error %s %d %s\n", g_quark_to_string (error->domain), error->code, error->message);
  else
    g_print ("done last=%" G_GOFFSET_FORMAT "/%" G_GOFFSET_FORMAT "\n", progress.current,
             progress.total);
  if (progress.fell)
    g_print ("progress fell\n");
  if (progress.elsewhere)
    g_print ("progress on another thread\n");
  return done;
}

int
main (int argc, char **argv)
{
  g_autoptr (GOptionContext) context = g_option_context_new ("SOURCE DEST");
  g_autoptr (GError) error = NULL;
  gboolean done = TRUE;

  g_option_context_add_main_entries (context, entries, NULL);
  if (!g_option_context_parse (context, &argc, &argv, &error) ||
      (argc != 3 && !(argc == 1 && tell_process)))
    {
      g_printerr ("%s\n", error != NULL ? error->message : "SOURCE and DEST are needed");
      return 2;
    }

  if (tell_vfs)
    g_print ("vfs %s\n", G_OBJECT_TYPE_NAME (g_vfs_get_default ()));
  if (module_path != NULL)
    {
      GIOModule *module = g_io_module_new (module_path);

      g_print ("loaded %s\n", g_type_module_use (G_TYPE_MODULE (module)) ? "yes" : "no");
    }
  if (tell_process)
    {
      g_autoptr (GFile) folder = g_file_new_for_path ("/");
      g_autoptr (GFileInfo) info =
          g_file_query_info (folder, "*", G_FILE_QUERY_INFO_NONE, NULL, NULL);

      g_print ("asked %s\n", info != NULL ? "yes" : "no");
      print_process ();
    }
  if (argc == 1)
    return 0;

  for (int i = 1; i <= times; i++)
    {
      g_autofree char *dest
        = i == 1 ? g_strdup (argv[2]) : g_strdup_printf ("%s.%d", argv[2], i);

      done &= copy_once (argv[1], dest);
    }
  if (tell_process)
    print_process ();
  return done ? 0 : 1;
}
