/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Two texts, line by line. */
#include "config.h"
#include "tests/parity/parity-diff.h"

#include <glib.h>

char *
parity_diff (const char *a, const char *b)
{
  g_auto (GStrv) a_lines = g_strsplit (a, "\n", -1);
  g_auto (GStrv) b_lines = g_strsplit (b, "\n", -1);
  const size_t n_a = g_strv_length (a_lines), n_b = g_strv_length (b_lines);
  /* common[i][j]: lines that a from i and b from j have in common. */
  g_autofree guint *common = g_new0 (guint, (n_a + 1) * (n_b + 1));
  g_autoptr (GString) text = g_string_new (NULL);
#define COMMON(i, j) common[(i) * (n_b + 1) + (j)]

  for (size_t i = n_a; i-- > 0;)
    for (size_t j = n_b; j-- > 0;)
      COMMON (i, j) = g_str_equal (a_lines[i], b_lines[j])
                        ? COMMON (i + 1, j + 1) + 1
                        : MAX (COMMON (i + 1, j), COMMON (i, j + 1));

  for (size_t i = 0, j = 0; i < n_a || j < n_b;)
    if (i < n_a && j < n_b && g_str_equal (a_lines[i], b_lines[j]))
      {
        g_string_append_printf (text, "  %s\n", a_lines[i]);
        i++, j++;
      }
    else if (i < n_a && (j == n_b || COMMON (i + 1, j) >= COMMON (i, j + 1)))
      g_string_append_printf (text, "- %s\n", a_lines[i++]);
    else
      g_string_append_printf (text, "+ %s\n", b_lines[j++]);
#undef COMMON

  return g_string_free (g_steal_pointer (&text), FALSE);
}
