#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What surrounds a copy: settings, the trace, privileges, other modules, threads, children."""

import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True

import calls  # noqa: E402
import tap  # noqa: E402
from calls import SIZES, look, make_file  # noqa: E402

CROWD = os.environ.get('DRAY_COPY_CROWD')
HERE = os.path.join(calls.area('EXT4') or calls.TMP, 'environment')
THERE = os.path.join(calls.area('XFS') or calls.TMP, 'environment-other')
AS_NOBODY = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', '--inh-caps=-all']


# --- settings -----------------------------------------------------------------------------------

def make_hole(path):
    """A file that only the module copies with its hole, so one sees without a trace who copied."""
    with open(path, 'wb') as file:
        file.truncate(8 << 20)
    return path


def who_copies(dray, env):
    source, dest = make_hole(os.path.join(HERE, 'hole')), os.path.join(HERE, 'copy')
    if calls.run(['gio', 'copy', source, dest], False).status != 0 or os.stat(dest).st_blocks == 0:
        tap.missing('a file system that keeps holes and does not clone')
    os.unlink(dest)
    result = calls.run(['gio', 'copy', source, dest], True, dray, env=env)
    tap.check_equal((result.seen(), os.stat(dest).st_size), ((0, '', []), 8 << 20), f'{result}')
    acts = os.stat(dest).st_blocks == 0
    os.unlink(dest)
    return acts, result.reasons or ['taken'] * len(result.taken)


def check_settings(dray, env, acts, trace):
    tap.check_equal(who_copies(dray, env or {}), (acts, trace), f'GIO_DRAY={dray} {env}')


for _name, _dray, _acts, _trace in (
        ('unset', None, True, []),
        ('empty', '', True, []),
        ('on', 'on', True, []),
        ('off', 'off', False, []),
        ('trace', 'trace', True, ['taken']),
        ('off,on', 'off,on', True, []),
        ('on,off', 'on,off', False, []),
        ('off,trace', 'off,trace', False, ['disabled']),
        ('off,on,trace', 'off,on,trace', True, ['taken']),
        ('spaces', ' on , trace ', True, ['taken']),
        ('unknown', 'nonsense', True, []),
        ('unknown,trace', 'nonsense,trace', True, ['taken']),
        ('capitals', 'OFF', True, [])):
    tap.add(f'words/{_name}', check_settings, _dray, None, _acts, _trace)


def key_file(folder, text):
    calls.empty(folder)
    with open(os.path.join(folder, 'gio-dray.conf'), 'w') as file:
        file.write(text)
    return folder


@tap.test
def key_files():
    user = os.path.join(HERE, 'user')
    system = os.path.join(HERE, 'system')
    other = os.path.join(HERE, 'other')
    none = '/nonexistent'

    def check(user_text, system_text, other_text, dray, acts, trace):
        env = {
            'XDG_CONFIG_HOME': key_file(user, user_text) if user_text else none,
            'XDG_CONFIG_DIRS': ':'.join(key_file(folder, text) if text else none
                                        for folder, text in ((system, system_text), (other, other_text))),
        }
        tap.check_equal(who_copies(dray, env), (acts, trace),
                        f'user {user_text!r} system {system_text!r} {other_text!r} GIO_DRAY={dray}')

    off = '[gio-dray]\nenabled=false\n'
    on = '[gio-dray]\nenabled=true\n'
    trace = '[gio-dray]\ntrace=true\n'
    check(off, None, None, None, False, [])
    check(None, off, None, None, False, [])
    check(None, None, off, None, False, [])
    check(trace, None, None, None, True, ['taken'])
    check(None, trace, None, None, True, ['taken'])
    check(trace, off, None, None, False, ['disabled'])
    check(on, off, None, None, True, [])     # the user's over the system's
    check(off, on, None, None, False, [])
    check(None, on, off, None, True, [])     # the first folder over the second
    check(None, off, on, None, False, [])
    check(off, off, None, 'on', True, [])    # the environment over all
    check(on + 'trace=true\n', None, None, 'off', False, ['disabled'])
    # What is not understood changes nothing.
    check('[gio-dray]\nenabled=perhaps\n', None, None, None, True, [])
    check('[gio-dray\nenabled=false\n', None, None, None, True, [])
    check('enabled=false\n', None, None, None, True, [])
    check('[other]\nenabled=false\n', None, None, None, True, [])
    check('[gio-dray]\nnew-key=1\nenabled=false\n', None, None, None, False, [])
    check('\xff\xfe\0', None, None, None, True, [])


