"""Whatever the extension adds to SQL is described, and what describes it is true: functions, examples, listings."""

import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from engines import run_tests
from xplane_files import write_step_program

STACKS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fixtures", "kineto", "python.json")
OURS = {"tfprof_connection_"}  # by which a second load finds the first


def names(connection, sql):
    return {name for name, in connection.values(sql)}


def test_every_function(engine):
    """tfprof_functions has what loading adds, each once, with all that a user is to be told."""
    connection = engine(None)
    functions = names(connection, "SELECT name FROM pragma_function_list")
    modules = names(connection, "SELECT name FROM pragma_module_list")
    connection.load()
    added = names(connection, "SELECT name FROM pragma_function_list") - functions - OURS
    tables = names(connection, "SELECT name FROM pragma_module_list") - modules - names(
        connection, "SELECT name FROM tfprof_tables WHERE is_cache >= 0") - names(
        connection, "SELECT table_name FROM tfprof_columns WHERE table_name GLOB 'tfprof_*'") - names(
        connection, "SELECT name FROM tfprof_views WHERE kind = 'old'")
    # What SQLite has itself is described as well.
    brought = {"percentile", "median", "regexp"}
    listed = connection.values("SELECT name, kind FROM tfprof_functions")
    assert added - brought == {name for name, kind in listed if kind != "table"} - brought, added
    assert len(added) > 35 and len(tables) > 12 and tables == {name for name, kind in listed if kind == "table"}, tables
    assert len(listed) == len(set(listed)) and brought < {name for name, _ in listed}
    # The shell of SQLite cuts no text, and other programs tell the kinds of theirs: s, a and w.
    kinds = dict(connection.values("SELECT name, max(type) FROM pragma_function_list GROUP BY name"))
    assert all(kinds[name][0] == kind[0] for name, kind in listed if name in added - brought), kinds
    wrong = connection.values("""SELECT name FROM tfprof_functions WHERE title NOT GLOB '[A-Z0-9]*.' OR
        description NOT GLOB '*.' OR example NOT GLOB '*' || name || '*' AND name <> 'regexp' OR example GLOB '*;*' OR
        parameters IS NULL OR kind NOT IN ('scalar', 'aggregate', 'window', 'table')""")
    assert not wrong, wrong
    wrong = connection.values("""SELECT name FROM tfprof_functions JOIN pragma_function_list AS known USING (name)
        WHERE narg >= 0 AND narg > length(parameters) - length(replace(parameters, ',', '')) + (parameters <> '')""")
    assert not wrong, wrong
    connection.close()


def test_listings(engine):
    """tfprof_functions and its like describe their own columns, in their order."""
    connection = engine()
    listings = names(connection, "SELECT name FROM pragma_module_list WHERE name GLOB 'tfprof_*'") - names(
        connection, "SELECT name FROM tfprof_tables WHERE is_cache >= 0")
    assert {"tfprof_functions", "tfprof_views", "tfprof_findings"} <= listings, listings
    for name in sorted(listings | {"timeline"}):
        declared = connection.values(f"SELECT name, type FROM pragma_table_info('{name}')")
        described = connection.values(f"SELECT column_name, type FROM tfprof_columns WHERE table_name = '{name}'")
        assert declared and declared == described, (name, declared, described)
    connection.close()


def test_reasons(engine):
    """What reading files tells has codes and severities that tfprof_reasons lists."""
    corpus = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fuzz", "corpus")
    connection, seen = engine(), set()
    for folder in ("json", "xplane", "sql_dump", "hlo", "pprof", "memory_snapshot", "flight_recorder"):
        for name in sorted(os.listdir(os.path.join(corpus, folder)))[:40]:
            connection.query(f"SELECT tfprof_open('{os.path.join(corpus, folder, name)}')")
    told = connection.values("""SELECT DISTINCT diagnostics.reason, ' ' || diagnostics.severity, ' ' || listed.severity
        FROM diagnostics LEFT JOIN tfprof_reasons AS listed USING (reason)""")
    for reason, severity, listed in told:
        assert listed and severity in listed, (reason, severity, listed)
        seen.add(reason)
    assert len(seen) > 10, seen
    connection.close()


def write_run(path, dur_us):
    """Ten steps with an op each."""
    said = [{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{i}", "pid": 1, "tid": 1, "ts": 1000 * i,
             "dur": 900} for i in range(10)]
    said += [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1000 * i + 100, "dur": dur_us}
             for i in range(10)]
    with open(path, "w") as file:
        json.dump({"schemaVersion": 1, "traceEvents": said}, file)


def test_examples(engine):
    """Each runs as it stands, in a folder with files of the names that they use; most have rows."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory(prefix="tfprof-test-") as directory:
        os.chdir(directory)
        try:
            for seed, name in enumerate(("run", "before", "after")):
                os.mkdir(name)
                write_run(os.path.join(name, "rank0.pt.trace.json"), 100 + seed)
            write_step_program("step.xplane.pb")
            connection = engine()
            for name in ("run", "before", "after", "step.xplane.pb", STACKS):
                connection.values(f"SELECT tfprof_open('{name}')")
            examples = connection.values(
                "SELECT name, hex(example) FROM tfprof_functions ORDER BY name = 'tfprof_close'")
            errors, empty = [], set()
            for name, example in examples:
                rows, error = connection.query(bytes.fromhex(example).decode())
                errors += [(name, example, error)] if error else []
                empty |= set() if rows else {name}
            assert not errors, errors
            assert os.path.getsize("step.dot") > 100 and os.path.getsize("run.pb.gz") > 100 and os.path.exists("copy")
            connection.close()
        finally:
            os.chdir(before)
    assert len(examples) - len(empty) > 45, empty


if __name__ == "__main__":
    run_tests(sys.modules[__name__])
