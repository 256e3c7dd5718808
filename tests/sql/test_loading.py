"""Loading, loading again, and living with what is around: transactions, read-only and hostile databases, names."""

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from engines import BUILD, EXTENSION, CommandLine, Newest, make_dump, run_tests

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
directory = tempfile.TemporaryDirectory(prefix="tfprof-test-")


def dump_with_measured_ops(path):
    """A random dump of which op_summary has rows, which not every one has."""
    for seed in range(1, 50):
        asked = [os.path.join(BUILD, "tfprof"), "--format", "csv", make_dump(path, 300, seed),
                 "SELECT count(*) > 1 FROM op_summary"]
        if subprocess.run(asked, capture_output=True, text=True, check=False).stdout.split()[-1:] == ["1"]:
            return path
    raise AssertionError("no dump of fifty has ops in measured steps")


DUMP = dump_with_measured_ops(os.path.join(directory.name, "one.tfprof"))
OTHER = make_dump(os.path.join(directory.name, "two.tfprof"), 200, 2)


def opened(engine, **arguments):
    connection = engine(**arguments)
    connection.values(f"SELECT tfprof_open('{DUMP}')")
    return connection


def shell(script, *arguments, **environment):
    return subprocess.run(
        ["sqlite3", "-batch", *arguments],
        input=script,
        text=True,
        capture_output=True,
        env={**os.environ, **environment},
        timeout=60,
    )


def database(name, script):
    """A new database file, made without the extension."""
    path = os.path.join(directory.name, name)
    if os.path.exists(path):
        os.unlink(path)
    connection = sqlite3.connect(path)
    connection.executescript(script)
    connection.commit()
    connection.close()
    return path


def test_loading_is_silent_once(engine):
    done = shell(f".load {EXTENSION}\n")
    assert done.returncode == 0 and done.stdout == "" and done.stderr == "", done


def test_ways_to_load(engine):
    for name in (EXTENSION, EXTENSION + ".so"):
        assert engine(extension=name).values("SELECT typeof(tfprof_version())") == [("text",)]
    connection = engine(extension=None)
    if engine is CommandLine:
        assert connection.values(f"SELECT load_extension('{EXTENSION}') IS NULL") == [(1,)]
        assert connection.values("SELECT count(*) FROM ops") == [(0,)]


def test_only_the_entry_points_are_exported_once(engine):
    symbols = subprocess.run(
        ["nm", "-D", "--defined-only", EXTENSION + ".so"], capture_output=True, text=True, check=True
    ).stdout
    names = [line.split()[-1] for line in symbols.splitlines() if line.split()[-2] in "TDBRV"]
    sanitizer = [name for name in names if "asan" in name or "san_" in name]
    ours = sorted(name for name in names if name not in sanitizer)
    assert ours == ["sqlite3_tfprof_init", "sqlite3_tfprof_noaccess_init"], names


NO_ACCESS = "sqlite3_tfprof_noaccess_init"
WITH_EFFECTS = (
    f"tfprof_open('{OTHER}')",
    "tfprof_open('/etc')",
    "tfprof_close(1)",
    "tfprof_refresh()",
    f"tfprof_save('{directory.name}/saved')",
    f"tfprof_timeline('{directory.name}/timeline')",
    f"tfprof_pprof('{directory.name}/pprof')",
    f"tfprof_dot('{directory.name}/dot', 'main')",
    "tfprof_set('compat', 1)",
    "tfprof_views_create()",
)


