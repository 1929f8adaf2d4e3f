/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One g_file_copy() made by stock GIO and by the module, and everything seen of both compared. */
#include "config.h"
#include "tests/parity/parity-run.h"

#include "tests/parity/parity-diff.h"
#include "tests/support/observe-tree.h"
#include "tests/support/tree-build.h"

#include <locale.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const ParityFilesystem parity_filesystems[PARITY_N_FILESYSTEMS] = {
  { "ext4", "DRAY_TEST_EXT4", false },           { "xfs", "DRAY_TEST_XFS", true },
  { "xfs-plain", "DRAY_TEST_XFS_PLAIN", false }, { "btrfs", "DRAY_TEST_BTRFS", true },
  { "tmpfs", "DRAY_TEST_TMPFS", false },         { "overlay", "DRAY_TEST_OVERLAY", false },
};

typedef gboolean (*CopySlot) (GFile *, GFile *, GFileCopyFlags, GCancellable *,
                              GFileProgressCallback, gpointer, GError **);

static GFileIface *local_iface; /* GLocalFile's, which GIO and the module use */
static CopySlot module_slot;    /* what the module has put there */

/* What the wrapper has seen since the run began. */
static struct
{
  unsigned n_asked;
  ParityOutcome outcome;
} record;

/* --- the two ways ----------------------------------------------------------------------------- */

static gboolean
recording_slot (GFile *source, GFile *destination, GFileCopyFlags flags, GCancellable *cancellable,
                GFileProgressCallback callback, gpointer callback_data, GError **error)
{
  g_autoptr (GError) own_error = NULL;
  const gboolean copied = module_slot (source, destination, flags, cancellable, callback,
                                       callback_data, &own_error);

  record.n_asked++;
  if (copied)
    {
      g_assert_no_error (own_error);
      record.outcome = PARITY_TAKEN;
      return TRUE;
    }

  /* GIO would read through NULL. */
  g_assert_nonnull (own_error);
  record.outcome = g_error_matches (own_error, G_IO_ERROR, G_IO_ERROR_NOT_SUPPORTED)
                     ? PARITY_DECLINED
                     : PARITY_FAILED;
  g_propagate_error (error, g_steal_pointer (&own_error));
  return FALSE;
}

void
parity_init (int *argc, char ***argv)
{
  setlocale (LC_ALL, "");
  g_test_init (argc, argv, NULL);

  g_autoptr (GFile) root = g_file_new_for_path ("/");
  local_iface = g_type_interface_peek (g_type_class_ref (G_OBJECT_TYPE (root)), G_TYPE_FILE);
  module_slot = local_iface->copy;
  if (module_slot == NULL)
    {
      g_print ("Bail out! GIO has not loaded the module: GIO_EXTRA_MODULES is wrong\n");
      exit (1);
    }
}

/* --- one run ---------------------------------------------------------------------------------- */

typedef struct
{
  GCancellable *cancellable; /* (not owned) or NULL */
  ParityCancel cancel;
  GThread *caller;
  ParityProgress seen;
} Watch;

static void
progress_cb (goffset current, goffset total, gpointer data)
{
  Watch *watch = data;
  ParityProgress *seen = &watch->seen;

  if (seen->n == 0)
    seen->total = total;
  seen->rises = seen->rises && current >= seen->last && current >= 0;
  seen->same_total = seen->same_total && total == seen->total;
  seen->same_thread = seen->same_thread && g_thread_self () == watch->caller;
  seen->last = current;
  seen->n++;
  if (watch->cancel == PARITY_CANCEL_FIRST ||
      (watch->cancel == PARITY_CANCEL_LAST && current == total))
    g_cancellable_cancel (watch->cancellable);
}

static char *
describe_status (gboolean returned, const GError *error)
{
  if (error == NULL)
    return g_strdup_printf ("returned %s without an error", returned ? "TRUE" : "FALSE");
  return g_strdup_printf ("returned %s with %s %d: %s", returned ? "TRUE" : "FALSE",
                          g_quark_to_string (error->domain), error->code, error->message);
}

static void
make_place (const ParityCall *call, ParityPlace *place)
{
  place->from = g_build_filename (call->source_base, "parity-from", NULL);
  place->to = g_build_filename (call->dest_base, "parity-to", NULL);
  /* Left by a program that crashed. */
  tree_remove (place->from);
  tree_remove (place->to);
  tree_make_folder (place->from, 0755);
  tree_make_folder (place->to, 0755);
  place->source = g_build_filename (place->from, "source", NULL);
  place->dest = g_build_filename (place->to, "copy", NULL);

  if (call->prepare != NULL)
    call->prepare (place, call->data);
  else
    tree_write (place->source, 5000, 0640);
}

static void
clear_place (const ParityCall *call, ParityPlace *place)
{
  if (call->finish != NULL)
    call->finish (place, call->data);
  tree_remove (place->from);
  tree_remove (place->to);
  g_free (place->from);
  g_free (place->to);
  g_free (place->source);
  g_free (place->dest);
}

