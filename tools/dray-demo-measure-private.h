/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One folder copied with stock GIO and with gio-dray in turn, timed and compared. */
#pragma once

#include <glib.h>

/* What to copy. */
typedef struct
{
  const char *workplace; /* (not owned) temporary folder for the copies */
  const char *source;    /* (not owned) folder */
  const char *name;      /* (not owned) for the table, translated */
  const char *tag;       /* (not owned) for the names of the copies */
  guint n_rounds;
  gboolean remove_copies; /* after each pass; else they stay, see CONTRIBUTING.md */
} DrayDemoWorkload;

/* What all comparisons have found. */
typedef struct
{
  guint n_files;
  guint n_ours_differ;
  guint n_stock_differ;
  char *ours;  /* (owned) (nullable) the first difference of ours */
  char *stock; /* (owned) (nullable) the first difference of stock's */
} DrayDemoVerdict;

/**
 * dray_demo_measure_make_table:
 *
 * Returns: (transfer full) (element-type GStrv): a table with its heading.
 */
GPtrArray *dray_demo_measure_make_table (void);

/**
 * dray_demo_measure_run:
 * @workload: what to copy
 * @rows: (inout): one row, or as root two, are added
 * @verdict: (inout): added to
 *
 * First an untimed pass of each kind, which warms up, is compared with the source and shows what
 * was taken; then the timed ones in turn.
 *
 * Returns: FALSE with @error set, also when nothing at all was taken.
 */
gboolean dray_demo_measure_run (const DrayDemoWorkload *workload, GPtrArray *rows,
                                DrayDemoVerdict *verdict, GError **error);

/** dray_demo_measure_print_verdict: says whether the copies are equal. */
void dray_demo_measure_print_verdict (const DrayDemoVerdict *verdict);

/** dray_demo_measure_judge: returns FALSE with @error set when a copy of ours is wrong. */
gboolean dray_demo_measure_judge (const DrayDemoVerdict *verdict, GError **error);

/** dray_demo_measure_clear_verdict: frees what @verdict owns. */
void dray_demo_measure_clear_verdict (DrayDemoVerdict *verdict);
