#!/usr/bin/env python3
"""test_commits.py: the hook for commit messages says what is wrong, and all commits since it is there pass it."""

import os
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HOOK = os.path.join("tools", "hooks", "commit-msg")
BODY = "\n\nA gap was counted twice. It is counted where it begins.\n"
GOOD = ["derive: gaps are counted once" + BODY, "ext/read, tests: a file of one byte" + BODY, "Merge branch 'x'\n",
        'Revert "derive: gaps"\n', "derive: gaps are counted once" + BODY + "# a comment of git, " + "x " * 60 + "\n"]
WRONG = [("Gaps are counted once" + BODY, "not 'area: what'"), ("derive:gaps" + BODY, "not 'area: what'"),
         ("derive: " + "x" * 65 + BODY, "73 columns"), ("derive: gaps are counted once." + BODY, "full stop"),
         ("derive: gaps; the page: colours" + BODY, "semicolon"), ("derive: gaps\nonce\nand\n", "second line"),
         ("derive: gaps\n", "no body"), ("derive: gaps\n\n# only a comment\n", "no body"),
         ("derive: gaps\n\n" + "a word " * 15 + "\n", "100 columns")]


def ask(message, directory):
    path = os.path.join(directory, "message")
    with open(path, "w", encoding="utf-8") as file:
        file.write(message)
    return subprocess.run([os.path.join(ROOT, HOOK), path], capture_output=True, text=True)


def git(*words):
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)


def commits():
    """The commits after that which brought the hook; none where the history is not there."""
    asked = git("log", "--diff-filter=A", "--format=%H", "--", HOOK)
    first = asked.stdout.split()
    assert first or not os.environ.get("CI"), asked.stderr
    return git("log", "--no-merges", "--format=%H", first[-1] + "..HEAD").stdout.split() if first else []


def main():
    with tempfile.TemporaryDirectory() as directory:
        for message in GOOD:
            assert ask(message, directory).returncode == 0, (message, ask(message, directory))
        for message, words in WRONG:
            done = ask(message, directory)
            assert done.returncode == 1 and words in done.stderr, (message, done)
        found = []
        for commit in commits():
            done = ask(git("log", "-1", "--format=%B", commit).stdout, directory)
            if done.returncode:
                found.append(f"{commit[:12]} {done.stderr.strip()}")
        assert not found, "\n".join(found)
        print(len(commits()), "commits since the hook")


main()
