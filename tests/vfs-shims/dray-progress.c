/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests of vfs-shims/dray-progress.c: GIO's callback and cancellable as a monitor. */
#include "config.h"
#include "vfs-shims/dray-progress-private.h"

typedef struct
{
  unsigned n_calls;
  goffset current, total;
} Ear;

static void
hear_cb (goffset current, goffset total, gpointer data)
{
  Ear *ear = data;

  ear->n_calls++;
  ear->current = current;
  ear->total = total;
}

static void
test_progress_is_forwarded (void)
{
  Ear ear = { 0 };
  DrayProgress progress = { hear_cb, &ear, NULL };
  DrayCopyMonitor monitor;
  static const struct
  {
    uint64_t current, total;
  } vectors[] = {
    { 0, 0 },
    { 1, 2 },
    { (uint64_t) 5 << 32, ((uint64_t) 5 << 32) + 1 },
    { G_MAXINT64, G_MAXINT64 },
  };

  g_test_summary ("One call for one, with numbers beyond 32 bits whole");
  dray_progress_init_monitor (&progress, &monitor);
  g_assert_null (monitor.cancelled_cb);
  for (unsigned i = 0; i < G_N_ELEMENTS (vectors); i++)
    {
      monitor.progress_cb (vectors[i].current, vectors[i].total, monitor.user_data);
      g_assert_cmpuint (ear.n_calls, ==, i + 1);
      g_assert_cmpuint ((uint64_t) ear.current, ==, vectors[i].current);
      g_assert_cmpuint ((uint64_t) ear.total, ==, vectors[i].total);
    }
}

static void
test_cancellable_is_asked_anew (void)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  DrayProgress progress = { NULL, NULL, cancellable };
  DrayCopyMonitor monitor;

  g_test_summary ("Its state now, not that of the beginning");
  dray_progress_init_monitor (&progress, &monitor);
  g_assert_null (monitor.progress_cb);
  g_assert_false (monitor.cancelled_cb (monitor.user_data));
  g_cancellable_cancel (cancellable);
  g_assert_true (monitor.cancelled_cb (monitor.user_data));
  g_cancellable_reset (cancellable);
  g_assert_false (monitor.cancelled_cb (monitor.user_data));
}

static void
test_nothing_given_is_nothing_called (void)
{
  DrayProgress progress = { NULL, NULL, NULL };
  DrayCopyMonitor monitor;

  g_test_summary ("The engine need not ask what nobody answers");
  dray_progress_init_monitor (&progress, &monitor);
  g_assert_null (monitor.progress_cb);
  g_assert_null (monitor.cancelled_cb);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/vfs-shims/progress/progress-is-forwarded", test_progress_is_forwarded);
  g_test_add_func ("/vfs-shims/progress/cancellable-is-asked-anew",
                   test_cancellable_is_asked_anew);
  g_test_add_func ("/vfs-shims/progress/nothing-given-is-nothing-called",
                   test_nothing_given_is_nothing_called);
  return g_test_run ();
}
