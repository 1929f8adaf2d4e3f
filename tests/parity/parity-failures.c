/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sources that are no regular files, destinations that exist or cannot be made, and their errors.
 *
 * Runs a second time in Japanese, so that every message is compared as GLib translates it.
 */
#include "config.h"
#include "tests/parity/parity-run.h"

#include "tests/support/tree-build.h"

#include <errno.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

typedef struct
{
  const char *name;
  void (*prepare) (ParityPlace *place, gconstpointer data);
  ParityOutcome expect;
  ParityOutcome expect_nofollow; /* with G_FILE_COPY_NOFOLLOW_SYMLINKS */
  bool never_overwrite;          /* stock would hang */
} FailureVector;

/* What of sources and destinations a flag changes. */
static const unsigned flag_sets[] = {
  G_FILE_COPY_NONE,
  G_FILE_COPY_OVERWRITE,
  G_FILE_COPY_OVERWRITE | G_FILE_COPY_BACKUP,
  G_FILE_COPY_BACKUP,
  G_FILE_COPY_NOFOLLOW_SYMLINKS,
  G_FILE_COPY_NOFOLLOW_SYMLINKS | G_FILE_COPY_OVERWRITE,
  G_FILE_COPY_NOFOLLOW_SYMLINKS | G_FILE_COPY_OVERWRITE | G_FILE_COPY_BACKUP,
  G_FILE_COPY_NOFOLLOW_SYMLINKS | G_FILE_COPY_ALL_METADATA,
  G_FILE_COPY_OVERWRITE | G_FILE_COPY_TARGET_DEFAULT_PERMS,
};

static void
compare_vector (const char *base, const FailureVector *vector,
                void (*finish) (ParityPlace *, gconstpointer))
{
  ParityCall call = PARITY_CALL (base, base);

  call.name = vector->name;
  call.prepare = vector->prepare;
  call.finish = finish;
  for (size_t i = 0; i < G_N_ELEMENTS (flag_sets); i++)
    {
      if (vector->never_overwrite && (flag_sets[i] & G_FILE_COPY_OVERWRITE) != 0)
        continue;
      call.flags = flag_sets[i];
      call.expect = (flag_sets[i] & G_FILE_COPY_NOFOLLOW_SYMLINKS) != 0 ? vector->expect_nofollow
                                                                         : vector->expect;
      parity_compare (&call);
    }
}

static void
compare_vectors (const char *base, const FailureVector *vectors, size_t n_vectors)
{
  for (size_t i = 0; i < n_vectors; i++)
    compare_vector (base, &vectors[i], NULL);
}

static void
replace (char **path, char *by)
{
  g_free (*path);
  *path = by;
}

static void
link_to (const char *target, const char *path)
{
  g_assert_cmpint (symlink (target, path), ==, 0);
}

/* --- sources ---------------------------------------------------------------------------------- */

static void
source_fifo (ParityPlace *place, gconstpointer data G_GNUC_UNUSED)
{
  g_assert_cmpint (mkfifo (place->source, 0644), ==, 0);
}

static void
source_socket (ParityPlace *place, gconstpointer data G_GNUC_UNUSED)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

  g_assert_cmpint (fd, >=, 0);
  g_assert_cmpuint (g_strlcpy (address.sun_path, place->source, sizeof address.sun_path), <,
                    sizeof address.sun_path);
  g_assert_cmpint (bind (fd, (struct sockaddr *) &address, sizeof address), ==, 0);
  (void) close (fd);
}

static void
source_device (ParityPlace *place, gconstpointer data G_GNUC_UNUSED)
{
  if (parity_is_root ())
    g_assert_cmpint (mknod (place->source, S_IFCHR | 0666, makedev (1, 5)), ==, 0);
  else
    replace (&place->source, g_strdup ("/dev/zero"));
}

static void
source_missing (ParityPlace *place G_GNUC_UNUSED, gconstpointer data G_GNUC_UNUSED)
{
}

static void
source_behind_file (ParityPlace *place, gconstpointer data G_GNUC_UNUSED)
{
  tree_write (place->source, 5000, 0644);
  replace (&place->source, g_build_filename (place->source, "below", NULL));
}

static void
source_folder (ParityPlace *place, gconstpointer data G_GNUC_UNUSED)
{
  tree_make_folder (place->source, 0755);
}

static void
source_folder_to_folder (ParityPlace *place, gconstpointer data)
{
  source_folder (place, data);
  tree_make_folder (place->dest, 0755);
}

