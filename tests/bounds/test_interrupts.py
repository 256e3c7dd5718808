#!/usr/bin/env python3
"""test_interrupts.py: sqlite3_interrupt() ends whatever is asked soon, the opening of each kind of file too.

Every question of ask_sql_everything is interrupted after some processor time; how much more of it is used until the
question has ended is what is bounded: a loop that does not ask whether to go on shows by that, whatever else runs on
the machine.
"""

import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import scratch  # noqa: E402,F401  (temporary files go where they are removed)
from bounds import bombs  # noqa: E402

BUILD = os.environ.get("TFPROF_BUILD") or os.path.join(HERE, "..", "..", "build")
ALLOWED = 0.6  # seconds of processor time, of all threads: a question as a whole takes up to several


def files():
    yield bombs.Bomb("trace", ".json", bombs.trace(60000, lambda i: bombs.span(i, dur=60000 - i)))
    yield bombs.Bomb("graph", "", bombs.REAL + b"".join(bombs.node(b"a/n%d" % i, inputs=[b"a/n%d" % (i - 1)])
                                                         for i in range(200000)))
    long = [b"%05d" % i + 500 * b"n" for i in range(6000)]
    yield bombs.Bomb("names", "", bombs.REAL + b"".join(bombs.node(name, op=name) for name in long))
    yield bombs.Bomb("snapshot", ".pickle", bombs.snapshot(b"](" + b"".join(map(bombs.event, range(300000))) + b"e"))
    lane = b"/job:w/replica:0/task:0/device:CPU:0"
    yield bombs.Bomb("steps", "", bombs.run_metadata({lane: [bombs.stats(b"n%d" % i, i + 1) for i in range(60000)]}))
    names = [(b"n%07d" % i, bombs.entry()) for i in range(50000)]
    yield bombs.Bomb("checkpoint", ".index", bombs.checkpoints.write([[bombs.HEAD] + names]))


def interrupt(path, milliseconds):
    with tempfile.TemporaryDirectory() as answers:
        command = [os.path.join(BUILD, "tests", "ask_sql_everything"), "--interrupt", str(milliseconds), answers, path]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)
    found = re.search(r"interrupted: at most ([0-9.]+) s more, in: (.*)", done.stdout)
    assert done.returncode == 0 and found, done.stdout + done.stderr
    return float(found.group(1)), found.group(2)


def main():
    folder = tempfile.mkdtemp()
    dump = os.path.join(folder, "ops.tfprof")
    subprocess.run([os.path.join(BUILD, "tests", "make_ops_dump"), dump, "300000"], check=True,
                   stdout=subprocess.DEVNULL)
    failed = 0
    for path in [dump, *(bomb.write(folder) for bomb in files())]:
        for milliseconds in (5, 40):
            seconds, question = interrupt(path, milliseconds)
            name = os.path.relpath(path, folder)
            print("%s after %d ms: at most %.3f s more, in %s" % (name, milliseconds, seconds, question[:100]))
            failed += seconds > ALLOWED
    print("%d failed" % failed)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
