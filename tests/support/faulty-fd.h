/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The system calls of the copy path again, with a script of what goes wrong.
 *
 * An executable that has faulty-fd.c and faulty-real.c among its sources has every dray_fd_*
 * function from here instead of from the library: an archive gives its object only for names that
 * are still missing. A function that the engine gains and this layer lacks is a link error.
 *
 * Calls are counted for each function from 1, over all threads, since faulty_reset(). Rules are set
 * while no copy runs; hooks run on the thread that makes the call.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum
{
  FAULTY_OPEN,
  FAULTY_CLOSE,
  FAULTY_CLOSE_BOTH,
  FAULTY_STAT,
  FAULTY_MAGIC,
  FAULTY_MAGIC_AT,
  FAULTY_READ,
  FAULTY_WRITE,
  FAULTY_COPY_RANGE,
  FAULTY_SEND,
  FAULTY_CLONE,
  FAULTY_SEEK,
  FAULTY_TRUNCATE,
  FAULTY_FLUSH_RANGE,
  FAULTY_SET_MODE,
  FAULTY_SET_OWNER,
  FAULTY_SET_TIMES,
  FAULTY_LIST_XATTRS,
  FAULTY_GET_XATTR,
  FAULTY_SET_XATTR,
  FAULTY_UNLINK,
  FAULTY_N_CALLS
} FaultyCall;

/* Which of a function's calls a rule means. */
typedef enum
{
  FAULTY_ONCE,   /* the n-th alone */
  FAULTY_ALWAYS, /* the n-th and all after it */
} FaultyReach;

typedef void (*FaultyHook) (void *data);

/* One call as it was made. */
typedef struct
{
  FaultyCall call;
  unsigned nth;
  bool creates; /* FAULTY_OPEN with O_CREAT */
  const void *thread; /* (not owned) that made it; only to be compared */
} FaultyEntry;

/** faulty_reset: forgets rules, counts and the log, and makes all calls real again. */
void faulty_reset (void);

/** faulty_fail: the call is not made and returns -@error; a close closes all the same. */
void faulty_fail (FaultyCall call, unsigned nth, int error, FaultyReach reach);

/** faulty_return_zero: the call is not made and returns 0. */
void faulty_return_zero (FaultyCall call, unsigned nth, FaultyReach reach);

/** faulty_shorten: the call is made for @most bytes at the most. Reads, writes and their like. */
void faulty_shorten (FaultyCall call, unsigned nth, size_t most, FaultyReach reach);

/** faulty_delay: the call is made @us later. */
void faulty_delay (FaultyCall call, unsigned us);

/** faulty_before, faulty_after: @hook runs just before or after the n-th call. */
void faulty_before (FaultyCall call, unsigned nth, FaultyHook hook, void *data);
void faulty_after (FaultyCall call, unsigned nth, FaultyHook hook, void *data);

/** faulty_hide_mount_numbers: statx() gives no unique mount number, as before Linux 6.8. */
void faulty_hide_mount_numbers (bool hide);

/** faulty_get_count: calls of one function so far. */
unsigned faulty_get_count (FaultyCall call);

/** faulty_get_hits: how often a fail, zero or shorten rule has been applied. */
unsigned faulty_get_hits (void);

/** faulty_get_log: the calls in order. Returns: (transfer full) free with free(). */
FaultyEntry *faulty_get_log (size_t *out_n_entries);

/** faulty_call_get_name: a short word. */
const char *faulty_call_get_name (FaultyCall call);
