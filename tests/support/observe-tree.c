/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* All that can be seen of a folder, as text that can be compared. */
#include "config.h"
#include "tests/support/observe-tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <inttypes.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#define READ_BYTES ((size_t) 1 << 20)
#define READ_LEAST ((size_t) 16 << 10)
#define RECENT_S 900
/* Bits that a user could have set; the others are the file system's own. */
#define USER_FLAGS                                                                                 \
  (FS_SECRM_FL | FS_UNRM_FL | FS_COMPR_FL | FS_SYNC_FL | FS_IMMUTABLE_FL | FS_APPEND_FL |          \
   FS_NODUMP_FL | FS_NOATIME_FL | FS_NOCOMP_FL | FS_NOCOW_FL)

static uint64_t
mix (uint64_t word)
{
  word ^= word >> 31;
  word *= UINT64_C (0x9E3779B97F4A7C15);
  return word ^ (word >> 29);
}

/* Zero bytes add nothing, so holes need not be read. */
static uint64_t
sum_range (int fd, uint64_t *words, size_t words_bytes, uint64_t offset, uint64_t end)
{
  uint64_t sum = 0;

  while (offset < end)
    {
      const size_t wanted = (size_t) MIN ((uint64_t) words_bytes, end - offset);
      const ssize_t got = pread (fd, words, wanted, (off_t) offset);

      if (got <= 0)
        return sum + (got < 0 ? (uint64_t) errno : 0);
      memset ((char *) words + got, 0, (8 - (size_t) got % 8) % 8);
      for (size_t i = 0; i < ((size_t) got + 7) / 8; i++)
        if (words[i] != 0)
          sum += mix (words[i] ^ mix (offset / 8 + i + 1));
      offset += (uint64_t) got;
      /* Words are counted from the start of the file. */
      if (offset % 8 != 0)
        break;
    }

  return sum;
}

static uint64_t
sum_file (int fd, uint64_t size)
{
  const size_t words_bytes = size < READ_LEAST ? READ_LEAST : READ_BYTES;
  g_autofree uint64_t *words = g_malloc (words_bytes + 8);
  uint64_t sum = 0;

  for (uint64_t offset = 0; offset < size;)
    {
      const off_t start = lseek (fd, (off_t) offset, SEEK_DATA);
      const off_t end = start < 0 ? -1 : lseek (fd, start, SEEK_HOLE);

      if (start < 0 && errno == ENXIO)
        break;
      if (end < 0)
        return sum_range (fd, words, words_bytes, 0, size);
      sum += sum_range (fd, words, words_bytes, (uint64_t) start, (uint64_t) end);
      offset = (uint64_t) end;
    }

  return sum;
}

static bool
is_shared (int fd)
{
  enum { N_EXTENTS = 64 };
  g_autofree struct fiemap *map
    = g_malloc0 (sizeof (struct fiemap) + N_EXTENTS * sizeof (struct fiemap_extent));

  map->fm_length = FIEMAP_MAX_OFFSET;
  map->fm_extent_count = N_EXTENTS;
  if (ioctl (fd, FS_IOC_FIEMAP, map) != 0)
    return false;
  for (unsigned i = 0; i < map->fm_mapped_extents; i++)
    if ((map->fm_extents[i].fe_flags & FIEMAP_EXTENT_SHARED) != 0)
      return true;
  return false;
}

