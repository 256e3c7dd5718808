#!/usr/bin/env python3
"""test_profiler_windows.py: files of the framework's own profiler that a dump names are part of its profile."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import engines
from asking import check, column, rows, run_tests
from window_recordings import EPOCH, LINE, MS, BOOT, Recording, beside, began
from xplane_files import Unsigned, event, line, message, number, plane, program, programs, space, written


def xspace(first_step, count, told=True, handle_line=LINE, extra=0, compiled=None):
    """Three ops in each step: two on the thread that trains, one on a thread of a pool."""
    main, pool = [], []
    for i in range(count):
        at = (10 * MS * i + 65_000) * 1000
        main += [event("PjitFunction(step)", at + 1_000_000_000, 6_000_000_000),
                 event("ExecuteHelper", at + 2_000_000_000, 1_000_000_000)]
        pool += [event("dot.3", at + 3_000_000_000, 2_000_000_000, hlo_op="dot.3", hlo_module="jit_step")]
    facts = {"profile_start_time": Unsigned(began(first_step)),
             "profile_stop_time": Unsigned(began(first_step) + 10 * MS * count)} if told else {}
    return space(plane("/host:CPU", [line(handle_line, "python", main, 0),
                                     line(2**63 + 5, "tf_XLAEigen/1", pool + [event("e%d" % i, 0, 10)
                                                                             for i in range(extra)], 0)]),
                 plane("Task Environment", [], facts), *([programs({"jit_step(1)": compiled})] if compiled else []))


def test_one_profile(directory):
    """All steps of the dump, and in those of windows the ops of the files, at their times."""
    recording = Recording(interval=10)
    for number, first in enumerate((4, 12)):
        beside(directory, number, xspace(first, 2))
        recording.window(f"vm-4711.{number}.xplane.pb", first, 2)
    path = recording.write(directory)
    for run in (directory, path):
        check(rows(run, "SELECT path, format, complete, framework FROM profiles"), [(path, "tfprof", 1, "jax")], run)
        check(column(run, "SELECT count(*) FROM steps"), [20], "the steps are the dump's")
        check(column(run, "SELECT number FROM steps WHERE ops_recorded"), [4, 5, 12, 13], "ops_recorded")
        check(rows(run, "SELECT s.number, count(*), count(DISTINCT o.thread_id) FROM ops AS o JOIN steps AS s "
                        "ON s.id = o.step_id GROUP BY 1"),
              [(4, 3, 2), (5, 3, 2), (12, 3, 2), (13, 3, 2)], "ops of steps")
        check(rows(run, "SELECT DISTINCT o.name, o.start_ns - s.start_ns, o.dur_ns FROM ops AS o JOIN steps AS s "
                        "ON s.id = o.step_id ORDER BY 2"),
              [("PjitFunction(step)", 1 * MS, 6 * MS), ("ExecuteHelper", 2 * MS, MS), ("dot.3", 3 * MS, 2 * MS)],
              "what the file tells of when it began counts")
        check(rows(run, "SELECT t.name, t.tid, count(*) FROM ops AS o JOIN threads AS t ON t.id = o.thread_id "
                        "GROUP BY 1 ORDER BY 3"), [("tf_XLAEigen/1", None, 4), ("trainer", 4711, 8)],
              "threads are those of the dump, and the same in all windows")
        check(column(run, "SELECT parent_name FROM ops WHERE name = 'ExecuteHelper'"), ["PjitFunction(step)"] * 4,
              "nesting")
        check(rows(run, "SELECT DISTINCT ops_recorded, sample_weight FROM steps WHERE is_warmup = 0"),
              [(0, 0.0), (1, 3.5), (1, 5.0)], "of ten steps, three of the first ten being warm-up, two speak")
        check(rows(run, "SELECT op, count FROM op_summary WHERE op = 'dot.3'"), [("dot.3", 17.0)], "op_summary")
        check(rows(run, "SELECT file, first_step, step_count, ending, is_read FROM profiler_windows"),
              [(f"vm-4711.{i}.xplane.pb", first, 2, "steps", 1) for i, first in ((0, 4), (1, 12))], "the windows")
        check(column(run, "SELECT hlo_module FROM ops WHERE name = 'dot.3' LIMIT 1"), ["jit_step"], "more columns")
        check(column(run, "SELECT message FROM diagnostics WHERE severity <> 'info'"), [], "nothing to tell")


def test_files_that_cannot_be_read(directory):
    """One that is gone, cut, something else, or elsewhere: told by name, and everything else is served."""
    recording = Recording()
    good = xspace(4, 2, extra=200)
    device = message(1, "/host:CPU") + number(2, 701) + message(3, number(1, 7) + message(2, message(1, "python")))
    trace = message(1, number(1, 701) + message(2, device))  # as stop() of TensorFlow's session gives it
    names = {"vm-4711.0.xplane.pb": good, "vm-4711.1.xplane.pb": None, "vm-4711.2.xplane.pb": good[:len(good) // 2],
             "vm-4711.3.xplane.pb": b"no profile at all", "../elsewhere.xplane.pb": None,
             "vm-4711.5.xplane.pb": trace, None: None}
    written(directory, good, "elsewhere.xplane.pb")
    inner = os.path.join(directory, "run")
    for i, (name, data) in enumerate(names.items()):
        if data is not None:
            written(inner, data, name)
        recording.window(name, 4 + 2 * i, 2)
    recording.write(inner)
    read = dict(rows(inner, "SELECT coalesce(file, 'none'), is_read FROM profiler_windows"))
    check(read["vm-4711.0.xplane.pb"], 1, "the good one")
    check([read[name] for name in ("vm-4711.1.xplane.pb", "../elsewhere.xplane.pb", "none")], [0, 0, 0], "no file")
    messages = column(inner, "SELECT message FROM diagnostics")
    for name in names:
        if name != "vm-4711.0.xplane.pb":
            check(any((name or "does not tell the name of") in message for message in messages), True, (name, messages))
    check(rows(inner, "SELECT count(*), count(DISTINCT s.number) FROM ops AS o JOIN steps AS s ON s.id = o.step_id "
                      "WHERE s.number < 6 AND o.name NOT GLOB 'e[0-9]*'"), [(6, 2)], "ops of the good one")
    check(column(inner, "SELECT count(*) FROM steps"), [20], "steps")
    check(column(inner, "SELECT number FROM steps WHERE ops_recorded AND number NOT IN (8, 9, 10, 11, 14, 15)"), [4, 5],
          "ops of windows that are lost are not there")


def test_clocks(directory):
    """A file that does not tell when it began, one of absolute times, and a wall clock that was set meanwhile."""
    recording = Recording()
    beside(directory, 0, xspace(4, 2, told=False))
    beside(directory, 1, xspace(8, 2))
    recording.window("vm-4711.0.xplane.pb", 4, 2)
    recording.window("vm-4711.1.xplane.pb", 8, 2, start_realtime_ns=EPOCH + 3600 * 1000 * MS)
    recording.write(directory)
    places = rows(directory, "SELECT s.number, o.start_ns - s.start_ns FROM ops AS o JOIN steps AS s "
                             "ON s.id = o.step_id WHERE o.name = 'dot.3'")
    check([number for number, _ in places], [4, 5, 8, 9], "steps")
    check([abs(at - 3 * MS) < 40_000 for _, at in places], [True] * 4, f"within the time that opening took: {places}")


def test_with_ops_of_its_own(directory):
    """A dump that has ops, too: what is derived of these stays so, what the file tells of its own is kept."""
    def facts(run):
        return rows(run, "SELECT name, op_type, is_backward, module FROM ops WHERE name GLOB 'aten*' ORDER BY start_ns")

    plain, both = Recording(), Recording()
    for recording in (plain, both):
        recording.add("ops", [{"name": name, "category": "op", "thread_id": 0, "start_ns": BOOT + 45 * MS + i * 100,
                               "dur_ns": 50} for i, name in enumerate(("aten::mm", "aten::add"))])
    beside(directory, 0, xspace(4, 2))
    both.window("vm-4711.0.xplane.pb", 4, 2)
    for recording in (plain, both):
        recording.add("ops", [{"name": "aten::mul", "category": "op", "thread_id": 0, "start_ns": BOOT + 95 * MS,
                               "dur_ns": 50}])
    without = plain.write(os.path.join(directory, "plain"))
    run = both.write(directory)
    check(facts(run), facts(without), "of the dump's own ops")
    check(len(facts(run)), 3, "all of them")
    check(rows(run, "SELECT DISTINCT op_type, hlo_module FROM ops WHERE name = 'dot.3'"), [("dot.3", "jit_step")],
          "of the file's")


def test_between_steps(directory):
    """What goes on after the end of a step is of that step."""
    recording = Recording(20)
    rows_of = [event(name, at * 1_000_000, 50_000_000, hlo_op=name, hlo_module="jit_step")
               for name, at in (("early.1", 5), ("dot.3", 2_065), ("late.4", 10_065 - 70), ("later.5", 19_990))]
    facts = {"profile_start_time": Unsigned(began(4))}
    beside(directory, 0, space(plane("/host:CPU", [line(LINE, "python", rows_of, 0)]),
                               plane("Task Environment", [], facts)))
    recording.window("vm-4711.0.xplane.pb", 4, 2)
    recording.write(directory)
    check(rows(directory, "SELECT o.name, s.number FROM ops AS o LEFT JOIN steps AS s ON s.id = o.step_id ORDER BY "
                          "o.start_ns"), [("early.1", 3), ("dot.3", 4), ("late.4", 4), ("later.5", 5)], "ops")


def test_after_steps(directory):
    """What begins long after a step is of none: an evaluation between two, or what the program does after the last."""
    recording = Recording(0)
    recording.steps(0, 6)
    recording.steps(50, 52)
    for place, first, ats in ((0, 4, (2, 9_800, 26_000, 60_000)), (1, 50, (2, 19_900, 60_000))):
        rows_of = [event(f"at.{at}", (at + 200) * 1_000_000, 50_000_000, hlo_op=f"at.{at}") for at in ats]
        facts = {"profile_start_time": Unsigned(began(first))}
        beside(directory, place, space(plane("/host:CPU", [line(LINE, "python", rows_of, 0)]),
                                       plane("Task Environment", [], facts)))
        recording.window(f"vm-4711.{place}.xplane.pb", first, 2, dur_ns=80 * MS)
    recording.write(directory)
    check(rows(directory, "SELECT o.name, s.number FROM ops AS o LEFT JOIN steps AS s ON s.id = o.step_id ORDER BY "
                          "o.start_ns"), [("at.2", 4), ("at.9800", 4), ("at.26000", 5), ("at.60000", None),
                                          ("at.2", 50), ("at.19900", 51), ("at.60000", None)], "ops")


def test_programs(directory):
    """What XLA compiled is in some of the files: it tells of the ops in the later ones, up to the next that has it."""
    def made_of(text, line_number):
        return program("jit_step", [("dot.3", "", f"jit(step)/{text}", "train.py", line_number, 0)])

    recording = Recording(30)
    for i, compiled in enumerate((None, made_of("tanh", 7), None, None, made_of("sub", 9), None)):
        beside(directory, i, xspace(4 + 4 * i, 1, compiled=compiled))
        recording.window(f"vm-4711.{i}.xplane.pb", 4 + 4 * i, 1)
    os.remove(os.path.join(directory, "vm-4711.2.xplane.pb"))  # between them
    path = recording.write(directory)
    asked = ("SELECT s.number, o.op_type, f.file, f.line FROM ops AS o JOIN steps AS s ON s.id = o.step_id LEFT JOIN "
             "code_traces AS t ON t.id = o.code_trace_id LEFT JOIN code_frames AS f ON f.id = t.leaf_frame_id "
             "WHERE o.name = 'dot.3' ORDER BY 1")
    wanted = [(4, "dot.3", None, None), (8, "tanh", "train.py", 7), (16, "tanh", "train.py", 7),
              (20, "sub", "train.py", 9), (24, "sub", "train.py", 9)]
    check(rows(path, asked), wanted, "ops")
    check(column(path, "SELECT count(*) FROM code_traces"), [2], "places are there once")
    copy = os.path.join(directory, "copies", "copy.tfprof")
    os.makedirs(os.path.dirname(copy))
    column(path, f"SELECT tfprof_save('{copy}')")
    check(rows(copy, asked), wanted, "a copy")


def test_refresh_and_copy(directory):
    """Windows that come while the run is open; a copy answers as the recording, without its files."""
    asked = ("SELECT s.number, o.name, o.start_ns, o.self_ns, o.sample_weight, o.op_type, t.name, t.tid, o.parent_name "
             "FROM ops AS o JOIN threads AS t ON t.id = o.thread_id LEFT JOIN steps AS s ON s.id = o.step_id "
             "ORDER BY o.start_ns, o.name")
    windows = "SELECT file, is_read, ending, start_ns, dur_ns FROM profiler_windows"
    recording = Recording(12, interval=8)
    beside(directory, 0, xspace(4, 2))
    recording.window("vm-4711.0.xplane.pb", 4, 2)
    path = recording.write(directory, is_closed=False)
    session = engines.Newest()
    session.values(f"SELECT tfprof_open('{path}')")
    check(len(session.values(asked)), 6, "ops at first")
    old = session.values("SELECT id, name FROM ops ORDER BY id")
    recording.steps(12, 24)
    beside(directory, 1, xspace(14, 3, extra=3))
    recording.window("vm-4711.1.xplane.pb", 14, 3)
    recording.steps(24, 30)
    recording.write(directory)
    session.values("SELECT tfprof_refresh()")
    wanted, told = rows(path, asked), rows(path, windows)
    check(len(wanted), 18, "ops")
    check(session.values(asked), wanted, "after a refresh as opened anew")
    check(session.values("SELECT id, name FROM ops ORDER BY id")[:6], old, "rows keep their numbers")
    check(session.values(windows), told, "windows after a refresh")
    copy = os.path.join(directory, "copies", "copy.tfprof")
    os.makedirs(os.path.dirname(copy))
    column(path, f"SELECT tfprof_save('{copy}')")
    check(rows(copy, asked), wanted, "a copy: ops")
    check(rows(copy, windows), told, "a copy: windows")
    check(column(copy, "SELECT count(*) FROM diagnostics"), column(path, "SELECT count(*) FROM diagnostics"), "told")


def test_steps_of_marks(directory):
    """Steps are what the dump's own rows mark, though the file has marks with numbers of its own."""
    recording = Recording(0)
    recording.add("ops", [{"name": f"tfprof.step#{i}", "category": "user", "thread_id": 0, "dur_ns": 10 * MS - 100_000,
                           "start_ns": BOOT + 10 * MS * i} for i in range(20)])
    marks = [event("train", (10 * MS * i + 75_000) * 1000, 9_000_000_000, _r=1, step_num=500 + i) for i in range(2)]
    facts = {"profile_start_time": Unsigned(began(6))}
    beside(directory, 0, space(plane("/host:CPU", [line(LINE, "python", marks, 0)]),
                               plane("Task Environment", [], facts)))
    recording.window("vm-4711.0.xplane.pb", 6, 2)
    beside(directory, 1, xspace(14, 1))
    recording.window("vm-4711.1.xplane.pb", 14, 1)
    recording.write(directory)
    check(rows(directory, "SELECT count(*), min(number), max(number), max(origin) FROM steps"), [(20, 0, 19, "user")],
          "steps")
    check(column(directory, "SELECT number FROM steps WHERE ops_recorded"), [6, 7, 14], "ops_recorded")
    check(rows(directory, "SELECT number, sample_weight FROM steps WHERE sample_weight > 0"),
          [(6, 5.5), (7, 5.5), (14, 6.0)], "each speaks for those up to the next window, the first for all before, too")
    check(rows(directory, "SELECT s.number FROM ops AS o JOIN steps AS s ON s.id = o.step_id WHERE o.name = 'train'"),
          [(6,), (7,)], "marks of the file")


