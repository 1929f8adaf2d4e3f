/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests of engine/dray-slab.c: buffers are whole, aligned, used again, and nobody else's. */
#include "config.h"
#include "engine/dray-slab-private.h"

#include <glib.h>
#include <stdint.h>
#include <string.h>

/* More than are kept for later use. */
#define MANY 12

static void
test_buffer_is_whole_and_aligned (void)
{
  void *buffer = dray_slab_take ();

  g_test_summary ("All bytes can be written; direct I/O could use it");
  g_assert_nonnull (buffer);
  g_assert_cmpuint ((uintptr_t) buffer % 4096, ==, 0);
  memset (buffer, 0xA5, DRAY_SLAB_BYTES);
  dray_slab_give (buffer);
}

static void
test_given_buffer_is_used_again (void)
{
  void *first = dray_slab_take ();

  g_test_summary ("The second copy of a program pays no page faults");
  dray_slab_give (first);
  void *second = dray_slab_take ();
  g_assert_true (second == first);
  dray_slab_give (second);
}

static void
test_more_than_are_kept_are_all_different (void)
{
  void *buffers[MANY];

  g_test_summary ("Twice, so that kept and fresh buffers meet");
  for (unsigned round = 0; round < 2; round++)
    {
      for (unsigned i = 0; i < MANY; i++)
        {
          buffers[i] = dray_slab_take ();
          g_assert_nonnull (buffers[i]);
          memset (buffers[i], (int) i, DRAY_SLAB_BYTES);
          for (unsigned other = 0; other < i; other++)
            g_assert_true (buffers[other] != buffers[i]);
        }
      for (unsigned i = 0; i < MANY; i++)
        {
          const unsigned char *bytes = buffers[i];

          g_assert_cmpuint (bytes[0], ==, i);
          g_assert_cmpuint (bytes[DRAY_SLAB_BYTES - 1], ==, i);
          dray_slab_give (buffers[i]);
        }
    }
}

static void
test_giving_nothing_is_fine (void)
{
  g_test_summary ("And leaves nothing to be taken");
  dray_slab_give (NULL);
  void *buffer = dray_slab_take ();
  g_assert_nonnull (buffer);
  dray_slab_give (buffer);
}

static gpointer
take_and_give (gpointer data)
{
  const int mark = GPOINTER_TO_INT (data);

  for (unsigned i = 0; i < 300; i++)
    {
      unsigned char *buffer = dray_slab_take ();

      g_assert_nonnull (buffer);
      memset (buffer, mark, 4096);
      buffer[DRAY_SLAB_BYTES - 1] = (unsigned char) mark;
      g_thread_yield ();
      for (unsigned at = 0; at < 4096; at++)
        g_assert_cmpint (buffer[at], ==, mark);
      g_assert_cmpint (buffer[DRAY_SLAB_BYTES - 1], ==, mark);
      dray_slab_give (buffer);
    }
  return NULL;
}

static void
test_no_two_threads_share_a_buffer (void)
{
  GThread *threads[8];

  g_test_summary ("What one thread writes stays until it gives the buffer back");
  for (unsigned i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("slab", take_and_give, GINT_TO_POINTER (i + 1));
  for (unsigned i = 0; i < G_N_ELEMENTS (threads); i++)
    (void) g_thread_join (threads[i]);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/engine/slab/buffer-is-whole-and-aligned", test_buffer_is_whole_and_aligned);
  g_test_add_func ("/engine/slab/given-buffer-is-used-again", test_given_buffer_is_used_again);
  g_test_add_func ("/engine/slab/more-than-are-kept-are-all-different",
                   test_more_than_are_kept_are_all_different);
  g_test_add_func ("/engine/slab/giving-nothing-is-fine", test_giving_nothing_is_fine);
  g_test_add_func ("/engine/slab/no-two-threads-share-a-buffer",
                   test_no_two_threads_share_a_buffer);
  return g_test_run ();
}
