"""The hidden argument of the tables, and what is said when something cannot be done."""

import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from engines import make_dump, run_tests

directory = tempfile.TemporaryDirectory(prefix="tfprof-test-")
DUMPS = [make_dump(os.path.join(directory.name, f"rank{i}.tfprof"), 200 + 50 * i, i) for i in (0, 1, 2)]


def opened(engine):
    connection = engine()
    connection.values(f"SELECT tfprof_open('{directory.name}')")
    assert connection.values("SELECT count(*) FROM profiles") == [(3,)]
    return connection


def test_hidden_argument(engine):
    connection = opened(engine)
    ids = dict(connection.values("SELECT replace(path, rtrim(path, replace(path, '/', '')), ''), id FROM profiles"))
    counts = dict(connection.values("SELECT profile_id, count(*) FROM ops GROUP BY profile_id"))
    every = sum(counts.values())
    one = ids["rank1.tfprof"]
    for argument in (one, f"{one}.0", f"'{one}'", "'*rank1*'", f"'{DUMPS[1]}'", "'*/rank[1].tfprof'"):
        assert connection.values(f"SELECT count(*), min(profile_id), max(profile_id) FROM ops({argument})") == [
            (counts[one], one, one)
        ], argument
        assert connection.values(f"SELECT count(*) FROM ops WHERE profile = {argument}") == [(counts[one],)]
        assert connection.values(f"SELECT count(*) FROM ops WHERE {argument} = profile") == [(counts[one],)]
    assert connection.values("SELECT count(*) FROM ops('*')") == [(every,)]
    relative = os.path.relpath(DUMPS[1])
    for argument in (relative, f"./{relative}", os.path.join(directory.name, ".", "rank1.tfprof"), "rank1",
                     "rank1.tfprof"):
        assert connection.values(f"SELECT count(*) FROM ops('{argument}')") == [(counts[one],)], argument
    for argument in (directory.name, directory.name + "/", os.path.relpath(directory.name),
                     os.path.basename(directory.name)):
        assert connection.values(f"SELECT count(*) FROM ops('{argument}')") == [(every,)], argument
    # What names nothing is no empty answer.
    for argument in ("'nothing'", 99, "'*rank9*'", "'/'", "'..'"):
        fails(connection, f"SELECT count(*) FROM ops({argument})", "ops: no profile is", f"{one} (", "rank2.tfprof")
    fails(connection, "SELECT count(*) FROM op_diff('rank1', 'nothing')", "no profile is 'nothing'")
    fails(engine(), "SELECT count(*) FROM ops('run')", "nothing is open", "tfprof_open")
    # Equal to NULL is nothing.
    assert connection.values("SELECT count(*) FROM ops(NULL)") == [(0,)]
    assert connection.values(f"SELECT count(*) FROM ops WHERE profile IN ({one}, '*rank2*')") == [
        (counts[one] + counts[ids["rank2.tfprof"]],)
    ]
    assert connection.values("SELECT count(DISTINCT profile) FROM ops('*rank1*')") == [(1,)]
    assert connection.values("SELECT DISTINCT profile FROM ops('*rank1*')") == [("*rank1*",)]
    # From another table, in either order of writing.
    for sql in (
        "SELECT p.id, count(o.id) FROM profiles p, ops(p.id) o GROUP BY p.id ORDER BY 1",
        "SELECT p.id, count(o.id) FROM profiles p JOIN ops o ON o.profile = p.path GROUP BY p.id ORDER BY 1",
        "SELECT p.id, count(o.id) FROM ops o JOIN profiles p ON o.profile = p.path GROUP BY p.id ORDER BY 1",
        "SELECT p.id, (SELECT count(*) FROM ops(p.id)) FROM profiles p ORDER BY 1",
    ):
        assert connection.values(sql) == sorted(counts.items()), sql
    # With a condition that makes SQLite look at the parts of an OR by themselves.
    first = connection.values(
        f"SELECT count(*) FROM ops WHERE profile_id = {one} AND (dur_ns < 50 OR start_ns IS NULL OR name = 'a')"
    )
    assert (
        connection.values(f"SELECT count(*) FROM ops({one}) WHERE dur_ns < 50 OR start_ns IS NULL OR name = 'a'")
        == first
    )
    assert connection.values(f"SELECT count(*) FROM ops({one}) a JOIN ops({ids['rank2.tfprof']}) b ON a.id = b.id") == [
        (0,)
    ]


