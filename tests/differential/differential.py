#!/usr/bin/env python3
"""differential.py: the virtual tables give what SQLite's own tables of the same rows give.

    differential.py [-n QUERIES] [--first NUMBER] [--seed S] [--engine cli|apsw] [--data NAME]...

Query NUMBER of a seed is always the same (queries.py), and is asked four times: of a copy, in tables of SQLite's own of
the same names, so that views read it, too; of the virtual tables on a connection of its own, where nothing has been
read yet; and twice of a connection that goes on, since the first time may build an index for the second. Rows must be
equal: in order where ORDER BY says so, else as a multiset; where ORDER BY leaves ties open, the sequence of the sort
keys must be equal and the rows as a multiset. A query that differs is printed with what shows it again; exit status 1.
"""

import argparse
import collections
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "sql"))
from engines import BUILD, CommandLine, Newest, in_every_python, views_over_temp_tables
from queries import Facts, Generator
from stored import ROOT, stored_functions

WARM_QUERIES = 100  # a connection that goes on goes on for so many, so that queries find it in all states
SQLITE = {"cli": CommandLine, "apsw": Newest}


def quoted(path):
    return "'" + path.replace("'", "''") + "'"


def make(directory, program, name, *arguments):
    path = os.path.join(directory, f"{name}.tfprof")
    command = [os.path.join(BUILD, "tests", program), path, *map(str, arguments)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return f"tfprof_open({quoted(path)})"


def kineto(*names):
    paths = [os.path.join(ROOT, "tests", "fixtures", "kineto", f"{name}.json") for name in names]
    return [f"tfprof_open({quoted(os.path.relpath(path))})" for path in paths]


def tensorflow():
    path = os.path.relpath(os.path.join(ROOT, "tests", "fuzz", "corpus", "tensorflow"))
    files = [("graph_path", "graph.pbtxt"), ("run_meta_path", "run_meta.pbtxt"), ("op_log_path", "op_log")]
    return ["tfprof_open(" + ", ".join(f"'{key}', {quoted(os.path.join(path, name))}" for key, name in files) + ")"]


# What is asked: values of every kind in every column, ops of two recordings, and what is derived from real traces.
DATA = {
    "random": lambda d: [make(d, "make_random_dump", f"random{i}", 80 * i, i) for i in (1, 2)],
    "ops": lambda d: [make(d, "make_ops_dump", "ops", 1400, 4), make(d, "make_random_dump", "random3", 40, 3)],
    "traces": lambda d: kineto("links", "waits", "accelerators", "python", "odd_texts"),
    "ranks": lambda d: kineto("distributed", "gloo", "collectives", "memory", "modules", "times"),
}
if os.path.exists(os.path.join(BUILD, "python", "_tfprof_classic.py")):  # the part that reads graphs
    DATA["graph"] = lambda d: tensorflow() + kineto("old_2021")


class Data:
    """One set of profiles on one engine: the copy, and connections to the virtual tables."""

    def __init__(self, engine, name, directory):
        self.engine, self.name = engine, name
        self.opens = DATA[name](directory)
        self.copy = self.make_copy(os.path.join(directory, f"{name}.db"))
        self.functions = {function.name: function for function in stored_functions()}
        views = self.rows(self.copy, "SELECT name, parameters FROM tfprof_views WHERE kind <> 'old'")
        parameters = {name: self.functions[name].parameters if name in self.functions else [] for name, _ in views}
        # What reads neither tables nor other views of them has nothing to read in the copy, nor has what reads that.
        others = ("SELECT name FROM tfprof_views WHERE sql REGEXP '(scope|graph|code|op)_view|temp[.]advise' "
                  "OR name = 'advise'")
        self.views_of_no_table = {row[0] for row in self.rows(self.copy, others)}
        self.cold, self.warm, self.warm_since = engine(extension=None), engine(extension=None), -1
        known = self.begin(engine(extension=None), has_views=True)
        self.facts = Facts(lambda sql: self.rows(known, sql), self.columns, parameters)

    @staticmethod
    def rows(connection, sql):
        lines, error = connection.query(sql)
        if error:
            raise SystemExit(f"{sql}: {error}")
        return [connection.cells(line) for line in lines]

    def load(self, connection):
        error = connection.load()
        if error:
            raise SystemExit(error)

    def make_copy(self, file):
        """A connection on which the names of our tables are TEMP tables of SQLite's own, and the views are of these."""
        source = self.begin(self.engine(extension=None), has_views=True)
        self.columns = {}
        # node_type_patterns is a table of SQLite's own.
        ours = ("SELECT table_name, column_name, type FROM tfprof_columns "
                "WHERE table_name <> 'node_type_patterns' AND is_cache >= 0 "
                "AND table_name IN (SELECT name FROM tfprof_tables WHERE is_cache >= 0)")
        for table, column, kind in self.rows(source, ours):
            self.columns.setdefault(table, {})[column] = kind
        self.rows(source, f"ATTACH {quoted(file)} AS file")
        for table in self.columns:
            self.rows(source, f"CREATE TABLE file.copy_{table} AS SELECT * FROM {table}")
        source.close()
        copy = self.engine(extension=None, database=file)
        for table, kinds in self.columns.items():
            # The rowid of a virtual table is its id.
            columns = ", ".join(f"{name} {kind}" for name, kind in kinds.items() if name != "id")
            self.rows(copy, f"CREATE TEMP TABLE {table}(id INTEGER PRIMARY KEY, {columns})")
            self.rows(copy, f"INSERT INTO temp.{table} SELECT * FROM copy_{table}")
        self.load(copy)
        views_over_temp_tables(copy)
        return copy

    def begin(self, connection, has_views):
        """Has the connection begin anew, with the profiles opened."""
        connection.begin_anew()
        # Making the views takes most of the time, and does not happen where nothing may be written.
        self.rows(connection, f"PRAGMA query_only = {int(not has_views)}")
        self.load(connection)
        self.rows(connection, "PRAGMA query_only = 0")
        for opening in self.opens:
            self.rows(connection, f"SELECT {opening}")
        return connection

    def warm_for(self, number):
        if number // WARM_QUERIES != self.warm_since:
            self.begin(self.warm, has_views=True)
            self.warm_since = number // WARM_QUERIES
        return self.warm

    # ---- a query as it is asked of either side ----

    @staticmethod
    def virtual(sql):
        return re.sub(r"\{(\w+)(?:\|([^}]*))?\}", lambda match: match[1] + (f"({match[2]})" if match[2] else ""), sql)

    def select_of(self, name, arguments):
        """The SELECT that a call of a table or of a SELECT with parameters stands for, in the copy."""
        if name not in self.functions:
            every = f"SELECT *, rowid, rowid AS _rowid_, rowid AS oid FROM temp.{name}"
            return f"({every})" if arguments == ["'*'"] else f"({every} WHERE profile_id = {arguments[0]})"
        function = self.functions[name]
        values = dict(zip(function.parameters, arguments))

        def call(match):
            return self.select_of(match[1], [values[parameter.strip(" :")] for parameter in match[2].split(",")])

        sql = re.sub(r"temp\.(\w+)\((:[^()]*)\)", call, function.sql)
        return "(" + re.sub(r":(\w+)", lambda match: values.get(match[1], match[0]), sql) + ")"

    def native(self, sql):
        return re.sub(
            r"\{(\w+)(?:\|([^}]*))?\}",
            lambda match: self.select_of(match[1], match[2].split(", ")) if match[2] else match[1],
            sql,
        )


# ---- comparing ----


def is_near(left, right):
    """Whether two cells are equal but for the last digits of a real."""
    if left == right:
        return True
    try:
        left, right = float(left), float(right)
    except ValueError:
        return False
    return abs(left - right) <= 1e-9 * max(abs(left), abs(right), 1e-300)


def are_near(rows, expected):
    """The same of rows in any order, which reals that differ a little would sort differently."""
    left = list(expected)
    for row in rows:
        alike = (i for i, other in enumerate(left) if len(row) == len(other) and all(map(is_near, row, other)))
        found = next(alike, None)
        if found is None:
            return False
        del left[found]
    return not left


def describe(rows, expected):
    missing = collections.Counter(expected) - collections.Counter(rows)
    extra = collections.Counter(rows) - collections.Counter(expected)
    text = f"{len(rows)} rows, expected {len(expected)}"
    for word, counter in (("missing", missing), ("extra", extra)):
        text += "".join(f"\n  {word}: {row[:2000]}" for row in list(counter)[:5])
    return text if missing or extra else text + ", in another order"


def difference(connection, query, answer, expected):
    """What differs between two (rows, error), or None."""
    (rows, error), (expected, expected_error) = answer, expected
    if error or expected_error:
        # Errors may name different things, but must come together.
        return None if error and expected_error else f"error: {error}\nexpected: {expected_error}"
    if query.keys and query.is_total:
        return None if rows == expected else describe(rows, expected)
    if rows != expected and collections.Counter(rows) != collections.Counter(expected):
        if not query.has_sums:
            return describe(rows, expected)
        if not are_near(*([connection.cells(row) for row in side] for side in (rows, expected))):
            return describe(rows, expected)
    if query.keys:
        for row, other in zip(rows, expected):
            if connection.cells(row)[: query.keys] != connection.cells(other)[: query.keys]:
                return f"order differs at: {row}\nexpected: {other}"
    return None


def ask(data, query, number):
    """Asks all sides; (how it was asked, what differs) or None, and whether there were rows and an error."""
    sql = data.virtual(query.sql)
    warm = data.warm_for(number)
    is_in_copy = not (query.has_views and re.search(rf"\b({'|'.join(data.views_of_no_table)})\b", sql))
    cold = data.begin(data.cold, query.has_views)
    answers = [("on a connection of its own", cold.query(sql)), ("when asked again", cold.query(sql))]
    answers.append((f"behind queries {number - number % WARM_QUERIES} to {number - 1}", warm.query(sql)))
    expected = data.copy.query(data.native(query.sql)) if is_in_copy else answers[0][1]
    for how, answer in answers:
        trouble = difference(data.copy, query, answer, expected)
        if trouble:
            return (how, trouble), expected
    return None, expected


def tell(arguments, data, query, number, how, trouble):
    sql = data.virtual(query.sql)
    print(
        f"query {number} of seed {arguments.seed} on SQLite {data.copy.version()} {how}:\n{sql};\n"
        f"-- instead of\n{data.native(query.sql)};\n-- of {'; '.join(data.opens)}\n{trouble}"
    )
    print(*data.cold.query("EXPLAIN QUERY PLAN " + sql)[0], sep="\n  ", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("-n", type=int, default=2000, help="number of queries")
    parser.add_argument("--first", type=int, default=0, help="the number of the first, to ask one again")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--engine", choices=SQLITE, default="cli")
    parser.add_argument("--data", choices=DATA, action="append", help="ask only of these")
    parser.add_argument("--keep-going", action="store_true", help="print all failing queries, not only the first")
    parser.add_argument("--print", action="store_true", help="print every query")
    arguments = parser.parse_args()
    if arguments.engine == "apsw":
        in_every_python()
    os.chdir(ROOT)
    with tempfile.TemporaryDirectory(prefix="tfprof-differential-") as directory:
        names, every = list(arguments.data or DATA), {}
        counts, joined = collections.Counter(), set()
        for number in range(arguments.first, arguments.first + arguments.n):
            name = names[number // WARM_QUERIES % len(names)]
            if name not in every:
                every[name] = Data(SQLITE[arguments.engine], name, directory)
            data = every[name]
            generator = Generator(data.facts)
            query = generator.query(arguments.seed, number)
            if arguments.print:
                print(f"{number}: {data.virtual(query.sql)}", flush=True)
            trouble, (rows, error) = ask(data, query, number)
            joined |= {generator.joined}
            counts.update(["all"] + ["differ"] * bool(trouble) + ["rows"] * bool(rows) + ["errors"] * bool(error))
            if trouble:
                tell(arguments, data, query, number, *trouble)
                if not arguments.keep_going:
                    break
    print(
        f"{counts['all']} queries of seed {arguments.seed} on SQLite {data.copy.version()}, "
        f"{counts['differ']} differ ({counts['rows']} with rows, {counts['errors']} are errors, "
        f"{len(joined - {None})} pairs of tables)"
    )
    return 1 if counts["differ"] else 0


if __name__ == "__main__":
    sys.exit(main())
