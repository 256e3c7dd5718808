#!/usr/bin/env python3
"""tensorflow_engine.py: TensorFlow's own profiler and tfprof on the same ProfileProtos, in the same run.

    tensorflow_engine.py [--python PYTHON] [--nodes N,...] [--steps N] [--profile FILE ...]
                         [--views scope,op,graph,code,advise] [--times N]

PYTHON is one with tensorflow (python3 -m venv tf && tf/bin/pip install tensorflow-cpu). For each number of nodes a
profile is made (make_tf_profile.py), unless there are FILEs, and then measured: CPU seconds and peak memory of loading
and one view, written to a file (of TensorFlow without its import, of tfprof with the start of the process), advice
likewise, of both the best of --times (3); each further view in the same process, by the prompt's command and by SQL
with the text of every line; and, from the second size on, time and memory per node of both, which are the same where
they grow with the nodes alone. TensorFlow is left out where it would need more memory than is free. Run on an idle
machine.
"""

import argparse
import json
import os
import pathlib
import resource
import sqlite3
import subprocess
import sys
import tempfile

import figures

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("TFPROF_BUILD", HERE.parents[1] / "build"))
FURTHER = 10  # further views in one process, of which the mean is told

TENSORFLOW = """
import json, os, resource, sys
from tensorflow.python.util import _pywrap_tfprof as engine
from tensorflow.core.profiler import tfprof_options_pb2 as options
def used():
    facts = resource.getrusage(resource.RUSAGE_SELF)
    return facts.ru_utime + facts.ru_stime
profile, view = sys.argv[1:]
before, base = used(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
engine.ProfilerFromFile(profile.encode())
loaded = used()
if view == "advise":
    engine.Profile(b"advise", options.AdvisorOptionsProto().SerializeToString())
else:
    engine.Profile(view.encode(), options.OptionsProto(
        max_depth=10, step=-1, order_by="name", account_type_regexes=[".*"], start_name_regexes=[".*"],
        show_name_regexes=[".*"], select=["micros"], output="file:outfile=" + os.devnull).SerializeToString())
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print("facts", json.dumps([loaded - before, used() - loaded, peak - base]))
"""


def once_by_tensorflow(python, profile, view):
    environment = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1")
    done = subprocess.run([python, "-c", TENSORFLOW, profile, view], env=environment, capture_output=True, text=True)
    facts = [line for line in done.stdout.splitlines() if line.startswith("facts ")]
    if not facts:
        return None
    load, run, kilobytes = json.loads(facts[0][6:])
    return load, run, kilobytes * 1024


def best_of_tensorflow(python, profile, view, times):
    """(CPU seconds of loading and of the view, peak bytes above the import), or None where it failed."""
    measured = [once_by_tensorflow(python, profile, view) for _ in range(times)]
    if None in measured:
        return None
    loads, runs, peaks = zip(*measured)
    return min(loads), min(runs), max(peaks)


def command(view):
    if view == "advise":
        return "advise -checkers AcceleratorUtilizationChecker,ExpensiveOperationChecker,JobChecker,OperationChecker"
    return f"{view} -output file:outfile={os.devnull}"


