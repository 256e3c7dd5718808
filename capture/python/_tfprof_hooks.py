"""Waits for PyTorch to be imported: the small part of the hooks, which every Python process runs at its start.

Nothing is imported here that Python has not loaded by itself, and torch least of all.  When the program imports torch,
the capture library is loaded with RTLD_GLOBAL before it, so that it can take the place of functions of torch, and armed
after it (_tfprof_recording).

Whatever goes wrong in here ends here: one line on stderr, and the program runs on unrecorded.
"""

import os
import sys

FRAMEWORK = "torch"
MARKS = "tfprof"

stderr = None  # of this process when it started: device and inode; None: it had none
listeners = None  # the module _tfprof_listeners, once there may be some
recording = None  # the Recording of this process, once it is armed; the module tfprof asks for it
began = None  # when this interpreter did, by two clocks, in nanoseconds (source_text.h)

COARSE_CLOCK = 5  # CLOCK_REALTIME_COARSE of Linux, by which files are stamped; the module time has no name for it


def start():
    global began, stderr
    if os.environ.get("TFPROF_RUN_DIRECTORY") and os.environ.get("TFPROF_LIBRARY"):
        began = read_clocks()
        stderr = file_of_stderr() if sys.__stderr__ else None
        sys.meta_path.insert(0, ImportFinder(FRAMEWORK, prepare_recording, begin_recording))
        sys.meta_path.insert(0, OthersFinder())
        sys.meta_path.append(MarksFinder())


def read_clocks():
    try:
        import time  # built in

        return time.clock_gettime_ns(COARSE_CLOCK), time.monotonic_ns()
    except Exception:  # then it is not known, and no line has its text
        return None


def beside(name):
    """A file of the hooks. Their directory is not on sys.path any more."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), name)


def file_of_stderr():
    try:
        facts = os.fstat(2)
    except OSError:
        return None
    return facts.st_dev, facts.st_ino


def say(text):
    """A line on stderr: not on what the program has put in the place of sys.stderr, nor in a file of its own that has
    descriptor 2 now.
    """
    if os.environ.get("TFPROF_QUIET") != "1" and stderr and file_of_stderr() == stderr:
        try:
            os.write(2, ("tfprof: %s\n" % text).encode("utf-8", "backslashreplace"))
        except Exception:
            pass


def say_problem(problem):
    say("recording is incomplete: %s: %s; the program goes on" % (type(problem).__name__, problem))


def load_beside(name):
    """A module of the hooks. Its code says that it comes from no file, so that tools that watch the program leave it
    out: coverage measures every line that runs in a file.
    """
    from _imp import _fix_co_filename  # with which CPython's own import corrects the path in a cached module
    from importlib.machinery import SourceFileLoader

    path = beside(name + ".py")
    code = SourceFileLoader(name, path).get_code(name)
    _fix_co_filename(code, "<%s>" % name)
    module = type(sys)(name)
    module.__file__ = path
    exec(code, module.__dict__)
    module.load_beside = load_beside
    return module


def begin(candidate):
    global recording
    if candidate.begin():
        recording = candidate


class MarksFinder:
    """`import tfprof` in a recorded program. It is asked last: a tfprof of the program's own comes first."""

    def find_spec(self, name, path=None, target=None):
        if name != MARKS:
            return None
        from importlib.util import spec_from_file_location

        return spec_from_file_location(MARKS, beside(MARKS + ".py"))


class OthersFinder:
    """Finds nothing: the first import of a framework that is not recorded brings in what tells that, _tfprof_others."""

    def find_spec(self, name, path=None, target=None):
        if name in ("jax", "tensorflow") and self in sys.meta_path:
            try:
                finder = load_beside("_tfprof_others").ComputingFinder(say)
                sys.meta_path[sys.meta_path.index(self)] = finder
                watch_listeners()
                return finder.find_spec(name, path, target)
            except Exception:
                pass  # nothing is told
        return None


def when_imported(spec, finish):
    """While a module is imported its spec says so, and that changes last, in a `finally`. Until then the spec has a
    class of its own, which sees that.
    """
    its_class = type(spec)

    def __setattr__(spec, name, value):
        its_class.__setattr__(spec, name, value)
        if name == "_initializing" and not value:
            spec.__class__ = its_class
            finish()

    members = {"__setattr__": __setattr__, "__module__": its_class.__module__, "__slots__": ()}
    spec.__class__ = type(its_class.__name__, (its_class,), members)


def watch_listeners(hooks=None):
    """Others that listen to CUDA here, as soon as there may be one: _tfprof_listeners."""
    global listeners
    if listeners is None:
        listeners = load_beside("_tfprof_listeners")
        if hooks is None:
            import ctypes

            hooks = load_beside("_tfprof_calls").Hooks(ctypes.PyDLL(os.environ["TFPROF_LIBRARY"]))
        sys.meta_path.insert(0, listeners.ListenerFinder(hooks, when_imported, say_problem))
    return listeners


class ImportFinder:
    """Finds nothing itself: it looks on as a module of PyTorch is imported. `before` is called at the first import of
    another one within that, and what it returned is handed to `after` with the module, once that has been imported.

    What is imported has no frame of ours around it: of an import that fails, the traceback is as it would be.
    """

    def __init__(self, name, before, after):
        self.name, self.before, self.after = name, before, after
        self.is_watching = False

    def find_spec(self, name, path=None, target=None):
        if not self.is_watching and name.startswith(FRAMEWORK + ".") and self.name in sys.modules:
            self.is_watching = True
            prepared = None
            try:
                prepared = self.before()
            except Exception as problem:
                say_problem(problem)
            try:
                self.watch(sys.modules[self.name].__spec__, prepared)
            except Exception as problem:
                say_problem(problem)
        return None

    def watch(self, spec, prepared):
        if getattr(spec, "_initializing", False):
            when_imported(spec, lambda: self.finish(prepared))
        else:
            self.finish(prepared)

    def finish(self, prepared):
        module = sys.modules.get(self.name)
        if module is None:  # it failed, and may be tried again
            self.is_watching = False
            return
        try:
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            self.after(prepared, module)
        except Exception as problem:
            say_problem(problem)


def prepare_recording():
    recorder = load_beside("_tfprof_recording")
    return recorder, recorder.load_library(stderr)


def begin_recording(prepared, framework):
    recorder, library = prepared or (None, None)
    if library is not None:
        begin(recorder.Recording(library, framework, say_problem))
