#!/usr/bin/env python3
"""run.sh without a GPU: all of it on the doubles, where programs/workload_double.c stands for PyTorch; checks that do
what they should not end no other; and what figures mean.
"""

import collections
import contextlib
import json
import os
import signal
import subprocess
import sys
import time

import playing
from playing import capturing

HERE = os.path.dirname(os.path.abspath(__file__))
WORKLOAD = os.path.join(capturing.BUILD, "tests", "workload_double")
os.environ["TFPROF_BUILD"] = os.path.abspath(capturing.BUILD)
import visit_runner  # noqa: E402
import visit_verdicts as verdicts  # noqa: E402
import visit_first  # noqa: E402
import visit_costs  # noqa: E402,F401
import visit_likeness  # noqa: E402,F401
import visit_others  # noqa: E402,F401

CUPTI = os.path.join(playing.DOUBLES, "cupti13.0")
PYTHON = """#!/bin/sh
case $1 in
  *workload.py) shift; exec "%s" "$@" ;;
esac
exec "%s" "$@"
""" % (WORKLOAD, sys.executable)


def program(directory, name, text):
    path = os.path.join(directory, name)
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, 0o700)
    return path


def summary(out):
    """{check: line}, in their order; each is whole."""
    with open(os.path.join(out, "summary.json")) as file:
        lines = [json.loads(line) for line in file]
    for line in lines:
        assert {"check", "verdict", "why", "expectation", "figures", "seconds", "commit", "time"} == set(line), line
        assert line["verdict"] in visit_runner.VERDICTS and (line["why"] or line["verdict"] == "yes"), line
    assert len({line["check"] for line in lines}) == len(lines), lines
    return {line["check"]: line for line in lines}


def check_files(out):
    files = [os.path.join(out, name) for name in os.listdir(out)]
    assert len(files) <= 8 and all(os.path.getsize(path) < 16 << 20 for path in files), files


def visited(directory, *options, status=None, version="13.0", **settings):
    """What run.sh left, on the doubles."""
    out = os.path.join(directory, "out")
    environment = playing.environment(version, PATH="/usr/bin:/bin", TMPDIR=directory, DOUBLE_SHORTER="80",
                                      DOUBLE_KERNEL_NS="4000", DOUBLE_CALL_NS="3000",
                                      **{"TFPROF_CUPTI": CUPTI, **settings})
    words = ["--build", capturing.BUILD, "--out", out, "--python", program(directory, "python", PYTHON), *options]
    result = capturing.bounded.run([os.path.join(HERE, "run.sh"), *words], capturing.SECONDS, env=environment)
    assert status is None or result.returncode == status, (result.stdout, result.stderr)
    check_files(out)
    return summary(out), result.stdout


