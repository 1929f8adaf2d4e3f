/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Batches of copies, and one copy in its order.
 *
 * The model. A submission is an array of requests; every request is carried by one thread from its
 * first system call to its last and leaves one report. A batch of one runs on the thread that
 * submitted it: for a small file a handful of plain system calls is faster than any hand-over (a
 * kernel ring punts the creating and, on most file systems, the first write to a worker thread). A
 * longer batch is worked off by the submitting thread and a few helpers that are joined before
 * submit returns, so no thread outlives a call and a forked child has nothing to clean up.
 *
 * What overlapping submissions share: the buffers (dray-slab) and what is known of mounts
 * (dray-filesystem). Neither lock is ever waited for.
 *
 * One request (copy_one), and its one rule: nothing is made before everything has been looked at.
 *
 *   look      statx of the source by path: type and file system, so that no device, FIFO or foreign
 *             file system is ever opened; the destination's folder and its file system; then the
 *             source is opened and must still be the same file.                      -> DECLINED
 *   prepare   the destination is created, O_EXCL, and its file system made sure of.  -> DECLINED
 *   run       bytes (dray-transfer).                                                 -> FAILED
 *   settle    xattrs, owner, mode, times; last progress; close.                      -> FAILED
 *
 * Up to "prepare" nothing has changed on disk. After it, what fails removes the name again, if the
 * name still leads to the file that was made here.
 */
#include "config.h"
#include "engine/dray-engine.h"

#include "engine/dray-facts-private.h"
#include "engine/dray-fd-private.h"
#include "engine/dray-folder-private.h"
#include "engine/dray-metadata-private.h"
#include "engine/dray-plan-private.h"
#include "engine/dray-pulse-private.h"
#include "engine/dray-slab-private.h"
#include "engine/dray-transfer-private.h"

#include <errno.h>
#include <glib.h>

/* Two threads take 0.7 to 0.8 of one's time for the files of one folder, whose lock they share
 * (ext4 and xfs, tests/performance/README.md). */
#define MOST_THREADS 2
/* Starting a thread costs about as much as two small copies. */
#define LEAST_FOR_THREADS 16

/* From this size on the destination's folder is held open: a copy that takes long must find its
 * name again to remove it, wherever the folder has been moved to meanwhile. */
#define OPEN_FOLDER_LEAST ((uint64_t) 1 << 20)

/* One request under way. */
typedef struct
{
  const DrayCopyRequest *request; /* (not owned) */
  DrayCopyReport *report;         /* (not owned) */
  unsigned n_spare;               /* cores that this batch leaves idle */
  DrayFacts facts;
  struct statx looked;   /* the source before it was opened */
  int source_fd;         /* (owned) or -1 */
  int dest_fd;           /* (owned) or -1 */
  DrayFolder folder;     /* (owned) of the destination */
  DrayXattrs xattrs;     /* (owned) */
} DrayCopy;

static bool
decline (DrayCopy *copy, DrayDecline reason, int error)
{
  copy->report->outcome = DRAY_OUTCOME_DECLINED;
  copy->report->decline = reason;
  copy->report->error = error;
  return false;
}

static bool
fail (DrayCopy *copy, DrayStep step, int error)
{
  copy->report->outcome = DRAY_OUTCOME_FAILED;
  copy->report->step = error == -ECANCELED ? DRAY_STEP_CANCEL : step;
  copy->report->error = error;
  return false;
}

/* --- look ------------------------------------------------------------------------------------- */

/* Declined for the file system of the source, which goes for the files beside it too, unless this
 * one was reached by a symbolic link. */
static bool
refuse_source (DrayCopy *copy)
{
  if ((copy->request->flags & DRAY_COPY_NOFOLLOW) != 0)
    dray_folder_refuse (DRAY_FOLDER_SOURCE, copy->request->source);
  return decline (copy, DRAY_DECLINE_SOURCE_FILESYSTEM, 0);
}

static bool
refuse_dest (DrayCopy *copy)
{
  dray_folder_refuse (DRAY_FOLDER_DEST, copy->request->dest);
  return decline (copy, DRAY_DECLINE_DEST_FILESYSTEM, 0);
}

static bool
look_at_memory (DrayCopy *copy)
{
  if (dray_folder_is_refused (DRAY_FOLDER_DEST, copy->request->dest))
    return decline (copy, DRAY_DECLINE_DEST_FILESYSTEM, 0);
  if (dray_folder_is_refused (DRAY_FOLDER_SOURCE, copy->request->source))
    return decline (copy, DRAY_DECLINE_SOURCE_FILESYSTEM, 0);
  return true;
}

