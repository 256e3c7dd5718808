"""What the tables take on themselves: every operator appears in the plan and gives what a copy of the table gives."""

import json
import os
import random
import subprocess
import sys
import tempfile

DIRECTORY = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(DIRECTORY, "..", "..")
sys.path.insert(0, DIRECTORY)
from engines import EXTENSION, CommandLine, Newest, copy_table, make_dump, run_tests

directory = tempfile.TemporaryDirectory(prefix="tfprof-test-")
DUMPS = [make_dump(os.path.join(directory.name, f"rank{i}.tfprof"), 400, i) for i in (1, 2, 3)]


def opened(engine, **arguments):
    connection = engine(**arguments)
    for dump in DUMPS:
        connection.values(f"SELECT tfprof_open('{dump}')")
    connection.values("SELECT count(*) FROM (SELECT * FROM ops ORDER BY self_ns)")
    for table in ("ops", "kernels", "steps", "profiles", "tensors"):
        connection.values(f"SELECT count(*) FROM (SELECT * FROM {table} ORDER BY attributes)")
        copy_table(connection, table)
    return connection


def plan(connection, sql):
    rows, error = connection.query("EXPLAIN QUERY PLAN " + sql)
    assert not error, (sql, error)
    return " ".join(rows)


def same(connection, sql, times=1):
    """{t} is the table: the results for it and for its copy, in order."""
    names = ("ops", "kernels", "steps", "profiles", "tensors")
    for _ in range(times):
        result = connection.query(sql.format(**{name: name for name in names}))
        expected = connection.query(sql.format(**{name: "c_" + name for name in names}))
        assert (
            result == expected
        ), f"{sql}\n{result[0][:4]} {len(result[0])} {result[1]}\n{expected[0][:4]} {len(expected[0])} {expected[1]}"
    return result[0]


