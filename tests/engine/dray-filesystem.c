/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests of engine/dray-filesystem.c: the table by number, and the memory of mounts. */
#include "config.h"
#include "engine/dray-filesystem-private.h"

#include "engine/dray-fd-private.h"
#include "tests/engine/copy-pair.h"

/* A unique mount id that no kernel has come to: they count from 2^31 up. */
#define FORGED_ID ((uint64_t) 0xD7A7 << 44)

static void
test_table_by_magic_number (void)
{
  /* Numbers from linux/magic.h, statfs(2) and the file systems' own sources. */
  static const struct
  {
    uint32_t magic;
    const char *name;
    bool take;
  } vectors[] = {
    { 0x0000EF53, "ext4", true },
    { 0x58465342, "xfs", true },
    { 0x9123683E, "btrfs", true },
    { 0xCA451A4E, "bcachefs", true },
    { 0xF2F52010, "f2fs", true },
    { 0x01021994, "tmpfs", true },
    { 0x794C7630, "overlay", false }, /* by itself; the layers decide */
    { 0x00006969, "nfs", false },
    { 0xFF534D42, "cifs", false },
    { 0xFE534D42, "smb2", false },
    { 0x0000517B, "smb", false },
    { 0x01021997, "9p", false },
    { 0x00C36400, "ceph", false },
    { 0x5346414F, "afs", false },
    { 0x6B414653, "kafs", false },
    { 0x65735546, "fuse", false },
    { 0x00004D44, "vfat", false },
    { 0x2011BAB0, "exfat", false },
    { 0x7366746E, "ntfs3", false },
    { 0x5346544E, "ntfs", false },
    { 0x2FC12FC1, "zfs", false },
    { 0x0000F15F, "ecryptfs", false },
    { 0x00009FA0, "proc", false },
    { 0x62656572, "sysfs", false },
    { 0x64626720, "debugfs", false },
    { 0x74726163, "tracefs", false },
    { 0x63677270, "cgroup2", false },
    { 0x00009660, "iso9660", false },
    { 0x15013346, "udf", false },
    { 0x73717368, "squashfs", false },
    { 0x858458F6, "ramfs", false },
    { 0x958458F6, "hugetlbfs", false },
    { 0x00000000, "unknown", false },
    { 0xFFFFFFFF, "unknown", false },
    { 0xDEADBEEF, "unknown", false },
    { 0x0000EF52, "unknown", false },
    { 0x53EF0000, "unknown", false },
    { 0x3153464A, "unknown", false }, /* jfs: never measured */
    { 0x52654973, "unknown", false }, /* reiserfs */
  };

  g_test_summary ("Only file systems that are plainly safe are taken");
  for (size_t i = 0; i < G_N_ELEMENTS (vectors); i++)
    {
      const DrayFilesystem *row = dray_filesystem_from_magic (vectors[i].magic);

      g_test_message ("0x%08X", vectors[i].magic);
      g_assert_nonnull (row);
      g_assert_cmpstr (row->name, ==, vectors[i].name);
      g_assert_cmpint (row->take, ==, vectors[i].take);
      g_assert_cmpint (row->stacked, ==, strcmp (vectors[i].name, "overlay") == 0);
      /* Nothing is ever cloned or closed in a hurry on what is not taken. */
      g_assert_true (row->take || (!row->clones && !row->closes));
    }
}

static void
test_clones_where_extents_can_be_shared (void)
{
  static const struct
  {
    uint32_t magic;
    bool clones;
  } vectors[] = {
    { 0x0000EF53, false }, { 0x58465342, true },  { 0x9123683E, true },
    { 0xCA451A4E, true },  { 0xF2F52010, false }, { 0x01021994, false },
  };

  g_test_summary ("FICLONE is tried on xfs, btrfs and bcachefs");
  for (size_t i = 0; i < G_N_ELEMENTS (vectors); i++)
    g_assert_cmpint (dray_filesystem_from_magic (vectors[i].magic)->clones, ==, vectors[i].clones);
}

