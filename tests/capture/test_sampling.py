"""Ops recorded in some steps only: which, what they stand for, and what stays complete.

One seeded program is run with --ops=all and sampled. It does the same in every step, so counts for the whole run must
be equal, whatever the machine's load does to the choice of steps.
"""

import math
import os

import capturing

PROGRAM = """
import sys, torch, without_dynamo
from torch.profiler import record_function
torch.manual_seed(0)
torch.set_num_threads(1)
model = torch.nn.Sequential(*[torch.nn.Linear(8, 8) for _ in range(20)])
optimizers = [torch.optim.SGD(model.parameters(), 0.01) for _ in range(int(sys.argv[2]))]
x = torch.ones(4, 8)
for step in range(int(sys.argv[1])):
    for optimizer in optimizers:
        with record_function("loss"):
            loss = model(x).square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if len(optimizers) > 1:
        for _ in range(100): x.add(1)  # the longest pause ends the round
"""

STEPS = 200


def query(directory, sql):
    return [tuple(row.values()) for row in capturing.query(directory, sql)]


def record(directory, *arguments, **settings):
    capturing.run(directory, ["-c", PROGRAM] + [str(a) for a in arguments or (STEPS, 1)], **settings)


def counts(directory):
    return dict(query(directory, "SELECT op, count FROM op_summary"))


def steps(directory):
    return query(directory, "SELECT number, ops_recorded, is_warmup, sample_weight FROM steps ORDER BY id")


def test_sampled():
    with capturing.Directory() as everything, capturing.Directory() as sampled:
        record(everything, ops="all")
        record(sampled, ops="sampled", overhead=1)
        rows = steps(sampled)
        recorded = [row for row in rows if row[1] == 1]
        measured = [row for row in recorded if row[2] == 0]
        assert len(rows) == STEPS and [row[0] for row in rows] == list(range(STEPS)), rows
        assert [row[1] for row in rows[:8]] == [1] * 8, rows[:8]
        assert 5 <= len(measured) < STEPS - 3, len(measured)
        assert abs(sum(row[3] for row in rows) - STEPS) < 1e-6, rows
        assert all(row[3] == 0 for row in rows if row[1] == 0), rows
        assert counts(sampled) == counts(everything), (counts(sampled), counts(everything))
        for sql in (
            "SELECT op_type, count FROM xprof_op_type_stats WHERE is_idle = 0 ORDER BY 1",
            "SELECT name, count FROM range_summary WHERE name <> 'gc.collect' ORDER BY 1",
            "SELECT name, count(*) FROM ranges WHERE name <> 'gc.collect' GROUP BY name ORDER BY 1",
            "SELECT op_count, autograd_count FROM thread_summary",
            "SELECT location, count FROM code_summary WHERE count > 0 ORDER BY 1",
            "SELECT step_count, warmup_count, round(ops_per_step, 6) FROM step_summary",
            "SELECT op, round(per_step_count, 6) FROM op_summary ORDER BY 1",
            "SELECT op, count FROM tb_operator_summary ORDER BY 1",
            """SELECT op, count, allocation_count, allocated_bytes, allocated_self_bytes FROM tb_operator_memory
            ORDER BY 1""",
            """SELECT round(ops_in_steps_ratio, 9), round(ops_with_stack_ratio, 9), round(ops_with_shapes_ratio, 9),
            round(backward_linked_ratio, 9) FROM coverage""",
            "SELECT count(*), sum(bytes) FROM allocations",
        ):
            assert query(sampled, sql) == query(everything, sql), (sql, query(sampled, sql), query(everything, sql))
        intervals = query(sampled, "SELECT value FROM counters WHERE name = 'capture_ops_interval'")
        told = query(sampled, "SELECT count(*) FROM diagnostics WHERE reason = 'capture_interval'")
        assert intervals[0] == (1.0,) and len(intervals) > 1 and told[0][0] == len(intervals), (intervals, told)
        for directory in everything, sampled:
            check_sums(directory)
        for row in query(sampled, "SELECT per_step_self_ns, per_step_self_error_ns FROM op_summary"):
            assert Sample(sampled).spread is None or 0 <= row[1], row
        print("%d of %d steps recorded, K %s" % (len(recorded), STEPS, [int(row[0]) for row in intervals]))


