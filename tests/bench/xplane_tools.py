#!/usr/bin/env python3
"""xplane_tools.py: views of an XPlane file from cold processes, beside XProf's converters and xprof-rs.

    xplane_tools.py FILE.xplane.pb [--xprof PYTHON] [--xprof-rs PROGRAM] [--times 3] [--build DIRECTORY] [--only VIEW]

make_xplane.py writes such a file.  PYTHON is one that has xprof of PyPI; PROGRAM is xprof-rs of PyPI.  Each line is a
view: time that passes and processor time of the fastest of `times` runs (of the peers one, which are slow), and the
most memory of any.  Each process opens the file by itself; what XProf keeps beside a file is thrown away before.
XProf's time is of the call alone, without the import of TensorFlow.  The load is told first and last.
"""

import argparse
import os
import subprocess
import sys
import tempfile

import figures

# view of tfprof, tool of XProf, command of xprof-rs
VIEWS = (
    ("xprof_overview", "overview_page", "get_overview"),
    ("xprof_op_stats", "framework_op_stats", None),
    ("xprof_kernel_stats", "kernel_stats", "get_kernel_stats"),
    ("memory_summary", "memory_profile", "get_memory_profile"),
    ("memory_breakdown", None, None),
    ("memory_timeline", None, None),  # every event, where XProf draws a thousand moments
    ("input_summary", "input_pipeline_analyzer", None),
    ("timeline", "trace_viewer", None),
)
XPROF = """
import sys, time
from xprof.convert import raw_to_tool_data
path, tool = sys.argv[1:]
began, used = time.monotonic(), time.process_time()
data, _ = raw_to_tool_data.xspace_to_tool_data([path], tool, {})
print("%f %f %d" % (time.monotonic() - began, time.process_time() - used, len(data or "")))
"""


def run(command, **options):
    """(seconds, seconds of processors, MB, output) of a process."""
    read, write = os.pipe()
    began = os.times().elapsed
    process = subprocess.Popen(command, stdout=write, stderr=subprocess.DEVNULL, **options)
    os.close(write)
    with os.fdopen(read, "rb") as stream:
        output = stream.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        return None
    return os.times().elapsed - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, output


def best(runs):
    runs = [one for one in runs if one]
    return tuple(pick(one[i] for one in runs) for i, pick in enumerate((min, min, max))) if runs else None


def told(name, figures, base=None):
    if not figures:
        return f"{name} failed"
    ratio = f" ({figures[0] / base[0]:.1f} times the time, {figures[2] / base[2]:.1f} times the memory)" if base else ""
    return f"{name} {figures[0]:.2f} s, {figures[1]:.2f} CPU s, {figures[2]:.0f} MB{ratio}"


def tell(size, what, ours, others):
    """The figures of a view as data; others: {tool: figures}."""
    if not ours:
        return
    for i, of, unit in ((0, "time that passes", "s"), (1, "processor time", "CPU s"), (2, "memory", "MB")):
        compared = [{"with": name, "value": figures.rounded(its[i])} for name, its in others.items() if its]
        figures.tell("peers", f"XPlane file of {size:.0f} MB: {what}, {of}", ours[i], unit, "xplane_tools.py FILE",
                     **({"compared": compared} if compared else {}))


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("--xprof")
    parser.add_argument("--xprof-rs")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--build", default=os.path.join(here, "..", "..", "build"))
    parser.add_argument("--only", action="append")
    options = parser.parse_args()
    tfprof, path = os.path.join(options.build, "tfprof"), os.path.realpath(options.file)
    print(f"load {os.getloadavg()[0]:.1f}; {os.path.getsize(path) / 1e6:.0f} MB")
    opened = best(run([tfprof, path, "SELECT 1"]) for _ in range(options.times))
    print(told("opened, with the start of the program:", opened))
    size = os.path.getsize(path) / 1e6
    tell(size, "opened, with the start of the program", opened, {})
    for view, tool, command in VIEWS:
        if options.only and view not in options.only:
            continue
        with tempfile.TemporaryDirectory(prefix="tfprof-bench-") as directory:
            json = os.path.join(directory, "timeline.json")
            sql = f"SELECT tfprof_timeline('{json}')" if view == "timeline" else f"SELECT * FROM {view}"
            ours = best(run([tfprof, "--format", "csv", path, sql]) for _ in range(options.times))
            line, others = [told(f"{view}: tfprof", ours)], {}
            profiles = os.path.join(directory, "plugins", "profile", "run")
            os.makedirs(profiles)
            linked = os.path.join(profiles, "host.xplane.pb")
            os.symlink(path, linked)
            if options.xprof and tool:
                one = run([options.xprof, "-c", XPROF, linked, tool])
                if one:
                    seconds, used, length = one[3].split()[-3:]
                    one = (float(seconds), float(used), one[2])
                    tool += f" ({int(length) / 1e6:.0f} MB)"
                line.append(told(f"XProf's {tool}", one, ours))
                others["XProf"] = one
            if options.xprof_rs and command:
                for name in os.listdir(profiles):
                    if name != "host.xplane.pb":
                        os.unlink(os.path.join(profiles, name))
                others["xprof-rs"] = run([options.xprof_rs, command, linked])
                line.append(told(f"xprof-rs {command}", others["xprof-rs"], ours))
            print("; ".join(line), flush=True)
            tell(size, f"`{view}`" if view != "timeline" else "as JSON for timeline viewers", ours, others)
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    sys.exit(main())
