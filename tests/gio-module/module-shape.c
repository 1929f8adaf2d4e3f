/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests of the module as a file: what it exports, what it needs, and how GIO is told of it. */
#include "config.h"

#include <gio/gio.h>
#include <glib/gstdio.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Runs a program, or returns NULL after the test was skipped (or, where nothing may be missing,
 * failed). */
static char *
run (const char *const *arguments)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *output = NULL;
  int status;

  if (!g_spawn_sync (NULL, (char **) arguments, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &output,
                     NULL, &status, &error))
    {
      if (g_strcmp0 (g_getenv ("DRAY_TEST_REQUIRE"), "1") == 0)
        g_assert_no_error (error);
      g_test_skip (error->message);
      return NULL;
    }
  g_assert_cmpint (status, ==, 0);
  return g_steal_pointer (&output);
}

/* The third column of nm(1), sorted: names with their versions. */
static GPtrArray *
list_symbols (const char *which)
{
  const char *const arguments[] = { "nm", "-D", which, g_getenv ("DRAY_TEST_MODULE"), NULL };
  g_autofree char *output = run (arguments);
  GPtrArray *names = g_ptr_array_new_with_free_func (g_free);

  if (output == NULL)
    {
      g_ptr_array_unref (names);
      return NULL;
    }
  g_auto (GStrv) lines = g_strsplit (output, "\n", -1);
  for (char **line = lines; *line != NULL; line++)
    if (**line != '\0')
      g_ptr_array_add (names, g_strdup (strrchr (*line, ' ') + 1));
  return names;
}

static char *
read_beside (const char *path)
{
  g_autoptr (GError) error = NULL;
  char *text = NULL;

  g_file_get_contents (path, &text, NULL, &error);
  g_assert_no_error (error);
  return text;
}

static int
compare_names (gconstpointer one, gconstpointer other)
{
  return strcmp (*(char *const *) one, *(char *const *) other);
}

static void
test_exports_are_those_listed (void)
{
  g_autoptr (GPtrArray) names = list_symbols ("--defined-only");
  g_autoptr (GString) text = g_string_new (NULL);

  g_test_summary ("gio-dray.symbols, no more and no less");
  if (names == NULL)
    return;
  g_ptr_array_sort (names, compare_names);
  for (guint i = 0; i < names->len; i++)
    g_string_append_printf (text, "%s\n", (char *) names->pdata[i]);
  g_autofree char *expected = read_beside (g_getenv ("DRAY_TEST_SYMBOLS"));
  g_assert_cmpstr (text->str, ==, expected);
}

static void
test_imports_existed_in_glib_2_66 (void)
{
  g_autoptr (GPtrArray) names = list_symbols ("--undefined-only");
  g_autofree char *list = read_beside (g_test_get_filename (G_TEST_DIST, "imports-of-2.66", NULL));
  g_auto (GStrv) known = g_strsplit (list, "\n", -1);
  unsigned n_checked = 0;

  g_test_summary ("A name that is not on the list: add it if GLib 2.66 declares it");
  if (names == NULL)
    return;
  for (guint i = 0; i < names->len; i++)
    {
      const char *name = names->pdata[i];

      if (!g_str_has_prefix (name, "g_") && !g_str_has_prefix (name, "glib_"))
        continue;
      n_checked++;
      if (!g_strv_contains ((const char *const *) known, name))
        {
          g_test_message ("%s is not on the list", name);
          g_test_fail ();
        }
    }
  g_assert_cmpuint (n_checked, >, 30);
}

static void
test_list_of_imports_is_sorted (void)
{
  g_autofree char *list = read_beside (g_test_get_filename (G_TEST_DIST, "imports-of-2.66", NULL));
  g_auto (GStrv) known = g_strsplit (list, "\n", -1);

  g_test_summary ("Each name once");
  for (char **name = known; name[0] != NULL && name[1] != NULL && *name[1] != '\0'; name++)
    g_assert_cmpint (strcmp (name[0], name[1]), <, 0);
}

static void
test_glibc_is_not_newer_than_2_36 (void)
{
  g_autoptr (GPtrArray) names = list_symbols ("--undefined-only");
  unsigned n_checked = 0;

  g_test_summary ("The version of each symbol of the C library that is needed");
  if (names == NULL)
    return;
  for (guint i = 0; i < names->len; i++)
    {
      const char *name = names->pdata[i];
      const char *version = strstr (name, "@GLIBC_2.");

      if (version == NULL)
        continue;
      n_checked++;
      g_test_message ("%s", name);
      g_assert_cmpint (atoi (version + strlen ("@GLIBC_2.")), <=, 36);
    }
  g_assert_cmpuint (n_checked, >, 5);
}