# (condition on ops, word of the plan that stands for it)
CONDITIONS = [
    ("dur_ns = 54", "dur_ns=?"),
    ("dur_ns = 54.0", "dur_ns=?"),
    ("dur_ns = '54'", "dur_ns=?"),
    ("dur_ns = 54.5", "dur_ns=?"),
    ("dur_ns = 'x'", "dur_ns=?"),
    ("dur_ns = NULL", "dur_ns=?"),
    ("dur_ns IS 54", "dur_ns:is?"),
    ("dur_ns IS NULL", "dur_ns:null"),
    ("dur_ns IS NOT NULL", "dur_ns:notnull"),
    ("dur_ns <> 54", "dur_ns<>?"),
    ("dur_ns IS NOT 54", "dur_ns:isnot?"),
    ("dur_ns < 100", "dur_ns<?"),
    ("dur_ns < 99.5", "dur_ns<?"),
    ("dur_ns <= 100", "dur_ns<=?"),
    ("dur_ns > 100", "dur_ns>?"),
    ("dur_ns >= 100", "dur_ns>=?"),
    ("dur_ns > 'x'", "dur_ns>?"),
    ("dur_ns < 'x'", "dur_ns<?"),
    ("dur_ns < x'00'", "dur_ns<?"),
    ("dur_ns BETWEEN 50 AND 60.5", "dur_ns>=? dur_ns<=?"),
    ("dur_ns IN (1, 54, 60.0, NULL, 'x')", "dur_ns:in?"),
    ("dur_ns < 9223372036854775808.0", "dur_ns<?"),
    ("dur_ns >= -9223372036854775808.0", "dur_ns>=?"),
    ("dur_ns > 9e999", "dur_ns>?"),
    ("sample_weight = 0", "sample_weight=?"),
    ("sample_weight > 2", "sample_weight>?"),
    ("sample_weight < 9e999", "sample_weight<?"),
    ("sample_weight >= 9007199254740993", "sample_weight>=?"),
    ("sample_weight > 9007199254740993", "sample_weight>?"),
    ("sample_weight <= 9007199254740993", "sample_weight<=?"),
    ("sample_weight = 9007199254740993", "sample_weight=?"),
    ("sample_weight < 9007199254740993", "sample_weight<?"),
    ("sample_weight IN (0, 1.5, 9223372036854775807)", "sample_weight:in?"),
    ("sample_weight IS NOT 1.5", "sample_weight:isnot?"),
    ("sample_weight <> '1.5'", "sample_weight<>?"),
    ("name = 'aten::mm%24'", "name=?"),
    ("name = 'no such name'", "name=?"),
    ("name = ''", "name=?"),
    ("name IS 'a'", "name:is?"),
    ("name <> 'aten::mm%24'", "name<>?"),
    ("name IS NOT 'aten::mm%24'", "name:isnot?"),
    ("name < 'b'", "name<?"),
    ("name >= 'aten::' AND name < 'aten:;'", "name>=?"),
    ("name IN ('a', 'mm%4', 'nothing', NULL)", "name:in?"),
    ("name IN (5, '5.0')", "name:in?"),
    ("name LIKE '%MM%'", "name:like?"),
    ("name LIKE 'aten%'", "name:like?"),
    ("name LIKE NULL", "name:like?"),
    ("name LIKE 5", "name:like?"),
    ("name GLOB '*mm*'", "name:glob?"),
    ("name GLOB 'aten*'", "name:glob?"),
    ("name REGEXP '^a.*[0-9]$'", "name:regexp?"),
    ("id = (SELECT id FROM ops LIMIT 1 OFFSET 700)", "by:id"),
    ("rowid = (SELECT id FROM ops LIMIT 1 OFFSET 700)", "by:id"),
    ("id IN (SELECT parent_id FROM ops)", "by:id"),
    ("id = 7", "by:id"),
    ("id = 'x'", "by:id"),
    ("id > (SELECT max(id) - 20 FROM ops)", "id>?"),
    ("id < 68719476736.5 + 30", "id<?"),
    ("id <> 5", "id<>?"),
    ("profile_id = 2", "profile_id=?"),
    ("profile_id > 1", "profile_id>?"),
    ("profile_id IN (1, 3, 99)", "profile_id:in?"),
    ("profile_id BETWEEN 2 AND 2.5", "profile_id>=?"),
    ("profile_id < -1", "profile_id<?"),
    ("profile_id > 1e30", "profile_id>?"),
    ("step_id = (SELECT id FROM steps LIMIT 1 OFFSET 3)", "by:step_id"),
    ("step_id IN (SELECT id FROM steps WHERE number % 2)", "by:step_id"),
    ("step_id IS NULL", "step_id:null"),
    (
        "start_ns >= (SELECT min(start_ns) + 100000 FROM ops) AND start_ns < (SELECT min(start_ns) + 200000 FROM ops)",
        "start_ns>=? start_ns<? order:id",
    ),
    ("dur_ns > 10 AND name LIKE 'a%' AND profile_id = 1 AND step_id IS NOT NULL", "name:like?"),
]

# Not for the tables to decide: the plan must not have them.
LEFT_TO_SQLITE = [
    "name = 5",
    "name < 5",
    "name = x'61'",
    "name COLLATE NOCASE = 'ATEN::MM%24'",
    "dur_ns LIKE '5%'",
    "name LIKE 'a!%%' ESCAPE '!'",
    "length(name) = 3",
    "dur_ns + 0 = 54",
    "name < (SELECT 'b')",
    "+dur_ns = 54",
    "NOT (dur_ns = 54)",
]


def test_conditions(engine):
    connection = opened(engine)
    for condition, word in CONDITIONS:
        sql = f"SELECT id, name, dur_ns FROM {{ops}} WHERE {condition} ORDER BY id"
        text = plan(connection, sql.format(ops="ops"))
        assert word in text, (condition, word, text)
        # Ten times, so that the table comes to build an index where it does.
        same(connection, sql.replace("rowid =", "id ="), 10)


def test_what_is_left_to_sqlite(engine):
    connection = opened(engine)
    for condition in LEFT_TO_SQLITE:
        sql = f"SELECT id FROM {{ops}} WHERE {condition} ORDER BY id"
        text = plan(connection, sql.format(ops="ops"))
        assert "=?" not in text and "<?" not in text and "like?" not in text, (condition, text)
        same(connection, sql)