def fails(connection, sql, *words):
    _, error = connection.query(sql)
    assert error, f"no error from: {sql}"
    for word in words:
        assert word in error, (sql, error)


def test_arguments_that_cannot_be_honoured(engine):
    connection = opened(engine)
    for condition in (
        "profile < 'x'",
        "profile LIKE '*rank1*'",
        "profile GLOB '*'",
        "profile IS 1",
        "profile <> 1",
        "profile BETWEEN 1 AND 2",
        "profile IS NULL",
    ):
        fails(connection, f"SELECT count(*) FROM ops WHERE {condition}", "ops: profile takes = only", "ops('path')")
    for condition in (
        "+profile = 1",
        "profile = 1 OR dur_ns < 5",
        "profile || 'x' = '1x'",
        "NOT (profile = 1)",
        "coalesce(profile, 1) = 1",
    ):
        fails(connection, f"SELECT count(*) FROM ops WHERE {condition}", "profile")
    fails(connection, "SELECT profile FROM ops", "ops: profile must be given as profile = value, or as ops(value)")
    fails(connection, "SELECT count(*) FROM ops(x'00')", "ops: profile must be", "path")
    fails(connection, "SELECT count(*) FROM ops(1.5)", "ops: profile must be")
    fails(connection, "SELECT count(*) FROM ops(1, 2)", "too many arguments")
    fails(
        connection,
        "SELECT count(*) FROM ops o LEFT JOIN steps s ON s.id = o.step_id AND s.profile > o.name",
        "steps: profile takes = only",
    )


def test_opening(engine):
    connection = engine()
    missing = os.path.join(directory.name, "no", "such.tfprof")
    fails(connection, f"SELECT tfprof_open('{missing}')", missing)
    empty = os.path.join(directory.name, "..", os.path.basename(directory.name) + "-empty")
    open(empty, "w").close()
    fails(connection, f"SELECT tfprof_open('{empty}')", "empty")
    with open(empty, "w") as file:
        file.write("this is no profile\n" * 10)
    fails(connection, f"SELECT tfprof_open('{empty}')", os.path.basename(empty))
    os.unlink(empty)
    for arguments in ("NULL", "''", "5", "x'00'"):
        fails(connection, f"SELECT tfprof_open({arguments})", "tfprof_open: the path ")
    # What is before a NUL character is a path that could be opened, or written over.
    with_nul = f"'{DUMPS[0]}' || char(0) || '.old'"
    for function in ("tfprof_open", "tfprof_save", "tfprof_timeline", "tfprof_pprof"):
        fails(connection, f"SELECT {function}({with_nul})", f"{function}: the path holds a NUL character")
    fails(connection, f"SELECT tfprof_open('graph_path', {with_nul})", "graph_path holds a NUL character")
    fails(connection, "SELECT tfprof_open()", "supported key", "path")
    fails(connection, "SELECT tfprof_open('a', 'b', 'c')", "supported key", "path")
    fails(connection, "SELECT tfprof_open('frob_path', 'x')", "no key 'frob_path'", "path")
    assert connection.values("SELECT count(*) FROM runs") == [(0,)]
    ((first,),) = connection.values(f"SELECT tfprof_open('path', '{DUMPS[0]}')")
    assert connection.values("SELECT id, profile_count FROM runs") == [(first, 1)]
    # What is open is not opened again.
    assert connection.values("SELECT tfprof_open(path) FROM runs") == [(first,)]
    assert connection.values(f"SELECT tfprof_open('{os.path.relpath(DUMPS[0])}')") == [(first,)]
    ((second,),) = connection.values(f"SELECT tfprof_open('{DUMPS[1]}')")
    assert second > first
    fails(connection, f"SELECT tfprof_close({second + 7})", str(second + 7))
    fails(connection, "SELECT tfprof_close('x')", "tfprof_close takes the id of a run")
    fails(connection, "SELECT tfprof_close(NULL)", "tfprof_close takes the id of a run")
    assert connection.values(f"SELECT tfprof_close({first}), tfprof_close({second})") == [(first, second)]
    assert connection.values(
        "SELECT (SELECT count(*) FROM runs), (SELECT count(*) FROM profiles), (SELECT count(*) FROM ops)"
    ) == [(0, 0, 0)]
    fails(connection, f"SELECT tfprof_close({first})", str(first))
    # A run's number is never used again.
    ((third,),) = connection.values(f"SELECT tfprof_open('{DUMPS[0]}')")
    assert third > second
    assert connection.values("SELECT tfprof_refresh()") == [(0,)]
    # A directory takes the runs of its files over.
    ((rows,),) = connection.values("SELECT count(*) FROM ops")
    assert connection.values(f"SELECT tfprof_open('{DUMPS[2]}'), tfprof_open('{directory.name}')") == [
        (third + 1, third)
    ]
    assert connection.values("SELECT id, path, profile_count FROM runs") == [(third, directory.name, 3)]
    assert connection.values(f"SELECT count(*) FROM ops('{DUMPS[0]}')") == [(rows,)]


