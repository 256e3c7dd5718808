#!/usr/bin/env python3
"""test_xplane_steps.py: steps of XSpaces, by marks or by repetition, what belongs to each, and what is said of it."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from asking import check, column, query, rows, run_tests
from xplane_files import Ref, event, line, plane, space, written


def test_names_of_steps(directory):
    """Whatever a step that has a number is called, also as ranges of NVTX are that are steps without one."""
    for name in ("train", "train_step", "step", "Iteration", "batch of mine"):
        marks = [event(name, 100_000 * i, 90_000, _r=1, step_num=100 + i) for i in range(3)]
        run = written(directory, space(plane("/host:CPU", [line(7, "python", marks)])))
        check(rows(run, "SELECT number, name, origin FROM steps ORDER BY number"),
              [(100 + i, f"{name} {100 + i}", "user") for i in range(3)], name)


def test_without_steps(directory):
    """No mark of a step anywhere: ops and kernels are told all the same, and nothing is said of steps."""
    run = written(directory, space(
        plane("/host:CPU", [line(1, "main", [event("mul:Mul", 0, 9_000_000),
                                             event("cuLaunchKernel", 10, 1_000_000, correlation_id=4)])]),
        plane("/device:GPU:0", [line(3, "Stream #3", [event("sgemm", 5_000_000, 2_000_000, correlation_id=4,
                                                            tf_op=Ref("mul:Mul"))])])))
    check(column(run, "SELECT count(*) FROM steps"), [0], "steps")
    check(rows(run, "SELECT side, op, count, self_ns FROM xprof_op_stats WHERE is_idle = 0"),
          [("host", "mul", 1, 9000), ("device", "mul", 1, 2000)], "xprof_op_stats")
    check(rows(run, "SELECT kernel, op, count, sum_ns FROM xprof_kernel_stats"),
          [("sgemm", "mul", 1, 2000)], "xprof_kernel_stats")
    check(column(run, "SELECT count(*) FROM step_breakdown"), [0], "step_breakdown")


def test_steps_by_repetition(directory):
    """Without marks the calls of the function in which most time passes are steps, and this is said."""
    call = "EagerLocalExecute: __inference_one_step_on_iterator_"
    train = [event(call + "7", 1_000_000 + 100_000 * i, 60_000) for i in range(10)]
    more = [event(call + "8", 3_000_000 + 100_000 * i, 60_000) for i in range(4)] # validates, having compiled that
    more.append(event(call + "8", 4_000_000, 9_000_000))
    more += [event("PjitFunction(add)", 1_000_000 + 100_000 * i + 70_000 + 5_000 * k, 4_000) # smaller, more often
             for i in range(10) for k in range(3)]
    more += [event("EagerExecute", 990_000 + 100_000 * i, 1_000) for i in range(10)]
    inner = [event(call + "7", 1_010_000 + 100_000 * i, 40_000) for i in range(10)]
    for name, main in (("plain", train + more), ("nested", train + inner + more)):
        run = written(directory, space(plane("/host:CPU", [line(1, "main", main)])), name + ".xplane.pb")
        found = rows(run, "SELECT number, name, origin, start_ns - (SELECT min(start_ns) FROM ops) AS at, dur_ns "
                          "FROM steps ORDER BY number")
        check(found[1:], [(i, f"step {i}", "repetition", 70 + 100 * (i - 1), 100) for i in range(1, 10)], name)
        check(column(run, "SELECT reason FROM diagnostics"), ["steps_by_repetition"], "it is said")
    marks = [event("train", 1_000_000 + 100_000 * i, 90_000, _r=1, step_num=i) for i in range(10)]
    for name, main, steps in (("marked", train + marks, 10), ("twice", train[:2], 0)):
        run = written(directory, space(plane("/host:CPU", [line(1, "main", main)])), name + ".xplane.pb")
        check(column(run, "SELECT count(*) FROM steps WHERE origin <> 'repetition'"), [steps], name)
        check(column(run, "SELECT count(*) FROM steps"), [steps], name)
        check(column(run, "SELECT count(*) FROM diagnostics"), [0], name)


def test_functions_of_one_name(directory):
    """Two compiled functions of one Python name are no one series: the one that is called most often counts, also where
    calls are nested, as JAX writes them. Programs in no order are those of one function, compiled for each shape."""
    shapes = [10, 11, 11, 12, 10, 10, 12, 11, 12, 12, 10, 11]
    for name, programs, steps in (("gan", [10, 11] * 8, 8), ("critic", [10, 10, 10, 11] * 5, 15),
                                  ("one", [10] * 12, 12), ("shapes", shapes, 12)):
        calls, work = [], []
        for i, program in enumerate(programs):
            for _ in range(2):
                calls.append(event("PjitFunction(step)", 1_000_000 + 100_000 * i, 10_000 + 1_000 * (i % 3)))
            work += [event(op, 1_005_000 + 100_000 * i + 20_000 * k, 15_000, hlo_op=op, hlo_module="jit_step",
                           program_id=program, run_id=1000 + i) for k, op in enumerate(("dot.1", "fusion"))]
        run = written(directory, space(plane("/host:CPU", [line(1, "main", calls), line(2, "worker", work)])),
                      name + ".xplane.pb")
        check(column(run, "SELECT count(*) FROM steps WHERE origin = 'repetition'"), [steps], name)


def test_steps_of_dispatches(directory):
    """A call of jax.jit lasts until the next one: it returns before its work is done, which another thread does."""
    def made(calls, work):
        host = [line(1, "python", [event("PjitFunction(train)", at * 1000, dur * 1000) for at, dur in calls]),
                line(2, "tf_XLAEigen", [event("dot.1", at * 1000, dur * 1000, hlo_op="dot.1", hlo_module="jit_train")
                                        for at, dur in work])]
        return written(directory, space(plane("/host:CPU", host)), f"{len(calls)}.xplane.pb")
    run = made([(1000 + 100 * i, 10) for i in range(5)], [(1020 + 100 * i, 70) for i in range(5)])
    found = rows(run, "SELECT steps.number AS number, steps.start_ns - (SELECT min(start_ns) FROM ops) AS at, "
                      "steps.dur_ns AS dur_ns, ops.start_ns - steps.start_ns AS work FROM steps "
                      "JOIN ops ON ops.step_id = steps.id AND ops.name = 'dot.1' ORDER BY 1")
    # The recording ends with the last piece of work, before the last step would be as long as the others.
    check(found, [(i, 100 * i, 90 if i == 4 else 100, 20) for i in range(5)], "work")
    run = made([(1000, 10), (1100, 10), (1200, 10), (1300, 900)], [(5000, 10)])
    check(column(run, "SELECT dur_ns FROM steps ORDER BY number"), [100, 100, 100, 900], "a long last call")


def test_compiling_steps(directory):
    """The first steps that mostly compile are warm-up: three and half of all at most, and none where most steps do. A
    saved copy has the same ones."""
    def made(name, count, compiled):
        """Of step i a share compiled[i] is compiled, in a phase on the program's thread and one on another."""
        ns, main, pool = 1000, [], []
        for i in range(count):
            start, dur = (10_000 + 100_000 * i) * ns, 90_000 * ns
            main.append(event("train", start, dur, _r=1, step_num=i))
            if i in compiled:
                main.append(event("backend_compile_and_load", start + ns, int(compiled[i] * dur)))
                pool.append(event("PjRtCpuClient::Compile", start + 2 * ns, int(compiled[i] * dur) - 2 * ns))
        return written(directory, space(plane("/host:CPU", [line(1, "python", main), line(2, "tf_XLAEigen", pool)])),
                       name + ".xplane.pb")
    for name, count, compiled, warmup in (
            ("first", 12, {0: 0.9, 1: 0.6}, [0, 1]),
            ("nested", 12, {0: 0.4}, []), # its two phases take 0.8, one inside the other
            ("later", 12, {0: 0.9, 2: 0.9, 7: 0.9}, [0]),
            ("window", 12, {5: 0.9}, []),
            ("many", 12, dict.fromkeys(range(5), 0.9), [0, 1, 2]),
            ("each", 12, dict.fromkeys(range(12), 0.9), []),
            ("each a little", 12, {0: 0.9, **dict.fromkeys(range(1, 12), 0.3)}, []),
            ("pair", 2, {0: 0.9}, [0]),
            ("single", 1, {0: 0.9}, [])):
        run = made(name, count, compiled)
        check(column(run, "SELECT number FROM steps WHERE is_warmup ORDER BY number"), warmup, name)
        check(column(run, "SELECT count(*) FROM steps"), [count], f"{name}: steps")
        saved = os.path.join(directory, name.replace(" ", "_") + ".tfprof")
        query(run, f"SELECT tfprof_save('{saved}')")
        check(column(saved, "SELECT number FROM steps WHERE is_warmup ORDER BY number"), warmup, f"{name}: saved")
    check(column(os.path.join(directory, "later.xplane.pb"),
                 "SELECT warmup_count FROM step_summary"), [1], "step_summary")


