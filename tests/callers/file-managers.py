#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Nautilus and Thunar copy a folder: what arrives is what they bring without the module, and the
files went through it.

Each manager runs in a desktop of its own: an X server without a screen, a session bus that starts
gvfs and nothing else that is installed here, and empty folders for settings and run-time files. All
processes are this one's children or become so (a subreaper's), and are ended by number.
"""

import ctypes
import glob
import os
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True

import calls  # noqa: E402
import tap  # noqa: E402
from calls import look_tree, make_file  # noqa: E402

HERE = calls.area('EXT4') or calls.TMP
TARGETS = {'ext4': calls.area('EXT4'), 'xfs': calls.area('XFS')}
TARGETS = {name: folder for name, folder in TARGETS.items() if folder} or {'here': calls.TMP}
SOURCE = os.path.join(HERE, 'from', 'tree')
MOST_SECONDS = 60

PR_SET_CHILD_SUBREAPER = 36

# What the bus may start; a search engine would index the files while they are copied.
SERVICES = ('org.gtk.vfs.Daemon', 'org.gtk.vfs.Metadata', 'org.xfce.Xfconf')

BUS = '''<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:dir={runtime}</listen>
  <auth>EXTERNAL</auth>
  <servicedir>{services}</servicedir>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
'''


def wait_until(condition, what, seconds=MOST_SECONDS):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError(f'{what}: not within {seconds} s')


def children():
    found = []
    for path in glob.glob('/proc/self/task/*/children'):
        with open(path) as file:
            found += [int(word) for word in file.read().split()]
    return found


def end_children():
    """Ends every process that this one has, and those that they leave behind."""
    for number, seconds in ((signal.SIGTERM, 5), (signal.SIGKILL, 5)):
        end = time.monotonic() + seconds
        while children() and time.monotonic() < end:
            for child in children():
                try:
                    os.kill(child, number)
                except ProcessLookupError:
                    pass
            time.sleep(0.1)
            try:
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            except ChildProcessError:
                return


class Desktop:
    """An X server and a session bus for the length of a `with`."""

    def __init__(self, dray):
        self.dray = dray

    def __enter__(self):
        self.home = calls.empty(os.path.join(calls.TMP, 'desktop'))
        runtime = calls.empty(os.path.join(self.home, 'runtime'))
        services = calls.empty(os.path.join(self.home, 'services'))
        os.chmod(runtime, 0o700)
        for name in SERVICES:
            path = f'/usr/share/dbus-1/services/{name}.service'
            if os.path.exists(path):
                shutil.copy(path, services)
        config = os.path.join(self.home, 'bus.conf')
        with open(config, 'w') as file:
            file.write(BUS.format(runtime=runtime, services=services))
        self.log_path = os.path.join(self.home, 'log')
        self.log = open(self.log_path, 'wb')

        env = calls.environment(True, self.dray, HOME=self.home, XDG_RUNTIME_DIR=runtime, GIO_USE_VFS=None,
                                GVFS_DISABLE_FUSE='1', GSETTINGS_BACKEND='memory', NO_AT_BRIDGE='1',
                                GTK_A11Y='none', GDK_BACKEND='x11', XAUTHORITY='/nonexistent',
                                WAYLAND_DISPLAY=None, DBUS_SESSION_BUS_ADDRESS=None,
                                LIBGL_ALWAYS_SOFTWARE='1')
        for name in ('CONFIG', 'DATA', 'CACHE', 'STATE'):
            env[f'XDG_{name}_HOME'] = os.path.join(self.home, name.lower())
        env['XDG_CONFIG_DIRS'] = '/etc/xdg'
        self.env = env
        try:
            number = self._start_and_ask(['Xvfb', '-displayfd', '{fd}', '-nolisten', 'tcp',
                                          '-screen', '0', '1024x768x24'])
            env['DISPLAY'] = ':' + number
            env['DBUS_SESSION_BUS_ADDRESS'] = self._start_and_ask(
                ['dbus-daemon', f'--config-file={config}', '--nofork', '--print-address={fd}'])
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        end_children()
        self.log.close()

    def _start_and_ask(self, command):
        """Starts a server that tells one line by a pipe when it is ready."""
        ours, theirs = os.pipe()
        subprocess.Popen([word.format(fd=theirs) for word in command], env=self.env, pass_fds=[theirs],
                         stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        os.close(theirs)
        os.set_blocking(ours, False)
        said = b''

        def hear():
            nonlocal said
            try:
                said += os.read(ours, 4096)
            except BlockingIOError:
                pass
            return said.endswith(b'\n')

        wait_until(hear, command[0] + ' is ready', 30)
        os.close(ours)
        return said.decode().strip()

    def start(self, *command):
        subprocess.Popen(command, env=self.env, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)

    def call(self, name, path, method, *arguments):
        return subprocess.run(['gdbus', 'call', '--session', '--dest', name, '--object-path', path,
                               '--method', method, '--', *arguments], env=self.env, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=MOST_SECONDS)

    def wait_for(self, name, path):
        wait_until(lambda: self.call(name, path, 'org.freedesktop.DBus.Peer.Ping').returncode == 0 and
                   'interface' in subprocess.run(
                       ['gdbus', 'introspect', '--session', '--dest', name, '--object-path', path],
                       env=self.env, capture_output=True, text=True, timeout=MOST_SECONDS).stdout, name)

    def result(self):
        """The trace of what ran here."""
        with open(self.log_path, 'rb') as file:
            text = file.read().decode(errors='surrogateescape')
        return calls.Result(subprocess.CompletedProcess([], 0, '', text))


def ask_nautilus(desktop, target):
    path = '/org/gnome/Nautilus/FileOperations2'
    desktop.wait_for('org.gnome.Nautilus', path)
    return desktop.call('org.gnome.Nautilus', path, 'org.gnome.Nautilus.FileOperations2.CopyURIs',
                        f"['file://{SOURCE}']", f'file://{target}', '{}')


def ask_thunar(desktop, target):
    path = '/org/xfce/FileManager'
    desktop.wait_for('org.xfce.FileManager', path)
    return desktop.call('org.xfce.FileManager', path, 'org.xfce.FileManager.CopyInto',
                        os.path.dirname(SOURCE), f"['file://{SOURCE}']", f'file://{target}',
                        desktop.env['DISPLAY'], '')


def make_source():
    """A folder as people have them."""
    calls.empty(SOURCE)
    os.makedirs(os.path.join(SOURCE, 'deep', 'deeper'))
    os.mkdir(os.path.join(SOURCE, 'empty'))
    regular = {}
    for number in range(40):
        regular[f'file {number}'] = (number * 997, 0o644)
    for number in range(10):
        regular[f'deep/deeper/{number} ä'] = (number * 500, 0o600)
    regular['video'] = (5 << 20, 0o640)
    regular['read-only'] = (1000, 0o444)
    regular['program'] = (3000, 0o755)
    for name, (size, mode) in regular.items():
        make_file(os.path.join(SOURCE, name), size, mode, seed=name)
    sparse = os.path.join(SOURCE, 'sparse')
    with open(sparse, 'wb') as file:
        file.truncate(16 << 20)
        file.seek(8 << 20)
        file.write(b'island')
    os.chmod(sparse, 0o644)
    os.symlink('video', os.path.join(SOURCE, 'link'))
    os.symlink('nowhere', os.path.join(SOURCE, 'dangling'))
    old = 981173106_123456789
    os.utime(sparse, ns=(old, old))
    os.chmod(os.path.join(SOURCE, 'deep'), 0o750)
    for where, _, _ in os.walk(SOURCE):
        os.utime(where, ns=(old, old))
    return [*regular, 'sparse']


def wait_for_tree(folder, names):
    """All is there and has been as it is for a second."""
    seen = []

    def settled():
        seen.append(sorted((where, os.stat(where).st_mtime_ns, os.stat(where).st_mode,
                            [(name, os.lstat(os.path.join(where, name)).st_size,
                              os.lstat(os.path.join(where, name)).st_mtime_ns) for name in sorted(files)])
                           for where, _, files in os.walk(folder)))
        there = sum(len(files) for *_, files in seen[-1])
        return there == len(names) and len(seen) > 10 and all(one == seen[-1] for one in seen[-10:])

    wait_until(settled, f'{folder} is complete')


def copy_with(manager, ask, dray):
    """One desktop, one manager, a copy to each target: the trees that it left, and its trace."""
    everything = [name for name, seen in look_tree(SOURCE).items() if seen['type'] != 0o040000]
    trees = {}
    with Desktop(dray) as desktop:
        desktop.start(*manager)
        try:
            for name, folder in TARGETS.items():
                target = calls.empty(os.path.join(folder, 'to'))
                answer = ask(desktop, target)
                tap.check(answer.returncode == 0, f'{manager[0]} said {answer.stdout}')
                wait_for_tree(os.path.join(target, 'tree'), everything)
                trees[name] = look_tree(target)
                trees[name]['tree/sparse']['blocks'] = os.stat(os.path.join(target, 'tree/sparse')).st_blocks
                shutil.rmtree(target)
        except BaseException:
            with open(desktop.log_path, errors='replace') as log:
                tap.note(log.read()[-4000:])
            raise
    return trees, desktop.result()


def check_manager(manager, ask):
    if calls.PRELOAD:
        tap.skip('a desktop does not come up under AddressSanitizer')
    for tool in (manager[0], 'Xvfb', 'dbus-daemon', 'gdbus'):
        if not shutil.which(tool):
            tap.missing(f'{tool} is not installed')
    regular = make_source()
    source = look_tree(SOURCE)

    stock, quiet = copy_with(manager, ask, 'off')
    ours, result = copy_with(manager, ask, 'trace')
    tap.check_equal(quiet.trace, [], 'without the module')
    for target in TARGETS:
        blocks = {}
        for who, trees in (('stock', stock), ('ours', ours)):
            blocks[who] = trees[target]['tree/sparse'].pop('blocks')
        arrived = calls.forget_new_times(ours[target])
        expected = calls.forget_new_times(stock[target])
        for name in sorted(set(arrived) | set(expected)):
            tap.check_equal(arrived.get(name), expected.get(name), f'{target}: {name}, against stock')
        for name in regular:
            tap.check_equal(ours[target][f'tree/{name}'], source[name], f'{target}: {name}, against its source')
        tap.check_equal(ours[target]['tree/link']['target'], 'video', 'the link')
        tap.check(blocks['ours'] <= 64, f'{target}: the hole is filled, {blocks}')

    taken = sorted(os.path.relpath(match['source'], SOURCE) for match in result.taken)
    escaped = [name.replace('ä', r'\303\244') for name in regular]
    tap.check_equal(taken, sorted(escaped * len(TARGETS)), 'files taken')
    tap.check(set(result.reasons) <= {'directory', 'symlink', 'not-local'}, f'declined: {set(result.reasons)}')
    tap.check_equal(result.failed, [], 'failed')
    shutil.rmtree(os.path.dirname(SOURCE))


tap.add('nautilus', check_manager, ['nautilus', '--gapplication-service'], ask_nautilus)
tap.add('thunar', check_manager, ['thunar', '--daemon'], ask_thunar)


if __name__ == '__main__':
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    # So that what is started is also ended when the time is up.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    reason = calls.why_not_here(HERE)
    try:
        status = tap.run_all(reason)
    finally:
        end_children()
    sys.exit(status)
