#!/usr/bin/env python3
"""test_checks.py: each check of the advisor speaks when it should, is silent when it
should not, and saves what it says.

A profile that is in order in every way (made_profiles.py) must leave all checks silent; each case then spoils one
thing.
"""
import re

from made_profiles import MS, Profile, expect, read_tables, real_format, said, severities, small_run
from stored import check, finish

SECOND = 1000 * MS


def hung_profile(line_of="/home/me/train.py", **values):
    """Twenty steps, then 30 s at a lock, of which 20 had passed when that was noticed."""
    profile = Profile()
    profile.steps()
    profile.connection.execute("UPDATE temp.steps SET end_ns = start_ns + dur_ns")
    profile.connection.execute("UPDATE temp.profiles SET start_ns = 0, end_ns = ?", (32 * SECOND,))
    frame = profile.add("code_frames", profile_id=1, file=line_of, line=9, function="f", text="held.acquire()")
    trace = profile.add("code_traces", profile_id=1, line_frame_id=frame, leaf_frame_id=frame)
    hang = profile.add("hangs", **{"profile_id": 1, "start_ns": 2 * SECOND, "noticed_ns": 22 * SECOND,
                                   "step_number": 20, "thread_id": 1, "usual_ns": 100 * MS, "limit_ns": 20 * SECOND,
                                   "is_working": 0, **values})
    profile.add("hang_threads", profile_id=1, hang_id=hang, thread_id=1, waits_for="lock", code_trace_id=trace)
    return profile


def add_hang(profile):
    """Half a minute at a lock within a step more: what is left out, and told by the check of hangs alone."""
    ((number, start),) = profile.connection.execute(
        "SELECT max(number) + 1, max(start_ns + dur_ns) FROM temp.steps WHERE profile_id = 1").fetchall()
    profile.connection.execute("UPDATE temp.steps SET end_ns = start_ns + dur_ns")
    profile.add("steps", profile_id=1, number=number, thread_id=1, start_ns=start, end_ns=start + 30 * SECOND,
                dur_ns=30 * SECOND, net_ns=30 * SECOND, training_ns=30 * SECOND, is_warmup=0, ops_recorded=0,
                sample_weight=0.0)
    profile.add("hangs", profile_id=1, start_ns=start, noticed_ns=start + 20 * SECOND, step_number=number, thread_id=1,
                usual_ns=100 * MS, limit_ns=20 * SECOND, is_working=0)


def expect_beside_hang(what, profile, **wanted):
    """The same is promised where one step hung."""
    expect(what, profile, **wanted)
    add_hang(profile)
    expect(what + ", and a hang", profile, hangs=30 * SECOND - 100 * MS, **wanted)


def check_hangs():
    """Critical only where a process never went on and did not end in order; whoever works hangs not."""
    taken_ns = 30 * SECOND - 100 * MS
    profile = hung_profile()
    expect("a hang until the process ended in order", profile, hangs=None)
    check(severities["hangs"] == "info", f"ended in order: {severities}")
    profile.add("diagnostics", reason="capture_program_failed", severity="info", profile_id=1, message="by a signal")
    expect("a hang until the process was interrupted", profile, hangs=taken_ns)
    real_format(profile)
    ((severity, message),) = said(profile, "hangs_check")
    check(severity == "critical" and "waits for a lock at train.py:9" in message and "by a signal" in message, message)
    expect("work that goes on", hung_profile(is_working=1))

    for line_of, wanted in (("/home/me/train.py", {"hangs": taken_ns}), ("/x/torch/utils/data/dataloader.py", {})):
        profile = hung_profile(line_of)
        profile.add("steps", profile_id=1, number=20, thread_id=1, start_ns=2 * SECOND, end_ns=32 * SECOND,
                    dur_ns=30 * SECOND, net_ns=30 * SECOND, training_ns=30 * SECOND, is_warmup=0, ops_recorded=0,
                    sample_weight=0.0)
        expect("a hang that was over, in a long step: " + line_of, profile, **wanted)
        if "hangs" in wanted:
            check(severities["hangs"] == "warning", f"a hang that was over: {severities}")
    profile = hung_profile()  # what is seen while it hangs is told once
    step = profile.add("steps", profile_id=1, number=20, thread_id=1, start_ns=2 * SECOND, end_ns=32 * SECOND,
                       dur_ns=30 * SECOND, net_ns=30 * SECOND, training_ns=30 * SECOND, is_warmup=0, ops_recorded=1,
                       sample_weight=1.0)
    ((trace,),) = profile.connection.execute("SELECT max(id) FROM temp.code_traces").fetchall()
    for _ in range(6):
        profile.add("python_samples", profile_id=1, step_id=step, time_ns=1, code_trace_id=trace, period_ns=5 * SECOND,
                    waits_for="lock")
    expect("a hang whose stacks were looked at", profile, hangs=taken_ns)
    seen = profile.connection.execute("SELECT location, self_ns FROM temp.python_summary").fetchall()
    check(seen == [], f"no step's Python but that of the hung one: {seen}")


