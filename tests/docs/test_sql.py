#!/usr/bin/env python3
"""test_sql.py: every SQL statement that the documentation shows can be run as it stands.

Taken from the documents (at a prompt, in blocks marked sql, given to tfprof), the examples in the
comments of the stored SELECTs, the manual in ext/tfprof.c and the help of the prompt.  They run in a folder that has
files of the names which they use.
"""

import gzip
import glob
import os
import pickle
import re
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "..", ".."))
sys.path.insert(0, os.path.join(HERE, "..", "sql"))
os.environ["TFPROF_BUILD"] = os.path.abspath(os.environ.get("TFPROF_BUILD") or os.path.join(ROOT, "build"))
from engines import make_dump, run_tests  # noqa: E402
from xplane_files import write_step_program  # noqa: E402

DOCUMENTS = (("README.md",), ("CONTRIBUTING.md",), ("capture", "README.md"), ("ext", "classic", "README.md"),
             ("sql", "README.md"),
             *(("docs", name) for name in sorted(os.listdir(os.path.join(ROOT, "docs"))) if name.endswith(".md")))
TENSORFLOW = os.path.join(ROOT, "tests", "fuzz", "corpus", "tensorflow")


def read(*path):
    """The text; blocks that belong to an item of a list begin at the margin."""
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        text = file.read()
    return re.sub(r"^( +)```.*?^\1```$", lambda block: re.sub(rf"^{block[1]}", "", block[0], flags=re.M), text,
                  flags=re.S | re.M)


def statements(text):
    """The statements of a text, without comments behind them."""
    text = re.sub(r"--[^\n]*", "", text)
    return [one.strip() for one in text.split(";") if one.strip()]


def at_prompts(text):
    lines = re.findall(r"^(?:\*\* *)?(?:sqlite|tfprof|   \.\.\.)> ?(.*)$", text, re.M)
    return statements("\n".join(line for line in lines
                                if not re.match(r"\.|(tables|columns|scope|op|code|graph|advise)\b", line)))


def of_readme(text):
    found = at_prompts(text)
    for block in re.findall(r"```sql\n(.*?)```", text, re.S):
        found += statements(block)
    return found + re.findall(r'^\$ .*tfprof .*"(SELECT [^"]*)"', text, re.M)


def stored_files():
    for pattern in ("views/*/*.sql", "advise/*.sql"):
        for path in sorted(glob.glob(os.path.join(ROOT, "sql", pattern))):
            yield os.path.relpath(path, ROOT)


def of_stored():
    for path in stored_files():
        comment = "".join(line[2:] for line in read(path).splitlines(True) if line.startswith("--"))
        example = re.search(r"Example: (.*?);", comment, re.S)
        assert example, f"{path} has no example"
        yield path, example.group(1)


def documented():
    for name in DOCUMENTS:
        for statement in of_readme(read(*name)):
            yield "/".join(name), statement
    for statement in at_prompts(read("ext", "tfprof.c")):
        yield "ext/tfprof.c", statement
    for statement in re.findall(r'"[^"\n]*?(SELECT [^;"\n]*);\\n"', read("ext", "shell", "commands.c")):
        yield "ext/shell/commands.c", statement
    yield from of_stored()


def make_files(directory):
    """What the documentation opens, under the names that it uses."""
    for seed, name in enumerate(("run", "other-run", "before", "after")):
        os.mkdir(os.path.join(directory, name))
        make_dump(os.path.join(directory, name, "host-1.tfprof"), 400, seed, "make_ops_dump")
    with open(os.path.join(ROOT, "tests", "fixtures", "kineto", "links.json"), "rb") as file:
        with gzip.open(os.path.join(directory, "rank0.pt.trace.json.gz"), "wb") as packed:
            packed.write(file.read())
    block = {"address": 4096, "size": 512, "requested_size": 500, "state": "active_allocated",
             "frames": [{"filename": "a.py", "line": 1, "name": "f"}]}
    segment = {"device": 0, "address": 4096, "total_size": 512, "blocks": [block], "stream": 0}
    with open(os.path.join(directory, "snapshot.pickle"), "wb") as file:
        pickle.dump({"segments": [segment], "device_traces": []}, file)
    write_step_program(os.path.join(directory, "step.xplane.pb"))
    for name, copy in (("profile", "profile_100"), ("graph.pbtxt", "graph.pbtxt"), ("op_log", "op_log"),
                       ("run_meta", "run_meta_1"), ("run_meta", "run_meta_2"), ("run_meta", "run_meta")):
        shutil.copy(os.path.join(TENSORFLOW, name), os.path.join(directory, copy))


def test_documented(engine):
    found = list(documented())
    assert len(found) > 90, len(found)
    with tempfile.TemporaryDirectory(prefix="tfprof-docs-") as directory:
        make_files(directory)
        before = os.getcwd()
        os.chdir(directory)
        try:
            connection = engine()
            old = "|".join(name for name, in connection.values("SELECT name FROM tfprof_views WHERE kind = 'old'"))
            stale = [one for one in found if re.search(rf"\b(?:FROM|JOIN) (?:temp\.)?(?:{old})\b", one[1])]
            assert len(old) > 400 and not stale, stale
            for path in ("run", "before", "after", "step.xplane.pb"):
                connection.values(f"SELECT tfprof_open('{path}')")
            errors = [(where, statement, error) for where, statement in found
                      for error in [connection.query(statement)[1]] if error]
        finally:
            os.chdir(before)
        for where, statement, error in errors:
            print(f"{where}: {statement}\n    {error}")
        assert not errors
        for name in ("both", "run.json.gz", "run.pb.gz"):  # what the documentation writes
            assert os.path.exists(os.path.join(directory, name)), name
        assert connection.values("SELECT count(*) >= 7 FROM profiles") == [(1,)]
        connection.close()


def test_read_as_they_are_once(engine):
    """`.read sql/views/SECTION/NAME.sql`, as the README has it."""
    connection = engine()
    for path in stored_files():
        if ":" in re.sub(r"--[^\n]*|'[^']*'", "", read(path)):
            continue  # a function: has parameters
        error = connection.run(f".read '{os.path.join(ROOT, path)}'\n;")[1]
        assert not error, (path, error)


if __name__ == "__main__":
    run_tests(sys.modules[__name__])
