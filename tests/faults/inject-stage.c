/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sets a scene up, runs one copy with one fault, and checks what must hold whatever went wrong. */
#include "config.h"
#include "tests/faults/inject-stage.h"

#include "tests/support/tree-build.h"
#include "vfs-shims/dray-shim.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <linux/magic.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

/* Not a mode that any umask gives: it has to be set. */
#define SOURCE_MODE 0664
#define EXISTING "precious"
#define ALARM_SECONDS 60
#define MOST_BLAMED 12

static const char *volatile alarmed;

static void
die_of_alarm (int number)
{
  const char *what = alarmed;

  (void) number;
  (void) !write (STDERR_FILENO, "hangs: ", 7);
  (void) !write (STDERR_FILENO, what, strlen (what));
  (void) !write (STDERR_FILENO, "\n", 1);
  _exit (99);
}

void
inject_set_alarm (unsigned seconds, const char *what)
{
  alarmed = what;
  (void) alarm (seconds);
}

void
inject_init (int *argc, char ***argv)
{
  (void) g_setenv ("GIO_USE_VFS", "local", TRUE);
  (void) g_setenv ("GIO_DRAY", "on", TRUE);
  (void) g_unsetenv ("GIO_EXTRA_MODULES");
  (void) umask (022);
  (void) signal (SIGALRM, die_of_alarm);
  g_test_init (argc, argv, NULL);
  g_assert_true (dray_shim_install ());
}

unsigned
inject_count_names (const char *folder)
{
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  unsigned n = 0;

  g_assert_nonnull (dir);
  while (g_dir_read_name (dir) != NULL)
    n++;
  return n;
}

char *
inject_list_descriptors (void)
{
  g_autoptr (GString) text = g_string_new (NULL);

  /* By number: reading the folder of them would add one. */
  for (int fd = 0; fd < 512; fd++)
    {
      g_autofree char *link = g_strdup_printf ("/proc/self/fd/%d", fd);
      g_autofree char *target = g_file_read_link (link, NULL);

      if (target != NULL)
        g_string_append_printf (text, "%d %s\n", fd, target);
    }
  return g_string_free (g_steal_pointer (&text), FALSE);
}

/* --- a stage ---------------------------------------------------------------------------------- */

static char *
make_folder (const char *variable)
{
  const char *parent = g_getenv (variable);
  char *folder;

  struct statfs facts;

  /* Without root the folder of temporary files has to do, where it is on the same file system. */
  if (parent == NULL && strcmp (variable, "DRAY_TEST_EXT4") == 0 &&
      g_strcmp0 (g_getenv ("DRAY_TEST_REQUIRE"), "1") != 0 && g_getenv ("DRAY_TEST_TMP") != NULL &&
      statfs (g_getenv ("DRAY_TEST_TMP"), &facts) == 0 && facts.f_type == EXT4_SUPER_MAGIC)
    parent = g_getenv ("DRAY_TEST_TMP");
  if (parent == NULL)
    {
      g_autofree char *why = g_strdup_printf ("%s is not set", variable);

      if (g_strcmp0 (g_getenv ("DRAY_TEST_REQUIRE"), "1") == 0)
        g_test_fail ();
      else
        g_test_skip (why);
      return NULL;
    }

  folder = g_build_filename (parent, "inject.XXXXXX", NULL);
  g_assert_nonnull (g_mkdtemp (folder));
  return folder;
}

