#!/usr/bin/env python3
"""test_checks.py: each check of the advisor speaks when it should, is silent when it
should not, and saves what it says.

Profiles are written row by row into plain TEMP tables of the same names and columns as ours, in a SQLite without the
extension; the functions that the checks call are simple Python ones.  A profile that is in order in every way must
leave all checks silent; each case then spoils one thing.
"""
import json
import re
import sqlite3
import statistics

from stored import CHECK_COLUMNS, check, engines, finish, read_advice_words, stored

MS = 1000000


class Median:
    share = 50

    def __init__(self):
        self.values = []

    def step(self, value, share=None):
        if value is not None:
            self.values.append(value)
        self.share = self.share if share is None else share

    def finalize(self):
        if not self.values:
            return None
        values = sorted(self.values)
        place = (len(values) - 1) * self.share / 100
        low = int(place)
        high = min(low + 1, len(values) - 1)
        return values[low] + (values[high] - values[low]) * (place - low)


class Deviation(Median):
    def finalize(self):
        return statistics.stdev(self.values) if len(self.values) > 1 else None


class Union:
    def __init__(self):
        self.intervals = []

    def step(self, start, end):
        if start is not None and end is not None:
            self.intervals.append((start, end))

    def finalize(self):
        covered, last = 0, None
        for start, end in sorted(self.intervals):
            covered += max(0, end - start if last is None or start >= last else end - last)
            last = end if last is None else max(last, end)
        return covered


class Concat:
    def __init__(self):
        self.pieces = []

    def step(self, text, separator, key):
        self.separator = separator
        if text is not None:
            self.pieces.append((key, text))

    def finalize(self):
        return self.separator.join(text for _, text in sorted(self.pieces)) if self.pieces else None


class Nothing:
    """Of what no check looks at."""

    def step(self, *_values):
        pass

    def finalize(self):
        return None


class PathSums:
    def __init__(self):
        self.rows = {}

    def step(self, row, parent, key, value):
        self.rows[row] = parent, key, value

    def finalize(self):
        sums = {}
        for row, (_, _, value) in self.rows.items():
            keys, at = set(), row
            while at in self.rows:
                at, key, _ = self.rows[at]
                keys.add(key)
            for key in keys - {None} if value is not None else ():
                sums[key] = sums.get(key, 0) + value
        return json.dumps(sums) if self.rows else None