def of_shell(profile, commands):
    """(CPU seconds, peak bytes) of one process that opens the profile and runs the commands; None where it failed."""
    child = subprocess.Popen([BUILD / "tfprof", f"--profile_path={profile}"], stdin=subprocess.PIPE,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    child.stdin.write("".join(line + "\n" for line in commands).encode())
    child.stdin.close()
    _, status, facts = os.wait4(child.pid, 0)
    child.returncode = status
    return None if status else (facts.ru_utime + facts.ru_stime, facts.ru_maxrss * 1024)


def best_of_shell(profile, commands, times):
    measured = [of_shell(profile, commands) for _ in range(times)]
    return None if None in measured else (min(time for time, _ in measured), max(peak for _, peak in measured))


def used():
    facts = resource.getrusage(resource.RUSAGE_SELF)
    return facts.ru_utime + facts.ru_stime


def with_sql(profile):
    """A connection in which the profile is open, or None; and the CPU milliseconds that opening took."""
    db = sqlite3.connect(":memory:")
    if not hasattr(db, "enable_load_extension"):  # a Python that was built without it
        try:
            import apsw
        except ImportError:
            print("    by SQL: needs a Python whose sqlite3 loads extensions, or apsw")
            return None, 0
        db = apsw.Connection(":memory:")
    db.enable_load_extension(True)
    db.load_extension(str(BUILD / "tfprof"))
    before = used()
    db.execute("SELECT tfprof_open(?)", (profile,)).fetchall()
    return db, 1000 * (used() - before)


def further_views(profile, views, times):
    """CPU milliseconds of each further view in one process."""
    slowest = 0
    for view in views:
        one, many = (best_of_shell(profile, [command(view)] * count, times) for count in (1, 1 + FURTHER))
        if one and many:
            taken = 1000 * (many[0] - one[0]) / FURTHER
            slowest = max(slowest, taken)
            print(f"    a further {view:6s} at the prompt {taken:6.1f} ms")
    db, opening = with_sql(profile)
    if db:
        print(f"    by SQL, opening {opening:.0f} ms")
    for view in views if db else ():
        for turn, order in enumerate(("name", "micros", "bytes")):
            before = used()
            sql = f"SELECT count(displayed_text) FROM {view}_view WHERE order_by = ?"
            count = db.execute(sql, (order,)).fetchone()[0]
            taken = 1000 * (used() - before)
            slowest = max(slowest, taken if turn else 0)
            turn_name = "a further" if turn else "the first"
            print(f"    by SQL, {turn_name} {view:5s} by {order:6s} {taken:6.1f} ms, {count} lines")
    print(f"    the slowest further view {slowest:.1f} ms")
    figures.tell("peers", f"The slowest further view of a ProfileProto of {os.path.getsize(profile) / 1e6:.0f} MB",
                 slowest, "CPU ms", "tensorflow_engine.py", trials=times)


def memory_left():
    with open("/proc/meminfo") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable:"))


def tell(profile, view, times, ours, theirs):
    """Both sides of a view as data."""
    of, other = f"`{view}` of a ProfileProto of {os.path.getsize(profile) / 1e6:.0f} MB", "TensorFlow's own engine"
    for what, i, scale, unit in (("processor time", 0, 1, "CPU s"), ("memory", 1, 1e6, "MB")):
        figures.tell("peers", f"{of}: {what}", ours[i] / scale, unit, "tensorflow_engine.py", trials=times,
                     compared=(other, theirs[i] / scale) if theirs else None)


def compare(profile, views, python, times, expected):
    """Prints what loading and each view take; returns ours and TensorFlow's by view, None where one failed or was left
    out. expected: bytes that TensorFlow is expected to need for each view, where that is known."""
    measured = {}
    of_shell(profile, [command(views[0])])  # into the page cache
    for view in views:
        ours, theirs = best_of_shell(profile, [command(view)], times), None
        has_room = expected.get(view, 0) < memory_left()
        if python and has_room:
            theirs = best_of_tensorflow(python, profile, view, times)
        measured[view] = ours, theirs and (theirs[0] + theirs[1], theirs[2])
        line = f"  {view:6s} "
        line += f"tfprof {ours[0]:6.3f} CPU s {ours[1] / 1e6:4.0f} MB" if ours else "tfprof failed"
        if theirs:
            line += f"   TensorFlow {theirs[0]:.2f} + {theirs[1]:.2f} CPU s {theirs[2] / 1e6:6.0f} MB"
        elif python:
            line += "   TensorFlow crashed" if has_room else f"   TensorFlow would need {expected[view] / 1e9:.1f} GB"
        if ours and theirs:
            line += f"   {(theirs[0] + theirs[1]) / ours[0]:.1f} times, memory {theirs[2] / ours[1]:.0f} times"
        print(line, flush=True)
        if ours:
            tell(profile, view, times, ours, measured[view][1])
    return measured


def growth(sizes):
    """Time and memory per node of each size, given as (nodes, measured): linear is the same for all."""
    for view in sizes[0][1]:
        for engine, name in enumerate(("tfprof", "TensorFlow")):
            known = [(nodes, measured[view][engine]) for nodes, measured in sizes if measured[view][engine]]
            if len(known) > 1:
                told = "; ".join(f"{1e6 * facts[0] / nodes:.1f} us and {facts[1] / nodes:.0f} bytes of {nodes}"
                                 for nodes, facts in known)
                print(f"  per node, {view:6s} {name:10s} {told}")
            for nodes, facts in known if engine == 0 else ():
                of = f"of {figures.count(nodes)}"
                figures.tell("peers", f"`{view}`, processor time for a node {of}", 1e6 * facts[0] / nodes, "µs",
                             "tensorflow_engine.py")
                figures.tell("peers", f"`{view}`, memory for a node {of}", facts[1] / nodes / 1e3, "kB",
                             "tensorflow_engine.py")


def count_nodes(profile):
    """As tfprof counts them, scopes left out."""
    done = subprocess.run([BUILD / "tfprof", "--format", "csv", f"--profile_path={profile}"], capture_output=True,
                          text=True, input="SELECT count(*) FROM nodes WHERE NOT is_scope;", check=True)
    return int(done.stdout.split()[-1])


def measure(profile, nodes, arguments, sizes):
    """Measures one size and adds it to those before."""
    views = arguments.views.split(",")
    print(f"{nodes} nodes, {os.path.getsize(profile) / 1e6:.0f} MB")
    expected = {}
    if sizes:
        before, measured = sizes[-1]
        expected = {view: theirs[1] * nodes / before for view, (_, theirs) in measured.items() if theirs}
    sizes.append((nodes, compare(profile, views, arguments.python, arguments.times, expected)))
    further_views(profile, [view for view in views if view != "advise"], arguments.times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python")
    parser.add_argument("--nodes", default="50000,200000")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--profile", action="append", default=[])
    parser.add_argument("--views", default="scope,op,graph,code,advise")
    parser.add_argument("--times", type=int, default=3)
    arguments = parser.parse_args()
    sizes = []
    for profile in arguments.profile:
        measure(profile, count_nodes(profile), arguments, sizes)
    for nodes in () if arguments.profile else (int(number) for number in arguments.nodes.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            profile = os.path.join(folder, "profile")
            making = [sys.executable, HERE / "make_tf_profile.py", profile, str(nodes), str(arguments.steps)]
            subprocess.run(making, check=True)
            measure(profile, nodes, arguments, sizes)
    growth(sizes)


main()
