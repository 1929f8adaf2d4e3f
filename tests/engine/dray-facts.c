/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests of engine/dray-facts.c: from statx() to facts. */
#include "config.h"
#include "engine/dray-facts-private.h"

#include <glib.h>

static void
test_source_is_taken_over_field_by_field (void)
{
  const struct statx stat = {
    .stx_mode = S_IFREG | 06751,
    .stx_uid = 1001,
    .stx_gid = 1002,
    .stx_size = ((uint64_t) 5 << 32) + 7,
    .stx_blocks = ((uint64_t) 1 << 32) + 1,
    .stx_atime = { .tv_sec = -5, .tv_nsec = 1 },
    .stx_mtime = { .tv_sec = (int64_t) 1 << 33, .tv_nsec = 999999999 },
    .stx_dev_major = 8,
  };
  static const DrayFilesystem filesystem = { .name = "kept" };
  DrayFacts facts = {
    .same_device = true,
    .source_filesystem = &filesystem,
    .dest_filesystem = &filesystem,
  };

  g_test_summary ("No field is cut to 32 bits, blocks are units of 512 bytes");
  dray_facts_set_source (&facts, &stat);

  g_assert_cmpuint (facts.mode, ==, S_IFREG | 06751);
  g_assert_cmpuint (facts.uid, ==, 1001);
  g_assert_cmpuint (facts.gid, ==, 1002);
  g_assert_cmpuint (facts.size, ==, ((uint64_t) 5 << 32) + 7);
  g_assert_cmpuint (facts.allocated, ==, (((uint64_t) 1 << 32) + 1) * 512);
  g_assert_cmpint (facts.times[0].tv_sec, ==, -5);
  g_assert_cmpint (facts.times[0].tv_nsec, ==, 1);
  g_assert_cmpint (facts.times[1].tv_sec, ==, (int64_t) 1 << 33);
  g_assert_cmpint (facts.times[1].tv_nsec, ==, 999999999);
  g_assert_true (facts.same_device);
  g_assert_true (facts.source_filesystem == &filesystem);
  g_assert_true (facts.dest_filesystem == &filesystem);
}

static void
test_same_file_is_same_inode_of_same_device (void)
{
  static const struct
  {
    uint32_t major, minor;
    uint64_t inode;
    bool same_device, same_file;
  } vectors[] = {
    { 8, 1, 77, true, true },
    { 8, 1, 78, true, false },
    { 8, 2, 77, false, false },
    { 9, 1, 77, false, false },
    { 1, 8, 77, false, false },
    /* Equal in the low 32 bits. */
    { 8, 1, ((uint64_t) 1 << 32) + 77, true, false },
  };
  const struct statx one = { .stx_dev_major = 8, .stx_dev_minor = 1, .stx_ino = 77 };

  g_test_summary ("All bits of inode and device count, in both directions");
  for (size_t i = 0; i < G_N_ELEMENTS (vectors); i++)
    {
      const struct statx other = {
        .stx_dev_major = vectors[i].major,
        .stx_dev_minor = vectors[i].minor,
        .stx_ino = vectors[i].inode,
      };

      g_assert_cmpint (dray_facts_is_same_device (&one, &other), ==, vectors[i].same_device);
      g_assert_cmpint (dray_facts_is_same_device (&other, &one), ==, vectors[i].same_device);
      g_assert_cmpint (dray_facts_is_same_file (&one, &other), ==, vectors[i].same_file);
      g_assert_cmpint (dray_facts_is_same_file (&other, &one), ==, vectors[i].same_file);
    }
}

static void
test_only_regular_files_are_taken (void)
{
  static const struct
  {
    mode_t type;
    DrayDecline reason;
  } vectors[] = {
    { S_IFREG, DRAY_DECLINE_NONE },          { S_IFDIR, DRAY_DECLINE_DIRECTORY },
    { S_IFLNK, DRAY_DECLINE_SYMLINK },       { S_IFIFO, DRAY_DECLINE_SPECIAL_FILE },
    { S_IFSOCK, DRAY_DECLINE_SPECIAL_FILE }, { S_IFCHR, DRAY_DECLINE_SPECIAL_FILE },
    { S_IFBLK, DRAY_DECLINE_SPECIAL_FILE },  { 0, DRAY_DECLINE_SPECIAL_FILE },
  };

  g_test_summary ("The type alone decides, whatever the permissions");
  for (size_t i = 0; i < G_N_ELEMENTS (vectors); i++)
    {
      g_assert_cmpint (dray_facts_judge_type (vectors[i].type), ==, vectors[i].reason);
      g_assert_cmpint (dray_facts_judge_type (vectors[i].type | 07777), ==, vectors[i].reason);
    }
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/engine/facts/source-is-taken-over-field-by-field",
                   test_source_is_taken_over_field_by_field);
  g_test_add_func ("/engine/facts/same-file-is-same-inode-of-same-device",
                   test_same_file_is_same_inode_of_same_device);
  g_test_add_func ("/engine/facts/only-regular-files-are-taken",
                   test_only_regular_files_are_taken);
  return g_test_run ();
}
