/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* That the comparison of `dray demo` sees each thing that a copy could lose. */
#include "config.h"
#include "tools/dray-compare-private.h"

#include "tools/dray-workplace-private.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

typedef struct
{
  char *folder; /* (owned) */
  char *one;    /* (owned) a folder with the file "sub/file" and the link "link" */
  char *other;  /* (owned) another one, alike */
  char *file;   /* (owned) the file in the other */
  char *link;   /* (owned) the link in the other */
} Pair;

static const struct timespec times[2] = { { 1000, 1 }, { 2000, 2 } };

static void
make_tree (const char *folder)
{
  g_autofree char *sub = g_build_filename (folder, "sub", NULL);
  g_autofree char *file = g_build_filename (sub, "file", NULL);
  g_autofree char *link = g_build_filename (folder, "link", NULL);

  g_assert_cmpint (g_mkdir_with_parents (sub, 0700), ==, 0);
  g_assert_true (g_file_set_contents (file, "contents", -1, NULL));
  g_assert_cmpint (g_chmod (file, 0640), ==, 0);
  g_assert_cmpint (utimensat (AT_FDCWD, file, times, 0), ==, 0);
  g_assert_cmpint (symlink ("target", link), ==, 0);
}

static void
set_up (Pair *pair, gconstpointer data)
{
  (void) data;
  pair->folder = g_build_filename (g_getenv ("DRAY_TEST_TMP"), "compare-XXXXXX", NULL);
  g_assert_nonnull (g_mkdtemp (pair->folder));
  pair->one = g_build_filename (pair->folder, "one", NULL);
  pair->other = g_build_filename (pair->folder, "other", NULL);
  pair->file = g_build_filename (pair->other, "sub", "file", NULL);
  pair->link = g_build_filename (pair->other, "link", NULL);
  make_tree (pair->one);
  make_tree (pair->other);
}

static void
tear_down (Pair *pair, gconstpointer data)
{
  (void) data;
  dray_workplace_remove (pair->folder);
  g_assert_false (g_file_test (pair->folder, G_FILE_TEST_EXISTS));
  g_free (pair->folder);
  g_free (pair->one);
  g_free (pair->other);
  g_free (pair->file);
  g_free (pair->link);
}

static void
keep_times (const char *path)
{
  g_assert_cmpint (utimensat (AT_FDCWD, path, times, 0), ==, 0);
}

static bool
can_have_xattrs (const Pair *pair)
{
  return setxattr (pair->file, "user.try", "", 0, 0) == 0 &&
         removexattr (pair->file, "user.try") == 0;
}

static void
spoil_bytes (const Pair *pair)
{
  const int fd = g_open (pair->file, O_WRONLY, 0);

  g_assert_cmpint (pwrite (fd, "X", 1, 3), ==, 1);
  g_assert_cmpint (close (fd), ==, 0);
  keep_times (pair->file);
}

static void
spoil_length (const Pair *pair)
{
  g_assert_cmpint (truncate (pair->file, 4), ==, 0);
  keep_times (pair->file);
}

static void
spoil_mode (const Pair *pair)
{
  g_assert_cmpint (g_chmod (pair->file, 0644), ==, 0);
}

static void
spoil_time (const Pair *pair)
{
  const struct timespec other[2] = { { 1000, 1 }, { 2000, 3 } };

  g_assert_cmpint (utimensat (AT_FDCWD, pair->file, other, 0), ==, 0);
}

static void
spoil_xattr (const Pair *pair)
{
  g_assert_cmpint (setxattr (pair->file, "user.x", "y", 1, 0), ==, 0);
}

static void
spoil_link (const Pair *pair)
{
  g_assert_cmpint (g_unlink (pair->link), ==, 0);
  g_assert_cmpint (symlink ("elsewhere", pair->link), ==, 0);
}

static void
spoil_name (const Pair *pair)
{
  g_assert_cmpint (g_unlink (pair->file), ==, 0);
}

static void
spoil_nothing (const Pair *pair)
{
  (void) pair;
}

static const struct
{
  const char *name;
  void (*spoil) (const Pair *pair);
  guint n;
  const char *words;
} vectors[] = {
  { "like-folders-are-equal", spoil_nothing, 0, NULL },
  { "a-wrong-byte-is-seen", spoil_bytes, 1, "other contents" },
  { "a-short-file-is-seen", spoil_length, 1, "other contents" },
  { "a-wrong-mode-is-seen", spoil_mode, 1, "other permissions" },
  { "a-wrong-nanosecond-is-seen", spoil_time, 1, "modification time" },
  { "a-wrong-xattr-is-seen", spoil_xattr, 1, "extended attributes" },
  { "a-wrong-link-is-seen", spoil_link, 1, "leads elsewhere" },
  { "a-missing-file-is-seen", spoil_name, 1, "missing" },
};

static void
test_one (Pair *pair, gconstpointer data)
{
  const gsize i = GPOINTER_TO_SIZE (data);
  g_autofree char *difference = NULL;

  if (vectors[i].spoil == spoil_xattr && !can_have_xattrs (pair))
    {
      g_test_skip ("no xattrs on this file system");
      return;
    }

  vectors[i].spoil (pair);
  const guint n = dray_compare_folders (pair->one, pair->other, &difference);
  g_assert_cmpuint (n, ==, vectors[i].n);
  if (vectors[i].words != NULL)
    g_assert_nonnull (strstr (difference, vectors[i].words));
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (vectors); i++)
    {
      g_autofree char *path = g_strconcat ("/tools/dray-compare/", vectors[i].name, NULL);

      g_test_add (path, Pair, GSIZE_TO_POINTER (i), set_up, test_one, tear_down);
    }
  return g_test_run ();
}