def test_numbers_that_are_compared_with_texts(engine):
    """What a column of a user's table holds decides how a text compares with it: only SQLite knows."""
    connection = opened(engine)
    connection.query("CREATE TABLE u(i INTEGER, t TEXT, n, r REAL)")
    connection.query(
        "INSERT INTO u VALUES (5, '5', 5, 5), (5, '5.0', '5.0', 5.5), ('x', 'a', 'a', 'a'), (54, '54', 54.0, 54), "
        "(NULL, NULL, NULL, NULL)"
    )
    for left in ("name", "dur_ns", "sample_weight", "id"):
        for right in "itnr":
            for operator in ("=", "<", ">=", "<>", "IS", "IS NOT"):
                same(
                    connection,
                    f"SELECT u.rowid, count(*), min(o.id) FROM u JOIN {{ops}} o ON o.{left} {operator} u.{right} "
                    "GROUP BY 1 ORDER BY 1",
                )
            same(connection, f"SELECT count(*) FROM {{ops}} WHERE {left} IN (SELECT {right} FROM u)")


def test_orders(engine):
    connection = opened(engine)
    for order, word in [
        ("id", "order:id"),
        ("id DESC", "order:-id"),
        ("profile_id, id", "order:id"),
        ("dur_ns, id", "order:dur_ns "),
        ("dur_ns DESC, id DESC", "order:-dur_ns"),
        ("name, dur_ns DESC, id", "order:name,-dur_ns,id"),
        ("dur_ns DESC, id", "order:-dur_ns,id"),
        ("name DESC, step_id, id DESC", "order:-name,step_id,-id"),
        ("sample_weight, id", "order:sample_weight"),
        ("profile_id DESC, name, category DESC, id", "order:-profile_id,name,-category,id"),
    ]:
        sql = f"SELECT id, name, dur_ns FROM {{ops}} ORDER BY {order}"
        text = plan(connection, sql.format(ops="ops")) + " "
        assert word in text and "TEMP B-TREE" not in text, (order, text)
        for limit in ("", " LIMIT 7", " LIMIT 7 OFFSET 300", " LIMIT -1 OFFSET 1190", " LIMIT 5 OFFSET 100000"):
            same(connection, sql + limit)
            same(connection, sql.replace("ORDER", "WHERE dur_ns > 60 AND name IS NOT NULL ORDER") + limit)
    # A few rows are found and sorted faster than the whole table is ordered.
    sql = "SELECT id FROM ops WHERE step_id = 5 AND name = 'x' ORDER BY dur_ns"
    assert "by:" in plan(connection, sql) and "TEMP B-TREE" in plan(connection, sql)
    # Bounds and order by the same column are one.
    sql = "SELECT id, dur_ns FROM {ops} WHERE dur_ns BETWEEN 20 AND 25 ORDER BY dur_ns DESC, id DESC"
    same(connection, sql)
    sql = "SELECT dur_ns FROM {ops} WHERE dur_ns BETWEEN 20 AND 25 ORDER BY dur_ns DESC"
    assert "by:dur_ns order:-dur_ns" in plan(connection, sql.format(ops="ops"))
    same(connection, sql)


def test_groups(engine):
    connection = opened(engine)
    for columns in (
        "name",
        "profile_id",
        "profile_id, name",
        "name, profile_id",
        "step_id, name, category",
        "id",
        "name, id",
        "sample_weight",
        "name, dur_ns, step_id, category",
    ):
        count = len(columns.split(","))
        sql = f"SELECT {columns}, count(*), sum(dur_ns) FROM {{ops}} GROUP BY {columns}"
        text = plan(connection, sql.format(ops="ops"))
        assert "group:" in text and "TEMP B-TREE" not in text, (columns, text)
        orders = [f"ORDER BY {columns}", f"ORDER BY {columns} DESC", "ORDER BY " + columns.replace(",", " DESC,")]
        for order in orders + [f"ORDER BY count(*) DESC, {columns}"]:
            same(connection, f"{sql} {order}")
            same(connection, f"{sql.replace('GROUP', 'WHERE name > 0 AND dur_ns > 60 GROUP')} {order}")
        same(connection, f"SELECT count(*) FROM (SELECT DISTINCT {columns} FROM {{ops}})")
        same(connection, f"SELECT DISTINCT {columns} FROM {{ops}} ORDER BY {','.join(map(str, range(1, count + 1)))}")
        same(
            connection,
            f"SELECT DISTINCT {columns} FROM {{ops}} WHERE dur_ns < 100 "
            f"ORDER BY {','.join(map(str, range(1, count + 1)))}",
        )
    text = plan(connection, "SELECT DISTINCT name FROM ops")
    assert "distinct:name" in text or "group:name" in text, text
    # Five columns are more than the tables sort by.
    same(
        connection,
        "SELECT name, dur_ns, step_id, category, start_ns, count(*) FROM {ops} "
        "GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5",
    )


