#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""gio with the module under valgrind: no leak and no error that has our code in its stack."""

import os
import shutil
import sys
import xml.etree.ElementTree

sys.dont_write_bytecode = True

import calls  # noqa: E402
import tap  # noqa: E402
from calls import SIZES, look, make_file  # noqa: E402

HERE = calls.area('EXT4') or calls.TMP
THERE = calls.area('XFS') or calls.TMP


def ours_in(report):
    """Errors and leaks with a frame of ours, each as the lines of its stack."""
    found = []
    for error in xml.etree.ElementTree.parse(report).getroot().iter('error'):
        frames = [(frame.findtext('obj', ''), frame.findtext('fn', '?')) for frame in error.iter('frame')]
        if any(obj.endswith('libgiodray.so') for obj, _ in frames):
            found.append(error.findtext('kind', '?') + ': ' + ' < '.join(fn for _, fn in frames))
    return found


def check_command(command, size, source_area, dest_area, expected='taken', fails=False):
    if calls.PRELOAD:
        tap.skip('AddressSanitizer looks for the same')
    if not shutil.which('valgrind'):
        tap.missing('valgrind is not installed')
    source, dest = os.path.join(source_area, 'checked'), os.path.join(dest_area, 'checked-copy')
    report = os.path.join(calls.TMP, 'valgrind.xml')
    make_file(source, size)
    before = look(source)
    result = calls.run(
        ['valgrind', '--leak-check=full', '--show-leak-kinds=definite,indirect,possible',
         '--errors-for-leak-kinds=definite,indirect,possible', '--num-callers=40', '--keep-debuginfo=yes',
         '--track-fds=no', '--xml=yes', f'--xml-file={report}', *command, source, dest], True,
        timeout=300, env={'G_SLICE': 'always-malloc', 'G_DEBUG': 'gc-friendly'})
    lines = getattr(result, expected)
    tap.check_equal((result.status != 0, len(lines)), (fails, 1), f'{result}')
    tap.check_equal(ours_in(report), [], 'errors and leaks of ours')
    if not fails:
        tap.check_equal(look(dest)['bytes'], before['bytes'], 'bytes')
        os.unlink(dest)
    if os.path.lexists(source):
        os.unlink(source)
    os.unlink(report)


for _size in SIZES:
    tap.add(f'copy-{_size}', check_command, ['gio', 'copy'], SIZES[_size], HERE, HERE)
    if THERE != HERE:
        tap.add(f'move-{_size}', check_command, ['gio', 'move'], SIZES[_size], HERE, THERE)
        tap.add(f'copy-{_size}-by-cloning', check_command, ['gio', 'copy'], SIZES[_size], THERE, THERE)
    tap.add(f'cancel-{_size}', check_command, [calls.DRIVER, '--cancel-at', '0'], SIZES[_size], HERE,
            THERE if THERE != HERE else HERE, 'failed', True)
# Declined before anything is opened, and after.
if os.path.isdir('/proc/self'):
    tap.add('decline', check_command, [calls.DRIVER, '--module', '/nonexistent'], SIZES['small'], HERE,
            '/proc/sys', 'declined', True)


if __name__ == '__main__':
    sys.exit(tap.run_all(calls.why_not_here(HERE)))
