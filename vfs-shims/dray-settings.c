/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Key files first, the environment last. */
#include "config.h"
#include "vfs-shims/dray-settings-private.h"

#include <glib.h>
#include <string.h>

#define FILE_NAME "gio-dray.conf"
#define GROUP "gio-dray"

static void
apply_boolean (GKeyFile *file, const char *key, bool *value)
{
  g_autoptr (GError) error = NULL;
  gboolean found = g_key_file_get_boolean (file, GROUP, key, &error);

  if (error == NULL)
    *value = found != FALSE;
}

void
dray_settings_apply_file (DraySettings *settings, const char *path)
{
  g_autoptr (GKeyFile) file = g_key_file_new ();

  if (!g_key_file_load_from_file (file, path, G_KEY_FILE_NONE, NULL))
    return;
  apply_boolean (file, "enabled", &settings->enabled);
  apply_boolean (file, "trace", &settings->trace);
}

void
dray_settings_apply_words (DraySettings *settings, const char *words)
{
  if (words == NULL)
    return;

  g_auto (GStrv) list = g_strsplit (words, ",", -1);
  for (char **word = list; *word != NULL; word++)
    {
      g_strstrip (*word);
      if (strcmp (*word, "on") == 0)
        settings->enabled = true;
      else if (strcmp (*word, "off") == 0)
        settings->enabled = false;
      else if (strcmp (*word, "trace") == 0)
        settings->trace = true;
    }
}

static void
apply_file_in (DraySettings *settings, const char *folder)
{
  g_autofree char *path = g_build_filename (folder, FILE_NAME, NULL);

  dray_settings_apply_file (settings, path);
}

static gpointer
read_all (gpointer data)
{
  static DraySettings settings = { .enabled = true };
  const char *const *folders = g_get_system_config_dirs ();

  (void) data;
  apply_file_in (&settings, SYSCONFDIR);
  /* The first folder is the most important one, so it is read last. */
  for (guint i = g_strv_length ((char **) folders); i > 0; i--)
    apply_file_in (&settings, folders[i - 1]);
  apply_file_in (&settings, g_get_user_config_dir ());
  dray_settings_apply_words (&settings, g_getenv ("GIO_DRAY"));

  return &settings;
}

const DraySettings *
dray_settings_get (void)
{
  static GOnce once = G_ONCE_INIT;

  return g_once (&once, read_all, NULL);
}