def check_sums(directory):
    """What recording took is in no part of a step, and the parts add up to the step without it."""
    for sum_ns, whole_ns in query(
        directory,
        """SELECT op_ns + loading_ns + wait_ns + outside_ns, dur_ns - recording_ns FROM step_op_time
        UNION ALL SELECT sum(net_ns), (SELECT net_ns FROM steps WHERE id = step_id) FROM step_phases
        WHERE step_id IN (SELECT id FROM steps WHERE ops_recorded = 1) GROUP BY step_id""",
    ):
        assert sum_ns == whole_ns, (sum_ns, whole_ns)
    ((phases_ns, all_ns, cost_ns),) = query(
        directory,
        """SELECT (SELECT sum(sum_ns) FROM phase_summary), sum(net_ns), sum(recording_ns) FROM steps
        WHERE is_warmup = 0""",
    )
    assert abs(phases_ns - all_ns) <= 8 and cost_ns > 0, (phases_ns, all_ns, cost_ns)
    wrong = query(
        directory,
        """SELECT name, dur_ns, net_ns, self_ns FROM ops WHERE self_ns < 0 OR net_ns > dur_ns OR self_ns > net_ns
        LIMIT 5""",
    )
    assert not wrong, wrong


def mixed(number):
    """The finaliser of MurmurHash3."""
    number = (number ^ number >> 33) * 0xFF51AFD7ED558CCD % 2**64
    number = (number ^ number >> 33) * 0xC4CEB9FE1A85EC53 % 2**64
    return number ^ number >> 33


def is_recorded(seed, step, interval):
    """As proto/FORMAT.md says it of one step in so many."""
    levels = range(1, interval.bit_length())
    return all(mixed(mixed((seed + level) % 2**64) + (step >> level)) & 1 == step >> (level - 1) & 1
               for level in levels)


def test_levels():
    """Recorded are the steps that a hash of the job and their numbers says, one of each block, which speaks for it."""
    with capturing.Directory() as directory:
        environment = {"MASTER_ADDR": "node-1", "MASTER_PORT": "29500", "TORCHELASTIC_RUN_ID": "none"}
        environment = dict(os.environ, **environment)
        options = ["--ops=sampled", "--overhead=0.2", "-q"]
        capturing.launch(directory, [capturing.PYTHON, "-c", PROGRAM, "300", "1"], options, environment=environment)
        ((job, seed),) = query(directory, "SELECT job, attributes ->> '$.sampling_seed' FROM profiles")
        assert job == "node-1:29500", job
        hashed = 0xCBF29CE484222325
        for byte in job.encode():
            hashed = (hashed ^ byte) * 0x100000001B3 % 2**64
        assert int(seed, 16) == mixed(hashed), (seed, job)
        changes = query(
            directory,
            """SELECT (SELECT count(*) FROM steps WHERE start_ns < time_ns), value FROM counters
            WHERE name = 'capture_ops_interval' ORDER BY time_ns""",
        )
        assert changes[0] == (0, 1) and len(changes) > 2, changes
        interval, expected, weights = 1, [], {}
        for step in range(300):
            interval = int(dict(changes).get(step, interval))
            begins = any(first == step for first, _ in changes)
            assert not begins or step % interval == 0, (step, changes)
            if is_recorded(int(seed, 16), step, interval):
                expected.append(step)
                weights[step] = interval
        rows = steps(directory)
        assert [row[0] for row in rows if row[1]] == expected, (rows, expected)
        last = max(changes)[0] + (299 - max(changes)[0]) // interval * interval # the last block may be cut
        for number, recorded, _, weight in rows:
            assert not recorded or number + interval >= last or weight == weights[number], (number, weight, changes)
        told = query(directory, "SELECT message FROM diagnostics WHERE reason = 'capture_interval' AND count > 1")
        for (message,), (step, interval) in zip(told, changes[1:]):
            level = int(interval).bit_length() - 1
            assert "from step %d on " % step in message and "of %d (level %d)" % (interval, level) in message, message
        print("levels", changes)


