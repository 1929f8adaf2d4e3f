/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests of engine/dray-engine.c: batches of all sizes, and what is left when a part of one fails.
 */
#include "config.h"
#include "engine/dray-engine.h"

#include "tests/engine/copy-pair.h"

#include <signal.h>
#include <sys/resource.h>

/* Bytes of an ordinary file of a batch, and the limit that makes a big one fail. */
#define FILE_BYTES 5000
#define LIMIT_BYTES (64 << 10)

/* What a request is made to end as. */
typedef enum
{
  GOOD,
  EMPTY,
  MISSING,
  DIRECTORY,
  SYMLINK,
  FIFO,
  EXISTS,
  NO_FOLDER,
  FOREIGN, /* a source on procfs */
  TOO_BIG, /* above RLIMIT_FSIZE while that is set */
  N_KINDS,
} Kind;

typedef struct
{
  char *folder;              /* (owned) */
  size_t n;
  Kind *kinds;               /* (owned) */
  DrayCopyRequest *requests; /* (owned) with its paths */
  DrayCopyReport *reports;   /* (owned) */
} Batch;

static const struct
{
  DrayOutcome outcome;
  DrayDecline decline;
  int error;
} expected[N_KINDS] = {
  [GOOD] = { DRAY_OUTCOME_COPIED, DRAY_DECLINE_NONE, 0 },
  [EMPTY] = { DRAY_OUTCOME_COPIED, DRAY_DECLINE_NONE, 0 },
  [MISSING] = { DRAY_OUTCOME_DECLINED, DRAY_DECLINE_SOURCE_UNREADABLE, -ENOENT },
  [DIRECTORY] = { DRAY_OUTCOME_DECLINED, DRAY_DECLINE_DIRECTORY, 0 },
  [SYMLINK] = { DRAY_OUTCOME_DECLINED, DRAY_DECLINE_SYMLINK, 0 },
  [FIFO] = { DRAY_OUTCOME_DECLINED, DRAY_DECLINE_SPECIAL_FILE, 0 },
  [EXISTS] = { DRAY_OUTCOME_DECLINED, DRAY_DECLINE_DEST_EXISTS, -EEXIST },
  [NO_FOLDER] = { DRAY_OUTCOME_DECLINED, DRAY_DECLINE_DEST_FOLDER, -ENOENT },
  [FOREIGN] = { DRAY_OUTCOME_DECLINED, DRAY_DECLINE_SOURCE_FILESYSTEM, 0 },
  [TOO_BIG] = { DRAY_OUTCOME_FAILED, DRAY_DECLINE_NONE, -EFBIG },
};

static void
make_request (Batch *batch, size_t i, Kind kind)
{
  g_autofree char *source_name = g_strdup_printf ("source-%zu", i);
  g_autofree char *dest_name = g_strdup_printf ("dest-%zu", i);
  char *source = g_build_filename (batch->folder, source_name, NULL);
  char *dest
    = g_build_filename (batch->folder, kind == NO_FOLDER ? "no-folder" : ".", dest_name, NULL);

  switch (kind)
    {
    case MISSING:
    case N_KINDS:
      break;
    case DIRECTORY:
      g_assert_no_errno (g_mkdir (source, 0700));
      break;
    case SYMLINK:
      g_assert_no_errno (symlink ("/etc/passwd", source));
      break;
    case FIFO:
      g_assert_no_errno (mkfifo (source, 0600));
      break;
    case FOREIGN:
      g_free (source);
      source = g_strdup ("/proc/version");
      break;
    case EXISTS:
      copy_pair_write_dense (dest, 3);
      G_GNUC_FALLTHROUGH;
    case GOOD:
    case NO_FOLDER:
      copy_pair_write_dense (source, FILE_BYTES + i);
      break;
    case EMPTY:
      copy_pair_write_dense (source, 0);
      break;
    case TOO_BIG:
      copy_pair_write_dense (source, 4 * LIMIT_BYTES);
      break;
    }
  batch->kinds[i] = kind;
  batch->requests[i] = (DrayCopyRequest) {
    .source_dir = AT_FDCWD,
    .dest_dir = AT_FDCWD,
    .source = source,
    .dest = dest,
    .flags = DRAY_COPY_NOFOLLOW,
  };
  memset (&batch->reports[i], 0xEE, sizeof batch->reports[i]);
}

static bool
batch_init (Batch *batch, size_t n, bool mixed)
{
  char *folder = copy_pair_make_folder ("DRAY_TEST_TMP");

  if (folder == NULL)
    return false;
  *batch = (Batch) {
    .folder = folder,
    .n = n,
    .kinds = g_new0 (Kind, n + 1),
    .requests = g_new0 (DrayCopyRequest, n + 1),
    .reports = g_new0 (DrayCopyReport, n + 1),
  };
  for (size_t i = 0; i < n; i++)
    make_request (batch, i, mixed ? (Kind) (i % N_KINDS) : GOOD);
  return true;
}

