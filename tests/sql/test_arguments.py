"""The hidden argument of the tables, and what is said when something cannot be done."""

import json
import os
import shutil
import stat
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from engines import make_dump, run_tests

directory = tempfile.TemporaryDirectory(prefix="tfprof-test-")
DUMPS = [make_dump(os.path.join(directory.name, f"rank{i}.tfprof"), 200 + 50 * i, i) for i in (0, 1, 2)]
NEEDS_CLASSIC = {  # tests/parts.py
    "test_arguments_that_cannot_be_honoured", "test_describing", "test_hidden_argument", "test_opening"}


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
    here = os.getcwd()
    try:  # opened by another path than that from the root on, which a pattern over directories sees, too
        os.chdir(directory.name)
        nearby = engine()
        assert nearby.values("SELECT tfprof_open('rank1.tfprof')") == [(1,)]
        pattern = f"*/{os.path.basename(directory.name)}/rank?.tfprof"
        assert nearby.values(f"SELECT count(*) FROM ops('{pattern}')") == [(counts[one],)]
        fails(nearby, f"SELECT count(*) FROM ops('*{os.path.basename(directory.name)}*')", "no profile is")
        fails(nearby, "SELECT count(*) FROM ops('*/elsewhere/rank?.tfprof')", "no profile is")
    finally:
        os.chdir(here)
    # What names nothing is no empty answer.
    for argument in ("'nothing'", 99, "'*rank9*'", "'/'", "'..'"):
        fails(connection, f"SELECT count(*) FROM ops({argument})", "ops: no profile is", f"{one} (", "rank2.tfprof")
    fails(connection, "SELECT count(*) FROM op_diff('rank1', 'nothing')", "no profile is 'nothing'")
    fails(engine(), "SELECT count(*) FROM ops('run')", "nothing is open", "tfprof_open")
    # Nor is what is no name: a variable that was never set, say.
    for view in ("ops", "op_view"):
        fails(connection, f"SELECT count(*) FROM {view}(NULL)", f"{view}: profile must be", "and is NULL")
        fails(connection, f"SELECT count(*) FROM {view}('')", f"{view}: profile must be", "and is empty")
        fails(connection, f"SELECT count(*) FROM {view} WHERE profile = (SELECT id FROM steps WHERE 0)", "and is NULL")
    fails(connection, "SELECT count(*) FROM op_diff('rank1', NULL)", "op_diff: op_totals: profile must be",
          "and is NULL")
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
    for view in ("ops", "op_view"):
        fails(connection, f"SELECT count(*) FROM {view}(x'00')", f"{view}: profile must be", "path")
        fails(connection, f"SELECT count(*) FROM {view}(1.5)", f"{view}: profile must be")
    fails(connection, "SELECT count(*) FROM ops(1, 2)", "too many arguments")
    fails(
        connection,
        "SELECT count(*) FROM ops o LEFT JOIN steps s ON s.id = o.step_id AND s.profile > o.name",
        "steps: profile takes = only",
    )


def test_ranges_of_steps_that_are_not_there(engine):
    connection = engine()
    folder = tempfile.TemporaryDirectory(prefix="tfprof-test-")
    path = make_dump(os.path.join(folder.name, "steps.tfprof"), 9000, 1, "make_ops_dump")
    connection.values(f"SELECT tfprof_open('{path}')")
    first, last = connection.values("SELECT min(number), max(number) FROM steps")[0]
    assert last > first
    assert connection.values(f"SELECT number FROM _step_range('*', {last}, {last + 9})") == [(last,)]
    for arguments, *words in (
        (f"'*', {last}, {first}", "reversed", f"steps from {first} to {last}"),
        (f"'*', {last + 1}, {last + 9}", f"no step of '*' has a number from {last + 1} to {last + 9}", f"to {last}"),
        (f"'*', 'x', {last}", "'x' to"),
        (f"'nothing', {first}, {last}", "no profile is 'nothing'"),
        (f"NULL, {first}, {last}", "profile must be"),
    ):
        fails(connection, f"SELECT * FROM _step_range({arguments})", "_step_range: ", *words)
        profile, low, high = arguments.split(", ")
        for view in ("op_diff", "kernel_diff"):
            for call in (f"{profile}, '*', {low}, {high}, {first}, {last}",
                         f"'*', {profile}, {first}, {last}, {low}, {high}",
                         f"'*', {profile}, NULL, NULL, {low}, {high}"):
                fails(connection, f"SELECT a_count FROM {view}({call})", f"{view}: ", *words)
    fails(engine(), "SELECT * FROM _step_range('*', 0, 9)", "it has no steps")
    # A bound that is NULL is none.
    every = connection.values("SELECT number FROM steps ORDER BY 1")
    for low, high in ((first, "NULL"), ("NULL", last), ("NULL", "NULL")):
        assert connection.values(f"SELECT number FROM _step_range('*', {low}, {high}) ORDER BY 1") == every, (low, high)
    assert connection.values(f"SELECT number FROM _step_range('*', {last}, NULL)") == [(last,)]