void
parity_run (const ParityCall *call, bool ours, ParityRun *out_run)
{
  ParityPlace place;

  *out_run = (ParityRun) { 0 };
  make_place (call, &place);
  out_run->from_before = observe_tree (place.from);
  out_run->to_before = observe_tree (place.to);

  g_autoptr (GFile) source = g_file_new_for_path (place.source);
  g_autoptr (GFile) dest = g_file_new_for_path (place.dest);
  g_autoptr (GCancellable) cancellable
    = call->cancel == PARITY_CANCEL_NONE ? NULL : g_cancellable_new ();
  Watch watch = {
    .cancellable = cancellable,
    .cancel = call->cancel,
    .caller = g_thread_self (),
    .seen = { .rises = true, .same_total = true, .same_thread = true },
  };
  g_autofree char *from_below = g_strconcat (place.from, "/", NULL);
  struct stat stat_before = { 0 };

  (void) stat (place.source, &stat_before);
  if (call->cancel == PARITY_CANCEL_BEFORE)
    g_cancellable_cancel (cancellable);

  record.n_asked = 0;
  record.outcome = PARITY_NOT_ASKED;
  local_iface->copy = ours ? recording_slot : NULL;
  const mode_t mask = umask (call->mask);
  const gboolean returned
    = g_file_copy (source, dest, (GFileCopyFlags) call->flags, cancellable,
                   call->without_progress ? NULL : progress_cb, &watch, &out_run->error);
  (void) umask (mask);
  local_iface->copy = module_slot;

  g_assert_cmpuint (record.n_asked, <=, ours ? 1 : 0);
  out_run->returned = returned;
  out_run->outcome = record.outcome;
  out_run->progress = watch.seen;
  out_run->is_apart = !g_str_has_prefix (place.dest, from_below);
  out_run->source_size = stat_before.st_size;
  out_run->status = describe_status (returned, out_run->error);
  out_run->from = observe_tree (place.from);
  out_run->to = observe_tree (place.to);
  if (call->with_blocks && returned)
    {
      g_free (observe_blocks (place.source, &out_run->source_bytes));
      out_run->map = observe_blocks (place.dest, &out_run->bytes);
      out_run->shared = observe_is_shared (place.dest);
    }
  clear_place (call, &place);
}

void
parity_run_clear (ParityRun *run)
{
  g_clear_error (&run->error);
  g_free (run->status);
  g_free (run->from);
  g_free (run->from_before);
  g_free (run->to);
  g_free (run->to_before);
  g_free (run->map);
  *run = (ParityRun) { 0 };
}

/* --- comparing -------------------------------------------------------------------------------- */

void
parity_expect (const ParityCall *call, bool truth, const char *format, ...)
{
  if (truth)
    return;

  va_list arguments;
  va_start (arguments, format);
  g_autofree char *text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  g_test_message ("%s (%s to %s, flags %#x, umask %04o): %s", call->name, call->source_base,
                  call->dest_base, call->flags, call->mask, text);
  g_test_fail ();
}

static void
compare_text (const ParityCall *call, const char *what, const char *expected, const char *got)
{
  if (strcmp (expected, got) == 0)
    return;

  g_autofree char *diff = parity_diff (expected, got);
  parity_expect (call, false, "%s differs (- expected, + module):\n%s", what, diff);
}

static const char *
outcome_name (ParityOutcome outcome)
{
  static const char *const names[] = { "taken", "declined", "failed", "not asked" };

  return names[outcome];
}

/* Takes a word, which begins with a space, out of every line. */
static char *
without_word (const char *text, const char *word)
{
  g_autoptr (GString) kept = g_string_new (NULL);

  for (const char *at = text; *at != '\0';)
    {
      const char *found = strstr (at, word);

      if (found == NULL)
        found = at + strlen (at);
      g_string_append_len (kept, at, found - at);
      at = *found == '\0' ? found : found + 1 + strcspn (found + 1, " \n");
    }

  return g_string_free (g_steal_pointer (&kept), FALSE);
}

/* Of extents whose other owner has just been removed: xfs forgets him some time later. */
static char *
without_sharing (const char *text)
{
  return without_word (text, " shared=");
}

/* Reading sets the access time, and a clone does not read; and stock may have cloned and failed. */
static char *
get_source_text (const char *text)
{
  g_autofree char *unshared = without_sharing (text);

  return without_word (unshared, " atime=");
}

/* How many calls there are differs by design; how they begin and end must not. The module's are
 * held against what is right and not against stock: for a clone GLib 2.74 tells (0, 0), because it
 * asks for a size that it has not queried (btrfs_reflink_with_progress() in gio/gfile.c). */