def test_strangers_reach_no_files_once(engine):
    """By the other entry point the SQL opens, closes, writes and sets nothing; what TFPROF_OPEN names is there."""
    calls = "".join(f"SELECT {call};\n" for call in WITH_EFFECTS)
    counts = "SELECT 'rows', count(*) FROM ops;\nSELECT 'steps', count(*) FROM step_summary;\n"
    load = f".load {EXTENSION} {NO_ACCESS}\n"
    before = sorted(os.listdir(directory.name))
    done = shell(load + calls + counts, TFPROF_OPEN=DUMP)
    assert done.stderr.count("no such function: tfprof_") == len(WITH_EFFECTS), done
    usual = shell(f".load {EXTENSION}\n" + counts, TFPROF_OPEN=DUMP)
    assert done.stdout == usual.stdout and "rows|" in usual.stdout and not usual.stderr, (done, usual)
    assert sorted(os.listdir(directory.name)) == before
    # Nothing but functions with effects is missing, and nothing of theirs is left.
    names = "SELECT DISTINCT name FROM pragma_function_list ORDER BY 1;\n"
    usual = set(shell(f".load {EXTENSION}\n" + names).stdout.split())
    strangers = set(shell(load + names).stdout.split())
    assert usual - strangers == {call.partition("(")[0] for call in WITH_EFFECTS} and strangers < usual
    listed = "SELECT sum(has_effects), count(*) > 40 FROM tfprof_functions;\n"
    assert shell(load + listed).stdout == "0|1\n" and shell(f".load {EXTENSION}\n" + listed).stdout == "9|1\n"
    # The program's own load brings them; a second load of theirs takes nothing away.
    done = shell(f"{load}.load {EXTENSION}\n{load}SELECT 'saved', tfprof_open('{OTHER}');\n", TFPROF_OPEN=DUMP)
    assert done.stdout == "saved|2\n" and not done.stderr, done


def test_second_load(engine):
    connection = opened(engine)
    assert connection.load() is None
    assert connection.values("SELECT count(*) FROM runs") == [(1,)]
    assert connection.values("SELECT tfprof_open('%s')" % OTHER) == [(2,)]
    assert connection.load() is None
    assert connection.values("SELECT count(*) FROM runs") == [(2,)]


def test_another_build(engine):
    connection = opened(engine)
    copy = os.path.join(directory.name, "sqlite3_tfprof.so")
    shutil.copy(EXTENSION + ".so", copy)
    if engine is CommandLine:
        error = connection.run(f".load '{copy}' sqlite3_tfprof_init")[1]
    else:
        try:
            connection.connection.load_extension(copy, "sqlite3_tfprof_init")
            error = None
        except connection.apsw.Error as raised:
            error = str(raised)
    assert error and "another build" in error, error
    assert connection.values("SELECT count(*) FROM runs") == [(1,)]


def test_second_load_with_an_open_cursor(engine):
    connection = opened(engine)
    ((rows,),) = connection.values("SELECT count(*) FROM ops")
    if engine is CommandLine:
        loads = connection.values(
            f"SELECT count(*), sum(load_extension('{EXTENSION}') IS NULL) FROM ops WHERE id % 50 = 0"
        )
        assert loads[0][0] == loads[0][1] > 0
    else:
        seen = 0
        for _ in connection.connection.execute("SELECT id FROM ops ORDER BY dur_ns"):
            if seen in (0, 1, 10):
                assert connection.load() is None
            seen += 1
        assert seen == rows
    assert connection.values("SELECT count(*) FROM ops") == [(rows,)]


def test_close_and_refresh_with_an_open_cursor(engine):
    if engine is CommandLine:
        connection = opened(engine)
        # The first row closes the run that the query goes on reading.
        ((rows, closed),) = connection.values(
            "SELECT count(*), count(CASE WHEN id = (SELECT min(id) FROM ops) THEN tfprof_close(1) END) FROM ops"
        )
        assert rows > 0 and closed == 1
        assert connection.values("SELECT count(*) FROM ops") == [(0,)]
        return
    connection = opened(engine)
    ((rows,),) = connection.values("SELECT count(*) FROM ops")
    for sql in (
        "SELECT * FROM ops",
        "SELECT * FROM ops ORDER BY name DESC",
        "SELECT p.* FROM ops c JOIN ops p ON p.id >= c.id WHERE c.id & 63 = 0",
    ):
        connection.values("SELECT tfprof_close(run_id) FROM profiles")
        connection.values(f"SELECT tfprof_open('{DUMP}')")
        cursor = connection.connection.execute(sql)
        first = next(cursor)
        connection.values("SELECT tfprof_close(run_id) FROM profiles")
        connection.values("SELECT tfprof_refresh()")
        assert connection.values("SELECT count(*) FROM ops") == [(0,)]
        rest = list(cursor)
        assert first and len(rest) + 1 >= rows, (sql, len(rest), rows)


def test_closing_the_connection_with_a_cursor_open(engine):
    if engine is CommandLine:
        assert opened(engine).close() == 0
        return
    connection = opened(engine)
    cursor = connection.connection.execute("SELECT * FROM ops WHERE id % 2 = 0")
    next(cursor)
    connection.connection.close(True)