def test_arguments_that_may_be_left_out(engine):
    """op_diff() of whole runs, of ranges on one side or both, and by names of parameters; what must be given must."""
    connection = engine()
    folder = tempfile.TemporaryDirectory(prefix="tfprof-test-")
    path = make_dump(os.path.join(folder.name, "steps.tfprof"), 9000, 1, "make_ops_dump")
    connection.values(f"SELECT tfprof_open('{path}')")
    ((first,),) = connection.values("SELECT min(number) FROM steps")
    whole = connection.values("SELECT op, a_count, a_ns FROM op_diff('*', '*')")
    assert whole and whole == connection.values("SELECT op, a_count, a_ns FROM op_diff('*', '*', NULL, NULL, NULL)")
    one = f"SELECT op, a_count, b_count FROM op_diff('*', '*', {first}, {first})"
    named = (f"SELECT op, a_count, b_count FROM op_diff WHERE a_first = {first} AND b = '*' AND a_last = {first} "
             "AND a = '*'")
    rows = connection.values(one)
    assert rows == connection.values(named) and all(row[1] <= row[2] for row in rows), rows
    calls = connection.values("SELECT count(*) FROM ops WHERE category <> 'user' "
                              f"AND step_id = (SELECT id FROM steps WHERE number = {first})")
    assert calls == [(sum(row[1] for row in rows),)] != [(0,)], (calls, rows)
    assert sum(row[2] for row in rows) == sum(row[1] for row in whole) > sum(row[1] for row in rows)
    for call in ("op_diff('*')", f"op_diff WHERE a = '*' AND a_first = {first}", "op_diff"):
        fails(connection, f"SELECT count(*) FROM {call}", "op_diff: a parameter is missing: use op_diff(a, b [,")