static void
compare_progress (const ParityCall *call, const ParityRun *stock, const ParityRun *ours)
{
  const ParityProgress *seen = &ours->progress;

  parity_expect (call, seen->rises, "progress falls");
  parity_expect (call, seen->same_total, "progress changes its total");
  parity_expect (call, seen->same_thread, "progress is told in another thread");
  if (!ours->returned)
    return;

  parity_expect (call, (stock->progress.n > 0) == (seen->n > 0),
                 "progress calls: stock %u, module %u", stock->progress.n, seen->n);
  if (ours->outcome == PARITY_DECLINED || seen->n == 0)
    {
      parity_expect (call, stock->progress.last == seen->last, "progress of a declined call ends");
      return;
    }

  parity_expect (call, seen->last == ours->source_size && seen->total == ours->source_size,
                 "progress ends with (%" G_GOFFSET_FORMAT ", %" G_GOFFSET_FORMAT
                 "), the size is %" G_GOFFSET_FORMAT,
                 seen->last, seen->total, ours->source_size);
  if (ours->source_size == 0)
    parity_expect (call, seen->n == 1, "%u progress calls for an empty file", seen->n);
}

void
parity_compare_runs (const ParityCall *call, const ParityRun *stock, const ParityRun *ours)
{
  g_autofree char *source = get_source_text (ours->from);
  g_autofree char *source_before = get_source_text (ours->from_before);
  g_autofree char *stock_source = get_source_text (stock->from);

  parity_expect (call, ours->outcome == call->expect, "expected to be %s, but was %s: %s",
                 outcome_name (call->expect), outcome_name (ours->outcome), ours->status);
  compare_text (call, "fixture", stock->to_before, ours->to_before);
  compare_text (call, "result", stock->status, ours->status);
  compare_progress (call, stock, ours);
  compare_text (call, "source folder", stock_source, source);
  if (ours->is_apart && ours->outcome != PARITY_DECLINED)
    compare_text (call, "source folder before and after", source_before, source);

  switch (ours->outcome)
    {
    case PARITY_TAKEN:
      compare_text (call, "destination folder", stock->to, ours->to);
      break;
    case PARITY_FAILED:
      /* BETTER: stock leaves what it has written so far under the final name. */
      compare_text (call, "destination folder before and after", ours->to_before, ours->to);
      if (call->stock_leaves_partial)
        parity_expect (call, strcmp (stock->to_before, stock->to) != 0,
                       "stock was to leave a partial file");
      break;
    case PARITY_DECLINED:
    case PARITY_NOT_ASKED:
      {
        g_autofree char *to = without_sharing (ours->to);
        g_autofree char *stock_to = without_sharing (stock->to);

        compare_text (call, "destination folder", stock_to, to);
        break;
      }
    }

  if (call->with_blocks && stock->returned && ours->returned)
    {
      /* BETTER: holes stay holes. */
      parity_expect (call, ours->bytes <= stock->bytes,
                     "%" G_GUINT64_FORMAT " bytes allocated by the module (%s), %" G_GUINT64_FORMAT
                     " by stock (%s)",
                     ours->bytes, ours->map, stock->bytes, stock->map);
      parity_expect (call, ours->shared == stock->shared, "shared extents: stock %d, module %d",
                     stock->shared, ours->shared);
    }
}

void
parity_compare (const ParityCall *call)
{
  ParityRun stock, ours;

  parity_run (call, false, &stock);
  parity_run (call, true, &ours);
  parity_compare_runs (call, &stock, &ours);
  parity_run_clear (&stock);
  parity_run_clear (&ours);
}

/* --- tests ------------------------------------------------------------------------------------ */

void
parity_add (const char *subject, const char *sentence, GTestDataFunc function)
{
  for (size_t i = 0; i < PARITY_N_FILESYSTEMS; i++)
    {
      g_autofree char *path = g_strdup_printf ("/parity/%s/%s/%s", subject, sentence,
                                               parity_filesystems[i].name);

      g_test_add_data_func (path, &parity_filesystems[i], function);
    }
}

const char *
parity_get_base (const ParityFilesystem *filesystem)
{
  const char *base = g_getenv (filesystem->variable);

  if (base != NULL)
    return base;
  if (g_strcmp0 (g_getenv ("DRAY_TEST_REQUIRE"), "1") == 0)
    {
      g_test_message ("%s is not set, and DRAY_TEST_REQUIRE is", filesystem->variable);
      g_test_fail ();
    }
  else
    g_test_skip ("no such file system: needs root");
  return NULL;
}

bool
parity_is_root (void)
{
  return geteuid () == 0;
}

bool
parity_skip_unless_root (const char *why)
{
  if (parity_is_root ())
    return false;
  g_autofree char *text = g_strdup_printf ("needs root: %s", why);
  g_test_skip (text);
  return true;
}

bool
parity_skip_if_root (const char *why)
{
  if (!parity_is_root ())
    return false;
  g_autofree char *text = g_strdup_printf ("needs an ordinary user: %s", why);
  g_test_skip (text);
  return true;
}