static void
batch_clear (Batch *batch)
{
  for (size_t i = 0; i < batch->n; i++)
    {
      if (batch->kinds[i] != FOREIGN)
        (void) remove (batch->requests[i].source);
      (void) remove (batch->requests[i].dest);
      g_free ((char *) batch->requests[i].source);
      g_free ((char *) batch->requests[i].dest);
    }
  /* Nothing but what was asked for was made. */
  g_assert_no_errno (g_rmdir (batch->folder));
  g_free (batch->folder);
  g_free (batch->kinds);
  g_free (batch->requests);
  g_free (batch->reports);
}

static bool
exists (const char *path)
{
  struct stat stat;

  return lstat (path, &stat) == 0;
}

static void
check_report (const Batch *batch, size_t i)
{
  const DrayCopyRequest *request = &batch->requests[i];
  const DrayCopyReport *report = &batch->reports[i];
  const Kind kind = batch->kinds[i];

  g_test_message ("%zu of %zu, kind %d", i, batch->n, (int) kind);
  g_assert_cmpint (report->outcome, ==, expected[kind].outcome);
  g_assert_cmpint (report->decline, ==, expected[kind].decline);
  g_assert_cmpint (report->error, ==, expected[kind].error);
  g_assert_cmpint (report->step, ==, kind == TOO_BIG ? DRAY_STEP_TRANSFER : DRAY_STEP_NONE);
  if (report->outcome == DRAY_OUTCOME_COPIED)
    {
      copy_pair_assert_same_bytes (request->source, request->dest);
      g_assert_cmpuint (report->bytes, ==, kind == EMPTY ? 0 : FILE_BYTES + i);
      g_assert_cmpint (report->method == DRAY_METHOD_NONE, ==, kind == EMPTY);
    }
  else
    g_assert_cmpint (exists (request->dest), ==, kind == EXISTS);
}

static void
set_size_limit (rlim_t limit)
{
  struct rlimit now;

  g_assert_no_errno (getrlimit (RLIMIT_FSIZE, &now));
  now.rlim_cur = limit;
  g_assert_no_errno (setrlimit (RLIMIT_FSIZE, &now));
}

static void
test_every_request_is_reported (void)
{
  static const size_t vectors[] = { 0, 1, 15, 16, 17, 500 };

  g_test_summary ("Copied, declined and failed side by side, below and above the use of threads");
  for (size_t v = 0; v < G_N_ELEMENTS (vectors); v++)
    {
      Batch batch;

      if (!batch_init (&batch, vectors[v], true))
        return;
      set_size_limit (LIMIT_BYTES);
      dray_engine_submit (batch.requests, batch.n, NULL, batch.reports);
      set_size_limit (RLIM_INFINITY);
      for (size_t i = 0; i < batch.n; i++)
        check_report (&batch, i);
      batch_clear (&batch);
    }
}

static void
test_each_kind_alone (void)
{
  g_test_summary ("A batch of one, as g_file_copy() makes it");
  for (Kind kind = GOOD; kind < N_KINDS; kind++)
    {
      Batch batch;

      if (!batch_init (&batch, 1, false))
        return;
      g_free ((char *) batch.requests[0].dest);
      (void) remove (batch.requests[0].source);
      g_free ((char *) batch.requests[0].source);
      make_request (&batch, 0, kind);
      set_size_limit (LIMIT_BYTES);
      dray_engine_submit (batch.requests, 1, NULL, batch.reports);
      set_size_limit (RLIM_INFINITY);
      check_report (&batch, 0);
      batch_clear (&batch);
    }
}

typedef struct
{
  GThread *thread;
  uint64_t current, total;
  unsigned n_calls;
  bool fell, strayed;
  int n_asked;        /* whether to go on (atomic) */
  int cancel_after;   /* so many questions; 0: never */
} Ear;

static void
progress_cb (uint64_t current, uint64_t total, void *user_data)
{
  Ear *ear = user_data;

  ear->strayed = ear->strayed || g_thread_self () != ear->thread;
  ear->fell = ear->fell || current < ear->current || total < ear->total || current > total;
  ear->current = current;
  ear->total = total;
  ear->n_calls++;
}

static bool
cancelled_cb (void *user_data)
{
  Ear *ear = user_data;

  return g_atomic_int_add (&ear->n_asked, 1) >= ear->cancel_after && ear->cancel_after > 0;
}