# --- the trace ----------------------------------------------------------------------------------

@tap.test
def every_line_of_the_trace_has_its_form():
    work = calls.empty(os.path.join(HERE, 'trace'))
    names = ['plain', 'new\nline', 'tab\t', 'quote"', 'back\\slash', ' -> ', 'ü', os.fsdecode(b'\xff'),
             'gio-dray: taken a -> b method=none bytes=0 us=0\n', 'x' * 255]
    for name in names:
        source, dest = os.path.join(work, name), os.path.join(work, 'copy')
        make_file(source, 100)
        for expected in ('taken', 'declined'):  # the second time it exists, and stock overwrites it
            result = calls.run(['gio', 'copy', source, dest], True)
            tap.check_equal((result.status, len(result.trace), result.err), (0, 1, []), f'{name!r}: {result}')
            line = result.trace[0]
            match = (result.taken if expected == 'taken' else result.declined)
            tap.check(len(match) == 1, f'{expected}: {line!r}')
            tap.check(re.fullmatch(r'[\x20-\x7e]+', line), f'not printable: {line!r}')
            tap.check_equal(unescape(match[0]['source']), os.fsencode(source), 'source')
            tap.check_equal(unescape(match[0]['dest']), os.fsencode(dest), 'destination')
        os.unlink(dest)
    shutil.rmtree(work)


def unescape(text):
    """C escapes as g_strescape() makes them."""
    return re.sub(rb'\\([0-7]{3}|.)', lambda match: (
        bytes([int(match[1], 8)]) if len(match[1]) == 3 else
        {b'n': b'\n', b't': b'\t', b'b': b'\b', b'f': b'\f', b'r': b'\r', b'v': b'\v'}.get(match[1], match[1])),
        text.encode())


@tap.test
def a_failed_copy_has_its_line():
    source, dest = os.path.join(HERE, 'failing'), os.path.join(HERE, 'failed')
    make_file(source, SIZES['medium'])
    result = calls.run([calls.DRIVER, '--cancel-at', '1', source, dest], True)
    tap.check_equal((len(result.trace), len(result.failed)), (1, 1), f'{result.trace}')
    tap.check_equal(result.failed[0]['errno'], '125', 'errno')  # ECANCELED
    tap.check(not os.path.lexists(dest), 'something is left')
    os.unlink(source)


@tap.test
def bytes_in_the_trace_are_those_that_moved():
    source, dest = os.path.join(HERE, 'sized'), os.path.join(HERE, 'copy')
    for size in (0, 1, 4096, SIZES['small'], SIZES['medium'], SIZES['big']):
        make_file(source, size)
        result = calls.run(['gio', 'copy', source, dest], True)
        tap.check_equal([match['bytes'] for match in result.taken], [str(size)], f'{result.trace}')
        os.unlink(dest)
    os.unlink(source)


@tap.test
def nothing_is_printed_without_a_trace():
    work = calls.empty(os.path.join(HERE, 'quiet'))
    for dray in ('on', 'off', None):
        for size in SIZES.values():
            for command in (['gio', 'copy'], ['gio', 'move']):
                source = make_file(os.path.join(work, 'source'), size)
                for dest in (os.path.join(work, 'dest'), os.path.join(THERE, 'dest')):
                    source = make_file(os.path.join(work, 'source'), size)
                    result = calls.run([*command, source, dest], True, dray,
                                       env={'G_MESSAGES_DEBUG': 'gio-dray', 'G_DEBUG': 'fatal-warnings'})
                    tap.check_equal((result.seen(), result.trace), ((0, '', []), []), f'{command} {dray}')
                    os.unlink(dest)
        # What fails says what stock says, and nothing more.
        failing = ['gio', 'copy', os.path.join(work, 'absent'), os.path.join(work, 'dest')]
        tap.check_equal(repr(calls.run(failing, True, dray)), repr(calls.run(failing, False)), 'a failure')
    shutil.rmtree(work)