def test_launched_runs(directory):
    """JAX that runs ahead: in a window before which its work was waited for, runs have the steps of their calls, in the
    order of their numbers; where it was not, or more ran than was called, they have those in whose time they ran."""
    recording = Recording(30)
    for place, (first, settled, called) in enumerate(((4, 1, 3), (10, 0, 3), (16, 1, 1))):
        main, pool = [], []
        for i in range(called):
            at = (10 * MS * i + 65_000) * 1000
            main += [event("PjitFunction(step)", at + 1_000_000_000, 2_000_000_000),
                     event("PjitFunction(step)", at + 1_100_000_000, 1_800_000_000)]
        for i in range(3):  # all in the last step, the last one first
            at = (28 * MS - 2 * MS * i + 65_000) * 1000
            pool += [event(name, at + place, 100_000_000, hlo_op=name, hlo_module="jit_step", program_id=3,
                           run_id=-70 + i) for name, place in (("dot.3", 0), ("tanh.1", 500_000_000))]
        facts = {"profile_start_time": Unsigned(began(first))}
        beside(directory, place, space(plane("/host:CPU", [line(LINE, "python", main, 0),
                                                           line(2**63 + 5, "tf_XLAPjRtCpuClient/1", pool, 0)]),
                                       plane("Task Environment", [], facts)))
        recording.window(f"vm-4711.{place}.xplane.pb", first, 3, is_settled=settled)
    recording.write(directory)
    found = rows(directory, "SELECT s.number, count(*), group_concat(DISTINCT o.name) FROM ops AS o JOIN steps AS s ON "
                            "s.id = o.step_id WHERE o.hlo_module = 'jit_step' GROUP BY 1 ORDER BY 1, o.name")
    check([row[:2] for row in found], [(4, 2), (5, 2), (6, 2), (12, 6), (18, 6)], "steps")
    copy = os.path.join(directory, "copies", "copy.tfprof")
    os.makedirs(os.path.dirname(copy))
    column(directory, f"SELECT tfprof_save('{copy}')")
    check(rows(copy, "SELECT s.number, count(*) FROM ops AS o JOIN steps AS s ON s.id = o.step_id WHERE "
                     "o.hlo_module = 'jit_step' GROUP BY 1 ORDER BY 1"), [row[:2] for row in found], "a copy")


