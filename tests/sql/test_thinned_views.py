#!/usr/bin/env python3
"""test_thinned_views.py: views over the work of devices where that was recorded only in some steps (_thinned_steps).

A made-up job is written as two dumps (make_dump_of_rows): one with everything, and one in which the ops of one step in
K were recorded, and from a later moment on the kernels, copies, calls and waits of these steps only.  Where all steps
are alike every view has to say the same of both, or to say in its comment what it does not weigh; where they differ,
within the errors that are stated.
"""

import math
import os
import random
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from engines import BUILD, Newest, run_tests
from stored import every_file

STEPS_IN_ALL, FIRST, K, THINNED_FROM = 203, 11, 8, 43  # steps that are all recorded; from which on kernels are not
STEP, START = 1_000_000, 1_700_000_000_000_000_000


def write(path, tables):
    """{table: [{column: value}]}; the rows of a table have the same columns."""
    lines = []
    for table, rows in tables.items():
        if rows:
            lines.append("\t".join(["=", table, *rows[0]]))
            lines += ["\t".join("" if value is None else str(value) for value in row.values()) for row in rows]
    subprocess.run([os.path.join(BUILD, "tests", "make_dump_of_rows"), path], input="\n".join(lines) + "\n",
                   encoding="utf-8", check=True)


def recorded_steps(seed, count):
    """Of each K steps one, as the recorder draws them."""
    chance, chosen = random.Random(seed), set(range(FIRST))
    for block in range(FIRST, count, K):
        chosen.add(block + chance.randrange(K))
    return chosen


class Job:
    """Rows of a job of which `has_ops` and `has_work` tell of which steps ops and the work of devices are recorded."""

    def __init__(self, work_of, count=STEPS_IN_ALL, has_ops=lambda step: True, has_work=lambda step: True,
                 is_calibrated=False):
        self.correlation = 0
        self.tables = {
            "threads": [{"kind": kind, "name": name, "device_id": device, "stream": stream}
                        for kind, name, device, stream in (("host", "main", None, None), ("stream", None, 0, 7),
                                                           ("stream", None, 0, 9))],
            "devices": [{"name": "GPU 0", "kind": "gpu", "ordinal": 0, "model": "NVIDIA A100", "multiprocessor_count":
                         108, "compute_capability": "8.0"}],
            "ops": [], "api_calls": [], "kernels": [], "transfers": [], "syncs": [], "collectives": [], "counters": [],
            "diagnostics": []}
        now, told = START, None
        self.counter("capture_ops_interval", now, 1)
        for step in range(count):
            if has_ops(step) != told:
                told = has_ops(step)
                self.counter("capture_ops_recorded", now, int(told))
            if step == FIRST and not all(has_ops(step) for step in range(count)):
                self.counter("capture_ops_interval", now, K)
            if is_calibrated and step and has_work(step) != has_work(step - 1):
                self.counter("capture_calibration", now, int(not has_work(step)))
            self.has_ops, self.has_work = has_ops(step), has_work(step)
            dur = work_of(self, step, now)
            self.op(f"tfprof.step#{step}", now, dur, "user")
            now += dur
        if not all(has_work(step) for step in range(count)):
            reason = "capture_calibrated" if is_calibrated else "capture_thinned"
            self.tables["diagnostics"].append({"severity": "info", "reason": reason, "message": reason,
                                               "table_name": "kernels"})
        self.end = now

    def counter(self, name, time, value, unit=None, device=None):
        self.tables["counters"].append({"name": name, "unit": unit, "device_id": device, "time_ns": time,
                                        "value": value})

    def op(self, name, start, dur, category="op"):
        if category == "user" or self.has_ops:
            self.tables["ops"].append({"name": name, "category": category, "thread_id": 0, "start_ns": start,
                                       "dur_ns": dur})

    def launch(self, at, dur, name="cudaLaunchKernel", result=0):
        self.correlation += 1
        if self.has_work:
            self.tables["api_calls"].append({"name": name, "domain": "runtime", "thread_id": 0, "start_ns": at,
                                             "dur_ns": dur, "correlation": self.correlation, "result": result})
        return self.correlation

    def kernel(self, at, start, dur, name="gemm", stream=7, blocks=64, registers=32):
        correlation = self.launch(at, 5000)
        if self.has_work:
            self.tables["kernels"].append({
                "name": name, "device_id": 0, "thread_id": 1 if stream == 7 else 2, "start_ns": start, "dur_ns": dur,
                "correlation": correlation, "grid_x": blocks, "grid_y": 1, "grid_z": 1, "block_x": 128, "block_y": 1,
                "block_z": 1, "registers_per_thread": registers, "static_shared_bytes": 0, "dynamic_shared_bytes": 0})

    def copy(self, at, start, dur, direction, bytes, call=5000):
        correlation = self.launch(at, call, "cudaMemcpyAsync")
        ends = {"HtoD": ("pinned", "device"), "DtoH": ("device", "pageable")}[direction]
        if self.has_work:
            self.tables["transfers"].append({
                "kind": "memcpy", "direction": direction, "source_memory": ends[0], "target_memory": ends[1],
                "device_id": 0, "thread_id": 1, "start_ns": start, "dur_ns": dur, "bytes": bytes,
                "correlation": correlation, "name": "Memcpy " + direction})

    def wait(self, at, dur):
        correlation = self.launch(at, dur, "cudaStreamSynchronize")
        if self.has_work:
            self.tables["syncs"].append({"kind": "stream", "device_id": 0, "thread_id": 0, "start_ns": at,
                                         "dur_ns": dur, "correlation": correlation})

    def exchange(self, at, start, dur, bytes):
        self.kernel(at, start, dur, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 9, blocks=8)
        if self.has_work:
            self.tables["collectives"].append({
                "name": "all_reduce", "process_group": "0", "group_size": 2, "dtype": "Float", "bytes": bytes,
                "kernel_id": len(self.tables["kernels"]) - 1, "start_ns": start, "dur_ns": dur})

    def write(self, path):
        write(path, self.tables)
        return path