def test_files_that_go_and_come(engine):
    folder = os.path.join(directory.name, "moving")
    os.mkdir(folder)
    paths = [os.path.join(folder, name) for name in ("a.tfprof", "b.tfprof")]
    for number, path in enumerate(paths):
        make_dump(path, 200, number, "make_ops_dump")
    elsewhere = tempfile.TemporaryDirectory(prefix="tfprof-test-")
    kept = os.path.join(elsewhere.name, "kept")
    shutil.copy(paths[0], kept)
    views = [name for (name,) in engine().values("SELECT name FROM tfprof_views WHERE kind <> 'function'")]
    for change in ("remove", "truncate", "replace", "remove all"):
        connection = engine()
        connection.values(f"SELECT tfprof_open('{folder}')")
        (before,) = connection.values("SELECT count(*), count(name) FROM ops('b')")
        if change == "remove":
            os.unlink(paths[0])
        elif change == "truncate":
            os.truncate(paths[0], 100)
        elif change == "replace":
            make_dump(paths[0], 350, 7)
        else:
            shutil.rmtree(folder)
        # Everything goes on; the diagnostics tell.
        for view in views:
            connection.values(f"SELECT * FROM {view}")
        assert change == "remove all" or connection.values("SELECT count(*), count(name) FROM ops('b')") == [before]
        reason = {"remove": "lost_file", "truncate": "unreadable_file",
                  "replace": "replaced_file"}.get(change, "lost_file")
        told = f"SELECT count(*), max(message LIKE '%tfprof_refresh()%') FROM diagnostics WHERE reason = '{reason}'"
        assert connection.values(told) == [(2 if change == "remove all" else 1, 1)], change
        ((added,),) = connection.values("SELECT tfprof_refresh()")
        numbers = [id for (id,) in connection.values("SELECT id FROM profiles ORDER BY 1")]
        if change == "replace":
            assert added > 0 and numbers == [2, 3] and connection.values("SELECT count(*) FROM ops(3)")[0][0] > 0
        else:
            assert added == 0 and numbers == [1, 2], (change, added, numbers)
        os.makedirs(folder, exist_ok=True)
        shutil.copy(kept, paths[0])
        if not os.path.exists(paths[1]):
            make_dump(paths[1], 200, 1, "make_ops_dump")
        connection.values("SELECT tfprof_refresh()")
        assert connection.values("SELECT count(*) FROM ops WHERE name IS NULL") == fresh(engine, folder), change
        errors = f"SELECT count(*) FROM diagnostics WHERE reason = '{reason}' AND severity = 'error'"
        assert connection.values(errors) == [(0,)]
    shutil.rmtree(folder)


