"""Whether dormant programs of JAX, TensorFlow and PyTorch stay as they are while they are attached to for hours.

  python tests/bench/soak.py [--minutes 120] [--every 60] [--steps 5] [--only jax,torch] [--rows FILE] [--width 32]

TFPROF_JAX_PYTHON, TFPROF_TENSORFLOW_PYTHON and TFPROF_PYTHON name the Pythons that have them; TFPROF_BUILD the build.
Each program ends a step in some 50 ms, of which it sleeps nearly all, and is attached to once each --every seconds, for
so many steps into a run of its own, which must hold them and is removed. Before each attach, what the process takes is
written as a row of CSV (--rows; without it to standard output): resident memory and of it what is no file (kB), open
descriptors of its own and those that only threads of the recorder have, threads, what it has in /dev/shm and how many
entries the runtime directory has, its processor time (s), how long the attach took (s), its exit status and the steps
that were in its file.

At the end: by how much the memory grows with each attach, by least squares, with an error from leaving out one eighth
of the time after the other (what one moment and the next share is in it), without the first half, in which caches fill;
the least and most descriptors, threads and entries of the second half beside the first of all. The exit status is 1
where an attach failed, one of these is more at the end than after the first attaches, or memory grows by more than
three times its error and a kB an attach. SIGINT and SIGTERM end it earlier, in order.
"""

import argparse
import csv
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import figures

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(os.environ.get("TFPROF_BUILD") or os.path.join(HERE, "..", "..", "build"))
PROGRAM = os.path.join(HERE, "frameworks_program.py")
PYTHONS = {"jax": "TFPROF_JAX_PYTHON", "tensorflow": "TFPROF_TENSORFLOW_PYTHON", "torch": "TFPROF_PYTHON"}
PAUSE, START_SECONDS, ATTACH_SECONDS = 0.05, 180, 120
COUNTED = ("descriptors", "own_descriptors", "threads", "shm_files", "runtime_entries")
# How figures call them.
FRAMEWORK_NAMES = {"jax": "JAX", "tensorflow": "TensorFlow", "torch": "PyTorch"}
COUNTED_NAMES = ("Open descriptors", "Open descriptors of the recorder", "Threads", "Files in `/dev/shm`",
                 "Entries of the runtime directory")
COLUMNS = ("minute", "framework", "attaches", "rss_kb", "anon_kb", *COUNTED, "shm_bytes", "processor_s", "attach_s",
           "status", "steps")


def descriptors_of(process):
    """(those of the program, those of threads that have a table of their own, as the recorder's have)"""
    def count(thread):
        return len(os.listdir("/proc/%d/task/%s/fd" % (process, thread)))

    own = 0
    for thread in os.listdir("/proc/%d/task" % process):
        try:
            with open("/proc/%d/task/%s/comm" % (process, thread)) as file:
                own += count(thread) if file.read().startswith("tfprof-") else 0
        except FileNotFoundError:  # it has ended
            pass
    return count(process), own


class Program:
    """A dormant program and what it has taken so far."""

    def __init__(self, framework, options, directory, runtime):
        self.framework, self.options, self.runtime, self.rows = framework, options, runtime, []
        self.directory = os.path.join(directory, framework)
        self.run = os.path.join(self.directory, "run")
        os.mkdir(self.directory)
        python = os.environ.get(PYTHONS[framework]) or sys.executable
        self.launcher = subprocess.Popen(
            [os.path.join(BUILD, "tfprof-capture"), "--dormant", "-q", "-o", self.run, "--", python, PROGRAM, framework,
             str(options.width), str(PAUSE)],
            stdin=subprocess.PIPE, env=dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", XDG_RUNTIME_DIR=runtime))
        self.process, self.attaches, self.last = None, 0, (0.0, 0, 0)

    def wait_until_listed(self):
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            listed = self.tell("--list").stdout.splitlines()[1:]
            with open("/proc/%d/task/%d/children" % (self.launcher.pid, self.launcher.pid)) as file:
                children = file.read().split()
            found = [row.split() for row in listed if row.split()[0] in children]
            if found and int(found[0][2 if found[0][1] == "-" else 4]) > 5:
                self.process = int(found[0][0])
                return
            time.sleep(1)
        raise SystemExit("%s: the program ends no steps" % self.framework)

    def tell(self, *words):
        return subprocess.run([os.path.join(BUILD, "tfprof-capture"), *words], text=True, capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=ATTACH_SECONDS,
                              env=dict(os.environ, XDG_RUNTIME_DIR=self.runtime))

    def look(self, minute):
        with open("/proc/%d/status" % self.process) as file:
            status = dict(re.findall(r"^(\w+):\s+(\d+)", file.read(), re.M))
        with open("/proc/%d/stat" % self.process) as file:
            ticks = sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13]))
        descriptors, own = descriptors_of(self.process)
        kept = glob.glob("/dev/shm/tfprof-*/%d-*" % self.process)
        shm_bytes = sum(os.stat(path).st_blocks * 512 for path in kept)
        row = dict(zip(COLUMNS, (
            "%.2f" % minute, self.framework, self.attaches, int(status["VmRSS"]), int(status["RssAnon"]), descriptors,
            own, int(status["Threads"]), len(kept), len(glob.glob(self.runtime + "/*/*")), shm_bytes,
            "%.2f" % (ticks / os.sysconf("SC_CLK_TCK")), *self.last)))
        self.rows.append(row)
        return row

    def attach(self):
        """What is recorded is removed again: the run stays as small as it is."""
        output = os.path.join(self.directory, "attached")
        began = time.monotonic()
        try:
            answer = self.tell("--attach", str(self.process), "--steps", str(self.options.steps), "-o", output)
            status, said = answer.returncode, answer.stderr
        except subprocess.TimeoutExpired:
            status, said = -1, "no answer within %d s" % ATTACH_SECONDS
        took = time.monotonic() - began
        steps = subprocess.run([os.path.join(BUILD, "tfprof"), "--format", "csv", output,
                                "SELECT count(*) FROM steps"], text=True, capture_output=True).stdout
        steps = int(steps.split()[1]) if len(steps.split()) > 1 else 0
        if status or steps < self.options.steps:
            print("%s: attach %d ended with %d, %d steps: %s"
                  % (self.framework, self.attaches + 1, status, steps, said), file=sys.stderr, flush=True)
        shutil.rmtree(output, ignore_errors=True)
        self.attaches += 1
        self.last = ("%.2f" % took, status, steps)

    def end(self):
        self.launcher.stdin.close()
        self.launcher.wait()


