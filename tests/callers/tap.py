# SPDX-License-Identifier: LGPL-2.1-or-later
"""TAP for test scripts: functions marked @test, run in the order in which they stand."""

import os
import sys
import traceback

REQUIRED = os.environ.get('DRAY_TEST_REQUIRE') == '1'

_tests = []
_suite = os.path.basename(os.path.dirname(os.path.abspath(sys.argv[0])))
_script = os.path.splitext(os.path.basename(sys.argv[0]))[0]


class Skipped(Exception):
    pass


def skip(why):
    """Ends a test that cannot be run here, whatever CI asks for."""
    raise Skipped(why)


def missing(why):
    """Ends a test for want of something: skipped, but failed where everything has to be there."""
    if REQUIRED:
        raise AssertionError(f'{why}, and DRAY_TEST_REQUIRE is set')
    raise Skipped(why)


def check(condition, message):
    """Fails the test that is running."""
    if not condition:
        raise AssertionError(message)


def check_equal(ours, expected, what):
    if ours != expected:
        raise AssertionError(f'{what}:\n  got      {ours!r}\n  expected {expected!r}')


def test(function):
    """Adds a test; its name is the function's."""
    add(function.__name__.replace('_', '-'), function)
    return function


def add(name, function, *arguments):
    _tests.append((f'/{_suite}/{_script}/{name}', function, arguments))


def note(text):
    for line in str(text).splitlines():
        print('#', line, flush=True)


def run_all(skip_all=None):
    """Runs what was added and says how it went; arguments select by part of a name."""
    if skip_all:
        if REQUIRED:
            print(f'Bail out! {skip_all}, and DRAY_TEST_REQUIRE is set')
            return 1
        print(f'1..0 # SKIP {skip_all}')
        return 0

    wanted = sys.argv[1:]
    tests = [t for t in _tests if not wanted or any(word in t[0] for word in wanted)]
    failures = 0

    print('TAP version 13')
    print(f'1..{len(tests)}', flush=True)
    for number, (name, function, arguments) in enumerate(tests, 1):
        try:
            function(*arguments)
            print(f'ok {number} {name}', flush=True)
        except Skipped as reason:
            print(f'ok {number} {name} # SKIP {reason}', flush=True)
        except AssertionError as error:
            failures += 1
            print(f'not ok {number} {name}', flush=True)
            note(error)
        except Exception:
            failures += 1
            print(f'not ok {number} {name}', flush=True)
            note(traceback.format_exc())
    return 1 if failures else 0
