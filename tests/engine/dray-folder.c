/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests of engine/dray-folder.c: where a name will be made, looked up or recognised. */
#include "config.h"
#include "engine/dray-folder-private.h"

#include "tests/engine/copy-pair.h"

#include <limits.h>

/* Whether mounts have numbers that are never used again; else nothing is ever recognised. */
static bool
has_unique_ids (void)
{
  struct statx stat;

  g_assert_cmpint (dray_fd_stat (AT_FDCWD, "/", 0, DRAY_FILESYSTEM_STATX, &stat), ==, 0);
  return (stat.stx_mask & STATX_MNT_ID_UNIQUE) != 0;
}

/* Looks and expects to be allowed; the caller clears. */
static void
look (int dir, const char *dest, bool may_recognise, DrayFolder *folder)
{
  int error = 1;

  g_assert_cmpstr (dray_decline_get_name (dray_folder_look (dir, dest, may_recognise, folder,
                                                            &error)),
                   ==, "none");
  g_assert_cmpint (error, ==, 0);
  g_assert_true (folder->filesystem->take);
}

static void
test_looks_up_folder_and_name (void)
{
  g_autofree char *parent = copy_pair_make_folder ("DRAY_TEST_TMP");
  DrayFolder folder;

  g_test_summary ("A folder is opened by path; the name stays relative to it");
  if (parent == NULL)
    return;
  g_autofree char *dest = g_strdup_printf ("%s//na me", parent);
  struct stat looked, opened;

  look (AT_FDCWD, dest, false, &folder);
  g_assert_cmpint (folder.fd, >=, 0);
  g_assert_cmpint (folder.dir, ==, folder.fd);
  g_assert_cmpstr (folder.path, ==, "na me");
  g_assert_no_errno (stat (parent, &looked));
  g_assert_no_errno (fstat (folder.fd, &opened));
  g_assert_cmpuint (looked.st_ino, ==, opened.st_ino);
  g_assert_cmpint (fcntl (folder.fd, F_GETFD) & FD_CLOEXEC, ==, FD_CLOEXEC);

  const int fd = folder.fd;
  dray_folder_clear (&folder);
  g_assert_cmpint (folder.fd, ==, -1);
  g_assert_cmpint (fcntl (fd, F_GETFD), ==, -1);
  dray_folder_clear (&folder);
  g_assert_no_errno (g_rmdir (parent));
}

static void
test_relative_paths_start_at_dir (void)
{
  g_autofree char *parent = copy_pair_make_folder ("DRAY_TEST_TMP");

  g_test_summary ("A bare name is made in @dir itself; relative folders are never recognised");
  if (parent == NULL)
    return;
  g_autofree char *below = g_build_filename (parent, "below", NULL);
  g_assert_no_errno (g_mkdir (below, 0700));
  dray_autofd dir = open (parent, O_PATH | O_CLOEXEC);
  static const struct
  {
    const char *dest, *name;
    bool below;
  } vectors[] = {
    { "name", "name", false },         { "./name", "name", false },
    { "below/name", "name", true },    { "below/../name", "name", false },
    { "below/./name", "name", true },
  };

  for (unsigned again = 0; again < 2; again++)
    for (size_t i = 0; i < G_N_ELEMENTS (vectors); i++)
      {
        DrayFolder folder;
        struct stat expected, opened;

        g_test_message ("%s", vectors[i].dest);
        look (dir, vectors[i].dest, true, &folder);
        g_assert_cmpint (folder.fd, >=, 0);
        g_assert_cmpstr (folder.path, ==, vectors[i].name);
        g_assert_no_errno (stat (vectors[i].below ? below : parent, &expected));
        g_assert_no_errno (fstat (folder.fd, &opened));
        g_assert_cmpuint (expected.st_ino, ==, opened.st_ino);
        dray_folder_clear (&folder);
      }
  g_assert_no_errno (g_rmdir (below));
  g_assert_no_errno (g_rmdir (parent));
}