class Profile:
    """A training run of `steps` steps of 100 ms each on one thread: in order unless a case spoils it."""

    tables = {}

    def __init__(self, ranks=1):
        self.connection = sqlite3.connect(":memory:")
        for table, columns in self.tables.items():
            if "profile_id" in columns and "profile" not in columns:
                columns = [*columns, "profile AS (profile_id)"]  # which tables have as a hidden argument
            self.connection.execute(f"CREATE TEMP TABLE {table}({', '.join(columns)})")
        for name, function in (("format_ns", "{} ns".format), ("format_bytes", "{} B".format), ("format_count", str),
                               ("format_micros", str)):
            self.connection.create_function(name, 1, function)
        self.connection.create_function("format", -1, lambda template, *values: template.replace("%%", "%"))
        self.connection.create_function("tfprof_setting", 2, lambda name, standard: standard)
        self.connection.create_function("advice_words", 2, lambda key, framework: advice_words[key][
            {"tensorflow": 1, "jax": 2}.get(framework, 0)])
        self.connection.create_aggregate("union_ns", 2, Union)
        self.connection.create_aggregate("capped_ns", 4, Nothing)
        self.connection.create_aggregate("path_sums", 4, PathSums)
        self.connection.create_aggregate("ordered_concat", 3, Concat)
        self.connection.create_aggregate("median", 1, Median)
        self.connection.create_aggregate("percentile", 2, Median)
        self.connection.create_aggregate("stddev", 1, Deviation)
        self.connection.create_aggregate("sample_error", 7, Nothing)
        for one in stored():
            self.connection.execute(f"CREATE TEMP VIEW {one.name} AS {one.sql}")
        self.next = 1
        self.add("runs", id=1, start_ns=0, path="/tmp/run")
        for rank in range(ranks):
            self.add("profiles", id=rank + 1, run_id=1, rank=rank, pid=7 + rank, path="run", host=f"node{rank}",
                     complete=1)
            self.add("threads", id=rank + 1, profile_id=rank + 1, kind="host", tid=7)

    def add(self, table, **values):
        if "id" not in values:
            values["id"] = self.next
            self.next += 1
        if table == "code_frames":
            values["source_kind"] = "library" if "/site-packages/" in values["file"] else "program"
        names = ", ".join(values)
        self.connection.execute(f"INSERT INTO temp.{table}({names}) VALUES ({', '.join('?' * len(values))})",
                                tuple(values.values()))
        return values["id"]

    def op(self, name, step, dur_ns, self_ns=None, category="op", parent=None, weight=1.0, thread=1):
        return self.add("ops", profile_id=thread, name=name, op_type=name, category=category, thread_id=thread,
                        step_id=step, parent_id=parent, dur_ns=dur_ns, net_ns=dur_ns,
                        self_ns=dur_ns if self_ns is None else self_ns, sample_weight=weight)

    def step(self, number, dur_ns=100 * MS, is_warmup=0, ops_recorded=1, weight=None, rank=0):
        return self.add("steps", profile_id=rank + 1, number=number, thread_id=rank + 1, start_ns=number * 100 * MS,
                        dur_ns=dur_ns, net_ns=dur_ns, training_ns=dur_ns, is_warmup=is_warmup,
                        ops_recorded=ops_recorded, sample_weight=float(ops_recorded if weight is None else weight))

    def steps(self, count=20, **kind):
        """Steps that spend 90 of their 100 ms in nine large ops."""
        made = []
        for number in range(count):
            made.append(self.step(number, **kind))
            for _ in range(9):
                self.op("aten::mm", made[-1], 10 * MS)
        return made

    def derive(self):
        """What the extension makes of the rows by itself. Here nothing overlaps anything else."""
        self.connection.execute(
            "WITH RECURSIVE below(id, outermost) AS ("
            "  SELECT id, CASE WHEN category <> 'user' THEN id END FROM temp.ops WHERE parent_id IS NULL UNION ALL"
            "  SELECT ops.id, coalesce(outermost, CASE WHEN category <> 'user' THEN ops.id END)"
            "  FROM below CROSS JOIN temp.ops ON ops.parent_id = below.id)"
            "UPDATE temp.ops SET outermost_id = (SELECT outermost FROM below WHERE below.id = ops.id)"
        )
        measured = "FROM temp.steps WHERE is_warmup = 0 AND ops_recorded = 1"
        self.connection.execute(
            f"UPDATE temp.ops SET is_measured = coalesce(step_id IN (SELECT id {measured}), 0)"
            f" OR profile_id NOT IN (SELECT profile_id {measured})"
        )
        self.connection.execute("DELETE FROM temp.host_steps")
        of_thread = "WHERE x.step_id = steps.id AND x.thread_id = steps.thread_id"
        calls = f"FROM temp.ops AS x {of_thread} AND category <> 'user' AND outermost_id = x.id"
        self.connection.execute(
            "INSERT INTO temp.host_steps(profile_id, step_id, op_ns, input_ns, wait_ns, op_count, call_count,"
            " small_call_count, small_call_ns) SELECT profile_id, id,"
            f" (SELECT total(dur_ns) {calls}), (SELECT total(dur_ns) FROM temp.input_events AS x {of_thread}),"
            f" (SELECT total(dur_ns) FROM temp.api_calls AS x {of_thread}) + (SELECT total(dur_ns) FROM"
            " temp.collectives AS x WHERE x.step_id = steps.id AND x.kernel_id IS NULL),"
            " (SELECT count(*) FROM temp.ops AS x WHERE x.step_id = steps.id AND category <> 'user'),"
            f" (SELECT count(*) {calls}), (SELECT count(*) {calls} AND dur_ns < 20000),"
            f" (SELECT total(dur_ns) {calls} AND dur_ns < 20000) FROM temp.steps WHERE ops_recorded = 1"
        )
        names = "('aten::to', 'aten::_to_copy', 'aten::contiguous', 'aten::clone')"
        converting = (f"FROM temp.ops AS x LEFT JOIN temp.ops AS around ON around.id = x.parent_id"
                      f" WHERE x.step_id = host_steps.step_id AND x.name IN {names}"
                      f" AND coalesce(around.name, '') NOT IN {names}")
        self.connection.execute(f"UPDATE temp.host_steps SET conversion_count = (SELECT count(*) {converting}),"
                                f" conversion_ns = (SELECT total(x.dur_ns) {converting})")
        self.connection.execute("DELETE FROM temp.ranges WHERE op_count IS NOT NULL")
        self.connection.execute(
            "INSERT INTO temp.ranges(id, profile_id, name, step_id, dur_ns, op_count) SELECT -id, profile_id, name,"
            " step_id, dur_ns, (SELECT count(*) FROM temp.ops AS x WHERE x.parent_id = ops.id AND"
            " x.category NOT IN ('user', 'autograd') AND x.sequence_number IS NULL)"
            " FROM temp.ops WHERE category = 'user' AND name GLOB 'Optimizer.step#*'"
        )
        of_trace = ("FROM temp.ops AS x WHERE x.origin_code_trace_id = code_traces.id AND x.is_measured = 1"
                    " AND x.category NOT IN ('user', 'python', 'module')")
        self.connection.execute(
            f"UPDATE temp.code_traces SET op_count = (SELECT sum(sample_weight) {of_trace}),"
            f" self_ns = (SELECT sum(self_ns * sample_weight) {of_trace}),"
            f" backward_ns = (SELECT sum(self_ns * sample_weight) {of_trace} AND x.is_backward = 1)"
        )
        self.connection.execute("UPDATE temp.devices SET peak_bytes ="
                                " (SELECT max(coalesce(reserved_bytes, in_use_bytes)) FROM temp.memory_events"
                                " WHERE device_id = devices.id)")
        waits = ("SELECT start_ns, end_ns FROM temp.api_calls WHERE name GLOB '*Synchronize*' UNION ALL"
                 " SELECT calls.start_ns, calls.end_ns FROM temp.transfers JOIN temp.api_calls AS calls"
                 " ON calls.id = api_call_id WHERE direction = 'DtoH' AND calls.end_ns >= transfers.end_ns")
        begin = "device_activities.start_ns - device_activities.device_idle_ns"
        self.connection.execute(
            f"WITH waits AS MATERIALIZED ({waits}) UPDATE temp.device_activities SET idle_reason = CASE"
            f" WHEN device_idle_ns > 0 THEN CASE WHEN launch_end_ns <= {begin} THEN 'device'"
            f" WHEN EXISTS (SELECT 1 FROM waits AS x WHERE {begin} BETWEEN x.start_ns AND x.end_ns) THEN 'wait'"
            " WHEN EXISTS (SELECT 1 FROM temp.input_events AS x"
            f" WHERE {begin} + device_activities.device_idle_ns / 2 BETWEEN x.start_ns AND x.end_ns)"
            " THEN 'input' WHEN launch_end_ns IS NOT NULL THEN 'host' END END")
        self.connection.execute("UPDATE temp.host_steps SET outside_ns = max(0, (SELECT dur_ns FROM temp.steps"
                                " WHERE steps.id = step_id) - op_ns - input_ns - wait_ns)")


