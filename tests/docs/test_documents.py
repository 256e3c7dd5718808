#!/usr/bin/env python3
"""test_documents.py: what the documents take from the programs is up to date, and what they name and link is there.

Documents are all files *.md. A link leads to a file, to a heading of one, or outside; a path in backquotes that begins
with a folder of the source names a file or a folder (NAME in it stands for any).
docs/checks.md has a row for each check.  CHANGELOG.md and the programs tell the version of CMakeLists.txt.  What
tools/update_reference.sh makes (views with their examples, tables, options, functions, codes, figures) is as it would
make it now.
"""

import os
import re
import subprocess
import sys

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
BUILD = os.environ.get("TFPROF_BUILD") or os.path.join(ROOT, "build")


def documents():
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [name for name in folders if name[0] != "." and not name.startswith("build")]
        yield from (os.path.join(folder, name) for name in sorted(names) if name.endswith(".md"))


def prose(path):
    """The text without what stands between fences."""
    with open(path, encoding="utf-8") as file:
        return re.sub(r"^ *```.*?^ *```$", "", file.read(), flags=re.S | re.M)


def anchors(path):
    """The names that headings have in links, as GitHub makes them."""
    found = set()
    for heading in re.findall(r"^#+ (.*)$", prose(path), re.M):
        text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        found.add(re.sub(r"[^\w\- ]", "", text).replace(" ", "-"))
    return found


def missing_of(path):
    text = prose(path)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        where = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
        if not os.path.exists(where):
            yield f"links {target}, which does not exist"
        elif anchor and anchor not in anchors(where):
            yield f"links {target}, but there is no such heading"
    for name in re.findall(r"`((?:ext|proto|capture|sql|tests|examples|tools|docs|page|base)/[A-Za-z0-9_./-]*)`", text):
        if "NAME" not in name and not os.path.exists(os.path.join(ROOT, name)):
            yield f"names {name}, which does not exist"


def wrong_checks():
    """Checks without a row in docs/checks.md, and rows without a check."""
    with open(os.path.join(ROOT, "docs", "checks.md"), encoding="utf-8") as file:
        tables = re.findall(r"^\| check \|.*\n\|[-|]+\n((?:\|.*\n)*)", file.read(), re.M)
    rows = re.findall(r"^\| `(\w+)` \|", "".join(tables), re.M)
    files = {re.sub(r"(_check)?\.sql$", "", name) for name in os.listdir(os.path.join(ROOT, "sql", "advise"))}
    assert len(rows) == len(set(rows)), rows
    return files ^ set(rows)


def versions():
    """{where a version is told: which}: CMakeLists.txt defines it."""
    def told(path, pattern):
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            return re.search(pattern, file.read(), re.M)[1]

    def printed(*words):
        return subprocess.check_output([os.path.join(BUILD, words[0]), *words[1:]], encoding="utf-8").split()[-1]

    return {"CMakeLists.txt": told("CMakeLists.txt", r"^project\(tfprof VERSION ([\d.]+)"),
            "the first heading of CHANGELOG.md": told("CHANGELOG.md", r"^## (\S+)"),
            "tfprof --version": printed("tfprof", "--version"),
            "tfprof-capture --version": printed("tfprof-capture", "--version"),
            "tfprof_version()": printed("tfprof", "--csv", "SELECT tfprof_version()")}


def main():
    assert len(set(versions().values())) == 1, f"versions differ: {versions()}"
    assert not wrong_checks(), f"docs/checks.md has no row, or one too many, of: {sorted(wrong_checks())}"
    found = list(documents())
    assert len(found) >= 7, found
    missing = [f"{os.path.relpath(path, ROOT)} {what}" for path in found for what in missing_of(path)]
    assert not missing, "\n".join(missing)
    script = os.path.join(ROOT, "tools", "update_reference.sh")
    sys.exit(subprocess.run([script, "--check", os.path.abspath(BUILD)]).returncode)


main()