def test_rows_that_only_their_rowid_tells_apart(engine):
    """colUsed does not tell of it: rows that are equal in all columns that a query reads may not be left out then."""
    connection = opened(engine)
    for condition in (
        "{r} % 2 = 1",
        "name <> 'x' AND {r} % 7 IN (3, 5)",
        "EXISTS (SELECT 1 FROM {{steps}} s WHERE s.rowid % 3 = {r} % 3 AND s.number % 2 = {r} % 2)",
        "(SELECT count(*) FROM {{steps}} s WHERE s.number < {r} % 11) > 4",
        "{r} IN (SELECT op_id FROM {{kernels}})",
        "{r} % 5 = 2 OR {r} % 7 = 0",
        "CASE WHEN category = 'op' THEN {r} % 3 = 0 ELSE 0 END",
    ):
        for rowid in ("t.rowid", "t._rowid_", "t.oid", "t.id"):
            where = condition.format(r=rowid)
            for columns in ("name", "step_id", "category, name", "profile_id"):
                for direction in ("", " DESC"):
                    order = columns.replace(",", direction + ",") + direction
                    same(connection, f"SELECT DISTINCT {columns} FROM {{ops}} t WHERE {where} ORDER BY {order}")
                same(connection, f"SELECT count(*) FROM (SELECT DISTINCT {columns} FROM {{ops}} t WHERE {where})")
                same(
                    connection,
                    f"SELECT {columns}, count(*), min({rowid}) FROM {{ops}} t WHERE {where} "
                    f"GROUP BY {columns} ORDER BY {columns}",
                )
    # Where nothing tells them apart, they are left out.
    text = plan(connection, "SELECT DISTINCT name FROM ops WHERE name > 'b'")
    assert "distinct:name" in text, text


def test_first_query_of_a_connection(engine):
    """Texts of conditions are not in memory yet when the walk begins, and other columns load theirs on the way."""
    dump = os.path.join(ROOT, "tests", "golden", "dump-1", "ops.tfprof")
    warm = engine()
    warm.values(f"SELECT tfprof_open('{dump}')")
    copy_table(warm, "ops")
    for condition in ("name = {}", "name <> {}", "name IS NOT {}", "name IN ({}, 'x')", "name > {}", "name || '' = {}"):
        for name in ("'aten::made_operator_0'", "'nothing has this name'"):
            for rest in (
                "ORDER BY step_id",
                "AND step_id BETWEEN 0 AND 9e18 ORDER BY step_id",
                "AND self_ns >= 0 ORDER BY self_ns DESC",
                "AND step_id IN (SELECT id FROM steps)",
                "AND category = 'op'",
            ):
                where = f"{condition.format(name)} {rest}"
                sql = f"SELECT count(*), sum(x) FROM (SELECT id % 1009 AS x FROM ops WHERE {where} LIMIT 1000000)"
                cold = engine()
                cold.values(f"SELECT tfprof_open('{dump}')")
                first, second = cold.values(sql), cold.values(sql)
                cold.close()
                assert first == second == warm.values(sql.replace("FROM ops", "FROM c_ops")), (sql, first, second)


