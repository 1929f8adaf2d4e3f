/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Bytes, lengths, holes and shared extents, on each file system and between all of them. */
#include "config.h"
#include "tests/parity/parity-run.h"

#include "tests/support/tree-build.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define KIB ((uint64_t) 1 << 10)
#define MIB ((uint64_t) 1 << 20)

/* --- sizes ------------------------------------------------------------------------------------ */

static const uint64_t sizes[] = {
  0,          1,         4095,    4096,        65535,   65536,
  256 * KIB - 1, 256 * KIB, 256 * KIB + 1, MIB,     MIB + 1, 3 * MIB,
  /* From 128 MiB on two threads share the work. */
  40 * MIB,   129 * MIB + 1,
};

static void
prepare_size (ParityPlace *place, gconstpointer data)
{
  const uint64_t *size = data;

  tree_write (place->source, *size, 0644);
}

static void
test_sizes (gconstpointer data)
{
  const char *base = parity_get_base (data);
  ParityCall call = PARITY_CALL (base, base);

  if (base == NULL)
    return;
  call.prepare = prepare_size;
  for (size_t i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      g_autofree char *name = g_strdup_printf ("%" G_GUINT64_FORMAT " bytes", sizes[i]);

      call.name = name;
      call.data = &sizes[i];
      parity_compare (&call);
    }
}

/* --- sparse files ----------------------------------------------------------------------------- */

typedef struct
{
  const char *name;
  void (*build) (const char *path);
  uint64_t hole_bytes; /* of holes that every file system under test keeps */
} SparseVector;

static void
set_length (const char *path, uint64_t length)
{
  g_assert_cmpint (truncate (path, (off_t) length), ==, 0);
}

static void
build_only_hole (const char *path)
{
  tree_fill (path, 0, 0);
  set_length (path, 2 * MIB);
}

static void
build_small_hole (const char *path)
{
  tree_fill (path, 0, 0);
  set_length (path, 5000);
}

static void
build_leading_hole (const char *path)
{
  tree_fill (path, 2 * MIB, 64 * KIB + 5);
}

static void
build_trailing_hole (const char *path)
{
  tree_fill (path, 0, 5000);
  set_length (path, 2 * MIB + 5);
}

static void
build_many_holes (const char *path)
{
  for (uint64_t i = 0; i < 32; i++)
    tree_fill (path, (2 * i + 1) * 64 * KIB, 64 * KIB);
}

static void
build_big_hole (const char *path)
{
  tree_fill (path, 0, 5000);
  tree_fill (path, 64 * MIB, 5000);
}

static void
build_big_data (const char *path)
{
  tree_fill (path, 0, 36 * MIB);
  tree_fill (path, 40 * MIB, 5000);
}

static void
allocate (const char *path, uint64_t offset, uint64_t length, int mode)
{
  int fd = open (path, O_WRONLY | O_CLOEXEC);

  g_assert_cmpint (fd, >=, 0);
  if (fallocate (fd, mode, (off_t) offset, (off_t) length) != 0)
    /* Then it is a plain file, which is a case too. */
    g_test_message ("%s: fallocate: %s", path, g_strerror (errno));
  (void) close (fd);
}

static void
build_beyond_end (const char *path)
{
  tree_fill (path, 0, 5000);
  allocate (path, 0, 2 * MIB, FALLOC_FL_KEEP_SIZE);
}

static void
build_beyond_end_with_hole (const char *path)
{
  tree_fill (path, 0, 5000);
  tree_fill (path, 2 * MIB, 5000);
  /* Allocated beyond the end what is missing before it: the allocated size does not tell. */
  allocate (path, 2 * MIB + 8192, 3 * MIB, FALLOC_FL_KEEP_SIZE);
}

static void
build_unwritten (const char *path)
{
  tree_fill (path, 0, 5000);
  allocate (path, 0, 2 * MIB, 0);
}

