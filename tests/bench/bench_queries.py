#!/usr/bin/env python3
"""bench_queries.py: queries on the virtual table `ops` and on SQLite's own table of the same rows, side by side in one run.

    bench_queries.py [--rows 1000000] [--repeat 5] [--build DIRECTORY] [--dump FILE]

Without --dump it makes one with make_ops_dump.  The native table has id as its INTEGER PRIMARY KEY, and indexes on name and parent_id, which
the virtual table needs nobody to make.  Times are the smallest of `repeat` runs (the first row of a cold open: one run each), in
milliseconds of processor time (user and system), so that a busy machine changes them little.
"""
import argparse
import os
import re
import subprocess
import tempfile

QUERIES = [
    ("count", "SELECT count(*) FROM {t}"),
    ("sum of one column", "SELECT sum(dur_ns) FROM {t}"),
    ("group by name", "SELECT name, count(*), sum(dur_ns) FROM {t} GROUP BY name ORDER BY 3 DESC LIMIT 10"),
    ("group by name, category", "SELECT name, category, count(*), sum(dur_ns) FROM {t} GROUP BY name, category ORDER BY 4 DESC LIMIT 10"),
    ("distinct name", "SELECT count(*) FROM (SELECT DISTINCT name FROM {t})"),
    ("scan with two bounds", "SELECT count(*) FROM {t} WHERE dur_ns BETWEEN 1000 AND 2000"),
    ("scan of four columns", "SELECT count(name), max(thread_id), min(start_ns), sum(dur_ns) FROM {t}"),
    ("LIKE", "SELECT count(*) FROM {t} WHERE name LIKE '%operator_1%'"),
    ("name =", "SELECT count(*), sum(dur_ns) FROM {t} WHERE name = 'aten::made_operator_7'"),
    ("order by limit", "SELECT id, name, dur_ns FROM {t} ORDER BY dur_ns DESC LIMIT 10"),
    ("time range", "SELECT count(*), sum(dur_ns) FROM {t} WHERE start_ns >= {start} + 1000000000 AND start_ns < {start} + 1100000000"),
    ("join by id", "SELECT count(*), sum(p.dur_ns) FROM {t} c JOIN {t} p ON p.id = c.parent_id"),
    ("join by parent_id", "SELECT count(*), sum(c.dur_ns) FROM {t} p JOIN {t} c ON c.parent_id = p.id WHERE p.name = 'aten::made_operator_7'"),
    ("join, group by name", "SELECT p.name, sum(c.dur_ns) FROM {t} c JOIN {t} p ON p.id = c.parent_id GROUP BY p.name ORDER BY 2 DESC LIMIT 5"),
]


def run(extension, script, database=":memory:"):
    """Milliseconds of processor time of each statement after `.timer on`, and all that was printed."""
    process = subprocess.run(["sqlite3", "-batch", database], input=f".load {extension}\n{script}", text=True, capture_output=True)
    if process.stderr:
        raise SystemExit(process.stderr)
    times = [(float(user) + float(system)) * 1000 for user, system in re.findall(r"user ([0-9.]+) sys ([0-9.]+)", process.stdout)]
    return times, process.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=1000000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--build", default=os.environ.get("TFPROF_BUILD", "build"))
    parser.add_argument("--dump")
    arguments = parser.parse_args()
    extension = os.path.abspath(os.path.join(arguments.build, "tfprof"))
    with tempfile.TemporaryDirectory() as directory:
        dump = arguments.dump or os.path.join(directory, "ops.tfprof")
        if not arguments.dump:
            subprocess.run([os.path.join(arguments.build, "tests", "make_ops_dump"), dump, str(arguments.rows)], check=True)
        opening = f"SELECT tfprof_open('{dump}');\n"
        times, _ = run(extension, ".timer on\n" + opening + "SELECT * FROM ops LIMIT 1;\nSELECT name, dur_ns FROM ops LIMIT 1;")
        cold, _ = run(extension, ".timer on\n" + opening + QUERIES[2][1].format(t="ops") + ";")
        print(f"open {times[0]:.1f} ms, first row of all columns {times[1]:.1f} ms; group by name right after opening {cold[1]:.1f} ms")

        database = os.path.join(directory, "native.db")
        _, text = run(extension, opening + "SELECT sql FROM (SELECT group_concat(column_name || ' ' || type || CASE column_name WHEN 'id' "
                      "THEN ' PRIMARY KEY' ELSE '' END, ', ') AS sql FROM tfprof_columns WHERE table_name = 'ops');")
        columns = text.strip().split("\n")[-1]
        run(extension, opening + f"CREATE TABLE native({columns});\nINSERT INTO native SELECT * FROM ops;\n"
            "CREATE INDEX native_name ON native(name);\nCREATE INDEX native_parent ON native(parent_id);\nANALYZE;", database)
        script = opening + "PRAGMA cache_size = -4000000;\nPRAGMA temp_store = 2;\nSELECT count(*) FROM native NOT INDEXED;\n"
        rows = int(run(extension, opening + "SELECT count(*) FROM ops;")[1].split()[-1])
        for _, query in QUERIES:  # warm: all pages read, all columns loaded
            script += "".join(query.format(t=table) + ";\n" for table in ("ops", "native"))
        script += ".timer on\n"
        for _, query in QUERIES:
            for table in ("ops", "native"):
                script += (query.format(t=table) + ";\n") * arguments.repeat
        times, _ = run(extension, script, database)
        print(f"{'milliseconds, ' + str(rows) + ' rows':<34}{'virtual':>9}{'native':>9}{'ratio':>8}")
        for number, (name, _) in enumerate(QUERIES):
            first = number * 2 * arguments.repeat
            virtual = min(times[first:first + arguments.repeat])
            native = min(times[first + arguments.repeat:first + 2 * arguments.repeat])
            print(f"{name:<34}{virtual:>9.2f}{native:>9.2f}{native / max(virtual, 0.01):>7.1f}x")
        print(f"native database: {os.path.getsize(database) / rows:.0f} bytes a row; dump: {os.path.getsize(dump) / rows:.2f}")


if __name__ == "__main__":
    main()