def alike(job, step, now, size=1.0):
    """A step: a copy, kernels on two streams with gaps between, an exchange beside one of them, and a wait."""
    def part(nanoseconds):
        return int(nanoseconds * size)

    job.op("aten::copy_", now + 20_000, 20_000)
    job.copy(now + 25_000, now + 40_000, part(60_000), "HtoD", 1 << 20)
    job.op("aten::mm", now + 110_000, 60_000)
    job.kernel(now + 120_000, now + 130_000, part(200_000), "volta_h884gemm", blocks=64, registers=64)
    job.kernel(now + 130_000, now + 130_000 + part(210_000), part(40_000), "add", blocks=20)
    job.kernel(now + 150_000, now + 150_000 + part(250_000), part(20_000), "relu", stream=9)
    job.op("nccl:all_reduce", now + 200_000, 50_000)
    job.exchange(now + 210_000, now + 260_000, part(150_000), 1 << 22)
    job.op("aten::add", now + 600_000, 30_000)
    job.kernel(now + 610_000, now + 640_000, part(120_000), "add", blocks=200)
    job.op("aten::item", now + 780_000, 130_000)
    job.launch(now + 790_000, 1000, "cudaEventQuery", result=600)
    job.wait(now + 800_000, 50_000)
    job.copy(now + 860_000, now + 870_000, part(8000), "DtoH", 4, call=40_000)
    return STEP


def of_size(sizes):
    def work(job, step, now):
        alike(job, step, now, sizes[step])
        return int(STEP * (1 + 0.1 * sizes[step]))
    return work


def both(folder, work, seed=1, count=STEPS_IN_ALL):
    """Paths of the whole recording and of the thinned one."""
    chosen = recorded_steps(seed, count)
    whole = Job(work, count).write(os.path.join(folder, f"whole{seed}.tfprof"))
    thinned = Job(work, count, chosen.__contains__, lambda step: step in chosen or step < THINNED_FROM)
    return whole, thinned.write(os.path.join(folder, f"thinned{seed}.tfprof"))


