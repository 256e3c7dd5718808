"""compare.py: whether two profiles tell the same of what a GPU did.

Kernels must be the same by name and number, and each linked to an op of the same name; copies and fills the same by
kind, number and bytes. How long they took is no property of who records: it is told beside the time of the steps.
"""

import collections
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from asking import query  # noqa: E402

SHOWN = 10


class Work:
    """What a profile, a recording or a trace, tells of the steps of these numbers, or of all."""

    def __init__(self, path, first=None, last=None, by_time=False):
        """`by_time`: what began between these steps' begin and end belongs to them, whatever launched it."""
        numbers = "" if first is None else f" WHERE number BETWEEN {int(first)} AND {int(last)}"
        inside = numbers and f" WHERE step_id IN (SELECT id FROM steps{numbers})"
        if by_time:
            inside = f" WHERE start_ns BETWEEN (SELECT min(start_ns) FROM steps{numbers}) AND " \
                     f"(SELECT max(end_ns) FROM steps{numbers})"
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
        (steps,) = query(path, f"SELECT count(*) AS count, CAST(total(dur_ns) AS INTEGER) AS ns FROM steps{numbers}")
        self.steps, self.step_ns = steps["count"], steps["ns"]

    def linked_ratio(self):
        count = sum(self.linked.values())
        return 1 - sum(n for (_, op), n in self.linked.items() if op is None) / count if count else 0.0


def unlike(what, here, there):
    """Sentences about the keys that are not equally often in both."""
    keys = sorted((key for key in here.keys() | there.keys() if here[key] != there[key]),
                  key=lambda key: (-abs(here[key] - there[key]), str(key)))
    told = [f"{what} {key!r}: {here[key]} against {there[key]}" for key in keys[:SHOWN]]
    return told + ([f"{what}: {len(keys) - SHOWN} more"] if len(keys) > SHOWN else [])


def differences(here, there, may_lack_links=False):
    """`may_lack_links`: kernels here may have no op; those that have one must have the right one."""
    told = unlike("kernel", here.kernels, there.kernels) + unlike("copy or fill", here.copies, there.copies)
    if may_lack_links:
        known = collections.Counter({key: count for key, count in here.linked.items() if key[1] is not None})
        told += unlike("op of kernel", known, known & there.linked)
    else:
        told += unlike("op of kernel", here.linked, there.linked)
    if here.steps != there.steps:
        told.insert(0, f"{here.steps} steps against {there.steps}")
    if not here.kernels and not there.kernels:
        told.append("neither has kernels")
    return told


def figures(here, there, may_lack_links=False):
    """Of both, for a summary."""
    return {"steps": here.steps, "kernels": sum(here.kernels.values()), "linked_ratio": here.linked_ratio(),
            "copies": sum(here.copies.values()), "bytes": here.bytes,
            "differences": differences(here, there, may_lack_links),
            "kernel_time_ratio": ratio(here.kernel_ns, there.kernel_ns),
            "step_time_ratio": ratio(here.step_ns, there.step_ns)}


def ratio(here, there):
    return here / there if there else None
