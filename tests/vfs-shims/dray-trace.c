/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests of vfs-shims/dray-trace.c: the line, and that writing it never harms the process. */
#include "config.h"
#include "vfs-shims/dray-trace-private.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static const DrayCopyReport taken = {
  .outcome = DRAY_OUTCOME_COPIED,
  .method = DRAY_METHOD_READ_WRITE,
  .bytes = 4096,
  .calls = 2,
};

#define TAKEN_LINE "gio-dray: taken /a -> /b method=read-write bytes=4096 us=12\n"

static void
test_lines_are_as_documented (void)
{
  static const struct
  {
    DrayCopyReport report;
    const char *source, *dest;
    int64_t elapsed_us;
    const char *line;
  } vectors[] = {
    { { .outcome = DRAY_OUTCOME_COPIED, .method = DRAY_METHOD_READ_WRITE, .bytes = 4096 },
      "/a", "/b", 12, TAKEN_LINE },
    { { .outcome = DRAY_OUTCOME_COPIED,
        .method = DRAY_METHOD_REFLINK,
        .bytes = G_MAXUINT64 },
      "/a", "/b", G_MAXINT64,
      "gio-dray: taken /a -> /b method=reflink bytes=18446744073709551615"
      " us=9223372036854775807\n" },
    { { .outcome = DRAY_OUTCOME_COPIED, .method = DRAY_METHOD_LANES, .sparse = true },
      "/a", "/b", 0, "gio-dray: taken /a -> /b method=lanes+holes bytes=0 us=0\n" },
    { { .outcome = DRAY_OUTCOME_COPIED },
      "/a", "/b", 0, "gio-dray: taken /a -> /b method=none bytes=0 us=0\n" },
    { { .outcome = DRAY_OUTCOME_DECLINED, .decline = DRAY_DECLINE_DIRECTORY },
      "/a", "/b", 5, "gio-dray: declined /a -> /b reason=directory\n" },
    /* The errno behind a decline is stock's to tell. */
    { { .outcome = DRAY_OUTCOME_DECLINED,
        .decline = DRAY_DECLINE_DEST_EXISTS,
        .error = -EEXIST },
      "/a", "/b", 5, "gio-dray: declined /a -> /b reason=destination-exists\n" },
    { { .outcome = DRAY_OUTCOME_FAILED,
        .step = DRAY_STEP_TRANSFER,
        .error = -ENOSPC,
        .method = DRAY_METHOD_SEND,
        .bytes = 7 },
      "/a", "/b", 5, "gio-dray: failed /a -> /b method=sendfile bytes=7 us=5 errno=28\n" },
    { { .outcome = DRAY_OUTCOME_FAILED,
        .step = DRAY_STEP_CANCEL,
        .error = -ECANCELED,
        .method = DRAY_METHOD_COPY_RANGE,
        .sparse = true },
      "/a", "/b", 5,
      "gio-dray: failed /a -> /b method=copy_file_range+holes bytes=0 us=5 errno=125\n" },
    /* Files without a path. */
    { { .outcome = DRAY_OUTCOME_DECLINED, .decline = DRAY_DECLINE_NOT_LOCAL },
      NULL, "/b", 5, "gio-dray: declined ? -> /b reason=not-local\n" },
    { { .outcome = DRAY_OUTCOME_DECLINED, .decline = DRAY_DECLINE_NOT_LOCAL },
      "/a", NULL, 5, "gio-dray: declined /a -> ? reason=not-local\n" },
    { { .outcome = DRAY_OUTCOME_DECLINED, .decline = DRAY_DECLINE_NO_PATH },
      NULL, NULL, 5, "gio-dray: declined ? -> ? reason=no-path\n" },
  };

  g_test_summary ("Character by character");
  for (size_t i = 0; i < G_N_ELEMENTS (vectors); i++)
    {
      g_autofree char *line = dray_trace_format (&vectors[i].report, vectors[i].source,
                                                 vectors[i].dest, vectors[i].elapsed_us);

      g_assert_cmpstr (line, ==, vectors[i].line);
    }
}

static void
test_every_reason_and_method_has_a_word (void)
{
  g_test_summary ("And no word needs escaping or has a space");
  for (DrayDecline reason = DRAY_DECLINE_NONE; reason < DRAY_N_DECLINES; reason++)
    {
      const DrayCopyReport report = { .outcome = DRAY_OUTCOME_DECLINED, .decline = reason };
      g_autofree char *line = dray_trace_format (&report, "/a", "/b", 1);
      const char *word = strstr (line, "reason=") + strlen ("reason=");

      g_assert_cmpuint (strspn (word, "abcdefghijklmnopqrstuvwxyz-"), ==, strlen (word) - 1);
      g_assert_cmpuint (strlen (word), >, 1);
      g_assert_false (g_str_has_prefix (word, "unknown\n"));
    }
  for (DrayMethod method = DRAY_METHOD_NONE; method < DRAY_N_METHODS; method++)
    {
      const DrayCopyReport report = { .outcome = DRAY_OUTCOME_COPIED, .method = method };
      g_autofree char *line = dray_trace_format (&report, "/a", "/b", 1);

      g_assert_null (strstr (line, "method=unknown"));
      g_assert_null (strstr (line, "method= "));
    }
}

