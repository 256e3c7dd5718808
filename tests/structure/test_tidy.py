#!/usr/bin/env python3
"""test_tidy.py: clang-tidy finds nothing in the sources; .clang-tidy says what it looks for, and why for that.

The sources are those that the build directory was made of. One process for all of them: tests run side by side.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
BUILD = os.environ.get("TFPROF_BUILD") or os.path.join(ROOT, "build")

# A multiplication that may overflow before it is widened, and a parameter with two names.
FAULTS = """
unsigned long area(unsigned width, unsigned height);
unsigned long area(unsigned width, unsigned depth) { return width * depth; }
"""


def tidy(*arguments):
    done = subprocess.run(["clang-tidy", "--quiet", "--config-file=" + os.path.join(ROOT, ".clang-tidy"), *arguments],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", errors="replace")
    return done.returncode, done.stdout + (done.stderr if done.returncode else "")


def main():
    if not shutil.which("clang-tidy"):
        print("there is no clang-tidy")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "faults.c")
        with open(path, "w", encoding="utf-8") as file:
            file.write(FAULTS)
        status, told = tidy(path, "--", "-std=c11")
    assert status and "implicit-widening" in told and "inconsistent-declaration" in told, told  # it does look
    with open(os.path.join(BUILD, "compile_commands.json"), encoding="utf-8") as file:
        built = {os.path.normpath(entry["file"]) for entry in json.load(file)}
    sources = sorted(path for path in built
                     if os.path.relpath(path, ROOT).split(os.sep)[0] in ("base", "capture", "ext", "proto"))
    assert len(sources) > 250, f"only {len(sources)} sources of {BUILD}"
    status, told = tidy("-p", BUILD, *sources)
    assert not status, told
    print(len(sources), "sources, nothing found")


main()