class Sample:
    """What the recorded steps say of all, by hand: the method that sampled_steps describes."""

    def __init__(self, directory):
        rows = query(
            directory,
            """SELECT id, sample_weight, dur_ns - recording_ns, recording_ns FROM steps
            WHERE is_warmup = 0 AND sample_weight IS NOT NULL""",
        )
        self.weights = {row[0]: row[1] for row in rows if row[1] > 0}
        durations, weights = {row[0]: row[2] for row in rows}, self.weights
        self.total = sum(weights.values())
        time = sum(weight * durations[step] for step, weight in weights.items())
        longest = max(durations[step] for step in weights)
        known = sum(min(duration, longest) for duration in durations.values())
        self.unseen = sum(max(0, duration - longest) for duration in durations.values()) / time
        self.leads = {step: durations[step] - time / self.total for step in weights}
        squares = sum(weight * self.leads[step] ** 2 for step, weight in weights.items())
        self.is_calibrated = abs(time - known) <= 1e-9 * known
        parameters, number = 1 + self.is_calibrated, len(weights)
        freedom = self.total**2 / sum(weight**2 for weight in weights.values()) - parameters
        drawn = sum(weight > 1.000001 for weight in weights.values())
        self.spread = None
        if drawn < 2 or freedom < 0.5:
            return
        student = 1.96 + 2.372 / freedom + 2.822 / freedom**2 + 2.556 / freedom**3 + 3 / freedom**4
        of_others = sum(weight * max(0, weight - 1) for weight in weights.values())
        self.spread = (student / 2) ** 2 * number / (number - parameters) * of_others / self.total
        self.slope = 0
        if self.is_calibrated:
            largest = max(weight * self.leads[step] ** 2 for step, weight in weights.items()) / squares
            self.spread /= max(0.02, 1 - largest - max(weights.values()) / self.total)
            cost = sum(row[3] * weights[row[0]] for row in rows if row[0] in weights)
            self.slope = self.spread / squares - (0.25 * cost / squares) ** 2

    def error(self, parts):
        """Of the sum over all steps of parts {step: its part of the sum}; None where none can be stated."""
        if self.spread is None:
            return None
        sums = [sum(weight * parts.get(step, 0) for step, weight in self.weights.items())]
        sums.append(sum(weight * parts.get(step, 0) ** 2 for step, weight in self.weights.items()))
        sums.append(sum(weight * parts.get(step, 0) * self.leads[step] for step, weight in self.weights.items()))
        square = self.spread * (sums[1] - sums[0] ** 2 / self.total) - self.slope * sums[2] ** 2
        return (max(0, square) + (self.unseen * sums[0]) ** 2) ** 0.5


def lines_of_traces(directory):
    """{code_traces.id: (file, line)}: the innermost frame of the program, whose text is given to the interpreter."""
    frames = {
        row[0]: row[1:]
        for row in query(
            directory,
            """SELECT t.id, t.parent_id, f.file, f.line FROM code_traces AS t
            JOIN code_frames AS f ON f.id = t.leaf_frame_id""",
        )
    }
    lines = {}
    for trace in frames:
        at = trace
        while at is not None and frames[at][1] != "<string>":
            at = frames[at][0]
        lines[trace] = frames[trace if at is None else at][1:]
    return lines


# What a view says of its errors; the parts of the steps by what they are summed for, (key, step, part).
STATED = (
    ("SELECT op, per_step_self_error_ns * {steps} FROM op_summary", "SELECT name, step_id, self_ns FROM {ops}"),
    ("SELECT op, per_step_count_error * {steps} FROM op_summary", "SELECT name, step_id, 1 FROM {ops}"),
    (
        "SELECT op_type, self_error_ns FROM xprof_op_type_stats WHERE is_idle = 0",
        "SELECT coalesce(op_type, name), step_id, self_ns FROM {ops}",
    ),
    ("SELECT op, self_error_ns FROM xprof_op_stats WHERE is_idle = 0", "SELECT name, step_id, self_ns FROM {ops}"),
    ("SELECT thread_id, op_error_ns FROM thread_summary", "SELECT thread_id, step_id, self_ns FROM {ops}"),
    (
        "SELECT node_id, self_error_ns FROM module_summary WHERE count > 0",
        "SELECT node_id, step_id, self_ns FROM {ops} AND node_id IS NOT NULL",
    ),
    (
        "SELECT node_id, call_error_ns FROM module_summary WHERE call_ns IS NOT NULL",
        """SELECT node_id, step_id, net_ns FROM module_calls WHERE node_id IS NOT NULL
        AND step_id IN (SELECT id FROM steps WHERE ops_recorded = 1 AND is_warmup = 0)""",
    ),
    (
        "SELECT op, host_self_error_ns FROM tb_operator_summary",
        "SELECT name, step_id, self_ns FROM {ops} AND category IN ('op', 'autograd')",
    ),
    (
        "SELECT op, allocated_error_bytes FROM tb_operator_memory",
        """SELECT name, step_id, allocated_bytes FROM {ops} AND category IN ('op', 'autograd')
        AND parent_name IS NOT name AND allocated_bytes > 0""",
    ),
    (
        "SELECT op, error_bytes FROM memory_by_op",
        """SELECT o.name, a.step_id, a.bytes FROM allocations AS a LEFT JOIN ops AS o ON o.id = a.op_id
        WHERE a.step_id IN (SELECT id FROM steps WHERE ops_recorded = 1 AND is_warmup = 0)""",
    ),
    (
        "SELECT ifnull(file, '') || ':' || line, error_bytes FROM memory_by_line WHERE line IS NOT NULL",
        """SELECT code_trace_id, step_id, bytes FROM allocations WHERE bytes < 1 << 20 AND code_trace_id IS NOT NULL
        AND step_id IN (SELECT id FROM steps WHERE ops_recorded = 1 AND is_warmup = 0)""",
    ),
    (
        "SELECT ifnull(file, '') || ':' || line, self_error_ns FROM code_summary WHERE count > 0",
        """SELECT origin_code_trace_id AS code_trace_id, step_id, self_ns FROM {ops}
        AND origin_code_trace_id IS NOT NULL""",
    ),
)


