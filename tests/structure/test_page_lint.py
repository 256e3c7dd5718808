#!/usr/bin/env python3
"""test_page_lint.py: oxlint finds nothing in the modules of the page, and does find what is wrong."""

import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OXLINT = os.path.join(os.path.dirname(os.environ.get("TFPROF_PYTHON", sys.executable)), "oxlint")


def lint(folder):
    return subprocess.run([OXLINT, "--deny-warnings", "--ignore-pattern", "vendor/**", "."], cwd=folder,
                          capture_output=True, text=True)


def main():
    if not os.path.exists(OXLINT):
        print("oxlint is not there: python -m pip install oxlint")
        sys.exit(1 if os.environ.get("CI") else 77)
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "wrong.js"), "w", encoding="utf-8") as file:
            file.write("import { one } from './other.js';\nexport const two = 2;\n")
        done = lint(folder)
        assert done.returncode and "no-unused-vars" in done.stdout, done
    done = lint(os.path.join(ROOT, "page"))
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout.strip())


main()