OPENING, CLOSING = 2 * MS, 6 * MS


def calls_with_windows(directory, name, windows, behind=False, count=30):
    """A recording of calls of 3 ms, each 7 ms after the one before; the program waits before the calls, or behind them,
    while a window is opened (2 ms) or closed (6 ms). windows: (first step, step behind it)."""
    recording, calls, now, begun = Recording(0), [], BOOT, {}

    def wait(step):
        nonlocal now
        now += 5_000  # of the hooks
        for first, end in windows:
            if step == end:
                recording.window(None, first, end - first, start_ns=begun[first], dur_ns=now - begun[first],
                                 opening_ns=OPENING, closing_ns=CLOSING, ending="error")
                now += CLOSING
        for first, _ in windows:
            if step == first:
                now += OPENING
                begun[first] = now
        now += 5_000

    for i in range(count):
        if not behind:
            wait(i)
        calls.append({"name": name.replace("#", f"#{i}"), "category": "user", "thread_id": 0, "start_ns": now,
                      "dur_ns": 3 * MS})
        now += 3 * MS
        if behind:
            wait(i + 1)
        now += 7 * MS
    recording.add("ops", calls)
    return recording.write(directory)


def test_time_of_windows(directory):
    """What the recorder took to open and close windows is in no step, wherever steps end; nor is it a gap."""
    windows = [(4, 7), (9, 11), (11, 14), (20, 23), (25, 26)]
    for name, behind, length in (("PjitFunction(step)", False, 10), ("tf.function(step)", True, 10),
                                 ("keras.step#", False, 3), ("tfprof.step#", True, 3)):
        run = calls_with_windows(os.path.join(directory, name), name, windows, behind)
        told = rows(run, "SELECT number, dur_ns, net_ns, paused_ns, recording_ns FROM steps ORDER BY number")
        check(len(told), 30, name)
        first = 1 if behind else 0  # the first one begins with its call, as nothing ended before
        check([row for row in told[first:-1] if abs(row[1] - length * MS) > 20_000 or row[2] != row[1] or row[4]], [],
              f"{name}: durations")
        expected = {4: OPENING, 7: CLOSING, 9: OPENING, 11: CLOSING + OPENING, 14: CLOSING, 20: OPENING, 23: CLOSING,
                    25: OPENING, 26: CLOSING}
        check({number: paused for number, _, _, paused, _ in told if paused}, expected, f"{name}: before which steps")
        check(column(run, "SELECT count(*) FROM step_gaps WHERE abs(gap_ns) > 7030000 OR taken_ns + gap_ns > 10030000"),
              [0], f"{name}: gaps")
        check(rows(run, "SELECT count(*) FROM steps AS s JOIN profiler_windows AS w ON s.start_ns < w.start_ns AND "
                        "s.end_ns > w.start_ns - w.opening_ns OR s.start_ns < w.end_ns + w.closing_ns AND s.end_ns > "
                        "w.end_ns"), [(0,)], f"{name}: none lies in one")


def test_window_within_a_step(directory):
    """One that is closed in the middle of a step, since the program starts a profiler itself: what that took counts as
    recording, and not for others; one that was closed on another thread keeps nobody."""
    for ending, closing in (("profiler", 4 * MS), ("budget", None)):
        recording = Recording(0)
        recording.add("ops", [{"name": "PjitFunction(step)", "category": "user", "thread_id": 0, "dur_ns": 3 * MS,
                               "start_ns": BOOT + 10 * MS * i} for i in range(20)])
        recording.window(None, 6, 2, start_ns=BOOT + 60 * MS - 5_000, dur_ns=13 * MS, closing_ns=4 * MS, ending=ending)
        run = recording.write(os.path.join(directory, ending))
        told = dict((row[0], row[1:]) for row in
                    rows(run, "SELECT number, dur_ns, recording_ns, net_ns, paused_ns FROM steps"))
        check(told[7], (10 * MS, closing, 10 * MS - (closing or 0), 0), f"{ending}: the step")
        check([told[i][1] for i in told if i != 7], [None] * 19, f"{ending}: the others")
        check(column(run, "SELECT max(training_ns) <= 10010000 FROM steps"), [1], f"{ending}: statistics")


if __name__ == "__main__":
    run_tests(globals())
