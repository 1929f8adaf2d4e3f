/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A temporary folder that is gone at the end. Signals only set a flag and end the child, so that
 * the removal stands in one place, on the way out. */
#include "config.h"
#include "tools/dray-workplace-private.h"

#include <errno.h>
#include <ftw.h>
#include <glib/gi18n.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static volatile sig_atomic_t interrupted = 0;
static volatile sig_atomic_t watched_child = 0;

static void
interrupt_cb (int signal_number)
{
  (void) signal_number;
  interrupted = 1;
  if (watched_child > 0)
    (void) kill ((pid_t) watched_child, SIGTERM);
}

char *
dray_workplace_open (const char *base, GError **error)
{
  const char *cache = g_getenv ("XDG_CACHE_HOME");
  const struct sigaction action = { .sa_handler = interrupt_cb };

  if (base == NULL)
    base = cache != NULL && g_path_is_absolute (cache) && g_file_test (cache, G_FILE_TEST_IS_DIR)
             ? cache
             : "/var/tmp";

  g_autofree char *absolute = g_canonicalize_filename (base, NULL);
  g_autofree char *path = g_build_filename (absolute, "gio-dray-demo-XXXXXX", NULL);
  (void) sigaction (SIGINT, &action, NULL);
  (void) sigaction (SIGTERM, &action, NULL);
  (void) sigaction (SIGHUP, &action, NULL);
  if (g_mkdtemp_full (path, 0700) == NULL)
    {
      const int error_number = errno;

      /* Translators: the first %s is a folder's path, the second the reason. */
      g_set_error (error, G_FILE_ERROR, (gint) g_file_error_from_errno (error_number),
                   _ ("Cannot make a folder in “%s”: %s"), base, g_strerror (error_number));
      return NULL;
    }

  return g_steal_pointer (&path);
}

static int
remove_cb (const char *path, const struct stat *stat, int type, struct FTW *place)
{
  (void) stat;
  (void) type;
  (void) place;
  /* What cannot be removed now cannot be removed in another way either; the rest can. */
  (void) remove (path);
  return 0;
}

void
dray_workplace_remove (const char *path)
{
  (void) nftw (path, remove_cb, 64, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

void
dray_workplace_close (const char *path)
{
  if (path != NULL)
    dray_workplace_remove (path);
}

char *
dray_workplace_make_folder (const char *path, const char *name, GError **error)
{
  g_autofree char *folder = g_build_filename (path, name, NULL);

  if (g_mkdir (folder, 0700) != 0)
    {
      const int error_number = errno;

      g_set_error (error, G_FILE_ERROR, (gint) g_file_error_from_errno (error_number),
                   _ ("Cannot make a folder in “%s”: %s"), path, g_strerror (error_number));
      return NULL;
    }
  return g_steal_pointer (&folder);
}

gboolean
dray_workplace_is_interrupted (void)
{
  return interrupted != 0;
}

void
dray_workplace_watch_child (pid_t child)
{
  watched_child = child;
  /* The signal may have come while the child was being started. */
  if (child > 0 && interrupted != 0)
    (void) kill (child, SIGTERM);
}
