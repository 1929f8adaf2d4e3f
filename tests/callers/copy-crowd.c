/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Many copies at once, and copies on both sides of a fork(), told in lines that a test can compare.
 */
#include <gio/gio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define N_THREADS 32

static const char *source_folder;
static const char *dest_folder;
static int n_files;

static GFile *
numbered (const char *folder, int number)
{
  g_autofree char *name = g_strdup_printf ("%d", number);
  g_autofree char *path = g_build_filename (folder, name, NULL);

  return g_file_new_for_path (path);
}

/* One line in one piece, also from a forked child. */
static void
tell (const char *who, int number, const GError *error)
{
  g_autofree char *line
    = error == NULL ? g_strdup_printf ("%s %d done\n", who, number)
                    : g_strdup_printf ("%s %d error %s %d\n", who, number,
                                       g_quark_to_string (error->domain), error->code);

  if (write (STDOUT_FILENO, line, strlen (line)) < 0)
    _exit (3);
}

/* --- g_file_copy_async(), all at once ----------------------------------------------------------
 */

typedef struct
{
  int number;
  goffset current;
  goffset total;
  guint n_calls;
} AsyncCopy;

static GThread *main_thread;
static GMainLoop *loop;
static int n_waiting;
static gboolean elsewhere = FALSE;
static gboolean fell = FALSE;
static gboolean late = FALSE;

static void
async_progress_cb (goffset current, goffset total, gpointer data)
{
  AsyncCopy *copy = data;

  elsewhere |= g_thread_self () != main_thread;
  fell |= current < copy->current;
  late |= copy->number < 0;
  copy->current = current;
  copy->total = total;
  copy->n_calls++;
}

static void
async_copied_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  AsyncCopy *copy = data;
  g_autoptr (GError) error = NULL;
  const gboolean done = g_file_copy_finish (G_FILE (source), result, &error);

  if (done != (error == NULL))
    g_print ("result and error disagree\n");
  elsewhere |= g_thread_self () != main_thread;
  tell ("async", copy->number, error);
  if (done && (copy->n_calls == 0 || copy->current != copy->total))
    g_print ("%d: last progress %" G_GOFFSET_FORMAT " of %" G_GOFFSET_FORMAT "\n", copy->number,
             copy->current, copy->total);
  copy->number = -1;
  if (--n_waiting == 0)
    g_main_loop_quit (loop);
}

static void
copy_async (void)
{
  AsyncCopy *copies = g_new0 (AsyncCopy, (gsize) n_files);

  main_thread = g_thread_self ();
  loop = g_main_loop_new (NULL, FALSE);
  n_waiting = n_files;
  /* A context that nobody owns would be taken by the first worker with something to report
   * (g_main_context_invoke()). */
  if (!g_main_context_acquire (NULL))
    g_print ("the main context is not ours\n");
  for (int i = 0; i < n_files; i++)
    {
      g_autoptr (GFile) source = numbered (source_folder, i);
      g_autoptr (GFile) dest = numbered (dest_folder, i);

      copies[i].number = i;
      g_file_copy_async (source, dest, G_FILE_COPY_NONE, G_PRIORITY_DEFAULT, NULL,
                         async_progress_cb, &copies[i], async_copied_cb, &copies[i]);
    }
  g_main_loop_run (loop);
  while (g_main_context_iteration (NULL, FALSE))
    ;
  g_main_context_release (NULL);
  if (elsewhere)
    g_print ("a callback ran on another thread\n");
  if (fell)
    g_print ("progress fell\n");
  if (late)
    g_print ("progress after the end\n");
  g_main_loop_unref (loop);
  g_free (copies);
}

/* --- threads -----------------------------------------------------------------------------------
 */

static int n_winners = 0;

static gpointer
copy_share (gpointer data)
{
  const int first = GPOINTER_TO_INT (data);
  g_autoptr (GFile) any = numbered (source_folder, 0);
  g_autoptr (GFile) contested = g_file_new_build_filename (dest_folder, "contested", NULL);
  g_autoptr (GError) lost = NULL;

  for (int i = first; i < n_files; i += N_THREADS)
    {
      g_autoptr (GFile) source = numbered (source_folder, i);
      g_autoptr (GFile) dest = numbered (dest_folder, i);
      g_autoptr (GError) error = NULL;

      (void) g_file_copy (source, dest, G_FILE_COPY_NONE, NULL, NULL, NULL, &error);
      tell ("thread", i, error);
    }

  if (g_file_copy (any, contested, G_FILE_COPY_NONE, NULL, NULL, NULL, &lost))
    g_atomic_int_inc (&n_winners);
  else if (!g_error_matches (lost, G_IO_ERROR, G_IO_ERROR_EXISTS))
    tell ("contested", first, lost);
  return NULL;
}

static void
copy_in_threads (void)
{
  GThread *threads[N_THREADS];

  for (int i = 0; i < N_THREADS; i++)
    threads[i] = g_thread_new ("copies", copy_share, GINT_TO_POINTER (i));
  for (int i = 0; i < N_THREADS; i++)
    (void) g_thread_join (threads[i]);
  g_print ("winners %d\n", n_winners);
}

/* --- fork() between copies ---------------------------------------------------------------------
 */

static void
copy_as (const char *who)
{
  for (int i = 0; i < n_files; i++)
    {
      g_autofree char *name = g_strdup_printf ("%s-%d", who, i);
      g_autoptr (GFile) source = numbered (source_folder, i);
      g_autoptr (GFile) dest = g_file_new_build_filename (dest_folder, name, NULL);
      g_autoptr (GError) error = NULL;

      (void) g_file_copy (source, dest, G_FILE_COPY_NONE, NULL, NULL, NULL, &error);
      tell (who, i, error);
    }
}

static void
wait_for (pid_t child)
{
  int status;

  if (waitpid (child, &status, 0) != child || status != 0)
    g_print ("a child ended with %d\n", status);
}

static void
copy_and_fork (void)
{
  copy_as ("parent");
  pid_t child = fork ();
  if (child == 0)
    {
      copy_as ("child");
      pid_t grandchild = fork ();
      if (grandchild == 0)
        {
          copy_as ("grandchild");
          _exit (0);
        }
      wait_for (grandchild);
      copy_as ("child-again");
      _exit (0);
    }
  copy_as ("parent-beside");
  wait_for (child);
  copy_as ("parent-again");
}

int
main (int argc, char **argv)
{
  if (argc != 5)
    {
      g_printerr ("usage: %s async|threads|fork SOURCE-FOLDER N-FILES DEST-FOLDER\n", argv[0]);
      return 2;
    }
  source_folder = argv[2];
  n_files = atoi (argv[3]);
  dest_folder = argv[4];

  if (strcmp (argv[1], "async") == 0)
    copy_async ();
  else if (strcmp (argv[1], "threads") == 0)
    copy_in_threads ();
  else if (strcmp (argv[1], "fork") == 0)
    copy_and_fork ();
  else
    return 2;
  return 0;
}
