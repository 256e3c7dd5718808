#!/usr/bin/env python3
"""A program that is bound by launches has its kernels in some steps, which stand for the others, and one that is not
has all of them: programs/launch_steps.c launches as a device and CUPTI would let it.

The program knows how many launches and steps there were, and what CUPTI takes of one; how long a phase goes on is said
by what the recording tells.
"""

import contextlib
import os
import subprocess
import tempfile

import playing
import test_nvml as nvml_double
import visit_costs
from playing import capturing, query
from capturing import Directory, bounded

PROGRAM = os.path.join(capturing.BUILD, "tests", "launch_steps")
LAUNCHES = 200
COST = 4000  # nanoseconds that the double's CUPTI takes for a kernel
BOUND = "%d,8000,1000,%d," % (LAUNCHES, COST)    # the device waits for each launch
HIDDEN = "%d,20000,60000,%d," % (LAUNCHES, COST)  # the device has work for milliseconds
MANY = "%d,10000,60000,%d," % (LAUNCHES, COST)    # so many that it would be too much if it had not
CHATTY = "%d,44000,1000,0," % LAUNCHES           # not so many launches, with other calls that CUPTI records unasked
SELDOM = "%d,500000,1000,%d," % (LAUNCHES // 10, COST)  # the device waits, for launches that are few


class Launching:
    """launch_steps under tfprof-capture; with an NVML that tells of the device."""

    def __init__(self, *phases, options=(), version="13.0", **settings):
        self.phases, self.options, self.version, self.settings = phases, options, version, settings
        self.steps, self.stack = [], contextlib.ExitStack()

    def __enter__(self):
        self.run = os.path.join(self.stack.enter_context(Directory()), "run")
        self.errors = self.stack.enter_context(tempfile.TemporaryFile("w+"))
        cupti = os.path.join(playing.DOUBLES, "cupti" + self.version)
        environment = playing.environment(self.version, TFPROF_CUPTI=cupti, **self.settings)
        nvml = os.path.join(nvml_double.BUILT, "both")
        environment["LD_LIBRARY_PATH"] = os.pathsep.join([nvml, environment["LD_LIBRARY_PATH"]])
        capture = [os.path.join(capturing.BUILD, "tfprof-capture"), "-q", "-o", self.run, *self.options, "--"]
        self.process = self.stack.enter_context(bounded.started(
            [*capture, PROGRAM, *self.phases], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self.errors, text=True))
        return self

    def __exit__(self, *error):
        return self.stack.__exit__(*error)

    def thinnings(self):
        """What was told of it so far, in order."""
        if not capturing.dumps(self.run):
            return []
        return [row["message"] for row in query(self.run, """
            SELECT message FROM diagnostics WHERE reason = 'capture_thinned' AND table_name = 'kernels'""")]

    def calibrated(self):
        """Numbers of the steps whose work was left out, to see what it takes."""
        rows = query(self.run, """
            SELECT number FROM steps JOIN _calibration_steps ON _calibration_steps.step_id = steps.id ORDER BY 1""")
        return [row["number"] for row in rows]

    def value(self, sql):
        (row,) = query(self.run, sql)
        return row["value"]

    def wait(self, is_true, what):
        def has_come():
            assert self.process.poll() is None, self.failure()
            return is_true()
        playing.wait_until(has_come, what, pause=0.4)  # each look reads the whole recording

    def end_phase(self):
        """How many steps it had."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.phase()

    def phase(self):
        line = self.process.stdout.readline()
        assert line.strip().isdigit(), line + self.failure()
        self.steps.append(int(line))
        return self.steps[-1]

    def failure(self):
        self.errors.seek(0)
        return "launch_steps: " + self.errors.read()

    def end(self):
        """How many kernels CUPTI recorded; each is a row."""
        self.process.stdin.close()
        self.process.stdin = None  # a test that fails from here on asks for what is left to read
        output = self.process.stdout.read()  # communicate() would miss what phase() has read ahead
        self.process.wait(timeout=capturing.SECONDS)
        assert self.process.returncode == 0, self.failure()
        (path,) = capturing.dumps(self.run)
        dump, taken = capturing.summary(path), playing.numbers(output)["kernels"]
        # Where recording begins or ends a call may be there without its kernel.
        more = dump["rows"]["api_calls"] - taken
        switched = self.value("SELECT count(*) AS value FROM counters WHERE name = 'capture_calibration'")
        most = len(self.thinnings()) + switched
        assert dump["rows"]["kernels"] == taken and 0 <= more <= most, (dump, taken)
        assert not any(problem[1] == "capture_dropped" for problem in dump["problems"]), dump["problems"]
        return taken

    def kernels_of_steps(self):
        """Of each step but the last, which has no end: (number, kernels, weight)."""
        rows = query(self.run, """
            SELECT steps.number, steps.sample_weight AS weight, count(kernels.id) AS kernels
            FROM steps LEFT JOIN kernels ON kernels.step_id = steps.id GROUP BY steps.id ORDER BY steps.number""")
        return [(row["number"], row["kernels"], row["weight"]) for row in rows]


def test_bound():
    """Thinned, which is told; what a launch costs is measured; the steps that have their kernels stand for all, and
    marks and what NVML tells are there of all."""
    with Launching(BOUND + "told", BOUND + "told") as program:
        program.wait(lambda: program.thinnings(), "kernels are thinned")
        before = program.end_phase()
        cost = "SELECT max(value) AS value FROM counters WHERE name = 'capture_launch_cost'"
        program.wait(lambda: program.value(cost), "what a launch takes is measured")
        readings = """SELECT count(*) AS value FROM counters WHERE name = 'gpu_utilization' AND time_ns >
                      (SELECT min(time_ns) FROM counters WHERE name = 'capture_kernels_recorded' AND value = 0)"""
        program.wait(lambda: program.value(readings) >= 3, "NVML is asked while kernels are thinned")
        program.wait(lambda: program.value("SELECT max(number) AS value FROM steps") > before + 500, "more steps")
        after = program.end_phase()
        taken = program.end()
        told = program.thinnings()
        assert len(told) == 1 and "--overhead" in told[0] and "measured" in told[0], told
        measured = program.value(cost)
        assert 0.7 * COST < measured < 2 * COST, measured  # and the call's own record, which is estimated

        steps = program.kernels_of_steps()
        assert len(steps) == before + after and [number for number, _, _ in steps] == list(range(before + after))
        calibrated = program.calibrated()
        assert 3 <= len(calibrated) < 30 and all(not steps[number][1] for number in calibrated), calibrated
        assert all(kernels == LAUNCHES or number in calibrated for number, kernels, _ in steps[:before // 2]), \
            steps[:before // 2]
        without = sum(not kernels for _, kernels, _ in steps)
        assert without > 100 and taken < LAUNCHES * (before + after - without + 3), (without, before, after)
        # Those with a weight have all of their kernels; none has a part of them but where it began.
        assert sum(0 < kernels < LAUNCHES for _, kernels, _ in steps) <= 2, steps
        assert not [step for step in steps if step[2] and step[1] not in (0, LAUNCHES)], steps
        # As a visit to a GPU judges them.
        judged = visit_costs.kernels_of_recorded(program.run, 0)
        assert list(judged.values()) == [LAUNCHES, LAUNCHES, 1], judged
        # The views speak of all.
        measured_steps = program.value("SELECT count(*) AS value FROM steps WHERE is_warmup = 0")
        most = program.value("SELECT max(weight) AS value FROM _thinned_steps")
        others = program.value("SELECT sum(weight = 0) AS value FROM _thinned_steps")
        assert most > 1 and others >= without - len(calibrated), (most, others, without, calibrated)
        for view in ("kernel_summary", "xprof_kernel_stats", "api_summary"):
            count = program.value("SELECT sum(count) AS value FROM %s" % view)
            assert abs(count - LAUNCHES * measured_steps) <= LAUNCHES * most, (view, count, measured_steps, most)
        known = program.value("""SELECT count(*) AS value FROM device_counters_by_step
            WHERE step_id IN (SELECT step_id FROM _thinned_steps WHERE weight = 0) AND utilization_ratio = 0.5
            AND abs(power_watts - 100) < 1e-6 AND energy_joules > 0""")
        assert known > 100, known


def whole(phase, condition, what):
    """Every step of a program of that phase has every kernel, when that has come to be. Where a busy machine kept the
    program from its processor the device may have waited after all: then some steps were left out to measure what a
    launch takes, which is told, and all others have every kernel."""
    with Launching(phase + "told") as program:
        program.wait(lambda: capturing.dumps(program.run) and condition(program), what)
        steps, launches = program.end_phase(), int(phase.split(",")[0])
        taken, left_out = program.end(), program.calibrated()
        told = program.value("""
            SELECT coalesce(sum(count), 0) AS value FROM diagnostics WHERE reason = 'capture_calibrated'""")
        assert told == len(left_out) < 60, (told, left_out)
        assert taken == launches * (steps - len(left_out)), (steps, taken, left_out)
        assert not program.thinnings(), program.thinnings()
        found = [kernels for _, kernels, _ in program.kernels_of_steps()]
        assert found == [0 if number in left_out else launches for number in range(steps)], found


def seconds_passed(program):
    """After so many seconds it is decided."""
    return program.value("SELECT (max(time_ns) - min(time_ns)) / 1e9 AS value FROM counters") or 0


def test_not_bound():
    """As many launches a second as would be too many, but behind which the device has work; and fewer, without."""
    whole(MANY, lambda program: seconds_passed(program) > 10, "ten seconds have passed")
    whole(SELDOM, lambda program: seconds_passed(program) > 10, "ten seconds have passed")


def test_measured():
    """As many launches that the device waits for as would be too many at what they are estimated to take, and fewer
    that take more: what they take is measured in the first seconds, and it is thinned where that is too much. The
    device waits for those, too, whose calls take longer than a kernel may begin after one."""
    with contextlib.ExitStack() as stack:
        cheap, dear = (stack.enter_context(Launching("%d,%d,1000,%d,told" % (LAUNCHES, launch, cost)))
                       for launch, cost in ((72000, 100), (60000, 1500)))
        for program in (cheap, dear):
            told = "SELECT count(*) AS value FROM diagnostics WHERE reason = 'capture_calibrated'"
            program.wait(lambda: capturing.dumps(program.run) and program.value(told), "what a launch takes is known")
        dear.wait(dear.thinnings, "kernels are thinned")
        for program in (cheap, dear):
            steps = program.end_phase()
            taken, left_out = program.end(), program.calibrated()
            assert 3 <= len(left_out) < 60, left_out
            if program is dear:
                assert "measured" in program.thinnings()[0], program.thinnings()
                continue
            assert taken == LAUNCHES * (steps - len(left_out)) and not program.thinnings(), (taken, steps, left_out)
            assert [number for number, kernels, _ in program.kernels_of_steps() if kernels != LAUNCHES] == left_out
            measured = LAUNCHES * (steps - len(left_out) - 3)
            assert program.value("SELECT sum(count) AS value FROM kernel_summary") == measured


def test_last_step():
    """A step that is left out, which nothing ends: what the program does after its marks is recorded all the same."""
    with Launching(BOUND + "left", "unmarked", BOUND + "told") as program:
        program.phase()
        def told():
            return [row["value"] for row in query(program.run, """
                SELECT value FROM counters WHERE name = 'capture_calibration' ORDER BY time_ns""")]
        after = """SELECT count(*) AS value FROM kernels
                   WHERE start_ns > (SELECT max(time_ns) FROM counters WHERE name = 'capture_calibration')"""
        program.wait(lambda: told() == [1, 0] and program.value(after) > LAUNCHES, "kernels are recorded again")
        program.end_phase()
        program.end()
        assert told() == [1, 0], told()
        (row,) = query(program.run, "SELECT count, message FROM diagnostics WHERE reason = 'capture_calibrated'")
        assert row["count"] == 1 and "of their first second or two" in row["message"], row
        # What went on meanwhile may have no true end.
        assert program.value("SELECT count(*) AS value FROM kernels WHERE dur_ns IS NULL AND start_ns > 0") == 1
        assert program.value("SELECT sum(count) AS value FROM diagnostics WHERE message LIKE '%no duration%'") == 1


def test_change():
    """A program that comes to be bound by launches, and no longer is."""
    with Launching(HIDDEN + "told", BOUND + "told", HIDDEN + "told", HIDDEN + "100") as program:
        program.wait(lambda: capturing.dumps(program.run) and seconds_passed(program) > 8, "eight seconds have passed")
        assert not program.thinnings(), program.thinnings()
        first = program.end_phase()
        program.wait(lambda: len(program.thinnings()) == 1, "kernels are thinned")
        second = program.end_phase()
        program.wait(lambda: len(program.thinnings()) == 2, "every step has its kernels again")
        third = program.end_phase()
        assert program.phase() == 100
        program.end()
        told = program.thinnings()
        assert "the steps whose ops are" in told[0] and "every step" in told[1] and len(told) == 2, told
        states = [row["value"] for row in query(program.run, """
            SELECT value FROM counters WHERE name = 'capture_kernels_recorded' ORDER BY time_ns""")]
        assert states == [0, 1], states
        kernels = [count for _, count, _ in program.kernels_of_steps()]
        assert kernels[:first] == [LAUNCHES] * first and kernels[-100:] == [LAUNCHES] * 100, (first, second, third)


def test_no_steps():
    """A program without marks is recorded whole, as its ops would be, and that it takes more than allowed is told; and
    one whose CUPTI may hang it where kernels are switched off, in which the calls count that CUPTI before CUDA 12.5
    records unasked."""
    for words, phase, version, why in ((["unmarked"], BOUND, "13.0", "marks none"),
                                       (["chatty"], CHATTY, "12.4", "may hang the program")):
        with Launching(*words, phase + "told", version=version) as program:
            degraded = f"""SELECT count(*) AS value FROM diagnostics WHERE reason = 'capture_degraded' AND
                           message LIKE '%more than --overhead%{why}%'"""
            program.wait(lambda: capturing.dumps(program.run) and program.value(degraded), "that it takes much is told")
            steps = program.end_phase()
            assert program.end() == steps * LAUNCHES and not program.thinnings()
            assert program.value("SELECT count(*) AS value FROM steps") == (0 if words == ["unmarked"] else steps)
            if words == ["unmarked"]:  # of steps the warm-up is left out
                assert program.value("SELECT sum(count) AS value FROM kernel_summary") == steps * LAUNCHES


def test_all_asked_for():
    """--ops=all thins nothing."""
    with Launching(BOUND + "told", options=["--ops=all"]) as program:
        program.wait(lambda: capturing.dumps(program.run) and seconds_passed(program) > 10, "ten seconds have passed")
        steps = program.end_phase()
        assert program.end() == steps * LAUNCHES and not program.thinnings()


if __name__ == "__main__":
    playing.main(globals())
