"""ProfileContext: steps of a program are traced and dumped as it runs.

    with tfprof.ProfileContext("/tmp/train_dir", trace_steps=range(10, 20), dump_steps=[20]) as context:
        train()

In TensorFlow's graph mode every Session.run is a step.  Of Keras, on any of its backends, each batch of fit() is one,
counted from 0 on over all epochs; where several run in one call (steps_per_execution) they are traced as the first of
them.  In PyTorch a step ends with that of an optimizer, or goes from one tfprof.step() to the next; so it does in other
loops.  What is traced of these TensorFlow and JAX tell by their own profilers where they are there (_tfprof_spaces), of
plain Python its function calls.  Without
trace_steps, what is to be traced is chosen: nothing in the first ten steps; then whatever fetches something new (a
program without fetches: the first step), and now and then another one while less than half of the graph has been seen.
A step after which a profile is dumped is traced, too, where none has been before it: nothing else would be in it.

trace_next_step() and dump_next_step() mean the next Session.run; of a loop, the step that ends next, which is traced
from there on: called where the loop's body begins, all of it.

The program goes on whatever becomes of its profile: what goes wrong here is told on stderr, once for each thing that
was done, and never raised into what the program does.
"""

import functools
import os
import random
import sys
import threading
import time
import weakref

load_beside = None  # set by the module tfprof

WARMUP_STEPS = 10
MOST_CHOSEN_STEPS = 100  # without trace_steps, and the step that is dumped then
contexts = []  # the one that is open
_told = set()


def told(doing, action, *arguments):
    """What the action returns; None where it failed, which is told."""
    try:
        return action(*arguments)
    except Exception as problem:
        if doing not in _told:
            _told.add(doing)
            sys.stderr.write("tfprof: %s failed (%s: %s); the program goes on\n"
                             % (doing, type(problem).__name__, problem))
        return None


def harmless(doing):
    """Of a function that the program calls, or that is called in what it does."""
    def decorate(function):
        @functools.wraps(function)
        def called(*arguments):
            return told(doing, function, *arguments)
        return called
    return decorate


