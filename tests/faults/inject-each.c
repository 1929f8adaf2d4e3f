/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Every system call of a copy fails in turn, with every errno that it may have. */
#include "config.h"

#include "tests/faults/inject-stage.h"

#include <errno.h>
#include <string.h>

#define KIB ((uint64_t) 1 << 10)
#define MIB ((uint64_t) 1 << 20)

/* A shorter sequence is gone through call by call. */
#define SHORT_SEQUENCE 40
/* Of a bigger file only the plainest errors are tried. */
#define BIG (32 * MIB)

static const int errors[] = {
  EIO, ENOSPC, EINVAL, /* the plainest ones */
  EDQUOT, EMFILE, ENOMEM, EACCES, EPERM, EOPNOTSUPP, ENOSYS, EXDEV, ETXTBSY,
};
#define N_PLAINEST 3

static const InjectScene scenes[] = {
  { "small", "DRAY_TEST_EXT4", "DRAY_TEST_EXT4", .size = 4 * KIB },
  { "empty", "DRAY_TEST_EXT4", "DRAY_TEST_EXT4", .size = 0 },
  { "small-on-tmpfs", "DRAY_TEST_TMPFS", "DRAY_TEST_TMPFS", .size = 4 * KIB },
  { "small-on-overlay", "DRAY_TEST_OVERLAY", "DRAY_TEST_OVERLAY", .size = 4 * KIB },
  { "medium", "DRAY_TEST_EXT4", "DRAY_TEST_EXT4", .size = 3 * MIB },
  { "sparse", "DRAY_TEST_EXT4", "DRAY_TEST_EXT4", .size = 3 * MIB, .sparse = true },
  { "sparse-across-devices", "DRAY_TEST_EXT4", "DRAY_TEST_XFS", .size = 3 * MIB, .sparse = true },
  { "reflink-on-btrfs", "DRAY_TEST_BTRFS", "DRAY_TEST_BTRFS", .size = 9 * MIB },
  { "reflink-on-xfs", "DRAY_TEST_XFS", "DRAY_TEST_XFS", .size = 9 * MIB },
  { "small-across-devices", "DRAY_TEST_EXT4", "DRAY_TEST_XFS", .size = 100 * KIB },
  { "medium-across-devices", "DRAY_TEST_EXT4", "DRAY_TEST_XFS", .size = 3 * MIB },
  { "all-metadata", "DRAY_TEST_EXT4", "DRAY_TEST_EXT4", .size = 4 * KIB, .xattrs = true,
    .flags = G_FILE_COPY_ALL_METADATA },
  { "recognised-folder", "DRAY_TEST_EXT4", "DRAY_TEST_EXT4", .size = 4 * KIB, .recognised = true },
  { "existing-kept", "DRAY_TEST_EXT4", "DRAY_TEST_EXT4", .size = 4 * KIB, .exists = true },
  { "existing-overwritten", "DRAY_TEST_EXT4", "DRAY_TEST_EXT4", .size = 4 * KIB, .exists = true,
    .flags = G_FILE_COPY_OVERWRITE },
  { "batch", "DRAY_TEST_EXT4", "DRAY_TEST_EXT4", .size = 4 * KIB, .n_requests = 40 },
  { "large", "DRAY_TEST_TMPFS", "DRAY_TEST_TMPFS", .size = 40 * MIB },
  { "lanes", "DRAY_TEST_TMPFS", "DRAY_TEST_TMPFS", .size = 129 * MIB },
};

typedef struct
{
  InjectStage stage;
  bool hide;
  unsigned n_cases;
  unsigned n_copied, n_failed;
} Tour;

static void
try_fault (Tour *tour, InjectFault fault)
{
  InjectResult result;

  inject_stage_run (&tour->stage, &fault, tour->hide, &result);
  inject_stage_check (&tour->stage, &fault, &result);
  tour->n_cases++;
  if (result.copied)
    tour->n_copied++;
  else if (result.error != NULL)
    tour->n_failed++;
  inject_result_clear (&result);
}

static bool
has_length (FaultyCall call)
{
  return call == FAULTY_READ || call == FAULTY_WRITE || call == FAULTY_COPY_RANGE ||
         call == FAULTY_SEND;
}