def main():
    read_tables()
    profile = Profile()
    expect("nothing at all", profile)

    profile = Profile()
    profile.steps()
    expect("a run that is in order", profile)

    check_hangs()

    profile = Profile()
    for step in profile.steps():
        profile.add("input_events", profile_id=1, name="next", stage="read_on_demand", thread_id=1, step_id=step,
                    dur_ns=4 * MS)
    expect("input under the threshold", profile)
    for step in profile.connection.execute("SELECT id FROM temp.steps").fetchall():
        profile.add("input_events", profile_id=1, name="next", stage="read_on_demand", thread_id=1, step_id=step[0],
                    dur_ns=4 * MS)
        profile.add("input_events", profile_id=1, name="next", stage="preprocess", thread_id=2, step_id=step[0],
                    dur_ns=90 * MS)
    expect("8 of 100 ms wait for input", profile, input_loading=20 * 8 * MS)

    check(severities["input_loading"] == "warning", f"8 % of waiting is {severities['input_loading']}")
    for steps, dur_ns, wanted in ((20, 10 * MS, "critical"), (9, 10 * MS, "warning"), (20, MS, "warning")):
        profile = small_run(steps, dur_ns)
        expect("input takes most of the step", profile, input_loading=steps * dur_ns * 6 // 10)
        check(severities["input_loading"] == wanted, f"{steps} steps of {dur_ns} ns: {severities['input_loading']}")
        ((suggestion,),) = profile.connection.execute("SELECT suggestion FROM temp.input_loading").fetchall()
        check(suggestion.startswith("Load in the background"), suggestion)
        profile.connection.execute("UPDATE temp.input_events SET name = "
                                   "'enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__'")
        ((suggestion,),) = profile.connection.execute("SELECT suggestion FROM temp.input_loading").fetchall()
        check("workers do not keep up" in suggestion, suggestion)

    profile = Profile()
    profile.steps(10)
    profile.steps(10, ops_recorded=0)
    for step in profile.connection.execute("SELECT id FROM temp.steps").fetchall():
        profile.add("input_events", profile_id=1, name="next", stage="read_on_demand", thread_id=1, step_id=step[0],
                    dur_ns=30 * MS)
    expect("every second step recorded, and the waiting for input in all", profile, input_loading=20 * 30 * MS)

    # The line at which Python is while input is fetched, not the one at which it is most of the time.
    fetch = profile.add("ranges", profile_id=1, name="next", thread_id=1, start_ns=0, end_ns=1, dur_ns=1)
    for line, range_id, looks in ((10, None, 5), (20, fetch, 1)):
        frame = profile.add("code_frames", profile_id=1, file="/home/me/train.py", line=line, function="f", text="call")
        trace = profile.add("code_traces", profile_id=1, line_frame_id=frame, leaf_frame_id=frame)
        for step in [step for (step,) in profile.connection.execute("SELECT id FROM temp.steps WHERE ops_recorded")]:
            for _ in range(looks):
                profile.add("python_samples", profile_id=1, step_id=step, time_ns=1, code_trace_id=trace,
                            range_id=range_id, period_ns=MS)
    ((told,),) = profile.connection.execute("SELECT message FROM temp.input_loading").fetchall()
    check(told.endswith("; Python is at train.py:20, call"), told)

    # Recorded steps of another kind than those for which they speak: their shares are weighed as in step_summary.
    profile = Profile()
    for number in range(20):
        heavy = number % 2
        step = profile.step(number, weight=3 if heavy else 1)
        profile.op("aten::mm", step, 40 * MS if heavy else 80 * MS, weight=3.0 if heavy else 1.0)
    profile.steps(20, ops_recorded=0)
    profile.connection.execute("DELETE FROM temp.ops WHERE step_id IN"
                               " (SELECT id FROM temp.steps WHERE ops_recorded = 0)")
    share = (3 * 60 + 20) / 400
    expect("steps that speak for several", profile, host_bound=round((share - 0.1) * 40 * 100 * MS))
    for sql in ("SELECT value FROM temp.host_bound", "SELECT outside_ratio FROM temp.step_summary",
                "SELECT 1 - in_ops_ratio FROM temp.step_summary"):
        ((ratio,),) = profile.connection.execute(sql).fetchall()
        check(abs(ratio - share) < 1e-9, f"{sql}: {ratio} instead of {share}")
    for weight in ("NULL", "1.0"):
        profile.connection.execute(f"UPDATE temp.steps SET sample_weight = {weight}")
    ((ratio,),) = profile.connection.execute("SELECT value FROM temp.host_bound").fetchall()
    check(abs(ratio - 0.4) < 1e-9, f"steps of equal weight: {ratio}")

    # Who waits for others has nothing of its own to improve; who is late is told apart by what it does longer.
    for wanted in ("outside", "ops", "input", "nothing"):
        profile = Profile(ranks=3)
        for number in range(20):
            for rank in range(3):
                step = profile.step(number, rank=rank)
                late = 30 if rank == 2 else 0
                profile.op("aten::mm", step, 40 * MS, thread=rank + 1)
                if wanted == "ops" and late:
                    profile.op("aten::sort", step, late * MS, thread=rank + 1)
                if wanted == "input" and late:
                    profile.add("input_events", profile_id=rank + 1, name="next", thread_id=rank + 1, step_id=step,
                                dur_ns=late * MS)
                mark = profile.op("gloo:all_reduce", step, 1, category="user", thread=rank + 1)
                begin, wait = number * 100 * MS + 50 * MS, (35 - late) * MS
                profile.add("collectives", profile_id=rank + 1, step_id=step, name="all_reduce", op_id=mark,
                            carried_by="host", start_ns=begin, end_ns=begin + wait,
                            dur_ns=wait if wanted != "nothing" else 35 * MS)
        profile.derive()
        real_format(profile)
        ((subject, message, saves),) = profile.connection.execute(
            "SELECT subject, message, saves_ns FROM temp.stragglers_check").fetchall()
        check(subject == "rank 2 on node2" and message.startswith("rank 2 on node2: the others wait for it "
              "30000000 ns a step, 30 % of its time, in 20 of 20 steps longer than for any other; "), message)
        texts = {"outside": "runs Python, or waits for locks or files, outside any op, for 55000000 ns a step against "
                            "25000000 ns on the others",
                 "ops": "runs ops, for 70000000 ns a step against 40000000 ns on the others, most of it in aten::sort, "
                        "30000000 ns longer",
                 "input": "waits for its input, for 30000000 ns a step against 0 ns on the others",
                 "nothing": "nothing that was recorded of it takes that much longer than on the others"}
        check(texts[wanted] in message, f"{wanted}: {message}")
        # More to compute can be spread over the three, of which each then has a third.
        check(saves == 20 * (20 if wanted == "ops" else 30) * MS, f"{wanted}: saves {saves}")
        told = profile.connection.execute("SELECT subject FROM temp.host_bound ORDER BY 1").fetchall()
        check(wanted != "outside" or told[-1] == ("rank 2",), told)

    # Now one is late, now the other: nobody is to blame, and half of it is gained when they are given the same.
    profile = Profile(ranks=2)
    for number in range(20):
        for rank in range(2):
            step = profile.step(number, rank=rank)
            profile.op("aten::mm", step, 40 * MS, thread=rank + 1)
            mark = profile.op("gloo:all_reduce", step, 1, category="user", thread=rank + 1)
            begin, wait = number * 100 * MS + 50 * MS, (35 if (number * 7 // 3 + rank) % 2 else 5) * MS
            profile.add("collectives", profile_id=rank + 1, step_id=step, name="all_reduce", op_id=mark,
                        carried_by="host", start_ns=begin, end_ns=begin + wait, dur_ns=wait)
    profile.derive()
    rows = profile.connection.execute("SELECT severity, subject, saves_ns FROM temp.stragglers_check").fetchall()
    check(rows == [("info", "the ranks", 20 * 15 * MS)], f"by turns: {rows}")

    # Long steps whose thread waited for a processor are no fault of the program; what is left of them is told.
    for waited, wanted in ((0, [("info", 1000 * MS)]), (0.8, [("info", 200 * MS)]), (0.99, [])):
        profile = Profile()
        profile.steps(50)
        for number, length in ((7, 200), (19, 400), (22, 500), (41, 300)):
            profile.connection.execute("UPDATE temp.steps SET dur_ns = ?, net_ns = ?, training_ns = ? WHERE number = ?",
                                       (length * MS, length * MS, length * MS, number))
        profile.connection.execute("UPDATE temp.steps SET start_ns = number * 600000000")
        profile.connection.execute("UPDATE temp.steps SET end_ns = start_ns + dur_ns")
        excess = {7: 0.1, 19: 0.3, 22: 0.4, 41: 0.2}
        for number in range(-1, 51): # at the end of each step, a moment later
            profile.add("counters", profile_id=1, name="main_thread_wait_s", time_ns=number * 600 * MS + 510 * MS,
                        value=waited * sum(more for step, more in excess.items() if step <= number))
        profile.derive()
        rows = profile.connection.execute("SELECT severity, saves_ns FROM temp.step_time_outliers").fetchall()
        check([(severity, round(saves / MS) * MS) for severity, saves in rows] == wanted, f"{waited}: {rows}")

    # Where nearly all of the time is waiting, the rest is held against the rest.
    profile = Profile()
    profile.steps(50, dur_ns=MS)
    profile.connection.execute("UPDATE temp.steps SET dur_ns = 10000 * ?, net_ns = 10000 * ?, training_ns = 10000 * ?, "
                               "start_ns = number * ? WHERE number = 20", (MS, MS, MS, MS))
    profile.connection.execute("UPDATE temp.steps SET start_ns = number * ? + 10000 * ? * (number > 20)", (MS, MS))
    profile.connection.execute("UPDATE temp.steps SET end_ns = start_ns + dur_ns")
    for time_ns, waited in ((0, 0), (19 * MS, 0), (10021 * MS, 9.9), (10100 * MS, 9.9)):
        profile.add("counters", profile_id=1, name="main_thread_wait_s", time_ns=time_ns, value=waited)
    profile.derive()
    rows = profile.connection.execute("SELECT round(value, 3), saves_ns FROM temp.step_time_outliers").fetchall()
    check(rows == [(round(99 / 149, 3), 99 * MS)], f"a step that waited: {rows}")

    # What was waited between two readings counts once, also where two long steps have a part in it.
    profile = Profile()
    profile.steps(50, dur_ns=MS)
    profile.connection.execute("UPDATE temp.steps SET start_ns = ? * (number + 799 * (number > 20) + "
                               "799 * (number > 21)), dur_ns = ? * iif(number IN (20, 21), 800, 1)", (MS, MS))
    profile.connection.execute("UPDATE temp.steps SET end_ns = start_ns + dur_ns, net_ns = dur_ns, "
                               "training_ns = dur_ns")
    for time_ns, waited in ((10 * MS, 0), (1010 * MS, 0.6), (2010 * MS, 0.9)):
        profile.add("counters", profile_id=1, name="main_thread_wait_s", time_ns=time_ns, value=waited)
    profile.derive()
    rows = profile.connection.execute("SELECT saves_ns FROM temp.step_time_outliers").fetchall()
    check(rows == [((1598 - 900) * MS,)], f"two that waited: {rows}")

    # What comes every so many steps is the program's, whether it is known what it is or not.
    profile = Profile()
    profile.steps(50)
    profile.connection.execute("UPDATE temp.steps SET training_ns = 300000000 WHERE number % 10 = 9")
    profile.derive()
    rows = profile.connection.execute("SELECT severity FROM temp.step_time_outliers").fetchall()
    check(rows == [("critical",)], f"every tenth step: {rows}")

    # Memory that is taken once, or before the steps, is kept, but does not keep growing.
    for what, wanted in (("grows", 1), ("is taken once", 0), ("is taken before the steps", 0)):
        profile = Profile()
        profile.steps(40)
        profile.connection.execute("UPDATE temp.steps SET start_ns = (20 + number) * 1000000000")
        profile.connection.execute("UPDATE temp.steps SET end_ns = start_ns + 1000000000")
        for second in range(60):
            more = second if what == "grows" else 40 * (second >= (40 if what == "is taken once" else 15))
            profile.add("counters", profile_id=1, name="process_resident_bytes", time_ns=second * 1000 * MS + 1,
                        value=2e8 + 1e7 * more)
        ((spoken,),) = profile.connection.execute("SELECT count(*) FROM temp.memory_growth").fetchall()
        check(spoken == wanted, f"memory that {what}: {spoken}")

    # Of a line that only hands on to a library the library's lines are named, where they differ.
    for inner, wanted in (((70, 71, 70, 72), "loop.py:70, called at train.py:3, (50 %) collect()"),
                          ((70, 70, 70, 70), "train.py:3 (100 %) model.learn()")):
        profile = Profile()
        made = profile.steps(20)
        profile.connection.execute("UPDATE temp.ops SET dur_ns = 2000000")
        line = profile.add("code_frames", profile_id=1, file="/home/me/train.py", line=3, text="model.learn()")
        for place, number in enumerate(inner):
            frame = profile.add("code_frames", profile_id=1, file="/x/site-packages/rl/loop.py", line=number,
                                text="collect()")
            trace = profile.add("code_traces", profile_id=1, line_frame_id=line, library_line_frame_id=frame,
                                leaf_frame_id=frame)
            for step in made:
                profile.add("python_samples", profile_id=1, step_id=step, time_ns=place, code_trace_id=trace,
                            period_ns=MS)
        profile.derive()
        real_format(profile)
        ((said_of,),) = profile.connection.execute("SELECT suggestion FROM temp.host_bound").fetchall()
        check(wanted in said_of, f"{inner}: {said_of}")
    profile.connection.execute("DELETE FROM temp.python_samples WHERE time_ns > 0 OR step_id > ?", (made[1],))
    ((said_of,),) = profile.connection.execute("SELECT suggestion FROM temp.host_bound").fetchall()
    check("train.py" not in said_of, f"two looks name no line: {said_of}")

    # Steps of 2 ms that call small ops, of which Python was seen twice or not at all: what lies between calls them,
    # and PyTorch's own ranges are no places. A range of the program says that something else is done, and so does much
    # time for each op.
    larger, elsewhere, nothing = "Larger batches", "Move what it does there", "Find the Python code"
    for mark, count, op_us, looks, wanted in (
            ("Optimizer.step#Adam.step", 20, 40, 2, ("warning", 10, larger)),
            ("torch.autograd.backward", 20, 40, 0, ("warning", 10, larger)),
            ("torch.autograd.backward", 20, 70, 2, ("info", 4, larger)),
            ("my part", 20, 40, 2, ("warning", 10, elsewhere)),
            ("Optimizer.step#Adam.step", 4, 100, 2, ("warning", 14, nothing)),
            ("Optimizer.step#Adam.step", 4, 100, 0, ("critical", 28, nothing))):
        profile = Profile()
        frame = profile.add("code_frames", profile_id=1, file="/home/me/train.py", line=3, text="train()")
        trace = profile.add("code_traces", profile_id=1, line_frame_id=frame, leaf_frame_id=frame)
        for number in range(20):
            step = profile.step(number, dur_ns=2 * MS)
            for _ in range(count):
                profile.op("aten::mm", step, op_us * 1000)
            profile.add("ranges", profile_id=1, step_id=step, name=mark, thread_id=1, start_ns=number * 100 * MS + 1,
                        end_ns=number * 100 * MS + MS, outside_ns=MS // 2)
            if number < looks:
                profile.add("python_samples", profile_id=1, step_id=step, time_ns=1, code_trace_id=trace, period_ns=MS)
        profile.derive()
        profile.connection.execute("UPDATE temp.steps SET end_ns = start_ns + dur_ns")
        real_format(profile)
        ((severity, saves, message, said_of),) = profile.connection.execute(
            "SELECT severity, saves_ns, message, suggestion FROM temp.host_bound").fetchall()
        check((severity, round(saves / MS)) == wanted[:2] and said_of.startswith(wanted[2])
              and ("calls of ops" in message) == (wanted[2] == larger) and ("Optimizer" in message + said_of) == 0,
              f"{mark}, {count}: {severity} {saves} {message} {said_of}")

    # What is waited for is no Python that keeps the thread busy; nor is what calling ops costs.
    def of_lines(*lines):
        """`lines`: what is seen at each of them in every step, of a step of 100 ms with ops for 50: file of the
        innermost frame, what it waits for, how often, and how long its ops take."""
        profile = Profile()
        made = [profile.step(number) for number in range(20)]
        for step in made:
            profile.op("aten::mm", step, 50 * MS)
        for number, (leaf, waits_for, count, op_ns) in enumerate(lines, 1):
            frame = profile.add("code_frames", profile_id=1, file="/home/me/train.py", line=10 * number,
                                function="train", text=f"line({number})")
            inner = profile.add("code_frames", profile_id=1, file=leaf or "/home/me/train.py", line=10 * number)
            trace = profile.add("code_traces", profile_id=1, line_frame_id=frame, library_line_frame_id=frame,
                                leaf_frame_id=inner)
            for step in made:
                for _ in range(count):
                    profile.add("python_samples", profile_id=1, step_id=step, time_ns=1, code_trace_id=trace,
                                period_ns=MS, waits_for=waits_for)
            profile.op("aten::add", made[0], 1)
            profile.connection.execute("UPDATE temp.ops SET origin_code_trace_id = ?, self_ns = ? WHERE id = ?",
                                       (trace, 20 * op_ns, profile.next - 1))
        profile.derive()
        return profile

    module = "/x/site-packages/torch/nn/modules/linear.py"
    for lines, wanted in (
            ([(None, "lock", 3, 0), (None, None, 2, 0)], {"host_waits": 600, "host_bound": 400}),
            ([(None, "lock", 3, 0), (module, None, 3, 0)], {"host_waits": 500, "host_bound": 150}),
            ([(module, None, 5, 0)], {"host_bound": 400}),
            ([(None, None, 5, 60 * MS)], {"host_bound": 400}),
            ([(None, None, 5, 10 * MS)], {"host_bound": 1200}),
            ([("/x/torch/autograd/graph.py", "lock", 5, 0), (None, None, 2, 0)], {"host_bound": 1000})):
        profile = of_lines(*lines)
        told = {name: round(saves / MS) for name in ("host_bound", "host_waits")
                for (saves,) in profile.connection.execute(f"SELECT saves_ns FROM temp.{name}")}
        check(told == wanted, f"{lines}: {told}")

    # What is waited for in a range is taken off the range as off the whole, and no part is more than its whole.
    def told_by(profile):
        profile.connection.create_function("format_ns", 1, lambda ns: f"{ns / MS:.1f} ms")
        real_format(profile)
        return profile.connection.execute("SELECT message, suggestion FROM temp.host_bound").fetchone()

    for marks, wanted, saving in (
            ({"torch.save": (50, 50)}, ("30.0 ms of 100.0 ms", "30.0 ms of it in torch.save"), True),
            ({"my loop": (40, 35)}, ("30.0 ms of 100.0 ms", "24.0 ms of it in my loop"), False),
            ({"unseen": (40, 0)}, ("30.0 ms of 100.0 ms", "24.0 ms of it in unseen"), False),
            ({"my loop": (50, 50), "other": (50, 0)}, ("15.0 ms of it in my loop, 15.0 ms of it in other",), False),
            ({"fetch": (50, 50)}, ("30.0 ms of 100.0 ms per step",), False)):
        profile = of_lines((None, "lock", 2, 0), (None, None, 3, 0))
        profile.add("input_events", profile_id=1, name="fetch", thread_id=1, dur_ns=0)
        for name, (taken, looks) in marks.items():
            for (step, start) in profile.connection.execute("SELECT id, start_ns FROM temp.steps").fetchall():
                profile.add("ranges", profile_id=1, step_id=step, name=name, thread_id=1, start_ns=start + 1,
                            end_ns=start + taken * MS, outside_ns=taken * MS)
            if looks:
                profile.connection.execute("UPDATE temp.python_samples SET range_id = ?", (profile.next - 1,))
        message, suggestion = told_by(profile)
        check(all(text in message for text in wanted) and message.count("of it in") == sum(
            text.count("of it in") for text in wanted), f"{marks}: {message}")
        check(("a checkpoint: write one every" in suggestion) == saving, f"{marks}: {suggestion}")
    for file, saving in (("/x/torch/serialization.py", True), ("/x/torch/other.py", False)):
        message, suggestion = told_by(of_lines((file, None, 3, 0), (None, None, 2, 0)))
        check(("a checkpoint: write one every" in suggestion) == saving, f"{file}: {suggestion}")

    profile = of_lines((None, "file", 3, 0))
    real_format(profile)
    ((subject, said_of),) = profile.connection.execute("SELECT subject, message FROM temp.host_waits").fetchall()
    check(subject == "train.py:10" and said_of.startswith("50 % of the step time the thread that trains waits for "
          "files, ") and said_of.endswith(" per step, at train.py:10: line(1)"), said_of)

    # A third of the looks at what waits finds the thread ready: leaving out the line saves that, too, whatever the
    # kernel counted for the process from its start.
    profile.connection.execute("UPDATE temp.python_samples SET waits_for = 'processor' WHERE rowid % 3 = 0")
    for at in (-2000 * MS, 2000 * MS):
        profile.add("counters", profile_id=1, name="main_thread_wait_s", time_ns=at, value=2 + 0.8 * at / 1e9)
    ((saves, message),) = profile.connection.execute("SELECT saves_ns, message FROM temp.host_waits").fetchall()
    check(round(saves / MS) == 1000 and " per step, 33 % of that for a processor, at " in message,
          f"looks for a processor: {saves} {message}")

    profile = Profile()
    profile.steps()
    profile.step(20, dur_ns=300 * MS)
    profile.op("aten::mm", 10000, 1)
    profile.connection.execute("UPDATE temp.steps SET ops_recorded = 0 WHERE number = 20")
    expect("a step of three times the usual length", profile, step_time_outliers=200 * MS)
    asked = "SELECT message FROM temp.step_time_outliers"
    (message,) = profile.connection.execute(asked).fetchone()
    check("spends more" not in message, message)
    ids = [step for (step,) in profile.connection.execute("SELECT id FROM temp.steps ORDER BY number")]
    for name, long_ns, other_ns in (("torch.save", 150 * MS, 0), ("loss", 6 * MS, 5 * MS)):
        for number in range(21):
            dur_ns = long_ns if number == 20 else other_ns
            profile.add("ranges", profile_id=1, step_id=ids[number], name=name, start_ns=0, end_ns=dur_ns,
                        dur_ns=dur_ns)
    (message,) = profile.connection.execute(asked).fetchone()
    check("; each spends more on torch.save (" in message and "loss" not in message, message)
    profile.connection.execute("UPDATE temp.steps SET ops_recorded = 1 WHERE number = 20")
    profile.op("aten::sort", ids[20], 45 * MS)
    (message,) = profile.connection.execute(asked).fetchone()
    check("on torch.save (" in message and ", aten::sort (" in message, message)
    profile.connection.execute("UPDATE temp.steps SET ops_recorded = 0 WHERE number = 20")
    profile.connection.execute("UPDATE temp.steps SET training_ns = ? WHERE number = 20", (100 * MS,))
    expect("a step that is long by evaluation", profile)
    profile.connection.execute("UPDATE temp.steps SET training_ns = dur_ns")
    profile.connection.execute("UPDATE temp.steps SET is_warmup = 1 WHERE number = 20")
    expect("a long step, but warm-up", profile)

    # An op that is called as often in a long step was interrupted, until something comes that the others lack.
    profile = Profile()
    profile.steps()
    profile.step(20, dur_ns=300 * MS)
    ids = [step for (step,) in profile.connection.execute("SELECT id FROM temp.steps ORDER BY number")]
    for step in ids:
        profile.op("aten::sort", step, (150 if step == ids[-1] else 1) * MS)
    asked = "SELECT severity, message FROM temp.step_time_outliers"
    ((severity, message),) = profile.connection.execute(asked).fetchall()
    check(severity == "info" and "on aten::sort (" in message, f"interrupted: {severity} {message}")
    profile.op("aten::unique", ids[-1], 45 * MS)
    ((severity, message),) = profile.connection.execute(asked).fetchall()
    check(severity == "warning" and ", aten::unique (" in message, f"something else: {severity} {message}")

    # What is waited for in long steps is promised once: two of 300 ms wait for 160 each, the others for 10.
    profile = Profile()
    profile.steps()
    profile.step(20, dur_ns=300 * MS)
    profile.step(21, dur_ns=300 * MS)
    frame = profile.add("code_frames", profile_id=1, file="/home/me/train.py", line=10, function="train")
    trace = profile.add("code_traces", profile_id=1, line_frame_id=frame, leaf_frame_id=frame)
    for step, number in profile.connection.execute("SELECT id, number FROM temp.steps").fetchall():
        for _ in range(16 if number >= 20 else 1):
            profile.add("python_samples", profile_id=1, step_id=step, time_ns=1, code_trace_id=trace,
                        period_ns=10 * MS, waits_for="file")
    expect("long steps that wait for files", profile, host_waits=800 * MS, step_time_outliers=2 * (200 - 150) * MS)
    profile.connection.execute("UPDATE temp.python_samples SET period_ns = 20000000")
    expect("long steps that only wait", profile, host_waits=800 * MS)

    # What a rank waits for another one in a long step is the other's.
    profile = Profile(ranks=2)
    for number in range(21):
        for rank in range(2):
            step = profile.step(number, dur_ns=(300 if number == 20 else 100) * MS, rank=rank)
            mark = profile.op("gloo:all_reduce", step, 1, category="user", thread=rank + 1)
            begin, wait = number * 100 * MS + 50 * MS, (205 if rank and number == 20 else 5) * MS
            profile.add("collectives", profile_id=rank + 1, step_id=step, name="all_reduce", op_id=mark,
                        carried_by="host", start_ns=begin, end_ns=begin + wait, dur_ns=wait)
    profile.derive()
    told = profile.connection.execute("SELECT subject, saves_ns FROM temp.step_time_outliers").fetchall()
    check(told == [("rank 0", 200 * MS)], f"a long step of another rank: {told}")

    # One noisy step makes no promise for all: it counts for one and a half.
    profile = Profile()
    profile.steps(8)
    for (step, number) in profile.connection.execute("SELECT id, number FROM temp.steps").fetchall():
        profile.add("step_phases", profile_id=1, step_id=step, phase="backward", is_recomputation=1,
                    net_ns=(1900 if number == 0 else 10) * MS, sample_weight=1.0)
    profile.connection.execute("UPDATE temp.steps SET net_ns = 2000000000 WHERE number = 0")
    for name, value in (("process_resident_bytes", 1 << 28), ("host_available_bytes", 1 << 34)):
        profile.add("counters", profile_id=1, name=name, time_ns=0, value=value)
    rows = profile.connection.execute("SELECT value, saves_ns, message FROM temp.needless_checkpoints").fetchall()
    check([row[:2] for row in rows] == [(0.1, 85 * MS)], f"one noisy step: {rows}")
    # Where steps differ, what is promised is the share that is told: six steps of 100 ms, and two of 60.
    profile.connection.execute("UPDATE temp.steps SET net_ns = 60000000 WHERE number < 2")
    profile.connection.execute("UPDATE temp.step_phases SET net_ns = 0.1 * (SELECT net_ns FROM temp.steps "
                               "WHERE steps.id = step_id)")
    rows = profile.connection.execute("SELECT value, saves_ns FROM temp.needless_checkpoints").fetchall()
    check(rows == [(0.1, 72 * MS)], f"steps that differ: {rows}")

    # Single samples: what passes between passes goes with them, what passes before and after the loop does not.
    profile = Profile()
    for step in profile.steps():
        (begin,) = profile.connection.execute("SELECT start_ns FROM temp.steps WHERE id = ?", (step,)).fetchone()
        at = begin
        for phase, dur_ns in [("other", 5)] + 8 * [("forward", 4), ("backward", 4), ("other", 2)] + [("optimizer", 15)]:
            profile.add("step_phases", profile_id=1, step_id=step, phase=phase, start_ns=at, end_ns=at + dur_ns * MS,
                        micro_batch=(at - begin) // (10 * MS) if phase in ("forward", "backward") else None,
                        dur_ns=dur_ns * MS, net_ns=dur_ns * MS, sample_weight=1.0)
            at += dur_ns * MS
    linear = profile.add("op_totals", profile_id=1, name="aten::linear", count=160)
    profile.add("op_shape_totals", profile_id=1, op_total_id=linear, count=160, input_shapes="[[1,8],[8,8]]")
    ((saves_ns,),) = profile.connection.execute("SELECT saves_ns FROM temp.single_samples").fetchall()
    wanted = 20 * (1 - 8 ** -0.5) * (64 + 7 * 2) * MS  # not the 2 ms after the last pass
    check(abs(saves_ns - wanted) < MS, f"single samples: {saves_ns}, not {wanted}")
    frame = profile.add("code_frames", profile_id=1, file="/home/me/train.py", line=3, text="prepare()")
    trace = profile.add("code_traces", profile_id=1, line_frame_id=frame, leaf_frame_id=frame)
    for step, in profile.connection.execute("SELECT id FROM temp.steps").fetchall():
        profile.add("python_samples", profile_id=1, step_id=step, time_ns=1, code_trace_id=trace, period_ns=MS)
    profile.derive()
    ((saves_ns,),) = profile.connection.execute("SELECT saves_ns FROM temp.single_samples").fetchall()
    told = sum(ns for (ns,) in profile.connection.execute("SELECT self_ns FROM temp.python_parts"))
    wanted = 20 * (1 - 8 ** -0.5) * (64 + max(7 * 2 - told / 20 / MS, 0)) * MS
    check(told > 0 and abs(saves_ns - wanted) < MS, f"Python between samples: {saves_ns}, not {wanted}; {told}")
    add_hang(profile)
    ((step, at),) = profile.connection.execute("SELECT id, start_ns FROM temp.steps ORDER BY number DESC LIMIT 1")
    profile.add("step_phases", profile_id=1, step_id=step, phase="backward", start_ns=at, end_ns=at + 29 * SECOND,
                micro_batch=0, dur_ns=29 * SECOND, net_ns=29 * SECOND, sample_weight=1.0)
    profile.derive()
    rows = profile.connection.execute("SELECT saves_ns FROM temp.single_samples").fetchall()
    check(rows == [(saves_ns,)], f"single samples beside a backward pass that hung: {rows}, not {saves_ns}")

    # Numbers that are taken of each parameter, at two lines of a function, one in a comprehension: one after the other
    # or in turns; that is one loop, and no time counts twice. A recurrent network calls more ops and takes longer;
    # so does an iteration that asks in each turn whether it is done, with 12 ops in a turn.
    for in_turns, op_count, turn_us, between_us, wanted in (
        (False, 4, 200, 5000, 2 * 9 * 200), (True, 4, 120, 0, 19 * 120), (False, 40, 200, 5000, None),
        (False, 4, 600, 5000, None), (False, 12, 200, 5000, None)
    ):
        profile = Profile()
        main_frame = profile.add("code_frames", profile_id=1, file="/me/train.py", line=7, function="log", text="norm")
        main_trace = profile.add("code_traces", profile_id=1, leaf_frame_id=main_frame, line_frame_id=main_frame)
        inner = profile.add("code_frames", profile_id=1, file="/me/train.py", line=8, function="<listcomp>", text="sum")
        inner_trace = profile.add("code_traces", profile_id=1, leaf_frame_id=inner, line_frame_id=inner,
                                  parent_id=main_trace)
        for number in range(20):
            step = profile.step(number)
            at = number * 100 * MS
            places = (10 * [main_trace, inner_trace] if in_turns else 10 * [main_trace] + 10 * [inner_trace])
            for place, trace in enumerate(places):
                at += turn_us * 1000 + (between_us * 1000 if place == 10 else 0)
                profile.next += op_count
                profile.add("ops", profile_id=1, name="aten::item", category="op", thread_id=1, step_id=step,
                            code_trace_id=trace, start_ns=at, end_ns=at + 1000, dur_ns=1000, net_ns=1000,
                            self_ns=1000, sample_weight=1.0)
        profile.derive()
        rows = profile.connection.execute("SELECT subject, saves_ns, message FROM temp.scalar_loop").fetchall()
        if wanted is None:
            check(not rows, f"a loop that computes: {op_count}, {turn_us}: {rows}")
            continue
        check(len(rows) == 1 and rows[0][1] == 20 * wanted * 1000, f"two lines, {in_turns}: {rows}")
        real_format(profile)
        ((_, message),) = said(profile, "scalar_loop")
        check(re.search(r" loop (in log\(\) )?that takes numbers out of tensors, 1[01] a step, at train.py:"
                        r"(7: norm; and at train.py:8|8: sum; and at train.py:7)$", message), f"two lines: {message}")

    # A tensor taken apart row by row: where a turn takes longer than 80 µs it computes something.
    for turn_us, is_told in ((78, True), (82, False)):
        profile = Profile()
        frame = profile.add("code_frames", profile_id=1, file="/me/train.py", line=7, function="rows", text="x[i]")
        trace = profile.add("code_traces", profile_id=1, leaf_frame_id=frame, line_frame_id=frame)
        for number in range(20):
            step = profile.step(number)
            for place in range(41):
                profile.next += 3
                profile.add("ops", profile_id=1, name="aten::select", category="op", thread_id=1, step_id=step,
                            code_trace_id=trace, start_ns=number * 100 * MS + place * turn_us * 1000, dur_ns=1000,
                            end_ns=number * 100 * MS + place * turn_us * 1000 + 1000, net_ns=1000, self_ns=1000,
                            sample_weight=1.0)
        profile.derive()
        rows = profile.connection.execute("SELECT saves_ns FROM temp.scalar_loop").fetchall()
        check(rows == ([(20 * 40 * turn_us * 1000,)] if is_told else []), f"rows of {turn_us} µs: {rows}")

    profile = Profile()
    for number in range(20):
        step = profile.step(number)
        profile.op("aten::mm", step, 60 * MS)
        loop = profile.op("my loop", step, 95 * MS, self_ns=35 * MS, category="user")
        profile.connection.execute("UPDATE temp.ops SET parent_id = ? WHERE step_id = ? AND category = 'op'",
                                   (loop, step))
    expect("40 of 100 ms outside ops, though inside a range", profile, host_bound=20 * 30 * MS)
    for step in profile.connection.execute("SELECT id FROM temp.steps").fetchall():
        profile.add("device_steps", profile_id=1, step_id=step[0], busy_ns=75 * MS)
    expect("the same, but the device works for 75 ms, which remain", profile, host_bound=20 * 25 * MS)
    profile.connection.execute("UPDATE temp.device_steps SET busy_ns = ?", (95 * MS,))
    expect("the same, but the device is busy", profile)

    # Numbers of 64 bits beside tensors of 32 compute nothing in 64 bits.
    for shapes, wanted in (("[[512,512],[]]", {}), ("[[512,512],[512]]", {"double_precision": 20 * 30 * MS}),
                           (None, {"double_precision": 20 * 30 * MS})):
        profile = Profile()
        for number in range(20):
            step = profile.step(number)
            profile.op("aten::add", step, 40 * MS)
            made = profile.op("aten::mul_", step, 60 * MS)
            profile.connection.execute("UPDATE temp.ops SET input_types = ?, input_shapes = ? WHERE id = ?",
                                       ('["float","double"]', shapes, made))
        expect_beside_hang(f"types of 64 bits with shapes {shapes}", profile, **wanted)

    profile = Profile()
    for number in range(20):
        step = profile.step(number)
        profile.op("aten::mm", step, 50 * MS)
        for _ in range(3000):
            profile.op("aten::add", step, 15000)
    expect_beside_hang("3000 ops of 15 µs in each step", profile, tiny_ops=20 * 45 * MS // 2)

    profile = Profile()
    for number in range(20):
        step = profile.step(number)
        compiled = profile.op("compiled", step, 95 * MS, self_ns=50 * MS)
        inside = profile.op("a range", step, 45 * MS, self_ns=0, category="user", parent=compiled)
        for _ in range(3000):
            profile.op("aten::add", step, 15000, parent=inside)
    expect("3000 ops in a range of one op in each step", profile)

    for optimizer_type, wanted in (("SGD", {"optimizer_loop": 20 * 12 * MS}), ("LBFGS", {})):  # has no other form
        profile = Profile()
        for number in range(20):
            step = profile.step(number)
            profile.op("aten::mm", step, 70 * MS)
            optimizer = profile.op(f"Optimizer.step#{optimizer_type}.step", step, 24 * MS, self_ns=0, category="user")
            for _ in range(400):
                profile.op("aten::add_", step, 60000, parent=optimizer)
        expect(f"{optimizer_type} that loops", profile, **wanted)

    profile = Profile()
    for number in range(20):
        step = profile.step(number)
        profile.op("aten::mm", step, 75 * MS)
        outer = profile.op("aten::to", step, 20 * MS, self_ns=MS)
        inner = profile.op("aten::_to_copy", step, 19 * MS, self_ns=MS, parent=outer)
        profile.op("aten::copy_", step, 18 * MS, parent=inner)
    expect_beside_hang("conversions", profile, tensor_conversions=20 * 20 * MS)

    for growth, wanted in ((0.05, {"job": None}), (0.5, {"job": None, "memory_growth": None})):
        profile = Profile()
        profile.steps()
        for reading in range(40):
            profile.add("counters", profile_id=1, name="process_resident_bytes", unit="bytes",
                        time_ns=reading * 1000 * MS, value=1e9 * (1 + growth * reading / 20))
        expect(f"memory that grows by {growth}", profile, **wanted)

    # Memory of a line that 4 or 12 of 20 steps keep, on a device of 10 or 100 MB, that runs out or does not; and of an
    # op, a module or neither where no line was recorded.
    for kept, capacity, fails, place in (
        (4, 100, 0, "line"), (12, 100, 0, "line"), (4, 1, 0, "line"), (4, 100, 1, "line"), (12, 1, 1, "op"),
        (12, 1, 1, "module"), (12, 1, 1, "none")
    ):
        profile = Profile()
        profile.steps()
        profile.add("devices", id=1, profile_id=1, name="cuda:0", kind="gpu", memory_bytes=capacity * 1000000)
        frame = profile.add("code_frames", profile_id=1, file="/home/me/train.py", line=12, text="kept.append(y)")
        trace = profile.add("code_traces", profile_id=1, depth=1, leaf_frame_id=frame, line_frame_id=frame)
        op = profile.add("ops", profile_id=1, name="aten::mm") if place == "op" else None
        trace = trace if place == "line" else None
        name = {"line": "train.py:12", "op": "op aten::mm", "module": "module net.0", "none": "no line"}[place]
        steps = [row[0] for row in profile.connection.execute("SELECT id FROM temp.steps ORDER BY number DESC")]
        for number in range(20):
            made = profile.add("allocations", profile_id=1, device_id=1, bytes=200000, allocated_ns=number * 100 * MS,
                               released_ns=None if number >= 20 - kept else number * 100 * MS + MS,
                               step_id=steps[19 - number], code_trace_id=trace, op_id=op, address=number,
                               module="net.0" if place == "module" else None)
            event = profile.add("memory_events", profile_id=1, allocation_id=made, kind="allocate",
                                time_ns=number * 100 * MS, bytes=200000, in_use_bytes=950000, device_id=1,
                                code_trace_id=trace)
            if number == 0:
                profile.add("memory_peaks", profile_id=1, device_id=1, peak_bytes=950000, memory_event_id=event)
        if fails:
            profile.add("memory_events", profile_id=1, kind="out_of_memory", time_ns=3000 * MS, bytes=10**9,
                        in_use_bytes=950000, device_id=1, code_trace_id=trace)
        wanted = {"memory_kept": None} if kept == 12 else {}
        if capacity == 1:
            wanted["memory_headroom"] = None
        if fails:
            wanted["out_of_memory"] = None
        expect(f"memory: {kept} steps keep it, {capacity} MB, {fails} failures, by {place}", profile, **wanted)
        lines = ("SELECT name, location IS NOT NULL, count, live_count, peak_bytes FROM memory_by_line "
                 "ORDER BY count DESC")
        rows = profile.connection.execute(lines).fetchall()
        before = "memory from before the recording"
        check(rows == [(name, place == "line", 20, kept, 200000), (before, 0, 0, 0, 750000)], f"memory_by_line: {rows}")
        messages = {check_name: profile.connection.execute(f"SELECT message FROM temp.{check_name}").fetchone()[0]
                    for check_name in wanted}
        share = 79 if place == "line" else 100
        for check_name, text in (
            ("memory_kept", {"line": f"allocated at {name}, kept.append(y)", "none": "no line, op or module is "
                             "recorded"}.get(place, f"allocated in {name}, of which no line is recorded")),
            ("memory_headroom", f"held by {before} (750000 B), {name} (200000 B); {share} % of it has no line"),
            ("out_of_memory", f"held by {name} (2400000 B)" if kept == 12 else
             f"held by {name} (800000 B), {before} (150000 B)"),
        ):
            check(check_name not in wanted or text in messages[check_name], f"{text}: {messages.get(check_name)}")

    # A worker that was terminated has lost its end; what may still go on is no warning.
    for complete, severity in ((1, "warning"), (0, "info")):
        profile = Profile(ranks=2)
        for rank in range(2):
            profile.op("aten::mm", profile.step(1, rank=rank), MS, thread=rank + 1)
        profile.connection.execute("UPDATE temp.profiles SET complete = iif(id = 2, 0, ?)", (complete,))
        profile.derive()
        real_format(profile)
        rows = profile.connection.execute("SELECT severity, message FROM temp.missing_data").fetchall()
        check(len(rows) == 1 and rows[0][0] == severity and "has no end: it " in rows[0][1], f"{complete}: {rows}")

    profile = Profile()
    profile.steps()
    profile.add("diagnostics", profile_id=1, severity="info", reason="capture_ok", message="ops: ok")
    expect("a diagnostic that is all right", profile)
    profile.add("diagnostics", profile_id=1, severity="warning", reason="dropped_rows", message="lost", count=12)
    expect("rows were lost", profile, missing_data=None)
    for _ in range(2):
        profile.add("diagnostics", profile_id=1, severity="warning", reason="dropped_rows", message="lost",
                    count=2**63 - 1)
    expect("more rows were lost than 64 bits count", profile, missing_data=None)

    profile = Profile()
    profile.op("aten::mm", None, MS)
    profile.add("ranges", profile_id=1, name="loop", dur_ns=MS)
    expect("ops, but no steps", profile, missing_data=None)
    (suggestion,) = profile.connection.execute("SELECT suggestion FROM temp.missing_data").fetchone()
    check("candidate_steps" in suggestion, f"what repeats is not pointed to: {suggestion}")

    profile = Profile()
    main_frame = profile.add("code_frames", profile_id=1, file="/home/me/train.py", line=12, function="main",
                             text="y = model(x)")
    other = profile.add("code_frames", profile_id=1, file="/home/me/train.py", line=14, function="main",
                        text="loss = f(y)")
    traces = [profile.add("code_traces", profile_id=1, depth=1, leaf_frame_id=frame, line_frame_id=frame,
                          library_line_frame_id=frame) for frame in (main_frame, other)]
    profile.steps()
    profile.connection.execute("UPDATE temp.ops SET is_backward = 0, "
                               "origin_code_trace_id = CASE WHEN id % 2 THEN ? ELSE ? END", traces)
    profile.connection.execute("UPDATE temp.ops SET origin_code_trace_id = ? WHERE id % 3 = 0", traces[:1])
    expect("a line that most of the time comes from", profile, slowest_source_line=None)
    real_format(profile)
    ((_, message),) = said(profile, "slowest_source_line")
    check(re.search(r" comes from train.py:12 \([\d.]+ [mµn]?s\)", message),
          f"the message does not name the line and its time: {message}")
    inside = [profile.add("code_frames", profile_id=1, file="/lib/python3/site-packages/kit/layers.py", line=line,
                          function="forward", text=f"line {line}") for line in (7, 9)]
    for frame in inside:
        traces.append(profile.add("code_traces", profile_id=1, depth=2, leaf_frame_id=frame, line_frame_id=main_frame,
                                  library_line_frame_id=frame, parent_id=traces[0]))
    profile.connection.execute("UPDATE temp.ops SET is_backward = id % 2, "
                               "origin_code_trace_id = CASE WHEN id % 5 < 2 THEN ? ELSE ? END", traces[2:])
    profile.derive()
    ((_, message),) = said(profile, "slowest_source_line")
    check(re.search(r"^100 % .* below train.py:12: y = model\(x\);.* 67 %, comes from layers.py:9 \((?!0 ns)[^,]* "
                    r"forward, (?!0 ns)[^,]* backward\): line 9$", message), f"handed on is not told: {message}")
    profile.connection.execute("UPDATE temp.ops SET origin_code_trace_id = ?", traces[2:3])
    profile.derive()
    ((_, message),) = said(profile, "slowest_source_line")
    check(message.startswith("100 % of the op time comes from train.py:12 ("), f"one line of a library: {message}")

    profile = Profile()
    for step in profile.steps():
        begin = profile.connection.execute("SELECT start_ns FROM temp.steps WHERE id = ?", (step,)).fetchone()[0]
        profile.add("api_calls", profile_id=1, name="cudaStreamSynchronize", thread_id=1, step_id=step,
                    start_ns=begin, end_ns=begin + 30 * MS, dur_ns=30 * MS)
        profile.add("device_activities", profile_id=1, kind="compute", name="gemm", step_id=step, device_id=1,
                    start_ns=begin + 45 * MS, end_ns=begin + 95 * MS, dur_ns=50 * MS, device_idle_ns=20 * MS,
                    launch_ns=begin + 40 * MS, launch_end_ns=begin + 41 * MS)
    expect("the device runs dry for 20 of 100 ms while the host waits", profile, device_waits=20 * 20 * MS)
    profile.connection.execute(f"UPDATE temp.api_calls SET end_ns = start_ns + {24 * MS}, dur_ns = {24 * MS}")
    expect("the same, but the wait was over before", profile, device_gaps=20 * 20 * MS)
    profile.connection.execute(f"UPDATE temp.device_activities SET launch_end_ns = start_ns - {20 * MS}")
    expect("the same, but it had been launched before", profile)
    profile.connection.execute("UPDATE temp.device_activities SET launch_end_ns = start_ns, device_idle_ns = 90000")
    expect("a gap that is short", profile)
    profile.connection.execute("UPDATE temp.device_activities SET device_idle_ns = 9000000")
    profile.connection.execute("UPDATE temp.steps SET is_warmup = 1 WHERE number < 10")
    expect("half of the steps are warm-up", profile, device_gaps=10 * 9 * MS)
    finish()


if __name__ == "__main__":
    main()
