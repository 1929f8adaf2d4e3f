/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests of engine/dray-pulse.c: what the caller of a batch hears, and how it stops the batch. */
#include "config.h"
#include "engine/dray-pulse-private.h"

#include <errno.h>
#include <glib.h>

typedef struct
{
  unsigned n_calls;
  uint64_t current, total;
  bool fell;      /* a report was below the one before */
  bool cancelled; /* to be answered */
} Ear;

static void
progress_cb (uint64_t current, uint64_t total, void *user_data)
{
  Ear *ear = user_data;

  ear->fell = ear->fell || current < ear->current;
  ear->n_calls++;
  ear->current = current;
  ear->total = total;
}

static bool
cancelled_cb (void *user_data)
{
  const Ear *ear = user_data;

  return ear->cancelled;
}

#define MONITOR(ear)                                                                               \
  {                                                                                                \
    .progress_cb = progress_cb, .cancelled_cb = cancelled_cb, .user_data = (ear),                  \
  }

static void
test_reports_rise_and_end_with_the_size (void)
{
  Ear ear = { 0 };
  const DrayCopyMonitor monitor = MONITOR (&ear);
  DrayPulse pulse;
  DrayPulseFile file;

  g_test_summary ("Beats that stand still or step back are never told as a step back");
  dray_pulse_init (&pulse, &monitor, 1);
  dray_pulse_begin (&pulse, &file, 1000, true);
  for (uint64_t done = 0; done <= 900; done += 100)
    {
      pulse.told_at = 0; /* due */
      g_assert_cmpint (dray_pulse_beat (&file, done), ==, 0);
      g_assert_cmpuint (ear.current, ==, done);
      pulse.told_at = 0;
      g_assert_cmpint (dray_pulse_beat (&file, done / 2), ==, 0);
      g_assert_cmpuint (ear.current, ==, done);
    }
  g_assert_cmpint (dray_pulse_finish (&file, 1000), ==, 0);

  g_assert_false (ear.fell);
  g_assert_cmpuint (ear.current, ==, 1000);
  g_assert_cmpuint (ear.total, ==, 1000);
}

static void
test_reports_are_throttled (void)
{
  Ear ear = { 0 };
  const DrayCopyMonitor monitor = MONITOR (&ear);
  const int64_t started = g_get_monotonic_time ();
  DrayPulse pulse;
  DrayPulseFile file;

  g_test_summary ("At most one report in 20 ms however many beats, and not none");
  dray_pulse_init (&pulse, &monitor, 1);
  dray_pulse_begin (&pulse, &file, UINT64_MAX, true);
  uint64_t n_beats = 0;
  while (g_get_monotonic_time () - started < 250000)
    g_assert_cmpint (dray_pulse_beat (&file, ++n_beats), ==, 0);
  const int64_t took = g_get_monotonic_time () - started;

  g_assert_cmpuint (ear.n_calls, >=, 1);
  g_assert_cmpint (ear.n_calls, <=, took / 20000);
  g_assert_cmpuint (n_beats, >, ear.n_calls);
}

static void
test_end_of_a_file_is_told_at_once (void)
{
  Ear ear = { 0 };
  const DrayCopyMonitor monitor = MONITOR (&ear);
  DrayPulse pulse;
  DrayPulseFile file;

  g_test_summary ("Also of an empty file: (0, 0) once");
  dray_pulse_init (&pulse, &monitor, 1);
  dray_pulse_begin (&pulse, &file, 0, true);
  g_assert_cmpint (dray_pulse_finish (&file, 0), ==, 0);
  g_assert_cmpuint (ear.n_calls, ==, 1);
  g_assert_cmpuint (ear.current, ==, 0);
  g_assert_cmpuint (ear.total, ==, 0);

  dray_pulse_begin (&pulse, &file, 5, true);
  g_assert_cmpint (dray_pulse_finish (&file, 5), ==, 0);
  g_assert_cmpuint (ear.n_calls, ==, 2);
  g_assert_cmpuint (ear.current, ==, 5);
  g_assert_cmpuint (ear.total, ==, 5);
}

static void
test_growth_is_clamped_to_the_total (void)
{
  Ear ear = { 0 };
  const DrayCopyMonitor monitor = MONITOR (&ear);
  DrayPulse pulse;
  DrayPulseFile file;

  g_test_summary ("A source that grows never makes current exceed total");
  dray_pulse_init (&pulse, &monitor, 1);
  dray_pulse_begin (&pulse, &file, 100, true);
  pulse.told_at = 0;
  g_assert_cmpint (dray_pulse_beat (&file, 5000), ==, 0);
  g_assert_cmpuint (ear.current, ==, 100);
  g_assert_cmpint (dray_pulse_finish (&file, 9000), ==, 0);
  g_assert_cmpuint (ear.current, ==, 100);
  g_assert_cmpuint (ear.total, ==, 100);
}

static void
test_shrunk_file_ends_where_it_ended (void)
{
  Ear ear = { 0 };
  const DrayCopyMonitor monitor = MONITOR (&ear);
  DrayPulse pulse;
  DrayPulseFile file;

  g_test_summary ("Progress claims no byte that is not there");
  dray_pulse_init (&pulse, &monitor, 1);
  dray_pulse_begin (&pulse, &file, 100, true);
  g_assert_cmpint (dray_pulse_finish (&file, 40), ==, 0);
  g_assert_cmpuint (ear.current, ==, 40);
  g_assert_cmpuint (ear.total, ==, 100);
}

