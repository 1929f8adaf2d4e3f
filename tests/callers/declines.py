#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Real file systems that are declined: the same result as stock, and nothing else to be seen."""

import os
import re
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True

import calls  # noqa: E402
import tap  # noqa: E402
from calls import SIZES, Watch, look, make_file  # noqa: E402

OVERWRITE = '1'
ALL_METADATA = '8'

WORK = os.path.join(calls.TMP, 'declines')
# From Linux 6.8 on the module can remember what a mount is.
MOUNTS_ARE_NUMBERED = tuple(map(int, re.match(r'(\d+)\.(\d+)', os.uname().release).groups())) >= (6, 8)
NETLIKE = os.environ.get('DRAY_NETLIKE_FS', '')


# --- mounts -----------------------------------------------------------------------------------

class Mount:
    """A file system that is there for the length of a `with`; tells why it is not."""

    def __init__(self, name, make=None, mount=None, kernel=None, loop=False):
        self.name = name
        self.make = make
        self.mount = mount
        self.kernel = kernel
        self.loop = loop
        self.point = os.path.join(WORK, name)
        self.image = self.point + '.img'

    def _attach(self):
        if os.getuid() != 0 or not calls.area('EXT4'):
            tap.missing('mounting takes root')
        if not self.kernel and not os.path.exists('/dev/fuse'):
            tap.missing('there is no /dev/fuse')
        for command in (self.make, self.mount):
            if command and not shutil.which(command[0]):
                tap.missing(f'{command[0]} is not installed')
        os.makedirs(self.point, exist_ok=True)
        if self.kernel:
            run_tool(['mount', '-t', self.kernel, self.kernel, self.point])
            return
        with open(self.image, 'wb') as image:
            image.truncate(96 << 20)
        run_tool(self.make + [self.image])
        if not self.loop:
            run_tool(self.mount + [self.image, self.point])
            return
        device = run_tool(['losetup', '-f', '--show', self.image]).strip()
        try:
            run_tool(self.mount + [device, self.point])
        finally:
            # While the driver holds it open it stays, and after that it is free whatever happens here.
            subprocess.run(['losetup', '-d', device], check=True)

    def __enter__(self):
        try:
            self._attach()
            wait_for_mount(self.point)
            self.folder = os.path.join(self.point, 'folder')
            os.makedirs(self.folder, exist_ok=True)
        except BaseException:
            self.__exit__()
            raise
        return self.folder

    def __exit__(self, *_):
        if os.path.ismount(self.point):
            unmount(self.point)
        if os.path.exists(self.image):
            os.unlink(self.image)


def run_tool(command):
    # Not through a pipe: a driver that goes to the background would hold it open.
    with open(os.path.join(WORK, 'log'), 'w+') as log:
        status = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log,
                                stderr=subprocess.STDOUT, timeout=60).returncode
        log.seek(0)
        text = log.read()
    if status != 0:
        tap.missing(f'{command[0]} says: {text.strip()[:200]}')
    return text


def wait_for_mount(point):
    for _ in range(200):
        if os.path.ismount(point):
            return
        time.sleep(0.05)
    tap.missing(f'nothing was mounted on {point}')


def unmount(point):
    for _ in range(100):
        if subprocess.run(['umount', point], capture_output=True).returncode == 0:
            return
        time.sleep(0.05)
    subprocess.run(['umount', '-l', point], capture_output=True)


class Netlike:
    """The tests' own network-like file system; `server` is the folder behind it."""

    def __init__(self, *options):
        self.options = options

    def __enter__(self):
        if os.getuid() != 0 or not calls.area('EXT4'):
            tap.missing('mounting takes root')
        if not os.path.exists(NETLIKE) or not os.path.exists('/dev/fuse'):
            tap.missing('libfuse3 or /dev/fuse')
        self.server = calls.empty(os.path.join(calls.area('EXT4'), 'server'))
        self.point = os.path.join(WORK, 'netlike')
        self.log = os.path.join(WORK, 'netlike.log')
        os.makedirs(self.point, exist_ok=True)
        if os.path.exists(self.log):
            os.unlink(self.log)
        run_tool([NETLIKE, self.server, self.point, self.log, *self.options])
        wait_for_mount(self.point)
        self.folder = os.path.join(self.point, 'folder')
        os.mkdir(self.folder)
        return self

    def __exit__(self, *_):
        unmount(self.point)
        shutil.rmtree(self.server, ignore_errors=True)

    def forget(self):
        """Lets the client's caches run out, and empties the log."""
        time.sleep(1.1)  # libfuse lets the kernel keep names and attributes for a second
        open(self.log, 'w').close()

    def calls(self):
        """What the server was asked since then. Releases come late, after the caller has gone."""
        time.sleep(0.2)
        with open(self.log) as log:
            return [line for line in log.read().splitlines() if not line.startswith('release ')]