class ProfileContext:
    """profile_dir: where profile_<step> is written; trace_steps, dump_steps: numbers of
    steps (None: chosen, and 100)."""

    def __init__(self, profile_dir, trace_steps=None, dump_steps=None, enabled=True, debug=False):
        self._enabled = enabled
        if not enabled:
            return
        if not profile_dir:
            raise ValueError("ProfileContext needs a directory")
        self._directory, self._debug = profile_dir, debug
        self._is_automatic = trace_steps is None
        self._trace_steps = set(trace_steps or ())
        self._dump_steps = set([MOST_CHOSEN_STEPS] if dump_steps is None else dump_steps)
        self._random = random.Random(111)
        self._fetched, self._views = set(), []
        self._trace_next = self._dump_next = False
        self._traced = self._step = self._finished = 0
        self._profiler = None
        self._lock = threading.RLock()
        self._driver = None

    @property
    def profiler(self):
        """The Profiler with all steps that were traced so far; None where the context is not enabled."""
        if not self._enabled:
            return None
        if self._profiler is None:
            self._profiler = load_beside("_tfprof_profiler").Profiler()
        return self._profiler

    def add_auto_profiling(self, cmd, options, profile_steps):
        """Runs the view cmd with options after each of these steps, which are traced too."""
        if cmd not in VIEWS:
            sys.stderr.write("tfprof: add_auto_profiling has no view %r; there are %s\n" % (cmd, ", ".join(VIEWS)))
        elif self._enabled:
            self._views.append((cmd, options, set(profile_steps)))
            self._trace_steps |= set(profile_steps)

    def trace_next_step(self):
        if self._enabled:
            self._trace_next = True
            self._look_again()

    def dump_next_step(self):
        if self._enabled:
            self._dump_next = True
            self._look_again()

    @harmless("tracing the next step")
    def _look_again(self):
        """Whether to trace what was not to be traced when it began."""
        if isinstance(self._driver, LoopDriver):
            self._driver.look_again()

    def step(self, number=None):
        """A step of the loop begins here; the same as tfprof.step()."""
        return sys.modules["tfprof"].step(number)

    def _should_trace(self, step, fetches, steps=1):
        """`steps`: so many are done at once, from `step` on."""
        if self._is_automatic and self._traced > MOST_CHOSEN_STEPS:
            return False
        numbers = range(step, step + steps)
        is_dumped = self._dump_next or not self._dump_steps.isdisjoint(numbers)
        should = (self._trace_next or not self._trace_steps.isdisjoint(numbers) or (is_dumped and not self._traced))
        if not should and self._is_automatic and step > WARMUP_STEPS:
            name = fetches()
            if name not in self._fetched:
                self._fetched.add(name)
                should = True
            else:
                should = (self.profiler._coverage < 0.5 and step < MOST_CHOSEN_STEPS
                          and self._random.randint(0, 10) < 2)
        self._trace_next = False
        self._traced += should
        return should

    def _finish_step(self, step, recorded, is_traced, steps=1):
        self._finished += steps
        if is_traced and recorded is not None:
            told("adding a step", self.profiler.add_step, step, recorded)
            if self._debug and hasattr(recorded, "step_stats"):
                told("writing a RunMetadata", self._write, "run_meta_%d" % step, str(recorded).encode())
        numbers = range(step, step + steps)
        dumped = [number for number in numbers if number in self._dump_steps]
        if self._dump_next and not dumped:
            dumped = [numbers[-1]]
        for number in dumped:
            self._dump_next = False
            told("writing profile_%d" % number, self._dump, number, is_traced)
        for view, options, its_steps in self._views:
            if not its_steps.isdisjoint(numbers):
                told("the view %s" % view, getattr(self.profiler, VIEWS[view]), options)

    def _dump(self, step, is_traced):
        os.makedirs(self._directory, exist_ok=True)
        if is_traced or self.profiler._source is not None:
            self.profiler._write_profile(os.path.join(self._directory, "profile_%d" % step))
        else:  # asked for by another thread than that of the steps
            sys.stderr.write("tfprof: no step has been traced by step %d, nothing is dumped\n" % step)

    def _write(self, name, content):
        os.makedirs(self._directory, exist_ok=True)
        with open(os.path.join(self._directory, name), "wb") as file:
            file.write(content)

    def __enter__(self):
        if self._enabled:
            told("opening a ProfileContext", self._open)
        return self

    def _open(self):
        if contexts:
            sys.stderr.write("tfprof: a ProfileContext is open already, this one within it does nothing\n")
            return
        is_graph_mode = load_beside("_tfprof_sources").default_graph() is not None
        self._driver = SessionDriver(self) if is_graph_mode else LoopDriver(self)
        contexts.append(self)
        self._driver.begin()

    def __exit__(self, *problem):
        if self._enabled and self in contexts:
            contexts.remove(self)
            told("closing a ProfileContext", self._driver.end)
            if not self._finished and problem[0] is None:
                sys.stderr.write("tfprof: no step has ended in this ProfileContext, so there is no profile: it knows "
                                 "those of torch.optim, batches of fit() of Keras and tfprof.step(), each on the "
                                 "thread that opened it, and runs of sessions\n")
        return False


VIEWS = {"scope": "profile_name_scope", "graph": "profile_graph", "op": "profile_operations", "code": "profile_python",
         "advise": "advise"}


@harmless("beginning a step")
def step_begins(number):
    """Called by tfprof.step()."""
    for context in contexts:
        if isinstance(context._driver, LoopDriver):
            context._driver.mark(number)


@harmless("ending a step")
def step_ends():
    for context in contexts:
        if isinstance(context._driver, LoopDriver):
            context._driver.unmark()


class SessionDriver:
    """Takes the place of Session.run: of TensorFlow's sessions each run is a step."""

    def __init__(self, context):
        self.context, self.devices = context, weakref.WeakKeyDictionary()

    def begin(self):
        from tensorflow.python.client import session

        self.session_class = session.BaseSession
        self.run = run = session.BaseSession.run
        context, driver = self.context, self

        def counted_run(self, fetches, feed_dict=None, options=None, run_metadata=None):
            return driver.step(run, self, fetches, feed_dict, options, run_metadata)

        session.BaseSession.run = counted_run
        if context._profiler is None and context._debug:
            sys.stderr.write("tfprof: every Session.run is a step\n")

    def end(self):
        self.session_class.run = self.run

    def step(self, run, session, fetches, feed_dict, options, run_metadata):
        """Steps of several threads go on side by side, as without us: one may wait for what another one feeds."""
        context = self.context
        number, is_traced = told("counting a step", self.begin_step, session, fetches) or (None, False)
        traced = told("tracing a step", self.traced, session, options, run_metadata) if is_traced else None
        if traced is not None:
            options, run_metadata = traced
        result = run(session, fetches, feed_dict, options, run_metadata)
        if number is not None:
            with context._lock:
                told("a step", context._finish_step, number, run_metadata, traced is not None)
        return result

    def begin_step(self, session, fetches):
        """The number of the step, and whether it is to be traced."""
        from tensorflow.python.client.session import _FetchMapper

        context = self.context

        def fetch_names():
            with session.graph.as_default():
                unique = _FetchMapper.for_fetch(fetches).unique_fetches()
            return "-".join(sorted(getattr(fetch, "name", str(fetch)) for fetch in unique))

        with context._lock:
            number, context._step = context._step, context._step + 1
            if context._profiler is None:
                context._profiler = load_beside("_tfprof_profiler").Profiler(session.graph)
            return number, bool(told("choosing steps", context._should_trace, number, fetch_names))

    def traced(self, session, options, run_metadata):
        """The program's own options stay what they are. A trace of hardware is a session of TensorFlow's profiler, and
        raises into the run where another one is open, as when two threads are traced: it is asked for where there is
        hardware that only it tells of."""
        from tensorflow.core.protobuf import config_pb2

        full = config_pb2.RunOptions()
        if options is not None:
            full.CopyFrom(options)
        if full.trace_level == config_pb2.RunOptions.NO_TRACE:
            level = config_pb2.RunOptions
            full.trace_level = level.FULL_TRACE if self.has_devices(session) else level.SOFTWARE_TRACE
        return full, config_pb2.RunMetadata() if run_metadata is None else run_metadata


    def has_devices(self, session):
        if session not in self.devices:
            self.devices[session] = any(one.device_type not in ("CPU", "XLA_CPU") for one in session.list_devices())
        return self.devices[session]