def survive(name, **streams):
    source, dest = make_file(os.path.join(HERE, 'mute'), SIZES['big']), os.path.join(HERE, 'copy')
    process = subprocess.Popen(['gio', 'copy', source, dest], env=calls.environment(True),
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, **streams)
    if 'stderr' in streams and streams['stderr'] == subprocess.PIPE:
        process.stderr.close()
    tap.check_equal(process.wait(120), 0, name)
    tap.check_equal(look(dest), look(source), name)
    os.unlink(source)
    os.unlink(dest)


@tap.test
def standard_error_is_a_broken_pipe():
    survive('a broken pipe', stderr=subprocess.PIPE)


@tap.test
def standard_error_is_full():
    with open('/dev/full', 'wb') as full:
        survive('/dev/full', stderr=full)


@tap.test
def standard_error_is_closed():
    survive('closed', preexec_fn=lambda: os.close(2))


def check_crowd_without_standard_error():
    """Number 2 is a file of some other thread's then."""
    source, dest, sources = make_crowd(200)
    for _ in range(5):
        process = subprocess.Popen([CROWD, 'threads', source, '200', dest], env=calls.environment(True),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   preexec_fn=lambda: os.close(2))
        tap.check_equal(process.wait(120), 0, 'status')
        for number in range(200):
            tap.check_equal(look(os.path.join(dest, str(number))), sources[number], f'copy {number}')
        calls.empty(dest)


tap.add('threads-with-standard-error-closed', check_crowd_without_standard_error)


# --- many at once, and children ------------------------------------------------------------------

def make_crowd(count, small_only=False):
    source = calls.empty(os.path.join(HERE, 'crowd'))
    dest = calls.empty(os.path.join(THERE, 'crowd'))
    for number in range(count):
        size = 40 << 20 if number == 7 and not small_only else (number * 997) % 40000
        make_file(os.path.join(source, str(number)), size, seed=number)
    return source, dest, [look(os.path.join(source, str(number))) for number in range(count)]


@tap.test
def a_hundred_asynchronous_copies_at_once():
    source, dest, sources = make_crowd(100)
    # Some that fail in the middle of it.
    os.unlink(os.path.join(source, '20'))
    make_file(os.path.join(dest, '40'), 3, seed=1000)
    kept = look(os.path.join(dest, '40'))
    os.unlink(os.path.join(source, '60'))
    os.mkdir(os.path.join(source, '60'))
    failing = {20: 'error g-io-error-quark 1', 40: 'error g-io-error-quark 2', 60: 'error g-io-error-quark 25'}

    result = calls.run([CROWD, 'async', source, '100', dest], True)
    tap.check_equal((result.status, result.err), (0, []), f'{result}')
    tap.check_equal(sorted(result.out.splitlines()),
                    sorted(f'async {i} {failing.get(i, "done")}' for i in range(100)), 'results')
    for number in range(100):
        if number not in failing:
            tap.check_equal(look(os.path.join(dest, str(number))), sources[number], f'copy {number}')
    tap.check_equal(look(os.path.join(dest, '40')), kept, 'what was there')
    tap.check_equal((len(result.taken), len(result.trace)), (97, 100), 'taken')
    tap.check_equal(sorted(os.listdir(dest), key=int), [str(i) for i in range(100) if i not in (20, 60)], 'names')


@tap.test
def copies_on_32_threads():
    source, dest, sources = make_crowd(320)
    result = calls.run([CROWD, 'threads', source, '320', dest], True)
    tap.check_equal((result.status, result.err), (0, []), f'{result}')
    tap.check_equal(sorted(result.out.splitlines()),
                    sorted([f'thread {i} done' for i in range(320)] + ['winners 1']), 'results')
    for number in range(320):
        tap.check_equal(look(os.path.join(dest, str(number))), sources[number], f'copy {number}')
    tap.check_equal(look(os.path.join(dest, 'contested')), sources[0], 'contested')
    tap.check_equal((len(result.taken), len(result.declined), len(result.trace)), (321, 31, 352), 'trace')


