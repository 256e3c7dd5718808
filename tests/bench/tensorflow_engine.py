#!/usr/bin/env python3
"""tensorflow_engine.py: TensorFlow's own profiler and tfprof on the same ProfileProto, in the same run.

    tensorflow_engine.py [--python PYTHON] [--nodes N] [--steps N] [--profile FILE] [--views scope,op,graph,code,advise]

PYTHON is one with tensorflow (python3 -m venv tf && tf/bin/pip install tensorflow-cpu). CPU seconds and peak memory of
loading and one view, written to a file: of TensorFlow without its import, of tfprof with the start of the process. Then
each further view of tfprof in one process, by SQL. Run on an idle machine.
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

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("TFPROF_BUILD", HERE.parents[1] / "build"))

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


def of_tensorflow(python, profile, view):
    """(CPU seconds of loading and of the view, peak bytes above the import), or None where it failed."""
    environment = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1")
    done = subprocess.run([python, "-c", TENSORFLOW, profile, view], env=environment, capture_output=True, text=True)
    facts = [line for line in done.stdout.splitlines() if line.startswith("facts ")]
    if not facts:
        return None
    load, run, kilobytes = json.loads(facts[0][6:])
    return load, run, kilobytes * 1024


def of_shell(profile, view):
    """(CPU seconds, peak bytes) of one process that opens the profile and writes the view; None where it failed."""
    words = [BUILD / "tfprof", view, f"--profile_path={profile}"]
    if view != "advise":
        words += ["-output", f"file:outfile={os.devnull}"]
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, facts = os.wait4(child.pid, 0)
    child.returncode = status
    return None if status else (facts.ru_utime + facts.ru_stime, facts.ru_maxrss * 1024)


def used():
    facts = resource.getrusage(resource.RUSAGE_SELF)
    return facts.ru_utime + facts.ru_stime


def further_views(profile, views):
    """CPU milliseconds of each view in one connection, the text of all lines taken; the profile is open and the first view
    has been asked for."""
    db = sqlite3.connect(":memory:")
    if not hasattr(db, "enable_load_extension"):  # a Python that was built without it
        try:
            import apsw
        except ImportError:
            print("  by SQL: needs a Python whose sqlite3 loads extensions, or apsw")
            return
        db = apsw.Connection(":memory:")
    db.enable_load_extension(True)
    db.load_extension(str(BUILD / "tfprof"))
    before = used()
    db.execute("SELECT tfprof_open(?)", (profile,)).fetchall()
    opened = used()
    print(f"  by SQL, opening                       {1000 * (opened - before):8.0f} ms")
    for turn, order in enumerate(("name", "micros", "bytes")):
        for view in views:
            before = used()
            count = db.execute(f"SELECT count(displayed_text) FROM {view}_view WHERE order_by = ?", (order,)).fetchone()[0]
            what = "the first view" if turn == 0 and view == views[0] else "a further view"
            print(f"  by SQL, {what}: {view:5s} by {order:6s} {1000 * (used() - before):8.1f} ms, {count} lines")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python")
    parser.add_argument("--nodes", type=int, default=50000)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--profile")
    parser.add_argument("--views", default="scope,op,graph,code")
    arguments = parser.parse_args()
    views = arguments.views.split(",")
    with tempfile.TemporaryDirectory() as folder:
        profile = arguments.profile or os.path.join(folder, "profile")
        if not arguments.profile:
            subprocess.run([sys.executable, HERE / "make_tf_profile.py", profile, str(arguments.nodes), str(arguments.steps)],
                           check=True)
        print(f"{os.path.getsize(profile) / 1e6:.0f} MB")
        for view in views:
            of_shell(profile, view)  # into the page cache
            ours = of_shell(profile, view)
            theirs = of_tensorflow(arguments.python, profile, view) if arguments.python else None
            line = f"  {view:6s} "
            line += f"tfprof {ours[0]:6.3f} CPU s {ours[1] / 1e6:6.0f} MB" if ours else "tfprof failed"
            if theirs:
                line += f"   TensorFlow {theirs[0]:.2f} + {theirs[1]:.2f} CPU s {theirs[2] / 1e6:6.0f} MB"
            elif arguments.python:
                line += "   TensorFlow crashed"
            if ours and theirs:
                line += f"   ratio {(theirs[0] + theirs[1]) / ours[0]:.1f}, memory {theirs[2] / ours[1]:.0f}"
            print(line, flush=True)
        further_views(profile, [view for view in views if view != "advise"])


main()
