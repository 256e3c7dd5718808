"""The ops of a capture are those of torch.profiler: on the same seeded programs, names, input shapes, types, sequence
numbers and nesting, on every thread, both when the two watch the same execution and when they watch one each.
"""

import collections
import json
import os
import subprocess
import sys

import capturing

PROGRAMS = ["cnn", "transformer", "loader", "exceptions", "side_threads", "autograd_threads", "compiled"]
# Compiled code marks its regions only while a profiler watches it: another execution has other ranges.
TOGETHER = ["compiled"]


def expected_shapes(event):
    """torch.profiler leaves the keys out where an op has no inputs."""
    return event["shapes"] or None, event["types"] or None


def order(starts):
    """Ops of one thread in the order in which they began; of those that began together the longer first."""
    return sorted(starts, key=lambda op: (op[0], -op[1]))


def captured(ops, program):
    """{thread row: [(start, dur, name, shapes, types, sequence)]} of what lies within the range."""
    all_ops = [op for op in ops if op.name not in capturing.NOTED]
    (whole,) = [op for op in all_ops if op.name == "compared " + program]
    threads = collections.defaultdict(list)
    for op in all_ops:
        if op.start > whole.start and op.end < whole.end or op.thread == whole.thread and op is whole:
            threads[op.thread].append((op.start, op.dur, op.name, op.shapes, op.types, op.sequence))
    return [order(value) for _, value in sorted(threads.items())]


def profiled(out, program, rank=""):
    with open("%s.%s%s" % (out, program, rank)) as file:
        events = json.load(file)
    (whole,) = [event for event in events if event["name"] == "compared " + program]
    threads = collections.defaultdict(list)
    for event in events:
        begin, end = event["start"], event["start"] + event["dur"]
        if begin > whole["start"] and end < whole["start"] + whole["dur"] or event is whole:
            shapes, types = expected_shapes(event)
            sequence = event["sequence"]
            threads[event["tid"]].append(
                (
                    event["start"],
                    event["dur"],
                    event["name"],
                    shapes,
                    types,
                    None if sequence in (None, -1) else sequence,
                )
            )
    return [order(value) for value in threads.values()]


def without_times(threads, is_ordered):
    plain = [[tuple(map(repr, op[2:])) for op in thread] for thread in threads]
    return sorted(thread if is_ordered else sorted(thread) for thread in plain)


def compare(program, what, mine, its):
    count_mine, count_its = sum(map(len, mine)), sum(map(len, its))
    # In which order batches of two workers arrive is chance, and so is what has which sequence number.
    is_ordered = what == "same execution" or program != "loader"
    if not is_ordered:
        mine, its = ([[op[:-1] for op in thread] for thread in side] for side in (mine, its))
    mine, its = without_times(mine, is_ordered), without_times(its, is_ordered)
    if mine != its:
        for first, second in zip(mine, its):
            for index, (one, other) in enumerate(zip(first, second)):
                if one != other:
                    print(
                        "%s, %s: op %d of a thread\n  captured %s\n  profiled %s" % (program, what, index, one, other)
                    )
                    break
        names = [collections.Counter(op[0] for thread in side for op in thread) for side in (mine, its)]
        print("  only captured: %s\n  only profiled: %s" % (names[0] - names[1], names[1] - names[0]))
        raise AssertionError(
            "%s, %s: %d ops on %d threads captured, %d on %d profiled"
            % (program, what, count_mine, len(mine), count_its, len(its))
        )
    print("%-18s %-18s %6d ops on %d threads are equal" % (program, what, count_mine, len(mine)))


def check_workers(ops):
    """Each worker of the DataLoader has a dump of its own, closed in order, with one stack per batch and field."""
    stacked = filled = 0
    for path in ops:
        assert capturing.summary(path)["closed"], path
        names = collections.Counter(op.name for op in ops[path])
        stacked += names["aten::stack"]
        filled += names["aten::full"]
    # The program runs twice; a batch stacks the values and makes a tensor of the numbers.
    assert stacked == 2 * 12 and filled == 2 * 48, (stacked, filled)
    print("%-18s %d worker processes: every op of every batch is there" % ("loader", len(ops)))


def recorded(programs, mode, out):
    """{program: its ops by thread}, of all programs in one process."""
    with capturing.Directory() as directory:
        drive = os.path.join(capturing.PROGRAMS, "drive.py")
        capturing.run(directory, [drive, ",".join(programs), mode, out])
        ops = {path: capturing.ops(path) for path in capturing.dumps(directory)}
        (main,) = [path for path in ops if any(op.name.startswith("compared ") for op in ops[path])]
        summary, parts = capturing.summary(main), capturing.parts(main)
        assert summary["closed"] and not summary["problems"], summary
        parts.pop("nvtx", None)  # only tfprof-capture points to it
        assert all(state == "ok" for state, _ in parts.values()), parts
        if "loader" in programs:
            assert len(ops) == 5, sorted(ops)
            check_workers({path: of_worker for path, of_worker in ops.items() if path != main})
        return {program: captured(ops[main], program) for program in programs}


def main():
    capturing.need_torch()
    programs = sys.argv[1:] or PROGRAMS
    apart = [program for program in programs if program not in TOGETHER]
    with capturing.Directory() as directory:
        out = os.path.join(directory, "both")
        for program, mine in recorded(programs, "both", out).items():
            compare(program, "same execution", mine, profiled(out, program))
        if not apart:
            return
        alone = recorded(apart, "capture", out)
        out = os.path.join(directory, "profiler")
        drive = os.path.join(capturing.PROGRAMS, "drive.py")
        subprocess.run([capturing.PYTHON, drive, ",".join(apart), "profiler", out], check=True)
        for program, mine in alone.items():
            compare(program, "separate", mine, profiled(out, program))


if __name__ == "__main__":
    main()
