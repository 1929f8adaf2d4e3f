#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""gio copy and gio move: the same as without the module, and a move that loses nothing."""

import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True

import calls  # noqa: E402
import tap  # noqa: E402
from calls import SIZES, look, look_tree, make_file  # noqa: E402

MOVE = ['--move', '--flags', '12']  # NOFOLLOW_SYMLINKS | ALL_METADATA, as file managers move

HERE = calls.area('EXT4') or os.path.join(calls.TMP, 'here')
THERE = calls.area('XFS') or os.path.join(calls.TMP, 'there')
# Two folders below DRAY_TEST_TMP are on one file system, and then a move is a rename.
ACROSS = calls.area('EXT4') is not None and calls.area('XFS') is not None
AREAS = [name for name in ('EXT4', 'EXT4_OTHER', 'XFS', 'XFS_PLAIN', 'BTRFS', 'TMPFS', 'OVERLAY')
         if calls.area(name)]


def fill(folder):
    """Sources of every kind that gio copy may meet."""
    calls.empty(folder)
    for name, size in SIZES.items():
        make_file(os.path.join(folder, name), size)
    make_file(os.path.join(folder, 'nothing'), 0)
    make_file(os.path.join(folder, 'read-only'), 100, mode=0o444)
    make_file(os.path.join(folder, 'set-id'), 100, mode=0o6755)
    make_file(os.path.join(folder, 'odd \n name'), 100)
    make_file(os.path.join(folder, os.fsdecode(b'bad\xff')), 100)
    os.symlink('small', os.path.join(folder, 'link'))
    os.symlink('nowhere', os.path.join(folder, 'dangling'))
    os.mkdir(os.path.join(folder, 'folder'))
    if os.getuid() == 0:
        os.chown(os.path.join(folder, 'read-only'), 1234, 1235)
    return folder


def both_ways(arguments, prepare):
    """Runs a command in a fresh folder, stock and ours; gives what each showed and left."""
    seen = []
    for ours in (False, True):
        work = calls.empty(os.path.join(HERE, 'work'))
        os.mkdir(os.path.join(work, 'to'))
        prepare(work)
        result = calls.run(['gio', *arguments], ours, cwd=work)
        seen.append((result.seen(), look_tree(work)))
        shutil.rmtree(work)
    return seen[0], seen[1], result


def fill_from(work):
    fill(os.path.join(work, 'from'))


def check_copy(arguments, taken, prepare=fill_from, fails=False):
    stock, ours, result = both_ways(['copy', *arguments], prepare)
    stock_left, ours_left = calls.forget_new_times(stock[1]), calls.forget_new_times(ours[1])
    tap.check_equal(ours[0], stock[0], 'status and output')
    for name in sorted(set(stock_left) | set(ours_left)):
        tap.check_equal(ours_left.get(name), stock_left.get(name), name)
    tap.check_equal(len(result.taken), taken, f'taken, of {result.trace}')
    tap.check_equal(bool(stock[0][0]), fails, f'stock: {stock[0]}')


FILES = ['from/small', 'from/medium', 'from/big', 'from/nothing', 'from/read-only', 'from/set-id',
         'from/odd \n name', os.fsdecode(b'from/bad\xff')]

tap.add('copy-to-a-new-name', check_copy, ['from/small', 'to/new'], 1)
tap.add('copy-several-into-a-folder', check_copy, [*FILES, 'to'], len(FILES))
tap.add('copy-with-all-metadata', check_copy, ['--preserve', *FILES, 'to'], len(FILES))
tap.add('copy-follows-a-link', check_copy, ['from/link', 'to'], 1)
tap.add('copy-a-link-as-a-link', check_copy, ['-P', 'from/link', 'from/dangling', 'from/small', 'to'], 1)
tap.add('copy-with-default-permissions', check_copy, ['--default-permissions', *FILES, 'to'], len(FILES))
tap.add('copy-a-folder', check_copy, ['from/folder', 'to'], 0, fill_from, True)
tap.add('copy-what-is-not-there', check_copy, ['from/absent', 'from/small', 'to'], 1, fill_from, True)
tap.add('copy-onto-a-folder-with-T', check_copy, ['-T', 'from/small', 'to'], 0, fill_from, True)
tap.add('copy-to-a-name-with-T', check_copy, ['-T', 'from/small', 'to/new'], 1)
tap.add('copy-onto-itself', check_copy, ['from/small', 'from/small'], 0)


def add_old(work):
    fill(os.path.join(work, 'from'))
    make_file(os.path.join(work, 'to', 'small'), 77, mode=0o600, seed=9)


