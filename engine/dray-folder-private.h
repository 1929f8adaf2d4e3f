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
 * Returns: whether the file is on a file system that is taken. Always so when the folder was
 * opened.
 */
bool dray_folder_check (DrayFolder *folder, int fd, const struct statx *made);

/* Which end of a copy a folder is at. */
typedef enum
{
  DRAY_FOLDER_SOURCE,
  DRAY_FOLDER_DEST,
  DRAY_FOLDER_N_ENDS
} DrayFolderEnd;

/**
 * dray_folder_refuse:
 * @end: of the copy
 * @path: of a file that was declined for the file system that it is on
 *
 * Remembers the file's folder for this thread: the next ones are declined without a look, so that
 * whoever copies a thousand files to a file system that we do not take does not pay for us a
 * thousand times. Relative paths are not remembered.
 */
void dray_folder_refuse (DrayFolderEnd end, const char *path);

/**
 * dray_folder_is_refused:
 * @end: of the copy
 * @path: of a file
 *
 * No system call. Every hundredth answer is no, so that a folder that something else has been
 * mounted over is found in the end; until then a copy is declined that could have been taken.
 *
 * Returns: whether the file is in the folder that this thread has refused last.
 */
bool dray_folder_is_refused (DrayFolderEnd end, const char *path);

/** dray_folder_clear: closes what @folder owns. */
void dray_folder_clear (DrayFolder *folder);
