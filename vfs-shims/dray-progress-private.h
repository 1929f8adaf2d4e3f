/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* GIO's progress callback and cancellable as the engine's monitor. */
#pragma once

#include "engine/dray-engine.h"

#include <gio/gio.h>

/* Owned by one slot call, on its stack. */
typedef struct
{
  GFileProgressCallback callback; /* (nullable) */
  gpointer callback_data;         /* (not owned) */
  GCancellable *cancellable;      /* (nullable) (not owned) */
} DrayProgress;

/**
 * dray_progress_init_monitor:
 * @progress: must outlive @out_monitor
 * @out_monitor: (out caller-allocates): forwards to @progress what it has
 */
void dray_progress_init_monitor (DrayProgress *progress, DrayCopyMonitor *out_monitor);
