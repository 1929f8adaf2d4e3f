/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Bytes from one descriptor to another.
 *
 * read_write_range() is the floor that everything else stands on: the other methods hand over to it
 * wherever the kernel says no or says "0 bytes", since only a read that returns 0 is the end of a
 * file (copy_file_range() also returns 0 for files of procfs, and on kernels 5.3 to 5.18 for more).
 * A read that returns less than asked is not the end either: after an error in the middle of a
 * range the next read tells it.
 */
#include "config.h"
#include "engine/dray-transfer-private.h"

#include "engine/dray-clone-private.h"
#include "engine/dray-extents-private.h"
#include "engine/dray-fd-private.h"
#include "engine/dray-lanes-private.h"
#include "engine/dray-slab-private.h"

#include <errno.h>
#include <glib.h>

/* Bounds of one call of an in-kernel method, and how long one may take. The first is small enough
 * for a disk of 20 MB/s (50 ms for 1 MiB), the last large enough that the calls do not count (4 ms
 * at 4 GiB/s); in between the size follows the time that the last one took. */
#define CHUNK_FIRST ((size_t) 1 << 20)
#define CHUNK_LEAST ((size_t) 128 << 10)
#define CHUNK_MOST ((size_t) 16 << 20)
#define CHUNK_SHORT_US 5000
#define CHUNK_LONG_US 20000

/* A source that yields its first 16 MiB at more than 1 GiB/s is in memory, or on a disk to which it
 * does not matter. */
#define PROBE_BYTES ((uint64_t) 16 << 20)
#define PROBE_SHORT_US 16000

static void
count_moved (DrayTransfer *transfer, DrayMethod method, uint64_t bytes, uint64_t calls)
{
  transfer->report->method = method;
  transfer->report->bytes += bytes;
  transfer->report->calls += calls;
}

int
dray_transfer_chunk (const DrayTransfer *transfer, void *buffer, uint64_t *offset, size_t length,
                     uint64_t *out_calls)
{
  const ssize_t got = dray_fd_read (transfer->source_fd, buffer, length, *offset);
  const char *bytes = buffer;

  if (got < 0)
    return (int) got;

  *out_calls += 1;
  for (ssize_t left = got; left > 0;)
    {
      ssize_t written = dray_fd_write (transfer->dest_fd, bytes, (size_t) left, *offset);

      if (written < 0)
        return (int) written;
      if (written == 0)
        return -EIO; /* write(2) does not do this to a regular file; never spin on it */
      *out_calls += 1;
      *offset += (uint64_t) written;
      bytes += written;
      left -= written;
    }

  return 0;
}

static int
read_write_range (DrayTransfer *transfer, uint64_t *offset, uint64_t end)
{
  while (*offset < end)
    {
      const size_t wanted = (size_t) MIN ((uint64_t) DRAY_SLAB_BYTES, end - *offset);
      const uint64_t before = *offset;
      uint64_t calls = 0;
      int result = dray_transfer_chunk (transfer, transfer->buffer, offset, wanted, &calls);

      if (*offset > before)
        count_moved (transfer, DRAY_METHOD_READ_WRITE, *offset - before, calls);
      if (result != 0 || *offset == before)
        return result;

      /* A small file is done in one read: it ended where statx() said, and there was room for more
       * in the buffer. Spares the read that would return 0. */
      if (*offset - before < wanted && *offset == transfer->facts->size)
        return 0;

      result = dray_pulse_beat (transfer->pulse, *offset);
      if (result != 0)
        return result;
    }

  return 0;
}

static void
adapt_chunk (DrayTransfer *transfer, int64_t took_us)
{
  if (took_us < CHUNK_SHORT_US)
    transfer->chunk = MIN (transfer->chunk * 2, CHUNK_MOST);
  else if (took_us > CHUNK_LONG_US)
    transfer->chunk = MAX (transfer->chunk / 2, CHUNK_LEAST);
}

/* Whether an in-kernel method says that it is not made for this pair. Every byte that it has moved
 * is in place, so going on from there by another method is safe; real errors (EIO, ENOSPC, EDQUOT,
 * ENOMEM) end the copy instead: retrying those by other means has cost data (coreutils 9.2). */
static bool
is_unsuited (ssize_t result)
{
  switch (result)
    {
    case -EXDEV:
    case -EOPNOTSUPP:
    case -ENOSYS:
    case -EINVAL:  /* a swap file; a kernel that cannot for this pair */
    case -EPERM:   /* seccomp */
    case -ETXTBSY: /* an active swap file, which can be read all the same */
      return true;
    default:
      return false;
    }
}

