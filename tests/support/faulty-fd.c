/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The faulty layer: every dray_fd_* function, a script, a log. */
#include "config.h"
#include "tests/support/faulty-fd.h"

#include "engine/dray-fd-private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_RULES 8

typedef enum
{
  DO_NOTHING,
  DO_FAIL,
  DO_RETURN_ZERO,
  DO_SHORTEN,
  DO_BEFORE,
  DO_AFTER,
} Action;

typedef struct
{
  FaultyCall call;
  unsigned nth;
  FaultyReach reach;
  Action action;
  int error;
  size_t most; /* bytes */
  FaultyHook hook;
  void *data;
} Rule;

/* What one call is to do. */
typedef struct
{
  Action action; /* nothing, fail, return zero or shorten */
  int error;
  size_t most;
  const Rule *after;
} Fate;

static GMutex lock;
static Rule rules[MOST_RULES]; /* (lock) */
static unsigned n_rules;       /* (lock) */
static unsigned counts[FAULTY_N_CALLS]; /* (lock) */
static unsigned delays[FAULTY_N_CALLS]; /* (lock) µs */
static unsigned hits;                   /* (lock) */
static FaultyEntry *entries;            /* (lock) (owned) */
static size_t n_entries, n_room;        /* (lock) */
static bool hides_mount_numbers;        /* (lock) */

/* The real ones, of faulty-real.c. */
extern __typeof__ (dray_fd_open) real_fd_open;
extern __typeof__ (dray_fd_close) real_fd_close;
extern __typeof__ (dray_fd_close_both) real_fd_close_both;
extern __typeof__ (dray_fd_stat) real_fd_stat;
extern __typeof__ (dray_fd_filesystem_magic) real_fd_filesystem_magic;
extern __typeof__ (dray_fd_filesystem_magic_at) real_fd_filesystem_magic_at;
extern __typeof__ (dray_fd_read) real_fd_read;
extern __typeof__ (dray_fd_write) real_fd_write;
extern __typeof__ (dray_fd_copy_range) real_fd_copy_range;
extern __typeof__ (dray_fd_send) real_fd_send;
extern __typeof__ (dray_fd_clone) real_fd_clone;
extern __typeof__ (dray_fd_seek) real_fd_seek;
extern __typeof__ (dray_fd_truncate) real_fd_truncate;
extern __typeof__ (dray_fd_flush_range) real_fd_flush_range;
extern __typeof__ (dray_fd_set_mode) real_fd_set_mode;
extern __typeof__ (dray_fd_set_owner) real_fd_set_owner;
extern __typeof__ (dray_fd_set_times) real_fd_set_times;
extern __typeof__ (dray_fd_list_xattrs) real_fd_list_xattrs;
extern __typeof__ (dray_fd_get_xattr) real_fd_get_xattr;
extern __typeof__ (dray_fd_set_xattr) real_fd_set_xattr;
extern __typeof__ (dray_fd_unlink) real_fd_unlink;

/* --- the script ------------------------------------------------------------------------------- */

void
faulty_reset (void)
{
  g_mutex_lock (&lock);
  n_rules = 0;
  memset (counts, 0, sizeof counts);
  memset (delays, 0, sizeof delays);
  hits = 0;
  n_entries = 0;
  hides_mount_numbers = false;
  g_mutex_unlock (&lock);
}

static void
add_rule (Rule rule)
{
  g_mutex_lock (&lock);
  g_assert_cmpuint (n_rules, <, MOST_RULES);
  rules[n_rules++] = rule;
  g_mutex_unlock (&lock);
}

void
faulty_fail (FaultyCall call, unsigned nth, int error, FaultyReach reach)
{
  add_rule ((Rule) { call, nth, reach, DO_FAIL, error, 0, NULL, NULL });
}

void
faulty_return_zero (FaultyCall call, unsigned nth, FaultyReach reach)
{
  add_rule ((Rule) { call, nth, reach, DO_RETURN_ZERO, 0, 0, NULL, NULL });
}

void
faulty_shorten (FaultyCall call, unsigned nth, size_t most, FaultyReach reach)
{
  add_rule ((Rule) { call, nth, reach, DO_SHORTEN, 0, most, NULL, NULL });
}

void
faulty_before (FaultyCall call, unsigned nth, FaultyHook hook, void *data)
{
  add_rule ((Rule) { call, nth, FAULTY_ONCE, DO_BEFORE, 0, 0, hook, data });
}

void
faulty_after (FaultyCall call, unsigned nth, FaultyHook hook, void *data)
{
  add_rule ((Rule) { call, nth, FAULTY_ONCE, DO_AFTER, 0, 0, hook, data });
}

void
faulty_delay (FaultyCall call, unsigned us)
{
  g_mutex_lock (&lock);
  delays[call] = us;
  g_mutex_unlock (&lock);
}

