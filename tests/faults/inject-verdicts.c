/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which errors make the engine decline, which end a copy, and which it gets round. */
#include "config.h"

#include "tests/faults/inject-stage.h"

#include <errno.h>

#define KIB ((uint64_t) 1 << 10)
#define MIB ((uint64_t) 1 << 20)

static const InjectScene small
  = { "small", "DRAY_TEST_EXT4", "DRAY_TEST_EXT4", .size = 4 * KIB, .n_requests = 1 };
static const InjectScene medium
  = { "medium", "DRAY_TEST_EXT4", "DRAY_TEST_EXT4", .size = 3 * MIB, .n_requests = 1 };
static const InjectScene sparse = { "sparse", "DRAY_TEST_EXT4", "DRAY_TEST_EXT4",
                                    .size = 3 * MIB, .sparse = true, .n_requests = 1 };
static const InjectScene small_across
  = { "small-across", "DRAY_TEST_EXT4", "DRAY_TEST_XFS", .size = 100 * KIB, .n_requests = 1 };
static const InjectScene medium_across
  = { "medium-across", "DRAY_TEST_EXT4", "DRAY_TEST_XFS", .size = 3 * MIB, .n_requests = 1 };
static const InjectScene on_btrfs
  = { "on-btrfs", "DRAY_TEST_BTRFS", "DRAY_TEST_BTRFS", .size = 100 * KIB, .n_requests = 1 };
static const InjectScene on_xfs
  = { "on-xfs", "DRAY_TEST_XFS", "DRAY_TEST_XFS", .size = 100 * KIB, .n_requests = 1 };
static const InjectScene with_xattrs
  = { "with-xattrs", "DRAY_TEST_EXT4", "DRAY_TEST_EXT4", .size = 4 * KIB, .xattrs = true,
      .n_requests = 1 };

/* --- errors of the methods that move bytes -----------------------------------------------------
 */

static const struct
{
  int error;
  bool in_kernel_goes_on; /* copy_file_range() and sendfile() hand over to read() and write() */
  bool clone_cleans_up;   /* after FICLONE the destination is emptied before the copy goes on */
} errors[] = {
  { EXDEV, true, false },  { EOPNOTSUPP, true, false }, { ENOSYS, true, false },
  { EINVAL, true, false }, { EPERM, true, false },      { ETXTBSY, true, true },
  { ENOTTY, false, false }, { EIO, false, true },       { ENOSPC, false, true },
  { EDQUOT, false, true }, { ENOMEM, false, true },     { EACCES, false, true },
  { EMFILE, false, true },
};

static void
expect (InjectStage *stage, const InjectFault *fault, const InjectResult *result, int error,
        DrayStep step)
{
  const DrayCopyReport *report = &result->reports[0];

  if (result->hits == 0)
    inject_stage_blame (stage, fault, "did not happen");
  if (error == 0 ? report->outcome != DRAY_OUTCOME_COPIED || report->error != 0
                 : report->outcome != DRAY_OUTCOME_FAILED || report->error != -error ||
                     report->step != step)
    inject_stage_blame (stage, fault, "outcome %d, error %d, step %d", report->outcome,
                        report->error, report->step);
}

static void
expect_copied_by (InjectStage *stage, const InjectFault *fault, const InjectResult *result,
                  DrayMethod method)
{
  const DrayCopyReport *report = &result->reports[0];

  expect (stage, fault, result, 0, DRAY_STEP_NONE);
  if (report->method != method || report->bytes != stage->scene->size)
    inject_stage_blame (stage, fault, "%lu bytes by %s", (unsigned long) report->bytes,
                        dray_method_get_name (report->method));
}