def test_step_that_crosses(directory):
    """A step that begins before the call that began the recording ends has what it encloses; another has it once."""
    mark, ns = "ThreadpoolListener::", 1000
    main = [event("$script.py:1 <module>", 5_000 * ns, 300_000 * ns),
            event("$profiler.py:385 __init__", 6_000 * ns, 5_000 * ns),
            event("train", 10_000 * ns, 90_000 * ns, _r=1, step_num=0),
            event("$script.py:9 call", 20_000 * ns, 50_000 * ns),
            event(mark + "Record", 30_000 * ns, 0, _pt=15, _p=97),
            event("my range", 60_000 * ns, 20_000 * ns),                       # begins in the call, outlives it
            event(mark + "Record", 75_000 * ns, 0, _pt=15, _p=98),
            event("$script.py:11 late", 95_000 * ns, 15_000 * ns),             # begins in the step, outlives it
            event(mark + "Record", 96_000 * ns, 0, _pt=15, _p=99),             # in both: a frame gives way to a step
            event("train", 120_000 * ns, 80_000 * ns, _r=1, step_num=1),
            event(mark + "Record", 121_000 * ns, 0, _pt=15, _p=96)]
    pool = [event(f"work {context}", (211_000 + 25_000 * place) * ns, 2_000 * ns, _ct=15, _c=context)
            for place, context in enumerate((97, 98, 99, 96))]
    run = written(directory, space(plane("/host:CPU", [line(1, "python", main), line(2, "tf_XLAPjRt/1", pool)])),
                  "crosses.xplane.pb")
    found = rows(run, "SELECT name, number FROM ops LEFT JOIN (SELECT id AS step, number FROM steps) "
                      "ON step = step_id WHERE name LIKE 'work %' ORDER BY name")
    check(found, [("work 96", 1), ("work 97", 0), ("work 98", 0), ("work 99", 0)], "steps of ops")


