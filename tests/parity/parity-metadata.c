/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Modes, owners, times, xattrs and ACLs. */
#include "config.h"
#include "tests/parity/parity-run.h"

#include "tests/support/tree-build.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What of metadata a flag changes. */
static const unsigned flag_sets[] = {
  G_FILE_COPY_NONE,
  G_FILE_COPY_ALL_METADATA,
  G_FILE_COPY_TARGET_DEFAULT_PERMS,
  G_FILE_COPY_ALL_METADATA | G_FILE_COPY_TARGET_DEFAULT_PERMS,
  PARITY_TARGET_DEFAULT_MODIFIED_TIME,
  PARITY_TARGET_DEFAULT_MODIFIED_TIME | G_FILE_COPY_ALL_METADATA,
};

static void
compare_flag_sets (ParityCall *call)
{
  for (size_t i = 0; i < G_N_ELEMENTS (flag_sets); i++)
    {
      call->flags = flag_sets[i];
      parity_compare (call);
    }
}

/* --- modes ------------------------------------------------------------------------------------ */

static const mode_t modes[] = { 0644,  0600,  0444,  0400,  0000,  0755,
                                04755, 02755, 06755, 01644, 0777 };
static const mode_t masks[] = { 022, 077, 0, 0277 };

static void
prepare_mode (ParityPlace *place, gconstpointer data)
{
  const mode_t *mode = data;

  tree_write (place->source, 5000, *mode);
}

static void
prepare_mode_of_other (ParityPlace *place, gconstpointer data)
{
  const mode_t *mode = data;

  tree_write (place->source, 5000, 0600);
  g_assert_cmpint (chown (place->source, 1234, 5678), ==, 0);
  /* After chown(), which takes setuid and setgid away. */
  g_assert_cmpint (chmod (place->source, *mode), ==, 0);
  g_assert_cmpint (tree_set_times (place->source, TREE_ATIME, TREE_MTIME), ==, 0);
}

static void
compare_modes (const char *base, void (*prepare) (ParityPlace *, gconstpointer))
{
  ParityCall call = PARITY_CALL (base, base);

  call.prepare = prepare;
  for (size_t i = 0; i < G_N_ELEMENTS (modes); i++)
    {
      g_autofree char *name = g_strdup_printf ("mode %04o", modes[i]);

      call.name = name;
      call.data = &modes[i];
      call.expect
        = parity_is_root () || (modes[i] & 0400) != 0 ? PARITY_TAKEN : PARITY_DECLINED;
      for (size_t j = 0; j < G_N_ELEMENTS (masks); j++)
        {
          call.mask = masks[j];
          compare_flag_sets (&call);
        }
    }
}

static void
test_modes (gconstpointer data)
{
  const char *base = parity_get_base (data);

  if (base != NULL)
    compare_modes (base, prepare_mode);
}

static void
test_owners (gconstpointer data)
{
  const char *base = parity_get_base (data);

  if (base == NULL || parity_skip_unless_root ("gives files away"))
    return;
  compare_modes (base, prepare_mode_of_other);
}

static void
prepare_setgid_folder (ParityPlace *place, gconstpointer data)
{
  prepare_mode (place, data);
  if (parity_is_root ())
    g_assert_cmpint (chown (place->to, 1234, 5678), ==, 0);
  g_assert_cmpint (chmod (place->to, 02775), ==, 0);
}

static void
test_setgid_folder (gconstpointer data)
{
  const char *base = parity_get_base (data);

  if (base != NULL)
    compare_modes (base, prepare_setgid_folder);
}

/* --- times ------------------------------------------------------------------------------------ */

static void
prepare_time (ParityPlace *place, gconstpointer data)
{
  const struct timespec *time = data;

  tree_write (place->source, 5000, 0644);
  g_assert_cmpint (tree_set_times (place->source, *time, *time), ==, 0);
}

static void
test_times (gconstpointer data)
{
  static const struct timespec times[] = {
    { 0, 0 },           { 0, 1 },          { -1, 999999999 },  { -1000000000, 1 },
    { -86400, 500000 }, { 1, 999999999 },  { 2147483647, 999999999 },
    { 2147483648, 1 },  { 4294967296, 7 }, { 9999999999, 123456789 },
  };
  const char *base = parity_get_base (data);
  ParityCall call = PARITY_CALL (base, base);

  if (base == NULL)
    return;
  /* BETTER: GLib before 2.73 cuts times to microseconds. */
  if (glib_minor_version < 73)
    {
      g_test_skip ("this GLib copies no nanoseconds");
      return;
    }
  call.prepare = prepare_time;
  for (size_t i = 0; i < G_N_ELEMENTS (times); i++)
    {
      g_autofree char *name
        = g_strdup_printf ("time %ld.%09ld", (long) times[i].tv_sec, times[i].tv_nsec);

      call.name = name;
      call.data = &times[i];
      compare_flag_sets (&call);
    }
}

/* --- xattrs ----------------------------------------------------------------------------------- */

typedef struct
{
  const char *name;
  void (*set) (const char *path);
} XattrVector;