static void
test_paths_cannot_break_the_line (void)
{
  static const struct
  {
    const char *path, *shown;
  } vectors[] = {
    { "/a b", "/a b" },
    { "/new\nline", "/new\\nline" },
    { "/tab\t\r\b\f\v", "/tab\\t\\r\\b\\f\\v" },
    { "/quote\"'\\", "/quote\\\"'\\\\" },
    { "/\x1b[31mred", "/\\033[31mred" },
    { "/\x7f", "/\\177" },
    { "/caf\xc3\xa9", "/caf\\303\\251" },
    /* Not UTF-8. */
    { "/\xff\xfe", "/\\377\\376" },
    { "/%s%n", "/%s%n" },
    { "", "" },
  };

  g_test_summary ("Escaped as in C, on both sides");
  for (size_t i = 0; i < G_N_ELEMENTS (vectors); i++)
    {
      g_autofree char *expected
        = g_strdup_printf ("gio-dray: taken %s -> %s method=read-write bytes=4096 us=12\n",
                           vectors[i].shown, vectors[i].shown);
      g_autofree char *line = dray_trace_format (&taken, vectors[i].path, vectors[i].path, 12);

      g_assert_cmpstr (line, ==, expected);
    }
}

/* --- printing: each in a process of its own, whose descriptor 2 may be bent ------------------- */

/* Puts @fd where standard error is; the test's own complaints go to the old place no more. */
static void
become_standard_error (int fd)
{
  g_assert_cmpint (dup2 (fd, STDERR_FILENO), ==, STDERR_FILENO);
  g_assert_no_errno (close (fd));
}

/* All that is in a pipe, which must not block. */
static void
assert_pipe_has (int fd, const char *expected)
{
  char text[8192];
  ssize_t length;

  g_assert_no_errno (fcntl (fd, F_SETFL, O_NONBLOCK));
  length = read (fd, text, sizeof text - 1);
  if (length < 0)
    {
      g_assert_cmpint (errno, ==, EAGAIN);
      length = 0;
    }
  text[length] = '\0';
  g_assert_cmpstr (text, ==, expected);
}

static bool
run_in_child (void)
{
  if (g_test_subprocess ())
    return true;

  g_test_trap_subprocess (NULL, 0, 0);
  g_test_trap_assert_passed ();
  /* The child's last words, so that one which ended early with success is seen. */
  g_test_trap_assert_stdout ("*<reached the end>*");
  return false;
}

static void
end_child (void)
{
  g_print ("<reached the end>\n");
}

static void
test_line_is_printed_in_one_piece (void)
{
  int ends[2];

  g_test_summary ("Standard error is what it was: the line comes, errno stays");
  if (!run_in_child ())
    return;

  /* Packets: each write() can be told from the next. */
  g_assert_no_errno (pipe2 (ends, O_DIRECT));
  become_standard_error (ends[1]);
  dray_trace_init ();
  errno = EXDEV;
  dray_trace_print (&taken, "/a", "/b", 12);
  g_assert_cmpint (errno, ==, EXDEV);
  dray_trace_print (&taken, "/a", "/b", 12);
  assert_pipe_has (ends[0], TAKEN_LINE);
  assert_pipe_has (ends[0], TAKEN_LINE);
  assert_pipe_has (ends[0], "");
  end_child ();
}

static void
test_nothing_before_init (void)
{
  int ends[2];

  g_test_summary ("What standard error is has to be known first");
  if (!run_in_child ())
    return;

  g_assert_no_errno (pipe (ends));
  become_standard_error (ends[1]);
  dray_trace_print (&taken, "/a", "/b", 12);
  assert_pipe_has (ends[0], "");
  end_child ();
}

static void
test_other_file_is_not_written (void)
{
  g_autofree char *name = g_strdup ("/tmp/dray-trace.XXXXXX");
  int ends[2], others[2];

  g_test_summary ("Descriptor 2 now leads to a file, a pipe, nowhere, and back");
  if (!run_in_child ())
    return;

  g_assert_no_errno (pipe (ends));
  g_assert_no_errno (pipe (others));
  const int keep = dup (ends[1]);
  become_standard_error (ends[1]);
  dray_trace_init ();

  const int file = g_mkstemp (name);
  g_assert_cmpint (file, >=, 0);
  g_assert_cmpint (dup2 (file, STDERR_FILENO), ==, STDERR_FILENO);
  dray_trace_print (&taken, "/a", "/b", 12);
  g_assert_cmpint (lseek (file, 0, SEEK_END), ==, 0);
  g_assert_no_errno (g_unlink (name));

  become_standard_error (others[1]);
  dray_trace_print (&taken, "/a", "/b", 12);
  assert_pipe_has (others[0], "");

  g_assert_no_errno (close (STDERR_FILENO));
  errno = EXDEV;
  dray_trace_print (&taken, "/a", "/b", 12);
  g_assert_cmpint (errno, ==, EXDEV);
  assert_pipe_has (ends[0], "");

  become_standard_error (keep);
  dray_trace_print (&taken, "/a", "/b", 12);
  assert_pipe_has (ends[0], TAKEN_LINE);
  end_child ();
}

