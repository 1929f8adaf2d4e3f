/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Somebody changes the source, the destination or its folder between two system calls of a copy. */
#include "config.h"

#include "tests/faults/inject-stage.h"
#include "tests/support/tree-build.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KIB ((uint64_t) 1 << 10)
#define MIB ((uint64_t) 1 << 20)

/* Nothing here takes long; what hangs is found. */
#define ALARM_SECONDS 60

static const InjectScene small
  = { "small", "DRAY_TEST_EXT4", "DRAY_TEST_EXT4", .size = 4 * KIB, .n_requests = 1 };
static const InjectScene medium
  = { "medium", "DRAY_TEST_EXT4", "DRAY_TEST_EXT4", .size = 3 * MIB, .n_requests = 1 };
static const InjectScene sparse = { "sparse", "DRAY_TEST_EXT4", "DRAY_TEST_EXT4",
                                    .size = 3 * MIB, .sparse = true, .n_requests = 1 };
static const InjectScene across
  = { "across", "DRAY_TEST_EXT4", "DRAY_TEST_XFS", .size = 3 * MIB, .n_requests = 1 };
static const InjectScene lanes
  = { "lanes", "DRAY_TEST_TMPFS", "DRAY_TEST_TMPFS", .size = 160 * MIB, .n_requests = 1 };

/* Where mounts have no numbers each copy makes the same calls. Of a small file the third open() is
 * the source's, the fourth makes the destination. */
#define OPEN_BY_PATH 1
#define OPEN_FOLDER 2
#define OPEN_SOURCE 3
#define OPEN_DEST 4

/* One race. */
typedef struct
{
  InjectStage stage;
  char *dest;   /* (owned) */
  char *spare;  /* (owned) a path beside the source */
  uint64_t first, second; /* bytes: what the hook makes of the source's length */
  bool happened;
  DrayCopyReport report;
} Race;

static bool
race_open (Race *race, const InjectScene *scene)
{
  *race = (Race) { 0 };
  if (!inject_stage_open (&race->stage, scene))
    return false;

  race->stage.is_disturbed = true;
  race->dest = g_strdup (race->stage.dest);
  race->spare = g_build_filename (race->stage.source_folder, "spare", NULL);
  faulty_reset ();
  faulty_hide_mount_numbers (true);
  return true;
}

static void
race_close (Race *race)
{
  faulty_reset ();
  inject_stage_close (&race->stage);
  g_free (race->dest);
  g_free (race->spare);
}

static void
race_run (Race *race)
{
  const DrayCopyRequest request = { AT_FDCWD, AT_FDCWD, race->stage.source, race->dest, 0 };
  g_autofree char *before = inject_list_descriptors ();

  inject_set_alarm (ALARM_SECONDS, race->stage.scene->name);
  dray_engine_submit (&request, 1, NULL, &race->report);
  inject_set_alarm (0, "nothing");

  g_autofree char *after = inject_list_descriptors ();
  g_assert_cmpstr (before, ==, after);
}

static bool
race_run_by_gio (Race *race, GError **error)
{
  g_autoptr (GFile) source = g_file_new_for_path (race->stage.source);
  g_autoptr (GFile) dest = g_file_new_for_path (race->dest);

  inject_set_alarm (ALARM_SECONDS, race->stage.scene->name);
  const bool copied
    = g_file_copy (source, dest, G_FILE_COPY_NONE, NULL, NULL, NULL, error);
  inject_set_alarm (0, "nothing");

  return copied;
}

static void
assert_report (const Race *race, DrayOutcome outcome, DrayDecline decline, int error)
{
  g_assert_true (race->happened);
  g_assert_cmpint (race->report.outcome, ==, outcome);
  g_assert_cmpstr (dray_decline_get_name (race->report.decline), ==,
                   dray_decline_get_name (decline));
  if (outcome == DRAY_OUTCOME_FAILED)
    g_assert_cmpint (race->report.error, ==, error);
}