def check_stated(directory, sample):
    """Each view's errors are those that the rows of the recorded steps give."""
    names = {"ops": "ops WHERE category <> 'user' AND is_measured = 1", "steps": sample.total}
    lines = lines_of_traces(directory)
    for stated, parts in STATED:
        by_key = {}
        for key, step, part in query(directory, parts.format(**names)):
            key = "%s:%s" % lines[key] if "code_trace_id" in parts else key
            of_steps = by_key.setdefault(key, {})
            of_steps[step] = of_steps.get(step, 0) + part
        found = dict(query(directory, stated.format(**names)))
        assert by_key and set(by_key) <= set(found), (stated, set(by_key) - set(found))
        for key, error in found.items():
            by_hand = sample.error(by_key.get(key, {}))
            if by_hand is None:
                # What none of the recorded steps has, such as an op before the first step, is not estimated from them.
                assert error is None or (error == 0 and key not in by_key), (stated, key, error)
                continue
            rounding = names["steps"] if "per_step_self" in stated else 1
            assert abs(error - by_hand) <= rounding + 1e-5 * by_hand, (stated, key, error, by_hand)
        assert sample.spread is None or "bytes" in stated or max(found.values()) > 0, stated


def check_figures(sampled, sample, columns):
    """The figures of all steps and their errors, by hand."""
    rows = query(
        sampled,
        """SELECT s.id, s.net_ns, s.sample_weight, sum(o.category <> 'user'),
        sum((o.category <> 'user') * o.self_ns),
        (SELECT sum(p.net_ns) FROM step_phases AS p WHERE p.step_id = s.id AND p.phase = 'optimizer')
        FROM steps AS s JOIN ops AS o ON o.step_id = s.id
        WHERE s.ops_recorded = 1 AND s.is_warmup = 0 GROUP BY s.id""",
    )
    weights = {row[0]: row[2] for row in rows}
    number, weight = len(rows), sum(weights.values())
    assert 2 < number < weight and abs(weight - 297) < 1e-6, (number, weight)
    spoken = query(sampled, "SELECT recorded_count, step_count FROM sampling_summary")
    assert spoken == [(number, weight)], (spoken, number, weight)
    told = query(
        sampled,
        "SELECT step_id, dur_ns - recording_ns, sample_weight, op_count, op_ns, optimizer_ns FROM step_op_time",
    )
    assert sorted(told) == sorted(rows), (told, rows)
    all_ns = sum(row[1] * row[2] for row in rows)
    share = sum(row[4] * row[2] for row in rows) / all_ns
    optimizer = sum(row[5] * row[2] for row in rows) / all_ns
    assert sample.weights == weights, (sample.weights, weights)
    optimizer_error = sample.error({row[0]: row[5] - optimizer * row[1] for row in rows}) / all_ns
    optimizer_error = math.hypot(optimizer_error, sample.unseen * optimizer)
    ops_error = sample.error({row[0]: row[3] for row in rows}) / weight
    share_error = sample.error({row[0]: row[4] - share * row[1] for row in rows}) / all_ns
    share_error = math.hypot(share_error, sample.unseen * share)
    found = query(sampled, columns)[0]
    assert ops_error > 0 and abs(found[2] - ops_error) < 1e-6 * ops_error, (found, ops_error)
    assert abs(found[1] - share) < 1e-6 and optimizer_error > 0, (found, share, optimizer_error)
    assert abs(found[4] - optimizer_error) < 1e-6, (found, optimizer_error)
    assert abs(found[3] - share_error) < 1e-6, (found, share_error)
    (idle,) = query(
        sampled,
        """SELECT self_ns, self_error_ns, (SELECT sum(net_ns) FROM steps WHERE is_warmup = 0) FROM xprof_op_stats
        WHERE is_idle = 1""",
    )
    assert abs(idle[0] / idle[2] - (1 - share)) < 1e-5 and abs(idle[1] / idle[2] - share_error) < 1e-5, idle
    sampling = query(sampled, "SELECT is_calibrated, note FROM sampling_summary")
    assert sampling == [(sample.is_calibrated, None)], (sampling, sample.is_calibrated)
    print("%.1f +- %.1f ops a step, %.2f +- %.2f of its time" % (found[0], found[2], found[1], found[3]))