def test_columns_of_one_value(engine):
    """Before a long walk a condition is decided at once for columns that have one value in all rows of each profile."""
    connection = engine()
    for rank in (0, 1):
        events = [
            {"ph": "X", "cat": "cpu_op", "name": f"aten::o{i % 7}", "pid": 1, "tid": 1, "ts": 10 * i, "dur": 5}
            for i in range(900)
        ]
        path = os.path.join(directory.name, f"alike{rank}.json")
        with open(path, "w") as file:
            json.dump({"distributedInfo": {"rank": rank, "world_size": 2}, "traceEvents": events}, file)
        connection.values(f"SELECT tfprof_open('{path}')")
    copy_table(connection, "ops")
    for condition in (
        "is_measured = 1", "is_measured = 0", "is_measured IS NOT 1", "is_measured IN (0, 1)", "is_measured IN (3)",
        "sample_weight = 1", "sample_weight > 1", "sample_weight >= 1", "category = 'op'", "category <> 'op'",
        "category GLOB 'o*'", "category IN ('x', 'op')", "category IN (SELECT 'y')", "bytes_accessed IS NULL",
        "bytes_accessed IS NOT NULL", "bytes_accessed >= 0", "bytes_accessed IS NOT 3", "profile_id = 1",
        "profile_id IN (1, 2)", "profile_id <> 2", "profile_id IN (SELECT 1 WHERE 0)", "sample_weight IN (2, 1)",
    ):
        for others in ("", " AND name <> 'aten::o3'", " AND start_ns > 200000", " AND is_measured = 1"):
            where = f"WHERE {condition}{others}"
            same(connection, f"SELECT count(*), sum(start_ns) FROM {{ops}} {where}", 2)
            same(connection, f"SELECT name, count(*) FROM {{ops}} {where} GROUP BY 1 ORDER BY 1", 2)
            order = "ORDER BY 1 DESC, 2 DESC LIMIT 9 OFFSET 950"
            same(connection, f"SELECT start_ns, profile_id FROM {{ops}} {where} {order}")


def test_joins(engine):
    connection = opened(engine)
    text = plan(connection, "SELECT count(*) FROM kernels k JOIN ops o ON o.id = k.op_id")
    assert "by:id" in text, text
    text = plan(connection, "SELECT count(*) FROM steps s CROSS JOIN ops o ON o.step_id = s.id")
    assert "by:step_id" in text, text
    for sql in (
        "SELECT k.id, o.name FROM {kernels} k JOIN {ops} o ON o.id = k.op_id ORDER BY k.id",
        "SELECT k.id, o.name FROM {kernels} k LEFT JOIN {ops} o ON o.id = k.op_id AND o.dur_ns > 50 ORDER BY k.id",
        "SELECT s.id, count(o.id), sum(o.dur_ns) FROM {steps} s LEFT JOIN {ops} o ON o.step_id = s.id "
        "GROUP BY s.id ORDER BY s.id",
        "SELECT s.id, count(*) FROM {steps} s CROSS JOIN {ops} o ON o.start_ns >= s.start_ns AND o.start_ns < s.end_ns "
        "GROUP BY s.id ORDER BY s.id",
        "SELECT a.name, count(*) FROM {ops} a JOIN {kernels} b ON a.name = b.name GROUP BY a.name ORDER BY a.name",
        "SELECT p.id, (SELECT count(*) FROM {ops} o WHERE o.profile_id = p.id) FROM {profiles} p ORDER BY 1",
        "SELECT count(*) FROM {ops} WHERE step_id IN (SELECT id FROM {steps} WHERE dur_ns IS NOT NULL) "
        "AND profile_id = 2",
        "SELECT o.id FROM {ops} o WHERE EXISTS (SELECT 1 FROM {kernels} k WHERE k.op_id = o.id AND k.dur_ns > 50) "
        "ORDER BY o.id",
        "SELECT id FROM {ops} WHERE dur_ns = 54 OR name = 'a' OR step_id IS NULL AND dur_ns < 20 ORDER BY id",
    ):
        same(connection, sql, 2)