bool
observe_is_shared (const char *file)
{
  int fd = open (file, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
  const bool shared = fd >= 0 && is_shared (fd);

  if (fd >= 0)
    (void) close (fd);
  return shared;
}

static char *
format_time (struct timespec time)
{
  const gint64 now = g_get_real_time () / G_USEC_PER_SEC;

  if (time.tv_sec > now - RECENT_S && time.tv_sec <= now + 2)
    return g_strdup ("recent");
  return g_strdup_printf ("%" PRId64 ".%09ld", (int64_t) time.tv_sec, time.tv_nsec);
}

static int
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

static void
add_xattrs (GString *text, const char *path, const char *indent)
{
  const ssize_t room = llistxattr (path, NULL, 0);

  if (room < 0 && errno != EOPNOTSUPP)
    g_string_append_printf (text, "%s  xattrs: %s\n", indent, g_strerror (errno));
  if (room <= 0)
    return;

  g_autofree char *names = g_malloc ((size_t) room);
  g_autofree char *value = g_malloc (65536);
  g_autoptr (GPtrArray) sorted = g_ptr_array_new ();
  const ssize_t size = llistxattr (path, names, (size_t) room);

  for (ssize_t at = 0; at < size; at += (ssize_t) strlen (names + at) + 1)
    g_ptr_array_add (sorted, names + at);
  g_ptr_array_sort (sorted, compare_names);

  for (guint i = 0; i < sorted->len; i++)
    {
      const char *name = g_ptr_array_index (sorted, i);
      const ssize_t length = lgetxattr (path, name, value, 65536);

      /* What a label says depends on the path, and whoever labels does it for every new file. */
      if (strcmp (name, "security.selinux") == 0)
        continue;
      g_string_append_printf (text, "%s  %s = %zd:", indent, name, length);
      if (length < 0)
        g_string_append (text, g_strerror (errno));
      for (ssize_t j = 0; j < MIN (length, 64); j++)
        g_string_append_printf (text, "%02x", (unsigned char) value[j]);
      if (length > 64)
        {
          g_autofree char *rest
            = g_compute_checksum_for_data (G_CHECKSUM_MD5, (const guchar *) value, (gsize) length);

          g_string_append_printf (text, "... %s", rest);
        }
      g_string_append_c (text, '\n');
    }
}

static void
add_content (GString *text, int fd, uint64_t size)
{
  int flags = 0;

  g_string_append_printf (text, " sum=%016" PRIx64 " shared=%s", sum_file (fd, size),
                          is_shared (fd) ? "yes" : "no");
  if (ioctl (fd, FS_IOC_GETFLAGS, &flags) == 0)
    g_string_append_printf (text, " flags=%x", (unsigned) flags & (unsigned) USER_FLAGS);
}

static const char *
type_name (mode_t mode)
{
  return S_ISREG (mode)    ? "file"
         : S_ISDIR (mode)  ? "folder"
         : S_ISLNK (mode)  ? "symlink"
         : S_ISFIFO (mode) ? "fifo"
         : S_ISSOCK (mode) ? "socket"
         : S_ISCHR (mode)  ? "character-device"
                           : "block-device";
}

static void add_entries (GString *text, int fd, const char *indent);

static void
add_entry (GString *text, int dir, const char *name, const char *indent)
{
  g_autofree char *shown = g_strescape (name, NULL);
  /* One component only, so the length of the whole path does not matter. */
  g_autofree char *path = dir == AT_FDCWD ? g_strdup (name)
                                          : g_strdup_printf ("/proc/self/fd/%d/%s", dir, name);
  struct stat stat;

  if (fstatat (dir, name, &stat, AT_SYMLINK_NOFOLLOW) != 0)
    {
      g_string_append_printf (text, "%s%s: %s\n", indent, shown, g_strerror (errno));
      return;
    }

  g_string_append_printf (text, "%s%s: %s mode=%04o uid=%u gid=%u", indent,
                          dir == AT_FDCWD ? "." : shown, type_name (stat.st_mode),
                          stat.st_mode & 07777, stat.st_uid, stat.st_gid);
  if (!S_ISDIR (stat.st_mode))
    {
      g_autofree char *mtime = format_time (stat.st_mtim);
      g_autofree char *atime = format_time (stat.st_atim);

      g_string_append_printf (text, " nlink=%ju size=%ju mtime=%s atime=%s",
                              (uintmax_t) stat.st_nlink, (uintmax_t) stat.st_size, mtime, atime);
    }

  if (S_ISLNK (stat.st_mode))
    {
      char target[4096 + 1] = "";

      (void) !readlinkat (dir, name, target, sizeof target - 1);
      g_autofree char *shown_target = g_strescape (target, NULL);
      g_string_append_printf (text, " -> %s", shown_target);
    }
  else if (S_ISREG (stat.st_mode) || S_ISDIR (stat.st_mode))
    {
      int fd = openat (dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
      /* Its owner may look all the same, and leaves it as it was. */
      const bool is_closed
        = fd < 0 && errno == EACCES &&
          fchmodat (dir, name, (stat.st_mode & 07777) | S_IRWXU, 0) == 0;

      if (is_closed)
        fd = openat (dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
      if (fd < 0)
        g_string_append_printf (text, " unreadable: %s", g_strerror (errno));
      else if (S_ISREG (stat.st_mode))
        add_content (text, fd, (uint64_t) stat.st_size);
      g_string_append_c (text, '\n');
      add_xattrs (text, path, indent);
      if (fd >= 0 && S_ISDIR (stat.st_mode))
        {
          g_autofree char *deeper = g_strconcat (indent, "  ", NULL);

          add_entries (text, fd, deeper);
        }
      if (is_closed)
        (void) fchmodat (dir, name, stat.st_mode & 07777, 0);
      if (fd >= 0)
        (void) close (fd);
      return;
    }
  else if (S_ISCHR (stat.st_mode) || S_ISBLK (stat.st_mode))
    g_string_append_printf (text, " device=%u:%u", major (stat.st_rdev), minor (stat.st_rdev));

  g_string_append_c (text, '\n');
  add_xattrs (text, path, indent);
}

static void
add_entries (GString *text, int fd, const char *indent)
{
  DIR *entries = fdopendir (dup (fd));
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);

  if (entries == NULL)
    {
      g_string_append_printf (text, "%s%s\n", indent, g_strerror (errno));
      return;
    }
  for (struct dirent *entry; (entry = readdir (entries)) != NULL;)
    if (strcmp (entry->d_name, ".") != 0 && strcmp (entry->d_name, "..") != 0)
      g_ptr_array_add (names, g_strdup (entry->d_name));
  (void) closedir (entries);
  g_ptr_array_sort (names, compare_names);

  for (guint i = 0; i < names->len; i++)
    add_entry (text, fd, g_ptr_array_index (names, i), indent);
}

char *
observe_tree (const char *folder)
{
  g_autoptr (GString) text = g_string_new (NULL);

  add_entry (text, AT_FDCWD, folder, "");
  return g_string_free (g_steal_pointer (&text), FALSE);
}

char *
observe_blocks (const char *file, uint64_t *out_bytes)
{
  g_autoptr (GString) text = g_string_new (NULL);
  int fd = open (file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  struct stat stat;

  *out_bytes = 0;
  if (fd < 0 || fsync (fd) != 0 || fstat (fd, &stat) != 0)
    g_error ("%s: %s", file, g_strerror (errno));
  for (off_t offset = 0; offset < stat.st_size;)
    {
      const off_t start = lseek (fd, offset, SEEK_DATA);
      const off_t end = start < 0 ? stat.st_size : lseek (fd, start, SEEK_HOLE);

      if (start != offset)
        g_string_append_printf (text, "hole@%jd ", (intmax_t) offset);
      if (start >= 0)
        g_string_append_printf (text, "data@%jd ", (intmax_t) start);
      if (end <= offset)
        g_error ("%s: SEEK_HOLE does not move on", file);
      offset = end;
    }
  (void) close (fd);
  *out_bytes = (uint64_t) stat.st_blocks * 512;

  return g_string_free (g_steal_pointer (&text), FALSE);
}