static void
source_folder_to_file (ParityPlace *place, gconstpointer data)
{
  source_folder (place, data);
  tree_write (place->dest, 100, 0644);
}

static void
source_root (ParityPlace *place, gconstpointer data G_GNUC_UNUSED)
{
  replace (&place->source, g_strdup ("/"));
}

/* A file of procfs says that its size is 0, and one of sysfs that it is 4096. */
static void
source_proc (ParityPlace *place, gconstpointer data G_GNUC_UNUSED)
{
  replace (&place->source, g_strdup ("/proc/version"));
}

static void
source_sys (ParityPlace *place, gconstpointer data G_GNUC_UNUSED)
{
  replace (&place->source, g_strdup ("/sys/kernel/notes"));
}

static void
source_link (ParityPlace *place, gconstpointer data G_GNUC_UNUSED)
{
  g_autofree char *target = g_build_filename (place->from, "target", NULL);

  tree_write (target, 5000, 0640);
  g_assert_cmpint (tree_set_xattr (target, "user.parity", "value", 5), ==, 0);
  link_to (target, place->source);
}

static void
source_link_to_link (ParityPlace *place, gconstpointer data)
{
  source_link (place, data);
  replace (&place->source, g_build_filename (place->from, "first", NULL));
  link_to ("source", place->source);
}

static void
source_link_dangling (ParityPlace *place, gconstpointer data G_GNUC_UNUSED)
{
  link_to ("nowhere %s\n\xff", place->source);
}

static void
source_link_loop (ParityPlace *place, gconstpointer data G_GNUC_UNUSED)
{
  link_to ("source", place->source);
}

static void
source_link_to_fifo (ParityPlace *place, gconstpointer data G_GNUC_UNUSED)
{
  g_autofree char *fifo = g_build_filename (place->from, "fifo", NULL);

  g_assert_cmpint (mkfifo (fifo, 0644), ==, 0);
  link_to ("fifo", place->source);
}

static void
source_link_to_folder (ParityPlace *place, gconstpointer data G_GNUC_UNUSED)
{
  link_to (".", place->source);
}

static void
source_below_link (ParityPlace *place, gconstpointer data G_GNUC_UNUSED)
{
  g_autofree char *way = g_build_filename (place->from, "way", NULL);

  tree_write (place->source, 5000, 0640);
  link_to (".", way);
  replace (&place->source, g_build_filename (way, "source", NULL));
}

static void
source_link_to_existing (ParityPlace *place, gconstpointer data)
{
  source_link (place, data);
  tree_write (place->dest, 100, 0644);
}

static const FailureVector sources[] = {
  { "FIFO", source_fifo, PARITY_DECLINED, PARITY_DECLINED, false },
  { "socket", source_socket, PARITY_DECLINED, PARITY_DECLINED, false },
  { "device", source_device, PARITY_DECLINED, PARITY_DECLINED, false },
  { "missing source", source_missing, PARITY_DECLINED, PARITY_DECLINED, false },
  { "source below a file", source_behind_file, PARITY_DECLINED, PARITY_DECLINED, false },
  { "folder", source_folder, PARITY_DECLINED, PARITY_DECLINED, false },
  { "folder to folder", source_folder_to_folder, PARITY_DECLINED, PARITY_DECLINED, false },
  { "folder to file", source_folder_to_file, PARITY_DECLINED, PARITY_DECLINED, false },
  { "root folder", source_root, PARITY_DECLINED, PARITY_DECLINED, false },
  { "procfs", source_proc, PARITY_DECLINED, PARITY_DECLINED, false },
  { "sysfs", source_sys, PARITY_DECLINED, PARITY_DECLINED, false },
  { "symlink", source_link, PARITY_TAKEN, PARITY_DECLINED, false },
  { "symlink to symlink", source_link_to_link, PARITY_TAKEN, PARITY_DECLINED, false },
  { "dangling symlink", source_link_dangling, PARITY_DECLINED, PARITY_DECLINED, false },
  { "symlink to itself", source_link_loop, PARITY_DECLINED, PARITY_DECLINED, false },
  { "symlink to folder", source_link_to_folder, PARITY_DECLINED, PARITY_DECLINED, false },
  { "file below a symlink", source_below_link, PARITY_TAKEN, PARITY_TAKEN, false },
  { "symlink to existing", source_link_to_existing, PARITY_DECLINED, PARITY_DECLINED, false },
};

