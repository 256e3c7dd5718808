"""Every stored SELECT can be used, with the oldest and the newest SQLite, over nothing, over little and over much."""

import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from engines import CommandLine, make_dump, run_tests

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
directory = tempfile.TemporaryDirectory(prefix="tfprof-test-")
DUMPS = {
    "nothing": [],
    # Among them numbers of the whole 64-bit range, which have no sum of 64 bits.
    "random rows": [make_dump(os.path.join(directory.name, f"random{i}.tfprof"), 300, i) for i in (3, 5)],
    "ops": [make_dump(os.path.join(directory.name, "ops.tfprof"), 8000, 1, "make_ops_dump")],
    "several": [make_dump(os.path.join(directory.name, f"rank{i}.tfprof"), 100 * i, 20 + i) for i in (1, 2)],
}


def views(connection):
    return connection.values("SELECT name, kind, parameters, message FROM tfprof_views WHERE kind <> 'old'")


def test_no_view_is_broken(engine):
    listed = views(engine())
    assert len(listed) > 20
    for name, kind, parameters, message in listed:
        assert kind in ("view", "check", "function") and message is None, (name, kind, message)
        assert (kind == "function") == (parameters is not None), name


def test_views_are_not_too_deep(engine):
    """Beside other views in one query: SQLite 3.54 takes 1,000 subqueries in all, those of views within views too."""
    connection = engine()
    connection.values("CREATE TEMP VIEW small AS WITH inner AS (SELECT 1) SELECT * FROM inner")
    beside = "".join(" UNION ALL SELECT 1 FROM small" for _ in range(36))
    for name, _, parameters, _ in views(connection):
        if not parameters:
            connection.values(f"SELECT (SELECT count(*) FROM (SELECT * FROM temp.{name})){beside} LIMIT 0")


def test_old_names(engine):
    """A view that was called otherwise still answers to its old name, with the same rows, and tfprof_views tells."""
    connection = engine()
    for dump in DUMPS["ops"]:
        connection.values(f"SELECT tfprof_open('{dump}')")
    listed = connection.values(
        "SELECT name, parameters, message, sql LIKE '%WHERE %' FROM tfprof_views WHERE section = 'old'")
    names = {name for name, _, _, _ in views(connection)}
    with open(os.path.join(ROOT, "sql", "old_names"), encoding="utf-8") as file:
        words = [line.split() for line in file if not line.startswith("#")]
    renamed = {name: {word.split("=")[0] for word in rest if re.fullmatch(r"\w+=\w+", word)} for name, *rest in words}
    assert len(listed) > 40 and not names & {name for name, _, _, _ in listed}
    for name, parameters, message, are_parts in listed:
        told = re.fullmatch(r"is called (\w+) now\. This name goes with version [\d.]+", message)
        assert told and told[1] in names, (name, message)
        if not parameters:
            assert renamed.get(name, set()) <= {column for column, in connection.values(
                f"SELECT name FROM pragma_table_info('{name}')")}, name
            rows, now = (connection.values(f"SELECT * FROM temp.{view}") for view in (name, told[1]))
            assert rows == now or are_parts and set(rows) <= set(now), (name, rows, now)


TYPES = {"INTEGER": (int,), "REAL": (int, float), "TEXT": (str,)}
UNITS = {"gigabytes_per_second": None, "_ns": "ns", "_ratio": "ratio", "bytes_per_second": "bytes/s",
         "flops_per_second": "flops/s", "_bytes": "bytes", "_count": "count"}


def check_types(connection, name, rows):
    """Every value is of the type that the column says, or NULL."""
    described = connection.values(f"SELECT column_name, type FROM tfprof_columns WHERE table_name = '{name}'")
    for row in rows:
        for (column, kind), value in zip(described, eval(row, {"inf": float("inf")})):
            assert value is None or isinstance(value, TYPES[kind]), (name, column, kind, value)


def test_columns_are_described(engine):
    """Of every view, check and function: each column in its order, with the unit that its name says."""
    connection = engine()
    for name, _, _, _ in views(connection):
        named = connection.values(f"SELECT name FROM pragma_table_info('{name}')")
        described = connection.values(
            f"SELECT column_name, unit, description FROM tfprof_columns WHERE table_name = '{name}'")
        assert named and named == [(column,) for column, _, _ in described], (name, named, described)
        for column, unit, text in described:
            ends = [told for end, told in UNITS.items() if column.endswith(end)]
            assert column.isidentifier() and not ends or unit == ends[0], (name, column, unit)
            assert text[0].upper() == text[0] and text.endswith("."), (name, column, text)


