"""visit_costs.py: what recording costs on a GPU: of a launch, in each state that the recorder has, and of the steps of
two workloads, beside torch.profiler. Before the latter, which take minutes, what is taken home.
"""

import json
import os

import visit_verdicts as verdicts
from visit_first import order, values
from visit_runner import check

KEPT_BYTES = 300000
BLOCKS = 40  # of 500 launches, in each state
LONG_NS = 100e3  # of a kernel: what is recorded wrongly lasts until CUPTI is switched on again
KERNELS_OF_STEPS = """SELECT count(kernels.id) AS count FROM steps LEFT JOIN kernels ON kernels.step_id = steps.id
    WHERE is_warmup = 0 AND ops_recorded AND coalesce(steps.sample_weight, 1) > 0 GROUP BY steps.id"""
WARM_SECONDS, SECONDS, PROFILED_SECONDS = 7, 23, 5  # a job is thinned when it took too much for five seconds


def launch_cost_program(visit, *words):
    """What programs/launch_cost.c prints; CUPTI is that of PyTorch, where it has one."""
    cupti = visit.about()["cupti"]
    output = visit.run([os.path.join(visit.build, "launch_cost"), *words], 60,
                       environment={"TFPROF_CUPTI": cupti} if cupti else None)
    return json.loads(output.strip().splitlines()[-1])


@check("launch_cost", 20, 120, "recording takes no more than 1,000 ns of a launch with its kernel, what is idle no "
       "more than 100 ns, a switch no more than 1 ms, stepping aside 250 ms; every kernel is recorded",
       verdicts.launch_cost, is_quick=True)
def launch_cost(visit):
    for threads in (1, 2):
        found = launch_cost_program(visit, str(threads), str(BLOCKS))
        visit.note(**{f"ns_a_launch_{threads}": found["ns"], f"switch_ns_{threads}": found["switch_ns"],
                      f"kernels_{threads}": found["kernels"], f"launched_{threads}": found["launched"],
                      f"lost_{threads}": found["lost"]})


@check("keep", 15, 90, "a recording, the driver's answers and CUPTI's own buffers are kept, for doubles in tests",
       verdicts.kept, is_quick=True)
def keep(visit):
    run = visit.path("kept.run")
    visit.run(visit.program("small", "steps=3"), recorded=run, options=["--ops=all"])
    dumps = [os.path.join(run, name) for name in os.listdir(run) if name.endswith(".tfprof")]
    visit.note(recording=bool(dumps) and os.path.getsize(dumps[0]) <= KEPT_BYTES and
               visit.keep(dumps[0], "recording.tfprof"))
    try:
        answer = visit.path("nvidia-smi.txt")
        with open(answer, "w") as file:
            file.write(visit.run(["nvidia-smi", "-q"], 30))
        visit.note(driver=os.path.getsize(answer) <= KEPT_BYTES and visit.keep(answer))
    except FileNotFoundError:
        visit.note(driver=False)
    buffers = visit.path("cupti-records.jsonl")
    launch_cost_program(visit, "1", "1", buffers)
    visit.note(buffers=os.path.getsize(buffers) <= KEPT_BYTES and visit.keep(buffers))


def timed(text):
    """{phase: figures} of what workload.py prints."""
    figures = {}
    for line in text.splitlines():
        if line.startswith("{"):
            figures.update(json.loads(line))
    return figures


def recorder_of(run):
    """(what it took itself to cost and what it left out for that, what is not in order)"""
    found = values(
        run, launch_ns="SELECT max(value) FROM counters WHERE name = 'capture_launch_cost'",
        steps="SELECT count(*) FROM steps", steps_with_kernels="SELECT count(DISTINCT step_id) FROM kernels",
        steps_with_ops="SELECT count(*) FROM steps WHERE ops_recorded",
        thinned="SELECT json_group_array(message) FROM diagnostics WHERE reason = 'capture_thinned'")
    return {**found, "thinned": json.loads(found["thinned"])}, {**order(run), **kernels_of_recorded(run)}


def kernels_of_recorded(run, long_ns=LONG_NS):
    """Of the steps that stand for others, or for themselves: how many kernels each has; where the job is thinned, how
    many times as long the longest kernel of a name takes as before, when CUPTI was not switched around each step."""
    return values(
        run, kernels_of_step_least=f"SELECT min(count) FROM ({KERNELS_OF_STEPS})",
        kernels_of_step_most=f"SELECT max(count) FROM ({KERNELS_OF_STEPS})",
        longest_ratio=f"""SELECT max(longest / before) FROM (
            SELECT max(dur_ns) FILTER (WHERE start_ns > thinned_ns) AS longest,
              1.0 * max(dur_ns) FILTER (WHERE start_ns <= thinned_ns) AS before
            FROM kernels, (SELECT min(time_ns) AS thinned_ns FROM counters
              WHERE name = 'capture_kernels_recorded' AND value = 0)
            GROUP BY name) WHERE longest > {long_ns}""")


def measure(visit, mode):
    """Off, on, off, on: those without us are slowed by torch.profiler at their end, for comparison."""
    phases = [mode, f"warm={WARM_SECONDS}", f"seconds={SECONDS}"]
    figures = {"off_ms": [], "on_ms": [], "profiled_ms": [], "off_median_ms": [], "on_median_ms": []}
    for _ in range(2):
        found = timed(visit.run(visit.program(*phases, f"profiled={PROFILED_SECONDS}"), 120))
        figures["off_ms"].append(found["seconds"]["mean_ms"])
        figures["off_median_ms"].append(found["seconds"]["median_ms"])
        figures["profiled_ms"].append(found["profiled"]["mean_ms"])
        visit.note(**figures)
        run = visit.path("cost.run")
        found = timed(visit.run(visit.program(*phases), 120, recorded=run))
        figures["on_ms"].append(found["seconds"]["mean_ms"])
        figures["on_median_ms"].append(found["seconds"]["median_ms"])
        recorder, judged = recorder_of(run)
        visit.note(**figures, recorder=recorder, **judged)
    visit.note(cost=verdicts.slowing(figures["off_ms"], figures["on_ms"]),
               cost_of_profiler=verdicts.slowing(figures["off_ms"], figures["profiled_ms"]),
               differ_without=verdicts.spread(figures["off_ms"]))


WANTED = "with default settings steps take no more than 2 % longer, and less than under torch.profiler: "


@check("overhead_small", 180, 260, WANTED + "a model that is bound by launches", verdicts.overhead)
def overhead_small(visit):
    measure(visit, "small")


@check("overhead_eager", 180, 260, WANTED + "a transformer that keeps the GPU busy", verdicts.overhead)
def overhead_eager(visit):
    measure(visit, "eager")
