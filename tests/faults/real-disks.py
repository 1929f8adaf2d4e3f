#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Disks that fail for real: a source that cannot be read in the middle, and a quota that is hit.

Each copy is made stock and ours; what the user is told is equal, and ours leaves nothing behind.
"""
import errno
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'callers'))

import calls  # noqa: E402
import tap  # noqa: E402
from calls import digest, make_file  # noqa: E402

DISK = os.environ.get('DRAY_FAILING_DISK')
MIB = 1 << 20


def run(*command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, **options).stdout


def copy_both(source, dest, size):
    """Copies stock, then ours; returns what each said."""
    seen = []
    for ours in (False, True):
        result = calls.run(['gio', 'copy', '-T', source, dest], ours)
        seen.append(result)
        if ours:
            tap.check(result.failed, f'not taken: {result}')
            tap.check(not os.path.exists(dest), 'ours left a partial file')
        elif os.path.exists(dest):
            os.unlink(dest)
    stock, ours = seen
    tap.check(stock.status != 0, 'stock does not see the fault')
    tap.check_equal(ours.seen(), stock.seen(), f'{size} bytes')
    tap.note(ours.err)


def first_block(path):
    """Where the file's middle lies on its file system, in bytes."""
    blocks = run('filefrag', '-v', '-b4096', path)
    extents = re.findall(r'^\s*\d+:\s*(\d+)\.\.\s*(\d+):\s*(\d+)\.\.', blocks, re.MULTILINE)
    middle = os.path.getsize(path) // 2 // 4096
    for logical, last, physical in ((int(a), int(b), int(c)) for a, b, c in extents):
        if logical <= middle <= last:
            return (physical + middle - logical) * 4096
    raise AssertionError(f'no extent holds block {middle}: {blocks}')


def wait_for(condition, what):
    for _ in range(100):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError(f'{what} does not come up')


@tap.test
def unreadable_block_in_the_middle():
    if os.getuid() != 0 or not DISK:
        tap.missing('needs root and libfuse3')
    work = tempfile.mkdtemp(dir=calls.TMP)
    image, fuse, point = (os.path.join(work, name) for name in ('image', 'fuse', 'mnt'))
    os.mkdir(fuse)
    os.mkdir(point)
    with open(image, 'wb') as file:
        file.truncate(400 * MIB)
    run('mkfs.ext4', '-q', '-F', image)
    server = subprocess.Popen([DISK, image, fuse])
    device = None
    mounted = False
    try:
        wait_for(lambda: os.path.exists(os.path.join(fuse, 'disk')), 'the FUSE file system')
        device = run('losetup', '--find', '--show', '--direct-io=on',
                     os.path.join(fuse, 'disk')).strip()
        run('mount', device, point)
        mounted = True
        for size in (64 << 10, 3 * MIB, 40 * MIB, 150 * MIB):
            source = make_file(os.path.join(point, 'source'), size)
            before = digest(source)
            os.sync()
            bad = first_block(source)
            with open(image + '.bad', 'w', encoding='ascii') as file:
                file.write(f'{bad} {bad + 4095}\n')
            for variant in (calls.TMP, point):
                with open('/proc/sys/vm/drop_caches', 'w', encoding='ascii') as file:
                    file.write('3\n')
                copy_both(source, os.path.join(variant, 'dest'), size)
            os.unlink(image + '.bad')
            with open('/proc/sys/vm/drop_caches', 'w', encoding='ascii') as file:
                file.write('3\n')
            tap.check_equal(digest(source), before, 'the source')
            os.unlink(source)
    finally:
        if mounted:
            run('umount', point)
        if device:
            run('losetup', '-d', device)
        subprocess.run(['umount', fuse], check=False)
        server.wait(10)
        shutil.rmtree(work)


def mount_with_quota(image, point):
    """A folder that holds 20 MiB: by project quota on ext4, where the kernel has it, else btrfs."""
    folder = os.path.join(point, 'd')
    run('mkfs.ext4', '-q', '-F', '-O', 'quota,project', image)
    if subprocess.run(['mount', '-o', 'loop,prjquota', image, point], check=False,
                      stderr=subprocess.DEVNULL).returncode == 0:
        os.mkdir(folder)
        run('chattr', '-p', '7', '+P', folder)
        run('setquota', '-P', '7', '0', '20480', '0', '0', point)
        tap.note('project quota of ext4')
    else:
        run('mkfs.btrfs', '-q', '-f', image)
        run('mount', '-o', 'loop', image, point)
        run('btrfs', 'quota', 'enable', point)
        run('btrfs', 'subvolume', 'create', folder)
        run('btrfs', 'qgroup', 'limit', '20M', folder)
        tap.note('no quota for ext4 in this kernel: qgroup of btrfs')
    os.chmod(folder, 0o777)
    return folder


@tap.test
def quota_is_hit_in_the_middle():
    if os.getuid() != 0:
        tap.missing('needs root')
    work = tempfile.mkdtemp(dir=calls.TMP)
    os.chmod(work, 0o755)
    image, point = os.path.join(work, 'image'), os.path.join(work, 'mnt')
    os.mkdir(point)
    with open(image, 'wb') as file:
        file.truncate(600 * MIB)
    try:
        folder = mount_with_quota(image, point)
        for size in (30 * MIB, 150 * MIB):
            source = make_file(os.path.join(work, 'source'), size, mode=0o644)
            seen = []
            for ours in (False, True):
                dest = os.path.join(folder, 'dest')
                # As somebody whom quotas bind.
                result = calls.run(['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups',
                                    '--inh-caps=-all', 'gio', 'copy', '-T', source, dest], ours,
                                   env={'HOME': '/nonexistent'})
                seen.append(result)
                if ours:
                    tap.check(result.failed, f'not taken: {result}')
                    tap.check_equal(int(result.failed[0]['errno']), errno.EDQUOT, 'errno')
                    tap.check(not os.path.exists(dest), 'ours left a partial file')
                elif os.path.exists(dest):
                    os.unlink(dest)
                    run('sync', '-f', folder)
            tap.check(seen[0].status != 0, 'stock does not see the quota')
            tap.check_equal(seen[1].seen(), seen[0].seen(), f'{size} bytes')
            tap.note(seen[1].err)
    finally:
        subprocess.run(['umount', point], check=False)
        shutil.rmtree(work)


if __name__ == '__main__':
    sys.exit(tap.run_all())