def test_all():
    """Each check has its line; those that no time of this machine's decides are as expected."""
    with capturing.Directory() as directory:
        lines, output = visited(directory, "--commit", "a commit", status=1)
        assert list(lines) == [one.name for one in visit_runner.checks], lines
        assert all(line["commit"] == "a commit" for line in lines.values())
        found = {name: line["verdict"] for name, line in lines.items()}
        assert not {"not run"} & set(found.values()), found
        for name in ("profiler_inside", "compare_small", "compare_eager", "compare_graph", "compare_graph_again",
                     "cupti_finalised"):
            assert found[name] == "yes", lines[name]
        assert lines["compare_small"]["figures"]["kernels"] == 19 * 4, lines["compare_small"]
        for name in ("compare_small", "compare_graph_again"):
            assert lines[name]["figures"]["linked_ratio"] == 1, lines[name]
        first = lines["first"]["figures"]
        assert first["rows"]["kernels"] == 4 * first["rows"]["steps"] > 0 and not first["problems"], first
        assert not first["kernels_early"] + first["calls_twice"] + first["kernels_without_call"], first
        assert visit_first.seconds_told("of GPUs up to 20.0 ms before its end", "of GPUs up to") == 0.02
        killed = lines["kill"]["figures"]
        assert killed["kernels"] and "signal 9" in killed["told"] and killed["lost_kernels_of_a_thread_s"] < 5, killed
        costs = lines["overhead_small"]["figures"]
        assert len(costs["off_ms"]) == len(costs["on_ms"]) == len(costs["profiled_ms"]) == 2, costs
        recorder = costs["recorder"]
        assert recorder["steps_with_kernels"] == recorder["steps"] > 0 and recorder["thinned"] == [], recorder
        launches = lines["launch_cost"]["figures"]
        assert launches["kernels_1"] == launches["launched_1"] > 0 == launches["lost_1"], launches
        more = {name: ns - launches["ns_a_launch_1"]["none"] for name, ns in launches["ns_a_launch_1"].items()}
        assert more["kernels"] > 2000 > more["off"], more
        assert more["lasting"] < 2000 < more["calls"], more  # calls are switched off
        with open(os.path.join(directory, "out", "cupti-records.jsonl")) as file:
            records = [json.loads(line) for line in file]
        names = {one["name"] for one in records if one.get("kind") == 10}
        assert records[0]["version"] == 130001 and names == {"empty"}, records
        assert all(len(one["record"]) == 2 * one["bytes"] for one in records[1:]), records
        replayed(os.path.join(directory, "out", "cupti-records.jsonl"), records[1:])
        assert "no counters of the device" in lines["memory_and_counters"]["why"], lines["memory_and_counters"]
        assert found["jax"] == found["nsys"] == "cannot be told", found
        assert lines["keep"]["figures"]["recording"] is True, lines["keep"]
        for name in lines:
            assert f"\n{name} " in output and f"== {name}: " in output, output


def replayed(path, records):
    """What a visit kept of CUPTI can be played to the recorder: each record is a row again, with its times."""
    with capturing.Directory() as directory:
        run = os.path.join(directory, "run")
        output, _ = capturing.launch(run, [os.path.join(capturing.BUILD, "tests", "replay"), path], ["-q"], 0,
                                     playing.environment())
        counts = collections.Counter(str(one["kind"]) for one in records)
        assert json.loads(output) == counts, (output, counts)
        (dump,) = [capturing.summary(dump) for dump in capturing.dumps(run)]
        calls = sum(one["kind"] == 4 and not one["record"].startswith("0400000002000000") for one in records)
        assert dump["rows"]["kernels"] == counts["10"] > 0, (dump, counts)
        assert dump["rows"]["api_calls"] == calls > 0, (dump, calls)  # that of cuDriverGetVersion is the recorder's own
        (row,) = playing.query(run, """SELECT min(name) AS first, max(name) AS last, sum(start_ns IS NULL) AS unknown,
                                       sum(api_call_id IS NULL) AS alone FROM kernels""")
        assert row == {"first": "empty", "last": "empty", "unknown": 0, "alone": 0}, row


def test_machine():
    """CUPTI that does not begin, or that is too new for the driver: why, and what to do."""
    for version, settings, why, remedy in (
            ("13.0", {"DOUBLE_SUBSCRIBE": "35"}, "only administrators", "NVreg_RestrictProfilingToAdminUsers=0"),
            ("12.4", {}, "the driver is for CUDA 12.4", "update it, or use the CUPTI of CUDA 12")):
        with capturing.Directory() as directory:
            lines, _ = visited(directory, "--only", "machine", version=version, **settings)
            (line,) = lines.values()
            assert line["verdict"] == "no" and why in line["why"] and remedy in line["why"], line


