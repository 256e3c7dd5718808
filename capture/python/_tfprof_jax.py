"""What is recorded of JAX: calls of the functions that the program gives to jax.jit, which are its steps where nothing
marks these (jit_calls.h of the library), StepTraceAnnotation, and what is compiled.
"""

import functools
import sys

OWN = ("jax.", "jaxlib.")  # functions of JAX itself, such as those of jax.numpy: their calls are no steps
PMAP = "jax._src.pmap"  # which gives one of its own to jax.jit, around that of the program
COMPILES = "/jax/core/compile/"


def begin(module, finder):
    version = str(getattr(module, "__version__", "?"))
    recorded = Jax()
    if not finder.hooks.begin_framework(recorded, "jax", version):
        return
    process = finder.hooks.the_process()
    missing = recorded.watch(process, finder)
    sessions = finder.hooks.load_beside("_tfprof_profilers").begin_jax(process, finder.hooks)
    recorded.sessions = sessions if hasattr(sessions, "start") else None
    finder.say(
        "JAX %s is recorded: steps (tfprof.step(), StepTraceAnnotation, else calls of what jax.jit made), what is "
        "compiled, ranges of tfprof, processor and memory, %s" % (version, finder.ops(sessions)))
    finder.say_missing("JAX", missing)


class Jax:
    def watch(self, process, finder):
        """Returns what cannot be seen in this version."""
        self.name_of, self.process, self.finder = finder.name_of, process, finder
        self.marks, self.holding_gil, self.ctypes = process.marks, process.holding_gil, process.ctypes
        self.hooks, self.calls = process.hooks, process.calls
        self.is_late = process.is_late
        self.sessions = None  # what opens sessions of its profiler (_tfprof_profilers)
        missing = []
        for watch, what in ((self.watch_calls, "calls of jax.jit"), (self.watch_annotations, "StepTraceAnnotation"),
                            (self.watch_compiler, "what is compiled"), (self.watch_ranks, finder.RANK)):
            try:
                if not watch():
                    missing.append(what)
            except Exception as problem:
                process.say_problem(problem)
        return missing

    def is_traced(self):
        """Whether a function is being traced into a program, and runs nothing. Gradients and vmap by themselves run."""
        core = sys.modules.get("jax._src.core")
        trace = getattr(getattr(core, "trace_ctx", None), "trace", None)  # from 0.4.36 on
        if trace is None:
            is_clean = getattr(core, "trace_state_clean", None)
            return is_clean is not None and not is_clean()
        while trace is not None:
            if type(trace).__name__ == "DynamicJaxprTrace":
                return True
            trace = getattr(trace, "parent_trace", None)
        return False

    # ---- Calls of what jax.jit made.

    def watch_calls(self):
        """JAX asks one function for these objects, by its module."""
        module = sys.modules.get("jax._src.pjit")
        makers = getattr(module, "_jax", None) or getattr(getattr(module, "xc", None), "_xla", None)
        make = getattr(makers, "pjit", None)
        if make is None or "t" in getattr(sys, "abiflags", ""):
            return False
        watch = self.holding_gil.tfprof_capture_watch_jit
        watch.argtypes = [self.ctypes.py_object, self.ctypes.c_char_p]
        begin = self.holding_gil.tfprof_capture_begin_jit
        begin.argtypes, begin.restype = [self.ctypes.py_object] * 2, None
        begin(self.is_traced, self.marks.step_begins)
        name_of, say_problem = self.name_of, self.process.say_problem
        names = {}  # of functions, to what tells apart those that have the same

        @functools.wraps(make)
        def make_and_watch(name, function=None, *arguments, **keywords):
            made = make(name, function, *arguments, **keywords)
            try:
                if getattr(function, "__module__", None) == PMAP:
                    function = mapped_by(function)
                    name = getattr(function, "__name__", name)
                if not is_own(function):
                    self.process.lead("jax")
                    watch(made, name_of(name, function, names).encode("utf-8", "replace")[:500])
                    if self.sessions is not None:
                        self.sessions.is_used = True
            except Exception as problem:  # its calls are not seen
                say_problem(problem)
            return made

        makers.pjit = make_and_watch
        if self.is_late:
            self.watch_made(watch, names)
        return True

    def watch_made(self, watch, names):
        """Those that were made before anybody looked on: the collector knows them."""
        import gc

        for made in gc.get_objects():
            function = getattr(made, "__wrapped__", None) if type(made).__name__ == "PjitFunction" else None
            if getattr(function, "__module__", None) == PMAP:
                function = mapped_by(function)
            if function is not None and not is_own(function):
                name = getattr(function, "__name__", None) or type(function).__name__
                watch(made, self.name_of(name, function, names).encode("utf-8", "replace")[:500])

    # ---- Steps that the program marks.

    def watch_annotations(self):
        profiler = sys.modules.get("jax._src.profiler")
        annotation = getattr(profiler, "StepTraceAnnotation", None)
        if annotation is None:
            return False
        self.finder.watch_annotation(annotation, self.process, self.is_traced,
                                     lambda keywords, following: int(keywords.get("step_num", following)))
        return True

    # ---- Processes of one job.

    def watch_ranks(self):
        """jax.distributed.initialize() says which of the job's processes this one is, or finds that out."""
        distributed = sys.modules.get("jax._src.distributed")
        state = getattr(distributed, "State", None)
        if state is None or "initialize" not in vars(state):
            return False

        def tell(state, *_, **__):
            if getattr(state, "client", None) is not None:
                self.process.set_rank(state.process_id, state.num_processes)

        self.process.hooks.named(state, "initialize", last=tell)
        tell(getattr(distributed, "global_state", None))
        return True

    # ---- What is compiled.

    def watch_compiler(self):
        """JAX tells how long each phase took when it has ended, by names such as /jax/core/compile/backend_compile."""
        monitoring = sys.modules.get("jax._src.monitoring")
        register = getattr(monitoring, "register_event_duration_secs_listener", None)
        if register is None:
            return False
        import time

        marks, say_problem = self.marks, self.process.say_problem
        ticks_then, ns_then = marks.begin(), time.monotonic_ns()

        def tell(event, seconds, **about):
            try:
                tell_phase(event, seconds, about)
            except Exception as problem:  # JAX would raise it where it compiles
                say_problem(problem)

        def tell_phase(event, seconds, about):
            if not event.startswith(COMPILES):
                return
            if self.sessions is not None:
                self.sessions.is_compiled = True
            ticks, ns = marks.begin(), time.monotonic_ns()
            if not ticks or ns <= ns_then:
                return
            phase = event[len(COMPILES):].replace("_duration", "").strip("/")
            start = ticks - int(seconds * 1e9 * (ticks - ticks_then) / (ns - ns_then))
            what = about.get("fun_name")
            marks.end("%s (jax.monitoring)" % (phase if what is None else "%s: %s" % (phase, what)), max(start, 1))

        register(tell)
        return True


def is_own(function):
    return str(getattr(function, "__module__", "")).startswith(OWN)


def mapped_by(function):
    """What the program gave to jax.pmap, of the function that this made around it: that keeps it in a variable."""
    around = getattr(function, "__wrapped__", function)
    variables = getattr(getattr(around, "__code__", None), "co_freevars", ())
    for name, cell in zip(variables, getattr(around, "__closure__", None) or ()):
        if name == "fun":
            return getattr(cell.cell_contents, "f", function)
    return function