def opened(engine, path):
    connection = engine()
    connection.values(f"SELECT tfprof_open('{path}')")
    return connection


def rows_of(connection, name):
    columns = [row[0] for row in connection.values(f"SELECT name FROM pragma_table_info('{name}')")]
    return [dict(zip(columns, row)) for row in connection.values(f"SELECT * FROM temp.{name}")]


# ---- Steps that are alike.

def same(left, right):
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return abs(left - right) <= 1e-6 * max(abs(left), abs(right)) + 1
    return left == right


def not_weighed(view):
    """The columns that its comment says are not weighed."""
    found = re.search(r"^-- Not weighed: ([a-z_0-9, ]+)\.", view.text, flags=re.M)
    return set(found[1].split(", ")) if found else set()


def differing_columns(whole, thinned):
    """Of which the rows of the thinned recording add up to something else; {"rows"}: there are fewer of them."""
    if len(whole) != len(thinned):
        return {"rows"}
    sums = [{name: sum(row[name] for row in rows if isinstance(row[name], (int, float))) for name in whole[0]}
            for rows in (whole, thinned) if rows]
    return {name for name in (whole[0] if whole else {})
            if not name.endswith("_id") and not same(sums[0][name], sums[1][name])}


def test_every_view(engine):
    """Of steps that are alike the thinned recording says what the whole one says, in every view.

    What cannot be so a view says in its comment, "Not weighed: COLUMN, COLUMN.": nobody has to remember this test.
    Only a list of single things, that tells of which step or moment each one is, may have fewer rows.
    """
    lists = {"step_id", "time_ms", "step_count"}  # step_count: of sampling_summary, which is about thinned ones
    with tempfile.TemporaryDirectory() as folder:
        whole, thinned = (opened(engine, path) for path in both(folder, alike))
        names = {row[0] for row in whole.values(
            "SELECT name FROM tfprof_views WHERE kind = 'view' AND parameters IS NULL")} - {
                "advise", "advise_summary", "run_summary"}  # sentences
        views = [view for view in every_file() if view.name in names]
        assert len(views) > 70, len(views)
        weighed = 0
        for view in views:
            left, right = rows_of(whole, view.name), rows_of(thinned, view.name)
            differing, excused = differing_columns(left, right), not_weighed(view)
            if differing == {"rows"}:
                assert lists & set((left or right)[0]), (view.name, len(left), len(right), (
                    "it has other rows of a thinned recording: sum up what is_measured, times sample_weight"))
                differing = set()
            assert differing <= excused, (view.name, differing - excused, (
                "weigh these by sample_weight, or say in its comment why not: Not weighed: ..."))
            assert excused <= differing, (view.name, excused - differing, "these are weighed")
            weighed += bool(left) and not differing
        assert weighed > 40, weighed
        whole.close()
        thinned.close()


def test_a_view_that_forgets(engine):
    """Sums of single rows are found out; those of rows that are weighed are not."""
    with tempfile.TemporaryDirectory() as folder:
        whole, thinned = (opened(engine, path) for path in both(folder, alike))
        for table in ("kernels", "transfers", "api_calls", "syncs", "device_activities", "collectives"):
            for sql, wrong in ((f"SELECT count(*) AS n, sum(dur_ns) AS ns FROM {table}", {"n", "ns"}), (
                    f"SELECT sum(sample_weight) AS n, sum(dur_ns * sample_weight) AS ns FROM {table} "
                    "WHERE is_measured = 1", set())):
                rows = []
                for connection in (whole, thinned):
                    connection.values(f"CREATE TEMP VIEW forgetful AS {sql}")
                    rows.append(rows_of(connection, "forgetful"))
                    connection.values("DROP VIEW forgetful")
                assert differing_columns(*rows) == wrong, (table, sql, rows)
        whole.close()
        thinned.close()