def test_marks_without_length(directory):
    """What has no length lasts until the next op of its step has ended, or the step; within an op it adds nothing."""
    mark, ns = "ThreadpoolListener::", 1000
    main = [event("train", 10_000 * ns, 90_000 * ns, _r=1, step_num=0),
            event(mark + "Record", 11_000 * ns, 0, _pt=15, _p=97),     # until dispatch has ended
            event("dispatch", 30_000 * ns, 10_000 * ns),
            event("train", 100_000 * ns, 100_000 * ns, _r=1, step_num=1),
            event("busy", 103_000 * ns, 7_000 * ns),
            event(mark + "Record", 105_000 * ns, 0, _pt=15, _p=99),    # in busy
            event("later", 150_000 * ns, 10_000 * ns), event("instant", 155_000 * ns, 0)]
    pool = [event(mark + "StartRegion", 50_000 * ns, 0, _ct=15, _c=97), # until the step ends: nothing comes after it
            event("of no step", 52_000 * ns, 3_000 * ns), event(mark + "StopRegion", 60_000 * ns, 0),
            event(mark + "StartRegion", 110_000 * ns, 0, _ct=15, _c=99), # when busy is over: until later has ended
            event(mark + "StartRegion", 205_000 * ns, 0, _ct=15, _c=97)] # after its step
    run = written(directory, space(plane("/host:CPU", [line(1, "python", main), line(2, "tf_XLAPjRt/1", pool)])),
                  "marks.xplane.pb")
    found = rows(run, "SELECT number, host_compute_ns, other_ns FROM xprof_step_breakdown")
    check(found, [(0, 79_000, 11_000), (1, 57_000, 43_000)], "steps")