tap.add('copy-over-an-old-file', check_copy, ['from/small', 'from/medium', 'to'], 1, add_old)
tap.add('copy-with-a-backup', check_copy, ['-b', 'from/small', 'from/medium', 'to'], 1, add_old)


@tap.test
def copy_with_progress():
    """The bar is told in whatever steps; its end is not."""
    for ours in (False, True):
        work = calls.empty(os.path.join(HERE, 'work'))
        make_file(os.path.join(work, 'big'), SIZES['big'])
        result = calls.run(['gio', 'copy', '--progress', 'big', 'copy'], ours, cwd=work)
        tap.check_equal((result.status, result.err), (0, []), f'{result}')
        tap.check('41.9' in result.out and 'MB' in result.out, f'no sizes in {result.out!r}')
        tap.check_equal(look(os.path.join(work, 'copy')), look(os.path.join(work, 'big')), 'copy')
        tap.check_equal(len(result.taken), int(ours), 'taken')
        shutil.rmtree(work)


# --- moving -------------------------------------------------------------------------------------

def check_move(size, dest_area):
    """Across file systems: all arrives, with everything, and the source has gone."""
    there = calls.area(dest_area)
    if not ACROSS or not there:
        tap.missing('file systems to move between')
    source, dest = os.path.join(HERE, 'moved'), os.path.join(there, 'moved')
    seen = []
    for ours in (False, True):
        make_file(source, size, mode=0o4751)
        os.chown(source, 1234, 1235)
        os.chmod(source, 0o4751)
        os.setxattr(source, 'trusted.gio-dray', b'root only')
        os.utime(source, ns=(111_222_333_444_555_666, 981173106_123456789))
        before = look(source)
        result = calls.run(['gio', 'move', source, dest], ours)
        tap.check_equal(result.seen(), (0, '', []), 'gio move')
        tap.check(not os.path.lexists(source), 'the source is still there')
        arrived = look(dest)
        atime = os.stat(dest).st_atime_ns
        tap.check_equal(len(result.taken), int(ours), f'taken, of {result.trace}')
        if ours:
            for what in ('mode', 'owner', 'size', 'bytes', 'mtime', 'xattrs'):
                tap.check_equal(arrived[what], before[what], what)
        seen.append((arrived, atime if ours else None))
        os.unlink(dest)
    tap.check_equal(seen[1][0], seen[0][0], 'what arrived, against stock')


for _name in ('EXT4_OTHER', 'XFS', 'BTRFS', 'TMPFS', 'OVERLAY'):
    for _size in SIZES:
        tap.add(f'move-{_size}-to-{_name.lower().replace("_", "-")}', check_move, SIZES[_size], _name)


@tap.test
def move_within_a_file_system_is_a_rename():
    work = calls.empty(os.path.join(HERE, 'work'))
    source, dest = os.path.join(work, 'one'), os.path.join(work, 'two')
    make_file(source, SIZES['medium'])
    before, inode = look(source), os.stat(source).st_ino
    result = calls.run(['gio', 'move', source, dest], True)
    tap.check_equal((result.seen(), result.trace), ((0, '', []), []), 'gio move')
    tap.check_equal((os.stat(dest).st_ino, look(dest)), (inode, before), 'what arrived')
    tap.check(not os.path.lexists(source), 'the source is still there')
    shutil.rmtree(work)


class FullTarget:
    """A file system that has less room than is needed."""

    def __init__(self, kind, room):
        self.kind = kind
        self.room = room

    def __enter__(self):
        if os.getuid() != 0 or not ACROSS:
            tap.missing('mounting takes root')
        self.point = os.path.join(calls.TMP, 'full')
        os.makedirs(self.point, exist_ok=True)
        if self.kind == 'tmpfs':
            subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=64M', 'full', self.point], check=True)
        else:
            image = self.point + '.img'
            with open(image, 'wb') as file:
                file.truncate(64 << 20)
            subprocess.run(['mkfs.ext4', '-q', '-F', '-m', '0', image], check=True)
            subprocess.run(['mount', '-o', 'loop', image, self.point], check=True)
        leave_room(os.path.join(self.point, 'ballast'), self.room)
        return self.point

    def __exit__(self, *_):
        subprocess.run(['umount', self.point], check=True)
        if os.path.exists(self.point + '.img'):
            os.unlink(self.point + '.img')


def leave_room(ballast, room):
    """Takes all the space that there is, and gives some back."""
    with open(ballast, 'wb', buffering=0) as file:
        for size in (1 << 20, 4096, 4096):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                os.fsync(file.fileno())
        file.truncate(file.tell() - room)
        os.fsync(file.fileno())


