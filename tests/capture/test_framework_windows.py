"""Windows of the framework's own profiler: doubles of JAX and TensorFlow have the session classes that the hooks look
for, which tell of the "ops" that a program has run meanwhile.  One session at a time, as theirs.
"""

import os
import re
import stat
import subprocess
import time

import capturing

CAPTURE = os.path.join(capturing.BUILD, "tfprof-capture")
TESTS = os.path.join(capturing.HERE, "..")
SESSIONS = """
import os, time
from xplane_files import Unsigned, event, line, message, plane, space
current, made = [], [0]
def did(name, ns):
    start = time.time_ns()
    time.sleep(ns / 1e9)
    for session in current: session.events.append((name, start, time.time_ns() - start))
class Events:
    def began(self):
        if current: return False
        current.append(self)
        made[0] += 1
        self.events, self.at = [], time.time_ns()
        return True
    def ended(self, programs):
        if self in current: current.remove(self)
        facts = {'profile_start_time': Unsigned(self.at), 'profile_stop_time': Unsigned(time.time_ns())}
        of = {'dot.3': {'hlo_op': 'dot.3', 'hlo_module': 'jit_step'}}
        rows = [event(name, (start - self.at) * 1000, ns * 1000, **of.get(name, {})) for name, start, ns in self.events]
        return space(plane('/host:CPU', [line(7, 'python', rows, 0)]), plane('Task Environment', [], facts),
                     *([plane('/host:metadata', [])] if programs else []))
"""
DOUBLES = {
    "doubles.py": SESSIONS,
    "jax/__init__.py": "__version__ = '9.8'\nfrom jax._src import core, pjit, profiler, monitoring\njit = pjit.jit",
    "jax/_src/__init__.py": "",
    "jax/_src/core.py": "class trace_ctx:\n    trace = None\ndef trace_state_clean(): return True",
    "jax/_src/pjit.py": """
import functools
class _jax:
    @staticmethod
    def pjit(name, function, *rest): return functools.partial(function)
def jit(function): return _jax.pjit(function.__name__, function, None)
""",
    "jax/_src/monitoring.py": "listeners = []\n"
    "def register_event_duration_secs_listener(listener): listeners.append(listener)",
    "jaxlib/__init__.py": "",
    "jaxlib/_profiler.py": """
import os, time
import doubles
class ProfileOptions:
    host_tracer_level, python_tracer_level, enable_hlo_proto = 2, 1, True
class ProfilerSession(doubles.Events):
    def __init__(self, options=None):
        self.options, self.is_on = options or ProfileOptions(), self.began()
    def stop(self):
        if not self.is_on: raise RuntimeError('ALREADY_EXISTS: Another profiling session active.')
        if 'SLOW_STOP' in os.environ: time.sleep(0.03)
        return self.ended(self.options.enable_hlo_proto)
def start_server(port): return port
""",
    "jax/_src/profiler.py": """
from jaxlib import _profiler
class _profile_state: profile_session = None
def start_trace(directory):
    _profile_state.profile_session = _profiler.ProfilerSession(_profiler.ProfileOptions())
def stop_trace():
    session = _profile_state.profile_session
    data = session.stop()
    _profile_state.profile_session = None
    return [name for name, _, _ in session.events]
def start_server(port): return _profiler.start_server(port)
class StepTraceAnnotation:
    def __init__(self, name, **about): self.name = name
    def __enter__(self): return self
    def __exit__(self, *problem): return None
""",
    "tensorflow/__init__.py": "__version__ = '9.7'\n"
    "from tensorflow.python.eager import context\n"
    "from tensorflow.python.eager.polymorphic_function import polymorphic_function, atomic_function\n"
    "from tensorflow.python.profiler import profiler_v2\n"
    "from tensorflow.python.client import session",
    "tensorflow/python/client/__init__.py": "",
    "tensorflow/python/client/pywrap_tf_session.py": "def TF_NewBufferFromString(text): return text",
    "tensorflow/python/client/session.py": """
from tensorflow.python.client import pywrap_tf_session as tf_session
def options(level): return tf_session.TF_NewBufferFromString(bytes([8, level]))
""",
    "tensorflow/python/__init__.py": "",
    "tensorflow/python/eager/__init__.py": "",
    "tensorflow/python/eager/context.py": "def executing_eagerly(): return True",
    "tensorflow/python/eager/polymorphic_function/__init__.py": "",
    "tensorflow/python/eager/polymorphic_function/atomic_function.py": """
import doubles
class Op:
    type = 'AssignVariableOp'
class AtomicFunction:
    name, graph = b'__inference_step_1', None
    def __init__(self): self.graph = self
    def get_operations(self): return [Op()]
    def call_preflattened(self, args):
        doubles.did('MatMul', args)
        return args
""",
    "tensorflow/python/eager/polymorphic_function/polymorphic_function.py": """
import time, doubles
class Function:
    def __init__(self, concrete): self._python_function, self.concrete = lambda: 0, concrete
    def __call__(self, args):
        start = time.time_ns()
        result = self.concrete.call_preflattened(args)
        for session in doubles.current: session.events.append(('step', start, time.time_ns() - start))
        return result
""",
    "tensorflow/python/profiler/__init__.py": "",
    "tensorflow/python/profiler/internal/__init__.py": "",
    "tensorflow/python/profiler/internal/_pywrap_profiler.py": """
import os, time, doubles
class ProfilerSession(doubles.Events):
    def start(self, logdir, options):
        self.directory, self.options = logdir, options
        if not self.began(): raise RuntimeError('Another profiler is running.')
    def stop(self):
        self.ended(False)
        return b'trace'
    def export_to_tb(self):
        place = os.path.join(self.directory, 'plugins', 'profile', '2026_01_01')
        os.makedirs(place)
        if 'SLOW_STOP' in os.environ: time.sleep(0.03)
        with open(os.path.join(place, 'vm.xplane.pb'), 'wb') as file: file.write(self.ended(False))
def start_server(port): pass
""",
    "tensorflow/python/profiler/profiler_v2.py": """
from tensorflow.python.profiler.internal import _pywrap_profiler
_profiler = None
def start(logdir, options=None):
    global _profiler
    _profiler = _pywrap_profiler.ProfilerSession()
    _profiler.start(logdir, options or {})
def stop():
    global _profiler
    session, _profiler = _profiler, None
    session.export_to_tb()
    return [name for name, _, _ in session.events]
def start_server(port): _pywrap_profiler.start_server(port)
""",
}


