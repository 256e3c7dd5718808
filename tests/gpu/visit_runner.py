"""visit_runner.py: runs the checks of a visit to a GPU (visit.py), so that none of them can take the others with it.

A check is a process of its own, in a session of its own, that tells its figures line by line while it finds them. One
that crashes, hangs, writes nonsense or ignores that it is asked to end leaves a line like any other, which says so: its
processes are ended by their session, and, where they have left that, by a mark in their environment. Nothing here waits
for anything without a limit.

run.sh is the manual.
"""

import argparse
import collections
import contextlib
import ctypes
import json
import math
import os
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import bounded  # noqa: E402

FILES, FILE_BYTES = 8, 16 << 20     # that the folder of results may have, and each of them
RESULTS = ("summary.json", "visit.log", "table.txt")
LOG_BYTES, CHECK_LOG_BYTES = 8 << 20, 256 << 10
FIGURES_BYTES = 1 << 20             # that a check may tell
TEXT_BYTES, ITEMS = 600, 40         # of a figure
WRITTEN = 16 << 10                  # of what a program writes, that the log has
WORK_BYTES = 16 << 30               # of a file that a check writes elsewhere
GRACE_SECONDS = 3                   # between SIGTERM and SIGKILL
MARGIN_SECONDS = 10                 # of the limit, for the table and what is kept
PR_SET_PDEATHSIG = 1
VERDICTS = ("yes", "no", "cannot be told", "not run")

# A check: how long it takes on an H100 and how long it may; `run` gets a Visit, `judge` the figures, and returns
# what is wrong and what cannot be told.
Check = collections.namedtuple("Check", "name seconds limit is_quick expectation run judge")
checks = []


def check(name, seconds, limit, expectation, judge, is_quick=False):
    """Registers the function below it."""
    def register(function):
        checks.append(Check(name, seconds, limit, is_quick, expectation, function, judge))
        return function
    return register


class Untold(Exception):
    """It cannot be told here, for this reason."""


class Harmed(Exception):
    """A program that was recorded did not end as it would have."""


class Visit:
    """What a check works with."""

    def __init__(self, options, work, out):
        self.build, self.python, self.work, self.out = os.environ["TFPROF_BUILD"], options.python, work, out
        self.told = None

    def path(self, name):
        """Of a file or folder that later checks find, too."""
        return os.path.join(self.work, name)

    def note(self, **figures):
        """Figures are there for good."""
        self.told.write(json.dumps(figures) + "\n")
        self.told.flush()

    def program(self, *words):
        """The command line of workload.py."""
        return [self.python, os.path.join(HERE, "workload.py"), *words]

    def about(self):
        """What workload.py says of this machine, which is asked once."""
        path = self.path("about.json")
        if not os.path.exists(path):
            text = self.run(self.program("about"), 85)  # PyTorch from a disk that nobody has read yet
            with open(path, "w") as file:
                file.write(text)
        with open(path) as file:
            return json.load(file)

    def run(self, command, seconds=60, recorded=None, options=(), environment=None):
        """What it writes on stdout; recorded: the folder that tfprof-capture records it into. One that does not end as
        it should is tried without us, to know whose fault it is."""
        if not recorded:
            output, problem = self.run_once(command, seconds, environment)
            if problem:
                raise Untold(problem)
            return output
        capture = [os.path.join(self.build, "tfprof-capture"), "-q", "--force", "-o", recorded, *options, "--"]
        output, problem = self.run_once(capture + command, seconds, environment)
        if problem:
            _, alone = self.run_once(command, seconds, environment)
            if alone:
                raise Untold(f"{alone}; it was not recorded then")
            raise Harmed(problem)
        return output

    def run_once(self, command, seconds, environment):
        """(stdout, None or how else it ended than with status 0)"""
        print("$", shlex.join(command), flush=True)
        begin, output, problem = time.monotonic(), "", None
        with open(self.path("stderr"), "w+b") as errors:
            with self.started(command, environment, errors) as process:
                try:
                    output, _ = process.communicate(timeout=seconds)
                except subprocess.TimeoutExpired:
                    problem = f"it was not over after {seconds} s"
                    for pid in bounded.processes(os.environ[bounded.MARK]):
                        bounded.print_stacks(pid)
            errors.seek(max(0, errors.seek(0, os.SEEK_END) - WRITTEN))
            said = errors.read().decode(errors="replace")
        print(output[-WRITTEN:], said, f"({time.monotonic() - begin:.1f} s)", flush=True)
        if process.returncode and not problem:
            problem = f"it ended with {ending(process.returncode)}"
        last = said.strip().rpartition("\n")[2]
        return output, problem and f"{problem}: {shlex.join(command)}{': ' if last else ''}{last}"

    @contextlib.contextmanager
    def started(self, command, environment=None, stderr=None):
        """A process with its stdout as text. Neither it nor what it starts outlives this."""
        library = ctypes.CDLL(None)
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr, text=True,
                              errors="replace", env=dict(os.environ, **(environment or {})),
                              preexec_fn=lambda: library.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)) as process:
            try:
                yield process
            finally:
                if process.poll() is None:
                    process.kill()
                    bounded.kill(os.environ[bounded.MARK])

    def keep(self, path, name=None):
        """A file among the results, where there is room for it; whether there is."""
        kept = set(os.listdir(self.out)) - set(RESULTS)
        name = name or os.path.basename(path)
        is_small = os.path.getsize(path) < FILE_BYTES
        if is_small and (name in kept or len(kept) < FILES - len(RESULTS)):
            shutil.copyfile(path, os.path.join(self.out, name))
            return True
        print(f"{name} is not kept: {'there are files enough' if is_small else 'it is too large'}")
        return False