def test_outer_joins_that_come_later(engine):
    """What a view says is looked at anew when it is another one, though the statement is the same."""
    connection = opened(engine)
    sql = "SELECT count(*), count(step) FROM replaced"
    for join in ("JOIN", "LEFT JOIN", "JOIN"):
        connection.query("DROP VIEW IF EXISTS temp.replaced")
        connection.query("CREATE TEMP VIEW replaced AS SELECT b.id, a.id AS step FROM temp.ops b "
                         f"{join} temp.steps a ON a.id = b.step_id AND b.name LIKE 'a%'")
        expected = connection.values(f"SELECT count(*), count(a.id) FROM c_ops b {join} c_steps a ON a.id = b.step_id "
                                     "AND b.name LIKE 'a%'")
        assert connection.values(sql) == connection.values(sql) == expected, join


def test_outer_joins_in_other_words(engine):
    """Which conditions of an outer join concern its left table is told by the words of the statement and its views."""
    connection = opened(engine)
    connection.query("CREATE TEMP VIEW flagged AS SELECT id, step_id, name <> 'a' AS flag FROM ops")
    connection.query("CREATE TABLE c_flagged AS SELECT id, step_id, name <> 'a' AS flag FROM c_ops")
    for join in (
        "{ops} b LEFT JOIN {steps} a ON a.id = b.step_id",
        "{ops} b LEFT JOIN {steps} a USING (profile_id)",
        "{ops} b NATURAL LEFT JOIN (SELECT 1 AS profile_id) a",
        "{ops} b LEFT JOIN {steps} a ON a.id = b.step_id AND (b.name = 'a' OR b.name <> 'a')",
        "{ops} b LEFT JOIN {steps} a ON a.id = b.step_id AND (b.name <> 'a')",
        "{ops} b LEFT JOIN {steps} a ON a.id = b.step_id AND/*'*/b.name<>'a'",
        "{ops} b LEFT -- a comment\n JOIN {steps} a ON a.id = b.step_id AND b.name NOT LIKE 'a%'",
        "{ops} b LEFT JOIN {steps} a ON like('a%', b.name)",
        "({ops}) b left outer join {steps} [a] on a.id = b.step_id and b.name not null",
        "{ops} b LEFT JOIN (SELECT id FROM {steps} AS c LEFT JOIN (SELECT 1) ON c.dur_ns > 5) a"
        " ON a.id = b.step_id AND b.name IS NOT 'ON a = b'",
        "{flagged} b LEFT JOIN {steps} a ON b.flag",
        "{flagged} b LEFT JOIN {steps} a ON b.flag AND a.id = b.step_id",
        "{ops} b LEFT JOIN {steps} a ON b.id = 1 JOIN {steps} d ON d.id = b.step_id AND b.name <> 'a'",
    ):
        for where in ("", " WHERE b.id <> 5", " WHERE b.step_id IS NOT NULL"):
            sql = f"SELECT count(*), count(a.ROWID IS NULL), total(b.step_id) FROM {join}{where}"
            sql = sql.replace("a.ROWID IS NULL", "CASE WHEN a.profile_id = 1 THEN 1 END" if "profile_id)" in join or
                              "NATURAL" in join else "a.id")
            names = ("ops", "steps", "flagged")
            result = connection.query(sql.format(**{name: name for name in names}))
            expected = connection.query(sql.format(**{name: "c_" + name for name in names}))
            assert result == expected and result[0], (sql, result, expected)


