/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A small file system over FUSE that behaves like a network share: every call goes to a "server",
 * is written to a log, can be slow, and closing what was written or syncing it can fail.
 *
 * netlike-fs FOLDER MOUNT-POINT LOG [delay=MICROSECONDS] [fail=flush|fsync|release|write]
 *
 * Shows FOLDER (absolute) at MOUNT-POINT and goes to the background when it is mounted. Each call
 * that reaches it adds one line to LOG, "NAME PATH". It ends when it is unmounted. */
#define FUSE_USE_VERSION 31

#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <dirent.h>
#include <unistd.h>

static char root[PATH_MAX];
static int log_fd = -1;
static useconds_t delay = 0;
static const char *failing = "";

static void
served (const char *call, const char *path)
{
  char line[PATH_MAX + 32];
  const int length = snprintf (line, sizeof line, "%s %s\n", call, path);

  if (length > 0)
    /* A lost line shows in the test as a call too few. */
    (void) !write (log_fd, line, (size_t) length < sizeof line ? (size_t) length : sizeof line - 1);
  if (delay > 0)
    (void) usleep (delay);
}

/* PATH below the folder, in a buffer of the calling thread. */
static const char *
real (const char *path)
{
  static __thread char buffer[2 * PATH_MAX];

  (void) snprintf (buffer, sizeof buffer, "%s%s", root, path);
  return buffer;
}

static int
errno_or (long result)
{
  return result < 0 ? -errno : (int) result;
}

static int
fs_getattr (const char *path, struct stat *out, struct fuse_file_info *info)
{
  served ("getattr", path);
  return errno_or (info != NULL ? fstat ((int) info->fh, out) : lstat (real (path), out));
}

static int
fs_readlink (const char *path, char *buffer, size_t size)
{
  served ("readlink", path);
  ssize_t length = readlink (real (path), buffer, size - 1);
  if (length < 0)
    return -errno;
  buffer[length] = '\0';
  return 0;
}

static int
fs_mkdir (const char *path, mode_t mode)
{
  served ("mkdir", path);
  return errno_or (mkdir (real (path), mode));
}

static int
fs_unlink (const char *path)
{
  served ("unlink", path);
  return errno_or (unlink (real (path)));
}

static int
fs_rmdir (const char *path)
{
  served ("rmdir", path);
  return errno_or (rmdir (real (path)));
}

static int
fs_symlink (const char *target, const char *path)
{
  served ("symlink", path);
  return errno_or (symlink (target, real (path)));
}

static int
fs_rename (const char *from, const char *to, unsigned flags)
{
  char from_real[2 * PATH_MAX];

  served ("rename", from);
  if (flags != 0)
    return -EINVAL;
  (void) snprintf (from_real, sizeof from_real, "%s%s", root, from);
  return errno_or (rename (from_real, real (to)));
}

static int
fs_chmod (const char *path, mode_t mode, struct fuse_file_info *info)
{
  (void) info;
  served ("chmod", path);
  return errno_or (chmod (real (path), mode));
}

static int
fs_chown (const char *path, uid_t uid, gid_t gid, struct fuse_file_info *info)
{
  (void) info;
  served ("chown", path);
  return errno_or (lchown (real (path), uid, gid));
}

static int
fs_truncate (const char *path, off_t size, struct fuse_file_info *info)
{
  (void) info;
  served ("truncate", path);
  return errno_or (truncate (real (path), size));
}

static int
fs_utimens (const char *path, const struct timespec times[2], struct fuse_file_info *info)
{
  (void) info;
  served ("utimens", path);
  return errno_or (utimensat (AT_FDCWD, real (path), times, AT_SYMLINK_NOFOLLOW));
}

static int
fs_open (const char *path, struct fuse_file_info *info)
{
  served ("open", path);
  int fd = open (real (path), info->flags & ~O_NOFOLLOW);
  if (fd < 0)
    return -errno;
  info->fh = (uint64_t) fd;
  return 0;
}

static int
fs_create (const char *path, mode_t mode, struct fuse_file_info *info)
{
  served ("create", path);
  int fd = open (real (path), info->flags | O_CREAT, mode);
  if (fd < 0)
    return -errno;
  info->fh = (uint64_t) fd;
  return 0;
}

