/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names and paths of every kind, byte for byte. */
#include "config.h"
#include "tests/parity/parity-run.h"

#include "tests/support/tree-build.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const names[] = {
  "plain",        "-rf",      "--",          "with spaces ", " ",      "new\nline", "tab\t\r\v",
  "%s%n%d",       "\\",       "\"quoted'",   "*?[a]",        "~",      "#a?b=c",    "caf\xc3\xa9",
  "bad\xff\xfe\n", "\xc0\xaf", "\xed\xa0\x80", "a:b",          "...",    ".hidden",   "trailing.",
  ".goutputstream-ABCDEF",    "copy~",       "\x01\x7f",
};

static void
set_names (ParityPlace *place, const char *source, const char *dest)
{
  g_free (place->source);
  g_free (place->dest);
  place->source = g_build_filename (place->from, source, NULL);
  place->dest = g_build_filename (place->to, dest, NULL);
}

static void
prepare_name (ParityPlace *place, gconstpointer data)
{
  set_names (place, data, data);
  tree_write (place->source, 5000, 0644);
}

static void
prepare_existing_name (ParityPlace *place, gconstpointer data)
{
  prepare_name (place, data);
  tree_write (place->dest, 100, 0644);
}

static void
prepare_missing_name (ParityPlace *place, gconstpointer data)
{
  set_names (place, data, data);
}

static void
compare_name (const char *base, const char *name)
{
  ParityCall call = PARITY_CALL (base, base);
  g_autofree char *shown = g_strescape (name, NULL);

  call.name = shown;
  call.data = name;
  call.prepare = prepare_name;
  parity_compare (&call);

  /* The words of errors hold the name. */
  call.expect = PARITY_DECLINED;
  call.prepare = prepare_existing_name;
  parity_compare (&call);
  call.flags = G_FILE_COPY_OVERWRITE | G_FILE_COPY_BACKUP;
  parity_compare (&call);
  call.prepare = prepare_missing_name;
  parity_compare (&call);
}

static void
test_names (gconstpointer data)
{
  const char *base = parity_get_base (data);

  if (base == NULL)
    return;
  for (size_t i = 0; i < G_N_ELEMENTS (names); i++)
    compare_name (base, names[i]);
}

static void
prepare_long_dest (ParityPlace *place, gconstpointer data)
{
  set_names (place, "source", data);
  tree_write (place->source, 5000, 0644);
}

static void
test_longest_name (gconstpointer data)
{
  const char *base = parity_get_base (data);
  ParityCall call = PARITY_CALL (base, base);
  g_autofree char *name = g_strnfill (255, 'n');

  if (base == NULL)
    return;
  compare_name (base, name);

  g_autofree char *longer = g_strnfill (256, 'n');
  call.name = "256 bytes";
  call.prepare = prepare_long_dest;
  call.data = longer;
  call.expect = PARITY_DECLINED;
  parity_compare (&call);
  call.prepare = prepare_missing_name;
  parity_compare (&call);
}

/* --- long paths ------------------------------------------------------------------------------- */

typedef struct
{
  size_t source_length, dest_length; /* of the paths, bytes */
} LengthVector;

/* Makes folders below @folder down to where a last component makes a path of @length bytes, by
 * descriptor, since a path that is too long can be made no other way. */
static char *
make_deep (const char *folder, size_t length, bool with_file)
{
  g_autoptr (GString) path = g_string_new (folder);
  int dir = open (folder, O_PATH | O_DIRECTORY | O_CLOEXEC);

  g_assert_cmpint (dir, >=, 0);
  while (path->len + 202 < length)
    {
      g_autofree char *name = g_strnfill (MIN (length - path->len - 102, 200), 'd');

      g_assert_cmpint (mkdirat (dir, name, 0755), ==, 0);
      int next = openat (dir, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
      g_assert_cmpint (next, >=, 0);
      (void) close (dir);
      dir = next;
      g_string_append_printf (path, "/%s", name);
    }

  g_autofree char *name = g_strnfill (length - path->len - 1, 'f');
  if (with_file)
    {
      const struct timespec times[2] = { TREE_ATIME, TREE_MTIME };
      int fd = openat (dir, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

      g_assert_cmpint (fd, >=, 0);
      g_assert_cmpint (write (fd, name, strlen (name)), ==, (ssize_t) strlen (name));
      g_assert_cmpint (futimens (fd, times), ==, 0);
      (void) close (fd);
    }
  (void) close (dir);
  g_string_append_printf (path, "/%s", name);

  return g_string_free (g_steal_pointer (&path), FALSE);
}

static void
prepare_deep (ParityPlace *place, gconstpointer data)
{
  const LengthVector *vector = data;

  if (vector->source_length > 0)
    {
      g_free (place->source);
      place->source = make_deep (place->from, vector->source_length, true);
    }
  else
    tree_write (place->source, 5000, 0644);
  if (vector->dest_length > 0)
    {
      g_free (place->dest);
      place->dest = make_deep (place->to, vector->dest_length, false);
    }
}

static void
test_long_paths (gconstpointer data)
{
  /* PATH_MAX counts the zero byte. Stock adds ".goutputstream-XXXXXX" only to what exists. */
  static const LengthVector vectors[] = {
    { 1000, 0 },         { 0, 1000 },         { PATH_MAX - 1, 0 }, { 0, PATH_MAX - 1 },
    { PATH_MAX, 0 },     { 0, PATH_MAX },     { PATH_MAX + 1, 0 }, { 0, PATH_MAX + 1 },
    { PATH_MAX - 2, PATH_MAX - 1 },           { 5000, 5000 },
  };
  const char *base = parity_get_base (data);
  ParityCall call = PARITY_CALL (base, base);

  if (base == NULL)
    return;
  call.prepare = prepare_deep;
  for (size_t i = 0; i < G_N_ELEMENTS (vectors); i++)
    {
      g_autofree char *name = g_strdup_printf ("paths of %zu and %zu bytes",
                                               vectors[i].source_length, vectors[i].dest_length);

      call.name = name;
      call.data = &vectors[i];
      call.expect = MAX (vectors[i].source_length, vectors[i].dest_length) < PATH_MAX
                      ? PARITY_TAKEN
                      : PARITY_DECLINED;
      call.flags = G_FILE_COPY_NONE;
      parity_compare (&call);
      call.flags = G_FILE_COPY_OVERWRITE;
      parity_compare (&call);
    }
}

int
main (int argc, char *argv[])
{
  parity_init (&argc, &argv);

  parity_add ("names", "every-byte-of-a-name", test_names);
  parity_add ("names", "longest-name-and-one-byte-more", test_longest_name);
  parity_add ("names", "paths-around-the-longest", test_long_paths);

  return g_test_run ();
}
