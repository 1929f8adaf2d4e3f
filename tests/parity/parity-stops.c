/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copies that end in the middle: cancelled, or out of room.
 *
 * BETTER, asserted in all of them: stock leaves a partial file under the final name, the module
 * nothing.
 */
#include "config.h"
#include "tests/parity/parity-run.h"

#include "tests/support/tree-build.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIB ((uint64_t) 1 << 20)

static void
prepare_size (ParityPlace *place, gconstpointer data)
{
  const uint64_t *size = data;

  tree_write (place->source, *size, 0640);
}

static void
prepare_conflict (ParityPlace *place, gconstpointer data)
{
  prepare_size (place, data);
  tree_write (place->dest, 100, 0600);
}

/* --- cancelling ------------------------------------------------------------------------------- */

static const uint64_t cancel_sizes[] = { 0, 5000, 3 * MIB, 40 * MIB };
static const unsigned cancel_flags[] = {
  G_FILE_COPY_NONE,
  G_FILE_COPY_OVERWRITE | G_FILE_COPY_NOFOLLOW_SYMLINKS,
  G_FILE_COPY_ALL_METADATA,
};

static void
compare_cancel (gconstpointer data, ParityCancel cancel, ParityOutcome expect)
{
  const char *base = parity_get_base (data);
  ParityCall call = PARITY_CALL (base, base);

  if (base == NULL)
    return;
  call.cancel = cancel;
  call.expect = expect;
  call.prepare = prepare_size;
  call.stock_leaves_partial = expect == PARITY_FAILED;
  for (size_t i = 0; i < G_N_ELEMENTS (cancel_sizes); i++)
    for (size_t j = 0; j < G_N_ELEMENTS (cancel_flags); j++)
      {
        g_autofree char *name = g_strdup_printf ("%" G_GUINT64_FORMAT " bytes", cancel_sizes[i]);
        ParityRun stock, ours;

        call.name = name;
        call.data = &cancel_sizes[i];
        call.flags = cancel_flags[j];
        parity_run (&call, false, &stock);
        parity_run (&call, true, &ours);
        if (cancel != PARITY_CANCEL_NEVER)
          parity_expect (&call,
                         g_error_matches (ours.error, G_IO_ERROR, G_IO_ERROR_CANCELLED), "%s",
                         ours.status);
        parity_compare_runs (&call, &stock, &ours);
        parity_run_clear (&stock);
        parity_run_clear (&ours);
      }
}

static void
test_never_cancelled (gconstpointer data)
{
  compare_cancel (data, PARITY_CANCEL_NEVER, PARITY_TAKEN);
}

static void
test_cancelled_before (gconstpointer data)
{
  compare_cancel (data, PARITY_CANCEL_BEFORE, PARITY_NOT_ASKED);
}

static void
test_cancelled_first (gconstpointer data)
{
  compare_cancel (data, PARITY_CANCEL_FIRST, PARITY_FAILED);
}

static void
test_cancelled_last (gconstpointer data)
{
  compare_cancel (data, PARITY_CANCEL_LAST, PARITY_FAILED);
}

/* A declined call stays stock's, its cancelling too. */
static void
test_cancelled_conflict (gconstpointer data)
{
  static const uint64_t size = 3 * MIB;
  const char *base = parity_get_base (data);
  ParityCall call = PARITY_CALL (base, base);

  if (base == NULL)
    return;
  call.prepare = prepare_conflict;
  call.data = &size;
  call.expect = PARITY_DECLINED;
  call.cancel = PARITY_CANCEL_FIRST;
  parity_compare (&call);
  call.cancel = PARITY_CANCEL_LAST;
  parity_compare (&call);
}

/* --- out of room ------------------------------------------------------------------------------ */

static void
fill_small_tmpfs (ParityPlace *place, gconstpointer data)
{
  prepare_size (place, data);
  g_assert_cmpint (mount ("tmpfs", place->to, "tmpfs", 0, "size=1m"), ==, 0);
}

static void
unmount_tmpfs (ParityPlace *place, gconstpointer data G_GNUC_UNUSED)
{
  g_assert_cmpint (umount2 (place->to, MNT_DETACH), ==, 0);
}

