# SPDX-License-Identifier: LGPL-2.1-or-later
"""Calls of programs that copy, with the module and without, and what can be seen of a copy."""

import ctypes
import hashlib
import os
import re
import shutil
import stat
import struct
import subprocess
import tempfile

MODULES = os.environ['GIO_EXTRA_MODULES']
TMP = os.environ.get('DRAY_TEST_TMP') or tempfile.gettempdir()
PRELOAD = os.environ.get('DRAY_TEST_PRELOAD')
DRIVER = os.environ.get('DRAY_COPY_DRIVER')

SIZES = {'small': 5000, 'medium': 3 << 20, 'big': 40 << 20}

# One line of the trace, whole. The names are escaped, so they hold no line feed.
TAKEN = re.compile(r'gio-dray: taken (?P<source>.*) -> (?P<dest>.*) '
                   r'method=(?P<method>none|reflink|copy_file_range|sendfile|read-write|lanes)'
                   r'(?:\+holes)? bytes=(?P<bytes>\d+) us=\d+')
DECLINED = re.compile(r'gio-dray: declined (?P<source>.*) -> (?P<dest>.*) '
                      r'reason=(?P<reason>[a-z]+(?:-[a-z]+)*)')
FAILED = re.compile(r'gio-dray: failed (?P<source>.*) -> (?P<dest>.*) '
                    r'method=(?P<method>none|reflink|copy_file_range|sendfile|read-write|lanes)'
                    r'(?:\+holes)? bytes=(?P<bytes>\d+) us=\d+ errno=(?P<errno>\d+)')


def area(variable):
    """The folder on a file system that with-filesystems made, or None."""
    return os.environ.get('DRAY_TEST_' + variable)


def environment(ours, dray='trace', **changes):
    """The environment of a child: with our module, or with none and nothing of ours at work."""
    env = dict(os.environ)
    for name in ('GIO_EXTRA_MODULES', 'GIO_DRAY', 'G_TEST_SRCDIR', 'G_TEST_BUILDDIR'):
        env.pop(name, None)
    env['LC_ALL'] = 'C.UTF-8'
    env['GIO_USE_VFS'] = 'local'
    env['XDG_CONFIG_HOME'] = env['XDG_CONFIG_DIRS'] = '/nonexistent'
    if PRELOAD:
        # A module built with AddressSanitizer; the leaks of other people's programs are theirs.
        env['LD_PRELOAD'] = PRELOAD
        env['ASAN_OPTIONS'] = 'detect_leaks=0'
    if ours:
        env['GIO_EXTRA_MODULES'] = MODULES
        if dray is not None:
            env['GIO_DRAY'] = dray
    else:
        # For a machine where the module is installed.
        env['GIO_DRAY'] = 'off'
    for name, value in changes.items():
        if value is None:
            env.pop(name, None)
        else:
            env[name] = value
    return env


class Result:
    """What a child printed, and the trace apart from the rest."""

    def __init__(self, process):
        self.status = process.returncode
        self.out = process.stdout
        lines = process.stderr.splitlines()
        self.trace = [line for line in lines if line.startswith('gio-dray:')]
        self.err = [line for line in lines if not line.startswith('gio-dray:')]
        self.taken = [match for match in map(TAKEN.fullmatch, self.trace) if match]
        self.declined = [match for match in map(DECLINED.fullmatch, self.trace) if match]
        self.failed = [match for match in map(FAILED.fullmatch, self.trace) if match]
        self.reasons = [match['reason'] for match in self.declined]

    def seen(self):
        """What a user sees."""
        return self.status, self.out, self.err

    def __repr__(self):
        return f'status {self.status}, out {self.out!r}, err {self.err}, trace {self.trace}'


def run(arguments, ours, dray='trace', timeout=120, cwd=None, env=None, **options):
    process = subprocess.run(arguments, env=environment(ours, dray, **(env or {})), cwd=cwd,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, timeout=timeout, text=True,
                             errors='surrogateescape', **options)
    return Result(process)