static void
test_cancel_ends_beat_and_finish (void)
{
  Ear ear = { 0 };
  const DrayCopyMonitor monitor = MONITOR (&ear);
  const DrayCopyMonitor deaf = { .progress_cb = progress_cb, .user_data = &ear };
  DrayPulse pulse;
  DrayPulseFile file;

  g_test_summary ("Asked at every beat, on any thread's file, and once more at the end");
  for (unsigned may_call = 0; may_call < 2; may_call++)
    {
      ear.cancelled = false;
      dray_pulse_init (&pulse, &monitor, 1);
      dray_pulse_begin (&pulse, &file, 100, may_call != 0);
      g_assert_cmpint (dray_pulse_beat (&file, 10), ==, 0);
      g_assert_false (dray_pulse_is_cancelled (&pulse));
      ear.cancelled = true;
      g_assert_true (dray_pulse_is_cancelled (&pulse));
      g_assert_cmpint (dray_pulse_beat (&file, 20), ==, -ECANCELED);
      g_assert_cmpint (dray_pulse_finish (&file, 100), ==, -ECANCELED);
    }

  dray_pulse_init (&pulse, &deaf, 1);
  dray_pulse_begin (&pulse, &file, 100, true);
  g_assert_cmpint (dray_pulse_beat (&file, 20), ==, 0);
  g_assert_false (dray_pulse_is_cancelled (&pulse));
}

static void
test_nobody_listens (void)
{
  const DrayCopyMonitor silent = { .cancelled_cb = NULL };
  const DrayCopyMonitor *const vectors[] = { NULL, &silent };

  g_test_summary ("Counting goes on without a monitor, and with one that hears nothing");
  for (size_t i = 0; i < G_N_ELEMENTS (vectors); i++)
    {
      DrayPulse pulse;
      DrayPulseFile file;

      dray_pulse_init (&pulse, vectors[i], 1);
      dray_pulse_begin (&pulse, &file, 100, true);
      g_assert_cmpint (dray_pulse_beat (&file, 50), ==, 0);
      g_assert_cmpint (dray_pulse_finish (&file, 100), ==, 0);
      dray_pulse_tell (&pulse);
      g_assert_cmpuint (pulse.current, ==, 100);
      g_assert_cmpuint (pulse.total, ==, 100);
    }
}

typedef struct
{
  DrayPulse *pulse;
  uint64_t size;
} Share;

static gpointer
copy_share (gpointer data)
{
  const Share *share = data;
  DrayPulseFile file;

  dray_pulse_begin (share->pulse, &file, share->size, false);
  for (uint64_t done = 0; done < share->size; done++)
    g_assert_cmpint (dray_pulse_beat (&file, done), ==, 0);
  g_assert_cmpint (dray_pulse_finish (&file, share->size), ==, 0);
  return NULL;
}

static void
test_batch_sums_all_threads (void)
{
  Ear ear = { 0 };
  const DrayCopyMonitor monitor = MONITOR (&ear);
  GThread *threads[4];
  Share shares[G_N_ELEMENTS (threads)];
  DrayPulse pulse;
  uint64_t sum = 0;

  g_test_summary ("Other threads count without calling back; the submitting one tells");
  dray_pulse_init (&pulse, &monitor, G_N_ELEMENTS (threads));
  for (unsigned i = 0; i < G_N_ELEMENTS (threads); i++)
    {
      shares[i] = (Share) { &pulse, 20000 + i };
      sum += shares[i].size;
      threads[i] = g_thread_new ("share", copy_share, &shares[i]);
    }
  for (unsigned i = 0; i < G_N_ELEMENTS (threads); i++)
    (void) g_thread_join (threads[i]);

  g_assert_cmpuint (ear.n_calls, ==, 0);
  pulse.told_at = g_get_monotonic_time () + G_USEC_PER_SEC; /* not due yet */
  dray_pulse_tell (&pulse);
  g_assert_cmpuint (ear.n_calls, ==, 0);
  pulse.told_at = 0;
  dray_pulse_tell (&pulse);
  g_assert_cmpuint (ear.n_calls, ==, 1);
  g_assert_cmpuint (ear.current, ==, sum);
  g_assert_cmpuint (ear.total, ==, sum);

  /* The end of the batch is told whether due or not. */
  pulse.told_at = g_get_monotonic_time () + G_USEC_PER_SEC;
  dray_pulse_end (&pulse);
  g_assert_cmpuint (ear.n_calls, ==, 2);
  g_assert_cmpuint (ear.current, ==, sum);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/engine/pulse/reports-rise-and-end-with-the-size",
                   test_reports_rise_and_end_with_the_size);
  g_test_add_func ("/engine/pulse/reports-are-throttled", test_reports_are_throttled);
  g_test_add_func ("/engine/pulse/end-of-a-file-is-told-at-once",
                   test_end_of_a_file_is_told_at_once);
  g_test_add_func ("/engine/pulse/growth-is-clamped-to-the-total",
                   test_growth_is_clamped_to_the_total);
  g_test_add_func ("/engine/pulse/shrunk-file-ends-where-it-ended",
                   test_shrunk_file_ends_where_it_ended);
  g_test_add_func ("/engine/pulse/cancel-ends-beat-and-finish", test_cancel_ends_beat_and_finish);
  g_test_add_func ("/engine/pulse/nobody-listens", test_nobody_listens);
  g_test_add_func ("/engine/pulse/batch-sums-all-threads", test_batch_sums_all_threads);
  return g_test_run ();
}