static void
try_in_kernel (const InjectScene *scene, FaultyCall call, unsigned nth)
{
  InjectStage stage;
  InjectResult result;

  if (!inject_stage_open (&stage, scene))
    return;
  for (size_t i = 0; i < G_N_ELEMENTS (errors); i++)
    {
      const InjectFault fault
        = { INJECT_ERROR, call, nth, FAULTY_ONCE, errors[i].error, 0, NULL };

      inject_stage_run (&stage, &fault, true, &result);
      if (errors[i].in_kernel_goes_on)
        expect_copied_by (&stage, &fault, &result, DRAY_METHOD_READ_WRITE);
      else
        expect (&stage, &fault, &result, errors[i].error, DRAY_STEP_TRANSFER);
      inject_stage_check (&stage, &fault, &result);
      inject_result_clear (&result);
    }
  for (int reach = FAULTY_ONCE; reach <= FAULTY_ALWAYS; reach++)
    {
      const InjectFault fault = { INJECT_ZERO, call, nth, (FaultyReach) reach, 0, 0, NULL };

      inject_stage_run (&stage, &fault, true, &result);
      /* A 0 is no end before a read has said so. */
      expect (&stage, &fault, &result, 0, DRAY_STEP_NONE);
      if (result.reports[0].bytes != scene->size)
        inject_stage_blame (&stage, &fault, "%lu bytes", (unsigned long) result.reports[0].bytes);
      inject_stage_check (&stage, &fault, &result);
      inject_result_clear (&result);
    }
  inject_stage_close (&stage);
}

static void
test_copy_range (void)
{
  try_in_kernel (&small, FAULTY_COPY_RANGE, 1);
  try_in_kernel (&medium, FAULTY_COPY_RANGE, 1);
}

static void
test_copy_range_midway (void)
{
  try_in_kernel (&medium, FAULTY_COPY_RANGE, 2);
}

static void
test_send (void)
{
  try_in_kernel (&small_across, FAULTY_SEND, 1);
}

static void
test_send_midway (void)
{
  try_in_kernel (&medium_across, FAULTY_SEND, 2);
}

static unsigned
count_in_log (const InjectResult *result, FaultyCall call)
{
  unsigned n = 0;

  for (size_t i = 0; i < result->n_log; i++)
    n += result->log[i].call == call;
  return n;
}

static void
try_clone (const InjectScene *scene)
{
  InjectStage stage;
  InjectResult result;

  if (!inject_stage_open (&stage, scene))
    return;
  for (size_t i = 0; i < G_N_ELEMENTS (errors); i++)
    {
      const InjectFault fault
        = { INJECT_ERROR, FAULTY_CLONE, 1, FAULTY_ONCE, errors[i].error, 0, NULL };
      const InjectFault also
        = { INJECT_ERROR, FAULTY_TRUNCATE, 1, FAULTY_ALWAYS, EIO, 0, &fault };

      inject_stage_run (&stage, &fault, true, &result);
      expect_copied_by (&stage, &fault, &result, DRAY_METHOD_COPY_RANGE);
      if ((count_in_log (&result, FAULTY_TRUNCATE) > 0) != errors[i].clone_cleans_up)
        inject_stage_blame (&stage, &fault, "emptied: %d", !errors[i].clone_cleans_up);
      inject_stage_check (&stage, &fault, &result);
      inject_result_clear (&result);

      inject_stage_run (&stage, &also, true, &result);
      expect (&stage, &also, &result, errors[i].clone_cleans_up ? EIO : 0, DRAY_STEP_TRANSFER);
      g_assert_cmpuint (inject_count_names (stage.dest_folder), ==,
                        errors[i].clone_cleans_up ? 0 : 1);
      inject_stage_check (&stage, &also, &result);
      inject_result_clear (&result);
    }
  inject_stage_close (&stage);
}

static void
test_clone_on_btrfs (void)
{
  try_clone (&on_btrfs);
}

static void
test_clone_on_xfs (void)
{
  try_clone (&on_xfs);
}

/* --- one verdict for each step -----------------------------------------------------------------
 */

