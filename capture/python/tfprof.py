"""Marks in a program that tfprof-capture records.  Nothing of it is required, and outside of a recording all of it does
nothing, so it may stay in the program.

    import tfprof

    for number, batch in enumerate(loader):
        tfprof.step(number)              # a step begins here, and the one before ends; these are the rows of `steps`
        with tfprof.range("augment"):    # a row of `ranges`
            batch = augment(batch)
        train(batch)

    tfprof.stop()                        # ops are not recorded from here ...
    evaluate(model)
    tfprof.start()                       # ... to here; steps and ranges are

    with tfprof.Profile("evaluation"):   # every op in here is recorded, also where ops are only sampled or not recorded
        evaluate(model)

    @tfprof.Profile()                    # the same for each call of a function
    def evaluate(model): ...

    model.fit(x, y, callbacks=[tfprof.KerasCallback(profile_batch=(10, 15))])   # of Keras: every op of these batches

    from tfprof import experimental as profiler   # what tf.profiler.experimental has (_tfprof_experimental.py)

A recorded program finds this module without any path.  For one that runs unrecorded, too, copy this file next to it, or
say

    try:
        import tfprof
    except ImportError:
        tfprof = None

Marks need PyTorch, TensorFlow or JAX: what is marked before one of these is imported is not recorded.  They may be set
on any thread; a step begins and ends on one.  Within what torch.compile, torch.export, tf.function or jax.jit makes a
graph of they have no effect, as the frameworks' own: set them around it.
"""

import atexit
import functools
import os
import sys
import threading

__all__ = ["KerasCallback", "Profile", "experimental", "is_recording", "range", "start", "step", "stop"]

_steps = threading.local()  # .range: the open one; .number: its number


def _recording():
    """The part of the hooks that arms the library, once it has done so; None outside of a recording."""
    return getattr(sys.modules.get("_tfprof_hooks"), "recording", None)


def _quietly(action, *arguments):
    """What it returns; None where it failed, which is told, for a mark must not raise of what the recorder does."""
    try:
        return action(*arguments)
    except Exception as problem:
        sys.modules["_tfprof_hooks"].say_problem(problem)
        return None


def is_recording():
    """Whether marks set now are recorded: not in a program that is dormant, until somebody asks for its steps."""
    recording = None if _is_traced() else _recording()
    return recording is not None and bool(recording.holding_gil.tfprof_capture_is_recording())


def _is_traced():
    """Whether a framework makes a graph of the code that asks: the answer is all that PyTorch sees of ours."""
    compiler = sys.modules.get("torch.compiler")
    if compiler is not None and hasattr(compiler, "is_compiling") and compiler.is_compiling():
        return True
    process = getattr(sys.modules.get("_tfprof_hooks"), "process", None)
    return bool(process) and process.is_traced()


def _take_last(opened):
    """What this thread put into the list last, [thread, ...], or None: one object may be entered again while it
    is open, and on several threads.
    """
    me = threading.get_ident()
    for entry in reversed(opened):
        if entry[0] == me:
            opened.remove(entry)
            return entry
    return None


def _decorate(function, context):
    """The function with each call in a new context; of a coroutine function until the coroutine has ended."""
    if getattr(getattr(function, "__code__", None), "co_flags", 0) & 0x80:  # inspect.CO_COROUTINE

        @functools.wraps(function)
        async def coroutine_in_context(*arguments, **keywords):
            with context():
                return await function(*arguments, **keywords)

        return coroutine_in_context

    @functools.wraps(function)
    def in_context(*arguments, **keywords):
        with context():
            return function(*arguments, **keywords)

    return in_context


class range:
    """A stretch of time with a name, as a context manager (`with tfprof.range("load"):`) or a decorator."""

    _opens = "open_range"

    def __init__(self, name):
        self.name = str(name)
        self._opened = []  # [thread, what ends the range or None]

    def __enter__(self):
        recording = None if _is_traced() else _recording()
        if recording is not None:
            self._opened.append([threading.get_ident(), _quietly(getattr(recording, self._opens), self.name)])
        return self

    def __exit__(self, *problem):
        last = _take_last(self._opened) if self._opened and not _is_traced() else None
        if last is not None and last[1] is not None:
            _quietly(last[1])
        return False

    def __call__(self, function):
        return _decorate(function, lambda: range(self.name))