static void
test_reasons (void)
{
  g_autofree char *parent = copy_pair_make_folder ("DRAY_TEST_TMP");

  g_test_summary ("Why nothing can be made there, with the errno behind it");
  if (parent == NULL)
    return;
  g_autofree char *file = g_build_filename (parent, "file", NULL);
  copy_pair_write_dense (file, 1);
  g_autofree char *slash = g_strdup_printf ("%s/", parent);
  g_autofree char *missing = g_build_filename (parent, "missing", "name", NULL);
  g_autofree char *under_file = g_build_filename (file, "name", NULL);
  g_autofree char *long_name = g_strnfill (PATH_MAX + 10, 'x');
  long_name[0] = '/';
  long_name[PATH_MAX + 5] = '/';
  g_autofree char *longest = g_strnfill (PATH_MAX + 1, 'x');
  longest[0] = '/';
  longest[PATH_MAX - 1] = '/';
  const struct
  {
    const char *dest;
    DrayDecline reason;
    int error;
  } vectors[] = {
    { "", DRAY_DECLINE_NO_PATH, 0 },
    { "/", DRAY_DECLINE_NO_PATH, 0 },
    { slash, DRAY_DECLINE_NO_PATH, 0 },
    { missing, DRAY_DECLINE_DEST_FOLDER, -ENOENT },
    { under_file, DRAY_DECLINE_DEST_FOLDER, -ENOTDIR },
    { "/proc/name", DRAY_DECLINE_DEST_FILESYSTEM, 0 },
    { "/sys/kernel/name", DRAY_DECLINE_DEST_FILESYSTEM, 0 },
    { long_name, DRAY_DECLINE_PATH_TOO_LONG, -ENAMETOOLONG },
    { longest, DRAY_DECLINE_DEST_FOLDER, -ENAMETOOLONG }, /* one component of 4094 */
  };

  for (unsigned may_recognise = 0; may_recognise < 2; may_recognise++)
    for (size_t i = 0; i < G_N_ELEMENTS (vectors); i++)
      {
        DrayFolder folder = { .fd = 1000 };
        int error = 1;

        g_test_message ("%.60s", vectors[i].dest);
        g_assert_cmpstr (dray_decline_get_name (dray_folder_look (
                           AT_FDCWD, vectors[i].dest, may_recognise != 0, &folder, &error)),
                         ==, dray_decline_get_name (vectors[i].reason));
        g_assert_cmpint (error, ==, vectors[i].error);
        dray_folder_clear (&folder);
      }
  g_assert_no_errno (g_unlink (file));
  g_assert_no_errno (g_rmdir (parent));
}

/* Makes this thread forget: by a file that turns out to be on another mount than expected. */
static void
forget (void)
{
  DrayFolder folder = { .fd = -1, .mount_id = 1 };
  dray_autofd root = open ("/", O_PATH | O_CLOEXEC);
  struct statx elsewhere;

  g_assert_no_errno (
      statx (root, "", AT_EMPTY_PATH, STATX_TYPE | DRAY_FILESYSTEM_STATX, &elsewhere));
  (void) dray_folder_check (&folder, root, &elsewhere);
}

static void
test_last_folder_is_recognised (void)
{
  g_autofree char *one = copy_pair_make_folder ("DRAY_TEST_TMP");
  g_autofree char *other = copy_pair_make_folder ("DRAY_TEST_TMP");
  DrayFolder folder;

  g_test_summary (
      "Not opened the second time, unless asked to, forgotten, or another came between");
  if (one == NULL || other == NULL)
    return;
  if (!has_unique_ids ())
    {
      g_test_skip ("mounts have no unique number before Linux 6.8");
      return;
    }
  g_autofree char *first = g_build_filename (one, "first", NULL);
  g_autofree char *second = g_build_filename (one, "second", NULL);
  g_autofree char *elsewhere = g_build_filename (other, "first", NULL);
  const struct
  {
    const char *dest;
    bool may_recognise, recognised, forget;
  } vectors[] = {
    { first, true, false, true },      { first, true, true, false },
    { second, true, true, false },     { second, false, false, false },
    { first, true, true, false },      { elsewhere, true, false, false },
    { elsewhere, true, true, false },  { first, true, false, false },
    { first, true, true, false },      { first, true, false, true },
  };

  for (size_t i = 0; i < G_N_ELEMENTS (vectors); i++)
    {
      g_test_message ("row %zu", i);
      if (vectors[i].forget)
        forget ();
      look (AT_FDCWD, vectors[i].dest, vectors[i].may_recognise, &folder);
      g_assert_cmpint (folder.fd < 0, ==, vectors[i].recognised);
      if (vectors[i].recognised)
        {
          g_assert_cmpint (folder.dir, ==, AT_FDCWD);
          g_assert_cmpstr (folder.path, ==, vectors[i].dest);
        }
      dray_folder_clear (&folder);
    }
  g_assert_no_errno (g_rmdir (one));
  g_assert_no_errno (g_rmdir (other));
}

