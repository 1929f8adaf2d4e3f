/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Builds files and folders for tests, and removes them whatever became of them. */
#include "config.h"
#include "tests/support/tree-build.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define FILL_BYTES ((size_t) 1 << 20)

/* With the path and errno in the message: a fixture that cannot be built is no test result. */
#define demand(what, path)                                                                         \
  G_STMT_START                                                                                     \
  {                                                                                                \
    if (!(what))                                                                                   \
      g_error ("%s: %s: %s", path, #what, g_strerror (errno));                                     \
  }                                                                                                \
  G_STMT_END

static void
remove_at (int dir, const char *name)
{
  struct stat stat;

  if (fstatat (dir, name, &stat, AT_SYMLINK_NOFOLLOW) != 0)
    return;

  if (S_ISDIR (stat.st_mode))
    {
      /* Not by (dir, name) with a flag: older kernels lack it, and it is no symlink. */
      (void) fchmodat (dir, name, 0700, 0);
      int fd = openat (dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
      demand (fd >= 0, name);
      int flags = 0;
      if (ioctl (fd, FS_IOC_GETFLAGS, &flags) == 0 && (flags & FS_IMMUTABLE_FL) != 0)
        {
          flags &= ~FS_IMMUTABLE_FL;
          (void) ioctl (fd, FS_IOC_SETFLAGS, &flags);
        }

      DIR *entries = fdopendir (fd);
      demand (entries != NULL, name);
      for (struct dirent *entry; (entry = readdir (entries)) != NULL;)
        if (strcmp (entry->d_name, ".") != 0 && strcmp (entry->d_name, "..") != 0)
          remove_at (fd, entry->d_name);
      (void) closedir (entries);
    }

  demand (unlinkat (dir, name, S_ISDIR (stat.st_mode) ? AT_REMOVEDIR : 0) == 0, name);
}

void
tree_remove (const char *path)
{
  remove_at (AT_FDCWD, path);
}

void
tree_make_folder (const char *path, mode_t mode)
{
  demand (g_mkdir (path, 0700) == 0, path);
  demand (chmod (path, mode) == 0, path);
}

static uint64_t
mix (uint64_t word)
{
  word ^= word >> 33;
  word *= UINT64_C (0xFF51AFD7ED558CCD);
  word ^= word >> 33;
  return word | 1;
}

static void
fill (int fd, const char *path, uint64_t offset, uint64_t length)
{
  g_autofree uint64_t *words = g_malloc ((size_t) MIN (length + 8, (uint64_t) FILL_BYTES));

  while (length > 0)
    {
      const size_t size = (size_t) MIN (length, (uint64_t) FILL_BYTES);

      for (size_t i = 0; i < (size + 7) / 8; i++)
        words[i] = mix (offset / 8 + i + 1);
      demand (pwrite (fd, words, size, (off_t) offset) == (ssize_t) size, path);
      offset += size;
      length -= size;
    }
}

void
tree_fill (const char *path, uint64_t offset, uint64_t length)
{
  int fd = open (path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

  demand (fd >= 0, path);
  fill (fd, path, offset, length);
  demand (close (fd) == 0, path);
}

void
tree_write (const char *path, uint64_t size, mode_t mode)
{
  tree_fill (path, 0, size);
  demand (chmod (path, mode) == 0, path);
  demand (tree_set_times (path, TREE_ATIME, TREE_MTIME) == 0, path);
}

int
tree_set_times (const char *path, struct timespec atime, struct timespec mtime)
{
  const struct timespec times[2] = { atime, mtime };

  return utimensat (AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW) == 0 ? 0 : -errno;
}

int
tree_set_xattr (const char *path, const char *name, const void *value, size_t size)
{
  return lsetxattr (path, name, value, size, 0) == 0 ? 0 : -errno;
}

int
tree_set_acl (const char *path, bool is_default, uid_t uid, unsigned perm)
{
  /* linux/posix_acl_xattr.h, little endian: version 2, then tag, permissions, id. */
  enum { USER_OBJ = 1, USER = 2, GROUP_OBJ = 4, MASK = 16, OTHER = 32 };
  const struct
  {
    guint16 tag, perm;
    guint32 id;
  } entries[] = {
    { USER_OBJ, 6, G_MAXUINT32 }, { USER, (guint16) perm, uid },    { GROUP_OBJ, 4, G_MAXUINT32 },
    { MASK, 7, G_MAXUINT32 },     { OTHER, 0, G_MAXUINT32 },
  };
  g_autoptr (GByteArray) value = g_byte_array_new ();
  const guint32 version = GUINT32_TO_LE (2);

  g_byte_array_append (value, (const guint8 *) &version, sizeof version);
  for (size_t i = 0; i < G_N_ELEMENTS (entries); i++)
    {
      const guint16 words[2] = { GUINT16_TO_LE (entries[i].tag), GUINT16_TO_LE (entries[i].perm) };
      const guint32 id = GUINT32_TO_LE (entries[i].id);

      g_byte_array_append (value, (const guint8 *) words, sizeof words);
      g_byte_array_append (value, (const guint8 *) &id, sizeof id);
    }

  return tree_set_xattr (path, is_default ? "system.posix_acl_default" : "system.posix_acl_access",
                         value->data, value->len);
}

int
tree_set_immutable (const char *path, bool immutable)
{
  int fd = open (path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  int flags = 0, result = 0;

  if (fd < 0)
    return -errno;
  if (ioctl (fd, FS_IOC_GETFLAGS, &flags) != 0)
    result = -errno;
  flags = immutable ? flags | FS_IMMUTABLE_FL : flags & ~FS_IMMUTABLE_FL;
  if (result == 0 && ioctl (fd, FS_IOC_SETFLAGS, &flags) != 0)
    result = -errno;
  (void) close (fd);

  return result;
}