def test_damage_is_told_once_for_each_column(engine):
    """A hole through many frames: one row of diagnostics for each column, which counts what is NULL because of it."""
    path = make_dump(os.path.join(tempfile.mkdtemp(prefix="tfprof-test-"), "hole.tfprof"), 60000, 1, "make_ops_dump")
    whole = engine()
    whole.values(f"SELECT tfprof_open('{path}')")
    ((rows, times),) = whole.values("SELECT count(*), count(start_ns) FROM ops")
    size = os.path.getsize(path)
    with open(path, "r+b") as file:
        file.seek(size // 4)
        file.write(bytes(size // 2))
    connection = engine()
    connection.values(f"SELECT tfprof_open('{path}')")
    assert connection.values("SELECT count(*) FROM ops") == [(rows,)]
    ((lost,),) = connection.values("SELECT count(*) - count(start_ns) FROM ops")
    assert lost > rows // 4 and times == rows, (lost, rows, times)
    told = connection.values(
        "SELECT message, count, offset FROM diagnostics WHERE reason = 'damaged_column' AND table_name = 'ops'"
    )
    assert len({message for message, _, _ in told}) == len(told) > 5, told
    ((count, offset),) = [row[1:] for row in told if row[0].startswith("ops.start_ns ")]
    assert count == lost and size // 4 - 20000 < offset < size // 2, (count, lost, offset, size)


def fresh(engine, folder):
    connection = engine()
    connection.values(f"SELECT tfprof_open('{folder}')")
    return connection.values("SELECT count(*) FROM ops WHERE name IS NULL")


def test_saving(engine):
    connection = opened(engine)
    target = os.path.join(directory.name, "saved")
    fails(connection, "SELECT tfprof_save(NULL)", "the path must be a text")
    fails(connection, "SELECT tfprof_save('')", "the path is empty")
    fails(connection, "SELECT tfprof_open('')", "the path is empty")
    fails(connection, "SELECT tfprof_save('/no/such/directory/at/all')", "/no/such")
    assert connection.values(f"SELECT tfprof_save('{target}')") == [(3,)]
    before = [
        connection.values(f"SELECT count(*), count(DISTINCT name), sum(dur_ns % 1000) FROM {table}")
        for table in ("ops", "kernels", "ranges")
    ]
    described = (
        "SELECT job, host, pid, rank, world_size, framework, framework_version, command, start_ns, end_ns, "
        "clock_domain, clock_offset_ns, clock_error_ns, complete, event_count, attributes FROM profiles ORDER BY pid, "
        "host"
    )
    profiles = connection.values(described)
    assert all(row[-1] for row in profiles)
    # Into a run that is there, open or not, nothing is saved: it would have its rows twice.
    listed = sorted(os.listdir(directory.name)), sorted(os.listdir(target))
    for place in (target, directory.name):
        fails(connection, f"SELECT tfprof_save('{place}')", place, "not empty")
    fails(connection, f"SELECT tfprof_save('{DUMPS[0]}')", DUMPS[0], "not overwritten")
    single = engine()
    single.values(f"SELECT tfprof_open('{DUMPS[0]}')")
    fails(single, f"SELECT tfprof_save('{DUMPS[1]}')", DUMPS[1], "not overwritten")
    single.values(f"SELECT tfprof_open('{directory.name}')")
    single = engine()
    alone = os.path.join(directory.name, "alone")
    os.mkdir(alone)
    shutil.copy(DUMPS[0], alone)
    single.values(f"SELECT tfprof_open('{alone}')")
    fails(single, f"SELECT tfprof_save('{alone}/copy.tfprof')", "a run that is open")
    shutil.rmtree(alone)
    assert listed == (sorted(os.listdir(directory.name)), sorted(os.listdir(target)))
    connection.values("SELECT tfprof_close(1)")
    connection.values(f"SELECT tfprof_open('{target}')")
    after = [
        connection.values(f"SELECT count(*), count(DISTINCT name), sum(dur_ns % 1000) FROM {table}")
        for table in ("ops", "kernels", "ranges")
    ]
    assert before == after
    assert connection.values(described) == profiles
    for root, directories, files in os.walk(target, topdown=False):
        for name in files:
            os.unlink(os.path.join(root, name))
    if os.path.isdir(target):
        os.rmdir(target)
    else:
        os.path.exists(target) and os.unlink(target)


def test_saving_what_is_lost(engine):
    """A copy of a run whose file is gone would be NULL where nothing had been read: it is
    refused, and leaves nothing."""
    with tempfile.TemporaryDirectory(prefix="tfprof-test-") as folder:
        path, target = os.path.join(folder, "a.tfprof"), os.path.join(folder, "copies")
        os.mkdir(target)
        for change in (os.unlink, lambda path: os.truncate(path, 1000), lambda path: open(path, "w").write("text")):
            make_dump(path, 300, 5, "make_ops_dump")
            connection = engine()
            connection.values(f"SELECT tfprof_open('{path}')")
            ((rows,),) = connection.values("SELECT count(*) FROM ops WHERE name IS NOT NULL")
            change(path)
            fails(connection, f"SELECT tfprof_save('{target}/copy.tfprof')", path, "cannot be read any more",
                  "tfprof_close(1)")
            assert os.listdir(target) == []
            make_dump(path, 300, 5, "make_ops_dump")
            connection.values("SELECT tfprof_refresh()")
            assert connection.values(f"SELECT tfprof_save('{target}/copy.tfprof')") == [(1,)]
            connection.values("SELECT tfprof_close(id) FROM runs")
            connection.values(f"SELECT tfprof_open('{target}/copy.tfprof')")
            assert connection.values("SELECT count(*) FROM ops WHERE name IS NOT NULL") == [(rows,)], change
            os.unlink(f"{target}/copy.tfprof")
            os.unlink(path)


def test_describing(engine):
    connection = opened(engine)
    connection.query("INSERT INTO node_type_patterns VALUES ('.*', 'one'), ('.*', 'two')")
    tables = dict(
        (name, rows)
        for name, rows, title in connection.values("SELECT name, rows, title FROM tfprof_tables WHERE title <> ''")
    )
    assert tables["node_type_patterns"] == 2
    for name in tables:
        assert connection.values(f"SELECT count(*) FROM {name}") == [(tables[name],)], name
    described = connection.values("SELECT table_name, column_name, type FROM tfprof_columns WHERE description <> ''")
    for table in tables:
        declared = connection.values(f"SELECT name, type FROM pragma_table_info('{table}')")
        assert declared == [(column, kind) for name, column, kind in described if name == table], table
    assert connection.values("SELECT unit FROM tfprof_columns WHERE table_name = 'ops' AND column_name = 'dur_ns'") == [
        ("ns",)
    ]
    connection.query("DROP TABLE temp.node_type_patterns")
    for listing in ("tfprof_tables WHERE name", "tfprof_columns WHERE table_name"):
        assert connection.values(f"SELECT count(*) FROM {listing} = 'node_type_patterns'") == [(0,)], listing
    # What was copied out of it does not go away with it.
    assert connection.values(
        "SELECT length(group_concat(name)) > 100 FROM (SELECT DISTINCT name FROM tfprof_tables ORDER BY name DESC)"
    ) == [(1,)]


if __name__ == "__main__":
    run_tests(sys.modules[__name__])
