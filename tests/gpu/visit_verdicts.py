"""visit_verdicts.py: what the figures of a check of a visit (visit.py) mean. Each function takes the figures and
returns (what is wrong, what cannot be told), both as sentences; none of either: it is as expected.

What the recorder can be held to is compared exactly: names and numbers of kernels, copies, bytes, which op launched
which kernel. Times are compared with those of the same program, and only as closely as these agree among themselves.
"""

import re

# As diagnostics tell it:
EARLY = "kernels began before the call that launched them"
GIVES_WAY = "listens to CUDA instead"
NO_LINKS = "kernels and copies of CUDA graphs have no call, op and line"
TAKEN_AWAY = "it is begun anew"  # by somebody's cuptiFinalize
CLOCK_ERROR_NS = 100e3         # of the device's clock against the host's
KERNELS_LIKE = 1.6             # durations of the same kernels in one program; counters of cycles are 2 to 3.5 times off
KERNEL_TIME_LIKE = 1.5         # of the same kernels in two programs, beside the time of their steps
LOST_AT_KILL_SECONDS = 1.5     # the last second, and half a second to fetch it
TOLD_WITHIN_SECONDS = 0.15     # what the launcher says has one decimal
KERNEL_NS, IDLE_NS, SWITCH_NS = 1000, 100, 1e6  # of a launch; of a switch
ASIDE_NS = 250e6               # stepping aside fetches all records, and waits 100 ms at most for those that come late
LONGEST_LIKE = 5               # the longest of the same kernels, in steps for which CUPTI is switched on and off
STEP_COST = 0.02               # of a step's time, which is what --overhead promises


class Findings:
    def __init__(self, figures):
        self.figures, self.wrong, self.unknown = figures, [], []

    def get(self, name):
        """None: it is not there, which is told."""
        value = self.figures.get(name)
        if value is None:
            self.unknown.append(f"{name} is not known")
        return value

    def expect(self, is_so, otherwise):
        if not is_so:
            self.wrong.append(otherwise)

    def judge_recording(self, *expected):
        """What it says of itself that is not in order, less what is there to be expected; and kernels without times."""
        self.wrong += [one for one in self.figures.get("problems") or [] if not any(text in one for text in expected)]
        count = self.figures.get("kernels_without_time")
        self.expect(not count, f"{count} kernels without a time")

    def verdict(self):
        return self.wrong, self.unknown


def cupti_remedy(text):
    """None: it is a CUPTI that answers, and the driver is new enough for it. Else what to do, "" where it says so."""
    if "the driver is for CUDA" in text or "use a later one" in text or text.startswith("not found"):
        return ""
    if re.search(r"\bversion \d+", text):
        return None
    if text.startswith("TFPROF_CUPTI"):
        return "unset TFPROF_CUPTI, or let it name a file that is there"
    return ("TFPROF_CUPTI names another copy: that of the driver's CUDA, which pip install nvidia-cuda-cupti "
            "(nvidia-cuda-cupti-cu12 for CUDA 12) and the CUDA toolkit bring")


def is_hanging(start):
    return "did not return" in (start or "")


def machine(figures):
    findings = Findings(figures)
    cupti, refused, start = (figures.get(name) for name in ("check_cupti", "refused", "check_init"))
    findings.expect(figures.get("check_status") == 0, "tfprof-capture --check says that ops cannot be recorded")
    if not figures.get("gpu") and not is_hanging(start):
        findings.unknown.append("PyTorch sees no GPU here")
        return findings.verdict()
    remedy = cupti_remedy(cupti) if cupti else "its output is in visit.log"
    findings.expect(remedy is None, f"--check says of CUPTI: {cupti}{'; ' if remedy else ''}{remedy}")
    findings.expect(not start, f"--check says of CUDA: {start}")
    findings.expect(not refused, f"what GPUs do is not recorded: {refused}")  # which says what to do
    return findings.verdict()


def first(figures):
    findings = Findings(figures)
    rows = findings.get("rows") or {}
    for table in ("kernels", "api_calls", "transfers", "syncs", "steps", "ops"):
        findings.expect(rows.get(table), f"there are no {table}")
    error, expected = findings.get("clock_error_ns"), ()
    early, by = findings.get("kernels_early"), figures.get("early_by_ns")
    if early and by is not None and error is not None and by <= error:
        expected = (EARLY,)
    else:
        findings.expect(not early, f"{early} kernels that began before their call, by up to {by} ns")
    for name, what in (("calls_twice", "numbers of calls that two calls have"),
                       ("kernels_without_call", "kernels without their call"),
                       ("kernels_without_op", "kernels without an op, in steps whose ops are recorded")):
        count = findings.get(name)
        findings.expect(not count, f"{count} {what}")
    if error is not None:
        findings.expect(error <= CLOCK_ERROR_NS, f"the clock of the device may be off by {error / 1e3:.0f} µs")
    findings.judge_recording(*expected)
    return findings.verdict()


def profiler_inside(figures):
    findings = Findings(figures)
    before, after = findings.get("kernels_of_step_before"), findings.get("kernels_of_step_after")
    if before is not None and after is not None:
        findings.expect(before and before == after, f"{after} kernels in a step after it, {before} before it")
    ratio = findings.get("duration_ratio")
    if ratio is not None:
        findings.expect(1 / KERNELS_LIKE <= ratio <= KERNELS_LIKE,
                        f"the same kernels take {ratio:.2f} times as long after it as before it")
    findings.wrong += [f"torch.profiler's own trace, with us against without: {one}"
                       for one in figures.get("own_trace_differences") or []]
    findings.judge_recording(GIVES_WAY, TAKEN_AWAY)
    return findings.verdict()