static bool
look_at_source (DrayCopy *copy)
{
  const DrayCopyRequest *request = copy->request;
  const int follow = (request->flags & DRAY_COPY_NOFOLLOW) != 0 ? AT_SYMLINK_NOFOLLOW : 0;
  /* AT_STATX_DONT_SYNC: a server behind FUSE or NFS is not asked for what we shall decline. */
  int result = dray_fd_stat (request->source_dir, request->source, follow | AT_STATX_DONT_SYNC,
                             STATX_TYPE | STATX_INO | STATX_SIZE | DRAY_FILESYSTEM_STATX,
                             &copy->looked);

  if (result != 0)
    return decline (copy, DRAY_DECLINE_SOURCE_UNREADABLE, result);

  DrayDecline reason = dray_facts_judge_type (copy->looked.stx_mode);
  if (reason != DRAY_DECLINE_NONE)
    return decline (copy, reason, 0);

  copy->facts.source_filesystem
    = dray_filesystem_find_at (request->source_dir, request->source, follow, &copy->looked);
  return copy->facts.source_filesystem->take || refuse_source (copy);
}

static bool
look_at_folder (DrayCopy *copy)
{
  const DrayCopyRequest *request = copy->request;
  int error;
  const DrayDecline reason
    = dray_folder_look (request->dest_dir, request->dest,
                        copy->looked.stx_size < OPEN_FOLDER_LEAST, &copy->folder, &error);

  copy->facts.dest_filesystem = copy->folder.filesystem;
  if (reason == DRAY_DECLINE_DEST_FILESYSTEM)
    return refuse_dest (copy);
  return reason == DRAY_DECLINE_NONE || decline (copy, reason, error);
}

static bool
open_source (DrayCopy *copy)
{
  const DrayCopyRequest *request = copy->request;
  const int follow = (request->flags & DRAY_COPY_NOFOLLOW) != 0 ? O_NOFOLLOW : 0;
  struct statx stat;

  /* O_NONBLOCK and O_NOCTTY: should the name lead to a FIFO or a terminal by now, or the file be
   * under a lease. */
  copy->source_fd
    = dray_fd_open (request->source_dir, request->source,
                    O_RDONLY | O_NONBLOCK | O_NOCTTY | O_LARGEFILE | follow, 0);
  if (copy->source_fd < 0)
    return decline (copy, DRAY_DECLINE_SOURCE_UNREADABLE, copy->source_fd);

  int result = dray_fd_stat (copy->source_fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &stat);
  if (result != 0)
    return decline (copy, DRAY_DECLINE_SOURCE_UNREADABLE, result);
  if (!dray_facts_is_same_file (&copy->looked, &stat) || !S_ISREG (stat.stx_mode))
    return decline (copy, DRAY_DECLINE_SOURCE_CHANGED, 0);

  dray_facts_set_source (&copy->facts, &stat);
  dray_metadata_list_xattrs (copy->source_fd, request->flags, &copy->xattrs);
  return true;
}

/* --- prepare ---------------------------------------------------------------------------------- */

static bool
create_dest (DrayCopy *copy)
{
  const mode_t mode
    = dray_metadata_get_create_mode (&copy->facts, copy->request->flags, &copy->xattrs);

  copy->dest_fd = dray_fd_open (copy->folder.dir, copy->folder.path,
                                O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_LARGEFILE, mode);
  if (copy->dest_fd >= 0)
    return true;

  /* Whatever the reason, nothing was made, and stock finds the words for it. */
  return decline (copy,
                  copy->dest_fd == -EEXIST ? DRAY_DECLINE_DEST_EXISTS
                                           : DRAY_DECLINE_DEST_NOT_CREATED,
                  copy->dest_fd);
}

/* Removes the destination's name if it still leads to the file that create_dest() made. */
static void
remove_dest (const DrayCopy *copy, const struct statx *made)
{
  struct statx named;
  const int result = dray_fd_stat (copy->folder.dir, copy->folder.path, AT_SYMLINK_NOFOLLOW,
                                   STATX_INO, &named);

  if (result == 0 && dray_facts_is_same_file (made, &named))
    /* When even this fails, there is nothing else that could be done about the name. */
    (void) dray_fd_unlink (copy->folder.dir, copy->folder.path);
}

/* --- run and settle --------------------------------------------------------------------------- */

static bool
run (DrayCopy *copy, DrayPulseFile *pulse, void *buffer, uint64_t *out_end)
{
  DrayTransfer transfer = {
    .source_fd = copy->source_fd,
    .dest_fd = copy->dest_fd,
    .facts = &copy->facts,
    .plan = dray_plan_transfer (&copy->facts, copy->n_spare),
    .buffer = buffer,
    .pulse = pulse,
    .report = copy->report,
  };
  int result = dray_transfer_file (&transfer, out_end);

  return result == 0 || fail (copy, DRAY_STEP_TRANSFER, result);
}

