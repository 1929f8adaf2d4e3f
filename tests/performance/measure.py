#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Measures stock g_file_copy(), ours and cp side by side, in one run, on fresh file systems.

measure.py CASE... [--rounds N] [--files N] [--size MIB] [--build FOLDER] [--output FILE]

Cases: small big sizes cross reflink declined startup batch. Root is needed for all but startup: each
case makes its own loop-mounted file system, in a mount namespace of its own, and removes it again.
Every round runs each variant once, in turn; the first round is thrown away. What is printed is the
median of each, its range, and the ratio of the medians. See README.md for the traps.
"""
import argparse
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MIB = 1 << 20


class Table:
    """Times of the variants of one case, and how they are shown."""

    def __init__(self, title, unit, ours="dray"):
        self.title = title
        self.ours = ours
        self.unit = unit
        self.times = {}

    def add(self, variant, value):
        self.times.setdefault(variant, []).append(value)

    def median(self, variant):
        return statistics.median(self.times[variant])

    def lines(self):
        ours = self.median(self.ours)
        yield f"{self.title}, {self.unit}:"
        for variant in ("stock", "one", "dray", "batch", "cp"):
            values = self.times.get(variant)
            if values is None:
                continue
            ratio = ("" if variant == self.ours else
                     f"   {self.ours}/{variant} {ours / self.median(variant):.2f}")
            yield (f"  {variant:<6} {self.median(variant):>10.2f}"
                   f"  ({min(values):.2f}-{max(values):.2f}){ratio}")


class Bench:
    def __init__(self, options):
        self.options = options
        self.module = os.path.join(options.build, "gio-module")
        self.loop = os.path.join(options.build, "tests", "performance", "copy-loop")
        self.batch_copy = os.path.join(options.build, "tests", "performance", "batch-copy")
        self.start = os.path.join(options.build, "tests", "performance", "start-only")
        self.work = tempfile.mkdtemp(prefix="gio-dray-measure.", dir=options.folder)
        self.mounts = []
        self.tables = []

    # --- surroundings -------------------------------------------------------------------------

    def mount(self, kind, name, *mkfs_options, size="24G"):
        point = os.path.join(self.work, name)
        os.mkdir(point)
        if kind in ("tmpfs", "ramfs"):
            options = ["-o", "size=8G"] if kind == "tmpfs" else []
            command = ["mount", "-t", kind, *options, kind, point]
        else:
            image = point + ".img"
            with open(image, "wb") as file:
                file.truncate(int(size[:-1]) << 30)
            quiet = {"ext4": ["-q", "-F"], "xfs": ["-q"], "btrfs": ["-q"]}.get(kind, [])
            subprocess.run([f"mkfs.{kind}", *quiet, *mkfs_options, image], check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            mount = ["mount", "-o", "loop"] if kind != "ntfs" else ["ntfs-3g"]
            command = [*mount, image, point]
        subprocess.run(command, check=True)
        self.mounts.append(point)
        return point

    def clean_up(self):
        for point in reversed(self.mounts):
            subprocess.run(["umount", point], check=False)
        shutil.rmtree(self.work, ignore_errors=True)

    def touch_memory(self, size):
        """Lets the host back the guest's memory, else the first variant pays for it."""
        with tempfile.TemporaryFile(dir="/dev/shm") as file:
            block = bytes(4 * MIB)
            for _ in range(0, size, 4 * MIB):
                file.write(block)

    @staticmethod
    def make_folder(folder):
        os.mkdir(folder)
        return folder

    def make_files(self, folder, count, size):
        os.mkdir(folder)
        for i in range(count):
            with open(os.path.join(folder, f"file-{i:05d}.dat"), "wb") as file:
                left = size
                while left > 0:
                    left -= file.write(os.urandom(min(left, 8 * MIB)))
        os.sync()

    # --- one pass -----------------------------------------------------------------------------

    def environment(self, variant):
        environment = dict(os.environ, GIO_USE_VFS="local", LC_ALL="C")
        environment.pop("GIO_EXTRA_MODULES", None)
        environment.pop("GIO_DRAY", None)
        if variant == "dray":
            environment["GIO_EXTRA_MODULES"] = self.module
        return environment

    def copy(self, variant, source, dest):
        """Copies a folder's files; microseconds."""
        os.mkdir(dest)
        if variant == "cp":
            started = time.monotonic_ns()
            subprocess.run(["cp", "-r", "--preserve=mode,timestamps", source + "/.", dest],
                           check=True)
            return (time.monotonic_ns() - started) / 1000
        program = [self.loop] if variant in ("stock", "dray") else [self.batch_copy, variant]
        output = subprocess.run([*program, source, dest], check=True, stdout=subprocess.PIPE,
                                env=self.environment(variant)).stdout
        return float(output.split()[0])

    def rounds(self, table, source, dest_root, variants, divisor, memory, delete=False):
        for i in range(self.options.rounds + 1):
            self.touch_memory(memory)
            # Whoever goes first in a round finds other memory than whoever goes last.
            for variant in variants[i % len(variants):] + variants[:i % len(variants)]:
                dest = os.path.join(dest_root, f"{variant}-{i}")
                value = self.copy(variant, source, dest) / divisor
                if i > 0:
                    table.add(variant, value)
                if delete:
                    shutil.rmtree(dest)
            os.sync()
        self.tables.append(table)
        for line in table.lines():
            print(line, flush=True)

    # --- cases --------------------------------------------------------------------------------

    def small(self):
        count = self.options.files
        for kind in ("ext4", "xfs", "btrfs", "tmpfs"):
            options = ("-m", "reflink=0") if kind == "xfs" else ()
            point = self.mount(kind, f"small-{kind}", *options)
            self.make_files(point + "/source", count, 4096)
            self.rounds(Table(f"warm, {count} x 4 KiB, {kind}", "µs a file"), point + "/source",
                        point, ("stock", "dray", "cp"), count, 64 * MIB + count * 40000)

    def big(self):
        size = self.options.size * MIB
        for kind in ("ext4", "xfs", "tmpfs"):
            options = ("-m", "reflink=0") if kind == "xfs" else ()
            point = self.mount(kind, f"big-{kind}", *options)
            self.make_files(point + "/source", 1, size)
            self.rounds(Table(f"warm, one file of {self.options.size} MiB, {kind}", "ms"),
                        point + "/source", point, ("stock", "dray", "cp"), 1000, 3 * size,
                        delete=True)

    def sizes(self):
        point = self.mount("ext4", "sizes-ext4")
        for size in (64 << 10, 256 << 10, MIB, 4 * MIB, 16 * MIB, 64 * MIB):
            count = max(1, min(500, self.options.size * MIB // 4 // size))
            source = f"{point}/source-{size}"
            self.make_files(source, count, size)
            self.rounds(Table(f"warm, {count} x {size >> 10} KiB, ext4", "µs a file"), source,
                        self.make_folder(f"{point}/to-{size}"), ("stock", "dray", "cp"), count, 3 * count * size,
                        delete=size >= 4 * MIB)

    def cross(self):
        for from_kind, to_kind in (("ext4", "xfs"), ("tmpfs", "ext4"), ("btrfs", "ext4")):
            source = self.mount(from_kind, f"cross-from-{from_kind}-{to_kind}") + "/source"
            dest = self.mount(to_kind, f"cross-to-{from_kind}-{to_kind}")
            for size in (4096, 256 << 10, 4 * MIB, 128 * MIB):
                count = max(1, min(500, self.options.size * MIB // 4 // size))
                self.make_files(f"{source}-{size}", count, size)
                self.rounds(Table(f"warm, {count} x {size >> 10} KiB, {from_kind} to {to_kind}",
                                  "µs a file"), f"{source}-{size}",
                            self.make_folder(f"{dest}/{size}"),
                            ("stock", "dray", "cp"), count, 3 * count * size,
                            delete=size >= 4 * MIB)

    def reflink(self):
        for kind in ("xfs", "btrfs"):
            point = self.mount(kind, f"reflink-{kind}")
            for count, size in ((500, 64 << 10), (8, self.options.size * MIB // 8)):
                source = f"{point}/source-{size}"
                self.make_files(source, count, size)
                self.rounds(Table(f"reflink, {count} x {size >> 10} KiB, {kind}", "µs a file"),
                            source, self.make_folder(f"{point}/to-{size}"),
                            ("stock", "dray", "cp"), count, 256 * MIB)

    def declined(self):
        count = min(self.options.files, 2000)
        ext4 = self.mount("ext4", "declined-ext4")
        self.make_files(ext4 + "/source", count, 4096)
        for kind in ("ntfs", "ramfs"):
            options = ("-F", "-Q", "-q") if kind == "ntfs" else ()
            point = self.mount(kind, f"declined-{kind}", *options, size="4G")
            self.rounds(Table(f"declined, {count} x 4 KiB, ext4 to {kind}", "µs a file"),
                        ext4 + "/source", point, ("stock", "dray"), count, 256 * MIB)

    def batch(self):
        """The engine's door without GIO: each file for itself, and all in one batch."""
        count = self.options.files
        for kind in ("ext4", "xfs"):
            options = ("-m", "reflink=0") if kind == "xfs" else ()
            point = self.mount(kind, f"batch-{kind}", *options)
            self.make_files(point + "/source", count, 4096)
            self.rounds(Table(f"warm, {count} x 4 KiB, {kind}, engine alone", "µs a file", "batch"),
                        point + "/source", point, ("one", "batch", "cp"), count,
                        64 * MIB + count * 40000)

    def startup(self):
        """A process that names a file and ends; with our module among GIO's and without."""
        folders = {}
        for variant in ("stock", "dray"):
            folders[variant] = os.path.join(self.work, "modules-" + variant)
            os.mkdir(folders[variant])
        shutil.copy(os.path.join(self.module, "libgiodray.so"), folders["dray"])
        query = subprocess.run(["pkg-config", "--variable=gio_querymodules", "gio-2.0"],
                               stdout=subprocess.PIPE, check=True).stdout.decode().strip()
        for folder in folders.values():
            subprocess.run([query, folder], check=True)
        table = Table("start and end of a process that never copies", "ms")
        for i in range(self.options.rounds + 1):
            output = subprocess.run([self.start, "400", folders["stock"], folders["dray"]],
                                    check=True, stdout=subprocess.PIPE,
                                    env=self.environment(None)).stdout.split()
            if i > 0:
                table.add("stock", int(output[0]) / 1000)
                table.add("dray", int(output[1]) / 1000)
        self.tables.append(table)
        for line in table.lines():
            print(line, flush=True)
        print(f"  later by {table.median('dray') - table.median('stock'):.3f} ms", flush=True)


def describe_machine():
    glib = subprocess.run(["pkg-config", "--modversion", "glib-2.0"], stdout=subprocess.PIPE,
                          check=True).stdout.decode().strip()
    cp = subprocess.run(["cp", "--version"], stdout=subprocess.PIPE,
                        check=True).stdout.decode().split("\n")[0]
    return (f"{time.strftime('%Y-%m-%d')}, Linux {platform.release()}, GLib {glib}, {cp}, "
            f"{os.cpu_count()} cores")


def main():
    cases = ("small", "batch", "big", "sizes", "cross", "reflink", "declined", "startup")
    parser = argparse.ArgumentParser(description="Measures stock, gio-dray and cp side by side.")
    parser.add_argument("cases", nargs="+", choices=cases, metavar="CASE", help=" ".join(cases))
    parser.add_argument("--rounds", type=int, default=7, help="beside the first, thrown away")
    parser.add_argument("--files", type=int, default=5000)
    parser.add_argument("--size", type=int, default=1024, help="MiB of a big file")
    parser.add_argument("--build", default=os.path.join(HERE, "..", "..", "_build"))
    parser.add_argument("--folder", default="/var/tmp", help="where images are made")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)

    if options.cases != ["startup"]:
        if os.geteuid() != 0:
            sys.exit("measure.py: only root can mount the file systems to measure on")
        if "DRAY_MEASURE_NAMESPACE" not in os.environ:
            os.environ["DRAY_MEASURE_NAMESPACE"] = "1"
            os.execvp("unshare", ["unshare", "-m", "--propagation", "private", sys.executable,
                                  *sys.argv])

    print(describe_machine(), flush=True)
    bench = Bench(options)
    try:
        for case in options.cases:
            getattr(bench, case)()
    finally:
        bench.clean_up()


if __name__ == "__main__":
    main()
