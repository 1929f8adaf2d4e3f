/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The system calls of the copy path, alone in one place so that tests can make each one fail. */
#pragma once

#include <fcntl.h>
#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

G_BEGIN_DECLS

/* Shared by all functions below.
 *
 * Threads: any; no state.
 * Errors: a negative errno; EINTR is retried, except by close(), where Linux has closed the
 * descriptor all the same (close(2)).
 */

/* Not in the headers of every supported distribution (statx(2): Linux 5.8 and 6.8). */
#ifndef STATX_MNT_ID
#define STATX_MNT_ID 0x00001000U
#endif
#ifndef STATX_MNT_ID_UNIQUE
#define STATX_MNT_ID_UNIQUE 0x00004000U
#endif

/**
 * dray_fd_open:
 * @dir: a descriptor of a folder, or `AT_FDCWD`
 * @path: absolute, or relative to @dir
 * @flags: as of openat(2); `O_CLOEXEC` is added
 * @mode: for `O_CREAT`
 *
 * Returns: a new descriptor (owned by the caller) or -errno.
 */
int dray_fd_open (int dir, const char *path, int flags, mode_t mode);

/**
 * dray_fd_close:
 * @fd: a descriptor (owned; closed whatever the result)
 *
 * Returns: 0 or -errno; -EINTR is never returned, the data is not affected by it on Linux.
 */
int dray_fd_close (int fd);

/**
 * dray_fd_close_both:
 * @one: a descriptor (owned; closed whatever the result)
 * @other: likewise
 * @silent: closing either can fail for no reason: its file system has no flush operation
 *   (filp_flush() in the kernel's fs/open.c)
 *
 * Closes two descriptors, with one close_range(2) where they are neighbours and @silent.
 *
 * Returns: 0 or the first -errno.
 */
int dray_fd_close_both (int one, int other, bool silent);

/**
 * dray_fd_stat:
 * @dir: a descriptor, or `AT_FDCWD`
 * @path: may be empty with `AT_EMPTY_PATH`
 * @at_flags: as of statx(2)
 * @mask: as of statx(2)
 * @out_stat: (out caller-allocates): set only on success
 *
 * Returns: 0 or -errno.
 */
int dray_fd_stat (int dir, const char *path, int at_flags, unsigned mask, struct statx *out_stat);

/**
 * dray_fd_filesystem_magic:
 * @fd: any descriptor, `O_PATH` too
 * @out_magic: (out): `f_type` of fstatfs(2), set only on success
 *
 * Returns: 0 or -errno.
 */
int dray_fd_filesystem_magic (int fd, uint32_t *out_magic);

/**
 * dray_fd_filesystem_magic_at:
 * @path: absolute; a final symbolic link is followed
 * @out_magic: (out): `f_type` of statfs(2), set only on success
 *
 * Returns: 0 or -errno.
 */
int dray_fd_filesystem_magic_at (const char *path, uint32_t *out_magic);

/**
 * dray_fd_read:
 *
 * pread(2) at an explicit offset in bytes. Returns: bytes read, 0 at the end, or -errno.
 */
ssize_t dray_fd_read (int fd, void *buffer, size_t length, uint64_t offset);

/**
 * dray_fd_write:
 *
 * pwrite(2) at an explicit offset in bytes. Returns: bytes written, may be short, or -errno.
 */
ssize_t dray_fd_write (int fd, const void *buffer, size_t length, uint64_t offset);

/**
 * dray_fd_copy_range:
 *
 * copy_file_range(2) between explicit offsets, by the bare system call: glibc 2.41 and 2.42
 * truncate results above INT_MAX (sourceware bug 33245). @length is capped at 1 GiB for the
 * same reason.
 *
 * Returns: bytes copied, may be short or 0, or -errno.
 */
ssize_t dray_fd_copy_range (int source, uint64_t source_offset, int dest, uint64_t dest_offset,
                            size_t length);

/**
 * dray_fd_send:
 *
 * sendfile(2) from an explicit offset to the place that @dest stands at, which moves on with it
 * (dray_fd_seek() with `SEEK_SET`). Unlike copy_file_range(2) it crosses file systems.
 *
 * Returns: bytes moved, may be short, 0 at the end of the source, or -errno.
 */
ssize_t dray_fd_send (int source, uint64_t source_offset, int dest, size_t length);

/**
 * dray_fd_clone:
 *
 * `FICLONE` of the whole of @source into the empty file @dest (ioctl_ficlone(2)).
 *
 * Returns: 0 or -errno.
 */
int dray_fd_clone (int source, int dest);

/**
 * dray_fd_seek:
 * @whence: `SEEK_DATA`, `SEEK_HOLE` or `SEEK_SET`
 *
 * Returns: an offset in bytes, or -errno; -ENXIO: nothing but a hole from @offset on.
 */
int64_t dray_fd_seek (int fd, uint64_t offset, int whence);

/**
 * dray_fd_truncate:
 *
 * Sets the length of @fd in bytes. Returns: 0 or -errno.
 */
int dray_fd_truncate (int fd, uint64_t length);

/**
 * dray_fd_flush_range:
 * @wait: until they are written; else their writing is only begun
 *
 * Writes dirty pages of a range (bytes) out: sync_file_range(2). Returns: 0 or -errno.
 */
int dray_fd_flush_range (int fd, uint64_t offset, uint64_t length, bool wait);

/** dray_fd_set_mode: fchmod(2); @mode without file type. Returns: 0 or -errno. */
int dray_fd_set_mode (int fd, mode_t mode);

/** dray_fd_set_owner: fchown(2). Returns: 0 or -errno. */
int dray_fd_set_owner (int fd, uid_t uid, gid_t gid);

/**
 * dray_fd_set_times:
 * @times: access time, then modification time; nanoseconds or `UTIME_OMIT`
 *
 * Returns: 0 or -errno.
 */
int dray_fd_set_times (int fd, const struct timespec times[2]);

/** dray_fd_list_xattrs: flistxattr(2). Returns: bytes of NUL-separated names, or -errno. */
ssize_t dray_fd_list_xattrs (int fd, char *names, size_t size);

/** dray_fd_get_xattr: fgetxattr(2). Returns: bytes of the value, or -errno. */
ssize_t dray_fd_get_xattr (int fd, const char *name, void *value, size_t size);

/** dray_fd_set_xattr: fsetxattr(2). Returns: 0 or -errno. */
int dray_fd_set_xattr (int fd, const char *name, const void *value, size_t size);

/** dray_fd_unlink: unlinkat(2) of a file. Returns: 0 or -errno. */
int dray_fd_unlink (int dir, const char *name);

static inline void
dray_autofd_clear (int *fd)
{
  if (*fd >= 0)
    /* Only for descriptors whose close() cannot lose data; the destination is closed by hand. */
    (void) dray_fd_close (*fd);
  *fd = -1;
}

/* A descriptor that closes itself at the end of its scope; -1 or a negative errno is none. */
#define dray_autofd __attribute__ ((cleanup (dray_autofd_clear))) int

static inline int
dray_fd_steal (int *fd)
{
  int stolen = *fd;

  *fd = -1;
  return stolen;
}

G_END_DECLS
