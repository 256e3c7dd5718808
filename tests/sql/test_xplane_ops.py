#!/usr/bin/env python3
"""test_xplane_ops.py: ops of XSpaces: how each was run, which stage of the input it is, and which are dearest."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from asking import check, column, query, rows, run_tests
from xplane_files import Ref, event, line, plane, space, written

NEEDS_CLASSIC = {"test_dearest_ops"}  # tests/parts.py


def test_execution_modes(directory):
    """By the nearest call around an op that tells it; stages of the input pipeline have none."""
    run = written(directory, space(plane("/host:CPU", [line(1, "main", [
        event("EagerExecute", 0, 9_000_000, is_func=0, eager_op="Mul"), event("mul:Mul", 1_000_000, 1_000_000),
        event("FunctionRun", 3_000_000, 2_000_000), event("add:Add", 3_100_000, 1_000_000),
        event("Iterator::Root", 6_000_000, 1_000_000),
        event("EagerExecute", 10_000_000, 9_000_000, is_func=1), event("sub:Sub", 11_000_000, 1_000_000),
        event("f", 20_000_000, 9_000_000, tf_function_call="eager"), event("div:Div", 21_000_000, 1_000_000),
        event("SessionRun", 30_000_000, 9_000_000), event("neg:Neg", 31_000_000, 1_000_000),
        event("alone:Abs", 40_000_000, 1_000_000)])])))
    check({row["op_type"]: row["execution_mode"] for row in query(
        run, "SELECT op_type, execution_mode FROM ops WHERE category IN ('op', 'input')")},
        {"Mul": "eager", "Add": "function", "Dataset": None, "Sub": "function", "Div": "eager", "Neg": "graph",
         "Abs": None}, "modes")
    check(column(run, "SELECT attributes ->> 'is_func' FROM ops WHERE name = 'EagerExecute' ORDER BY start_ns"), [0, 1],
          "still among the attributes")


def test_modes_of_names(directory):
    """What was going on when the recording began has the mode of the others of its name, where they have one."""
    run = written(directory, space(plane("/host:CPU", [line(1, "main", [
        event("a:Add", 100_000, 1_000_000), event("m:Mul", 2_000_000, 1_000_000), event("n:Neg", 4_000_000, 1_000_000),
        event("FunctionRun", 10_000_000, 9_000_000), event("a:Add", 11_000_000, 1_000_000),
        event("m:Mul", 13_000_000, 1_000_000), event("EagerExecute", 20_000_000, 9_000_000, is_func=0),
        event("m:Mul", 21_000_000, 1_000_000)])])))
    check([(row["name"], row["execution_mode"]) for row in query(
        run, "SELECT name, execution_mode FROM ops WHERE category = 'op' ORDER BY start_ns")],
        [("a", "function"), ("m", None), ("n", None), ("a", "function"), ("m", "function"), ("m", "eager")], "modes")


def test_modes_across_threads(directory):
    """What runs on another thread goes by the call around what handed it on; its own call comes first."""
    run = written(directory, space(plane("/host:CPU", [
        line(1, "main", [event("FunctionRun", 0, 9_000_000), event("first", 1_000_000, 1_000_000, _pt=2, _p=7),
                         event("EagerExecute", 10_000_000, 9_000_000, is_func=0),
                         event("second", 11_000_000, 1_000_000, _pt=2, _p=8),
                         event("alone", 30_000_000, 1_000_000, _pt=2, _p=10)]),
        line(2, "pool", [event("task", 3_000_000, 2_000_000, _ct=2, _c=7), event("a:Add", 3_100_000, 500_000),
                         event("hand on", 3_700_000, 500_000, _pt=2, _p=9),
                         event("task", 13_000_000, 2_000_000, _ct=2, _c=8), event("b:Mul", 13_100_000, 500_000),
                         event("FunctionRun", 13_700_000, 900_000), event("c:Sub", 13_800_000, 500_000),
                         event("task", 33_000_000, 2_000_000, _ct=2, _c=10), event("d:Neg", 33_100_000, 500_000)]),
        line(3, "collective", [event("e:Sum", 5_000_000, 1_000_000, _ct=2, _c=9)]),
        line(4, "circle", [event("x:Abs", 5_000_000, 1_000_000, _ct=2, _c=11, _pt=2, _p=12),
                           event("y:Abs", 7_000_000, 1_000_000, _ct=2, _c=12, _pt=2, _p=11)])])))
    check({row["op_type"]: row["execution_mode"] for row in query(
        run, "SELECT op_type, execution_mode FROM ops WHERE category = 'op'")},
        {"Add": "function", "Mul": "eager", "Sub": "function", "Sum": "function", "Neg": None, "Abs": None}, "modes")


def test_stages(directory):
    """Stages that other pipelines than tf.data mark: XProf 2.24.2 has 0.25 ms of input and 0.1 of host compute for each
    of these steps, 240 us of reading and 150 of enqueueing. The worker's stage, which no step caused, is in no step."""
    us, main, worker = 1_000_000, [], []
    for i in range(3):
        at = lambda begin, length, name, past=1000 * i, **stats: event(name, (past + begin) * us, length * us, **stats)
        stage = lambda name, category: {"_ipl_stage_id": len(name), "_ipl_stage_name": Ref(name),
                                        "_ipl_stage_cat": Ref(category)}
        main += [at(0, 900, "train", _r=1, step_num=i), at(10, 200, "loader.next", **stage("Next", "preprocessing")),
                 at(20, 80, "loader.read", **stage("Records", "READ")), at(300, 100, "mul:MatMul"),
                 at(500, 50, "put", **stage("Put", "Enqueue"))]
        worker += [at(30, 60, "work", **stage("Decode", "unknown"))]
    run = written(directory, space(plane("/host:CPU", [line(1, "main", main, 0), line(2, "worker", worker, 0)])))
    ask = lambda sql: rows(run, sql)
    check(ask("SELECT name, long_name, stage, count(*), sum(dur_ns) FROM input_events GROUP BY 1, 2, 3 ORDER BY 5"),
          [("Put", "put", "enqueue", 3, 150_000), ("Decode", "work", "other", 3, 180_000),
           ("Records", "loader.read", "read_on_demand", 3, 240_000),
           ("Next", "loader.next", "preprocess", 3, 600_000)], "events")
    check(ask("SELECT name, count, self_ns, category FROM xprof_input_op_stats ORDER BY self_ns"),
          [("put", 3, 150_000, "enqueue"), ("work", 3, 180_000, "other"), ("loader.read", 3, 240_000, "read_on_demand"),
           ("loader.next", 3, 360_000, "preprocess")], "stages")
    check(ask("SELECT input_ns, host_compute_ns, other_ns FROM xprof_step_breakdown"),
          [(250_000, 100_000, 550_000)] * 3, "steps")
    check(ask("SELECT op, op_type FROM xprof_op_stats WHERE op LIKE 'loader%' ORDER BY 1"),
          [("loader.next", "preprocessing"), ("loader.read", "READ")], "ops")
    check(ask("SELECT attributes ->> '_ipl_stage_id' FROM input_events LIMIT 1"), [(4,)], "the rest")