@tap.test
def copies_on_both_sides_of_a_fork():
    source, dest, sources = make_crowd(10)
    whos = ['parent', 'child', 'grandchild', 'child-again', 'parent-beside', 'parent-again']
    result = calls.run([CROWD, 'fork', source, '10', dest], True)
    tap.check_equal((result.status, result.err), (0, []), f'{result}')
    tap.check_equal(sorted(result.out.splitlines()),
                    sorted(f'{who} {i} done' for who in whos for i in range(10)), 'results')
    for who in whos:
        for number in range(10):
            tap.check_equal(look(os.path.join(dest, f'{who}-{number}')), sources[number], f'{who} {number}')
    tap.check_equal((len(result.taken), len(result.trace)), (60, 60), 'taken')


@tap.test
def a_process_that_never_copies_carries_nothing():
    stock = calls.run([calls.DRIVER, '--tell-process'], False, timeout=30)
    ours = calls.run([calls.DRIVER, '--tell-process'], True, timeout=30)
    tap.check('module yes' in ours.out, f'the module was not loaded: {ours.out}')
    tap.check_equal(ours.out.replace('module yes', 'module no'), stock.out, 'process')
    tap.check_equal(ours.trace, [], 'trace')


@tap.test
def a_process_that_has_copied_carries_nothing():
    source, dest = os.path.join(HERE, 'carried'), os.path.join(HERE, 'carried-copy')
    make_file(source, SIZES['big'])
    for options in ([], ['--cancel-at', '1']):
        result = calls.run([calls.DRIVER, '--tell-process', *options, source, dest], True)
        lines = [line for line in result.out.splitlines()]
        told = [i for i, line in enumerate(lines) if line.startswith('module ')]
        tap.check_equal(len(told), 2, result.out)
        before = [line for line in lines[told[0]:told[1]] if not line.startswith(('done', 'error'))]
        tap.check_equal(lines[told[1]:], before, 'after against before')
        if os.path.lexists(dest):
            os.unlink(dest)
    os.unlink(source)


# --- privileges -----------------------------------------------------------------------------------

def check_privileged(raise_privileges):
    if os.getuid() != 0 or not calls.area('EXT4'):
        tap.missing('making a program privileged takes root')
    work = calls.empty(os.path.join(HERE, 'privileged'))
    os.chmod(work, 0o777)
    # Where an ordinary user can load it, so that only the module's own rule is left.
    module = shutil.copy(os.path.join(calls.MODULES, 'libgiodray.so'), work)
    program = shutil.copy(calls.DRIVER, os.path.join(work, 'program'))
    source, dest = make_hole(os.path.join(work, 'source')), os.path.join(work, 'dest')
    env = {'GIO_EXTRA_MODULES': work}
    for path in (module, program, source):
        os.chmod(path, 0o755)

    def acts(*options):
        result = calls.run([*AS_NOBODY, program, *options, source, dest], True, env=env)
        tap.check_equal((result.status, result.err), (0, []), f'{result}')
        if options:
            tap.check('loaded yes' in result.out, f'it could not be loaded: {result}')
        is_sparse = os.stat(dest).st_blocks == 0
        os.unlink(dest)
        tap.check_equal(len(result.trace), int(is_sparse), 'lines of trace')
        return is_sparse

    tap.check(acts(), 'without privileges it does nothing')
    tap.check(acts('--module', module), 'without privileges it does nothing when loaded by hand')
    raise_privileges(program)
    tap.check(not acts(), 'the module acts')
    tap.check(not acts('--module', module), 'the module acts when it is loaded')
    shutil.rmtree(work)


def make_setuid(program):
    os.chown(program, 0, 0)
    os.chmod(program, 0o4755)


