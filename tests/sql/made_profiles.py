"""made_profiles.py: profiles that are written row by row, for the checks of the advisor.

They are plain TEMP tables of the same names and columns as ours, in a SQLite without the extension; the functions that
the checks call are simple Python ones.
"""
import json
import sqlite3
import statistics

from stored import CHECK_COLUMNS, check, engines, read_advice_words, stored

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
        self.connection.create_function("has_framework", 2, lambda names, name: name in (names or "").split(", "))
        self.connection.create_aggregate("union_ns", 2, Union)
        self.connection.create_aggregate("capped_ns", 4, Nothing)
        self.connection.create_aggregate("path_sums", 4, PathSums)
        self.connection.create_aggregate("ordered_concat", 3, Concat)
        self.connection.create_aggregate("median", 1, Median)
        self.connection.create_aggregate("percentile", 2, Median)
        self.connection.create_aggregate("stddev", 1, Deviation)
        self.connection.create_aggregate("sample_error", 2, Nothing)
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
        self.connection.execute("UPDATE temp.steps SET is_hung = EXISTS(SELECT 1 FROM temp.hangs WHERE is_working = 0"
                                " AND hangs.profile_id = steps.profile_id AND noticed_ns > steps.start_ns"
                                " AND noticed_ns < steps.end_ns)")
        measured = "FROM temp.steps WHERE is_warmup = 0 AND ops_recorded = 1"
        self.connection.execute(
            f"UPDATE temp.ops SET is_measured = coalesce(step_id IN (SELECT id {measured}), 0)"
            f" OR profile_id NOT IN (SELECT profile_id {measured})"
        )
        warmup = "SELECT id FROM temp.steps WHERE is_warmup = 1"
        for table in ("kernels", "transfers", "api_calls", "syncs", "device_activities", "collectives"):
            self.connection.execute(f"UPDATE temp.{table} SET sample_weight = 1.0, "
                                    f"is_measured = step_id IS NULL OR step_id NOT IN ({warmup})")
        self.connection.execute("UPDATE temp.device_activities SET is_device_gap_known = 1, is_stream_gap_known = 1")
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
    for table, column in engine.query(
            "SELECT table_name, column_name FROM tfprof_columns WHERE is_cache >= 0 "
            "AND table_name IN (SELECT name FROM tfprof_tables WHERE is_cache >= 0)")[1]:
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
            said[advice["check_name"]] = advice["saves_ns"]
            severities[advice["check_name"]] = advice["severity"]
            check(len(advice["evidence"]) <= 160,
                  f"{what}: the evidence of {one.name} is {len(advice['evidence'])} long")
            shown = profile.connection.execute(advice["evidence"]).fetchall()
            check(0 < len(shown) <= 50, f"{what}: the evidence of {one.name} shows {len(shown)} rows")
            check(advice["value"] >= advice["threshold"], f"{what}: {one.name} speaks below its threshold")
    check(said == wanted, f"{what}: the checks say {said} instead of {wanted}")


def real_format(profile):
    """As SQLite's, where NULL is told as 0 by %d."""
    profile.connection.create_function("format", -1, lambda template, *values: template % tuple(
        0 if value is None else value for value in values))


def said(profile, name):
    return [(severity, message) for severity, message in
            profile.connection.execute(f"SELECT severity, message FROM temp.{name}")]
