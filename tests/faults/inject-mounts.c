/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Something is mounted over a folder that the engine has come to know. */
#include "config.h"

#include "tests/faults/inject-stage.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/vfs.h>
#include <unistd.h>

static const InjectScene small
  = { "small", "DRAY_TEST_EXT4", "DRAY_TEST_EXT4", .size = 4096, .n_requests = 1 };

/* One folder that things are mounted on. */
typedef struct
{
  InjectStage stage;
  const char *type; /* of what the hook mounts */
  unsigned n_mounts;
} Mounts;

static void
mount_over (Mounts *mounts, const char *type)
{
  g_assert_no_errno (mount (type, mounts->stage.dest_folder, type, 0, "mode=0755"));
  mounts->n_mounts++;
}

static void
unmount_one (Mounts *mounts)
{
  g_assert_no_errno (umount (mounts->stage.dest_folder));
  mounts->n_mounts--;
}

static bool
mounts_open (Mounts *mounts)
{
  *mounts = (Mounts) { 0 };
  /* Only in the mount namespace that the test runner has made is nobody in the way. */
  if (g_getenv ("DRAY_TEST_NAMESPACE") == NULL || geteuid () != 0)
    {
      if (g_strcmp0 (g_getenv ("DRAY_TEST_REQUIRE"), "1") == 0)
        g_test_fail ();
      else
        g_test_skip ("no mount namespace of its own (root)");
      return false;
    }
  faulty_reset ();
  return inject_stage_open (&mounts->stage, &small);
}

static void
mounts_close (Mounts *mounts)
{
  faulty_reset ();
  while (mounts->n_mounts > 0)
    unmount_one (mounts);
  inject_stage_close (&mounts->stage);
}

static void
copy (const Mounts *mounts, const char *dest, DrayCopyReport *report)
{
  const DrayCopyRequest request = { AT_FDCWD, AT_FDCWD, mounts->stage.source, dest, 0 };
  g_autofree char *before = inject_list_descriptors ();

  inject_set_alarm (60, "mounts");
  dray_engine_submit (&request, 1, NULL, report);
  inject_set_alarm (0, "nothing");

  g_autofree char *after = inject_list_descriptors ();
  g_assert_cmpstr (before, ==, after);
}

static void
assert_copied_to (const Mounts *mounts, const char *dest, unsigned long magic)
{
  g_autoptr (GMappedFile) made = g_mapped_file_new (dest, FALSE, NULL);
  struct statfs facts;

  g_assert_nonnull (made);
  const size_t length = g_mapped_file_get_length (made);
  g_assert_cmpuint (length, ==, g_mapped_file_get_length (mounts->stage.bytes));
  g_assert_cmpint (memcmp (g_mapped_file_get_contents (made),
                           g_mapped_file_get_contents (mounts->stage.bytes), length),
                   ==, 0);
  g_assert_no_errno (statfs (dest, &facts));
  g_assert_cmphex ((unsigned long) facts.f_type, ==, magic);
}

/* Copies, removes the copy, and says which file system it was on. */
static void
copy_and_remove (const Mounts *mounts, unsigned long magic)
{
  DrayCopyReport report;

  copy (mounts, mounts->stage.dest, &report);
  g_assert_cmpstr (dray_decline_get_name (report.decline), ==, "none");
  g_assert_cmpint (report.outcome, ==, DRAY_OUTCOME_COPIED);
  assert_copied_to (mounts, mounts->stage.dest, magic);
  g_assert_no_errno (g_unlink (mounts->stage.dest));
}

static void
assert_declined (const Mounts *mounts, const DrayCopyReport *report)
{
  g_assert_cmpint (report->outcome, ==, DRAY_OUTCOME_DECLINED);
  g_assert_cmpint (report->decline, ==, DRAY_DECLINE_DEST_FILESYSTEM);
  g_assert_cmpuint (inject_count_names (mounts->stage.dest_folder), ==, 0);
}

/* A refusal may be remembered for a while, but not for ever. */
static void
wait_until_taken (const Mounts *mounts)
{
  DrayCopyReport report = { 0 };

  for (unsigned i = 0; i < 200; i++)
    {
      copy (mounts, mounts->stage.dest, &report);
      if (report.outcome == DRAY_OUTCOME_COPIED)
        break;
      assert_declined (mounts, &report);
    }
  g_assert_cmpint (report.outcome, ==, DRAY_OUTCOME_COPIED);
  g_assert_no_errno (g_unlink (mounts->stage.dest));
}

