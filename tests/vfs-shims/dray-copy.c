/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests of vfs-shims/dray-copy.c: what the slot takes, and whom it asks when it does not. */
#include "config.h"
#include "vfs-shims/dray-copy-private.h"

#include "engine/dray-engine.h"
#include "vfs-shims/dray-shim.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONTENT "some bytes\n"

/* --- a file of another type, which counts how often it is asked for its path ------------------ */

typedef struct
{
  GObject parent;
} OtherFile;

typedef struct
{
  GObjectClass parent;
} OtherFileClass;

static void other_file_interface_init (GFileIface *iface);
static GType other_file_get_type (void);

G_DEFINE_TYPE_WITH_CODE (OtherFile, other_file, G_TYPE_OBJECT,
                         G_IMPLEMENT_INTERFACE (G_TYPE_FILE, other_file_interface_init))

static unsigned n_paths_asked;

static char *
other_file_get_path (GFile *file)
{
  (void) file;
  n_paths_asked++;
  return g_strdup ("/etc/passwd");
}

static gboolean
other_file_is_native (GFile *file)
{
  (void) file;
  return TRUE;
}

static GFile *
other_file_dup (GFile *file)
{
  return g_object_ref (file);
}

static void
other_file_interface_init (GFileIface *iface)
{
  iface->get_path = other_file_get_path;
  iface->is_native = other_file_is_native;
  iface->dup = other_file_dup;
}

static void
other_file_init (OtherFile *file)
{
  (void) file;
}

static void
other_file_class_init (OtherFileClass *class)
{
  (void) class;
}

/* --- who was in the slot before us ------------------------------------------------------------ */

static struct
{
  unsigned n_calls;
  GFile *source, *dest;
  GFileCopyFlags flags;
  GCancellable *cancellable;
  GFileProgressCallback callback;
  gpointer callback_data;
  gboolean answer;
} previous;

static gboolean
previous_slot (GFile *source, GFile *dest, GFileCopyFlags flags, GCancellable *cancellable,
               GFileProgressCallback callback, gpointer callback_data, GError **error)
{
  previous.n_calls++;
  previous.source = source;
  previous.dest = dest;
  previous.flags = flags;
  previous.cancellable = cancellable;
  previous.callback = callback;
  previous.callback_data = callback_data;
  if (!previous.answer)
    g_set_error (error, G_IO_ERROR, G_IO_ERROR_NOT_SUPPORTED, "previous");
  return previous.answer;
}

/* --- one call in a folder of its own ---------------------------------------------------------- */

typedef struct
{
  char *folder;      /* (owned) */
  char *source_path; /* (owned) */
  char *dest_path;   /* (owned) */
  GFile *source;     /* (owned) */
  GFile *dest;       /* (owned) */
  GCancellable *cancellable; /* (owned) */
  unsigned n_progress;
  goffset current;
} Call;

static void
progress_cb (goffset current, goffset total, gpointer data)
{
  Call *call = data;

  g_assert_cmpint (current, <=, total);
  g_assert_cmpint (current, >=, call->current);
  call->current = current;
  call->n_progress++;
}

static void
call_init (Call *call)
{
  const char *parent = g_getenv ("DRAY_TEST_EXT4");

  if (parent == NULL)
    parent = g_getenv ("DRAY_TEST_TMP");
  if (parent == NULL)
    parent = g_get_tmp_dir ();
  *call = (Call) { .folder = g_build_filename (parent, "copy.XXXXXX", NULL) };
  g_assert_nonnull (g_mkdtemp (call->folder));
  call->source_path = g_build_filename (call->folder, "source", NULL);
  call->dest_path = g_build_filename (call->folder, "dest", NULL);
  call->source = g_file_new_for_path (call->source_path);
  call->dest = g_file_new_for_path (call->dest_path);
  call->cancellable = g_cancellable_new ();
  g_assert_true (g_file_set_contents (call->source_path, CONTENT, -1, NULL));
  previous.n_calls = 0;
  previous.answer = FALSE;
}

static void
call_clear (Call *call)
{
  (void) g_unlink (call->source_path);
  (void) g_rmdir (call->source_path);
  (void) g_unlink (call->dest_path);
  g_assert_no_errno (g_rmdir (call->folder));
  g_object_unref (call->source);
  g_object_unref (call->dest);
  g_object_unref (call->cancellable);
  g_free (call->folder);
  g_free (call->source_path);
  g_free (call->dest_path);
}

