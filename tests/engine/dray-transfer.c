/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests of engine/dray-transfer.c: every method brings the same bytes and tells what it did. */
#include "config.h"
#include "engine/dray-transfer-private.h"

#include "tests/engine/copy-pair.h"

#define KIB ((uint64_t) 1 << 10)
#define MIB ((uint64_t) 1 << 20)

static bool
always_cancelled (void *user_data)
{
  (void) user_data;
  return true;
}

static void
test_each_method_copies_whole (void)
{
  static const struct
  {
    DrayMethod method;
    uint64_t size;
    DrayMethod reported;
  } vectors[] = {
    { DRAY_METHOD_READ_WRITE, 0, DRAY_METHOD_NONE },
    { DRAY_METHOD_READ_WRITE, 1, DRAY_METHOD_READ_WRITE },
    { DRAY_METHOD_READ_WRITE, DRAY_SLAB_BYTES - 1, DRAY_METHOD_READ_WRITE },
    { DRAY_METHOD_READ_WRITE, DRAY_SLAB_BYTES, DRAY_METHOD_READ_WRITE },
    { DRAY_METHOD_READ_WRITE, DRAY_SLAB_BYTES + 1, DRAY_METHOD_READ_WRITE },
    { DRAY_METHOD_READ_WRITE, 3 * MIB + 5, DRAY_METHOD_READ_WRITE },
    { DRAY_METHOD_COPY_RANGE, 1, DRAY_METHOD_COPY_RANGE },
    { DRAY_METHOD_COPY_RANGE, 4 * KIB, DRAY_METHOD_COPY_RANGE },
    { DRAY_METHOD_COPY_RANGE, 5 * MIB + 7, DRAY_METHOD_COPY_RANGE },
    { DRAY_METHOD_SEND, 1, DRAY_METHOD_SEND },
    { DRAY_METHOD_SEND, 64 * KIB, DRAY_METHOD_SEND },
    { DRAY_METHOD_SEND, 5 * MIB + 7, DRAY_METHOD_SEND },
    { DRAY_METHOD_LANES, MIB, DRAY_METHOD_COPY_RANGE }, /* too short for a second thread */
    { DRAY_METHOD_LANES, 33 * MIB + 3, DRAY_METHOD_LANES },
  };
  g_autofree char *first = copy_pair_make_folder ("DRAY_TEST_TMP");

  g_test_summary ("Bytes, length and report, for sizes around the bounds");
  if (first == NULL)
    return;
  g_assert_no_errno (g_rmdir (first));
  for (unsigned seek_holes = 0; seek_holes < 2; seek_holes++)
    for (size_t i = 0; i < G_N_ELEMENTS (vectors); i++)
      {
        const uint64_t size = vectors[i].size;
        uint64_t end = 1;
        CopyPair pair;

        g_test_message ("%s, %lu bytes, seek_holes %u",
                        dray_method_get_name (vectors[i].method), (unsigned long) size, seek_holes);
        copy_pair_init (&pair, copy_pair_make_folder ("DRAY_TEST_TMP"));
        copy_pair_write_dense (pair.source_path, size);
        copy_pair_open (&pair, NULL, NULL);
        copy_pair_plan (&pair, vectors[i].method, seek_holes != 0);

        g_assert_cmpint (dray_transfer_file (&pair.transfer, &end), ==, 0);
        g_assert_cmpuint (end, ==, size);
        copy_pair_assert_same_bytes (pair.source_path, pair.dest_path);
        /* On a machine too slow to read 16 MiB in 16 ms lanes are not taken up. */
        if (vectors[i].reported != DRAY_METHOD_LANES ||
            pair.report.method != DRAY_METHOD_COPY_RANGE)
          g_assert_cmpstr (dray_method_get_name (pair.report.method), ==,
                           dray_method_get_name (vectors[i].reported));
        g_assert_cmpuint (pair.report.bytes, ==, size);
        g_assert_cmpint (pair.report.calls > 0, ==, size > 0);
        g_assert_false (pair.report.sparse);
        copy_pair_clear (&pair);
      }
}