def test_faults():
    """What a GPU that does so would be told of."""
    for fault, name, verdict, why in (
            ("lost", "compare_small", "no", "kernel 'lost_kernel': 0 against 19"),
            ("graphs", "compare_graph_again", "yes", ""),
            ("slow", "profiler_inside", "no", "the same kernels take 2.60 times as long after it as before it"),
            ("crash", "first", "cannot be told", "it was not recorded then"),
            ("crash_recorded", "first", "no", "a program that was recorded was harmed: it ended with")):
        with capturing.Directory() as directory:
            lines, _ = visited(directory, "--only", name, DOUBLE_FAULT=fault, status=int(verdict == "no"))
            assert list(lines) == [name] and lines[name]["verdict"] == verdict and why in lines[name]["why"], lines
            assert fault != "graphs" or lines[name]["figures"]["linked_ratio"] == 0, lines
    with capturing.Directory() as directory:  # of a later CUPTI that does so it is not expected
        lines, _ = visited(directory, "--only", "compare_graph_again", DOUBLE_FAULT="graphs", status=1,
                           DOUBLE_TOLD_VERSION=130101)
        assert "op of kernel ('kernel_0', 'replay'): 0 against 19" in lines["compare_graph_again"]["why"], lines


# ---- Checks that do what they should not.

CHECKS = """
import os, signal, subprocess, sys, time
sys.path.insert(0, %r)
import visit_runner
from visit_runner import check
visit_runner.GRACE_SECONDS = 0.2

def fine(figures):
    return [], []

def add(name, limit=60, judge=fine):
    return check(name, 0, limit, "an expectation", judge)

@add("first")
def first(visit):
    visit.note(number=1, none=float("nan"), long="x" * 10000)
    print("this is in the log")

@add("crashes")
def crashes(visit):
    visit.note(number=2)
    os.abort()

@add("raises")
def raises(visit):
    raise ValueError("no such thing")

@add("hangs", 0.3)
def hangs(visit):
    visit.note(number=3)
    time.sleep(1000)

@add("is_deaf", 0.3)
def is_deaf(visit):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    subprocess.Popen(["sh", "-c", "trap '' TERM; echo $$ >%%s; exec sleep 1000" %% (visit.out + "/pid")],
                     start_new_session=True)
    while True:
        time.sleep(1)

@add("waits", 1000)
def waits(visit):
    with open(visit.out + "/pid", "w") as file:
        print(os.getpid(), file=file)
    time.sleep(1000)

@add("talks_nonsense")
def talks_nonsense(visit):
    visit.told.write("{ nonsense\\n" * 1000)

@add("cannot_be_judged", judge=lambda figures: ([figures["what"]], []))
def cannot_be_judged(visit):
    pass

@add("floods")
def floods(visit):
    for _ in range(8):
        os.write(1, b"a flood\\n" * (1 << 17))

@add("keeps_much")
def keeps_much(visit):
    large = visit.path("large")
    with open(large, "w") as file:
        file.truncate(20 << 20)
    small = visit.path("small")
    open(small, "w").close()
    visit.note(large=visit.keep(large), small=[visit.keep(small, str(i)) for i in range(10)])

@add("harms")
def harms(visit):
    visit.run(["/bin/sh", "-c", "test -z $TFPROF_RUN_DIRECTORY"], recorded=visit.path("run"))

@add("fails_alone")
def fails_alone(visit):
    visit.run(["/bin/false"], recorded=visit.path("run"))

@add("hangs_recorded")
def hangs_recorded(visit):
    visit.run(["/bin/sh", "-c", "test -z $TFPROF_RUN_DIRECTORY || exec sleep 1000"], 3, visit.path("run"))

@add("says_why")
def says_why(visit):
    visit.run(["/bin/sh", "-c", "echo first >&2; echo because >&2; exit 3"])

@add("last", judge=lambda figures: (["it is wrong"], ["it is unknown"]))
def last(visit):
    visit.note(number=4)

sys.exit(visit_runner.main())
""" % HERE

