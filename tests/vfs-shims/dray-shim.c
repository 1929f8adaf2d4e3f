/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests of vfs-shims/dray-shim.c: in place once, and not in a process with raised privileges. */
#include "config.h"
#include "vfs-shims/dray-shim.h"

#include "vfs-shims/dray-copy-private.h"
#include "vfs-shims/dray-local-file-private.h"

#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

static gpointer
install (gpointer data)
{
  (void) data;
  return GINT_TO_POINTER (dray_shim_install () ? 1 : 0);
}

static void
test_installed_once (void)
{
  g_autoptr (GFile) file = g_vfs_get_file_for_path (g_vfs_get_local (), "/a");
  GThread *threads[4];

  g_test_summary ("Four threads at once, then again: it never becomes its own predecessor");
  for (size_t i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("install", install, NULL);
  for (size_t i = 0; i < G_N_ELEMENTS (threads); i++)
    g_assert_cmpint (GPOINTER_TO_INT (g_thread_join (threads[i])), ==, 1);
  g_assert_true (dray_shim_install ());

  g_assert_true (G_FILE_GET_IFACE (file)->copy == dray_copy_slot);
  g_assert_null (dray_local_file_get_previous_slot ());
}

static void
test_local_files_are_known_from_then_on (void)
{
  g_autoptr (GFile) file = g_file_new_for_path ("/a");
  g_autoptr (GFile) other = g_file_new_for_uri ("http://example.org/a");

  g_test_summary ("Those of the default GVfs are the same class");
  g_assert_true (dray_shim_install ());
  g_assert_true (G_FILE_GET_IFACE (file)->copy == dray_copy_slot);
  g_assert_true (dray_local_file_is_local (file));
  g_assert_false (dray_local_file_is_local (other));
}

/* As another user's set-user-ID program: says what it finds. */
static G_GNUC_NORETURN void
report_privileges (void)
{
  const bool raised = getauxval (AT_SECURE) != 0;
  const bool installed = dray_shim_install ();
  g_autoptr (GFile) file = g_vfs_get_file_for_path (g_vfs_get_local (), "/a");

  printf ("raised=%d installed=%d slot=%d\n", raised, installed,
          G_FILE_GET_IFACE (file)->copy != NULL);
  (void) fflush (stdout);
  /* Without LeakSanitizer, which cannot look into such a process. */
  _exit (0);
}

static void
test_not_with_raised_privileges (void)
{
  const char *folder = g_getenv ("DRAY_TEST_TMP");
  g_autofree char *program = NULL, *output = NULL, *content = NULL;
  g_autoptr (GError) error = NULL;
  gsize length;
  int status;

  g_test_summary ("A set-user-ID copy of this program leaves GIO as it is");
  if (geteuid () != 0 || folder == NULL)
    {
      g_test_skip ("needs root to make a program of another user");
      return;
    }

  program = g_build_filename (folder, "raised", NULL);
  g_file_get_contents ("/proc/self/exe", &content, &length, &error);
  g_assert_no_error (error);
  g_file_set_contents (program, content, (gssize) length, &error);
  g_assert_no_error (error);
  g_assert_no_errno (chown (program, 65534, 65534));
  g_assert_no_errno (g_chmod (program, 04755));

  const char *const arguments[] = { program, "--report-privileges", NULL };
  g_assert_true (g_spawn_sync ("/", (char **) arguments, NULL, G_SPAWN_DEFAULT, NULL, NULL,
                               &output, NULL, &status, &error));
  g_assert_no_error (error);
  g_assert_cmpint (status, ==, 0);
  g_assert_no_errno (g_unlink (program));

  if (strstr (output, "raised=0") != NULL && g_strcmp0 (g_getenv ("DRAY_TEST_REQUIRE"), "1") != 0)
    g_test_skip ("set-user-ID has no effect on the file system of temporary files");
  else
    g_assert_cmpstr (output, ==, "raised=1 installed=0 slot=0\n");
}

int
main (int argc, char *argv[])
{
  if (argc == 2 && strcmp (argv[1], "--report-privileges") == 0)
    report_privileges ();

  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/vfs-shims/shim/installed-once", test_installed_once);
  g_test_add_func ("/vfs-shims/shim/local-files-are-known-from-then-on",
                   test_local_files_are_known_from_then_on);
  g_test_add_func ("/vfs-shims/shim/not-with-raised-privileges", test_not_with_raised_privileges);
  return g_test_run ();
}