static int
fs_read (const char *path, char *buffer, size_t size, off_t offset, struct fuse_file_info *info)
{
  served ("read", path);
  return errno_or (pread ((int) info->fh, buffer, size, offset));
}

static int
fs_write (const char *path, const char *buffer, size_t size, off_t offset,
          struct fuse_file_info *info)
{
  served ("write", path);
  if (strcmp (failing, "write") == 0)
    return -EIO;
  return errno_or (pwrite ((int) info->fh, buffer, size, offset));
}

static int
fs_statfs (const char *path, struct statvfs *out)
{
  served ("statfs", path);
  return errno_or (statvfs (root, out));
}

static int
fs_flush (const char *path, struct fuse_file_info *info)
{
  served ("flush", path);
  /* The kernel does not repeat the flags of open() here. */
  const int flags = fcntl ((int) info->fh, F_GETFL);
  return strcmp (failing, "flush") == 0 && (flags & O_ACCMODE) != O_RDONLY ? -EIO : 0;
}

static int
fs_release (const char *path, struct fuse_file_info *info)
{
  served ("release", path);
  (void) close ((int) info->fh);
  return strcmp (failing, "release") == 0 ? -EIO : 0;
}

static int
fs_fsync (const char *path, int data_only, struct fuse_file_info *info)
{
  (void) data_only;
  (void) info;
  served ("fsync", path);
  return strcmp (failing, "fsync") == 0 ? -EIO : 0;
}

static int
fs_readdir (const char *path, void *buffer, fuse_fill_dir_t fill, off_t offset,
            struct fuse_file_info *info, enum fuse_readdir_flags flags)
{
  (void) offset;
  (void) info;
  (void) flags;
  served ("readdir", path);
  DIR *folder = opendir (real (path));
  if (folder == NULL)
    return -errno;
  for (struct dirent *entry; (entry = readdir (folder)) != NULL;)
    if (fill (buffer, entry->d_name, NULL, 0, 0) != 0)
      break;
  (void) closedir (folder);
  return 0;
}

static int
fs_listxattr (const char *path, char *buffer, size_t size)
{
  served ("listxattr", path);
  return errno_or (llistxattr (real (path), buffer, size));
}

static int
fs_getxattr (const char *path, const char *name, char *buffer, size_t size)
{
  served ("getxattr", path);
  return errno_or (lgetxattr (real (path), name, buffer, size));
}

static int
fs_setxattr (const char *path, const char *name, const char *value, size_t size, int flags)
{
  served ("setxattr", path);
  return errno_or (lsetxattr (real (path), name, value, size, flags));
}

static const struct fuse_operations operations = {
  .getattr = fs_getattr,
  .readlink = fs_readlink,
  .mkdir = fs_mkdir,
  .unlink = fs_unlink,
  .rmdir = fs_rmdir,
  .symlink = fs_symlink,
  .rename = fs_rename,
  .chmod = fs_chmod,
  .chown = fs_chown,
  .truncate = fs_truncate,
  .utimens = fs_utimens,
  .open = fs_open,
  .create = fs_create,
  .read = fs_read,
  .write = fs_write,
  .statfs = fs_statfs,
  .flush = fs_flush,
  .release = fs_release,
  .fsync = fs_fsync,
  .readdir = fs_readdir,
  .listxattr = fs_listxattr,
  .getxattr = fs_getxattr,
  .setxattr = fs_setxattr,
};

int
main (int argc, char **argv)
{
  if (argc < 4 || realpath (argv[1], root) == NULL)
    {
      fprintf (stderr, "usage: %s FOLDER MOUNT-POINT LOG [delay=US] [fail=CALL]\n", argv[0]);
      return 2;
    }
  log_fd = open (argv[3], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (log_fd < 0)
    {
      perror (argv[3]);
      return 1;
    }
  for (int i = 4; i < argc; i++)
    if (strncmp (argv[i], "delay=", 6) == 0)
      delay = (useconds_t) atoi (argv[i] + 6);
    else if (strncmp (argv[i], "fail=", 5) == 0)
      failing = argv[i] + 5;

  /* One thread, so that the order of the log is the order of the calls; the owner of the files is
   * whoever made them, so the umask is the caller's business. */
  char *fuse_argv[] = { argv[0], argv[2], "-s", "-o", "fsname=netlike,allow_other", NULL };
  umask (0);
  return fuse_main (5, fuse_argv, &operations, NULL);
}