def test_outer_joins_keep_their_rows(engine):
    """Before 3.51 SQLite hands a condition on the left table of a LEFT JOIN to that table as if it stood in WHERE."""
    connection = opened(engine)
    connection.query(
        "CREATE TEMP VIEW joined AS SELECT b.id, b.name, a.id AS step FROM ops b "
        "LEFT JOIN steps a ON a.id = b.step_id AND b.name LIKE 'a%'"
    )
    connection.query(
        "CREATE TEMP VIEW c_joined AS SELECT b.id, b.name, a.id AS step FROM c_ops b "
        "LEFT JOIN c_steps a ON a.id = b.step_id AND b.name LIKE 'a%'"
    )
    for condition in (
        "b.name LIKE 'a%'",
        "b.name LIKE '%m%'",
        "b.name GLOB 'a*'",
        "b.name <> 'a'",
        "b.dur_ns <> 54",
        "b.name IS NOT 'a'",
        "b.dur_ns IS NOT NULL",
        "b.name REGEXP 'm'",
        "b.dur_ns = 54",
        "b.dur_ns > 54",
        "b.name IN ('a', '5')",
    ):
        same(
            connection,
            f"SELECT b.id, a.id FROM {{ops}} b LEFT JOIN {{steps}} a ON a.id = b.step_id AND {condition} ORDER BY b.id",
        )
        same(
            connection,
            f"SELECT count(*), count(a.id) FROM {{ops}} b LEFT JOIN {{steps}} a ON a.profile_id = b.profile_id "
            f"AND {condition}",
        )
        same(connection, f"SELECT count(*) FROM {{ops}} b LEFT JOIN {{steps}} a ON a.id = b.step_id AND {condition}")
        same(
            connection,
            f"SELECT count(*), count(b.id) FROM {{steps}} a LEFT JOIN {{ops}} b ON a.id = b.step_id AND {condition}",
        )
        if connection.version() >= "3.39":
            same(
                connection,
                f"SELECT count(*), count(b.id), count(a.id) FROM {{ops}} b FULL JOIN {{steps}} a ON a.id = b.step_id "
                f"AND {condition}",
            )
            same(
                connection,
                f"SELECT count(*), count(b.id), count(a.id) FROM {{ops}} b RIGHT JOIN {{steps}} a ON a.id = b.step_id "
                f"AND {condition}",
            )
    assert connection.query("SELECT count(*), count(step) FROM joined") == connection.query(
        "SELECT count(*), count(step) FROM c_joined"
    )
    assert connection.query("SELECT count(*) FROM joined WHERE name <> 'a'") == connection.query(
        "SELECT count(*) FROM c_joined WHERE name <> 'a'"
    )


def test_like_of_the_connection(engine):
    """LIKE means what the connection says it means."""
    connection = opened(engine)
    insensitive = same(connection, "SELECT count(*) FROM {ops} WHERE name LIKE '%ATEN%'")
    connection.query("PRAGMA case_sensitive_like = 1")
    sensitive = same(connection, "SELECT count(*) FROM {ops} WHERE name LIKE '%ATEN%'")
    assert insensitive != sensitive
    if engine is Newest:
        connection.connection.create_scalar_function(
            "like",
            lambda pattern, text: text is not None and len(str(text)) == len(str(pattern)),
            2,
            deterministic=True,
        )
        assert same(connection, "SELECT count(*) FROM {ops} WHERE name LIKE 'mm%4'") != ["(0,)"]
        connection.connection.create_scalar_function("regexp", lambda pattern, text: [][0], 2)
        try:
            connection.query("SELECT count(*) FROM ops WHERE name REGEXP 'x'")
            assert False, "the error of the function is lost"
        except IndexError:
            pass


def test_limit_and_offset(engine):
    connection = opened(engine)
    for where in (
        "",
        "WHERE dur_ns > 60",
        "WHERE length(name) > 5",
        "WHERE name LIKE '%m%'",
        "WHERE name = 'a' OR dur_ns = 54",
        "WHERE profile_id = 2",
        "WHERE id IN (SELECT parent_id FROM {ops})",
        "WHERE dur_ns IN (54, 60, 61)",
    ):
        for limit in (
            "LIMIT 5",
            "LIMIT 5 OFFSET 3",
            "LIMIT 0",
            "LIMIT -1 OFFSET 1000",
            "LIMIT 3 OFFSET 1195",
            "LIMIT 10 OFFSET -5",
            "LIMIT 2 + 1 OFFSET 1 + 1",
        ):
            same(connection, f"SELECT id FROM {{ops}} {where} ORDER BY id {limit}")
            same(connection, f"SELECT count(*) FROM (SELECT id FROM {{ops}} {where} {limit})")
    same(
        connection,
        "SELECT count(*) FROM (SELECT id FROM {profiles} UNION ALL SELECT id FROM {steps} LIMIT 10 OFFSET 5)",
    )
    same(
        connection,
        "SELECT * FROM (SELECT id FROM {ops} LIMIT 3 OFFSET 2) UNION ALL "
        "SELECT * FROM (SELECT id FROM {steps} LIMIT 2 OFFSET 1)",
    )
    same(
        connection,
        "SELECT s.id, (SELECT o.id FROM {ops} o WHERE o.step_id = s.id ORDER BY o.id LIMIT 1 OFFSET 1) "
        "FROM {steps} s ORDER BY 1",
    )


