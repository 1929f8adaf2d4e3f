/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* FICLONE, and the waiting before it. */
#include "config.h"
#include "engine/dray-clone-private.h"

#include "engine/dray-fd-private.h"

#include <errno.h>
#include <glib.h>

/* A piece of a source to be written out in one call. The first is 50 ms on a disk of 160 MB/s; a
 * clean file, where the calls take no time, is gone through in a few big ones. */
#define FLUSH_FIRST ((uint64_t) 8 << 20)
#define FLUSH_LEAST ((uint64_t) 1 << 20)
#define FLUSH_SHORT_US 5000
#define FLUSH_LONG_US 20000

/* Goes through the source once. What cannot be written is the clone's to report. */
static int
flush_source (DrayTransfer *transfer, bool wait)
{
  uint64_t length = FLUSH_FIRST;
  uint64_t offset = 0;

  while (offset < transfer->facts->size)
    {
      /* The clone is nothing but this waiting, so this is its progress; the end of it is not told
       * before the clone is made. */
      int result = dray_pulse_beat (transfer->pulse, wait ? offset : 0);
      const int64_t started = g_get_monotonic_time ();

      if (result != 0)
        return result;
      if (dray_fd_flush_range (transfer->source_fd, offset, length, wait) != 0)
        return 0;

      const int64_t took = g_get_monotonic_time () - started;
      offset += length;
      if (took < FLUSH_SHORT_US)
        length *= 2;
      else if (took > FLUSH_LONG_US)
        length = MAX (length / 2, FLUSH_LEAST);
    }

  return dray_pulse_beat (transfer->pulse, 0);
}

DrayAttempt
dray_clone_file (DrayTransfer *transfer, int *out_error)
{
  int result = 0;

  if (transfer->facts->size > FLUSH_FIRST)
    {
      /* All of it begun before any of it is waited for, to keep the disk's queue full. */
      result = flush_source (transfer, false);
      if (result == 0)
        result = flush_source (transfer, true);
    }
  if (result != 0)
    {
      *out_error = result;
      return DRAY_ATTEMPT_FAILED;
    }

  transfer->report->calls++;
  result = dray_fd_clone (transfer->source_fd, transfer->dest_fd);
  switch (result)
    {
    case 0:
      transfer->report->method = DRAY_METHOD_REFLINK;
      return DRAY_ATTEMPT_DONE;

    case -EXDEV:      /* another file system of the same kind */
    case -EOPNOTSUPP: /* made without reflink */
    case -ENOTTY:     /* no such ioctl */
    case -EINVAL:     /* not this pair: nodatacow, swap file (btrfs), DAX beside not DAX (xfs) */
    case -ENOSYS:     /* seccomp */
    case -EPERM:      /* seccomp; btrfs for a file that is being dropped */
      return DRAY_ATTEMPT_UNSUITED;

    default:
      /* ENOSPC, EDQUOT, EIO, ETXTBSY, ENOMEM: stock goes on to copying after every error, and
       * so do we; but some extents may already be in place. */
      result = dray_fd_truncate (transfer->dest_fd, 0);
      if (result == 0)
        return DRAY_ATTEMPT_UNSUITED;
      *out_error = result;
      return DRAY_ATTEMPT_FAILED;
    }
}
