/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The trace: its line, and how it gets out without harm. */
#include "config.h"
#include "vfs-shims/dray-trace-private.h"

#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

char *
dray_trace_format (const DrayCopyReport *report, const char *source, const char *dest,
                   int64_t elapsed_us)
{
  g_autofree char *from = g_strescape (source != NULL ? source : "?", NULL);
  g_autofree char *to = g_strescape (dest != NULL ? dest : "?", NULL);

  if (report->outcome == DRAY_OUTCOME_DECLINED)
    return g_strdup_printf ("gio-dray: declined %s -> %s reason=%s\n", from, to,
                            dray_decline_get_name (report->decline));

  g_autofree char *failure = report->outcome == DRAY_OUTCOME_FAILED
                               ? g_strdup_printf (" errno=%d", -report->error)
                               : g_strdup ("");
  return g_strdup_printf ("gio-dray: %s %s -> %s method=%s%s bytes=%" PRIu64 " us=%" PRId64 "%s\n",
                          report->outcome == DRAY_OUTCOME_COPIED ? "taken" : "failed", from, to,
                          dray_method_get_name (report->method), report->sparse ? "+holes" : "",
                          report->bytes, elapsed_us, failure);
}

/* What standard error was when the module came. */
static struct stat standard_error;
static bool has_standard_error;

void
dray_trace_init (void)
{
  has_standard_error = fstat (STDERR_FILENO, &standard_error) == 0;
}

static bool
is_standard_error (void)
{
  struct stat now;

  return has_standard_error && fstat (STDERR_FILENO, &now) == 0 &&
         now.st_dev == standard_error.st_dev && now.st_ino == standard_error.st_ino;
}

/* Writes to standard error; a reader that has gone raises no signal here. */
static void
write_quietly (const char *text, size_t length)
{
  sigset_t broken_pipe, before, pending;
  static const struct timespec at_once = { 0 };

  sigemptyset (&broken_pipe);
  sigaddset (&broken_pipe, SIGPIPE);
  sigpending (&pending);
  if (pthread_sigmask (SIG_BLOCK, &broken_pipe, &before) != 0)
    return;

  while (length > 0)
    {
      ssize_t written = write (STDERR_FILENO, text, length);

      if (written < 0 && errno == EINTR)
        continue;
      if (written <= 0)
        break;
      text += written;
      length -= (size_t) written;
    }

  /* One that was pending before is not ours to take away. */
  if (!sigismember (&pending, SIGPIPE))
    (void) sigtimedwait (&broken_pipe, NULL, &at_once);
  (void) pthread_sigmask (SIG_SETMASK, &before, NULL);
}

void
dray_trace_print (const DrayCopyReport *report, const char *source, const char *dest,
                  int64_t elapsed_us)
{
  const int saved_errno = errno;
  g_autofree char *line = dray_trace_format (report, source, dest, elapsed_us);

  if (is_standard_error ())
    write_quietly (line, strlen (line));
  errno = saved_errno;
}