static void
test_mount_between (void)
{
  DrayCopyReport report;
  Mounts mounts;

  if (!mounts_open (&mounts))
    return;
  copy_and_remove (&mounts, EXT4_SUPER_MAGIC);
  copy_and_remove (&mounts, EXT4_SUPER_MAGIC);
  mount_over (&mounts, "tmpfs");
  copy_and_remove (&mounts, TMPFS_MAGIC);
  copy_and_remove (&mounts, TMPFS_MAGIC);

  mount_over (&mounts, "ramfs");
  for (unsigned i = 0; i < 2; i++)
    {
      copy (&mounts, mounts.stage.dest, &report);
      assert_declined (&mounts, &report);
    }

  unmount_one (&mounts);
  wait_until_taken (&mounts);
  copy_and_remove (&mounts, TMPFS_MAGIC);
  unmount_one (&mounts);
  copy_and_remove (&mounts, EXT4_SUPER_MAGIC);
  mounts_close (&mounts);
}

/* A file is made and found to be where none may be; it is gone again, and stock makes it anew. */
static void
test_stock_on_the_mount (void)
{
  g_autoptr (GFile) source = NULL;
  g_autoptr (GFile) dest = NULL;
  g_autoptr (GError) error = NULL;
  size_t n_log;
  unsigned n_made = 0;
  Mounts mounts;

  if (!mounts_open (&mounts))
    return;
  source = g_file_new_for_path (mounts.stage.source);
  dest = g_file_new_for_path (mounts.stage.dest);
  g_assert_true (g_file_copy (source, dest, G_FILE_COPY_NONE, NULL, NULL, NULL, &error));
  g_assert_no_error (error);
  g_assert_no_errno (g_unlink (mounts.stage.dest));

  mount_over (&mounts, "ramfs");
  faulty_reset ();
  g_assert_true (g_file_copy (source, dest, G_FILE_COPY_NONE, NULL, NULL, NULL, &error));
  g_assert_no_error (error);
  FaultyEntry *log = faulty_get_log (&n_log);
  for (size_t i = 0; i < n_log; i++)
    n_made += log[i].creates;
  free (log);
  /* Where mounts have numbers the folder was recognised, and the file that was made showed it. */
  g_test_message ("made %u, removed %u", n_made, faulty_get_count (FAULTY_UNLINK));
  g_assert_cmpuint (n_made, ==, faulty_get_count (FAULTY_UNLINK));
  assert_copied_to (&mounts, mounts.stage.dest, RAMFS_MAGIC);
  g_assert_cmpuint (inject_count_names (mounts.stage.dest_folder), ==, 1);
  g_assert_no_errno (g_unlink (mounts.stage.dest));
  mounts_close (&mounts);
}

static void
mount_now (void *data)
{
  Mounts *mounts = data;

  mount_over (mounts, mounts->type);
}

static unsigned
find_creating_open (void)
{
  size_t n_log;
  FaultyEntry *log = faulty_get_log (&n_log);
  unsigned nth = 0;

  for (size_t i = 0; i < n_log; i++)
    if (log[i].creates)
      nth = log[i].nth;
  free (log);
  g_assert_cmpuint (nth, >, 0);
  return nth;
}

/* The mount comes just before the file is made. */
static void
try_mount_before_creating (const char *type, unsigned long magic)
{
  DrayCopyReport report;
  Mounts mounts;

  if (!mounts_open (&mounts))
    return;
  mounts.type = type;
  copy_and_remove (&mounts, EXT4_SUPER_MAGIC);
  faulty_reset ();
  copy_and_remove (&mounts, EXT4_SUPER_MAGIC);
  const unsigned nth = find_creating_open ();

  faulty_reset ();
  faulty_before (FAULTY_OPEN, nth, mount_now, &mounts);
  copy (&mounts, mounts.stage.dest, &report);
  g_assert_cmpuint (mounts.n_mounts, ==, 1);
  if (report.outcome == DRAY_OUTCOME_DECLINED)
    assert_declined (&mounts, &report);
  else
    {
      /* In the mount when it is one to copy to; else below it, by the folder's descriptor. */
      g_assert_cmpint (report.outcome, ==, DRAY_OUTCOME_COPIED);
      if (inject_count_names (mounts.stage.dest_folder) == 0)
        unmount_one (&mounts);
      else
        g_assert_cmphex (magic, ==, TMPFS_MAGIC);
      assert_copied_to (&mounts, mounts.stage.dest, mounts.n_mounts > 0 ? magic : EXT4_SUPER_MAGIC);
    }
  mounts_close (&mounts);
}

static void
test_mount_before_creating (void)
{
  try_mount_before_creating ("tmpfs", TMPFS_MAGIC);
  try_mount_before_creating ("ramfs", RAMFS_MAGIC);
}

int
main (int argc, char **argv)
{
  inject_init (&argc, &argv);
  g_test_add_func ("/faults/inject-mounts/between-two-copies", test_mount_between);
  g_test_add_func ("/faults/inject-mounts/stock-copies-to-what-is-declined",
                   test_stock_on_the_mount);
  g_test_add_func ("/faults/inject-mounts/before-the-file-is-made", test_mount_before_creating);
  return g_test_run ();
}