static void
test_real_mounts (void)
{
  static const struct
  {
    const char *variable, *name;
    bool clones;
  } vectors[] = {
    { "DRAY_TEST_EXT4", "ext4", false },   { "DRAY_TEST_EXT4_OTHER", "ext4", false },
    { "DRAY_TEST_XFS", "xfs", true },      { "DRAY_TEST_XFS_PLAIN", "xfs", true },
    { "DRAY_TEST_BTRFS", "btrfs", true },  { "DRAY_TEST_TMPFS", "tmpfs", false },
    { "DRAY_TEST_OVERLAY", "overlay", false },
  };
  unsigned n_seen = 0;

  g_test_summary ("What is mounted is recognised, by descriptor and by path, asked and remembered");
  for (size_t i = 0; i < G_N_ELEMENTS (vectors); i++)
    {
      const char *folder = g_getenv (vectors[i].variable);
      struct statx stat;

      if (folder == NULL)
        continue;
      n_seen++;
      dray_autofd fd = open (folder, O_PATH | O_CLOEXEC);
      g_assert_cmpint (dray_fd_stat (fd, "", AT_EMPTY_PATH, DRAY_FILESYSTEM_STATX, &stat), ==, 0);
      if (strcmp (vectors[i].name, "overlay") == 0 &&
          (stat.stx_mask & STATX_MNT_ID_UNIQUE) == 0)
        continue; /* declined there, see test_no_unique_id_only_refusals() */
      for (unsigned again = 0; again < 2; again++)
        {
          const DrayFilesystem *by_fd = dray_filesystem_find (fd, &stat);
          const DrayFilesystem *by_path = dray_filesystem_find_at (AT_FDCWD, folder, 0, &stat);

          g_test_message ("%s", folder);
          g_assert_cmpstr (by_fd->name, ==, vectors[i].name);
          g_assert_true (by_fd->take);
          g_assert_cmpint (by_fd->clones, ==, vectors[i].clones);
          g_assert_true (by_path == by_fd);
        }
    }
  if (n_seen == 0)
    g_test_skip ("no file systems to look at: not root");
}

static void
test_unique_id_is_remembered (void)
{
  struct statx stat = { .stx_mask = STATX_MNT_ID_UNIQUE, .stx_mnt_id = FORGED_ID };
  dray_autofd proc = open ("/proc", O_PATH | O_CLOEXEC);
  dray_autofd sys = open ("/sys", O_PATH | O_CLOEXEC);

  g_test_summary ("A second question about a mount is answered without the kernel");
  g_assert_cmpstr (dray_filesystem_find (proc, &stat)->name, ==, "proc");
  /* Another descriptor, the same number: remembered. */
  g_assert_cmpstr (dray_filesystem_find (sys, &stat)->name, ==, "proc");
  g_assert_cmpstr (dray_filesystem_find (-1, &stat)->name, ==, "proc");
  g_assert_cmpstr (dray_filesystem_find_at (AT_FDCWD, "/sys", 0, &stat)->name, ==, "proc");
  /* Another number: asked. */
  stat.stx_mnt_id++;
  g_assert_cmpstr (dray_filesystem_find (sys, &stat)->name, ==, "sysfs");
  stat.stx_mnt_id--;
  g_assert_cmpstr (dray_filesystem_find (sys, &stat)->name, ==, "proc");
}

static void
test_old_mounts_are_forgotten_not_mistaken (void)
{
  struct statx stat = { .stx_mask = STATX_MNT_ID_UNIQUE };
  dray_autofd proc = open ("/proc", O_PATH | O_CLOEXEC);
  dray_autofd sys = open ("/sys", O_PATH | O_CLOEXEC);

  g_test_summary ("More mounts than are remembered: an answer is asked for again, never another's");
  for (uint64_t round = 0; round < 3; round++)
    for (uint64_t i = 0; i < 100; i++)
      {
        stat.stx_mnt_id = FORGED_ID + 1000 + i;
        g_assert_cmpstr (dray_filesystem_find (i % 2 == 0 ? proc : sys, &stat)->name, ==,
                         i % 2 == 0 ? "proc" : "sysfs");
      }
}

