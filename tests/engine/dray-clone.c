/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests of engine/dray-clone.c: where a clone is made, refused and cancelled. */
#include "config.h"
#include "tests/engine/copy-pair.h"

#include "engine/dray-clone-private.h"

#define MIB ((uint64_t) 1 << 20)

static bool
always_cancelled (void *user_data)
{
  (void) user_data;
  return true;
}

/* Opens a pair on two folders of the environment. Returns false when one is missing. */
static bool
open_pair (CopyPair *pair, const char *source, const char *dest, uint64_t size,
           const DrayCopyMonitor *monitor, char **out_dest_folder)
{
  *out_dest_folder = NULL;
  if (g_getenv (source) == NULL || g_getenv (dest) == NULL)
    return false;

  copy_pair_init (pair, copy_pair_make_folder (source));
  if (g_strcmp0 (source, dest) != 0)
    *out_dest_folder = copy_pair_make_folder (dest);
  copy_pair_write_dense (pair->source_path, size);
  copy_pair_open (pair, *out_dest_folder, monitor);
  return true;
}

static void
close_pair (CopyPair *pair, char *dest_folder)
{
  copy_pair_clear (pair);
  if (dest_folder != NULL)
    g_assert_no_errno (g_rmdir (dest_folder));
  g_free (dest_folder);
}

static void
test_clones_where_it_can (void)
{
  static const struct
  {
    const char *source, *dest;
    DrayAttempt attempt;
  } vectors[] = {
    { "DRAY_TEST_XFS", "DRAY_TEST_XFS", DRAY_ATTEMPT_DONE },
    { "DRAY_TEST_BTRFS", "DRAY_TEST_BTRFS", DRAY_ATTEMPT_DONE },
    { "DRAY_TEST_XFS_PLAIN", "DRAY_TEST_XFS_PLAIN", DRAY_ATTEMPT_UNSUITED },
    { "DRAY_TEST_EXT4", "DRAY_TEST_EXT4", DRAY_ATTEMPT_UNSUITED },
    { "DRAY_TEST_TMPFS", "DRAY_TEST_TMPFS", DRAY_ATTEMPT_UNSUITED },
    { "DRAY_TEST_XFS", "DRAY_TEST_XFS_PLAIN", DRAY_ATTEMPT_UNSUITED },
    { "DRAY_TEST_XFS", "DRAY_TEST_BTRFS", DRAY_ATTEMPT_UNSUITED },
  };
  static const uint64_t sizes[] = { 1, 4096, MIB + 5, 40 * MIB };
  unsigned n_seen = 0;

  g_test_summary ("Shared as a whole, just written and still dirty; else the destination is empty");
  for (size_t i = 0; i < G_N_ELEMENTS (vectors); i++)
    for (size_t j = 0; j < G_N_ELEMENTS (sizes); j++)
      {
        CopyPair pair;
        char *dest_folder;
        struct stat dest;
        int error = 0;

        if (!open_pair (&pair, vectors[i].source, vectors[i].dest, sizes[j], NULL, &dest_folder))
          continue;
        n_seen++;
        g_test_message ("%s to %s", vectors[i].source, vectors[i].dest);
        g_assert_cmpint (dray_clone_file (&pair.transfer, &error), ==, vectors[i].attempt);
        g_assert_cmpint (error, ==, 0);
        g_assert_cmpuint (pair.report.calls, ==, 1);
        if (vectors[i].attempt == DRAY_ATTEMPT_DONE)
          {
            copy_pair_assert_same_bytes (pair.source_path, pair.dest_path);
            g_assert_cmpint (pair.report.method, ==, DRAY_METHOD_REFLINK);
          }
        else
          {
            g_assert_no_errno (fstat (pair.dest_fd, &dest));
            g_assert_cmpint (dest.st_size, ==, 0);
            g_assert_cmpint (pair.report.method, ==, DRAY_METHOD_NONE);
          }
        close_pair (&pair, dest_folder);
      }
  if (n_seen == 0)
    g_test_skip ("no file systems to try: needs root");
}

static void
test_cancel_is_heard_while_flushing (void)
{
  const DrayCopyMonitor monitor = { .cancelled_cb = always_cancelled };
  CopyPair pair;
  char *dest_folder;
  struct stat dest;
  int error = 0;

  g_test_summary ("Before the clone of a big source, and nothing is shared then");
  if (!open_pair (&pair, "DRAY_TEST_BTRFS", "DRAY_TEST_BTRFS", 64 * MIB, &monitor, &dest_folder))
    {
      g_test_skip ("no btrfs: needs root");
      return;
    }
  g_assert_cmpint (dray_clone_file (&pair.transfer, &error), ==, DRAY_ATTEMPT_FAILED);
  g_assert_cmpint (error, ==, -ECANCELED);
  g_assert_no_errno (fstat (pair.dest_fd, &dest));
  g_assert_cmpint (dest.st_size, ==, 0);
  close_pair (&pair, dest_folder);
}

static void
test_what_is_there_already_is_emptied (void)
{
  CopyPair pair;
  char *dest_folder;
  int error = 0;

  g_test_summary ("A destination that cannot be written to is an error, not a reason to go on");
  if (!open_pair (&pair, "DRAY_TEST_BTRFS", "DRAY_TEST_BTRFS", MIB, NULL, &dest_folder))
    {
      g_test_skip ("no btrfs: needs root");
      return;
    }
  dray_autofd reads = open (pair.dest_path, O_RDONLY | O_CLOEXEC);
  pair.transfer.dest_fd = reads;
  g_assert_cmpint (dray_clone_file (&pair.transfer, &error), ==, DRAY_ATTEMPT_FAILED);
  g_assert_cmpint (error, <, 0);
  close_pair (&pair, dest_folder);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/engine/clone/clones-where-it-can", test_clones_where_it_can);
  g_test_add_func ("/engine/clone/cancel-is-heard-while-flushing",
                   test_cancel_is_heard_while_flushing);
  g_test_add_func ("/engine/clone/what-is-there-already-is-emptied",
                   test_what_is_there_already_is_emptied);
  return g_test_run ();
}