static void
test_progress_is_the_sum (void)
{
  static const size_t vectors[] = { 1, 15, 16, 200 };

  g_test_summary ("Rising, on the submitting thread, ending with all bytes of all files");
  for (size_t v = 0; v < G_N_ELEMENTS (vectors); v++)
    {
      Ear ear = { .thread = g_thread_self () };
      const DrayCopyMonitor monitor = { progress_cb, cancelled_cb, &ear };
      uint64_t sum = 0;
      Batch batch;

      if (!batch_init (&batch, vectors[v], false))
        return;
      dray_engine_submit (batch.requests, batch.n, &monitor, batch.reports);
      for (size_t i = 0; i < batch.n; i++)
        {
          check_report (&batch, i);
          sum += FILE_BYTES + i;
        }
      g_assert_false (ear.fell);
      g_assert_false (ear.strayed);
      g_assert_cmpuint (ear.n_calls, >=, 1);
      if (batch.n == 1)
        g_assert_cmpuint (ear.n_calls, ==, 1);
      /* The last file of the other thread may end between two looks. */
      g_assert_cmpuint (ear.current, <=, sum);
      g_assert_cmpuint (ear.total, <=, sum);
      g_assert_cmpuint (ear.current, ==, sum);
      g_assert_cmpuint (ear.total, ==, sum);
      batch_clear (&batch);
    }
}

static void
test_last_report_of_a_batch_is_complete (void)
{
  g_test_summary ("Also when the other thread ends last: (sum, sum) is told");
  for (unsigned round = 0; round < 10; round++)
    {
      Ear ear = { .thread = g_thread_self () };
      const DrayCopyMonitor monitor = { progress_cb, cancelled_cb, &ear };
      uint64_t sum = 0;
      Batch batch;

      if (!batch_init (&batch, 64, false))
        return;
      dray_engine_submit (batch.requests, batch.n, &monitor, batch.reports);
      for (size_t i = 0; i < batch.n; i++)
        sum += FILE_BYTES + i;
      batch_clear (&batch);
      g_assert_cmpuint (ear.current, ==, sum);
      g_assert_cmpuint (ear.total, ==, sum);
    }
}

static void
test_cancel_keeps_complete_files_only (void)
{
  g_test_summary ("In the middle of a batch: each file is whole or absent, and says so");
  for (unsigned big = 0; big < 2; big++)
    {
      Ear ear = { .thread = g_thread_self (), .cancel_after = 21 };
      const DrayCopyMonitor monitor = { progress_cb, cancelled_cb, &ear };
      unsigned n_copied = 0, n_cancelled = 0;
      Batch batch;

      if (!batch_init (&batch, big != 0 ? 12 : 500, false))
        return;
      if (big != 0)
        for (size_t i = 1; i < batch.n; i++)
          copy_pair_write_dense (batch.requests[i].source, 8 << 20);
      dray_engine_submit (batch.requests, batch.n, &monitor, batch.reports);
      for (size_t i = 0; i < batch.n; i++)
        if (batch.reports[i].outcome == DRAY_OUTCOME_COPIED)
          {
            copy_pair_assert_same_bytes (batch.requests[i].source, batch.requests[i].dest);
            n_copied++;
          }
        else
          {
            g_assert_cmpint (batch.reports[i].outcome, ==, DRAY_OUTCOME_FAILED);
            g_assert_cmpint (batch.reports[i].step, ==, DRAY_STEP_CANCEL);
            g_assert_cmpint (batch.reports[i].error, ==, -ECANCELED);
            g_assert_false (exists (batch.requests[i].dest));
            n_cancelled++;
          }
      g_assert_cmpuint (n_copied, >, 0);
      g_assert_cmpuint (n_cancelled, >, 0);
      batch_clear (&batch);
    }
}

static gpointer
submit_mixed (gpointer data)
{
  Batch *batch = data;

  for (unsigned i = 0; i < 2; i++)
    {
      dray_engine_submit (batch->requests, batch->n, NULL, batch->reports);
      if (i == 0)
        for (size_t r = 0; r < batch->n; r++)
          if (batch->reports[r].outcome == DRAY_OUTCOME_COPIED)
            g_assert_no_errno (g_unlink (batch->requests[r].dest));
    }
  return NULL;
}

