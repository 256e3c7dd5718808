"""step_phases of programs that tell themselves what they were at: each phase lies where the program has it, in the
order in which the program went through them, whether ops are recorded or only what tells of phases in every step.
"""

import os

import capturing

PROGRAM = os.path.join(capturing.PROGRAMS, "phases.py")
PHASES = ("input", "forward", "backward", "optimizer", "evaluation")


def query(directory, sql):
    return [tuple(row.values()) for row in capturing.query(directory, sql)]


def run(kinds, directory, **settings):
    """{kind: (path of its dump, [(phase, begin, end)] as the program tells it, in the order of time)}"""
    out, _ = capturing.run(directory, [PROGRAM] + list(kinds), **settings)
    told, lines = {}, out.splitlines()
    for line in lines:
        if line in kinds:
            kind = line
        elif " " not in line:
            (path,) = [path for path in capturing.dumps(directory) if path.endswith("-%s.tfprof" % line)]
            told[kind] = (path, [])
        else:
            name, begin, end = line.split()
            told[kind][1].append((name, int(begin), int(end)))
    return told


def found(path):
    """[(phase, start, end, step, micro-batch, epoch, is_recomputation)] on the program's clock, without `other`."""
    return query(
        path,
        """SELECT phase, pieces.start_ns - clock_offset_ns, pieces.end_ns - clock_offset_ns, number, micro_batch, epoch,
        is_recomputation FROM (SELECT step_phases.*, steps.number AS number FROM step_phases LEFT JOIN steps
        ON steps.id = step_id) AS pieces JOIN profiles ON profiles.id = pieces.profile_id
        WHERE phase <> 'other' ORDER BY pieces.start_ns""",
    )


def merged(pieces):
    """Pieces of one phase that follow each other are one."""
    result = []
    for phase, start, end, *rest in pieces:
        if result and result[-1][0] == phase:
            result[-1] = (phase, result[-1][1], end) + result[-1][3:]
        else:
            result.append((phase, start, end) + tuple(rest))
    return result


def is_within(piece, told):
    """A forward pass reaches to the backward pass that follows it."""
    for phase, begin, end in told:
        if phase == piece[0] == "forward":
            end = min([one[2] for one in told if one[0] == "backward" and one[1] >= begin], default=end)
        if phase == piece[0] and begin <= piece[1] and piece[2] <= end:
            return True
    return False


def compare(kind, path, told, phases=PHASES):
    """What is found lies within what was told, in its order. What prepares the next step (zero_grad, a data loader that
    is made or ends) is not told.
    """
    begin, last = told[0][1], max(end for _, _, end in told)
    told = [one for one in told if one[0] in phases]
    pieces = [piece for piece in found(path) if piece[0] in phases and begin <= piece[1] and piece[2] <= last]
    inside = [piece for piece in pieces if is_within(piece, told)]
    outside = [piece for piece in pieces if piece not in inside and piece[0] not in ("optimizer", "input")]
    assert not outside, (kind, outside[:3], told[:20])
    order = [one[0] for one in merged(inside)]
    wanted = [one[0] for one in merged(sorted(told, key=lambda one: one[1]))]
    assert order == wanted, (kind, order, wanted)
    return inside


KINDS = ("accumulate", "unmarked", "closure", "checkpoint", "reentrant", "penalty", "rollouts", "teacher")


def test_recorded():
    with capturing.Directory() as directory:
        for kind, (path, told) in run(KINDS, directory, ops="all").items():
            pieces = compare(kind, path, told)
            again = [piece for piece in pieces if piece[6]]
            expected = [one for one in told if one[0] == "recomputation"]
            assert bool(again) == bool(expected), (kind, again)
            for piece in again:
                assert any(one[1] <= piece[1] and piece[2] <= one[2] for one in expected), (kind, piece, expected)
            steps = query(path, "SELECT sum(dur_ns) FROM steps WHERE ops_recorded = 1")
            covered = query(
                path,
                "SELECT sum(dur_ns), min(sample_weight), max(sample_weight) FROM step_phases WHERE step_id IS NOT NULL",
            )
            assert covered == [(steps[0][0], 1.0, 1.0)], (kind, steps, covered)
            print("%s: %d pieces" % (kind, len(pieces)))
            if kind == "accumulate":
                check_numbers(path)


