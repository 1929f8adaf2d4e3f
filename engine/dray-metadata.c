/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Owner, mode, times and xattrs of a finished destination. */
#include "config.h"
#include "engine/dray-metadata-private.h"

#include "engine/dray-fd-private.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

/* Enough for the names of nearly every file, so that the common case is one system call. */
#define NAMES_FIRST 1024

static bool
is_user (const char *name)
{
  return g_str_has_prefix (name, "user.");
}

static const char *
next_name (const char *name)
{
  return name + strlen (name) + 1;
}

/* Reads a list or a value whose size may change between two calls. */
static ssize_t
read_growing (int fd, const char *name, size_t first, char **out_bytes)
{
  g_autofree char *bytes = NULL;
  ssize_t size = (ssize_t) first;

  /* Whoever keeps growing an xattr while it is read gets three tries. */
  for (unsigned i = 0; i < 3; i++)
    {
      g_free (g_steal_pointer (&bytes));
      /* One byte more: names are read up to a NUL, whatever the file system says. */
      bytes = g_try_malloc0 ((size_t) size + 1);
      if (bytes == NULL)
        return -ENOMEM;

      ssize_t got = name == NULL ? dray_fd_list_xattrs (fd, bytes, (size_t) size)
                                 : dray_fd_get_xattr (fd, name, bytes, (size_t) size);
      if (got >= 0)
        {
          *out_bytes = g_steal_pointer (&bytes);
          return got;
        }
      if (got != -ERANGE)
        return got;

      size = name == NULL ? dray_fd_list_xattrs (fd, NULL, 0)
                          : dray_fd_get_xattr (fd, name, NULL, 0);
      if (size < 0)
        return size;
    }

  return -ERANGE;
}

void
dray_metadata_list_xattrs (int source_fd, DrayCopyFlags flags, DrayXattrs *out_xattrs)
{
  char first[NAMES_FIRST];
  ssize_t size = dray_fd_list_xattrs (source_fd, first, sizeof first);

  *out_xattrs = (DrayXattrs) { 0 };
  if (size == 0 || (size < 0 && size != -ERANGE))
    return;

  if (size > 0)
    {
      out_xattrs->names = g_try_malloc ((size_t) size + 1);
      if (out_xattrs->names == NULL)
        return;
      memcpy (out_xattrs->names, first, (size_t) size);
      out_xattrs->names[size] = '\0';
    }
  else
    size = read_growing (source_fd, NULL, 64 * NAMES_FIRST, &out_xattrs->names);
  if (size < 0)
    return;

  out_xattrs->size = (size_t) size;
  for (const char *name = out_xattrs->names; name < out_xattrs->names + size;
       name = next_name (name))
    out_xattrs->user = out_xattrs->user || is_user (name);
  if (!out_xattrs->user && (flags & DRAY_COPY_ALL_METADATA) == 0)
    dray_metadata_clear_xattrs (out_xattrs);
}

void
dray_metadata_clear_xattrs (DrayXattrs *xattrs)
{
  g_free (xattrs->names);
  *xattrs = (DrayXattrs) { 0 };
}

mode_t
dray_metadata_get_create_mode (const DrayFacts *facts, DrayCopyFlags flags,
                               const DrayXattrs *xattrs)
{
  if ((flags & DRAY_COPY_DEFAULT_MODE) != 0)
    return 0666;
  return (facts->mode & 0777) | (xattrs->user ? S_IWUSR : 0);
}

static void
copy_xattrs (int source_fd, int dest_fd, const DrayXattrs *xattrs, bool user)
{
  for (const char *name = xattrs->names; name < xattrs->names + xattrs->size;
       name = next_name (name))
    {
      g_autofree char *value = NULL;
      ssize_t size;

      if (is_user (name) != user)
        continue;
      size = read_growing (source_fd, name, 256, &value);
      if (size >= 0)
        (void) dray_fd_set_xattr (dest_fd, name, value, (size_t) size);
    }
}

void
dray_metadata_apply (int source_fd, int dest_fd, mode_t made_mode, const DrayFacts *facts,
                     DrayCopyFlags flags, const DrayXattrs *xattrs)
{
  const bool all = (flags & DRAY_COPY_ALL_METADATA) != 0;
  const mode_t mode = facts->mode & 07777;
  struct timespec times[2] = { facts->times[0], facts->times[1] };

  if (xattrs->user)
    {
      /* A umask or a default ACL may have taken the owner's right to write, and xattrs need it. */
      if ((made_mode & S_IWUSR) == 0 && (flags & DRAY_COPY_DEFAULT_MODE) == 0 &&
          dray_fd_set_mode (dest_fd, made_mode | S_IWUSR) == 0)
        made_mode |= S_IWUSR;
      copy_xattrs (source_fd, dest_fd, xattrs, true);
    }
  if (all)
    (void) dray_fd_set_owner (dest_fd, facts->uid, facts->gid);
  /* Most files were created with the mode that they are to have. An owner's chown() has no part in
   * that: it only drops bits that a new file does not get before this line. */
  if ((flags & DRAY_COPY_DEFAULT_MODE) == 0 && mode != made_mode)
    (void) dray_fd_set_mode (dest_fd, mode);
  if (all)
    copy_xattrs (source_fd, dest_fd, xattrs, false);

  /* Not UTIME_OMIT: a change of one time alone is told to watchers as an access or a change of the
   * content (fsnotify_change() in the kernel's fsnotify.h), and stock sets both. */
  if (!all)
    times[0].tv_nsec = UTIME_NOW;
  if ((flags & DRAY_COPY_DEFAULT_MTIME) != 0)
    times[1].tv_nsec = UTIME_NOW;
  if (all || (flags & DRAY_COPY_DEFAULT_MTIME) == 0)
    (void) dray_fd_set_times (dest_fd, times);
}
