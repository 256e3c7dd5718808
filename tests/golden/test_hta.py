#!/usr/bin/env python3
"""test_hta.py: the views of the HTA group against HolisticTraceAnalysis' own output on real traces.

Where a trace has whole microseconds the views must give HTA's numbers exactly.  Where it has fractions HTA rounds every
event (its start up, its end down to whole microseconds) before it begins; the same
rounding is then applied to our rows:
the tables that the views read are copied into tables of those names with rounded times, and the very same views read
those.  What HTA gets wrong by its own definitions is tested for the right number instead, and said at the place.

Skipped without TFPROF_SHARED, which holds the traces and HTA's tables (traces/hta_golden/README.md).
"""
import csv
import glob
import gzip
import io
import json
import math
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "sql"))
from engines import Newest, in_every_python, views_over_temp_tables

SHARED = os.environ.get("TFPROF_SHARED")
TRACES = os.path.join(SHARED or "", "traces", "pytorch")
GOLDEN = os.path.join(SHARED or "", "traces", "hta_golden")
in_every_python()
failures = []


def check(holds, *message):
    if not holds:
        failures.append(message)
        print(*message)


def same(ours, theirs, tolerance=1e-9):
    if ours is None or theirs is None or isinstance(ours, str) or isinstance(theirs, str):
        return ours == theirs
    return math.isclose(ours, theirs, rel_tol=tolerance, abs_tol=1e-9)


def golden(trace, analysis):
    """HTA's table as dictionaries with numbers where there are numbers, or None."""
    path = os.path.join(GOLDEN, trace, analysis + ".csv")
    if not os.path.exists(path) and not os.path.exists(path + ".gz"):
        return None
    with open(path, "rb") if os.path.exists(path) else gzip.open(path + ".gz") as file:
        rows = list(csv.DictReader(io.TextIOWrapper(file, encoding="utf-8")))

    def value(text):
        try:
            return float(text)
        except ValueError:
            return text or None

    return [{key: value(text) for key, text in row.items()} for row in rows]


def trace_file(trace):
    return glob.glob(os.path.join(TRACES, trace + ".*"))[0]


def has_fractional_starts(path):
    with (gzip.open(path, "rt") if path.endswith(".gz") else open(path)) as file:
        return re.search(r'"ts": *\d+\.\d', file.read()) is not None


ROUNDED = ("device_activities", "kernels", "transfers", "api_calls", "ops", "steps", "ranges", "syncs")
OURS = "tfprof_own"  # no database's name: our tables, whatever TEMP has
UP, DOWN = "-((-{0}) / 1000) * 1000", "({0} / 1000) * 1000"  # times are positive, division cuts off


def round_like_hta(db):
    """Tables with the names of ours, whose times are rounded, and totals of these; the views read them from now on."""
    for table in ROUNDED:
        columns = [name for _, name, *_ in db.values(f"PRAGMA table_info({table})")]
        texts = []
        for column in columns:
            if column in ("start_ns", "launch_ns", "op_kernels_start_ns"):
                up = f"(({column} + 999) / 1000) * 1000"
                texts.append(f"{up} AS {column}")
            elif column in ("end_ns", "launch_end_ns", "previous_end_ns"):
                texts.append(f"{DOWN.format(column)} AS {column}")
            elif column == "dur_ns":
                texts.append("(end_ns / 1000) * 1000 - ((start_ns + 999) / 1000) * 1000 AS dur_ns")
            else:
                texts.append(column)
        db.values(f"CREATE TEMP TABLE {table} AS SELECT {', '.join(texts)} FROM {OURS}.{table}")
    for table, select in totals_of_activities().items():
        db.values(f"CREATE TEMP TABLE {table} AS {select}")
    views_over_temp_tables(db)


