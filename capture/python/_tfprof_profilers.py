"""Windows: the ops of TensorFlow and JAX are told by their own profilers, a session of which is opened and closed here,
on the thread that trains, as a step begins, when the library says so (windows/window_source.h of it).

A process has one session of each framework.  One of the program's own always wins: the class that all of them are made
of is replaced by one that closes ours first.  While one of theirs is on, and once the program has started a profiler
server, whose requests cannot be seen coming, none of ours is opened unasked.

Nothing that goes wrong here reaches the program: what a session raises is told in its row, and after a session that
could not be opened the next one is tried later.
"""

import os
import sys

OPEN, CLOSE, IS_CHOSEN, IS_FIRST = 1, 2, 4, 8  # enum window_act, WINDOW_IS_CHOSEN, WINDOW_IS_FIRST
HOST_LEVEL = 2
OF_TENSORFLOW = ("tf.function(", "SessionRun(")


def has_runs(hooks):
    """Whether runs of sessions have records of their own: what makes these is in a part that may be left out."""
    return os.path.exists(hooks.beside("_tfprof_sessions.py"))


class Sessions:
    """All of a process. `of`: by framework, what opens its sessions."""

    def __init__(self, process, hooks):
        self.process, self.hooks, self.library, self.of = process, hooks, process.holding_gil, {}
        self.open = None  # what is open: (framework, session)
        self.is_busy = False  # one is being opened or closed
        self.server = None  # who has started one
        # What runs of sessions do is told by their own records, where these are made; not twice.
        self.has_runs = has_runs(hooks)
        self.told = set()
        self.is_settled = False  # what is open holds what its steps do, and no more
        text, library = process.ctypes.c_char_p, self.library
        library.tfprof_capture_window_opened.argtypes = [process.ctypes.c_int]
        library.tfprof_capture_window_closed.argtypes = [
            text, process.ctypes.c_ulong, text, process.ctypes.c_int, text]
        library.tfprof_capture_windows_begin.argtypes = [process.ctypes.py_object]
        library.tfprof_capture_windows_begin.restype = None

    def add(self, framework, opener):
        if not self.of:
            self.library.tfprof_capture_windows_begin(self.close_late)
            self.process.marks.windows = self.step_begins
            self.process.at_end.append(lambda *_: self.close("exit"))
            os.register_at_fork(after_in_child=self.forget)
        self.of[framework] = opener

    def forget(self):
        """In a forked child: what is open is the parent's. Its object stays, for what ends with it is unknown here."""
        if self.open is not None:
            self.of[self.open[0]].inherited = self.open[1]
        self.open, self.is_busy = None, False

    # ---- Between steps.

    def step_begins(self, mark=None):
        for _ in range(2):  # one that is closed may be followed by another one at once
            wanted = self.library.tfprof_capture_windows_wanted()
            if wanted & CLOSE:
                self.close("steps")
            elif wanted & OPEN:
                self.begin(mark, bool(wanted & IS_CHOSEN), bool(wanted & IS_FIRST))

    def begin(self, mark, is_chosen, is_first):
        leading = getattr(self.process, "leading", None)
        framework = leading if leading in self.of else framework_of(mark, self.of)
        is_told = self.has_runs and mark is not None and mark.startswith("SessionRun")
        opener = None if is_told else self.of.get(framework)
        if opener is None or self.open is not None or self.is_busy or (self.server and not is_chosen):
            self.library.tfprof_capture_window_opened(0)  # it is asked again later
            return
        self.is_settled = is_chosen or is_first
        if self.is_settled:
            self.settle(opener)  # a handler of a signal may raise in it: the window is asked for again at the next step
        session = None
        is_at_end = mark is not None and mark.startswith(self.process.marks.AT_END)
        try:  # a handler of a signal may raise after any call: what has begun is ended in any case
            self.is_busy = True
            try:
                self.library.tfprof_capture_window_opening(framework.encode(), int(is_at_end))
                if not opener.is_theirs():
                    session = opener.start(is_first)
            except Exception as problem:
                self.tell("profiler_window_failed", "a window of the profiler of %s could not be opened: %s"
                          % (framework, text_of(problem).decode("utf-8", "replace")))
            finally:
                self.open = (framework, session) if session is not None else None  # as in close(): no call between
                self.library.tfprof_capture_window_opened(session is not None)
        finally:
            self.is_busy = False

    def settle(self, opener):
        opener.settle()
        self.library.tfprof_capture_window_settled()

    def close(self, ending):
        """Whether there was one."""
        if self.open is not None and self.is_settled and ending == "steps" and not self.is_busy:
            self.settle(self.of[self.open[0]])
        if self.open is None or self.is_busy:
            return False
        told, directory, has_programs, problem = b"", None, False, b"a handler of a signal raised as it was closed"
        try:  # see begin()
            self.is_busy = True
            framework, session = self.open
            try:
                if self.library.tfprof_capture_window_closing(ending.encode()):
                    told, directory, has_programs = self.of[framework].stop(session)
                problem = None
            except Exception as its_problem:
                problem = text_of(its_problem)
            except BaseException:
                self.stop_at_last(framework, session)
                told, directory = b"", None
                raise
            finally:
                is_closing = self.library.tfprof_capture_window_is_closing()
                if is_closing:
                    size = len(told or b"")
                    self.open = None  # no call from here to the next line: a handler cannot come between the two
                    self.library.tfprof_capture_window_closed(told, size, directory, has_programs, problem)
            return bool(is_closing)
        finally:
            self.is_busy = False

    def stop_at_last(self, framework, session):
        """It may have been stopped before, and what it had to tell is lost then."""
        if self.library.tfprof_capture_window_is_closing():
            try:
                self.of[framework].stop(session)
            except Exception:
                pass

    def close_late(self):
        """On another thread: no step has ended for long, or the recording ends."""
        self.close("budget")

    # ---- CUPTI.

    def step_aside(self, who):
        listeners = self.hooks.listeners
        if listeners is not None:
            listeners.way.begin(who)

    def come_back(self, who):
        listeners = self.hooks.listeners
        if listeners is not None:
            listeners.way.end(who)

    # ---- Those of the program.

    def yield_to(self, framework):
        """A session of the program's own is about to begin."""
        try:
            if self.open is not None and self.open[0] == framework and self.close("profiler"):
                self.tell("profiler_yielded", "a window of the profiler of %s was closed early, as the program started "
                          "that itself" % framework)
        except Exception:
            pass

    def server_started(self, framework):
        try:
            self.server = self.server or framework
            self.yield_to(framework)
            text = ("the program has started a profiler server of %s: from here on no ops are recorded unasked, since "
                    "a request would be refused meanwhile" % framework)
            if self.tell("profiler_server", text):
                self.hooks.say(text + "; tfprof-capture --attach and --steps record some")
        except Exception:
            pass

    def tell(self, reason, text):
        """Once. Whether it was the first time."""
        if (reason, text) in self.told:
            return False
        self.told.add((reason, text))
        self.library.tfprof_capture_window_tell(reason.encode(), text.encode())
        return True


