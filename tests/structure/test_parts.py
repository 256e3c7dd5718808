#!/usr/bin/env python3
"""test_parts.py: what a build may leave out (ext/parts.def) is asked for in one place, and nothing else needs it.

No file outside of a part's folder includes a file of it or uses a symbol of it but by the names that parts.def says it
has, and no other file asks for its macro.  tests/CMakeLists.txt links tfprof and tfprof.so once more without parts, of
the same objects: nothing of a part is in them, all views and checks work, and the words of the part are unknown.
"""

import os
import re
import subprocess
import sys

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
BUILD = os.path.abspath(os.environ.get("TFPROF_BUILD") or os.path.join(ROOT, "build"))
PLAIN = os.path.join(BUILD, "tests", "plain")
DUMP = os.path.join(ROOT, "tests", "golden", "dump-1", "ops.tfprof")
PARTS = os.path.join("ext", "parts.def")
OFFERS = ("reader", "guests", "tables", "commands")
FOLDERS = ("base", "capture", "ext", "page", "proto", "tools")


def read(*parts):
    with open(os.path.join(ROOT, *parts), encoding="utf-8") as file:
        return file.read()


def parts():
    return re.findall(r"^PART\((\w+)\)", read(PARTS), re.M)


def sources(*endings):
    for top in FOLDERS:
        for folder, _, names in os.walk(os.path.join(ROOT, top)):
            yield from (os.path.relpath(os.path.join(folder, name), ROOT) for name in names if name.endswith(endings))


def is_of(path, part):
    return path.startswith(f"ext/{part}/")


def check_sources(part):
    """Includes, the macro, and modules of Python."""
    modules = {name[:-3] for name in os.listdir(os.path.join(ROOT, "ext", part, "python"))}
    macro, wrong = "TFPROF_" + part.upper(), []
    for path in sources(".c", ".h", ".def", ".py"):
        text = "" if is_of(path, part) or path == PARTS else read(path)
        if path.endswith(".py"):
            # Whether that of sessions is there decides who records them, and the first is the way in.
            named = {name for name in modules if re.search(rf'"{name}(?:\.py)?"', text)}
            wrong += [f"{path} names {name}.py" for name in named - {"_tfprof_" + part, "_tfprof_sessions"}]
        else:
            wrong += [f"{path} includes {name}" for name in re.findall(rf'^#include "({part}/[^"]+)"', text, re.M)]
            wrong += [f"{path} asks for {macro}"] if macro in text else []
    assert len(modules) > 3 and not wrong, "\n".join(wrong)


def object_files():
    """{object file: its source} of what lies in ext."""
    found = {}
    for folder, _, names in os.walk(os.path.join(BUILD, "ext")):
        for name in (name for name in names if name.endswith(".c.o")):
            path = os.path.join(folder, name)
            part = re.sub(r"CMakeFiles/[^/]+\.dir/", "", os.path.relpath(path, BUILD))[:-len(".o")]
            source = os.path.normpath(re.sub(r"[^/]+/__/", "", part))
            if os.path.exists(os.path.join(ROOT, source)):  # not one that was built before its source was moved
                found[path] = source
    return found


def symbols(paths):
    """(file, symbol, whether the file has it or needs it) of all that others see."""
    told = subprocess.run(["nm", "-AP", "-g", *paths], check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout
    for line in told.splitlines():
        path, symbol = line.rsplit(": ", 1)
        yield path, symbol.split()[0], symbol.split()[1] != "U"


def check_objects(part):
    """Of the object files of ext: which of them use a symbol of the part."""
    sources = object_files()
    found = list(symbols(sources))
    has = {name for path, name, is_there in found if is_there and is_of(sources[path], part)}
    offered = {f"{part}_{what}" for what in OFFERS}
    assert len(sources) > 300 and len(has) > 100 and offered <= has, (len(sources), len(has), offered - has)
    wrong = [f"{sources[path]} uses {name}" for path, name, is_there in found
             if not is_there and not is_of(sources[path], part) and name in has - offered]
    assert not wrong, "\n".join(sorted(wrong))
    for name in ("tfprof", "tfprof.so"):
        told = subprocess.run(["nm", os.path.join(PLAIN, name)], check=True, stdout=subprocess.PIPE, encoding="utf-8")
        inside = {line.split()[-1] for line in told.stdout.splitlines()} & has
        assert not inside, f"{name} without parts has {sorted(inside)[:10]}"


def plain(*words):
    done = subprocess.run([os.path.join(PLAIN, "tfprof"), *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, encoding="utf-8", timeout=120)
    return done.returncode, done.stdout, done.stderr


def check_shell():
    status, text, error = plain("--help")
    assert status == 0 and "scope" not in text, text
    assert "scope" not in plain("help")[1]
    graph = os.path.join(ROOT, "tests", "golden", "tensorflow", "graph.pb")
    for words, told in ((("--max_depth", "3"), "unknown option '--max_depth'"), (("scope",), "no such file"),
                        ((DUMP, "help scope"), "no help on 'scope'"), ((graph, "SELECT 1"), "no profile"),
                        (("--graph_path=x",), "unknown option '--graph_path=x'")):
        status, text, error = plain(*words)
        assert status and not text and told in error, (words, status, text, error)
    status, found, error = plain(DUMP, "advise")
    chosen = plain(DUMP, "advise -checkers tiny_ops,JobChecker")
    assert (status, error, chosen[2]) == (0, "", "") and found.startswith(chosen[1].strip()) and "tiny_ops" in chosen[1]
    assert found == plain(DUMP, "advise -checkers all")[1]


def asked(*statements):
    """The lines that sqlite3 answers with tfprof.so in it."""
    script = "\n".join((f".load {os.path.join(PLAIN, 'tfprof')}", f"SELECT tfprof_open('{DUMP}');", *statements))
    done = subprocess.run(["sqlite3", "-bail", ":memory:"], input=script, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, encoding="utf-8", timeout=120)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout.splitlines()[1:]


def check_sql():
    """Every view and check answers; tables and functions of the part are not there."""
    views = [line.split("|", 2) for line in asked("SELECT name, kind, message FROM tfprof_views;")]
    broken = [view for view in views if view[1] == "broken" or (view[2] and view[1] != "old")]
    assert len(views) > 150 and not broken, broken
    asked(*(f"SELECT * FROM temp.\"{name}\" LIMIT 1;" for name, kind, _ in views if kind in ("view", "check")))
    names = set(asked("SELECT name FROM tfprof_functions UNION SELECT name FROM tfprof_tables UNION "
                      "SELECT name FROM tfprof_views;"))
    absent = {"scope_view", "op_view", "node_type_patterns", "expensive_operation"}
    assert {"op_diff", "ops"} < names and not names & absent, names & absent
    counts = asked(*(f"SELECT count(*) FROM tfprof_{what};" for what in ("columns", "reasons", "formats", "panels")))
    assert len(counts) == 4 and all(int(count) > 5 for count in counts), counts


def main():
    assert parts() == ["classic"], parts()
    if not os.path.exists(os.path.join(PLAIN, "tfprof")):
        print("left out: this build has no parts to leave out")
        sys.exit(77)
    for part in parts():
        check_sources(part)
        check_objects(part)
    check_shell()
    check_sql()


main()