def test_inside_a_transaction(engine):
    connection = engine(extension=None)
    connection.query("BEGIN")
    assert connection.load() is None
    connection.values(f"SELECT tfprof_open('{DUMP}')")
    ((views,),) = connection.values("SELECT count(*) FROM sqlite_temp_master WHERE type = 'view'")
    assert views > 0
    connection.query("ROLLBACK")
    assert connection.values("SELECT count(*) FROM sqlite_temp_master WHERE type = 'view'") == [(0,)]
    assert connection.values("SELECT count(*) > 0 FROM ops") == [(1,)]
    # A view that is not there is no broken one, but a function that reads views needs them.
    kinds = connection.values(
        "SELECT DISTINCT kind, message FROM tfprof_views WHERE (kind = 'broken' AND name NOT GLOB '*_diff' "
        "OR kind = 'view' AND message IS NULL)"
    )
    assert kinds == [], kinds
    assert connection.values("SELECT tfprof_views_create()") == [(views,)]
    assert connection.values("SELECT tfprof_views_create()") == [(0,)]
    assert connection.values("SELECT count(*) >= 0 FROM op_summary") == [(1,)]


def test_query_only(engine):
    connection = engine(extension=None)
    connection.query("PRAGMA query_only = 1")
    assert connection.load() is None
    connection.values(f"SELECT tfprof_open('{DUMP}')")
    assert connection.values("SELECT count(*) > 0 FROM ops") == [(1,)]
    _, error = connection.query("SELECT tfprof_views_create()")
    assert error and "readonly" in error.replace("-", ""), error
    connection.query("PRAGMA query_only = 0")
    assert connection.values("SELECT tfprof_views_create() > 0") == [(1,)]
    assert connection.values("SELECT count(*) >= 0 FROM advise") == [(1,)]


def test_read_only_database(engine):
    path = database("readonly.db", "CREATE TABLE t(x); INSERT INTO t VALUES (1);")
    before = open(path, "rb").read()
    if engine is CommandLine:
        connection = opened(engine, database=path, options=["-readonly"])
    else:
        import apsw

        connection = opened(engine, database=path, flags=apsw.SQLITE_OPEN_READONLY)
    assert connection.values("SELECT count(*) > 0 FROM op_summary, t") == [(1,)]
    connection.close()
    assert open(path, "rb").read() == before


def test_a_database_is_never_written_to(engine):
    path = database("untouched.db", "CREATE TABLE t(x); INSERT INTO t VALUES (1);")
    before = open(path, "rb").read()
    connection = opened(engine, database=path)
    assert connection.values("SELECT count(*) >= 0 FROM advise") == [(1,)]
    connection.close()
    assert open(path, "rb").read() == before
    connection = sqlite3.connect(path)  # and opens without the extension
    assert connection.execute("SELECT type, name FROM sqlite_schema").fetchall() == [("table", "t")]


HOSTILE = """
CREATE TABLE steps(id, number); INSERT INTO steps VALUES (-1, 'mine');
CREATE TABLE ops(id, name); INSERT INTO ops VALUES (-1, 'mine');
CREATE VIEW harmless AS SELECT count(*) AS n FROM kernels;
CREATE VIEW also_harmless AS SELECT format_bytes(2048) AS text, union_ns(1, 5) AS covered;
CREATE VIEW describing AS SELECT count(*) AS n FROM tfprof_columns;
CREATE VIEW opening AS SELECT tfprof_open('/etc/hostname') AS run;
CREATE VIEW writing AS SELECT tfprof_save('/tmp/tfprof-test-must-not-exist') AS n;
CREATE VIEW closing AS SELECT tfprof_close(1) AS n;
CREATE TABLE log(x);
CREATE TRIGGER trap AFTER INSERT ON log BEGIN SELECT tfprof_open('/etc/hostname'); END;
CREATE TABLE defaults(x, y DEFAULT (tfprof_version()));
"""


