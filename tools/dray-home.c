/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where the parts of gio-dray are. A program in a build folder takes what was built with it. */
#include "config.h"
#include "tools/dray-home-private.h"

#include <glib.h>

#define MODULE_NAME "libgiodray.so"

char *
dray_home_find_program (void)
{
  char *path = g_file_read_link ("/proc/self/exe", NULL);

  /* Without /proc the shell's search path has to do. */
  return path != NULL ? path : g_strdup ("dray");
}

/* The build folder that this program is in, or NULL. */
static char *
find_build_root (void)
{
  g_autofree char *program = dray_home_find_program ();
  g_autofree char *tools = g_path_get_dirname (program);
  g_autofree char *root = g_path_get_dirname (tools);
  g_autofree char *ninja = g_build_filename (root, "build.ninja", NULL);

  return g_file_test (ninja, G_FILE_TEST_EXISTS) ? g_steal_pointer (&root) : NULL;
}

char *
dray_home_find_module (void)
{
  g_autofree char *root = find_build_root ();
  g_autofree char *path = root != NULL
                            ? g_build_filename (root, "gio-module", MODULE_NAME, NULL)
                            : g_build_filename (GIO_MODULE_DIR, MODULE_NAME, NULL);

  return g_file_test (path, G_FILE_TEST_EXISTS) ? g_steal_pointer (&path) : NULL;
}

char *
dray_home_find_locale_dir (void)
{
  g_autofree char *root = find_build_root ();

  return root != NULL ? g_build_filename (root, "po", NULL) : g_strdup (LOCALEDIR);
}
