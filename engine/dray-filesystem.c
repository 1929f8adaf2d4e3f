/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of file systems, and a short memory of which mount is which.
 *
 * The memory is keyed by the unique mount id: a mount is bound to one file system for its whole
 * life, and the number is never given out again, so an entry can be forgotten but never be wrong.
 * On kernels without that number it is keyed by the reusable id and the device, and holds refusals
 * only. The lock around it is only ever tried: whoever finds it taken asks the kernel instead. So
 * no caller waits for another, and a child forked while the lock was held is merely slower.
 */
#include "config.h"
#include "engine/dray-filesystem-private.h"

#include "engine/dray-fd-private.h"
#include "engine/dray-overlay-private.h"

/* More mounts than one program copies between at a time; 16 bytes each. */
#define N_REMEMBERED 16

static const DrayFilesystem table[] = {
  /* Taken. Measured and tested: ext4, xfs, btrfs, tmpfs, overlayfs. The others share their code
   * paths in the VFS and are local, complete POSIX file systems. */
  /* ext2 and ext3 have the same number. */
  { .magic = 0x0000EF53, .name = "ext4", .take = true, .closes = true },
  { .magic = 0x58465342, .name = "xfs", .take = true, .closes = true, .clones = true },
  { .magic = 0x9123683E, .name = "btrfs", .take = true, .closes = true, .clones = true },
  { .magic = 0xCA451A4E, .name = "bcachefs", .take = true, .clones = true },
  { .magic = 0xF2F52010, .name = "f2fs", .take = true },
  { .magic = 0x01021994, .name = "tmpfs", .take = true, .closes = true },
  /* As good as its layers, which dray_overlay_find() looks up. */
  { .magic = 0x794C7630, .name = "overlay", .stacked = true },

  /* Refused by name, so that the trace and the tests can tell them from the unknown. */
  { .magic = 0x65735546, .name = "fuse" },    /* a server answers, whatever it serves */
  { .magic = 0x00006969, .name = "nfs" },     /* network: errors of close(), silly renames */
  { .magic = 0xFF534D42, .name = "cifs" },    /* network; io_uring lost data */
  { .magic = 0xFE534D42, .name = "smb2" },    /* network */
  { .magic = 0x0000517B, .name = "smb" },     /* network */
  { .magic = 0x01021997, .name = "9p" },      /* network or virtual machine host */
  { .magic = 0x00C36400, .name = "ceph" },    /* network; spurious EACCES of copy_file_range */
  { .magic = 0x5346414F, .name = "afs" },     /* network */
  { .magic = 0x6B414653, .name = "kafs" },    /* network */
  { .magic = 0x00004D44, .name = "vfat" },    /* no modes, no xattrs, 2 s times, reserved names */
  { .magic = 0x2011BAB0, .name = "exfat" },   /* likewise */
  { .magic = 0x7366746E, .name = "ntfs3" },   /* Windows semantics */
  { .magic = 0x5346544E, .name = "ntfs" },    /* Windows semantics */
  { .magic = 0x00004244, .name = "hfs" },
  { .magic = 0x0000482B, .name = "hfsplus" },
  { .magic = 0x00009660, .name = "iso9660" }, /* read-only media, slow seeks */
  { .magic = 0x15013346, .name = "udf" },     /* removable media */
  { .magic = 0x73717368, .name = "squashfs" }, /* not measured */
  { .magic = 0xE0F5E1E2, .name = "erofs" },   /* not measured */
  { .magic = 0x2FC12FC1, .name = "zfs" },     /* zero blocks after clones (zfs#15526) */
  { .magic = 0x0000F15F, .name = "ecryptfs" }, /* bad data (libmdbx c81b0075) */
  { .magic = 0x00009FA0, .name = "proc" },    /* size 0 is not empty */
  { .magic = 0x62656572, .name = "sysfs" },   /* size 4096 is not 4096 */
  { .magic = 0x64626720, .name = "debugfs" }, /* as proc */
  { .magic = 0x74726163, .name = "tracefs" }, /* as proc */
  { .magic = 0x73636673, .name = "securityfs" }, /* as proc */
  { .magic = 0x6165676C, .name = "pstore" },  /* as proc */
  { .magic = 0x62656570, .name = "configfs" }, /* as proc */
  { .magic = 0x0027E0EB, .name = "cgroup" },  /* as proc */
  { .magic = 0x63677270, .name = "cgroup2" }, /* as proc */
  { .magic = 0x858458F6, .name = "ramfs" },   /* no limit, no xattrs: seldom, not measured */
  { .magic = 0x958458F6, .name = "hugetlbfs" }, /* no write() */
};