/* The slot, called as GIO calls it: FALSE always with an error, TRUE never with one. */
static gboolean
call_slot (Call *call, unsigned flags, GError **error)
{
  GError *local = NULL;
  const gboolean good = dray_copy_slot (call->source, call->dest, (GFileCopyFlags) flags,
                                        call->cancellable, progress_cb, call, &local);

  g_assert_cmpint (good, ==, local == NULL);
  if (local != NULL)
    g_propagate_error (error, local);
  return good;
}

static void
assert_dest_has (const Call *call, const char *expected)
{
  g_autofree char *content = NULL;

  g_assert_true (g_file_get_contents (call->dest_path, &content, NULL, NULL));
  g_assert_cmpstr (content, ==, expected);
}

static bool
dest_exists (const Call *call)
{
  struct stat stat;

  return lstat (call->dest_path, &stat) == 0;
}

/* Without root, temporary files may lie on a file system that is not on the engine's list. */
static bool
can_be_taken (const Call *call)
{
  const DrayCopyRequest request
    = { AT_FDCWD, AT_FDCWD, call->source_path, call->dest_path, DRAY_COPY_NONE };
  DrayCopyReport report;

  dray_engine_submit (&request, 1, NULL, &report);
  if (report.outcome == DRAY_OUTCOME_DECLINED && report.decline == DRAY_DECLINE_SOURCE_FILESYSTEM)
    {
      if (g_strcmp0 (g_getenv ("DRAY_TEST_REQUIRE"), "1") == 0)
        g_test_fail ();
      else
        g_test_skip ("temporary files lie on a file system that is not taken");
      return false;
    }
  (void) g_unlink (call->dest_path);
  return true;
}

static void
test_taken_copy_asks_nobody (void)
{
  Call call;

  g_test_summary ("The slot alone, and through g_file_copy(), with and without callbacks");
  call_init (&call);
  if (can_be_taken (&call))
    {
      g_autoptr (GError) error = NULL;

      g_assert_true (call_slot (&call, G_FILE_COPY_OVERWRITE, &error));
      assert_dest_has (&call, CONTENT);
      g_assert_cmpuint (call.n_progress, >, 0);
      g_assert_cmpint (call.current, ==, strlen (CONTENT));
      g_assert_no_errno (g_unlink (call.dest_path));

      g_assert_true (
        g_file_copy (call.source, call.dest, G_FILE_COPY_NONE, NULL, NULL, NULL, NULL));
      assert_dest_has (&call, CONTENT);
      g_assert_cmpuint (previous.n_calls, ==, 0);
    }
  call_clear (&call);
}

typedef enum
{
  DEST_EXISTS,
  DIRECTORY,
  SYMLINK,
  FIFO,
  MISSING,
  NO_FOLDER,
  UNKNOWN_FLAG,
  FOREIGN_SOURCE,
  FOREIGN_DEST,
  DUMMY_SOURCE,
  N_KINDS
} Kind;

static const struct
{
  const char *reason;
  unsigned flags;
} declined[N_KINDS] = {
  [DEST_EXISTS] = { "destination-exists", 0 },
  [DIRECTORY] = { "directory", 0 },
  [SYMLINK] = { "symlink", G_FILE_COPY_NOFOLLOW_SYMLINKS },
  [FIFO] = { "special-file", 0 },
  [MISSING] = { "source-unreadable", 0 },
  [NO_FOLDER] = { "destination-folder", 0 },
  [UNKNOWN_FLAG] = { "unknown-flag", 1U << 20 },
  [FOREIGN_SOURCE] = { "not-local", 0 },
  [FOREIGN_DEST] = { "not-local", 0 },
  [DUMMY_SOURCE] = { "not-local", 0 },
};

static void
replace_file (GFile **file, GFile *other)
{
  g_object_unref (*file);
  *file = other;
}

