/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a folder monitor sees of a copy.
 *
 * The kernel's events come in different orders: stock closes the file and then sets its metadata by
 * path (create, modify..., close-write, attrib...), the module sets the metadata on the descriptor
 * and then closes (create, modify..., attrib..., close-write).
 *
 * GFileMonitor turns both into the same signals: created, changed (if there are bytes),
 * changes-done-hint, attribute-changed. It tells changes-done-hint at the close-write or ahead of
 * the first attrib, whichever comes first, and only once for changes that were pending. So with the
 * module the hint comes a moment before the close, when all bytes and the user.* xattrs are there.
 * The one condition is that nothing after the first attrib looks like a change of the content, as
 * setting the modification time alone would.
 *
 * When a copy is cancelled the module's file goes away again, and a watcher sees it deleted.
 */
#include "config.h"
#include "tests/parity/parity-run.h"

#include "tests/support/tree-build.h"

#include <libglib-testing/signal-logger.h>
#include <string.h>
#include <sys/stat.h>

/* Long enough for the kernel's queue, GLib's thread and its timers; only silence is waited for so
 * long, and only once for each case. */
#define QUIET_MS 70
#define LONGEST_MS 10000

typedef struct
{
  uint64_t size;
  mode_t mode;
  bool with_xattr;
} MonitorVector;

typedef struct
{
  GFileMonitor *monitor;  /* (owned) */
  GtSignalLogger *logger; /* (owned) */
  GPtrArray *events;      /* (owned) of strings "kind name" */
} Watcher;

static gboolean
quit_cb (gpointer data)
{
  bool *quit = data;

  *quit = true;
  return G_SOURCE_REMOVE;
}

/* Runs the main context until nothing has come for a while. */
static void
wait_for_quiet (Watcher *watcher)
{
  const gint64 longest = g_get_monotonic_time () + LONGEST_MS * 1000;
  gsize n_before;

  do
    {
      bool quit = false;

      n_before = gt_signal_logger_get_n_emissions (watcher->logger);
      g_timeout_add (QUIET_MS, quit_cb, &quit);
      while (!quit)
        g_main_context_iteration (NULL, TRUE);
    }
  while (gt_signal_logger_get_n_emissions (watcher->logger) != n_before &&
         g_get_monotonic_time () < longest);
}

static void
watch (Watcher *watcher, const char *folder)
{
  g_autoptr (GFile) file = g_file_new_for_path (folder);
  g_autoptr (GError) error = NULL;

  watcher->monitor = g_file_monitor_directory (file, G_FILE_MONITOR_WATCH_MOVES, NULL, &error);
  g_assert_no_error (error);
  g_file_monitor_set_rate_limit (watcher->monitor, 0);
  watcher->logger = gt_signal_logger_new ();
  gt_signal_logger_connect (watcher->logger, watcher->monitor, "changed");
  watcher->events = g_ptr_array_new_with_free_func (g_free);
}

static const char *
event_name (GFileMonitorEvent event)
{
  static const char *const names[]
    = { "changed",     "changes-done-hint", "deleted",  "created",  "attribute-changed",
        "pre-unmount", "unmounted",         "moved",    "renamed",  "moved-in",
        "moved-out" };

  return (size_t) event < G_N_ELEMENTS (names) ? names[event] : "unknown";
}

/* Ends the watching; an event repeated at once counts once, as their number is the kernel's. */
static void
collect (Watcher *watcher)
{
  wait_for_quiet (watcher);
  while (gt_signal_logger_get_n_emissions (watcher->logger) > 0)
    {
      g_autoptr (GFile) file = NULL;
      g_autoptr (GFile) other = NULL;
      GFileMonitorEvent event = G_FILE_MONITOR_EVENT_CHANGED;

      gt_signal_logger_assert_emission_pop (watcher->logger, watcher->monitor, "changed", &file,
                                            &other, &event);
      g_autofree char *name = g_file_get_basename (file);
      g_autofree char *line = g_strdup_printf ("%s %s", event_name (event), name);

      if (watcher->events->len == 0 ||
          strcmp (watcher->events->pdata[watcher->events->len - 1], line) != 0)
        g_ptr_array_add (watcher->events, g_steal_pointer (&line));
    }
  g_file_monitor_cancel (watcher->monitor);
  g_clear_pointer (&watcher->logger, gt_signal_logger_free);
  g_clear_object (&watcher->monitor);
}

/* --- cases ------------------------------------------------------------------------------------ */

/* Of the run under way. */
static Watcher watcher;

static void
prepare_watched (ParityPlace *place, gconstpointer data)
{
  const MonitorVector *vector = data;

  tree_write (place->source, vector->size, vector->mode);
  if (vector->with_xattr)
    (void) tree_set_xattr (place->source, "user.parity", "value", 5);
  watch (&watcher, place->to);
}

static void
finish_watched (ParityPlace *place G_GNUC_UNUSED, gconstpointer data G_GNUC_UNUSED)
{
  collect (&watcher);
}

/* Runs a call and returns its events. */
static GPtrArray *
run_watched (const ParityCall *call, bool ours, ParityRun *out_run)
{
  parity_run (call, ours, out_run);
  return g_steal_pointer (&watcher.events);
}

static int
find (GPtrArray *events, const char *line)
{
  for (guint i = 0; i < events->len; i++)
    if (strcmp (events->pdata[i], line) == 0)
      return (int) i;
  return -1;
}