def test_kernel_diff(engine):
    """What two recordings differ in is weighed, too; single steps have what was recorded of them."""
    with tempfile.TemporaryDirectory() as folder:
        paths = both(folder, alike)
        whole, thinned = (opened(engine, path) for path in paths)
        kernels = [connection.values("SELECT count(*) FROM kernels")[0][0] for connection in (whole, thinned)]
        assert kernels[0] == 5 * STEPS_IN_ALL and kernels[1] < kernels[0] / 2, kernels
        weights = thinned.values("SELECT weight, count(*), sum(has_work) FROM _thinned_steps GROUP BY 1 ORDER BY 1")
        drawn = (STEPS_IN_ALL - FIRST) // K
        assert weights == [(0.0, STEPS_IN_ALL - FIRST - drawn, THINNED_FROM - FIRST - 4), (float(K), drawn, drawn)], \
            weights
        assert whole.values("SELECT count(*) FROM _thinned_steps UNION ALL SELECT count(*) FROM _thinned_starts") \
            == [(0,), (0,)]
        compared = whole.values(f"SELECT tfprof_open('{paths[1]}')")  # both together
        rows = whole.values("SELECT kernel, count_diff, dur_diff_ns, a_count FROM "
                            f"kernel_diff('{paths[0]}', '{paths[1]}')")
        assert compared and len(rows) == 6 and all(row[1:3] == (0, 0) and row[3] for row in rows), rows
        rows = whole.values("SELECT kernel, count_diff, dur_diff_ns FROM "
                            f"kernel_diff('{paths[0]}', '{paths[1]}', 11, 202, 11, 202)")
        assert len(rows) == 6 and all(row[1:] == (0, 0) for row in rows), rows
        _, error = whole.query("SELECT * FROM kernel_diff"
                               f"('{paths[0]}', '{paths[1]}', 1, 2, {not_recorded()}, {not_recorded()})")
        assert error and "were not recorded" in error, error
        whole.close()
        thinned.close()


def not_recorded():
    """A step of the second half without its work."""
    return next(step for step in range(150, STEPS_IN_ALL) if step not in recorded_steps(1, STEPS_IN_ALL))


def test_shares_of_time(engine):
    """How busy devices are: over the time of all steps, where the whole recording has that to the last kernel."""
    with tempfile.TemporaryDirectory() as folder:
        whole, thinned = (opened(engine, path) for path in both(folder, alike))
        for view, columns in (("device_utilization", "busy_ns, kernel_count, kernel_ns"),
                              ("hta_temporal_breakdown", "compute_ns, non_compute_ns"),
                              ("tb_distributed_summary", "step_count, step_ns, computation_ns, overlap_ns, "
                               "communication_ns, other_ns, collective_count, bytes")):
            sql = f"SELECT {columns} FROM {view}"
            assert whole.values(sql) == thinned.values(sql), (view, whole.values(sql), thinned.values(sql))
        (ratios,) = whole.values("SELECT utilization_ratio, idle_ratio, occupancy_ratio, sm_efficiency_ratio, "
                                 "tensor_core_ratio FROM device_utilization, hta_temporal_breakdown")
        (found,) = thinned.values("SELECT utilization_ratio, idle_ratio, occupancy_ratio, sm_efficiency_ratio, "
                                  "tensor_core_ratio FROM device_utilization, hta_temporal_breakdown")
        assert ratios[0] and ratios[4] and ratios[3], ratios
        # A step has the time before its first kernel and after its last one, the whole recording has not.
        for a, b in zip(ratios, found):
            assert a == b or abs(a - b) < 1.0 / STEPS_IN_ALL, (ratios, found)
        told = thinned.values("SELECT 1 - value FROM accelerator_utilization")
        assert same(told[0][0], found[0]), (told, found)
        whole.close()
        thinned.close()