static void
test_stays_and_is_safe_to_map (void)
{
  const char *const arguments[]
    = { "env", "LC_ALL=C", "readelf", "-dlW", g_getenv ("DRAY_TEST_MODULE"), NULL };
  g_autofree char *output = run (arguments);

  g_test_summary ("NODELETE; no relocation in code; a stack that is not executable");
  if (output == NULL)
    return;
  g_assert_true (g_regex_match_simple ("\\(FLAGS_1\\).*\\bNODELETE\\b", output, 0, 0));
  g_assert_false (g_regex_match_simple ("\\bTEXTREL\\b", output, 0, 0));
  /* Type, offset, two addresses, two sizes, flags. */
  g_assert_true (g_regex_match_simple ("GNU_STACK( +0x[0-9a-f]+){5} +RW +", output, 0, 0));
  g_assert_false (g_regex_match_simple ("GNU_STACK.* RWE ", output, 0, 0));
  g_assert_false (g_regex_match_simple ("LOAD.* RWE ", output, 0, 0));
}

static void
test_needs_glib_and_the_c_library_only (void)
{
  static const char *const allowed[]
    = { "libgio-2.0.so.",     "libgobject-2.0.so.", "libglib-2.0.so.", "libc.so.",
        "libpthread.so.",     "libasan.so.",        "libubsan.so.",    "libtsan.so.",
        "libm.so.",           "libgcc_s.so.",       "ld-linux",        "libgmodule-2.0.so.",
        "libclang_rt." };
  const char *const arguments[]
    = { "env", "LC_ALL=C", "readelf", "-dW", g_getenv ("DRAY_TEST_MODULE"), NULL };
  g_autofree char *output = run (arguments);

  g_test_summary ("Each library more is loaded by every program that uses GIO");
  if (output == NULL)
    return;
  g_auto (GStrv) parts = g_strsplit (output, "Shared library: [", -1);
  g_assert_cmpuint (g_strv_length (parts), >, 1);
  for (char **part = parts + 1; *part != NULL; part++)
    {
      bool good = false;

      for (size_t i = 0; i < G_N_ELEMENTS (allowed); i++)
        good = good || g_str_has_prefix (*part, allowed[i]);
      if (!good)
        {
          g_test_message ("%.40s", *part);
          g_test_fail ();
        }
    }
}

static void
test_cache_line_names_the_extension_point (void)
{
  g_autofree char *folder = g_dir_make_tmp ("dray-module-XXXXXX", NULL);
  g_autofree char *copy = g_build_filename (folder, "libgiodray.so", NULL);
  g_autofree char *cache = g_build_filename (folder, "giomodule.cache", NULL);
  g_autofree char *content = NULL;
  g_autoptr (GError) error = NULL;
  gsize length;

  g_test_summary ("What gio-querymodules(1) writes for a folder with the module alone");
#ifdef __SANITIZE_ADDRESS__
  g_test_skip ("gio-querymodules cannot load a module that was built with AddressSanitizer");
  (void) g_rmdir (folder);
  return;
#endif
  g_file_get_contents (g_getenv ("DRAY_TEST_MODULE"), &content, &length, &error);
  g_assert_no_error (error);
  g_file_set_contents (copy, content, (gssize) length, &error);
  g_assert_no_error (error);

  const char *const arguments[] = { g_getenv ("DRAY_TEST_QUERYMODULES"), folder, NULL };
  g_autofree char *output = run (arguments);
  if (output != NULL)
    {
      g_autofree char *line = read_beside (cache);

      g_assert_cmpstr (line, ==, "libgiodray.so: gio-vfs\n");
    }
  (void) g_unlink (copy);
  (void) g_unlink (cache);
  g_assert_no_errno (g_rmdir (folder));
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/gio-module/shape/exports-are-those-listed", test_exports_are_those_listed);
  g_test_add_func ("/gio-module/shape/imports-existed-in-glib-2-66",
                   test_imports_existed_in_glib_2_66);
  g_test_add_func ("/gio-module/shape/list-of-imports-is-sorted", test_list_of_imports_is_sorted);
  g_test_add_func ("/gio-module/shape/glibc-is-not-newer-than-2-36",
                   test_glibc_is_not_newer_than_2_36);
  g_test_add_func ("/gio-module/shape/stays-and-is-safe-to-map", test_stays_and_is_safe_to_map);
  g_test_add_func ("/gio-module/shape/needs-glib-and-the-c-library-only",
                   test_needs_glib_and_the_c_library_only);
  g_test_add_func ("/gio-module/shape/cache-line-names-the-extension-point",
                   test_cache_line_names_the_extension_point);
  return g_test_run ();
}