def test_hostile_database(engine):
    path = database("hostile.db", HOSTILE)
    for trusted in (0, 1):
        connection = opened(engine, database=path)
        connection.query(f"PRAGMA trusted_schema = {trusted}")
        # Tables and pure functions show only what the user opened.
        assert connection.values("SELECT n > 0 FROM harmless") == [(1,)], trusted
        assert connection.values("SELECT * FROM also_harmless") == [("2.00 KiB", 4)]
        assert connection.values("SELECT n > 100 FROM describing") == [(1,)]
        for sql in (
            "SELECT * FROM opening",
            "SELECT * FROM writing",
            "SELECT * FROM closing",
            "INSERT INTO log VALUES (1)",
        ):
            _, error = connection.query(sql)
            assert error and "unsafe use of" in error, (trusted, sql, error)
        assert connection.values("SELECT count(*) FROM runs") == [(1,)]
        connection.close()
    assert not os.path.exists("/tmp/tfprof-test-must-not-exist")


def test_tables_of_the_same_name(engine):
    path = database("names.db", HOSTILE)
    connection = opened(engine, database=path)
    # The user's own tables come first, ours are temp.ops: undocumented, so it is tried with every SQLite.
    assert connection.values("SELECT name FROM ops") == [("mine",)]
    assert connection.values("SELECT count(*) > 1 FROM temp.ops") == [(1,)]
    assert connection.values("SELECT count(*) > 1 FROM temp.ops('*one*')") == [(1,)]
    assert connection.values("SELECT count(*) > 1 FROM tfprof_own.ops('*one*')") == [(1,)]
    assert connection.values("SELECT count(*) FROM op_summary WHERE op = 'mine'") == [(0,)]
    assert connection.values("SELECT count(*) > 1 FROM op_summary") == [(1,)]
    connection.query("ATTACH ':memory:' AS other")
    connection.query("CREATE TABLE other.kernels(id)")
    assert connection.values("SELECT count(*) FROM kernels") == [(0,)]
    assert connection.values("SELECT count(*) > 0 FROM temp.kernels") == [(1,)]


def test_tables_can_be_renamed(engine):
    """SQLite looks at every view as it renames a table, and refuses where one of them is too much for it."""
    connection = opened(engine)
    connection.values("CREATE TABLE mine(a)")
    for table in ("mine", "temp.mine_too"):
        connection.values(f"CREATE TABLE IF NOT EXISTS {table}(a)")
        connection.values(f"ALTER TABLE {table} RENAME COLUMN a TO b")
        connection.values(f"ALTER TABLE {table} RENAME TO renamed_{table[-1]}")
    assert connection.values("SELECT count(*) FROM pragma_table_info('renamed_e')")[0][0] == 1
    connection.close()


def test_a_view_of_the_users_own_stays(engine):
    connection = engine(extension=None)
    connection.query("CREATE TEMP VIEW op_summary AS SELECT 'mine' AS name")
    assert connection.load() is None
    assert connection.values("SELECT name FROM op_summary") == [("mine",)]
    assert connection.values("SELECT count(*) >= 0 FROM kernel_summary") == [(1,)]


def test_advice_does_without_checks_that_something_of_the_users_breaks(engine):
    connection = opened(engine)
    ask = "SELECT name FROM tfprof_views WHERE kind = 'check'"
    checks = connection.values(ask)
    for sql in ("DROP VIEW temp.memory_by_line", "CREATE TEMP TABLE memory_by_line(name)"):
        assert not connection.query(sql)[1]
        usable = connection.values(ask)
        assert 0 < len(usable) < len(checks), (sql, usable)
        failed = connection.values("SELECT check_name FROM advise WHERE message GLOB 'The check * could not be*'")
        assert sorted(failed + usable) == sorted(checks), (sql, failed, usable)
    assert connection.values("SELECT tfprof_views_create() > 0") == [(1,)] and connection.values(ask) == checks


def test_nobody_can_store_a_table(engine):
    connection = engine()
    _, error = connection.query("CREATE VIRTUAL TABLE mine USING ops")
    assert error and "no such module" in error, error
    for sql in ("INSERT INTO ops(id) VALUES (1)", "DELETE FROM ops", "UPDATE ops SET name = 'x'", "DROP TABLE ops"):
        assert connection.query(sql)[1], sql