def say(text):
    """Whoever looks may have gone: a visit goes on."""
    with contextlib.suppress(OSError, ValueError):
        print(text, flush=True)


def ending(status):
    if status >= 0:
        return f"exit status {status}"
    with contextlib.suppress(ValueError):
        return signal.Signals(-status).name
    return f"signal {-status}"


def bounded_figure(value):
    """As short as a line of a summary is."""
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else str(value)
    if isinstance(value, str):
        return value if len(value) <= TEXT_BYTES else value[:TEXT_BYTES] + "..."
    if isinstance(value, dict):
        return {str(key)[:TEXT_BYTES]: bounded_figure(one) for key, one in list(value.items())[:ITEMS]}
    if isinstance(value, (list, tuple)):
        return [bounded_figure(one) for one in list(value)[:ITEMS]]
    return value if value is None or isinstance(value, (bool, int)) else str(value)[:TEXT_BYTES]


# ---- The process of a check.


def run_in_child(one, visit, figures_path, log_path):
    """Does not return."""
    status = 1
    try:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (WORK_BYTES, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
        log = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        for descriptor in (1, 2):
            os.dup2(log, descriptor)
        sys.stdout = sys.stderr = open(1, "w", errors="replace", buffering=1, closefd=False)
        with open(figures_path, "w") as visit.told:
            try:
                one.run(visit)
                visit.note(is_over=True)
            except (Untold, Harmed) as problem:
                visit.note(is_over=True, **{type(problem).__name__.lower(): str(problem)})
            except Exception as problem:
                traceback.print_exc()
                visit.note(failure=f"{type(problem).__name__}: {problem}")
        status = 0
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
        os._exit(status)


def wait_for(pid, seconds):
    """The exit status, negative: a signal; None: it lives."""
    end = time.monotonic() + seconds
    while True:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() >= end:
            return None
        time.sleep(0.02)


def end_all(pid, mark, is_alive):
    """All processes of a check; whether they have ended."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, number)
        if is_alive and wait_for(pid, GRACE_SECONDS) is not None:
            is_alive = False
    bounded.kill(mark)
    return not is_alive and not bounded.processes(mark)


def read_figures(path):
    """(what was told up to where it makes sense, whether there was more)"""
    figures = {}
    with contextlib.suppress(OSError), open(path, errors="replace") as file:
        for line in file.read(FIGURES_BYTES).splitlines():
            try:
                figures.update(json.loads(line))
            except (ValueError, TypeError, RecursionError):
                return figures, True
    return figures, False


def run_check(one, visit, seconds):
    """(verdict, why, figures)"""
    figures_path, log_path = visit.path(one.name + ".figures"), visit.path(one.name + ".log")
    mark = f"{os.getpid()}-{one.name}-{time.monotonic_ns()}"
    pid = os.fork()
    if not pid:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        # What the check starts has the mark; its own environment is what it was when it began.
        os.environ[bounded.MARK] = mark
        run_in_child(one, visit, figures_path, log_path)
    try:
        status = wait_for(pid, seconds)
    except KeyboardInterrupt:
        end_all(pid, mark, True)
        raise
    is_gone = end_all(pid, mark, status is None)
    figures, is_torn = read_figures(figures_path)
    is_over, failure = figures.pop("is_over", False), figures.pop("failure", None)
    untold, harmed = figures.pop("untold", None), figures.pop("harmed", None)
    rest = "" if is_gone else "; processes of it are left that cannot be ended"
    if harmed:
        return "no", "a program that was recorded was harmed: " + harmed + rest, figures
    if untold:
        return "cannot be told", untold + rest, figures
    if status is None:
        failure = f"it was not over after {seconds:.3g} s"
    elif is_torn:
        failure = "what it told cannot be read"
    elif not is_over:
        failure = failure or f"it ended with {ending(status)}"
    if failure:
        return "cannot be told", "the check failed: " + failure + rest, figures
    return (*judged(one, figures, rest), figures)


def judged(one, figures, rest=""):
    """(verdict, why)"""
    try:
        wrong, unknown = one.judge(figures)
    except Exception as problem:
        wrong, unknown = [], [f"the figures make no sense: {type(problem).__name__}: {problem}"]
    return ("no" if wrong else "cannot be told" if unknown else "yes"), "; ".join(wrong + unknown) + rest


# ---- What is left of it.


class Results:
    """The folder that the results go to."""

    def __init__(self, folder, commit):
        self.folder, self.commit, self.lines = folder, commit, []
        os.makedirs(folder, exist_ok=True)

    def append(self, name, data, more=0):
        """At once and whole: who is killed leaves whole lines. What finds no room on the disk ends nothing."""
        try:
            descriptor = os.open(os.path.join(self.folder, name), os.O_WRONLY | os.O_CREAT | os.O_APPEND | more, 0o644)
            try:
                if os.fstat(descriptor).st_size + len(data) < LOG_BYTES:
                    os.write(descriptor, data)
                    os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as problem:
            say(f"{name}: {problem}")

    def add(self, one, verdict, why, figures, seconds, log_path=None):
        line = {"check": one.name, "verdict": verdict, "why": bounded_figure(why), "expectation": one.expectation,
                "figures": bounded_figure(figures), "seconds": round(seconds, 1), "commit": self.commit,
                "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
        self.lines.append(line)
        self.append("summary.json", (json.dumps(line) + "\n").encode())
        say(f"{one.name}: {verdict}{': ' if why else ''}{line['why']} ({seconds:.0f} s)")
        if log_path:
            self.add_log(one, log_path)

    def add_log(self, one, path):
        """The beginning and the end of it."""
        with contextlib.suppress(OSError), open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            text = file.read(CHECK_LOG_BYTES // 4)
            if size > CHECK_LOG_BYTES:
                file.seek(size - 3 * CHECK_LOG_BYTES // 4)
                text += b"\n[...]\n"
            self.append("visit.log", b"==== %s\n%s%s\n" % (one.name.encode(), text,
                                                            file.read(3 * CHECK_LOG_BYTES // 4)))

    def table(self):
        """As people read it: what each check found, and the verdicts at the end, where a terminal stands still."""
        width = max(len(line["check"]) for line in self.lines)
        rows = []
        for line in self.lines:
            rows += [f"== {line['check']}: {line['expectation']}", *shown(line["figures"]), ""]
        rows += [f"{line['check']:{width}}  {line['verdict']:14}  {line['seconds']:5.0f} s  {line['why']}".rstrip()
                 for line in self.lines]
        count = collections.Counter(line["verdict"] for line in self.lines)
        rows.append(", ".join(f"{count[verdict]} {verdict}" for verdict in VERDICTS if count[verdict]))
        return "\n".join(rows) + "\n"


def shown(figures):
    """A line for each."""
    for name, value in figures.items():
        text = value if isinstance(value, str) else json.dumps(value)
        yield f"   {name}: " + (text if len(text) <= 200 else text[:197] + "...")


def commit_of(build, root):
    """Of what was built, which the relocatable build knows, or of the source beside."""
    with contextlib.suppress(OSError), open(os.path.join(build, "commit")) as file:
        return file.read().strip() or "unknown"
    answer = subprocess.run(["git", "-C", root, "describe", "--always", "--dirty", "--abbrev=12"], capture_output=True,
                            text=True) if shutil.which("git") else None
    return answer.stdout.strip() if answer and not answer.returncode else "unknown"


def parse():
    parser = argparse.ArgumentParser(add_help=False, usage="see run.sh --help")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--out")
    parser.add_argument("--only")
    parser.add_argument("--limit", type=float)
    parser.add_argument("--commit")
    for flag in ("--quick", "--rest", "--list"):
        parser.add_argument(flag, action="store_true")
    options = parser.parse_args()
    options.limit = options.limit or (280 if options.quick else 580 if options.rest else 840)
    wanted = options.only.split(",") if options.only else None
    unknown = set(wanted or []) - {one.name for one in checks}
    if unknown:
        parser.error("there is no check " + ", ".join(sorted(unknown)))
    chosen = [one for one in checks if (one.name in wanted if wanted else one.is_quick if options.quick else
                                        not one.is_quick if options.rest else True)]
    return options, chosen


def list_checks(chosen):
    for one in chosen:
        print(f"{one.name} ({one.seconds} s, at most {one.limit} s{', quick' if one.is_quick else ''}): "
              f"{one.expectation}")


def visit_all(options, chosen, work):
    """The exit status."""
    begin = time.monotonic()
    results = Results(options.out, options.commit or commit_of(os.environ["TFPROF_BUILD"], HERE))
    visit = Visit(options, work, options.out)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    is_without = is_interrupted = False  # without: a GPU
    for one in chosen:
        left = begin + options.limit - MARGIN_SECONDS - time.monotonic()
        if is_without or is_interrupted or left < one.seconds:
            why = ("PyTorch sees no GPU here" if is_without else "it was interrupted" if is_interrupted else
                   f"it takes {one.seconds} s, and {left:.0f} s are left")
            results.add(one, "not run", why, {}, 0)
            continue
        started = time.monotonic()
        try:
            verdict, why, figures = run_check(one, visit, min(one.limit, left))
        except KeyboardInterrupt:
            is_interrupted, verdict, why, figures = True, "not run", "it was interrupted", {}
        results.add(one, verdict, why, figures, time.monotonic() - started, visit.path(one.name + ".log"))
        is_without = figures.get("gpu", True) is None
    table = results.table()
    results.append("table.txt", table.encode(), os.O_TRUNC)
    say("\n" + table + f"In {options.out}.")
    return 77 if is_without else int(any(line["verdict"] == "no" for line in results.lines))


def main():
    options, chosen = parse()
    if options.list:
        return list_checks(chosen)
    options.out = os.path.abspath(options.out or tempfile.mkdtemp(prefix="tfprof-visit-"))
    work = tempfile.mkdtemp(prefix="tfprof-visit-work-")
    try:
        return visit_all(options, chosen, work)
    finally:
        shutil.rmtree(work, ignore_errors=True)

