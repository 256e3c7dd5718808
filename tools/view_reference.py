#!/usr/bin/env python3
"""view_reference.py [BUILD]: prints the reference of views for docs/views.md: what each is, its columns, an example.

What a view is comes from the first comment of its file in sql/views, its columns from tfprof_columns.  Its example is
run on files of tests/: on the one that the page names already, and of a view that the page does not have yet, on one of
SOURCES after the other until one has an answer.  A view that none answers is shown without.
"""

import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SOURCES = ["tests/golden/dump-1/ops.tfprof"] + [f"tests/fixtures/kineto/{name}.json" for name in (
    "links", "waits", "collectives", "accelerators", "memory", "python", "times", "modules")] + [
    "tests/golden/hlo/programs.xplane.pb"]
COMPARED = "tests/fixtures/kineto/links.json"  # with itself, as before.json and after.json
COMPARISON = f"{COMPARED} and itself"
ROWS, WIDTH, SECONDS = 5, 118, 600
LONGEST_CELL = 120

SECTIONS = {"run": "The run", "steps": "Steps", "ops": "Ops", "code": "Lines of the program", "kernels": "Kernels",
            "devices": "Devices", "memory": "Memory", "input": "Input", "ranks": "Ranks", "graph": "Graphs and models",
            "compare": "Two runs", "xprof": "Pages of XProf", "tensorboard": "Pages of the TensorBoard plugin",
            "hta": "Results of Holistic Trace Analysis", "helpers": "What views are made of"}


def parts_of(path):
    """(title, paragraphs, cost, example) of a view's comment."""
    head = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            if not line.startswith("--"):
                break
            head.append(line[2:].rstrip())
    first = next(i for i, line in enumerate(head) if re.match(r"   [a-z]", line))
    last = max(i for i, line in enumerate(head) if line.startswith("   "))
    paragraphs = [re.sub(r"\s+", " ", text).strip() for text in "\n".join(head[:first]).split("\n\n")]
    title, *prose = [text for text in paragraphs if text]
    end = re.sub(r"\s+", " ", " ".join(head[last + 1:]))
    cost, example = re.search(r"Cost: (.*?)(?= Needs: | Example: |$)", end), re.search(r"Example: (.*;)", end)
    return title, prose, cost and cost[1], example and example[1].strip()


def ask(build, opened, questions):
    """{name: the answer as a box} of those that have rows."""
    script = "".join(f"SELECT '@@{name}' AS mark;\n{sql}\n" for name, sql in questions.items())
    done = subprocess.run([os.path.join(build, "tfprof"), "--no-pager", "--width", str(WIDTH), *opened], input=script,
                          capture_output=True, text=True, timeout=SECONDS,
                          env={"PATH": os.environ["PATH"], "TZ": "UTC", "LC_ALL": "C.UTF-8"})
    found, name = {}, None
    for box in re.findall(r"┌.*?┘", done.stdout, re.S):
        mark = re.search(r"@@(\w+)", box)
        if mark:
            name = mark[1]
        elif name and name not in found and box.count("\n") > 3:
            found[name] = box
    return found


def shortened(box):
    """Its first rows: a row of several lines ends with a rule."""
    lines = box.split("\n")
    rules = [at for at, line in enumerate(lines) if line.startswith("├")]
    ends = rules[1:] if len(rules) > 1 else range(rules[0] + 2, len(lines) - 1)
    return "\n".join(lines if len(ends) < ROWS else lines[:ends[ROWS - 1]] + lines[-1:])


def sources_of(page):
    """{view: the source that the page shows its example on, or None} of the views that it has."""
    if not os.path.exists(page):
        return {}
    with open(page, encoding="utf-8") as file:
        views = re.split(r"^### ", file.read(), flags=re.M)[1:]
    found = {}
    for view in views:
        source = re.search(r"^<!-- on (.*) -->$", view, re.M)
        found[view.split("\n")[0]] = source and source[1]
    return found


def answers(build, questions):
    """{view: (source, box)}"""
    found, known = {}, sources_of(os.path.join(ROOT, "docs", "views.md"))
    with tempfile.TemporaryDirectory() as directory:
        for name in ("before", "after"):
            shutil.copy(os.path.join(ROOT, COMPARED), os.path.join(directory, f"{name}.json"))
        compared = sorted(glob.glob(os.path.join(directory, "*.json")), reverse=True)
        for source in [*SOURCES, COMPARISON]:
            opened = compared if source is COMPARISON else [os.path.join(ROOT, source)]
            asked = {name: sql for name, sql in questions.items()
                     if name not in found and ("before" in sql) == (source is COMPARISON)
                     and known.get(name, source) == source}
            if asked:
                found.update({name: (source, shortened(box)) for name, box in ask(build, opened, asked).items()})
    return found


def cell(text):
    return re.sub(r"([|*_<>\\`])", r"\\\1", text)


def split_for_cell(text):
    """(the first sentences, as many as a cell takes, the others), as schema_reference.c does it."""
    ends = [found.end() for found in re.finditer(r"\.(?= |$)", text)]
    fitting = [end for end in ends if end <= LONGEST_CELL] or ends[:1]
    at = fitting[-1] if len(text) > LONGEST_CELL and fitting else len(text)
    return text[:at], text[at + 1:]


def main():
    build = sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "build")
    listed = json.loads(subprocess.check_output(
        [os.path.join(build, "tfprof"), "--format", "json", os.path.join(ROOT, SOURCES[0]),
         "SELECT name, section, (SELECT json_group_array(json_array(column_name, type, unit, description)) "
         "FROM tfprof_columns WHERE table_name = name) AS columns FROM tfprof_views "
         "WHERE section NOT IN ('checks', 'old')"], text=True))
    columns = {row["name"]: json.loads(row["columns"]) if isinstance(row["columns"], str) else row["columns"]
               for row in listed}
    described = {row["name"]: parts_of(os.path.join(ROOT, "sql", "views", row["section"], f"{row['name']}.sql"))
                 for row in listed}
    begins = {row["name"]: row["section"] for before, row in zip([{}] + listed, listed)
              if row["section"] != before.get("section")}
    shown = answers(build, {name: parts[3] for name, parts in described.items() if parts[3]})
    for name, (title, prose, cost, example) in described.items():
        if name in begins:
            print(f"## {SECTIONS[begins[name]]}\n")
        print(f"### {name}\n\n{title}\n")
        for text in prose:
            print(f"{cell(text)}\n")
        print("| column | type | unit | meaning |\n|---|---|---|---|")
        below = []
        for column, kind, unit, text in columns[name]:
            begin, rest = split_for_cell(re.sub(r"\s+", " ", text))
            print(f"| `{column}` | {kind.lower()} | {unit or ''} | {cell(begin)} |")
            below += [f"- `{column}`: {cell(rest)}"] if rest else []
        if below:
            print("\n" + "\n".join(below))
        if cost:
            print(f"\nCost: {cell(cost)}")
        if example:
            print(f"\n```sql\n{example}\n```")
        if name in shown:
            source, box = shown[name]
            print(f"\n<!-- on {source} -->\n\n```\n{box}\n```")
        print()


if __name__ == "__main__":
    main()