static void
test_closed_at_init_stays_silent (void)
{
  int ends[2];

  g_test_summary ("A daemon without standard error opens its data files as descriptor 2");
  if (!run_in_child ())
    return;

  g_assert_no_errno (pipe (ends));
  g_assert_no_errno (close (STDERR_FILENO));
  dray_trace_init ();
  become_standard_error (ends[1]);
  dray_trace_print (&taken, "/a", "/b", 12);
  assert_pipe_has (ends[0], "");
  end_child ();
}

/* Descriptor 2 is a pipe that nobody will ever read. */
static void
break_standard_error (void)
{
  int ends[2];

  g_assert_no_errno (pipe (ends));
  become_standard_error (ends[1]);
  g_assert_no_errno (close (ends[0]));
  g_assert_true (signal (SIGPIPE, SIG_DFL) != SIG_ERR);
}

static bool
is_pending (int signal_number)
{
  sigset_t pending;

  g_assert_no_errno (sigpending (&pending));
  return sigismember (&pending, signal_number) == 1;
}

static bool
is_blocked (int signal_number)
{
  sigset_t blocked;

  g_assert_cmpint (pthread_sigmask (SIG_SETMASK, NULL, &blocked), ==, 0);
  return sigismember (&blocked, signal_number) == 1;
}

static void
block (int signal_number)
{
  sigset_t set;

  sigemptyset (&set);
  sigaddset (&set, signal_number);
  g_assert_cmpint (pthread_sigmask (SIG_BLOCK, &set, NULL), ==, 0);
}

static void
test_broken_pipe_does_not_kill (void)
{
  g_test_summary ("SIGPIPE with its default action, not blocked: nothing comes, nothing stays");
  if (!run_in_child ())
    return;

  break_standard_error ();
  dray_trace_init ();
  errno = EXDEV;
  dray_trace_print (&taken, "/a", "/b", 12);
  g_assert_cmpint (errno, ==, EXDEV);
  g_assert_false (is_pending (SIGPIPE));
  g_assert_false (is_blocked (SIGPIPE));
  end_child ();
}

static void
test_blocked_stays_blocked_without_one_more (void)
{
  g_test_summary ("A caller that has SIGPIPE blocked finds none of ours");
  if (!run_in_child ())
    return;

  break_standard_error ();
  dray_trace_init ();
  block (SIGPIPE);
  dray_trace_print (&taken, "/a", "/b", 12);
  g_assert_false (is_pending (SIGPIPE));
  g_assert_true (is_blocked (SIGPIPE));
  end_child ();
}

static void
test_pending_before_stays_pending (void)
{
  g_test_summary ("The caller's own SIGPIPE is not taken away");
  if (!run_in_child ())
    return;

  break_standard_error ();
  dray_trace_init ();
  block (SIGPIPE);
  g_assert_no_errno (raise (SIGPIPE));
  g_assert_true (is_pending (SIGPIPE));
  dray_trace_print (&taken, "/a", "/b", 12);
  g_assert_true (is_pending (SIGPIPE));
  g_assert_true (is_blocked (SIGPIPE));
  end_child ();
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/vfs-shims/trace/lines-are-as-documented", test_lines_are_as_documented);
  g_test_add_func ("/vfs-shims/trace/every-reason-and-method-has-a-word",
                   test_every_reason_and_method_has_a_word);
  g_test_add_func ("/vfs-shims/trace/paths-cannot-break-the-line",
                   test_paths_cannot_break_the_line);
  g_test_add_func ("/vfs-shims/trace/line-is-printed-in-one-piece",
                   test_line_is_printed_in_one_piece);
  g_test_add_func ("/vfs-shims/trace/nothing-before-init", test_nothing_before_init);
  g_test_add_func ("/vfs-shims/trace/other-file-is-not-written", test_other_file_is_not_written);
  g_test_add_func ("/vfs-shims/trace/closed-at-init-stays-silent",
                   test_closed_at_init_stays_silent);
  g_test_add_func ("/vfs-shims/trace/broken-pipe-does-not-kill", test_broken_pipe_does_not_kill);
  g_test_add_func ("/vfs-shims/trace/blocked-stays-blocked-without-one-more",
                   test_blocked_stays_blocked_without_one_more);
  g_test_add_func ("/vfs-shims/trace/pending-before-stays-pending",
                   test_pending_before_stays_pending);
  return g_test_run ();
}
