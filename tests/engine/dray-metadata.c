/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests of engine/dray-metadata.c: what is kept, and the order in which it is set. */
#include "config.h"
#include "tests/engine/copy-pair.h"

#include "engine/dray-metadata-private.h"

#include <sys/xattr.h>

static void
test_create_mode_is_private_and_writable_enough (void)
{
  static const struct
  {
    mode_t source;
    DrayCopyFlags flags;
    bool user;
    mode_t created;
  } vectors[] = {
    { S_IFREG | 0644, DRAY_COPY_NONE, false, 0644 },
    { S_IFREG | 0600, DRAY_COPY_ALL_METADATA, false, 0600 },
    { S_IFREG | 06755, DRAY_COPY_NONE, false, 0755 },
    { S_IFREG | 01777, DRAY_COPY_NONE, false, 0777 },
    { S_IFREG | 0444, DRAY_COPY_NONE, false, 0444 },
    { S_IFREG | 0444, DRAY_COPY_NONE, true, 0644 },
    { S_IFREG | 0000, DRAY_COPY_NONE, true, 0200 },
    { S_IFREG | 0400, DRAY_COPY_DEFAULT_MODE, true, 0666 },
    { S_IFREG | 04700, DRAY_COPY_DEFAULT_MODE, false, 0666 },
  };

  g_test_summary ("No set-uid while incomplete; the owner may write when xattrs are to come");
  for (size_t i = 0; i < G_N_ELEMENTS (vectors); i++)
    {
      const DrayFacts facts = { .mode = vectors[i].source };
      const DrayXattrs xattrs = { .user = vectors[i].user };

      g_test_message ("row %zu", i);
      g_assert_cmpuint (dray_metadata_get_create_mode (&facts, vectors[i].flags, &xattrs), ==,
                        vectors[i].created);
    }
}

static bool
open_pair (CopyPair *pair)
{
  char *folder = copy_pair_make_folder ("DRAY_TEST_TMP");

  if (folder == NULL)
    return false;
  copy_pair_init (pair, folder);
  copy_pair_write_dense (pair->source_path, 10);
  copy_pair_open (pair, NULL, NULL);
  return true;
}

static bool
set_xattr (const CopyPair *pair, const char *name, const void *value, size_t size)
{
  return fsetxattr (pair->source_fd, name, value, size, 0) == 0;
}

static void
test_names_are_listed_by_flag (void)
{
  g_test_summary ("user. names, or all of them; none is none");
  for (unsigned step = 0; step < 3; step++)
    for (unsigned all = 0; all < 2; all++)
      {
        const bool is_root = geteuid () == 0;
        DrayXattrs xattrs;
        CopyPair pair;

        if (!open_pair (&pair))
          return;
        if (step > 0 && is_root)
          g_assert_true (set_xattr (&pair, "trusted.dray", "1", 1));
        if (step > 1 && !set_xattr (&pair, "user.dray", "2", 1))
          g_test_skip ("no user. xattrs here");

        dray_metadata_list_xattrs (pair.source_fd,
                                   all != 0 ? DRAY_COPY_ALL_METADATA : DRAY_COPY_NONE, &xattrs);
        g_assert_cmpint (xattrs.user, ==, step > 1);
        g_assert_cmpint (xattrs.size > 0, ==, step > 1 || (step > 0 && is_root && all != 0));
        dray_metadata_clear_xattrs (&xattrs);
        g_assert_null (xattrs.names);
        copy_pair_clear (&pair);
      }
}

static void
test_long_lists_are_complete (void)
{
  const char *folder = g_getenv ("DRAY_TEST_XFS");
  DrayXattrs xattrs;
  CopyPair pair;

  g_test_summary ("More names than one page holds");
  if (folder == NULL)
    {
      g_test_skip ("no xfs, which has room for many names: needs root");
      return;
    }
  copy_pair_init (&pair, copy_pair_make_folder ("DRAY_TEST_XFS"));
  copy_pair_write_dense (pair.source_path, 10);
  copy_pair_open (&pair, NULL, NULL);
  for (unsigned i = 0; i < 200; i++)
    {
      g_autofree char *name = g_strdup_printf ("user.%0100u", i);

      g_assert_true (set_xattr (&pair, name, &i, sizeof i));
    }

  dray_metadata_list_xattrs (pair.source_fd, DRAY_COPY_NONE, &xattrs);
  g_assert_true (xattrs.user);
  dray_metadata_apply (pair.source_fd, pair.dest_fd, 0644, &pair.facts, DRAY_COPY_NONE, &xattrs);
  for (unsigned i = 0; i < 200; i++)
    {
      g_autofree char *name = g_strdup_printf ("user.%0100u", i);
      unsigned value = 0;

      g_assert_cmpint (fgetxattr (pair.dest_fd, name, &value, sizeof value), ==, sizeof value);
      g_assert_cmpuint (value, ==, i);
    }
  dray_metadata_clear_xattrs (&xattrs);
  copy_pair_clear (&pair);
}