# --- one call, both ways ------------------------------------------------------------------------

def observe(source, dest, ours, options, times):
    """Everything about one call; what was made is removed again."""
    watched_dest = Watch(os.path.dirname(dest))
    watched_source = Watch(os.path.dirname(source))
    before = look(source)
    result = calls.run([calls.DRIVER, *options, source, dest], ours)
    seen = {
        'result': result.seen(),
        'events at the destination': watched_dest.read(),
        'events at the source': watched_source.read(),
        'names': sorted(os.listdir(os.path.dirname(dest))),
        'destination': look(dest, times),
        'source is as before': look(source) == before,
    }
    return seen, result


def check_declined(source, dest, reason, options=(), times=True, prepare=None):
    """Stock and ours in turn, from the same start to the same end."""
    seen = []
    for ours in (False, True):
        for name in (dest, dest + '~'):
            if os.path.lexists(name):
                os.unlink(name)
        if prepare:
            prepare(dest)
        seen.append(observe(source, dest, ours, options, times))
    (stock, _), (ours, result) = seen
    for what in stock:
        tap.check_equal(ours[what], stock[what], f'{source} -> {dest}: {what}')
    tap.check_equal(result.reasons, [reason], 'reasons in the trace')
    tap.check_equal(len(result.trace), 1, f'lines of trace ({result.trace})')
    return stock


def check_area(mount):
    with mount as folder:
        check_folder(folder)


def check_folder(folder):
    """A file system as the source, as the destination, and as both."""
    local = calls.empty(os.path.join(calls.area('EXT4'), 'local'))
    for size in (0, SIZES['small'], SIZES['medium']):
        source = make_file(os.path.join(folder, 'source'), size)
        stock = check_declined(source, os.path.join(local, 'copy'), 'source-filesystem')
        tap.check(stock['result'][0] == 0, f'stock failed: {stock["result"]}')
        check_declined(source, os.path.join(folder, 'copy'), 'source-filesystem')
        os.unlink(source)
        source = make_file(os.path.join(local, 'source'), size)
        stock = check_declined(source, os.path.join(folder, 'copy'), 'destination-filesystem')
        tap.check(stock['result'][0] == 0, f'stock failed: {stock["result"]}')
        tap.check_equal(stock['destination']['bytes'], calls.digest(source), 'bytes')

    # The other ways of asking.
    copy = os.path.join(folder, 'copy')
    check_declined(source, copy, 'destination-filesystem', ('--flags', ALL_METADATA))
    check_declined(source, copy, 'destination-filesystem', ('--flags', OVERWRITE),
                   prepare=lambda dest: make_file(dest, 10, seed=2))
    check_declined(source, copy, 'destination-filesystem',
                   prepare=lambda dest: make_file(dest, 10, seed=2))
    check_declined(source, copy, 'destination-filesystem', ('--cancel-at', '1'), times=False)
    # The name that FAT and NTFS do not like: whatever the driver makes of it.
    check_declined(source, os.path.join(folder, 'a:b?'), 'destination-filesystem', times=False)
    shutil.rmtree(local)


tap.add('ntfs-through-ntfs-3g', check_area,
        Mount('ntfs', ['mkntfs', '-F', '-Q', '-q'], ['ntfs-3g']))
tap.add('fat-through-fusefat', check_area,
        Mount('fat', ['mkfs.vfat', '-F', '32'], ['fusefat', '-o', 'rw+']))
tap.add('exfat-through-exfat-fuse', check_area,
        Mount('exfat', ['mkfs.exfat'], ['mount.exfat-fuse'], loop=True))
tap.add('ramfs', check_area, Mount('ramfs', kernel='ramfs'))


@tap.test
def a_network_like_file_system():
    with Netlike('delay=200') as net:
        check_folder(net.folder)


def ask_server(net, source, dest, ours, times):
    for number in range(times + 1):
        name = dest if number < 2 else f'{dest}.{number}'
        if os.path.lexists(name):
            os.unlink(name)
    net.forget()
    result = calls.run([calls.DRIVER, '--times', str(times), source, dest], ours)
    tap.check_equal(result.status, 0, f'{result}')
    return net.calls()


