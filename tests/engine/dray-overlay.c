/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests of engine/dray-overlay.c: lines of the mount table, and real overlays of all shapes. */
#include "config.h"
#include "engine/dray-overlay-private.h"

#include "tests/engine/copy-pair.h"

#include <sys/mount.h>

static GString *asked; /* the layers that find_layer() was asked for, each in brackets */

/* Goes by the first letters of a path: /ext4..., /xfs..., /nfs..., /overlay... */
static const DrayFilesystem *
find_layer (const char *path)
{
  static const struct
  {
    const char *prefix;
    uint32_t magic;
  } places[] = {
    { "/ext4", 0xEF53 }, { "/xfs", 0x58465342 },     { "/btrfs", 0x9123683E },
    { "/nfs", 0x6969 },  { "/overlay", 0x794C7630 }, { "/fuse", 0x65735546 },
  };

  g_string_append_printf (asked, "[%s]", path);
  for (size_t i = 0; i < G_N_ELEMENTS (places); i++)
    if (g_str_has_prefix (path, places[i].prefix))
      return dray_filesystem_from_magic (places[i].magic);
  return dray_filesystem_from_magic (0);
}

typedef enum
{
  OTHER,   /* not the mount's line */
  REFUSED, /* */
  TAKEN,
  CLONING, /* taken, and extents can be shared */
} Answer;

typedef struct
{
  const char *name;
  const char *line;
  Answer answer;
  const char *layers; /* (nullable): as find_layer() sees them; NULL: does not matter */
} LineVector;

#define HEAD "77 30 0:41 / /mnt rw,relatime shared:1 - overlay overlay "

static void
check_lines (const LineVector *vectors, size_t n_vectors)
{
  for (size_t i = 0; i < n_vectors; i++)
    {
      const DrayFilesystem *found = NULL;

      asked = g_string_new (NULL);
      g_test_message ("%s: %s", vectors[i].name, vectors[i].line);
      g_assert_cmpint (dray_overlay_judge_line (vectors[i].line, 77, find_layer, &found), ==,
                       vectors[i].answer != OTHER);
      if (vectors[i].answer == OTHER)
        g_assert_null (found);
      else
        {
          g_assert_cmpstr (found->name, ==, "overlay");
          g_assert_cmpint (found->take, ==, vectors[i].answer != REFUSED);
          g_assert_cmpint (found->clones, ==, vectors[i].answer == CLONING);
          g_assert_false (found->closes);
        }
      if (vectors[i].layers != NULL)
        g_assert_cmpstr (asked->str, ==, vectors[i].layers);
      g_string_free (g_steal_pointer (&asked), TRUE);
    }
}

