#!/usr/bin/env python3
"""differential.py: the virtual tables give what SQLite's own tables of the same rows give.

    differential.py [-n QUERIES] [--seed S] [--engine cli|apsw] [--extension PATH] --open PATH [--open PATH ...]

Opens the profiles, copies every table with CREATE TABLE AS, and runs generated queries twice in the same connection:
once on the virtual tables, once on the copies. Rows must be equal: in order where ORDER BY says so, else as a
multiset; where ORDER BY leaves ties open, the sequence of the sort keys must be equal and the rows as a multiset. A
failing query is printed with the seed, ready to be typed; exit status 1.

The queries are made of joins, =, <>, IS, IN, BETWEEN, LIKE, GLOB, REGEXP with values from the tables and values that
are nearly right (reals against integers, numbers as texts, NULL, the ends of the 64-bit range), OR, NOT, subqueries,
GROUP BY, DISTINCT, ORDER BY in both directions, LIMIT, OFFSET, compound SELECTs, window functions, and the hidden
argument.
"""

import argparse
import collections
import os
import random
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "sql"))
from engines import BUILD, CommandLine, Newest, in_every_python


class Generator:
    """Makes queries with {table} for a table and {table|3} for it with its hidden argument."""

    def __init__(self, engine, seed):
        self.random = random.Random(seed)
        self.engine = engine
        self.tables = {}  # name: {column: type}
        self.values = {}  # (table, column): SQL literals
        self.references = {}  # (table, column): table
        self.profiles = []
        self.learn()

    def rows(self, sql):
        lines, error = self.engine.query(sql)
        if error:
            raise SystemExit(f"{sql}: {error}")
        return [self.engine.cells(line) for line in lines]

    def learn(self):
        # node_type_patterns is a table of SQLite's own.
        ours = "SELECT table_name, column_name, type FROM tfprof_columns WHERE table_name <> 'node_type_patterns'"
        for table, column, kind in self.rows(ours):
            self.tables.setdefault(table, {})[column] = kind
        self.profiles = [row[0] for row in self.rows("SELECT id FROM profiles")]
        for table in self.tables:
            # What is read and derived on first use adds to the diagnostics, so once before anything is copied.
            self.rows(f"SELECT count(*) FROM (SELECT * FROM {table} ORDER BY attributes DESC)")
        for table, columns in self.tables.items():
            _, error = self.engine.query(f"CREATE TABLE c_{table} AS SELECT * FROM {table}")
            if error:
                raise SystemExit(f"copying {table}: {error}")
            for column in columns:
                where = f"WHERE {column} IS NOT NULL ORDER BY random() LIMIT 12"
                sql = f"SELECT DISTINCT quote({column}) FROM c_{table} {where}"
                # A text with a NUL in it cannot be written as a literal.
                literals = [row[0] for row in self.rows(sql) if row and "\0" not in row[0] and "\n" not in row[0]]
                self.values[table, column] = [
                    literal for literal in literals if not re.search("Inf|9.0e\\+999", literal)
                ]
                target = column[:-3] + "s" if column.endswith("_id") else None
                if column == "leaf_frame_id":
                    target = "code_frames"
                if column in ("forward_op_id", "release_op_id"):
                    target = "ops"
                if column == "parent_id":
                    target = table
                if target in self.tables:
                    self.references[table, column] = target
        self.names = [table for table in self.tables if self.rows(f"SELECT count(*) FROM c_{table}")[0][0] != "0"]
        self.names += ["ops", "ops", "kernels"] if "ops" in self.names else []
        self.empty = [table for table in self.tables if table not in self.names]

    # ---- parts ----

    def chance(self, part):
        return self.random.random() < part

    def table(self):
        return self.random.choice(self.empty) if self.empty and self.chance(0.01) else self.random.choice(self.names)

    def column(self, table, kinds=("INTEGER", "REAL", "TEXT")):
        columns = [
            column for column, kind in self.tables[table].items() if kind in kinds and self.values[table, column]
        ]
        if not columns or self.chance(0.03):
            columns = list(self.tables[table])
        if self.chance(0.25):
            usual = [
                column
                for column in ("name", "dur_ns", "start_ns", "id", "profile_id", "step_id", "kind")
                if column in columns
            ]
            columns = usual or columns
        return self.random.choice(columns)

    def literal(self, table, column):
        values = self.values[table, column]
        kind = self.tables[table][column]
        if values and self.chance(0.75):
            value = self.random.choice(values)
            if kind != "TEXT" and self.chance(0.3):
                value = self.random.choice(
                    [
                        f"{value} + 0.5",
                        f"{value} - 1",
                        f"{value} + 1",
                        f"'{value}'",
                        f"' {value} '",
                        f"{value} * 1.0",
                        f"CAST({value} AS TEXT)",
                        f"CAST({value} AS REAL)",
                        f"abs({value})",
                    ]
                )
            if kind == "TEXT" and self.chance(0.2):
                value = self.random.choice(
                    [f"{value} || 'x'", f"substr({value}, 1, 3)", f"upper({value})", f"CAST({value} AS BLOB)"]
                )
            return value
        return self.random.choice(
            [
                "NULL",
                "0",
                "1",
                "-1",
                "5",
                "5.0",
                "2.5",
                "'5'",
                "'5.0'",
                "''",
                "'a'",
                "'zzz'",
                "'aten::'",
                "x'35'",
                "9223372036854775807",
                "-9223372036854775808",
                "9223372036854775808",
                "1e300",
                "-1e300",
                "9007199254740993",
                "9e999",
                "-9e999",
                "0.1",
                "'1e3'",
                "''''",
                "(SELECT 5)",
                "(SELECT '5')",
                "(SELECT NULL)",
                "1700000000000000000",
            ]
        )

    def pattern(self, table, column, any_text, any_letter):
        text = "x"
        values = [value for value in self.values[table, column] if value.startswith("'")]
        if values:
            text = self.random.choice(values)[1:-1]
        start = self.random.randrange(len(text) + 1)
        part = text[start : start + self.random.randint(1, 8)].replace("''", "")
        shape = self.random.choice(["{p}%", "%{p}%", "%{p}", "{p}", "%", "{u}%", "_{p}%", "%{p}_"])
        return "'" + shape.replace("%", any_text).replace("_", any_letter).format(p=part, u=part.upper()) + "'"

    def comparison(self, alias, table):
        column = self.column(table)
        name = f"{alias}.{column}"
        choice = self.random.random()
        if choice < 0.34:
            operator = self.random.choice(
                ["=", "=", "=", "<>", "<", "<=", ">", ">=", "IS", "IS NOT", "IS NOT DISTINCT FROM"]
            )
            if self.chance(0.04):
                name = self.random.choice([f"+{name}", f"{name} COLLATE NOCASE"])
            if self.chance(0.06):
                return f"{self.literal(table, column)} {operator} {name}"
            return f"{name} {operator} {self.literal(table, column)}"
        if choice < 0.44:
            return f"{name} BETWEEN {self.literal(table, column)} AND {self.literal(table, column)}"
        if choice < 0.56:
            values = ", ".join(self.literal(table, column) for _ in range(self.random.randint(1, 6)))
            return f"{name} {self.random.choice(['IN', 'IN', 'IN', 'NOT IN'])} ({values})"
        if choice < 0.62:
            other = self.table()
            other_column = self.column(other)
            return f"{name} IN (SELECT s.{other_column} FROM {{{other}}} s WHERE {self.comparison_simple('s', other)})"
        if choice < 0.68:
            return f"{name} IS {self.random.choice(['', 'NOT '])}NULL"
        if choice < 0.85:
            column = self.column(table, ("TEXT",) if self.chance(0.95) else ("INTEGER",))
            name = f"{alias}.{column}"
            kind = self.random.random()
            if kind < 0.5:
                escape = " ESCAPE '!'" if self.chance(0.05) else ""
                operator = self.random.choice(["LIKE", "LIKE", "NOT LIKE"])
                return f"{name} {operator} {self.pattern(table, column, '%', '_')}{escape}"
            if kind < 0.85:
                return (
                    f"{name} {self.random.choice(['GLOB', 'GLOB', 'NOT GLOB'])} {self.pattern(table, column, '*', '?')}"
                )
            return f"{name} REGEXP '{self.random.choice(['^a', 'mm', '[0-9]$', 'conv|nccl', '.', 'x*'])}'"
        if choice < 0.92:
            other = self.column(table)
            return f"{name} {self.random.choice(['=', '<', '>=', '<>'])} {alias}.{other}"
        return f"length({name}) > {self.random.randint(0, 20)}"

    def comparison_simple(self, alias, table):
        column = self.column(table)
        return f"{alias}.{column} {self.random.choice(['=', '<', '>=', '<>'])} {self.literal(table, column)}"

    def condition(self, alias, table, depth=0):
        choice = self.random.random()
        if depth < 2 and choice < 0.12:
            return f"({self.condition(alias, table, depth + 1)} OR {self.condition(alias, table, depth + 1)})"
        if depth < 2 and choice < 0.16:
            return f"NOT ({self.condition(alias, table, depth + 1)})"
        if depth < 3 and choice < 0.45:
            return f"{self.condition(alias, table, depth + 1)} AND {self.condition(alias, table, depth + 1)}"
        return self.comparison(alias, table)

    def where(self, alias, table):
        return f" WHERE {self.condition(alias, table)}" if self.chance(0.8) else ""

    def source(self, table, alias):
        if self.profiles and table != "runs" and self.chance(0.08):
            return f"{{{table}|{self.random.choice(self.profiles)}}} {alias}"
        return f"{{{table}}} {alias}"

    def columns(self, alias, table, most=4):
        return [f"{alias}.{self.column(table)}" for _ in range(self.random.randint(1, most))]

    def direction(self):
        return self.random.choice(
            ["", " ASC", " DESC", " DESC"] + ([" NULLS LAST", " DESC NULLS FIRST"] if self.chance(0.1) else [])
        )

    def limit(self):
        if self.chance(0.5):
            return ""
        offset = f" OFFSET {self.random.choice([0, 1, 2, 5, 17, 100, 100000, -1])}" if self.chance(0.5) else ""
        return f" LIMIT {self.random.choice([0, 1, 2, 3, 10, 50, 1000, -1])}{offset}"

    def order(self, keys):
        """Mostly in one direction, as that is what the tables do themselves."""
        direction = self.direction()
        return ", ".join(key + (direction if self.chance(0.9) else self.direction()) for key in keys)

    # ---- queries: (SQL, number of leading columns that are the sort keys, whether their order is total) ----

    def simple(self):
        table = self.table()
        source, where = self.source(table, "t"), self.where("t", table)
        shape = self.random.random()
        if shape < 0.2:
            return f"SELECT count(*) FROM {source}{where}", 0, False
        if shape < 0.35:
            return f"SELECT {', '.join(self.columns('t', table))} FROM {source}{where}", 0, False
        if shape < 0.42:
            column = self.column(table)
            aggregate = self.random.choice(
                ["min(t.{0})", "max(t.{0})", "count(t.{0})", "count(DISTINCT t.{0})", "sum(t.{0} % 1009)"]
            )
            return f"SELECT {aggregate.format(column)} FROM {source}{where}", 0, False
        keys = self.columns("t", table, 3)
        if shape < 0.75:
            direction = self.random.choice(["", " DESC"])
            order = ", ".join(key + direction for key in keys) + f", t.id{direction if self.chance(0.8) else ''}"
            return (
                f"SELECT {', '.join(keys)}, t.id FROM {source}{where} ORDER BY {order}{self.limit()}",
                len(keys),
                True,
            )
        extra = self.columns("t", table)
        return f"SELECT {', '.join(keys + extra)} FROM {source}{where} ORDER BY {self.order(keys)}", len(keys), False

    def distinct(self):
        table = self.table()
        columns = list(dict.fromkeys(self.columns("t", table, 4)))
        sql = f"SELECT DISTINCT {', '.join(columns)} FROM {self.source(table, 't')}{self.where('t', table)}"
        if self.chance(0.5):
            return f"{sql} ORDER BY {self.order(columns)}{self.limit()}", len(columns), True
        return sql, 0, False

    def group(self):
        table = self.table()
        keys = list(dict.fromkeys(self.columns("t", table, 3)))
        number = self.column(table, ("INTEGER", "TEXT"))
        having = self.random.choice(["", "", " HAVING count(*) > 2"])
        sql = (
            f"SELECT {', '.join(keys)}, count(*), sum(t.{number} % 1009), min(t.{number}), max(t.{number}),"
            f" count(DISTINCT t.{number})"
            f" FROM {self.source(table, 't')}{self.where('t', table)} GROUP BY {', '.join(keys)}{having}"
        )
        if self.chance(0.5):
            return f"{sql} ORDER BY {self.order(keys)}{self.limit()}", len(keys), True
        if self.chance(0.3):
            return f"{sql} ORDER BY count(*) DESC", 0, False
        return sql, 0, False

    def join(self):
        (left, column), right = self.random.choice(
            [item for item in self.references.items() if item[0][0] in self.names] or list(self.references.items())
        )
        on = f"b.id = a.{column}"
        kind = self.random.choice(["JOIN", "JOIN", "LEFT JOIN"])
        shape = self.random.random()
        if shape < 0.1:
            left_column, right_column = self.column(left), self.column(right)
            on = f"a.{left_column} = b.{right_column}"
        elif shape < 0.2 and "name" in self.tables[left] and "name" in self.tables[right]:
            on = "a.name = b.name"
        elif shape < 0.3 and "start_ns" in self.tables[left] and "start_ns" in self.tables[right]:
            on += (
                " AND a.start_ns >= b.start_ns AND a.start_ns < b.end_ns"
                if self.chance(0.5)
                else " AND a.start_ns BETWEEN b.start_ns AND b.end_ns"
            )
        if self.chance(0.3):
            on += f" AND {self.comparison('b', right)}"
        where = []
        if self.chance(0.6):
            where.append(self.condition("a", left, 1))
        if self.chance(0.4):
            where.append(self.condition("b", right, 1))
        where = " WHERE " + " AND ".join(where) if where else ""
        sides = f"{self.source(left, 'a')} {kind} {self.source(right, 'b')} ON {on}"
        if self.chance(0.2):
            sides = f"{self.source(right, 'b')} {kind} {self.source(left, 'a')} ON {on}"
        if self.chance(0.4):
            key = self.random.choice([f"a.{self.column(left)}", f"b.{self.column(right)}"])
            return f"SELECT {key}, count(*), count(a.id), count(b.id) FROM {sides}{where} GROUP BY {key}", 0, False
        if self.chance(0.3):
            keys = ["a.id", "b.id"]
            return (
                f"SELECT a.id, b.id, {', '.join(self.columns('b', right))} FROM {sides}{where} "
                f"ORDER BY {self.order(keys)}",
                2,
                False,
            )
        return f"SELECT {', '.join(self.columns('a', left) + self.columns('b', right))} FROM {sides}{where}", 0, False

    def nested(self):
        table, other = self.table(), self.table()
        column, other_column = self.column(table), self.column(other)
        links = [(c, target) for (t, c), target in self.references.items() if t == table]
        shape = self.random.random()
        if shape < 0.25 and links:
            link, target = self.random.choice(links)
            condition = f"s.id = t.{link} AND {self.condition('s', target, 1)}"
            exists = f"{self.random.choice(['', 'NOT '])}EXISTS (SELECT 1 FROM {{{target}}} s WHERE {condition})"
            return f"SELECT count(*), min(t.id) FROM {{{table}}} t WHERE {exists}", 0, False
        if shape < 0.4 and links:
            link, target = self.random.choice(links)
            return (
                f"SELECT t.id, (SELECT s.{self.column(target)} FROM {{{target}}} s WHERE s.id = t.{link}) "
                f"FROM {{{table}}} t{self.where('t', table)}",
                0,
                False,
            )
        if shape < 0.55:
            word = self.random.choice(["UNION ALL", "UNION", "EXCEPT", "INTERSECT"])
            sql = (
                f"SELECT t.{column} AS x FROM {{{table}}} t{self.where('t', table)} {word} "
                f"SELECT s.{other_column} FROM {{{other}}} s{self.where('s', other)}"
            )
            if self.chance(0.5):
                return f"{sql} ORDER BY 1{self.limit()}", 1, True
            if self.chance(0.3):
                return (
                    f"SELECT count(*) FROM ({sql} "
                    f"LIMIT {self.random.randint(0, 30)} OFFSET {self.random.randint(0, 30)})",
                    0,
                    False,
                )
            return sql, 0, False
        if shape < 0.7:
            limited = f"SELECT * FROM {{{table}}} t{self.where('t', table)} ORDER BY t.{column}, t.id{self.limit()}"
            return f"SELECT count(*), min(x.id), max(x.id) FROM ({limited}) x", 0, False
        if shape < 0.85:
            order = self.column(table)
            return (
                f"SELECT t.id, row_number() OVER (PARTITION BY t.{column} ORDER BY t.{order}, t.id) "
                f"FROM {{{table}}} t{self.where('t', table)}",
                0,
                False,
            )
        return (
            f"WITH c AS (SELECT t.{column} AS x, count(*) AS n FROM {{{table}}} t{self.where('t', table)} GROUP BY 1) "
            f"SELECT c.x, c.n, count(s.id) FROM c LEFT JOIN {{{other}}} s ON s.{other_column} = c.x GROUP BY c.x, c.n",
            0,
            False,
        )

    def query(self):
        return self.random.choices(
            [self.simple, self.group, self.distinct, self.join, self.nested], [35, 15, 12, 22, 16]
        )[0]()