class Doubles(capturing.Directory):
    def __enter__(self):
        path = super().__enter__()
        self.packages = os.path.join(path, "packages")
        for name, text in DOUBLES.items():
            os.makedirs(os.path.dirname(os.path.join(self.packages, name)), exist_ok=True)
            with open(os.path.join(self.packages, name), "w") as file:
                file.write(text)
        return self

    def run(self, name, program, **settings):
        directory = os.path.join(os.path.dirname(self.packages), name)
        os.mkdir(directory)
        path = "import sys; sys.path[:0] = [%r, %r]\n" % (self.packages, TESTS)
        settings.setdefault("ops", "sampled")
        out, error = capturing.run(directory, ["-c", path + program], **settings)
        return directory, out, error


def windows_of(directory):
    columns = "file, framework, first_step, step_count, has_programs, ending, error, is_read, bytes"
    return capturing.query(directory, "SELECT %s FROM profiler_windows ORDER BY start_ns" % columns)


def told(directory):
    return [row["reason"] for row in capturing.query(directory, "SELECT reason FROM diagnostics")]


def ops_of_steps(directory):
    """By number of a step that has its ops: their names, sorted."""
    rows = capturing.query(directory, """SELECT s.number, group_concat(o.name) AS names FROM steps AS s
        LEFT JOIN (SELECT * FROM ops WHERE name NOT LIKE 'PjitF%' AND name NOT LIKE 'tf.func%'
            AND name NOT LIKE '%monitoring)') AS o ON o.step_id = s.id
        WHERE s.ops_recorded = 1 GROUP BY 1""")
    return {row["number"]: ",".join(sorted((row["names"] or "").split(","))) for row in rows}