def read_tables():
    engine = engines()[0]()
    for table, column in engine.query("SELECT table_name, column_name FROM tfprof_columns")[1]:
        Profile.tables.setdefault(table, []).append(column)
    for view in ("scope_view", "graph_view", "code_view", "op_view"):
        Profile.tables[view] = ['"%s"' % name
                                for name, in engine.query(f"SELECT name FROM pragma_table_xinfo('{view}')")[1]]


advice_words = read_advice_words()
severities = {}  # of the checks that the last expect() heard


def small_run(steps, dur_ns):
    """Where every share is bad: 60 % waiting for input, the rest tiny ops and Python."""
    profile = Profile()
    for number in range(steps):
        step = profile.step(number, dur_ns=dur_ns)
        profile.add("input_events", profile_id=1, name="next", stage="read_on_demand", thread_id=1, step_id=step,
                    dur_ns=dur_ns * 6 // 10)
    return profile


def expect(what, profile, **wanted):
    """`wanted`: saves_ns by name of the checks that must speak, None where it must be
    NULL; all others must be silent."""
    said = {}
    severities.clear()
    profile.derive()
    for one in stored():
        if not one.is_check:
            continue
        for row in profile.connection.execute(f"SELECT * FROM temp.{one.name}"):
            advice = dict(zip(CHECK_COLUMNS, row))
            said[one.name] = advice["saves_ns"]
            severities[one.name] = advice["severity"]
            check(len(advice["evidence"]) <= 160,
                  f"{what}: the evidence of {one.name} is {len(advice['evidence'])} long")
            shown = profile.connection.execute(advice["evidence"]).fetchall()
            check(0 < len(shown) <= 50, f"{what}: the evidence of {one.name} shows {len(shown)} rows")
            check(advice["value"] >= advice["threshold"], f"{what}: {one.name} speaks below its threshold")
    check(said == wanted, f"{what}: the checks say {said} instead of {wanted}")


def main():
    read_tables()
    profile = Profile()
    expect("nothing at all", profile)

    profile = Profile()
    profile.steps()
    expect("a run that is in order", profile)

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
        expect(f"types of 64 bits with shapes {shapes}", profile, **wanted)

    profile = Profile()
    for number in range(20):
        step = profile.step(number)
        profile.op("aten::mm", step, 50 * MS)
        for _ in range(3000):
            profile.op("aten::add", step, 15000)
    expect("3000 ops of 15 µs in each step", profile, tiny_ops=20 * 45 * MS // 2)

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
    expect("conversions", profile, tensor_conversions=20 * 20 * MS)

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
    check_classic()
    finish()


def graph(device="/job:w/device:gpu:0", **node):
    """A run of TensorFlow in order, with one node that kept its device busy for `busy_ns` of each step of 100 ms."""
    profile = Profile()
    steps = profile.steps()
    profile.connection.execute("UPDATE temp.profiles SET framework = 'tensorflow'")
    busy_ns = node.pop("busy_ns", 90 * MS)
    made = profile.add("nodes", profile_id=1, **{"name": "net/node", "op_type": "Conv2D", "canonical_device": device,
                                                 **node})
    for number, step in enumerate(steps):
        profile.add("node_steps", profile_id=1, node_id=made, step_id=step, run_count=1, accelerator_ns=busy_ns,
                    start_ns=number * 100 * MS, end_ns=(number + 1) * 100 * MS)
    return profile


def real_format(profile):
    """As SQLite's, where NULL is told as 0 by %d."""
    profile.connection.create_function("format", -1, lambda template, *values: template % tuple(
        0 if value is None else value for value in values))


def said(profile, name):
    return [(severity, message) for severity, message in
            profile.connection.execute(f"SELECT severity, message FROM temp.{name}")]


def check_classic():
    """The checkers of TensorFlow's profiler."""
    for busy_ns, severity in ((90 * MS, "info"), (49 * MS, "warning"), (150 * MS, "info")):
        profile = graph(busy_ns=busy_ns)
        expect(f"a GPU busy for {busy_ns} ns", profile, accelerator_utilization=None)
        check(severities == {"accelerator_utilization": severity}, f"{busy_ns}: {severities}")
        check(profile.connection.execute("SELECT value FROM temp.accelerator_utilization").fetchone()[0] >= 0, "over 1")
    expect("the same on a processor", graph("/job:w/device:cpu:0"))
    # Kernels count by the time of the steps, not by that of the kernels alone.
    for busy_ms, severity in ((49, "warning"), (51, "info")):
        profile = Profile()
        profile.add("devices", id=5, profile_id=1, kind="gpu", ordinal=0, name="GPU 0")
        for number, step in enumerate(profile.steps(4)):
            begin = number * 100 * MS
            profile.add("step_segments", profile_id=1, step_id=step, category="cpu", start_ns=begin,
                        end_ns=begin + 100 * MS, dur_ns=100 * MS)
            profile.add("step_segment_totals", profile_id=1, step_id=step, category="cpu", count=1, sum_ns=100 * MS,
                        first_start_ns=begin, last_end_ns=begin + 100 * MS)
        begin, end = 100 * MS, 100 * MS + 4 * busy_ms * MS
        profile.add("kernels", profile_id=1, name="gemm", kind="compute", device_id=5, start_ns=begin, end_ns=end,
                    dur_ns=end - begin)
        expect(f"a kernel of {4 * busy_ms} ms", profile, accelerator_utilization=None)
        check(severities == {"accelerator_utilization": severity}, f"{busy_ms}: {severities}")
    # Where nothing is marked the ops themselves are the evidence.
    profile = Profile()
    profile.op("aten::mm", None, 10 * MS)
    (evidence,) = profile.connection.execute("SELECT evidence FROM temp.missing_data").fetchone()
    check(profile.connection.execute(evidence).fetchall() == [("aten::mm", 1)], evidence)

    # Layouts: each number type has one that is the faster.
    for dtype, layout, other in (("float32", "NHWC", "NCHW"), ("float16", "NCHW", "NHWC"),
                                 ("bfloat16", "NCHW", "NHWC")):
        profile = graph(dtype=dtype, data_format=layout)
        text = "Found operation using %s data_format on GPU. Maybe %s is faster."
        check(said(profile, "operation") == [("warning", text)], f"{dtype} {layout}: {said(profile, 'operation')}")
        (suggestion,) = profile.connection.execute("SELECT suggestion FROM temp.operation").fetchone()
        check("%d nodes in %s" in suggestion, suggestion)
        profile.add("nodes", id=99, profile_id=1, name="net/transpose", op_type="Transpose",
                    canonical_device="/device:gpu:0")
        profile.add("node_steps", profile_id=1, node_id=99, step_id=1, accelerator_ns=20 * 91 * MS, run_count=1)
        (suggestion,) = profile.connection.execute("SELECT suggestion FROM temp.operation").fetchone()
        check("Transposes take longer" in suggestion, suggestion)
        check(said(graph(dtype=dtype, data_format=other), "operation") == [], f"{dtype} {other}")
        check(said(graph("/job:w/device:cpu:0", dtype=dtype, data_format=layout), "operation") == [],
              f"{dtype} on a CPU")

    # Normalisation in parts; a fused one of any version is enough.
    for fused in (None, "FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"):
        profile = graph(name="net/BatchNorm/mul", op_type="Mul")
        if fused:
            profile.add("node_types", profile_id=1, node_id=1, type=fused)
        wanted = [] if fused else [("warning", "Maybe use faster FusedBatchNorm instead of BatchNorm")]
        check(said(profile, "operation") == wanted, f"{fused}: {said(profile, 'operation')}")
    profile.connection.execute("DELETE FROM temp.node_types")
    profile.connection.execute("UPDATE temp.profiles SET framework = 'pytorch'")
    check(said(profile, "operation") == [], "PyTorch fuses by itself")

    for share, wanted in ((4, {}), (6, {"operation": 6 * MS})):
        profile = Profile()
        profile.steps()
        profile.add("kernels", profile_id=1, name="cudnn::nchwToNhwcKernel<float>", dur_ns=share * MS)
        profile.add("kernels", profile_id=1, name="gemm", dur_ns=(100 - share) * MS)
        profile.add("kernels", profile_id=1, name="at::native::unrolled_elementwise_kernel<CopyTo>", dur_ns=0)
        expect(f"{share} % of conversions", profile, **wanted)
        for (evidence,) in profile.connection.execute("SELECT evidence FROM temp.operation").fetchall():
            shown = [name for name, _ in profile.connection.execute(evidence)]
            check(shown == ["cudnn::nchwToNhwcKernel<float>"], f"what converts: {shown}")

    # What the job moves: slow and long is a warning.
    for bytes, dur_ns, severity in ((10**6, 20 * MS, "warning"), (10**8, 20 * MS, "info"), (10**6, 9 * MS, "info")):
        profile = Profile()
        for step in profile.steps():
            profile.add("transfers", profile_id=1, kind="receive", name="RecvTensor", step_id=step, dur_ns=dur_ns,
                        bytes=bytes)
        expect(f"{bytes} received in {dur_ns} ns", profile, job=None)
        check(severities == {"job": severity}, f"{bytes} in {dur_ns}: {severities}")
    profile = Profile()
    for step in profile.steps():
        profile.add("collectives", profile_id=1, name="all_reduce", step_id=step, dur_ns=MS, bytes=10**9,
                    carried_by="kernel")
    profile.add("counters", profile_id=1, name="process_cpu", unit="ratio", value=1.5)
    profile.add("counters", profile_id=1, name="host_cpu", unit="ratio", value=0.99)
    for dur_ns, rate in ((3 * MS, 1.0), (MS, 5.0)):  # the mean is by time, as that of the bytes
        profile.add("collectives", profile_id=1, name="broadcast", step_id=1, dur_ns=dur_ns, bytes=10**9,
                    carried_by="kernel",
                    bus_bytes_per_second=rate)
    profile.connection.create_function("format", -1, lambda template, *values: template)
    ((severity, message),) = said(profile, "job")
    check(severity == "warning" and "links 2.0 B/s" in message, message)
    profile.connection.execute("DELETE FROM temp.collectives WHERE name = 'broadcast'")
    expect("collectives and a machine that is busy", profile, job=None)

    # One row for a job, whatever its processes are.
    profile = Profile(ranks=2)
    profile.steps()
    for worker in range(3, 7):
        profile.add("profiles", id=worker, run_id=1, pid=100 + worker, path="run", host="node1", complete=1)
    for process in range(1, 7):
        for second in range(11 if process < 5 else 6):
            for name, value in (("process_cpu", 0.5), ("host_cpu", 0.96 if process > 1 else 0.3),
                                ("process_resident_bytes", 1e9 * process), ("host_available_bytes", 1e11)):
                profile.add("counters", profile_id=process, name=name, value=value, time_ns=second * 1000 * MS)
    real_format(profile)
    ((severity, message),) = said(profile, "job")
    check((severity, message) == (
        "warning", "CPU: 2.50 processors used on average by 6 processes; the busiest machine, node1, is 96 % busy; "
        "memory: 6000000000.0 B held at most by process 106, the largest of 6 processes, 100000000000.0 B left on "
        "node0 at least"), message)

    # The thread that trains had no processor; of a worker, which has no steps, that says nothing.
    waited = "the main thread waited for a free processor 20 % of the time"
    for waits, wanted in (((0.04, 0.9), []), ((0.2, 0), [("warning", waited)])):
        profile = Profile()
        profile.steps()
        profile.add("profiles", id=2, run_id=1, pid=102, path="run", host="node0", complete=1)
        for process, wait in enumerate(waits, 1):
            for second in range(5):
                profile.add("counters", profile_id=process, name="main_thread_wait_s", unit="s",
                            value=7 + wait * second, time_ns=second * 1000 * MS)
        real_format(profile)
        check(said(profile, "job") == wanted, f"{waits}: {said(profile, 'job')}")


if __name__ == "__main__":
    main()