class LoopDriver:
    """Steps of a loop: from mark to mark, or, until the first mark, of PyTorch's optimizers. Batches of Keras are
    marked where the program marks no steps itself.

    torch.profiler must not end within a range that began while it ran, and an optimizer's step is such a range: what is
    to be done there waits until the outermost one has ended.
    """

    def __init__(self, context):
        self.context, self.recorder, self.number, self.is_marked, self.hook = context, None, None, False, None
        self.thread, self.depth, self.waiting, self.optimizer, self.ranges = threading.get_ident(), 0, [], None, None
        self.steps = 1  # that are done at once
        self.is_marked_by_program, self.batches, self.sessions, self.framework = False, None, None, None

    def begin(self):
        self.batches = load_beside("_tfprof_batches").Batches(self.batch_begins, self.batch_ends, told)
        torch = sys.modules.get("torch")
        if torch is None:
            return
        self.watch_ranges(torch.autograd.profiler.record_function)
        inner = sys.modules.get(torch.optim.Optimizer.__module__)
        register = getattr(inner, "register_optimizer_step_post_hook", None)
        if register is None:
            sys.stderr.write("tfprof: this PyTorch does not tell of optimizers' steps; tfprof.step() does\n")
        else:
            self.hook = register(lambda optimizer, *_: told("a step", self.optimizer_stepped, optimizer))
            self.start(0)

    def watch_ranges(self, ranges):
        enter, leave = ranges.__enter__, ranges.__exit__

        def entered(opened):
            self.depth += threading.get_ident() == self.thread
            return enter(opened)

        def left(opened, *problem):
            try:
                return leave(opened, *problem)
            finally:
                if threading.get_ident() == self.thread:
                    self.depth = max(0, self.depth - 1)
                    while self.waiting and not self.depth:
                        told("a step", self.waiting.pop(0))

        self.ranges = (ranges, enter, leave)
        ranges.__enter__, ranges.__exit__ = entered, left

    def outside(self, action):
        """Does it now, or when the last range that is open has ended."""
        if self.depth:
            self.waiting.append(action)
        else:
            told("a step", action)

    def end(self):
        self.batches.end()
        if self.hook is not None:
            self.hook.remove()
        if self.ranges is not None:
            self.ranges[0].__enter__, self.ranges[0].__exit__ = self.ranges[1:]
        while self.waiting:
            told("a step", self.waiting.pop(0))
        if self.is_marked:
            self.finish()
        elif self.recorder is not None:
            self.recorder.stop()
        if self.sessions is not None:
            self.sessions.end()

    # ---- Steps.

    def batch_begins(self, first, steps, backend):
        if not self.is_marked_by_program and threading.get_ident() == self.thread:
            self.framework = backend
            self.outside(lambda: self.begin_marked(first, steps))

    def batch_ends(self):
        if not self.is_marked_by_program and threading.get_ident() == self.thread:
            self.outside(self.finish)

    def optimizer_stepped(self, optimizer):
        """Of several optimizers the first one counts."""
        if self.is_marked or threading.get_ident() != self.thread or self.optimizer not in (None, id(optimizer)):
            return
        self.optimizer = id(optimizer)
        number = self.number

        def next_step():
            told("a step", self.finish)
            self.start(number + 1)

        self.outside(next_step)

    def mark(self, number):
        if threading.get_ident() == self.thread:
            self.is_marked_by_program = True
            self.outside(lambda: self.begin_marked(number))

    def unmark(self):
        if threading.get_ident() == self.thread:
            self.outside(self.finish)

    def begin_marked(self, number, steps=1):
        if not self.is_marked and self.recorder is not None:
            self.recorder.stop()  # what came before the first mark is no step
            self.recorder = None
            self.context._traced -= 1
        self.is_marked = True
        self.start(number, steps)

    def look_again(self):
        if threading.get_ident() == self.thread:
            self.outside(lambda: self.number is None or self.recorder is not None
                         or self.start(self.number, self.steps))

    def start(self, number, steps=1):
        self.number, self.steps = number, steps
        if self.context._should_trace(number, lambda: "", steps):
            self.recorder = told("tracing a step", self.make_recorder, number)

    def make_recorder(self, number):
        """Of the framework that runs the step, as far as that is known."""
        framework = self.framework
        if framework is None:
            framework = "torch" if "torch" in sys.modules else load_beside("_tfprof_spaces").framework_of_loop()
        if framework == "torch":
            return TorchRecorder()
        if framework not in ("tensorflow", "jax"):
            return PythonRecorder()
        spaces = load_beside("_tfprof_spaces")
        if self.sessions is None:
            self.sessions = spaces.Sessions()
        return spaces.Recorder(self.sessions, framework, number)

    def finish(self):
        if self.number is None:
            return
        recorder, self.recorder = self.recorder, None
        number, self.number = self.number, None
        recorded = told("tracing a step", recorder.stop) if recorder else None
        self.context._finish_step(number, recorded, recorder is not None, self.steps)


