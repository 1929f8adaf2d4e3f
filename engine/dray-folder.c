/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Looks at a destination's folder, and remembers the last one of each thread.
 *
 * What is remembered is a prediction, never a fact: path P led to mount M. Whoever relies on it
 * creates the file first and compares its mount with M by descriptor. Where mounts have no unique
 * number nothing is remembered but refusals, which can do no harm.
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

#define REFUSALS_BETWEEN_LOOKS 99

typedef struct
{
  size_t length; /* of @path, bytes; 0: nothing is remembered */
  char path[REMEMBERED_BYTES]; /* absolute, not terminated */
  uint64_t mount_id;
  const DrayFilesystem *filesystem;
} LastFolder;

/* A folder whose files are declined. */
typedef struct
{
  size_t length; /* of @path, bytes; 0: none */
  unsigned left; /* answers before it is looked at again */
  char path[REMEMBERED_BYTES]; /* absolute, not terminated */
} RefusedFolder;

/* What one thread remembers. */
typedef struct
{
  LastFolder last;
  RefusedFolder refused[DRAY_FOLDER_N_ENDS];
} Memory;

static GPrivate memory_of_thread = G_PRIVATE_INIT (g_free);

/* Returns: (nullable): this thread's memory, made when there is none. */
static Memory *
make_memory (void)
{
  Memory *memory = g_private_get (&memory_of_thread);

  if (memory == NULL)
    {
      memory = g_try_new0 (Memory, 1);
      if (memory != NULL)
        g_private_set (&memory_of_thread, memory);
    }
  return memory;
}

/* Bytes of the folder's part of an absolute path that can be remembered, else 0. */
static size_t
measure_folder (const char *path)
{
  const char *slash = path[0] == '/' ? strrchr (path, '/') : NULL;
  const size_t length = slash == NULL ? 0 : (size_t) (slash - path);

  return length <= REMEMBERED_BYTES ? length : 0;
}

static bool
recognise (const char *path, size_t length, DrayFolder *folder)
{
  const Memory *memory = g_private_get (&memory_of_thread);
  const LastFolder *last = memory == NULL ? NULL : &memory->last;

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
  Memory *memory = make_memory ();

  if (path[0] != '/' || length == 0 || length > REMEMBERED_BYTES || memory == NULL)
    return;
  memcpy (memory->last.path, path, length);
  memory->last.length = length;
  memory->last.filesystem = folder->filesystem;
  memory->last.mount_id = folder->mount_id;
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
  Memory *memory = g_private_get (&memory_of_thread);

  if (folder->fd >= 0 || ((made->stx_mask & STATX_MNT_ID_UNIQUE) != 0 &&
                          made->stx_mnt_id == folder->mount_id))
    return true;

  if (memory != NULL)
    memory->last.length = 0;
  folder->filesystem = dray_filesystem_find (fd, made);
  return folder->filesystem->take;
}

void
dray_folder_refuse (DrayFolderEnd end, const char *path)
{
  const size_t length = measure_folder (path);
  Memory *memory = length > 0 ? make_memory () : NULL;

  if (memory == NULL)
    return;
  memcpy (memory->refused[end].path, path, length);
  memory->refused[end].length = length;
  memory->refused[end].left = REFUSALS_BETWEEN_LOOKS;
}

bool
dray_folder_is_refused (DrayFolderEnd end, const char *path)
{
  Memory *memory = g_private_get (&memory_of_thread);
  RefusedFolder *refused = memory == NULL ? NULL : &memory->refused[end];

  if (refused == NULL || refused->length == 0 || refused->length != measure_folder (path) ||
      memcmp (refused->path, path, refused->length) != 0 || refused->left == 0)
    return false;
  refused->left--;
  return true;
}

void
dray_folder_clear (DrayFolder *folder)
{
  dray_autofd_clear (&folder->fd);
}
