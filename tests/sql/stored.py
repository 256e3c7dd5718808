"""What the tests of this directory share: the stored SELECTs, connections with the extension, profiles to look at."""

import ast
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import scratch  # noqa: E402,F401  (temporary files go where they are removed)

ROOT = os.path.join(HERE, "..", "..")
BUILD = os.environ.get("TFPROF_BUILD") or os.path.join(ROOT, "build")
PYTHON = os.environ.get("TFPROF_PYTHON") or sys.executable
EXTENSION = os.path.join(os.path.abspath(BUILD), "tfprof")

CHECK_COLUMNS = [
    "check_name",
    "severity",
    "subject",
    "message",
    "value",
    "threshold",
    "saves_ns",
    "suggestion",
    "evidence",
]

failures = []
left_out = []  # what could not be tested here, and why


def check(holds, message):
    if not holds:
        failures.append(message)
        print(message)
    return holds


def finish():
    if failures:
        print(f"{len(failures)} failures")
        sys.exit(1)
    if left_out:
        print("left out: " + "; ".join(sorted(set(left_out))))
    sys.exit(77 if left_out else 0)


def read_advice_words():
    """What advice_words() says: {key: [of PyTorch, of TensorFlow, of JAX, of any other]}, with None for NULL."""
    with open(os.path.join(ROOT, "ext", "func", "advice_words.def"), encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    literals = r'(?:"(?:\\.|[^"\\])*"\s*)+'
    entries = re.findall(r"ADVICE\((%s(?:,\s*(?:%s|NULL)\s*){4})\)" % (literals, literals), text)
    assert len(entries) == text.count("\nADVICE("), "an entry of advice_words.def is none"
    words = {}
    for entry in entries:
        key, *texts = ast.literal_eval("[%s]" % entry.replace("NULL", "None"))
        words[key] = texts
    return words


class Stored:
    """A file of sql/: its comment and its SELECT."""

    def __init__(self, path):
        self.path = os.path.relpath(path, ROOT)
        self.name = os.path.basename(path)[: -len(".sql")]
        self.is_check = os.path.basename(os.path.dirname(path)) == "advise"
        with open(path, encoding="utf-8") as file:
            self.text = file.read()
        lines = self.text.splitlines()
        self.comment = [line for line in lines[: next(i for i, line in enumerate(lines) if not line.startswith("--"))]]
        self.sql = "\n".join(line for line in lines if not line.startswith("--"))
        declared = next((line for line in self.comment if line.startswith("-- parameters: ")), "-- parameters: ")
        # Those in brackets may be left out.
        self.parameters = re.findall(r"\w+", declared[len("-- parameters: ") :])

    def described_columns(self):
        """The names of the columns that its comment describes (ext/vtab/embed_sql.c has the grammar)."""
        found = (re.match(r"--   ([a-z][a-z0-9_]*)  +(?:INTEGER|REAL|TEXT)  ", line) for line in self.comment)
        return [match[1] for match in found if match]


def every_file():
    return [
        Stored(path)
        for path in sorted(
            glob.glob(os.path.join(ROOT, "sql", "views", "*", "*.sql"))
            + glob.glob(os.path.join(ROOT, "sql", "advise", "*.sql"))
        )
    ]


def stored():
    """The views and checks."""
    return [one for one in every_file() if not one.parameters]


def stored_functions():
    """The SELECTs with parameters, which are table-valued functions."""
    return [one for one in every_file() if one.parameters]


class Shell:
    """The system's sqlite3, a statement at a time."""

    def __init__(self):
        self.process = subprocess.Popen(
            ["sqlite3", "-batch", ":memory:"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        self.lines(f".load '{EXTENSION}'\n.mode json")
        self.name = "sqlite3 " + self.query("SELECT sqlite_version()")[1][0][0]

    def lines(self, text):
        self.process.stdin.write((text + "\n.print \x01end\n").encode())
        self.process.stdin.flush()
        lines = []
        while not lines or not lines[-1].endswith("\x01end"):
            line = self.process.stdout.readline()
            if not line:
                raise SystemExit(f"sqlite3 died of: {text}")
            lines.append(line.decode("utf-8", "replace").rstrip("\n"))
        lines[-1] = lines[-1][: -len("\x01end")]
        error = next((line for line in lines if re.match(r"(Parse|Runtime) error|Error:", line)), None)
        if error:
            raise AssertionError(f"{text}: {error}")
        return lines

    def query(self, sql):
        """(column names, rows); without rows no names."""
        text = "\n".join(self.lines(sql + "\n;"))
        rows = json.loads(text) if text else []
        return list(rows[0]) if rows else [], [tuple(row.values()) for row in rows]


class Newest:
    """The newest SQLite, which apsw brings."""

    def __init__(self):
        import apsw

        self.name = "apsw " + apsw.sqlite_lib_version()
        self.connection = apsw.Connection(":memory:")
        self.connection.enable_load_extension(True)
        self.connection.load_extension(EXTENSION)

    def query(self, sql):
        cursor = self.connection.cursor()
        names = []
        cursor.exec_trace = (
            lambda running, _statement, _bindings: names.extend(column[0] for column in running.get_description())
            or True
        )
        return names, [tuple(row) for row in cursor.execute(sql)]


def engines():
    made = [Shell]
    try:
        Newest()
        made.append(Newest)
    except ImportError:
        left_out.append("the newest SQLite, since this Python has no apsw")
    return made


def made_up_dump(directory, rows):
    """Made by the generator of the benchmarks."""
    path = os.path.join(directory, f"{rows}.tfprof")
    subprocess.run(
        [os.path.join(BUILD, "tests", "make_ops_dump"), path, str(rows), "7"], check=True, stdout=subprocess.DEVNULL
    )
    return path


def captured(directory, program, *arguments):
    """A run of a real program, or None without PyTorch."""
    if subprocess.run([PYTHON, "-c", "import torch"], stderr=subprocess.DEVNULL).returncode:
        left_out.append("recorded programs, since PyTorch (torch) is missing")
        return None
    run = os.path.join(directory, os.path.basename(program))
    subprocess.run(
        [os.path.join(BUILD, "tfprof-capture"), "-o", run, "--", PYTHON, program, *arguments],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=600,
    )
    return run


def temporary():
    return tempfile.TemporaryDirectory(prefix="tfprof-sql-")
