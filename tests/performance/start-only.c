/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a module costs a process that never copies: start-only ROUNDS FOLDER FOLDER starts itself in
 * turn with GIO_EXTRA_MODULES set to each folder, and prints the two medians in microseconds.
 * Without arguments it names a file, which makes GIO load its modules, and ends. */
#include <gio/gio.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>

static int
name_a_file (void)
{
  g_autoptr (GFile) file = g_file_new_for_path ("/");

  return g_file_peek_path (file) == NULL;
}

/* Returns microseconds, or -1. */
static gint64
run_once (const char *program, const char *modules)
{
  char *arguments[] = { (char *) program, NULL };
  g_auto (GStrv) environment
    = g_environ_setenv (g_get_environ (), "GIO_EXTRA_MODULES", modules, TRUE);
  const gint64 started = g_get_monotonic_time ();
  int status;
  pid_t pid;

  if (posix_spawn (&pid, program, NULL, NULL, arguments, environment) != 0 ||
      waitpid (pid, &status, 0) != pid || status != 0)
    return -1;
  return g_get_monotonic_time () - started;
}

static int
compare (const void *one, const void *other)
{
  const gint64 a = *(const gint64 *) one, b = *(const gint64 *) other;

  return (a > b) - (a < b);
}

int
main (int argc, char *argv[])
{
  if (argc == 1)
    return name_a_file ();

  const size_t n_rounds = argc == 4 ? strtoul (argv[1], NULL, 10) : 0;
  if (n_rounds == 0)
    {
      g_printerr ("usage: %s [ROUNDS FOLDER FOLDER]\n", argv[0]);
      return 2;
    }

  gint64 *times[2] = { g_new (gint64, n_rounds), g_new (gint64, n_rounds) };
  for (size_t i = 0; i < n_rounds; i++)
    for (size_t variant = 0; variant < 2; variant++)
      {
        times[variant][i] = run_once ("/proc/self/exe", argv[2 + variant]);
        if (times[variant][i] < 0)
          return 1;
      }
  for (size_t variant = 0; variant < 2; variant++)
    qsort (times[variant], n_rounds, sizeof *times[variant], compare);
  g_print ("%" G_GINT64_FORMAT " %" G_GINT64_FORMAT "\n", times[0][n_rounds / 2],
           times[1][n_rounds / 2]);

  g_free (times[0]);
  g_free (times[1]);
  return 0;
}
