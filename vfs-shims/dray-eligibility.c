/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The rules of GIO's side, and what its flags mean to the engine. */
#include "config.h"
#include "vfs-shims/dray-eligibility-private.h"

#include <gio/gio.h>
#include <limits.h>
#include <string.h>

/* G_FILE_COPY_TARGET_DEFAULT_MODIFIED_TIME, which the headers of GLib before 2.80 lack. */
#define TARGET_DEFAULT_MODIFIED_TIME (1U << 6)

/* OVERWRITE alone is no reason to decline: gio copy always sets it. What it would overwrite is
 * found when the destination is created. */
#define KNOWN_FLAGS                                                                                \
  ((unsigned) (G_FILE_COPY_OVERWRITE | G_FILE_COPY_BACKUP | G_FILE_COPY_NOFOLLOW_SYMLINKS |        \
               G_FILE_COPY_ALL_METADATA | G_FILE_COPY_NO_FALLBACK_FOR_MOVE |                       \
               G_FILE_COPY_TARGET_DEFAULT_PERMS) |                                                 \
   TARGET_DEFAULT_MODIFIED_TIME)

DrayDecline
dray_eligibility_judge (const DrayEligibilityFacts *facts)
{
  if (!facts->settings->enabled)
    return DRAY_DECLINE_DISABLED;
  if (!facts->source_is_local || !facts->dest_is_local)
    return DRAY_DECLINE_NOT_LOCAL;
  if ((facts->flags & ~KNOWN_FLAGS) != 0)
    return DRAY_DECLINE_UNKNOWN_FLAG;
  if (facts->source_path == NULL || facts->dest_path == NULL)
    return DRAY_DECLINE_NO_PATH;
  /* We go by the folder's descriptor and would get further than stock does. */
  if (strlen (facts->source_path) >= PATH_MAX || strlen (facts->dest_path) >= PATH_MAX)
    return DRAY_DECLINE_PATH_TOO_LONG;

  return DRAY_DECLINE_NONE;
}

DrayCopyFlags
dray_eligibility_get_copy_flags (unsigned flags, unsigned glib_minor)
{
  DrayCopyFlags copy_flags = DRAY_COPY_NONE;

  if ((flags & G_FILE_COPY_NOFOLLOW_SYMLINKS) != 0)
    copy_flags |= DRAY_COPY_NOFOLLOW;
  if ((flags & G_FILE_COPY_ALL_METADATA) != 0)
    copy_flags |= DRAY_COPY_ALL_METADATA;
  if ((flags & G_FILE_COPY_TARGET_DEFAULT_PERMS) != 0)
    copy_flags |= DRAY_COPY_DEFAULT_MODE;
  if ((flags & TARGET_DEFAULT_MODIFIED_TIME) != 0 && glib_minor >= 80)
    copy_flags |= DRAY_COPY_DEFAULT_MTIME;

  return copy_flags;
}
