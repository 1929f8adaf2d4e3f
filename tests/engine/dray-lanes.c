/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests of engine/dray-lanes.c: two threads over one range, and what stops them. */
#include "config.h"
#include "tests/engine/copy-pair.h"

#include "engine/dray-lanes-private.h"

#define MIB ((uint64_t) 1 << 20)

/* What a callback does, and what it has seen. */
typedef struct
{
  CopyPair *pair;
  uint64_t act_at; /* bytes of progress */
  uint64_t cut_to; /* bytes that the source is cut to then; UINT64_MAX: cancelled instead */
  bool acted, fell, strayed;
  uint64_t current;
  uint64_t longest_lead; /* bytes of the destination beyond what was told, after a pause */
  GThread *thread;
} Ear;

static void
progress_cb (uint64_t current, uint64_t total, void *user_data)
{
  Ear *ear = user_data;

  (void) total;
  ear->strayed = ear->strayed || g_thread_self () != ear->thread;
  ear->fell = ear->fell || current < ear->current;
  ear->current = current;
  if (ear->acted || current < ear->act_at)
    return;

  ear->acted = true;
  if (ear->cut_to != UINT64_MAX)
    g_assert_no_errno (truncate (ear->pair->source_path, (off_t) ear->cut_to));
  else
    {
      struct stat dest;

      g_usleep (300000);
      g_assert_no_errno (fstat (ear->pair->dest_fd, &dest));
      ear->longest_lead = (uint64_t) dest.st_size - current;
    }
}

static bool
cancelled_cb (void *user_data)
{
  const Ear *ear = user_data;

  return ear->acted && ear->cut_to == UINT64_MAX;
}

static bool
open_pair (CopyPair *pair, uint64_t size, const DrayCopyMonitor *monitor)
{
  char *folder = copy_pair_make_folder ("DRAY_TEST_TMP");

  if (folder == NULL)
    return false;
  copy_pair_init (pair, folder);
  copy_pair_write_dense (pair->source_path, size);
  copy_pair_open (pair, NULL, monitor);
  return true;
}

static void
test_ranges_arrive_whole (void)
{
  static const struct
  {
    uint64_t size, from, to;
  } vectors[] = {
    { 40 * MIB, 0, 40 * MIB },       { 33 * MIB + 1, 0, 33 * MIB + 1 },
    { 5, 0, 5 },                     { DRAY_SLAB_BYTES, 0, DRAY_SLAB_BYTES },
    { DRAY_SLAB_BYTES + 1, 0, DRAY_SLAB_BYTES + 1 },
    { 40 * MIB, 3 * MIB + 7, 39 * MIB + 1 },
  };

  g_test_summary ("Bytes, offset and report, also for a range in the middle");
  for (size_t i = 0; i < G_N_ELEMENTS (vectors); i++)
    {
      uint64_t offset = vectors[i].from;
      const size_t length = (size_t) (vectors[i].to - vectors[i].from);
      CopyPair pair;

      if (!open_pair (&pair, vectors[i].size, NULL))
        return;
      g_assert_cmpint (dray_lanes_transfer (&pair.transfer, &offset, vectors[i].to), ==, 0);
      g_assert_cmpuint (offset, ==, vectors[i].to);
      g_assert_cmpint (pair.report.method, ==, DRAY_METHOD_LANES);
      g_assert_cmpuint (pair.report.bytes, ==, length);
      g_assert_cmpuint (pair.report.calls, >=, 2);

      g_autofree char *source = NULL;
      g_autofree char *dest = NULL;
      gsize source_size, dest_size;
      g_assert_true (g_file_get_contents (pair.source_path, &source, &source_size, NULL));
      g_assert_true (g_file_get_contents (pair.dest_path, &dest, &dest_size, NULL));
      g_assert_cmpuint (dest_size, ==, vectors[i].to);
      g_assert_cmpint (memcmp (source + vectors[i].from, dest + vectors[i].from, length), ==, 0);
      copy_pair_clear (&pair);
    }
}

static void
test_pause_and_cancel_hold_both (void)
{
  CopyPair pair;
  Ear ear = { &pair, 8 * MIB, UINT64_MAX, .thread = g_thread_self () };
  const DrayCopyMonitor monitor = { progress_cb, cancelled_cb, &ear };
  uint64_t offset = 0;

  g_test_summary ("While a callback sleeps the other lane stops soon; a cancel ends both");
  if (!open_pair (&pair, 200 * MIB, &monitor))
    return;
  g_assert_cmpint (dray_lanes_transfer (&pair.transfer, &offset, 200 * MIB), ==, -ECANCELED);
  g_assert_true (ear.acted);
  g_assert_false (ear.fell);
  g_assert_false (ear.strayed);
  /* 16 MiB, and a chunk on each side. */
  g_assert_cmpuint (ear.longest_lead, <=, 17 * MIB);
  g_assert_cmpuint (pair.report.bytes, <=, ear.current + 17 * MIB);
  copy_pair_clear (&pair);
}

static void
test_source_that_is_cut_ends_both (void)
{
  static const uint64_t vectors[] = { 0, 5, 20 * MIB + 3 };

  g_test_summary ("Success, short, and nothing behind the cut");
  for (size_t i = 0; i < G_N_ELEMENTS (vectors); i++)
    {
      CopyPair pair;
      Ear ear = { &pair, 30 * MIB, vectors[i], .thread = g_thread_self () };
      const DrayCopyMonitor monitor = { progress_cb, cancelled_cb, &ear };
      uint64_t offset = 0;
      struct stat dest;

      if (!open_pair (&pair, 400 * MIB, &monitor))
        return;
      g_assert_cmpint (dray_lanes_transfer (&pair.transfer, &offset, 400 * MIB), ==, 0);
      g_assert_true (ear.acted);
      g_assert_cmpuint (offset, <, 400 * MIB);
      g_assert_no_errno (fstat (pair.dest_fd, &dest));
      g_assert_cmpuint ((uint64_t) dest.st_size, ==, offset);
      copy_pair_clear (&pair);
    }
}

static void
test_errors_end_both (void)
{
  g_test_summary ("On either end");
  for (unsigned bad_source = 0; bad_source < 2; bad_source++)
    {
      uint64_t offset = 0;
      CopyPair pair;

      if (!open_pair (&pair, 40 * MIB, NULL))
        return;
      dray_autofd reads = open (pair.dest_path, O_RDONLY | O_CLOEXEC);
      dray_autofd writes = open (pair.source_path, O_WRONLY | O_CLOEXEC);
      if (bad_source != 0)
        pair.transfer.source_fd = writes;
      else
        pair.transfer.dest_fd = reads;
      g_assert_cmpint (dray_lanes_transfer (&pair.transfer, &offset, 40 * MIB), ==, -EBADF);
      g_assert_cmpuint (offset, ==, 0);
      copy_pair_clear (&pair);
    }
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/engine/lanes/ranges-arrive-whole", test_ranges_arrive_whole);
  g_test_add_func ("/engine/lanes/pause-and-cancel-hold-both", test_pause_and_cancel_hold_both);
  g_test_add_func ("/engine/lanes/source-that-is-cut-ends-both",
                   test_source_that_is_cut_ends_both);
  g_test_add_func ("/engine/lanes/errors-end-both", test_errors_end_both);
  return g_test_run ();
}