def check_steps(directory, count, names):
    steps = capturing.query(directory, "SELECT count(*) AS n, sum(sample_weight) AS weight FROM steps")[0]
    assert steps["n"] == count, steps
    recorded = ops_of_steps(directory)
    wrong = {number: its for number, its in recorded.items() if its != names and number != count - 1}
    assert recorded and not wrong, wrong  # the last one ends with its call
    windows = windows_of(directory)
    held = {number for one in windows for number in range(one["first_step"], one["first_step"] + one["step_count"])}
    assert held == set(recorded), (held, recorded)
    for one in windows:
        facts = os.stat(os.path.join(directory, one["file"]))
        assert stat.S_IMODE(facts.st_mode) == 0o600 and facts.st_size == one["bytes"] and one["is_read"] == 1, one
    assert not [name for name in os.listdir(directory) if name.endswith(".part")]
    process = capturing.query(directory, "SELECT pid FROM profiles")[0]["pid"]
    place = "tfprof-windows-%d-%d-" % (os.getuid(), process)
    assert not [name for name in os.listdir("/dev/shm") if name.startswith(place)], process
    return windows, recorded, steps


JAX = """
import jax, doubles
def work(x):
    doubles.did('dot.3', 300000)
    return x
step = jax.jit(work)
for number in range(COUNT):
    BEFORE
    step(number)
    doubles.did('await', 100000)  # what the call has asked for goes on after it
    if number == 40: [tell('/jax/core/compile/backend_compile_duration', 0.001) for tell in jax.monitoring.listeners]
print(number)
"""


TENSORFLOW = """
import tensorflow as tf, doubles
from tensorflow.python.eager.polymorphic_function.polymorphic_function import Function
from tensorflow.python.eager.polymorphic_function.atomic_function import AtomicFunction
class Ends(AtomicFunction):
    def call_preflattened(self, args): raise IndexError('there is no more data')
step, evaluate = Function(AtomicFunction()), Function(Ends())
for number in range(150):
    step(400000)
    if number == 1:
        try: evaluate(0)
        except IndexError: pass
"""


def jax(count=200, before="pass"):
    return JAX.replace("COUNT", str(count)).replace("BEFORE", before)


def test_jax():
    with Doubles() as here:
        directory, out, _ = here.run("jax", jax(), overhead=50)
        windows, recorded, steps = check_steps(directory, 200, "await,dot.3")
        assert out == "199\n" and len(windows) >= 4 and windows[0]["first_step"] == 2, (out, windows)
        assert {one["step_count"] for one in windows[:-1]} == {3} and windows[0]["ending"] == "steps", windows
        programs = [one["has_programs"] for one in windows]
        assert programs[0] == 1 and sum(programs) == 2, programs  # the first, and the one after a compilation
        assert 195 <= steps["weight"] <= 200, steps
        names = capturing.query(directory, "SELECT op, count FROM op_summary WHERE op = 'dot.3'")
        assert len(names) == 1 and 180 <= names[0]["count"] <= 200, names
    print("windows of JAX")


def test_last_window():
    """One whose last step is the program's last holds its steps, too: it is closed as the program ends."""
    with Doubles() as here:
        directory, _, _ = here.run("jax", jax(5), overhead=50)
        windows, recorded, _ = check_steps(directory, 5, "await,dot.3")
        assert [(one["first_step"], one["step_count"], one["ending"]) for one in windows] == [(2, 3, "steps")], windows
        assert sorted(recorded) == [2, 3, 4], recorded
    print("a window over the last steps")


def check_time_of_windows(directory, count):
    """What they took lies between steps, or, where something came in between, is told as a part of one."""
    facts = capturing.query(directory, """WITH stops AS (
          SELECT end_ns AS start_ns, end_ns + closing_ns AS end_ns, closing_ns AS dur_ns FROM profiler_windows
          WHERE ending = 'steps'), within AS (
          SELECT stops.dur_ns AS took_ns, min(stops.end_ns, steps.end_ns) - max(stops.start_ns, steps.start_ns) AS ns
          FROM stops JOIN steps ON steps.start_ns < stops.end_ns AND steps.end_ns > stops.start_ns)
        SELECT (SELECT count(*) FROM stops) AS n, (SELECT count(*) FROM within) AS within,
          (SELECT count(*) FROM within WHERE ns < took_ns) AS part, (SELECT total(ns) FROM within) AS ns,
          (SELECT total(recording_ns) FROM steps) AS recording_ns, (SELECT total(paused_ns) FROM steps) AS paused_ns,
          (SELECT total(dur_ns) FROM stops) AS stops_ns, (SELECT count(*) FROM steps) AS steps""")[0]
    assert facts["steps"] == count and facts["n"] >= 3 and facts["stops_ns"] >= 3 * 30e6, facts
    assert facts["within"] <= facts["n"] / 2 and not facts["part"] and facts["recording_ns"] >= facts["ns"], facts
    assert facts["paused_ns"] >= facts["stops_ns"] - facts["ns"], facts


