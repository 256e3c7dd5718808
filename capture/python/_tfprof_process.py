"""What the recording of a process needs whichever frameworks it imports: the library, loaded and begun once, hooks of
functions, and the marks and ranges that others than PyTorch tell.
"""

import os
import sys

load_beside = None  # set by _tfprof_hooks: loads another module of the hooks
settings = None  # as well: what tfprof-capture asks for


def load_library(stderr=None):
    """`stderr`: device and inode of descriptor 2 when the interpreter started, or None."""
    import ctypes

    library = ctypes.CDLL(settings["TFPROF_LIBRARY"], mode=ctypes.RTLD_GLOBAL)
    if settings is not os.environ:
        for name, value in settings.items():
            library.tfprof_capture_tell_setting(name.encode(), os.fsencode(value))
    if not library.tfprof_capture_load():
        return None
    began = sys.modules["_tfprof_hooks"].began
    if began is not None:
        library.tfprof_capture_interpreter_began(*map(ctypes.c_int64, began))
    library.tfprof_capture_say_to(*map(ctypes.c_uint64, stderr or (0, 0)))
    return library


class Process:
    """`frameworks`: what of them records (_tfprof_frameworks). Each has is_traced(): whether the calling thread makes a
    graph of the program now, and runs nothing.
    """

    def __init__(self, library, say_problem, tell_problem):
        import ctypes

        self.ctypes, self.library, self.say_problem = ctypes, library, say_problem
        self.holding_gil = ctypes.PyDLL(settings["TFPROF_LIBRARY"])
        self.calls = load_beside("_tfprof_calls")
        self.hooks = self.calls.Hooks(self.holding_gil)
        self.holding_gil.tfprof_capture_tell_problems.argtypes = [ctypes.py_object]
        self.holding_gil.tfprof_capture_tell_problems(tell_problem)
        self.marks = Marks(ctypes, self.holding_gil, say_problem)
        self.is_late = settings is not os.environ  # the program was started without tfprof-capture
        self.stacks = load_beside("_tfprof_stacks").Stacks(ctypes, self.holding_gil)
        self.frameworks = []
        self.at_end = []  # called at the end in order, with what may be taken of the time
        self.thread_named = []  # called when a thread has told its name
        self.is_watched = self.has_told_exception = False
        self.batches = None  # of Keras (_tfprof_keras)
        self.leading = None  # the framework that runs the steps, once one of them has been seen to

    def watch(self):
        """What happens to the process: its threads, forks, and its end."""
        if self.is_watched:
            return
        self.is_watched = True
        for watch in (self.watch_threads, self.watch_forks, self.watch_exceptions):
            try:
                watch()
            except Exception as problem:
                self.say_problem(problem)
        self.end_in_order()

    def watch_threads(self):
        """Threads of the module threading tell their names as they start, where the module looks at their number; of
        those that were there before they are told now. Those that Python did not start keep the name that the system
        has for them, and so does the main thread.
        """
        import threading

        if not hasattr(threading.Thread, "_set_native_id"):
            return
        name_thread = self.holding_gil.tfprof_capture_name_thread
        note_thread = self.holding_gil.tfprof_capture_note_thread
        foreign, main = threading._DummyThread, threading.main_thread()
        listeners = self.thread_named

        def tell(thread):
            if not isinstance(thread, foreign):
                name_thread(kept_of_name(thread))
                for listener in listeners:
                    listener()

        self.hooks.around(threading.Thread, "_set_native_id", last=tell)
        for thread in threading.enumerate():
            native_id = getattr(thread, "native_id", None)  # libraries that replace threads leave it out
            if native_id and thread is not main and not isinstance(thread, foreign):
                note_thread(native_id, kept_of_name(thread))
                for listener in listeners:
                    listener()

    def watch_forks(self):
        """From 3.12 on they warn in a process that has several threads."""
        if sys.version_info >= (3, 12):
            self.hooks.rest(os, "fork", "forkpty")

    def watch_exceptions(self):
        """With --keep: what is kept is written when one ends the program or a thread, before it is printed. The hooks
        stay the objects that they are; where the program has put its own in their place, the end tells.
        """
        if not os.environ.get("TFPROF_KEEP"):
            return
        import threading

        write = self.library.tfprof_capture_write_kept
        system_exit = SystemExit

        def tell(kind, type, value):
            if not issubclass(type, system_exit):
                self.has_told_exception = kind == b"exception" or self.has_told_exception
                write(kind, text_of_exception(type, value))

        self.hooks.around(sys, "excepthook", first=lambda type, value=None, *_: tell(b"exception", type, value))
        if hasattr(threading, "excepthook"):  # from 3.8 on
            self.hooks.around(threading, "excepthook", first=lambda hooked, *_: tell(
                b"thread_exception", hooked.exc_type, hooked.exc_value))

    def tell_exception(self, facts):
        """At the end: one that the program's own hook has taken."""
        problem = facts.get("last_type")
        if problem is not None and "ps1" not in facts and not self.has_told_exception:
            self.library.tfprof_capture_write_kept(b"exception", text_of_exception(problem, facts.get("last_value")))

    def end_in_order(self):
        """atexit for the usual end; os._exit, which skips atexit, is how forked workers of multiprocessing and
        DataLoader end; exec leaves without any end.
        """
        import atexit

        # All are looked up now: a program may refuse that later, by a hook of its own (sys.addaudithook).
        library, at_end = self.library, self.at_end
        begin_end, set_rank = library.tfprof_capture_begin_end, library.tfprof_capture_set_environment_rank
        time_left, flush = library.tfprof_capture_time_left, library.tfprof_capture_flush
        end, tell_failure = library.tfprof_capture_finish, library.tfprof_capture_tell_failure
        facts, keeps = sys.__dict__, bool(os.environ.get("TFPROF_KEEP"))
        tell_exception = self.tell_exception if keeps else lambda facts: None

        def finish(status=0):
            if not begin_end():
                return
            tell_exception(facts)
            problem = None if "ps1" in facts else facts.get("last_type")  # at a prompt it may be an old one
            status = status if isinstance(status, int) else 0
            if status or problem:
                tell_failure((f"status {status}" if status else problem.__name__).encode("utf-8", "replace"))
            set_rank(number_in_environment("RANK", -1), number_in_environment("WORLD_SIZE", 0))
            for tell in at_end:
                tell(time_left, flush)
            end()

        atexit.register(finish)
        self.hooks.around(os, "_exit", first=lambda status=0, *_: finish(status))
        self.hooks.around(os, "execv", first=lambda *_: flush())
        self.hooks.around(os, "execve", first=lambda *_: flush())

    def begin_framework(self, framework, name, version):
        """What records of it begins; whether the process is recorded."""
        if not self.library.tfprof_capture_begin_framework(name.encode(), version.encode("utf-8", "replace")):
            return False
        self.frameworks.append(framework)
        if settings.get("TFPROF_PYTHON_MODE") != "none" and not self.stacks.are_proved:
            self.stacks.prove()  # for what the threads are at when it hangs
        self.watch()
        return True

    def set_rank(self, rank, world_size):
        """As the program or its framework says it: it counts for more than what launchers put into the environment."""
        self.library.tfprof_capture_set_rank(int(rank), int(world_size))

    def note_problem(self, text):
        self.holding_gil.tfprof_capture_note_problem(text.encode("utf-8", "replace"))

    def lead(self, name, is_certain=False):
        """That framework runs the steps of the program, unless it is known to be another one."""
        if self.leading is None or (is_certain and self.leading != name):
            self.leading = name
            self.library.tfprof_capture_lead_framework(name.encode())

    def is_traced(self):
        try:
            return any(framework.is_traced() for framework in self.frameworks)
        except Exception as problem:
            self.say_problem(problem)
            return False

    # ---- What the module tfprof asks for where there is no PyTorch.

    def open_range(self, name):
        """Begins a range and returns what ends it."""
        ticks = self.marks.begin_step("tfprof.step") if name.startswith("tfprof.step") else self.marks.begin()
        return lambda: self.marks.end(name, ticks)

    open_step = open_range  # marks tell whom it concerns

    def switch(self, is_on):
        self.library.tfprof_capture_switch(int(is_on))

    def begin_window(self):
        self.library.tfprof_capture_begin_window()

    def end_window(self):
        self.library.tfprof_capture_end_window()