def totals_of_activities():
    """{table: the SELECT that makes of device_activities what the extension derives of them}."""
    counted = "FROM temp.device_activities WHERE is_before_last_step = 1"
    covers = {"busy_ns": "1", "work_ns": "kind <> 'sync'"}
    sorts = {"compute": "'compute'", "communication": "'communication'", "copy": "'memcpy', 'memset'"}
    for names in (("compute",), ("communication",), ("copy",), ("compute", "communication"), ("compute", "copy"),
                  ("communication", "copy")):
        covers["_".join(names) + "_ns"] = f"kind IN ({', '.join(sorts[name] for name in names)})"
    texts = [f"union_ns(start_ns, end_ns) FILTER (WHERE {condition}) AS {name}" for name, condition in covers.items()]
    gap = "max(0, start_ns - previous_end_ns)"
    delay = "max(0, start_ns - launch_end_ns)"
    lanes = f"SELECT DISTINCT profile_id, device_id, thread_id {counted} AND kind <> 'sync' AND thread_id IS NOT NULL"
    return {
        "device_times": f"""SELECT profile_id, device_id, sample_weight, sampled_step_id,
            min(start_ns) AS first_start_ns, max(end_ns) AS last_end_ns,
            {", ".join(texts)} {counted} GROUP BY profile_id, device_id, sample_weight, sampled_step_id""",
        "launch_totals": f"""SELECT profile_id,
            api_call_id IN (SELECT id FROM temp.api_calls WHERE name GLOB '*GraphLaunch*') AS is_graph,
            sample_weight, count(*) AS count, sum(dur_ns < launch_end_ns - launch_ns) AS short_count,
            sum(launch_end_ns - launch_ns > 50000) AS slow_count,
            sum(start_ns - launch_end_ns > 100000) AS long_delay_count, sum(launch_end_ns - launch_ns) AS call_ns,
            sum(dur_ns) AS sum_ns, total({delay}) AS delay_ns, count(launch_end_ns) AS delayed_count,
            max({delay}) AS max_delay_ns
            {counted} AND kind <> 'sync' AND api_call_id IS NOT NULL GROUP BY 1, 2, sample_weight""",
        "idle_totals": f"""SELECT lanes.*, categories.category AS category, coalesce(count, 0) AS count,
            coalesce(sum_ns, 0) AS sum_ns, mean_ns, stddev_ns, min_ns, p25_ns, median_ns, p75_ns, max_ns
            FROM ({lanes}) AS lanes CROSS JOIN (SELECT column1 AS category
              FROM (VALUES ('host_wait'), ('kernel_wait'), ('other'))) AS categories
            LEFT JOIN (SELECT device_id AS device, thread_id AS thread,
              CASE WHEN launch_ns > previous_end_ns THEN 'host_wait'
                WHEN start_ns - previous_end_ns < 30000 THEN 'kernel_wait'
                WHEN previous_end_ns IS NOT NULL THEN 'other' END AS waited,
              count(*) AS count, sum({gap}) AS sum_ns, avg({gap}) AS mean_ns, stddev({gap}) AS stddev_ns,
              min({gap}) AS min_ns, percentile({gap}, 25) AS p25_ns, median({gap}) AS median_ns,
              percentile({gap}, 75) AS p75_ns, max({gap}) AS max_ns
              {counted} AND kind <> 'sync' AND thread_id IS NOT NULL GROUP BY 1, 2, 3) AS sums
            ON thread = lanes.thread_id AND device IS lanes.device_id AND waited = categories.category""",
        "queue_totals": f"""SELECT profile_id, device_id, thread_id, {", ".join(
              f"json_extract(lengths, '$.{key}') AS {name}" for key, name in (
                ("count", "count"), ("mean", "mean"), ("stddev", "stddev"), ("min", "min"), ("p25", "p25"),
                ("p50", "median"), ("p75", "p75"), ("max", "max")))}, full_ns
            FROM (SELECT profile_id, device_id, thread_id, depth_summary(launch_ns, start_ns) AS lengths,
                depth_ns(launch_ns, start_ns, 1024) AS full_ns
              {counted} AND kind <> 'sync' AND launch_ns IS NOT NULL AND thread_id IS NOT NULL
                AND api_call_id NOT IN (SELECT id FROM temp.api_calls WHERE name GLOB '*GraphLaunch*')
              GROUP BY profile_id, device_id, thread_id)""",
        "op_kernel_totals": """SELECT work.profile_id AS profile_id, like_op_id,
            op_kernels_start_ns IS NOT NULL AS is_first, steps.sample_weight AS sample_weight, count(*) AS count,
            sum(work.dur_ns) AS sum_ns, sum(work.launch_ns - ops.start_ns) AS launch_delay_ns,
            sum(op_kernels_start_ns - work.launch_ns) AS kernel_delay_ns
            FROM temp.device_activities AS work LEFT JOIN temp.ops AS ops ON ops.id = work.op_id
            LEFT JOIN temp.steps AS steps ON steps.id = work.step_id GROUP BY 1, 2, 3, 4""",
        "outermost_totals": """SELECT profile_id, outermost_op_id, is_before_last_step, count(*) AS count,
            sum(dur_ns) AS sum_ns FROM temp.device_activities GROUP BY 1, 2, 3""",
        "stream_totals": """SELECT profile_id, device_id, thread_id, kind, name, is_before_last_step,
            kernel_id IS NOT NULL AS is_kernel, sample_weight, sampled_step_id, count(*) AS count,
            count(dur_ns) AS known_count, sum(dur_ns) AS sum_ns, min(dur_ns) AS min_ns, max(dur_ns) AS max_ns,
            stddev(dur_ns) AS stddev_ns, min(start_ns) AS first_start_ns, max(end_ns) AS last_end_ns
            FROM temp.device_activities GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9""",
    }