def test_time():
    """Steps of less than a millisecond, and windows that take 30 to close, before a call and behind one."""
    with Doubles() as here:
        os.environ["SLOW_STOP"] = "1"
        try:
            directory, _, _ = here.run("jax", jax(100), steps="10-60")
            check_time_of_windows(directory, 100)
            directory, _, _ = here.run("tensorflow", TENSORFLOW, steps="10-60")
            check_time_of_windows(directory, 150)
        finally:
            del os.environ["SLOW_STOP"]
    print("what windows take is in no step")


def test_evaluation():
    """One that takes longer than all of the training, whose work it waits for, makes other steps of nothing."""
    program = jax(60) + """
evaluate = jax.jit(lambda x: doubles.did('dot.9', 10000000))
for _ in range(10): evaluate(1)
"""
    with Doubles() as here:
        directory, _, _ = here.run("evaluation", program, overhead=50)
        names = capturing.query(directory, "SELECT DISTINCT name FROM candidate_steps WHERE origin = 'call'")
        assert len(names) == 2, names
        check_steps(directory, 60, "await,dot.3")
        path = "import sys; sys.path[:0] = [%r, %r]\n" % (here.packages, TESTS)
        launched = os.path.join(os.path.dirname(here.packages), "launched")
        _, error = capturing.launch(launched, [capturing.PYTHON, "-c", path + program], ["--overhead", "50"])
        assert "recorded 60 steps and " in error, error
    print("an evaluation that takes longer than the training")


def test_marked_in_part():
    """A program that marks every tenth of its steps: these are its steps, and what is not is told."""
    marked = jax(200).replace("    step(number)", "    if number % 10 == 5:\n"
                              "        with jax._src.profiler.StepTraceAnnotation('train', step_num=number):\n"
                              "            step(number)\n    else: step(number)\n    evaluate(number)", 1)
    program = marked.replace("for number", "evaluate = jax.jit(lambda x: x)\nfor number", 1)
    with Doubles() as here:
        path = "import sys; sys.path[:0] = [%r, %r]\n" % (here.packages, TESTS)
        for name, what, steps in (("part", program, 20), ("all", program.replace("% 10 == 5", "% 10 < 10"), 200)):
            directory = os.path.join(os.path.dirname(here.packages), name)
            _, error = capturing.launch(directory, [capturing.PYTHON, "-c", path + what], ["--overhead", "50"])
            held = capturing.query(directory, "SELECT sum(ops_recorded) AS held FROM steps")[0]["held"]
            told_of = "recorded %d steps and " % steps in error and "the ops of %d steps into" % held in error
            assert told_of and held, (held, error)
            part = "180 of 200 calls of PjitFunction(work) lie in none of the steps that the program marks"
            rows = capturing.query(directory, "SELECT message FROM diagnostics WHERE reason = 'steps_marked_in_part'")
            calls = capturing.query(directory, "SELECT name, count(*) AS n FROM candidate_steps GROUP BY 1 ORDER BY 1")
            if name == "part":
                assert len(rows) == 1 and rows[0]["message"].startswith(part) and part in error, (rows, error)
                assert calls[-1] == {"name": "PjitFunction(work)", "n": 200}, calls
            else:
                assert not rows and "in_part" not in error and not calls, (rows, error, calls)
    print("steps that are marked in part")


def test_jax_that_runs_ahead():
    """Where steps were asked for, and in the first window, work that is done later is waited for."""
    late = """
import jax, doubles
class Late:
    def block_until_ready(self): doubles.did('dot.9', 100000)
jax.live_arrays = lambda: [Late()]
"""
    with Doubles() as here:
        for name, settings, waited in (("asked", {"steps": "5-27"}, 3), ("sampled", {"overhead": 50}, 1)):
            directory, _, _ = here.run(name, late + jax(60), **settings)
            (row,) = capturing.query(directory, "SELECT count(*) AS n FROM ops WHERE name = 'dot.9'")
            assert row["n"] == waited and len(windows_of(directory)) >= waited, (name, row, windows_of(directory))