def test_gaps(engine):
    """Gaps within a step are those that the whole recording has; none reaches over what was not recorded."""
    with tempfile.TemporaryDirectory() as folder:
        whole, thinned = (opened(engine, path) for path in both(folder, alike))
        sql = ("SELECT steps.number, busy_until_ns, gap_ns, reason FROM gap_causes "
               "JOIN steps ON steps.id = step_id ORDER BY 2")
        every, known = set(whole.values(sql)), thinned.values(sql)
        assert set(known) <= every and known, [gap for gap in known if gap not in every][:3]
        longest = max(gap for _, _, gap, _ in every)
        assert thinned.values("SELECT max(gap_ns) FROM gpu_gaps")[0][0] <= longest < STEP
        chosen = recorded_steps(1, STEPS_IN_ALL)
        for step in sorted(chosen):
            gaps = {gap for gap in every if gap[0] == step}
            missing = gaps - {gap for gap in known if gap[0] == step}
            # Only that before the first work of a step that follows one which does not count.
            assert len(missing) == int(step > FIRST and step - 1 not in chosen), (step, missing)
            assert not missing or missing == {min(gaps, key=lambda gap: gap[1])}, (step, missing)
        # Streams: as they would be if the gaps before the first work of a step did not count.
        idle = dict(whole.values("SELECT stream, sum(idle_ns) FROM hta_idle_breakdown GROUP BY 1"))
        found = dict(thinned.values("SELECT stream, sum(idle_ns) FROM hta_idle_breakdown GROUP BY 1"))
        assert all(found[stream] <= idle[stream] for stream in idle), (idle, found)
        assert found[7] >= 0.5 * idle[7], (idle, found)
        assert thinned.values("SELECT max(max_ns) FROM hta_idle_breakdown")[0][0] < STEP
        for check in ("device_gaps", "device_waits", "launch_bound"):
            left, right = (connection.values(f"SELECT value FROM {check}") for connection in (whole, thinned))
            assert not right or left and right[0][0] <= left[0][0] + 1e-9, (check, left, right)
        whole.close()
        thinned.close()


def test_calibration(engine):
    """Steps without work, since the recorder measured what it takes, are warm-up, and no time of devices; the others
    are exact, whatever K is."""
    left_out = range(40, 72, 2)
    with tempfile.TemporaryDirectory() as folder:
        for chosen in (set(range(STEPS_IN_ALL)), recorded_steps(1, STEPS_IN_ALL) - set(left_out)):
            path = os.path.join(folder, f"calibrated{len(chosen)}.tfprof")
            job = Job(alike, STEPS_IN_ALL, chosen.__contains__, lambda step: step not in left_out, is_calibrated=True)
            whole, part = opened(engine, both(folder, alike)[0]), opened(engine, job.write(path))
            assert part.values("SELECT number FROM steps WHERE is_warmup = 1 ORDER BY 1") == \
                [(number,) for number in (0, 1, 2, *left_out)]
            assert part.values("SELECT count(*) FROM _calibration_steps") == [(len(left_out),)]
            assert part.values("SELECT count(*) FROM _thinned_starts") == [(len(left_out),)]
            counts = part.values("SELECT DISTINCT count FROM kernel_summary WHERE kernel IN ('relu', 'volta_h884gemm')")
            exact = STEPS_IN_ALL - 3 - len(left_out)
            assert counts == [(exact,)] or len(chosen) < STEPS_IN_ALL, (counts, exact)
            together = opened(engine, path)
            together.values(f"SELECT tfprof_open('{both(folder, alike)[0]}')")
            rows = together.values("SELECT kernel, change, count_diff, dur_diff_ns, a_count FROM "
                                   "kernel_diff(1, 2, 3, 80, 3, 80)")
            assert rows and all(row[1:4] == ("=", 0, 0) and row[4] for row in rows), rows
            _, error = together.query("SELECT * FROM kernel_diff(2, 1, 3, 80, 40, 40)")
            assert error and "were not recorded" in error, error
            together.close()
            ratios = "SELECT utilization_ratio, idle_ratio FROM device_utilization, hta_temporal_breakdown"
            (right,), (found,) = whole.values(ratios), part.values(ratios)
            assert all(abs(a - b) < 1.0 / STEPS_IN_ALL for a, b in zip(right, found)), (right, found)
            for view, longest in (("gpu_gaps", "gap_ns"), ("hta_idle_breakdown", "max_ns")):
                ((gap,),) = part.values(f"SELECT max({longest}) FROM {view}")
                assert gap < STEP, (view, gap)
            whole.close()
            part.close()