void
faulty_hide_mount_numbers (bool hide)
{
  g_mutex_lock (&lock);
  hides_mount_numbers = hide;
  g_mutex_unlock (&lock);
}

unsigned
faulty_get_count (FaultyCall call)
{
  g_mutex_lock (&lock);
  unsigned count = counts[call];
  g_mutex_unlock (&lock);
  return count;
}

unsigned
faulty_get_hits (void)
{
  g_mutex_lock (&lock);
  unsigned n = hits;
  g_mutex_unlock (&lock);
  return n;
}

FaultyEntry *
faulty_get_log (size_t *out_n_entries)
{
  g_mutex_lock (&lock);
  FaultyEntry *copy = malloc (MAX (n_entries, 1) * sizeof *copy);
  g_assert_nonnull (copy);
  if (n_entries > 0)
    memcpy (copy, entries, n_entries * sizeof *copy);
  *out_n_entries = n_entries;
  g_mutex_unlock (&lock);
  return copy;
}

const char *
faulty_call_get_name (FaultyCall call)
{
  static const char *const names[FAULTY_N_CALLS] = {
    [FAULTY_OPEN] = "open",
    [FAULTY_CLOSE] = "close",
    [FAULTY_CLOSE_BOTH] = "close-both",
    [FAULTY_STAT] = "stat",
    [FAULTY_MAGIC] = "magic",
    [FAULTY_MAGIC_AT] = "magic-at",
    [FAULTY_READ] = "read",
    [FAULTY_WRITE] = "write",
    [FAULTY_COPY_RANGE] = "copy-range",
    [FAULTY_SEND] = "send",
    [FAULTY_CLONE] = "clone",
    [FAULTY_SEEK] = "seek",
    [FAULTY_TRUNCATE] = "truncate",
    [FAULTY_FLUSH_RANGE] = "flush-range",
    [FAULTY_SET_MODE] = "set-mode",
    [FAULTY_SET_OWNER] = "set-owner",
    [FAULTY_SET_TIMES] = "set-times",
    [FAULTY_LIST_XATTRS] = "list-xattrs",
    [FAULTY_GET_XATTR] = "get-xattr",
    [FAULTY_SET_XATTR] = "set-xattr",
    [FAULTY_UNLINK] = "unlink",
  };

  return names[call];
}

/* --- one call --------------------------------------------------------------------------------- */

static void
log_call (FaultyCall call, bool creates)
{
  if (n_entries == n_room)
    {
      n_room = MAX (n_room * 2, 256);
      entries = realloc (entries, n_room * sizeof *entries);
      g_assert_nonnull (entries);
    }
  entries[n_entries++] = (FaultyEntry) { call, counts[call], creates, g_thread_self () };
}

static Fate
begin (FaultyCall call, bool creates)
{
  Fate fate = { DO_NOTHING, 0, 0, NULL };
  const Rule *before = NULL;

  g_mutex_lock (&lock);
  const unsigned nth = ++counts[call];
  const unsigned delay = delays[call];
  log_call (call, creates);
  for (unsigned i = 0; i < n_rules; i++)
    {
      const Rule *rule = &rules[i];

      if (rule->call != call || nth < rule->nth || (rule->reach == FAULTY_ONCE && nth > rule->nth))
        continue;
      if (rule->action == DO_BEFORE)
        before = rule;
      else if (rule->action == DO_AFTER)
        fate.after = rule;
      else
        {
          fate.action = rule->action;
          fate.error = rule->error;
          fate.most = rule->most;
          hits++;
        }
    }
  g_mutex_unlock (&lock);

  if (delay > 0)
    g_usleep (delay);
  if (before != NULL)
    before->hook (before->data);
  return fate;
}

static void
end (const Fate *fate)
{
  if (fate->after != NULL)
    fate->after->hook (fate->after->data);
}

/* A function without a length: made, or answered. */
#define PLAIN(type, which, creates, call)                                                          \
  const Fate fate = begin (which, creates);                                                        \
  const type result = fate.action == DO_FAIL          ? (type) -fate.error                         \
                      : fate.action == DO_RETURN_ZERO ? 0                                          \
                                                      : (call);                                    \
  end (&fate);                                                                                     \
  return result

/* A function with a length, which a rule may cut down. */
#define SIZED(type, which, length, call)                                                           \
  const Fate fate = begin (which, false);                                                          \
  if (fate.action == DO_SHORTEN)                                                                   \
    length = MIN (length, fate.most);                                                              \
  const type result = fate.action == DO_FAIL          ? (type) -fate.error                         \
                      : fate.action == DO_RETURN_ZERO ? 0                                          \
                                                      : (call);                                    \
  end (&fate);                                                                                     \
  return result

