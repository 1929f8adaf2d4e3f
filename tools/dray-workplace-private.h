/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A temporary folder that is gone at the end, however the end comes. */
#pragma once

#include <glib.h>
#include <sys/types.h>

/**
 * dray_workplace_open:
 * @base: (nullable): folder to make it in; by default `$XDG_CACHE_HOME`, else /var/tmp
 *
 * Makes the folder, and from now on takes note of SIGINT, SIGTERM and SIGHUP instead of ending:
 * whoever does long work asks dray_workplace_is_interrupted() now and then.
 *
 * Threads: the main one, once.
 *
 * Returns: (transfer full) (nullable): its path; %NULL with @error set.
 */
char *dray_workplace_open (const char *base, GError **error);

/**
 * dray_workplace_close:
 * @path: (nullable): removed with all that is in it
 */
void dray_workplace_close (const char *path);

/**
 * dray_workplace_make_folder:
 * @path: the workplace
 * @name: of the new folder
 *
 * Returns: (transfer full) (nullable): path of the new folder; %NULL with @error set.
 */
char *dray_workplace_make_folder (const char *path, const char *name, GError **error);

/**
 * dray_workplace_remove:
 * @path: a file or a folder with all that is in it
 */
void dray_workplace_remove (const char *path);

/** dray_workplace_is_interrupted: returns whether somebody wants us to end. */
gboolean dray_workplace_is_interrupted (void);

/**
 * dray_workplace_watch_child:
 * @child: a process that is ended too when we are interrupted; 0 for none
 */
void dray_workplace_watch_child (pid_t child);
