/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One copying pass in a process of its own. Both kinds get the same environment but for the module:
 * no module of the system is loaded in either, not even ours with GIO_DRAY=off. */
#include "config.h"
#include "tools/dray-demo-pass-private.h"

#include "tools/dray-home-private.h"
#include "tools/dray-workplace-private.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <glib/gi18n.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Folders that GIO looks for modules in: one with nothing in it, one with ours alone. */
static char *
make_module_folder (const char *workplace, gboolean with_module, GError **error)
{
  g_autofree char *folder =
      g_build_filename (workplace, with_module ? "module" : "no-module", NULL);
  g_autofree char *module = dray_home_find_module ();
  g_autofree char *link = g_build_filename (folder, "libgiodray.so", NULL);

  if (g_file_test (folder, G_FILE_TEST_IS_DIR))
    return g_steal_pointer (&folder);
  if (with_module && module == NULL)
    {
      g_set_error_literal (error, G_IO_ERROR, G_IO_ERROR_NOT_FOUND,
                           _ ("The module libgiodray.so is neither built nor installed"));
      return NULL;
    }
  if (g_mkdir (folder, 0700) != 0 || (with_module && symlink (module, link) != 0))
    {
      const int error_number = errno;

      g_set_error (error, G_IO_ERROR, (gint) g_io_error_from_errno (error_number),
                   _ ("Cannot write “%s”: %s"), folder, g_strerror (error_number));
      return NULL;
    }
  return g_steal_pointer (&folder);
}

static char **
make_environment (const char *workplace, DrayDemoWho who, GError **error)
{
  g_autofree char *empty = make_module_folder (workplace, FALSE, error);
  g_autofree char *module = empty == NULL || who == DRAY_DEMO_STOCK
                              ? NULL
                              : make_module_folder (workplace, TRUE, error);
  static const char *const words[] = {
    [DRAY_DEMO_STOCK] = "off",
    [DRAY_DEMO_DRAY] = "on",
    [DRAY_DEMO_DRAY_TRACED] = "on,trace",
  };

  if (empty == NULL || (who != DRAY_DEMO_STOCK && module == NULL))
    return NULL;

  char **environment = g_get_environ ();
  environment = g_environ_setenv (environment, "GIO_MODULE_DIR", empty, TRUE);
  environment = g_environ_unsetenv (environment, "GIO_EXTRA_MODULES");
  if (module != NULL)
    environment = g_environ_setenv (environment, "GIO_EXTRA_MODULES", module, TRUE);
  environment = g_environ_setenv (environment, "GIO_USE_VFS", "local", TRUE);
  environment = g_environ_setenv (environment, "GIO_DRAY", words[who], TRUE);
  return environment;
}

/* A file without a name, to catch what a child writes: a pipe would hold it up. */
static int
open_catcher (const char *workplace)
{
  g_autofree char *path = g_build_filename (workplace, "caught-XXXXXX", NULL);
  const int fd = g_mkstemp_full (path, O_RDWR | O_CLOEXEC, 0600);

  if (fd >= 0)
    (void) g_unlink (path);
  return fd;
}

static char *
read_caught (int fd)
{
  g_autoptr (GString) text = g_string_new (NULL);
  char block[4096];
  off_t offset = 0;
  ssize_t got;

  while ((got = pread (fd, block, sizeof block, offset)) > 0)
    {
      g_string_append_len (text, block, got);
      offset += got;
    }
  return g_string_free (g_steal_pointer (&text), FALSE);
}

static int
wait_for (pid_t child)
{
  int status = -1;

  dray_workplace_watch_child (child);
  while (waitpid (child, &status, 0) < 0 && errno == EINTR)
    ;
  dray_workplace_watch_child (0);
  return status;
}

static gboolean
run_caught (char **arguments, char **environment, int out_fd, int error_fd, DrayDemoPass *pass,
            GError **error)
{
  GPid child;

  if (!g_spawn_async_with_fds (NULL, arguments, environment, G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL,
                               &child, -1, out_fd, error_fd, error))
    return FALSE;

  const int status = wait_for (child);
  g_autofree char *said = read_caught (out_fd);
  g_autofree char *complained = read_caught (error_fd);

  if (dray_workplace_is_interrupted ())
    {
      g_set_error_literal (error, G_IO_ERROR, G_IO_ERROR_CANCELLED, _ ("Interrupted"));
      return FALSE;
    }
  if (status != 0 ||
      sscanf (said, "%" G_GINT64_FORMAT " %u", &pass->elapsed_us, &pass->n_files) != 2)
    {
      g_strchomp (complained);
      g_set_error (error, G_IO_ERROR, G_IO_ERROR_FAILED, _ ("The copying process failed: %s"),
                   complained[0] != '\0' ? complained : said);
      return FALSE;
    }
  dray_demo_pass_read_trace (pass, complained);
  return TRUE;
}

gboolean
dray_demo_pass_run (const char *workplace, DrayDemoWho who, const char *source, const char *dest,
                    DrayDemoPass *out_pass, GError **error)
{
  *out_pass = (DrayDemoPass) {
    .methods = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL),
    .reasons = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL),
  };

  g_auto (GStrv) environment = make_environment (workplace, who, error);
  if (environment == NULL)
    return FALSE;

  g_autofree char *program = dray_home_find_program ();
  char *arguments[] = { program, (char *) "copy-loop", (char *) source, (char *) dest, NULL };
  const int out_fd = open_catcher (workplace);
  const int error_fd = open_catcher (workplace);
  gboolean good = FALSE;

  if (out_fd < 0 || error_fd < 0)
    g_set_error (error, G_IO_ERROR, G_IO_ERROR_FAILED, _ ("Cannot make a folder in “%s”: %s"),
                 workplace, g_strerror (errno));
  else
    good = run_caught (arguments, environment, out_fd, error_fd, out_pass, error);
  if (out_fd >= 0)
    (void) close (out_fd);
  if (error_fd >= 0)
    (void) close (error_fd);
  return good;
}

void
dray_demo_pass_clear (DrayDemoPass *pass)
{
  g_clear_pointer (&pass->methods, g_hash_table_unref);
  g_clear_pointer (&pass->reasons, g_hash_table_unref);
}

/* Adds one to the word that stands behind the last @key of a line: what comes before is a path,
 * which may look like anything. */
static void
count_word (GHashTable *counts, const char *line, const char *key)
{
  const char *found = g_strrstr (line, key);

  if (found == NULL)
    return;
  found += strlen (key);
  char *word = g_strndup (found, strcspn (found, " +"));
  const guint n = GPOINTER_TO_UINT (g_hash_table_lookup (counts, word)) + 1;
  g_hash_table_insert (counts, word, GUINT_TO_POINTER (n));
}

void
dray_demo_pass_read_trace (DrayDemoPass *pass, const char *text)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);

  for (char **line = lines; *line != NULL; line++)
    {
      if (g_str_has_prefix (*line, "gio-dray: taken "))
        {
          pass->n_taken++;
          count_word (pass->methods, *line, " method=");
        }
      else if (g_str_has_prefix (*line, "gio-dray: declined "))
        count_word (pass->reasons, *line, " reason=");
    }
}
