"""queries.py: generated queries on the tables and views, each from a seed and a number alone.

A query is SQL with {ops} where a table stands and {ops|3} where it has its hidden argument; differential.py says what
becomes of these. Generator(facts).query(seed, number) makes it of:

  joins of two or three tables: of every pair in turn, by references, rowids, equal and unequal columns, inner and outer
  =, <>, IS, IN, BETWEEN, LIKE, GLOB, REGEXP, OR and NOT, with values from the tables and values that are nearly right
  (reals against integers, numbers as texts, NULL, the ends of the 64-bit range)
  the rowid by all its names wherever a column may stand, and expressions of columns
  GROUP BY, DISTINCT, ORDER BY in both directions, LIMIT, OFFSET, subqueries, compound SELECTs, window functions
  every view, with conditions on its columns; every SELECT with parameters
"""

import collections
import functools
import random
import re

# sql; how many of the first columns are what it is sorted by; whether that leaves no two rows in either order; whether
# sums of reals are in it, whose last digits depend on the order of adding; whether it reads views
Query = collections.namedtuple("Query", "sql keys is_total has_sums has_views", defaults=(0, False, False, False))

ROWIDS = ("rowid", "_rowid_", "oid")
USUAL = ("name", "dur_ns", "start_ns", "id", "profile_id", "step_id", "kind")
ODD_VALUES = (
    "NULL 0 1 -1 5 5.0 2.5 '5' '5.0' '' 'a' 'zzz' 'aten::' x'35' 9223372036854775807 -9223372036854775808 1e300 -1e300 "
    "9223372036854775808 9007199254740993 9e999 -9e999 0.1 '1e3' '''' (SELECT~5) (SELECT~'5') (SELECT~NULL) "
    "1700000000000000000"
).split()


class Facts:
    """What there is to ask about: rows(sql) answers, as lists of texts.

    What values a column has is asked when it is wanted: a run of few queries wants few of three thousand columns.
    """

    def __init__(self, rows, columns, views):
        """columns: {table: {column: type}}, views: {view: [parameter, ...]}."""
        self.rows, self.tables, self.views = rows, columns, views
        self.profiles = [row[0] for row in rows("SELECT id FROM profiles")]
        self.references = {}  # (table, column): table
        for table, kinds in columns.items():
            for column in kinds:
                target = {"leaf_frame_id": "code_frames", "parent_id": table}.get(column, column[:-3] + "s")
                if column.endswith("_op_id"):
                    target = "ops"
                if column.endswith("_id") and target in columns:
                    self.references[table, column] = target
        self.filled = [table for table in columns if rows(f"SELECT count(*) FROM {table}")[0][0] != "0"]
        self.empty = [table for table in columns if table not in self.filled]
        self.pairs = [(left, right) for left in columns for right in columns]
        random.Random(1).shuffle(self.pairs)
        self.whole_views = [view for view, parameters in views.items() if not parameters]

    @functools.lru_cache(None)
    def view_columns(self, view):
        """{column: "TEXT", "INTEGER" or "REAL"}"""
        names = [row[0] for row in self.rows(f"SELECT name FROM pragma_table_info('{view}')")]
        kinds = self.rows(f"SELECT {', '.join(f'max(typeof({name}))' for name in names)} FROM {view}")[0]
        return {name: kind.upper() for name, kind in zip(names, kinds)}

    def columns(self, table):
        """The same of a table or a view."""
        return self.tables[table] if table in self.tables else self.view_columns(table)

    @functools.lru_cache(None)
    def values(self, table, column):
        """Some, as SQL literals, of a table or a view; none of what is no column."""
        kind = self.columns(table).get(column)
        if kind is None:
            return []
        is_sorted = table in self.tables and kind != "TEXT"
        order = f"ORDER BY {column} * 2654435761 % 4294967291, {column}" if is_sorted else ""
        sql = f"SELECT DISTINCT {column} AS x FROM {table} WHERE {column} IS NOT NULL {order} LIMIT 12"
        found = [row[0] for row in self.rows(f"SELECT quote(x) FROM ({sql})") if row]
        # A text with a NUL in it cannot be written as a literal.
        return [text for text in found if not re.search("[\0\n]|9.0e\\+999", text)]