/* --- the source's length ---------------------------------------------------------------------- */

/* A file of the length and content that the source would have had at full length. */
static GMappedFile *
make_pattern (const Race *race, uint64_t length)
{
  const InjectScene *scene = race->stage.scene;
  GMappedFile *pattern;

  if (scene->sparse)
    {
      g_assert_cmpuint (length, ==, scene->size);
      tree_fill (race->spare, scene->size / 4 & ~(uint64_t) 0xFFFF, 100000);
      tree_fill (race->spare, scene->size / 2 & ~(uint64_t) 0xFFFF, 200000);
      g_assert_no_errno (truncate (race->spare, (off_t) length));
    }
  else
    tree_fill (race->spare, 0, length);
  pattern = g_mapped_file_new (race->spare, FALSE, NULL);
  g_assert_nonnull (pattern);
  return pattern;
}

static void
change_length (void *data)
{
  Race *race = data;

  race->happened = true;
  g_assert_no_errno (truncate (race->stage.source, (off_t) race->first));
  if (race->second <= race->first)
    return;
  if (race->first >= race->stage.scene->size)
    tree_fill (race->stage.source, race->first, race->second - race->first);
  else
    g_assert_no_errno (truncate (race->stage.source, (off_t) race->second));
}

/* With the number of a call: when it has returned, not before. */
#define AFTER 0x100U

static const struct
{
  const char *name;
  const InjectScene *scene;
  FaultyCall call;
  unsigned nth;
  uint64_t first, second; /* cut, then grown; the same as @first: not grown */
  uint64_t least, most;   /* bytes that the copy may have */
} lengths[] = {
  { "a-small-file-is-cut", &small, FAULTY_COPY_RANGE, 1, 1000, 0, 1000, 1000 },
  { "a-small-file-is-emptied", &small, FAULTY_COPY_RANGE, 1, 0, 0, 0, 0 },
  { "a-small-file-grows", &small, FAULTY_COPY_RANGE, 1, 4 * KIB, 9 * KIB, 4 * KIB, 9 * KIB },
  { "cut-in-the-kernel-ahead", &medium, FAULTY_COPY_RANGE, 2, 3 * MIB / 2, 0, 3 * MIB / 2,
    3 * MIB / 2 },
  /* What has been copied already stays, as in stock. */
  { "cut-in-the-kernel-behind", &medium, FAULTY_COPY_RANGE, 2, 1000, 0, 1 * MIB, 1 * MIB },
  { "emptied-in-the-kernel", &medium, FAULTY_COPY_RANGE, 2, 0, 0, 1 * MIB, 1 * MIB },
  { "emptied-before-the-first-byte", &medium, FAULTY_COPY_RANGE, 1, 0, 0, 0, 0 },
  { "grown-in-the-kernel", &medium, FAULTY_COPY_RANGE, 2, 3 * MIB, 5 * MIB, 5 * MIB, 5 * MIB },
  { "cut-and-grown-in-the-kernel", &medium, FAULTY_COPY_RANGE, 2, 0, 3 * MIB, 3 * MIB, 3 * MIB },
  { "cut-while-sent", &across, FAULTY_SEND, 2, 3 * MIB / 2, 0, 3 * MIB / 2, 3 * MIB / 2 },
  { "emptied-while-sent", &across, FAULTY_SEND, 2, 0, 0, 1 * MIB, 1 * MIB },
  { "grown-while-sent", &across, FAULTY_SEND, 2, 3 * MIB, 5 * MIB, 5 * MIB, 5 * MIB },
  { "cut-and-grown-while-sent", &across, FAULTY_SEND, 2, 0, 3 * MIB, 3 * MIB, 3 * MIB },
  { "cut-between-extents", &sparse, FAULTY_COPY_RANGE, 2, 1 * MIB, 0, 1 * MIB, 2 * MIB },
  { "cut-before-the-hole-is-found", &sparse, FAULTY_SEEK, 2, 1000, 0, 1000, 1000 },
  { "emptied-between-extents", &sparse, FAULTY_SEEK, 3, 0, 0, 768 * KIB, 1 * MIB },
  { "cut-and-grown-between-extents", &sparse, FAULTY_COPY_RANGE, 2, 0, 3 * MIB, 3 * MIB, 3 * MIB },
  { "grown-after-the-last-extent", &medium, FAULTY_SEEK, 3, 3 * MIB, 4 * MIB, 4 * MIB, 4 * MIB },
  { "grown-when-no-more-data-was-found", &medium, FAULTY_SEEK, AFTER | 3, 3 * MIB, 4 * MIB,
    4 * MIB, 4 * MIB },
  { "cut-before-the-last-look", &sparse, FAULTY_STAT, 6, 1000, 0, 3 * MIB / 2 + 200000,
    3 * MIB },
  { "lanes-cut-ahead", &lanes, FAULTY_READ, 40, 100 * MIB, 0, 100 * MIB, 100 * MIB },
  { "lanes-cut-behind", &lanes, FAULTY_READ, 40, 1 * MIB, 0, 16 * MIB, 40 * MIB },
  { "lanes-emptied", &lanes, FAULTY_READ, 1, 0, 0, 16 * MIB, 17 * MIB },
  { "lanes-grown", &lanes, FAULTY_READ, 40, 160 * MIB, 161 * MIB, 161 * MIB, 161 * MIB },
  { "lanes-cut-and-grown", &lanes, FAULTY_READ, 40, 50 * MIB, 160 * MIB, 160 * MIB, 160 * MIB },
};