static void
compare_full (ParityCall *call)
{
  static const uint64_t sizes[] = { 3 * MIB, 40 * MIB };
  static const unsigned flags[] = { G_FILE_COPY_NONE, G_FILE_COPY_OVERWRITE,
                                    G_FILE_COPY_ALL_METADATA | G_FILE_COPY_NOFOLLOW_SYMLINKS };

  call->expect = PARITY_FAILED;
  for (size_t i = 0; i < G_N_ELEMENTS (sizes); i++)
    for (size_t j = 0; j < G_N_ELEMENTS (flags); j++)
      {
        g_autofree char *name = g_strdup_printf ("%" G_GUINT64_FORMAT " bytes", sizes[i]);
        ParityRun stock, ours;

        call->name = name;
        call->data = &sizes[i];
        call->flags = flags[j];
        /* With OVERWRITE stock too wrote under the final name, which was new. */
        call->stock_leaves_partial = true;
        parity_run (call, false, &stock);
        parity_run (call, true, &ours);
        parity_expect (call, g_error_matches (ours.error, G_IO_ERROR, G_IO_ERROR_NO_SPACE), "%s",
                       ours.status);
        parity_compare_runs (call, &stock, &ours);
        parity_run_clear (&stock);
        parity_run_clear (&ours);
      }
}

static void
test_full_tmpfs (gconstpointer data)
{
  const char *base = parity_get_base (data);
  ParityCall call = PARITY_CALL (base, base);

  if (base == NULL || parity_skip_unless_root ("mounts"))
    return;
  call.prepare = fill_small_tmpfs;
  call.finish = unmount_tmpfs;
  compare_full (&call);
}

/* A file without a name that holds the room until it is closed. */
static int open_filler = -1;

/* Allocates all of a file system but some 2 MiB to it. */
static void
fill_filesystem (ParityPlace *place, gconstpointer data)
{
  g_autofree char *kept = g_build_filename (place->to, "kept-free", NULL);
  g_autofree char *filler = g_build_filename (place->to, "filler", NULL);
  off_t end = 0;

  prepare_size (place, data);
  tree_fill (kept, 0, 2 * MIB);
  int fd = open (filler, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  g_assert_cmpint (fd, >=, 0);
  g_assert_cmpint (syncfs (fd), ==, 0);
  for (off_t chunk = 64 * (off_t) MIB; chunk >= 4096;)
    if (fallocate (fd, 0, end, chunk) == 0)
      end += chunk;
    else
      {
        g_assert_cmpint (errno, ==, ENOSPC);
        chunk /= 2;
      }
  g_assert_cmpint (unlink (kept), ==, 0);
  /* Freed only once the transaction is through. */
  g_assert_cmpint (syncfs (fd), ==, 0);
  /* How much room there was is no part of the comparison. */
  g_assert_cmpint (unlink (filler), ==, 0);
  open_filler = fd;
}

static void
empty_filesystem (ParityPlace *place G_GNUC_UNUSED, gconstpointer data G_GNUC_UNUSED)
{
  g_assert_cmpint (syncfs (open_filler), ==, 0);
  (void) close (open_filler);
}

static void
test_full_filesystem (gconstpointer data)
{
  const char *base = parity_get_base (data);
  const char *source_base = g_getenv ("DRAY_TEST_TMPFS");
  ParityCall call = PARITY_CALL (source_base, base);

  if (base == NULL)
    return;
  if (source_base == NULL || g_strcmp0 (source_base, base) == 0)
    {
      g_test_skip ("a tmpfs is filled in another test");
      return;
    }
  call.prepare = fill_filesystem;
  call.finish = empty_filesystem;
  compare_full (&call);
}

int
main (int argc, char *argv[])
{
  parity_init (&argc, &argv);

  parity_add ("stops", "never-cancelled", test_never_cancelled);
  parity_add ("stops", "cancelled-before-the-call", test_cancelled_before);
  parity_add ("stops", "cancelled-by-the-first-progress-call", test_cancelled_first);
  parity_add ("stops", "cancelled-by-the-last-progress-call", test_cancelled_last);
  parity_add ("stops", "cancelled-conflict", test_cancelled_conflict);
  parity_add ("stops", "full-tmpfs-from", test_full_tmpfs);
  parity_add ("stops", "full-file-system", test_full_filesystem);

  return g_test_run ();
}