static void
test_nothing_undoes_another (void)
{
  static const struct
  {
    DrayCopyFlags flags;
    mode_t source, made, expected;
    bool times, owner;
  } vectors[] = {
    { DRAY_COPY_NONE, 0644, 0600, 0644, true, false },
    { DRAY_COPY_NONE, 0444, 0644, 0444, true, false },
    { DRAY_COPY_NONE, 06755, 0755, 06755, true, false },
    { DRAY_COPY_ALL_METADATA, 06755, 0755, 06755, true, true },
    { DRAY_COPY_ALL_METADATA, 0400, 0400, 0400, true, true },
    { DRAY_COPY_DEFAULT_MODE, 0400, 0640, 0640, true, false },
    { DRAY_COPY_DEFAULT_MTIME, 0640, 0600, 0640, false, false },
    { DRAY_COPY_DEFAULT_MODE | DRAY_COPY_DEFAULT_MTIME, 0400, 0640, 0640, false, false },
  };
  const bool is_root = geteuid () == 0;

  g_test_summary ("Owner, mode, xattrs and times all hold at the end");
  for (size_t i = 0; i < G_N_ELEMENTS (vectors); i++)
    {
      DrayXattrs xattrs;
      CopyPair pair;
      struct stat dest;
      char value[8];

      if (!open_pair (&pair))
        return;
      const bool has_user = set_xattr (&pair, "user.dray", "value", 5);
      g_assert_no_errno (fchmod (pair.dest_fd, vectors[i].made));
      pair.facts.mode = S_IFREG | vectors[i].source;
      pair.facts.times[0] = (struct timespec) { 981173106, 123456789 };
      pair.facts.times[1] = (struct timespec) { -86400, 987654321 };
      pair.facts.uid = is_root ? 12345 : getuid ();
      pair.facts.gid = is_root ? 23456 : getgid ();

      g_test_message ("row %zu", i);
      dray_metadata_list_xattrs (pair.source_fd, vectors[i].flags, &xattrs);
      dray_metadata_apply (pair.source_fd, pair.dest_fd, vectors[i].made, &pair.facts,
                           vectors[i].flags, &xattrs);
      g_assert_no_errno (fstat (pair.dest_fd, &dest));
      g_assert_cmpuint (dest.st_mode & 07777, ==, vectors[i].expected);
      g_assert_cmpint (dest.st_mtim.tv_sec == -86400 && dest.st_mtim.tv_nsec == 987654321, ==,
                       vectors[i].times);
      g_assert_cmpint (dest.st_atim.tv_sec == 981173106 && dest.st_atim.tv_nsec == 123456789, ==,
                       vectors[i].owner);
      if (is_root)
        g_assert_cmpint (dest.st_uid == 12345 && dest.st_gid == 23456, ==, vectors[i].owner);
      if (has_user)
        g_assert_cmpint (fgetxattr (pair.dest_fd, "user.dray", value, sizeof value), ==, 5);
      dray_metadata_clear_xattrs (&xattrs);
      copy_pair_clear (&pair);
    }
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/engine/metadata/create-mode-is-private-and-writable-enough",
                   test_create_mode_is_private_and_writable_enough);
  g_test_add_func ("/engine/metadata/names-are-listed-by-flag", test_names_are_listed_by_flag);
  g_test_add_func ("/engine/metadata/long-lists-are-complete", test_long_lists_are_complete);
  g_test_add_func ("/engine/metadata/nothing-undoes-another", test_nothing_undoes_another);
  return g_test_run ();
}