def test_steps_by_themselves(engine):
    """Of a step whose work was not recorded nothing is said."""
    with tempfile.TemporaryDirectory() as folder:
        connection = opened(engine, both(folder, alike)[1])
        (row,) = connection.values(
            "SELECT count(*) FILTER (WHERE kernel_ns IS NULL), count(*) FILTER (WHERE kernel_ns = 0), count(*) "
            "FROM step_breakdown")
        recorded = recorded_steps(1, STEPS_IN_ALL) | set(range(THINNED_FROM))
        without, last = STEPS_IN_ALL - len(recorded), STEPS_IN_ALL - 1 - max(recorded)
        # Steps at the end whose work does not reach beyond them are left out, of any recording.
        assert row[:2] == (without - last, 0) and row[2] == STEPS_IN_ALL - last, (row, without, last)
        paths = connection.values("SELECT count(DISTINCT step_id), sum(kind GLOB 'gpu_compute') "
                                  "FROM critical_path_summary")
        assert paths[0][0] == STEPS_IN_ALL - without and paths[0][1] > 0, (paths, without)
        connection.close()


# ---- The function behind all errors.

def by_hand(values, drawn):
    """values: {step_id: x} of one profile; drawn: {step_id: row of sampled_steps}."""
    known = [(x, drawn[step]) for step, x in values.items() if step in drawn]
    if not known:
        return 0
    factors = known[0][1]
    if factors["spread_factor"] is None:
        return None
    total = sum(x * row["weight"] for x, row in known)
    squares = sum(x * x * row["weight"] for x, row in known) - total ** 2 / factors["step_count"]
    leads = sum(x * row["weight"] * row["lead_ns"] for x, row in known)
    square = factors["spread_factor"] * squares - factors["lead_factor"] * leads ** 2
    return math.sqrt(max(0, square) + (factors["unseen_ratio"] * total) ** 2)


def test_sample_error(engine):
    """The error of any sum is that by hand from sampled_steps, in whatever order and pieces the rows come."""
    chance = random.Random(11)
    with tempfile.TemporaryDirectory() as folder:
        # Program 1: durations differ so much that weights are calibrated by them, and one step is longer than all that
        # were recorded.
        subprocess.run([os.path.join(BUILD, "tests", "make_sampled_capture_dumps"), folder, "1", "0", "2"], check=True)
        paths = [os.path.join(folder, name + ".tfprof") for name in ("0", "1", "full")]
        connection = opened(engine, paths[0])
        drawn = {row["step_id"]: row for row in rows_of(connection, "_sampled_steps")}
        steps = [row[0] for row in connection.values("SELECT id FROM steps")]
        (factors,) = {(row["is_calibrated"], row["lead_factor"] > 0, row["unseen_ratio"] > 0) for row in drawn.values()}
        assert 20 < len(drawn) < len(steps) and factors == (1, True, True), (len(drawn), factors)
        for count in (1, 5, len(steps)):
            values = {step: chance.uniform(-5, 1e7) for step in chance.sample(steps, count)}
            parts = [(x * part, step) for step, x in values.items() for part in (0.25, 0.75)]
            chance.shuffle(parts)
            table = ", ".join(f"({x!r}, {step})" for x, step in parts) + f", (7, NULL), (NULL, {steps[3]})"
            ((found,),) = connection.values(f"SELECT sample_error(column1, column2) FROM (VALUES {table})")
            expected = by_hand(values, drawn)
            assert math.isclose(found, expected, rel_tol=1e-9), (count, found, expected)
        # What is the same in all steps is in doubt only for steps that are longer than any that was recorded.
        ((found,),) = connection.values("SELECT sample_error(3, step_id) FROM _sampled_steps")
        expected = 3 * sum(row["weight"] for row in drawn.values()) * next(iter(drawn.values()))["unseen_ratio"]
        assert math.isclose(found, expected, rel_tol=1e-6), (found, expected)
        # Of no value nothing is said; of what was recorded in all steps, or lies in none, nothing is in doubt.
        assert connection.values("SELECT sample_error(NULL, 1), sample_error(2, NULL), sample_error(2, -1)") \
            == [(None, 0, 0)]
        assert connection.query("SELECT sample_error('a', 1)")[1]
        # Profiles know nothing of each other; what is opened later counts.
        sql = "SELECT sample_error(net_ns, id) FROM steps WHERE profile_id IN ({})"
        ((alone,),) = connection.values(sql.format(1))
        for path in paths[1:]:
            connection.values(f"SELECT tfprof_open('{path}')")
        first, second, third, together = (connection.values(sql.format(ids))[0][0] for ids in (1, 2, 3, "1, 2, 3"))
        assert first == alone and second > 0 == third, (alone, first, second, third)
        assert math.isclose(together, math.hypot(first, second), rel_tol=1e-9), (first, second, together)
        connection.close()