def make_file(path, size, mode=0o640, seed=1, mtime_ns=981173106_123456789):
    """Bytes that repeat nowhere, with a mode, a time and an xattr that are nobody's default."""
    generator = hashlib.shake_256(f'{seed}'.encode())
    block = generator.digest(1 << 16)
    with open(path, 'wb') as file:
        for number in range(0, size, len(block)):
            piece = struct.pack('<Q', number) + block[8:]
            file.write(piece[:size - number])
    try:
        # Without privileges stock loses the xattrs of a read-only file, and ours keeps them.
        if mode & 0o200 or os.getuid() == 0:
            os.setxattr(path, 'user.gio-dray', b'kept')
    except OSError:
        pass  # a file system without them
    for change in (lambda: os.chmod(path, mode), lambda: os.utime(path, ns=(mtime_ns, mtime_ns))):
        try:
            change()
        except OSError:
            pass  # a driver without it
    return path


def digest(path):
    sums = hashlib.sha256()
    with open(path, 'rb') as file:
        while piece := file.read(1 << 20):
            sums.update(piece)
    return sums.hexdigest()


def look(path, times=True, owner=True):
    """All that can be seen of one file."""
    try:
        info = os.lstat(path)
    except FileNotFoundError:
        return None
    seen = {'type': stat.S_IFMT(info.st_mode), 'mode': oct(stat.S_IMODE(info.st_mode))}
    if owner:
        seen['owner'] = (info.st_uid, info.st_gid)
    if stat.S_ISLNK(info.st_mode):
        seen['target'] = os.readlink(path)
    if times and not stat.S_ISLNK(info.st_mode):
        seen['mtime'] = info.st_mtime_ns
    if stat.S_ISREG(info.st_mode):
        seen['size'] = info.st_size
        seen['bytes'] = digest(path)
        try:
            seen['xattrs'] = sorted((name, os.getxattr(path, name)) for name in os.listxattr(path))
        except OSError:
            seen['xattrs'] = []
    return seen


def look_tree(folder, times=True):
    """All that can be seen below a folder."""
    found = {}
    for where, folders, files in os.walk(folder):
        for name in sorted(folders + files):
            path = os.path.join(where, name)
            found[os.path.relpath(path, folder)] = look(path, times)
    return found


def forget_new_times(seen):
    """Takes out times of change that are the run's own; sources have times of long ago."""
    return {name: {what: value for what, value in (one or {}).items()
                   if what != 'mtime' or value < 1_500_000_000 * 10**9}
            for name, one in seen.items()}


def why_not_here(folder):
    """Without root there is only the folder for temporary files, and that may be declined."""
    source = os.path.join(folder, 'ground')
    with open(source, 'w') as file:
        file.write('ground')
    result = run(['gio', 'copy', source, source + '-copy'], True)
    for path in (source, source + '-copy'):
        if os.path.exists(path):
            os.unlink(path)
    if result.reasons in (['source-filesystem'], ['destination-filesystem']):
        return f'{folder} is on a file system that is declined'
    return None


def empty(folder):
    """An empty folder of that name."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    return folder


class Watch:
    """What inotify says of a folder, as a list of (event, name)."""

    EVENTS = {0x2: 'modify', 0x4: 'attrib', 0x8: 'close-write', 0x10: 'close-nowrite',
              0x20: 'open', 0x40: 'moved-from', 0x80: 'moved-to', 0x100: 'create',
              0x200: 'delete'}

    def __init__(self, folder):
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        mask = sum(self.EVENTS)
        if self._libc.inotify_add_watch(self._fd, os.fsencode(folder), mask) < 0:
            raise OSError(ctypes.get_errno(), 'inotify_add_watch')

    def read(self):
        """All events until now; repeats in a row, which the kernel merges as it likes, are one."""
        events = []
        try:
            while data := os.read(self._fd, 1 << 16):
                offset = 0
                while offset < len(data):
                    _, mask, _, length = struct.unpack_from('iIII', data, offset)
                    name = data[offset + 16:offset + 16 + length].rstrip(b'\0').decode()
                    name = re.sub(r'^\.goutputstream-.{6}$', '.goutputstream-XXXXXX', name)
                    offset += 16 + length
                    event = self.EVENTS.get(mask & 0xfff, hex(mask)), name
                    if not events or events[-1] != event:
                        events.append(event)
        except BlockingIOError:
            pass
        os.close(self._fd)
        return events