static void
check_content (const Race *race, uint64_t least, uint64_t most)
{
  const InjectScene *scene = race->stage.scene;
  g_autoptr (GMappedFile) pattern
    = make_pattern (race, scene->sparse ? scene->size : MAX (scene->size, most));
  g_autoptr (GMappedFile) made = g_mapped_file_new (race->dest, FALSE, NULL);
  /* A file that was cut and has grown again has a hole there, and the copy a zero. */
  const bool may_be_zero = race->second > race->first && race->first < scene->size;

  g_assert_nonnull (made);
  const uint64_t length = g_mapped_file_get_length (made);
  g_test_message ("%lu bytes by %s", (unsigned long) length,
                  dray_method_get_name (race->report.method));
  g_assert_cmpuint (length, >=, least);
  g_assert_cmpuint (length, <=, most);
  if (length == 0)
    return;

  const char *got = g_mapped_file_get_contents (made);
  const char *wanted = g_mapped_file_get_contents (pattern);
  if (!may_be_zero)
    g_assert_cmpint (memcmp (got, wanted, (size_t) length), ==, 0);
  else
    for (uint64_t i = 0; i < length; i++)
      if (got[i] != wanted[i] && got[i] != 0)
        g_error ("wrong byte at %lu", (unsigned long) i);
}

static void
test_length (gconstpointer data)
{
  const size_t i = GPOINTER_TO_SIZE (data);
  Race race;

  if (!race_open (&race, lengths[i].scene))
    return;
  race.first = lengths[i].first;
  race.second = lengths[i].second;
  ((lengths[i].nth & AFTER) != 0 ? faulty_after : faulty_before) (
    lengths[i].call, lengths[i].nth & ~AFTER, change_length, &race);
  race_run (&race);
  if (!race.happened && lengths[i].scene == &lanes)
    g_test_skip ("this machine is too slow or has too few cores for two lanes");
  else
    {
      assert_report (&race, DRAY_OUTCOME_COPIED, DRAY_DECLINE_NONE, 0);
      check_content (&race, lengths[i].least, lengths[i].most);
    }
  race_close (&race);
}

/* --- another file by the source's name -------------------------------------------------------- */

