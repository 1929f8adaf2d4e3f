/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The beat of a running batch: who hears of progress, and when to stop. */
#pragma once

#include "engine/dray-engine.h"

/* Shared by the threads of one batch. Sums are atomic; the rest belongs to the submitting
 * thread. */
typedef struct
{
  const DrayCopyMonitor *monitor; /* (nullable) (not owned) */
  uint64_t current;               /* bytes done in the batch (atomic) */
  uint64_t total;                 /* bytes of all files opened so far (atomic) */
  bool is_single;                 /* a batch of one */
  bool has_copied;                /* a file of the batch is complete (atomic) */
  uint64_t told;                  /* bytes last reported; never falls */
  int64_t told_at;                /* µs, g_get_monotonic_time() */
} DrayPulse;

/* One file's share of its batch's pulse; owned by the thread that copies the file. */
typedef struct
{
  DrayPulse *pulse; /* (not owned) */
  bool may_call;    /* on the submitting thread: the callback may run here */
  uint64_t size;    /* bytes, as the file was opened */
  uint64_t done;    /* bytes of it counted so far, at most @size */
} DrayPulseFile;

/**
 * dray_pulse_init:
 * @monitor: (nullable): must outlive @pulse
 * @n_files: in the batch
 *
 * Threads: the submitting one.
 */
void dray_pulse_init (DrayPulse *pulse, const DrayCopyMonitor *monitor, size_t n_files);

/**
 * dray_pulse_begin:
 *
 * Adds a file of @size bytes to the batch's total. @may_call: on the submitting thread.
 */
void dray_pulse_begin (DrayPulse *pulse, DrayPulseFile *file, uint64_t size, bool may_call);

/**
 * dray_pulse_beat:
 * @file: the file that moved on
 * @done: bytes of it done so far, holes included; never falls, may exceed the size
 *
 * Counts progress, reports it when a report is due, and asks whether to go on. To be called at
 * least every 50 ms; cheap enough for every chunk.
 *
 * Threads: the one that copies the file.
 *
 * Returns: 0, or -ECANCELED.
 */
int dray_pulse_beat (DrayPulseFile *file, uint64_t done);

/**
 * dray_pulse_finish:
 * @file: a file whose bytes are all in place
 * @done: bytes of it in place: its size, unless it shrank meanwhile
 *
 * The end of a file. In a batch of one this is the last report, due at once, so that its receiver
 * can still cancel.
 *
 * Returns: 0, or -ECANCELED.
 */
int dray_pulse_finish (DrayPulseFile *file, uint64_t done);

/**
 * dray_pulse_tell:
 *
 * Reports what other threads of the batch have done, if a report is due.
 *
 * Threads: the submitting one.
 */
void dray_pulse_tell (DrayPulse *pulse);

/**
 * dray_pulse_end:
 *
 * The last report of a longer batch in which something was copied.
 *
 * Threads: the submitting one, when no other works for the batch any more.
 */
void dray_pulse_end (DrayPulse *pulse);

/** dray_pulse_is_cancelled: asks the monitor. Threads: any. */
bool dray_pulse_is_cancelled (const DrayPulse *pulse);