def view(db, name):
    """The rows of a view as dictionaries."""
    columns = [row[1] for row in db.values(f"PRAGMA table_info({name})")]
    return [dict(zip(columns, row)) for row in db.values(f"SELECT * FROM temp.{name}")]


def us(ns):
    return None if ns is None else ns / 1000


def first(db, sql):
    return db.values(sql)[0]


def test_temporal_breakdown(trace, db):
    theirs = golden(trace, "temporal_breakdown")
    ours = view(db, "hta_temporal_breakdown")
    if theirs is None:
        return
    check(len(ours) == 1, trace, "hta_temporal_breakdown has", len(ours), "rows")
    row, expected = ours[0], theirs[0]
    if trace == "critical_path_simple_add":
        # HTA takes 4294967295, which libkineto writes for "no stream", for one, so that waits of the host make the
        # device busy; and its release takes Stream Wait Event for computation.  With both its numbers come out.
        kernel, busy, compute = first(db, """
            WITH added AS (
              SELECT kind, start_ns, end_ns FROM temp.device_activities
              UNION ALL SELECT kind, start_ns, end_ns FROM temp.syncs WHERE kind = 'context'
              UNION ALL SELECT 'compute', start_ns, end_ns FROM temp.syncs WHERE kind = 'stream_wait')
            SELECT max(end_ns) - min(start_ns), union_ns(start_ns, end_ns),
              union_ns(start_ns, end_ns) FILTER (WHERE kind = 'compute') FROM added""")
        check(row["kernel_ns"] < kernel and row["compute_ns"] < compute, trace, row)
        check(row["kernel_ns"] == first(db, "SELECT max(end_ns) - min(start_ns) FROM temp.device_activities")[0], trace)
        row = {"idle_ns": kernel - busy, "compute_ns": compute, "non_compute_ns": busy - compute, "kernel_ns": kernel}
    elif trace == "triton":
        # HTA takes a host op with the argument "stream" for a kernel.
        op = first(db, "SELECT min(start_ns), max(end_ns) FROM ops WHERE attributes LIKE '%\"stream\"%'")
        check(row["compute_ns"] == first(db, "SELECT sum(dur_ns) FROM kernels")[0] and row["idle_ns"] == 0, trace, row)
        row = {**row, "compute_ns": op[1] - op[0], "kernel_ns": op[1] - op[0]}
        expected = {**expected, "idle_time(us)": 0.0}
    for column in ("idle", "compute", "non_compute", "kernel"):
        check(same(us(row[column + "_ns"]), expected[column + "_time(us)"]), trace, "hta_temporal_breakdown", column,
              us(row[column + "_ns"]), expected[column + "_time(us)"])
        if column != "kernel":
            ratio = 100 * row[column + "_ns"] / row["kernel_ns"]
            check(abs(ratio - expected[column + "_time_pctg"]) < 0.0051, trace, column, row, expected)
            check(column + "_ratio" not in row or trace == "triton" or same(row[column + "_ratio"], ratio / 100), trace,
                  row)


