/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests of engine/dray-fd.c: results as -errno, offsets, and descriptors closed once. */
#include "config.h"
#include "engine/dray-fd-private.h"

#include "tests/engine/copy-pair.h"

static bool
is_open (int fd)
{
  return fcntl (fd, F_GETFD) >= 0;
}

/* Two descriptors at given places. */
static void
open_at (int one, int other)
{
  dray_autofd fd = open ("/dev/null", O_RDONLY | O_CLOEXEC);

  g_assert_cmpint (dup2 (fd, one), ==, one);
  g_assert_cmpint (dup2 (fd, other), ==, other);
}

static void
test_close_both_closes_those_two (void)
{
  static const struct
  {
    int one, other;
    bool silent;
  } vectors[] = {
    { 101, 102, true },  { 101, 102, false }, { 102, 101, true }, { 102, 101, false },
    { 101, 104, true },  { 101, 104, false }, { 104, 101, true },
  };

  g_test_summary ("Neighbours or not, in either order: no third descriptor is touched");
  for (size_t i = 0; i < G_N_ELEMENTS (vectors); i++)
    {
      for (int fd = 100; fd < 106; fd++)
        open_at (fd, fd);
      g_assert_cmpint (dray_fd_close_both (vectors[i].one, vectors[i].other, vectors[i].silent),
                       ==, 0);
      for (int fd = 100; fd < 106; fd++)
        g_assert_cmpint (is_open (fd), ==, fd != vectors[i].one && fd != vectors[i].other);
    }
  for (int fd = 100; fd < 106; fd++)
    (void) close (fd);
}

static void
test_close_both_reports_either (void)
{
  g_test_summary ("The other is closed all the same");
  open_at (101, 101);
  g_assert_cmpint (dray_fd_close_both (101, 102, false), ==, -EBADF);
  g_assert_false (is_open (101));
  open_at (101, 101);
  g_assert_cmpint (dray_fd_close_both (102, 101, false), ==, -EBADF);
  g_assert_false (is_open (101));
  open_at (101, 105);
  g_assert_cmpint (dray_fd_close_both (101, 105, true), ==, 0);
}

static void
test_open_is_always_close_on_exec (void)
{
  g_test_summary ("No descriptor of ours leaks into a child that execs");
  dray_autofd fd = dray_fd_open (AT_FDCWD, "/dev/null", O_RDONLY, 0);
  g_assert_cmpint (fcntl (fd, F_GETFD) & FD_CLOEXEC, ==, FD_CLOEXEC);
}

static void
test_results_are_negative_errnos (void)
{
  struct statx stat;
  uint32_t magic = 7;
  char bytes[4];

  g_test_summary ("Each call with a descriptor that is not open");
  g_assert_cmpint (dray_fd_open (AT_FDCWD, "/nowhere/x", O_RDONLY, 0), ==, -ENOENT);
  g_assert_cmpint (dray_fd_close (-1), ==, -EBADF);
  g_assert_cmpint (dray_fd_stat (-1, "", AT_EMPTY_PATH, STATX_INO, &stat), ==, -EBADF);
  g_assert_cmpint (dray_fd_filesystem_magic (-1, &magic), ==, -EBADF);
  g_assert_cmpint (dray_fd_filesystem_magic_at ("/nowhere/x", &magic), ==, -ENOENT);
  g_assert_cmpuint (magic, ==, 7);
  g_assert_cmpint (dray_fd_read (-1, bytes, sizeof bytes, 0), ==, -EBADF);
  g_assert_cmpint (dray_fd_write (-1, bytes, sizeof bytes, 0), ==, -EBADF);
  g_assert_cmpint (dray_fd_copy_range (-1, 0, -1, 0, 1), ==, -EBADF);
  g_assert_cmpint (dray_fd_send (-1, 0, -1, 1), ==, -EBADF);
  g_assert_cmpint (dray_fd_clone (-1, -1), ==, -EBADF);
  g_assert_cmpint (dray_fd_seek (-1, 0, SEEK_DATA), ==, -EBADF);
  g_assert_cmpint (dray_fd_truncate (-1, 0), ==, -EBADF);
  g_assert_cmpint (dray_fd_flush_range (-1, 0, 1, true), ==, -EBADF);
  g_assert_cmpint (dray_fd_set_mode (-1, 0600), ==, -EBADF);
  g_assert_cmpint (dray_fd_set_owner (-1, 0, 0), ==, -EBADF);
  g_assert_cmpint (dray_fd_set_times (-1, (struct timespec[2]) { 0 }), ==, -EBADF);
  g_assert_cmpint (dray_fd_list_xattrs (-1, bytes, sizeof bytes), ==, -EBADF);
  g_assert_cmpint (dray_fd_get_xattr (-1, "user.x", bytes, sizeof bytes), ==, -EBADF);
  g_assert_cmpint (dray_fd_set_xattr (-1, "user.x", bytes, sizeof bytes), ==, -EBADF);
  g_assert_cmpint (dray_fd_unlink (AT_FDCWD, "/nowhere/x"), ==, -ENOENT);
}