# ---- What the rows say.


def slope_of(points):
    """By least squares."""
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread if spread else 0.0


def slope_and_error(points, parts=8):
    left_out = [slope_of([p for i, p in enumerate(points) if i * parts // len(points) != part])
                for part in range(parts)] if len(points) >= 2 * parts else []
    if not left_out:
        return slope_of(points), float("nan")
    mean = sum(left_out) / parts
    return slope_of(points), ((parts - 1) / parts * sum((one - mean) ** 2 for one in left_out)) ** 0.5


def tell(program, failed, percent, every):
    """What was measured, as data."""
    rows, command = program.rows[1:], "soak.py --every %g" % every
    last, of = rows[len(rows) // 2:], "a process of %s" % FRAMEWORK_NAMES[program.framework]

    def one(what, value, unit, **more):
        figures.tell("attaching", "%s, every %g s" % (what, every), value, unit, command, trials=program.attaches,
                     **more)

    one("Attaches that failed to %s" % of, failed, "")
    one("Processor time of %s, steps and attaches included, of one processor" % of, percent, "%")
    one("Memory of %s after all attaches" % of, (rows[-1]["rss_kb"] - rows[0]["rss_kb"]) / 1024, "MiB more")
    slope, error = slope_and_error([(row["attaches"], row["rss_kb"]) for row in last])
    more = {"error": error} if error == error else {}
    one("Memory of %s for each attach, in the second half" % of, slope, "kB more", **more)
    for name, called in zip(COUNTED, COUNTED_NAMES):
        one("%s of %s that came since the first attach" % (called, of), rows[-1][name] - rows[0][name], "")


def conclude(program, steps):
    """Whether it stayed as it was."""
    rows = program.rows[1:]  # the first one is from before the first attach
    if len(rows) < 4:
        print("%s: too few attaches to say anything" % program.framework)
        return False
    failed = sum(row["status"] != 0 or row["steps"] < steps for row in rows)
    last = rows[len(rows) // 2:]
    is_flat = not failed
    processor_s = float(rows[-1]["processor_s"]) - float(rows[0]["processor_s"])
    minutes = float(rows[-1]["minute"]) - float(rows[0]["minute"])
    print("%s: %d attaches, %d of them failed, in %.0f minutes; an attach takes %.2f s (median); %.1f %% of a processor"
          % (program.framework, program.attaches, failed, minutes,
             sorted(float(row["attach_s"]) for row in rows)[len(rows) // 2], processor_s / minutes / 60 * 100))
    tell(program, failed, processor_s / minutes / 60 * 100, program.options.every)
    for name in ("rss_kb", "anon_kb"):
        slope, error = slope_and_error([(row["attaches"], row[name]) for row in last])
        grows = slope > 1 and slope > 3 * error
        is_flat &= not grows
        print("  %-16s first %d, last %d; %+.2f ± %.2f kB an attach%s"
              % (name, rows[0][name], rows[-1][name], slope, error, ": grows" if grows else ""))
    for name in COUNTED:
        values = [row[name] for row in last]
        grows = min(values) > max(row[name] for row in rows[:2])
        is_flat &= not grows
        print("  %-16s first %d, then %d to %d%s" % (name, rows[0][name], min(values), max(values),
                                                     ": grows" if grows else ""))
    return is_flat


def stop(number, frame):
    raise KeyboardInterrupt


def watch(programs, options, rows):
    began = time.monotonic()
    for turn in range(int(options.minutes * 60 / options.every) + 1):
        time.sleep(max(0.0, began + turn * options.every - time.monotonic()))
        for program in programs:
            rows.writerow(program.look((time.monotonic() - began) / 60))
        options.rows.flush()
        for program in programs:
            program.attach()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=120)
    parser.add_argument("--every", type=float, default=60)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--only", default=",".join(PYTHONS))
    parser.add_argument("--rows", type=argparse.FileType("w"), default=sys.stdout)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, stop)
    with tempfile.TemporaryDirectory(prefix="tfprof-bench-") as directory:
        runtime = os.path.join(directory, "runtime")
        os.mkdir(runtime, 0o700)
        programs = [Program(framework, options, directory, runtime) for framework in options.only.split(",")]
        rows = csv.DictWriter(options.rows, COLUMNS)
        rows.writeheader()
        try:
            for program in programs:
                program.wait_until_listed()
            watch(programs, options, rows)
        except KeyboardInterrupt:
            pass
        are_flat = [conclude(program, options.steps) for program in programs]
        for program in programs:
            program.end()
    return 0 if all(are_flat) else 1


if __name__ == "__main__":
    sys.exit(main())