class TorchRecorder:
    def __init__(self):
        from torch import profiler

        self.profile = profiler.profile(record_shapes=True, with_stack=True, profile_memory=True, with_flops=False)
        self.profile.start()

    def stop(self):
        self.profile.stop()
        return self.profile


class PythonRecorder:
    """Calls of Python functions on this thread, as events of a trace, each with the lines that it was called from;
    tfprof's own are left out."""

    def __init__(self):
        self.events, self.open, self.stacks = [], [], {}
        self.directory = os.path.dirname(os.path.abspath(__file__))
        self.outer = self.stack_of(sys._getframe())
        self.former = sys.getprofile()
        self.start = time.time_ns()
        sys.setprofile(self.see)

    def see(self, frame, event, argument):
        told("tracing Python", self.see_event, frame, event)

    def see_event(self, frame, event):
        if event == "call":
            stack = self.stack_of(frame.f_back)
            self.open.append((time.time_ns(), frame.f_code, stack))
        elif event == "return" and self.open:
            self.add(*self.open.pop(), time.time_ns())

    def is_own(self, code):
        return os.path.dirname(os.path.abspath(code.co_filename)) == self.directory

    def stack_of(self, caller):
        """As torch.profiler writes it: "file(line): function" of the caller, and behind ";" what is around it."""
        if not self.open:
            frames = []
            while caller is not None:
                if not self.is_own(caller.f_code):
                    frames.append(place_of(caller))
                caller = caller.f_back
            return ";".join(frames)
        around = self.open[-1][2]
        if caller is None:
            return around
        key = caller.f_code, caller.f_lineno, around
        if key not in self.stacks:
            frames = [] if self.is_own(caller.f_code) else [place_of(caller)]
            self.stacks[key] = ";".join(frames + ([around] if around else []))
        return self.stacks[key]

    def add(self, start, code, stack, end):
        if not self.is_own(code):
            name = "%s:%d:%s" % (os.path.basename(code.co_filename), code.co_firstlineno, name_of(code))
            self.add_event(name, start, stack, end)

    def add_event(self, name, start, stack, end):
        self.events.append({"ph": "X", "cat": "cpu_op", "name": name, "pid": os.getpid(),
                            "tid": threading.get_ident() & 0x7FFFFFFF,
                            "ts": (start - self.start) / 1000, "dur": (end - start) / 1000,
                            "args": {"Call stack": stack}})

    def stop(self):
        sys.setprofile(self.former)
        end = time.time_ns()
        while self.open:
            self.add(*self.open.pop(), end)
        self.add_event("<loop>", self.start, self.outer, end)
        return {"schemaVersion": 1, "baseTimeNanoseconds": self.start, "traceEvents": self.events}


def name_of(code):
    return getattr(code, "co_qualname", code.co_name)


def place_of(frame):
    return "%s(%d): %s" % (frame.f_code.co_filename, frame.f_lineno, name_of(frame.f_code))