EXPECTED = {
    "first": ("yes", ""), "crashes": ("cannot be told", "the check failed: it ended with SIGABRT"),
    "raises": ("cannot be told", "the check failed: ValueError: no such thing"),
    "hangs": ("cannot be told", "the check failed: it was not over after 0.3 s"),
    "is_deaf": ("cannot be told", "the check failed: it was not over after 0.3 s"),
    "talks_nonsense": ("cannot be told", "the check failed: what it told cannot be read"),
    "cannot_be_judged": ("cannot be told", "the figures make no sense: KeyError: 'what'"),
    "floods": ("yes", ""), "keeps_much": ("yes", ""),
    "harms": ("no", "a program that was recorded was harmed: it ended"),
    "fails_alone": ("cannot be told", "it ended with exit status 1: /bin/false; it was not recorded then"),
    "hangs_recorded": ("no", "a program that was recorded was harmed: it was not over after 3 s: "),
    "says_why": ("cannot be told",
                 "it ended with exit status 3: /bin/sh -c 'echo first >&2; echo because >&2; exit 3': because"),
    "last": ("no", "it is wrong; it is unknown"),
}


def started(directory, *options):
    script = program(directory, "checks.py", CHECKS)
    out = os.path.join(directory, "out")
    return capturing.bounded.started([sys.executable, script, "--out", out, "--commit", "a commit", *options],
                                     env=dict(os.environ, TMPDIR=directory), stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT, text=True), out


def test_each_ends_itself_only():
    with capturing.Directory() as directory:
        running, out = started(directory, "--only", ",".join(EXPECTED))
        with running as process:
            output, _ = process.communicate(timeout=capturing.SECONDS)
        lines = summary(out)
        assert process.returncode == 1 and list(lines) == list(EXPECTED), (output, lines)
        for name, (verdict, why) in EXPECTED.items():
            assert lines[name]["verdict"] == verdict and lines[name]["why"].startswith(why), lines[name]
        figures = {name: line["figures"] for name, line in lines.items()}
        assert figures["first"]["none"] == "nan" and len(figures["first"]["long"]) < 1000, figures
        assert figures["crashes"] == {"number": 2} and figures["hangs"] == {"number": 3}, figures
        assert not is_alive(read_pid(out)), "a process of a check is left"
        assert figures["keeps_much"] == {"large": False, "small": [True] * 4 + [False] * 6}, figures  # and pid
        check_files(out)
        with open(os.path.join(out, "visit.log")) as file:
            text = file.read()
        assert "this is in the log" in text and "[...]" in text and len(text) < 2 << 20, len(text)


def read_pid(out):
    """Of the process of is_deaf that is in a session of its own."""
    with contextlib.suppress(OSError), open(os.path.join(out, "pid")) as file:
        text = file.read()
        return int(text) if text.endswith("\n") else None


def is_alive(pid):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat") as file:
        return ") Z " not in file.read()
    return False


def test_killed():
    """What was told before the runner is killed is whole, and the check that ran ends."""
    with capturing.Directory() as directory:
        running, out = started(directory, "--only", "first,waits")
        with running as process:
            playing.wait_until(lambda: read_pid(out), "the second check runs")
            process.send_signal(signal.SIGKILL)
            process.wait(timeout=capturing.SECONDS)
            process.stdout.close()
            lines = summary(out)
            assert list(lines) == ["first"] and lines["first"]["verdict"] == "yes", lines
            playing.wait_until(lambda: not is_alive(read_pid(out)), "the second check has ended")


def test_interrupted():
    """What was found is in the table, what runs ends, and the rest is told as not run."""
    with capturing.Directory() as directory:
        running, out = started(directory, "--only", "first,waits,last")
        with running as process:
            playing.wait_until(lambda: read_pid(out), "the second check runs")
            process.send_signal(signal.SIGTERM)
            output, _ = process.communicate(timeout=capturing.SECONDS)
        lines = summary(out)
        assert process.returncode == 0 and "1 yes, 2 not run" in output, output
        assert {name: line["verdict"] for name, line in lines.items()} == {
            "first": "yes", "waits": "not run", "last": "not run"}, lines
        assert not is_alive(read_pid(out)), "the second check has not ended"


