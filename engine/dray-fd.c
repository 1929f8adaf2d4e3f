/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The system calls of the copy path and nothing else: EINTR and errno end here. */
#include "config.h"
#include "engine/dray-fd-private.h"

#include <errno.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

/* Above this one call would neither be cancelled in time nor be safe from libc's int
 * truncation; see dray_fd_copy_range(). */
#define IN_KERNEL_MOST ((size_t) 1 << 30)

/* Calls until something else than EINTR comes back, and turns errno into a result. */
#define RESULT_OF(type, call)                                                                      \
  ({                                                                                               \
    type result_;                                                                                  \
    do                                                                                             \
      result_ = (type) (call);                                                                     \
    while (result_ == -1 && errno == EINTR);                                                       \
    result_ == -1 ? (type) -errno : result_;                                                       \
  })

int
dray_fd_open (int dir, const char *path, int flags, mode_t mode)
{
  return RESULT_OF (int, openat (dir, path, flags | O_CLOEXEC, mode));
}

int
dray_fd_close (int fd)
{
  if (close (fd) == 0 || errno == EINTR)
    return 0;
  return -errno;
}

int
dray_fd_close_both (int one, int other, bool silent)
{
#ifdef SYS_close_range
  /* Neighbours, so that there is no descriptor of anybody else's in the range. */
  if (silent && other == one + 1 && syscall (SYS_close_range, one, other, 0U) == 0)
    return 0;
#endif
  int first = dray_fd_close (one);
  int second = dray_fd_close (other);

  return first != 0 ? first : second;
}

int
dray_fd_stat (int dir, const char *path, int at_flags, unsigned mask, struct statx *out_stat)
{
  return RESULT_OF (int, statx (dir, path, at_flags, mask, out_stat));
}

int
dray_fd_filesystem_magic (int fd, uint32_t *out_magic)
{
  struct statfs facts;
  int result = RESULT_OF (int, fstatfs (fd, &facts));

  if (result == 0)
    *out_magic = (uint32_t) facts.f_type;
  return result;
}

int
dray_fd_filesystem_magic_at (const char *path, uint32_t *out_magic)
{
  struct statfs facts;
  int result = RESULT_OF (int, statfs (path, &facts));

  if (result == 0)
    *out_magic = (uint32_t) facts.f_type;
  return result;
}

ssize_t
dray_fd_read (int fd, void *buffer, size_t length, uint64_t offset)
{
  return RESULT_OF (ssize_t, pread (fd, buffer, length, (off_t) offset));
}

ssize_t
dray_fd_write (int fd, const void *buffer, size_t length, uint64_t offset)
{
  return RESULT_OF (ssize_t, pwrite (fd, buffer, length, (off_t) offset));
}

ssize_t
dray_fd_copy_range (int source, uint64_t source_offset, int dest, uint64_t dest_offset,
                    size_t length)
{
  loff_t from = (loff_t) source_offset;
  loff_t to = (loff_t) dest_offset;

  return RESULT_OF (ssize_t, syscall (SYS_copy_file_range, source, &from, dest, &to,
                                      MIN (length, IN_KERNEL_MOST), 0U));
}

ssize_t
dray_fd_send (int source, uint64_t source_offset, int dest, size_t length)
{
  off_t from = (off_t) source_offset;

  return RESULT_OF (ssize_t, sendfile (dest, source, &from, MIN (length, IN_KERNEL_MOST)));
}

int
dray_fd_clone (int source, int dest)
{
  return RESULT_OF (int, ioctl (dest, FICLONE, source));
}

int64_t
dray_fd_seek (int fd, uint64_t offset, int whence)
{
  return RESULT_OF (int64_t, lseek (fd, (off_t) offset, whence));
}

int
dray_fd_truncate (int fd, uint64_t length)
{
  return RESULT_OF (int, ftruncate (fd, (off_t) length));
}

int
dray_fd_flush_range (int fd, uint64_t offset, uint64_t length, bool wait)
{
  const unsigned flags = SYNC_FILE_RANGE_WRITE |
                         (wait ? SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WAIT_AFTER : 0);

  return RESULT_OF (int, sync_file_range (fd, (off_t) offset, (off_t) length, flags));
}

int
dray_fd_set_mode (int fd, mode_t mode)
{
  return RESULT_OF (int, fchmod (fd, mode));
}

int
dray_fd_set_owner (int fd, uid_t uid, gid_t gid)
{
  return RESULT_OF (int, fchown (fd, uid, gid));
}

int
dray_fd_set_times (int fd, const struct timespec times[2])
{
  return RESULT_OF (int, futimens (fd, times));
}

ssize_t
dray_fd_list_xattrs (int fd, char *names, size_t size)
{
  return RESULT_OF (ssize_t, flistxattr (fd, names, size));
}

ssize_t
dray_fd_get_xattr (int fd, const char *name, void *value, size_t size)
{
  return RESULT_OF (ssize_t, fgetxattr (fd, name, value, size));
}

int
dray_fd_set_xattr (int fd, const char *name, const void *value, size_t size)
{
  return RESULT_OF (int, fsetxattr (fd, name, value, size, 0));
}

int
dray_fd_unlink (int dir, const char *name)
{
  return RESULT_OF (int, unlinkat (dir, name, 0));
}
