/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tables on a terminal, aligned in every script. */
#pragma once

#include <glib.h>

/**
 * dray_table_print:
 * @rows: (element-type GStrv): the first one is the heading; all of one length
 * @first_right: from this column on, cells are aligned to the right
 *
 * Prints the rows to standard output, each column as wide as its widest cell. Wide characters
 * (Chinese, Japanese, Korean) count as two columns, combining ones as none.
 */
void dray_table_print (GPtrArray *rows, guint first_right);

/**
 * dray_table_measure:
 * @text: UTF-8
 *
 * Pure: no system call.
 *
 * Returns: columns that @text takes on a terminal.
 */
guint dray_table_measure (const char *text);