static void
test_verdict_is_the_layers (void)
{
  static const LineVector vectors[] = {
    { "all good", HEAD "rw,lowerdir=/ext4/l,upperdir=/ext4/u,workdir=/ext4/w,uuid=on", TAKEN,
      "[/ext4/l][/ext4/u]" },
    { "all clone", HEAD "rw,lowerdir=/xfs/l,upperdir=/btrfs/u,workdir=/btrfs/w", CLONING,
      "[/xfs/l][/btrfs/u]" },
    { "one does not clone", HEAD "rw,lowerdir=/ext4/l,upperdir=/xfs/u,workdir=/xfs/w", TAKEN,
      NULL },
    { "bad lower", HEAD "rw,lowerdir=/nfs/l,upperdir=/ext4/u,workdir=/ext4/w", REFUSED, NULL },
    { "bad upper", HEAD "rw,lowerdir=/ext4/l,upperdir=/fuse/u,workdir=/fuse/w", REFUSED, NULL },
    { "unknown lower", HEAD "rw,lowerdir=/what/l,upperdir=/ext4/u,workdir=/ext4/w", REFUSED,
      NULL },
    { "overlay on overlay", HEAD "rw,lowerdir=/overlay/l,upperdir=/ext4/u,workdir=/ext4/w",
      REFUSED, NULL },
    { "read-only, lower layers alone", HEAD "ro,lowerdir=/ext4/a:/ext4/b", TAKEN,
      "[/ext4/a][/ext4/b]" },
    { "one bad of many", HEAD "ro,lowerdir=/ext4/a:/ext4/b:/nfs/c:/ext4/d", REFUSED, NULL },
    { "bad first", HEAD "ro,lowerdir=/nfs/a:/ext4/b", REFUSED, NULL },
    { "bad last", HEAD "ro,lowerdir=/ext4/a:/nfs/b", REFUSED, NULL },
    { "data-only layer", HEAD "ro,lowerdir=/ext4/a::/ext4/data", TAKEN,
      "[/ext4/a][/ext4/data]" },
    { "bad data-only layer", HEAD "ro,lowerdir=/ext4/a::/nfs/data", REFUSED, NULL },
    { "one option a layer", HEAD "rw,lowerdir+=/ext4/a,lowerdir+=/ext4/b,upperdir=/ext4/u", TAKEN,
      "[/ext4/a][/ext4/b][/ext4/u]" },
    { "one option a layer, bad one", HEAD "rw,lowerdir+=/ext4/a,lowerdir+=/nfs/b", REFUSED, NULL },
    { "data-only by option", HEAD "ro,lowerdir+=/ext4/a,datadir+=/nfs/d", REFUSED, NULL },
    { "workdir does not matter", HEAD "rw,lowerdir=/ext4/l,upperdir=/ext4/u,workdir=/nfs/w",
      TAKEN, "[/ext4/l][/ext4/u]" },
    { "no shared tag", "77 30 0:41 / /mnt rw - overlay none rw,lowerdir=/ext4/l", TAKEN,
      "[/ext4/l]" },
  };

  g_test_summary ("Taken when every layer is taken by itself");
  check_lines (vectors, G_N_ELEMENTS (vectors));
}

static void
test_names_are_unescaped (void)
{
  static const LineVector vectors[] = {
    { "space", HEAD "ro,lowerdir=/ext4/a\\040b", TAKEN, "[/ext4/a b]" },
    { "tab and line feed", HEAD "ro,lowerdir=/ext4/a\\011b\\012c", TAKEN, "[/ext4/a\tb\nc]" },
    { "colon in a name", HEAD "ro,lowerdir=/ext4/a\\134:b:/xfs/c", TAKEN,
      "[/ext4/a:b][/xfs/c]" },
    { "comma, escaped for overlayfs", HEAD "ro,lowerdir=/ext4/a\\134,b", TAKEN, "[/ext4/a,b]" },
    { "comma, escaped by the table", HEAD "ro,lowerdir=/ext4/a\\054b", TAKEN, "[/ext4/a,b]" },
    { "comma, escaped twice", HEAD "ro,lowerdir=/ext4/a\\134\\054b", TAKEN, "[/ext4/a,b]" },
    { "backslash, escaped twice", HEAD "ro,lowerdir=/ext4/a\\134\\134b", TAKEN,
      "[/ext4/a\\b]" },
    { "byte above 127", HEAD "ro,lowerdir=/ext4/\\303\\244", TAKEN, "[/ext4/\303\244]" },
    { "backslash at the very end", HEAD "ro,lowerdir=/ext4/a\\134", TAKEN, "[/ext4/a\\]" },
    { "half an escape", HEAD "ro,lowerdir=/ext4/a\\04", TAKEN, "[/ext4/a\\04]" },
    { "space in the mount point", "77 30 0:41 / /m\\040t rw - overlay o ro,lowerdir=/ext4/a", TAKEN,
      "[/ext4/a]" },
    { "hidden bad layer behind an escaped colon", HEAD "ro,lowerdir=/ext4/a\\134:b:/nfs/c",
      REFUSED, NULL },
  };

  g_test_summary ("The mount table's octal escapes, then overlayfs' own backslashes");
  check_lines (vectors, G_N_ELEMENTS (vectors));
}

static void
test_many_lower_layers (void)
{
  g_autoptr (GString) line = g_string_new (HEAD "ro,lowerdir=/ext4/0");

  g_test_summary ("500 are what overlayfs allows; the last one counts like the first");
  for (unsigned i = 1; i < 499; i++)
    g_string_append_printf (line, ":/ext4/%u", i);
  const gsize end = line->len;
  g_string_append (line, ":/ext4/499");
  check_lines (&(LineVector) { "good", line->str, TAKEN, NULL }, 1);
  g_string_truncate (line, end);
  g_string_append (line, ":/nfs/499");
  check_lines (&(LineVector) { "bad", line->str, REFUSED, NULL }, 1);
}