def framework_of(mark, known):
    """Whose profiler tells of the step with that mark."""
    if mark is None or mark.startswith("StepTraceAnnotation"):
        return "jax"
    if mark.startswith(OF_TENSORFLOW):
        return "tensorflow"
    if mark.startswith(("keras.", "Optimizer.")):
        return backend_of_keras()
    if len(known) == 1:
        return next(iter(known))
    return "jax" if getattr(known["jax"], "is_used", False) else "tensorflow"


def backend_of_keras():
    keras = sys.modules.get("keras")
    backend = getattr(getattr(keras, "backend", None), "backend", None)
    return backend() if callable(backend) else "tensorflow"


def text_of(problem):
    return ("%s: %s" % (type(problem).__name__, problem)).encode("utf-8", "replace")[:150]


def is_xspace(data):
    """Whether the first plane has a name, as in an XSpace; the trace events of TensorFlow have a message there."""
    kind, first = field_of(data, 1)
    if kind != 2:
        return False
    kind, name = field_of(first, 2)
    return kind == 2 and name[:1] not in (b"", b"\x0a") and name.isascii()


def field_of(data, wanted):
    """(wire type, value) of the first such field of a message of protocol buffers; (None, None): there is none."""
    place = 0
    while place < len(data):
        key, place = varint(data, place)
        if key & 7 == 0:
            value, place = varint(data, place)
        elif key & 7 == 2:
            size, place = varint(data, place)
            value, place = data[place:place + size], place + size
        elif key & 7 in (1, 5):
            size = 8 if key & 7 == 1 else 4
            value, place = data[place:place + size], place + size
        else:
            return None, None
        if key >> 3 == wanted:
            return key & 7, value
    return None, None


def varint(data, place):
    value = shift = 0
    while place < len(data):
        byte = data[place]
        value, place, shift = value | (byte & 127) << shift, place + 1, shift + 7
        if byte < 128 or shift > 63:
            break
    return value, place


# ---- JAX.