static bool
settle (DrayCopy *copy, DrayPulseFile *pulse, mode_t made_mode, uint64_t end)
{
  dray_metadata_apply (copy->source_fd, copy->dest_fd, made_mode, &copy->facts,
                       copy->request->flags, &copy->xattrs);

  /* Stock asks once more after its last progress call, so a cancel from there counts. */
  int result = dray_pulse_finish (pulse, end);
  return result == 0 || fail (copy, DRAY_STEP_CANCEL, result);
}

/* Closes both ends; the source's close cannot fail in a way that matters. */
static bool
close_ends (DrayCopy *copy)
{
  const bool silent
    = copy->facts.source_filesystem->closes && copy->facts.dest_filesystem->closes;
  int result = dray_fd_close_both (dray_fd_steal (&copy->source_fd),
                                   dray_fd_steal (&copy->dest_fd), silent);

  return result == 0 || fail (copy, DRAY_STEP_CLOSE, result);
}

static bool
fill_dest (DrayCopy *copy, DrayPulse *pulse, bool may_call, mode_t made_mode, void *buffer)
{
  DrayPulseFile pulse_file;
  uint64_t end;

  dray_pulse_begin (pulse, &pulse_file, copy->facts.size, may_call);
  return run (copy, &pulse_file, buffer, &end) && settle (copy, &pulse_file, made_mode, end) &&
         close_ends (copy);
}

/* From the moment when the name exists: it ends complete, or it ends. */
static void
complete_dest (DrayCopy *copy, DrayPulse *pulse, bool may_call, void *buffer)
{
  struct statx made;
  /* Asked before anything can go wrong: after a failed close() it could not be asked any more. */
  int result = dray_fd_stat (copy->dest_fd, "", AT_EMPTY_PATH,
                             STATX_INO | STATX_MODE | DRAY_FILESYSTEM_STATX, &made);

  if (result != 0)
    {
      /* Nothing proves what was made where, nor will it later; and a stranger's file is worth more
       * than our empty leftover. */
      (void) fail (copy, DRAY_STEP_TRANSFER, result);
      return;
    }

  const bool is_taken = dray_folder_check (&copy->folder, copy->dest_fd, &made);
  copy->facts.dest_filesystem = copy->folder.filesystem;
  copy->facts.same_device = dray_facts_is_same_device (&copy->looked, &made);
  if (!is_taken)
    (void) refuse_dest (copy);
  else if (fill_dest (copy, pulse, may_call, made.stx_mode & 07777, buffer))
    {
      copy->report->outcome = DRAY_OUTCOME_COPIED;
      return;
    }
  remove_dest (copy, &made);
}

/* --- batches ---------------------------------------------------------------------------------- */

typedef struct
{
  const DrayCopyRequest *requests; /* (not owned) */
  DrayCopyReport *reports;         /* (not owned) */
  size_t n_requests;
  unsigned n_spare; /* cores that no thread of the batch is meant for */
  size_t next;   /* (atomic) the first request that no thread has taken */
  DrayPulse pulse;
  GMutex lock;
  GCond ended;
  unsigned n_helping; /* (lock) helpers that have not ended */
} DrayBatch;

static void
copy_one (DrayBatch *batch, size_t i, bool may_call)
{
  DrayCopy copy = {
    .request = &batch->requests[i],
    .report = &batch->reports[i],
    .n_spare = batch->n_spare,
    .source_fd = -1,
    .folder = { .fd = -1 },
    .dest_fd = -1,
  };

  *copy.report = (DrayCopyReport) { 0 };
  if (look_at_memory (&copy) && look_at_source (&copy) && look_at_folder (&copy) &&
      open_source (&copy))
    {
      void *buffer = dray_slab_take ();

      if (buffer == NULL)
        (void) decline (&copy, DRAY_DECLINE_NO_MEMORY, -ENOMEM);
      else if (dray_pulse_is_cancelled (&batch->pulse))
        (void) fail (&copy, DRAY_STEP_CANCEL, -ECANCELED);
      else if (create_dest (&copy))
        complete_dest (&copy, &batch->pulse, may_call, buffer);
      dray_slab_give (buffer);
    }

  dray_metadata_clear_xattrs (&copy.xattrs);
  /* Only after a failure, when nothing can be lost any more. */
  dray_autofd_clear (&copy.dest_fd);
  dray_autofd_clear (&copy.source_fd);
  dray_folder_clear (&copy.folder);
}

static void
work_off (DrayBatch *batch, bool may_call)
{
  size_t i;

  while ((i = __atomic_fetch_add (&batch->next, 1, __ATOMIC_RELAXED)) < batch->n_requests)
    copy_one (batch, i, may_call);
}

static gpointer
help (gpointer data)
{
  DrayBatch *batch = data;

  work_off (batch, false);
  g_mutex_lock (&batch->lock);
  batch->n_helping--;
  g_cond_signal (&batch->ended);
  g_mutex_unlock (&batch->lock);

  return NULL;
}