static void
test_folder_that_is_a_prefix_is_another (void)
{
  g_autofree char *one = copy_pair_make_folder ("DRAY_TEST_TMP");
  DrayFolder folder;

  g_test_summary ("/a/b is not /a/bc, nor /a");
  if (one == NULL)
    return;
  g_autofree char *longer = g_strconcat (one, "x", NULL);
  g_autofree char *in_one = g_build_filename (one, "name", NULL);
  g_autofree char *in_longer = g_build_filename (longer, "name", NULL);
  g_assert_no_errno (g_mkdir (longer, 0700));

  static const int order[] = { 0, 1, 0 };
  for (size_t i = 0; i < G_N_ELEMENTS (order); i++)
    {
      look (AT_FDCWD, order[i] == 0 ? in_one : in_longer, true, &folder);
      g_assert_cmpint (folder.fd, >=, 0);
      dray_folder_clear (&folder);
    }
  g_assert_no_errno (g_rmdir (longer));
  g_assert_no_errno (g_rmdir (one));
}

/* The root folder has a path of length 0, which is also how "nothing is remembered" is stored. */
static void
test_root_folder_is_never_mistaken (void)
{
  static const char *const vectors[] = { "/x", "x" };
  g_autofree char *parent = copy_pair_make_folder ("DRAY_TEST_TMP");

  g_test_summary ("A name in / or in @dir is looked up, whatever was remembered or forgotten");
  if (parent == NULL)
    return;
  g_autofree char *dest = g_build_filename (parent, "name", NULL);
  dray_autofd dir = open (parent, O_PATH | O_CLOEXEC);
  for (unsigned forgotten = 0; forgotten < 2; forgotten++)
    for (size_t i = 0; i < G_N_ELEMENTS (vectors); i++)
      {
        DrayFolder folder;
        int error;

        look (AT_FDCWD, dest, true, &folder);
        dray_folder_clear (&folder);
        if (forgotten != 0)
          forget ();

        DrayDecline reason = dray_folder_look (dir, vectors[i], true, &folder, &error);
        g_test_message ("%s, forgotten %u", vectors[i], forgotten);
        /* The root may be on a file system that is declined; opened it must be. */
        g_assert_true (reason == DRAY_DECLINE_NONE || reason == DRAY_DECLINE_DEST_FILESYSTEM);
        g_assert_cmpint (folder.fd, >=, 0);
        g_assert_cmpstr (folder.path, ==, "x");
        dray_folder_clear (&folder);
      }
  g_assert_no_errno (g_rmdir (parent));
}

static void
test_recognised_folder_expects_its_mount (void)
{
  const struct
  {
    int fd;
    uint64_t mount_id;
    struct statx made;
    bool expected;
  } vectors[] = {
    /* Opened: the file is where the descriptor is. */
    { 5, 7, { .stx_mask = STATX_MNT_ID_UNIQUE, .stx_mnt_id = 8 }, true },
    { 5, 7, { .stx_mask = 0 }, true },
    /* Recognised. */
    { -1, 7, { .stx_mask = STATX_MNT_ID_UNIQUE, .stx_mnt_id = 7 }, true },
    { -1, 7, { .stx_mask = STATX_MNT_ID_UNIQUE, .stx_mnt_id = 8 }, false },
    { -1, 7, { .stx_mask = STATX_MNT_ID, .stx_mnt_id = 7 }, false },
    { -1, 7, { .stx_mask = 0, .stx_mnt_id = 7 }, false },
  };
  dray_autofd proc = open ("/proc/version", O_RDONLY | O_CLOEXEC);
  g_autofree char *path = copy_pair_make_folder ("DRAY_TEST_TMP");

  g_test_summary ("Equal unique numbers, or the file system is asked for by descriptor");
  if (path == NULL)
    return;
  dray_autofd taken = open (path, O_PATH | O_CLOEXEC);
  g_assert_cmpint (proc, >=, 0);
  for (size_t i = 0; i < G_N_ELEMENTS (vectors); i++)
    {
      static const DrayFilesystem expected = { .name = "expected", .take = true };
      DrayFolder folder = { vectors[i].fd, 0, NULL, &expected, vectors[i].mount_id };

      g_test_message ("row %zu", i);
      g_assert_cmpint (dray_folder_check (&folder, proc, &vectors[i].made), ==,
                       vectors[i].expected);
      g_assert_cmpstr (folder.filesystem->name, ==, vectors[i].expected ? "expected" : "proc");
    }

  /* Something that is taken as well was mounted over it: that is no reason to decline. */
  DrayFolder folder = { .fd = -1, .mount_id = 7 };
  struct statx made;
  g_assert_no_errno (statx (taken, "", AT_EMPTY_PATH, STATX_TYPE | DRAY_FILESYSTEM_STATX, &made));
  g_assert_true (dray_folder_check (&folder, taken, &made));
  g_assert_true (folder.filesystem->take);
  g_assert_no_errno (g_rmdir (path));
}