static void
swap_in_file (void *data)
{
  Race *race = data;

  race->happened = true;
  g_assert_true (g_file_set_contents (race->spare, "another", -1, NULL));
  g_assert_no_errno (g_rename (race->spare, race->stage.source));
}

static void
swap_in_fifo (void *data)
{
  Race *race = data;

  race->happened = true;
  g_assert_no_errno (g_unlink (race->stage.source));
  g_assert_no_errno (mkfifo (race->stage.source, 0600));
}

static void
swap_in_folder (void *data)
{
  Race *race = data;

  race->happened = true;
  g_assert_no_errno (g_unlink (race->stage.source));
  g_assert_no_errno (g_mkdir (race->stage.source, 0700));
}

static void
swap_in_link_to_device (void *data)
{
  Race *race = data;

  race->happened = true;
  g_assert_no_errno (g_unlink (race->stage.source));
  g_assert_no_errno (symlink ("/dev/zero", race->stage.source));
}

static void
take_away (void *data)
{
  Race *race = data;

  race->happened = true;
  g_assert_no_errno (g_unlink (race->stage.source));
}

static const struct
{
  const char *name;
  FaultyHook hook;
  unsigned nth;
  DrayDecline decline;
} swaps[] = {
  { "another-file", swap_in_file, OPEN_SOURCE, DRAY_DECLINE_SOURCE_CHANGED },
  { "another-file-while-its-mount-is-found", swap_in_file, OPEN_BY_PATH,
    DRAY_DECLINE_SOURCE_CHANGED },
  { "a-fifo", swap_in_fifo, OPEN_SOURCE, DRAY_DECLINE_SOURCE_CHANGED },
  { "a-fifo-while-its-mount-is-found", swap_in_fifo, OPEN_BY_PATH, DRAY_DECLINE_SOURCE_CHANGED },
  { "a-folder", swap_in_folder, OPEN_SOURCE, DRAY_DECLINE_SOURCE_CHANGED },
  { "a-device", swap_in_link_to_device, OPEN_SOURCE, DRAY_DECLINE_SOURCE_CHANGED },
  /* What the mount was told of was not the file's. */
  { "a-device-while-its-mount-is-found", swap_in_link_to_device, OPEN_BY_PATH,
    DRAY_DECLINE_SOURCE_FILESYSTEM },
  { "nothing", take_away, OPEN_SOURCE, DRAY_DECLINE_SOURCE_UNREADABLE },
};

static void
test_swap (gconstpointer data)
{
  const size_t i = GPOINTER_TO_SIZE (data);
  Race race;

  if (!race_open (&race, &small))
    return;
  faulty_before (FAULTY_OPEN, swaps[i].nth, swaps[i].hook, &race);
  race_run (&race);
  assert_report (&race, DRAY_OUTCOME_DECLINED, swaps[i].decline, 0);
  g_assert_cmpuint (inject_count_names (race.stage.dest_folder), ==, 0);
  race_close (&race);
}

/* Stock takes over, and takes what is there by now. */
static void
test_swap_and_stock (void)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *content = NULL;
  Race race;

  if (!race_open (&race, &small))
    return;
  faulty_before (FAULTY_OPEN, OPEN_SOURCE, swap_in_file, &race);
  g_assert_true (race_run_by_gio (&race, &error));
  g_assert_no_error (error);
  g_assert_true (race.happened);
  g_assert_true (g_file_get_contents (race.dest, &content, NULL, NULL));
  g_assert_cmpstr (content, ==, "another");
  race_close (&race);
}

/* An open file stays what it is, whatever becomes of its name. */
static void
test_name_gone_midway (void)
{
  Race race;

  if (!race_open (&race, &medium))
    return;
  faulty_before (FAULTY_COPY_RANGE, 2, take_away, &race);
  race_run (&race);
  assert_report (&race, DRAY_OUTCOME_COPIED, DRAY_DECLINE_NONE, 0);
  check_content (&race, 3 * MIB, 3 * MIB);
  race_close (&race);
}

