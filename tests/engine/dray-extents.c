/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests of engine/dray-extents.c: holes stay holes, wherever they are, on every file system. */
#include "config.h"
#include "engine/dray-extents-private.h"

#include "tests/engine/copy-pair.h"

#define KIB ((uint64_t) 1 << 10)
#define MIB ((uint64_t) 1 << 20)

static const char *const folders[]
  = { "DRAY_TEST_TMP",       "DRAY_TEST_EXT4",  "DRAY_TEST_XFS",   "DRAY_TEST_XFS_PLAIN",
      "DRAY_TEST_BTRFS",     "DRAY_TEST_TMPFS", "DRAY_TEST_OVERLAY" };

typedef struct
{
  const char *name;
  uint64_t size;
  unsigned n_ranges;
  DataRange ranges[4];
  bool sparse;
} Layout;

static const Layout layouts[] = {
  { "dense", 256 * KIB, 1, { { 0, 256 * KIB } }, false },
  { "nothing but a hole", 64 * MIB, 0, { { 0 } }, true },
  { "hole first", 2 * MIB, 1, { { MIB, MIB } }, true },
  { "hole last", 8 * MIB, 1, { { 0, MIB } }, true },
  { "hole in the middle", 3 * MIB, 2, { { 0, MIB }, { 2 * MIB, MIB } }, true },
  { "data in the middle", 3 * MIB, 1, { { MIB, 64 * KIB } }, true },
  { "many", 8 * MIB + 5, 4,
    { { 0, 64 * KIB }, { MIB, 64 * KIB }, { 3 * MIB, 128 * KIB }, { 8 * MIB, 5 } }, true },
  { "data for lanes between holes", 60 * MIB, 1, { { 10 * MIB, 36 * MIB } }, true },
  { "huge", (uint64_t) 6 << 30, 1, { { ((uint64_t) 5 << 30), 64 * KIB } }, true },
  { "one byte at the end of a hole", 16 * MIB + 1, 1, { { 16 * MIB, 1 } }, true },
};

static void
check_layout (const char *variable, const char *dest_variable, const Layout *layout,
              DrayMethod method)
{
  g_autofree char *dest_folder = copy_pair_make_folder (dest_variable);
  uint64_t end, data = 0;
  CopyPair pair;

  g_test_message ("%s to %s, %s, %s", variable, dest_variable, layout->name,
                  dray_method_get_name (method));
  copy_pair_init (&pair, copy_pair_make_folder (variable));
  copy_pair_write_file (pair.source_path, layout->size, layout->ranges, layout->n_ranges);
  for (unsigned i = 0; i < layout->n_ranges; i++)
    data += layout->ranges[i].length;
  copy_pair_open (&pair, dest_folder, NULL);
  copy_pair_plan (&pair, method, true);

  g_assert_cmpint (dray_extents_transfer (&pair.transfer, &end), ==, 0);
  g_assert_cmpuint (end, ==, layout->size);
  struct stat stat;
  g_assert_no_errno (fstat (pair.dest_fd, &stat));
  g_assert_cmpuint ((uint64_t) stat.st_size, ==, layout->size);
  if (layout->size <= 64 * MIB)
    copy_pair_assert_same_bytes (pair.source_path, pair.dest_path);
  if (strstr (dest_variable, "XFS") == NULL)
    copy_pair_assert_same_holes (pair.source_path, pair.dest_path);
  else if (layout->sparse)
    /* What xfs allocates ahead of a growing file stays where the length is set after it. */
    g_assert_cmpint (lseek (pair.dest_fd, 0, SEEK_HOLE), <, (off_t) layout->size);
  g_assert_cmpint (pair.report.sparse, ==, layout->sparse);
  /* Whole blocks are read and written. */
  g_assert_cmpuint (pair.report.bytes, >=, data);
  g_assert_cmpuint (pair.report.bytes, <=, data + layout->n_ranges * 64 * KIB);
  copy_pair_clear (&pair);
  g_assert_no_errno (g_rmdir (dest_folder));
}

static void
test_holes_stay_holes (void)
{
  static const DrayMethod methods[]
    = { DRAY_METHOD_READ_WRITE, DRAY_METHOD_COPY_RANGE, DRAY_METHOD_LANES };

  g_test_summary ("Every layout, on every file system at hand, with every method");
  for (size_t f = 0; f < G_N_ELEMENTS (folders); f++)
    if (g_getenv (folders[f]) != NULL)
      for (size_t l = 0; l < G_N_ELEMENTS (layouts); l++)
        for (size_t m = 0; m < G_N_ELEMENTS (methods); m++)
          check_layout (folders[f], folders[f], &layouts[l], methods[m]);
  if (g_getenv ("DRAY_TEST_TMP") == NULL)
    g_test_skip ("DRAY_TEST_TMP is not set");
}

