"""The ops of a capture are those of torch.profiler: on the same seeded programs, names, input shapes, types, sequence
numbers and nesting, on every thread, both when the two watch the same execution and when they watch one each.
"""

import collections
import json
import os
import sys

import capturing

RANGE = "compared"
PROGRAMS = ["cnn", "transformer", "loader", "exceptions", "side_threads", "autograd_threads", "compiled"]
# Compiled code marks its regions only while a profiler watches it: another execution has other ranges.
TOGETHER = ["compiled"]


def expected_shapes(event):
    """torch.profiler leaves the keys out where an op has no inputs."""
    return event["shapes"] or None, event["types"] or None


def order(starts):
    """Ops of one thread in the order in which they began; of those that began together the longer first."""
    return sorted(starts, key=lambda op: (op[0], -op[1]))


def captured(path):
    """{thread row: [(start, dur, name, shapes, types, sequence)]} of what lies within the range."""
    all_ops = [op for op in capturing.ops(path) if op.name not in capturing.NOTED]
    (whole,) = [op for op in all_ops if op.name == RANGE]
    threads = collections.defaultdict(list)
    for op in all_ops:
        if op.start > whole.start and op.end < whole.end or op.thread == whole.thread and op is whole:
            threads[op.thread].append((op.start, op.dur, op.name, op.shapes, op.types, op.sequence))
    return [order(value) for _, value in sorted(threads.items())]


def profiled(path):
    with open(path) as file:
        events = json.load(file)
    (whole,) = [event for event in events if event["name"] == RANGE]
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


def check_workers(paths):
    """Each worker of the DataLoader has a dump of its own, closed in order, with one stack per batch and field."""
    sys.path.insert(0, capturing.PROGRAMS)
    stacked = filled = 0
    for path in paths:
        assert capturing.summary(path)["closed"], path
        names = collections.Counter(op.name for op in capturing.ops(path))
        stacked += names["aten::stack"]
        filled += names["aten::full"]
    # The program runs twice; a batch stacks the values and makes a tensor of the numbers.
    assert stacked == 2 * 12 and filled == 2 * 48, (stacked, filled)
    print("%-18s %d worker processes: every op of every batch is there" % ("loader", len(paths)))


def main():
    capturing.need_torch()
    drive = os.path.join(capturing.PROGRAMS, "drive.py")
    for program in sys.argv[1:] or PROGRAMS:
        results = {}
        for mode in ("both",) if program in TOGETHER else ("both", "capture"):
            with capturing.Directory() as directory:
                out = os.path.join(directory, "profile.json")
                capturing.run(directory, [drive, program, mode, out])
                paths = capturing.dumps(directory)
                mains = [path for path in paths if any(op.name == RANGE for op in capturing.ops(path))]
                assert len(mains) == 1, paths
                assert (
                    capturing.summary(mains[0])["closed"] and not capturing.summary(mains[0])["problems"]
                ), capturing.summary(mains[0])
                assert all(state == "ok" for state, _ in capturing.parts(mains[0]).values()), capturing.parts(mains[0])
                results[mode] = captured(mains[0])
                if mode == "both":
                    compare(program, "same execution", results[mode], profiled(out))
                if program == "loader":
                    assert len(paths) == 5, paths
                    check_workers([path for path in paths if path not in mains])
        if program in TOGETHER:
            continue
        with capturing.Directory() as directory:
            out = os.path.join(directory, "profile.json")
            environment = dict(os.environ)
            assert (
                os.spawnve(
                    os.P_WAIT, capturing.PYTHON, [capturing.PYTHON, drive, program, "profiler", out], environment
                )
                == 0
            )
            compare(program, "separate", results["capture"], profiled(out))


if __name__ == "__main__":
    main()
