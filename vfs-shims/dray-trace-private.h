/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One line for each copy on standard error, for those who ask for it. */
#pragma once

#include "engine/dray-engine.h"

/**
 * dray_trace_init:
 *
 * Remembers what standard error is. To be called once, before any copy: in a process that closes it
 * later, descriptor 2 goes to the next file opened, perhaps to somebody's destination.
 */
void dray_trace_init (void);

/**
 * dray_trace_print:
 * @report: of the engine, or made by the caller for a decline of its own
 * @source: (nullable): path
 * @dest: (nullable): path
 * @elapsed_us: microseconds of the whole call
 *
 * Writes one line in one piece:
 *
 *     gio-dray: taken SOURCE -> DESTINATION method=METHOD bytes=N us=N
 *     gio-dray: declined SOURCE -> DESTINATION reason=REASON
 *     gio-dray: failed SOURCE -> DESTINATION method=METHOD bytes=N us=N errno=N
 *
 * Bytes of paths that are not printable ASCII are escaped as in C, so that a line stays a line.
 * Never kills the process when nobody reads standard error, and prints nothing when descriptor 2 is
 * not what it was at dray_trace_init().
 *
 * Threads: any; lines of several threads do not mix while they are shorter than `PIPE_BUF`.
 */
void dray_trace_print (const DrayCopyReport *report, const char *source, const char *dest,
                       int64_t elapsed_us);

/**
 * dray_trace_format:
 *
 * The line that dray_trace_print() would write, with its line feed. Pure: no system call.
 *
 * Returns: (transfer full): the line.
 */
char *dray_trace_format (const DrayCopyReport *report, const char *source, const char *dest,
                         int64_t elapsed_us);