# ---- Steps that differ.

ESTIMATES = (
    ("kernel_summary", "kernel", "sum_ns", "sum_error_ns"), ("kernel_by_op", "kernel", "sum_ns", "sum_error_ns"),
    ("xprof_kernel_stats", "grid", "sum_ns", "sum_error_ns"),
    ("transfer_summary", "direction", "sum_ns", "sum_error_ns"), ("precision_breakdown", "precision", "sum_ns",
                                                                "sum_error_ns"),
    ("collective_summary", "name", "sum_ns", "sum_error_ns"), ("thread_summary", "thread", "kernel_ns",
                                                               "kernel_error_ns"),
    ("tb_operator_summary", "op", "device_self_ns", "device_self_error_ns"),
    ("device_utilization", "device", "utilization_ratio", "utilization_error_ratio"),
    ("hta_temporal_breakdown", "device", "idle_ratio", "idle_error_ratio"),
)


def test_errors(_engine):
    """Steps of any size: what is said of all of them lies within two errors of what is so, in most of the trials."""
    held = {view: [0, 0] for view, *_ in ESTIMATES}
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(24):
            chance = random.Random(seed)
            sizes = [chance.uniform(0.5, 1.0) * (1.0 if chance.random() < 0.7 else 0.6) for _ in range(STEPS_IN_ALL)]
            whole, thinned = (opened(Newest, path) for path in both(folder, of_size(sizes), seed))
            for view, key, value, error in ESTIMATES:
                truth = whole.values(f"SELECT {key}, {value}, {error} FROM {view}")
                said = thinned.values(f"SELECT {key}, {value}, {error} FROM {view}")
                assert len(truth) == len(said) and all(row[2] in (0, None) for row in truth), (view, truth, said)
                for (name, wanted, _), (_, found, doubt) in zip(sorted(truth, key=str), sorted(said, key=str)):
                    if found is None or wanted == found:
                        continue
                    assert doubt is not None and doubt > 0, (view, name, wanted, found, doubt)
                    # The edges of the whole recording, which a share of the time of all steps is without.
                    edge = 1.0 / STEPS_IN_ALL if value.endswith("ratio") else 0
                    held[view][0] += abs(found - wanted) <= 2 * doubt + edge
                    held[view][1] += 1
            whole.close()
            thinned.close()
    for view, (inside, count) in held.items():
        assert count >= 20 and inside >= 0.85 * count, (view, inside, count, held)


def test_no_error(engine):
    """One recorded step that speaks for all others: the sums are there, but no error can be stated."""
    with tempfile.TemporaryDirectory() as folder:
        chosen = set(range(FIRST + 1))
        path = Job(alike, FIRST + K, chosen.__contains__, chosen.__contains__).write(os.path.join(folder, "a.tfprof"))
        connection = opened(engine, path)
        assert connection.values("SELECT note IS NOT NULL FROM sampling_summary") == [(1,)]
        rows = connection.values("SELECT sum_ns > 0, sum_error_ns FROM kernel_summary")
        assert rows and set(rows) == {(1, None)}, rows
        connection.close()


if __name__ == "__main__":
    run_tests(sys.modules[__name__])
