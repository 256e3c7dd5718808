"""engines.py: the oldest and the newest SQLite that the tests run the extension in.

CommandLine is the system's sqlite3, driven through pipes a statement at a time; Newest is the SQLite of the Python
module apsw, in this process. Both answer query(sql) with (rows, error): rows as lines that can be compared with each
other within one engine, or as tuples by values(sql). run_tests() runs every function test_* of a module with each
engine that there is.

To prepare what is asked takes longer than all answers about a small file: asked_before() is a connection to the newest
SQLite that has prepared it with nothing open, and in_child() opens each file in a fork of it.
"""

import functools
import os
import pickle
import re
import subprocess
import sys
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
BUILD = os.environ.get("TFPROF_BUILD") or os.path.join(os.path.dirname(__file__), "..", "..", "build")
EXTENSION = os.path.abspath(os.path.join(BUILD, "tfprof"))
DIRECTORY = os.path.dirname(os.path.abspath(__file__))


def views_over_temp_tables(db):
    """Makes the views anew, so that they read TEMP tables with the names of ours where there are some.

    Ours read tables that nobody can put others in the place of; a test that gives them other rows needs this.
    """
    texts = db.values("SELECT name, hex(sql) FROM tfprof_views WHERE kind IN ('view', 'check')")
    for name, text in texts:
        text = re.sub(r"\btfprof_own\.", "temp.", bytes.fromhex(text).decode())
        for sql in (f"DROP VIEW temp.{name}", f"CREATE TEMP VIEW {name} AS {text}\n"):  # the end may be a comment
            _, error = db.query(sql)
            if error:
                raise AssertionError(f"{name}: {error}")


class CommandLine:
    """The sqlite3 shell."""

    name = "sqlite3"

    def __init__(self, extension=EXTENSION, database=":memory:", options=(), environment=None):
        self.process = subprocess.Popen(
            ["sqlite3", "-batch", *options, database],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(environment or {})},
        )
        self.run('.mode quote\n.headers off\n.separator "," "\\036\\n"')  # a text may have line feeds
        if extension:
            error = self.load(extension)
            if error:
                raise RuntimeError(error)

    def load(self, extension=EXTENSION):
        return self.run(f".load '{extension}'")[1]

    def run(self, text):
        """Types the text; what is printed, and the first error or None."""
        self.process.stdin.write((text + "\n.print \x01end\n").encode())
        self.process.stdin.flush()
        lines, row = [], ""
        while True:
            line = self.process.stdout.readline()
            if not line:
                raise SystemExit(f"sqlite3 died of: {text}")
            line = row + line.decode("utf-8", "replace").rstrip("\n")
            row = ""
            if line.endswith("\x01end"):
                lines += line[: -len("\x01end")].split("\n")[:-1]
                break
            if line.endswith("\x1e"):
                lines.append(line[:-1])
            else:
                row = line + "\n"
        error = next((line for line in lines if re.match(r"(Parse|Runtime) error|Error:", line)), None)
        return [] if error else lines, error

    def query(self, sql):
        return self.run(sql + ";")

    @staticmethod
    def cells(line):
        """The texts of a line's values."""
        cells = re.findall(r"'(?:[^']|'')*'|[^,]+", line)
        return [cell[1:-1].replace("''", "'") if cell.startswith("'") else cell for cell in cells]

    def values(self, sql):
        rows, error = self.query(sql)
        if error:
            raise AssertionError(f"{sql}: {error}")
        return [tuple(self.value(cell) for cell in re.findall(r"'(?:[^']|'')*'|[^,]+", row)) for row in rows]

    @staticmethod
    def value(cell):
        if cell.startswith("'"):
            return cell[1:-1].replace("''", "'")
        return None if cell == "NULL" else float(cell) if re.search("[.eI]", cell) else int(cell)

    def begin_anew(self):
        """Another connection, to an empty database and without the extension."""
        self.run(".open :memory:")
        return self

    def version(self):
        return self.query("SELECT sqlite_version()")[0][0].strip("'")

    def close(self):
        self.process.stdin.close()
        return self.process.wait()


@functools.lru_cache(None)
def newest_sqlite():
    """apsw, or None. Nobody asks it how much memory is in use, and one thread works with a connection: locks for those
    would be a sixth of the time, most of which goes into parsing the views."""
    try:
        import apsw
    except ImportError:
        return None
    apsw.shutdown()
    apsw.config(apsw.SQLITE_CONFIG_MEMSTATUS, False)
    apsw.config(apsw.SQLITE_CONFIG_MULTITHREAD)
    apsw.initialize()
    return apsw


