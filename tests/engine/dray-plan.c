/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests of engine/dray-plan.c: which facts lead to which method. */
#include "config.h"
#include "engine/dray-plan-private.h"

#include "engine/dray-lanes-private.h"

#include <glib.h>

#define KIB ((uint64_t) 1 << 10)
#define MIB ((uint64_t) 1 << 20)

static const DrayFilesystem plain = { .name = "plain", .take = true };
static const DrayFilesystem cloning = { .name = "cloning", .take = true, .clones = true };

static void
check_plan (const char *name, const DrayFacts *facts, unsigned n_spare, DrayPlan expected)
{
  const DrayPlan plan = dray_plan_transfer (facts, n_spare);

  g_test_message ("%s", name);
  g_assert_cmpstr (dray_method_get_name (plan.method), ==, dray_method_get_name (expected.method));
  g_assert_cmpint (plan.try_clone, ==, expected.try_clone);
  g_assert_cmpint (plan.seek_holes, ==, expected.seek_holes);
  g_assert_cmpuint (plan.lanes_least, ==, expected.lanes_least);
}

static void
test_method_follows_from_facts (void)
{
  static const struct
  {
    const char *name;
    uint64_t size, allocated;
    bool same_device;
    unsigned n_spare;
    DrayMethod method;
    bool seek_holes;
  } vectors[] = {
    { "empty", 0, 0, true, 1, DRAY_METHOD_READ_WRITE, false },
    { "no size but blocks", 0, 4 * KIB, false, 1, DRAY_METHOD_READ_WRITE, false },
    { "one byte, inside the inode", 1, 0, true, 1, DRAY_METHOD_COPY_RANGE, true },
    { "small, same device", 4 * KIB, 4 * KIB, true, 1, DRAY_METHOD_COPY_RANGE, false },
    { "small, other device", 4 * KIB, 4 * KIB, false, 1, DRAY_METHOD_READ_WRITE, false },
    { "just below sendfile", 64 * KIB - 1, 64 * KIB, false, 1, DRAY_METHOD_READ_WRITE, false },
    { "from here on sendfile", 64 * KIB, 64 * KIB, false, 1, DRAY_METHOD_SEND, false },
    { "sendfile is for other devices", 64 * KIB, 64 * KIB, true, 1, DRAY_METHOD_COPY_RANGE, false },
    { "sparse, small", 64 * KIB, 4 * KIB, true, 1, DRAY_METHOD_COPY_RANGE, true },
    { "dense, big enough to look", MIB, MIB, true, 1, DRAY_METHOD_COPY_RANGE, true },
    { "dense, too small to look", MIB - 1, MIB, true, 1, DRAY_METHOD_COPY_RANGE, false },
    { "preallocated beyond its end", MIB - 1, 8 * MIB, true, 1, DRAY_METHOD_COPY_RANGE, false },
    { "below lanes", DRAY_LANES_LEAST - 1, DRAY_LANES_LEAST, true, 1, DRAY_METHOD_COPY_RANGE,
      true },
    { "lanes", DRAY_LANES_LEAST, DRAY_LANES_LEAST, true, 1, DRAY_METHOD_COPY_RANGE, true },
    { "lanes, other device", DRAY_LANES_LEAST, DRAY_LANES_LEAST, false, 3, DRAY_METHOD_SEND, true },
    { "no core for lanes", DRAY_LANES_LEAST, DRAY_LANES_LEAST, true, 0, DRAY_METHOD_COPY_RANGE,
      true },
    { "no core, other device", DRAY_LANES_LEAST, DRAY_LANES_LEAST, false, 0, DRAY_METHOD_SEND,
      true },
    { "as big as can be", UINT64_MAX, UINT64_MAX, false, 1, DRAY_METHOD_SEND, true },
  };

  g_test_summary ("The thresholds, one row on each side of them");
  for (size_t i = 0; i < G_N_ELEMENTS (vectors); i++)
    check_plan (vectors[i].name,
                &(DrayFacts) {
                  .size = vectors[i].size,
                  .allocated = vectors[i].allocated,
                  .same_device = vectors[i].same_device,
                  .source_filesystem = &plain,
                  .dest_filesystem = &plain,
                },
                vectors[i].n_spare,
                (DrayPlan) {
                  .method = vectors[i].method,
                  .seek_holes = vectors[i].seek_holes,
                  .lanes_least
                  = vectors[i].size > 0 && vectors[i].n_spare > 0 ? DRAY_LANES_LEAST : 0,
                });
}

static void
test_clone_is_tried_where_both_ends_can (void)
{
  static const struct
  {
    const char *name;
    const DrayFilesystem *source, *dest;
    uint64_t size;
    bool same_device, try_clone;
  } vectors[] = {
    { "both", &cloning, &cloning, 4 * KIB, true, true },
    { "subvolumes of one file system have other numbers", &cloning, &cloning, MIB, false, true },
    { "source only", &cloning, &plain, 4 * KIB, false, false },
    { "destination only", &plain, &cloning, 4 * KIB, false, false },
    { "neither", &plain, &plain, 4 * KIB, true, false },
    { "nothing to share", &cloning, &cloning, 0, true, false },
  };

  g_test_summary ("Cloning is tried by file system, not by device");
  for (size_t i = 0; i < G_N_ELEMENTS (vectors); i++)
    {
      const DrayFacts facts = {
        .size = vectors[i].size,
        .allocated = vectors[i].size,
        .same_device = vectors[i].same_device,
        .source_filesystem = vectors[i].source,
        .dest_filesystem = vectors[i].dest,
      };

      g_test_message ("%s", vectors[i].name);
      g_assert_cmpint (dray_plan_transfer (&facts, 1).try_clone, ==, vectors[i].try_clone);
    }
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/engine/plan/method-follows-from-facts", test_method_follows_from_facts);
  g_test_add_func ("/engine/plan/clone-is-tried-where-both-ends-can",
                   test_clone_is_tried_where_both_ends_can);
  return g_test_run ();
}