static const SparseVector sparse_files[] = {
  { "only a hole", build_only_hole, 2 * MIB },
  { "only a small hole", build_small_hole, 0 },
  { "leading hole", build_leading_hole, 2 * MIB },
  { "trailing hole", build_trailing_hole, 2 * MIB - 64 * KIB },
  { "many holes", build_many_holes, 2 * MIB },
  { "big hole", build_big_hole, 63 * MIB },
  { "big data and a hole", build_big_data, 4 * MIB },
  { "allocated beyond the end", build_beyond_end, 0 },
  { "allocated beyond the end, with a hole", build_beyond_end_with_hole, MIB },
  { "allocated and not written", build_unwritten, 0 },
};

static void
prepare_sparse (ParityPlace *place, gconstpointer data)
{
  const SparseVector *vector = data;

  vector->build (place->source);
  g_assert_cmpint (chmod (place->source, 0644), ==, 0);
  g_assert_cmpint (tree_set_times (place->source, TREE_ATIME, TREE_MTIME), ==, 0);
}

/* BETTER: holes stay holes. Stock fills them, except where it clones. */
static void
compare_sparse (const char *source_base, const char *dest_base, const SparseVector *vector)
{
  ParityCall call = PARITY_CALL (source_base, dest_base);
  ParityRun stock, ours;

  call.name = vector->name;
  call.prepare = prepare_sparse;
  call.data = vector;
  call.with_blocks = true;
  parity_run (&call, false, &stock);
  parity_run (&call, true, &ours);
  parity_compare_runs (&call, &stock, &ours);

  if (vector->hole_bytes > 0)
    {
      const uint64_t most
        = (uint64_t) ours.source_size - vector->hole_bytes + 256 * KIB;

      parity_expect (&call, ours.bytes <= most,
                     "%" G_GUINT64_FORMAT " bytes allocated (%s), %" G_GUINT64_FORMAT
                     " at most, the source has %" G_GUINT64_FORMAT,
                     ours.bytes, ours.map, most, ours.source_bytes);
    }
  parity_run_clear (&stock);
  parity_run_clear (&ours);
}

static void
test_sparse (gconstpointer data)
{
  const char *base = parity_get_base (data);

  if (base == NULL)
    return;
  for (size_t i = 0; i < G_N_ELEMENTS (sparse_files); i++)
    compare_sparse (base, base, &sparse_files[i]);
}

/* What stock would need hours and terabytes for. */
static void
build_huge_hole (const char *path)
{
  tree_fill (path, 0, 5000);
  tree_fill (path, MIB << 20, 5000);
}

static void
test_huge_hole (gconstpointer data)
{
  static const SparseVector vector = { "huge hole", build_huge_hole, 0 };
  const char *base = parity_get_base (data);
  ParityCall call = PARITY_CALL (base, base);
  ParityRun ours;

  if (base == NULL)
    return;
  call.name = vector.name;
  call.prepare = prepare_sparse;
  call.data = &vector;
  call.with_blocks = true;
  parity_run (&call, true, &ours);
  g_assert_cmpint (ours.outcome, ==, PARITY_TAKEN);
  g_assert_no_error (ours.error);
  g_assert_cmpint (ours.progress.last, ==, (goffset) ((MIB << 20) + 5000));
  g_assert_cmpuint (ours.bytes, <, 4 * MIB);
  parity_run_clear (&ours);
}

/* --- clones ----------------------------------------------------------------------------------- */

static void
test_clones (gconstpointer data)
{
  const ParityFilesystem *filesystem = data;
  static const uint64_t size = 3 * MIB;
  const char *base = parity_get_base (filesystem);
  ParityCall call = PARITY_CALL (base, base);
  ParityRun ours;

  if (base == NULL)
    return;
  call.name = "clone";
  call.prepare = prepare_size;
  call.data = &size;
  call.with_blocks = true;
  parity_compare (&call);

  parity_run (&call, true, &ours);
  g_assert_cmpint (ours.shared, ==, filesystem->clones);
  parity_run_clear (&ours);
}

