/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One copying pass in a process of its own, with stock GIO or with gio-dray. */
#pragma once

#include <glib.h>

/* Who copies. */
typedef enum
{
  DRAY_DEMO_STOCK, /* no module is loaded at all */
  DRAY_DEMO_DRAY,
  DRAY_DEMO_DRAY_TRACED, /* each file leaves a line, which costs time */
} DrayDemoWho;

/* What a pass showed. */
typedef struct
{
  gint64 elapsed_us;      /* of the loop alone, without the start of the process */
  guint n_files;          /* that were copied */
  guint n_taken;          /* by gio-dray; only of a traced pass */
  GHashTable *methods;    /* (owned) (element-type utf8 guint) of a traced pass: taken by method */
  GHashTable *reasons; /* (owned) (element-type utf8 guint) of a traced pass: declined by reason */
} DrayDemoPass;

/**
 * dray_demo_pass_run:
 * @workplace: temporary folder; what our modules are found by is put there
 * @who: copies
 * @source: path of the folder to copy
 * @dest: path of an empty folder
 * @out_pass: (out caller-allocates): always set; free with dray_demo_pass_clear()
 *
 * Threads: the main one.
 *
 * Returns: FALSE with @error set; %G_IO_ERROR_CANCELLED after a signal.
 */
gboolean dray_demo_pass_run (const char *workplace, DrayDemoWho who, const char *source,
                             const char *dest, DrayDemoPass *out_pass, GError **error);

/** dray_demo_pass_clear: frees what @pass owns. */
void dray_demo_pass_clear (DrayDemoPass *pass);

/**
 * dray_demo_pass_read_trace:
 * @pass: (inout): counts are added to it
 * @text: what a traced process wrote to standard error
 *
 * Pure: no system call.
 */
void dray_demo_pass_read_trace (DrayDemoPass *pass, const char *text);