def test_idle_breakdown(trace, db):
    theirs = golden(trace, "idle_time_breakdown")
    if theirs is None:
        return
    ours = {(row["stream"], row["idle_category"]): row for row in view(db, "hta_idle_breakdown")}
    if trace.startswith("trace_compare"):
        # HTA drops kernels whose launch was not recorded before it looks for gaps, so that one of them before the only
        # other kernel is no reason for a gap there; here the gap begins when it ends.
        check(theirs[0]["idle_time"] == 0 and ours[7, "other"]["idle_ns"] == 131000, trace, ours)
        check(first(db, "SELECT count(*) FROM kernels WHERE api_call_id IS NULL")[0] == 4, trace)
        return
    statistics = golden(trace, "idle_interval_stats")
    places = {"host_wait": 0, "kernel_wait": 1, "other": 2}
    for row in theirs:
        mine = ours.pop((row["stream"], row["idle_category"]), None)
        check(mine is not None and same(us(mine["idle_ns"]), row["idle_time"]), trace, "hta_idle_breakdown", row, mine)
        of_stream = [one for one in statistics if one["stream"] == row["stream"]]
        if len(of_stream) != 3 or not mine:  # categories without gaps are left out of one table and not of the other
            continue
        stats = of_stream[places[row["idle_category"]]]
        # HTA rounds to two places, and counts the first of a stream, which has no gap, as one without length.
        is_with_first = stats["count"] == mine["count"] + 1
        check(stats["count"] == mine["count"] or is_with_first, trace, "count", stats, mine)
        for column, theirs_is in (("mean", "mean"), ("min", "min"), ("p25", "25%"), ("median", "50%"), ("p75", "75%"),
                                  ("max", "max")):
            if mine["count"] and not is_with_first:
                check(abs(us(mine[column + "_ns"]) - stats[theirs_is]) <= 0.0051, trace, column, stats, mine)
    check(all(row["idle_ns"] == 0 and row["count"] == 0 for row in ours.values()), trace, "hta_idle_breakdown has more",
          ours)


def test_communication_overlap(trace, db):
    theirs = golden(trace, "comm_comp_overlap")
    ours = view(db, "hta_communication_overlap")
    if theirs is None:
        return
    expected = theirs[0]["comp_comm_overlap_pctg"]
    if trace == "large_integer":  # its only kernel has no correlation and is no kernel for HTA
        check(expected is None and len(ours) == 1 and ours[0]["communication_ns"] == 50000, trace, ours)
    elif expected is None:
        check(ours == [], trace, "hta_communication_overlap", ours)
    else:
        check(abs(ours[0]["overlap_ratio"] * 100 - expected) < 0.0051, trace, "overlap", ours, expected)


def not_hta_kernel(trace, db, kernel_type):
    """Microseconds of what HTA's release takes for kernels of the type by mistake."""
    if kernel_type != "COMPUTATION":
        return 0
    if trace == "triton":  # a host op with the argument "stream"
        return us(first(db, "SELECT sum(dur_ns) FROM ops WHERE attributes LIKE '%\"stream\"%'")[0])
    if trace == "critical_path_simple_add":
        return us(first(db, "SELECT sum(dur_ns) FROM syncs WHERE kind = 'stream_wait'")[0])
    return 0


def test_kernel_type_breakdown(trace, db):
    theirs = golden(trace, "gpu_kernel_type_breakdown")
    if theirs is None:
        return
    ours = {row["kernel_type"]: row for row in view(db, "hta_kernel_type_breakdown")}
    if trace == "large_integer":  # as above
        check(theirs == [] and list(ours) == ["COMMUNICATION"], trace, ours)
        return
    is_wrong = trace in ("triton", "critical_path_simple_add")
    for row in theirs:
        mine = ours.pop(row["kernel_type"], None)
        if row["sum"] == 0:
            check(mine is None, trace, row, mine)
        elif trace == "triton":
            check(mine["sum_ns"] == 1000 and row["sum"] == 94, trace, row, mine)  # the kernel lies inside the op
        elif trace == "critical_path_simple_add" and row["kernel_type"] == "COMPUTATION":
            # The waits in which no kernel ran.
            waits = first(db, """
                SELECT union_ns(start_ns, end_ns) FROM (SELECT start_ns, end_ns FROM temp.kernels
                  UNION ALL SELECT start_ns, end_ns FROM temp.syncs WHERE kind = 'stream_wait')""")[0]
            check(us(waits) == row["sum"] and mine["sum_ns"] == 10670000, trace, row, mine)
        else:
            check(mine is not None and same(us(mine["sum_ns"]), row["sum"]), trace, "kernel_type_breakdown", row, mine)
            check(is_wrong or mine is None or abs(mine["sum_ratio"] * 100 - row["percentage"]) < 0.051, trace, row,
                  mine)
    check(not ours, trace, "hta_kernel_type_breakdown has more", ours)


