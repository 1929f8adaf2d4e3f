/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One g_file_copy() made by stock GIO and by the module, and everything seen of both compared.
 *
 * Both calls run in this process on the same paths, one after the other, each on a fixture made for
 * it. Whether the module copied, declined or failed is recorded by a wrapper around its slot and is
 * part of what a case expects: stock is never compared with stock by mistake.
 */
#pragma once

#include <gio/gio.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The headers of GLib before 2.80 lack it. */
#define PARITY_TARGET_DEFAULT_MODIFIED_TIME (1U << 6)
/* All flags that a GLib of today knows. */
#define PARITY_N_FLAGS 7

typedef enum
{
  PARITY_TAKEN,     /* the module copied */
  PARITY_DECLINED,  /* it left the call to stock */
  PARITY_FAILED,    /* it failed with a real error */
  PARITY_NOT_ASKED, /* GIO did not call it */
} ParityOutcome;

typedef enum
{
  PARITY_CANCEL_NONE,   /* no cancellable */
  PARITY_CANCEL_NEVER,  /* one that is not used */
  PARITY_CANCEL_BEFORE, /* before the call */
  PARITY_CANCEL_FIRST,  /* from the first progress call */
  PARITY_CANCEL_LAST,   /* from the first progress call that says all is done */
} ParityCancel;

/* Where a call takes place. A case may replace the two paths. */
typedef struct
{
  char *from;   /* folder of the source */
  char *to;     /* folder of the destination */
  char *source; /* from/source */
  char *dest;   /* to/copy */
} ParityPlace;

typedef struct
{
  const char *name;        /* for messages */
  const char *source_base; /* folder on the source's file system */
  const char *dest_base;   /* likewise; may be the same */
  /* Builds the fixture; NULL: a file of 5000 bytes and mode 0640. */
  void (*prepare) (ParityPlace *place, gconstpointer data);
  /* Undoes what tree_remove() cannot, after all has been looked at. May be NULL. */
  void (*finish) (ParityPlace *place, gconstpointer data);
  gconstpointer data; /* for both (not owned) */
  unsigned flags;     /* GFileCopyFlags */
  mode_t mask;        /* umask during the call */
  ParityCancel cancel;
  bool without_progress;     /* no progress callback */
  bool stock_leaves_partial; /* asserted where the module fails */
  bool with_blocks;          /* allocation is looked at too */
  ParityOutcome expect;
} ParityCall;

/* A call from @source_base to @dest_base with nothing special about it. */
#define PARITY_CALL(source_, dest_)                                                                \
  {                                                                                                \
    .name = "call", .source_base = (source_), .dest_base = (dest_), .mask = 022                    \
  }

/* What the progress calls of one run have in common. */
typedef struct
{
  unsigned n;
  goffset last, total;
  bool rises, same_total, same_thread;
} ParityProgress;

/* What came of a call. */
typedef struct
{
  bool returned;
  ParityOutcome outcome; /* of the module; %PARITY_NOT_ASKED in a stock run */
  ParityProgress progress;
  bool is_apart;         /* the destination is not in the source's folder */
  goffset source_size; /* before the call, behind symlinks; 0 for what cannot be found */
  GError *error;         /* (owned) or NULL */
  char *status;          /* (owned) return value and error */
  char *from, *from_before, *to, *to_before; /* (owned) folders, see observe_tree() */
  char *map;             /* (owned) of the destination, with_blocks only, or NULL */
  uint64_t bytes;        /* allocated to the destination, likewise */
  uint64_t source_bytes; /* allocated to the source, likewise */
  bool shared;           /* the destination has extents of the source, likewise */
} ParityRun;

/* A file system under test. */
typedef struct
{
  const char *name;     /* in test paths */
  const char *variable; /* of the environment */
  bool clones;          /* copies within it share extents */
} ParityFilesystem;

#define PARITY_N_FILESYSTEMS 6
extern const ParityFilesystem parity_filesystems[PARITY_N_FILESYSTEMS];

/**
 * parity_init:
 *
 * To be called first in main(). Sets the locale, finds the module's slot and ends the program when
 * there is none.
 */
void parity_init (int *argc, char ***argv);

/**
 * parity_add:
 * @subject: file's part of the test's path
 * @sentence: the test's part
 * @function: gets a #ParityFilesystem
 *
 * Adds a test for each file system. parity_get_base() is the function's first call.
 */
void parity_add (const char *subject, const char *sentence, GTestDataFunc function);

/**
 * parity_get_base:
 *
 * Returns: (nullable): the folder on @filesystem; NULL when the test has been marked as skipped, or
 * as failed where nothing may be missing
 */
const char *parity_get_base (const ParityFilesystem *filesystem);

/**
 * parity_is_root:
 */
bool parity_is_root (void);

/**
 * parity_skip_unless_root:
 * parity_skip_if_root:
 * @why: what the test needs it for
 *
 * Returns: whether the test has been marked as skipped
 */
bool parity_skip_unless_root (const char *why);
bool parity_skip_if_root (const char *why);

/**
 * parity_run:
 * @ours: with the module; else stock
 */
void parity_run (const ParityCall *call, bool ours, ParityRun *out_run);
void parity_run_clear (ParityRun *run);

/**
 * parity_compare_runs:
 *
 * Compares two runs of a call and what the case expects; a difference fails the test and is
 * printed.
 */
void parity_compare_runs (const ParityCall *call, const ParityRun *stock, const ParityRun *ours);

/**
 * parity_compare:
 *
 * Runs @call both ways and compares.
 */
void parity_compare (const ParityCall *call);

/**
 * parity_expect:
 * @call: names the case
 *
 * Fails the test with a message, and goes on, unless @truth.
 */
void parity_expect (const ParityCall *call, bool truth, const char *format, ...)
  G_GNUC_PRINTF (3, 4);