static void
set (const char *path, const char *name, const void *value, size_t size)
{
  g_assert_cmpint (tree_set_xattr (path, name, value, size), ==, 0);
}

static void
set_none (const char *path G_GNUC_UNUSED)
{
}

static void
set_empty (const char *path)
{
  set (path, "user.empty", "", 0);
}

static void
set_binary (const char *path)
{
  set (path, "user.binary", "\0a\0\xff\n\0", 6);
  set (path, "user.zero", "\0", 1);
}

static void
set_odd_names (const char *path)
{
  set (path, "user.with space", "a", 1);
  set (path, "user.user.", "b", 1);
  set (path, "user.%s", "c", 1);
  set (path, "user.xdg.origin.url", "https://example.org/?a=b&c=%20", 30);
}

static void
set_many (const char *path)
{
  for (unsigned i = 0; i < 40; i++)
    {
      g_autofree char *name = g_strdup_printf ("user.%02u-%s", i, "a-name-that-needs-some-room");

      set (path, name, name, MIN (i, strlen (name)));
    }
}

/* The longest value that the file system holds, up to 60 KiB. */
static void
set_big (const char *path)
{
  g_autofree char *value = g_strnfill (60 << 10, 'v');

  for (size_t size = 60 << 10; size >= 512; size /= 2)
    {
      if (tree_set_xattr (path, "user.big", value, size) == 0)
        return;
    }
  g_assert_not_reached ();
}

static void
set_escaped_names (const char *path)
{
  set (path, "user.caf\xc3\xa9", "a", 1);
  set (path, "user.bad\xff", "b", 1);
  set (path, "user.back\\slash", "c", 1);
}

static const XattrVector user_xattrs[] = {
  { "no xattr", set_none },   { "empty xattr", set_empty }, { "binary xattrs", set_binary },
  { "odd names", set_odd_names }, { "many xattrs", set_many },  { "big xattr", set_big },
};

static void
set_all_namespaces (const char *path)
{
  /* struct vfs_cap_data, version 2: cap_net_raw permitted and effective. */
  static const unsigned char capabilities[20] = { 1, 0, 0, 2, 0, 0x20 };

  set (path, "user.parity", "u", 1);
  set (path, "trusted.parity", "t\0t", 3);
  set (path, "security.parity", "s", 1);
  set (path, "security.capability", capabilities, sizeof capabilities);
}

static void
prepare_xattrs (ParityPlace *place, gconstpointer data)
{
  const XattrVector *vector = data;

  tree_write (place->source, 5000, 0640);
  vector->set (place->source);
}

static void
compare_xattrs (const char *base, const XattrVector *vectors, size_t n_vectors)
{
  ParityCall call = PARITY_CALL (base, base);

  call.prepare = prepare_xattrs;
  for (size_t i = 0; i < n_vectors; i++)
    {
      call.name = vectors[i].name;
      call.data = &vectors[i];
      compare_flag_sets (&call);
    }
}

static void
test_user_xattrs (gconstpointer data)
{
  const char *base = parity_get_base (data);

  if (base != NULL)
    compare_xattrs (base, user_xattrs, G_N_ELEMENTS (user_xattrs));
}

/* BETTER: stock loses xattrs whose names hold a backslash or bytes beyond ASCII: it reads them
 * under an escaped name, which its own name_is_valid() then refuses (gio/glocalfileinfo.c). */
static void
test_escaped_xattrs (gconstpointer data)
{
  static const XattrVector vector = { "names that GIO escapes", set_escaped_names };
  static const char lines[]
    = "    user.back\\slash = 1:63\n    user.bad\xff = 1:62\n    user.caf\xc3\xa9 = 1:61\n";
  const char *base = parity_get_base (data);
  ParityCall call = PARITY_CALL (base, base);
  ParityRun stock, ours;

  if (base == NULL)
    return;
  call.prepare = prepare_xattrs;
  call.data = &vector;
  parity_run (&call, false, &stock);
  parity_run (&call, true, &ours);
  parity_expect (&call, g_str_has_suffix (ours.to, lines), "xattrs are lost");
  if (!g_str_has_suffix (stock.to, lines))
    {
      /* What stock keeps of the file is the same. */
      g_autofree char *with_lines = g_strconcat (stock.to, lines, NULL);

      g_free (stock.to);
      stock.to = g_steal_pointer (&with_lines);
    }
  parity_compare_runs (&call, &stock, &ours);
  parity_run_clear (&stock);
  parity_run_clear (&ours);
}

static void
test_other_xattrs (gconstpointer data)
{
  static const XattrVector vector = { "xattrs of all namespaces", set_all_namespaces };
  const char *base = parity_get_base (data);

  if (base == NULL || parity_skip_unless_root ("sets trusted.* and security.*"))
    return;
  compare_xattrs (base, &vector, 1);
}

static void
prepare_read_only_source (ParityPlace *place, gconstpointer data)
{
  const mode_t *mode = data;

  tree_write (place->source, 5000, 0600);
  set (place->source, "user.parity", "kept", 4);
  g_assert_cmpint (chmod (place->source, *mode), ==, 0);
  g_assert_cmpint (tree_set_times (place->source, TREE_ATIME, TREE_MTIME), ==, 0);
}

