"""visit_first.py: what a visit to a GPU looks at first: whether there is anything, and the faults that are most likely.
A check tells figures; what they mean is in visit_verdicts.py.
"""

import json
import os
import re
import signal
import subprocess
import time

import compare
import visit_verdicts as verdicts
from asking import query
from visit_runner import Untold, check

TABLES = ("kernels", "api_calls", "transfers", "syncs", "memory_events", "ops", "steps", "counters", "graph_launches")


def values(run, **asked):
    """What these SELECTs of one value each find. The recording, which may be large, is opened once."""
    (row,) = query(run, "SELECT " + ", ".join(f"({sql}) AS {name}" for name, sql in asked.items()))
    return row


def value(run, sql):
    return values(run, value=sql)["value"]


# What the recorder says of itself that is not in order; that it cannot ask NVML is told by rows that are missing.
PROBLEMS = """SELECT json_group_array(reason || ': ' || message || iif(count > 1, ' (' || count || ' times)', ''))
FROM diagnostics WHERE message NOT LIKE 'gpu_counters: off%' AND (severity <> 'info' OR reason = 'capture_degraded' OR
reason = 'capture_dropped' OR reason = 'capture_off' AND message LIKE 'cuda:%')"""


WITHOUT_TIME = "SELECT count(*) FROM kernels WHERE start_ns IS NULL OR dur_ns IS NULL"


def order(run):
    """What is not in order."""
    found = values(run, problems=PROBLEMS, kernels_without_time=WITHOUT_TIME)
    return {**found, "problems": json.loads(found["problems"])}


@check("machine", 15, 150, "tfprof-capture --check says that ops and what GPUs do can be recorded", verdicts.machine,
       is_quick=True)
def machine(visit):
    answer = subprocess.run([os.path.join(visit.build, "tfprof-capture"), "--check", "--", visit.python], text=True,
                            capture_output=True, timeout=120)
    print(answer.stdout, answer.stderr)
    lines = dict(re.findall(r"^  (\S+) +(.*)$", answer.stdout.partition("\nGPU\n")[2], re.M))
    refused = re.search("what GPUs do is not recorded: (.*); the program goes on", answer.stderr)
    visit.note(check_status=answer.returncode, check_cupti=lines.get("CUPTI"), refused=refused and refused[1],
               check_driver=lines.get("libcuda"), check_init=lines.get("CUDA"),
               check_module=lines.get("module"), check_nvml=lines.get("NVML"))
    if not verdicts.is_hanging(lines.get("CUDA")):  # which PyTorch would wait for, too
        visit.note(**visit.about())


@check("first", 15, 90, "two seconds of a small model: kernels, calls, copies, waits; each kernel with its call and "
       "op, none before its call by more than clocks are off, no call twice, nothing lost", verdicts.first,
       is_quick=True)
def first(visit):
    run = visit.path("first.run")
    visit.run(visit.program("small", "seconds=2"), recorded=run)
    found = values(
        run, **{table: f"SELECT count(*) FROM {table}" for table in TABLES}, problems=PROBLEMS,
        kernels_without_time=WITHOUT_TIME,
        calls_twice="SELECT count(*) FROM (SELECT 1 FROM api_calls WHERE correlation <> 0 GROUP BY profile_id, "
                    "correlation HAVING count(*) > 1)",
        kernels_without_call="SELECT count(*) FROM kernels WHERE api_call_id IS NULL",
        kernels_without_op="SELECT count(*) FROM kernels JOIN steps ON steps.id = kernels.step_id WHERE ops_recorded "
                           "AND kernels.op_id IS NULL",
        kernels_early="SELECT count(*) FROM kernels JOIN api_calls ON api_calls.id = api_call_id WHERE "
                      "kernels.start_ns < api_calls.start_ns",
        early_by_ns="SELECT max(api_calls.start_ns - kernels.start_ns) FROM kernels JOIN api_calls ON "
                    "api_calls.id = api_call_id WHERE kernels.start_ns < api_calls.start_ns",
        clock_error_ns="SELECT max(value) FROM counters WHERE name = 'cupti_clock_error'",
        median_kernel_ns="SELECT dur_ns FROM kernels ORDER BY dur_ns LIMIT 1 OFFSET (SELECT count(*) / 2 FROM kernels)")
    rows = {table: found.pop(table) for table in TABLES}
    visit.note(**{**found, "rows": rows, "problems": json.loads(found["problems"])})