def test_limit():
    """For what no time is left is told as not run; --list tells what there is."""
    with capturing.Directory() as directory:
        lines, output = visited(directory, "--only", "first,kill", "--limit", "30")
        assert list(lines) == ["first", "kill"] and lines["first"]["figures"]["rows"]["kernels"], lines
        assert lines["kill"]["verdict"] == "not run" and ", 1 not run" in output, lines
        assert "it takes 25 s, and" in lines["kill"]["why"], lines
    listed = run("--build", capturing.BUILD, "--list")
    assert [line.split()[0] for line in listed.stdout.splitlines()] == [one.name for one in visit_runner.checks], listed
    quick, rest = [run("--build", capturing.BUILD, "--list", how).stdout.splitlines() for how in ("--quick", "--rest")]
    assert sorted(quick + rest) == sorted(listed.stdout.splitlines()) and quick and rest, listed
    assert sum(one.seconds for one in visit_runner.checks if one.is_quick) <= 240
    assert sum(one.seconds for one in visit_runner.checks if not one.is_quick) <= 580
    assert sum(one.seconds for one in visit_runner.checks) <= 840 - visit_runner.MARGIN_SECONDS


def run(*options):
    return subprocess.run([os.path.join(HERE, "run.sh"), *options], capture_output=True, text=True)


def test_usage():
    """What is wrong or missing is named."""
    for options, status, told in ((["--help"], 0, "cmake --build --preset relocatable"),
                                  (["--limit"], 2, "--limit needs a value"), (["--what", "1"], 2, "--build DIR"),
                                  (["--build", "/none"], 2, "no directory"),
                                  (["--build", "/"], 2, "has no tfprof-capture"),
                                  (["--build", capturing.BUILD, "--python", "/none"], 2, "no such Python"),
                                  (["--build", capturing.BUILD, "--only", "first,what"], 2, "there is no check what")):
        result = run(*options)
        assert result.returncode == status and told in result.stdout + result.stderr, (options, result)
        assert (result.stdout == "") == (status == 2), (options, result)


# ---- What figures mean.

ROWS = {name: 5 for name in ("kernels", "api_calls", "transfers", "syncs", "steps", "ops")}
FIRST = {"rows": ROWS, "calls_twice": 0, "kernels_early": 0, "kernels_without_call": 0, "kernels_without_op": 0,
         "clock_error_ns": 900.0, "early_by_ns": None, "problems": []}
EARLY = "capture_degraded: cuda: kernels began before the call that launched them, as CUPTI tells the times of devices"
WAY = "capture_degraded: cuda: degraded: torch.profiler listens to CUDA instead, as the program asked; until it ends"
INSIDE = {"kernels_of_step_before": 4.0, "kernels_of_step_after": 4.0, "duration_ratio": 1.01,
          "own_trace_differences": [], "problems": [WAY]}
KILLED = {"kernels": 9, "lost_kernels_of_a_thread_s": 0.6, "told_kernels_s": 0.6}
STATES = {"none": 2000, "subscribed": 2010, "lasting": 2050, "calls": 2300, "kernels": 2700, "off": 2040}
LAUNCHES = {"ns_a_launch_1": STATES, "ns_a_launch_2": STATES, "switch_ns_1": {"calls": 5e4},
            "switch_ns_2": {"off": 1e5}, "kernels_1": 60, "launched_1": 60, "kernels_2": 120, "launched_2": 120}
COSTS = {"off_ms": [10.0, 10.02], "on_ms": [10.1, 10.15], "profiled_ms": [12.0, 12.2],
         "kernels_of_step_least": 4, "kernels_of_step_most": 4, "longest_ratio": 1.3}
