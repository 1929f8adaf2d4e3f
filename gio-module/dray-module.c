/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What GIO calls when it loads the module: three functions, and nothing before them. */
#include "config.h"

#include "vfs-shims/dray-shim.h"

#include <gio/gio.h>
#include <gmodule.h>

/* The names follow from the file's, libgiodray.so (gio/giomodule.c). */
G_MODULE_EXPORT void g_io_dray_load (GIOModule *module);
G_MODULE_EXPORT void g_io_dray_unload (GIOModule *module);
G_MODULE_EXPORT char **g_io_dray_query (void);

/**
 * g_io_dray_load:
 * @module: ours
 *
 * Takes the copy slot and keeps the module in memory for good, since the slot points into it. The
 * linker's `-z nodelete` says the same to those who unload without asking.
 */
void
g_io_dray_load (GIOModule *module)
{
  (void) g_type_module_use (G_TYPE_MODULE (module));
  (void) dray_shim_install ();
}

/**
 * g_io_dray_unload:
 * @module: ours
 *
 * Nothing to do: the module stays.
 */
void
g_io_dray_unload (GIOModule *module)
{
  (void) module;
}

/**
 * g_io_dray_query:
 *
 * Names the one extension point at which GIO loads us: in time for a process's first file, and not
 * before. Nothing is implemented there.
 *
 * Returns: (transfer full): names of extension points.
 */
char **
g_io_dray_query (void)
{
  static const char *const points[] = { G_VFS_EXTENSION_POINT_NAME, NULL };

  return g_strdupv ((char **) points);
}