static char *
join (GPtrArray *events)
{
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < events->len; i++)
    g_string_append_printf (text, "%s\n", (const char *) events->pdata[i]);
  return g_string_free (g_steal_pointer (&text), FALSE);
}

static bool
have_same_kinds (GPtrArray *a, GPtrArray *b)
{
  bool same = true;

  for (guint i = 0; i < a->len; i++)
    same = same && find (b, a->pdata[i]) >= 0;
  for (guint i = 0; i < b->len; i++)
    same = same && find (a, b->pdata[i]) >= 0;

  return same;
}

static void
expect_order (const ParityCall *call, GPtrArray *events, bool has_bytes)
{
  const int created = find (events, "created copy");
  const int changed = find (events, "changed copy");
  const int done = find (events, "changes-done-hint copy");

  parity_expect (call, created == 0, "created is not the first");
  parity_expect (call, (changed > created) == has_bytes, "changed comes with bytes, and only then");
  parity_expect (call, done > created && done > changed, "changes-done-hint is not after changed");
}

static void
test_copies (gconstpointer data)
{
  static const MonitorVector vectors[] = {
    { 0, 0644, false },
    { 5000, 0644, false },
    { 5000, 04755, true },
    { 3 << 20, 0640, true },
    { 40 << 20, 0644, false },
  };
  static const unsigned flags[] = { G_FILE_COPY_NONE, G_FILE_COPY_ALL_METADATA };
  const char *base = parity_get_base (data);
  ParityCall call = PARITY_CALL (base, base);

  if (base == NULL)
    return;
  call.prepare = prepare_watched;
  call.finish = finish_watched;
  for (size_t i = 0; i < G_N_ELEMENTS (vectors); i++)
    for (size_t j = 0; j < G_N_ELEMENTS (flags); j++)
      {
        ParityRun stock, ours;

        call.data = &vectors[i];
        call.flags = flags[j];
        g_autoptr (GPtrArray) stock_events = run_watched (&call, false, &stock);
        g_autoptr (GPtrArray) events = run_watched (&call, true, &ours);

        parity_compare_runs (&call, &stock, &ours);
        /* Stock clones an empty file too, and the kernel tells that as a change of its content. */
        if (vectors[i].size == 0 && find (stock_events, "changed copy") >= 0)
          g_ptr_array_remove_index (stock_events, (guint) find (stock_events, "changed copy"));
        g_autofree char *stock_text = join (stock_events);
        g_autofree char *text = join (events);
        /* An ordinary user's write to a setuid file takes the bit away, which is an attrib in the
         * middle: stock has made the file with the bit, the module sets it after the bytes. */
        const bool same = (vectors[i].mode & S_ISUID) == 0 ? strcmp (stock_text, text) == 0
                                                           : have_same_kinds (stock_events, events);
        parity_expect (&call, same, "events of stock:\n%smodule:\n%s", stock_text, text);
        expect_order (&call, events, vectors[i].size > 0);
        parity_run_clear (&stock);
        parity_run_clear (&ours);
      }
}

static void
test_cancelled (gconstpointer data)
{
  static const MonitorVector vector = { 3 << 20, 0640, true };
  const char *base = parity_get_base (data);
  ParityCall call = PARITY_CALL (base, base);
  ParityRun ours;

  if (base == NULL)
    return;
  call.prepare = prepare_watched;
  call.finish = finish_watched;
  call.data = &vector;
  call.cancel = PARITY_CANCEL_FIRST;
  g_autoptr (GPtrArray) events = run_watched (&call, true, &ours);
  g_autofree char *text = join (events);
  parity_expect (&call, ours.outcome == PARITY_FAILED, "%s", ours.status);
  parity_expect (&call, g_str_has_prefix (text, "created copy\n") &&
                          find (events, "deleted copy") > 0,
                 "events:\n%s", text);
  parity_run_clear (&ours);
}

/* A declined call leaves no trace that a watcher could see. */
static void
prepare_conflict (ParityPlace *place, gconstpointer data)
{
  const MonitorVector *vector = data;

  tree_write (place->source, vector->size, vector->mode);
  tree_write (place->dest, 100, 0644);
  watch (&watcher, place->to);
}

static void
test_declined (gconstpointer data)
{
  static const MonitorVector vector = { 5000, 0640, false };
  const char *base = parity_get_base (data);
  ParityCall call = PARITY_CALL (base, base);
  ParityRun stock, ours;

  if (base == NULL)
    return;
  call.prepare = prepare_conflict;
  call.finish = finish_watched;
  call.data = &vector;
  call.expect = PARITY_DECLINED;
  g_autoptr (GPtrArray) stock_events = run_watched (&call, false, &stock);
  g_autoptr (GPtrArray) events = run_watched (&call, true, &ours);
  parity_compare_runs (&call, &stock, &ours);
  g_assert_cmpuint (stock_events->len, ==, 0);
  g_assert_cmpuint (events->len, ==, 0);
  parity_run_clear (&stock);
  parity_run_clear (&ours);
}

int
main (int argc, char *argv[])
{
  parity_init (&argc, &argv);

  parity_add ("monitor", "copies-are-seen-in-order", test_copies);
  parity_add ("monitor", "a-cancelled-copy-is-seen-deleted", test_cancelled);
  parity_add ("monitor", "a-declined-call-is-not-seen", test_declined);

  return g_test_run ();
}
