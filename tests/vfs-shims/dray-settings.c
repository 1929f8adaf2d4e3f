/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests of vfs-shims/dray-settings.c: words, key files, and which of them wins. */
#include "config.h"
#include "vfs-shims/dray-settings-private.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <unistd.h>

#define FILE_NAME "gio-dray.conf"

/* Built in: what every vector starts from. */
static const DraySettings built_in = { .enabled = true, .trace = false };

static void
test_words_are_taken_in_order (void)
{
  static const struct
  {
    const char *words;
    bool enabled, trace;
  } vectors[] = {
    { NULL, true, false },
    { "", true, false },
    { ",", true, false },
    { "on", true, false },
    { "off", false, false },
    { "trace", true, true },
    { "off,trace", false, true },
    { "trace,off", false, true },
    { "on,off", false, false },
    { "off,on", true, false },
    { "off,off,on,off", false, false },
    { " off ,\ttrace\n", false, true },
    { ",,off,,", false, false },
    /* Not known to this version. */
    { "turbo", true, false },
    { "turbo,off", false, false },
    { "OFF", true, false },
    { "offf", true, false },
    { "of", true, false },
    { "off trace", true, false },
    { "off;trace", true, false },
    { "trace=on", true, false },
    { "0", true, false },
  };

  g_test_summary ("Later words win, spaces do not matter, unknown ones are passed over");
  for (size_t i = 0; i < G_N_ELEMENTS (vectors); i++)
    {
      DraySettings settings = built_in;

      g_test_message ("\"%s\"", vectors[i].words);
      dray_settings_apply_words (&settings, vectors[i].words);
      g_assert_cmpint (settings.enabled, ==, vectors[i].enabled);
      g_assert_cmpint (settings.trace, ==, vectors[i].trace);
    }
}

static void
test_words_change_only_what_they_say (void)
{
  DraySettings settings = { .enabled = false, .trace = true };

  g_test_summary ("Nothing goes back to what is built in");
  dray_settings_apply_words (&settings, "turbo");
  g_assert_false (settings.enabled);
  g_assert_true (settings.trace);
  dray_settings_apply_words (&settings, "on");
  g_assert_true (settings.enabled);
  g_assert_true (settings.trace);
}

/* A new folder, empty. */
static char *
make_folder (void)
{
  const char *parent = g_getenv ("DRAY_TEST_TMP");
  char *folder
    = g_build_filename (parent != NULL ? parent : g_get_tmp_dir (), "settings.XXXXXX", NULL);

  g_assert_nonnull (g_mkdtemp (folder));
  return folder;
}

static void
remove_folder (const char *folder)
{
  g_autofree char *path = g_build_filename (folder, FILE_NAME, NULL);

  (void) g_unlink (path);
  g_assert_no_errno (g_rmdir (folder));
}

static void
write_file (const char *folder, const char *text)
{
  g_autofree char *path = g_build_filename (folder, FILE_NAME, NULL);
  g_autoptr (GError) error = NULL;

  if (text == NULL)
    (void) g_unlink (path);
  else
    g_file_set_contents (path, text, -1, &error);
  g_assert_no_error (error);
}

static void
test_key_files_are_read_or_passed_over (void)
{
  static const struct
  {
    const char *text;
    bool enabled, trace;
  } vectors[] = {
    { "[gio-dray]\nenabled=false\ntrace=true\n", false, true },
    { "[gio-dray]\nenabled=false\n", false, false },
    { "[gio-dray]\ntrace=true\n", true, true },
    { "[gio-dray]\nenabled=true\ntrace=false\n", true, false },
    { "# comment\n\n[other]\nenabled=true\n\n[gio-dray]\n enabled = false\n", false, false },
    { "[gio-dray]\nenabled=false\nlater-key=7\n[later-group]\nx=y\n", false, false },
    /* A value that is no boolean hides only itself. */
    { "[gio-dray]\nenabled=perhaps\ntrace=true\n", true, true },
    { "[gio-dray]\nenabled=\ntrace=true\n", true, true },
    { "[gio-dray]\nenabled=False\n", true, false },
    { "[gio-dray]\nenabled=no\n", true, false },
    /* Not ours. */
    { "", true, false },
    { "[gio-dray]\n", true, false },
    { "[Gio-Dray]\nenabled=false\n", true, false },
    { "[other]\nenabled=false\ntrace=true\n", true, false },
    /* Malformed: all of it is passed over, also what was good. */
    { "enabled=false\n", true, false },
    { "[gio-dray]\nenabled=false\nnot a key file\n", true, false },
    { "[gio-dray\nenabled=false\n", true, false },
    { "\xff\xfe[gio-dray]\nenabled=false\n", true, false },
    { "[gio-dray]\nenabled=\xff\ntrace=true\n", true, true },
  };
  g_autofree char *folder = make_folder ();
  g_autofree char *path = g_build_filename (folder, FILE_NAME, NULL);

  g_test_summary ("Good ones count key by key, bad ones not at all");
  for (size_t i = 0; i < G_N_ELEMENTS (vectors); i++)
    {
      DraySettings settings = built_in;

      g_test_message ("file %zu", i);
      write_file (folder, vectors[i].text);
      dray_settings_apply_file (&settings, path);
      g_assert_cmpint (settings.enabled, ==, vectors[i].enabled);
      g_assert_cmpint (settings.trace, ==, vectors[i].trace);
    }
  remove_folder (folder);
}