static void
try_lengths (Tour *tour, FaultyCall call, unsigned nth)
{
  const uint64_t size = tour->stage.scene->size;

  try_fault (tour, (InjectFault) { INJECT_ZERO, call, nth, FAULTY_ONCE, 0, 0, NULL });
  try_fault (tour, (InjectFault) { INJECT_ZERO, call, nth, FAULTY_ALWAYS, 0, 0, NULL });
  try_fault (tour, (InjectFault) { INJECT_SHORT, call, nth, FAULTY_ONCE, 0, 1, NULL });
  /* Half of what is asked for at the most, whoever asks; and never a whole page. */
  try_fault (tour, (InjectFault) { INJECT_SHORT, call, nth, FAULTY_ONCE, 0,
                                   (size_t) MIN (MAX (size / 2, 1), 128 * KIB), NULL });
  try_fault (tour, (InjectFault) { INJECT_SHORT, call, nth, FAULTY_ALWAYS, 0,
                                   size > 8 * KIB ? (size_t) (size / 100 | 1) : 1, NULL });
}

static void
try_call (Tour *tour, FaultyCall call, unsigned nth)
{
  const size_t n = tour->stage.scene->size >= BIG ? N_PLAINEST : G_N_ELEMENTS (errors);

  for (size_t i = 0; i < n; i++)
    for (int reach = FAULTY_ONCE; reach <= FAULTY_ALWAYS; reach++)
      try_fault (tour,
                 (InjectFault){ INJECT_ERROR, call, nth, (FaultyReach) reach, errors[i], 0, NULL });
  if (has_length (call))
    try_lengths (tour, call, nth);
}

/* Calls by which the engine finds out where a file is. */
static bool
is_looking (FaultyCall call)
{
  return call == FAULTY_OPEN || call == FAULTY_STAT || call == FAULTY_MAGIC ||
         call == FAULTY_MAGIC_AT || call == FAULTY_CLOSE;
}

/* The first, the second, the one in the middle and the last of each function, or all. */
static bool
is_chosen (unsigned nth, unsigned count, size_t n_log)
{
  return n_log <= SHORT_SEQUENCE || nth <= 2 || nth == (count + 1) / 2 || nth == count;
}

static void
try_each (Tour *tour)
{
  const InjectFault none = { INJECT_NOTHING, FAULTY_OPEN, 0, FAULTY_ONCE, 0, 0, NULL };
  InjectResult plain;
  unsigned counts[FAULTY_N_CALLS] = { 0 };
  g_autoptr (GString) sequence = g_string_new (NULL);

  inject_stage_run (&tour->stage, &none, tour->hide, &plain);
  inject_stage_check (&tour->stage, &none, &plain);
  for (size_t i = 0; i < plain.n_log; i++)
    {
      counts[plain.log[i].call]++;
      if (i < SHORT_SEQUENCE)
        g_string_append_printf (sequence, " %s", faulty_call_get_name (plain.log[i].call));
    }
  g_test_message ("%zu calls:%s", plain.n_log, sequence->str);
  /* Something has to have gone through the layer, or all that follows shows nothing. */
  g_assert_cmpuint (plain.n_log, >, 0);

  for (size_t i = 0; i < plain.n_log; i++)
    if (is_chosen (plain.log[i].nth, counts[plain.log[i].call], plain.n_log) &&
        (!tour->hide || is_looking (plain.log[i].call)))
      try_call (tour, plain.log[i].call, plain.log[i].nth);
  inject_result_clear (&plain);
}

static void
test_each (gconstpointer data)
{
  const InjectScene *scene = data;
  Tour tour = { 0 };

  if (!inject_stage_open (&tour.stage, scene))
    return;
  for (int hide = 0; hide <= 1; hide++)
    {
      /* Where mounts have numbers what is known of them is not asked for again; so once more
       * without, for the calls that differ. Nothing is recognised then, and a big file is no other.
       */
      if (hide == 1 && (scene->recognised || scene->size >= BIG))
        break;
      tour.hide = hide == 1;
      try_each (&tour);
    }
  g_test_message ("%u cases, %u copied, %u failed", tour.n_cases, tour.n_copied, tour.n_failed);
  inject_stage_close (&tour.stage);
}

int
main (int argc, char **argv)
{
  inject_init (&argc, &argv);
  for (size_t i = 0; i < G_N_ELEMENTS (scenes); i++)
    {
      g_autofree char *path = g_strdup_printf ("/faults/inject-each/%s", scenes[i].name);

      g_test_add_data_func (path, &scenes[i], test_each);
    }
  return g_test_run ();
}
