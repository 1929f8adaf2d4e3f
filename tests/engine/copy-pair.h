/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A source and a destination on real files, opened and looked at as the engine does it. */
#pragma once

#include "engine/dray-facts-private.h"
#include "engine/dray-fd-private.h"
#include "engine/dray-slab-private.h"
#include "engine/dray-transfer-private.h"

#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>

/* One stretch of a file that is written; what lies between is left as a hole. */
typedef struct
{
  uint64_t offset; /* bytes */
  uint64_t length; /* bytes */
} DataRange;

typedef struct
{
  char *folder;      /* (owned) */
  char *source_path; /* (owned) */
  char *dest_path;   /* (owned) */
  int source_fd;     /* (owned) */
  int dest_fd;       /* (owned) */
  DrayFacts facts;
  DrayPulse pulse;
  DrayPulseFile pulse_file;
  DrayCopyReport report;
  DrayTransfer transfer;
} CopyPair;

/* A new folder below the one that the environment names, or NULL after the test was skipped (or,
 * where nothing may be missing, failed). */
static inline char *
copy_pair_make_folder (const char *variable)
{
  const char *parent = g_getenv (variable);

  if (parent == NULL)
    {
      g_autofree char *why = g_strdup_printf ("%s is not set", variable);

      if (g_strcmp0 (g_getenv ("DRAY_TEST_REQUIRE"), "1") == 0)
        g_test_fail ();
      else
        g_test_skip (why);
      return NULL;
    }

  char *folder = g_build_filename (parent, "unit.XXXXXX", NULL);
  g_assert_nonnull (g_mkdtemp (folder));
  return folder;
}

/* Bytes that differ from place to place, so that a misplaced block shows. */
static inline void
copy_pair_fill (char *bytes, size_t length, uint64_t offset)
{
  for (size_t i = 0; i < length; i++)
    {
      const uint64_t at = offset + i;

      bytes[i] = (char) (1 + (at * 31 + (at >> 8) * 17 + (at >> 16) * 13) % 251);
    }
}

static inline void
copy_pair_write_range (int fd, DataRange range)
{
  static char bytes[64 << 10];

  for (uint64_t done = 0; done < range.length;)
    {
      const size_t length = (size_t) MIN ((uint64_t) sizeof bytes, range.length - done);

      copy_pair_fill (bytes, length, range.offset + done);
      g_assert_cmpint (pwrite (fd, bytes, length, (off_t) (range.offset + done)), ==,
                       (ssize_t) length);
      done += length;
    }
}

