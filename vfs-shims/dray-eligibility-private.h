/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whether a call of g_file_copy() is one for us, before any system call. */
#pragma once

#include "engine/dray-engine.h"
#include "vfs-shims/dray-settings-private.h"

#include <stdbool.h>

/* What a call of the slot is known by. */
typedef struct
{
  const DraySettings *settings; /* (not owned) */
  bool source_is_local;         /* a GLocalFile */
  bool dest_is_local;           /* likewise */
  const char *source_path;      /* (nullable) (not owned) */
  const char *dest_path;        /* (nullable) (not owned) */
  unsigned flags;               /* GFileCopyFlags, with bits that this GLib may not know */
} DrayEligibilityFacts;

/**
 * dray_eligibility_judge:
 * @facts: all about the call
 *
 * The rules of GIO's side; those of the files themselves (type, file system) are the engine's.
 * Pure: no system call.
 *
 * Threads: any.
 *
 * Returns: %DRAY_DECLINE_NONE when the engine is to be asked, else the reason.
 */
DrayDecline dray_eligibility_judge (const DrayEligibilityFacts *facts);

/**
 * dray_eligibility_get_copy_flags:
 * @flags: GFileCopyFlags that dray_eligibility_judge() did not decline
 * @glib_minor: 74 for GLib 2.74, of the library that runs
 *
 * Translates flags. %G_FILE_COPY_TARGET_DEFAULT_MODIFIED_TIME came with GLib 2.80; an older
 * library ignores the bit, so a program built against a newer one gets there what stock gives.
 * Pure: no system call.
 */
DrayCopyFlags dray_eligibility_get_copy_flags (unsigned flags, unsigned glib_minor);
