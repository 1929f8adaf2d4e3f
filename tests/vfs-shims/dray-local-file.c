/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests of vfs-shims/dray-local-file.c: GLocalFile's slot, and what is a GLocalFile. */
#include "config.h"
#include "vfs-shims/dray-local-file-private.h"

/* The arguments of the last call. */
static struct
{
  unsigned n_calls;
  GFile *source, *dest;
  GFileCopyFlags flags;
  GCancellable *cancellable;
  GFileProgressCallback callback;
  gpointer callback_data;
} seen;

static gboolean
take_note (GFile *source, GFile *dest, GFileCopyFlags flags, GCancellable *cancellable,
           GFileProgressCallback callback, gpointer callback_data, GError **error)
{
  (void) error;
  seen.n_calls++;
  seen.source = source;
  seen.dest = dest;
  seen.flags = flags;
  seen.cancellable = cancellable;
  seen.callback = callback;
  seen.callback_data = callback_data;
  return TRUE;
}

static void
hear_cb (goffset current, goffset total, gpointer data)
{
  (void) current;
  (void) total;
  (void) data;
}

/* Once in a process, whichever test is the first. */
static void
take_slot_once (void)
{
  static bool taken = false;

  if (!taken)
    {
      g_autoptr (GFile) file = g_file_new_for_path ("/a");

      g_assert_false (dray_local_file_is_local (file));
      g_assert_null (dray_local_file_get_previous_slot ());
      g_assert_null (G_FILE_GET_IFACE (file)->copy);
      g_assert_true (dray_local_file_take_copy_slot (take_note));
      taken = true;
    }
}

static void
test_slot_is_called_as_gio_was (void)
{
  g_autoptr (GFile) source = g_file_new_for_path ("/source");
  g_autoptr (GFile) dest = g_file_new_for_path ("/dest");
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  int data;

  g_test_summary ("All arguments pass through g_file_copy(), and its answer is the slot's");
  take_slot_once ();
  const unsigned before = seen.n_calls;
  g_assert_true (g_file_copy (source, dest, G_FILE_COPY_OVERWRITE | G_FILE_COPY_ALL_METADATA,
                              cancellable, hear_cb, &data, NULL));
  g_assert_cmpuint (seen.n_calls, ==, before + 1);
  g_assert_true (seen.source == source);
  g_assert_true (seen.dest == dest);
  g_assert_cmpint (seen.flags, ==, G_FILE_COPY_OVERWRITE | G_FILE_COPY_ALL_METADATA);
  g_assert_true (seen.cancellable == cancellable);
  g_assert_true (seen.callback == hear_cb);
  g_assert_true (seen.callback_data == &data);
}

static void
test_previous_is_what_stock_had (void)
{
  g_autoptr (GFile) file = g_file_new_for_path ("/a");

  g_test_summary ("Nothing, in every GLib from 2.63 on");
  take_slot_once ();
  g_assert_null (dray_local_file_get_previous_slot ());
  g_assert_true (G_FILE_GET_IFACE (file)->copy == take_note);
}

static void
test_local_files_are_told_from_others (void)
{
  static const struct
  {
    const char *uri;
    bool local;
  } vectors[] = {
    { "file:///a", true },
    { "file:///", true },
    { "http://example.org/a", false },
    { "nonsense://a", false },
    { "resource:///a", false },
  };

  g_test_summary ("By type: no other file is one");
  take_slot_once ();
  for (size_t i = 0; i < G_N_ELEMENTS (vectors); i++)
    {
      g_autoptr (GFile) file = g_file_new_for_uri (vectors[i].uri);

      g_test_message ("%s is a %s", vectors[i].uri, G_OBJECT_TYPE_NAME (file));
      g_assert_cmpint (dray_local_file_is_local (file), ==, vectors[i].local);
      /* Only its own class was changed. */
      g_assert_cmpint (G_FILE_GET_IFACE (file)->copy == take_note, ==, vectors[i].local);
    }
}

static void
test_made_in_any_way_is_local (void)
{
  g_autoptr (GFile) made = g_file_new_for_commandline_arg ("relative");
  g_autoptr (GFile) child = g_file_get_child (made, "child");
  g_autoptr (GFile) copy = g_file_dup (made);

  g_test_summary ("All of them are of one class");
  take_slot_once ();
  g_assert_true (dray_local_file_is_local (made));
  g_assert_true (dray_local_file_is_local (child));
  g_assert_true (dray_local_file_is_local (copy));
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/vfs-shims/local-file/slot-is-called-as-gio-was",
                   test_slot_is_called_as_gio_was);
  g_test_add_func ("/vfs-shims/local-file/previous-is-what-stock-had",
                   test_previous_is_what_stock_had);
  g_test_add_func ("/vfs-shims/local-file/local-files-are-told-from-others",
                   test_local_files_are_told_from_others);
  g_test_add_func ("/vfs-shims/local-file/made-in-any-way-is-local",
                   test_made_in_any_way_is_local);
  return g_test_run ();
}
