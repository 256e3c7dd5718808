"""Waits for a framework to be imported: the small part of the hooks, which every Python process runs at its start.

Nothing is imported here that Python has not loaded by itself, and torch least of all.  When the program imports torch,
the capture library is loaded with RTLD_GLOBAL before it, so that it can take the place of functions of torch, and armed
after it (_tfprof_recording).  The first import of TensorFlow, Keras or JAX brings in what records of these
(_tfprof_frameworks).

Whatever goes wrong in here ends here: one line on stderr, and the program runs on unrecorded.
"""

import os
import sys

FRAMEWORK = "torch"
MARKS = "tfprof"

settings = os.environ  # what tfprof-capture asks for; a dict of a program that was started without it (start_late)
stderr = None  # of this process when it started: device and inode; None: it had none
listeners = None  # the module _tfprof_listeners, once there may be some
process = None  # what all frameworks share (_tfprof_process), once the first is imported; False: there is none
recording = None  # what the module tfprof asks: the Recording of PyTorch once it is armed, else the process
began = None  # when this interpreter did, by two clocks, in nanoseconds (source_text.h)

RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", "HOROVOD_RANK")
problems = set()  # that were told
MOST_PROBLEMS = 8

COARSE_CLOCK = 5  # CLOCK_REALTIME_COARSE of Linux, by which files are stamped; the module time has no name for it


def start():
    global began, stderr
    if os.environ.get("TFPROF_RUN_DIRECTORY") and os.environ.get("TFPROF_LIBRARY"):
        began = read_clocks()
        stderr = file_of_stderr() if sys.__stderr__ else None
        watch_imports()


def watch_imports():
    """Returns what looks on as PyTorch is imported, and what does for the others."""
    finders = ImportFinder(FRAMEWORK, prepare_recording, begin_recording), FrameworksFinder()
    for finder in finders:
        sys.meta_path.insert(0, finder)
    sys.meta_path.append(MarksFinder())
    return finders


def start_late(told, script):
    """In a program that runs already, which was started without tfprof-capture: what has been imported is watched at
    once, on a thread of its own, where nothing is switched on that the program has switched on for itself, such as
    modes of PyTorch. `told`: what is asked for; `script`: the file that calls this, which is emptied when all is
    watched.
    """
    global began, settings
    settings = told
    began = read_clocks_of_start()
    from _thread import start_new_thread
    from signal import SIG_BLOCK, SIG_SETMASK, pthread_sigmask, valid_signals

    mask = pthread_sigmask(SIG_BLOCK, valid_signals())
    try:
        start_new_thread(watch_what_is_there, (script,))
    finally:
        pthread_sigmask(SIG_SETMASK, mask)


def watch_what_is_there(script):
    try:
        of_torch, of_others = watch_imports()
        if FRAMEWORK in sys.modules:
            of_torch.find_spec(FRAMEWORK + ".")
        for name in of_others.NAMES:
            if name in sys.modules:
                of_others.find_spec(name)
                break
    except Exception as problem:
        say_problem(problem)
    try:
        os.truncate(script, 0)
    except OSError:
        pass  # who asked has seen the socket by now, and removed it


def read_clocks():
    try:
        import time  # built in

        return time.clock_gettime_ns(COARSE_CLOCK), time.monotonic_ns()
    except Exception:  # then it is not known, and no line has its text
        return None


def read_clocks_of_start():
    """What these clocks showed when the process started, as proc(5) says it: the end of that tick of the system, before
    which no interpreter has read a line of the program.
    """
    try:
        import time

        with open("/proc/self/stat", "rb") as file:
            ticks = int(file.read().rpartition(b")")[2].split()[19]) + 1
        age = time.clock_gettime_ns(time.CLOCK_BOOTTIME) - ticks * 1000000000 // os.sysconf("SC_CLK_TCK")
        realtime, monotonic = read_clocks()
        return realtime - age, monotonic - age
    except Exception:
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
    if settings.get("TFPROF_QUIET") != "1" and stderr and file_of_stderr() == stderr:
        try:
            os.write(2, ("tfprof: %s\n" % text).encode("utf-8", "backslashreplace"))
        except Exception:
            pass


def say_framework(text):
    """What is recorded of a framework, "NAME is recorded: ...", as it is imported: once for all ranks of a job, and not
    again of workers that import the program anew.
    """
    if settings.get("TFPROF_DORMANT") == "1":
        name, is_recorded, _ = text.partition(" is recorded: ")
        if is_recorded:
            text = "%s is recorded when it is asked for: tfprof-capture --attach %d" % (name, os.getpid())
    is_worker = "--multiprocessing-fork" in getattr(sys, "orig_argv", sys.argv)
    if not is_worker and not any(os.environ.get(rank, "0") not in ("0", "") for rank in RANKS):
        say(text)


def say_problem(problem):
    tell_problem(type(problem), problem)


def tell_problem(kind, problem):
    """What has failed of ours never reaches the program: it is a line on stderr, once, and a row of diagnostics."""
    try:
        text = ("%s: %s" % (kind.__name__, problem))[:280]
    except Exception:  # a class of the program's, perhaps
        text = kind.__name__
    if text in problems or len(problems) == MOST_PROBLEMS:
        return
    problems.add(text)
    say("recording is incomplete: %s; the program goes on" % text)
    if process:
        process.note_problem(text)


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
    module.settings = settings
    return module


def begin(candidate):
    global recording
    if candidate.begin():
        recording = candidate


def the_process():
    """What all frameworks share, made for the first of them; None: nothing is recorded of this process."""
    global process
    if process is None:
        process = False
        module = load_beside("_tfprof_process")
        library = module.load_library(stderr)
        if library is not None:
            process = module.Process(library, say_problem, tell_problem)
    return process or None


def begin_framework(framework, name, version):
    """One that is not PyTorch. Whether the process is recorded."""
    global recording
    its_process = the_process()
    if its_process is None or not its_process.begin_framework(framework, name, version):
        return False
    if recording is None:
        recording = its_process
    return True


class MarksFinder:
    """`import tfprof` in a recorded program. It is asked last: a tfprof of the program's own comes first."""

    def find_spec(self, name, path=None, target=None):
        if name != MARKS:
            return None
        from importlib.util import spec_from_file_location

        return spec_from_file_location(MARKS, beside(MARKS + ".py"))


class FrameworksFinder:
    """Finds nothing: the first import of TensorFlow, Keras or JAX puts what records of them into its place."""

    NAMES = ("jax", "tensorflow", "keras", "tf_keras")

    def find_spec(self, name, path=None, target=None):
        if name in self.NAMES and self in sys.meta_path:
            try:
                place = sys.meta_path.index(self)
                del sys.meta_path[place]
                finder = load_beside("_tfprof_frameworks").Finder(sys.modules[__name__])
                sys.meta_path.insert(place, finder)
                if name in ("jax", "tensorflow"):
                    watch_listeners()
                return finder.find_spec(name, path, target)
            except Exception as problem:
                say_problem(problem)
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
            its_process = the_process()
            if its_process is None:
                return None
            hooks = its_process.hooks
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
    return load_beside("_tfprof_recording"), the_process()


def begin_recording(prepared, framework):
    recorder, its_process = prepared or (None, None)
    if its_process is not None:
        begin(recorder.Recording(its_process, framework, say_problem))
