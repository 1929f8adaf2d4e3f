/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Widths on a terminal. */
#include "config.h"
#include "tools/dray-table-private.h"

#include <locale.h>

static void
test_widths (void)
{
  static const struct
  {
    const char *text;
    guint columns;
  } vectors[] = {
    { "", 0 },
    { "stock GIO", 9 },
    { "2.15×", 5 },
    { "標準の GIO", 10 },
    { "e\xcc\x81", 1 }, /* a combining accent */
    { "ミリ秒", 6 },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (vectors); i++)
    g_assert_cmpuint (dray_table_measure (vectors[i].text), ==, vectors[i].columns);
}

static void
add_row (GPtrArray *rows, const char *one, const char *two)
{
  const char *const row[] = { one, two, NULL };

  g_ptr_array_add (rows, g_strdupv ((char **) row));
}

static void
test_columns (void)
{
  if (g_test_subprocess ())
    {
      g_autoptr (GPtrArray) rows = g_ptr_array_new_with_free_func ((GDestroyNotify) g_strfreev);

      add_row (rows, "", "時間");
      add_row (rows, "小", "1 s");
      add_row (rows, "abc", "12345 s");
      dray_table_print (rows, 1);
      return;
    }

  g_test_trap_subprocess (NULL, 0, (GTestSubprocessFlags) 0);
  g_test_trap_assert_passed ();
  g_test_trap_assert_stdout ("*        時間\n小       1 s\nabc  12345 s\n*");
}

int
main (int argc, char *argv[])
{
  g_setenv ("LC_ALL", "C.UTF-8", TRUE);
  (void) setlocale (LC_ALL, "C.UTF-8");
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/tools/dray-table/wide-characters-count-twice", test_widths);
  g_test_add_func ("/tools/dray-table/columns-are-aligned-in-every-script", test_columns);
  return g_test_run ();
}
