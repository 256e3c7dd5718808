#!/usr/bin/env python3
"""test_diagnostics.py: the table diagnostics says the same whatever was read before.

Of each file a connection reads diagnostics first, another one all tables before: attributes of traces with bytes that
are not UTF-8, values of checkpoints that are damaged, missing or too large, columns of dumps whose bytes have changed,
and the files that the fuzz targets begin with.
"""

import glob
import os
import subprocess
import tempfile

from stored import BUILD, ROOT, check, finish
from bounds import bombs
from mutations import dumps

TFPROF = os.path.join(BUILD, "tfprof")
DIAGNOSTICS = ("SELECT severity, reason, message, count, file, offset, table_name FROM diagnostics "
               "ORDER BY severity, reason, message, file, offset;\n")


def ask(path, text):
    done = subprocess.run([TFPROF, "--format", "json", path], input=text, capture_output=True, text=True,
                          errors="replace", timeout=300)
    return done.stdout if done.returncode == 0 else None


def odd_traces(folder):
    """Bytes that are not UTF-8 in members that no column takes, of an event and of a range of two events."""
    event = b'{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":%d,"dur":1,"args":{"odd":"x%sy"}},'
    begin = b'{"schemaVersion":1,"traceEvents":['
    pair = (b'{"ph":"B","cat":"x","name":"r","pid":1,"tid":1,"ts":1,"args":{"odd":"%s"}},'
            b'{"ph":"E","pid":1,"tid":1,"ts":5}]}')
    many = b"".join(event % (i, b"\xff" if i == 9000 else b"") for i in range(20000))
    for name, data in (("bad", begin + event % (1, b"\xff\xfe") + pair % b"\xff"), ("many", begin + many + pair % b""),
                       ("good", begin + event % (1, b"\xc3\xa4") + pair % b"\xe2\x82\xac")):
        path = os.path.join(folder, name + ".json")
        with open(path, "wb") as file:
            file.write(data)
        yield path, name != "good"


def damaged_dump(folder):
    path = os.path.join(folder, "ops.tfprof")
    subprocess.run([os.path.join(BUILD, "tests", "make_ops_dump"), path, "5000"], check=True, stdout=subprocess.DEVNULL)
    with open(path, "r+b") as file:
        at, length = max(dumps.frames_of(file.read()), key=lambda frame: frame[1])
        file.seek(at + length - 1)
        last = file.read(1)
        file.seek(at + length - 1)
        file.write(bytes([last[0] ^ 1]))
    return path


def files(folder):
    """(path, whether something is known to be told of it)"""
    yield from odd_traces(folder)
    yield damaged_dump(folder), True
    for bomb in bombs.from_checkpoints(names=150):
        yield bomb.write(folder), bomb.name == "checkpoint-same-bytes"
    for pattern in ("golden/checkpoints/*.index", "golden/checkpoints/v1*", "fixtures/kineto/*", "fuzz/corpus/*/*"):
        for path in sorted(glob.glob(os.path.join(ROOT, "tests", pattern))):
            yield path, False


def main():
    folder, count = tempfile.mkdtemp(), 0
    tables = subprocess.run([TFPROF, "--format", "csv", os.path.join(ROOT, "tests/golden/dump-1/ops.tfprof"),
                             "SELECT name FROM tfprof_tables"], check=True, capture_output=True, text=True)
    reading = "".join("SELECT * FROM %s;\n" % name for name in tables.stdout.split()[1:])
    for path, is_told in files(folder):
        cold = ask(path, DIAGNOSTICS)
        if cold is None:
            continue  # it cannot be opened
        warm = ask(path, ".output /dev/null\n" + reading + ".output\n" + DIAGNOSTICS)
        check(cold == warm, "%s:\n%s\nafter all tables were read:\n%s" % (path, cold, warm))
        check(not is_told or "message" in cold, path + " has no diagnostic")
        count += 1
    print("%d files" % count)
    check(count > 50, "files are missing")
    finish()


if __name__ == "__main__":
    main()