LIKE = {"differences": [], "kernel_time_ratio": 1.02, "step_time_ratio": 1.01}
COUNTED = {"wanted": {"kernels": 4400}, "found": {"kernels": 4400}}
JAX = {"kernels_before": 10, "kernels_after": 10, "own_kernels": 10}
POSSIBLE = {"rows": {"calls": 3}, "impossible": {"a_share_that_is_none": 0}}
MACHINE = {"check_status": 0, "gpu": "H100", "check_cupti": "libcupti.so.13, CUDA 13.0 (version 130001)",
           "refused": None, "check_init": None}
NO_ANSWER = "libcupti.so.13, CUDA 13.3.2, by the package that it came with; it answers 999 when asked for its version"


def test_verdicts():
    """As expected; and with each figure changed: wrong, or not to be told, and why."""
    for judge, figures, changes in (
            (verdicts.machine, MACHINE, (({"check_status": 125}, "no", "ops cannot be recorded"),
                                         ({"check_cupti": NO_ANSWER}, "no", "TFPROF_CUPTI names another copy"),
                                         ({"check_cupti": "libcupti.so.13 does not bear to be asked for its version"},
                                          "no", "TFPROF_CUPTI names another copy"),
                                         ({"check_cupti": MACHINE["check_cupti"] + "; the driver is for CUDA 12.2: "
                                           "update it, or use the CUPTI of CUDA 12"}, "no", "update it, or use"),
                                         ({"check_cupti": "libcupti.so.11, version 12, of before CUDA 11.4: use a "
                                           "later one"}, "no", "use a later one"),
                                         ({"check_cupti": "not found; it comes with the CUDA toolkit"}, "no",
                                          "it comes with the CUDA toolkit"),
                                         ({"check_cupti": "TFPROF_CUPTI is /none, where no libcupti is"}, "no",
                                          "unset TFPROF_CUPTI"),
                                         ({"check_cupti": None}, "no", "visit.log"),
                                         ({"check_init": "cuInit answers 803"}, "no", "cuInit answers 803"),
                                         ({"check_init": "cuInit did not return within 20 s", "gpu": None}, "no",
                                          "cuInit did not return"),
                                         ({"refused": "the driver lets only administrators"}, "no", "only admin"),
                                         ({"gpu": None}, "cannot be told", "sees no GPU"))),
            (verdicts.first, FIRST, (({"rows": {**ROWS, "kernels": 0}}, "no", "there are no kernels"),
                                     ({"calls_twice": 7}, "no", "7 numbers of calls that two calls have"),
                                     ({"kernels_early": 3, "early_by_ns": 950}, "no", "3 kernels that began before"),
                                     ({"kernels_early": 3, "early_by_ns": 950, "clock_error_ns": None}, "no",
                                      "3 kernels that began before"),
                                     ({"clock_error_ns": 2e6}, "no", "off by 2000 µs"),
                                     ({"clock_error_ns": None}, "cannot be told", "clock_error_ns is not known"),
                                     ({"problems": ["capture_degraded: cuda"]}, "no", "capture_degraded: cuda"))),
            (verdicts.profiler_inside, INSIDE,
             (({"duration_ratio": 2.6}, "no", "2.60 times as long after"),
              ({"duration_ratio": None}, "cannot be told", "duration_ratio"),
              ({"kernels_of_step_after": 0}, "no", "0 kernels in a step after it, 4.0 before it"),
              ({"problems": [WAY, "capture_degraded: cuda: records have no times"]}, "no", "records have no times"),
              ({"kernels_without_time": 8}, "no", "8 kernels without a time"),
              ({"own_trace_differences": ["kernel 'a': 0 against 5"]}, "no", "kernel 'a'"))),
            (verdicts.kill, KILLED, (({"kernels": 0}, "no", "no kernel is in the file"),
                                     ({"lost_kernels_of_a_thread_s": 5.0, "told_kernels_s": 5.0}, "no",
                                      "5.0 s before the kill"),
                                     ({"problems": ["capture_dropped: 9"]}, "no", "capture_dropped: 9"),
                                     ({"lost_kernels_of_a_thread_s": 1.4}, "no",
                                      "says 0.6 s are lost, and it is 1.4 s"),
                                     ({"told_kernels_s": None}, "cannot be told", "told_kernels_s"))),
            (verdicts.launch_cost, LAUNCHES,
             (({"ns_a_launch_2": {**STATES, "kernels": 4000}}, "no", "1950 ns of a launch, 2 threads"),
              ({"ns_a_launch_1": {**STATES, "off": 2500}}, "no", "off takes 500 ns of a launch, 1 thread"),
              ({"switch_ns_1": {"kernels": 5e6, "off": 9e7}}, "no", "a switch takes 5.0 ms, 1 thread"),
              ({"switch_ns_2": {"kernels": 5e5, "off": 9e8}}, "no", "stepping aside takes 900.0 ms, 2 threads"),
              ({"kernels_2": 119}, "no", "119 of 120 kernels are recorded, 2 threads"),
              ({"ns_a_launch_1": None}, "cannot be told", "ns_a_launch_1"))),
            (verdicts.overhead, COSTS,
             (({"on_ms": [10.5, 10.5]}, "no", "4.9 % longer"),
              ({"on_ms": [10.5, 10.5], "off_ms": [10.0, 10.4]}, "cannot be told", "without us they differ by 3.9 %"),
              ({"off_ms": [10.0, 10.4]}, "cannot be told", "differ by 3.9 % without us"),
              ({"profiled_ms": [10.0, 10.0]}, "no", "torch.profiler slows them by -0.1 %, we by 1.1 %"),
              ({"kernels_of_step_least": 3}, "no", "some have 3 kernels, and some 4"),
              ({"longest_ratio": 40.0}, "no", "up to 40.0 times as long where it is thinned"),
              ({"problems": ["capture_dropped: 9"]}, "no", "capture_dropped: 9"),
              ({"on_ms": []}, "cannot be told", "no pair"))),
            (verdicts.compared, LIKE, (({"differences": ["19 steps against 20"]}, "no", "19 steps against 20"),
                                       ({"kernel_time_ratio": 2.6}, "no", "kernels take 2.60 times as long"),
                                       ({"problems": [WAY, "capture_dropped: 9"]}, "no", "capture_dropped: 9"),
                                       ({"kernel_time_ratio": None}, "cannot be told", "kernel_time_ratio"))),
            (verdicts.counted, COUNTED, (({"found": {"kernels": 1}}, "no", "1 kernels, where there are 4400"),
                                         ({"found": None}, "cannot be told", "found is not known"))),
            (verdicts.jax, JAX, (({"kernels_after": 0}, "no", "after jax.profiler has ended"),
                                 ({"own_kernels": 0}, "no", "own profile"))),
            (verdicts.possible, POSSIBLE, (({"rows": {"calls": 0}}, "no", "there are no calls"),
                                           ({"impossible": {"a_share": 2}}, "no", "2 times: a share"),
                                           ({"problems": ["capture_dropped: 9"]}, "no", "capture_dropped: 9"))),
            (verdicts.kept, {"recording": True, "driver": True, "buffers": True},
             (({"buffers": False}, "cannot be told", "no buffers is kept"),))):
        one = visit_runner.Check("a check", 0, 0, False, "", None, judge)
        assert visit_runner.judged(one, figures) == ("yes", ""), (judge, visit_runner.judged(one, figures))
        for change, verdict, why in changes:
            found = visit_runner.judged(one, {**figures, **change})
            assert found[0] == verdict and why in found[1], (judge, change, found)
    allowed = {**FIRST, "kernels_early": 3, "early_by_ns": 800, "problems": [EARLY + " (3 times)"]}
    assert verdicts.first(allowed) == ([], []), verdicts.first(allowed)  # by no more than clocks are off
    assert verdicts.compared({**LIKE, "kernel_time_ratio": 2.6, "step_time_ratio": 2.5}) == ([], [])  # clocks


playing.main(globals())