def test_jax_that_loads_with_pytorch():
    """Data is loaded between the calls that are steps: what PyTorch does there is recorded for the steps of windows."""
    try:
        capturing.need_torch()
    except SystemExit:
        return
    loads = "for _ in range(150): batch.add_(1)"
    with Doubles() as here:
        program = "import torch\nbatch = torch.zeros(8)\n" + jax(300, loads)
        directory, out, _ = here.run("loads", program, overhead=3)
        rows = capturing.query(directory, """SELECT s.number, s.ops_recorded AS held, total(o.framework = 'jax') AS jax,
            total(o.name = 'aten::add_') AS torch FROM steps AS s LEFT JOIN ops AS o ON o.step_id = s.id GROUP BY 1""")
        recorded = {row["number"] for row in rows if row["held"]}
        windows = windows_of(directory)
        held = {one["first_step"] + i for one in windows for i in range(one["step_count"])}
        assert out.endswith("299\n") and len(held) >= 6 and len(held - recorded) <= 1, (held, recorded)
        assert len(recorded) < 290, "PyTorch's ops are recorded in some of the steps"
        told = {row["title"]: row["text"] for row in capturing.query(directory, "SELECT title, text FROM run_summary")}
        assert "peak of pytorch " in told["memory"], told  # of JAX's nothing is known
        wrong = [row for row in rows if row["held"] and (row["torch"] != 150 or not row["jax"])]
        assert not [row for row in wrong if row["number"] != 299], wrong
    print("windows of JAX with a loader of PyTorch")


def test_tensorflow():
    with Doubles() as here:
        directory, _, _ = here.run("tf", TENSORFLOW, overhead=50)
        windows, recorded, _ = check_steps(directory, 150, "MatMul,step")
        assert len(windows) >= 3 and {one["framework"] for one in windows} == {"tensorflow"}, windows
    print("windows of TensorFlow")


def test_options():
    with Doubles() as here:
        directory, _, _ = here.run("none", jax(60), ops="none")
        assert not windows_of(directory)
        directory, _, _ = here.run("zero", jax(60), overhead=0)
        assert not windows_of(directory) and not ops_of_steps(directory)
        directory, _, _ = here.run("little", jax(120), overhead=0.001)
        assert [one["first_step"] for one in windows_of(directory)] == [2]
        directory, _, _ = here.run("chosen", jax(60), steps="5-27")
        _, recorded, _ = check_steps(directory, 60, "await,dot.3")
        assert sorted(recorded) == list(range(5, 28)), recorded
        asked = "SELECT DISTINCT ops_recorded AS r, sample_weight AS w FROM steps ORDER BY 1"
        weights = capturing.query(directory, asked)
        assert weights == [{"r": 0, "w": None}, {"r": 1, "w": 1.0}], weights
        directory, _, _ = here.run("all", jax(40), ops="all")
        assert sorted(check_steps(directory, 40, "await,dot.3")[1]) == list(range(1, 40))
    print("--ops, --overhead, --steps")


OWN = """
if number == 5 or (number > 5 and 'theirs' not in globals() and doubles.current):
        import jax._src.profiler as own
        theirs = number
        own.start_trace('x')
        assert len(doubles.current) == 1 and doubles.current[0] is own._profile_state.profile_session
        made = doubles.made[0]
    if number == globals().get('theirs', 999) + 30:
        assert doubles.made[0] == made, 'one of ours was on meanwhile'
        assert own.stop_trace() == ['dot.3', 'await'] * 30
"""


def test_own_profiler():
    """One of the program's own begins while a window is open: it is whole, ours is closed, and comes again later."""
    with Doubles() as here:
        begin = OWN.replace("number == 5 or (number > 5 and ", "(number > 2 and ")
        directory, out, _ = here.run("own", jax(300, begin.strip()), overhead=50)
        windows, _, _ = check_steps(directory, 300, "await,dot.3")
        assert out == "299\n" and [one["ending"] for one in windows].count("profiler") == 1, windows
        assert told(directory).count("profiler_yielded") == 1 and windows[-1]["first_step"] > 40, windows
        program = """
import tensorflow as tf, doubles
from tensorflow.python.eager.polymorphic_function.polymorphic_function import Function
from tensorflow.python.eager.polymorphic_function.atomic_function import AtomicFunction
from tensorflow.python.profiler import profiler_v2
step = Function(AtomicFunction())
for number in range(40):
    step(400000)
    if number == 2:
        assert len(doubles.current) == 1
        profiler_v2.start(sys.argv[0] + '-%d' % id(step) if False else DIRECTORY)
    if number == 12: assert profiler_v2.stop() == ['MatMul', 'step'] * 10
"""
        theirs = os.path.join(os.path.dirname(here.packages), "theirs")
        directory, _, _ = here.run("owntf", program.replace("sys.argv[0] + '-%d' % id(step) if False else DIRECTORY",
                                                            repr(theirs)), overhead=50)
        assert told(directory).count("profiler_yielded") == 1
        assert windows_of(directory)[0]["ending"] == "profiler", windows_of(directory)
        # Runs of sessions that are to be traced by hardware; other messages may begin with the same bytes.
        imports = "import profiler_v2\nfrom tensorflow.python.client import session"
        program = program.replace("import profiler_v2", imports)
        first, _, _ = program.partition("        profiler_v2.start")
        directory, _, _ = here.run("full", first + """
        assert session.tf_session.TF_NewBufferFromString(bytes([8, 3])) == b'\\x08\\x03' and len(doubles.current) == 1
        assert session.options(1) == b'\\x08\\x01' and len(doubles.current) == 1
        assert session.options(3) == b'\\x08\\x03' and not doubles.current
""", overhead=50)
        assert told(directory).count("profiler_yielded") == 1
    print("profilers of the program's own")