def make_capable(program):
    if not shutil.which('setcap'):
        tap.missing('setcap is not installed')
    subprocess.run(['setcap', 'cap_net_raw+ep', program], check=True)


tap.add('a-setuid-program-is-left-alone', check_privileged, make_setuid)
tap.add('a-program-with-capabilities-is-left-alone', check_privileged, make_capable)


# --- gvfs -----------------------------------------------------------------------------------------

GVFS_SESSION = '''
set -e
"$DRIVER" --tell-vfs "$HOME/local" "$HOME/copy"
gio copy --progress "$HOME/local" "$HOME/copied"
gio trash "$HOME/doomed"
gio copy trash:///doomed "$HOME/back"
gio copy "$HOME/local" trash:///new || echo "to trash: $?"
gio copy trash:///doomed trash:///other || echo "in trash: $?"
gio copy "$HOME/local" nonsense:///new || echo "to nonsense: $?"
'''


@tap.test
def beside_gvfs():
    """With gvfs loaded, local copies are ours and its own are its own."""
    if calls.PRELOAD:
        tap.skip('a session bus does not come up under AddressSanitizer')
    for tool in ('dbus-run-session', 'gio'):
        if not shutil.which(tool):
            tap.missing(f'{tool} is not installed')
    if not os.path.exists('/usr/share/dbus-1/services/org.gtk.vfs.Daemon.service'):
        tap.missing('gvfs is not installed')
    seen = []
    for ours in (False, True):
        home = calls.empty(os.path.join(HERE, 'home'))
        make_file(os.path.join(home, 'local'), SIZES['small'])
        make_file(os.path.join(home, 'doomed'), 123)
        runtime = calls.empty(os.path.join(HERE, 'runtime'))
        os.chmod(runtime, 0o700)
        result = calls.run(['dbus-run-session', '--', 'sh', '-c', GVFS_SESSION], ours, env={
            'HOME': home, 'XDG_RUNTIME_DIR': runtime, 'XDG_DATA_HOME': os.path.join(home, 'data'),
            'GIO_USE_VFS': None, 'GVFS_DISABLE_FUSE': '1', 'DRIVER': calls.DRIVER,
            'DBUS_SESSION_BUS_ADDRESS': None, 'DISPLAY': None})
        # The bus tells of services; the speed in the progress line is the machine's.
        errors = [line for line in result.err if line.startswith('gio')]
        out = re.sub(r'\x1b\[K[^\n]*\n?', '', result.out)
        seen.append((result.status, out, errors,
                     {name: look(os.path.join(home, name)) for name in ('copy', 'copied', 'back')}))
    tap.check('vfs GDaemonVfs' in out, f'gvfs was not there: {result}')
    tap.check_equal(seen[1], seen[0], 'ours against stock')
    tap.check(seen[0][3]['back'] is not None, f'nothing came back: {result}')
    # The third is out of the trash: gvfs knows the local file behind it and copies that.
    tap.check_equal(len(result.taken), 3, f'{result.trace}')
    tap.check(set(result.reasons) <= {'not-local'} and result.reasons, f'{result.trace}')


@tap.test
def without_gvfs():
    source, dest = make_file(os.path.join(HERE, 'local'), SIZES['small']), os.path.join(HERE, 'copy')
    for vfs in ('local', None):
        result = calls.run([calls.DRIVER, '--tell-vfs', source, dest], True, env={
            'GIO_USE_VFS': vfs, 'DBUS_SESSION_BUS_ADDRESS': 'unix:path=/nonexistent',
            'XDG_RUNTIME_DIR': '/nonexistent'})
        tap.check('vfs GLocalVfs\n' in result.out, f'{result}')
        tap.check_equal((result.status, len(result.taken)), (0, 1), f'{result}')
        tap.check_equal(look(dest), look(source), 'copy')
        os.unlink(dest)


if __name__ == '__main__':
    for _folder in (HERE, THERE):
        os.makedirs(_folder, exist_ok=True)
        os.chmod(_folder, 0o755)
    sys.exit(tap.run_all(calls.why_not_here(HERE)))
