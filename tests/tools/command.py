#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The dray command as its users run it, its translation, and the counting of test results.

command.py DRAY SOURCE-ROOT
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unicodedata

DRAY, ROOT = sys.argv[1:3]
TMP = os.environ["DRAY_TEST_TMP"]
REQUIRED = os.environ.get("DRAY_TEST_REQUIRE") == "1"
LOCALEDEF = "/usr/share/i18n/locales/ja_JP"


class Skip(Exception):
    pass


def run(*arguments, status=0, prefix=(), **environment):
    """Runs dray; gives standard output and standard error."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("LC_", "LANG", "GIO_"))}
    env.update(LC_ALL="C.UTF-8", **environment)
    result = subprocess.run([*prefix, DRAY, *arguments], env=env, stdin=subprocess.DEVNULL,
                            capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == status, (arguments, result)
    return result.stdout, result.stderr


def demo(*arguments, place=TMP, **more):
    out = run("demo", "--files", "50", "--size", "4194304", "--rounds", "1", "--in", place,
              *arguments, **more)
    assert not [n for n in os.listdir(place) if n.startswith("gio-dray-demo")], "left behind"
    return out


def table(text):
    return [line for line in text.splitlines() if re.search(r"[0-9]×$", line)]


def width(text):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def check_demo(text):
    rows = table(text)
    cold = os.geteuid() == 0 and os.access("/proc/sys/vm/drop_caches", os.W_OK)
    assert len(rows) in ((2, 4) if cold else (2,)), text
    assert "52 of 52" in rows[0] and "1 of 1" in rows[-1], text
    assert "are equal: 53 files" in text, text


def demo_copies_and_compares():
    check_demo(demo()[0])


def demo_takes_a_folder_of_the_users():
    with tempfile.TemporaryDirectory(dir=TMP) as folder:
        os.makedirs(f"{folder}/a/b")
        for i in range(20):
            with open(f"{folder}/a/b/{i}\n\\ method=x", "wb") as file:
                file.write(b"x" * i * 999)
        os.symlink("nowhere", f"{folder}/link")
        os.mkfifo(f"{folder}/fifo")
        before = sorted(os.listdir(folder))
        out = run("demo", "--size", "0", "--rounds", "1", "--in", TMP, folder)[0]
        assert "20 of 21" in table(out)[0], out
        assert "21 files" in out, out
        assert sorted(os.listdir(folder)) == before


def demo_runs_as_an_ordinary_user():
    if os.geteuid() != 0:
        raise Skip("not root: the other tests have shown it")
    with tempfile.TemporaryDirectory(dir=TMP) as folder:
        os.chmod(folder, 0o777)
        nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
        # The build folder may be out of reach for others.
        if subprocess.run([*nobody, DRAY, "--version"], capture_output=True, check=False).returncode:
            raise Skip("other users cannot reach the build folder")
        out = demo(place=folder, prefix=nobody)[0]
        assert len(table(out)) == 2 and "only as root" in out, out
        assert "are equal" in out, out


def japanese_locale(folder):
    """Environment in which LANGUAGE counts: newer C libraries do not translate in C.UTF-8."""
    environment = {"LANGUAGE": "ja"}
    if "使い方" in run("--help", **environment)[0]:
        return environment
    if not os.path.exists(LOCALEDEF):
        message = "no Japanese locale can be made (package locales)"
        assert not REQUIRED, message
        raise Skip(message)
    subprocess.run(["localedef", "-i", "ja_JP", "-f", "UTF-8", f"{folder}/ja_JP.UTF-8"],
                   capture_output=True, check=False)
    return {"LOCPATH": folder, "LC_ALL": "ja_JP.UTF-8"}


def run_japanese(function, *arguments, **more):
    with tempfile.TemporaryDirectory(dir=TMP) as folder:
        environment = japanese_locale(folder)
        locale = environment.pop("LC_ALL", None)
        prefix = ("env", f"LC_ALL={locale}") if locale else ()
        return function(*arguments, prefix=prefix, **environment, **more)


def demo_is_aligned_in_japanese():
    out = run_japanese(demo)[0]
    assert "拡張属性" in out and "キャッシュあり" in out, out
    rows = table(out)
    assert len(rows) >= 2, out
    assert len({width(row) for row in rows}) == 1, out


def errors_are_translated():
    error = run_japanese(run, "demo", "--files", "-1", status=2)[1]
    assert "ファイル数" in error, error


def wrong_options_are_explained():
    vectors = [
        ((), "which command"),
        (("nonsense",), "no command “nonsense”"),
        (("demo", "--nonsense"), "--nonsense"),
        (("demo", "--files"), "--files"),
        (("demo", "--files", "x"), "“x”"),
        (("demo", "--files", "-1"), "between 0 and 1000000"),
        (("demo", "--size", "-1"), "negative"),
        (("demo", "--rounds", "0"), "between 1 and 99"),
        (("demo", "--files", "0", "--size", "0"), "nothing to copy"),
        (("demo", TMP, TMP), "Only one folder"),
    ]
    for arguments, words in vectors:
        out, error = run(*arguments, status=2)
        assert words in error and out == "", (arguments, error)


def wrong_folders_are_explained():
    assert "/nonexistent" in run("demo", "/nonexistent", "--in", TMP, status=1)[1]
    assert "/proc/" in run("demo", "--in", "/proc/self", status=1)[1]
    with tempfile.TemporaryDirectory(dir=TMP) as folder:
        error = run("demo", "--size", "0", "--in", TMP, folder, status=1)[1]
        assert "no files to copy" in error, error


def interrupted_demo_leaves_nothing():
    for number in (signal.SIGINT, signal.SIGTERM):
        with tempfile.TemporaryDirectory(dir=TMP) as folder:
            with subprocess.Popen([DRAY, "demo", "--files", "20000", "--rounds", "99", "--in", folder],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as child:
                limit = time.monotonic() + 60
                while not os.listdir(folder) and time.monotonic() < limit:
                    time.sleep(0.01)
                time.sleep(0.3)
                child.send_signal(number)
                child.communicate(timeout=60)
            assert child.returncode == 130, child.returncode
            assert os.listdir(folder) == [], os.listdir(folder)


def translation_is_complete():
    result = subprocess.run(["msgfmt", "--check", "--statistics", "-o", "/dev/null",
                             f"{ROOT}/po/ja.po"], env={**os.environ, "LC_ALL": "C"},
                            capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert re.fullmatch(r"\d+ translated messages\.", result.stderr.strip()), result.stderr


def messages(text):
    """The msgids of a po or pot file."""
    found = set()
    for match in re.finditer(r'^msgid(?:_plural)? ((?:"(?:[^"\\]|\\.)*"\n?)+)', text, re.M):
        found.add("".join(re.findall(r'"((?:[^"\\]|\\.)*)"', match.group(1))))
    return found - {""}


def template_and_translation_have_every_message():
    with open(f"{ROOT}/po/POTFILES", encoding="utf-8") as file:
        paths = [p for p in file.read().split("\n") if p and not p.startswith("#")]
    sources = [f"{folder}/{name}" for folder in ("tools", "vfs-shims", "gio-module", "engine")
               for name in sorted(os.listdir(f"{ROOT}/{folder}")) if name.endswith(".c")]
    translated = []
    for path in sources:
        with open(f"{ROOT}/{path}", encoding="utf-8") as file:
            if re.search(r"\bN?_ \(|\bngettext \(", file.read()):
                translated.append(path)
    assert paths == translated, (paths, translated)
    command = ["xgettext", "--from-code=UTF-8", "-o", "-", "-k_", "-kN_", "-kngettext:1,2", *paths]
    current = messages(subprocess.run(command, cwd=ROOT, capture_output=True, text=True,
                                      check=True).stdout)
    assert len(current) > 50
    for name in ("gio-dray.pot", "ja.po"):
        with open(f"{ROOT}/po/{name}", encoding="utf-8") as file:
            assert messages(file.read()) == current, (name, messages(file.read()) ^ current)


def results_are_counted():
    logs = [
        {"name": "a / good", "result": "OK", "stdout": "TAP version 13\n1..2\nok 1 /a # x\nok 2 /b # SKIP why\n"},
        {"name": "a / bad", "result": "FAIL", "stdout": "ok 1 /c\nnot ok 2 /d\n"},
        {"name": "a / crash", "result": "ERROR", "stdout": "ok 1 /e\n"},
        {"name": "a / late", "result": "TIMEOUT", "stdout": ""},
        {"name": "a / none", "result": "SKIP", "stdout": "1..0 # SKIP no xyz\n"},
        {"name": "a / plain", "result": "OK", "stdout": ""},
    ]
    count = [sys.executable, f"{ROOT}/.ci/count-results.py"]
    with tempfile.TemporaryDirectory(dir=TMP) as folder:
        def counted(tests, *options, status="1"):
            path = f"{folder}/testlog.json"
            with open(path, "w", encoding="utf-8") as file:
                file.writelines(json.dumps(test) + "\n" for test in tests)
            result = subprocess.run([*count, *options, f"{path}={status}"], capture_output=True,
                                    text=True, check=False)
            return result.returncode, result.stdout.splitlines()[-1], result.stdout

        code, last, text = counted(logs)
        assert (code, last) == (1, "4 passed, 3 failed, 2 skipped"), text
        for words in ("/b  (why)", "/d", "late  (timeout)", "(no xyz)"):
            assert words in text, text
        assert counted(logs[:1], status="0")[:2] == (0, "1 passed, 0 failed, 1 skipped")
        assert counted(logs[:1])[:2] == (1, "1 passed, 1 failed, 1 skipped")
        assert counted(logs[4:5], status="0")[:2] == (0, "0 passed, 0 failed, 1 skipped")
        assert counted(logs[4:5], "--strict", status="0")[:2] == (1, "0 passed, 1 failed, 1 skipped")
        assert counted([], status="0")[:2] == (1, "0 passed, 1 failed, 0 skipped")
        assert counted(logs[:1], "--failed", "build", status="0")[0] == 1


TESTS = [
    demo_copies_and_compares,
    demo_takes_a_folder_of_the_users,
    demo_runs_as_an_ordinary_user,
    demo_is_aligned_in_japanese,
    errors_are_translated,
    wrong_options_are_explained,
    wrong_folders_are_explained,
    interrupted_demo_leaves_nothing,
    translation_is_complete,
    template_and_translation_have_every_message,
    results_are_counted,
]


def main():
    print(f"TAP version 13\n1..{len(TESTS)}")
    failed = 0
    for i, function in enumerate(TESTS, 1):
        name = "/tools/command/" + function.__name__.replace("_", "-")
        try:
            function()
            print(f"ok {i} {name}", flush=True)
        except Skip as why:
            print(f"ok {i} {name} # SKIP {why}", flush=True)
        except Exception as why:  # pylint: disable=broad-except
            failed += 1
            for line in f"{type(why).__name__}: {why}".splitlines():
                print("#", line)
            print(f"not ok {i} {name}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
