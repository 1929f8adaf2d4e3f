/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From facts to a method: the thresholds and where they come from. */
#include "config.h"
#include "engine/dray-plan-private.h"

#include "engine/dray-lanes-private.h"

/* From here on looking for holes is free beside the copy, even where none is to be expected: blocks
 * allocated beyond the end of a file can hide holes from the allocated size. */
#define SEEK_LEAST ((uint64_t) 1 << 20)

/* Below this one read and one write are as quick as sendfile() and its seek. */
#define SEND_LEAST ((uint64_t) 64 << 10)

DrayPlan
dray_plan_transfer (const DrayFacts *facts, unsigned n_spare)
{
  DrayPlan plan = { .method = DRAY_METHOD_READ_WRITE };

  /* Nothing is known of what a file without a size holds, if anything. */
  if (facts->size == 0)
    return plan;

  /* Stock tries for every file, also between subvolumes of other device numbers. */
  plan.try_clone = facts->source_filesystem->clones && facts->dest_filesystem->clones;
  plan.seek_holes = facts->allocated < facts->size || facts->size >= SEEK_LEAST;

  plan.lanes_least = n_spare > 0 ? DRAY_LANES_LEAST : 0;

  if (facts->same_device)
    /* One system call where read() and write() are two; across devices the kernel refuses. */
    plan.method = DRAY_METHOD_COPY_RANGE;
  else if (facts->size >= SEND_LEAST)
    plan.method = DRAY_METHOD_SEND;

  return plan;
}
