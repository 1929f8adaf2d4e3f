/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files to copy, each like one that somebody has: not only equal blocks with equal modes. */
#include "config.h"
#include "tools/dray-demo-files-private.h"

#include "tools/dray-workplace-private.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gi18n.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#define BLOCK ((size_t) 1 << 20)
#define SMALL_BYTES 4096

/* The files in between: one of these for each 20 small ones. */
static const struct
{
  gsize size;
  mode_t mode;
} others[] = {
  { 0, 0644 },          { 100, 0600 },         { 20 << 10, 0644 },
  { 64 << 10, 0755 },   { 300 << 10, 0644 },   { 3000, 0444 },
};

static gboolean
fail (const char *path, int error_number, GError **error)
{
  g_set_error (error, G_FILE_ERROR, (gint) g_file_error_from_errno (error_number),
               /* Translators: the first %s is a file's path, the second the reason. */
               _ ("Cannot write “%s”: %s"), path, g_strerror (error_number));
  return FALSE;
}

static void
fill (GRand *random, guint32 *block, gsize size)
{
  for (gsize i = 0; i < size / sizeof *block; i++)
    block[i] = g_rand_int (random);
}

static int
write_full (int fd, const void *block, gsize size)
{
  const char *bytes = block;

  while (size > 0)
    {
      const ssize_t written = write (fd, bytes, size);

      if (written < 0 && errno == EINTR && !dray_workplace_is_interrupted ())
        continue;
      if (written <= 0)
        return written < 0 ? errno : EIO;
      bytes += written;
      size -= (gsize) written;
    }
  return 0;
}

/* A file with a time of its own; with an xattr if it has another mode than most. */
static gboolean
write_file (
    const char *path, const void *block, gsize size, mode_t mode, guint number, GError **error)
{
  const struct timespec times[2] = {
    { .tv_nsec = UTIME_OMIT },
    { .tv_sec = 1000000000 + (time_t) number * 3600, .tv_nsec = 123456789 },
  };
  const int fd = g_open (path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  int error_number = fd < 0 ? errno : write_full (fd, block, size);

  if (fd >= 0)
    {
      if (mode == 0755)
        /* Not every file system has these. */
        (void) fsetxattr (fd, "user.gio-dray", "demo", 4, 0);
      if (error_number == 0 && (fchmod (fd, mode) != 0 || futimens (fd, times) != 0))
        error_number = errno;
      if (close (fd) != 0 && error_number == 0)
        error_number = errno;
    }
  return error_number == 0 || fail (path, error_number, error);
}

gboolean
dray_demo_files_make_small (const char *folder, guint n_files, GError **error)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (1);
  g_autofree guint32 *block = g_malloc (BLOCK);

  fill (random, block, BLOCK);
  for (guint i = 0; i < n_files && !dray_workplace_is_interrupted (); i++)
    {
      g_autofree char *name = g_strdup_printf ("file-%06u", i);
      g_autofree char *path = g_build_filename (folder, name, NULL);

      block[0] = i;
      if (!write_file (path, block, SMALL_BYTES, 0644, i, error))
        return FALSE;
      if (i % 20 == 19)
        {
          const gsize j = (i / 20) % G_N_ELEMENTS (others);
          g_autofree char *other = g_strconcat (path, "-other", NULL);

          if (!write_file (other, block, others[j].size, others[j].mode, i, error))
            return FALSE;
        }
    }
  return TRUE;
}

gboolean
dray_demo_files_make_big (const char *folder, uint64_t size, GError **error)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (2);
  g_autofree guint32 *block = g_malloc (BLOCK);
  g_autofree char *path = g_build_filename (folder, "big-file", NULL);
  const int fd = g_open (path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  int error_number = fd < 0 ? errno : 0;

  /* Made anew only in part: random numbers are slower than most disks. */
  fill (random, block, BLOCK);
  for (uint64_t done = 0; error_number == 0 && done < size && !dray_workplace_is_interrupted ();)
    {
      const gsize length = (gsize) MIN ((uint64_t) BLOCK, size - done);

      for (gsize i = 0; i < BLOCK / sizeof *block; i += 1024)
        block[i] = g_rand_int (random);
      error_number = write_full (fd, block, length);
      done += length;
    }
  if (fd >= 0 && close (fd) != 0 && error_number == 0)
    error_number = errno;
  return error_number == 0 || fail (path, error_number, error);
}

uint64_t
dray_demo_files_measure_free (const char *folder)
{
  struct statvfs facts;

  return statvfs (folder, &facts) == 0 ? (uint64_t) facts.f_bavail * facts.f_frsize : 0;
}

uint64_t
dray_demo_files_measure_used (const char *folder)
{
  g_autoptr (GDir) children = g_dir_open (folder, 0, NULL);
  uint64_t used = 0;
  const char *name;

  while (children != NULL && (name = g_dir_read_name (children)) != NULL)
    {
      g_autofree char *path = g_build_filename (folder, name, NULL);
      struct stat stat;

      if (lstat (path, &stat) != 0)
        continue;
      if (S_ISDIR (stat.st_mode))
        used += dray_demo_files_measure_used (path);
      else if (S_ISREG (stat.st_mode))
        used += (uint64_t) stat.st_size;
    }
  return used;
}
