#!/usr/bin/env python3
"""test_reasons.py: proto/schema/reasons.def has every code of diagnostics that the sources write, and no other.

A code is the argument of one of the calls of CALLS, or stands in a list of texts that such a call takes it from: each
file that does so is named in LISTS, with how the codes are found there. Severities are held to the list, too, where the
call says them.
"""

import os
import re

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
# What writes a row: which argument is the code; the severity stands before it.
CALLS = {"profile_diagnose": 2, "profile_diagnose_source": 2, "profile_diagnose_once": 2, "segment_diagnose": 3,
         "recorder_diagnose": 2, "reader_problem": 2}
TEXT = r'"((?:[^"\\]|\\.)*)"'
SEVERITY = r'"(error|warning|info)"'
# {file: the pattern whose groups are a severity, or nothing, and a code}.
TRIPLES = SEVERITY + r",\s*" + r'"([a-z0-9_]+)"'
LISTS = {
    "ext/read/json/finish.c": TRIPLES,
    "ext/classic/read/publish.c": TRIPLES,
    "ext/read/xplane/list.c": TRIPLES,
    "ext/derive/steps/steps.c": TRIPLES,
    "ext/derive/links/nesting.c": TRIPLES,
    "ext/derive/links/calling_ops.c": TRIPLES,
    "ext/derive/flops/flops_of_ops.c": TRIPLES,
    "ext/derive/flops/flops_of_nodes.c": r'()"(flops_without_[a-z]+)"',
    "capture/library/recorder/recording.c": r'()"(capture_(?:off|degraded|ok))"',
    "capture/library/cuda/cuda_source.c": r'()"(capture_(?:off|degraded|ok))"',
}
# They take codes from files or callers, whose codes are found where these are made.
HANDED_ON = {"ext/read/dump/damage.c", "ext/read/dump/guests.c", "capture/library/windows/window_source.c"}
# Codes that are written in yet other ways.
OTHERS = {
    "proto/steps/marked_calls.h": r'()define STEPS_MARKED_IN_PART "([a-z_]+)"',
    "ext/derive/links/nesting.c": r'()^ *"(crossing_[a-z]+)",$',
    "ext/store/profile.c": r'()[?:] "([a-z]+_file)"',
    "ext/store/catalogue.c": r'()reason\[\] = "([a-z_]+)"',
    "proto/dump/reader_memory.c": r'()\.reason = "([a-z_]+)"',
}
PYTHON = r'()\btell\("([a-z_]+)"'


def sources(*ends):
    for part in ("ext", "proto", "capture"):
        for folder, _, names in os.walk(os.path.join(ROOT, part)):
            for name in sorted(names):
                if name.endswith(ends):
                    with open(os.path.join(folder, name), encoding="utf-8") as file:
                        yield os.path.relpath(os.path.join(folder, name), ROOT), file.read()


def arguments(text, at):
    """Of the call whose bracket ends before `at`."""
    found, depth, begin = [], 0, at
    for one in re.finditer(TEXT + r"|/\*.*?\*/|[()\[\]{},]", text[at:], re.S):
        sign, place = one.group(0), at + one.start()
        if sign in "([{":
            depth += 1
        elif sign in ")]}" and depth:
            depth -= 1
        elif sign in ("," , ")") and not depth:
            found.append(text[begin:place].strip())
            begin = place + 1
            if sign == ")":
                return found
    raise AssertionError(text[at:at + 100])


def written():
    """{code: {(file, severity, or '')}}, and the files whose calls take the code from elsewhere."""
    codes, elsewhere = {}, set()
    for path, text in sources(".c", ".h"):
        for call in re.finditer(r"\b(%s)\(" % "|".join(CALLS), text):
            given, place = arguments(text, call.end()), CALLS[call.group(1)]
            if len(given) <= place or "struct" in given[0]:
                continue  # its declaration
            literals = re.findall(TEXT, given[place])
            severities = re.findall(SEVERITY, given[place - 1]) or [""]
            for code in literals:
                codes.setdefault(code, set()).update((path, severity) for severity in severities)
            if not literals:
                elsewhere.add(path)
        for patterns in (LISTS, OTHERS):
            found = re.findall(patterns[path], text, re.M) if path in patterns else ()
            assert found or path not in patterns, f"{path}: no code is found by {patterns[path]}"
            for severity, code in found:
                codes.setdefault(code, set()).add((path, severity))
    for path, text in sources(".py"):
        for severity, code in re.findall(PYTHON, text):
            codes.setdefault(code, set()).add((path, severity))
    return codes, elsewhere


def listed():
    with open(os.path.join(ROOT, "proto", "schema", "reasons.def"), encoding="utf-8") as file:
        text = file.read().partition("*/\n")[2]
    rows = []
    for entry in re.split(r"^REASON", text, flags=re.M)[1:]:
        parts = [[]]
        for literal, comma in re.findall(TEXT + r"|(,)", entry):
            if comma:
                parts.append([])
            else:
                parts[-1].append(literal)
        rows.append(["".join(part) for part in parts])
    return rows


def main():
    codes, elsewhere = written()
    assert elsewhere == set(LISTS) | HANDED_ON, elsewhere ^ (set(LISTS) | HANDED_ON)
    rows = listed()
    names = [row[0] for row in rows]
    assert len(rows) > 140 and all(len(row) == 4 for row in rows), rows
    assert names == sorted(set(names)), "not in alphabetical order, or twice"
    missing = {code: sorted(codes[code]) for code in codes.keys() - set(names)}
    assert not missing, f"not in proto/schema/reasons.def: {missing}"
    stale = set(names) - codes.keys()
    assert not stale, f"nothing writes these codes of proto/schema/reasons.def: {sorted(stale)}"
    order = ["error", "warning", "info"]
    for code, severities, happened, remedy in rows:
        told = severities.split(", ")
        assert told == [one for one in order if one in told], (code, severities)
        said = {severity for _, severity in codes[code]} - {""}
        assert said <= set(told), (code, severities, sorted(codes[code]))
        assert happened.endswith(".") and remedy.endswith(".") and happened[0].isupper(), (code, happened, remedy)
        assert ";" not in happened + remedy, f"{code}: one idea a sentence"
    print(len(rows), "codes")


main()