/* Waits for the helpers' last files, which may be big, and keeps telling how they get on. */
static void
wait_for_helpers (DrayBatch *batch)
{
  g_mutex_lock (&batch->lock);
  while (batch->n_helping > 0)
    {
      (void) g_cond_wait_until (&batch->ended, &batch->lock, g_get_monotonic_time () + 20000);
      g_mutex_unlock (&batch->lock);
      dray_pulse_tell (&batch->pulse);
      g_mutex_lock (&batch->lock);
    }
  g_mutex_unlock (&batch->lock);
}

static void
submit_many (DrayBatch *batch)
{
  GThread *helpers[MOST_THREADS - 1];
  unsigned n_helpers = 0;

  g_mutex_init (&batch->lock);
  g_cond_init (&batch->ended);
  batch->n_helping = 0;
  while (n_helpers < G_N_ELEMENTS (helpers))
    {
      g_mutex_lock (&batch->lock);
      batch->n_helping++;
      g_mutex_unlock (&batch->lock);
      helpers[n_helpers] = g_thread_try_new ("gio-dray", help, batch, NULL);
      if (helpers[n_helpers] == NULL)
        {
          g_mutex_lock (&batch->lock);
          batch->n_helping--;
          g_mutex_unlock (&batch->lock);
          break; /* the submitting thread does it alone */
        }
      n_helpers++;
    }

  work_off (batch, true);
  wait_for_helpers (batch);
  for (unsigned i = 0; i < n_helpers; i++)
    (void) g_thread_join (helpers[i]);
  g_mutex_clear (&batch->lock);
  g_cond_clear (&batch->ended);
}

/* Cores that this process may use. Asked for once: it is a system call. */
static unsigned
count_cores (void)
{
  static gsize cores = 0;

  if (g_once_init_enter (&cores))
    g_once_init_leave (&cores, MAX (g_get_num_processors (), 1));
  return (unsigned) cores;
}

void
dray_engine_submit (const DrayCopyRequest *requests, size_t n_requests,
                    const DrayCopyMonitor *monitor, DrayCopyReport *reports)
{
  DrayBatch batch = { .requests = requests, .reports = reports, .n_requests = n_requests };

  dray_pulse_init (&batch.pulse, monitor, n_requests);
  if (n_requests < LEAST_FOR_THREADS)
    {
      batch.n_spare = count_cores () - 1;
      work_off (&batch, true);
    }
  else
    submit_many (&batch);
  dray_pulse_end (&batch.pulse);
}

/* --- words ------------------------------------------------------------------------------------ */

const char *
dray_decline_get_name (DrayDecline decline)
{
  static const char *const names[DRAY_N_DECLINES] = {
    [DRAY_DECLINE_NONE] = "none",
    [DRAY_DECLINE_DISABLED] = "disabled",
    [DRAY_DECLINE_NOT_LOCAL] = "not-local",
    [DRAY_DECLINE_UNKNOWN_FLAG] = "unknown-flag",
    [DRAY_DECLINE_NO_PATH] = "no-path",
    [DRAY_DECLINE_PATH_TOO_LONG] = "path-too-long",
    [DRAY_DECLINE_SOURCE_UNREADABLE] = "source-unreadable",
    [DRAY_DECLINE_DIRECTORY] = "directory",
    [DRAY_DECLINE_SYMLINK] = "symlink",
    [DRAY_DECLINE_SPECIAL_FILE] = "special-file",
    [DRAY_DECLINE_SOURCE_FILESYSTEM] = "source-filesystem",
    [DRAY_DECLINE_DEST_FOLDER] = "destination-folder",
    [DRAY_DECLINE_DEST_FILESYSTEM] = "destination-filesystem",
    [DRAY_DECLINE_SOURCE_CHANGED] = "source-changed",
    [DRAY_DECLINE_DEST_EXISTS] = "destination-exists",
    [DRAY_DECLINE_DEST_NOT_CREATED] = "destination-not-created",
    [DRAY_DECLINE_NO_MEMORY] = "no-memory",
  };

  return (size_t) decline < DRAY_N_DECLINES ? names[decline] : "unknown";
}

const char *
dray_method_get_name (DrayMethod method)
{
  static const char *const names[DRAY_N_METHODS] = {
    [DRAY_METHOD_NONE] = "none",
    [DRAY_METHOD_REFLINK] = "reflink",
    [DRAY_METHOD_COPY_RANGE] = "copy_file_range",
    [DRAY_METHOD_SEND] = "sendfile",
    [DRAY_METHOD_READ_WRITE] = "read-write",
    [DRAY_METHOD_LANES] = "lanes",
  };

  return (size_t) method < DRAY_N_METHODS ? names[method] : "unknown";
}
