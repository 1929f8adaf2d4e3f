/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Looks at a destination's folder, and remembers the last one of each thread.
 *
 * What is remembered is a prediction, never a fact: path P led to mount M. Whoever relies on it
 * creates the file first and compares its mount with M by descriptor. Where mounts have no unique
 * number nothing is remembered.
 */
#include "config.h"
#include "engine/dray-folder-private.h"

#include "engine/dray-fd-private.h"

#include <errno.h>
#include <glib.h>
#include <limits.h>
#include <string.h>

/* Longer paths of folders are looked up each time. */
#define REMEMBERED_BYTES 512

typedef struct
{
  size_t length; /* of @path, bytes; 0: nothing is remembered */
  char path[REMEMBERED_BYTES]; /* absolute, not terminated */
  uint64_t mount_id;
  const DrayFilesystem *filesystem;
} LastFolder;

static GPrivate last_folder = G_PRIVATE_INIT (g_free);

static bool
recognise (const char *path, size_t length, DrayFolder *folder)
{
  const LastFolder *last = g_private_get (&last_folder);

  /* A name in the root folder, or in @dir itself, has a folder of length 0. */
  if (last == NULL || length == 0 || last->length != length ||
      memcmp (last->path, path, length) != 0)
    return false;

  folder->filesystem = last->filesystem;
  folder->mount_id = last->mount_id;
  return true;
}

static void
remember (const char *path, size_t length, const DrayFolder *folder)
{
  LastFolder *last = g_private_get (&last_folder);

  if (path[0] != '/' || length == 0 || length > REMEMBERED_BYTES)
    return;
  if (last == NULL)
    {
      last = g_try_new0 (LastFolder, 1);
      if (last == NULL)
        return;
      g_private_set (&last_folder, last);
    }
  memcpy (last->path, path, length);
  last->length = length;
  last->filesystem = folder->filesystem;
  last->mount_id = folder->mount_id;
}

static DrayDecline
open_folder (int dir, const char *dest, size_t length, DrayFolder *folder, int *out_error)
{
  char path[PATH_MAX];
  struct statx stat;

  if (length >= sizeof path)
    {
      *out_error = -ENAMETOOLONG;
      return DRAY_DECLINE_PATH_TOO_LONG;
    }
  memcpy (path, dest, length);
  path[length] = '\0';

  const char *opened = length > 0 ? path : dest[0] == '/' ? "/" : ".";
  folder->fd = dray_fd_open (dir, opened, O_PATH | O_DIRECTORY, 0);
  *out_error = folder->fd < 0 ? folder->fd
                              : dray_fd_stat (folder->fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
                                              STATX_TYPE | DRAY_FILESYSTEM_STATX, &stat);
  if (*out_error != 0)
    return DRAY_DECLINE_DEST_FOLDER;

  folder->dir = folder->fd;
  folder->path = dest + length + (dest[length] == '/' ? 1 : 0);
  folder->filesystem = dray_filesystem_find (folder->fd, &stat);
  folder->mount_id = stat.stx_mnt_id;
  if (!folder->filesystem->take)
    return DRAY_DECLINE_DEST_FILESYSTEM;

  if ((stat.stx_mask & STATX_MNT_ID_UNIQUE) != 0)
    remember (dest, length, folder);
  return DRAY_DECLINE_NONE;
}

DrayDecline
dray_folder_look (int dir, const char *dest, bool may_recognise, DrayFolder *out_folder,
                  int *out_error)
{
  const char *slash = strrchr (dest, '/');
  const size_t length = slash == NULL ? 0 : (size_t) (slash - dest);

  *out_folder = (DrayFolder) { .fd = -1, .dir = dir, .path = dest };
  *out_error = 0;
  if ((slash == NULL ? dest : slash + 1)[0] == '\0')
    return DRAY_DECLINE_NO_PATH;
  if (may_recognise && recognise (dest, length, out_folder))
    return DRAY_DECLINE_NONE;

  return open_folder (dir, dest, length, out_folder, out_error);
}

bool
dray_folder_check (DrayFolder *folder, int fd, const struct statx *made)
{
  LastFolder *last = g_private_get (&last_folder);

  if (folder->fd >= 0 || ((made->stx_mask & STATX_MNT_ID_UNIQUE) != 0 &&
                          made->stx_mnt_id == folder->mount_id))
    return true;

  if (last != NULL)
    last->length = 0;
  folder->filesystem = dray_filesystem_find (fd, made);
  return folder->filesystem->take;
}

void
dray_folder_clear (DrayFolder *folder)
{
  dray_autofd_clear (&folder->fd);
}
