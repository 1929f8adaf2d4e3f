/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Ranges of data by SEEK_DATA and SEEK_HOLE.
 *
 * The file may change between two calls, so nothing is taken for granted: a range is copied to its
 * end or to the end of the file, and the next question is asked from where the copy got to, which
 * always moves on.
 */
#include "config.h"
#include "engine/dray-extents-private.h"

#include "engine/dray-fd-private.h"

#include <errno.h>

/* Ranges that turn out to have no data, before the source is taken to end there. */
#define EMPTY_MOST 3

/* Finds the next range of data at or after @offset. 0: @out_start and @out_end are set; 1: nothing
 * but a hole, if anything, comes after; else -errno. */
static int
find_data (int fd, uint64_t offset, uint64_t *out_start, uint64_t *out_end)
{
  int64_t start = dray_fd_seek (fd, offset, SEEK_DATA);

  if (start == -ENXIO)
    return 1;
  if (start < 0 && start != -EINVAL && start != -EOPNOTSUPP)
    return (int) start;

  int64_t end = start < 0 ? start : dray_fd_seek (fd, (uint64_t) start, SEEK_HOLE);
  if (start < 0 || end == -EINVAL || end == -EOPNOTSUPP)
    {
      /* It cannot tell. All is data. */
      *out_start = start < 0 ? offset : (uint64_t) start;
      *out_end = UINT64_MAX;
      return 0;
    }
  if (end == -ENXIO)
    return 1; /* truncated between the two calls */
  if (end < 0)
    return (int) end;

  *out_start = (uint64_t) start;
  *out_end = (uint64_t) end;
  return 0;
}

/* Finds how long the source is when no data comes after @offset: @out_hole_end is set, 0 returned.
 * 1: there is data after all. The length is asked for first: one that grew after it was asked for
 * data would add zeros that the source never had. */
static int
find_end (int fd, uint64_t offset, uint64_t *out_hole_end)
{
  uint64_t start = offset, end = offset;
  struct statx stat;
  int result = dray_fd_stat (fd, "", AT_EMPTY_PATH, STATX_SIZE, &stat);

  if (result != 0)
    return result;
  if (stat.stx_size > offset)
    {
      result = find_data (fd, offset, &start, &end);
      if (result <= 0)
        return result < 0 ? result : 1;
    }
  *out_hole_end = stat.stx_size;
  return 0;
}

/* Gives the destination its length at the end. @length is what it has now, @written where the data
 * ends, @hole_end where the source was seen to end, perhaps in a hole. */
static int
set_length (DrayTransfer *transfer, uint64_t written, uint64_t hole_end, uint64_t length,
            uint64_t *out_end)
{
  /* A source cut shorter than what we have copied of it counts as copied, as in stock. */
  *out_end = MAX (written, hole_end);
  if (*out_end > written)
    transfer->report->sparse = true;

  return *out_end == MAX (written, length) ? 0 : dray_fd_truncate (transfer->dest_fd, *out_end);
}

int
dray_extents_transfer (DrayTransfer *transfer, uint64_t *out_end)
{
  const DrayFacts *facts = transfer->facts;
  uint64_t offset = 0;
  uint64_t length = 0;
  unsigned n_empty = 0;

  /* Where holes are to be expected the destination has its length from the beginning: xfs gives a
   * file that grows blocks beyond its end, and a hole that comes to lie over them is none. */
  if (facts->allocated < facts->size)
    {
      int result = dray_fd_truncate (transfer->dest_fd, facts->size);

      if (result != 0)
        return result;
      length = facts->size;
    }

  while (true)
    {
      uint64_t start = offset, end = offset, hole_end = offset;
      int result = find_data (transfer->source_fd, offset, &start, &end);

      if (result > 0)
        {
          result = find_end (transfer->source_fd, offset, &hole_end);
          if (result == 0)
            return set_length (transfer, offset, hole_end, length, out_end);
          if (result > 0)
            continue;
        }
      if (result < 0)
        return result;

      const uint64_t written = offset;
      offset = start;
      /* May end before @end when the file was cut meanwhile; then the next question tells. */
      result = dray_transfer_range (transfer, &offset, end);
      if (result != 0)
        return result;
      if (offset == start)
        {
          /* Nothing came: cut, perhaps to grow again. Asked once more, but never for ever. */
          result = find_end (transfer->source_fd, start, &hole_end);
          if (result < 0)
            return result;
          if (result == 0 || ++n_empty == EMPTY_MOST)
            return set_length (transfer, written, MIN (hole_end, start), length, out_end);
          offset = written;
          continue;
        }
      if (start > written)
        transfer->report->sparse = true;
      if (end == UINT64_MAX)
        return set_length (transfer, offset, offset, length, out_end);
    }
}