def test_marks(directory):
    """What the program marked is a range and no op: the time in it is outside ops, and the findings name it."""
    millisecond = 10**9
    def steps(name, mark, between, **stats):
        events = []
        for i in range(12):
            at = i * 20 * millisecond
            start = at + (9 * millisecond if between else 0)
            events += [event(name, start, (3 if between else 12) * millisecond, step_num=i, _r=1),
                       event(mark, at, 8 * millisecond, **stats),
                       event("PjitFunction(step)", at + 10 * millisecond, millisecond),
                       event("Handle inputs", at + 10 * millisecond, millisecond // 2),
                       event("traced", at + 11 * millisecond, 1000, tf_function_call="notTraced-nonXla"),
                       event("own", at + 11 * millisecond + 2000, 1000, _src="file.cc:3")]
        pool = line(2, "tf_Compute/17", [event("waits", 0, 5)])
        ops = line(3, "tf_XLAEigen/1", [event("dot", i * 20 * millisecond, 1000, hlo_op="dot", hlo_module="m")
                                        for i in range(12)])
        return written(directory, space(plane("/host:CPU", [line(1, "python", events), pool, ops])))
    for mark, stats in (("load_data", {}), ("Load Data", {"batch": 3}), ("train_input", {}),
                        ("data::load", {"k": "v"})):
        run = steps("train", mark, False, **stats)
        check(column(run, "SELECT DISTINCT name FROM ranges ORDER BY name"), sorted([mark, "train"]), "ranges")
        check(column(run, "SELECT DISTINCT category FROM ops WHERE name IN ('traced', 'own', 'waits', "
                          "'Handle inputs')"), ["runtime"], "what is a framework's")
        check(column(run, f"SELECT outside_ns FROM range_summary WHERE name = '{mark}'"), [12 * (8_000_000 - 1)],
              "outside, without what dot computed")
        found = column(run, "SELECT message FROM advise WHERE check_name = 'host_bound'")
        assert found and f"of 12.0 ms per step, 8.00 ms of it in {mark}" in found[0], found
        sums = rows(run, "SELECT sum(cpu_ns - marks_ns) / 12, sum(marks_ns) / 12, sum(dur_ns) / 12 FROM _step_parts")
        check(sums, [(1_000_002, 8_000_000, 12_000_000)], "time in ops and in marks alone")
        check(rows(run, "SELECT round(host_ratio * 12, 3), round(other_ratio * 12, 3) FROM overview"),
              [(1.0, 11.0)], "overview")
        check(column(run, "SELECT text FROM run_summary WHERE title = 'time'"),
              ["other 92 %, host 8 % of the step time"], "summary")
    run = steps("train", "save", True)
    found = column(run, "SELECT message FROM advise WHERE check_name = 'between_steps'")
    assert found and " of it in save" in found[0], found


def test_host_bound(directory):
    """XLA computes on threads of its own while the step's thread waits: that is no time lost in Python."""
    ms = 10**9
    main, pool = [], []
    for step in range(12):
        main.append(event("train", step * 100 * ms, 90 * ms, step_num=step, _r=1))
        main.append(event("TfOp:MatMul", step * 100 * ms + ms, 5 * ms))
        pool.append(event("dot.1", step * 100 * ms + 10 * ms, 75 * ms, hlo_op="dot.1", hlo_module="jit_step"))
    for name, lines, expected in (("waits", [line(1, "python", main), line(2, "tf_XLAEigen/1", pool)], []),
                                  ("python", [line(1, "python", main)], ["host_bound"])):
        path = written(directory, space(plane("/host:CPU", lines)), name + ".xplane.pb")
        assert column(path, "SELECT check_name FROM advise WHERE check_name = 'host_bound'") == expected, name
    # Where the thread waits in an op what it waits for is no part of the time outside ops, and takes nothing off it.
    for step in range(12):
        main.append(event("np.asarray(jax.Array)", step * 100 * ms + 6 * ms, 44 * ms))
        pool[step] = event("dot.1", step * 100 * ms + 10 * ms, 50 * ms, hlo_op="dot.1", hlo_module="jit_step")
    path = written(directory, space(plane("/host:CPU", [line(1, "python", main), line(2, "tf_XLAEigen/1", pool)])),
                   "asked.xplane.pb")
    (message,) = column(path, "SELECT message FROM advise WHERE check_name = 'host_bound'")
    assert message.startswith("34 % of the step time passes outside any op: 31.0 ms of 90.0 ms"), message
    # All that tells this time tells the same.
    for sql in ("SELECT outside_ratio FROM step_summary", "SELECT other_ratio FROM overview",
                "SELECT DISTINCT outside_ns / 90e6 FROM step_op_time", "SELECT 1 - in_ops_ratio FROM step_summary"):
        check([round(share, 6) for share in column(path, sql)], [round(31 / 90, 6)], sql)
    check(column(path, "SELECT text FROM run_summary WHERE title = 'time'"),
          ["host 66 %, other 34 % of the step time"], "summary")
    # What a step dispatches may be computed in the next one, while the program is in a mark of its own.
    main = [event("train", step * 100 * ms, 100 * ms, step_num=step, _r=1) for step in range(12)]
    main += [event("PjitFunction(step)", step * 100 * ms, 10 * ms) for step in range(12)]
    main += [event("load", step * 100 * ms + 10 * ms, 80 * ms) for step in range(12)]
    pool = [event("dot.1", step * 100 * ms + 50 * ms, 70 * ms, hlo_op="dot.1", hlo_module="jit_step")
            for step in range(11)]
    path = written(directory, space(plane("/host:CPU", [line(1, "python", main), line(2, "tf_XLAEigen/1", pool)])),
                   "ahead.xplane.pb")
    check(column(path, "SELECT outside_ns FROM step_op_time"), [40_000_000] + [30_000_000] * 10 + [80_000_000], "ahead")
    check(column(path, "SELECT outside_ns FROM ranges WHERE name = 'load' ORDER BY start_ns"),
          [40_000_000] + [30_000_000] * 10 + [70_000_000], "in marks")


def test_ops_of_jax_one_by_one(directory):
    """Each op outside of jax.jit is a call of its own; the functions of the program itself are none of them."""
    ms = 10**9
    def said(calls):
        main = []
        for step in range(12):
            start = step * 100 * ms
            main += [event("train", start, 90 * ms, step_num=step, _r=1),
                     event("PjitFunction(update)", start + ms, 20 * ms)]
            for call in range(calls):
                main += [event("PjitFunction(add)", start + (30 + 2 * call) * ms, ms + ms // 2),
                         event("PjitFunction(add)", start + (30 + 2 * call) * ms, ms),
                         event("add.1", start + (30 + 2 * call) * ms, ms // 2, hlo_op="add.1", hlo_module="jit_add")]
        path = written(directory, space(plane("/host:CPU", [line(1, "python", main)])), "one_by_one.xplane.pb")
        return rows(path, "SELECT message, saves_ns, suggestion FROM advise WHERE check_name = 'eager_ops'")
    ((message, saves, suggestion),) = said(20)
    assert message.startswith("33 % of the step time goes to ops"), message
    assert message.endswith("a step, 30.0 ms, most in add"), message
    assert saves == 12 * 20 * 1_000_000 and "jax.jit" in suggestion, (saves, suggestion)
    assert said(10) == [], "a few functions of the program"


def test_retracing_names_the_program(directory):
    """Phases of XLA say nothing to whoever wrote the program; the program that they compile does."""
    ms = 10**9
    main = []
    for step in range(12):
        main += [event("train", step * 100 * ms, 90 * ms, step_num=step, _r=1),
                 event("PjitFunction(update)", step * 100 * ms + ms, 80 * ms),
                 event("lower_sharding_computation", step * 100 * ms + 2 * ms, 5 * ms),
                 event("backend_compile_and_load", step * 100 * ms + 10 * ms, 60 * ms),
                 event("HLO passes after layout assignment (jit_update)", step * 100 * ms + 11 * ms, ms)]
    path = written(directory, space(plane("/host:CPU", [line(1, "python", main)])))
    (found,) = rows(path, "SELECT message, suggestion FROM advise WHERE check_name = 'retracing'")
    assert found[0].endswith("in 12 of 12 steps: jit_update") and "jax_explain_cache_misses" in found[1], found


if __name__ == "__main__":
    run_tests(globals())