static void
test_sources (gconstpointer data)
{
  const char *base = parity_get_base (data);

  if (base != NULL)
    compare_vectors (base, sources, G_N_ELEMENTS (sources));
}

/* Followed, stock opens the FIFO behind the symlink and waits for a writer: only NOFOLLOW. */
static void
test_link_to_fifo (gconstpointer data)
{
  const char *base = parity_get_base (data);
  ParityCall call = PARITY_CALL (base, base);

  if (base == NULL)
    return;
  call.name = "symlink to FIFO";
  call.prepare = source_link_to_fifo;
  call.expect = PARITY_DECLINED;
  for (call.flags = G_FILE_COPY_NOFOLLOW_SYMLINKS; call.flags < 1U << PARITY_N_FLAGS; call.flags++)
    if ((call.flags & G_FILE_COPY_NOFOLLOW_SYMLINKS) != 0)
      parity_compare (&call);
}

/* --- destinations ----------------------------------------------------------------------------- */

static void
write_source (ParityPlace *place)
{
  tree_write (place->source, 5000, 0640);
}

static void
dest_file (ParityPlace *place, gconstpointer data G_GNUC_UNUSED)
{
  write_source (place);
  tree_write (place->dest, 9000, 0604);
}

static void
dest_read_only_file (ParityPlace *place, gconstpointer data G_GNUC_UNUSED)
{
  write_source (place);
  tree_write (place->dest, 9000, 0444);
}

static void
dest_hard_linked (ParityPlace *place, gconstpointer data G_GNUC_UNUSED)
{
  g_autofree char *other = g_build_filename (place->to, "other-name", NULL);

  dest_file (place, NULL);
  g_assert_cmpint (link (place->dest, other), ==, 0);
}

static void
dest_link_of_source (ParityPlace *place, gconstpointer data G_GNUC_UNUSED)
{
  write_source (place);
  g_assert_cmpint (link (place->source, place->dest), ==, 0);
}

static void
dest_symlink_to_source (ParityPlace *place, gconstpointer data G_GNUC_UNUSED)
{
  write_source (place);
  link_to (place->source, place->dest);
}

static void
dest_symlink_to_file (ParityPlace *place, gconstpointer data G_GNUC_UNUSED)
{
  g_autofree char *other = g_build_filename (place->to, "other-file", NULL);

  write_source (place);
  tree_write (other, 100, 0644);
  link_to ("other-file", place->dest);
}

static void
dest_dangling (ParityPlace *place, gconstpointer data G_GNUC_UNUSED)
{
  write_source (place);
  link_to ("nowhere", place->dest);
}

static void
dest_folder (ParityPlace *place, gconstpointer data G_GNUC_UNUSED)
{
  write_source (place);
  tree_make_folder (place->dest, 0755);
}

static void
dest_fifo (ParityPlace *place, gconstpointer data G_GNUC_UNUSED)
{
  write_source (place);
  g_assert_cmpint (mkfifo (place->dest, 0644), ==, 0);
}

static void
dest_self (ParityPlace *place, gconstpointer data G_GNUC_UNUSED)
{
  write_source (place);
  replace (&place->dest, g_strdup (place->source));
}

static void
dest_self_below_link (ParityPlace *place, gconstpointer data G_GNUC_UNUSED)
{
  g_autofree char *way = g_build_filename (place->from, "way", NULL);

  write_source (place);
  link_to (".", way);
  replace (&place->dest, g_build_filename (way, "source", NULL));
}

static void
dest_root (ParityPlace *place, gconstpointer data G_GNUC_UNUSED)
{
  write_source (place);
  replace (&place->dest, g_strdup ("/"));
}

static void
dest_folder_missing (ParityPlace *place, gconstpointer data G_GNUC_UNUSED)
{
  write_source (place);
  replace (&place->dest, g_build_filename (place->to, "missing", "copy", NULL));
}

static void
dest_folder_is_file (ParityPlace *place, gconstpointer data G_GNUC_UNUSED)
{
  write_source (place);
  tree_write (place->dest, 100, 0644);
  replace (&place->dest, g_build_filename (place->dest, "copy", NULL));
}

static void
dest_folder_is_link (ParityPlace *place, gconstpointer data G_GNUC_UNUSED)
{
  g_autofree char *way = g_build_filename (place->from, "way", NULL);

  write_source (place);
  link_to (place->to, way);
  replace (&place->dest, g_build_filename (way, "copy", NULL));
}

static void
dest_beside_source (ParityPlace *place, gconstpointer data G_GNUC_UNUSED)
{
  write_source (place);
  replace (&place->dest, g_build_filename (place->from, "copy", NULL));
}

