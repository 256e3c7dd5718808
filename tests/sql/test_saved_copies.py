#!/usr/bin/env python3
"""A saved copy of whatever was open says the same as what was open: every table, every view.

    test_saved_copies.py [--seed N] [--count N] [FILE...]

Of real files of each kind, of changed copies of dumps and traces with right checksums (tests/mutations), and of files
that once gained or lost rows by being saved.  The same seed and number make the same copy.
"""

import argparse
import collections
import glob
import os
import random
import re
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..")]
from engines import CommandLine, Newest, engines, in_every_python, make_dump
import mutations

ROOT = os.path.join(HERE, "..", "..")
SHARED = os.environ.get("TFPROF_SHARED") or ""
# What is of the file itself, and not of what is in it.
OF_FILES = {
    "runs": ["path", "format"],
    "profiles": ["path", "format", "file_bytes", "complete", "attributes", "clock_error_ns", "diagnostic_count"],
    "profile_summary": ["format", "file_bytes", "complete", "diagnostic_count"],
    "coverage": ["complete"],
}
NAME = "the_file_that_is_asked"
MOST_ROWS = 20000  # of a changed copy that is asked: others take longer than they tell


def texts_without(path, rows):
    """Rows, in which the path is no difference."""
    name = os.path.basename(path)
    return collections.Counter(row.replace(path, NAME).replace(name, NAME) for row in rows)


def everything(connection, path):
    """{table or view: rows or the error}."""
    said = {}
    names = [name for name, in connection.values("SELECT name FROM tfprof_tables WHERE name <> 'node_type_patterns'")]
    names += [name for name, in connection.values("SELECT name FROM tfprof_views WHERE parameters IS NULL")]
    for name in names:
        columns = [column for column, in connection.values(f"SELECT name FROM pragma_table_info('{name}')")]
        shown = ", ".join(f'"{column}"' for column in columns if column not in OF_FILES.get(name, ()))
        if name == "diagnostics":  # a copy has them all as rows of its own
            shown = "severity, reason, message, count, table_name"
        rows, error = connection.query(f"SELECT {shown} FROM temp.{name}")
        said[name] = error and re.sub(r"near line \d+", "", error) or texts_without(path, rows)
    return said


def opened(engine, path):
    connection = engine()
    error = connection.query(f"SELECT tfprof_open('{path}')")[1]
    if not error:
        return connection
    connection.close()
    return None


def differences(engine, path, folder, is_limited=False):
    """What a saved copy says otherwise; None: the file cannot be opened, or is too large."""
    copy = os.path.join(folder, NAME + "_saved.tfprof")
    asked = os.path.join(folder, NAME + os.path.splitext(path)[1])
    shutil.copyfile(path, asked)
    path = asked
    connection = opened(engine, path)
    if not connection:
        return None
    if is_limited and connection.values("SELECT max(rows) > %d FROM tfprof_tables" % MOST_ROWS) != [(0,)]:
        connection.close()
        return None
    # Before it is saved, which reads and derives everything.
    before = everything(connection, path)
    error = connection.query(f"SELECT tfprof_save('{copy}')")[1]
    connection.close()
    if error:
        return [f"cannot be saved: {error}"]
    saved = opened(engine, copy)
    after = everything(saved, copy)
    saved.close()
    os.unlink(copy)
    different = []
    for name in before:
        if before[name] != after[name]:
            old, new = before[name], after[name]
            if isinstance(old, str) or isinstance(new, str):
                different.append(f"{name}: {str(old)[:200]} became {str(new)[:200]}")
            else:
                lost, gained = list((old - new).elements()), list((new - old).elements())
                different.append(f"{name}: lost {len(lost)}: {lost[:2]}, gained {len(gained)}: {gained[:2]}")
    return different


def real_files(folder):
    files = [make_dump(os.path.join(folder, "random.tfprof"), 90, 6),
             make_dump(os.path.join(folder, "ops.tfprof"), 3000, 6, "make_ops_dump")]
    files += sorted(glob.glob(os.path.join(ROOT, "tests", "fixtures", "kineto", "*")))
    files += [os.path.join(ROOT, "tests", "fuzz", "corpus", *name) for name in (
        ("tensorflow", "profile"), ("memory_snapshot", "protocol-4"), ("memory_timeline", "events.json"))]
    hostile = os.path.join(SHARED, "traces", "hostile")
    files += [os.path.join(hostile, name) for name in ("2_140_run_meta_8.tfprof", "1_96_amd_mi250.json")]
    return [file for file in files if os.path.isfile(file)]


def seeds(folder):
    """Files to change: dumps as they are written, as they are saved, and traces."""
    files = [make_dump(os.path.join(folder, "seed.tfprof"), 40, 2),
             make_dump(os.path.join(folder, "seed_ops.tfprof"), 300, 2, "make_ops_dump")]
    for trace in ("links", "waits", "memory", "python", "distributed"):
        path = os.path.join(ROOT, "tests", "fixtures", "kineto", f"{trace}.json")
        files += [path, os.path.join(folder, f"{trace}.tfprof")]
        connection = opened(CommandLine, path)
        connection.values(f"SELECT tfprof_save('{files[-1]}')")
        connection.close()
    return files


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the number of the first changed copy")
    parser.add_argument("--count", type=int, default=40, help="how many changed copies")
    parser.add_argument("files", nargs="*", metavar="FILE", help="these alone")
    arguments = parser.parse_args()
    in_every_python()
    engine = Newest if len(engines()) > 1 else CommandLine
    failures = asked = 0
    with tempfile.TemporaryDirectory(prefix="tfprof-saved-") as folder:
        for path in arguments.files or real_files(folder):
            different = differences(engine, path, folder)
            asked += different is not None
            failures += bool(different)
            for what in different or ():
                print(f"{path}: {what}")
        files = [] if arguments.files else seeds(folder)
        for number in range(arguments.first, arguments.first + arguments.count if files else 0):
            choice = random.Random(f"{arguments.seed} {number}")
            source = files[choice.randrange(len(files))]
            with open(source, "rb") as file:
                data = file.read()
            path = os.path.join(folder, "changed" + os.path.splitext(source)[1])
            with open(path, "wb") as file:
                file.write(mutations.mutate(data, choice))
            different = differences(engine, path, folder, is_limited=True)
            asked += different is not None
            failures += bool(different)
            for what in different or ():
                print(f"changed copy {number} of seed {arguments.seed}, of {os.path.basename(source)}: {what}")
    print(f"{asked} files were saved, {failures} say something else then")
    sys.exit(1 if failures or not asked else 0)


if __name__ == "__main__":
    main()
