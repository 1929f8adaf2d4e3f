#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Rules that a compiler does not check. TAP; each rule is first shown a sample that breaks it.

lint.py SOURCE-FOLDER
"""
import os
import re
import subprocess
import sys

CODE = ("engine", "vfs-shims", "gio-module", "tools")
MOST_BYTES = 24 << 10


class Project:
    """The text files of the project, by path; or a few made-up ones."""

    def __init__(self, files):
        self.files = files

    @classmethod
    def read(cls, root):
        listed = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard"],
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        paths = listed.stdout.decode().split("\n") if listed.returncode == 0 else []
        if not any(paths):
            paths = [os.path.relpath(os.path.join(folder, name), root)
                     for folder, folders, names in os.walk(root) for name in names
                     if not os.path.relpath(folder, root).startswith((".git", "_b", "build"))]
        files = {}
        for path in filter(None, paths):
            try:
                with open(os.path.join(root, path), encoding="utf-8") as file:
                    files[path] = file.read()
            except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
                continue
        return cls(files)

    def matching(self, pattern):
        return {path: text for path, text in sorted(self.files.items())
                if re.fullmatch(pattern, path)}

    def lines(self, pattern):
        for path, text in self.matching(pattern).items():
            for number, line in enumerate(text.split("\n"), 1):
                yield path, number, line


SOURCES = r".*\.[ch]"
PRODUCT = r"(engine|vfs-shims|gio-module)/.*\.[ch]"
SCRIPTS = r"(.*\.(py|sh)|bootstrap|\.ci/run|tests/support/with-filesystems|tests/.*/measure-tiny)"


def strip_comments(text):
    return re.sub(r"/\*.*?\*/", lambda match: re.sub(r"[^\n]", " ", match.group()), text,
                  flags=re.DOTALL)


def find(project, pattern, expression, allowed=()):
    """Places outside comments where an expression stands and must not."""
    for path, text in project.matching(pattern).items():
        if path in allowed:
            continue
        for number, line in enumerate(strip_comments(text).split("\n"), 1):
            if re.search(expression, line):
                yield f"{path}:{number}: {line.strip()}"


def arrows(project):
    rules = (
        (r"engine/.*", r'#include (<gio/|"(vfs-shims|gio-module|tools)/)'),
        (r"vfs-shims/.*", r'#include "(gio-module|tools)/'),
        (r"gio-module/.*", r'#include "(engine|tools)/'),
        (r"tools/.*", r'#include "(vfs-shims|gio-module)/'),
    )
    for pattern, expression in rules:
        yield from find(project, pattern, expression)


def doors(project):
    for path, number, line in project.lines(SOURCES):
        match = re.match(r'#include "(([\w-]+)/[\w/-]+-private\.h)"', line)
        if match and not path.startswith(("tests/", match.group(2) + "/")):
            yield f"{path}:{number}: {match.group(1)} is another folder's"


def libraries(project):
    yield from find(project, SOURCES, r"#include <liburing", [
        path for path in project.files if re.match(r"engine/dray-ring[\w-]*\.c", path)])
    yield from find(project, SOURCES, r"#include <xxhash", ["engine/dray-digest.c"])


def one_place(project):
    yield from find(project, PRODUCT, r"g_io_error_from_errno", ["vfs-shims/dray-error.c"])
    yield from find(project, PRODUCT, r"\bEINTR\b", ["engine/dray-fd.c", "vfs-shims/dray-trace.c"])


def silence(project):
    yield from find(project, PRODUCT,
                    r"\b(g_print|g_printerr|printf|fprintf|puts|g_warning|g_message|g_critical|"
                    r"g_error|abort|exit|_exit|umask|chdir|signal)\s*\(")


def docs(project):
    for path, text in project.matching(r"(engine|vfs-shims|gio-module|tools)/.*\.h").items():
        for match in re.finditer(r"^(?!static|typedef|#|\s|G_)[\w *]+?\b(dray_\w+) \(", text,
                                 re.MULTILINE):
            before = text[:match.start()].rstrip()
            if not before.endswith("*/") or f"{match.group(1)}:" not in before[
                    before.rfind("/**"):]:
                yield f"{path}: {match.group(1)} has no doc comment"


def licence(project):
    for path, text in project.matching(SOURCES + "|" + SCRIPTS).items():
        if "SPDX-License-Identifier: LGPL-2.1-or-later" not in "\n".join(text.split("\n")[:2]):
            yield f"{path}: no licence at the top"


def layout(project):
    for path, number, line in project.lines(SOURCES + "|" + SCRIPTS + r"|.*meson\.build"):
        # Scripts have some tables and command lines that are better left whole.
        if len(line) > (100 if re.fullmatch(SOURCES, path) else 120) and (
                not path.startswith(("bootstrap", "tests/support/with-filesystems"))):
            yield f"{path}:{number}: {len(line)} columns"
        if "\t" in line or line != line.rstrip():
            yield f"{path}:{number}: tab or trailing space"


def size(project):
    for path, text in project.matching(r".*\.c").items():
        if len(text.encode()) > MOST_BYTES:
            yield f"{path}: {len(text.encode())} bytes for one subject"


def twins(project):
    for path in project.matching(r"(engine|vfs-shims)/dray-.*\.c"):
        if "tests/" + path not in project.files:
            yield f"{path}: no tests/{path}"


def words(project):
    for path, number, line in project.lines(r"(?!tests/lint/).*"):
        if re.search(r"\.\./" r"shared|\b(TODO|FIXME)\b:?(?! ?[\")])", line) and (
                "SKIP" not in line):
            yield f"{path}:{number}: {line.strip()}"


def translations(project):
    listed = project.files.get("po/POTFILES", "").split("\n")
    for path in project.matching(r"tools/.*\.c"):
        if re.search(r"\b(N?C?_|ngettext|g_dngettext) \(", project.files[path]) and (
                path not in listed):
            yield f"{path}: not in po/POTFILES"


# Each rule with a sample that breaks it.
RULES = (
    ("arrows-point-down", arrows, {"engine/a.c": "#include <gio/gio.h>\n"}),
    ("private-headers-stay-in-their-folder", doors,
     {"vfs-shims/a.c": '#include "engine/dray-fd-private.h"\n'}),
    ("libraries-stay-in-their-file", libraries, {"engine/dray-fd.c": "#include <liburing.h>\n"}),
    ("errors-and-interrupts-have-one-place", one_place,
     {"engine/dray-engine.c": "if (errno == EINTR)\n"}),
    ("the-module-is-silent-and-never-ends-a-process", silence,
     {"engine/a.c": 'printf ("hello");\n'}),
    ("functions-in-headers-are-documented", docs,
     {"engine/a.h": "/* Says nothing. */\nint dray_a_do (void);\n"}),
    ("licence-at-the-top", licence, {"engine/a.c": "int x;\n"}),
    ("lines-are-short-and-clean", layout, {"engine/a.c": "int x; \n"}),
    ("one-subject-a-file", size, {"engine/a.c": "x" * (MOST_BYTES + 1)}),
    ("every-source-has-its-test", twins, {"engine/dray-a.c": ""}),
    ("the-project-stands-alone", words, {"README.md": "see ../" "shared/x\n"}),
    ("texts-are-listed-for-translators", translations,
     {"tools/a.c": '_ ("text")\n', "po/POTFILES": "\n"}),
)


def main():
    project = Project.read(sys.argv[1])
    failed = False
    print(f"1..{len(RULES)}")
    for number, (name, rule, sample) in enumerate(RULES, 1):
        found = list(rule(project))
        if not list(rule(Project(sample))):
            found.append("the rule does not see the sample that breaks it")
        for line in found:
            print("# " + line)
        failed = failed or bool(found)
        print(f"{'not ok' if found else 'ok'} {number} /lint/{name}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