static void
test_growing_source_is_followed (void)
{
  static const struct
  {
    DrayMethod method;
    uint64_t opened, grown;
  } vectors[] = {
    { DRAY_METHOD_READ_WRITE, 0, 100 },
    { DRAY_METHOD_READ_WRITE, 2 * MIB, 3 * MIB + 1 },
    { DRAY_METHOD_COPY_RANGE, 2 * MIB, 3 * MIB + 1 },
    { DRAY_METHOD_SEND, 2 * MIB, 3 * MIB + 1 },
    { DRAY_METHOD_LANES, 32 * MIB, 33 * MIB + 1 },
  };

  g_test_summary ("As stock's splice() does, and progress still ends at the size that was opened");
  for (size_t i = 0; i < G_N_ELEMENTS (vectors); i++)
    {
      char *folder = copy_pair_make_folder ("DRAY_TEST_TMP");
      uint64_t end;
      CopyPair pair;

      if (folder == NULL)
        return;
      copy_pair_init (&pair, folder);
      copy_pair_write_dense (pair.source_path, vectors[i].opened);
      copy_pair_open (&pair, NULL, NULL);
      copy_pair_plan (&pair, vectors[i].method, pair.transfer.plan.seek_holes);
      copy_pair_write_dense (pair.source_path, vectors[i].grown);

      g_test_message ("%s", dray_method_get_name (vectors[i].method));
      g_assert_cmpint (dray_transfer_file (&pair.transfer, &end), ==, 0);
      g_assert_cmpuint (end, ==, vectors[i].grown);
      copy_pair_assert_same_bytes (pair.source_path, pair.dest_path);
      g_assert_cmpuint (pair.pulse.current, <=, vectors[i].opened);
      copy_pair_clear (&pair);
    }
}

static void
test_shrunk_source_ends_early (void)
{
  static const struct
  {
    DrayMethod method;
    uint64_t opened, left;
  } vectors[] = {
    { DRAY_METHOD_READ_WRITE, 100, 0 },
    { DRAY_METHOD_READ_WRITE, 2 * MIB, MIB + 9 },
    { DRAY_METHOD_COPY_RANGE, 2 * MIB, MIB + 9 },
    { DRAY_METHOD_COPY_RANGE, 100, 0 },
    { DRAY_METHOD_SEND, 2 * MIB, MIB + 9 },
    { DRAY_METHOD_SEND, 128 * KIB, 0 },
    { DRAY_METHOD_LANES, 40 * MIB, 33 * MIB + 9 },
    { DRAY_METHOD_LANES, 40 * MIB, 9 },
  };

  g_test_summary ("Success and a short copy, never a loop on 0");
  for (size_t i = 0; i < G_N_ELEMENTS (vectors); i++)
    for (unsigned seek_holes = 0; seek_holes < 2; seek_holes++)
      {
        char *folder = copy_pair_make_folder ("DRAY_TEST_TMP");
        uint64_t end;
        CopyPair pair;

        if (folder == NULL)
          return;
        copy_pair_init (&pair, folder);
        copy_pair_write_dense (pair.source_path, vectors[i].opened);
        copy_pair_open (&pair, NULL, NULL);
        copy_pair_plan (&pair, vectors[i].method, seek_holes != 0);
        g_assert_no_errno (truncate (pair.source_path, (off_t) vectors[i].left));

        g_test_message ("%s", dray_method_get_name (vectors[i].method));
        g_assert_cmpint (dray_transfer_file (&pair.transfer, &end), ==, 0);
        g_assert_cmpuint (end, ==, vectors[i].left);
        copy_pair_assert_same_bytes (pair.source_path, pair.dest_path);
        copy_pair_clear (&pair);
      }
}

static void
test_cancel_ends_every_method (void)
{
  static const DrayMethod vectors[]
    = { DRAY_METHOD_READ_WRITE, DRAY_METHOD_COPY_RANGE, DRAY_METHOD_SEND, DRAY_METHOD_LANES };
  const DrayCopyMonitor monitor = { .cancelled_cb = always_cancelled };

  g_test_summary ("After a first chunk, long before the end");
  for (size_t i = 0; i < G_N_ELEMENTS (vectors); i++)
    {
      char *folder = copy_pair_make_folder ("DRAY_TEST_TMP");
      uint64_t end = 1;
      CopyPair pair;

      if (folder == NULL)
        return;
      copy_pair_init (&pair, folder);
      copy_pair_write_dense (pair.source_path, 48 * MIB);
      copy_pair_open (&pair, NULL, &monitor);
      copy_pair_plan (&pair, vectors[i], false);
      g_test_message ("%s", dray_method_get_name (vectors[i]));
      g_assert_cmpint (dray_transfer_file (&pair.transfer, &end), ==, -ECANCELED);
      g_assert_cmpuint (end, ==, 1);
      g_assert_cmpuint (pair.report.bytes, <, 48 * MIB);
      copy_pair_clear (&pair);
    }
}