static void
test_offsets_are_explicit_and_wide (void)
{
  static const uint64_t vectors[] = { 0, 4096, ((uint64_t) 5 << 30) + 123 };
  CopyPair pair;
  char *folder = copy_pair_make_folder ("DRAY_TEST_TMP");

  g_test_summary ("Beyond 4 GiB too; the file position is left alone");
  if (folder == NULL)
    return;
  copy_pair_init (&pair, folder);
  for (size_t i = 0; i < G_N_ELEMENTS (vectors); i++)
    {
      const uint64_t at = vectors[i];
      char bytes[8] = { 0 };

      copy_pair_write_file (pair.source_path, at + 5, &(DataRange) { at, 5 }, 1);
      dray_autofd source = dray_fd_open (AT_FDCWD, pair.source_path, O_RDONLY, 0);
      dray_autofd dest = dray_fd_open (AT_FDCWD, pair.dest_path, O_RDWR | O_CREAT | O_TRUNC, 0600);

      g_assert_cmpint (dray_fd_read (source, bytes, sizeof bytes, at), ==, 5);
      g_assert_cmpint (dray_fd_write (dest, bytes, 2, at), ==, 2);
      g_assert_cmpint (dray_fd_copy_range (source, at + 2, dest, at + 2, 2), ==, 2);
      g_assert_cmpint (lseek (source, 0, SEEK_CUR), ==, 0);
      g_assert_cmpint (lseek (dest, 0, SEEK_CUR), ==, 0);
      g_assert_cmpint (dray_fd_seek (dest, at + 4, SEEK_SET), ==, (int64_t) at + 4);
      g_assert_cmpint (dray_fd_send (source, at + 4, dest, 1), ==, 1);
      g_assert_cmpint (lseek (source, 0, SEEK_CUR), ==, 0);
      g_assert_cmpint (dray_fd_send (source, at + 5, dest, 1), ==, 0);
      char copied[8];
      g_assert_cmpint (dray_fd_read (dest, copied, sizeof copied, at), ==, 5);
      g_assert_cmpint (memcmp (copied, bytes, 5), ==, 0);
    }
  copy_pair_clear (&pair);
}

static void
test_in_kernel_calls_are_capped (void)
{
  const uint64_t size = (uint64_t) 3 << 30;
  /* Shares extents, so that 3 GiB of hole take one call and no room. */
  char *folder = copy_pair_make_folder ("DRAY_TEST_BTRFS");
  CopyPair pair;

  g_test_summary ("Never more than 1 GiB in one call, which no int cuts short");
  if (folder == NULL)
    return;
  copy_pair_init (&pair, folder);
  copy_pair_write_file (pair.source_path, size, NULL, 0);
  copy_pair_open (&pair, NULL, NULL);
  g_assert_cmpint (dray_fd_copy_range (pair.source_fd, 0, pair.dest_fd, 0, size), ==, 1 << 30);
  copy_pair_clear (&pair);
}

static void
test_seek_finds_data_and_holes (void)
{
  static const DataRange data = { 1 << 20, 64 << 10 };
  char *folder = copy_pair_make_folder ("DRAY_TEST_TMP");
  CopyPair pair;

  g_test_summary ("-ENXIO says that nothing but a hole follows");
  if (folder == NULL)
    return;
  copy_pair_init (&pair, folder);
  copy_pair_write_file (pair.source_path, 4 << 20, &data, 1);
  copy_pair_open (&pair, NULL, NULL);
  g_assert_cmpint (dray_fd_seek (pair.source_fd, 0, SEEK_DATA), ==, 1 << 20);
  g_assert_cmpint (dray_fd_seek (pair.source_fd, 1 << 20, SEEK_HOLE), ==, (1 << 20) + (64 << 10));
  g_assert_cmpint (dray_fd_seek (pair.source_fd, 2 << 20, SEEK_DATA), ==, -ENXIO);
  copy_pair_clear (&pair);
}

static void
test_autofd_closes_and_steal_keeps (void)
{
  int kept;

  g_test_summary ("A scope's end closes what was not taken out of it");
  {
    dray_autofd gone = dray_fd_open (AT_FDCWD, "/dev/null", O_RDONLY, 0);
    dray_autofd none = -ENOENT;
    dray_autofd stolen = dray_fd_open (AT_FDCWD, "/dev/null", O_RDONLY, 0);

    (void) none;
    g_assert_cmpint (dup2 (gone, 110), ==, 110);
    dray_autofd_clear (&gone);
    g_assert_cmpint (gone, ==, -1);
    kept = dray_fd_steal (&stolen);
    g_assert_cmpint (stolen, ==, -1);
  }
  g_assert_true (is_open (kept));
  g_assert_cmpint (dray_fd_close (kept), ==, 0);
  {
    dray_autofd scoped = 110;
    (void) scoped;
  }
  g_assert_false (is_open (110));
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/engine/fd/close-both-closes-those-two", test_close_both_closes_those_two);
  g_test_add_func ("/engine/fd/close-both-reports-either", test_close_both_reports_either);
  g_test_add_func ("/engine/fd/open-is-always-close-on-exec", test_open_is_always_close_on_exec);
  g_test_add_func ("/engine/fd/results-are-negative-errnos", test_results_are_negative_errnos);
  g_test_add_func ("/engine/fd/offsets-are-explicit-and-wide",
                   test_offsets_are_explicit_and_wide);
  g_test_add_func ("/engine/fd/in-kernel-calls-are-capped", test_in_kernel_calls_are_capped);
  g_test_add_func ("/engine/fd/seek-finds-data-and-holes", test_seek_finds_data_and_holes);
  g_test_add_func ("/engine/fd/autofd-closes-and-steal-keeps", test_autofd_closes_and_steal_keeps);
  return g_test_run ();
}