static void
test_lines_of_others_and_broken_ones (void)
{
  static const LineVector vectors[] = {
    { "other mount", "78 30 0:41 / /mnt rw - overlay overlay rw,lowerdir=/ext4/l", OTHER, "" },
    { "longer number", "771 30 0:41 / /mnt rw - overlay overlay rw,lowerdir=/ext4/l", OTHER, "" },
    { "shorter number", "7 7 0:41 / /mnt rw - overlay overlay rw,lowerdir=/ext4/l", OTHER, "" },
    { "parent has the number", "30 77 0:41 / /mnt rw - overlay o rw,lowerdir=/ext4/l", OTHER, "" },
    { "empty", "", OTHER, "" },
    { "no number", "rw - overlay overlay rw,lowerdir=/ext4/l", OTHER, "" },
    { "number alone", "77", OTHER, "" },
    { "not an overlay", "77 30 8:1 / /mnt rw - ext4 /dev/sda1 rw,lowerdir=/ext4/l", REFUSED, "" },
    { "fuse-overlayfs", "77 30 8:1 / /mnt rw - fuse.overlay x rw,lowerdir=/ext4/l", REFUSED, "" },
    { "no separator", "77 30 0:41 / /mnt rw overlay overlay rw,lowerdir=/ext4/l", REFUSED, "" },
    { "no options", "77 30 0:41 / /mnt rw - overlay overlay", REFUSED, "" },
    { "empty options", HEAD, REFUSED, "" },
    { "no layers", HEAD "rw,index=off,xino=off", REFUSED, "" },
    { "no upper, no lower, just work", HEAD "rw,workdir=/ext4/w", REFUSED, "" },
    { "empty layer", HEAD "rw,lowerdir=", REFUSED, "" },
    { "longer key", HEAD "rw,xlowerdir=/ext4/l", REFUSED, "" },
    { "relative layer", HEAD "rw,lowerdir=lower", REFUSED, "[lower]" },
  };

  g_test_summary ("Never taken without having seen a layer");
  check_lines (vectors, G_N_ELEMENTS (vectors));
}

/* --- real mounts ------------------------------------------------------------------------------ */

/* Mounts an overlay on @folder/merged and says what becomes of it; NULL if it cannot be mounted. */
static const DrayFilesystem *
find_mounted (const char *folder, const char *options)
{
  g_autofree char *merged = g_build_filename (folder, "merged", NULL);

  g_assert_no_errno (g_mkdir_with_parents (merged, 0700));
  if (mount ("overlay", merged, "overlay", 0, options) != 0)
    {
      g_autofree char *shown = g_strescape (options, NULL);
      g_test_message ("%s: %s", shown, g_strerror (errno));
      return NULL;
    }
  dray_autofd fd = open (merged, O_PATH | O_CLOEXEC);
  const DrayFilesystem *found = dray_overlay_find (fd);
  dray_autofd_clear (&fd);
  g_assert_no_errno (umount2 (merged, 0));

  return found;
}

