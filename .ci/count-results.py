#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Counts the subtests in Meson's test logs; the last line is "N passed, N failed, N skipped".

count-results.py [--strict] [--failed WHAT]... TESTLOG.JSON=EXIT-STATUS...

Reads the TAP that Meson keeps beside each test's verdict. A test without TAP counts as one. A
program that ends badly counts as a failure even if all that it got to say was "ok". With --strict a
program of which everything was skipped is a failure: an area that nobody looks at is not tested.
"""
import argparse
import json
import os
import re
import sys

LINE = re.compile(r"^(not ok|ok)\b\s*\d*\s*-?\s*(.*?)(?:\s*#\s*(SKIP|TODO)\S*\s*(.*))?$", re.I)
PLAN_SKIP = re.compile(r"^1\.\.0\s*#\s*skip\S*\s*(.*)$", re.I)


def read_tap(text):
    """Yields (verdict, name, reason)."""
    for line in text.splitlines():
        plan = PLAN_SKIP.match(line)
        if plan:
            yield "skipped", "everything", plan.group(1)
            continue
        match = LINE.match(line)
        if not match:
            continue
        ok = match.group(1).lower() == "ok"
        directive = (match.group(3) or "").upper()
        reason = match.group(4) or ""
        if directive == "SKIP":
            yield "skipped", match.group(2), reason
        elif ok or directive == "TODO":
            yield "passed", match.group(2), reason
        else:
            yield "failed", match.group(2), reason


def judge(test, strict):
    """The results of one program, as a list of (verdict, name, reason)."""
    verdict = test["result"]
    results = [r for r in read_tap(test.get("stdout") or "")]
    if not results:
        whole = {"OK": "passed", "EXPECTEDFAIL": "passed", "SKIP": "skipped"}.get(verdict, "failed")
        reason = "" if whole == "passed" else verdict.lower()
        results = [(whole, "", reason)]
    bad = verdict not in ("OK", "EXPECTEDFAIL", "SKIP")
    if bad and all(r[0] != "failed" for r in results):
        results.append(("failed", "", f"the program ended with {verdict.lower()}"))
    if strict and all(r[0] == "skipped" for r in results):
        results.append(("failed", "", "everything in it was skipped"))
    return results


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--failed", action="append", default=[])
    parser.add_argument("logs", nargs="*")
    options = parser.parse_args()
    lists = {"passed": [], "failed": [(what, "") for what in options.failed], "skipped": []}

    for argument in options.logs:
        path, _, status = argument.rpartition("=")
        build = os.path.basename(os.path.dirname(os.path.dirname(path)))
        n_before = len(lists["failed"])
        tests = []
        if os.path.exists(path):
            with open(path, encoding="utf-8", errors="replace") as log:
                tests = [json.loads(line) for line in log if line.strip()]
        for test in tests:
            # "gio-dray:engine / dray-plan": the project's name says nothing here.
            program = test["name"].split(":", 1)[-1]
            for verdict, name, reason in judge(test, options.strict):
                where = f"{build}: {program}" + (f": {name}" if name else "")
                lists[verdict].append((where, reason))
        if not tests:
            lists["failed"].append((build, "no tests were run"))
        elif status != "0" and len(lists["failed"]) == n_before:
            lists["failed"].append((build, f"meson test ended with status {status}"))

    for verdict in ("skipped", "failed"):
        if lists[verdict]:
            print(f"\n{verdict}:")
        for where, reason in lists[verdict]:
            print(f"  {where}" + (f"  ({reason})" if reason else ""))
    print()
    print(", ".join(f"{len(lists[v])} {v}" for v in ("passed", "failed", "skipped")))
    return 1 if lists["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
