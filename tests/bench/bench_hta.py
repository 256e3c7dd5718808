#!/usr/bin/env python3
"""bench_hta.py: nine analyses of HolisticTraceAnalysis and the views that give the same, opening included.

    bench_hta.py [--build DIRECTORY] [--hta PYTHON] [--repeat 3] TRACE.json ...

The traces are the ranks of one job: the first is rank 0.  PYTHON is a Python that has HolisticTraceAnalysis; by default
a virtual environment is made with pip in build/hta.  Each side runs in a process of its own and does all nine; what
counts is processor time, user and system, of the whole process, interpreter and imports included.  Where HTA raises,
the analysis counts on neither side: tfprof does not do it, and what HTA spent until then is taken off.  HTA runs once,
tfprof is the smallest of `repeat` runs.
"""
import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

import figures

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
HTA_RELEASE = "0.5.0"
HTA_PROGRAM = """
import json, logging, sys, time, warnings
warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis
files = sys.argv[2:]
ranks = list(range(len(files)))
analysis = TraceAnalysis(trace_files=dict(zip(ranks, files)))
rows = {}
def run(name, function):
    began = time.process_time()
    try:
        answer = function()
        found = sum(map(len, answer)) if isinstance(answer, list) else 0 if answer is None else len(answer)
    except Exception as error:  # HTA raises where a trace lacks what it looks for
        found = type(error).__name__
    rows[name] = found, time.process_time() - began
run("temporal breakdown", lambda: analysis.get_temporal_breakdown(visualize=False))
run("communication overlap", lambda: analysis.get_comm_comp_overlap(visualize=False))
run("kernel breakdown", lambda: analysis.get_gpu_kernel_breakdown(visualize=False)[1])
run("idle time", lambda: analysis.get_idle_time_breakdown(ranks=ranks, visualize=False)[0])
run("queue length", lambda: analysis.get_queue_length_summary(ranks=ranks))
run("memory bandwidth", lambda: analysis.get_memory_bw_summary(ranks=ranks))
run("launch statistics", lambda: analysis.get_cuda_kernel_launch_stats(ranks=ranks, visualize=False))
run("frequent sequences", lambda: analysis.get_frequent_cuda_kernel_sequences(
    operator_name="aten::", output_dir=sys.argv[1], visualize=False))
run("kernels of ops", lambda: analysis.get_aten_op_kernels_and_delay(ranks=ranks))
print(json.dumps(rows))
"""
VIEWS = [
    ("temporal breakdown", "hta_temporal_breakdown"),
    ("communication overlap", "hta_communication_overlap"),
    ("kernel breakdown", "hta_kernel_breakdown"),
    ("idle time", "hta_idle_breakdown"),
    ("queue length", "hta_queue_length"),
    ("memory bandwidth", "hta_memory_bandwidth"),
    ("launch statistics", "hta_kernel_launch_stats"),
    ("frequent sequences", "hta_frequent_sequences"),
    ("kernels of ops", "hta_op_kernels"),
]


def measured(arguments, text=None):
    """Runs a program; its output, processor seconds and seconds."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(arguments, input=text, stdout=subprocess.PIPE, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done.stdout, processor, time.monotonic() - began


def hta_python(directory):
    python = os.path.join(directory, "hta", "bin", "python")
    if not os.path.exists(python):
        subprocess.run([sys.executable, "-m", "venv", os.path.join(directory, "hta")], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", f"HolisticTraceAnalysis=={HTA_RELEASE}"], check=True)
    return python


def ours(extension, files, views):
    """What is timed, and the same with the rows counted."""
    names = ", ".join("tfprof_open('%s')" % name.replace("'", "''") for name in files)
    timed = [f".load {extension}", ".output /dev/null", f"SELECT {names};"]
    timed += [f"SELECT * FROM {view};" for _, view in views]
    counted = [".output"] + [f"SELECT '{analysis}', count(*) FROM {view};" for analysis, view in views]
    return "\n".join(timed) + "\n", "\n".join(timed + counted) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--hta", metavar="PYTHON")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("traces", nargs="+")
    arguments = parser.parse_args()
    build = os.path.abspath(arguments.build)
    files = [os.path.abspath(name) for name in arguments.traces]
    python = arguments.hta or hta_python(build)
    with tempfile.TemporaryDirectory() as scratch:
        output, processor, seconds = measured([python, "-c", HTA_PROGRAM, scratch] + files)
    theirs = json.loads(output.strip().split("\n")[-1])
    raised = {analysis for analysis, (rows, _) in theirs.items() if isinstance(rows, str)}
    processor -= sum(theirs[analysis][1] for analysis in raised)
    views = [(analysis, view) for analysis, view in VIEWS if analysis not in raised]
    timed, counted = ours(os.path.join(build, "tfprof"), files, views)
    mine = min((measured(["sqlite3", ":memory:"], timed)[1:] for _ in range(arguments.repeat)), key=lambda run: run[0])
    my_rows = dict(line.split("|") for line in measured(["sqlite3", ":memory:"], counted)[0].split("\n") if line)
    for analysis, view in VIEWS:
        rows, spent = theirs[analysis]
        told = f"HTA raises {rows}: left out" if analysis in raised else f"{my_rows[analysis]:>9} rows   HTA {rows}"
        print(f"{analysis:<24}{view:<24}{told}   {spent:.1f} CPU s")
    size = sum(os.path.getsize(name) for name in files) / 1e6
    ranks = "1 rank" if len(files) == 1 else f"{len(files)} ranks"
    figures.tell("peers", f"{len(views)} analyses of HTA, {ranks} of {size / len(files):.0f} MB, opening included",
                 mine[0], "CPU s", "bench_hta.py", compared=(f"HTA {HTA_RELEASE}", processor))
    print(f"{len(files)} files, {size:.0f} MB, {len(views)} analyses: tfprof {mine[0]:.2f} CPU s ({mine[1]:.2f} s), "
          f"HTA {processor:.1f} CPU s ({seconds:.1f} s): 1/{processor / mine[0]:.0f}")


if __name__ == "__main__":
    main()