class JaxSessions:
    """`module`: what JAX makes sessions of, jaxlib._profiler."""

    def __init__(self, sessions, module, profiler):
        self.sessions, self.module, self.profiler = sessions, module, profiler
        self.make, self.inherited = module.ProfilerSession, None
        self.is_compiled = True  # something was, since the last window that had the programs
        self.is_used = False  # the program has given a function to jax.jit
        self.has_programs = False

    def probe(self):
        return is_xspace(self.make(self.options(False)).stop())

    def options(self, has_programs):
        options = self.module.ProfileOptions()
        options.host_tracer_level, options.python_tracer_level = HOST_LEVEL, 0
        options.enable_hlo_proto = has_programs
        return options

    def is_theirs(self):
        state = getattr(self.profiler, "_profile_state", None)
        return (state.session if hasattr(state, "session") else state.profile_session) is not None

    def is_on_gpu(self):
        backends = getattr(sys.modules.get("jax._src.xla_bridge"), "_backends", None) or ()
        return "cuda" in backends or "gpu" in backends

    @staticmethod
    def settle():
        """JAX returns from a call long before the work is done, up to 32 steps on CPUs: waits for all of it, so that a
        window holds what its own steps do. Windows that stand for other steps need no such thing, but for the first: in
        the long run as much is done in them as in others, and devices would wait for the next step.
        """
        try:
            arrays = sys.modules["jax"].live_arrays()
        except Exception:  # an older JAX has no such list
            return
        for array in arrays:
            try:
                array.block_until_ready()
            except Exception:  # it is deleted meanwhile, or the program will hear of it where it looks
                pass

    def start(self, is_first=False):
        inherited, self.inherited = self.inherited, None
        if inherited is not None:
            inherited.stop()
        self.is_compiled = self.is_compiled or is_first
        self.has_programs, self.is_compiled = self.is_compiled, False
        if self.is_on_gpu():  # it cannot be kept from CUPTI, which serves one
            self.sessions.step_aside("jax.profiler, for a window")
        return self.make(self.options(self.has_programs))

    def stop(self, session):
        try:
            return session.stop(), None, self.has_programs
        finally:
            self.sessions.come_back("jax.profiler, for a window")

    def watch(self):
        sessions, make, start_server = self.sessions, self.make, self.module.start_server

        def ProfilerSession(*arguments, **keywords):
            sessions.yield_to("jax")
            return make(*arguments, **keywords)

        def its_server(*arguments, **keywords):
            server = start_server(*arguments, **keywords)
            sessions.server_started("jax")
            return server

        self.module.ProfilerSession, self.module.start_server = ProfilerSession, its_server
        self.unwatch = lambda: put_back(self.module, ProfilerSession=(ProfilerSession, make),
                                        start_server=(its_server, start_server))


def put_back(holder, **names):
    """What was there before, unless somebody else has put something in the place of ours."""
    for name, (ours, before) in names.items():
        if getattr(holder, name, None) is ours:
            setattr(holder, name, before)


def module_of_jax():
    """JAX's module of that name, and what it makes sessions of; None: it is not there."""
    profiler = sys.modules.get("jax._src.profiler")
    module = getattr(profiler, "_profiler", None) or getattr(getattr(profiler, "xla_client", None), "profiler", None)
    return profiler, module if hasattr(module, "ProfilerSession") else None


def begin_jax(process, hooks):
    """What opens sessions of JAX; a text: why it has none."""
    profiler, module = module_of_jax()
    if module is None:
        return refuse(process, hooks, "JAX", "it has none that is known here")
    return begin(process, hooks, "jax", "JAX", lambda sessions: JaxSessions(sessions, module, profiler))


# ---- TensorFlow.