def kill(figures):
    findings = Findings(figures)
    if not findings.get("kernels"):
        findings.expect(figures.get("kernels") is None, "no kernel is in the file")
        return findings.verdict()
    lost, told = findings.get("lost_kernels_of_a_thread_s"), findings.get("told_kernels_s")
    if lost is not None:
        findings.expect(lost <= LOST_AT_KILL_SECONDS, f"the last kernel of a thread ended {lost:.1f} s before the kill")
    if lost is not None and told is not None:
        findings.expect(told >= lost - TOLD_WITHIN_SECONDS,
                        f"the launcher says {told:.1f} s are lost, and it is {lost:.1f} s of kernels")
    findings.judge_recording()
    return findings.verdict()


def launch_cost(figures):
    findings = Findings(figures)
    for threads in (1, 2):
        states = findings.get(f"ns_a_launch_{threads}")
        if not states:
            continue
        where = f", {threads} thread{'s' if threads > 1 else ''}"
        more = {name: states[name] - states["none"] for name in states}
        recording = more["kernels"] - more["lasting"]
        findings.expect(recording <= KERNEL_NS, f"a call and its kernel take {recording:.0f} ns of a launch{where}")
        for name in ("subscribed", "lasting", "off"):
            findings.expect(more[name] <= IDLE_NS, f"{name} takes {more[name]:.0f} ns of a launch{where}")
        kernels, launched = findings.get(f"kernels_{threads}"), findings.get(f"launched_{threads}")
        findings.expect(kernels == launched, f"{kernels} of {launched} kernels are recorded{where}")
        switches = dict(findings.get(f"switch_ns_{threads}") or {})
        aside, switch = switches.pop("off", 0), max(switches.values(), default=0)
        findings.expect(switch <= SWITCH_NS, f"a switch takes {switch / 1e6:.1f} ms{where}")
        findings.expect(aside <= ASIDE_NS, f"stepping aside takes {aside / 1e6:.1f} ms{where}")
    return findings.verdict()


def overhead(figures):
    """Runs without us and with us in turn: by how much these slow steps, against how much those differ."""
    findings = Findings(figures)
    off, on = figures.get("off_ms"), figures.get("on_ms")
    if not off or not on:
        return [], ["there is no pair of runs"]
    cost, noise = slowing(off, on), spread(off)
    if cost > STEP_COST:
        told = f"steps take {100 * cost:.1f} % longer, where {100 * STEP_COST:.0f} % are allowed"
        (findings.wrong if cost - noise > STEP_COST else findings.unknown).append(
            told if cost - noise > STEP_COST else f"{told}; without us they differ by {100 * noise:.1f} %")
    elif noise > STEP_COST:
        findings.unknown.append(f"steps differ by {100 * noise:.1f} % without us")
    others = findings.get("profiled_ms")
    if others:
        theirs = slowing(off, others)
        findings.expect(cost <= theirs + noise, f"torch.profiler slows them by {100 * theirs:.1f} %, we by "
                                                f"{100 * cost:.1f} %")
    least, most = figures.get("kernels_of_step_least"), figures.get("kernels_of_step_most")
    findings.expect(least == most, f"of steps that are recorded some have {least} kernels, and some {most}")
    ratio = figures.get("longest_ratio")
    findings.expect(ratio is None or ratio <= LONGEST_LIKE,
                    f"kernels of a name take up to {ratio or 0:.1f} times as long where it is thinned as before")
    findings.judge_recording()
    return findings.verdict()


def mean(values):
    return sum(values) / len(values)


def slowing(off, on):
    return mean(on) / mean(off) - 1


def spread(values):
    return (max(values) - min(values)) / mean(values)


def compared(figures):
    findings = Findings(figures)
    findings.wrong += findings.get("differences") or []
    kernels, steps = findings.get("kernel_time_ratio"), findings.get("step_time_ratio")
    if kernels and steps:
        # Clocks that move slow steps as well; steps that recording slows do not slow kernels.
        likely = [1 / KERNEL_TIME_LIKE * min(steps, 1), KERNEL_TIME_LIKE * max(steps, 1)]
        findings.expect(likely[0] <= kernels <= likely[1],
                        f"kernels take {kernels:.2f} times as long, and steps {steps:.2f} times")
    findings.judge_recording(GIVES_WAY, NO_LINKS)  # which are compared
    return findings.verdict()


def counted(figures):
    """Exactly as many as the program knows."""
    findings = Findings(figures)
    wanted, found = findings.get("wanted"), findings.get("found")
    if wanted and found:
        findings.wrong += [f"{found.get(name)} {name}, where there are {count}" for name, count in wanted.items()
                           if found.get(name) != count]
    return findings.verdict()


def jax(figures):
    findings = Findings(figures)
    findings.expect(findings.get("kernels_before") != 0, "no kernels before jax.profiler")
    findings.expect(findings.get("kernels_after") != 0, "no kernels after jax.profiler has ended")
    findings.expect(findings.get("own_kernels") != 0, "jax.profiler's own profile has no kernels")
    return findings.verdict()


def possible(figures):
    """How many rows cannot be, of each kind; and that there are any."""
    findings = Findings(figures)
    for name, count in (findings.get("rows") or {}).items():
        findings.expect(count, f"there are no {name.replace('_', ' ')}")
    for name, count in (findings.get("impossible") or {}).items():
        findings.expect(not count, f"{count} times: {name.replace('_', ' ')}")
    findings.judge_recording()
    return findings.verdict()


def kept(figures):
    findings = Findings(figures)
    for name in ("recording", "driver", "buffers"):
        if not figures.get(name):
            findings.unknown.append(f"no {name} is kept")
    return findings.verdict()
