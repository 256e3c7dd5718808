#!/usr/bin/env python3
"""test_man_pages.py: `man tfprof` and `man tfprof-capture` are what the programs print for --help, and well-formed.

Every option, every paragraph's words and every exit status of --help stand in the page, and the page is installed.
mandoc and groff find nothing to say against them, where they are here; without both the test is skipped.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
BUILD = os.path.abspath(os.environ.get("TFPROF_BUILD") or os.path.join(ROOT, "build"))
HELPS = {"tfprof": ([], ["report"], ["serve"]), "tfprof-capture": ([],)}
SECTIONS = ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "SEE ALSO")


def page(program):
    return os.path.join(BUILD, "man", program + ".1")


def words_of(text):
    return re.findall(r"[\w/=:-]+", text)


def shown(path):
    """The page as text: without what the format of man pages adds."""
    with open(path, encoding="utf-8") as file:
        source = file.read()
    lines = [re.sub(r'^\.(?:SH|BR) ', "", line) for line in source.split("\n") if not re.match(r"\.(?!SH|BR)", line)]
    text = re.sub(r"\\f[BR]", "", "\n".join(lines))
    for escape, character in (("\\-", "-"), ("\\(aq", "'"), ("\\(ga", "`"), ("\\(ha", "^"), ("\\(ti", "~"), ("\\&", ""),
                              ("\\e", "\\")):
        text = text.replace(escape, character)
    return text


def check_texts(program):
    text = shown(page(program))
    for section in SECTIONS:
        assert re.search(rf"^{section}$", text, re.M), f"{program}.1 has no section {section}"
    found = words_of(text)
    for words in HELPS[program]:
        told = subprocess.check_output([os.path.join(BUILD, program), *words, "--help"], encoding="utf-8")
        options = set(re.findall(r"--[a-z][a-z-]+", told))
        assert len(options) > 2, told
        missing = [option for option in sorted(options) if option not in text]
        assert not missing, f"{program}.1 lacks {missing} of {' '.join([program, *words])} --help"
        # Each word of the help, in this order: usage lines come first in the page, and are left out here.
        rest = words_of(re.sub(r"^usage:.*?(?:\n\n|\Z)", "", told, flags=re.S | re.M))
        at, lost = 0, []
        for word in rest:
            try:
                at = found.index(word, at) + 1
            except ValueError:
                lost.append(word)
        assert not lost, f"{program}.1 lacks, or has elsewhere, of {' '.join([program, *words])} --help: {lost}"


def check_form(tool, *options):
    """Whether the tool is here; an error where it has something to say."""
    if not shutil.which(tool):
        return False
    for program in HELPS:
        ran = subprocess.run([tool, *options, page(program)], capture_output=True, text=True)
        assert not ran.returncode and not ran.stdout + ran.stderr, f"{tool} on {program}.1: {ran.stdout}{ran.stderr}"
    return True


def check_tools_complain(folder):
    """The tools see a page that is wrong."""
    wrong = os.path.join(folder, "wrong.1")
    with open(wrong, "w", encoding="utf-8") as file:
        file.write(".TH WRONG 1\n.SH NAME\nwrong \\- a page\n.RE\n.XY\n")
    for tool, *options in (("mandoc", "-T", "lint"), ("groff", "-ww", "-man", "-z")):
        if shutil.which(tool):
            ran = subprocess.run([tool, *options, wrong], capture_output=True, text=True)
            assert ran.stdout + ran.stderr, f"{tool} takes a wrong page"


def main():
    for program in HELPS:
        check_texts(program)
    with tempfile.TemporaryDirectory() as folder:
        check_tools_complain(folder)
    judged = [check_form("mandoc", "-T", "lint"), check_form("groff", "-ww", "-man", "-z")]
    if not any(judged):
        print("left out: whether the pages are well-formed, as neither mandoc nor groff is here")
        sys.exit(77)


main()
