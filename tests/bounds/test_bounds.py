#!/usr/bin/env python3
"""test_bounds.py: memory and time are bounded by a file's size, whatever is in it.

    test_bounds.py [--seed N] [--count N | --seconds N] [--keep FOLDER] [FILE...]

Changed copies of real files of every format (tests/mutations), and the files of bombs.py, each made to be as large as
it can be for its size.  Of each everything is asked that can be asked (ask_sql_everything.c, which also looks for
numbers that cannot be true, but in rows drawn by chance: durations below 0, shares above 1), in a process that may use
512 MB of memory and 40 times the file's size beyond what the extension itself takes, and 15 s of processor time and 1 s
for each MB.  What takes more is kept in FOLDER and told, with what was asked then.  With FILEs these are asked alone.

Without --count copies are made for --seconds, 5 unless told.  The same seed and number make the same copy.
"""

import argparse
import concurrent.futures
import glob
import gzip
import itertools
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import scratch  # noqa: E402,F401  (temporary files go where they are removed)
import mutations  # noqa: E402
from bounds import bombs  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ.get("TFPROF_BUILD") or os.path.join(ROOT, "build")
SHARED = os.environ.get("TFPROF_SHARED") or ""
MEGABYTE = 1 << 20
UNTRUE = 4  # the exit status where nothing but numbers is wrong
DRAWN = "-drawn"  # of rows drawn by chance


def memory_allowed(size):
    return 512 * MEGABYTE + 40 * size


def seconds_allowed(size):
    return 15 + size // MEGABYTE


def files_of(folder, ending="*"):
    return sorted(path for path in glob.glob(os.path.join(ROOT, "tests", folder, ending)) if os.path.isfile(path))


def saved(path, folder):
    """The dump that tfprof_save makes of a file: it has derived rows of many tables."""
    out = os.path.join(folder, os.path.basename(path))
    command = [os.path.join(BUILD, "tfprof"), path, "SELECT tfprof_save('%s')" % out]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return sorted(glob.glob(out + "/*.tfprof"))


def seeds(folder):
    """What is changed: [(ending, bytes)]; last a dump of rows drawn by chance, whose numbers cannot be true."""
    paths = files_of("golden/dump-1", "*.tfprof") + files_of("fuzz/corpus/memory_snapshot")
    paths += files_of("fuzz/corpus/memory_timeline") + files_of("fuzz/corpus/tensorflow")
    paths += files_of("fuzz/corpus/xplane") + files_of("fuzz/corpus/pprof") + files_of("fuzz/corpus/hlo")
    paths += files_of("fuzz/corpus/flight_recorder")
    paths += [path for path in files_of("golden/tensorflow") if os.path.isfile(path)]
    paths += files_of("golden/checkpoints", "*.index") + files_of("golden/checkpoints", "v1*")
    traces = files_of("fixtures/kineto", "*.json")
    paths += traces
    for path in traces:
        paths += saved(path, folder)
    dump = os.path.join(folder, "random.tfprof")
    subprocess.run([os.path.join(BUILD, "tests", "make_random_dump"), dump, "300", "1"], check=True,
                   stdout=subprocess.DEVNULL)
    found = []
    for path in paths:
        with open(path, "rb") as file:
            data = file.read()
        if data:
            found.append((os.path.splitext(path)[1] if "checkpoint" in path or path.endswith(".pbtxt") else "", data))
    found.append((".json.gz", gzip.compress(next(data for _, data in found if data[:1] == b"{"), mtime=0)))
    with open(dump, "rb") as file:
        found.append(("", file.read()))
    return found


