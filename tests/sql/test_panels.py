#!/usr/bin/env python3
"""test_panels.py: every panel follows the grammar of sql/README.md and answers on every fixture.

Its columns are those that its comment draws, `:profile_id` and the steps leave out what they say, and what is left of
all profiles together is what each has by itself.
"""

import glob
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import engines  # noqa: E402

ROOT = os.path.join(HERE, "..", "..")
SHARED = os.environ.get("TFPROF_SHARED")
FIXTURES = [os.path.join(ROOT, "tests", "fixtures", "kineto", "*.json"),
            os.path.join(ROOT, "tests", "golden", "dump-1", "ops.tfprof"),
            os.path.join(ROOT, "tests", "fuzz", "corpus", "tensorflow", "profile")]
if SHARED:
    FIXTURES += [os.path.join(SHARED, "traces", "pytorch", "nccl_a100.json.gz"),
                 os.path.join(SHARED, "traces", "pytorch", "resnet50_num_workers_0.pt.trace.json.gz")]
PAGES = {"overview", "timeline", "code", "ops", "memory", "devices", "ranks", "steps", "compare", "input", "model",
         "counters", "sql"}
# What each kind of chart must and may say.
CHARTS = {"table": ((), ()), "facts": ((), ()), "findings": ((), ()), "marks": ((), ()), "lanes": ((), ()),
          "header": ((), ()),
          "bars": (("label", "value"), ("note",)), "stack": (("x", "y"), ()), "line": (("x", "y"), ("group", "right")),
          "hstack": (("label", "y"), ()), "area": (("x", "y", "series", "group"), ()), "histogram": (("value",), ()),
          "heat": (("x", "y", "value"), ()), "flame": (("label", "value"), ()),
          "multiples": (("x", "y", "series", "unit"), ()),
          "against": (("x", "label", "value"), ()), "compare": (("x", "value"), ("label",)), "blocks": ((), ()),
          "addresses": ((), ()), "icicle": (("label", "y"), ()), "tree": (("label", "value", "mark"), ()),
          "distribution": (("label", "value", "series"), ()), "views": ((), ())}
EVERYWHERE = {"page", "also", "chart", "empty", "step", "width", "needs"}
COLUMNS = {"x", "y", "series", "group", "label", "value", "note", "unit", "step", "mark", "right"}
PARAMETERS = {"profile_id", "first_step", "last_step", "origin_ns"}
NEEDS_CLASSIC = {"test_fixtures"}  # tests/parts.py


def panels():
    for path in sorted(glob.glob(os.path.join(ROOT, "sql", "panels", "*.sql"))):
        with open(path, encoding="utf-8") as file:
            yield os.path.basename(path)[:-len(".sql")], file.read()


def parse(text):
    """(title, sentence, keys, SQL)."""
    lines = text.splitlines()
    comment = [line[3:] for line in lines if line.startswith("-- ")]
    keys, prose = {}, []
    for line in comment[1:]:
        match = re.fullmatch(r"([a-z]+): (.+)", line)
        if match:
            assert match[1] not in keys, line
            keys[match[1]] = match[2]
        else:
            assert not keys, f"prose after a key: {line}"
            prose.append(line)
    return comment[0], " ".join(prose), keys, "\n".join(line for line in lines if not line.startswith("--"))


def bound(sql, **values):
    for name in PARAMETERS:
        sql = re.sub(rf":{name}\b", str(values.get(name, "NULL")), sql)
    return sql


def test_grammar_once(engine):
    connection, places = engine(), set()
    for name, text in panels():
        title, sentence, keys, sql = parse(text)
        assert title and not title.endswith(".") and sentence.endswith((".", "?")), name
        for place in {keys["page"], keys.get("also", keys["page"])}:
            page, position = place.split()
            assert page in PAGES and (page, int(position)) not in places, (name, place)
            places.add((page, int(position)))
        assert keys.get("needs") in (None, "events"), name
        needed, allowed = CHARTS[keys["chart"]]
        assert set(needed) <= set(keys) <= set(needed) | set(allowed) | EVERYWHERE, (name, keys)
        assert set(re.findall(r":([a-z_]+)", sql)) <= PARAMETERS, name
        made = connection.query(f"CREATE TEMP TABLE t_{name} AS {bound(sql)}")
        assert not made[1], (name, made[1])
        columns = {row[0] for row in connection.values(f"SELECT name FROM pragma_table_info('t_{name}')")}
        drawn = {column for key in COLUMNS & set(keys) for column in keys[key].split()}
        assert drawn <= columns, (name, drawn - columns)
        assert ("first_step" in sql) == (keys.get("step") is not None or name == "step_marks"), name
    assert connection.values("SELECT count(*) FROM tfprof_panels") == [(len(list(panels())),)]
    assert {page for page, _ in places} == PAGES


def test_fixtures(engine):
    rows_of = {}
    for fixture in FIXTURES:
        connection = engine()
        assert not connection.query(f"SELECT tfprof_open('{fixture}')")[1], fixture
        profiles = [row[0] for row in connection.values("SELECT id FROM profiles ORDER BY 1")]
        for name, text in panels():
            _, _, keys, sql = parse(text)
            rows, error = connection.query(bound(sql, origin_ns="1000000000"))
            assert not error, (fixture, name, error)
            assert rows == connection.query(bound(sql, origin_ns="1000000000"))[0], (name, "another order")
            rows_of[name] = rows_of.get(name, 0) + len(rows)
            if ":profile_id" in sql and "LIMIT" not in sql and "bucket_ns" not in sql:
                apart = [row for profile in profiles for row in connection.query(
                    bound(sql, origin_ns="1000000000", profile_id=profile))[0]]
                assert sorted(apart) == sorted(rows), (fixture, name)
            if "step" in keys:
                outside = connection.query(bound(sql, first_step=1 << 40, last_step=1 << 41))
                assert outside == ([], None), (fixture, name, outside)
                inside = connection.query(bound(sql, origin_ns="1000000000", first_step=-(1 << 40), last_step=1 << 40))
                assert inside == (rows, None), (fixture, name)
        connection.close()
    # Each has something to show somewhere, but for what only rare or large traces have.
    silent = {name for name, count in rows_of.items() if not count}
    assert len(silent) <= (12 if SHARED else 25), silent
    print("nothing to show:", " ".join(sorted(silent)))


engines.run_tests(sys.modules[__name__])