static void
test_no_unique_id_only_refusals (void)
{
  /* As from Linux before 6.8: an id that is used again after an unmount, or none at all. */
  static const uint32_t vectors[] = { 0, STATX_MNT_ID, STATX_BASIC_STATS };
  dray_autofd proc = open ("/proc", O_PATH | O_CLOEXEC);
  dray_autofd sys = open ("/sys", O_PATH | O_CLOEXEC);

  dray_autofd good = open (g_getenv ("DRAY_TEST_TMP"), O_PATH | O_CLOEXEC);

  g_test_summary ("Without the mask bit a good answer is asked for each time, a refusal once");
  for (size_t i = 0; i < G_N_ELEMENTS (vectors); i++)
    {
      const struct statx taken = { .stx_mask = vectors[i], .stx_mnt_id = FORGED_ID + 6000 };
      const struct statx refused = {
        .stx_mask = vectors[i],
        .stx_mnt_id = FORGED_ID + 5000,
        .stx_dev_major = 1,
        .stx_dev_minor = (uint32_t) i,
      };

      g_assert_true (dray_filesystem_find (good, &taken)->take);
      g_assert_cmpstr (dray_filesystem_find (-1, &taken)->name, ==, "unknown");
      g_assert_cmpstr (dray_filesystem_find (proc, &refused)->name, ==, "proc");
      g_assert_cmpstr (dray_filesystem_find (sys, &refused)->name, ==, "proc");
    }

  /* And what was asked there is not remembered under a number that counts elsewhere. */
  const struct statx unique = { .stx_mask = STATX_MNT_ID_UNIQUE, .stx_mnt_id = FORGED_ID + 5000 };
  g_assert_cmpstr (dray_filesystem_find (sys, &unique)->name, ==, "sysfs");

  const char *overlay = g_getenv ("DRAY_TEST_OVERLAY");
  if (overlay != NULL)
    {
      const struct statx stat = { .stx_mask = STATX_MNT_ID };
      dray_autofd fd = open (overlay, O_PATH | O_CLOEXEC);

      /* The layers would have to be looked up for every file. */
      g_assert_cmpstr (dray_filesystem_find (fd, &stat)->name, ==, "overlay");
      g_assert_false (dray_filesystem_find (fd, &stat)->take);
    }
}

static void
test_what_cannot_be_asked_is_unknown_and_not_remembered (void)
{
  const struct statx stat
    = { .stx_mask = STATX_MNT_ID_UNIQUE, .stx_mnt_id = FORGED_ID + 6000 };
  dray_autofd proc = open ("/proc", O_PATH | O_CLOEXEC);

  g_test_summary ("A failed question is no answer");
  g_assert_cmpstr (dray_filesystem_find (-1, &stat)->name, ==, "unknown");
  g_assert_false (dray_filesystem_find (-1, &stat)->take);
  g_assert_cmpstr (dray_filesystem_find (proc, &stat)->name, ==, "proc");
}

static void
test_path_that_leads_elsewhere_is_unknown (void)
{
  static const char *const vectors[] = { "/proc/version", "/", "/nowhere/at/all" };
  const struct statx stat
    = { .stx_mask = STATX_MNT_ID_UNIQUE, .stx_mnt_id = FORGED_ID + 7000 };
  dray_autofd sys = open ("/sys", O_PATH | O_CLOEXEC);

  g_test_summary ("Something mounted or renamed between two calls must not be remembered");
  for (size_t i = 0; i < G_N_ELEMENTS (vectors); i++)
    {
      const DrayFilesystem *found = dray_filesystem_find_at (AT_FDCWD, vectors[i], 0, &stat);

      g_assert_cmpstr (found->name, ==, "unknown");
      g_assert_false (found->take);
    }
  g_assert_cmpstr (dray_filesystem_find (sys, &stat)->name, ==, "sysfs");
}

