/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests of gio-module/dray-module.c: loaded, asked, unloaded, in every way that GIO has. */
#include "config.h"

#include <dlfcn.h>
#include <gio/gio.h>
#include <glib/gstdio.h>
#include <gmodule.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* Each test needs a process that has not loaded the module yet. */
static bool
run_in_child (void)
{
  if (g_test_subprocess ())
    {
      /* Should something wait for ever, as loading inside a once of GIO can make it. */
      alarm (20);
      return true;
    }

  g_test_trap_subprocess (NULL, 0, 0);
  g_test_trap_assert_passed ();
  g_test_trap_assert_stdout ("*<reached the end>*");
  return false;
}

static void
end_child (void)
{
  g_print ("<reached the end>\n");
}

static char *
get_module_folder (void)
{
  return g_path_get_dirname (g_getenv ("DRAY_TEST_MODULE"));
}

static bool
is_mapped (void)
{
  g_autofree char *maps = NULL;

  g_assert_true (g_file_get_contents ("/proc/self/maps", &maps, NULL, NULL));
  return strstr (maps, "/libgiodray.so") != NULL;
}

static GFileIface *
get_local_interface (void)
{
  g_autoptr (GFile) file = g_vfs_get_file_for_path (g_vfs_get_local (), "/");

  return G_FILE_GET_IFACE (file);
}

/* The slot leads into the module, and the module is there. */
static void
assert_slot_is_ours (void)
{
  void *slot = (void *) get_local_interface ()->copy;
  Dl_info info;

  g_assert_nonnull (slot);
  g_assert_cmpint (dladdr (slot, &info), !=, 0);
  g_assert_true (g_str_has_suffix (info.dli_fname, "/libgiodray.so"));
}

static void
assert_copies (void)
{
  g_autofree char *folder = g_dir_make_tmp ("dray-module-XXXXXX", NULL);
  g_autofree char *source_path = g_build_filename (folder, "source", NULL);
  g_autofree char *dest_path = g_build_filename (folder, "dest", NULL);
  g_autoptr (GFile) source = g_file_new_for_path (source_path);
  g_autoptr (GFile) dest = g_file_new_for_path (dest_path);
  g_autofree char *content = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_true (g_file_set_contents (source_path, "some bytes", -1, NULL));
  g_file_copy (source, dest, G_FILE_COPY_NONE, NULL, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (g_file_get_contents (dest_path, &content, NULL, NULL));
  g_assert_cmpstr (content, ==, "some bytes");
  g_assert_no_errno (g_unlink (source_path));
  g_assert_no_errno (g_unlink (dest_path));
  g_assert_no_errno (g_rmdir (folder));
}

static void
test_query_lists_gio_vfs_alone (void)
{
  char **(*query) (void);

  g_test_summary ("And asking changes nothing in the process");
  if (!run_in_child ())
    return;

  GModule *module = g_module_open (g_getenv ("DRAY_TEST_MODULE"), G_MODULE_BIND_LAZY);
  if (module == NULL)
    g_error ("%s", g_module_error ());
  g_assert_true (g_module_symbol (module, "g_io_dray_query", (gpointer *) &query));
  g_auto (GStrv) points = query ();
  g_assert_cmpuint (g_strv_length (points), ==, 1);
  g_assert_cmpstr (points[0], ==, G_VFS_EXTENSION_POINT_NAME);
  g_assert_null (get_local_interface ()->copy);

  /* The linker's flag, which needs no help from GIO. */
  g_assert_true (g_module_close (module));
  g_assert_true (is_mapped ());
  end_child ();
}

static void
test_unloading_leaves_it_in_place (void)
{
  g_autofree char *folder = get_module_folder ();

  g_test_summary ("GIO drops each module that it has loaded; the slot must not lead to nowhere");
  if (!run_in_child ())
    return;

  g_assert_false (is_mapped ());
  GList *modules = g_io_modules_load_all_in_directory (folder);
  g_assert_cmpuint (g_list_length (modules), ==, 1);
  assert_slot_is_ours ();
  assert_copies ();
  for (GList *module = modules; module != NULL; module = module->next)
    g_type_module_unuse (module->data);
  g_list_free (modules);

  g_assert_true (is_mapped ());
  assert_slot_is_ours ();
  assert_copies ();
  end_child ();
}

static void
test_loading_twice_is_loading_once (void)
{
  g_autofree char *folder = get_module_folder ();

  g_test_summary ("A folder that is named twice: the slot does not become its own predecessor");
  if (!run_in_child ())
    return;

  GList *first = g_io_modules_load_all_in_directory (folder);
  const gpointer slot = (gpointer) get_local_interface ()->copy;
  GList *second = g_io_modules_load_all_in_directory (folder);
  g_assert_true ((gpointer) get_local_interface ()->copy == slot);
  g_list_free (first);
  g_list_free (second);
  assert_copies ();

  /* A decline that asked itself would never come back. */
  g_autoptr (GFile) source = g_file_new_for_path ("/");
  g_autoptr (GFile) dest = g_file_new_for_path ("/nowhere/at/all");
  g_autoptr (GError) error = NULL;
  g_assert_false (g_file_copy (source, dest, G_FILE_COPY_NONE, NULL, NULL, NULL, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_WOULD_RECURSE);
  end_child ();
}

static void
test_first_file_of_a_process_loads_it (void)
{
  g_test_summary ("Inside the once of g_vfs_get_default(): no deadlock, and the slot is ours");
  if (!run_in_child ())
    return;

  g_autoptr (GFile) file = g_file_new_for_path ("/");
  g_assert_nonnull (file);
  assert_slot_is_ours ();
  assert_copies ();
  end_child ();
}

static gpointer
make_file (gpointer data)
{
  return g_file_new_for_path (data);
}

static void
test_first_files_of_many_threads (void)
{
  GThread *threads[8];

  g_test_summary ("All wait for the same loading");
  if (!run_in_child ())
    return;

  for (size_t i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("first", make_file, (gpointer) "/");
  for (size_t i = 0; i < G_N_ELEMENTS (threads); i++)
    {
      g_autoptr (GFile) file = g_thread_join (threads[i]);

      g_assert_nonnull (G_FILE_GET_IFACE (file)->copy);
    }
  assert_slot_is_ours ();
  end_child ();
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/gio-module/loading/query-lists-gio-vfs-alone",
                   test_query_lists_gio_vfs_alone);
  g_test_add_func ("/gio-module/loading/unloading-leaves-it-in-place",
                   test_unloading_leaves_it_in_place);
  g_test_add_func ("/gio-module/loading/loading-twice-is-loading-once",
                   test_loading_twice_is_loading_once);
  g_test_add_func ("/gio-module/loading/first-file-of-a-process-loads-it",
                   test_first_file_of_a_process_loads_it);
  g_test_add_func ("/gio-module/loading/first-files-of-many-threads",
                   test_first_files_of_many_threads);
  return g_test_run ();
}