def test_kernel_breakdown(trace, db):
    """HTA folds all but the longest into "others"; the sums of those it names, and of all, must agree."""
    theirs = golden(trace, "gpu_kernel_breakdown")
    if theirs is None:
        return
    ours = {(row["kernel_type"], row["kernel"]): row for row in view(db, "hta_kernel_breakdown")}
    for kind in {row["kernel_type"] for row in theirs}:
        rows = [row for row in theirs if row["kernel_type"] == kind]
        is_folded = any(row["name"] == "others" for row in rows)
        rest = {name: row for (of_kind, name), row in ours.items() if of_kind == kind}
        for row in rows:
            if row["name"] in ("others", "Stream Wait Event"):  # the latter runs no kernel
                continue
            mine = rest.pop(row["name"], None)
            if trace == "triton":  # the host op and the kernel have the same name
                check(us(mine["sum_ns"]) == 1 and row["sum (us)"] == 1 + not_hta_kernel(trace, db, kind), trace, mine,
                      row)
                continue
            check(mine is not None and same(us(mine["sum_ns"]), row["sum (us)"]), trace, "kernel_breakdown", row, mine)
            if mine and not is_folded:  # else HTA gives the sum as its maximum, minimum and mean
                for column in ("max", "min", "mean"):
                    check(same(us(mine[column + "_ns"]), row[column + " (us)"]), trace, column, mine, row)
                check(same(us(mine["stddev_ns"] or 0), row["stddev"], 1e-6), trace, "stddev", mine, row)
        others = [row for row in rows if row["name"] == "others"]
        if others:
            folded = us(sum(row["sum_ns"] for row in rest.values())) + not_hta_kernel(trace, db, kind)
            check(same(folded, others[0]["sum (us)"]), trace, "others", kind, folded, others)
        else:
            check(not rest, trace, "hta_kernel_breakdown has more of", kind, rest)


def test_queue_length(trace, db):
    theirs = golden(trace, "queue_length_summary")
    if theirs is None:
        return
    ours = {row["stream"]: row for row in view(db, "queue_length")}
    for row in theirs:
        mine = ours.pop(row["stream"], None)
        if row["count"] == 0 or mine is None:
            check(mine is None, trace, "queue_length", row, mine)
            continue
        # HTA leaves out the launch that is the very first event of the file, because it takes index 0 for none.
        missing = 2 if trace == "old_categories_rank1" else 0
        check(mine["count"] == row["count"] + missing, trace, "queue_length count", row, mine)
        check(mine["max"] == row["max"], trace, "queue_length max", row, mine)
        # Events of one moment are in the order of an unstable sort there: the length after such an event is off by one.
        ties = first(db, """
            WITH events AS (SELECT launch_ns AS time_ns FROM temp.device_activities WHERE launch_ns IS NOT NULL
              UNION ALL SELECT start_ns FROM temp.device_activities WHERE launch_ns IS NOT NULL)
            SELECT coalesce(sum(many), 0)
            FROM (SELECT count(*) AS many FROM events GROUP BY time_ns HAVING count(*) > 1)""")[0]
        check(abs(mine["mean"] - row["mean"]) <= ties / mine["count"] + 1e-9 and mine["min"] == 0, trace, "mean", row,
              mine, ties)
    check(not ours, trace, "queue_length has more", ours)
    if trace == "dlrm_a100_control":  # with launches first, as another implementation has it
        mean, deviation = first(db, "SELECT mean, stddev FROM hta_queue_length WHERE stream = 7")
        check(round(mean, 4) == 35.4529 and round(deviation, 4) == 52.2211, trace, mean, deviation)
    # The length over time is what the summary is about; it comes from times that are not
    # rounded, which fall together less.
    series = db.values("SELECT stream, count(*), avg(queue_length), max(queue_length), min(queue_length) "
                       "FROM hta_queue_length_series GROUP BY thread_id ORDER BY thread_id")
    summary = db.values("SELECT stream, count, mean, max, min FROM hta_queue_length ORDER BY thread_id")
    ties = first(db, """
        WITH events AS (SELECT thread_id, launch_ns AS time_ns FROM temp.device_activities WHERE launch_ns IS NOT NULL
          UNION ALL SELECT thread_id, start_ns FROM temp.device_activities WHERE launch_ns IS NOT NULL)
        SELECT coalesce(sum(many), 0) FROM (
          SELECT count(*) AS many FROM events GROUP BY thread_id, time_ns HAVING count(*) > 1)""")[0]
    check(len(series) == len(summary) and all(
        left[:2] == right[:2] and left[3] <= right[3] and left[4] == right[4]
        and abs(left[2] - right[2]) <= ties / left[1] + 1e-9 for left, right in zip(series, summary)),
        trace, series, summary, ties)