def test_every_view_can_be_read(engine):
    for what, dumps in DUMPS.items():
        connection = engine()
        for dump in dumps:
            connection.values(f"SELECT tfprof_open('{dump}')")
        measured = "number BETWEEN -9e18 AND 9e18 AND is_warmup = 0"
        has_steps = connection.values(f"SELECT count(*) FROM steps WHERE {measured}") != [(0,)]
        for name, _, parameters, _ in views(connection):
            bounds = {"first": "-9e18", "last": "9e18"}
            values = [bounds.get(parameter.split("_")[-1], "'*'") for parameter in re.findall(r"\w+", parameters or "")]
            arguments = f"({', '.join(values)})" if parameters else ""
            rows, error = connection.query(f"SELECT * FROM temp.{name}{arguments}")
            needs_steps = not has_steps and "last" in str(parameters)
            are_refused = needs_steps and error and "it has no steps" in error
            # Rows drawn by chance may have no step whose ops were recorded.
            are_refused = are_refused or (what == "random rows" and error and "were not recorded" in error)
            assert not error or are_refused, (what, name, error)
            if name == "advise":
                assert not any("could not be answered" in str(row) for row in rows), (what, rows)
            if engine is not CommandLine:  # whose rows are lines of text
                check_types(connection, name, rows)


def test_views_do_not_depend_on_the_plan(engine):
    """What a view gives does not change when SQLite checks every row again."""
    if engine is not CommandLine:
        return
    verified, plain = CommandLine(environment={"TFPROF_VERIFY_CONSTRAINTS": "1"}), CommandLine()
    for connection in (verified, plain):
        for dump in DUMPS["several"] + DUMPS["ops"]:
            connection.values(f"SELECT tfprof_open('{dump}')")
    for name, _, parameters, _ in views(plain):
        if not parameters:
            ours, theirs = (connection.query(f"SELECT * FROM temp.{name}") for connection in (plain, verified))
            errors = {error and re.sub(r"near line \d+", "", error) for _, error in (ours, theirs)}
            assert sorted(ours[0]) == sorted(theirs[0]) and len(errors) == 1, (name, errors)


def test_titles_and_texts(engine):
    connection = engine()
    trouble = connection.values(
        "SELECT name FROM tfprof_views WHERE title = '' OR sql IS NULL OR trim(sql, ' ' || char(10)) LIKE '%;'"
    )
    assert trouble == [], trouble


def test_a_check_has_one_name(engine):
    """Of its view, of the profiler's layout: asked for by another name than its own it says that."""
    connection = engine()
    checks = [name for name, kind, _, _ in views(connection) if kind == "check"]
    for view in checks:
        name = view.removesuffix("_check")
        for other in {view, name.replace("_", " ").title().replace(" ", "") + "Checker", name.upper()} - {name}:
            error = connection.query(f"SELECT * FROM advise WHERE check_name = '{other}'")[1] or ""
            assert error.endswith(f"there is no check '{other}' in advise: it is called {name}"), (other, error)
    assert connection.query("SELECT * FROM advise WHERE check_name IN ('job', 'no such thing', '')")[1] is None


def test_advice_is_in_order(engine):
    connection = engine()
    for dump in DUMPS["ops"] + DUMPS["several"]:
        connection.values(f"SELECT tfprof_open('{dump}')")
    checks = [name for name, kind, _, _ in views(connection) if kind == "check"]
    total = sum(connection.values(f"SELECT count(*) FROM temp.{name}")[0][0] for name in checks)
    advice = connection.values("SELECT check_name, saves_ns, severity FROM advise")
    assert len(advice) == total
    ranks = {"critical": 0, "warning": 1, "info": 2}
    order = [(ranks[severity], name != "hangs", saves is None, -(saves or 0)) for name, saves, severity in advice]
    assert order == sorted(order), order


if __name__ == "__main__":
    run_tests(sys.modules[__name__])
