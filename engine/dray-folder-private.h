/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The folder that a destination is created in, and the file system that it is on. */
#pragma once

#include "engine/dray-engine.h"
#include "engine/dray-filesystem-private.h"

/* Where a new name will be made. */
typedef struct
{
  int fd;           /* (owned) the folder, O_PATH; or -1 when it was recognised and not opened */
  int dir;          /* (not owned) what @path is relative to: @fd when there is one */
  const char *path; /* (not owned) of the new name, for openat() and its like with @dir */
  const DrayFilesystem *filesystem; /* never NULL after a look that returned no reason */
  uint64_t mount_id; /* that a file made in a recognised folder must be on */
} DrayFolder;

/**
 * dray_folder_look:
 * @dir: a descriptor of a folder, or `AT_FDCWD`
 * @dest: path of the name to be made
 * @may_recognise: do without opening the folder if this thread's last new name was made in the same
 *   one; the file that is then created has to be checked with dray_folder_check()
 * @out_folder: (out caller-allocates): always set; free with dray_folder_clear()
 * @out_error: (out): -errno behind the reason, or 0
 *
 * Looks up the folder and its file system. A file manager makes thousands of names in one folder;
 * opening it, asking and closing it each time would be a seventh of a small copy.
 *
 * Threads: any.
 *
 * Returns: %DRAY_DECLINE_NONE, or why nothing can be made there.
 */
DrayDecline dray_folder_look (int dir, const char *dest, bool may_recognise, DrayFolder *out_folder,
                              int *out_error);

/**
 * dray_folder_check:
 * @folder: (inout): looked at; its file system is set right
 * @fd: of a file just made in it
 * @made: of the same, asked for %DRAY_FILESYSTEM_STATX
 *
 * Makes sure of a folder that was recognised: something may have been mounted over it since.
 *
 * Returns: whether the file is on a file system that is taken. Always so when the folder was opened.
 */
bool dray_folder_check (DrayFolder *folder, int fd, const struct statx *made);

/** dray_folder_clear: closes what @folder owns. */
void dray_folder_clear (DrayFolder *folder);