static void
take_permissions (void *data)
{
  Race *race = data;

  race->happened = true;
  g_assert_no_errno (g_chmod (race->stage.source, 0));
}

static void
test_mode_midway (void)
{
  struct stat stat;
  Race race;

  if (!race_open (&race, &medium))
    return;
  faulty_before (FAULTY_COPY_RANGE, 2, take_permissions, &race);
  race_run (&race);
  assert_report (&race, DRAY_OUTCOME_COPIED, DRAY_DECLINE_NONE, 0);
  check_content (&race, 3 * MIB, 3 * MIB);
  /* All that is kept of a file is what it was when it was opened. */
  g_assert_no_errno (lstat (race.dest, &stat));
  g_assert_cmpuint (stat.st_mode & 07777, ==, 0664);
  g_assert_cmpint (stat.st_mtim.tv_nsec, ==, TREE_MTIME.tv_nsec);
  race_close (&race);
}

/* --- the destination -------------------------------------------------------------------------- */

static void
put_stranger_over_dest (void *data)
{
  Race *race = data;

  race->happened = true;
  g_assert_true (g_file_set_contents (race->spare, "stranger", -1, NULL));
  g_assert_no_errno (g_rename (race->spare, race->dest));
}

static void
assert_stranger (const char *path)
{
  g_autofree char *content = NULL;

  g_assert_true (g_file_get_contents (path, &content, NULL, NULL));
  g_assert_cmpstr (content, ==, "stranger");
}

static void
try_stranger (const InjectScene *scene, unsigned nth)
{
  Race race;

  if (!race_open (&race, scene))
    return;
  faulty_before (FAULTY_COPY_RANGE, nth, put_stranger_over_dest, &race);
  faulty_fail (FAULTY_COPY_RANGE, nth, EIO, FAULTY_ALWAYS);
  race_run (&race);
  assert_report (&race, DRAY_OUTCOME_FAILED, DRAY_DECLINE_NONE, -EIO);
  assert_stranger (race.dest);
  g_assert_cmpuint (inject_count_names (race.stage.dest_folder), ==, 1);
  race_close (&race);
}

static void
test_stranger_over_dest (void)
{
  try_stranger (&small, 1);
  try_stranger (&medium, 1);
  try_stranger (&medium, 2);
}

static void
take_dest_away (void *data)
{
  Race *race = data;

  race->happened = true;
  g_assert_no_errno (g_unlink (race->dest));
}

static void
test_dest_gone (void)
{
  Race race;

  if (!race_open (&race, &medium))
    return;
  faulty_before (FAULTY_COPY_RANGE, 2, take_dest_away, &race);
  faulty_fail (FAULTY_COPY_RANGE, 2, ENOSPC, FAULTY_ALWAYS);
  race_run (&race);
  assert_report (&race, DRAY_OUTCOME_FAILED, DRAY_DECLINE_NONE, -ENOSPC);
  g_assert_cmpuint (inject_count_names (race.stage.dest_folder), ==, 0);
  race_close (&race);
}

/* Away with the folder, and a stranger's by the same name, with a file by our name. */
static void
move_dest_folder (void *data)
{
  Race *race = data;
  g_autofree char *moved = g_strconcat (race->stage.dest_folder, "-moved", NULL);

  race->happened = true;
  g_assert_no_errno (g_rename (race->stage.dest_folder, moved));
  tree_make_folder (race->stage.dest_folder, 0755);
  g_assert_true (g_file_set_contents (race->dest, "stranger", -1, NULL));
}

