/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One folder copied with stock GIO and with gio-dray in turn. Before each timed pass everything
 * dirty is written out, so that no pass pays for the one before it. */
#include "config.h"
#include "tools/dray-demo-measure-private.h"

#include "tools/dray-compare-private.h"
#include "tools/dray-demo-pass-private.h"
#include "tools/dray-workplace-private.h"

#include <fcntl.h>
#include <gio/gio.h>
#include <glib/gi18n.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

/* --- caches ----------------------------------------------------------------------------------- */

static void
write_out (const char *workplace)
{
  const int fd = g_open (workplace, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);

  if (fd < 0)
    return;
  (void) syncfs (fd);
  (void) close (fd);
}

/* Only root may. */
static gboolean
drop_caches (void)
{
  const int fd = g_open ("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC, 0);

  if (fd < 0)
    return FALSE;
  sync ();
  const gboolean dropped = write (fd, "3\n", 2) == 2;
  (void) close (fd);
  return dropped;
}

/* --- passes ----------------------------------------------------------------------------------- */

static char *
make_dest (const DrayDemoWorkload *workload, const char *what, guint round, GError **error)
{
  g_autofree char *name = g_strdup_printf ("%s-%s-%u", workload->tag, what, round);

  return dray_workplace_make_folder (workload->workplace, name, error);
}

static gboolean
time_one (const DrayDemoWorkload *workload, DrayDemoWho who, gboolean cold, guint round,
          GArray *times, GError **error)
{
  g_autofree char *what
    = g_strdup_printf ("%s-%s", cold ? "cold" : "warm", who == DRAY_DEMO_STOCK ? "stock" : "dray");
  g_autofree char *dest = make_dest (workload, what, round, error);
  DrayDemoPass pass;

  if (dest == NULL)
    return FALSE;
  write_out (workload->workplace);
  if (cold)
    (void) drop_caches ();
  const gboolean good
    = dray_demo_pass_run (workload->workplace, who, workload->source, dest, &pass, error);
  g_array_append_val (times, pass.elapsed_us);
  dray_demo_pass_clear (&pass);
  if (workload->remove_copies)
    dray_workplace_remove (dest);
  return good;
}

static int
compare_times (gconstpointer one, gconstpointer other)
{
  const gint64 a = *(const gint64 *) one;
  const gint64 b = *(const gint64 *) other;

  return a < b ? -1 : a > b;
}

static gint64
get_median (GArray *times)
{
  g_array_sort (times, compare_times);
  return g_array_index (times, gint64, times->len / 2);
}

/* --- words ------------------------------------------------------------------------------------ */

static char *
format_time (gint64 us)
{
  if (us < 10000)
    /* Translators: milliseconds. */
    return g_strdup_printf (_ ("%.2f ms"), (double) us / 1e3);
  if (us < 1000000)
    return g_strdup_printf (_ ("%.0f ms"), (double) us / 1e3);
  /* Translators: seconds. */
  return g_strdup_printf (_ ("%.2f s"), (double) us / 1e6);
}

/* Words with their counts, "read-write 20, copy_file_range 3", most frequent first. */
static char *
list_counts (GHashTable *counts)
{
  g_autoptr (GString) text = g_string_new (NULL);
  g_autoptr (GList) words = g_hash_table_get_keys (counts);

  while (words != NULL)
    {
      GList *best = words;

      for (GList *l = words; l != NULL; l = l->next)
        {
          const guint n = GPOINTER_TO_UINT (g_hash_table_lookup (counts, l->data));
          const guint most = GPOINTER_TO_UINT (g_hash_table_lookup (counts, best->data));

          if (n > most || (n == most && strcmp (l->data, best->data) < 0))
            best = l;
        }
      g_string_append_printf (text, "%s%s", text->len > 0 ? ", " : "", (const char *) best->data);
      if (g_hash_table_size (counts) > 1)
        g_string_append_printf (text, " %u",
                                GPOINTER_TO_UINT (g_hash_table_lookup (counts, best->data)));
      words = g_list_delete_link (words, best);
    }
  return g_string_free (g_steal_pointer (&text), FALSE);
}

GPtrArray *
dray_demo_measure_make_table (void)
{
  GPtrArray *rows = g_ptr_array_new_with_free_func ((GDestroyNotify) g_strfreev);
  /* Translators: heading of a column: how many files gio-dray has taken, “20 of 21”. */
  const char *taken = _ ("taken");
  /* Translators: heading of a column: what moved the bytes, e.g. “read-write”. */
  const char *method = _ ("method");
  /* Translators: heading of a column: time that GIO took without gio-dray. */
  const char *stock = _ ("stock GIO");
  /* Translators: heading of a column: “2.15×” is more than twice as fast. */
  const char *faster = _ ("speed");
  const char *const heading[] = { "", taken, method, stock, "gio-dray", faster, NULL };

  g_ptr_array_add (rows, g_strdupv ((char **) heading));
  return rows;
}

static void
add_row (GPtrArray *rows, const char *name, const DrayDemoPass *traced, gint64 stock_us,
         gint64 dray_us)
{
  GPtrArray *row = g_ptr_array_new ();

  g_ptr_array_add (row, g_strdup (name));
  /* Translators: files taken by gio-dray of all that were copied. */
  g_ptr_array_add (row, g_strdup_printf (_ ("%u of %u"), traced->n_taken, traced->n_files));
  g_ptr_array_add (row, list_counts (traced->methods));
  g_ptr_array_add (row, format_time (stock_us));
  g_ptr_array_add (row, format_time (dray_us));
  g_ptr_array_add (row, g_strdup_printf ("%.2f×", (double) stock_us / (double) MAX (dray_us, 1)));
  g_ptr_array_add (row, NULL);
  g_ptr_array_add (rows, g_ptr_array_free (row, FALSE));
}

/* --- one workload ----------------------------------------------------------------------------- */

static gboolean
check_taken (const DrayDemoPass *traced, GError **error)
{
  g_autofree char *reasons = list_counts (traced->reasons);

  if (traced->n_files == 0)
    g_set_error_literal (error, G_IO_ERROR, G_IO_ERROR_NOT_FOUND, _ ("There are no files to copy"));
  else if (traced->n_taken == 0 &&
           (g_hash_table_contains (traced->reasons, "source-filesystem") ||
            g_hash_table_contains (traced->reasons, "destination-filesystem")))
    g_set_error (error, G_IO_ERROR, G_IO_ERROR_NOT_SUPPORTED,
                 /* Translators: %s is a word like “destination-filesystem”; keep --in. */
                 _ ("gio-dray leaves this file system to stock GIO (%s), so there is nothing to "
                    "measure; choose another place with --in"),
                 reasons);
  else if (traced->n_taken == 0)
    g_set_error (error, G_IO_ERROR, G_IO_ERROR_NOT_SUPPORTED,
                 /* Translators: %s is a list of words like “symlink”, or empty. */
                 _ ("gio-dray took none of the files (%s)"), reasons);
  else
    return TRUE;
  return FALSE;
}

static gboolean
copy_and_compare (const DrayDemoWorkload *workload, DrayDemoPass *traced, DrayDemoVerdict *verdict,
                  GError **error)
{
  g_autofree char *stock = make_dest (workload, "first-stock", 0, error);
  g_autofree char *ours = stock == NULL ? NULL : make_dest (workload, "first-dray", 0, error);
  DrayDemoPass pass = { 0 };

  if (ours == NULL)
    return FALSE;
  const gboolean good = dray_demo_pass_run (workload->workplace, DRAY_DEMO_DRAY_TRACED,
                                            workload->source, ours, traced, error) &&
                        check_taken (traced, error) &&
                        dray_demo_pass_run (workload->workplace, DRAY_DEMO_STOCK, workload->source,
                                            stock, &pass, error);
  dray_demo_pass_clear (&pass);
  if (!good)
    return FALSE;

  verdict->n_files += traced->n_files;
  verdict->n_ours_differ += dray_compare_folders (workload->source, ours, &verdict->ours);
  verdict->n_stock_differ += dray_compare_folders (workload->source, stock, &verdict->stock);
  if (workload->remove_copies)
    {
      dray_workplace_remove (stock);
      dray_workplace_remove (ours);
    }
  return TRUE;
}

static gboolean
time_all (const DrayDemoWorkload *workload, gboolean cold, const DrayDemoPass *traced,
          GPtrArray *rows, GError **error)
{
  g_autoptr (GArray) stock = g_array_new (FALSE, FALSE, sizeof (gint64));
  g_autoptr (GArray) dray = g_array_new (FALSE, FALSE, sizeof (gint64));
  g_autofree char *name = g_strdup_printf (
    /* Translators: %s is “small files” or the like. Cold: nothing of it is in memory. */
    cold ? _ ("%s, cold cache") : _ ("%s, warm cache"), workload->name);

  for (guint i = 0; i < workload->n_rounds; i++)
    {
      /* Who goes first changes from round to round. */
      const DrayDemoWho first = i % 2 == 0 ? DRAY_DEMO_STOCK : DRAY_DEMO_DRAY;
      const DrayDemoWho second = i % 2 == 0 ? DRAY_DEMO_DRAY : DRAY_DEMO_STOCK;

      if (!time_one (workload, first, cold, i, first == DRAY_DEMO_STOCK ? stock : dray, error) ||
          !time_one (workload, second, cold, i, second == DRAY_DEMO_STOCK ? stock : dray, error))
        return FALSE;
    }
  add_row (rows, name, traced, get_median (stock), get_median (dray));
  return TRUE;
}

gboolean
dray_demo_measure_run (const DrayDemoWorkload *workload, GPtrArray *rows, DrayDemoVerdict *verdict,
                       GError **error)
{
  DrayDemoPass traced = { 0 };
  const gboolean good = copy_and_compare (workload, &traced, verdict, error) &&
                        time_all (workload, FALSE, &traced, rows, error) &&
                        (!drop_caches () || time_all (workload, TRUE, &traced, rows, error));

  dray_demo_pass_clear (&traced);
  return good;
}

/* --- verdict ---------------------------------------------------------------------------------- */

void
dray_demo_measure_print_verdict (const DrayDemoVerdict *verdict)
{
  if (verdict->n_ours_differ == 0 && verdict->n_stock_differ == 0)
    g_print (ngettext ("Source, stock copy and gio-dray copy are equal: %u file (contents, "
                       "permissions, modification time, extended attributes).",
                       "Source, stock copy and gio-dray copy are equal: %u files (contents, "
                       "permissions, modification times, extended attributes).",
                       verdict->n_files),
             verdict->n_files);
  else if (verdict->n_ours_differ == 0)
    {
      g_print (ngettext ("Source and gio-dray copy are equal: %u file (contents, permissions, "
                         "modification time, extended attributes).",
                         "Source and gio-dray copy are equal: %u files (contents, permissions, "
                         "modification times, extended attributes).",
                         verdict->n_files),
               verdict->n_files);
      g_print ("\n");
      g_print (ngettext ("In the copy by stock GIO %u file differs: %s",
                         "In the copy by stock GIO %u files differ, for example: %s",
                         verdict->n_stock_differ),
               verdict->n_stock_differ, verdict->stock);
    }
  if (verdict->n_ours_differ == 0)
    g_print ("\n");
  if (geteuid () != 0)
    g_print ("%s\n", _ ("Cold caches are measured only as root."));
}

gboolean
dray_demo_measure_judge (const DrayDemoVerdict *verdict, GError **error)
{
  if (verdict->n_ours_differ == 0)
    return TRUE;
  g_set_error (error, G_IO_ERROR, G_IO_ERROR_FAILED,
               /* Translators: %s tells the first difference, with its file. */
               ngettext ("The copy by gio-dray differs from its source in %u file: %s",
                         "The copy by gio-dray differs from its source in %u files, for example: "
                         "%s",
                         verdict->n_ours_differ),
               verdict->n_ours_differ, verdict->ours);
  return FALSE;
}

void
dray_demo_measure_clear_verdict (DrayDemoVerdict *verdict)
{
  g_clear_pointer (&verdict->ours, g_free);
  g_clear_pointer (&verdict->stock, g_free);
}