class _StepRange(range):
    _opens = "open_step"


# A part that a build may leave out (ext/parts.def): what TensorFlow's profiler has.
_PART = "_tfprof_classic"
_heard = []  # of the modules beside this one that have step_begins(number) and step_ends(): those who hear of each step


def _load_beside(name):
    if name in sys.modules:
        return sys.modules[name]
    from importlib.util import module_from_spec, spec_from_file_location

    hooks = sys.modules.get("_tfprof_hooks")  # this may be a copy of the module, alone
    folders = [os.path.dirname(os.path.abspath(one.__file__)) for one in (sys.modules[__name__], hooks) if one]
    paths = [os.path.join(folder, name + ".py") for folder in folders]
    path = next(filter(os.path.exists, paths), None)
    if path is None:
        raise ImportError("tfprof: this needs %s.py, which lies beside tfprof.py where tfprof is built or installed: "
                          "copy both" % name)
    spec = spec_from_file_location(name, path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    module.load_beside = _load_beside
    sys.modules[name] = module
    if hasattr(module, "step_begins"):
        _heard.append(module)
    return module


def __getattr__(name):
    absent = AttributeError("module 'tfprof' has no attribute %r" % name)
    if name.startswith("__"):
        raise absent
    try:
        part = _load_beside(_PART)
    except ImportError:
        raise AttributeError("%s; what TensorFlow's profiler has is in %s.py and others beside tfprof.py, which are "
                             "not there: copy them, too, or build tfprof with TFPROF_CLASSIC"
                             % (absent, _PART)) from None
    return part.attribute(sys.modules[__name__], name)


def step(number=None):
    """Ends the thread's step and begins the next: number, or the one after the last. The result may be used in a `with`
    statement, at whose end the step ends; without it the step ends at the next call or with the program.
    """
    if _is_traced():
        return _Step()
    end_step()
    number = getattr(_steps, "number", -1) + 1 if number is None else int(number)
    if number < 0:
        raise ValueError("tfprof.step: the number of a step must not be negative, %d is" % number)
    if not hasattr(_steps, "number"):
        atexit.register(end_step)  # of the main thread, where it runs
    _steps.number = number
    _steps.range = _StepRange("tfprof.step#%d" % number).__enter__()
    for module in _heard:
        module.step_begins(number)
    return _Step()


def end_step():
    """Ends the thread's step, if one is open."""
    if _is_traced():
        return
    opened, _steps.range = getattr(_steps, "range", None), None
    if opened is not None:
        for module in _heard:
            module.step_ends()
        opened.__exit__()


class _Step:
    def __enter__(self):
        return self

    def __exit__(self, *problem):
        end_step()
        return False


def start():
    """Ops are recorded from here on, if tfprof.stop() or --ops=none had ended that."""
    _switch(True)


def stop():
    """Ops are not recorded until tfprof.start()."""
    _switch(False)


def _switch(is_on):
    recording = None if _is_traced() else _recording()
    if recording is not None:
        _quietly(recording.switch, is_on)


class Profile:
    """A stretch of the program in which every op is recorded, and a range of its name; a context manager, or a
    decorator for each call of a function.
    """

    def __init__(self, name=None):
        self.name = name
        self._opened = []  # [thread, its range, the recording whose window was opened or None]

    def __enter__(self):
        if _is_traced():
            return self
        recording = _recording()
        if recording is not None:
            _quietly(recording.begin_window)
        opened = range(self.name or "tfprof.Profile").__enter__()
        self._opened.append([threading.get_ident(), opened, recording])
        return self

    def __exit__(self, *problem):
        last = None if _is_traced() else _take_last(self._opened)
        if last is not None:
            _, opened, recording = last
            opened.__exit__()
            if recording is not None:
                _quietly(recording.end_window)
        return False

    def __call__(self, function):
        return _decorate(function, lambda: Profile(self.name or function.__qualname__))


def KerasCallback(profile_batch=0):
    """For callbacks= of fit(), evaluate() and predict() of Keras 2 and 3. A recording has batches, epochs, evaluations
    and predictions by itself; of the batches named by profile_batch the callback records every op: 12 or (10, 15) or
    '10,15', both included, counted from 1 over all epochs, as that of keras.callbacks.TensorBoard; 0: of none.
    """
    first, last = _batches_of(profile_batch)

    class TfprofCallback(_keras().callbacks.Callback):
        async_safe = True  # Keras goes on beside it

        def __init__(self):
            super().__init__()
            self._marks = {}  # ranges that are open, where Keras is not watched
            self._window = None
            self._batch = self._before = 0  # the next of this epoch; all of those before

        def _open(self, what, name):
            if _recording() is not None and _watched_batches() is None:
                self._close(what)
                self._marks[what] = range(name).__enter__()

        def _close(self, what):
            if what in self._marks:
                self._marks.pop(what).__exit__()

        def _end_window(self):
            window, self._window = self._window, None
            if window is not None:
                window.__exit__()

        def on_train_batch_begin(self, batch, logs=None):
            watched = _watched_batches()
            done = self._before + int(batch) if watched is None else watched.count
            self._batch = int(batch) + 1
            at_once = int(getattr(self.model, "steps_per_execution", None) or 1)
            is_wanted = done + at_once >= first and done < last
            if not is_wanted:
                self._end_window()
            elif self._window is None:
                self._window = Profile("tfprof.KerasCallback").__enter__()
            if watched is None:
                step(done)

        def on_epoch_begin(self, epoch, logs=None):
            self._open("epoch", "keras.epoch#%d" % int(epoch))

        def on_epoch_end(self, epoch, logs=None):
            if _watched_batches() is None:
                end_step()
            self._before += int((self.params or {}).get("steps") or self._batch)
            self._close("epoch")

        def on_train_end(self, logs=None):
            self._end_window()

        def on_test_begin(self, logs=None):
            self._open("evaluate", "keras.evaluate")

        def on_test_end(self, logs=None):
            self._close("evaluate")

        def on_predict_begin(self, logs=None):
            self._open("predict", "keras.predict")

        def on_predict_end(self, logs=None):
            self._close("predict")

    return TfprofCallback()


def _keras():
    """The Keras of the program: of several that which tf.keras is."""
    names = ["keras", "tf_keras"]
    if os.environ.get("TF_USE_LEGACY_KERAS", "").lower() in ("1", "true"):
        names.reverse()
    for name in names:
        if hasattr(sys.modules.get(name), "callbacks"):
            return sys.modules[name]
    from importlib import import_module

    return import_module(names[0])


def _watched_batches():
    """What the hooks know of Keras' batches (_tfprof_keras.py); None: they see none."""
    return getattr(getattr(sys.modules.get("_tfprof_hooks"), "process", None), "batches", None)


def _batches_of(wanted):
    """(first, last) of 12, (10, 15), '10,15' or '10-15'; (0, 0) of 0."""
    parts = wanted
    if isinstance(wanted, str):
        parts = wanted.replace("-", ",").split(",")
    elif not isinstance(wanted, (tuple, list)):
        parts = [wanted]
    try:
        numbers = [int(part) for part in parts]
    except (TypeError, ValueError):
        numbers = []
    if len(numbers) not in (1, 2) or min(numbers) < 0 or numbers[0] > numbers[-1]:
        raise ValueError("tfprof.KerasCallback: profile_batch is a batch or a pair of them, from 1 on, such as 12, "
                         "(10, 15) or '10,15', or 0; it is %r" % (wanted,))
    return numbers[0], numbers[-1]


class _Experimental(type(sys)):
    """The module tfprof.experimental, whose code is loaded when something of it is first asked for."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(_load_beside("_tfprof_experimental"), name)


experimental = _Experimental(__name__ + ".experimental", "What tf.profiler.experimental has, for a recorded program.")
sys.modules[experimental.__name__] = experimental