/* Where mounts have no numbers every copy asks in the same order. */
static const struct
{
  const char *what;
  const InjectScene *scene;
  FaultyCall call;
  unsigned nth;
  int error;
  DrayOutcome outcome;
  DrayDecline decline;
  DrayStep step;
} steps[] = {
#define DECLINED(reason) DRAY_OUTCOME_DECLINED, DRAY_DECLINE_##reason, DRAY_STEP_NONE
#define FAILED(step) DRAY_OUTCOME_FAILED, DRAY_DECLINE_NONE, DRAY_STEP_##step
#define COPIED DRAY_OUTCOME_COPIED, DRAY_DECLINE_NONE, DRAY_STEP_NONE
  { "source", &small, FAULTY_STAT, 1, EACCES, DECLINED (SOURCE_UNREADABLE) },
  { "source by path", &small, FAULTY_OPEN, 1, EMFILE, DECLINED (SOURCE_FILESYSTEM) },
  { "source's mount", &small, FAULTY_STAT, 2, EIO, DECLINED (SOURCE_FILESYSTEM) },
  { "source's kind", &small, FAULTY_MAGIC, 1, EIO, DECLINED (SOURCE_FILESYSTEM) },
  { "its descriptor", &small, FAULTY_CLOSE, 1, EIO, COPIED },
  { "folder", &small, FAULTY_OPEN, 2, EMFILE, DECLINED (DEST_FOLDER) },
  { "folder's mount", &small, FAULTY_STAT, 3, EIO, DECLINED (DEST_FOLDER) },
  { "folder's kind", &small, FAULTY_MAGIC, 2, EIO, DECLINED (DEST_FILESYSTEM) },
  { "opening the source", &small, FAULTY_OPEN, 3, EACCES, DECLINED (SOURCE_UNREADABLE) },
  { "a leased source", &small, FAULTY_OPEN, 3, EWOULDBLOCK, DECLINED (SOURCE_UNREADABLE) },
  { "opened source", &small, FAULTY_STAT, 4, EIO, DECLINED (SOURCE_UNREADABLE) },
  { "xattr names", &small, FAULTY_LIST_XATTRS, 1, EIO, COPIED },
  { "a taken name", &small, FAULTY_OPEN, 4, EEXIST, DECLINED (DEST_EXISTS) },
  { "creating", &small, FAULTY_OPEN, 4, ENOSPC, DECLINED (DEST_NOT_CREATED) },
  { "a file just made", &small, FAULTY_STAT, 5, EIO, FAILED (TRANSFER) },
  { "mode", &small, FAULTY_SET_MODE, 1, EPERM, COPIED },
  { "times", &small, FAULTY_SET_TIMES, 1, EPERM, COPIED },
  { "closing", &small, FAULTY_CLOSE_BOTH, 1, EDQUOT, FAILED (CLOSE) },
  { "closing the folder", &small, FAULTY_CLOSE, 2, EIO, COPIED },
  { "xattr value", &with_xattrs, FAULTY_GET_XATTR, 1, EIO, COPIED },
  { "xattr", &with_xattrs, FAULTY_SET_XATTR, 1, ENOSPC, COPIED },
  { "cannot tell data", &medium, FAULTY_SEEK, 1, EINVAL, COPIED },
  { "cannot tell data", &medium, FAULTY_SEEK, 1, EOPNOTSUPP, COPIED },
  { "cannot tell holes", &medium, FAULTY_SEEK, 2, EINVAL, COPIED },
  { "finding data", &medium, FAULTY_SEEK, 1, EIO, FAILED (TRANSFER) },
  { "finding a hole", &medium, FAULTY_SEEK, 2, EIO, FAILED (TRANSFER) },
  { "length at the end", &medium, FAULTY_STAT, 6, EIO, FAILED (TRANSFER) },
  { "length first", &sparse, FAULTY_TRUNCATE, 1, ENOSPC, FAILED (TRANSFER) },
  { "place to send to", &medium_across, FAULTY_SEEK, 3, EIO, FAILED (TRANSFER) },
#undef DECLINED
#undef FAILED
#undef COPIED
};

static void
try_step (size_t i)
{
  const InjectFault fault
    = { INJECT_ERROR, steps[i].call, steps[i].nth, FAULTY_ONCE, steps[i].error, 0, NULL };
  InjectStage stage;
  InjectResult result;

  if (!inject_stage_open (&stage, steps[i].scene))
    return;
  inject_stage_run (&stage, &fault, true, &result);
  const DrayCopyReport *report = &result.reports[0];
  const int error = steps[i].outcome == DRAY_OUTCOME_FAILED ? -steps[i].error : 0;

  if (result.hits == 0)
    inject_stage_blame (&stage, &fault, "%s: did not happen", steps[i].what);
  /* Of a decline the errno is a hint, where one was at hand. */
  if (report->outcome != steps[i].outcome || report->decline != steps[i].decline ||
      report->step != steps[i].step ||
      (report->error != error && report->outcome != DRAY_OUTCOME_DECLINED))
    inject_stage_blame (&stage, &fault, "%s: outcome %d, reason %s, step %d, error %d",
                        steps[i].what, report->outcome, dray_decline_get_name (report->decline),
                        report->step, report->error);
  inject_stage_check (&stage, &fault, &result);
  inject_result_clear (&result);
  inject_stage_close (&stage);
}

