#!/usr/bin/env python3
"""bench_advise.py: how long `tfprof RUN advise` takes from a cold process, and how much memory.

    bench_advise.py [--rows 1000000] [--repeat 10] [--build DIRECTORY] [RUN...]

Without a RUN it makes a dump with make_ops_dump.  Wall time and processor time (user and system) are the smallest of
`repeat` runs, in milliseconds; a run without ops says what remains when there is nothing to look at.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time

import figures


def measure(command, repeat):
    """(wall, processor) in milliseconds, the smallest of each."""
    walls, processors = [], []
    for _ in range(repeat):
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        walls.append(time.monotonic() - start)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        processors.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return 1e3 * min(walls), 1e3 * min(processors)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1000000)
    parser.add_argument("--repeat", type=int, default=10)
    parser.add_argument("--build", default=os.path.join(here, "..", "..", "build"))
    parser.add_argument("runs", nargs="*", metavar="RUN")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tfprof-bench-") as directory:
        runs = list(options.runs)
        for rows in (10, options.rows) if not runs else ():
            runs.append(os.path.join(directory, "ops-%d.tfprof" % rows))
            maker = os.path.join(options.build, "tests", "make_ops_dump")
            subprocess.run([maker, runs[-1], str(rows)], check=True, stdout=subprocess.DEVNULL)
        made = {} if options.runs else dict(zip(runs, ("no ops", "%s ops" % figures.count(options.rows))))
        for run in runs:
            wall, processor = measure([os.path.join(options.build, "tfprof"), run, "advise"], options.repeat)
            most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024  # of all so far
            print("%-32s %7.0f ms  %7.0f ms of processors  %4.0f MiB" % (os.path.basename(run), wall, processor, most))
            of = made.get(run, "`%s`" % os.path.basename(run))
            for unit, value in (("CPU ms", processor), ("ms", wall)):
                figures.tell("queries", "`tfprof RUN advise` of %s, from a cold process%s"
                             % (of, ": time that passes" if unit == "ms" else ""), value, unit, "bench_advise.py",
                             trials=options.repeat)
            figures.tell("queries", "`tfprof RUN advise` of %s: memory" % of, most * 1.048576, "MB", "bench_advise.py")


if __name__ == "__main__":
    sys.exit(main())