class Generator:
    def __init__(self, facts):
        self.facts = facts
        self.random = self.pair = self.joined = None  # joined: the pair of tables of the last query, if it was a join

    def query(self, seed, number):
        self.random = random.Random(f"{seed} {number}")
        self.joined = None
        self.pair = self.facts.pairs[number % len(self.facts.pairs)]
        shapes = {
            self.simple: 24, self.group: 14, self.distinct: 14, self.join: 26, self.nested: 14, self.view: 7,
            self.function: 1,
        }
        return self.random.choices(list(shapes), list(shapes.values()))[0]()

    # ---- parts ----

    def chance(self, part):
        return self.random.random() < part

    def choice(self, *of):
        return self.random.choice(of)

    def table(self):
        if self.facts.empty and self.chance(0.02):
            return self.random.choice(self.facts.empty)
        return self.random.choice(self.facts.filled + ["ops", "ops", "kernels"])

    def column(self, table, kinds=("INTEGER", "REAL", "TEXT")):
        """A column, or the rowid by one of its names."""
        if "INTEGER" in kinds and self.chance(0.12):
            return self.random.choice(ROWIDS)
        every = self.facts.tables[table]
        columns = [column for column, kind in every.items() if kind in kinds and self.facts.values(table, column)]
        if not columns or self.chance(0.03):
            columns = list(every)
        if self.chance(0.25):
            columns = [column for column in USUAL if column in columns] or columns
        return self.random.choice(columns)

    def expression(self, alias, table):
        """Mostly a column; else something computed of one or two, which says nothing of the rowid to the planner."""
        name = f"{alias}.{self.column(table)}"
        if self.chance(0.8):
            return name
        rowid = f"{alias}.{self.random.choice(ROWIDS)}"
        return self.choice(
            f"{rowid} % {self.choice(2, 3, 7, 100)}", f"({name} IS NULL) + {rowid} % 2", f"length({name})",
            f"typeof({name})", f"coalesce({name}, {rowid})", f"iif({rowid} % 3, {name}, NULL)",
            f"{name} || '/' || {alias}.{self.column(table)}",
        )

    def expressions(self, alias, table, most=4):
        return list(dict.fromkeys(self.expression(alias, table) for _ in range(self.random.randint(1, most))))

    def columns(self, alias, table, most=4):
        return list(dict.fromkeys(f"{alias}.{self.column(table)}" for _ in range(self.random.randint(1, most))))

    def literal(self, table, column):
        if column in ROWIDS:
            column = "id"
        kind = self.facts.columns(table)[column]
        values = self.facts.values(table, column)
        if not values or not self.chance(0.75):
            return self.random.choice(ODD_VALUES).replace("~", " ")
        value = self.random.choice(values)
        if kind != "TEXT" and self.chance(0.3):
            value = self.choice(
                f"{value} + 0.5", f"{value} - 1", f"{value} + 1", f"'{value}'", f"' {value} '", f"{value} * 1.0",
                f"CAST({value} AS TEXT)", f"CAST({value} AS REAL)", f"abs({value})",
            )
        if kind == "TEXT" and self.chance(0.2):
            value = self.choice(
                f"{value} || 'x'", f"substr({value}, 1, 3)", f"upper({value})", f"CAST({value} AS BLOB)"
            )
        return value

    def pattern(self, table, column, any_text, any_letter):
        texts = [value[1:-1] for value in self.facts.values(table, column) if value.startswith("'")]
        text = self.random.choice(texts or ["x"])
        start = self.random.randrange(len(text) + 1)
        part = text[start : start + self.random.randint(1, 8)].replace("'", "")
        shape = self.choice("{p}%", "%{p}%", "%{p}", "{p}", "%", "{u}%", "_{p}%", "%{p}_")
        return "'" + shape.replace("%", any_text).replace("_", any_letter).format(p=part, u=part.upper()) + "'"

    def pattern_comparison(self, alias, table, column):
        name, kind = f"{alias}.{column}", self.random.random()
        if kind < 0.5:
            escape = " ESCAPE '!'" if self.chance(0.05) else ""
            return f"{name} {self.choice('LIKE', 'LIKE', 'NOT LIKE')} {self.pattern(table, column, '%', '_')}{escape}"
        if kind < 0.85:
            return f"{name} {self.choice('GLOB', 'GLOB', 'NOT GLOB')} {self.pattern(table, column, '*', '?')}"
        return f"{name} REGEXP '{self.choice('^a', 'mm', '[0-9]$', 'conv|nccl', '.', 'x*')}'"

    def operator(self):
        return self.choice("=", "=", "=", "<>", "<", "<=", ">", ">=", "IS", "IS NOT", "IS NOT DISTINCT FROM")

    def comparison(self, alias, table):
        column = self.column(table)
        name, choice = f"{alias}.{column}", self.random.random()
        if choice < 0.32:
            if self.chance(0.06):
                name = self.choice(f"+{name}", f"{name} COLLATE NOCASE")
            if self.chance(0.06):
                return f"{self.literal(table, column)} {self.operator()} {name}"
            return f"{name} {self.operator()} {self.literal(table, column)}"
        if choice < 0.42:
            return f"{name} BETWEEN {self.literal(table, column)} AND {self.literal(table, column)}"
        if choice < 0.53:
            values = ", ".join(self.literal(table, column) for _ in range(self.random.randint(1, 6)))
            return f"{name} {self.choice('IN', 'IN', 'IN', 'NOT IN')} ({values})"
        if choice < 0.59:
            other = self.table()
            where = self.simple_comparison("s", other)
            return f"{name} IN (SELECT s.{self.column(other)} FROM {{{other}}} s WHERE {where})"
        if choice < 0.65:
            return f"{name} IS {self.choice('', 'NOT ')}NULL"
        if choice < 0.82:
            column = self.column(table, ("TEXT",) if self.chance(0.95) else ("INTEGER",))
            return self.pattern_comparison(alias, table, column)
        if choice < 0.88:
            return f"{name} {self.choice('=', '<', '>=', '<>')} {alias}.{self.column(table)}"
        if choice < 0.95:
            divisor = self.choice(2, 3, 5, 50)
            return f"{alias}.{self.random.choice(ROWIDS)} % {divisor} {self.choice('=', '<>', '<')} {self.choice(0, 1)}"
        return f"length({name}) > {self.random.randint(0, 20)}"

    def simple_comparison(self, alias, table):
        column = self.column(table)
        return f"{alias}.{column} {self.choice('=', '<', '>=', '<>')} {self.literal(table, column)}"

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
        if self.facts.profiles and table != "runs" and self.chance(0.08):
            return f"{{{table}|{self.random.choice(self.facts.profiles)}}} {alias}"
        return f"{{{table}}} {alias}"

    def direction(self):
        usual = ["", " ASC", " DESC", " DESC"]
        return self.random.choice(usual + ([" NULLS LAST", " DESC NULLS FIRST"] if self.chance(0.1) else []))

    def limit(self):
        if self.chance(0.5):
            return ""
        offset = f" OFFSET {self.choice(0, 1, 2, 5, 17, 100, 100000, -1)}" if self.chance(0.5) else ""
        return f" LIMIT {self.choice(0, 1, 2, 3, 10, 50, 1000, -1)}{offset}"

    def order(self, keys):
        """Mostly in one direction, as that is what the tables do themselves."""
        direction = self.direction()
        return ", ".join(key + (direction if self.chance(0.9) else self.direction()) for key in keys)

    def aggregates(self, alias, table):
        number = f"{alias}.{self.column(table, ('INTEGER', 'TEXT'))}"
        return self.random.sample(
            ["count(*)", f"sum({number} % 1009)", f"min({number})", f"max({number})", f"count(DISTINCT {number})",
             f"count({number})", f"sum({alias}.rowid % 1009)", f"min({alias}._rowid_)"],
            self.random.randint(1, 4),
        )

    # ---- queries ----

    def simple(self):
        table = self.table()
        rest = f"FROM {self.source(table, 't')}{self.where('t', table)}"
        shape = self.random.random()
        if shape < 0.25:
            return Query(f"SELECT {', '.join(self.aggregates('t', table))} {rest}")
        if shape < 0.4:
            return Query(f"SELECT {', '.join(self.expressions('t', table))} {rest}")
        keys = self.expressions("t", table, 3)
        if shape < 0.75:
            direction = self.choice("", " DESC")
            unique = f"t.{self.choice('id', *ROWIDS)}"
            order = ", ".join(key + direction for key in keys) + f", {unique}{direction if self.chance(0.8) else ''}"
            return Query(f"SELECT {', '.join(keys)}, {unique} {rest} ORDER BY {order}{self.limit()}", len(keys), True)
        shown = ", ".join(keys + self.expressions("t", table))
        return Query(f"SELECT {shown} {rest} ORDER BY {self.order(keys)}", len(keys))

    def distinct(self):
        table = self.table()
        keys = self.expressions("t", table) if self.chance(0.3) else self.columns("t", table)
        sql = f"SELECT DISTINCT {', '.join(keys)} FROM {self.source(table, 't')}{self.where('t', table)}"
        if self.chance(0.4):
            return Query(f"{sql} ORDER BY {self.order(keys)}{self.limit()}", len(keys), True)
        if self.chance(0.2):
            return Query(f"SELECT count(*) FROM ({sql}{self.limit()})")
        return Query(sql)

    def group(self):
        table = self.table()
        keys = self.expressions("t", table, 3) if self.chance(0.3) else self.columns("t", table, 3)
        having = self.choice("", "", " HAVING count(*) > 2", f" HAVING max(t.rowid) % 2 = {self.choice(0, 1)}")
        sql = (
            f"SELECT {', '.join(keys + self.aggregates('t', table))} FROM {self.source(table, 't')}"
            f"{self.where('t', table)} GROUP BY {', '.join(keys)}{having}"
        )
        if self.chance(0.5):
            return Query(f"{sql} ORDER BY {self.order(keys)}{self.limit()}", len(keys), True)
        return Query(sql + (" ORDER BY count(*) DESC" if self.chance(0.3) else ""))

    def join_condition(self, left, right):
        """Of a and b; the last half may leave many pairs of rows."""
        links = [f"b.{self.choice('id', *ROWIDS)} = a.{column}" for (table, column), target in
                 self.facts.references.items() if (table, target) == (left, right)]
        links += [f"a.{self.choice('id', *ROWIDS)} = b.{column}" for (table, column), target in
                  self.facts.references.items() if (table, target) == (right, left)]
        if links and self.chance(0.6):
            return self.random.choice(links)
        columns, others = self.facts.tables[left], self.facts.tables[right]
        alike = [column for column in columns if column in others and column not in ("id", "attributes")]
        shape = self.random.random()
        if shape < 0.35 and alike:
            column = self.random.choice(alike)
            return f"a.{column} {self.choice('=', '=', 'IS')} b.{column}"
        if shape < 0.5 and "start_ns" in columns and "end_ns" in others and "start_ns" in others:
            return self.choice("a.start_ns >= b.start_ns AND a.start_ns < b.end_ns",
                               "a.start_ns BETWEEN b.start_ns AND b.end_ns")
        if shape < 0.65:
            rowids = f"a.{self.random.choice(ROWIDS)} % 11", f"b.{self.random.choice(ROWIDS)} % 11"
            return " = ".join(rowids)
        if shape < 0.8:
            return f"a.rowid = b.{self.choice('id', *ROWIDS)}"
        operator = self.choice("=", "=", "IS", "<", ">=", "<>")
        return f"a.{self.column(left)} {operator} b.{self.column(right)}"

    def join(self):
        left, right = self.joined = self.pair
        on = self.join_condition(left, right)
        if self.chance(0.3):
            on += f" AND {self.comparison('b', right)}"
        kind = self.choice("JOIN", "JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN")
        where = [self.condition("a", left, 1)] if self.chance(0.6) else []
        where += [self.condition("b", right, 1)] if self.chance(0.4) else []
        # SQLite before 3.41 does not offer the argument of the right side of a RIGHT or FULL JOIN; that is an error.
        is_outer = kind in ("RIGHT JOIN", "FULL JOIN")
        sides = f"{self.source(left, 'a')} {kind} {f'{{{right}}} b' if is_outer else self.source(right, 'b')} ON {on}"
        if self.chance(0.12):
            links = [(c, target) for (table, c), target in self.facts.references.items() if table == right]
            if links:
                column, third = self.random.choice(links)
                sides += f" {self.choice('JOIN', 'LEFT JOIN')} {{{third}}} c ON c.id = b.{column}"
                where += [self.simple_comparison("c", third)] if self.chance(0.5) else []
        sides += " WHERE " + " AND ".join(where) if where else ""
        shape = self.random.random()
        if shape < 0.3:
            key = self.choice(self.expression("a", left), self.expression("b", right))
            return Query(f"SELECT {key}, count(*), count(a.id), count(b.rowid) FROM {sides} GROUP BY {key}")
        if shape < 0.4:
            keys = list(dict.fromkeys([self.expression("a", left), self.expression("b", right)]))
            return Query(f"SELECT DISTINCT {', '.join(keys)} FROM {sides}")
        if shape < 0.5:
            key = f"a.{self.column(left)}"
            return Query(f"SELECT DISTINCT {key} FROM {sides} ORDER BY {self.order([key])}", 1, True)
        if shape < 0.75:
            keys = ["a.rowid", "b.id"]
            shown = ", ".join(keys + self.expressions("b", right))
            return Query(f"SELECT {shown} FROM {sides} ORDER BY {self.order(keys)} LIMIT 500", 2, True)
        aggregates = self.aggregates("a", left) + self.aggregates("b", right)
        return Query(f"SELECT {', '.join(aggregates)} FROM {sides}")

    def nested(self):
        table, other = self.table(), self.table()
        where = self.where("t", table)
        links = [(column, target) for (of, column), target in self.facts.references.items() if of == table]
        shape = self.random.random()
        if shape < 0.2 and links:
            link, target = self.random.choice(links)
            condition = f"s.{self.choice('id', 'rowid')} = t.{link} AND {self.condition('s', target, 1)}"
            exists = f"{self.choice('', 'NOT ')}EXISTS (SELECT 1 FROM {{{target}}} s WHERE {condition})"
            return Query(f"SELECT count(*), min(t.rowid) FROM {{{table}}} t WHERE {exists}")
        if shape < 0.35 and links:
            link, target = self.random.choice(links)
            inner = f"(SELECT s.{self.column(target)} FROM {{{target}}} s WHERE s.rowid = t.{link})"
            return Query(f"SELECT t.id, {inner} FROM {{{table}}} t{where}")
        if shape < 0.5:
            condition = f"s.rowid % 13 = t.rowid % 13 AND {self.simple_comparison('s', other)}"
            inner = f"(SELECT count(*) FROM {{{other}}} s WHERE {condition})"
            columns = ", ".join(self.columns("t", table, 2))
            word = self.choice("", "DISTINCT ")
            return Query(f"SELECT {word}{columns} FROM {{{table}}} t WHERE {inner} {self.choice('> 0', '= 1', '< 3')}")
        if shape < 0.65:
            word = self.choice("UNION ALL", "UNION", "EXCEPT", "INTERSECT")
            sql = (
                f"SELECT {self.expression('t', table)} AS x FROM {{{table}}} t{where} {word} "
                f"SELECT {self.expression('s', other)} FROM {{{other}}} s{self.where('s', other)}"
            )
            if self.chance(0.5):
                return Query(f"{sql} ORDER BY 1{self.limit()}", 1, True)
            if self.chance(0.3):
                limit = f"LIMIT {self.random.randint(0, 30)} OFFSET {self.random.randint(0, 30)}"
                return Query(f"SELECT count(*) FROM ({sql} {limit})")
            return Query(sql)
        if shape < 0.78:
            order = f"{self.expression('t', table)}, t.{self.choice('id', 'rowid')}"
            limited = f"SELECT *, t.rowid AS r FROM {{{table}}} t{where} ORDER BY {order}{self.limit()}"
            return Query(f"SELECT count(*), min(x.id), max(x.r) FROM ({limited}) x")
        if shape < 0.9:
            window = f"PARTITION BY {self.expression('t', table)} ORDER BY {self.expression('t', table)}, t.rowid"
            return Query(f"SELECT t.id, row_number() OVER ({window}) FROM {{{table}}} t{where}")
        key, other_key = self.expression("t", table), f"s.{self.column(other)}"
        return Query(
            f"WITH c AS (SELECT {key} AS x, count(*) AS n FROM {{{table}}} t{where} GROUP BY 1) "
            f"SELECT c.x, c.n, count(s.id) FROM c LEFT JOIN {{{other}}} s ON {other_key} = c.x GROUP BY c.x, c.n"
        )

    # ---- views ----

    def view(self):
        view = self.random.choice(self.facts.whole_views)
        # sample_error() asks the store, which a copy has not: errors are left out.
        kinds = {column: kind for column, kind in self.facts.view_columns(view).items()
                 if not re.search("(^|_)error(_(?!count)|$)", column)}
        every = ", ".join(f"v.{column}" for column in kinds)
        firm = [column for column, kind in kinds.items() if kind != "REAL"]  # compared and sorted by the last digit
        conditions = []
        while firm and self.chance(0.5) and len(conditions) < 3:
            column = self.random.choice(firm)
            shape = self.random.random()
            if shape < 0.6:
                conditions.append(f"v.{column} {self.operator()} {self.literal(view, column)}")
            elif shape < 0.75:
                conditions.append(f"v.{column} IN ({self.literal(view, column)}, {self.literal(view, column)})")
            elif shape < 0.85:
                conditions.append(f"v.{column} IS {self.choice('', 'NOT ')}NULL")
            else:
                conditions.append(self.pattern_comparison("v", view, column))
        rest = f"FROM temp.{view} v" + (" WHERE " + " AND ".join(conditions) if conditions else "")
        if self.chance(0.2):
            return Query(f"SELECT count(*) FROM (SELECT {every} {rest}{self.limit()})", has_views=True)
        if firm and self.chance(0.3):
            keys = [f"v.{column}" for column in self.random.sample(firm, min(len(firm), self.choice(1, 2)))]
            sql = f"SELECT {', '.join(keys)}, {every} {rest} ORDER BY {self.order(keys)}"
            return Query(sql, len(keys), False, True, True)
        if firm and self.chance(0.2):
            key = f"v.{self.random.choice(firm)}"
            return Query(f"SELECT {key}, count(*) {rest} GROUP BY {key}", 0, False, True, True)
        return Query(f"SELECT {every} {rest}", 0, False, True, True)

    def function(self):
        """A SELECT with parameters, of profiles and steps that are there: {view|argument, argument ...}."""
        name = self.random.choice([view for view, parameters in self.facts.views.items() if parameters])
        numbers = sorted(int(value) for value in self.facts.values("steps", "number"))
        arguments, is_whole = [], len(self.facts.views[name]) == 6 and self.chance(0.4)
        for parameter in self.facts.views[name]:
            if is_whole and parameter.endswith(("first", "last")):
                arguments.append("NULL")
            elif parameter.endswith("first"):
                arguments.append(str(numbers[0]) if numbers else "0")
            elif parameter.endswith("last"):
                arguments.append(str(self.random.choice(numbers)) if numbers else "0")
            else:
                arguments.append(self.choice("'*'", *self.facts.profiles))
        return Query(f"SELECT * FROM {{{name}|{', '.join(arguments)}}} v", 0, False, True, True)
