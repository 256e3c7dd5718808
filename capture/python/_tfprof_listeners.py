"""Others that listen to CUDA in this process.  CUPTI serves one: where one of them begins, the recorder steps aside,
and comes back when none does any more.

Each is known by the functions that begin and end it, which are there once its module has been imported, whenever that
is.  What begins without one of them (a profile that is asked for over the network: jax.profiler.start_server, dynolog)
is not seen; see docs/limits.md, "PyTorch".
"""

import sys

settings = None  # set by _tfprof_hooks: what tfprof-capture asks for
TORCH = "torch.profiler"


def is_jax_on(module, *_):
    state = module._profile_state  # `session` since JAX 0.12
    return (state.session if hasattr(state, "session") else state.profile_session) is not None


def is_tensorflow_on(module, *_):
    return module._profiler is not None


def is_monitor_on(_module, monitor, *_):
    return bool(monitor._started)


MONITOR = ("torch's CUPTI monitor", ("CuptiMonitor.start",), ("CuptiMonitor.stop",), is_monitor_on)

# Module: (what it is called, the functions that begin, those that end, each where this version has it, and what tells
# whether it listens, of the module and the arguments of the call; None: as many sessions as were begun and not ended).
# One may call another of them.
PLACES = {
    "jax._src.profiler": ("jax.profiler", ("start_trace", "ProfileSession.start"),
                          ("stop_trace", "stop_and_get_fdo_profile", "ProfileSession.stop"), is_jax_on),
    "tensorflow.python.profiler.profiler_v2": ("TensorFlow's profiler", ("start",), ("stop",), is_tensorflow_on),
    "triton.profiler.profile": ("Triton's proton", ("start",), ("finalize",), None),
    "torch.profiler._cupti_monitor": MONITOR,
    "torch.profiler._cupti.monitor": MONITOR,
}


class Way:
    """Who listens now."""

    def __init__(self):
        self.listening = {}  # name: sessions

    def begin(self, who):
        is_first = not self.listening
        self.listening[who] = self.listening.get(who, 0) + 1
        if is_first:
            step_aside(1, who)

    def end(self, who, sessions=None):
        """So many of its sessions; None: all."""
        left = self.listening.get(who, 0) - (sessions or 0)
        if who not in self.listening or (sessions and left > 0):
            if who in self.listening:
                self.listening[who] = left
            return
        del self.listening[who]
        if not self.listening:
            step_aside(0, who)


def step_aside(is_aside, who):
    import ctypes

    ctypes.CDLL(settings["TFPROF_LIBRARY"]).tfprof_capture_step_aside(is_aside, who.encode())


way = Way()


def holder_of(module, path):
    """(the module or its class, the function's name); None: this version has no such class."""
    class_name, _, name = path.rpartition(".")
    return (getattr(module, class_name, None) if class_name else module), name


def watch(hooks, module, name):
    who, begins, ends, is_on = PLACES[name]

    def begin(*_):
        way.begin(who)

    def look(*arguments):
        if is_on(module, *arguments) is False:
            way.end(who)

    def look_at_failure(*arguments):
        try:
            if not is_on(module, *arguments):
                way.end(who)
        except AttributeError:
            way.end(who, 1)

    def look_at_end(*arguments):
        try:
            if is_on(module, *arguments):
                return
        except AttributeError:
            pass  # a version that keeps it elsewhere: it was asked to end
        way.end(who)

    def end_session(session=None, *_):
        way.end(who, None if session is None else 1)

    def has_not_begun(*_):
        way.end(who, 1)

    for path in begins:
        hooks.around(*holder_of(module, path), first=begin, last=look if is_on else None,
                     raised=look_at_failure if is_on else has_not_begun)
    for path in ends:
        hooks.around(*holder_of(module, path), last=look_at_end if is_on else end_session)


class ListenerFinder:
    """Finds what the others find; of the modules above it sees when they have been imported."""

    def __init__(self, hooks, when_imported, say_problem):
        self.hooks, self.when_imported, self.say_problem = hooks, when_imported, say_problem
        self.is_looking = False
        for name in PLACES:
            if name in sys.modules:
                self.finish(name)

    def find_spec(self, name, path=None, target=None):
        if name not in PLACES or self.is_looking:
            return None
        self.is_looking = True
        try:
            for finder in list(sys.meta_path):
                spec = finder.find_spec(name, path, target) if finder is not self else None
                if spec is not None:
                    self.when_imported(spec, lambda: self.finish(name))
                    return spec
        finally:
            self.is_looking = False
        return None

    def finish(self, name):
        module = sys.modules.get(name)
        try:
            if module is not None:
                watch(self.hooks, module, name)
        except Exception as problem:  # another version of it
            self.say_problem(problem)