static ssize_t
move_in_kernel (const DrayTransfer *transfer, uint64_t offset, size_t length)
{
  if (transfer->plan.method == DRAY_METHOD_COPY_RANGE)
    return dray_fd_copy_range (transfer->source_fd, offset, transfer->dest_fd, offset, length);
  return dray_fd_send (transfer->source_fd, offset, transfer->dest_fd, length);
}

/* By copy_file_range() or sendfile(), if one of them is planned. Returns 0 also where it will not
 * go on; @offset tells how far it got. */
static int
in_kernel_range (DrayTransfer *transfer, uint64_t *offset, uint64_t end)
{
  if (transfer->plan.method == DRAY_METHOD_READ_WRITE || *offset >= end)
    return 0;
  if (transfer->chunk == 0)
    transfer->chunk = CHUNK_FIRST;
  if (transfer->plan.method == DRAY_METHOD_SEND && *offset > 0)
    {
      int64_t place = dray_fd_seek (transfer->dest_fd, *offset, SEEK_SET);

      if (place < 0)
        return (int) place;
    }

  while (*offset < end)
    {
      const int64_t started = g_get_monotonic_time ();
      const size_t length = (size_t) MIN ((uint64_t) transfer->chunk, end - *offset);
      const ssize_t moved = move_in_kernel (transfer, *offset, length);

      if (is_unsuited (moved))
        transfer->plan.method = DRAY_METHOD_READ_WRITE;
      if (moved == 0 || is_unsuited (moved))
        return 0;
      if (moved < 0)
        return (int) moved;

      count_moved (transfer, transfer->plan.method, (uint64_t) moved, 1);
      *offset += (uint64_t) moved;
      if (*offset == end)
        return 0;

      adapt_chunk (transfer, g_get_monotonic_time () - started);
      int result = dray_pulse_beat (transfer->pulse, *offset);
      if (result != 0)
        return result;
    }

  return 0;
}

/* Copies the beginning of a long range, and the rest of it in two lanes if that came out of memory.
 * A disk is read best by one reader whose next step can be foreseen. */
static int
probed_lanes_range (DrayTransfer *transfer, uint64_t *offset, uint64_t end)
{
  const uint64_t probe_end = *offset + PROBE_BYTES;
  const int64_t started = g_get_monotonic_time ();
  int result = in_kernel_range (transfer, offset, probe_end);

  if (result == 0)
    result = read_write_range (transfer, offset, probe_end);
  if (result == 0 && *offset == probe_end && g_get_monotonic_time () - started < PROBE_SHORT_US)
    result = dray_lanes_transfer (transfer, offset, end);
  return result;
}

int
dray_transfer_range (DrayTransfer *transfer, uint64_t *offset, uint64_t end)
{
  /* What comes after the end of the file as it was opened is read_write_range()'s. */
  const uint64_t known_end = MIN (end, transfer->facts->size);
  const uint64_t before = *offset;
  int result = 0;

  if (transfer->plan.lanes_least > 0 && *offset < known_end &&
      known_end - *offset >= transfer->plan.lanes_least)
    result = probed_lanes_range (transfer, offset, known_end);
  if (result == 0)
    result = in_kernel_range (transfer, offset, known_end);

  if (result != 0 || *offset == end)
    return result;
  /* All there was when the file was opened. A short one is done; of a longer one the caller asks
   * for what has come since (dray_extents_transfer()). */
  if (*offset > before && *offset == transfer->facts->size)
    return 0;
  return read_write_range (transfer, offset, end);
}

int
dray_transfer_file (DrayTransfer *transfer, uint64_t *out_end)
{
  int result;

  if (transfer->plan.try_clone)
    switch (dray_clone_file (transfer, &result))
      {
      case DRAY_ATTEMPT_DONE:
        transfer->report->bytes = transfer->facts->size;
        *out_end = transfer->facts->size;
        return 0;
      case DRAY_ATTEMPT_FAILED:
        return result;
      case DRAY_ATTEMPT_UNSUITED:
        break;
      }

  if (transfer->plan.seek_holes)
    return dray_extents_transfer (transfer, out_end);

  uint64_t offset = 0;
  result = dray_transfer_range (transfer, &offset, UINT64_MAX);
  if (result == 0)
    *out_end = offset;
  return result;
}
