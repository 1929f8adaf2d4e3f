/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Every combination of GFileCopyFlags. */
#include "config.h"
#include "tests/parity/parity-run.h"

#include "tests/support/tree-build.h"

#include <errno.h>
#include <unistd.h>

static void
prepare_file (ParityPlace *place, gconstpointer data G_GNUC_UNUSED)
{
  tree_write (place->source, 5000, 0640);
  g_assert_cmpint (tree_set_xattr (place->source, "user.parity", "value", 5), ==, 0);
  if (parity_is_root ())
    {
      g_assert_cmpint (chown (place->source, 1234, 5678), ==, 0);
      g_assert_cmpint (tree_set_xattr (place->source, "trusted.parity", "value", 5), ==, 0);
    }
}

static void
prepare_conflict (ParityPlace *place, gconstpointer data)
{
  prepare_file (place, data);
  tree_write (place->dest, 3000, 0600);
}

static void
prepare_symlink (ParityPlace *place, gconstpointer data)
{
  g_autofree char *target = g_build_filename (place->from, "target", NULL);
  g_autofree char *source = place->source;

  place->source = g_strdup (target);
  prepare_file (place, data);
  g_free (place->source);
  place->source = g_steal_pointer (&source);
  g_assert_cmpint (symlink ("target", place->source), ==, 0);
}

static void
prepare_folder (ParityPlace *place, gconstpointer data G_GNUC_UNUSED)
{
  tree_make_folder (place->source, 0755);
}

static void
compare_all_flags (const ParityFilesystem *filesystem,
                   void (*prepare) (ParityPlace *, gconstpointer),
                   ParityOutcome (*expect) (unsigned flags))
{
  const char *base = parity_get_base (filesystem);
  ParityCall call = PARITY_CALL (base, base);

  if (base == NULL)
    return;
  call.prepare = prepare;
  for (call.flags = 0; call.flags < 1U << PARITY_N_FLAGS; call.flags++)
    {
      call.expect = expect (call.flags);
      parity_compare (&call);
    }
}

static ParityOutcome
expect_taken (unsigned flags G_GNUC_UNUSED)
{
  return PARITY_TAKEN;
}

static ParityOutcome
expect_declined (unsigned flags G_GNUC_UNUSED)
{
  return PARITY_DECLINED;
}

static ParityOutcome
expect_followed (unsigned flags)
{
  return (flags & G_FILE_COPY_NOFOLLOW_SYMLINKS) != 0 ? PARITY_DECLINED : PARITY_TAKEN;
}

static void
test_new_name (gconstpointer data)
{
  compare_all_flags (data, prepare_file, expect_taken);
}

static void
test_existing_name (gconstpointer data)
{
  compare_all_flags (data, prepare_conflict, expect_declined);
}

static void
test_symlink (gconstpointer data)
{
  compare_all_flags (data, prepare_symlink, expect_followed);
}

static void
test_folder (gconstpointer data)
{
  compare_all_flags (data, prepare_folder, expect_declined);
}

static void
test_unknown_flag (gconstpointer data)
{
  const char *base = parity_get_base (data);
  ParityCall call = PARITY_CALL (base, base);

  if (base == NULL)
    return;
  call.prepare = prepare_file;
  call.expect = PARITY_DECLINED;
  for (unsigned bit = PARITY_N_FLAGS; bit < 31; bit++)
    {
      call.flags = 1U << bit;
      parity_compare (&call);
      call.flags |= G_FILE_COPY_OVERWRITE | G_FILE_COPY_ALL_METADATA;
      parity_compare (&call);
    }
}

static void
test_without_progress (gconstpointer data)
{
  const char *base = parity_get_base (data);
  ParityCall call = PARITY_CALL (base, base);

  if (base == NULL)
    return;
  call.without_progress = true;
  parity_compare (&call);
  call.flags = G_FILE_COPY_ALL_METADATA;
  parity_compare (&call);
}

int
main (int argc, char *argv[])
{
  parity_init (&argc, &argv);

  parity_add ("flags", "all-combinations-to-a-new-name", test_new_name);
  parity_add ("flags", "all-combinations-to-an-existing-name", test_existing_name);
  parity_add ("flags", "all-combinations-from-a-symlink", test_symlink);
  parity_add ("flags", "all-combinations-from-a-folder", test_folder);
  parity_add ("flags", "unknown-flags-are-declined", test_unknown_flag);
  parity_add ("flags", "without-a-progress-callback", test_without_progress);

  return g_test_run ();
}