def test_steps_whose_ops_were_not_recorded(engine):
    """Ops that were not recorded would look like ops that the other side alone runs."""
    connection = engine()
    folder = tempfile.TemporaryDirectory(prefix="tfprof-test-")
    path = os.path.join(folder.name, "sampled.json")
    common = {"ph": "X", "pid": 1, "tid": 1}
    events = [
        {**common, "cat": "user_annotation", "name": f"ProfilerStep#{number}", "ts": 1000 * number, "dur": 900}
        for number in (1, 2)
    ]
    events.append({**common, "cat": "cpu_op", "name": "aten::mm", "ts": 2100, "dur": 50})
    with open(path, "w") as file:
        json.dump({"traceEvents": events}, file)
    connection.values(f"SELECT tfprof_open('{path}')")
    assert connection.values("SELECT number, ops_recorded FROM steps") == [(1, 0), (2, 1)]
    assert connection.values("SELECT op, a_count FROM op_diff('*', '*', 1, 2, 2, 2)") == [("aten::mm", 1)]
    fails(
        connection,
        "SELECT * FROM op_diff('*', '*', 2, 2, 1, 1)",
        "op_diff: ops of steps 1 to 1 of '*' were not recorded",
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
    fails(connection, "SELECT tfprof_close('x')", "no run is 'x'; open are: ", f"{second} (")
    fails(connection, "SELECT tfprof_close('')", "tfprof_close: the path is empty")
    fails(connection, "SELECT tfprof_close(NULL)", "tfprof_close takes the id or the path of a run")
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
    views = [name for (name,) in engine().values("SELECT name FROM tfprof_views WHERE kind NOT IN ('function', 'old')")]
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


def test_diagnostics_do_not_depend_on_what_was_asked(engine):
    """They are told when columns are first read, and yet are the same rows with the same ids, however many, before."""
    folder = tempfile.TemporaryDirectory(prefix="tfprof-test-")
    trace = os.path.join(folder.name, "large.json")
    sizes = {"Input Dims": [[1 << 30, 1 << 30], [1 << 30, 1 << 30]], "Input type": ["float", "float"]}
    event = {"ph": "X", "pid": 1, "tid": 1, "cat": "cpu_op", "name": "aten::mm", "ts": 5, "dur": 5, "args": sizes}
    with open(trace, "w") as file:
        json.dump({"traceEvents": [event]}, file)
    dump = make_dump(os.path.join(folder.name, "random.tfprof"), 90, 4)

    def diagnostics(*before):
        connection = engine()
        for path in (trace, dump):
            connection.values(f"SELECT tfprof_open('{path}')")
        for sql in before:
            connection.values(sql)
        counted = connection.values("SELECT id, diagnostic_count FROM profiles")
        told = connection.values("SELECT * FROM diagnostics")
        for profile, count in counted:
            assert count == sum(row[1] == profile for row in told), (counted, told)
        connection.close()
        return told

    expected = diagnostics()
    assert any("flops_too_large" in row for row in expected) and len(expected) > 10, expected
    for before in ("SELECT max(parent_id) FROM input_events", "SELECT total(flops), max(step_id) FROM ops",
                   "SELECT count(*) FROM (SELECT * FROM tensors ORDER BY attributes)"):
        assert diagnostics(before) == expected, before


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
    # Nor is anything saved where somebody else may have laid a link.
    link, empty = os.path.join(directory.name, "link"), os.path.join(directory.name, "empty")
    os.mkdir(empty)
    os.symlink("empty", link)
    for place in (link, link + "/"):
        fails(connection, f"SELECT tfprof_save('{place}')", link, "is a symbolic link")
    if os.getuid() == 0:
        os.chown(empty, 12345, -1)
        fails(connection, f"SELECT tfprof_save('{empty}')", empty, "belongs to another user")
    os.unlink(link)
    os.rmdir(empty)
    assert listed == (sorted(os.listdir(directory.name)), sorted(os.listdir(target)))
    for path in (target, *(os.path.join(target, name) for name in os.listdir(target))):
        assert stat.S_IMODE(os.stat(path).st_mode) & 0o077 == 0, (path, oct(os.stat(path).st_mode))
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
    # Caches are usable by name, and listed to who asks for them.
    caches = [name for name, in connection.values("SELECT name FROM tfprof_tables WHERE is_cache")]
    assert len(caches) > 20 and "op_totals" in caches and not set(caches) & set(tables), caches
    assert [is_cache for is_cache, in connection.values("SELECT DISTINCT is_cache FROM tfprof_columns ORDER BY 1")] == [
        0, 1]
    assert not connection.values("SELECT 1 FROM tfprof_columns WHERE table_name = 'op_totals'")
    # What was copied out of it does not go away with it.
    assert connection.values(
        "SELECT length(group_concat(name)) > 100 FROM (SELECT DISTINCT name FROM tfprof_tables ORDER BY name DESC)"
    ) == [(1,)]


def test_closing_by_path(engine):
    """A run is closed by any spelling of its path, or by its name, where that is one run's alone."""
    connection = engine()
    name = os.path.basename(DUMPS[0])
    for spelling in (DUMPS[0], os.path.relpath(DUMPS[0]), name, name.removesuffix(".tfprof")):
        ((run,),) = connection.values(f"SELECT tfprof_open('{DUMPS[0]}')")
        assert connection.values(f"SELECT tfprof_close('{spelling}')") == [(run,)], spelling
    with tempfile.TemporaryDirectory() as elsewhere:
        shutil.copy(DUMPS[0], elsewhere)
        connection.values(f"SELECT tfprof_open('{DUMPS[0]}'), tfprof_open('{elsewhere}/{name}')")
        fails(connection, f"SELECT tfprof_close('{name}')", f"several runs have the name '{name}'", elsewhere)
        connection.values(f"SELECT tfprof_close('{elsewhere}/{name}'), tfprof_close('{name}')")
    assert connection.values("SELECT count(*) FROM runs") == [(0,)]


if __name__ == "__main__":
    run_tests(sys.modules[__name__])