static void
test_files_that_cannot_be_read_change_nothing (void)
{
  g_autofree char *folder = make_folder ();
  g_autofree char *path = g_build_filename (folder, FILE_NAME, NULL);
  const char *const vectors[] = { path, folder, "/dev/null", "", "/nowhere/at/all" };

  g_test_summary ("Missing, a folder, empty");
  for (size_t i = 0; i < G_N_ELEMENTS (vectors); i++)
    {
      DraySettings settings = { .enabled = false, .trace = true };

      dray_settings_apply_file (&settings, vectors[i]);
      g_assert_false (settings.enabled);
      g_assert_true (settings.trace);
    }

  if (geteuid () != 0)
    {
      DraySettings settings = built_in;

      write_file (folder, "[gio-dray]\nenabled=false\n");
      g_assert_no_errno (g_chmod (path, 0));
      dray_settings_apply_file (&settings, path);
      g_assert_true (settings.enabled);
    }
  remove_folder (folder);
}

/* The child: what it makes of its environment. */
static void
test_child (void)
{
  if (!g_test_subprocess ())
    {
      g_test_skip ("started by the test of precedence");
      return;
    }

  const DraySettings *settings = dray_settings_get ();

  /* Read once: what changes later does not count. */
  g_setenv ("GIO_DRAY", settings->enabled ? "off,trace" : "on,trace", TRUE);
  g_assert_true (dray_settings_get () == settings);
  g_print ("<enabled=%d trace=%d>\n", settings->enabled, settings->trace);
}

static void
test_environment_beats_user_beats_system (void)
{
  static const char off[] = "[gio-dray]\nenabled=false\n";
  static const char on[] = "[gio-dray]\nenabled=true\n";
  static const char trace[] = "[gio-dray]\ntrace=true\n";
  static const char silent[] = "[gio-dray]\ntrace=false\n";
  static const char bad[] = "[gio-dray]\nenabled=\nthis is no key file\n";
  static const struct
  {
    const char *far;         /* (nullable) the last of the system's folders */
    const char *near;        /* (nullable) the first */
    const char *user;        /* (nullable) */
    const char *environment; /* (nullable) */
    bool enabled, trace;
  } vectors[] = {
    { NULL, NULL, NULL, NULL, true, false },
    { off, NULL, NULL, NULL, false, false },
    { NULL, off, NULL, NULL, false, false },
    { NULL, NULL, off, NULL, false, false },
    { NULL, NULL, NULL, "off", false, false },
    { on, off, NULL, NULL, false, false },
    { off, on, NULL, NULL, true, false },
    { off, off, on, NULL, true, false },
    { on, on, off, NULL, false, false },
    { off, off, off, "on", true, false },
    { on, on, on, "off", false, false },
    { off, off, off, "on,trace", true, true },
    /* Key by key, not file by file. */
    { off, trace, NULL, NULL, false, true },
    { trace, silent, off, NULL, false, false },
    { trace, off, on, NULL, true, true },
    { trace, off, silent, "on", true, false },
    /* A bad file does not hide a good one. */
    { off, bad, bad, NULL, false, false },
    { off, off, off, "", false, false },
    { off, off, off, "turbo", false, false },
  };
  g_autofree char *far = make_folder ();
  g_autofree char *near = make_folder ();
  g_autofree char *user = make_folder ();
  g_autofree char *folders = g_strconcat (near, ":", far, NULL);
  g_autofree char *words = g_strdup (g_getenv ("GIO_DRAY"));
  g_autofree char *built = g_build_filename (SYSCONFDIR, FILE_NAME, NULL);

  g_test_summary ("A process for each row, as settings are read once");
  if (g_file_test (built, G_FILE_TEST_EXISTS))
    g_test_message ("%s exists and is read too", built);
  g_setenv ("XDG_CONFIG_DIRS", folders, TRUE);
  g_setenv ("XDG_CONFIG_HOME", user, TRUE);
  for (size_t i = 0; i < G_N_ELEMENTS (vectors); i++)
    {
      g_autofree char *expected
        = g_strdup_printf ("*<enabled=%d trace=%d>*", vectors[i].enabled, vectors[i].trace);

      g_test_message ("row %zu", i);
      write_file (far, vectors[i].far);
      write_file (near, vectors[i].near);
      write_file (user, vectors[i].user);
      if (vectors[i].environment != NULL)
        g_setenv ("GIO_DRAY", vectors[i].environment, TRUE);
      else
        g_unsetenv ("GIO_DRAY");
      g_test_trap_subprocess ("/vfs-shims/settings/subprocess/child", 0, 0);
      g_test_trap_assert_passed ();
      g_test_trap_assert_stdout (expected);
    }
  if (words != NULL)
    g_setenv ("GIO_DRAY", words, TRUE);
  remove_folder (far);
  remove_folder (near);
  remove_folder (user);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/vfs-shims/settings/words-are-taken-in-order", test_words_are_taken_in_order);
  g_test_add_func ("/vfs-shims/settings/words-change-only-what-they-say",
                   test_words_change_only_what_they_say);
  g_test_add_func ("/vfs-shims/settings/key-files-are-read-or-passed-over",
                   test_key_files_are_read_or_passed_over);
  g_test_add_func ("/vfs-shims/settings/files-that-cannot-be-read-change-nothing",
                   test_files_that_cannot_be_read_change_nothing);
  g_test_add_func ("/vfs-shims/settings/environment-beats-user-beats-system",
                   test_environment_beats_user_beats_system);
  /* GLib passes over what is below "subprocess" unless asked for it. */
  g_test_add_func ("/vfs-shims/settings/subprocess/child", test_child);
  return g_test_run ();
}