def test_environment_variable_once(engine):
    done = shell(f".load {EXTENSION}\nSELECT count(*), count(DISTINCT id) FROM runs;\n", TFPROF_OPEN=f"{DUMP}:{OTHER}")
    assert done.stdout.strip() == "2|2", done
    done = shell(f".load {EXTENSION}\nSELECT count(*) FROM ops;\n", TFPROF_OPEN="/nowhere/at/all")
    assert "TFPROF_OPEN" in done.stderr and "/nowhere" in done.stderr, done
    # A failed load leaves nothing behind that could be called.
    assert "no such table" in done.stderr, done
    # One of several that is missing is told of, by a row and in SQLite's log, and the others are there.
    for paths in (f"/nowhere/at/all:{DUMP}:{OTHER}", f"{DUMP}:/nowhere/at/all:{OTHER}"):
        script = (".log stdout\n"
                  f".load {EXTENSION}\nSELECT count(*) FROM runs;\n"
                  "SELECT severity, reason, message GLOB 'TFPROF_OPEN: /nowhere/at/all: no such file*' "
                  "FROM diagnostics WHERE severity = 'error';\n")
        done = shell(script, TFPROF_OPEN=paths)
        assert done.stderr == "" and done.stdout.endswith("2\nerror|unopened_file|1\n"), done
        assert "TFPROF_OPEN: /nowhere/at/all: no such file" in done.stdout, done
    done = shell(f".load {EXTENSION}\nSELECT count(*) FROM runs;\n", TFPROF_OPEN="")
    assert done.stdout.strip() == "0", done


def test_functions_that_are_there_already(engine):
    connection = engine(extension=None)
    before = connection.values("SELECT name FROM pragma_function_list WHERE name IN ('regexp', 'percentile', 'median')")
    connection.load()
    assert connection.values("SELECT 'abc' REGEXP 'b', regexp('^b', 'abc')") == [(1, 0)]
    assert connection.values("SELECT percentile(x, 50), median(x) FROM (SELECT 1 AS x UNION ALL SELECT 2)") == [
        (1.5, 1.5)
    ]
    after = connection.values("SELECT name FROM pragma_function_list WHERE name IN ('regexp', 'percentile', 'median')")
    assert len(after) >= 3 and len([name for name in after if name in before]) == len(before), (before, after)


def test_encodings_other_than_utf8(engine):
    for encoding in ("UTF-16le", "UTF-16be"):
        path = database(f"{encoding}.db", f"PRAGMA encoding = '{encoding}'; CREATE TABLE t(x);")
        connection = opened(engine, database=path)
        for order in ("name", "name DESC", "name, dur_ns"):
            connection.query("DROP TABLE IF EXISTS c")
            connection.query("CREATE TEMP TABLE c AS SELECT * FROM ops")
            assert connection.query(f"SELECT name FROM ops ORDER BY {order}") == connection.query(
                f"SELECT name FROM c ORDER BY {order}"
            )
        for sql in (
            "SELECT DISTINCT name FROM {0} ORDER BY 1",
            "SELECT count(*) FROM {0} WHERE name > 'aten'",
            "SELECT count(*) FROM {0} WHERE name = 'a'",
            "SELECT name, count(*) FROM {0} GROUP BY name ORDER BY 1",
        ):
            assert connection.query(sql.format("ops")) == connection.query(sql.format("c")), (encoding, sql)
        connection.close()
    connection = engine()
    connection.query("PRAGMA encoding = 'UTF-16'")
    connection.query("CREATE TABLE t(x)")
    assert connection.values("PRAGMA encoding") == [("UTF-8",)], "the encoding can be changed after loading"


def test_interrupting(engine):
    """Ctrl-C during what the first query of a big profile has to do; unit/test_sql_interrupt.c for the oldest."""
    if engine is CommandLine:
        return  # on a pipe it ends at an interrupt
    big = os.path.join(directory.name, "big.tfprof")
    if not os.path.exists(big):
        make_dump(big, 400000, 1, "make_ops_dump")
    seen = 0
    for delay in (0.0, 0.005, 0.02, 0.05, 0.1, 0.15):
        connection = engine()
        connection.values(f"SELECT tfprof_open('{big}')")
        sql = (
            "SELECT count(*), max(depth), max(self_ns) FROM "
            "(SELECT * FROM ops ORDER BY name DESC, dur_ns, start_ns DESC, self_ns)"
        )
        timer = threading.Timer(delay, connection.connection.interrupt)
        timer.start()
        _, error = connection.query(sql)
        timer.join()
        assert error is None or "interrupt" in error.lower(), error
        seen += error is not None
        # It can be asked again, and there is nothing left that would keep the connection from being closed.
        assert connection.values(sql)[0][0] == 400000
        assert connection.close() == 0
    assert seen > 0, "every query ended before it was interrupted"