static void
make_source (const InjectStage *stage)
{
  const InjectScene *scene = stage->scene;

  if (scene->sparse)
    {
      int fd = open (stage->source, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

      g_assert_cmpint (fd, >=, 0);
      g_assert_no_errno (ftruncate (fd, (off_t) scene->size));
      g_assert_no_errno (close (fd));
      tree_fill (stage->source, scene->size / 4 & ~(uint64_t) 0xFFFF, 100000);
      tree_fill (stage->source, scene->size / 2 & ~(uint64_t) 0xFFFF, 200000);
    }
  else
    tree_fill (stage->source, 0, scene->size);
  if (scene->xattrs)
    {
      g_assert_cmpint (tree_set_xattr (stage->source, "user.one", "1", 1), ==, 0);
      g_assert_cmpint (tree_set_xattr (stage->source, "user.two", "22", 2), ==, 0);
    }
  g_assert_no_errno (chmod (stage->source, SOURCE_MODE));
  g_assert_cmpint (tree_set_times (stage->source, TREE_ATIME, TREE_MTIME), ==, 0);
}

static char *
sum_of (const char *path)
{
  g_autoptr (GMappedFile) bytes = g_mapped_file_new (path, FALSE, NULL);

  g_assert_nonnull (bytes);
  return g_compute_checksum_for_data (G_CHECKSUM_MD5,
                                      (const guchar *) g_mapped_file_get_contents (bytes),
                                      g_mapped_file_get_length (bytes));
}

bool
inject_stage_open (InjectStage *stage, const InjectScene *scene)
{
  *stage = (InjectStage) { .scene = scene };
  stage->source_folder = make_folder (scene->source_variable);
  if (stage->source_folder == NULL)
    return false;
  stage->dest_folder = make_folder (scene->dest_variable);
  if (stage->dest_folder == NULL)
    {
      tree_remove (stage->source_folder);
      g_free (stage->source_folder);
      return false;
    }

  stage->source = g_build_filename (stage->source_folder, "source", NULL);
  stage->dest = g_build_filename (stage->dest_folder, "dest", NULL);
  make_source (stage);
  stage->checksum = sum_of (stage->source);
  stage->bytes = g_mapped_file_new (stage->source, FALSE, NULL);
  g_assert_nonnull (stage->bytes);
  return true;
}

void
inject_stage_close (InjectStage *stage)
{
  g_autofree char *checksum = stage->is_disturbed ? NULL : sum_of (stage->source);

  if (!stage->is_disturbed && strcmp (checksum, stage->checksum) != 0)
    inject_stage_blame (stage, NULL, "the source has changed");
  g_mapped_file_unref (stage->bytes);
  tree_remove (stage->source_folder);
  tree_remove (stage->dest_folder);
  g_free (stage->source_folder);
  g_free (stage->dest_folder);
  g_free (stage->source);
  g_free (stage->dest);
  g_free (stage->checksum);
}

static char *
describe (const InjectFault *fault)
{
  static const char *const kinds[] = { "no fault in", "error in", "0 from", "short" };

  if (fault == NULL)
    return g_strdup ("-");
  return g_strdup_printf ("%s %s %u%s (%s, %zu)", kinds[fault->kind],
                          faulty_call_get_name (fault->call), fault->nth,
                          fault->reach == FAULTY_ALWAYS ? " and on" : "",
                          fault->error != 0 ? g_strerror (fault->error) : "-", fault->most);
}

void
inject_stage_blame (InjectStage *stage, const InjectFault *fault, const char *format, ...)
{
  g_autofree char *where = describe (fault);
  g_autofree char *what = NULL;
  va_list arguments;

  va_start (arguments, format);
  what = g_strdup_vprintf (format, arguments);
  va_end (arguments);

  g_test_fail ();
  if (stage->n_blamed++ < MOST_BLAMED)
    g_printerr ("%s: %s: %s\n", stage->scene->name, where, what);
}

/* --- a run ------------------------------------------------------------------------------------ */

typedef struct
{
  InjectStage *stage;
  const InjectFault *fault;
  bool hide;
  InjectResult *result;
  goffset last_current;
} Run;

static void
add_rule (const InjectFault *fault)
{
  switch (fault->kind)
    {
    case INJECT_NOTHING:
      break;
    case INJECT_ERROR:
      faulty_fail (fault->call, fault->nth, fault->error, fault->reach);
      break;
    case INJECT_ZERO:
      faulty_return_zero (fault->call, fault->nth, fault->reach);
      break;
    case INJECT_SHORT:
      faulty_shorten (fault->call, fault->nth, fault->most, fault->reach);
      break;
    }
}

static void
set_rules (const InjectFault *fault, bool hide)
{
  faulty_reset ();
  faulty_hide_mount_numbers (hide);
  for (; fault != NULL; fault = fault->also)
    add_rule (fault);
}

static void
watch_progress (goffset current, goffset total, gpointer data)
{
  Run *run = data;

  if (current < run->last_current || current > total)
    inject_stage_blame (run->stage, run->fault, "progress %ld of %ld after %ld", (long) current,
                        (long) total, (long) run->last_current);
  run->last_current = current;
}

static bool
copy_by_gio (Run *run, const char *dest_path, bool watched, GError **error)
{
  g_autoptr (GFile) source = g_file_new_for_path (run->stage->source);
  g_autoptr (GFile) dest = g_file_new_for_path (dest_path);

  return g_file_copy (source, dest, run->stage->scene->flags, NULL,
                      watched ? watch_progress : NULL, run, error);
}

static char *
name_in_batch (const InjectStage *stage, unsigned i)
{
  return g_strdup_printf ("%s-%u", stage->dest, i);
}

static void
copy_by_engine (Run *run)
{
  const unsigned n = run->stage->scene->n_requests;
  g_autofree DrayCopyRequest *requests = g_new0 (DrayCopyRequest, n);
  g_auto (GStrv) names = g_new0 (char *, n + 1);

  for (unsigned i = 0; i < n; i++)
    {
      names[i] = name_in_batch (run->stage, i);
      requests[i] = (DrayCopyRequest) { AT_FDCWD, AT_FDCWD, run->stage->source, names[i], 0 };
    }
  run->result->reports = g_new0 (DrayCopyReport, n);
  dray_engine_submit (requests, n, NULL, run->result->reports);
}

static gpointer
run_thread (gpointer data)
{
  Run *run = data;
  const InjectScene *scene = run->stage->scene;

  if (scene->recognised)
    {
      g_autofree char *first = g_build_filename (run->stage->dest_folder, "first", NULL);
      g_autoptr (GError) error = NULL;

      faulty_reset ();
      g_assert_true (copy_by_gio (run, first, false, &error));
      g_assert_no_errno (g_unlink (first));
    }
  set_rules (run->fault, run->hide);
  if (scene->n_requests > 0)
    copy_by_engine (run);
  else
    run->result->copied = copy_by_gio (run, run->stage->dest, true, &run->result->error);
  return NULL;
}

void
inject_stage_run (InjectStage *stage, const InjectFault *fault, bool hide, InjectResult *out_result)
{
  Run run = { stage, fault, hide, out_result, 0 };
  g_autofree char *what = describe (fault);
  g_autofree char *before = inject_list_descriptors ();

  *out_result = (InjectResult) { 0 };
  if (stage->scene->exists)
    g_assert_true (g_file_set_contents (stage->dest, EXISTING, -1, NULL));
  inject_set_alarm (ALARM_SECONDS, what);
  (void) g_thread_join (g_thread_new ("inject", run_thread, &run));
  inject_set_alarm (0, "nothing");

  out_result->log = faulty_get_log (&out_result->n_log);
  out_result->hits = faulty_get_hits ();
  faulty_reset ();

  g_autofree char *after = inject_list_descriptors ();
  if (strcmp (before, after) != 0)
    inject_stage_blame (stage, fault, "descriptors before\n%safter\n%s", before, after);
}

void
inject_result_clear (InjectResult *result)
{
  g_clear_error (&result->error);
  g_free (result->reports);
  free (result->log);
}

/* --- what must hold --------------------------------------------------------------------------- */

static bool
is_about_xattrs (FaultyCall call)
{
  return call == FAULTY_LIST_XATTRS || call == FAULTY_GET_XATTR || call == FAULTY_SET_XATTR;
}

static void
check_bytes (InjectStage *stage, const InjectFault *fault, const char *path, uint64_t size)
{
  const uint64_t whole = g_mapped_file_get_length (stage->bytes);
  g_autoptr (GMappedFile) made = g_mapped_file_new (path, FALSE, NULL);

  if (size > whole)
    {
      inject_stage_blame (stage, fault, "longer than the source: %lu", (unsigned long) size);
      return;
    }
  /* A read that answers 0 is the end of the file, as far as anybody can know: what was copied up to
   * there must be right, and what is left out may be zeros or missing. */
  if (size < whole && !(fault->kind == INJECT_ZERO && fault->call == FAULTY_READ))
    inject_stage_blame (stage, fault, "%lu bytes of %lu and no error", (unsigned long) size,
                        (unsigned long) whole);
  if (size == 0)
    return;

  const char *got = g_mapped_file_get_contents (made);
  const char *wanted = g_mapped_file_get_contents (stage->bytes);
  if (memcmp (got, wanted, (size_t) size) == 0)
    return;

  uint64_t at = 0;
  while (got[at] == wanted[at])
    at++;
  if (fault->kind == INJECT_ZERO && fault->call == FAULTY_READ)
    {
      const uint64_t cut = at;

      while (at < size && got[at] == 0)
        at++;
      if (at == size || fault->reach == FAULTY_ONCE)
        return;
      at = cut;
    }
  inject_stage_blame (stage, fault, "wrong byte at %lu", (unsigned long) at);
}

static void
check_xattr (InjectStage *stage, const InjectFault *fault, const char *path, const char *name,
             const char *value)
{
  char got[16] = "";

  if (getxattr (path, name, got, sizeof got) != (ssize_t) strlen (value) ||
      memcmp (got, value, strlen (value)) != 0)
    inject_stage_blame (stage, fault, "xattr %s is missing", name);
}

/* A copy that was told to be good. */
static void
check_copied (InjectStage *stage, const InjectFault *fault, const char *path)
{
  const bool fails = fault->kind == INJECT_ERROR;
  struct stat stat;

  if (lstat (path, &stat) != 0 || !S_ISREG (stat.st_mode))
    {
      inject_stage_blame (stage, fault, "TRUE and no file");
      return;
    }
  check_bytes (stage, fault, path, (uint64_t) stat.st_size);
  if (!(fails && fault->call == FAULTY_SET_MODE) && (stat.st_mode & 07777) != SOURCE_MODE)
    inject_stage_blame (stage, fault, "mode %o", stat.st_mode & 07777);
  if (!(fails && fault->call == FAULTY_SET_TIMES) &&
      (stat.st_mtim.tv_sec != TREE_MTIME.tv_sec || stat.st_mtim.tv_nsec != TREE_MTIME.tv_nsec))
    inject_stage_blame (stage, fault, "mtime %ld.%09ld", (long) stat.st_mtim.tv_sec,
                        stat.st_mtim.tv_nsec);
  if (stage->scene->xattrs && !(fails && is_about_xattrs (fault->call)))
    {
      check_xattr (stage, fault, path, "user.one", "1");
      check_xattr (stage, fault, path, "user.two", "22");
    }
}

/* Whether a call that was made to fail is the first question about a file just made. */
static bool
is_first_look (const InjectResult *result, size_t i)
{
  for (size_t before = i; before-- > 0;)
    if (result->log[before].thread == result->log[i].thread)
      return result->log[before].call == FAULTY_OPEN && result->log[before].creates;
  return false;
}

/* How many names may be left because nothing proved whose they are, or they could not be removed.
 */
static unsigned
count_lost (const InjectFault *fault, const InjectResult *result, bool *out_must)
{
  unsigned n = 0;

  *out_must = false;
  /* Two faults at once: the test itself says what is left. */
  if (fault->also != NULL)
    return 1;
  if (fault->kind != INJECT_ERROR || (fault->call != FAULTY_STAT && fault->call != FAULTY_UNLINK))
    return 0;
  if (fault->call == FAULTY_STAT)
    for (size_t i = 0; i < result->n_log; i++)
      if (result->log[i].call == FAULTY_STAT &&
          (result->log[i].nth == fault->nth ||
           (result->log[i].nth > fault->nth && fault->reach == FAULTY_ALWAYS)) &&
          is_first_look (result, i))
        n++;
  *out_must = n > 0;
  /* The question before removing fails as well. */
  return n == 0 && fault->reach == FAULTY_ALWAYS ? 2 : n;
}

static void
check_source (InjectStage *stage, const InjectFault *fault)
{
  struct stat stat;

  g_assert_no_errno (lstat (stage->source, &stat));
  if (stat.st_mtim.tv_nsec != TREE_MTIME.tv_nsec || stat.st_mtim.tv_sec != TREE_MTIME.tv_sec ||
      (uint64_t) stat.st_size != stage->scene->size || (stat.st_mode & 07777) != SOURCE_MODE)
    inject_stage_blame (stage, fault, "the source has changed");
}

static void
check_error (InjectStage *stage, const InjectFault *fault, const GError *error)
{
  if (error == NULL)
    {
      inject_stage_blame (stage, fault, "FALSE without an error");
      return;
    }
  if (error->domain != G_IO_ERROR || error->code == G_IO_ERROR_NOT_SUPPORTED)
    inject_stage_blame (stage, fault, "FALSE with %s %d", g_quark_to_string (error->domain),
                        error->code);

  if (stage->scene->exists)
    {
      if (error->code != G_IO_ERROR_EXISTS)
        inject_stage_blame (stage, fault, "not \"exists\": %s", error->message);
      return;
    }
  if (fault->kind == INJECT_ERROR)
    {
      gint code = (gint) g_io_error_from_errno (fault->error);

      if (code == G_IO_ERROR_NOT_SUPPORTED)
        code = G_IO_ERROR_FAILED;
      if (error->code != code || strstr (error->message, g_strerror (fault->error)) == NULL)
        inject_stage_blame (stage, fault, "another error: %d %s", error->code, error->message);
    }
}

static void
check_batch (InjectStage *stage, const InjectFault *fault, const InjectResult *result,
             unsigned *names)
{
  unsigned n_short = 0;

  for (unsigned i = 0; i < stage->scene->n_requests; i++)
    {
      const DrayCopyReport *report = &result->reports[i];
      g_autofree char *path = name_in_batch (stage, i);

      n_short += report->outcome != DRAY_OUTCOME_COPIED;
      switch (report->outcome)
        {
        case DRAY_OUTCOME_COPIED:
          check_copied (stage, fault, path);
          *names += 1;
          break;
        case DRAY_OUTCOME_FAILED:
          if (report->error >= 0 || report->step == DRAY_STEP_NONE)
            inject_stage_blame (stage, fault, "failed with %d in step %d", report->error,
                                report->step);
          break;
        case DRAY_OUTCOME_DECLINED:
          if (report->decline == DRAY_DECLINE_NONE)
            inject_stage_blame (stage, fault, "declined for nothing");
          break;
        default:
          inject_stage_blame (stage, fault, "outcome %d", report->outcome);
        }
    }

  /* One fault is one file's, unless it was about the file system of all. */
  if (fault->reach == FAULTY_ONCE && fault->call != FAULTY_OPEN && fault->call != FAULTY_STAT &&
      fault->call != FAULTY_MAGIC && fault->call != FAULTY_MAGIC_AT && n_short > 1)
    inject_stage_blame (stage, fault, "%u files not copied", n_short);
}

static void
check_existing (InjectStage *stage, const InjectFault *fault, const InjectResult *result)
{
  g_autofree char *content = NULL;

  if (result->copied && (stage->scene->flags & G_FILE_COPY_OVERWRITE) != 0)
    check_copied (stage, fault, stage->dest);
  else if (result->copied || !g_file_get_contents (stage->dest, &content, NULL, NULL) ||
           strcmp (content, EXISTING) != 0)
    inject_stage_blame (stage, fault, "the existing destination has changed");
}

/* What is left has to be the destination's name and a file that was made here. */
static void
check_leftover (InjectStage *stage, const InjectFault *fault)
{
  struct stat stat;

  if (stage->scene->n_requests > 0)
    return;
  if (lstat (stage->dest, &stat) != 0 || !S_ISREG (stat.st_mode) || stat.st_nlink != 1 ||
      stat.st_uid != geteuid ())
    inject_stage_blame (stage, fault, "what is left is not ours");
}

void
inject_stage_check (InjectStage *stage, const InjectFault *fault, InjectResult *result)
{
  const unsigned found = inject_count_names (stage->dest_folder);
  unsigned names = 0;
  bool must;
  const unsigned lost = count_lost (fault, result, &must);

  check_source (stage, fault);
  if (stage->scene->n_requests > 0)
    check_batch (stage, fault, result, &names);
  else if (stage->scene->exists)
    {
      names = 1;
      check_existing (stage, fault, result);
    }
  else if (result->copied)
    {
      names = 1;
      check_copied (stage, fault, stage->dest);
    }
  if (stage->scene->n_requests == 0 && !result->copied)
    check_error (stage, fault, result->error);
  else if (result->error != NULL)
    inject_stage_blame (stage, fault, "an error beside TRUE");

  if (found < names + (must ? lost : 0) || found > names + lost)
    inject_stage_blame (stage, fault, "%u names instead of %u, at most %u more", found, names,
                        lost);
  else if (found > names)
    check_leftover (stage, fault);

  tree_remove (stage->dest_folder);
  tree_make_folder (stage->dest_folder, 0755);
}