static void
try_moved_folder (const InjectScene *scene, unsigned nth, bool fails)
{
  g_autofree char *moved = NULL;
  Race race;

  if (!race_open (&race, scene))
    return;
  moved = g_strconcat (race.stage.dest_folder, "-moved", NULL);
  faulty_before (FAULTY_COPY_RANGE, nth, move_dest_folder, &race);
  if (fails)
    faulty_fail (FAULTY_COPY_RANGE, nth, ENOSPC, FAULTY_ALWAYS);
  race_run (&race);
  assert_report (&race, fails ? DRAY_OUTCOME_FAILED : DRAY_OUTCOME_COPIED, DRAY_DECLINE_NONE,
                 -ENOSPC);
  assert_stranger (race.dest);
  g_assert_cmpuint (inject_count_names (moved), ==, fails ? 0 : 1);
  tree_remove (moved);
  race_close (&race);
}

static void
test_folder_moved (void)
{
  try_moved_folder (&medium, 2, true);
  try_moved_folder (&medium, 2, false);
  try_moved_folder (&small, 1, true);
}

/* Of a folder that was recognised there is no descriptor: a small copy may lose its name, but never
 * takes anybody else's for its own. */
static void
test_recognised_folder_moved (void)
{
  g_autofree char *moved = NULL;
  Race race;

  if (!race_open (&race, &small))
    return;
  moved = g_strconcat (race.stage.dest_folder, "-moved", NULL);
  faulty_hide_mount_numbers (false);
  race_run (&race);
  g_assert_cmpint (race.report.outcome, ==, DRAY_OUTCOME_COPIED);
  g_assert_no_errno (g_unlink (race.dest));

  faulty_reset ();
  faulty_before (FAULTY_COPY_RANGE, 1, move_dest_folder, &race);
  faulty_fail (FAULTY_COPY_RANGE, 1, ENOSPC, FAULTY_ALWAYS);
  race_run (&race);
  assert_report (&race, DRAY_OUTCOME_FAILED, DRAY_DECLINE_NONE, -ENOSPC);
  assert_stranger (race.dest);
  g_assert_cmpuint (inject_count_names (moved), <=, 1);
  tree_remove (moved);
  race_close (&race);
}

static void
take_name (void *data)
{
  Race *race = data;

  race->happened = true;
  g_assert_true (g_file_set_contents (race->dest, "stranger", -1, NULL));
}

static void
test_name_taken (void)
{
  g_autoptr (GError) error = NULL;
  Race race;

  if (!race_open (&race, &small))
    return;
  faulty_before (FAULTY_OPEN, OPEN_DEST, take_name, &race);
  g_assert_false (race_run_by_gio (&race, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_EXISTS);
  g_assert_true (race.happened);
  assert_stranger (race.dest);
  race_close (&race);
}

int
main (int argc, char **argv)
{
  inject_init (&argc, &argv);
  for (size_t i = 0; i < G_N_ELEMENTS (lengths); i++)
    {
      g_autofree char *path = g_strdup_printf ("/faults/inject-races/%s", lengths[i].name);

      g_test_add_data_func (path, GSIZE_TO_POINTER (i), test_length);
    }
  for (size_t i = 0; i < G_N_ELEMENTS (swaps); i++)
    {
      g_autofree char *path
        = g_strdup_printf ("/faults/inject-races/%s-by-the-source's-name", swaps[i].name);

      g_test_add_data_func (path, GSIZE_TO_POINTER (i), test_swap);
    }
#define ADD(path, test) g_test_add_func ("/faults/inject-races/" path, test)
  ADD ("stock-copies-what-is-there-by-now", test_swap_and_stock);
  ADD ("a-source-removed-midway-is-copied", test_name_gone_midway);
  ADD ("a-mode-changed-midway-does-not-count", test_mode_midway);
  ADD ("a-stranger-over-the-destination-stays", test_stranger_over_dest);
  ADD ("a-destination-removed-midway", test_dest_gone);
  ADD ("a-moved-folder-is-cleaned-all-the-same", test_folder_moved);
  ADD ("a-recognised-folder-moved-keeps-strangers", test_recognised_folder_moved);
  ADD ("a-name-taken-meanwhile-is-kept", test_name_taken);
#undef ADD
  return g_test_run ();
}