def test_time_blocked(trace, db):
    theirs = golden(trace, "time_blocked_on_full_queue")
    full = first(db, "SELECT total(full_ns) FROM hta_queue_length")[0]
    check(theirs is None or us(full) == sum(row["duration_at_max_queue_length"] for row in theirs), trace, full, theirs)


def test_memory_bandwidth(trace, db):
    theirs = golden(trace, "memory_bw_summary")
    if theirs is None:
        return
    ours = {row["name"]: row for row in view(db, "hta_memory_bandwidth")}
    for row in theirs:
        mine = ours.pop(row["name"], None)
        check(mine is not None and mine["count"] == row["count"], trace, "memory_bandwidth", row, mine)
        for column, theirs_is in (("mean", "mean"), ("stddev", "std"), ("min", "min"), ("p25", "25%"), ("p50", "50%"),
                                  ("p75", "75%"), ("max", "max")):
            check(mine is None or same(mine[column], row[theirs_is], 1e-6), trace, column, row, mine)
    check(not ours, trace, "memory_bandwidth has more", ours)


HTA_LAUNCHES = "('cudaLaunchKernel', 'cudaLaunchKernelExC', 'cudaMemcpyAsync', 'cudaMemsetAsync')"


def test_kernel_launch_stats(trace, db):
    theirs = golden(trace, "cuda_kernel_launch_stats")
    if theirs is None:
        return
    ours = db.values(f"SELECT correlation, cpu_ns / 1e3, gpu_ns / 1e3, launch_delay_ns / 1e3, is_short_kernel, "
                     f"is_slow_launch, is_long_delay FROM hta_kernel_launch_stats WHERE api_name IN {HTA_LAUNCHES} "
                     f"ORDER BY 1, 3, 4")
    theirs = sorted((row["correlation"], row["gpu_duration"], row["launch_delay"], row["cpu_duration"])
                    for row in theirs)
    check(len(ours) == len(theirs), trace, "hta_kernel_launch_stats", len(ours), len(theirs))
    for mine, (correlation, gpu, delay, cpu) in zip(ours, theirs):
        check(all(same(a, b, 1e-9) for a, b in zip(mine, (correlation, cpu, gpu, delay))), trace, mine, correlation,
              cpu, gpu, delay)
        check(mine[4:] == (int(gpu < cpu), int(cpu > 50), int(delay > 100)), trace, "flags", mine)
    count, cpu, gpu, short = first(db,
                                   "SELECT count(*), sum(cpu_ns), sum(gpu_ns), sum(is_short_kernel) "
                                   "FROM hta_kernel_launch_stats")
    summary = db.values("SELECT count, cpu_ns, gpu_ns, short_count FROM hta_launch_summary")
    check(summary == ([(count, cpu, gpu, short)] if count else []), trace, summary, count)


