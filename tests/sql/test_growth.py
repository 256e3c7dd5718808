"""No stored SELECT takes four times four as long for four times as much: of many ranks, and of many steps.

The oldest planner takes what a query makes (a CTE, a view) for tiny now and then, and looks through the whole of it for
each row of another table. So every view, check and panel runs on 24 and on 96 ranks, and on 200 and on 800 steps, and
the instructions of SQLite's machine are counted, which no load changes. From both counts follows what grows with the
square; what that would be at 1,000 ranks or 10,000 steps has a bound. Sets that our own tables would make anew for each
row of a join are no instructions: their plans are looked at.
"""

import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import engines
from made_traces import copy, kernel, launch, span, write

GROWTH = 4
LARGEST = {"ranks": 1000, "steps": 10000}
BOUND = 40_000_000  # about 0.3 s
PARAMETERS = ("profile_id", "first_step", "last_step", "origin_ns")
ARGUMENTS = {"_step_range": ["('*', 1, 2)"], "op_diff": ["('*', '*')", "('*', '*', 1, 1, 2, 2)"],
             "kernel_diff": ["('*', '*')", "('*', '*', 1, 1, 2, 2)"]}  # of the others: two patterns


def make_rank(path, rank, ranks, steps):
    """Each step waits for input, copies, launches two kernels from ops with stacks in a range, and reduces."""
    events, at, link = [], 1000, 0
    for step in range(steps):
        begin = at
        events.append(span("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at, 9000))
        events.append(span("python_function", f"train.py({step % 7}): train", at, 60000, **{"Python id": step + 1}))
        at += 10000
        for name, work in (("aten::copy_", copy), ("aten::mm", kernel), ("aten::add", kernel),
                           ("c10d::allreduce_", kernel)):
            link += 1
            group = {"Collective name": "allreduce", "Group size": ranks, "dtype": "Float", "In msg nelems": 1024,
                     "Process Group Name": "0"} if name.startswith("c10d") else {}
            events.append(span("cpu_op", "record_param_comms" if group else name, at, 8000, **{
                "External id": link, "Input Dims": [[64, 64]], "Call stack": "train.py(7): train", **group}))
            events.append(launch(at + 1000, 2000, link))
            events.append(work(at + 4000, 5000 + rank % 4, correlation=link, **{"External id": link, **group},
                               **({"name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL()"} if group else {})))
            at += 10000
        events.append({"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": at / 1000,
                       "s": "t", "args": {"Addr": step + 1, "Bytes": 512, "Total Allocated": 512 * step,
                                          "Device Type": 1, "Device Id": 0}})
        events.append(span("user_annotation", "forward", begin + 10000, 20000))
        events.append(span("user_annotation", f"ProfilerStep#{step}", begin, at - begin))
        at += 2000
    write(path, events, distributedInfo={"backend": "nccl", "rank": rank, "world_size": ranks},
          deviceProperties=[{"id": 0, "name": "NVIDIA H100", "totalGlobalMem": 1 << 36, "computeMajor": 9,
                             "computeMinor": 0, "numSms": 132}])


def make(directory, kind, size):
    folder = os.path.join(directory, f"{kind}{size}")
    os.mkdir(folder)
    for rank in range(size if kind == "ranks" else 1):
        make_rank(os.path.join(folder, f"node{rank // 8}_{1000 + rank}.{rank}.pt.trace.json"), rank,
                  size if kind == "ranks" else 1, 4 if kind == "ranks" else size)
    return folder


class Counting:
    """How many instructions of SQLite's machine a query takes."""

    def __init__(self, engine, folder):
        self.connection = engine()
        self.connection.values(f"SELECT tfprof_open('{folder}')")
        self.is_shell = engine is engines.CommandLine
        self.parts = 0
        if self.is_shell:
            self.connection.run(".stats vmstep")
        else:
            self.connection.connection.set_progress_handler(self.count_part, 100)

    def count_part(self):
        self.parts += 1
        return False

    def __call__(self, sql):
        self.parts = 0
        lines, error = self.connection.query(sql)
        assert not error, (sql, error)
        return int(re.search(r"VM-steps: (\d+)", lines[-1])[1]) if self.is_shell else self.parts * 100

    def values(self, sql):
        if self.is_shell:
            self.connection.run(".stats off")
        rows = self.connection.values(sql)
        if self.is_shell:
            self.connection.run(".stats vmstep")
        return rows


def queries(count):
    """Names and SELECTs of all views, checks, functions and panels."""
    found = {}
    for name, kind in count.values("SELECT name, kind FROM tfprof_views WHERE kind <> 'old' ORDER BY name"):
        for arguments in ARGUMENTS.get(name, ["('*', '*')"]) if kind == "function" else [""]:
            found[name + arguments] = f"SELECT * FROM {name}{arguments}"
    for name, sql in count.values("SELECT name, sql FROM tfprof_panels ORDER BY name"):
        found["panel " + name] = re.sub(":(" + "|".join(PARAMETERS) + r")\b", "NULL", sql)
    return found


def test_what_grows_with_the_square(engine):
    with tempfile.TemporaryDirectory(prefix="tfprof-growth-") as directory:
        for kind, size in (("ranks", 24), ("steps", 200)):
            small, large = (Counting(engine, make(directory, kind, n)) for n in (size, size * GROWTH))
            wrong, told = [], queries(small)
            assert len(told) > 200, len(told)
            for name, sql in told.items():
                few, many = small(sql), large(sql)
                square = max(0, many - GROWTH * few) / (GROWTH * GROWTH - GROWTH) * (LARGEST[kind] / size) ** 2
                if square > BOUND:
                    wrong.append(f"{name}: {few} and {many} instructions, {square:.0f} at {LARGEST[kind]} {kind}")
            assert not wrong, "\n".join(wrong)


def test_sets_of_inner_loops_are_sqlites(engine):
    connection = engine()
    with tempfile.TemporaryDirectory(prefix="tfprof-growth-") as directory:
        connection.values(f"SELECT tfprof_open('{make(directory, 'steps', 50)}')")
        connection.values("SELECT count(*) FROM step_op_totals")
    steps = "step_id IN (SELECT id FROM steps WHERE number < 3)"
    for sql, asked in (
            (f"SELECT 1 FROM op_totals CROSS JOIN step_op_totals ON op_total_id = op_totals.id WHERE {steps}", False),
            (f"SELECT * FROM step_op_totals WHERE {steps}", True),
            (f"SELECT * FROM step_op_totals WHERE op_total_id = 3 AND {steps}", True)):
        plan = " ".join(map(str, connection.query("EXPLAIN QUERY PLAN " + sql)[0]))
        assert ("step_id:in?" in plan) == asked, (sql, plan)


if __name__ == "__main__":
    engines.run_tests(sys.modules[__name__])
