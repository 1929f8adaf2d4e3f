/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which file systems we copy from and to: one table, and what is mounted where. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* One row of the table. */
typedef struct
{
  uint32_t magic;   /* f_type of statfs(2) */
  const char *name; /* as in /proc/filesystems */
  bool take;        /* plainly safe: local, POSIX names, modes, nanoseconds, O_EXCL */
  bool clones;      /* FICLONE can share extents here */
  bool closes;      /* close(2) never fails: the file system has no flush operation */
  bool stacked;     /* the verdict is the layers' (overlayfs) */
} DrayFilesystem;

/**
 * dray_filesystem_from_magic:
 * @magic: `f_type` of statfs(2)
 *
 * Pure: no system call.
 *
 * Threads: any.
 * Source: magic numbers from linux/magic.h and the file systems' own sources; the reasons for
 * each refusal stand in the table.
 *
 * Returns: a row, never %NULL; for a number off the table the row "unknown", not taken.
 */
const DrayFilesystem *dray_filesystem_from_magic (uint32_t magic);

/* Bits of the statx(2) mask that the functions below live on. */
#define DRAY_FILESYSTEM_STATX (STATX_MNT_ID | STATX_MNT_ID_UNIQUE)

/**
 * dray_filesystem_find:
 * @fd: a descriptor on the file system, `O_PATH` will do
 * @stat: of that descriptor, asked for %DRAY_FILESYSTEM_STATX
 *
 * Says what file system a file is on. Where the kernel gives mounts a number that is never used
 * again (Linux 6.8), the answer is remembered for that mount. Elsewhere device numbers and mount
 * ids are reused after an unmount, and a stick that was ext4 may come back as FUSE under the same:
 * there only a refusal is remembered, which at worst declines a copy, and for the rest the kernel
 * is asked each time.
 *
 * Threads: any; never waits for a lock, nor for another thread that hangs on a dead mount.
 *
 * Returns: a row, never %NULL; "unknown" when the kernel would not say.
 */
const DrayFilesystem *dray_filesystem_find (int fd, const struct statx *stat);

/**
 * dray_filesystem_find_at:
 * @dir: a descriptor of a folder, or `AT_FDCWD`
 * @path: a file of any kind; it is not opened for reading
 * @at_flags: `AT_SYMLINK_NOFOLLOW` or 0, as @stat was made
 * @stat: of that file, asked for %DRAY_FILESYSTEM_STATX
 *
 * As dray_filesystem_find(), without a descriptor.
 *
 * Returns: a row, never %NULL; "unknown" also when the path leads elsewhere by now.
 */
const DrayFilesystem *dray_filesystem_find_at (int dir, const char *path, int at_flags,
                                               const struct statx *stat);