static void
call_init_declined (Call *call, Kind kind)
{
  g_autofree char *deeper = NULL;

  call_init (call);
  if (kind == DIRECTORY || kind == SYMLINK || kind == FIFO || kind == MISSING)
    g_assert_no_errno (g_unlink (call->source_path));
  switch (kind)
    {
    case DEST_EXISTS:
      g_assert_true (g_file_set_contents (call->dest_path, "old", -1, NULL));
      break;
    case DIRECTORY:
      g_assert_no_errno (g_mkdir (call->source_path, 0700));
      break;
    case SYMLINK:
      g_assert_no_errno (symlink ("nowhere", call->source_path));
      break;
    case FIFO:
      g_assert_no_errno (mkfifo (call->source_path, 0600));
      break;
    case NO_FOLDER:
      deeper = g_build_filename (call->dest_path, "deeper", NULL);
      replace_file (&call->dest, g_file_new_for_path (deeper));
      break;
    case FOREIGN_SOURCE:
      replace_file (&call->source, g_object_new (other_file_get_type (), NULL));
      break;
    case FOREIGN_DEST:
      replace_file (&call->dest, g_object_new (other_file_get_type (), NULL));
      break;
    case DUMMY_SOURCE:
      replace_file (&call->source, g_file_new_for_uri ("http://example.org/a"));
      break;
    case MISSING:
    case UNKNOWN_FLAG:
    case N_KINDS:
      break;
    }
  g_assert_cmpint (g_file_test (call->dest_path, G_FILE_TEST_EXISTS), ==, kind == DEST_EXISTS);
}

static void
test_decline_goes_to_the_previous_function (void)
{
  g_test_summary ("With the same arguments, and its answer is ours, be it yes or no");
  for (Kind kind = 0; kind < N_KINDS; kind++)
    for (gboolean answer = FALSE; answer <= TRUE; answer++)
      {
        g_autoptr (GError) error = NULL;
        Call call;

        g_test_message ("%s", declined[kind].reason);
        call_init_declined (&call, kind);
        n_paths_asked = 0;
        previous.answer = answer;
        g_assert_cmpint (call_slot (&call, declined[kind].flags, &error), ==, answer);
        if (!answer)
          {
            g_assert_error (error, G_IO_ERROR, G_IO_ERROR_NOT_SUPPORTED);
            g_assert_cmpstr (error->message, ==, "previous");
          }
        g_assert_cmpuint (previous.n_calls, ==, 1);
        g_assert_true (previous.source == call.source);
        g_assert_true (previous.dest == call.dest);
        g_assert_cmpuint (previous.flags, ==, declined[kind].flags);
        g_assert_true (previous.cancellable == call.cancellable);
        g_assert_true (previous.callback == progress_cb);
        g_assert_true (previous.callback_data == &call);

        /* Nothing has happened, and nobody was asked for a path that may be far away. */
        g_assert_cmpuint (call.n_progress, ==, 0);
        g_assert_cmpuint (n_paths_asked, ==, 0);
        if (kind == DEST_EXISTS)
          assert_dest_has (&call, "old");
        else
          g_assert_false (dest_exists (&call));
        call_clear (&call);
      }
}

static void
test_decline_without_previous_says_why (void)
{
  g_test_summary ("NOT_SUPPORTED with the reason, in a process where the slot was empty");
  if (!g_test_subprocess ())
    {
      g_test_trap_subprocess (NULL, 0, 0);
      g_test_trap_assert_passed ();
      g_test_trap_assert_stdout ("*<reached the end>*");
      return;
    }

  for (Kind kind = 0; kind < N_KINDS; kind++)
    {
      g_autoptr (GError) error = NULL;
      Call call;

      call_init_declined (&call, kind);
      g_assert_false (call_slot (&call, declined[kind].flags, &error));
      g_assert_error (error, G_IO_ERROR, G_IO_ERROR_NOT_SUPPORTED);
      g_assert_cmpstr (error->message, ==, declined[kind].reason);
      /* Nobody has to want the error. */
      g_assert_false (dray_copy_slot (call.source, call.dest,
                                      (GFileCopyFlags) declined[kind].flags, NULL, NULL, NULL,
                                      NULL));
      call_clear (&call);
    }
  g_assert_cmpuint (previous.n_calls, ==, 0);
  g_print ("<reached the end>\n");
}

