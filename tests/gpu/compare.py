#!/usr/bin/env python3
"""compare.py: whether two profiles tell the same of what a GPU did.

    compare.py RUN OTHER [FIRST LAST]   RUN and OTHER: recordings or traces; of the steps of these numbers, or of all

Kernels must be the same by name and number, and each linked to an op of the same name; copies and fills the same by
kind, number and bytes; the time of all kernels within one per cent. Prints what is not so, and ends with status 1 then;
the last line is a row of a table: kernels, share linked to an op, copies, bytes, by how much the time differs.
"""

import collections
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from asking import query  # noqa: E402

TIME_DIFFERENCE = 0.01
SHOWN = 10


class Work:
    """What a profile tells of a range of steps."""

    def __init__(self, path, first=None, last=None):
        inside = "" if first is None else (f" WHERE step_id IN (SELECT id FROM steps WHERE number BETWEEN {int(first)} "
                                           f"AND {int(last)})")
        rows = query(path, "SELECT name, op_name, count(*) AS count, CAST(total(dur_ns) AS INTEGER) AS ns FROM kernels"
                           f"{inside} GROUP BY 1, 2")
        self.kernels, self.linked = collections.Counter(), collections.Counter()
        for row in rows:
            self.kernels[row["name"]] += row["count"]
            self.linked[row["name"], row["op_name"]] += row["count"]
        self.kernel_ns = sum(row["ns"] for row in rows)
        self.copies = collections.Counter()
        for row in query(path, "SELECT kind, direction, bytes, count(*) AS count FROM transfers"
                               f"{inside} GROUP BY 1, 2, 3"):
            self.copies[row["kind"], row["direction"], row["bytes"]] += row["count"]
        self.bytes = sum((key[2] or 0) * count for key, count in self.copies.items())

    def linked_ratio(self):
        count = sum(self.linked.values())
        return 1 - sum(n for (_, op), n in self.linked.items() if op is None) / count if count else 0.0


def unlike(what, here, there):
    """Sentences about the keys that are not equally often in both."""
    keys = sorted((key for key in here.keys() | there.keys() if here[key] != there[key]),
                  key=lambda key: (-abs(here[key] - there[key]), str(key)))
    told = [f"{what} {key!r}: {here[key]} against {there[key]}" for key in keys[:SHOWN]]
    return told + ([f"{what}: {len(keys) - SHOWN} more"] if len(keys) > SHOWN else [])


def time_difference(here, there):
    return (here.kernel_ns - there.kernel_ns) / there.kernel_ns if there.kernel_ns else 0.0


def differences(here, there):
    told = unlike("kernel", here.kernels, there.kernels) + unlike("copy or fill", here.copies, there.copies)
    told += unlike("op of kernel", here.linked, there.linked)
    if not here.kernels and not there.kernels:
        told.append("neither has kernels")
    apart = time_difference(here, there)
    if abs(apart) > TIME_DIFFERENCE:
        told.append(f"the kernels take {here.kernel_ns} ns against {there.kernel_ns}: {100 * apart:+.1f} %")
    return told


def row(here, there):
    return (f"{sum(here.kernels.values())} | {100 * here.linked_ratio():.1f} % | {sum(here.copies.values())} | "
            f"{here.bytes} | {100 * time_difference(here, there):+.2f} %")


def main():
    steps = sys.argv[3:5]
    here, there = Work(sys.argv[1], *steps), Work(sys.argv[2], *steps)
    told = differences(here, there)
    print("\n".join(told + [row(here, there)]))
    sys.exit(bool(told))


if __name__ == "__main__":
    main()