static const DrayFilesystem unknown = { .name = "unknown" };

/* What a mount is known by. */
typedef struct
{
  uint64_t mount_id;
  uint64_t device; /* 0 beside a unique mount id, which needs no more */
  bool is_unique;
} MountKey;

static struct
{
  MountKey key;
  const DrayFilesystem *filesystem;
} remembered[N_REMEMBERED];
static unsigned next_remembered;
static GMutex remembered_lock;

const DrayFilesystem *
dray_filesystem_from_magic (uint32_t magic)
{
  for (size_t i = 0; i < G_N_ELEMENTS (table); i++)
    if (table[i].magic == magic)
      return &table[i];

  return &unknown;
}

static MountKey
key_of (const struct statx *stat)
{
  if ((stat->stx_mask & STATX_MNT_ID_UNIQUE) != 0)
    return (MountKey) { .mount_id = stat->stx_mnt_id, .is_unique = true };
  return (MountKey) {
    .mount_id = (stat->stx_mask & STATX_MNT_ID) != 0 ? stat->stx_mnt_id : 0,
    .device = (uint64_t) stat->stx_dev_major << 32 | stat->stx_dev_minor,
  };
}

static bool
is_same_mount (const MountKey *one, const MountKey *other)
{
  return one->mount_id == other->mount_id && one->device == other->device &&
         one->is_unique == other->is_unique;
}

static const DrayFilesystem *
recall (MountKey key)
{
  const DrayFilesystem *found = NULL;

  if (!g_mutex_trylock (&remembered_lock))
    return NULL;
  for (size_t i = 0; i < N_REMEMBERED && found == NULL; i++)
    if (is_same_mount (&remembered[i].key, &key))
      found = remembered[i].filesystem;
  g_mutex_unlock (&remembered_lock);

  return found;
}

static void
remember (MountKey key, const DrayFilesystem *filesystem)
{
  if ((!key.is_unique && filesystem->take) || !g_mutex_trylock (&remembered_lock))
    return;
  remembered[next_remembered].key = key;
  remembered[next_remembered].filesystem = filesystem;
  next_remembered = (next_remembered + 1) % N_REMEMBERED;
  g_mutex_unlock (&remembered_lock);
}

static const DrayFilesystem *
ask (int fd, const struct statx *stat)
{
  const MountKey key = key_of (stat);
  const DrayFilesystem *filesystem;
  uint32_t magic;

  if (dray_fd_filesystem_magic (fd, &magic) != 0)
    return &unknown;

  filesystem = dray_filesystem_from_magic (magic);
  /* Reading the mount table costs more than a small copy, so where a good answer cannot be
   * remembered it is not asked for, and overlayfs is declined. */
  if (filesystem->stacked && key.is_unique)
    filesystem = dray_overlay_find (fd);
  remember (key, filesystem);

  return filesystem;
}

const DrayFilesystem *
dray_filesystem_find (int fd, const struct statx *stat)
{
  const DrayFilesystem *filesystem = recall (key_of (stat));

  return filesystem != NULL ? filesystem : ask (fd, stat);
}

const DrayFilesystem *
dray_filesystem_find_at (int dir, const char *path, int at_flags, const struct statx *stat)
{
  const DrayFilesystem *filesystem = recall (key_of (stat));
  struct statx opened;

  if (filesystem != NULL)
    return filesystem;

  dray_autofd fd = dray_fd_open (
    dir, path, O_PATH | ((at_flags & AT_SYMLINK_NOFOLLOW) != 0 ? O_NOFOLLOW : 0), 0);

  /* Asked again by descriptor: were the path to lead elsewhere by now, the wrong answer would be
   * remembered for the mount. */
  if (fd < 0 || dray_fd_stat (fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, DRAY_FILESYSTEM_STATX,
                              &opened) != 0)
    return &unknown;

  const MountKey asked = key_of (stat), found = key_of (&opened);
  return is_same_mount (&asked, &found) ? ask (fd, &opened) : &unknown;
}