def test_errors_of_samples():
    """What views say of their errors, from the recorded steps by hand; of a whole recording there are none."""
    program = PROGRAM.replace("        with record", "        for _ in range(step % 7): x.add(1)\n        with record")
    program = program.replace("import sys, torch", "import sys, recorder, torch")
    program += "    if step == 1: recorder.know_modules()\n"
    columns = ("SELECT ops_per_step, in_ops_ratio, ops_per_step_error, in_ops_error_ratio, in_optimizer_error_ratio "
               "FROM step_summary")
    with capturing.Directory() as everything:
        capturing.run(everything, ["-c", program, "30", "1"], ops="all")
        assert query(everything, columns)[0][2:] == (0, 0, 0), query(everything, columns)
        for stated, _ in STATED:
            errors = {row[1] for row in query(everything, stated.format(steps=1))}
            assert errors == {0}, (stated, errors)
    # Of how many steps one is drawn depends on what ops cost here, and with too few of them no error can be stated.
    for overhead in 1, 2, 4, 8, 16:
        with capturing.Directory() as sampled:
            capturing.run(sampled, ["-c", program, "300", "1"], ops="sampled", overhead=overhead)
            sample = Sample(sampled)
            check_stated(sampled, sample)
            if sample.spread:
                check_figures(sampled, sample, columns)
                return
    assert False, "no errors were stated"


def covered(spans):
    """How long at least one of them runs."""
    total, until = 0, 0
    for start, end in sorted(spans):
        total += max(0, end - max(start, until))
        until = max(until, end)
    return total


def test_parts_of_steps():
    """What the host did in a step without ops is not known; the means of ranks are over all steps, as the recorded ones
    stand for them."""
    group = "dist.init_process_group('gloo', store=dist.HashStore(), rank=0, world_size=1)\n"
    program = PROGRAM.replace("torch.manual_seed", "import torch.distributed as dist\n" + group + "torch.manual_seed")
    program = program.replace("        optimizer.zero",
                              "        dist.all_reduce(loss.detach())\n        optimizer.zero")
    with capturing.Directory() as directory:
        capturing.run(directory, ["-c", program, str(STEPS), "1"], ops="sampled", overhead=1)
        recorded = dict(query(directory, "SELECT id, ops_recorded FROM steps"))
        columns = "step_id, dur_ns, cpu_ns, rest_ns, host_compute_ns, other_ns"
        parts = query(directory, "SELECT %s FROM _step_parts" % columns)
        assert len(parts) == STEPS and set(recorded.values()) == {0, 1}, recorded
        for step, dur_ns, cpu_ns, rest_ns, *others in parts:
            assert others == [cpu_ns, rest_ns], (step, cpu_ns, rest_ns, others)
            assert cpu_ns + rest_ns <= dur_ns if recorded[step] else cpu_ns is rest_ns is None, (step, cpu_ns, rest_ns)
        weights = dict(query(directory, "SELECT id, sample_weight FROM steps WHERE ops_recorded = 1"))
        is_warmup = dict(query(directory, "SELECT id, is_warmup FROM steps"))
        durations = {step: dur_ns for step, dur_ns, *_ in parts}
        spans = {}
        for step, start, end in query(
            directory,
            """SELECT s.id, max(o.start_ns, s.start_ns), min(o.end_ns, s.end_ns) FROM ops AS o
            JOIN steps AS s ON s.id = o.step_id
            WHERE o.category = 'op' AND o.name NOT GLOB '*c10d*::*' AND s.ops_recorded = 1""",
        ):
            spans.setdefault(step, []).append((start, end))
        step_ns = sum(weight * durations[step] for step, weight in weights.items()) / STEPS
        computation_ns = sum(weight * covered(spans[step]) for step, weight in weights.items()) / STEPS
        measured = {step: weight for step, weight in weights.items() if not is_warmup[step]}
        error_ns = Sample(directory).error({step: covered(spans[step]) for step in measured})
        columns = """step_count, step_ns, computation_ns, communication_ns + other_ns, collective_count,
            computation_error_ns, communication_error_ns"""
        (found,) = query(directory, "SELECT %s FROM tb_distributed_summary" % columns)
        assert found[0] == STEPS and found[4] == STEPS, found
        assert abs(found[1] - step_ns) <= 1 and abs(found[2] + found[3] - found[1]) <= 3, (found, step_ns)
        assert abs(found[2] - computation_ns) <= 0.02 * step_ns, (found, computation_ns)
        if error_ns is None:
            assert found[5] is found[6] is None, found
        else:
            error_ns /= STEPS
            assert abs(found[5] - error_ns) <= 1 + 0.01 * error_ns and found[6] > 0, (found, error_ns)