def test_names_that_the_user_has(engine):
    """Views, checks and functions read ours, whatever tables and views the user makes of their names, and whenever."""
    open_all = [f"SELECT tfprof_open('{os.path.join(ROOT, 'tests', *name)}')"
                for name in (("fixtures", "kineto", "waits.json"), ("fuzz", "corpus", "xplane", "tasks.xplane.pb"))]
    clean = engine()
    for sql in open_all:
        clean.values(sql)
    tables = [name for name, in clean.values(
        "SELECT name FROM tfprof_tables WHERE name <> 'node_type_patterns' AND is_cache >= 0")]
    tables += ["tfprof_tables", "tfprof_columns", "tfprof_findings", "timeline"]
    functions = [(name, parameters.count(",") + 1) for name, parameters in clean.values(
        "SELECT name, parameters FROM tfprof_views WHERE kind = 'function'")]
    views = [name for name, in clean.values("SELECT name FROM tfprof_views WHERE kind IN ('view', 'check')")]
    calls = {name: {1: "(1)", 2: "(1, 2)", 3: "(1, 1, 1)", 6: "(1, 1, 1, 1, 1, 1)"}[count] for name, count in functions}

    def asked(prefix):
        """{name: SQL}: ours, by the names that never change, but for views, which are called prefix + name."""
        said = {name: f"SELECT * FROM tfprof_own.{name}" for name in tables}
        said.update({name: f"SELECT * FROM tfprof_own.{name}{call}" for name, call in calls.items()})
        said.update({name: f"SELECT * FROM {prefix}{name}" for name in views})
        return said

    expected = {name: clean.query(sql) for name, sql in asked("").items()}
    assert len(expected) > 200 and sum(bool(rows) for rows, _ in expected.values()) > 100
    clean.close()

    def make(connection, names, kinds=("TEMP", "")):
        for name in names:
            for kind in kinds:
                assert not connection.query(f'CREATE {kind} TABLE "{name}" AS SELECT 7 AS id, 8 AS profile_id')[1], name

    def check(connection, prefix, when):
        for name, sql in asked(prefix).items():
            if name not in ("tfprof_tables", "tfprof_columns"):
                assert connection.query(sql) == expected[name], (when, name, connection.query(sql), expected[name])

    before = engine(None)
    make(before, tables + list(calls) + views)
    before.load()
    for sql in open_all:
        before.values(sql)
    check(before, "tfprof_own_", "before loading")
    assert before.values("SELECT kind, message FROM tfprof_own.tfprof_views WHERE name = 'op_summary'") == [
        ("view", "temp.op_summary is yours, which was there before; this one is tfprof_own_op_summary")]
    assert before.values("SELECT id FROM op_summary") == [(7,)]
    assert before.load() is None and before.values("SELECT tfprof_views_create()") == [(0,)]  # once more
    check(before, "tfprof_own_", "loaded twice")
    before.close()

    after = engine()
    for sql in open_all:
        after.values(sql)
    make(after, tables + list(calls))
    make(after, views, [""])
    check(after, "", "after loading")
    assert after.values("SELECT * FROM steps") == after.values("SELECT * FROM main.op_summary") == [(7, 8)]
    assert after.values("SELECT message FROM tfprof_own.tfprof_tables WHERE name = 'steps'") == [
        ("main.steps and temp.steps are yours, which unqualified names mean; this one is tfprof_own.steps",)]
    for name in views[::7]:
        assert not after.query(f"DROP VIEW temp.{name}")[1]
    make(after, views[::7], ["TEMP"])
    assert after.values("SELECT tfprof_views_create() > 0") == [(1,)]
    renamed = {name: f"SELECT * FROM {'tfprof_own_' if name in views[::7] else ''}{name}" for name in views}
    for name, sql in renamed.items():
        assert after.query(sql) == expected[name], ("views replaced", name)
    after.close()


if __name__ == "__main__":
    run_tests(sys.modules[__name__])