int
dray_fd_open (int dir, const char *path, int flags, mode_t mode)
{
  PLAIN (int, FAULTY_OPEN, (flags & O_CREAT) != 0, real_fd_open (dir, path, flags, mode));
}

int
dray_fd_close (int fd)
{
  const Fate fate = begin (FAULTY_CLOSE, false);
  const int result = real_fd_close (fd);

  g_assert_cmpint (result, !=, -EBADF);
  end (&fate);
  return fate.action == DO_FAIL ? -fate.error : result;
}

int
dray_fd_close_both (int one, int other, bool silent)
{
  const Fate fate = begin (FAULTY_CLOSE_BOTH, false);
  const int result = real_fd_close_both (one, other, silent);

  g_assert_cmpint (result, !=, -EBADF);
  end (&fate);
  return fate.action == DO_FAIL ? -fate.error : result;
}

int
dray_fd_stat (int dir, const char *path, int at_flags, unsigned mask, struct statx *out_stat)
{
  const Fate fate = begin (FAULTY_STAT, false);
  const int result
    = fate.action == DO_FAIL ? -fate.error : real_fd_stat (dir, path, at_flags, mask, out_stat);

  g_mutex_lock (&lock);
  if (result == 0 && hides_mount_numbers)
    out_stat->stx_mask &= ~STATX_MNT_ID_UNIQUE;
  g_mutex_unlock (&lock);
  end (&fate);
  return result;
}

int
dray_fd_filesystem_magic (int fd, uint32_t *out_magic)
{
  PLAIN (int, FAULTY_MAGIC, false, real_fd_filesystem_magic (fd, out_magic));
}

int
dray_fd_filesystem_magic_at (const char *path, uint32_t *out_magic)
{
  PLAIN (int, FAULTY_MAGIC_AT, false, real_fd_filesystem_magic_at (path, out_magic));
}

ssize_t
dray_fd_read (int fd, void *buffer, size_t length, uint64_t offset)
{
  SIZED (ssize_t, FAULTY_READ, length, real_fd_read (fd, buffer, length, offset));
}

ssize_t
dray_fd_write (int fd, const void *buffer, size_t length, uint64_t offset)
{
  SIZED (ssize_t, FAULTY_WRITE, length, real_fd_write (fd, buffer, length, offset));
}

ssize_t
dray_fd_copy_range (int source, uint64_t source_offset, int dest, uint64_t dest_offset,
                    size_t length)
{
  SIZED (ssize_t, FAULTY_COPY_RANGE, length,
         real_fd_copy_range (source, source_offset, dest, dest_offset, length));
}

ssize_t
dray_fd_send (int source, uint64_t source_offset, int dest, size_t length)
{
  SIZED (ssize_t, FAULTY_SEND, length, real_fd_send (source, source_offset, dest, length));
}

int
dray_fd_clone (int source, int dest)
{
  PLAIN (int, FAULTY_CLONE, false, real_fd_clone (source, dest));
}

int64_t
dray_fd_seek (int fd, uint64_t offset, int whence)
{
  PLAIN (int64_t, FAULTY_SEEK, false, real_fd_seek (fd, offset, whence));
}

int
dray_fd_truncate (int fd, uint64_t length)
{
  PLAIN (int, FAULTY_TRUNCATE, false, real_fd_truncate (fd, length));
}

int
dray_fd_flush_range (int fd, uint64_t offset, uint64_t length, bool wait)
{
  PLAIN (int, FAULTY_FLUSH_RANGE, false, real_fd_flush_range (fd, offset, length, wait));
}

int
dray_fd_set_mode (int fd, mode_t mode)
{
  PLAIN (int, FAULTY_SET_MODE, false, real_fd_set_mode (fd, mode));
}

int
dray_fd_set_owner (int fd, uid_t uid, gid_t gid)
{
  PLAIN (int, FAULTY_SET_OWNER, false, real_fd_set_owner (fd, uid, gid));
}

int
dray_fd_set_times (int fd, const struct timespec times[2])
{
  PLAIN (int, FAULTY_SET_TIMES, false, real_fd_set_times (fd, times));
}

ssize_t
dray_fd_list_xattrs (int fd, char *names, size_t size)
{
  PLAIN (ssize_t, FAULTY_LIST_XATTRS, false, real_fd_list_xattrs (fd, names, size));
}

ssize_t
dray_fd_get_xattr (int fd, const char *name, void *value, size_t size)
{
  PLAIN (ssize_t, FAULTY_GET_XATTR, false, real_fd_get_xattr (fd, name, value, size));
}

int
dray_fd_set_xattr (int fd, const char *name, const void *value, size_t size)
{
  PLAIN (int, FAULTY_SET_XATTR, false, real_fd_set_xattr (fd, name, value, size));
}

int
dray_fd_unlink (int dir, const char *name)
{
  PLAIN (int, FAULTY_UNLINK, false, real_fd_unlink (dir, name));
}
