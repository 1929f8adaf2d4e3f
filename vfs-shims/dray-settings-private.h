/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What users and distributions can set. */
#pragma once

#include <stdbool.h>

typedef struct
{
  bool enabled; /* take copies at all */
  bool trace;   /* one line for each copy on standard error */
} DraySettings;

/**
 * dray_settings_get:
 *
 * The settings of this process, read at the first call: built-in values, then the system's key
 * file (`gio-dray.conf` in each of g_get_system_config_dirs() and in the configured sysconfdir),
 * then the user's (in g_get_user_config_dir()), then the environment variable `GIO_DRAY`.
 *
 * Threads: any.
 *
 * Returns: (transfer none): never %NULL, never changes.
 */
const DraySettings *dray_settings_get (void);

/**
 * dray_settings_apply_words:
 * @settings: (inout): changed where a word says so
 * @words: (nullable): a comma list of `on`, `off`, `trace`; spaces do not matter
 *
 * Later words win. A word that is not known is passed over, so that a list written for a newer
 * version works. Pure: no system call.
 */
void dray_settings_apply_words (DraySettings *settings, const char *words);

/**
 * dray_settings_apply_file:
 * @settings: (inout): changed where the file says so
 * @path: a key file with a group `gio-dray` and the keys `enabled` and `trace`, both booleans
 *
 * A file that is missing, unreadable or malformed, or a value that is no boolean, changes nothing.
 */
void dray_settings_apply_file (DraySettings *settings, const char *path);
