#!/usr/bin/env python3
"""test_style.py: no line is longer than 120 columns, and a static function's name says what it does where it stands.

A name that four files give to functions of their own says too little: it is to carry what it works on.
"""

import collections
import os
import re

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
FOLDERS = ("base", "capture", "examples", "ext", "page", "proto", "sql", "tests", "tools")
SOURCES = (".c", ".h", ".def", ".cpp", ".py", ".sh", ".sql", ".js", ".css", ".html", ".cmake", ".map", "CMakeLists.txt",
           "CMakePresets.json", ".clang-format", ".clang-tidy")
COLUMNS = 120
FILES_OF_A_NAME = 3

STATIC = re.compile(r"^static (?!struct \w+ \{)[\w ]*?[ *]+(\w+)\(", re.M)


def sources():
    """(path below the root, text) of what people write; golden files and libraries are as others wrote them."""
    for top in ("", *FOLDERS):
        for folder, folders, names in os.walk(os.path.join(ROOT, top)):
            folders[:] = [] if not top else [name for name in folders if name != "__pycache__"]
            for name in names:
                path = os.path.relpath(os.path.join(folder, name), ROOT)
                if name.endswith(SOURCES) and not re.match(r"tests/golden/.*\.sql$|page/vendor/", path):
                    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                        yield path, file.read()


def main():
    long, statics, count = [], collections.defaultdict(set), 0
    for path, text in sources():
        count += 1
        long += [f"{path}:{number}: {len(line)} columns" for number, line in enumerate(text.splitlines(), 1)
                 if len(line) > COLUMNS]
        if path.endswith(".c") and not path.startswith("tests"):
            for name in STATIC.findall(text):
                statics[name].add(path)
    assert count > 700 and len(statics) > 2000, (count, len(statics))
    assert not long, "lines that are too long:\n" + "\n".join(long)
    vague = {name: sorted(paths) for name, paths in statics.items() if len(paths) > FILES_OF_A_NAME}
    assert not vague, f"names of functions in more than {FILES_OF_A_NAME} files:\n" + "\n".join(
        f"  {name}: {' '.join(paths)}" for name, paths in vague.items())
    print(count, "files,", len(statics), "names of static functions")


main()