static void
test_errors_come_through (void)
{
  static const DrayMethod vectors[]
    = { DRAY_METHOD_READ_WRITE, DRAY_METHOD_COPY_RANGE, DRAY_METHOD_SEND, DRAY_METHOD_LANES };

  g_test_summary ("A destination that cannot be written to, a source that cannot be read");
  for (size_t i = 0; i < G_N_ELEMENTS (vectors); i++)
    for (unsigned bad_source = 0; bad_source < 2; bad_source++)
      {
        char *folder = copy_pair_make_folder ("DRAY_TEST_TMP");
        uint64_t end = 1;
        CopyPair pair;

        if (folder == NULL)
          return;
        copy_pair_init (&pair, folder);
        copy_pair_write_dense (pair.source_path, 34 * MIB);
        copy_pair_open (&pair, NULL, NULL);
        dray_autofd reads = open (pair.dest_path, O_RDONLY | O_CLOEXEC);
        dray_autofd writes = open (pair.source_path, O_WRONLY | O_CLOEXEC);
        if (bad_source != 0)
          pair.transfer.source_fd = writes;
        else
          pair.transfer.dest_fd = reads;
        copy_pair_plan (&pair, vectors[i], false);
        g_test_message ("%s, bad source %u", dray_method_get_name (vectors[i]), bad_source);
        g_assert_cmpint (dray_transfer_file (&pair.transfer, &end), ==, -EBADF);
        g_assert_cmpuint (end, ==, 1);
        g_assert_cmpuint (pair.report.bytes, ==, 0);
        copy_pair_clear (&pair);
      }
}

static void
test_range_stops_at_its_end (void)
{
  static const DrayMethod vectors[]
    = { DRAY_METHOD_READ_WRITE, DRAY_METHOD_COPY_RANGE, DRAY_METHOD_SEND };

  g_test_summary ("Bytes outside of the range stay untouched");
  for (size_t i = 0; i < G_N_ELEMENTS (vectors); i++)
    {
      char *folder = copy_pair_make_folder ("DRAY_TEST_TMP");
      uint64_t offset = 100 * KIB + 1;
      CopyPair pair;

      if (folder == NULL)
        return;
      copy_pair_init (&pair, folder);
      copy_pair_write_dense (pair.source_path, 3 * MIB);
      copy_pair_open (&pair, NULL, NULL);
      copy_pair_plan (&pair, vectors[i], false);
      g_assert_cmpint (dray_transfer_range (&pair.transfer, &offset, 2 * MIB + 3), ==, 0);
      g_assert_cmpuint (offset, ==, 2 * MIB + 3);
      g_assert_cmpuint (pair.report.bytes, ==, 2 * MIB + 3 - 100 * KIB - 1);

      struct stat stat;
      g_assert_no_errno (fstat (pair.dest_fd, &stat));
      g_assert_cmpuint ((uint64_t) stat.st_size, ==, 2 * MIB + 3);
      g_autofree char *copied = NULL;
      gsize length;
      g_assert_true (g_file_get_contents (pair.dest_path, &copied, &length, NULL));
      g_autofree char *expected = g_malloc0 (length);
      copy_pair_fill (expected + 100 * KIB + 1, length - 100 * KIB - 1, 100 * KIB + 1);
      g_assert_cmpint (memcmp (copied, expected, length), ==, 0);
      copy_pair_clear (&pair);
    }
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/engine/transfer/each-method-copies-whole", test_each_method_copies_whole);
  g_test_add_func ("/engine/transfer/growing-source-is-followed",
                   test_growing_source_is_followed);
  g_test_add_func ("/engine/transfer/shrunk-source-ends-early", test_shrunk_source_ends_early);
  g_test_add_func ("/engine/transfer/cancel-ends-every-method", test_cancel_ends_every_method);
  g_test_add_func ("/engine/transfer/errors-come-through", test_errors_come_through);
  g_test_add_func ("/engine/transfer/range-stops-at-its-end", test_range_stops_at_its_end);
  return g_test_run ();
}