static void
test_switched_off_declines_all (void)
{
  g_test_summary ("GIO_DRAY=off: a copy that would be taken is GIO's");
  if (!g_test_subprocess ())
    {
      g_setenv ("GIO_DRAY", "off", TRUE);
      g_test_trap_subprocess (NULL, 0, 0);
      g_setenv ("GIO_DRAY", "on", TRUE);
      g_test_trap_assert_passed ();
      g_test_trap_assert_stdout ("*<reached the end>*");
      return;
    }

  g_autoptr (GError) error = NULL;
  Call call;
  call_init (&call);
  g_assert_false (call_slot (&call, 0, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_NOT_SUPPORTED);
  g_assert_cmpstr (error->message, ==, "disabled");
  g_assert_false (dest_exists (&call));
  g_assert_true (g_file_copy (call.source, call.dest, G_FILE_COPY_NONE, NULL, NULL, NULL, NULL));
  assert_dest_has (&call, CONTENT);
  call_clear (&call);
  g_print ("<reached the end>\n");
}

static void
test_g_file_copy_falls_back (void)
{
  g_test_summary ("A FIFO neither hangs nor crashes; GIO's own code answers after us");
  for (Kind kind = 0; kind < N_KINDS; kind++)
    {
      g_autoptr (GError) error = NULL;
      Call call;

      /* GIO's code would ask the file of another type for more than it has. */
      if (kind == FOREIGN_SOURCE || kind == FOREIGN_DEST)
        continue;
      call_init_declined (&call, kind);
      const gboolean good = g_file_copy (call.source, call.dest,
                                         (GFileCopyFlags) declined[kind].flags, call.cancellable,
                                         progress_cb, &call, &error);

      g_assert_cmpint (good, ==, error == NULL);
      g_assert_cmpint (good, ==, kind == SYMLINK || kind == UNKNOWN_FLAG);
      g_assert_cmpuint (previous.n_calls, >=, 1);
      if (kind == FIFO)
        g_assert_error (error, G_IO_ERROR, G_IO_ERROR_NOT_SUPPORTED);
      if (kind == DIRECTORY)
        g_assert_error (error, G_IO_ERROR, G_IO_ERROR_WOULD_RECURSE);
      if (kind == DEST_EXISTS)
        g_assert_error (error, G_IO_ERROR, G_IO_ERROR_EXISTS);
      call_clear (&call);
    }
}

static void
test_cancelled_is_no_decline (void)
{
  g_autoptr (GError) error = NULL;
  Call call;

  g_test_summary ("CANCELLED, no destination, and the previous function does not start over");
  call_init (&call);
  if (can_be_taken (&call))
    {
      g_cancellable_cancel (call.cancellable);
      g_assert_false (call_slot (&call, 0, &error));
      g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
      g_assert_cmpuint (previous.n_calls, ==, 0);
      g_assert_cmpuint (call.n_progress, ==, 0);
      g_assert_false (dest_exists (&call));
    }
  call_clear (&call);
}

static void
test_failure_is_no_decline (void)
{
  g_autoptr (GError) error = NULL;
  struct rlimit before, limit;
  Call call;

  g_test_summary ("A file size limit: stock's error, no destination, no second attempt");
  call_init (&call);
  if (can_be_taken (&call))
    {
      void (*action) (int) = signal (SIGXFSZ, SIG_IGN);

      g_assert_no_errno (getrlimit (RLIMIT_FSIZE, &before));
      limit = before;
      limit.rlim_cur = 4;
      g_assert_no_errno (setrlimit (RLIMIT_FSIZE, &limit));
      const gboolean good = call_slot (&call, 0, &error);
      g_assert_no_errno (setrlimit (RLIMIT_FSIZE, &before));
      signal (SIGXFSZ, action);

      g_assert_false (good);
      g_assert_true (error->domain == G_IO_ERROR);
      g_assert_cmpint (error->code, ==, (int) g_io_error_from_errno (EFBIG));
      g_assert_nonnull (strstr (error->message, g_strerror (EFBIG)));
      g_assert_cmpuint (previous.n_calls, ==, 0);
      g_assert_false (dest_exists (&call));
    }
  call_clear (&call);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  /* Those that run in a process of their own find the slot as stock has it. */
  if (!g_test_subprocess ())
    {
      g_autoptr (GFile) file = g_file_new_for_path ("/a");

      G_FILE_GET_IFACE (file)->copy = previous_slot;
    }
  g_assert_true (dray_shim_install ());

  g_test_add_func ("/vfs-shims/copy/taken-copy-asks-nobody", test_taken_copy_asks_nobody);
  g_test_add_func ("/vfs-shims/copy/decline-goes-to-the-previous-function",
                   test_decline_goes_to_the_previous_function);
  g_test_add_func ("/vfs-shims/copy/decline-without-previous-says-why",
                   test_decline_without_previous_says_why);
  g_test_add_func ("/vfs-shims/copy/switched-off-declines-all", test_switched_off_declines_all);
  g_test_add_func ("/vfs-shims/copy/g-file-copy-falls-back", test_g_file_copy_falls_back);
  g_test_add_func ("/vfs-shims/copy/cancelled-is-no-decline", test_cancelled_is_no_decline);
  g_test_add_func ("/vfs-shims/copy/failure-is-no-decline", test_failure_is_no_decline);
  return g_test_run ();
}