def test_dearest_ops(directory):
    """The check names ops of the framework and their kernels, not what runs them, by step; there is evidence."""
    host = [event("train", 1_000_000_000 * i, 900_000_000, _r=1, step_num=i) for i in range(2)]
    host += [event("ExecutorState::Process", 10_000_000, 800_000_000),
             event("a/conv:Conv2D", 20_000_000, 300_000_000), event("a/mul:Mul", 400_000_000, 200_000_000),
             event("cuLaunchKernel", 410_000_000, 1_000_000, correlation_id=1)]
    kernel = event("gemm", 420_000_000, 500_000_000, correlation_id=1, tf_op=Ref("a/mul:Mul"))
    run = written(directory, space(plane("/host:CPU", [line(1, "main", host)]),
                                   plane("/device:GPU:0", [line(1, "Stream #1(Compute)", [kernel])])))
    told = query(run, "SELECT message, evidence, subject FROM advise WHERE check_name = 'expensive_operation'")
    check([row["message"].partition(", ")[0] for row in told],
          ["top 1 graph node: a/mul", "top 1 operation type: Mul", "top 2 graph node: a/conv",
           "top 2 operation type: Conv2D"], "ops")
    check(told[0]["message"], "top 1 graph node: a/mul, cpu: 100us, accelerator: 250us, total: 350us", "times")
    check({row["subject"] for row in told}, {"host host-a"}, "subject")
    for row in told:
        assert query(run, row["evidence"]), row


if __name__ == "__main__":
    run_tests(globals())
