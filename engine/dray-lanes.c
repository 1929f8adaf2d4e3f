/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Two lanes over one range.
 *
 * The range is handed out in chunks of one buffer, in order. Each lane takes the next one, copies
 * it whole and takes another. The calling thread's lane beats the pulse after each of its chunks;
 * the other lane waits when it would get more than AHEAD_MOST in front of that.
 *
 * A lane that meets an error or the early end of the source says so in the shared state, and both
 * stop taking chunks. All of the shared state is under one lock, taken once for each chunk.
 */
#include "config.h"
#include "engine/dray-lanes-private.h"

#include "engine/dray-fd-private.h"
#include "engine/dray-slab-private.h"

#include <glib.h>

/* 4 ms of copying at 4 GiB/s; a pause in a progress callback stops everything within that. */
#define AHEAD_MOST ((uint64_t) 16 << 20)

typedef struct
{
  const DrayTransfer *transfer; /* (not owned) descriptors only */
  uint64_t end;                 /* bytes, of the range */
  GMutex lock;
  GCond moved;         /* the calling lane took a chunk, or it is over */
  uint64_t next;       /* (lock) first byte that no lane has taken */
  uint64_t caller_at;  /* (lock) the calling lane's last chunk */
  uint64_t cut_at;     /* (lock) where the source ended early; else @end */
  uint64_t done;       /* (lock) bytes in place */
  uint64_t calls;      /* (lock) system calls that moved them */
  int error;           /* (lock) the first one, -errno */
} Lanes;

static bool
is_over (const Lanes *lanes)
{
  return lanes->error != 0 || lanes->cut_at < lanes->end || lanes->next >= lanes->end;
}

/* Takes the next chunk. Returns its length in bytes, 0 when there is nothing left to do. */
static size_t
take_chunk (Lanes *lanes, bool is_caller, uint64_t *out_offset)
{
  size_t length = 0;

  g_mutex_lock (&lanes->lock);
  while (!is_caller && !is_over (lanes) && lanes->next > lanes->caller_at + AHEAD_MOST)
    g_cond_wait (&lanes->moved, &lanes->lock);
  if (!is_over (lanes))
    {
      length = (size_t) MIN ((uint64_t) DRAY_SLAB_BYTES, lanes->end - lanes->next);
      *out_offset = lanes->next;
      lanes->next += length;
      if (is_caller)
        lanes->caller_at = *out_offset;
    }
  if (is_caller)
    g_cond_signal (&lanes->moved);
  g_mutex_unlock (&lanes->lock);

  return length;
}

/* Adds what became of a chunk, copied from @offset to @reached. Returns what is in place so far. */
static uint64_t
give_result (Lanes *lanes, uint64_t offset, uint64_t reached, uint64_t chunk_end, uint64_t calls,
             int error)
{
  g_mutex_lock (&lanes->lock);
  lanes->done += reached - offset;
  lanes->calls += calls;
  if (lanes->error == 0)
    lanes->error = error;
  if (error == 0 && reached < chunk_end)
    lanes->cut_at = MIN (lanes->cut_at, reached);
  uint64_t done = lanes->done;
  if (lanes->error != 0)
    g_cond_signal (&lanes->moved);
  g_mutex_unlock (&lanes->lock);

  return done;
}

/* Copies chunks until there are none left. @pulse is NULL on the other lane. */
static void
run_lane (Lanes *lanes, void *buffer, DrayPulseFile *pulse, uint64_t base)
{
  uint64_t offset;
  size_t length;

  while ((length = take_chunk (lanes, pulse != NULL, &offset)) > 0)
    {
      const uint64_t chunk_end = offset + length;
      uint64_t reached = offset, calls = 0;
      int error = 0;

      while (error == 0 && reached < chunk_end)
        {
          const uint64_t before = reached;

          error = dray_transfer_chunk (lanes->transfer, buffer, &reached,
                                       (size_t) (chunk_end - reached), &calls);
          if (reached == before)
            break; /* the end of the source, or an error */
        }

      const uint64_t done = give_result (lanes, offset, reached, chunk_end, calls, error);
      if (pulse != NULL && error == 0)
        {
          error = dray_pulse_beat (pulse, base + done);
          if (error != 0)
            (void) give_result (lanes, 0, 0, 0, 0, error);
        }
    }
}

static gpointer
run_other_lane (gpointer data)
{
  Lanes *lanes = data;
  void *buffer = dray_slab_take ();

  /* Without a buffer the calling lane does it alone. */
  if (buffer != NULL)
    run_lane (lanes, buffer, NULL, 0);
  dray_slab_give (buffer);

  return NULL;
}

int
dray_lanes_transfer (DrayTransfer *transfer, uint64_t *offset, uint64_t end)
{
  Lanes lanes = {
    .transfer = transfer,
    .end = end,
    .next = *offset,
    .caller_at = *offset,
    .cut_at = end,
  };

  g_mutex_init (&lanes.lock);
  g_cond_init (&lanes.moved);
  GThread *other = g_thread_try_new ("gio-dray", run_other_lane, &lanes, NULL);
  run_lane (&lanes, transfer->buffer, transfer->pulse, *offset);
  if (other != NULL)
    (void) g_thread_join (other);
  g_mutex_clear (&lanes.lock);
  g_cond_clear (&lanes.moved);

  transfer->report->method = DRAY_METHOD_LANES;
  transfer->report->bytes += lanes.done;
  transfer->report->calls += lanes.calls;
  if (lanes.error != 0)
    return lanes.error;

  *offset = lanes.cut_at;
  /* The other lane may have written chunks behind the cut before it was made. */
  return lanes.cut_at < end ? dray_fd_truncate (transfer->dest_fd, lanes.cut_at) : 0;
}
