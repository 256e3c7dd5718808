#!/usr/bin/env python3
"""test_files.py: what is brought into somebody else's program opens files in one place (recorder/file_threads.h).

A descriptor that any other file opened would have a number of the program's, which the program may expect to be free,
close, or replace at any moment.
"""

import os
import re

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
OPENING = re.compile(
    r"(?<![\w.>])((?:f?open|openat2?|creat|fopen|freopen|popen|opendir|tmpfile|mkos?temps?|shm_open|memfd_create|pipe2?"
    r"|dup[23]?|socket|socketpair|eventfd|timerfd_create|signalfd|epoll_create1?|inotify_init1?|fmemopen)\s*\()")
ALLOWED = {
    "capture/library/recorder/file_threads.c",
    "capture/library/governor/agreement_table.c",  # what the launcher calls, to remove tables
    "capture/library/control.c",  # on a thread that has a table of its own, or the file threads
    "capture/library/run_peers.c",  # the same
    "capture/common/control_place.c",  # the same
}
COMMENT = re.compile(r"/\*.*?\*/|\"(?:\\.|[^\"\\])*\"", re.S)


def main():
    found, count = [], 0
    for top in ("capture/library", "capture/common", "capture/preload"):
        for folder, _, names in os.walk(os.path.join(ROOT, top)):
            for name in sorted(names):
                path = os.path.relpath(os.path.join(folder, name), ROOT)
                if not name.endswith((".c", ".h")) or path in ALLOWED:
                    continue
                count += 1
                with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                    text = COMMENT.sub("", file.read())
                found += ["%s: %s" % (path, call) for call in OPENING.findall(text)]
    assert not found, "opened beside the program's files (see recorder/file_threads.h):\n" + "\n".join(found)
    print("%d files, none opens a file in the program's table" % count)


main()