def test_memory_by_line():
    """Small pieces have a line only in steps with ops: what those say of the others is what a whole recording says, and
    what is kept in each step is told."""
    program = PROGRAM.replace("        optimizer.step()",
                              "        kept.append(torch.ones(30000))\n        optimizer.step()")
    program = "kept = []\n" + program
    with capturing.Directory() as everything, capturing.Directory() as sampled:
        capturing.run(everything, ["-c", program, str(STEPS), "1"], ops="all")
        capturing.run(sampled, ["-c", program, str(STEPS), "1"], ops="sampled", overhead=0.2)
        recorded = query(sampled, "SELECT count(*) FROM steps WHERE ops_recorded = 1")[0][0]
        assert recorded < STEPS / 2, recorded
        lines = "SELECT location, count, bytes FROM memory_by_line WHERE location LIKE '<string>%' ORDER BY 1"
        assert query(sampled, lines) == query(everything, lines), (query(sampled, lines), query(everything, lines))
        kept = "SELECT message, value FROM advise WHERE check_name = 'memory_kept'"
        assert query(sampled, kept) == query(everything, kept), (query(sampled, kept), query(everything, kept))
        assert "Memory of %d of %d steps is never released" % (STEPS - 3, STEPS - 3) in query(sampled, kept)[0][0]


def test_rounds_of_two_optimizers():
    """Two optimizers of one class: steps are rounds, for the recorder and for the reader."""
    with capturing.Directory() as directory:
        record(directory, 80, 2, ops="sampled", overhead=20)
        rows = steps(directory)
        assert abs(sum(row[3] or 0 for row in rows) - len(rows)) < 1e-6, rows
        later = [row for row in rows[20:] if row[1] == 1]
        assert later, "no step was recorded after the first ones: %s" % rows
        print("%d steps, %d recorded" % (len(rows), sum(row[1] for row in rows)))


def test_chosen_steps():
    """Marked by the program, so that they are the same on a busy machine."""
    program = PROGRAM.replace("    for optimizer", "    tfprof.step()\n    for optimizer")
    program = program.replace("import sys, torch", "import sys, torch, tfprof")
    for asked, expected in ("10-20", list(range(10, 21))), ("5", [5]):
        with capturing.Directory() as directory:
            capturing.run(directory, ["-c", program, "40", "1"], ops="sampled", steps=asked)
            assert [row[0] for row in steps(directory) if row[1] == 1] == expected, (asked, steps(directory))
            weights = {row[3] for row in steps(directory)}
            assert weights == {None, 1.0}, weights
            ops = query(directory, "SELECT count(*) FROM ops WHERE name = 'aten::linear'")
            assert ops == [(len(expected) * 20,)], ops


def test_marks_after_the_last_iteration():
    """Who marks the end of each iteration begins one more, in which nothing happens."""
    with capturing.Directory() as directory:
        program = PROGRAM.replace("        optimizer.step()\n", "        optimizer.step()\n    profiler.step()\n")
        schedule = "lambda step: torch.profiler.ProfilerAction.NONE"
        begin = "profiler = torch.profiler.profile(schedule=%s)\nprofiler.start()\n" % schedule
        program = program.replace("for step", begin + "for step", 1)
        program += "profiler.stop()\n"
        for settings in {"ops": "all"}, {"ops": "none"}:
            capturing.run(directory, ["-c", program, "6", "1"], **settings)
            found = query(directory, "SELECT number, origin FROM steps ORDER BY id")
            assert found == [(number, "profiler") for number in range(6)], (settings, found)
            for path in capturing.dumps(directory):
                os.remove(path)


def test_none():
    with capturing.Directory() as directory:
        record(directory, 60, 1, ops="none")
        sql = "SELECT category, count(*) FROM ops WHERE name NOT IN %r GROUP BY 1" % (capturing.NOTED,)
        rows = query(directory, sql)
        assert rows == [("user", 180)], rows
        assert len(steps(directory)) == 60
        assert not any(row[1] for row in steps(directory))


