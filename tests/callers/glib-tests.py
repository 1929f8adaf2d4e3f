#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""GLib's own tests (Debian's libglib2.0-tests), as an ordinary user, without the module and with it."""

import concurrent.futures
import glob
import os
import re
import shutil
import sys

sys.dont_write_bytecode = True

import calls  # noqa: E402
import tap  # noqa: E402

FOLDER = os.environ.get('DRAY_GLIB_TESTS', '/usr/libexec/installed-tests/glib')

# Name, and whether it copies: then the trace has to show copies that were taken.
TESTS = {
    'live-g-file': True,
    'file': True,
    'file-thumbnail': True,
    'g-file': False,
    'g-file-info': False,
    # Most of a minute of waiting for events. It copies nothing; its files are watched while the
    # module is there.
    'testfilemonitor': False,
}


def run_one(name, ours):
    work = calls.empty(os.path.join(calls.TMP, f'glib-{name}-{"ours" if ours else "stock"}'))
    os.chmod(work, 0o777)
    env = {'HOME': work, 'TMPDIR': work, 'XDG_RUNTIME_DIR': work, 'G_TEST_TMPDIR': work,
           # Debian's patch skips testfilemonitor without this.
           'DEB_ALLOW_FLAKY_TESTS': '1'}
    # A test that copies nothing has no trace; what was loaded is told by the linker.
    command = ['env', 'LD_DEBUG=files', f'LD_DEBUG_OUTPUT={work}/linker',
               os.path.join(FOLDER, name), '--tap']
    if os.getuid() == 0:
        command = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups',
                   '--inh-caps=-all', *command]
    try:
        result = calls.run(command, ours, cwd=work, timeout=180, env=env)
        result.loaded = False
        for log in glob.glob(os.path.join(work, 'linker.*')):
            with open(log) as file:
                result.loaded |= 'libgiodray.so' in file.read()
        return result
    finally:
        shutil.rmtree(work, ignore_errors=True)


def verdicts(result):
    return re.findall(r'^((?:not )?ok \d+ \S+(?: # SKIP)?)', result.out, re.MULTILINE)


def check_tests(name, copies):
    if not os.path.exists(os.path.join(FOLDER, name)):
        tap.missing(f'{name} of libglib2.0-tests is not installed')
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        stock, ours = pool.map(lambda with_module: run_one(name, with_module), (False, True))
    tap.check(verdicts(stock), f'no test ran: {stock}')
    tap.check_equal(verdicts(ours), verdicts(stock), 'results')
    tap.check_equal(ours.status, stock.status, f'{ours}')
    tap.check_equal(ours.status, 0, f'{ours}')
    tap.note(f'{name}: {len(verdicts(ours))} results, {len(ours.taken)} copies taken, '
             f'{len(ours.declined)} declined')
    tap.check_equal(len(ours.taken) + len(ours.declined) + len(ours.failed), len(ours.trace),
                    f'{ours.trace}')
    tap.check(ours.loaded, 'the module was not loaded')
    if copies:
        tap.check(ours.taken, f'no copy was taken: {ours.trace}')


for _name, _copies in TESTS.items():
    tap.add(_name, check_tests, _name, _copies)

if __name__ == '__main__':
    sys.exit(tap.run_all())
