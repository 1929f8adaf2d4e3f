/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests of vfs-shims/dray-eligibility.c: which calls are ours, and what their flags ask for. */
#include "config.h"
#include "vfs-shims/dray-eligibility-private.h"

#include <gio/gio.h>
#include <limits.h>
#include <string.h>

#define TARGET_DEFAULT_MODIFIED_TIME (1U << 6) /* GLib 2.80 */

static const DraySettings enabled = { .enabled = true };
static const DraySettings disabled = { .enabled = false };

static void
test_every_reason_is_given (void)
{
  static char longest[PATH_MAX], too_long[PATH_MAX + 1];
  const struct
  {
    DrayDecline reason;
    DrayEligibilityFacts facts;
  } vectors[] = {
    { DRAY_DECLINE_NONE, { &enabled, true, true, "/a", "/b", 0 } },
    { DRAY_DECLINE_NONE, { &enabled, true, true, longest, longest, 0 } },
    { DRAY_DECLINE_DISABLED, { &disabled, true, true, "/a", "/b", 0 } },
    { DRAY_DECLINE_NOT_LOCAL, { &enabled, false, true, NULL, "/b", 0 } },
    { DRAY_DECLINE_NOT_LOCAL, { &enabled, true, false, "/a", NULL, 0 } },
    { DRAY_DECLINE_NOT_LOCAL, { &enabled, false, false, NULL, NULL, 0 } },
    /* A foreign type does not become ours by having a path. */
    { DRAY_DECLINE_NOT_LOCAL, { &enabled, false, true, "/a", "/b", 0 } },
    { DRAY_DECLINE_NO_PATH, { &enabled, true, true, NULL, "/b", 0 } },
    { DRAY_DECLINE_NO_PATH, { &enabled, true, true, "/a", NULL, 0 } },
    { DRAY_DECLINE_PATH_TOO_LONG, { &enabled, true, true, too_long, "/b", 0 } },
    { DRAY_DECLINE_PATH_TOO_LONG, { &enabled, true, true, "/a", too_long, 0 } },
    { DRAY_DECLINE_UNKNOWN_FLAG, { &enabled, true, true, "/a", "/b", 1U << 7 } },
    { DRAY_DECLINE_UNKNOWN_FLAG, { &enabled, true, true, "/a", "/b", 1U << 31 } },
    /* Switched off means that nothing else is looked at. */
    { DRAY_DECLINE_DISABLED, { &disabled, false, false, NULL, NULL, ~0U } },
  };

  g_test_summary ("A row for each reason, on both sides");
  memset (longest, 'x', sizeof longest - 1);
  memset (too_long, 'x', sizeof too_long - 1);
  for (size_t i = 0; i < G_N_ELEMENTS (vectors); i++)
    {
      g_test_message ("row %zu", i);
      g_assert_cmpint (dray_eligibility_judge (&vectors[i].facts), ==, vectors[i].reason);
    }
}

static void
test_flags_up_to_the_seventh_are_known (void)
{
  g_test_summary ("Each bit alone, and all together");
  for (unsigned bit = 0; bit < 32; bit++)
    {
      const DrayEligibilityFacts facts = { &enabled, true, true, "/a", "/b", 1U << bit };

      g_assert_cmpint (dray_eligibility_judge (&facts), ==,
                       bit < 7 ? DRAY_DECLINE_NONE : DRAY_DECLINE_UNKNOWN_FLAG);
    }

  const DrayEligibilityFacts all_known = { &enabled, true, true, "/a", "/b", 0x7f };
  const DrayEligibilityFacts one_more = { &enabled, true, true, "/a", "/b", 0xff };
  g_assert_cmpint (dray_eligibility_judge (&all_known), ==, DRAY_DECLINE_NONE);
  g_assert_cmpint (dray_eligibility_judge (&one_more), ==, DRAY_DECLINE_UNKNOWN_FLAG);
}

static void
test_flags_are_translated (void)
{
  static const struct
  {
    unsigned flags;
    DrayCopyFlags expected;
  } vectors[] = {
    { 0, DRAY_COPY_NONE },
    { G_FILE_COPY_OVERWRITE, DRAY_COPY_NONE },
    { G_FILE_COPY_BACKUP, DRAY_COPY_NONE },
    { G_FILE_COPY_NO_FALLBACK_FOR_MOVE, DRAY_COPY_NONE },
    { G_FILE_COPY_NOFOLLOW_SYMLINKS, DRAY_COPY_NOFOLLOW },
    { G_FILE_COPY_ALL_METADATA, DRAY_COPY_ALL_METADATA },
    { G_FILE_COPY_TARGET_DEFAULT_PERMS, DRAY_COPY_DEFAULT_MODE },
    { G_FILE_COPY_ALL_METADATA | G_FILE_COPY_NOFOLLOW_SYMLINKS,
      DRAY_COPY_ALL_METADATA | DRAY_COPY_NOFOLLOW },
    { 0x3f, DRAY_COPY_ALL_METADATA | DRAY_COPY_NOFOLLOW | DRAY_COPY_DEFAULT_MODE },
  };
  static const unsigned minors[] = { 66, 74, 79, 80, 84, 90 };

  g_test_summary ("The same for every GLib");
  for (size_t i = 0; i < G_N_ELEMENTS (vectors); i++)
    for (size_t j = 0; j < G_N_ELEMENTS (minors); j++)
      g_assert_cmpint (dray_eligibility_get_copy_flags (vectors[i].flags, minors[j]), ==,
                       vectors[i].expected);
}

static void
test_modified_time_flag_counts_from_2_80_on (void)
{
  static const struct
  {
    unsigned minor;
    bool known;
  } vectors[] = { { 66, false }, { 74, false }, { 79, false }, { 80, true }, { 84, true } };

  g_test_summary ("An older GLib ignores the bit, and so do we there");
  for (size_t i = 0; i < G_N_ELEMENTS (vectors); i++)
    {
      const DrayCopyFlags alone
        = dray_eligibility_get_copy_flags (TARGET_DEFAULT_MODIFIED_TIME, vectors[i].minor);
      const DrayCopyFlags beside = dray_eligibility_get_copy_flags (
        TARGET_DEFAULT_MODIFIED_TIME | G_FILE_COPY_ALL_METADATA, vectors[i].minor);
      const DrayCopyFlags expected = vectors[i].known ? DRAY_COPY_DEFAULT_MTIME : DRAY_COPY_NONE;

      g_assert_cmpint (alone, ==, expected);
      g_assert_cmpint (beside, ==, expected | DRAY_COPY_ALL_METADATA);
    }
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/vfs-shims/eligibility/every-reason-is-given", test_every_reason_is_given);
  g_test_add_func ("/vfs-shims/eligibility/flags-up-to-the-seventh-are-known",
                   test_flags_up_to_the_seventh_are_known);
  g_test_add_func ("/vfs-shims/eligibility/flags-are-translated", test_flags_are_translated);
  g_test_add_func ("/vfs-shims/eligibility/modified-time-flag-counts-from-2-80-on",
                   test_modified_time_flag_counts_from_2_80_on);
  return g_test_run ();
}
