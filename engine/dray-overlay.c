/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The layers of an overlayfs mount: taken only when each is on a file system that we take.
 *
 * An overlay forwards reads, writes, clones and xattrs to its layers, so it is as safe as they are:
 * over FUSE or NFS it is neither local nor predictable. The layers' paths in the mount table are
 * those of the mount namespace that made the mount; inside a container they lead nowhere, and an
 * overlay whose layers cannot be seen is declined.
 */
#include "config.h"
#include "engine/dray-overlay-private.h"

#include "engine/dray-fd-private.h"

#include <stdio.h>
#include <string.h>

static const DrayFilesystem refused = { .magic = 0x794C7630, .name = "overlay", .stacked = true };
static const DrayFilesystem taken = {
  .magic = 0x794C7630, .name = "overlay", .take = true, .stacked = true
};
static const DrayFilesystem taken_cloning
  = { .magic = 0x794C7630, .name = "overlay", .take = true, .clones = true, .stacked = true };

static const DrayFilesystem *
find_layer_by_path (const char *path)
{
  uint32_t magic;

  /* A path relative to the mounting process's folder means nothing here. */
  if (path[0] != '/' || dray_fd_filesystem_magic_at (path, &magic) != 0)
    return &refused;
  return dray_filesystem_from_magic (magic);
}

/* Reads one byte, replacing the mount table's octal escapes. Moves @text behind it. */
static char
read_byte (const char **text)
{
  const char *at = *text;

  if (at[0] == '\\' && at[1] >= '0' && at[1] <= '3' && g_ascii_isdigit (at[2]) &&
      g_ascii_isdigit (at[3]))
    {
      *text += 4;
      return (char) ((at[1] - '0') * 64 + (at[2] - '0') * 8 + (at[3] - '0'));
    }
  *text += 1;
  return *at;
}

/* Reads a layer's name up to an unescaped colon or comma: first the mount table's escapes, then
 * overlayfs' own backslashes. Moves @text behind what was read. */
static char *
read_layer (const char **text)
{
  g_autoptr (GString) layer = g_string_new (NULL);
  const char *at = *text;

  while (*at != '\0' && *at != ',' && *at != ':')
    {
      const char *start = at;
      char byte = read_byte (&at);

      /* An escaped backslash that itself escapes the next byte, which may be escaped too. */
      if (byte == '\\' && at > start + 1 && *at != '\0')
        byte = read_byte (&at);
      g_string_append_c (layer, byte);
    }
  *text = at;

  return g_string_free (g_steal_pointer (&layer), FALSE);
}

/* Adds the layers of one option's value to the verdict. */
static void
judge_layers (const char *value, const DrayFilesystem *(*find_layer) (const char *path),
              unsigned *n_layers, bool *take, bool *clone)
{
  while (true)
    {
      g_autofree char *layer = read_layer (&value);

      /* Data-only layers follow a double colon. */
      if (layer[0] != '\0')
        {
          const DrayFilesystem *filesystem = find_layer (layer);

          *n_layers += 1;
          *take = *take && filesystem->take && !filesystem->stacked;
          *clone = *clone && filesystem->clones;
        }
      if (*value != ':')
        return;
      value++;
    }
}

bool
dray_overlay_judge_line (const char *line, uint64_t mount_id,
                         const DrayFilesystem *(*find_layer) (const char *path),
                         const DrayFilesystem **out_filesystem)
{
  const char *separator = strstr (line, " - ");
  unsigned n_layers = 0;
  bool take = true, clone = true;
  char *end;

  if (g_ascii_strtoull (line, &end, 10) != mount_id || end == line || *end != ' ')
    return false;

  *out_filesystem = &refused;
  if (separator == NULL || !g_str_has_prefix (separator, " - overlay "))
    return true;

  /* " - overlay SOURCE OPTIONS" */
  const char *options = strchr (separator + strlen (" - overlay "), ' ');
  if (options == NULL)
    return true;

  while (options != NULL && *options != '\0')
    {
      static const char *const layered[] = { "lowerdir=", "lowerdir+=", "datadir+=", "upperdir=" };

      options++;
      for (size_t i = 0; i < G_N_ELEMENTS (layered); i++)
        if (g_str_has_prefix (options, layered[i]))
          judge_layers (options + strlen (layered[i]), find_layer, &n_layers, &take, &clone);
      options = strchr (options, ',');
    }

  /* Not even one layer seen: the options are not of a form that we know. */
  if (n_layers > 0 && take)
    *out_filesystem = clone ? &taken_cloning : &taken;
  return true;
}

const DrayFilesystem *
dray_overlay_find (int fd)
{
  const DrayFilesystem *found = &refused;
  g_autofree char *mounts = NULL;
  struct statx stat;

  if (dray_fd_stat (fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &stat) != 0 ||
      (stat.stx_mask & STATX_MNT_ID) == 0 ||
      !g_file_get_contents ("/proc/self/mountinfo", &mounts, NULL, NULL))
    return &refused;

  char *rest = mounts;
  while (*rest != '\0')
    {
      char *line = strsep (&rest, "\n");

      if (dray_overlay_judge_line (line, stat.stx_mnt_id, find_layer_by_path, &found) ||
          rest == NULL)
        break;
    }

  return found;
}
