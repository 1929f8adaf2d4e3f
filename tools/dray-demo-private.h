/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `dray demo`: files copied with and without gio-dray, side by side. */
#pragma once

/**
 * dray_demo_run:
 * @argc: of the subcommand, the first being its name
 * @argv: likewise
 *
 * Returns: exit status: 0; 1 when something failed or a copy was wrong; 2 for wrong options; 130
 * when interrupted.
 */
int dray_demo_run (int argc, char *argv[]);