def check_numbers(path):
    """Of micro-batches and epochs."""
    numbers = query(
        path,
        """SELECT epoch, number, max(micro_batch) FROM step_phases JOIN steps ON steps.id = step_id
        WHERE phase = 'backward' GROUP BY step_id ORDER BY number""",
    )
    assert numbers == [(number // 4, number, 1) for number in range(12)], numbers
    evaluations = query(
        path,
        """SELECT number, count(*) FROM step_phases LEFT JOIN steps ON steps.id = step_id
        WHERE phase = 'evaluation' GROUP BY number ORDER BY number NULLS LAST""",
    )
    assert evaluations == [(4, 1), (8, 1), (None, 1)], evaluations


def test_unrecorded():
    """Without ops the same is known of all but forward passes that no optimizer step encloses, and of evaluation that
    nothing marks.
    """
    known = {
        "accumulate": ("input", "backward", "optimizer", "evaluation"),
        "own_modes": ("input", "backward", "optimizer", "evaluation"),
        "closure": PHASES,
        "unmarked": ("backward", "optimizer"),
    }
    with capturing.Directory() as directory:
        for kind, (path, told) in run(known, directory, ops="none").items():
            compare(kind, path, told, known[kind])
            others = query(path, "SELECT count(*) FROM step_phases WHERE phase = 'other'")
            assert (others[0][0] > 0) == (kind in ("accumulate", "own_modes")), others  # checkpoints that were written


def test_sampled():
    """Phases that only ops tell of are weighed; those that ranges tell of are not."""
    with capturing.Directory() as directory:
        path, _ = run(["accumulate"], directory, ops="sampled", steps="2:5")["accumulate"]
        weights = query(
            path,
            """SELECT phase, min(step_phases.sample_weight = 1), max(ops_recorded = 0) FROM step_phases
            JOIN steps ON steps.id = step_id WHERE phase IN ('backward', 'input', 'evaluation', 'forward')
            GROUP BY phase ORDER BY phase""",
        )
        assert weights == [("backward", 1, 1), ("evaluation", 1, 1), ("forward", 1, 0), ("input", 1, 1)], weights



def test_counts_of_sampled():
    """Where ops are recorded in some steps alone, micro-batches are counted in all, and no phase is in more steps than
    there are.
    """
    with capturing.Directory() as directory:
        found = run(["sliced", "lbfgs"], directory, ops="sampled", steps="2:5")
        path, _ = found["sliced"]
        batches = query(path, "SELECT step_id, max(micro_batch) FROM step_phases WHERE phase = 'backward' GROUP BY 1")
        assert [last for step, last in batches if step is not None] == [3] * 12, batches
        measured = "(SELECT count(*) FROM steps WHERE is_warmup = 0)"
        counts = query(path, f"SELECT step_count, {measured}, pass_count FROM phase_summary WHERE phase = 'backward'")
        assert counts == [(counts[0][1], counts[0][1], 4 * counts[0][1])], counts
        path, _ = found["lbfgs"]
        counts = query(path, f"""SELECT phase, step_count, {measured} FROM phase_summary
            WHERE phase IN ('forward', 'backward')""")  # fmt: skip
        assert len(counts) == 2 and all(row[1] == row[2] > 1 for row in counts), counts


def test_optimizers():
    """An iteration is one, however many optimizers step in it, and all count it alike."""
    program = os.path.join(capturing.PROGRAMS, "optimizers.py")
    told = {"scaler": ("optimizer", "skipped_optimizer_steps"), "turns": ("batch", "steps_by_batches")}
    told.update({kind: ("optimizer", "steps_by_optimizer") for kind in ("gan", "critic", "parameters")})
    optimizers = {"gan": 2, "critic": 2, "parameters": 4, "turns": 2, "trials": 3}
    with capturing.Directory() as directory:
        command = [capturing.PYTHON, program]
        out, error = capturing.launch(directory, command, ["--overhead", "0.1"])
        for kind, process, iterations in (line.split() for line in out.splitlines()):
            (path,) = [path for path in capturing.dumps(directory) if path.endswith("-%s.tfprof" % process)]
            ((steps, recorded, origin),) = query(path, "SELECT count(*), sum(ops_recorded), min(origin) FROM steps")
            reasons = query(
                path,
                """SELECT group_concat(reason) FROM diagnostics
                WHERE reason GLOB 'steps_by*' OR reason = 'skipped_optimizer_steps'""",
            )
            assert (steps, origin, reasons[0][0]) == (int(iterations), *told.get(kind, ("optimizer", None))), (
                kind, steps, origin, reasons)  # fmt: skip
            assert recorded >= min(steps, 8), (kind, recorded)  # what is recorded are whole steps
            if kind == "gan":  # the summary's line leaves out warm-up, in which importing and compiling are
                ((line, shares),) = query(
                    path,
                    """SELECT (SELECT text FROM run_summary WHERE title = 'time'), group_concat(text, ', ') FROM (
                    SELECT printf('%s %.0f %%', name, 100 * part / sum(part) OVER ()) AS text FROM (
                    SELECT 'host' AS name, total(op_ns * sample_weight) AS part FROM step_op_time UNION ALL
                    SELECT 'other', total(outside_ns * sample_weight) FROM step_op_time) ORDER BY part DESC)""",
                )
                assert line.startswith(shares), (line, shares)
            counts = query(path, """SELECT phase, step_count, (SELECT count(*) FROM steps WHERE NOT is_warmup) AS steps
                           FROM phase_summary WHERE phase <> 'other'""")  # fmt: skip
            assert all(row[1] <= row[2] for row in counts), (kind, counts)  # what ranges tell of counts once a step
            ((count,),) = query(path, "SELECT max(optimizer) FROM ops")
            assert count == optimizers.get(kind, 1), (kind, count)
            candidates = query(path, "SELECT origin, count(DISTINCT optimizer) FROM candidate_steps GROUP BY 1")
            assert ("optimizer", count) in candidates or kind not in optimizers, (kind, candidates)
            (line,) = [line for line in error.splitlines() if line.split()[:2] == ["pid", process]]
            said = "%s%d %sstep" % ("%d of " % recorded if recorded < steps else "", steps,
                                    "" if origin == "batch" else "optimizer ")  # fmt: skip
            assert " in %ss, " % said in line, (line, said)


def test_batches():
    """Inference: the steps are the batches of two epochs, and the calls that end these are none."""
    program = """
import torch
model = torch.nn.Linear(8, 4).eval()
with torch.no_grad():
    for _ in range(2):
        for batch in torch.utils.data.DataLoader(torch.rand(48, 8), batch_size=4):
            model(batch)
"""
    with capturing.Directory() as directory:
        _, error = capturing.launch(directory, [capturing.PYTHON, "-c", program], [])
        found = query(directory, "SELECT count(*), min(origin), max(number) FROM steps")
        assert found == [(24, "batch", 23)] and " ops in 24 steps into " in error, (found, error)
        assert query(directory, "SELECT step_count, evaluation_ratio FROM step_summary") == [(24, 0)]


def test_candidate_steps():
    """A program that marks nothing and trains nothing: what it repeats, said to be a guess."""
    program = """
import sys, torch
square = torch.func.vmap(lambda x: (x * x).sum())
model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 4))
with torch.no_grad():
    for _ in range(12):
        request = torch.randn(2, 4)
        if sys.argv[1] == "ranges":
            with torch.profiler.record_function("request"):
                model(request)
        else:
            square(model(request))
"""
    for kind, name in (("ranges", "request"), ("calls", "aten::randn")):
        with capturing.Directory() as directory:
            capturing.run(directory, ["-c", program, kind])
            found = query(
                directory,
                "SELECT name, origin, count(*), max(number), min(dur_ns) > 0 FROM candidate_steps GROUP BY 1, 2",
            )
            assert found == [(name, "repetition", 12, 11, 1)], (kind, found)
            assert query(directory, "SELECT count(*) FROM steps") == [(0,)]
            ((message,),) = query(directory, "SELECT message FROM advise WHERE check_name = 'missing_data'")
            assert "; 12 repetitions of %s, " % name in message, message


def test_nothing_changes():
    """Functions that are watched look as they did, and put back what they were replaced by."""
    program = """
import gc, inspect, pickle, torch
train = torch.nn.Module.train
assert torch.nn.Module.eval.__name__ == "eval" and "evaluation mode" in torch.nn.Module.eval.__doc__
assert list(inspect.signature(torch.nn.Module.eval).parameters) == ["self"]
assert list(inspect.signature(torch.utils.data.DataLoader.__iter__).parameters) == ["self"]
assert pickle.loads(pickle.dumps(torch.save)) is torch.save
model = torch.nn.Sequential(torch.nn.Dropout(), torch.nn.Dropout())
for _ in range(2):
    assert model.eval() is model and not any(one.training for one in model.modules())
    assert model.train(False) is model and not model[0].training
    assert model.train() is model and all(one.training for one in model.modules())
    assert torch.nn.Module.train is train
class Frozen(torch.nn.Sequential):
    def train(self, mode=True):
        super().train(mode)
        self[0].eval()
        return self
frozen = Frozen(torch.nn.Dropout(), torch.nn.Dropout())
assert not frozen.eval()[1].training and frozen.train()[1].training and not frozen[0].training
gc.collect()
try:
    torch.ones(1, requires_grad=True).mul(2).backward(torch.ones(3))
except RuntimeError as problem:
    print(problem)
x = torch.ones(1, requires_grad=True)
class Fails(torch.autograd.Function):
    @staticmethod
    def forward(context, x): return x * 2
    @staticmethod
    def backward(context, gradient): raise ValueError("as it should")
try:
    Fails.apply(x).backward()
except ValueError as problem:
    print(problem)
"""
    with capturing.Directory() as directory:
        out, error = capturing.run(directory, ["-c", program])
        assert "as it should" in out and "tfprof: recording is incomplete" not in error, (out, error)
        names = query(directory, "SELECT name, count(*) FROM ranges GROUP BY 1 ORDER BY 1")
        assert ("torch.autograd.backward", 1) in names, names
        assert dict(names)["torch.nn.Module.train"] == 3 and dict(names)["gc.collect"] >= 1, names


if __name__ == "__main__":
    capturing.main(globals())
