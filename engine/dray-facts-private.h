/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is known of the two ends of one copy before anything is made. */
#pragma once

#include "engine/dray-engine.h"
#include "engine/dray-filesystem-private.h"

#include <sys/types.h>
#include <time.h>

typedef struct
{
  mode_t mode;         /* file type and permissions of the source */
  uid_t uid;           /* */
  gid_t gid;           /* */
  uint64_t size;       /* bytes */
  uint64_t allocated;  /* bytes of disk that the source takes; less than @size: holes, perhaps */
  struct timespec times[2]; /* access, modification */
  bool same_device;    /* both ends are on one; known once the destination is made */
  const DrayFilesystem *source_filesystem; /* never NULL once looked at */
  const DrayFilesystem *dest_filesystem;   /* likewise */
} DrayFacts;

/**
 * dray_facts_set_source:
 * @facts: its fields about the source file are set, the file systems are not touched
 * @stat: of the source, with `STATX_BASIC_STATS`
 *
 * Pure: no system call.
 */
void dray_facts_set_source (DrayFacts *facts, const struct statx *stat);

/**
 * dray_facts_is_same_file:
 * @one: with `STATX_INO`
 * @other: likewise
 *
 * Pure: no system call.
 *
 * Returns: whether both are one inode of one device.
 */
bool dray_facts_is_same_file (const struct statx *one, const struct statx *other);

/**
 * dray_facts_is_same_device:
 *
 * Pure: no system call.
 *
 * Returns: whether both files are on one device.
 */
bool dray_facts_is_same_device (const struct statx *one, const struct statx *other);

/**
 * dray_facts_judge_type:
 * @mode: `st_mode` of a source
 *
 * Pure: no system call.
 *
 * Returns: why a source of this type is not taken, %DRAY_DECLINE_NONE for a regular file.
 */
DrayDecline dray_facts_judge_type (mode_t mode);