def virtual(sql):
    return re.sub(r"\{(\w+)(?:\|(\d+))?\}", lambda match: match[1] + (f"({match[2]})" if match[2] else ""), sql)


def native(sql):
    return re.sub(
        r"\{(\w+)(?:\|(\d+))?\}",
        lambda match: f"(SELECT * FROM c_{match[1]} WHERE profile_id = {match[2]})" if match[2] else f"c_{match[1]}",
        sql,
    )


def difference(engine, sql, key_count, is_total):
    """What differs, or None."""
    rows, error = engine.query(virtual(sql))
    expected, expected_error = engine.query(native(sql))
    if error or expected_error:
        # Errors may name different things, but must come together.
        return None if error and expected_error else f"error: {error}\nexpected: {expected_error}"
    if key_count and is_total:
        return None if rows == expected else describe(rows, expected)
    if collections.Counter(rows) != collections.Counter(expected):
        return describe(rows, expected)
    if key_count:
        for row, other in zip(rows, expected):
            if engine.cells(row)[:key_count] != engine.cells(other)[:key_count]:
                return f"order differs at: {row}\nexpected: {other}"
    return None


def describe(rows, expected):
    missing = collections.Counter(expected) - collections.Counter(rows)
    extra = collections.Counter(rows) - collections.Counter(expected)
    text = f"{len(rows)} rows, expected {len(expected)}"
    for word, counter in (("missing", missing), ("extra", extra)):
        text += "".join(f"\n  {word}: {row}" for row in list(counter)[:5])
    return text if missing or extra else text + ", in another order"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("-n", type=int, default=2000, help="number of queries")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--engine", choices=["cli", "apsw"], default="cli")
    parser.add_argument("--extension", default=os.path.join(BUILD, "tfprof"))
    parser.add_argument("--open", action="append", required=True, metavar="PATH")
    parser.add_argument("--keep-going", action="store_true", help="print all failing queries, not only the first")
    parser.add_argument("--explain", action="store_true", help="print the plan of every query")
    arguments = parser.parse_args()
    if arguments.engine == "apsw":
        in_every_python()
    extension = os.path.abspath(arguments.extension)
    engine = CommandLine(extension) if arguments.engine == "cli" else Newest(extension)
    for path in arguments.open:
        _, error = engine.query("SELECT tfprof_open('" + path.replace("'", "''") + "')")
        if error:
            raise SystemExit(error)
    generator = Generator(engine, arguments.seed)
    failures = errors = filled = 0
    for number in range(arguments.n):
        sql, key_count, is_total = generator.query()
        if arguments.explain:
            print(virtual(sql), *engine.query("EXPLAIN QUERY PLAN " + virtual(sql))[0], sep="\n  ")
        trouble = difference(engine, sql, key_count, is_total)
        rows, error = engine.query(virtual(sql))  # again: the first run may have built an index
        errors += bool(error)
        filled += bool(rows)
        if not trouble:
            trouble = difference(engine, sql, key_count, is_total)
        if trouble:
            failures += 1
            print(
                f"query {number} of seed {arguments.seed}, SQLite {engine.version()}:\n{virtual(sql)};\n"
                f"-- instead of\n{native(sql)};\n{trouble}"
            )
            print(*engine.query("EXPLAIN QUERY PLAN " + virtual(sql))[0], sep="\n  ")
            if not arguments.keep_going:
                return 1
    print(
        f"{arguments.n} queries on SQLite {engine.version()}, {failures} differ "
        f"({filled} with rows, {errors} are errors)"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