def test_stacks_of_allocations():
    """Without ops only large pieces and failures have one; every piece is recorded all the same."""
    program = """
import torch
kept = []
for number in range(20):
    kept.append(torch.empty(1000 + number, dtype=torch.uint8))
    kept.append(torch.empty((1 << 20) + number, dtype=torch.uint8))
    kept.append(torch.empty((1 << 20) - 1 - number, dtype=torch.uint8))
try:
    torch.empty(1 << 52, dtype=torch.uint8)
except RuntimeError:
    pass
"""
    sql = """SELECT t.leaf_frame_id IS NOT NULL, min(bytes), max(bytes), count(*) FROM allocations AS a
        LEFT JOIN code_traces AS t ON t.id = a.code_trace_id
        WHERE bytes BETWEEN 1000 AND 1019 OR bytes BETWEEN (1 << 20) - 20 AND (1 << 20) + 19
        GROUP BY 1, bytes < 2000, bytes < 1 << 20 ORDER BY 1, 2"""
    small, medium, large = (1000, 1019, 20), ((1 << 20) - 20, (1 << 20) - 1, 20), (1 << 20, (1 << 20) + 19, 20)
    for ops, expected in (
        ("none", [(0,) + small, (0,) + medium, (1,) + large]),
        ("all", [(1,) + small, (1,) + medium, (1,) + large]),
    ):
        with capturing.Directory() as directory:
            capturing.run(directory, ["-c", program], ops=ops)
            assert query(directory, sql) == expected, (ops, query(directory, sql))
            failures = query(
                directory,
                """SELECT f.line FROM memory_events AS e JOIN code_traces AS t ON t.id = e.code_trace_id
                JOIN code_frames AS f ON f.id = t.leaf_frame_id WHERE e.kind = 'out_of_memory'""",
            )
            assert failures == [(9,)], (ops, failures)


def test_without_steps():
    with capturing.Directory() as directory:
        program = "import torch\nx = torch.ones(3)\nfor _ in range(2000): x.add(1)"
        capturing.run(directory, ["-c", program], ops="sampled", overhead=0.1)
        assert query(directory, "SELECT count(*) FROM ops WHERE name = 'aten::add'") == [(2000,)]


def test_largest_size():
    """The limit is looked at each second, so the program pauses. Without stacks: those of its imports, which are
    sampled, too, fill the file before its steps where importing takes long."""
    with capturing.Directory() as directory, capturing.Directory() as everything:
        program = PROGRAM.replace("    if len", "    if step == 30: import time; time.sleep(2.5)\n    if len")
        capturing.run(directory, ["-c", program, "60", "1"], ops="all", max_size=30000, python_mode="none")
        recorded = [row[0] for row in steps(directory) if row[1] == 1]
        assert recorded and max(recorded) < 40 and len(steps(directory)) == 60, recorded
        told = query(directory,
                     "SELECT reason, count FROM diagnostics WHERE reason IN ('capture_full', 'capture_interval')")
        assert ("capture_full", None) in told and told[-1] == ("capture_interval", None), told
        # Nothing speaks for the steps after that: figures are of those before.
        weights = {row[0]: row[3] for row in steps(directory)}
        assert {weights[number] for number in range(45, 60)} == {None}, weights
        spoken = sum(weight is not None for weight in weights.values())
        assert spoken < 45 and abs(sum(weight or 0 for weight in weights.values()) - spoken) < 1e-6, weights
        counted, measured = counts(directory), spoken - sum(row[2] for row in steps(directory))
        assert counted["aten::linear"] == counted["aten::addmm"] == 20 * measured, (weights, counted)
        figures = "SELECT round(ops_per_step, 6) FROM step_summary"
        record(everything, 10, 1, ops="all")
        assert query(directory, figures) == query(everything, figures), query(directory, figures)
        each = "SELECT op, round(per_step_count, 6) FROM op_summary ORDER BY 1"
        assert query(directory, each) == query(everything, each), query(directory, each)
        assert query(directory, "SELECT count(*) FROM ranges WHERE name = 'loss'") == [(60,)]
        # Of memory what is live goes on, and the sum of what comes and goes.
        after = "SELECT count(*), count(released_ns) FROM allocations WHERE allocated_ns > "
        (found,) = query(directory, after + "(SELECT end_ns FROM steps WHERE number = 45)")
        assert 0 < found[0] < 200 and found[1] == 0, found
        (summed,) = query(directory, "SELECT sum(allocation_count), max(sample_weight) FROM memory_totals")
        assert summed[0] > 1000 and summed[1] == 1, summed