def kernels_of(run, first, last):
    """(kernels of a step, {name: mean ns}) of the steps of these numbers."""
    rows = query(run, "SELECT name, count(*) AS count, avg(dur_ns) AS ns FROM kernels WHERE step_id IN "
                      f"(SELECT id FROM steps WHERE number BETWEEN {first} AND {last}) GROUP BY 1")
    return sum(row["count"] for row in rows) / (last - first + 1), {row["name"]: row["ns"] for row in rows}


def median(values):
    return sorted(values)[len(values) // 2] if values else None


WARM_STEPS, PROFILED_STEPS, COMPARED_STEPS = 112, 5, 8  # a second of steps, so that the GPU's clocks have risen


def around_profiler(visit, run, trace, seconds, environment=None):
    """Kernels of steps before torch.profiler was there, and so long after it."""
    visit.run(visit.program("small", f"steps={WARM_STEPS}", f"profile={PROFILED_STEPS}:{trace}", f"warm={seconds}",
                            "steps=12"), recorded=run, options=["--ops=all"], environment=environment)
    last = value(run, "SELECT max(number) FROM steps")
    before, ns_before = kernels_of(run, WARM_STEPS - COMPARED_STEPS, WARM_STEPS - 1)
    after, ns_after = kernels_of(run, last - COMPARED_STEPS, last - 1)
    # The last one that torch.profiler was there in: it has a step to warm up, too.
    end = f"(SELECT end_ns FROM steps WHERE number = {WARM_STEPS + PROFILED_STEPS})"
    ratios = [ns_after[name] / ns for name, ns in ns_before.items() if ns and ns_after.get(name)]
    visit.note(kernels_of_step_before=before, kernels_of_step_after=after, duration_ratio=median(ratios),
               back_after_ms=value(run, f"SELECT (min(start_ns) - {end}) / 1e6 FROM kernels WHERE start_ns > {end}"),
               **order(run))


@check("profiler_inside", 30, 150, "torch.profiler for 5 steps within others: the same kernels take as long after it "
       "as before it, and its trace is what it is without us", verdicts.profiler_inside, is_quick=True)
def profiler_inside(visit):
    run, inside, alone = visit.path("inside.run"), visit.path("inside.json"), visit.path("alone.json")
    around_profiler(visit, run, inside, 1)
    visit.run(visit.program("small", f"steps={WARM_STEPS}", f"profile={PROFILED_STEPS}:{alone}"))
    # All of the two: where marks of ours are in a trace its steps have their numbers.
    visit.note(own_trace_differences=compare.differences(compare.Work(inside), compare.Work(alone)))


def seconds_told(text, what):
    """Of a line as `complete up to 90.0 ms before its end, of GPUs up to 1.2 s before its end`."""
    found = re.search(what + r" ([\d.]+) (m?s) before its end", text)
    return float(found[1]) / (1e3 if found[2] == "ms" else 1) if found else None


@check("kill", 25, 90, "kill -9 of a program that keeps the GPU busy: kernels up to 1.5 s before it are there, and the "
       "launcher does not say more", verdicts.kill, is_quick=True)
def kill(visit):
    run, said = visit.path("kill.run"), visit.path("kill.txt")
    command = [os.path.join(visit.build, "tfprof-capture"), "--force", "-o", run, "--",
               *visit.program("eager", "endless")]
    with open(said, "w") as stderr, visit.started(command, stderr=stderr) as process:
        line = process.stdout.readline()
        if not line:
            raise Untold("the program ended before it was killed")
        time.sleep(5)
        killed_ns = time.time_ns()
        os.kill(json.loads(line)["pid"], signal.SIGKILL)
        process.wait(30)
    with open(said) as file:
        text = file.read()
    print(text)
    tables = ("kernels", "api_calls", "ops")
    # Of each thread that launches as long as the program runs.
    threads = "SELECT max(kernels.end_ns) AS last FROM kernels JOIN api_calls ON api_calls.id = api_call_id GROUP BY " \
              "api_calls.thread_id HAVING count(*) > (SELECT count(*) FROM kernels) / 20"
    found = values(run, count="SELECT count(*) FROM kernels",
                   kernels_of_a_thread=f"SELECT min(last) FROM ({threads})",
                   **{table: f"SELECT max(end_ns) FROM {table}" for table in tables})
    told, of_gpus = seconds_told(text, "complete up to"), seconds_told(text, "of GPUs up to")
    visit.note(kernels=found["count"], told=text.strip().split("\n")[0],
               told_s=told, told_kernels_s=told if of_gpus is None else of_gpus,
               **{f"lost_{name}_s": found[name] and (killed_ns - found[name]) / 1e9
                  for name in (*tables, "kernels_of_a_thread")}, **order(run))