def test_server():
    with Doubles() as here:
        before = "if number == 3: assert jax.profiler.start_server(1) == 1 and not doubles.current"
        directory, _, error = here.run("server", jax(80, before), overhead=50)
        assert len(windows_of(directory)) == 1 and "started a profiler server of jax" in error, error
        assert told(directory).count("profiler_server") == 1
        directory, _, _ = here.run("asked", jax(80, before), steps="20-29")
        assert sorted(ops_of_steps(directory)) == list(range(20, 30))
    print("profiler servers")


def test_attach():
    """Steps of a dormant program, twice: each file has them all, and begins with the programs."""
    program = """
import sys, os
sys.path[:0] = [%r, %r]
import jax, doubles
def work(x): doubles.did('dot.3', 300000)
step = jax.jit(work)
jax.jit(lambda x: x)(1)  # what is called first is not the step
while not os.path.exists(%r):
    step(1)
    doubles.did('await', 100000)
"""
    with Doubles() as here:
        folder = os.path.dirname(here.packages)
        stop, run = os.path.join(folder, "stop"), os.path.join(folder, "attached")
        command = [CAPTURE, "--dormant", "-o", run, "--", capturing.PYTHON, "-c",
                   program % (here.packages, TESTS, stop)]
        own = dict(os.environ, XDG_RUNTIME_DIR=os.path.abspath(folder), SLOW_STOP="1")
        os.chmod(folder, 0o700)
        streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        with capturing.bounded.started(command, env=own, **streams) as child:
            try:
                def ask(*options):
                    return capturing.bounded.run([CAPTURE, *options], capturing.SECONDS, env=own)

                end = time.monotonic() + 60
                its = "--list", "--attach", "run:" + run  # others of the machine may be dormant, too
                line = re.compile(r"^(\d+) +\S+ +(\d+) +dormant", re.M)
                while time.monotonic() < end:  # until it is the step that is counted
                    listed = line.search(ask(*its).stdout)
                    if listed and int(listed.group(2)) > 20:
                        break
                    time.sleep(0.1)
                process = listed.group(1)
                for steps in (12, 12, 2, 1):
                    result = ask("--attach", process, "--steps", str(steps))
                    told = "recorded %d step%s and " % (steps, "s" if steps > 1 else "")
                    assert result.returncode == 0 and told in result.stderr, result.stderr
                    assert "and the ops of %d step" % steps in result.stderr, result.stderr
            finally:
                open(stop, "w").close()
            child.wait()
        for dump, number in zip(sorted(capturing.dumps(run), key=os.path.getmtime)[2:], (2, 1)):
            steps = capturing.query(dump, "SELECT ops_recorded AS r, sample_weight AS w FROM steps")
            assert steps == [{"r": 1, "w": 1.0}] * number, steps
            ops = capturing.query(dump, "SELECT step_id IS NOT NULL AS s, count(*) AS n FROM ops WHERE name = 'dot.3'")
            assert ops == [{"s": 1, "n": number}], ops
            os.remove(dump)
        for dump in capturing.dumps(run):
            windows = windows_of(dump)
            assert [one["step_count"] for one in windows] == [10, 2] and windows[0]["has_programs"] == 1, windows
            steps = capturing.query(dump, "SELECT ops_recorded AS r, sample_weight AS w FROM steps")
            assert len(steps) == 12 and all(step == {"r": 1, "w": 1.0} for step in steps), steps
        assert len(capturing.dumps(run)) == 2, os.listdir(run)
    print("attach")


