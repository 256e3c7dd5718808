#!/usr/bin/env python3
"""test_numbers.py: the stored views and checks keep their form, and their numbers are right.

Form: a comment that names exactly the columns that there are, every column named, a full ORDER BY, our tables as
temp.*. Answers: the same rows in the same order whichever way SQLite goes through the tables, and with tables of the
user under our names; shares between 0 and 1; evidence that shows something. Numbers: against a computation in Python
from the raw columns of ops (name, category, thread, start, end), which nests by start times, finds steps by the ends of
Optimizer.step and sums by hand.
"""

import collections
import os
import re
import statistics

from stored import (
    CHECK_COLUMNS,
    ROOT,
    captured,
    check,
    engines,
    finish,
    made_up_dump,
    stored,
    stored_functions,
    temporary,
)

OUR_TABLES = set()


def test_form(one, columns):
    check(one.comment[0].startswith("-- "), f"{one.path}: no title")
    check(
        not one.is_check or one.comment[0].startswith("-- Advice: "),
        f"{one.path}: the title does not begin with Advice:",
    )
    for word in ("Cost:", "Example:"):
        check(any(word in line for line in one.comment), f"{one.path}: the comment has no {word}")
    if one.is_check:
        check(columns == CHECK_COLUMNS, f"{one.path}: columns {columns}")
    else:
        check(
            one.described_columns() == list(columns),
            f"{one.path}: the comment describes\n  {one.described_columns()}\nthe columns are\n  {columns}",
        )
    texts = re.sub(r"'(?:[^']|'')*'", "''", one.sql)
    outermost = texts
    while re.search(r"\([^()]*\)", outermost):
        outermost = re.sub(r"\([^()]*\)", "", outermost)
    check(outermost.rstrip().rfind("ORDER BY") > outermost.rfind("FROM"), f"{one.path}: no ORDER BY at its end")
    select = outermost[outermost.rfind("SELECT") : outermost.rfind("FROM")]
    named = len(re.findall(r"\bAS [a-z]", select))
    check(named == len(columns), f"{one.path}: {named} columns are named with AS, {len(columns)} there are")
    for table in re.findall(r"\b(?:FROM|JOIN)\s+([a-z_]+)\b(?!\.)", texts):
        check(
            table not in OUR_TABLES or re.search(rf"\b{table}(\([a-z_, ]*\))? AS (NOT )?(MATERIALIZED )?\(", texts),
            f"{one.path}: reads {table}, not temp.{table}",
        )
    for line in one.text.splitlines():
        check(len(line) <= 120, f"{one.path}: a line of {len(line)} characters")


def test_answers(engine, what):
    answers = {}
    for one in stored():
        names, rows = engine.query(one.sql if one.is_check else f"SELECT * FROM {one.name}")
        answers[one.name] = rows
        for row in rows:
            for name, value in zip(names, row):
                is_share = name.endswith("_ratio") and isinstance(value, (int, float))
                check(not is_share or -1e-9 <= value <= 1 + 1e-9, f"{what}: {one.name}.{name} is {value}")
    for reverse in ("ON", "OFF"):
        engine.query(f"PRAGMA reverse_unordered_selects={reverse}")
        for one in stored():
            rows = engine.query(one.sql)[1]
            check(are_same(rows, answers[one.name]), f"{what}: {one.name} depends on the order in which rows are read")
    test_advice(engine, what)
    return answers


def are_same(left, right):
    """Equal but for the last digits of sums of reals."""
    return len(left) == len(right) and all(
        a == b or (isinstance(a, float) and isinstance(b, float) and abs(a - b) <= 1e-9 * max(abs(a), abs(b)))
        for one, other in zip(left, right)
        for a, b in zip(one, other)
    )


def test_advice(engine, what):
    names, rows = engine.query("SELECT * FROM advise")
    check(not rows or names == CHECK_COLUMNS, f"{what}: advise has the columns {names}")
    for row in rows:
        advice = dict(zip(CHECK_COLUMNS, row))
        name = f"{what}: {advice['check_name']}"
        check(advice["severity"] in ("info", "warning", "critical"), f"{name}: severity {advice['severity']}")
        for column in ("subject", "message", "suggestion", "evidence"):
            check(isinstance(advice[column], str) and advice[column], f"{name}: {column} is {advice[column]!r}")
        check(isinstance(advice["value"], float), f"{name}: value is {advice['value']!r}")
        check(isinstance(advice["threshold"], float), f"{name}: threshold is {advice['threshold']!r}")
        check(
            advice["saves_ns"] is None or (isinstance(advice["saves_ns"], int) and advice["saves_ns"] >= 0),
            f"{name}: saves_ns is {advice['saves_ns']!r}",
        )
        shown = engine.query(advice["evidence"])[1]
        check(0 < len(shown) <= 50, f"{name}: the evidence shows {len(shown)} rows")


