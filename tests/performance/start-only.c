/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names a file, which makes GIO load its modules, and ends. */
#include <gio/gio.h>

int
main (void)
{
  g_autoptr (GFile) file = g_file_new_for_path ("/");

  return g_file_peek_path (file) == NULL;
}
