/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tables on a terminal. printf()'s own padding counts bytes, which no script but ASCII survives. */
#include "config.h"
#include "tools/dray-table-private.h"

guint
dray_table_measure (const char *text)
{
  guint columns = 0;

  for (; *text != '\0'; text = g_utf8_next_char (text))
    {
      const gunichar c = g_utf8_get_char (text);

      columns += g_unichar_iszerowidth (c) ? 0 : g_unichar_iswide (c) ? 2 : 1;
    }
  return columns;
}

static void
append_cell (GString *line, const char *text, guint width, gboolean right)
{
  const guint padding = width - dray_table_measure (text);

  if (!right)
    g_string_append (line, text);
  for (guint i = 0; i < padding; i++)
    g_string_append_c (line, ' ');
  if (right)
    g_string_append (line, text);
}

void
dray_table_print (GPtrArray *rows, guint first_right)
{
  const guint n_columns = rows->len == 0 ? 0 : g_strv_length (g_ptr_array_index (rows, 0));
  g_autofree guint *widths = g_new0 (guint, n_columns);

  for (guint i = 0; i < rows->len; i++)
    {
      char **row = g_ptr_array_index (rows, i);

      for (guint j = 0; j < n_columns; j++)
        widths[j] = MAX (widths[j], dray_table_measure (row[j]));
    }

  for (guint i = 0; i < rows->len; i++)
    {
      char **row = g_ptr_array_index (rows, i);
      g_autoptr (GString) line = g_string_new (NULL);

      for (guint j = 0; j < n_columns; j++)
        {
          if (j > 0)
            g_string_append (line, "  ");
          append_cell (line, row[j], widths[j], j >= first_right);
        }
      /* Nothing invisible at the end of a line. */
      while (line->len > 0 && line->str[line->len - 1] == ' ')
        g_string_truncate (line, line->len - 1);
      g_print ("%s\n", line->str);
    }
}