# 200 steps that do the same; a large piece in each, a small one that stays in each tenth, and most in use in the 150th.
THINNED = """
import os, recorder, signal, sys, time, torch, without_dynamo
torch.manual_seed(0)
torch.set_num_threads(1)
model = torch.nn.Sequential(*[torch.nn.Linear(8, 8) for _ in range(20)])
optimizer = torch.optim.SGD(model.parameters(), 0.01)
x = torch.ones(4, 8)
kept = []
for step in range(200):
    optimizer.zero_grad()
    model(x).square().sum().backward()
    optimizer.step()
    large = torch.empty(1 << 21, dtype=torch.uint8)  # each step
    if step % 10 == 0:
        kept.append(torch.empty(5000))
    if step == 150:
        spike = [torch.empty(1 << 20, dtype=torch.uint8) for _ in range(16)]  # the peak
        del spike
    if step in (8, 100, 160):
        time.sleep(1.5)  # the recorder looks each second how large the file is
    if step == 190 and sys.argv[1] == "kill":
        last = torch.empty(1 << 28, dtype=torch.uint8)  # the last
        recorder.wait(0.05)  # growth like this is written at once
        os.kill(os.getpid(), signal.SIGKILL)
"""


def line_of_thinned(text):
    (line,) = [number for number, line in enumerate(THINNED.split("\n"), 1) if "# " + text in line]
    return line


def test_thinned():
    """A file that may not grow so fast has fewer events of memory; sums by line, peaks and what is live stay right."""
    with capturing.Directory() as whole, capturing.Directory() as thinned:
        capturing.run(whole, ["-c", THINNED, "end"], ops="sampled")
        capturing.run(thinned, ["-c", THINNED, "end"], ops="sampled", max_rate=20000)
        told = query(thinned, "SELECT count(*) FROM diagnostics WHERE reason = 'capture_thinned'")
        assert told[0][0] > 0 and query(whole, "SELECT count(*) FROM memory_totals") == [(0,)], told
        events = [query(directory, "SELECT count(*) FROM memory_events")[0][0] for directory in (whole, thinned)]
        assert events[1] < events[0] * 0.7, events
        for sql in (
            "SELECT count(*) + (SELECT total(allocation_count) FROM memory_totals), "
            "sum(bytes) + (SELECT total(allocated_bytes) FROM memory_totals) FROM allocations",
            "SELECT count(*), sum(bytes) FROM allocations WHERE released_ns IS NULL",
            "SELECT max(in_use_bytes), max(peak_bytes) FROM memory_events",
            "SELECT sum(peak_bytes), sum(live_bytes), sum(live_count) FROM memory_by_line",
            "SELECT max(device_bytes) FROM memory_timeline",
            "SELECT location, count, bytes, live_bytes, peak_bytes FROM memory_by_line WHERE line IN (%d, %d)"
            % (line_of_thinned("each step"), line_of_thinned("the peak")),
        ):
            assert query(thinned, sql) == query(whole, sql), (sql, query(thinned, sql), query(whole, sql))
        (spike,) = query(
            thinned, "SELECT count, peak_bytes FROM memory_by_line WHERE line = %d" % line_of_thinned("the peak")
        )
        assert spike == (16, 16 << 20), spike
        counted = query(thinned, "SELECT count FROM memory_by_line WHERE line = %d" % line_of_thinned("each step"))
        assert counted == [(200,)], counted
        # Steps with ops have each event: one after the other adds up to what is in use.
        (wrong,) = query(
            thinned,
            """SELECT count(*), sum(in_use_bytes - before <> bytes) FROM (SELECT e.*,
            lag(in_use_bytes) OVER (PARTITION BY e.step_id ORDER BY time_ns, e.id) AS before FROM memory_events AS e
            JOIN steps AS s ON s.id = e.step_id WHERE s.ops_recorded = 1) WHERE before IS NOT NULL""",
        )
        assert wrong[0] > 100 and wrong[1] == 0, wrong
        print("%d events instead of %d" % (events[1], events[0]))
    with capturing.Directory() as directory:
        capturing.run(directory, ["-c", THINNED, "kill"], status=-9, ops="sampled", max_rate=20000)
        sql = "SELECT live_count, live_bytes FROM memory_by_line WHERE line = %d" % line_of_thinned("the last")
        assert query(directory, sql) == [(1, 1 << 28)], query(directory, sql)
        highest = query(directory, "SELECT max(in_use_bytes) > 1 << 28 FROM memory_events")
        assert highest == [(1,)], highest



if __name__ == "__main__":
    capturing.main(globals())