def test_op_kernels(trace, db):
    """HTA looks for the innermost aten op around a launch on whatever thread; compared are ops that both find."""
    theirs = golden(trace, "aten_op_kernels_and_delay")
    if theirs is None:
        return
    folded = {}
    for row in theirs:
        key = row["aten_op_name"], " -> ".join(short_names(db, row["kernel_sequence"], " -> "))
        folded.setdefault(key, []).append(row)
    ours = {(row["op"], row["kernel_sequence"]): row for row in view(db, "hta_op_kernels")}
    agreed = 0
    for key, rows in folded.items():
        count = sum(row["occurrence_count"] for row in rows)
        if key in ours and ours[key]["count"] == count:
            agreed += 1
            delay = sum(row["avg_aten_op_launch_delay"] * row["occurrence_count"] for row in rows) / count
            wait = sum(row["avg_runtime_delay"] * row["occurrence_count"] for row in rows) / count
            check(abs(us(ours[key]["launch_delay_ns"]) - delay) < 0.01, trace, key, "launch", ours[key], delay)
            check(abs(us(ours[key]["kernel_delay_ns"]) - wait) < 0.01, trace, key, "kernel", ours[key], wait)
    fewest = 1 if trace == "dlrm_a100_control" else 0.9
    check(agreed >= fewest * len(folded), trace, "hta_op_kernels", agreed, "of", len(folded), [
        (key, [row["occurrence_count"] for row in rows], ours.get(key, {}).get("count")) for key, rows in folded.items()
        if key not in ours or ours[key]["count"] != sum(row["occurrence_count"] for row in rows)][:3])


def short_names(db, sequence, separator):
    """The short names of a sequence of kernels; parameters and template arguments may hold the separator too."""
    short = dict(db.values("SELECT DISTINCT name, short_name FROM kernels UNION SELECT name, name FROM transfers"))
    names = []
    for name in sequence.split(separator):
        names.append(name)
        while len(names) > 1 and names[-1] not in short:
            tail = names.pop()
            names[-1] += separator + tail
    return [short.get(name, name) for name in names]