EARLY = """
import sys, os, time
sys.path[:0] = [%r, %r]
import jax, doubles
def work(x): doubles.did('dot.3', 300000)
step, first = jax.jit(work), jax.jit(lambda x: x)
while not os.path.exists(%r):
    time.sleep(0.01)
for number in range(2):
    first(1)
for number in range(60):
    step(1)
    doubles.did('await', 100000)
"""


def test_attach_early():
    """Asked for before the first step, while another function is called: 12 steps of what turns out to be the step."""
    with Doubles() as here:
        folder = os.path.dirname(here.packages)
        begin, run = os.path.join(folder, "begin"), os.path.join(folder, "early")
        command = [CAPTURE, "--dormant", "-o", run, "--", capturing.PYTHON, "-c",
                   EARLY % (here.packages, TESTS, begin)]
        own = dict(os.environ, XDG_RUNTIME_DIR=os.path.abspath(folder))
        os.chmod(folder, 0o700)
        streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}

        def wait_for(state):
            end = time.monotonic() + 60
            its = [CAPTURE, "--list", "--attach", "run:" + run]
            while state not in capturing.bounded.run(its, capturing.SECONDS, env=own).stdout:
                assert time.monotonic() < end, state
                time.sleep(0.1)

        ask = [CAPTURE, "--attach", "run:" + run, "--steps", "12"]
        with capturing.bounded.started(command, env=own, **streams) as child:
            try:
                wait_for("dormant")
                with capturing.bounded.started(ask, env=own, stderr=subprocess.PIPE, text=True) as asking:
                    wait_for("waiting")
                    open(begin, "w").close()
                    error = asking.communicate(timeout=capturing.SECONDS)[1]
            finally:
                open(begin, "w").close()
            child.wait()
        assert asking.returncode == 0 and "recorded 12 steps and " in error, error
        held = ops_of_steps(run)
        assert len(held) == 12 and set(list(held.values())[:-1]) == {"await,dot.3"}, held  # the last ends with its call
    print("attach early")


INTERRUPTED = """
import signal, jax, doubles
class Array:
    asked = 0
    def block_until_ready(self):
        Array.asked += 1
        if Array.asked % 4 == 3: signal.raise_signal(signal.SIGINT)
jax.live_arrays = lambda: [Array()]
ended, ends = doubles.Events.ended, []
def end_and_ask(session, programs):
    told = ended(session, programs)
    ends.append(session)
    if len(ends) == 3: signal.raise_signal(signal.SIGINT)
    return told
doubles.Events.ended = end_and_ask
def work(x): doubles.did('dot.3', 300000)
step, interrupts = jax.jit(work), 0
for number in range(80):
    while True:
        try:
            step(1)
            break
        except KeyboardInterrupt:
            interrupts += 1
    doubles.did('await', 100000)
print(number, interrupts, interrupts == (Array.asked + 1) // 4 + 1)
"""


def test_interrupted():
    """Ctrl-C while the recorder waits for JAX's work, as a window begins or ends, and while one is closed: the program
    sees it as before a call, and windows go on."""
    with Doubles() as here:
        directory, out, error = here.run("interrupted", INTERRUPTED, ops="all")
        number, interrupts, are_all = out.split()
        assert (number, are_all) == ("79", "True") and int(interrupts) >= 3, (out, error)
        held = ops_of_steps(directory)
        lost = 10  # what the session told whose end was interrupted
        assert 79 - lost - int(interrupts) <= len(held) <= 79 and max(held) >= 78, (out, held)
        assert {ops for step, ops in held.items() if step < 79} == {"await,dot.3"}, held
        endings = [one["ending"] for one in windows_of(directory)][:-1]
        assert set(endings) == {"steps", "error"} and endings.count("error") == 1, endings
        assert "capture_hook_failed" not in told(directory), told(directory)
    print("interrupted")


INTERRUPTED_CLOSE = """
import jax, doubles
class Array:
    asked = 0
    def block_until_ready(self):
        Array.asked += 1
        if Array.asked == 2: raise KeyboardInterrupt  # as a handler of a signal does
jax.live_arrays = lambda: [Array()]
def work(x): doubles.did('dot.3', 300000)
step = jax.jit(work)
for number in range(5): step(number)
try: step(5)
except KeyboardInterrupt: print('interrupted')
step(5)
"""


