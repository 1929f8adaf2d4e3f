/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How one file is copied, decided from facts alone. */
#pragma once

#include "engine/dray-facts-private.h"

typedef struct
{
  bool try_clone;     /* share extents first */
  bool seek_holes;    /* ask where the data is */
  uint64_t lanes_least; /* bytes of a range that two threads share, should the source turn out to be
                         * in memory; 0: none */
  DrayMethod method;  /* what moves bytes when cloning does not */
} DrayPlan;

/**
 * dray_plan_transfer:
 * @facts: of both ends
 * @n_spare: cores that a second thread for this file could run on
 *
 * Chooses the methods for one file. Pure: no system call.
 *
 * Units: bytes.        Threads: any.
 * Source: thresholds measured, see tests/performance/README.md.
 *
 * Returns: the plan.
 */
DrayPlan dray_plan_transfer (const DrayFacts *facts, unsigned n_spare);
