"""visit_others.py: other programs than those of PyTorch, and other tables than those of kernels."""

import json
import os

import compare
import compare_nsys
import visit_verdicts as verdicts
from visit_first import around_profiler, order, value, values
from visit_runner import HERE, Untold, check


@check("overlap_copies", 15, 60, "examples/overlap_copies.cu: as many copies, fills and kernels as it makes",
       verdicts.counted)
def overlap_copies(visit):
    """CUDA without PyTorch: where there is no toolkit, CUPTI is that of PyTorch."""
    program, run = os.path.join(visit.build, "overlap_copies"), visit.path("overlap_copies.run")
    if not os.path.exists(program):
        raise Untold("the build has no overlap_copies: it was made where there is no nvcc")
    about = visit.about()
    visit.run([program, "50"], recorded=run, environment={"TFPROF_CUPTI": about["cupti"]} if about["cupti"] else None)
    # 4 ways of 50 batches: 3 copies and fills each; scale and add_up once, scale 20 times more, last of all in graphs.
    visit.note(wanted={"copies_in": 200, "fills": 200, "copies_out": 200, "kernels": 4400},
               found=values(run, copies_in="SELECT count(*) FROM transfers WHERE direction = 'HtoD'",
                            fills="SELECT count(*) FROM transfers WHERE kind = 'memset'",
                            copies_out="SELECT count(*) FROM transfers WHERE direction = 'DtoH'",
                            kernels="SELECT count(*) FROM kernels"))


@check("jax", 30, 120, "JAX with jax.profiler in the middle: kernels before and after it, and in its own profile",
       verdicts.jax)
def jax(visit):
    about = visit.about()
    if not about["jax"]:
        raise Untold("there is no JAX here")
    run, profile = visit.path("jax.run"), visit.path("jax.profile")
    program = [visit.python, os.path.join(HERE, "workload_jax.py"), "5", profile]
    told = json.loads(visit.run(program, 100, recorded=run).strip().splitlines()[-1])
    count = "SELECT count(*) FROM kernels WHERE start_ns {} {}"
    visit.note(gpu_of_jax=told["device"], **values(run, kernels_before=count.format("<", told["begin_ns"]),
                                                   kernels_after=count.format(">", told["end_ns"])),
               own_kernels=value(profile, "SELECT count(*) FROM kernels"), **order(run))


@check("cupti_finalised", 25, 120, "torch.profiler finalises CUPTI at its end (TEARDOWN_CUPTI): the program goes on, "
       "and the same kernels are recorded again after 15 s", verdicts.profiler_inside)
def cupti_finalised(visit):
    around_profiler(visit, visit.path("finalised.run"), visit.path("finalised.json"), 15, {"TEARDOWN_CUPTI": "1"})


@check("memory_and_counters", 15, 90, "memory, what NVML measures, calls and waits: they are there, and none of them "
       "cannot be", verdicts.possible)
def memory_and_counters(visit):
    run = visit.path("possible.run")
    visit.run(visit.program("eager", "seconds=4"), 90, recorded=run)
    device = "device_id IN (SELECT id FROM devices WHERE kind = 'gpu')"
    total = f"(SELECT max(value) FROM counters WHERE name = 'gpu_memory_total_bytes' AND {device})"
    rows = {"memory_events_of_the_device": f"memory_events WHERE {device}",
            "counters_of_the_device": f"counters WHERE {device} AND name = 'gpu_utilization'",
            "calls": "api_calls", "waits": "syncs"}
    impossible = {
        "memory_in_use_below_0_or_over_its_peak":
            f"memory_events WHERE {device} AND NOT in_use_bytes BETWEEN 0 AND peak_bytes",
        "memory_in_use_over_what_is_reserved": f"memory_events WHERE {device} AND in_use_bytes > reserved_bytes",
        "memory_reserved_over_that_of_the_device": f"memory_events WHERE {device} AND reserved_bytes > {total}",
        "a_share_that_is_none": f"counters WHERE {device} AND unit = 'ratio' AND NOT value BETWEEN 0 AND 1",
        "memory_used_over_that_of_the_device":
            f"counters WHERE {device} AND name = 'gpu_memory_used_bytes' AND NOT value BETWEEN 0 AND {total}",
        "a_call_that_ends_before_it_begins": "api_calls WHERE dur_ns < 0",
        "a_wait_that_ends_before_it_begins": "syncs WHERE dur_ns < 0",
        "a_kernel_that_takes_no_time_or_a_minute": "kernels WHERE NOT dur_ns BETWEEN 1 AND 60000000000",
    }
    found = values(run, **{name: "SELECT count(*) FROM " + what for name, what in {**rows, **impossible}.items()})
    visit.note(rows={name: found[name] for name in rows}, impossible={name: found[name] for name in impossible},
               **order(run))


@check("nsys", 15, 150, "nsys counts the same kernels, copies, fills and bytes", verdicts.compared)
def nsys(visit):
    run, report = visit.path("nsys.run"), visit.path("nsys")
    try:
        words = visit.program("small", "steps=20")
        visit.run(["nsys", "profile", "-t", "cuda,nvtx", "--force-overwrite", "true", "-o", report, *words], 90)
        visit.run(["nsys", "export", "--type", "sqlite", "--force-overwrite", "true", "-o", report + ".sqlite",
                   report + ".nsys-rep"], 60)
    except FileNotFoundError:
        raise Untold("there is no nsys here") from None
    visit.run(words, recorded=run, options=["--ops=all"])
    visit.note(differences=compare_nsys.differences(compare.Work(run), report + ".sqlite"), kernel_time_ratio=1,
               step_time_ratio=1)