static void
test_real_overlays_with_odd_names (void)
{
  static const struct
  {
    const char *name;    /* of the lower folder */
    const char *escaped; /* as overlayfs wants it in lowerdir= */
  } vectors[] = {
    { "plain", "plain" },
    { "with space", "with space" },
    { "with:colon", "with\\:colon" },
    { "with\\backslash", "with\\\\backslash" },
    { "with,comma", "with\\,comma" },
    { "line\nfeed", "line\nfeed" },
    { "\303\244\377", "\303\244\377" },
  };
  const char *const upper = g_getenv ("DRAY_TEST_EXT4");

  g_test_summary ("What the running kernel writes into its table for such names is understood");
  if (upper == NULL || g_getenv ("DRAY_TEST_NAMESPACE") == NULL)
    {
      g_test_skip ("needs root and a mount namespace");
      return;
    }
  g_autofree char *folder = copy_pair_make_folder ("DRAY_TEST_EXT4");
  g_autofree char *second = g_build_filename (folder, "second", NULL);
  g_assert_no_errno (g_mkdir (second, 0700));
  for (size_t i = 0; i < G_N_ELEMENTS (vectors); i++)
    {
      g_autofree char *lower = g_build_filename (folder, vectors[i].name, NULL);
      g_autofree char *options
        = g_strdup_printf ("lowerdir=%s/%s:%s", folder, vectors[i].escaped, second);

      g_assert_no_errno (g_mkdir (lower, 0700));
      const DrayFilesystem *found = find_mounted (folder, options);
      if (found != NULL)
        {
          g_autofree char *shown = g_strescape (options, NULL);
          g_test_message ("%s", shown);
          g_assert_true (found->take);
          g_assert_false (found->clones);
        }
      else
        g_assert_true (strchr (vectors[i].name, ',') != NULL); /* old mount(2): cut at commas */
    }
}

static void
test_real_overlays_by_layer (void)
{
  const char *const good = g_getenv ("DRAY_TEST_EXT4");
  const char *const cloning = g_getenv ("DRAY_TEST_XFS");
  const char *const nested = g_getenv ("DRAY_TEST_OVERLAY");

  g_test_summary ("Layers on real file systems, taken and refused");
  if (good == NULL || cloning == NULL || nested == NULL ||
      g_getenv ("DRAY_TEST_NAMESPACE") == NULL)
    {
      g_test_skip ("needs root and a mount namespace");
      return;
    }
  g_autofree char *folder = copy_pair_make_folder ("DRAY_TEST_TMP");
  g_autofree char *ramfs = g_build_filename (folder, "ramfs", NULL);
  g_assert_no_errno (g_mkdir (ramfs, 0700));
  g_assert_no_errno (mount ("ramfs", ramfs, "ramfs", 0, NULL));
  g_autofree char *first = g_build_filename (cloning, "overlay-lower", NULL);
  g_assert_no_errno (g_mkdir (first, 0700));

  const struct
  {
    const char *above, *below;
    bool take, clones;
  } vectors[] = {
    { good, cloning, true, false },   { cloning, first, true, true }, { good, ramfs, false, false },
    { ramfs, good, false, false },    { good, nested, false, false },
  };

  for (size_t i = 0; i < G_N_ELEMENTS (vectors); i++)
    {
      g_autofree char *options
        = g_strdup_printf ("lowerdir=%s:%s", vectors[i].above, vectors[i].below);
      const DrayFilesystem *found = find_mounted (folder, options);

      if (found == NULL)
        continue; /* layers inside each other, or too deep for this kernel */
      g_autofree char *shown = g_strescape (options, NULL);
      g_test_message ("%s", shown);
      g_assert_cmpint (found->take, ==, vectors[i].take);
      g_assert_cmpint (found->clones, ==, vectors[i].clones);
    }
  g_assert_no_errno (umount2 (ramfs, 0));
}

static void
test_no_overlay_is_refused (void)
{
  dray_autofd proc = open ("/proc", O_PATH | O_CLOEXEC);

  g_test_summary ("A descriptor elsewhere, or none");
  g_assert_false (dray_overlay_find (proc)->take);
  g_assert_false (dray_overlay_find (-1)->take);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/engine/overlay/verdict-is-the-layers", test_verdict_is_the_layers);
  g_test_add_func ("/engine/overlay/names-are-unescaped", test_names_are_unescaped);
  g_test_add_func ("/engine/overlay/many-lower-layers", test_many_lower_layers);
  g_test_add_func ("/engine/overlay/lines-of-others-and-broken-ones",
                   test_lines_of_others_and_broken_ones);
  g_test_add_func ("/engine/overlay/real-overlays-with-odd-names",
                   test_real_overlays_with_odd_names);
  g_test_add_func ("/engine/overlay/real-overlays-by-layer", test_real_overlays_by_layer);
  g_test_add_func ("/engine/overlay/no-overlay-is-refused", test_no_overlay_is_refused);
  return g_test_run ();
}
