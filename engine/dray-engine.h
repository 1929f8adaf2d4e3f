/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The door of the engine: batches of copy requests in, one report for each out. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is kept of a file beside its bytes, and what is followed. */
typedef enum
{
  DRAY_COPY_NONE = 0,
  DRAY_COPY_NOFOLLOW = 1 << 0,      /* a symbolic link as the source is declined, not followed */
  DRAY_COPY_ALL_METADATA = 1 << 1,  /* owner, access time and all xattrs too */
  DRAY_COPY_DEFAULT_MODE = 1 << 2,  /* mode 0666 less the umask instead of the source's */
  DRAY_COPY_DEFAULT_MTIME = 1 << 3, /* modification time is left as the copy makes it */
} DrayCopyFlags;

/* How a request ended. */
typedef enum
{
  DRAY_OUTCOME_COPIED,
  DRAY_OUTCOME_DECLINED, /* never started, nothing left behind: stock code may take over */
  DRAY_OUTCOME_FAILED,   /* a real error; the destination that we had made is gone again */
} DrayOutcome;

/* Why a request was not taken. dray_decline_get_name() has the words for each. */
typedef enum
{
  DRAY_DECLINE_NONE,
  /* Found by the caller of the engine before any system call. */
  DRAY_DECLINE_DISABLED,
  DRAY_DECLINE_NOT_LOCAL,
  DRAY_DECLINE_UNKNOWN_FLAG,
  DRAY_DECLINE_NO_PATH,
  DRAY_DECLINE_PATH_TOO_LONG,
  /* Found by the engine. */
  DRAY_DECLINE_SOURCE_UNREADABLE,
  DRAY_DECLINE_DIRECTORY,
  DRAY_DECLINE_SYMLINK,
  DRAY_DECLINE_SPECIAL_FILE,
  DRAY_DECLINE_SOURCE_FILESYSTEM,
  DRAY_DECLINE_DEST_FOLDER,
  DRAY_DECLINE_DEST_FILESYSTEM,
  DRAY_DECLINE_SOURCE_CHANGED,
  DRAY_DECLINE_DEST_EXISTS,
  DRAY_DECLINE_DEST_NOT_CREATED,
  DRAY_DECLINE_NO_MEMORY,
  DRAY_N_DECLINES
} DrayDecline;

/* Where a request failed. */
typedef enum
{
  DRAY_STEP_NONE,
  DRAY_STEP_CANCEL,   /* @error is -ECANCELED */
  DRAY_STEP_TRANSFER, /* reading or writing bytes, or the length */
  DRAY_STEP_CLOSE,    /* closing the destination */
} DrayStep;

/* What moved the bytes. dray_method_get_name() has the words for each. */
typedef enum
{
  DRAY_METHOD_NONE, /* an empty file, or nothing but a hole */
  DRAY_METHOD_REFLINK,
  DRAY_METHOD_COPY_RANGE,
  DRAY_METHOD_SEND,
  DRAY_METHOD_READ_WRITE,
  DRAY_METHOD_LANES, /* read and write on two threads at once */
  DRAY_N_METHODS
} DrayMethod;

/* One file to copy to a new name. */
typedef struct
{
  int source_dir;          /* (not owned) a folder that @source is relative to, or AT_FDCWD */
  int dest_dir;            /* (not owned) the same for @dest */
  const char *source;      /* (not owned) path bytes as the kernel takes them */
  const char *dest;        /* (not owned) likewise; must not exist */
  DrayCopyFlags flags;     /* */
} DrayCopyRequest;

/* What became of one request. */
typedef struct
{
  DrayOutcome outcome;
  DrayDecline decline; /* the reason when DECLINED, else DRAY_DECLINE_NONE */
  DrayStep step;       /* the place when FAILED, else DRAY_STEP_NONE */
  int error;           /* -errno when FAILED; when DECLINED the errno behind the reason or 0 */
  DrayMethod method;   /* what moved the bytes, or tried to */
  bool sparse;         /* holes of the source were left as holes */
  uint64_t bytes;      /* data moved or shared; holes do not count */
  uint64_t calls;      /* system calls that moved or shared data */
} DrayCopyReport;

/* How a caller follows a batch and stops it. */
typedef struct
{
  /* Called on the submitting thread, no lock held: bytes done (holes count), bytes in all files
   * that were opened so far. Rising; more than 10 and fewer than 60 times a second while bytes
   * move, and once at the end of a batch in which something was copied. May be NULL. */
  void (*progress_cb) (uint64_t current, uint64_t total, void *user_data);
  /* Called on any thread of the batch, at least every 50 ms: true ends it. May be NULL. */
  bool (*cancelled_cb) (void *user_data);
  void *user_data; /* (not owned) */
} DrayCopyMonitor;

/**
 * dray_engine_submit:
 * @requests: (array length=n_requests): what to copy; unchanged
 * @n_requests: may be 0
 * @monitor: (nullable): progress and cancellation for the batch as a whole
 * @reports: (array length=n_requests) (out caller-allocates): one for each request, all set
 *
 * Copies a batch of files and returns when the last is done, declined or failed. A batch of one
 * runs on the calling thread from first to last system call; a longer one also on a few threads
 * that live as long as the batch. Files are created by their final name, and a name that we could
 * not complete is removed again, but only while it still is the file that we made.
 *
 * Units: bytes.
 * Threads: any, several at once; they share the buffers and what is known of file systems.
 * Errors: each report has its own; see DrayCopyReport.
 */
void dray_engine_submit (const DrayCopyRequest *requests, size_t n_requests,
                         const DrayCopyMonitor *monitor, DrayCopyReport *reports);

/**
 * dray_decline_get_name:
 * @decline: a reason
 *
 * Returns: a short word for traces, never translated; "unknown" for a number out of range.
 */
const char *dray_decline_get_name (DrayDecline decline);

/**
 * dray_method_get_name:
 * @method: a method
 *
 * Returns: a short word for traces, never translated; "unknown" for a number out of range.
 */
const char *dray_method_get_name (DrayMethod method);