def dump_of_widths(path):
    """Ops whose columns are stored in 1, 2, 4 and 8 bytes, as sums, and as texts, each with NULLs; and their values."""
    generator = random.Random(5)
    spread = {"sequence_number": 200, "correlation": 60_000, "flops": 1 << 31, "bytes_accessed": 1 << 60}
    rows = []
    for i in range(3000):
        row = {"name": f"op{generator.randrange(40)}",
               "start_ns": 1_700_000_000_000_000_000 + generator.randrange(1 << 45),
               "dur_ns": generator.randrange(1 << 20)}
        row.update({column: 7 + generator.randrange(size) for column, size in spread.items()})
        rows.append({column: None if generator.random() < 0.1 and column != "name" else value
                     for column, value in row.items()})
    lines = ["\t".join(["=", "ops", *rows[0]])]
    lines += ["\t".join("" if value is None else str(value) for value in row.values()) for row in rows]
    subprocess.run([os.path.join(os.path.dirname(EXTENSION), "tests", "make_dump_of_rows"), path],
                   input="\n".join(lines) + "\n", encoding="utf-8", check=True)
    for row in rows:
        known = row["start_ns"] is not None and row["dur_ns"] is not None
        row["end_ns"] = row["start_ns"] + row["dur_ns"] if known else None
    return rows


def test_rows_passed_over(engine):
    """Rows that cannot match are passed over many at a time, whatever a column is stored as."""
    path = os.path.join(directory.name, "widths.tfprof")
    rows = dump_of_widths(path)
    connection = engine()
    connection.values(f"SELECT tfprof_open('{path}')")
    generator = random.Random(6)
    for column in ("sequence_number", "correlation", "flops", "bytes_accessed", "start_ns", "dur_ns", "end_ns"):
        known = sorted(row[column] for row in rows if row[column] is not None)
        edges = [known[0], known[-1], known[0] - 1, known[-1] + 1, -(1 << 63), (1 << 63) - 1]
        for value in edges + [generator.choice(known) + generator.choice((-1, 0, 1)) for _ in range(30)]:
            other = generator.choice(known)
            for condition, expected in (
                (f"= {value}", sum(x == value for x in known)),
                (f"< {value}", sum(x < value for x in known)),
                (f"<= {value}", sum(x <= value for x in known)),
                (f"> {value}", sum(x > value for x in known)),
                (f">= {value}", sum(x >= value for x in known)),
                (f"BETWEEN {min(value, other)} AND {max(value, other)}",
                 sum(min(value, other) <= x <= max(value, other) for x in known)),
            ):
                found = connection.values(f"SELECT count(*) FROM ops WHERE {column} {condition}")
                assert found == [(expected,)], (column, condition, found, expected)
    for name in [f"op{i}" for i in range(41)]:
        found = connection.values(f"SELECT count(*) FROM ops WHERE name = '{name}' AND flops > 1073741824")
        expected = sum(row["name"] == name and (row["flops"] or 0) > 1 << 30 for row in rows)
        assert found == [(expected,)], (name, found, expected)


def test_checked_again_once(engine):
    """With TFPROF_VERIFY_CONSTRAINTS SQLite checks every row that the tables hand out."""
    verified = CommandLine(environment={"TFPROF_VERIFY_CONSTRAINTS": "1"})
    plain = CommandLine()
    for connection in (verified, plain):
        for dump in DUMPS:
            connection.values(f"SELECT tfprof_open('{dump}')")
    for condition, _ in CONDITIONS:
        sql = f"SELECT id FROM ops WHERE {condition} ORDER BY id"
        assert verified.query(sql) == plain.query(sql), condition


if __name__ == "__main__":
    run_tests(sys.modules[__name__])
