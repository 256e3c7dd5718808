#!/usr/bin/env python3
"""test_english.py: pages that users read and that are written by hand are plain English, as far as a test sees.

These are MENDED and docs/.

Prose is what stands outside of blocks, tables and backquotes.  In it no sentence has a semicolon, but for items of a
list that end with one, or more than LONGEST_SENTENCE words; in it and in tables no word of WORDS stands.  A cell of a
table has at most LONGEST_CELL characters.  CONTRIBUTING.md says what to write in the place of these words.  Every
page of docs/ is linked from docs/README.md.
"""

import os
import re

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
MENDED = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "capture/README.md", "examples/README.md",
          "ext/classic/README.md", "page/README.md", "proto/FORMAT.md", "sql/README.md", "tests/bench/README.md")
WORDS = re.compile(r"\b(?:parted by|dear|dearer|told|of which|whose)\b", re.I)
LONGEST_CELL, LONGEST_SENTENCE = 120, 40


def pages():
    names = sorted(name for name in os.listdir(os.path.join(ROOT, "docs")) if name.endswith(".md"))
    assert len(names) > 8, names
    paths = [os.path.join("docs", name) for name in names]
    return [*MENDED, *paths]


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return re.sub(r"^ *```.*?^ *```$", "", file.read(), flags=re.S | re.M)


def sentences(text):
    lines = [line for line in text.split("\n") if not line.lstrip().startswith(("|", "<!--", "!["))]
    text = re.sub(r"`[^`]*`", "X", "\n".join(lines))
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)
    for paragraph in re.split(r"\n\s*\n|\n *(?:[-*]|\d+\.) ", text):
        yield from re.split(r"(?<=[.:?!]) ", " ".join(paragraph.split()))


def wrongs_of_tables(text):
    for line in map(str.strip, text.split("\n")):
        if line.startswith("|"):
            for cell in re.split(r"(?<!\\)\|", line.strip("|")):
                shown = cell.strip().replace("\\", "")
                if len(shown) > LONGEST_CELL:
                    yield f"a cell of {len(shown)} characters: {shown}"
            if WORDS.search(re.sub(r"`[^`]*`", "X", line)):
                yield f"'{WORDS.search(line)[0]}' in: {line}"


def wrongs_of_prose(text):
    for sentence in sentences(text):
        if ";" in sentence.rstrip(";"):
            yield f"a semicolon within: {sentence}"
        if len(sentence.split()) > LONGEST_SENTENCE:
            yield f"{len(sentence.split())} words: {sentence}"
        if WORDS.search(sentence):
            yield f"'{WORDS.search(sentence)[0]}' in: {sentence}"


def main():
    found = list(wrongs_of_prose("A file, of which the name is dear; and so on.")) + list(wrongs_of_tables("| told |"))
    assert len(found) == 3, found  # it can find them
    names = pages()
    wrong = [f"{name}: {what}" for name in names
             for what in [*wrongs_of_prose(read(name)), *wrongs_of_tables(read(name))]]
    assert not wrong, "\n".join(wrong)
    index = read(os.path.join("docs", "README.md"))
    missing = [name for name in os.listdir(os.path.join(ROOT, "docs"))
               if name.endswith(".md") and name != "README.md" and f"]({name})" not in index]
    assert not missing, f"docs/README.md does not lead to {missing}"
    print(len(names), "pages")


main()