static void
test_threads_submit_at_once (void)
{
  static const size_t sizes[] = { 1, 1, 7, 15, 16, 40, 40, 90 };
  GThread *threads[G_N_ELEMENTS (sizes)];
  Batch batches[G_N_ELEMENTS (sizes)];

  g_test_summary ("Overlapping batches answer as if each were alone");
  for (size_t i = 0; i < G_N_ELEMENTS (sizes); i++)
    if (!batch_init (&batches[i], sizes[i], true))
      return;
  set_size_limit (LIMIT_BYTES);
  for (size_t i = 0; i < G_N_ELEMENTS (sizes); i++)
    threads[i] = g_thread_new ("submit", submit_mixed, &batches[i]);
  for (size_t i = 0; i < G_N_ELEMENTS (sizes); i++)
    (void) g_thread_join (threads[i]);
  set_size_limit (RLIM_INFINITY);
  for (size_t i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      for (size_t r = 0; r < batches[i].n; r++)
        check_report (&batches[i], r);
      batch_clear (&batches[i]);
    }
}

static unsigned
count_descriptors (void)
{
  GDir *dir = g_dir_open ("/proc/self/fd", 0, NULL);
  unsigned n = 0;

  while (g_dir_read_name (dir) != NULL)
    n++;
  g_dir_close (dir);
  return n;
}

static void
test_no_descriptor_and_no_thread_is_left (void)
{
  Batch batch;

  g_test_summary ("Whatever became of the requests");
  if (!batch_init (&batch, 100, true))
    return;
  const unsigned before = count_descriptors ();
  set_size_limit (LIMIT_BYTES);
  dray_engine_submit (batch.requests, batch.n, NULL, batch.reports);
  set_size_limit (RLIM_INFINITY);
  g_assert_cmpuint (count_descriptors (), ==, before);
  batch_clear (&batch);
}

static void
test_names_are_unique (void)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);

  g_test_summary ("Each reason and each method has a word; numbers out of range are unknown");
  for (int i = 0; i < DRAY_N_DECLINES; i++)
    {
      const char *name = dray_decline_get_name ((DrayDecline) i);

      g_assert_nonnull (name);
      g_assert_cmpstr (name, !=, "unknown");
      g_assert_true (g_hash_table_add (seen, (gpointer) name));
    }
  g_hash_table_remove_all (seen);
  for (int i = 0; i < DRAY_N_METHODS; i++)
    {
      const char *name = dray_method_get_name ((DrayMethod) i);

      g_assert_nonnull (name);
      g_assert_cmpstr (name, !=, "unknown");
      g_assert_true (g_hash_table_add (seen, (gpointer) name));
    }
  g_assert_cmpstr (dray_decline_get_name (DRAY_N_DECLINES), ==, "unknown");
  g_assert_cmpstr (dray_method_get_name (DRAY_N_METHODS), ==, "unknown");
}

/* A link that leads to a file system that is declined says nothing about the files beside it. */
static void
test_link_to_elsewhere_is_no_reason (void)
{
  DrayCopyReport report;
  Batch batch;

  g_test_summary ("Files beside a link into /proc are still copied");
  if (!batch_init (&batch, 1, false))
    return;
  g_autofree char *link = g_build_filename (batch.folder, "link", NULL);
  g_autofree char *dest = g_build_filename (batch.folder, "from-link", NULL);
  const DrayCopyRequest followed
    = { .source_dir = AT_FDCWD, .dest_dir = AT_FDCWD, .source = link, .dest = dest };

  g_assert_no_errno (symlink ("/proc/version", link));
  dray_engine_submit (&followed, 1, NULL, &report);
  g_assert_cmpint (report.decline, ==, DRAY_DECLINE_SOURCE_FILESYSTEM);
  dray_engine_submit (batch.requests, 1, NULL, batch.reports);
  g_assert_cmpint (batch.reports[0].outcome, ==, DRAY_OUTCOME_COPIED);
  g_assert_no_errno (g_unlink (link));
  batch_clear (&batch);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  (void) signal (SIGXFSZ, SIG_IGN); /* above RLIMIT_FSIZE: EFBIG */
  g_test_add_func ("/engine/engine/every-request-is-reported", test_every_request_is_reported);
  g_test_add_func ("/engine/engine/each-kind-alone", test_each_kind_alone);
  g_test_add_func ("/engine/engine/progress-is-the-batchs-sum", test_progress_is_the_sum);
  g_test_add_func ("/engine/engine/last-report-of-a-batch-is-complete",
                   test_last_report_of_a_batch_is_complete);
  g_test_add_func ("/engine/engine/cancel-keeps-complete-files-only",
                   test_cancel_keeps_complete_files_only);
  g_test_add_func ("/engine/engine/threads-submit-at-once", test_threads_submit_at_once);
  g_test_add_func ("/engine/engine/no-descriptor-and-no-thread-is-left",
                   test_no_descriptor_and_no_thread_is_left);
  g_test_add_func ("/engine/engine/names-are-unique", test_names_are_unique);
  g_test_add_func ("/engine/engine/link-to-elsewhere-is-no-reason",
                   test_link_to_elsewhere_is_no_reason);
  return g_test_run ();
}