static void
test_holes_cross_file_systems (void)
{
  static const struct
  {
    const char *source, *dest;
  } vectors[] = {
    { "DRAY_TEST_EXT4", "DRAY_TEST_EXT4_OTHER" },
    { "DRAY_TEST_EXT4", "DRAY_TEST_TMPFS" },
    { "DRAY_TEST_TMPFS", "DRAY_TEST_EXT4" },
  };

  g_test_summary ("With sendfile(), which needs its destination to be in place");
  for (size_t i = 0; i < G_N_ELEMENTS (vectors); i++)
    {
      if (g_getenv (vectors[i].source) == NULL || g_getenv (vectors[i].dest) == NULL)
        {
          g_test_skip ("file systems are not at hand: not root");
          return;
        }
      for (size_t l = 0; l < G_N_ELEMENTS (layouts); l++)
        check_layout (vectors[i].source, vectors[i].dest, &layouts[l], DRAY_METHOD_SEND);
    }
}

static void
test_extents_beyond_the_end_do_not_count (void)
{
  const char *const variable = "DRAY_TEST_EXT4";
  char *folder = copy_pair_make_folder (variable);
  uint64_t end;
  CopyPair pair;

  g_test_summary ("fallocate --keep-size behind the end: the length is the file's");
  if (folder == NULL)
    return;
  copy_pair_init (&pair, folder);
  copy_pair_write_file (pair.source_path, 10 * MIB, &(DataRange) { 0, 5000 }, 1);
  dray_autofd fd = open (pair.source_path, O_WRONLY | O_CLOEXEC);
  g_assert_no_errno (fallocate (fd, FALLOC_FL_KEEP_SIZE, 10 * MIB, MIB));
  copy_pair_open (&pair, NULL, NULL);
  g_assert_cmpint (dray_extents_transfer (&pair.transfer, &end), ==, 0);
  g_assert_cmpuint (end, ==, 10 * MIB);
  copy_pair_assert_same_bytes (pair.source_path, pair.dest_path);
  struct stat stat;
  g_assert_no_errno (fstat (pair.dest_fd, &stat));
  g_assert_cmpint (stat.st_blocks, <=, 64);
  copy_pair_clear (&pair);
}

static void
test_changed_source_never_loops (void)
{
  static const uint64_t vectors[] = { 0, 1, MIB, 4 * MIB - 1, 4 * MIB, 5 * MIB, 20 * MIB };

  g_test_summary ("Cut or grown after it was opened: the copy has what is there");
  for (size_t i = 0; i < G_N_ELEMENTS (vectors); i++)
    {
      char *folder = copy_pair_make_folder ("DRAY_TEST_TMP");
      uint64_t end;
      CopyPair pair;

      if (folder == NULL)
        return;
      copy_pair_init (&pair, folder);
      copy_pair_write_file (pair.source_path, 4 * MIB, &(DataRange) { MIB, 2 * MIB }, 1);
      copy_pair_open (&pair, NULL, NULL);
      g_assert_no_errno (truncate (pair.source_path, (off_t) vectors[i]));
      g_test_message ("%lu", (unsigned long) vectors[i]);
      g_assert_cmpint (dray_extents_transfer (&pair.transfer, &end), ==, 0);
      g_assert_cmpuint (end, ==, vectors[i]);
      copy_pair_assert_same_bytes (pair.source_path, pair.dest_path);
      copy_pair_clear (&pair);
    }
}

static void
test_file_system_that_cannot_tell (void)
{
  g_test_summary ("A file of procfs has no SEEK_DATA worth the name: all is data");
  char *folder = copy_pair_make_folder ("DRAY_TEST_TMP");
  uint64_t end;
  CopyPair pair;

  if (folder == NULL)
    return;
  copy_pair_init (&pair, folder);
  copy_pair_write_dense (pair.source_path, 1);
  copy_pair_open (&pair, NULL, NULL);
  dray_autofd version = open ("/proc/version", O_RDONLY | O_CLOEXEC);
  pair.transfer.source_fd = version;
  pair.facts.size = 0;
  g_assert_cmpint (dray_extents_transfer (&pair.transfer, &end), ==, 0);
  g_assert_cmpuint (end, >, 10);
  copy_pair_assert_same_bytes ("/proc/version", pair.dest_path);
  copy_pair_clear (&pair);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/engine/extents/holes-stay-holes", test_holes_stay_holes);
  g_test_add_func ("/engine/extents/holes-cross-file-systems", test_holes_cross_file_systems);
  g_test_add_func ("/engine/extents/extents-beyond-the-end-do-not-count",
                   test_extents_beyond_the_end_do_not_count);
  g_test_add_func ("/engine/extents/changed-source-never-loops",
                   test_changed_source_never_loops);
  g_test_add_func ("/engine/extents/file-system-that-cannot-tell",
                   test_file_system_that_cannot_tell);
  return g_test_run ();
}