def test_frequent_sequences(trace, db):
    """Made by get_frequent_cuda_kernel_sequences(operator_name='autograd::engine'): see hta/README.md."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hta", f"frequent_sequences_{trace}.csv.gz")
    if not os.path.exists(path):
        return
    theirs = {}
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            op, sequence = row["pattern"].split("|", 1)
            total = theirs.setdefault((op, " | ".join(short_names(db, sequence, "|"))), [0, 0, 0])
            for i, column in enumerate(("count", "GPU kernel duration (us)", "CPU op duration (us)")):
                total[i] += float(row[column])
    ours = {(op, pattern): [count, kernel_ns / 1e3, op_ns / 1e3] for op, pattern, count, kernel_ns, op_ns in db.values(
        "SELECT op, pattern, count, kernel_ns, op_ns FROM hta_frequent_sequences "
        "WHERE op LIKE '%autograd::engine%'")}
    check(theirs and ours.keys() == theirs.keys(), trace, "sequences", len(ours), len(theirs),
          list(ours.keys() ^ theirs.keys())[:4])
    for key, row in theirs.items():
        check(key not in ours or all(same(a, b) for a, b in zip(ours[key], row)), trace, key, ours.get(key), row)


def test_user_annotations(trace, db):
    """What the program marked, on the host and on the device; without what begins in the last of several steps."""
    last = db.values("SELECT max(start_ns) FROM ops WHERE name GLOB 'ProfilerStep#*' GROUP BY profile_id "
                     "HAVING count(DISTINCT name) > 1")
    for side, source in (("cpu", "ops WHERE category IN ('user', 'input')"),
                         ("gpu", "ranges WHERE category = 'gpu_user_annotation'")):
        theirs = golden(trace, side + "_user_annotation_breakdown")
        if theirs is None:
            continue
        ours = {row[0]: row[1:] for row in db.values(
            "SELECT name, total(dur_ns) / 1e3, max(dur_ns) / 1e3, min(dur_ns) / 1e3, avg(dur_ns) / 1e3, "
            f"coalesce(stddev(dur_ns), 0) / 1e3 FROM {source}" + (f" AND start_ns < {last[0][0]}" if last else "")
            + " GROUP BY name")}
        for row in theirs:
            expected = [row[column] for column in ("sum (us)", "max (us)", "min (us)", "mean (us)", "stddev")]
            mine = ours.pop(row["name"], None)
            check(mine is not None and all(same(a, b, 1e-6) for a, b in zip(mine, expected)), trace, side, row, mine)
        check(not ours, trace, side, "has more", ours)


def test_profiler_steps(trace, db):
    """HTA leaves out the last of several."""
    theirs = [row["step"] for row in golden(trace, "profiler_steps")]
    ours = [float(row[0])
            for row in db.values("SELECT DISTINCT number FROM steps WHERE origin = 'profiler' ORDER BY 1")]
    check((ours[:-1] if len(ours) > 1 else ours) == theirs, trace, ours, theirs)


def test_diff():
    """TraceDiff of trace_compare_base and _test in step 1010."""
    db = Newest()
    for side in ("base", "test"):
        db.values(f"SELECT tfprof_open('{trace_file('trace_compare_' + side)}')")
    for analysis, function, name, time in (("compare_traces_cpu", "op_diff", "op", "sum_ns"),
                                           ("compare_traces_gpu", "kernel_diff", "kernel", "ns")):
        ours = {row[0]: row for row in db.values(
            f"SELECT {name}, a_count, a_{time} / 1e3, b_count, b_{time} / 1e3, count_diff, change "
            f"FROM {function}('*base*', '*test*', 1010, 1010, 1010, 1010)")}
        theirs = {row["name"]: row for row in golden("trace_compare", analysis)}
        if function == "op_diff":  # calls of CUDA and marked ranges are ops for HTA
            calls = dict(db.values("SELECT DISTINCT name, 1 FROM api_calls UNION SELECT DISTINCT name, 1 FROM ranges"))
            theirs = {name: row for name, row in theirs.items() if name not in calls}
        check(theirs and ours.keys() == theirs.keys(), function, ours.keys() ^ theirs.keys())
        for name, row in theirs.items():
            expected = (name, row["control_counts"], row["control_total_duration"], row["test_counts"],
                        row["test_total_duration"], row["diff_counts"], row["counts_change_categories"])
            check(ours.get(name) == expected, function, ours.get(name), expected)


def test_forward_links():
    """The arrows between forward and backward ops that libkineto drew are the pairs of forward_op_id."""
    db = Newest()
    path = trace_file("nccl_a100")
    db.values(f"SELECT tfprof_open('{path}')")
    with gzip.open(path, "rt") as file:
        events = json.load(file)["traceEvents"]
    ops, arrows = {}, {}
    for event in events:
        if event.get("cat") == "cpu_op":
            ops.setdefault((event["tid"], event["ts"]), []).append(event)
        elif event.get("cat") == "fwdbwd":
            arrows.setdefault(event["id"], {})[event["ph"]] = event
    theirs = set()
    for arrow in arrows.values():
        backward = [op for op in ops[arrow["f"]["tid"], arrow["f"]["ts"]] if op["args"].get("Fwd thread id")]
        number = backward[0]["args"]["Sequence number"]
        forward = [op for op in ops[arrow["s"]["tid"], arrow["s"]["ts"]] if op["args"].get("Sequence number") == number]
        theirs |= {(forward[-1]["args"]["External id"], op["args"]["External id"]) for op in backward}
    ours = set(db.values("SELECT forward.correlation, backward.correlation FROM ops AS backward "
                         "JOIN ops AS forward ON forward.id = backward.forward_op_id"))
    check(len(theirs) >= 543 and theirs <= ours, "forward links", len(theirs), len(ours), list(theirs - ours)[:3])
    # An arrow ends at the outermost of the backward ops with one number only; the op inside it has the same forward op.
    check(len(ours) == 2 * 543, "forward links", len(ours))


def main():
    if not SHARED or not os.path.isdir(GOLDEN):
        print("without TFPROF_SHARED there are no traces to compare with HTA")
        sys.exit(77)
    wanted = sys.argv[1:]
    for trace in sorted(os.listdir(GOLDEN)):
        if not os.path.isdir(os.path.join(GOLDEN, trace)) or trace == "trace_compare":
            continue
        db = Newest()
        path = trace_file(trace)
        db.values(f"SELECT tfprof_open('{path}')")
        if has_fractional_starts(path):
            round_like_hta(db)
        for name, test in sorted(globals().items()):
            is_here = name.startswith("test_") and name not in ("test_diff", "test_forward_links")
            if is_here and (not wanted or name in wanted):
                before = len(failures)
                test(trace, db)
                print("passed" if len(failures) == before else "FAILED", name, trace)
    if not wanted or "test_diff" in wanted:
        test_diff()
    if not wanted or "test_forward_links" in wanted:
        test_forward_links()
    print(f"{len(failures)} failures")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