def test_interrupted_close():
    """A close that is interrupted, and then the program ends: the window lasts until it is closed, not until it was
    asked to."""
    with Doubles() as here:
        directory, out, _ = here.run("close", INTERRUPTED_CLOSE, overhead=50)
        held = ops_of_steps(directory)
        assert out == "interrupted\n" and list(held) == [2, 3, 4, 5], (out, held)
        assert set(held.values()) == {"dot.3"}, held
        windows = windows_of(directory)
        assert [(one["first_step"], one["step_count"]) for one in windows] == [(2, 4)], windows
    print("an interrupted close")


def test_failures():
    """What sessions raise does not reach the program."""
    with Doubles() as here:
        fails = "import jaxlib._profiler as p\ndef no(*_): raise OSError('no room')\n"
        directory, out, _ = here.run("start", jax(30, "if number == 1: doubles.Events.began = fails").replace(
            "import jax", fails.replace("no(", "fails(") + "import jax", 1), overhead=50)
        assert out == "29\n" and not windows_of(directory) and "profiler_window_failed" in told(directory)
        directory, out, _ = here.run("stop", jax(30, "if number == 1: doubles.Events.ended = fails").replace(
            "import jax", fails.replace("no(", "fails(") + "import jax", 1), overhead=50)
        windows = windows_of(directory)
        assert out == "29\n" and windows[0]["ending"] == "error" and "no room" in windows[0]["error"], windows
        # It is tried at the import: another version of it.
        directory, out, error = here.run("probe", jax(30).replace("import jax", "import doubles\n"
                                         "doubles.Events.ended = lambda *_: b'{}'\nimport jax", 1), overhead=50)
        assert out == "29\n" and not windows_of(directory), out
        assert "without its ops: its profiler cannot be used" in error, error
        assert "profiler_windows_missing" in told(directory)
        with open(os.path.join(here.packages, "jaxlib/_profiler.py"), "w") as file:
            file.write("def start_server(port): pass")
        _, out, error = here.run("gone", jax(30), overhead=50)
        assert out == "29\n" and "without its ops: its profiler cannot be used" in error, error
    print("sessions that fail")


def test_kept():
    """With --keep files of windows go with what is kept, and stay with what was written of it."""
    kept = {"keep": "30s", "slow_step": "0", "overhead": 50}
    with Doubles() as here:
        directory, out, _ = here.run("ended", jax(60), **kept)
        assert out == "59\n" and os.listdir(directory) == [], os.listdir(directory)
        directory, _, _ = here.run("failed", jax(60) + "raise ValueError", status=1, **kept)
        windows, recorded, _ = check_steps(directory, 60, "await,dot.3")
        assert len(windows) > 1 and len(recorded) > 3, windows
        assert len(os.listdir(directory)) == 1 + len(windows), os.listdir(directory)
        # A step is not slow by a window that took its time to open, nor since work was waited for before and after it.
        late = "import doubles, time\nbegan = doubles.Events.began\n" \
               "doubles.Events.began = lambda self: print('opens') or time.sleep(1) or began(self)\n" \
               "import jax\nclass Array:\n    block_until_ready = lambda self: time.sleep(1)\n" \
               "jax.live_arrays = lambda: [Array()]\n"
        kept["slow_step"] = "800"
        directory, out, _ = here.run("late", late + jax(60) + "time.sleep(1)", steps="40-42", **kept)
        assert out == "opens\nopens\n59\n", out  # once at the import, to see whether it can
        assert os.listdir(directory) == [], os.listdir(directory)
    print("kept")


def test_fork():
    """A window that is open at a fork is the parent's."""
    before = """
    if number == 4:
        import os
        assert doubles.current
        if not os.fork():
            for _ in range(20): step(1)
            os._exit(0)
        os.wait()
"""
    with Doubles() as here:
        directory, out, _ = here.run("fork", jax(40, before.strip()), overhead=50)
        assert out == "39\n"
        asked = "SELECT profile_id, count(*) AS n, min(is_read) AS read FROM profiler_windows GROUP BY 1"
        rows = capturing.query(directory, asked)
        assert len(rows) == 2 and all(row["read"] == 1 for row in rows), rows
    print("fork")


capturing.main(globals())
