#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The module where people find it: in meson's devenv, below DESTDIR, and in a folder of GIO's."""

import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True

import calls  # noqa: E402
import tap  # noqa: E402
from calls import SIZES, look, make_file  # noqa: E402

SOURCE_ROOT = os.environ['DRAY_SOURCE_ROOT']
BUILD_ROOT = os.environ['DRAY_BUILD_ROOT']
MODULE_DIR = os.environ['DRAY_GIO_MODULE_DIR']
MESON = os.environ.get('DRAY_MESON', 'meson').split()
HERE = calls.area('EXT4') or calls.TMP
WORK = os.path.join(calls.TMP, 'install')


def meson(*arguments):
    env = calls.environment(False, DESTDIR=None)
    done = subprocess.run([*MESON, *arguments], env=env, stdin=subprocess.DEVNULL, text=True, timeout=300,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    tap.check(done.returncode == 0, f'meson {arguments}:\n{done.stdout}')
    return done.stdout


def check_copies(prefix=(), **env):
    """One copy through whatever the environment leads to."""
    source, dest = make_file(os.path.join(HERE, 'source'), SIZES['small']), os.path.join(HERE, 'copy')
    result = calls.run([*prefix, 'gio', 'copy', source, dest], True, env=env)
    tap.check_equal((result.status, result.err, len(result.taken)), (0, [], 1), f'{result}')
    tap.check_equal(look(dest), look(source), 'copy')
    os.unlink(source)
    os.unlink(dest)


def names_below(folder):
    return sorted(os.path.relpath(os.path.join(where, name), folder)
                  for where, _, files in os.walk(folder) for name in files)


@tap.test
def devenv_uses_the_module():
    check_copies([*MESON, 'devenv', '-C', BUILD_ROOT], GIO_EXTRA_MODULES=None)


@tap.test
def destdir_gets_the_module_and_no_cache():
    if not os.access(os.path.join(BUILD_ROOT, 'meson-logs'), os.W_OK):
        tap.skip('the build folder is somebody else\'s')
    destdir = calls.empty(os.path.join(WORK, 'destdir'))
    meson('install', '-C', BUILD_ROOT, '--no-rebuild', '--destdir', destdir)
    names = names_below(destdir)
    folder = os.path.join(destdir, MODULE_DIR.lstrip('/'))
    tap.check(os.path.join(MODULE_DIR.lstrip('/'), 'libgiodray.so') in names, f'{names}')
    tap.check(not any('giomodule.cache' in name for name in names), f'{names}')
    tap.check(not any('/include/' in name or name.endswith(('.a', '.h')) for name in names), f'{names}')
    check_copies(GIO_EXTRA_MODULES=folder)


@tap.test
def an_installation_renews_the_cache():
    build, modules = os.path.join(WORK, 'build'), os.path.join(WORK, 'modules')
    for folder in (build, modules):
        shutil.rmtree(folder, ignore_errors=True)
    meson('setup', build, SOURCE_ROOT, f'--prefix={WORK}/prefix', f'-Dgio_module_dir={modules}',
          '-Dtests=false')
    meson('compile', '-C', build, '-j', '1')
    meson('install', '-C', build, '--no-rebuild')
    tap.check_equal(sorted(os.listdir(modules)), ['giomodule.cache', 'libgiodray.so'], 'names')
    with open(os.path.join(modules, 'giomodule.cache')) as file:
        tap.check('libgiodray.so: gio-vfs\n' in file.read(), 'the cache does not name the extension point')
    check_copies(GIO_EXTRA_MODULES=modules)


if __name__ == '__main__':
    os.makedirs(WORK, exist_ok=True)
    sys.exit(tap.run_all(calls.why_not_here(HERE)))
