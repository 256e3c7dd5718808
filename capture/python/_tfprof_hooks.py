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

recording = None  # the Recording of this process, once it is armed; the module tfprof asks for it
began = None  # when this interpreter did, by two clocks, in nanoseconds (source_text.h)

COARSE_CLOCK = 5  # CLOCK_REALTIME_COARSE of Linux, by which files are stamped; the module time has no name for it


def start():
    global began
    if os.environ.get("TFPROF_RUN_DIRECTORY") and os.environ.get("TFPROF_LIBRARY"):
        began = read_clocks()
        sys.meta_path.insert(0, ImportFinder(FRAMEWORK, prepare_recording, begin_recording))
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


def say(text):
    if os.environ.get("TFPROF_QUIET") != "1" and sys.stderr:
        try:
            sys.stderr.write("tfprof: %s\n" % text)
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


class ImportFinder:
    """Finds nothing itself: it lets the others find a module and asks to be told when it has been imported. `before` is
    called first, and what it returned is handed to `after` with the module.
    """

    def __init__(self, name, before, after):
        self.name, self.before, self.after = name, before, after

    def find_spec(self, name, path=None, target=None):
        if name != self.name:
            return None
        for finder in list(sys.meta_path):
            find_spec = getattr(finder, "find_spec", None)
            if finder is self or find_spec is None:
                continue
            spec = find_spec(name, path, target)
            if spec is not None:
                try:
                    self.watch(spec.loader)
                except Exception as problem:
                    say_problem(problem)
                return spec
        return None

    def watch(self, loader):
        """Wraps exec_module of this one loader object, which stays the loader that the module shows."""
        exec_module = loader.exec_module

        def exec_module_watched(module):
            prepared = None
            try:
                prepared = self.before()
            except Exception as problem:
                say_problem(problem)
            exec_module(module)
            try:
                del loader.exec_module
                if self in sys.meta_path:
                    sys.meta_path.remove(self)
                self.after(prepared, module)
            except Exception as problem:
                say_problem(problem)

        loader.exec_module = exec_module_watched


def prepare_recording():
    recorder = load_beside("_tfprof_recording")
    return recorder, recorder.load_library()


def begin_recording(prepared, framework):
    recorder, library = prepared or (None, None)
    if library is not None:
        begin(recorder.Recording(library, framework, say_problem))
