/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The only file that knows GLocalFile.
 *
 * A class's interface table is a private, writable copy on the heap, and `copy` has stood at the
 * same place in GFileIface since 2.16 (a public structure), so one binary serves every GLib.
 */
#include "config.h"
#include "vfs-shims/dray-local-file-private.h"

static GType local_type = G_TYPE_INVALID;
static DrayCopySlot previous_slot = NULL;

bool
dray_local_file_take_copy_slot (DrayCopySlot slot)
{
  /* Not g_file_new_for_path(): that waits for the default GVfs, which may be loading us. */
  g_autoptr (GFile) root = g_vfs_get_file_for_path (g_vfs_get_local (), "/");

  if (root == NULL || g_strcmp0 (G_OBJECT_TYPE_NAME (root), "GLocalFile") != 0)
    return false;

  /* Referenced for ever: the table lives as long as the class does. */
  gpointer class = g_type_class_ref (G_OBJECT_TYPE (root));
  GFileIface *iface = class == NULL ? NULL : g_type_interface_peek (class, G_TYPE_FILE);
  if (iface == NULL)
    return false;

  local_type = G_OBJECT_TYPE (root);
  previous_slot = iface->copy;
  /* Other threads may be copying already; they see the old or the new function. */
  g_atomic_pointer_set (&iface->copy, slot);
  return true;
}

DrayCopySlot
dray_local_file_get_previous_slot (void)
{
  return previous_slot;
}

bool
dray_local_file_is_local (GFile *file)
{
  return G_OBJECT_TYPE (file) == local_type;
}
