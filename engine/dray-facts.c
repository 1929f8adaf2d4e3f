/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From what statx() says to what the engine decides on. */
#include "config.h"
#include "engine/dray-facts-private.h"

void
dray_facts_set_source (DrayFacts *facts, const struct statx *stat)
{
  facts->mode = stat->stx_mode;
  facts->uid = stat->stx_uid;
  facts->gid = stat->stx_gid;
  facts->size = stat->stx_size;
  facts->allocated = stat->stx_blocks * 512; /* statx(2): always in units of 512 bytes */
  facts->times[0].tv_sec = stat->stx_atime.tv_sec;
  facts->times[0].tv_nsec = stat->stx_atime.tv_nsec;
  facts->times[1].tv_sec = stat->stx_mtime.tv_sec;
  facts->times[1].tv_nsec = stat->stx_mtime.tv_nsec;
}

bool
dray_facts_is_same_device (const struct statx *one, const struct statx *other)
{
  return one->stx_dev_major == other->stx_dev_major && one->stx_dev_minor == other->stx_dev_minor;
}

bool
dray_facts_is_same_file (const struct statx *one, const struct statx *other)
{
  return one->stx_ino == other->stx_ino && dray_facts_is_same_device (one, other);
}

DrayDecline
dray_facts_judge_type (mode_t mode)
{
  if (S_ISREG (mode))
    return DRAY_DECLINE_NONE;
  if (S_ISDIR (mode))
    return DRAY_DECLINE_DIRECTORY;
  if (S_ISLNK (mode))
    return DRAY_DECLINE_SYMLINK;
  return DRAY_DECLINE_SPECIAL_FILE;
}