def check_server_is_asked_no_more(net, source, dest):
    """For the first file of a mount that a process meets, its type: one statfs; then nothing."""
    for times in (1, 5):
        stock = ask_server(net, source, dest, False, times)
        ours = ask_server(net, source, dest, True, times)
        asked = [call for call in ours if call.startswith('statfs ')]
        most = 1 if MOUNTS_ARE_NUMBERED else times
        tap.check(len(asked) <= most, f'{len(asked)} statfs for {times} copies')
        rest = [call for call in ours if not call.startswith('statfs ')]
        tap.check_equal(rest, stock, f'calls for {times} copies of {source}')


@tap.test
def a_declined_source_asks_the_server_nothing_more():
    with Netlike() as net:
        local = calls.empty(os.path.join(calls.area('EXT4'), 'local'))
        source = make_file(os.path.join(net.folder, 'source'), SIZES['small'])
        check_server_is_asked_no_more(net, source, os.path.join(local, 'copy'))
        shutil.rmtree(local)


@tap.test
def a_declined_destination_asks_the_server_nothing_more():
    with Netlike() as net:
        source = make_file(os.path.join(calls.area('EXT4'), 'source'), SIZES['small'])
        check_server_is_asked_no_more(net, source, os.path.join(net.folder, 'copy'))
        os.unlink(source)


def check_failing_server(call, fails):
    with Netlike(f'fail={call}') as net:
        source = make_file(os.path.join(calls.area('EXT4'), 'source'), SIZES['medium'])
        dest = os.path.join(net.folder, 'copy')
        plain = check_declined(source, dest, 'destination-filesystem', times=not fails)
        over = check_declined(source, dest, 'destination-filesystem', ('--flags', OVERWRITE),
                              times=False, prepare=lambda name: write_through(net, name))
        os.unlink(source)
        if fails:
            tap.check(plain['result'][0] == 1, f'nobody was told: {plain["result"]}')
        if call == 'fsync':
            tap.check(over['result'][0] == 1, f'nobody was told: {over["result"]}')


def write_through(net, name):
    """An old file that did not come through the failing client."""
    make_file(os.path.join(net.server, os.path.relpath(name, net.point)), 10, seed=2)
    time.sleep(1.1)


for _call, _fails in (('flush', True), ('write', True), ('fsync', False), ('release', False)):
    tap.add(f'a-server-that-fails-at-{_call}', check_failing_server, _call, _fails)


def check_pseudo(path):
    """Row 41: a file whose size says nothing about its content."""
    if not os.access(path, os.R_OK):
        tap.skip(f'{path} cannot be read')
    dest = os.path.join(calls.empty(os.path.join(calls.area('EXT4') or calls.TMP, 'pseudo')), 'copy')
    with open(path, 'rb') as file:
        content = file.read()
    seen = []
    for ours in (False, True):
        watch = Watch(os.path.dirname(dest))
        result = calls.run(['gio', 'copy', path, dest], ours)
        # Its time of change is the time of looking.
        seen.append((result.seen(), look(dest, times=False), watch.read(), os.listdir(os.path.dirname(dest))))
        with open(dest, 'rb') as file:
            tap.check_equal(file.read(), content, path)
        os.unlink(dest)
    tap.check_equal(seen[1], seen[0], path)
    tap.check_equal(result.reasons, ['source-filesystem'], 'reasons in the trace')
    shutil.rmtree(os.path.dirname(dest))


for _path in ('/proc/version', '/proc/filesystems', '/sys/kernel/mm/transparent_hugepage/enabled',
              '/sys/class/net/lo/mtu'):
    tap.add('pseudo-file-' + _path.strip('/').replace('/', '-').replace('_', '-'),
            check_pseudo, _path)


def check_pseudo_folder(folder):
    """Nothing can be made there, and who says so is stock."""
    source = make_file(os.path.join(WORK, 'source'), SIZES['small'])
    dest = os.path.join(folder, 'gio-dray-test')
    stock = calls.run([calls.DRIVER, source, dest], False)
    ours = calls.run([calls.DRIVER, source, dest], True)
    tap.check_equal(ours.seen(), stock.seen(), folder)
    tap.check_equal((ours.status, ours.reasons), (1, ['destination-filesystem']), f'{ours}')


for _path in ('/proc', '/proc/self', '/sys', '/sys/kernel'):
    tap.add('pseudo-folder-' + _path.strip('/').replace('/', '-'), check_pseudo_folder, _path)


if __name__ == '__main__':
    os.makedirs(WORK, exist_ok=True)
    sys.exit(tap.run_all())