static inline void
copy_pair_write_file (const char *path, uint64_t size, const DataRange *ranges, size_t n_ranges)
{
  int fd = open (path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

  g_assert_cmpint (fd, >=, 0);
  g_assert_no_errno (ftruncate (fd, (off_t) size));
  for (size_t i = 0; i < n_ranges; i++)
    copy_pair_write_range (fd, ranges[i]);
  g_assert_no_errno (close (fd));
}

static inline void
copy_pair_write_dense (const char *path, uint64_t size)
{
  copy_pair_write_file (path, size, &(DataRange) { 0, size }, 1);
}

static inline void
copy_pair_assert_same_bytes (const char *one, const char *other)
{
  static char left[64 << 10], right[64 << 10];
  dray_autofd a = open (one, O_RDONLY | O_CLOEXEC);
  dray_autofd b = open (other, O_RDONLY | O_CLOEXEC);
  ssize_t got;
  off_t at = 0;

  g_assert_cmpint (a, >=, 0);
  g_assert_cmpint (b, >=, 0);
  do
    {
      got = pread (a, left, sizeof left, at);
      g_assert_cmpint (pread (b, right, sizeof right, at), ==, got);
      g_assert_cmpint (got, >=, 0);
      if (got > 0)
        g_assert_cmpint (memcmp (left, right, (size_t) got), ==, 0);
      at += got;
    }
  while (got > 0);
}

/* The ranges with data as text, "0-65536 131072-196608": easy to compare and to read in a log. */
static inline char *
copy_pair_describe_data (const char *path)
{
  g_autoptr (GString) text = g_string_new (NULL);
  dray_autofd fd = open (path, O_RDONLY | O_CLOEXEC);
  off_t at = 0;

  g_assert_cmpint (fd, >=, 0);
  while ((at = lseek (fd, at, SEEK_DATA)) >= 0)
    {
      const off_t end = lseek (fd, at, SEEK_HOLE);

      g_assert_cmpint (end, >, at);
      g_string_append_printf (text, "%s%ld-%ld", text->len > 0 ? " " : "", (long) at, (long) end);
      at = end;
    }
  g_assert_cmpint (errno, ==, ENXIO);
  return g_string_free (g_steal_pointer (&text), FALSE);
}

static inline void
copy_pair_assert_same_holes (const char *one, const char *other)
{
  g_autofree char *left = copy_pair_describe_data (one);
  g_autofree char *right = copy_pair_describe_data (other);

  g_assert_cmpstr (left, ==, right);
}

/* @folder: (transfer full): the source is to be written to @pair->source_path, then opened. */
static inline void
copy_pair_init (CopyPair *pair, char *folder)
{
  *pair = (CopyPair) {
    .folder = folder,
    .source_path = g_build_filename (folder, "source", NULL),
    .dest_path = g_build_filename (folder, "dest", NULL),
    .source_fd = -1,
    .dest_fd = -1,
  };
}

/* @dest_folder: (nullable): elsewhere. @monitor: (nullable): must outlive @pair. */
static inline void
copy_pair_open (CopyPair *pair, const char *dest_folder, const DrayCopyMonitor *monitor)
{
  struct statx source, dest;

  if (dest_folder != NULL)
    {
      g_free (pair->dest_path);
      pair->dest_path = g_build_filename (dest_folder, "dest", NULL);
    }
  pair->source_fd = open (pair->source_path, O_RDONLY | O_CLOEXEC);
  g_assert_cmpint (pair->source_fd, >=, 0);
  pair->dest_fd = open (pair->dest_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  g_assert_cmpint (pair->dest_fd, >=, 0);

  const unsigned mask = STATX_BASIC_STATS | DRAY_FILESYSTEM_STATX;
  g_assert_cmpint (dray_fd_stat (pair->source_fd, "", AT_EMPTY_PATH, mask, &source), ==, 0);
  g_assert_cmpint (dray_fd_stat (pair->dest_fd, "", AT_EMPTY_PATH, mask, &dest), ==, 0);
  dray_facts_set_source (&pair->facts, &source);
  pair->facts.same_device = dray_facts_is_same_device (&source, &dest);
  pair->facts.source_filesystem = dray_filesystem_find (pair->source_fd, &source);
  pair->facts.dest_filesystem = dray_filesystem_find (pair->dest_fd, &dest);

  dray_pulse_init (&pair->pulse, monitor, 1);
  dray_pulse_begin (&pair->pulse, &pair->pulse_file, pair->facts.size, true);
  pair->transfer = (DrayTransfer) {
    .source_fd = pair->source_fd,
    .dest_fd = pair->dest_fd,
    .facts = &pair->facts,
    .plan = dray_plan_transfer (&pair->facts, 1),
    .buffer = dray_slab_take (),
    .pulse = &pair->pulse_file,
    .report = &pair->report,
  };
  g_assert_nonnull (pair->transfer.buffer);
}

/* Plans one method; lanes from a length that tests can afford. */
static inline void
copy_pair_plan (CopyPair *pair, DrayMethod method, bool seek_holes)
{
  const bool lanes = method == DRAY_METHOD_LANES;

  pair->transfer.plan = (DrayPlan) {
    .method = lanes ? DRAY_METHOD_COPY_RANGE : method,
    .lanes_least = lanes ? (uint64_t) 32 << 20 : 0,
    .seek_holes = seek_holes,
  };
}

/* Closes and removes everything. */
static inline void
copy_pair_clear (CopyPair *pair)
{
  dray_slab_give (pair->transfer.buffer);
  dray_autofd_clear (&pair->source_fd);
  dray_autofd_clear (&pair->dest_fd);
  (void) g_unlink (pair->source_path);
  (void) g_unlink (pair->dest_path);
  g_assert_no_errno (g_rmdir (pair->folder));
  g_free (pair->folder);
  g_free (pair->source_path);
  g_free (pair->dest_path);
}