/* --- pairs ------------------------------------------------------------------------------------ */

static void
prepare_metadata (ParityPlace *place, gconstpointer data)
{
  const mode_t *mode = data;

  tree_write (place->source, 5000, 0600);
  (void) tree_set_xattr (place->source, "user.one", "1", 1);
  (void) tree_set_xattr (place->source, "user.two", "", 0);
  if (parity_is_root ())
    {
      (void) tree_set_xattr (place->source, "trusted.parity", "t", 1);
      g_assert_cmpint (chown (place->source, 1234, 5678), ==, 0);
    }
  (void) tree_set_acl (place->source, false, 4321, 6);
  g_assert_cmpint (chmod (place->source, *mode), ==, 0);
  g_assert_cmpint (tree_set_times (place->source, TREE_ATIME, TREE_MTIME), ==, 0);
}

static void
compare_pair (const char *source_base, const char *dest_base)
{
  static const uint64_t pair_sizes[] = { 0, 5000, 65536, 256 * KIB + 1, 3 * MIB };
  static const mode_t modes[] = { 0644, 0600, 0755, 04755, 02711 };
  ParityCall call = PARITY_CALL (source_base, dest_base);

  call.prepare = prepare_size;
  call.name = "size";
  for (size_t i = 0; i < G_N_ELEMENTS (pair_sizes); i++)
    {
      call.data = &pair_sizes[i];
      parity_compare (&call);
    }
  for (size_t i = 0; i < G_N_ELEMENTS (sparse_files); i++)
    if (sparse_files[i].build != build_big_data)
      compare_sparse (source_base, dest_base, &sparse_files[i]);

  call.prepare = prepare_metadata;
  call.name = "metadata";
  for (size_t i = 0; i < G_N_ELEMENTS (modes); i++)
    {
      call.data = &modes[i];
      call.flags = G_FILE_COPY_NONE;
      parity_compare (&call);
      call.flags = G_FILE_COPY_ALL_METADATA | G_FILE_COPY_NOFOLLOW_SYMLINKS;
      parity_compare (&call);
      call.flags = G_FILE_COPY_TARGET_DEFAULT_PERMS;
      parity_compare (&call);
    }
}

static void
test_pairs (gconstpointer data)
{
  const char *base = parity_get_base (data);

  if (base == NULL)
    return;
  for (size_t i = 0; i < PARITY_N_FILESYSTEMS; i++)
    {
      const char *other = g_getenv (parity_filesystems[i].variable);

      if (other != NULL && g_strcmp0 (base, other) != 0)
        compare_pair (base, other);
    }
}

/* Two file systems of the same kind, where a clone is refused with EXDEV. */
static void
test_same_kind (void)
{
  const char *source = g_getenv ("DRAY_TEST_EXT4"), *dest = g_getenv ("DRAY_TEST_EXT4_OTHER");
  static const uint64_t size = 140 * MIB;
  ParityCall call = PARITY_CALL (source, dest);

  if (source == NULL || dest == NULL)
    {
      g_test_skip ("no two ext4 file systems: needs root");
      return;
    }
  compare_pair (source, dest);
  call.name = "big";
  call.prepare = prepare_size;
  call.data = &size;
  parity_compare (&call);
}

int
main (int argc, char *argv[])
{
  parity_init (&argc, &argv);

  parity_add ("contents", "sizes", test_sizes);
  parity_add ("contents", "holes-stay-holes", test_sparse);
  parity_add ("contents", "a-huge-hole-takes-no-room", test_huge_hole);
  parity_add ("contents", "clones-where-stock-clones", test_clones);
  parity_add ("contents", "to-every-other-file-system-from", test_pairs);
  g_test_add_func ("/parity/contents/to-another-file-system-of-the-same-kind", test_same_kind);

  return g_test_run ();
}