static const FailureVector destinations[] = {
  { "existing file", dest_file, PARITY_DECLINED, PARITY_DECLINED, false },
  { "read-only file", dest_read_only_file, PARITY_DECLINED, PARITY_DECLINED, false },
  { "hard-linked file", dest_hard_linked, PARITY_DECLINED, PARITY_DECLINED, false },
  { "hard link of the source", dest_link_of_source, PARITY_DECLINED, PARITY_DECLINED, false },
  { "symlink to the source", dest_symlink_to_source, PARITY_DECLINED, PARITY_DECLINED, false },
  { "symlink to a file", dest_symlink_to_file, PARITY_DECLINED, PARITY_DECLINED, false },
  { "dangling symlink", dest_dangling, PARITY_DECLINED, PARITY_DECLINED, false },
  { "existing folder", dest_folder, PARITY_DECLINED, PARITY_DECLINED, false },
  { "existing FIFO", dest_fifo, PARITY_DECLINED, PARITY_DECLINED, true },
  { "the source itself", dest_self, PARITY_DECLINED, PARITY_DECLINED, false },
  { "the source by another way", dest_self_below_link, PARITY_DECLINED, PARITY_DECLINED, false },
  { "the root folder", dest_root, PARITY_DECLINED, PARITY_DECLINED, true },
  { "in no folder", dest_folder_missing, PARITY_DECLINED, PARITY_DECLINED, false },
  { "below a file", dest_folder_is_file, PARITY_DECLINED, PARITY_DECLINED, false },
  { "below a symlink", dest_folder_is_link, PARITY_TAKEN, PARITY_TAKEN, false },
  { "beside the source", dest_beside_source, PARITY_TAKEN, PARITY_TAKEN, false },
};

static void
test_destinations (gconstpointer data)
{
  const char *base = parity_get_base (data);

  if (base != NULL)
    compare_vectors (base, destinations, G_N_ELEMENTS (destinations));
}

/* --- permissions ------------------------------------------------------------------------------ */

static void
unreadable_source (ParityPlace *place, gconstpointer data G_GNUC_UNUSED)
{
  tree_write (place->source, 5000, 0222);
}

static void
unsearchable_source (ParityPlace *place, gconstpointer data G_GNUC_UNUSED)
{
  g_autofree char *closed = g_build_filename (place->from, "closed", NULL);

  tree_make_folder (closed, 0755);
  replace (&place->source, g_build_filename (closed, "source", NULL));
  write_source (place);
  g_assert_cmpint (chmod (closed, 0666), ==, 0);
}

static void
unwritable_folder (ParityPlace *place, gconstpointer data G_GNUC_UNUSED)
{
  write_source (place);
  g_assert_cmpint (chmod (place->to, 0555), ==, 0);
}

static void
unwritable_folder_with_copy (ParityPlace *place, gconstpointer data G_GNUC_UNUSED)
{
  dest_file (place, NULL);
  g_assert_cmpint (chmod (place->to, 0555), ==, 0);
}

static void
unsearchable_folder (ParityPlace *place, gconstpointer data G_GNUC_UNUSED)
{
  write_source (place);
  g_assert_cmpint (chmod (place->to, 0666), ==, 0);
}

static void
unlistable_folder (ParityPlace *place, gconstpointer data G_GNUC_UNUSED)
{
  write_source (place);
  g_assert_cmpint (chmod (place->to, 0333), ==, 0);
}

static void
test_permissions (gconstpointer data)
{
  static const FailureVector vectors[] = {
    { "unreadable source", unreadable_source, PARITY_DECLINED, PARITY_DECLINED, false },
    { "unsearchable source", unsearchable_source, PARITY_DECLINED, PARITY_DECLINED, false },
    { "unwritable folder", unwritable_folder, PARITY_DECLINED, PARITY_DECLINED, false },
    { "conflict in an unwritable folder", unwritable_folder_with_copy, PARITY_DECLINED,
      PARITY_DECLINED, false },
    { "unsearchable folder", unsearchable_folder, PARITY_DECLINED, PARITY_DECLINED, false },
    { "unlistable folder", unlistable_folder, PARITY_TAKEN, PARITY_TAKEN, false },
  };
  const char *base = parity_get_base (data);

  if (base == NULL || parity_skip_if_root ("root may do all that"))
    return;
  compare_vectors (base, vectors, G_N_ELEMENTS (vectors));
}

