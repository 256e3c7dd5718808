#!/usr/bin/env python3
"""test_environment.py: docs/environment.md names every variable that the sources read or set, and no others.

Of the sources those of what runs at users count: base, capture, ext and proto, in C and Python. A variable is a literal
TFPROF_NAME, what getenv() and its like are called with, or a word of a list of variables.
"""

import os
import re

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
FOLDERS = ("base", "capture", "ext", "proto")
NAME = r'"([A-Z][A-Z0-9_]+)"'
READ = (re.compile(r'"(TFPROF_[A-Z0-9_]+)"'),
        re.compile(r"\b(?:getenv|variable|setting|is_set|setenv|number_in_environment)\(" + NAME),
        re.compile(r"\benviron(?:ment)?(?:\.(?:get|setdefault|pop)\(|\[)" + NAME),
        re.compile(NAME + r" in (?:os\.)?environ"))
LISTS = re.compile(r"(?:(?:rank_names|size_names|variables)\[\] =|\nRANKS =) [{(](.*?)[})]", re.S)
NO_VARIABLES = {"TFPROF_"}


def sources():
    for folder in FOLDERS:
        for path, _, names in os.walk(os.path.join(ROOT, folder)):
            yield from (os.path.join(path, name) for name in names if name.endswith((".c", ".h", ".py", ".def")))


def found_in_sources():
    found = {}
    for path in sources():
        with open(path, encoding="utf-8") as file:
            text = file.read()
        words = [word for pattern in READ for word in pattern.findall(text)]
        words += [word for listed in LISTS.findall(text) for word in re.findall(NAME, listed)]
        for word in set(words) - NO_VARIABLES:
            found.setdefault(word, os.path.relpath(path, ROOT))
    return found


def named_on_page():
    """Variables in backquotes, of the rows of tables."""
    with open(os.path.join(ROOT, "docs", "environment.md"), encoding="utf-8") as file:
        rows = [line for line in file if line.startswith("|")]
    return set(re.findall(r"`([A-Z][A-Z0-9_]+)`", "".join(rows)))


def main():
    found, named = found_in_sources(), named_on_page()
    assert len(found) > 50, sorted(found)
    missing = [f"{word} ({found[word]})" for word in sorted(set(found) - named)]
    assert not missing, f"not in docs/environment.md: {', '.join(missing)}"
    assert not named - set(found), f"in docs/environment.md, but read nowhere: {', '.join(sorted(named - set(found)))}"
    print(len(named), "variables")


main()
