/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A handful of buffers that stay touched, so that a small copy pays neither malloc() nor page
 * faults. The lock is only ever tried: a child forked while it was held allocates afresh. */
#include "config.h"
#include "engine/dray-slab-private.h"

#include <glib.h>
#include <stdlib.h>

/* Kept at most: 1 MiB in a process that copies; more threads at once allocate and free. */
#define N_KEPT 4

static void *kept[N_KEPT];
static unsigned n_kept;
static GMutex kept_lock;

void *
dray_slab_take (void)
{
  void *buffer = NULL;

  if (g_mutex_trylock (&kept_lock))
    {
      if (n_kept > 0)
        buffer = kept[--n_kept];
      g_mutex_unlock (&kept_lock);
    }

  /* The page size is a bound for every alignment that direct I/O asks for. */
  if (buffer == NULL && posix_memalign (&buffer, 4096, DRAY_SLAB_BYTES) != 0)
    return NULL;
  return buffer;
}

void
dray_slab_give (void *buffer)
{
  if (buffer == NULL)
    return;

  if (g_mutex_trylock (&kept_lock))
    {
      if (n_kept < N_KEPT)
        {
          kept[n_kept++] = buffer;
          buffer = NULL;
        }
      g_mutex_unlock (&kept_lock);
    }
  free (buffer);
}
