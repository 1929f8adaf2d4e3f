/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where the parts of gio-dray are: beside us in the build folder, or installed. */
#pragma once

/**
 * dray_home_find_program:
 *
 * Returns: (transfer full): path of the program that is running.
 */
char *dray_home_find_program (void);

/**
 * dray_home_find_module:
 *
 * Returns: (transfer full) (nullable): path of libgiodray.so; %NULL when there is none.
 */
char *dray_home_find_module (void);

/**
 * dray_home_find_locale_dir:
 *
 * Returns: (transfer full): folder for bindtextdomain(3); need not exist.
 */
char *dray_home_find_locale_dir (void);