def test_own_tables(engine, answers, what):
    """A user's tables of the same names are not read."""
    for table in sorted(OUR_TABLES):
        engine.query(f"CREATE TABLE main.{table}(id, name, nonsense)")
        engine.query(f"INSERT INTO main.{table} VALUES (1, 'not ours', 1)")
    for one in stored():
        rows = engine.query(one.sql if one.is_check else f"SELECT * FROM temp.{one.name}")[1]
        check(are_same(rows, answers[one.name]), f"{what}: {one.name} reads a table of the user")


# ---- the numbers once more, by hand ----


class ByHand:
    """Everything from names, categories, threads, starts and ends."""

    def __init__(self, engine, profile, first_start):
        rows = engine.query(
            "SELECT id, profile_id, name, category, thread_id, start_ns, end_ns FROM ops "
            f"WHERE profile_id = {profile} ORDER BY id"
        )[1]
        self.ops = {row[0]: row for row in rows}
        backward = engine.query(
            "SELECT DISTINCT thread_id FROM ops "
            f"WHERE profile_id = {profile} AND (category = 'autograd' OR forward_op_id IS NOT NULL)"
        )[1]
        self.backward_threads = {row[0] for row in backward}
        self.self_ns, self.parent = {}, {}
        lanes = collections.defaultdict(list)
        for op, _, _, _, thread, start, end in rows:
            lanes[thread].append((start, -end, -op))  # of equal spans the later row is the caller
        for lane in lanes.values():
            stack = []
            for start, end, op in sorted(lane):
                op, end = -op, -end
                while stack and self.ops[stack[-1]][6] <= start:
                    stack.pop()
                self.parent[op] = stack[-1] if stack else None
                self.self_ns[op] = end - start
                if stack:
                    self.self_ns[stack[-1]] -= end - start
                stack.append(op)
        # Steps: from end to end of the optimizer.
        self.steps = []
        ends = sorted((row[6], row[4]) for row in rows if row[3] == "user" and row[2].startswith("Optimizer.step#"))
        for end, thread in ends:
            self.steps.append((self.steps[-1][1] if self.steps else first_start, end, thread))
        self.left_out = min(3, len(self.steps) // 2)
        self.measured = self.steps[self.left_out :]
        self.step_of = {op: self.find_step(row[5]) for op, row in self.ops.items()}
        self.counted = [
            row
            for op, row in self.ops.items()
            if row[3] != "user" and (self.step_of[op] or 0) >= self.left_out and self.step_of[op] is not None
        ]

    def find_step(self, start):
        for number, (first, last, _) in enumerate(self.steps):
            if first <= start < last:
                return number
        return None


def test_numbers(engine, profile, what):
    def view(name):
        names, rows = engine.query(f"SELECT * FROM {name} WHERE profile_id = {profile}")
        return [dict(zip(names, row)) for row in rows]

    first = engine.query(f"SELECT min(start_ns) FROM steps WHERE profile_id = {profile}")[1][0][0]
    hand = ByHand(engine, profile, first)
    is_row_start = engine.query(f"SELECT count(*) FROM ops WHERE start_ns = {first}")[1][0][0] > 0
    check(is_row_start, f"{what}: the first step does not begin with an op")
    steps = engine.query(f"SELECT start_ns, end_ns, thread_id FROM steps WHERE profile_id = {profile} ORDER BY number")[
        1
    ]
    check(steps == hand.steps, f"{what}: steps differ")
    nested = engine.query(f"SELECT id, parent_id, self_ns FROM ops WHERE profile_id = {profile}")[1]
    wrong = [op for op, parent, _ in nested if parent != hand.parent[op]]
    check(not wrong, f"{what}: {len(wrong)} parents differ, such as that of {wrong[:1]}")
    wrong = [op for op, _, self_ns in nested if self_ns != hand.self_ns[op]]
    check(not wrong, f"{what}: {len(wrong)} self times differ, such as that of {wrong[:1]}")
    test_ops(hand, view, what)
    test_steps(hand, view, what)
    test_lanes(hand, view, what)
    test_lines(engine, hand, view, what)


def test_ops(hand, view, what):
    names = collections.defaultdict(list)
    by_type = collections.Counter()
    for row in hand.counted:
        names[row[2], row[3]].append(row)
        by_type[row[2]] += hand.self_ns[row[0]]
    rows = view("op_summary")
    check(len(rows) == len(names), f"{what}: op_summary has {len(rows)} rows for {len(names)} names")
    for row in rows:
        ops = names[row["op"], row["category"]]
        times = [op[6] - op[5] for op in ops]
        self_ns = sum(hand.self_ns[op[0]] for op in ops)
        expected = (len(ops), self_ns, sum(times), min(times), max(times))
        got = tuple(row[name] for name in ("count", "self_ns", "sum_ns", "min_ns", "max_ns"))
        check(got == expected, f"{what}: op_summary of {row['op']} is {got} instead of {expected}")
        check(abs(row["self_ratio"] - self_ns / sum(by_type.values())) < 1e-9, f"{what}: self_ratio of {row['op']}")
        check(
            abs(row["per_step_count"] - len(ops) / len(hand.measured)) < 1e-9,
            f"{what}: per_step_count of {row['op']}",
        )
    types = [row for row in view("xprof_op_type_stats") if row["side"] == "host" and not row["is_idle"]]
    check({row["op_type"]: row["self_ns"] for row in types} == by_type, f"{what}: xprof_op_type_stats differ")
    listed = [row for row in view("xprof_op_stats") if row["side"] == "host" and not row["is_idle"]]
    check({row["op"]: row["self_ns"] for row in listed} == by_type, f"{what}: xprof_op_stats differ")
    check(
        [row["position"] for row in listed] == list(range(1, len(listed) + 1))
        and abs(listed[-1]["cumulative_ratio"] - 1) < 1e-9,
        f"{what}: positions of xprof_op_stats",
    )


def covered(spans):
    """How long at least one of them lasts."""
    sum_ns, last = 0, 0
    for start, end in sorted(spans):
        sum_ns += max(0, end - max(start, last))
        last = max(last, end)
    return sum_ns


def test_steps(hand, view, what):
    durations = [end - start for start, end, _ in hand.measured]
    spans = collections.defaultdict(list)
    for row in hand.counted:
        begin, finish, thread = hand.steps[hand.step_of[row[0]]]
        if row[4] == thread or row[4] in hand.backward_threads:
            spans[hand.step_of[row[0]]].append((max(row[5], begin), min(row[6], finish)))
    in_ops = sum(map(covered, spans.values()))
    optimizer_ns = sum(
        row[6] - row[5]
        for op, row in hand.ops.items()
        if row[3] == "user" and row[2].startswith("Optimizer.") and (hand.step_of[op] or 0) >= hand.left_out
    )
    summary = view("step_summary")[0]
    gaps = [begin - end for (_, end, _), (begin, _, _) in zip(hand.measured, hand.measured[1:])]
    check(min(gaps) >= 0, f"{what}: steps overlap")
    # What clips gradients, between the backward pass and the optimizer's step, is the optimizer's, too.
    least = optimizer_ns / sum(durations)
    check(least - 1e-9 <= summary["in_optimizer_ratio"] <= least + 0.2, f"{what}: step_summary.in_optimizer_ratio is "
          f"{summary['in_optimizer_ratio']}, and the optimizer's ranges alone take {least}")
    expected = {
        "step_count": len(hand.steps),
        "warmup_count": hand.left_out,
        "recorded_count": len(durations),
        "mean_ns": int(statistics.mean(durations)),
        "median_ns": int(statistics.median(durations)),
        "min_ns": min(durations),
        "max_ns": max(durations),
    }
    for name, value in expected.items():
        check(summary[name] == value, f"{what}: step_summary.{name} is {summary[name]} instead of {value}")
    for name, value in (
        ("in_ops_ratio", in_ops / sum(durations)),
        ("ops_per_step", len(hand.counted) / len(durations)),
        ("steps_per_second", 1e9 / (statistics.mean(durations) + statistics.mean(gaps))),
    ):
        check(
            abs(summary[name] - value) < 1e-6 * value,
            f"{what}: step_summary.{name} is {summary[name]} instead of {value}",
        )
    ratios = [summary[name] for name in ("in_ops_ratio", "input_ratio", "in_wait_ratio", "outside_ratio")]
    check(abs(sum(ratios) - 1) < 0.01 and min(ratios) >= 0, f"{what}: the parts of step_summary are {ratios}")
    for row in view("step_op_time"):
        parts = [row[name] for name in ("op_ns", "loading_ns", "wait_ns", "outside_ns")]
        check(sum(parts) == row["dur_ns"] and min(parts) >= 0, f"{what}: the parts of step {row['number']} are {parts}")
    loading = collections.Counter()
    for op, row in hand.ops.items():
        number = hand.step_of[op]
        if (
            row[3] == "user"
            and row[2].startswith("enumerate(DataLoader)#")
            and number is not None
            and number >= hand.left_out
        ):
            loading[number] += row[6] - row[5]
    rows = view("input_steps")
    check({row["number"]: row["input_ns"] for row in rows if row["input_ns"]} == loading, f"{what}: input_steps differ")
    if loading:
        share = sum(loading.values()) / sum(durations)
        check(abs(view("input_summary")[0]["input_ratio"] - share) < 1e-9, f"{what}: input_summary differs")


def test_lanes(hand, view, what):
    ranges, lanes = collections.defaultdict(list), collections.defaultdict(lambda: [0, 0])
    is_measured = {op: step is not None and step >= hand.left_out for op, step in hand.step_of.items()}
    for op, row in hand.ops.items():
        if row[3] == "user" and (is_measured[op] or not any(is_measured.values())):
            ranges[row[2]].append(row[6] - row[5])
        lanes[row[4]][0] += row[3] != "user"
        lanes[row[4]][1] += hand.self_ns[op] if row[3] != "user" else 0
    check(
        {row["name"]: (row["count"], row["sum_ns"], row["max_ns"]) for row in view("range_summary")}
        == {name: (len(times), sum(times), max(times)) for name, times in ranges.items()},
        f"{what}: range_summary differs",
    )
    check(
        {row["thread_id"]: [row["op_count"], row["op_ns"]] for row in view("thread_summary")} == lanes,
        f"{what}: thread_summary differs",
    )


def test_lines(engine, hand, view, what):
    traces = dict(engine.query("SELECT id, code_trace_id FROM ops")[1])
    stacks = {
        row[0]: row[1:]
        for row in engine.query(
            "SELECT t.id, t.parent_id, f.file, f.line, f.function FROM code_traces AS t JOIN code_frames AS f ON f.id "
            "= t.leaf_frame_id"
        )[1]
    }

    def frames(trace):
        while trace is not None:
            parent, *frame = stacks[trace]
            yield tuple(frame)
            trace = parent

    def is_library(file):
        return bool(re.match(r"(.*/(site|dist)-packages/.*|.*/lib/python[0-9].*/.*|<frozen .*)$", file))

    forwards = dict(engine.query("SELECT id, forward_op_id FROM ops")[1])
    threads = {row[0]: row[4] for row in hand.ops.values()}

    def origin(op):
        """The stack that its work comes from: of a backward op, or what it called without lines of the program, that
        of the forward op."""
        backward = op
        while backward is not None and forwards[backward] is None:
            backward = hand.parent[backward]
        stack = list(frames(traces[op]))
        if backward is None:
            return stack
        above = list(frames(traces[backward])) if threads[op] == threads[forwards[backward]] else []
        inside = stack[: len(stack) - len(above)] if traces[op] != traces[backward] else []
        if any(not is_library(frame[0]) for frame in inside):
            return stack
        return origin(forwards[backward]) or stack

    def in_backward(op):
        while op is not None and forwards[op] is None and hand.ops[op][3] != "autograd" \
                and not hand.ops[op][2].startswith("autograd::engine::"):
            op = hand.parent[op]
        return op is not None

    own, around, modules = collections.Counter(), collections.Counter(), collections.Counter()
    backward_ns, inner = collections.Counter(), collections.Counter()
    for row in hand.counted:
        stack = origin(row[0])
        if stack:
            program = [frame for frame in stack if not is_library(frame[0])] or stack
            outside = [frame for frame in stack if not re.search(r"/site-packages/torch/|<frozen |"
                                                                 r"/lib/python[0-9][^/]*/(?!site-)", frame[0])] or stack
            own[program[0][:2]] += hand.self_ns[row[0]]
            inner[outside[0][:2]] += hand.self_ns[row[0]]
            backward_ns[program[0][:2]] += hand.self_ns[row[0]] if in_backward(row[0]) else 0
        for place in {frame[:2] for frame in stack}:
            around[place] += hand.self_ns[row[0]]
        stack = list(frames(traces[row[0]]))
        if not stack:
            continue
        classes = [frame[2][: -len(".forward")] for frame in stack if re.fullmatch(r".+\.forward", frame[2])]
        if classes:
            modules["/".join(reversed(classes))] += hand.self_ns[row[0]]
    known = dict(engine.query("SELECT id, module FROM ops WHERE module IS NOT NULL")[1])
    if known:  # the source tells modules itself
        modules.clear()
        for row in hand.counted:
            if row[0] in known:
                modules[known[row[0]]] += hand.self_ns[row[0]]
    lines = view("code_summary")
    check(
        {(row["file"], row["line"]): row["self_ns"] for row in lines if row["self_ns"]}
        == {place: time for place, time in own.items() if time},
        f"{what}: self times of code_summary differ",
    )
    check(
        {(row["file"], row["line"]): row["backward_ns"] for row in lines if row["backward_ns"]}
        == {place: time for place, time in backward_ns.items() if time} != {},
        f"{what}: times of backward passes in code_summary differ",
    )
    check(
        {(row["file"], row["line"]): row["self_ns"] for row in view("library_lines") if row["self_ns"]}
        == {place: time for place, time in inner.items() if time},
        f"{what}: library_lines differs",
    )
    around = {place: time for place, time in around.items() if own[place] or not is_library(place[0])}
    sums = {(row["file"], row["line"]): row["sum_ns"] for row in lines}
    check(sums == around, f"{what}: sums of code_summary differ")
    check(
        {row["module"]: row["self_ns"] for row in view("module_summary") if row["self_ns"]}
        == {module: time for module, time in modules.items() if time},
        f"{what}: module_summary differs",
    )


def test_functions(engine, one_path, other_path):
    """Table-valued functions: their form, what they say of nothing, and op_diff against sums over each side."""
    for one in stored_functions():
        names = [
            row[0] for row in engine.query(f"SELECT name FROM pragma_table_xinfo('{one.name}') WHERE hidden = 0")[1]
        ]
        check(
            names == one.described_columns(), f"{one.name}: described are {one.described_columns()}, there are {names}"
        )
        marks = ", ".join("'*'" for _ in one.parameters)
        try:
            says = engine.query(f"SELECT * FROM {one.name}({marks})")[1]
        except Exception as problem:  # of either engine: a range of steps that are not there
            says = [] if "it has no steps" in str(problem) else str(problem)
        check(says == [], f"{one.name} says of nothing: {says}")
    engine.query(f"SELECT tfprof_open('{one_path}'), tfprof_open('{other_path}')")
    one, other = [row[0] for row in engine.query("SELECT min(id) FROM profiles GROUP BY run_id ORDER BY run_id")[1]]
    sums = "SELECT name, count(*), sum(self_ns) FROM ops WHERE category <> 'user' AND profile_id = {} GROUP BY name"
    before, after = ({row[0]: tuple(row[1:]) for row in engine.query(sums.format(side))[1]} for side in (one, other))
    expected = set()
    for name in before.keys() | after.keys():
        (a_count, a_ns), (b_count, b_ns) = before.get(name, (0, 0)), after.get(name, (0, 0))
        change = "+" if b_count > a_count else "-" if b_count < a_count else "="
        expected.add((name, a_count, b_count, a_ns, b_ns, b_count - a_count, b_ns - a_ns, change))
    rows = engine.query(f"SELECT * FROM op_diff({one}, {other})")[1]
    found = {tuple(row[:8]) for row in rows}
    check(len(rows) == len(expected) and found == expected, f"{engine.name}: op_diff differs")
    rows = engine.query(f"SELECT * FROM op_diff({one}, {one})")[1]
    check(rows and all(list(row[5:8]) == [0, 0, "="] for row in rows), "op_diff with itself")


def main():
    with temporary() as directory:
        made_up = made_up_dump(directory, 30000)
        runs = [
            captured(directory, os.path.join(ROOT, "examples", "train_transformer.py"), "--steps", "6"),
            captured(directory, os.path.join(ROOT, "examples", "train_cnn.py"), "--steps", "5", "--workers", "1"),
        ]
        for make in engines():
            engine = make()
            OUR_TABLES.update(row[0] for row in engine.query("SELECT name FROM tfprof_tables WHERE is_cache >= 0")[1])
            for one in stored():
                engine.query(f"CREATE TEMP VIEW form_of_it AS {one.sql}")
                columns = [row[0] for row in engine.query("SELECT name FROM pragma_table_xinfo('form_of_it')")[1]]
                test_form(one, columns)
                engine.query("DROP VIEW temp.form_of_it")
                check(engine.query(one.sql)[1] == [], f"{engine.name}: {one.name} says something of nothing")
            for path in [made_up] + [run for run in runs if run]:
                engine = make()
                what = f"{engine.name}, {os.path.basename(path)}"
                engine.query(f"SELECT tfprof_open('{path}')")
                answers = test_answers(engine, what)
                for (profile,) in engine.query("SELECT DISTINCT profile_id FROM steps")[1]:
                    test_numbers(engine, profile, what)
                test_own_tables(engine, answers, what)
            test_functions(make(), made_up, next((run for run in runs if run), made_up))
        if not any(runs):
            print("PyTorch is not there: only the made-up profile was looked at")
    finish()


if __name__ == "__main__":
    main()