def check_move_to_full(kind, size, room, command):
    with FullTarget(kind, room) as there:
        source, dest = os.path.join(HERE, 'precious'), os.path.join(there, 'precious')
        make_file(source, size)
        before = look(source)
        seen = []
        for ours in (False, True):
            result = calls.run([*command, source, dest], ours)
            tap.check(result.status != 0, f'it did not fail: {result}')
            tap.check_equal(look(source), before, 'the source')
            seen.append(result.seen())
            if ours:
                tap.check(not os.path.lexists(dest), f'a partial file is left: {look(dest)}')
                tap.check_equal(sorted(set(os.listdir(there)) - {'lost+found'}), ['ballast'],
                                'names at the target')
                tap.check_equal([match['errno'] for match in result.failed], ['28'], f'{result.trace}')
            elif os.path.lexists(dest):
                os.unlink(dest)  # stock leaves what it had
        tap.check_equal(seen[1], seen[0], 'what the user is told')
        os.unlink(source)


for _kind in ('ext4', 'tmpfs'):
    for _size, _room in (('small', 0), ('medium', 1 << 20), ('big', 16 << 20)):
        tap.add(f'{_size}-move-to-a-full-{_kind}', check_move_to_full, _kind, SIZES[_size], _room,
                ['gio', 'move'])
        tap.add(f'{_size}-copy-to-a-full-{_kind}', check_move_to_full, _kind, SIZES[_size], _room,
                ['gio', 'copy'])


def check_cancelled_move(size, at):
    if not ACROSS:
        tap.missing('file systems to move between')
    source, dest = os.path.join(HERE, 'cancelled'), os.path.join(THERE, 'cancelled')
    make_file(source, size)
    before = look(source)
    result = calls.run([calls.DRIVER, *MOVE, '--cancel-at', str(at), source, dest], True)
    tap.check_equal(result.status, 1, f'{result}')
    # G_IO_ERROR_CANCELLED
    tap.check_equal(result.out, 'error g-io-error-quark 19 Operation was cancelled\n', 'error')
    tap.check_equal(look(source), before, 'the source')
    tap.check(not os.path.lexists(dest), 'a partial file is left')
    tap.check_equal(len(result.failed), 1, f'{result.trace}')
    os.unlink(source)


for _size in SIZES:
    tap.add(f'{_size}-move-cancelled-at-the-first-call', check_cancelled_move, SIZES[_size], 0)
    tap.add(f'{_size}-move-cancelled-at-the-last-call', check_cancelled_move, SIZES[_size], SIZES[_size])


@tap.test
def copies_between_all_file_systems_are_taken():
    if not AREAS:
        tap.missing('file systems')
    for source_area in AREAS:
        source = make_file(os.path.join(calls.area(source_area), 'source'), SIZES['medium'])
        for dest_area in AREAS:
            dest = os.path.join(calls.area(dest_area), 'copy')
            result = calls.run(['gio', 'copy', source, dest], True)
            tap.check_equal(result.seen(), (0, '', []), f'{source_area} to {dest_area}')
            tap.check_equal(len(result.taken), 1, f'{source_area} to {dest_area}: {result.trace}')
            tap.check_equal(look(dest), look(source), f'{source_area} to {dest_area}')
            os.unlink(dest)
        os.unlink(source)


@tap.test
def an_ordinary_user_copies():
    """What a copy is to somebody who may neither read everything nor give files away."""
    if os.getuid() != 0:
        tap.skip('this is one already')
    work = calls.empty(os.path.join(HERE, 'work'))
    os.chmod(work, 0o777)
    for name, mode in (('plain', 0o644), ('read-only', 0o444), ('set-id', 0o6755), ('secret', 0o600)):
        make_file(os.path.join(work, name), 5000, mode=mode)
    seen = []
    for ours in (False, True):
        for name in ('plain', 'read-only', 'set-id', 'secret'):
            copy = os.path.join(work, 'copy')
            result = calls.run(['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups',
                                'gio', 'copy', '--preserve', os.path.join(work, name), copy], ours)
            left = look(copy)
            if name == 'read-only' and left:
                # Stock sets the mode first and then may not set the xattr.
                tap.check(not ours or left['xattrs'], 'the xattr of a read-only file is lost')
                del left['xattrs']
            seen.append((ours, (name, result.seen(), left, len(result.trace) == int(ours))))
            if left:
                os.unlink(copy)
    tap.check_equal([what[:3] for ours, what in seen if ours],
                    [what[:3] for ours, what in seen if not ours], 'ours against stock')
    shutil.rmtree(work)


if __name__ == '__main__':
    for _folder in (HERE, THERE):
        os.makedirs(_folder, exist_ok=True)
    sys.exit(tap.run_all(calls.why_not_here(HERE)))