static void
test_symlink_is_followed_only_when_asked (void)
{
  g_autofree char *folder = copy_pair_make_folder ("DRAY_TEST_TMP");
  struct statx link, target;

  g_test_summary ("A link's file system is its own folder's");
  if (folder == NULL)
    return;
  g_autofree char *path = g_build_filename (folder, "link", NULL);
  g_assert_no_errno (symlink ("/proc/version", path));
  g_assert_cmpint (dray_fd_stat (AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, DRAY_FILESYSTEM_STATX,
                                 &link),
                   ==, 0);
  g_assert_cmpint (dray_fd_stat (AT_FDCWD, path, 0, DRAY_FILESYSTEM_STATX, &target), ==, 0);

  g_assert_cmpstr (dray_filesystem_find_at (AT_FDCWD, path, 0, &target)->name, ==, "proc");
  const DrayFilesystem *own
    = dray_filesystem_find_at (AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, &link);
  dray_autofd fd = open (folder, O_PATH | O_CLOEXEC);
  g_assert_true (own == dray_filesystem_find (fd, &link));
  g_assert_cmpstr (own->name, !=, "proc");
  g_assert_cmpstr (own->name, !=, "unknown");

  g_assert_no_errno (g_unlink (path));
  g_assert_no_errno (g_rmdir (folder));
}

static gpointer
ask_often (gpointer data)
{
  dray_autofd proc = open ("/proc", O_PATH | O_CLOEXEC);
  dray_autofd sys = open ("/sys", O_PATH | O_CLOEXEC);

  for (uint64_t i = 0; i < 5000; i++)
    {
      const uint64_t mount = (i * 7 + GPOINTER_TO_UINT (data)) % 40;
      const struct statx stat
        = { .stx_mask = STATX_MNT_ID_UNIQUE, .stx_mnt_id = FORGED_ID + 8000 + mount };

      g_assert_cmpstr (dray_filesystem_find (mount % 2 == 0 ? proc : sys, &stat)->name, ==,
                       mount % 2 == 0 ? "proc" : "sysfs");
    }
  return NULL;
}

static void
test_threads_get_right_answers (void)
{
  GThread *threads[6];

  g_test_summary ("Whoever finds the memory locked asks the kernel");
  for (unsigned i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("ask", ask_often, GUINT_TO_POINTER (i));
  for (unsigned i = 0; i < G_N_ELEMENTS (threads); i++)
    (void) g_thread_join (threads[i]);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/engine/filesystem/table-by-magic-number", test_table_by_magic_number);
  g_test_add_func ("/engine/filesystem/clones-where-extents-can-be-shared",
                   test_clones_where_extents_can_be_shared);
  g_test_add_func ("/engine/filesystem/real-mounts", test_real_mounts);
  g_test_add_func ("/engine/filesystem/unique-id-is-remembered", test_unique_id_is_remembered);
  g_test_add_func ("/engine/filesystem/old-mounts-are-forgotten-not-mistaken",
                   test_old_mounts_are_forgotten_not_mistaken);
  g_test_add_func ("/engine/filesystem/no-unique-id-only-refusals",
                   test_no_unique_id_only_refusals);
  g_test_add_func ("/engine/filesystem/what-cannot-be-asked-is-unknown-and-not-remembered",
                   test_what_cannot_be_asked_is_unknown_and_not_remembered);
  g_test_add_func ("/engine/filesystem/path-that-leads-elsewhere-is-unknown",
                   test_path_that_leads_elsewhere_is_unknown);
  g_test_add_func ("/engine/filesystem/symlink-is-followed-only-when-asked",
                   test_symlink_is_followed_only_when_asked);
  g_test_add_func ("/engine/filesystem/threads-get-right-answers",
                   test_threads_get_right_answers);
  return g_test_run ();
}