class Newest:
    """The newest SQLite. statements: how many it keeps prepared."""

    name = "apsw"

    def __init__(self, extension=EXTENSION, database=":memory:", flags=None, statements=100):
        self.apsw = newest_sqlite()
        more = {"flags": flags} if flags else {}
        self.connection = self.apsw.Connection(database, statementcachesize=statements, **more)
        self.connection.enable_load_extension(True)
        if extension:
            self.connection.load_extension(extension)

    def load(self, extension=EXTENSION):
        try:
            self.connection.load_extension(extension)
        except self.apsw.Error as error:
            return str(error)
        return None

    def query(self, sql):
        try:
            return [repr(row) for row in self.connection.execute(sql)], None
        except self.apsw.Error as error:
            return [], str(error)

    @staticmethod
    def cells(line):
        return [str(cell) for cell in eval(line, {"inf": float("inf"), "nan": float("nan")})]  # made by repr() above

    def values(self, sql):
        try:
            return [tuple(row) for row in self.connection.execute(sql)]
        except self.apsw.Error as error:
            raise AssertionError(f"{sql}: {error}") from None

    def begin_anew(self):
        self.connection.close()
        self.connection = self.apsw.Connection(":memory:")
        self.connection.enable_load_extension(True)
        return self

    def version(self):
        return self.apsw.sqlite_lib_version()

    def close(self):
        self.connection.close()
        return 0


def asked_before(questions, pragma=None):
    """A connection to the newest SQLite that keeps what these questions were prepared to, with nothing open."""
    connection = Newest(statements=1000)
    if pragma:
        connection.values(pragma)
    for sql in questions:
        connection.query(sql)
    return connection


FEW_ROWS = 200  # of a table, for which every plan does


def plans_do(connection):
    """Whether what was prepared with nothing open is as SQLite, which plans by how many rows there are, prepares it."""
    return connection.values(f"SELECT max(rows) > {FEW_ROWS} FROM tfprof_tables WHERE is_cache >= 0") != [(1,)]


def in_child(work):
    """What it returns in a forked process."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            try:
                answer = pickle.dumps(work())
            except BaseException:
                answer = pickle.dumps(traceback.format_exc())
            with os.fdopen(writing, "wb") as pipe:
                pipe.write(answer)
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pickle.load(pipe)
    os.waitpid(child, 0)
    if isinstance(answer, str):
        raise AssertionError(answer)
    return answer


def engines():
    return [CommandLine] + ([Newest] if newest_sqlite() else [])


def copy_table(connection, table):
    """c_TABLE: a table of SQLite's own with the same rows and the same rowids."""
    columns = connection.values(
        f"SELECT group_concat(column_name || ' ' || type || iif(column_name = 'id', ' PRIMARY KEY', ''), ', ') "
        f"FROM tfprof_columns WHERE table_name = '{table}' AND is_cache >= 0"
    )[0][0]
    for sql in (f"CREATE TABLE c_{table}({columns})", f"INSERT INTO c_{table} SELECT * FROM {table}"):
        error = connection.query(sql)[1]
        assert not error, f"{sql}: {error}"


def make_dump(path, rows=300, seed=1, program="make_random_dump"):
    subprocess.run(
        [os.path.join(BUILD, "tests", program), path, str(rows), str(seed)], check=True, stdout=subprocess.DEVNULL
    )
    return path


def in_every_python():
    """Where this Python has no apsw but TFPROF_PYTHON does, goes on there."""
    other = os.environ.get("TFPROF_PYTHON")
    if len(engines()) > 1 or not other or os.environ.get("TFPROF_TEST_PYTHON"):
        return
    os.environ["TFPROF_TEST_PYTHON"] = "1"
    if subprocess.run([other, "-c", "import apsw"], capture_output=True).returncode == 0:
        os.execv(other, [other] + sys.argv)


# Before a test makes files: what the program that goes on does not know of it cannot remove.
in_every_python()
import scratch  # noqa: E402,F401  (temporary files go where they are removed)
from parts import is_of_build  # noqa: E402


def run_tests(module):
    """Every test_*(engine class) with every engine, *_once with the first only. Exit status 1 when one fails, 77 when
    there is no newest SQLite."""
    failed = 0
    for name, test in sorted(vars(module).items()):
        if not name.startswith("test_") or not is_of_build(name, vars(module)):
            continue
        for engine in engines()[:1] if name.endswith("_once") else engines():
            try:
                test(engine)
                print(f"passed {name} with {engine.name}")
            except Exception:
                failed += 1
                print(f"FAILED {name} with {engine.name}")
                traceback.print_exc(file=sys.stdout)
    if failed:
        sys.exit(1)
    if len(engines()) == 1:
        print("left out: the newest SQLite, since this Python has no apsw")
        sys.exit(77)
    sys.exit(0)