static void
test_refused_folder_is_remembered (void)
{
  static const struct
  {
    const char *path;
    bool refused;
  } vectors[] = {
    { "/refused/folder/name", true },       { "/refused/folder/other", true },
    { "/refused/folder", false },           { "/refused/folderx/name", false },
    { "/refused/folder/below/name", false }, { "refused/folder/name", false },
    { "name", false },                      { "/name", false },
    { "", false },
  };
  unsigned n_refused = 0;

  g_test_summary ("By folder and end, and looked at again now and then");
  g_assert_false (dray_folder_is_refused (DRAY_FOLDER_DEST, "/refused/folder/name"));
  dray_folder_refuse (DRAY_FOLDER_DEST, "relative/name");
  g_assert_false (dray_folder_is_refused (DRAY_FOLDER_DEST, "relative/name"));
  dray_folder_refuse (DRAY_FOLDER_DEST, "/refused/folder/first");
  for (size_t i = 0; i < G_N_ELEMENTS (vectors); i++)
    {
      g_test_message ("%s", vectors[i].path);
      g_assert_cmpint (dray_folder_is_refused (DRAY_FOLDER_DEST, vectors[i].path), ==,
                       vectors[i].refused);
      g_assert_false (dray_folder_is_refused (DRAY_FOLDER_SOURCE, vectors[i].path));
    }

  for (unsigned i = 0; i < 1000; i++)
    n_refused += dray_folder_is_refused (DRAY_FOLDER_DEST, "/refused/folder/name");
  g_assert_cmpuint (n_refused, >, 50);
  g_assert_cmpuint (n_refused, <, 100);
}

static gpointer
look_on_thread (gpointer data)
{
  DrayFolder folder;

  look (AT_FDCWD, data, true, &folder);
  g_assert_cmpint (folder.fd, >=, 0);
  dray_folder_clear (&folder);
  forget ();
  return NULL;
}

static void
test_threads_remember_their_own (void)
{
  g_autofree char *parent = copy_pair_make_folder ("DRAY_TEST_TMP");
  DrayFolder folder;

  g_test_summary ("Another thread neither knows nor forgets what this one has seen");
  if (parent == NULL)
    return;
  g_autofree char *dest = g_build_filename (parent, "name", NULL);
  look (AT_FDCWD, dest, true, &folder);
  dray_folder_clear (&folder);
  (void) g_thread_join (g_thread_new ("look", look_on_thread, dest));
  look (AT_FDCWD, dest, true, &folder);
  g_assert_cmpint (folder.fd < 0, ==, has_unique_ids ());
  dray_folder_clear (&folder);
  g_assert_no_errno (g_rmdir (parent));
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/engine/folder/looks-up-folder-and-name", test_looks_up_folder_and_name);
  g_test_add_func ("/engine/folder/relative-paths-start-at-dir",
                   test_relative_paths_start_at_dir);
  g_test_add_func ("/engine/folder/reasons", test_reasons);
  g_test_add_func ("/engine/folder/last-folder-is-recognised", test_last_folder_is_recognised);
  g_test_add_func ("/engine/folder/folder-that-is-a-prefix-is-another",
                   test_folder_that_is_a_prefix_is_another);
  g_test_add_func ("/engine/folder/root-folder-is-never-mistaken",
                   test_root_folder_is_never_mistaken);
  g_test_add_func ("/engine/folder/recognised-folder-expects-its-mount",
                   test_recognised_folder_expects_its_mount);
  g_test_add_func ("/engine/folder/refused-folder-is-remembered",
                   test_refused_folder_is_remembered);
  g_test_add_func ("/engine/folder/threads-remember-their-own", test_threads_remember_their_own);
  return g_test_run ();
}