/* BETTER: a 0444 source keeps its user.* xattrs also for an ordinary user; stock sets the mode
 * first and may then not write them. All else is the same. */
static void
test_read_only_source (gconstpointer data)
{
  static const mode_t read_only[] = { 0444, 0400, 0555 };
  static const char line[] = "    user.parity = 4:6b657074\n";
  const char *base = parity_get_base (data);
  ParityCall call = PARITY_CALL (base, base);

  if (base == NULL)
    return;
  call.prepare = prepare_read_only_source;
  for (size_t i = 0; i < G_N_ELEMENTS (read_only); i++)
    for (size_t j = 0; j < G_N_ELEMENTS (masks); j++)
      {
        ParityRun stock, ours;

        call.data = &read_only[i];
        call.mask = masks[j];
        parity_run (&call, false, &stock);
        parity_run (&call, true, &ours);
        parity_expect (&call, strstr (ours.to, line) != NULL, "the xattr is lost:\n%s", ours.to);
        if (!parity_is_root ())
          {
            /* Stock's without the line is ours with it. */
            g_autofree char *with_line = g_strconcat (stock.to, line, NULL);

            parity_expect (&call, strstr (stock.to, line) == NULL, "stock keeps the xattr by now");
            g_free (stock.to);
            stock.to = g_steal_pointer (&with_line);
          }
        parity_compare_runs (&call, &stock, &ours);
        parity_run_clear (&stock);
        parity_run_clear (&ours);
      }
}

/* --- ACLs ------------------------------------------------------------------------------------- */

typedef struct
{
  bool of_source; /* an access ACL */
  bool of_folder; /* a default ACL of the destination's folder */
  mode_t mode;    /* of the source, set before its ACL; 0: none */
} AclVector;

static void
prepare_acls (ParityPlace *place, gconstpointer data)
{
  const AclVector *vector = data;

  tree_write (place->source, 5000, vector->mode);
  set (place->source, "user.parity", "u", 1);
  if (vector->of_source)
    g_assert_cmpint (tree_set_acl (place->source, false, 4321, 7), ==, 0);
  if (vector->of_folder)
    g_assert_cmpint (tree_set_acl (place->to, true, 8765, 6), ==, 0);
}

static void
test_acls (gconstpointer data)
{
  static const AclVector vectors[] = {
    { true, false, 0640 }, { false, true, 0640 },  { true, true, 0640 }, { false, true, 0600 },
    { false, true, 0777 }, { false, true, 04755 }, { true, true, 06755 },
  };
  const char *base = parity_get_base (data);
  ParityCall call = PARITY_CALL (base, base);

  if (base == NULL)
    return;

  g_autofree char *probe = g_build_filename (base, "probe", NULL);
  tree_make_folder (probe, 0755);
  const bool has_acls = tree_set_acl (probe, true, 8765, 6) != -EOPNOTSUPP;
  tree_remove (probe);
  if (!has_acls)
    {
      g_test_skip ("no ACLs on this file system");
      return;
    }
  call.prepare = prepare_acls;
  for (size_t i = 0; i < G_N_ELEMENTS (vectors); i++)
    for (size_t j = 0; j < G_N_ELEMENTS (masks); j++)
      {
        g_autofree char *name
          = g_strdup_printf ("ACL of source %d, of folder %d, mode %04o", vectors[i].of_source,
                             vectors[i].of_folder, vectors[i].mode);

        call.name = name;
        call.data = &vectors[i];
        call.mask = masks[j];
        compare_flag_sets (&call);
      }
}

/* --- links ------------------------------------------------------------------------------------ */

static void
prepare_hard_linked (ParityPlace *place, gconstpointer data G_GNUC_UNUSED)
{
  g_autofree char *other = g_build_filename (place->from, "other-name", NULL);

  tree_write (place->source, 5000, 0640);
  g_assert_cmpint (link (place->source, other), ==, 0);
}

static void
test_hard_linked (gconstpointer data)
{
  const char *base = parity_get_base (data);
  ParityCall call = PARITY_CALL (base, base);

  if (base == NULL)
    return;
  call.prepare = prepare_hard_linked;
  compare_flag_sets (&call);
}

int
main (int argc, char *argv[])
{
  parity_init (&argc, &argv);

  parity_add ("metadata", "modes-under-umasks", test_modes);
  parity_add ("metadata", "modes-and-owners-of-other-people", test_owners);
  parity_add ("metadata", "setgid-folder", test_setgid_folder);
  parity_add ("metadata", "times-to-the-nanosecond", test_times);
  parity_add ("metadata", "user-xattrs", test_user_xattrs);
  parity_add ("metadata", "xattrs-whose-names-gio-escapes", test_escaped_xattrs);
  parity_add ("metadata", "xattrs-of-all-namespaces", test_other_xattrs);
  parity_add ("metadata", "a-read-only-source-keeps-its-xattrs", test_read_only_source);
  parity_add ("metadata", "acls", test_acls);
  parity_add ("metadata", "hard-linked-source", test_hard_linked);

  return g_test_run ();
}
