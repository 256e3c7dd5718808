#!/usr/bin/env python3
"""bench_queries.py: queries on the virtual table `ops` and on SQLite's own table of the same rows, in one run.

    bench_queries.py [--rows 1000000] [--repeat 5] [--build DIRECTORY] [--dump FILE]

Without --dump it makes one with make_ops_dump.  The native table has id as its INTEGER PRIMARY KEY, and indexes on name
and parent_id, which the virtual table needs nobody to make.  Times are the smallest of `repeat` runs (a cold open: one
run), in milliseconds of processor time (user and system), so that a busy machine changes them little.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "sql"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import figures
from engines import BUILD, CommandLine

QUERIES = [
    ("count", "SELECT count(*) FROM {t}"),
    ("sum of one column", "SELECT sum(dur_ns) FROM {t}"),
    ("group by name", "SELECT name, count(*), sum(dur_ns) FROM {t} GROUP BY name ORDER BY 3 DESC LIMIT 10"),
    (
        "group by name, category",
        "SELECT name, category, count(*), sum(dur_ns) FROM {t} GROUP BY name, category ORDER BY 4 DESC LIMIT 10",
    ),
    ("distinct name", "SELECT count(*) FROM (SELECT DISTINCT name FROM {t})"),
    ("scan with two bounds", "SELECT count(*) FROM {t} WHERE dur_ns BETWEEN 1000 AND 2000"),
    ("scan of four columns", "SELECT count(name), max(thread_id), min(start_ns), sum(dur_ns) FROM {t}"),
    ("LIKE", "SELECT count(*) FROM {t} WHERE name LIKE '%operator_1%'"),
    ("name =", "SELECT count(*), sum(dur_ns) FROM {t} WHERE name = 'aten::made_operator_7'"),
    ("order by limit", "SELECT id, name, dur_ns FROM {t} ORDER BY dur_ns DESC LIMIT 10"),
    (
        "time range",
        "SELECT count(*), sum(dur_ns) FROM {t} WHERE start_ns BETWEEN {start} + 1000000000 AND {start} + 1100000000",
    ),
    ("join by id", "SELECT count(*), sum(p.dur_ns) FROM {t} c JOIN {t} p ON p.id = c.parent_id"),
    (
        "join by parent_id",
        "SELECT count(*), sum(c.dur_ns) FROM {t} p JOIN {t} c ON c.parent_id = p.id "
        "WHERE p.name = 'aten::made_operator_7'",
    ),
    (
        "join, group by name",
        "SELECT p.name, sum(c.dur_ns) FROM {t} c JOIN {t} p ON p.id = c.parent_id "
        "GROUP BY p.name ORDER BY 2 DESC LIMIT 5",
    ),
]


class Timed(CommandLine):
    """The sqlite3 shell, with milliseconds of processor time."""

    def time(self, sql):
        lines, error = self.run(f".timer on\n{sql};\n.timer off")
        if error:
            raise SystemExit(f"{sql}: {error}")
        user, system = re.search(r"user ([0-9.]+) sys ([0-9.]+)", "\n".join(lines)).groups()
        return (float(user) + float(system)) * 1000

    def memory(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            return int(re.search(r"VmRSS:\s+(\d+)", status.read())[1]) * 1024


def make_native(extension, dump, database):
    connection = Timed(extension, database)
    connection.values(f"SELECT tfprof_open('{dump}')")
    columns = connection.values("SELECT column_name, type FROM tfprof_columns WHERE table_name = 'ops'")
    declared = ", ".join(f"{name} {kind}{' PRIMARY KEY' if name == 'id' else ''}" for name, kind in columns)
    for sql in (
        f"CREATE TABLE native({declared})",
        "INSERT INTO native SELECT * FROM ops",
        "CREATE INDEX native_name ON native(name)",
        "CREATE INDEX native_parent ON native(parent_id)",
        "ANALYZE",
    ):
        error = connection.query(sql)[1]
        if error:
            raise SystemExit(error)
    connection.close()


def measure_cold(extension, dump):
    connection = Timed(extension)
    before = connection.memory()
    opened = connection.time(f"SELECT tfprof_open('{dump}')")
    first = connection.time("SELECT name, dur_ns FROM ops LIMIT 1")
    everything = connection.time("SELECT * FROM ops LIMIT 1")
    ((rows,),) = connection.values("SELECT count(*) FROM ops")
    connection.query("SELECT count(*) FROM (SELECT * FROM ops ORDER BY attributes LIMIT 1)")
    print(
        f"open {opened:.1f} ms, first row {first:.1f} ms, first row of all columns {everything:.1f} ms; "
        f"with all columns in memory {(connection.memory() - before) / rows:.0f} bytes a row"
    )
    dump_name = f"Dump of {figures.count(rows)} ops"
    for what, value in (("open, through SQLite", opened), ("first row, two columns", first),
                        ("every column, derived ones too, through SQLite", everything)):
        figures.tell("opening", f"{dump_name}: {what}", value, "CPU ms", "bench_queries.py")
    connection = Timed(extension)
    connection.values(f"SELECT tfprof_open('{dump}')")
    print(f"group by name right after opening {connection.time(QUERIES[2][1].format(t='ops')):.1f} ms")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=1000000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--build", default=BUILD)
    parser.add_argument("--dump")
    arguments = parser.parse_args()
    extension = os.path.abspath(os.path.join(arguments.build, "tfprof"))
    with tempfile.TemporaryDirectory() as directory:
        dump = arguments.dump or os.path.join(directory, "ops.tfprof")
        if not arguments.dump:
            program = os.path.join(arguments.build, "tests", "make_ops_dump")
            subprocess.run([program, dump, str(arguments.rows)], check=True, stdout=subprocess.DEVNULL)
        measure_cold(extension, dump)
        database = os.path.join(directory, "native.db")
        make_native(extension, dump, database)
        connection = Timed(extension, database)
        connection.values(f"SELECT tfprof_open('{dump}')")
        connection.query("PRAGMA cache_size = -4000000")
        connection.query("PRAGMA temp_store = 2")
        ((rows, start),) = connection.values("SELECT count(*), min(start_ns) FROM native NOT INDEXED")
        print(f"{'milliseconds, ' + str(rows) + ' rows':<34}{'virtual':>9}{'native':>9}{'ratio':>8}")
        for name, query in QUERIES:
            times = []
            for table in ("ops", "native"):
                sql = query.format(t=table, start=start)
                connection.time(sql)  # warm: all pages read, all columns loaded
                times.append(min(connection.time(sql) for _ in range(arguments.repeat)))
            print(f"{name:<34}{times[0]:>9.2f}{times[1]:>9.2f}{times[1] / max(times[0], 0.01):>7.1f}x")
            figures.tell("queries", f"{figures.count(rows)} ops, {name}", times[0], "CPU ms", "bench_queries.py",
                         trials=arguments.repeat, compared=("a native SQLite table of the same rows", times[1]))
        print(
            f"native database {os.path.getsize(database) / rows:.0f} bytes a row, "
            f"dump {os.path.getsize(dump) / rows:.2f}"
        )


if __name__ == "__main__":
    main()
