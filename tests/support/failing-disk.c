/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A disk that cannot be read in one place: a FUSE file system with one file, `disk`, for a loop
 * device to sit on.
 *
 * failing-disk IMAGE MOUNT-POINT: serves IMAGE. While the file IMAGE.bad exists, its two decimal
 * numbers are the first and the last byte that any read which touches them fails with EIO. */
#define FUSE_USE_VERSION 31
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse.h>
#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int image_fd;
static char *bad_path;

static int
disk_getattr (const char *path, struct stat *info, struct fuse_file_info *file)
{
  (void) file;
  *info = (struct stat) { 0 };
  if (strcmp (path, "/") == 0)
    {
      info->st_mode = S_IFDIR | 0755;
      info->st_nlink = 2;
      return 0;
    }
  if (strcmp (path, "/disk") != 0)
    return -ENOENT;
  if (fstat (image_fd, info) != 0)
    return -errno;
  info->st_mode = S_IFREG | 0600;
  return 0;
}

static int
disk_open (const char *path, struct fuse_file_info *file)
{
  file->direct_io = 1;
  return strcmp (path, "/disk") == 0 ? 0 : -ENOENT;
}

static bool
is_bad (off_t offset, size_t size)
{
  g_autofree char *text = NULL;
  long long first, last;

  return g_file_get_contents (bad_path, &text, NULL, NULL) &&
         sscanf (text, "%lld %lld", &first, &last) == 2 && offset <= last &&
         offset + (off_t) size > first;
}

static int
disk_read (const char *path, char *buffer, size_t size, off_t offset, struct fuse_file_info *file)
{
  (void) path;
  (void) file;
  if (is_bad (offset, size))
    return -EIO;
  ssize_t got = pread (image_fd, buffer, size, offset);
  return got < 0 ? -errno : (int) got;
}

static int
disk_write (const char *path, const char *buffer, size_t size, off_t offset,
            struct fuse_file_info *file)
{
  (void) path;
  (void) file;
  ssize_t put = pwrite (image_fd, buffer, size, offset);
  return put < 0 ? -errno : (int) put;
}

static int
disk_fsync (const char *path, int data_only, struct fuse_file_info *file)
{
  (void) path;
  (void) data_only;
  (void) file;
  return 0;
}

static const struct fuse_operations operations = {
  .getattr = disk_getattr,
  .open = disk_open,
  .read = disk_read,
  .write = disk_write,
  .fsync = disk_fsync,
};

int
main (int argc, char *argv[])
{
  if (argc != 3)
    {
      fprintf (stderr, "usage: %s IMAGE MOUNT-POINT\n", argv[0]);
      return 2;
    }

  char *arguments[] = { argv[0], (char *) "-f", argv[2], NULL };
  image_fd = open (argv[1], O_RDWR | O_CLOEXEC);
  bad_path = g_strconcat (argv[1], ".bad", NULL);
  if (image_fd < 0)
    {
      perror (argv[1]);
      return 1;
    }
  return fuse_main (3, arguments, &operations, NULL);
}
