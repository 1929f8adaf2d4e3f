/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Compares two folders by what a copy has to keep. Goes to the kernel, not through GIO: what is
 * under test must not be its own witness. */
#include "config.h"
#include "tools/dray-compare-private.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gi18n.h>
#include <glib/gstdio.h>
#include <linux/limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define BLOCK ((size_t) 256 << 10)

static gboolean
read_full (int fd, char *block, gsize *out_length)
{
  *out_length = 0;
  while (*out_length < BLOCK)
    {
      const ssize_t got = read (fd, block + *out_length, BLOCK - *out_length);

      if (got < 0 && errno == EINTR)
        continue;
      if (got < 0)
        return FALSE;
      if (got == 0)
        break;
      *out_length += (gsize) got;
    }
  return TRUE;
}

static gboolean
bytes_are_equal (const char *one, const char *other)
{
  g_autofree char *block = g_malloc (BLOCK);
  g_autofree char *other_block = g_malloc (BLOCK);
  const int fd = g_open (one, O_RDONLY | O_CLOEXEC, 0);
  const int other_fd = g_open (other, O_RDONLY | O_CLOEXEC, 0);
  gboolean equal = fd >= 0 && other_fd >= 0;
  gsize length = BLOCK, other_length;

  while (equal && length == BLOCK)
    equal = read_full (fd, block, &length) && read_full (other_fd, other_block, &other_length) &&
            length == other_length && memcmp (block, other_block, length) == 0;
  if (fd >= 0)
    (void) close (fd);
  if (other_fd >= 0)
    (void) close (other_fd);
  return equal;
}

static int
compare_names (gconstpointer one, gconstpointer other)
{
  return strcmp (*(const char *const *) one, *(const char *const *) other);
}

/* All `user.` xattrs, in order and in one piece. */
static GBytes *
read_xattrs (const char *path)
{
  g_autoptr (GByteArray) all = g_byte_array_new ();
  g_autoptr (GPtrArray) sorted = g_ptr_array_new ();
  g_autofree char *names = g_malloc0 (XATTR_LIST_MAX + 1);
  g_autofree char *value = g_malloc (XATTR_SIZE_MAX);
  const ssize_t size = llistxattr (path, names, XATTR_LIST_MAX);

  for (char *name = names; size > 0 && name < names + size; name += strlen (name) + 1)
    if (g_str_has_prefix (name, "user."))
      g_ptr_array_add (sorted, name);
  g_ptr_array_sort (sorted, compare_names);
  for (guint i = 0; i < sorted->len; i++)
    {
      const char *name = g_ptr_array_index (sorted, i);
      const ssize_t length = lgetxattr (path, name, value, XATTR_SIZE_MAX);

      g_byte_array_append (all, (const guint8 *) name, (guint) strlen (name) + 1);
      if (length > 0)
        g_byte_array_append (all, (const guint8 *) value, (guint) length);
    }
  return g_byte_array_free_to_bytes (g_steal_pointer (&all));
}

static gboolean
xattrs_are_equal (const char *one, const char *other)
{
  g_autoptr (GBytes) xattrs = read_xattrs (one);
  g_autoptr (GBytes) other_xattrs = read_xattrs (other);

  return g_bytes_equal (xattrs, other_xattrs);
}

/* Returns NULL, or what differs. */
static const char *
find_difference (const char *one, const char *other)
{
  struct stat stat, other_stat;

  if (lstat (one, &stat) != 0 || lstat (other, &other_stat) != 0)
    return _ ("is missing");
  if ((stat.st_mode & S_IFMT) != (other_stat.st_mode & S_IFMT))
    return _ ("has another type");
  if (S_ISLNK (stat.st_mode))
    {
      g_autofree char *target = g_file_read_link (one, NULL);
      g_autofree char *other_target = g_file_read_link (other, NULL);

      return g_strcmp0 (target, other_target) == 0 ? NULL : _ ("leads elsewhere");
    }
  if (stat.st_size != other_stat.st_size || !bytes_are_equal (one, other))
    return _ ("has other contents");
  if (stat.st_mode != other_stat.st_mode)
    return _ ("has other permissions");
  if (stat.st_mtim.tv_sec != other_stat.st_mtim.tv_sec ||
      stat.st_mtim.tv_nsec != other_stat.st_mtim.tv_nsec)
    return _ ("has another modification time");
  if (!xattrs_are_equal (one, other))
    return _ ("has other extended attributes");
  return NULL;
}

guint
dray_compare_folders (const char *source, const char *copy, char **out_difference)
{
  g_autoptr (GDir) folder = g_dir_open (source, 0, NULL);
  const char *name;
  guint n = 0;

  while (folder != NULL && (name = g_dir_read_name (folder)) != NULL)
    {
      g_autofree char *one = g_build_filename (source, name, NULL);
      g_autofree char *other = g_build_filename (copy, name, NULL);
      struct stat stat;

      if (lstat (one, &stat) != 0)
        continue;
      if (S_ISDIR (stat.st_mode))
        {
          n += dray_compare_folders (one, other, out_difference);
          continue;
        }
      /* The rest is not copied. */
      const char *difference
        = S_ISREG (stat.st_mode) || S_ISLNK (stat.st_mode) ? find_difference (one, other) : NULL;
      if (difference == NULL)
        continue;
      if (n == 0 && *out_difference == NULL)
        /* Translators: a file's name, then e.g. “has other contents”. */
        *out_difference = g_strdup_printf (_ ("%s %s"), other, difference);
      n++;
    }

  return n;
}