class Server:
    """ask_sql_everything --serve, which has prepared all questions and opens each file in a fork."""

    own = threading.local()  # one for each thread that asks
    servers = []

    def __init__(self):
        self.process = subprocess.Popen([os.path.join(BUILD, "tests", "ask_sql_everything"), "--serve"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.servers.append(self)

    def ask(self, path, size, folder):
        """(exit status, what it said, bytes used, seconds used)"""
        # Far above what the processor may be used for: only for what waits.
        timer = threading.Timer(900, self.process.kill)
        timer.start()
        line = "%d\t%d\t%s\t%s\n" % (memory_allowed(size), seconds_allowed(size), folder, path)
        self.process.stdin.write(line.encode())
        self.process.stdin.flush()
        said, end = [], None
        while not end:
            line = self.process.stdout.readline()
            assert line, "%s: the server has ended: %s" % (path, b"".join(said))
            end = re.fullmatch(rb"ended (-?\d+)\n", line)
            said.append(line)
        timer.cancel()
        text = b"".join(said[:-1]).decode(errors="replace").strip()
        used = re.search(r"used (-?\d+) bytes and ([0-9.]+) s", text)
        return int(end.group(1)), text, *(map(float, used.groups()) if used else (0, 0))


def ask(path, size, folder):
    if not hasattr(Server.own, "server"):
        Server.own.server = Server()
    return Server.own.server.ask(path, size, folder)


def try_file(bomb, keep):
    folder = tempfile.mkdtemp()
    path = bomb.write(folder)
    answers = os.path.join(folder, "answers")
    os.mkdir(answers)
    status, said, memory, seconds = ask(path, bomb.size(), answers)
    if status and keep:
        bomb.write(keep)
    shutil.rmtree(folder)
    return bomb, status, said, memory, seconds


def changed_copies(arguments, folder):
    files = seeds(folder)
    for number in itertools.count() if arguments.count is None else range(arguments.count):
        source = random.Random("%d %d" % (arguments.seed, number))
        ending, data = source.choice(files)
        drawn = DRAWN if data is files[-1][1] else ""
        yield bombs.Bomb("seed%d-%d" % (arguments.seed, number) + drawn, ending, mutations.mutate(data, source))


def all_files(arguments, folder):
    if arguments.files:
        for path in arguments.files:
            with open(path, "rb") as file:
                yield bombs.Bomb(os.path.basename(path), os.path.splitext(path)[1], file.read())
        return
    yield from bombs.everything()
    yield from changed_copies(arguments, folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--keep", help="a folder for the files that take too much")
    parser.add_argument("files", nargs="*")
    arguments = parser.parse_args()
    jobs, end = len(os.sched_getaffinity(0)), None
    worst, count, failed = {"memory": (0, ""), "seconds": (0, "")}, 0, 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        waiting, source = set(), all_files(arguments, tempfile.mkdtemp())
        is_more = True
        while waiting or is_more:
            while is_more and len(waiting) < 2 * jobs:
                trial = next(source, None)
                is_copy = trial is not None and trial.name.startswith("seed")
                if is_copy and end is None:
                    end = time.monotonic() + arguments.seconds
                if trial is None or (is_copy and arguments.count is None and time.monotonic() > end):
                    is_more = False
                    break
                waiting.add(pool.submit(try_file, trial, arguments.keep))
            done, waiting = concurrent.futures.wait(waiting, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in done:
                trial, status, said, memory, seconds = future.result()
                if status == UNTRUE and trial.name.endswith(DRAWN):
                    status = 0
                count += 1
                worst["memory"] = max(worst["memory"], (memory, trial.name))
                worst["seconds"] = max(worst["seconds"], (seconds, trial.name))
                if status or arguments.files:
                    failed += status != 0
                    print("%s, %d bytes, exit status %d: %s" % (trial.name, trial.size(), status, said), flush=True)
    for server in Server.servers:
        server.process.communicate()
    print("%d files, %d took too much; at most %.0f MB (%s) and %.1f s (%s)" % (
        count, failed, worst["memory"][0] / MEGABYTE, worst["memory"][1], *worst["seconds"]))
    sys.exit(1 if failed or count == 0 else 0)


if __name__ == "__main__":
    main()