static void
test_steps (void)
{
  for (size_t i = 0; i < G_N_ELEMENTS (steps); i++)
    try_step (i);
}

/* --- two faults at once ------------------------------------------------------------------------
 */

static void
try_pair (const InjectScene *scene, const InjectFault *fault, int error, unsigned n_left)
{
  InjectStage stage;
  InjectResult result;

  if (!inject_stage_open (&stage, scene))
    return;
  inject_stage_run (&stage, fault, true, &result);
  expect (&stage, fault, &result, error, DRAY_STEP_TRANSFER);
  g_assert_cmpuint (inject_count_names (stage.dest_folder), ==, n_left);
  inject_stage_check (&stage, fault, &result);
  inject_result_clear (&result);
  inject_stage_close (&stage);
}

static const InjectFault no_copy_range
  = { INJECT_ERROR, FAULTY_COPY_RANGE, 1, FAULTY_ALWAYS, EXDEV, 0, NULL };
static const InjectFault full_disk
  = { INJECT_ERROR, FAULTY_COPY_RANGE, 1, FAULTY_ALWAYS, ENOSPC, 0, NULL };

static void
test_reading_and_writing (void)
{
  try_pair (&small,
            &(InjectFault) { INJECT_ERROR, FAULTY_READ, 1, FAULTY_ALWAYS, EIO, 0, &no_copy_range },
            EIO, 0);
  try_pair (&medium,
            &(InjectFault) { INJECT_ERROR, FAULTY_READ, 5, FAULTY_ONCE, EIO, 0, &no_copy_range },
            EIO, 0);
  try_pair (&medium,
            &(InjectFault){ INJECT_ERROR, FAULTY_WRITE, 5, FAULTY_ONCE, ENOSPC, 0, &no_copy_range },
            ENOSPC, 0);
  try_pair (&medium,
            &(InjectFault) { INJECT_ZERO, FAULTY_WRITE, 5, FAULTY_ALWAYS, 0, 0, &no_copy_range },
            EIO, 0);
  /* Short ones are gone on with, at every length. */
  for (size_t most = 1; most <= 4096; most = most * 3 + 1)
    {
      try_pair (&small,
                &(InjectFault) { INJECT_SHORT, FAULTY_READ, 1, FAULTY_ALWAYS, 0, most,
                                 &no_copy_range },
                0, 1);
      try_pair (&small,
                &(InjectFault) { INJECT_SHORT, FAULTY_WRITE, 1, FAULTY_ALWAYS, 0, most,
                                 &no_copy_range },
                0, 1);
    }
}

/* What cannot be removed, or not be known, stays; the error is the first one. */
static void
test_name_that_stays (void)
{
  try_pair (&small,
            &(InjectFault) { INJECT_ERROR, FAULTY_UNLINK, 1, FAULTY_ONCE, EIO, 0, &full_disk },
            ENOSPC, 1);
  try_pair (&small,
            &(InjectFault) { INJECT_ERROR, FAULTY_STAT, 6, FAULTY_ONCE, EIO, 0, &full_disk },
            ENOSPC, 1);
  try_pair (&small,
            &(InjectFault) { INJECT_ERROR, FAULTY_CLOSE, 2, FAULTY_ALWAYS, EIO, 0, &full_disk },
            ENOSPC, 0);
}

int
main (int argc, char **argv)
{
  inject_init (&argc, &argv);
#define ADD(path, test) g_test_add_func ("/faults/inject-verdicts/" path, test)
  ADD ("copy-range-gives-way-or-fails", test_copy_range);
  ADD ("copy-range-gives-way-midway", test_copy_range_midway);
  ADD ("sendfile-gives-way-or-fails", test_send);
  ADD ("sendfile-gives-way-midway", test_send_midway);
  ADD ("a-clone-that-fails-on-btrfs-becomes-a-copy", test_clone_on_btrfs);
  ADD ("a-clone-that-fails-on-xfs-becomes-a-copy", test_clone_on_xfs);
  ADD ("each-step-has-its-verdict", test_steps);
  ADD ("reading-and-writing", test_reading_and_writing);
  ADD ("a-name-that-cannot-be-removed-stays", test_name_that_stays);
#undef ADD
  return g_test_run ();
}
