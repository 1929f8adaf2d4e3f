/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Puts the slot in place, and never takes it out again: GIO reads it twice without a lock. */
#include "config.h"
#include "vfs-shims/dray-shim.h"

#include "vfs-shims/dray-copy-private.h"
#include "vfs-shims/dray-local-file-private.h"
#include "vfs-shims/dray-trace-private.h"

#include <sys/auxv.h>

bool
dray_shim_install (void)
{
  static gsize installed = 0;

  if (g_once_init_enter (&installed))
    {
      dray_trace_init ();
      bool good = getauxval (AT_SECURE) == 0 && dray_local_file_take_copy_slot (dray_copy_slot);

      g_once_init_leave (&installed, good ? 1 : 2);
    }

  return installed == 1;
}
