/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One copy on the faulty layer: files to copy, a fault, a run, and what must hold after it. */
#pragma once

#include "engine/dray-engine.h"
#include "tests/support/faulty-fd.h"

#include <gio/gio.h>

/* What a scene copies and how. */
typedef struct
{
  const char *name;
  const char *source_variable; /* environment: a folder on some file system */
  const char *dest_variable;   /* likewise */
  uint64_t size;               /* bytes */
  bool sparse;                 /* a hole first, one in the middle, one last */
  bool xattrs;
  bool exists;                 /* something has the destination's name already */
  bool recognised;             /* a first copy goes into the same folder from the same thread */
  GFileCopyFlags flags;
  unsigned n_requests; /* a batch through the engine's door; 0: one g_file_copy() */
} InjectScene;

typedef enum
{
  INJECT_NOTHING,
  INJECT_ERROR,
  INJECT_ZERO,
  INJECT_SHORT,
} InjectKind;

/* What goes wrong. */
typedef struct InjectFault InjectFault;
struct InjectFault
{
  InjectKind kind;
  FaultyCall call;
  unsigned nth;
  FaultyReach reach;
  int error;   /* a positive errno */
  size_t most; /* bytes */
  const InjectFault *also; /* (not owned) (nullable) beside it */
};

/* A scene set up. */
typedef struct
{
  const InjectScene *scene;
  char *source_folder; /* (owned) */
  char *dest_folder;   /* (owned) */
  char *source;        /* (owned) path */
  char *dest;          /* (owned) path; of a batch "dest-0" and so on are made */
  GMappedFile *bytes;  /* (owned) of the source */
  char *checksum;      /* (owned) of the source as it was made */
  bool is_disturbed; /* the source is changed by the test itself */
  unsigned n_blamed;
} InjectStage;

/* How one run ended. */
typedef struct
{
  bool copied;             /* g_file_copy() said TRUE */
  GError *error;           /* (owned) */
  DrayCopyReport *reports; /* (owned) of a batch */
  FaultyEntry *log;        /* (owned) */
  size_t n_log;
  unsigned hits;
} InjectResult;

/**
 * inject_stage_open:
 *
 * Makes the source and the folders. Skips (or, where nothing may be missing, fails) the test when
 * the file systems are not there.
 *
 * Returns: whether there is a stage.
 */
bool inject_stage_open (InjectStage *stage, const InjectScene *scene);

/** inject_stage_close: removes all files, and makes sure of the source once more. */
void inject_stage_close (InjectStage *stage);

/**
 * inject_stage_run:
 * @hide: mounts have no unique number, so that each run asks what they are
 *
 * One run on a thread of its own, which knows no folder yet. Bounded by an alarm.
 */
void inject_stage_run (InjectStage *stage, const InjectFault *fault, bool hide,
                       InjectResult *out_result);

/** inject_stage_check: holds the result against what must be, whatever the fault, and cleans up. */
void inject_stage_check (InjectStage *stage, const InjectFault *fault, InjectResult *result);

/** inject_stage_blame: fails the test with a line on standard error. */
void inject_stage_blame (InjectStage *stage, const InjectFault *fault, const char *format, ...)
  G_GNUC_PRINTF (3, 4);

/** inject_result_clear: frees what @result owns. */
void inject_result_clear (InjectResult *result);

/** inject_count_names: entries of a folder. */
unsigned inject_count_names (const char *folder);

/** inject_list_descriptors: what this process has open. Returns: (transfer full): text */
char *inject_list_descriptors (void);

/**
 * inject_set_alarm:
 * @seconds: 0 ends it
 * @what: a static string or one that stays until the alarm ends
 *
 * A program that hangs says where and dies.
 */
void inject_set_alarm (unsigned seconds, const char *what);

/** inject_init: to be called first in main(). */
void inject_init (int *argc, char ***argv);