class Marks:
    """Ranges, some of which mark steps by their names (governor/step_marks.h of the library)."""

    AT_END = ("tf.function", "SessionRun", "Optimizer.")  # such steps begin where the one before ends

    def __init__(self, ctypes, holding_gil, say_problem):
        self.begin, self.end_mark = holding_gil.tfprof_capture_begin_range, holding_gil.tfprof_capture_end_mark
        self.begin.restype = ctypes.c_uint64
        self.end_mark.argtypes = [ctypes.c_char_p, ctypes.c_uint, ctypes.c_uint64]
        self.steps = holding_gil.tfprof_capture_count_steps
        self.steps.restype = ctypes.c_uint64
        self.say_problem = say_problem
        self.windows = None  # called between two steps, with the mark, None of jax.jit: _tfprof_profilers
        self.wanted = ""  # the mark of the step that has ended, where that is to be done before the next one begins

    def begin_step(self, kind):
        """A step may begin whose mark begins with that word."""
        if self.wanted and self.wanted.startswith(kind):
            self.step_begins(self.wanted)
        return self.begin()

    def end(self, name, ticks, number=0):
        """The range that began at `ticks` ends. `number`: which optimizer steps in it, not 0."""
        self.ended(name, self.end_mark(name.encode("utf-8", "replace"), number, ticks))

    def ended(self, name, ended):
        """0: no step has ended with that mark; 2: one has, and windows are to be asked before the next one; else 1."""
        if ended == 2:
            self.wanted = name
            if name.startswith(self.AT_END):
                self.step_begins(name)

    def step_begins(self, name=None):
        self.wanted = ""
        try:
            if self.windows is not None:
                self.windows(name)
        except Exception as problem:
            self.say_problem(problem)


def text_of_exception(type, value):
    """Its type, and what it says where that is a text already: nothing of the program is run."""
    arguments = getattr(value, "args", ())
    said = arguments[0] if isinstance(arguments, tuple) and arguments and arguments[0].__class__ is str else ""
    text = f"{type.__name__}: {said}" if said else type.__name__
    return text.partition("\n")[0].replace("\0", "").encode("utf-8", "replace")[:240].decode("utf-8", "ignore").encode()


def number_in_environment(name, otherwise):
    """Where a program says it by itself. The library read what its launcher says, while it was loaded."""
    text = os.environ.get(name, "")
    return int(text) if text.isdigit() and len(text) < 10 else otherwise


def kept_of_name(thread):
    """127 bytes are kept of it, none of a character that would not be whole."""
    return thread.name.encode("utf-8", "replace")[:127].decode("utf-8", "ignore").encode("utf-8")
