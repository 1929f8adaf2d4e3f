/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What `dray demo` reads out of a trace. */
#include "config.h"
#include "tools/dray-demo-pass-private.h"

static guint
get_count (GHashTable *counts, const char *word)
{
  return GPOINTER_TO_UINT (g_hash_table_lookup (counts, word));
}

static void
test_trace (void)
{
  DrayDemoPass pass = {
    .methods = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL),
    .reasons = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL),
  };

  dray_demo_pass_read_trace (
    &pass,
    "gio-dray: taken /a/1 -> /b/1 method=lanes bytes=5 us=6\n"
    "gio-dray: taken /a/2 -> /b/2 method=read-write+holes bytes=5 us=6\n"
    "gio-dray: taken /a/ method=reflink x -> /b/ method=reflink x method=lanes bytes=5 us=6\n"
    "gio-dray: declined /a/ reason=disabled -> /b/4 reason=symlink\n"
    "gio-dray: failed /a/5 -> /b/5 method=lanes bytes=0 us=1 errno=5\n"
    "something else about gio-dray: taken /a/6 -> /b/6 method=lanes\n");

  g_assert_cmpuint (pass.n_taken, ==, 3);
  g_assert_cmpuint (get_count (pass.methods, "lanes"), ==, 2);
  g_assert_cmpuint (get_count (pass.methods, "read-write"), ==, 1);
  g_assert_cmpuint (g_hash_table_size (pass.methods), ==, 2);
  g_assert_cmpuint (get_count (pass.reasons, "symlink"), ==, 1);
  g_assert_cmpuint (g_hash_table_size (pass.reasons), ==, 1);
  dray_demo_pass_clear (&pass);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/tools/dray-demo-pass/lines-of-the-trace-are-counted", test_trace);
  return g_test_run ();
}