class TensorFlowSessions:
    """Its stop() returns trace events: the XSpace is what export_to_tb() writes, into a directory in memory."""

    device_level = 0  # windows leave devices to CUPTI

    def __init__(self, sessions, module):
        self.sessions, self.module, self.make, self.inherited = sessions, module, module.ProfilerSession, None
        self.theirs = set()  # sessions of the program's that are on, by their id
        self.place, self.count, self.directory = None, 0, None

    def probe(self):
        session = self.start()
        session.export_to_tb()
        found = [os.path.join(folder, name) for folder, _, names in os.walk(self.directory)
                 for name in names if name.endswith(".xplane.pb")]
        with open(found[0], "rb") as file:
            data = file.read()
        remove_tree(self.place)
        return is_xspace(data)

    def is_theirs(self):
        return bool(self.theirs)

    def settle(self):
        """Its calls end when CPUs are done; what GPUs do CUPTI tells."""

    def start(self, is_first=False):
        inherited, self.inherited = self.inherited, None
        if inherited is not None:
            inherited.stop()
        is_mine = self.place is not None and self.place.startswith(place_of(os.getpid()))
        if not is_mine or not os.path.isdir(self.place):  # it goes with each recording
            self.place = make_place()
        self.count += 1
        self.directory = os.path.join(self.place, str(self.count))
        session = self.make()
        session.start(self.directory, {"host_tracer_level": HOST_LEVEL, "python_tracer_level": 0,
                                       "device_tracer_level": self.device_level})
        return session

    def stop(self, session):
        session.export_to_tb()
        return None, os.fsencode(self.directory), True

    def watch(self):
        sessions, theirs, its_class, start_server = self.sessions, self.theirs, self.make, self.module.start_server

        class ProfilerSession(its_class):
            def start(self, *arguments, **keywords):
                sessions.yield_to("tensorflow")
                result = its_class.start(self, *arguments, **keywords)
                theirs.add(id(self))
                return result

            def stop(self):
                theirs.discard(id(self))
                return its_class.stop(self)

            def export_to_tb(self):
                theirs.discard(id(self))
                return its_class.export_to_tb(self)

            def __del__(self):
                theirs.discard(id(self))

        def its_server(*arguments, **keywords):
            result = start_server(*arguments, **keywords)
            sessions.server_started("tensorflow")
            return result

        runs, make_options, its_options = self.watch_runs()
        ProfilerSession.__module__, ProfilerSession.__qualname__ = its_class.__module__, its_class.__qualname__
        self.module.ProfilerSession, self.module.start_server = ProfilerSession, its_server

        def unwatch():
            put_back(self.module, ProfilerSession=(ProfilerSession, its_class),
                     start_server=(its_server, start_server))
            put_back(runs, TF_NewBufferFromString=(its_options, make_options))

        self.unwatch = unwatch

    def watch_runs(self):
        """Runs of sessions that ask for a trace of hardware open a session, too: all hand their options over here, and
        TensorFlow other messages. Returns the module, its function, and ours."""
        runs = sys.modules.get("tensorflow.python.client.pywrap_tf_session")
        make_options, sessions = getattr(runs, "TF_NewBufferFromString", None), self.sessions
        if make_options is None:
            return runs, None, None

        def TF_NewBufferFromString(options, *more):
            is_run = sys._getframe(1).f_globals.get("__name__") == "tensorflow.python.client.session"
            if is_run and field_of(options, 1)[1] in (2, 3):  # trace_level: HARDWARE_TRACE, FULL_TRACE
                sessions.yield_to("tensorflow")
            return make_options(options, *more)

        runs.TF_NewBufferFromString = TF_NewBufferFromString
        return runs, make_options, TF_NewBufferFromString


def begin_tensorflow(process, hooks):
    module = sys.modules.get("tensorflow.python.profiler.internal._pywrap_profiler")
    if module is None or not hasattr(module, "ProfilerSession"):
        return refuse(process, hooks, "TensorFlow", "it has none that is known here")
    return begin(process, hooks, "tensorflow", "TensorFlow", lambda sessions: TensorFlowSessions(sessions, module))


def place_of(pid):
    directory = "/dev/shm" if os.access("/dev/shm", os.W_OK | os.X_OK) else os.environ.get("TMPDIR", "/tmp")
    return os.path.join(directory, "tfprof-windows-%d-%d-" % (os.getuid(), pid))


def make_place():
    """A new directory, for this user alone; those that killed processes have left are removed."""
    mine = place_of(os.getpid())
    folder, prefix = os.path.split(mine)
    for name in os.listdir(folder):
        path, words = os.path.join(folder, name), name.split("-")
        if name.startswith("tfprof-windows-%d-" % os.getuid()) and len(words) == 5 and is_gone(words[3]):
            facts = os.lstat(path)
            if facts.st_uid == os.getuid() and not os.path.islink(path):
                remove_tree(path)
    path = mine + os.urandom(6).hex()
    os.mkdir(path, 0o700)
    return path


def is_gone(pid):
    return pid.isdigit() and not os.path.exists("/proc/" + pid)


def remove_tree(path):
    for folder, folders, names in os.walk(path, topdown=False):
        for name in names:
            os.unlink(os.path.join(folder, name))
        for name in folders:
            os.rmdir(os.path.join(folder, name))
    os.rmdir(path)


# ---- Both.


def sessions_of(process, hooks):
    if getattr(process, "sessions", None) is None:
        process.sessions = Sessions(process, hooks)
    return process.sessions


def refuse(process, hooks, name, why):
    text = "the ops of this %s are not recorded: its profiler cannot be used: %s" % (name, why)
    sessions_of(process, hooks).tell("profiler_windows_missing", text)
    return why


def begin(process, hooks, framework, name, make):
    """Tries a session of nothing."""
    sessions = sessions_of(process, hooks)
    opener = make(sessions)
    try:
        if not opener.probe():
            return refuse(process, hooks, name, "what a session of it tells is no XSpace")
    except Exception as problem:
        return refuse(process, hooks, name, text_of(problem).decode("utf-8", "replace"))
    opener.watch()
    sessions.add(framework, opener)
    return opener
