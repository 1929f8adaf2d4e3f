/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* FICLONE, and the waiting before it. */
#include "config.h"
#include "engine/dray-clone-private.h"

#include "engine/dray-fd-private.h"

#include <errno.h>

/* Written out at once at the most: 8 MiB are 50 ms on a disk of 160 MB/s. */
#define FLUSH_BYTES ((uint64_t) 8 << 20)

/* Writes out the dirty pages of the source. What cannot be written is the clone's to report. */
static int
flush_source (DrayTransfer *transfer)
{
  for (uint64_t offset = 0; offset < transfer->facts->size; offset += FLUSH_BYTES)
    {
      /* The clone is nothing but this waiting, so this is its progress; the end of it is not told
       * before the clone is made. */
      int result = dray_pulse_beat (transfer->pulse, offset);

      if (result != 0)
        return result;
      if (dray_fd_flush_range (transfer->source_fd, offset, FLUSH_BYTES) != 0)
        return 0;
    }

  return dray_pulse_beat (transfer->pulse, 0);
}

DrayAttempt
dray_clone_file (DrayTransfer *transfer, int *out_error)
{
  int result = 0;

  if (transfer->facts->size > FLUSH_BYTES)
    result = flush_source (transfer);
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
