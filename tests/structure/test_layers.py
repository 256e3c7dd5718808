#!/usr/bin/env python3
"""test_layers.py: no two files of the source need each other, and no part includes one that stands above it.

What an object file needs are the symbols that it does not define; the build directory has the object files. Two files
that need each other, directly or round about, can only be understood together: each group of them is a failure. One
data structure that is two files for length is named in ONE_THING, and counts as one.
"""

import collections
import os
import re
import subprocess
import sys

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
BUILD = os.environ.get("TFPROF_BUILD") or os.path.join(ROOT, "build")

# What a part may include: itself and those before it.
LAYERS = (("base",), ("proto/dump", "proto/schema", "proto/steps"), ("ext/store",), ("ext/derive", "ext/write"),
          ("ext/read",), ("ext/classic/read", "ext/classic/views", "ext/lanes"), ("ext/vtab",), ("ext/classic/vtab",),
          ("ext/func",), ("ext/tfprof.c", "ext/linked.c", "ext/linked.h"), ("ext/report",), ("ext/serve",),
          ("ext/shell",), ("ext/classic/shell",))
# The two sides of the dump share nothing else.
CAPTURE = {"base", "capture/common", "capture/library", "capture/launcher", "capture/preload", "proto/dump",
           "proto/schema", "proto/steps"}
# The folders of the recorder; what lies beside them in capture/library stands above all of them.
RECORDER = ("recorder", "channel", "host", "governor", "nvtx", "cuda", "python", "torch", "windows", "jax",
            "tensorflow", "hangs")
# Files that are one thing: {name: why}.
ONE_THING = {}


def object_files():
    """{source file: object file} of everything but the tests."""
    found = {}
    for folder, folders, names in os.walk(BUILD):
        folders[:] = [name for name in folders if name not in ("tests", "_deps", "asan", "tsan", "fuzz")]
        for name in names:
            if name.endswith(".c.o"):
                path = os.path.join(folder, name)
                part = re.sub(r"CMakeFiles/[^/]+\.dir/", "", os.path.relpath(path, BUILD))[:-len(".o")]
                source = os.path.normpath(re.sub(r"[^/]+/__/", "", part))
                if os.path.exists(os.path.join(ROOT, source)):  # not one that was built before its source was moved
                    found[source] = path
    return found


def needs(objects):
    """{source file: the source files that define what it uses}."""
    sources = {path: source for source, path in objects.items()}
    defined, used = {}, {source: set() for source in objects}
    listed = subprocess.run(["nm", "-AP", *sources], check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout
    for line in listed.splitlines():
        path, symbol = line.rsplit(": ", 1)
        name, kind = symbol.split()[:2]
        if kind == "U":
            used[sources[path]].add(name)
        elif kind.isupper() and kind not in "wvV" and name != "main":
            defined.setdefault(name, set()).add(sources[path])
    return {source: set().union(*(defined.get(name, ()) for name in names)) - {source}
            for source, names in used.items()}


def circles(graph):
    """The groups of nodes of which each is reached from each (Tarjan, 1972), those of one left out."""
    index, low, stack, groups = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            group = stack[stack.index(node):]
            del stack[stack.index(node):]
            if len(group) > 1:
                groups.append(sorted(group))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return groups


def check_circles():
    example = circles({"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set()})
    assert example == [["a", "b", "c"]], example  # the method itself
    objects = object_files()
    assert len(objects) > 150, f"only {len(objects)} object files under {BUILD}"
    graph = needs(objects)
    assert "base/wire.c" in graph["ext/read/xplane/list.c"], "nm tells of no calls"
    merged = collections.defaultdict(set)
    for source, others in graph.items():
        name = ONE_THING.get(source, source)
        merged[name] |= {ONE_THING.get(other, other) for other in others} - {name}
    found = circles(merged)
    assert not found, "files that need each other:\n" + "\n".join("  " + " ".join(group) for group in found)
    return len(objects)


def part_of(path):
    """The part that a file belongs to, None: it is of none."""
    parts = [part for layer in LAYERS for part in layer] + sorted(CAPTURE)
    return next((part for part in parts if path == part or path.startswith(part + "/")), None)


def recorder_height(path):
    folder = path.split("/")[2]
    return RECORDER.index(folder) if folder in RECORDER else len(RECORDER)


def includes():
    """(file, the file that it includes) within the source."""
    for top in ("base", "ext", "proto", "capture"):
        for folder, _, names in os.walk(os.path.join(ROOT, top)):
            for name in names:
                if not name.endswith((".c", ".h", ".def")):
                    continue
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as file:
                    for included in re.findall(r'^#include "([^"]+)"', file.read(), re.M):
                        for root in (os.path.relpath(folder, ROOT), "", "ext", "proto", "capture",
                                     "capture/library"):
                            if os.path.exists(os.path.join(ROOT, root, included)):
                                yield os.path.relpath(path, ROOT), os.path.normpath(os.path.join(root, included))
                                break


def check_includes():
    height = {part: level for level, layer in enumerate(LAYERS) for part in layer}
    wrong, count = [], 0
    for path, included in includes():
        above, below = part_of(path), part_of(included)
        count += 1
        if above == below == "capture/library" and recorder_height(included) > recorder_height(path):
            wrong.append(f"{path} includes {included}, which stands above it")
        if above is None or below is None or above == below:
            continue
        if above in CAPTURE and above not in height:
            if below not in CAPTURE:
                wrong.append(f"{path} includes {included}, which is not shared with the extension")
        elif below not in height or height[below] > height[above]:
            wrong.append(f"{path} includes {included}, which stands above it")
    assert count > 500, count
    assert not wrong, "\n".join(wrong)


def main():
    check_includes()
    print(check_circles(), "files, none needs one that needs it")


main()
