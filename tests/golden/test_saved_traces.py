#!/usr/bin/env python3
"""test_saved_traces.py: a trace and the dump saved from it with tfprof_save give the same answers.

Every row of every table and every row of every view, value for value and in order, of each trace of tests/fixtures and,
with TFPROF_SHARED, of each real one; several ranks together too.  What must differ is named in EXPECTED.
"""
import functools
import gc
import glob
import itertools
import json
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "sql"))
from engines import Newest, asked_before, in_child, in_every_python, plans_do
import test_alignment

in_every_python()
HERE = os.path.dirname(os.path.abspath(__file__))
SHARED = os.environ.get("TFPROF_SHARED") or ""
# What says where the rows were read from; and times are saved as they are shown, with the clock's offset in them.
EXPECTED = {
    "profiles": {"path", "format", "file_bytes"},
    "runs": {"path", "format"},
    "profile_summary": {"format", "path", "file_bytes"},
    "diagnostics": {"id", "file", "offset"},
}
RECORDER = re.compile(r'\{"recorder":"tfprof_save [0-9.]+","created_ns":[0-9]+\}$')  # of a source without attributes
failures = []


def check(holds, *message):
    if not holds:
        failures.append(message)
        print(*message)


def names(db, sql):
    return [row[0] for row in db.values(sql)]


def compared(db, name):
    """The columns that have to agree, quoted, in their order."""
    columns = names(db, f"SELECT name FROM pragma_table_xinfo('{name}') WHERE hidden = 0")
    return [column for column in columns if column not in EXPECTED.get(name, ())]


@functools.lru_cache(None)
def questions():
    """{table, view or function: (the columns that have to agree, SQL that asks for them)}, tables first."""
    db = Newest()
    order = {"diagnostics": "ORDER BY profile_id, reason, message, count"}
    asked = {name: order.get(name, "ORDER BY id") for name in names(
        db, "SELECT name FROM tfprof_tables WHERE name <> 'node_type_patterns' AND is_cache >= 0")}
    for name, parameters in db.values("SELECT name, parameters FROM tfprof_views"):
        asked[name] = "(" + ", ".join("'*'" for _ in parameters.split(",")) + ")" if parameters else ""
    shown = {name: compared(db, name) for name in asked}
    db.close()
    return {name: (shown[name], f"SELECT {', '.join(shown[name])} FROM temp.{name} {more}")
            for name, more in asked.items() if shown[name]}


@functools.lru_cache(None)
def prepared():
    """Two connections that have prepared all questions, with nothing open: that takes longer than to answer them for
    a small trace."""
    return [asked_before(sql for _, sql in questions().values()) for _ in range(2)]


def rows(db, sql):
    """Or, of a function that is asked for steps that are not there, one row: what it says."""
    try:
        return db.connection.execute(sql)
    except db.apsw.SQLError as problem:
        if "no step of '*'" not in str(problem):
            raise
        return [(str(problem),)]


def same(column, ours, theirs, paths):
    if ours == theirs or (ours != ours and theirs != theirs):
        return True
    if column == "attributes" and ours is None:
        return RECORDER.match(theirs)
    for path, copy in paths:  # advice names a profile without a rank by its path
        if isinstance(ours, str) and path in ours:
            return ours.replace(path, copy) == theirs
    return False


def compare(what, left, right, name, paths):
    columns, sql = questions()[name]
    count = 0
    for ours, theirs in itertools.zip_longest(rows(left, sql), rows(right, sql)):
        count += 1
        if ours == theirs:
            continue
        if ours is None or theirs is None:
            check(False, what, name, "row", count, "is only in", "the dump" if ours is None else "the trace", ours
                  or theirs)
            break
        differing = [(c, a, b) for c, a, b in zip(columns, ours, theirs) if not same(c, a, b, paths)]
        if differing:
            check(False, what, name, "row", count, differing)
            break
    return count


REFUSED = {"events-in-a-wrong-guess"}  # it has no events, whatever they look like: nothing can be saved


def test(what, path, directory):
    failures.extend(in_child(lambda: test_one(what, path, directory)))


def test_one(what, path, directory):
    """What differs."""
    trace, dump = prepared()
    trace.values(f"SELECT tfprof_open('{path}')")
    if not plans_do(trace):
        trace, dump = Newest(), Newest()
        trace.values(f"SELECT tfprof_open('{path}')")
    saved = os.path.join(directory, "saved")
    trace.values(f"SELECT tfprof_save('{saved}')")
    dump.values(f"SELECT tfprof_open('{saved}')")
    paths = list(zip(*(names(db, "SELECT path FROM profiles ORDER BY id") for db in (trace, dump))))
    total = sum(compare(what, trace, dump, name, paths) for name in questions())
    print(what, total, "rows", flush=True)
    trace.close(), dump.close()
    gc.collect()
    return failures


def test_ranks(directory):
    """Three ranks of four, whose clocks differ, opened together."""
    for rank, skew in test_alignment.SKEWS.items():
        with open(os.path.join(directory, f"rank{rank}.json"), "w") as file:
            json.dump(test_alignment.trace(rank, skew, f"node{rank}", slow=3), file)
    test("three ranks", os.path.join(directory, "rank*.json"), directory)


def main():
    wanted = sys.argv[1:]
    prepared()
    traces = sorted(glob.glob(os.path.join(HERE, "..", "fixtures", "kineto", "*")))
    for folder in ("pytorch", "pytorch_cpu"):
        traces += sorted(path for path in glob.glob(os.path.join(SHARED, "traces", folder, "*.json*"))
                         if "key_averages" not in path)
    for path in traces:
        name = os.path.basename(path)
        if name in REFUSED or wanted and name not in wanted:
            continue
        with tempfile.TemporaryDirectory(prefix="tfprof-saved-") as directory:
            test(name, path, directory)
    if not wanted:
        with tempfile.TemporaryDirectory(prefix="tfprof-saved-") as directory:
            test_ranks(directory)
    print(f"{len(failures)} failures")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
