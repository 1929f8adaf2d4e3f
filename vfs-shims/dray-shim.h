/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The door of the shims: GIO's copy, taken over. */
#pragma once

#include <stdbool.h>

/**
 * dray_shim_install:
 *
 * Puts our function into the `copy` slot of GLocalFile, once for the life of the process, and
 * remembers what was there. May be called inside the load function of a GIO module: it does not ask
 * for the default #GVfs, which is under construction then.
 *
 * Not done, and harmless, when the process runs with raised privileges (getauxval(3), `AT_SECURE`)
 * or when GIO's local files are not what we know them to be.
 *
 * Threads: any.
 *
 * Returns: whether the slot is ours.
 */
bool dray_shim_install (void);
