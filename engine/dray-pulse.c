/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Progress and cancellation: often enough to be smooth, seldom enough to cost nothing. */
#include "config.h"
#include "engine/dray-pulse-private.h"

#include <errno.h>
#include <glib.h>

/* 50 reports a second: above the 10 that callers can count on and below the 60 that a main loop
 * fed by g_file_copy_async() should have to carry. */
#define TELL_EVERY_US 20000

static bool
is_heard (const DrayPulse *pulse)
{
  return pulse->monitor != NULL && pulse->monitor->progress_cb != NULL;
}

void
dray_pulse_init (DrayPulse *pulse, const DrayCopyMonitor *monitor, size_t n_files)
{
  *pulse = (DrayPulse) { .monitor = monitor, .is_single = n_files == 1 };
  if (is_heard (pulse))
    pulse->told_at = g_get_monotonic_time ();
}

static void
tell (DrayPulse *pulse)
{
  const uint64_t current = __atomic_load_n (&pulse->current, __ATOMIC_RELAXED);
  const uint64_t total = __atomic_load_n (&pulse->total, __ATOMIC_RELAXED);

  pulse->told = MAX (pulse->told, current);
  pulse->monitor->progress_cb (pulse->told, total, pulse->monitor->user_data);
  /* Read again: the callback may have slept, as Thunar's does while a job is paused. */
  pulse->told_at = g_get_monotonic_time ();
}

void
dray_pulse_tell (DrayPulse *pulse)
{
  if (is_heard (pulse) && g_get_monotonic_time () - pulse->told_at >= TELL_EVERY_US)
    tell (pulse);
}

bool
dray_pulse_is_cancelled (const DrayPulse *pulse)
{
  return pulse->monitor != NULL && pulse->monitor->cancelled_cb != NULL &&
         pulse->monitor->cancelled_cb (pulse->monitor->user_data);
}

static void
count (DrayPulseFile *file, uint64_t done)
{
  /* A file that grows while it is copied is followed, but the total stays what it was. */
  done = MIN (done, file->size);
  if (done > file->done)
    {
      __atomic_add_fetch (&file->pulse->current, done - file->done, __ATOMIC_RELAXED);
      file->done = done;
    }
}

void
dray_pulse_begin (DrayPulse *pulse, DrayPulseFile *file, uint64_t size, bool may_call)
{
  *file = (DrayPulseFile) { .pulse = pulse, .may_call = may_call, .size = size };
  __atomic_add_fetch (&pulse->total, size, __ATOMIC_RELAXED);
}

int
dray_pulse_beat (DrayPulseFile *file, uint64_t done)
{
  count (file, done);
  if (file->may_call)
    dray_pulse_tell (file->pulse);

  return dray_pulse_is_cancelled (file->pulse) ? -ECANCELED : 0;
}

int
dray_pulse_finish (DrayPulseFile *file, uint64_t done)
{
  DrayPulse *pulse = file->pulse;

  if (!pulse->is_single)
    {
      __atomic_store_n (&pulse->has_copied, true, __ATOMIC_RELAXED);
      return dray_pulse_beat (file, done);
    }

  count (file, done);
  if (is_heard (pulse))
    tell (pulse);
  return dray_pulse_is_cancelled (pulse) ? -ECANCELED : 0;
}

void
dray_pulse_end (DrayPulse *pulse)
{
  if (!pulse->is_single && pulse->has_copied && is_heard (pulse))
    tell (pulse);
}
