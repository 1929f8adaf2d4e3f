/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From a report of the engine to the GError that stock GIO would give. */
#pragma once

#include "engine/dray-engine.h"

#include <gio/gio.h>

/**
 * dray_error_set_failed:
 * @error: (out): set in every case
 * @report: of a request that failed
 *
 * The only place where an errno becomes a GError. The texts are GLib's own, in GLib's translation.
 * The code is never %G_IO_ERROR_NOT_SUPPORTED, which GIO would take for a decline.
 */
void dray_error_set_failed (GError **error, const DrayCopyReport *report);

/**
 * dray_error_set_declined:
 * @error: (out): set in every case
 * @reason: for debugging; GIO throws the error away
 */
void dray_error_set_declined (GError **error, DrayDecline reason);