/* --- read-only -------------------------------------------------------------------------------- */

static void
make_read_only (const char *folder)
{
  g_assert_cmpint (mount (folder, folder, NULL, MS_BIND, NULL), ==, 0);
  g_assert_cmpint (mount (NULL, folder, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL), ==, 0);
}

static void
read_only_dest (ParityPlace *place, gconstpointer data G_GNUC_UNUSED)
{
  write_source (place);
  make_read_only (place->to);
}

static void
read_only_conflict (ParityPlace *place, gconstpointer data G_GNUC_UNUSED)
{
  dest_file (place, NULL);
  make_read_only (place->to);
}

static void
read_only_source (ParityPlace *place, gconstpointer data G_GNUC_UNUSED)
{
  write_source (place);
  make_read_only (place->from);
}

static void
unmount_place (ParityPlace *place, gconstpointer data G_GNUC_UNUSED)
{
  /* One of them is no mount. */
  (void) umount2 (place->to, MNT_DETACH);
  (void) umount2 (place->from, MNT_DETACH);
}

static void
forget_folder (const char *base)
{
  ParityCall call = PARITY_CALL (base, base);
  ParityRun ours;

  call.prepare = dest_beside_source;
  parity_run (&call, true, &ours);
  parity_run_clear (&ours);
}

static void
test_read_only (gconstpointer data)
{
  static const FailureVector vectors[] = {
    { "read-only mount", read_only_dest, PARITY_DECLINED, PARITY_DECLINED, false },
    { "conflict on a read-only mount", read_only_conflict, PARITY_DECLINED,
      PARITY_DECLINED, false },
    { "source on a read-only mount", read_only_source, PARITY_TAKEN, PARITY_TAKEN, false },
  };
  const char *base = parity_get_base (data);

  if (base == NULL || parity_skip_unless_root ("mounts"))
    return;
  for (size_t i = 0; i < G_N_ELEMENTS (vectors); i++)
    {
      /* The module remembers the mount of the last folder that it copied to, and declines one copy
       * when another mount has taken its place. */
      forget_folder (base);
      compare_vector (base, &vectors[i], unmount_place);
    }
}

static void
immutable_folder (ParityPlace *place, gconstpointer data G_GNUC_UNUSED)
{
  write_source (place);
  g_assert_cmpint (tree_set_immutable (place->to, true), ==, 0);
}

static void
immutable_conflict (ParityPlace *place, gconstpointer data G_GNUC_UNUSED)
{
  dest_file (place, NULL);
  g_assert_cmpint (tree_set_immutable (place->to, true), ==, 0);
}

static void
immutable_source (ParityPlace *place, gconstpointer data G_GNUC_UNUSED)
{
  write_source (place);
  g_assert_cmpint (tree_set_immutable (place->source, true), ==, 0);
}

static void
make_mutable (ParityPlace *place, gconstpointer data G_GNUC_UNUSED)
{
  (void) tree_set_immutable (place->to, false);
  (void) tree_set_immutable (place->source, false);
}

static void
test_immutable (gconstpointer data)
{
  static const FailureVector vectors[] = {
    { "immutable folder", immutable_folder, PARITY_DECLINED, PARITY_DECLINED, false },
    { "conflict in an immutable folder", immutable_conflict, PARITY_DECLINED,
      PARITY_DECLINED, false },
    { "immutable source", immutable_source, PARITY_TAKEN, PARITY_TAKEN, false },
  };
  const char *base = parity_get_base (data);

  if (base == NULL || parity_skip_unless_root ("sets the immutable flag"))
    return;

  g_autofree char *probe = g_build_filename (base, "probe", NULL);
  tree_make_folder (probe, 0755);
  const int result = tree_set_immutable (probe, true);
  tree_remove (probe);
  if (result != 0)
    {
      g_test_skip ("no immutable flag on this file system");
      return;
    }
  for (size_t i = 0; i < G_N_ELEMENTS (vectors); i++)
    compare_vector (base, &vectors[i], make_mutable);
}

int
main (int argc, char *argv[])
{
  parity_init (&argc, &argv);

  parity_add ("failures", "sources", test_sources);
  parity_add ("failures", "symlink-to-a-fifo", test_link_to_fifo);
  parity_add ("failures", "destinations", test_destinations);
  parity_add ("failures", "permissions", test_permissions);
  parity_add ("failures", "read-only-mounts", test_read_only);
  parity_add ("failures", "immutable-folders-and-files", test_immutable);

  return g_test_run ();
}
