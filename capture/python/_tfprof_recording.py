"""Arms the capture library once PyTorch has been imported.

Arming proves, on tensors and frames made for the purpose, that what the library knows of the insides of PyTorch and
CPython holds here; what cannot be proved is not recorded, and the dump says so.
"""

import atexit
import os
import sys

load_beside = None  # set by _tfprof_hooks: loads another module of the hooks
settings = None  # as well: what tfprof-capture asks for


class Recording:
    def __init__(self, process, torch, say_problem):
        self.say_problem = say_problem
        self.process = process
        self.ctypes, self.library, self.holding_gil = process.ctypes, process.library, process.holding_gil
        self.calls, self.hooks = process.calls, process.hooks
        self.torch = torch
        self.modules = self.typed = None

    def begin(self):
        """Whether it records."""
        version = str(self.torch.__version__).encode()
        if not self.library.tfprof_capture_begin(version):
            return self.begin_windows(version)
        if settings.get("TFPROF_SHAPES") != "0":
            try:
                self.prove_inputs()
            except Exception as problem:
                self.say_problem(problem)
        if settings.get("TFPROF_MEMORY") != "0":
            try:
                self.prove_memory()
            except Exception as problem:
                self.say_problem(problem)
        if settings.get("TFPROF_PYTHON_MODE") != "none":
            self.process.stacks.prove()
            try:
                self.begin_typed()
            except Exception as problem:
                self.say_problem(problem)
            try:
                self.prove_modules()
            except Exception as problem:
                self.believe_modules(False, "%s: %s" % (type(problem).__name__, problem))
        try:
            self.prove_optimizers()
        except Exception as problem:
            self.say_problem(problem)
        if settings.get("TFPROF_OPS") == "sampled":
            try:
                self.calibrate()
            except Exception as problem:
                self.say_problem(problem)
        watch_calls = None
        if settings.get("TFPROF_PYTHON_MODE") == "calls" and self.process.stacks.are_proved:
            try:
                watch_calls = self.prepare_calls()
            except Exception as problem:
                reason = "%s: %s" % (type(problem).__name__, problem)
                self.library.tfprof_capture_no_calls(reason.encode("utf-8", "replace"))
        for watch in (self.watch_threads, self.watch_ranks, self.note_phases, self.make_way):
            try:
                watch()
            except Exception as problem:
                self.say_problem(problem)
        self.process.watch()
        if not self.library.tfprof_capture_arm():
            return False
        self.process.at_end.append(self.tell_rest)
        if watch_calls:
            watch_calls()
        try:
            self.say_what()
        except Exception as problem:
            self.say_problem(problem)
        return True

    # What is told of by each part that can be off (recorder/parts.h).
    PARTS = (("ops", "ops"), ("shapes", "shapes"), ("stacks", "lines of Python"), ("modules", "modules"),
             ("memory", "memory"), ("steps", "steps"))

    def say_what(self):
        """One line of what is recorded, as of every framework; not of processes that one which is recorded starts, for
        torchrun, compilers and the like start many.
        """
        is_check = os.path.basename(getattr(sys, "argv", [""])[0]) == "_tfprof_check.py"  # which says it all
        if not settings.get("TFPROF_STDERR") or is_check or has_recorded_parent():
            return
        states = dict(self.part_states())
        words = [word for part, word in self.PARTS if states.get(part) in ("ok", "degraded")]
        if states.get("ops") == "off":
            words = [word for word in words if word != "shapes"]
        told = "PyTorch %s is recorded: %s" % (self.torch.__version__, ", ".join(words))
        sys.modules["_tfprof_hooks"].say_framework(told)

    def part_states(self):
        describe = self.library.tfprof_capture_part
        describe.restype = self.ctypes.c_char_p
        for number in range(64):
            text = describe(number)
            if text is None:
                break
            part, _, state = text.decode("utf-8", "replace").partition(": ")
            yield part, state.partition(":")[0]

    def watch_threads(self):
        """With the first thread comes the one that looks at their stacks when they meet a new module."""
        begin_looking = self.library.tfprof_capture_begin_looking

        def look_from_now_on():
            if self.modules is not None:
                begin_looking()

        self.process.thread_named.append(look_from_now_on)

    def watch_ranks(self):
        """The rank of a process whose launcher says nothing of it, as with torch.multiprocessing.spawn: where
        torch.distributed keeps the default group that the program has made.
        """
        groups = sys.modules.get("torch.distributed.distributed_c10d")
        set_rank = self.process.set_rank

        def tell(group):  # raises of one that this process is no member of
            if group is not None:
                set_rank(group.rank(), group.size())

        self.hooks.around(groups, "_update_default_pg", last=tell)

    def make_way(self):
        """CUPTI serves one: where the program's own torch.profiler wants to see what GPUs do, it does, and the recorder
        does not meanwhile. autograd.profiler calls _prepare_profiler where there is a warm-up, always _enable_profiler,
        and _disable_profiler at the end; of a profile that cannot be enabled it does not."""
        profiler = sys.modules.get("torch.autograd.profiler")
        listeners = sys.modules["_tfprof_hooks"].watch_listeners(self.hooks)
        way, who = listeners.way, listeners.TORCH
        enabled = []  # profiles that listen

        def wants_cuda(activities):
            return any(getattr(activity, "name", None) == "CUDA" for activity in activities)

        def begins(_config, activities=(), *_):
            if wants_cuda(activities):
                way.begin(who)

        def is_enabled(_config, activities=(), *_):
            if wants_cuda(activities):
                enabled.append(who)

        def is_not_prepared(_config, activities=(), *_):
            if wants_cuda(activities):
                way.end(who, 1)

        def is_not_enabled(_config, activities=(), *_):
            if wants_cuda(activities):  # where none is enabled, one that was prepared will not be
                way.end(who, 1 if enabled else None)

        def ends(*_):
            enabled.clear()
            way.end(who)

        self.hooks.around(profiler, "_prepare_profiler", first=begins, raised=is_not_prepared)
        self.hooks.around(profiler, "_enable_profiler", first=begins, last=is_enabled, raised=is_not_enabled)
        self.hooks.around(profiler, "_disable_profiler", last=ends)

    def note_phases(self):
        hooks = sys.modules["_tfprof_hooks"]
        noting = hooks.load_beside("_tfprof_phases").Noting(self.holding_gil, self.torch)
        noting.begin(self.hooks, self.calls)
        hooks.load_beside("_tfprof_compiling").begin(noting, hooks.ImportFinder)

    def begin_windows(self, version):
        """PyTorch cannot be listened to: torch.profiler watches some steps."""
        from ctypes import c_char_p, c_int, c_int64, c_uint, c_uint64

        add_op = self.holding_gil.tfprof_capture_add_op
        add_op.argtypes = [c_char_p, c_uint64, c_int64, c_int64, c_int64, c_uint, c_int]
        windows = load_beside("_tfprof_windows").Windows(self.torch, add_op, self.say_problem, self.hooks)
        is_possible = settings.get("TFPROF_DORMANT") != "1"  # windows open unasked
        try:
            if is_possible:
                windows.begin()
        except Exception:
            is_possible = False
        if not self.library.tfprof_capture_begin_windows(version, int(is_possible)):
            return False
        if not self.library.tfprof_capture_arm():
            return False
        self.process.watch()
        atexit.register(windows.close)
        return True

    def tell_rest(self, time_left, flush):
        """At the end: what is not told yet."""
        if self.typed is not None:
            self.typed.tell_all(time_left)
        if self.modules is not None:
            self.modules.finish(flush)

    # ---- Input shapes.

    def prove_inputs(self):
        """Tensors of known shape, type and kind; then the three operators that the library expects. They make views: no
        kernel runs, no random number is drawn, nothing that the program could set is touched.
        """
        ctypes, torch = self.ctypes, self.torch
        samples = self.sample_tensors()
        numbers = []
        for tensor, dtype, policy, shape in samples:
            sizes = list(shape)
            numbers += [tensor._cdata, dtype, policy, len(sizes)] + sizes + [0] * (8 - len(sizes))
            numbers.append(-1 if policy else tensor.data_ptr())
        array = (ctypes.c_int64 * len(numbers))(*numbers)
        if not self.library.tfprof_capture_prove_tensors(array, len(samples)):
            return
        with torch.no_grad():
            a = torch.empty((2, 3), dtype=torch.float32, device="cpu")
            b = torch.empty((2, 3), dtype=torch.float32, device="cpu")
            watch = self.library.tfprof_capture_watch_inputs
            if watch(ctypes.c_void_p(a._cdata), ctypes.c_void_p(b._cdata)):
                try:
                    torch.transpose(a, 0, 1)
                    torch.broadcast_tensors(a, b)
                    a.expand(2, 3)
                finally:
                    self.library.tfprof_capture_prove_inputs()

    def sample_tensors(self):
        """(tensor, number of its dtype, policy of its sizes, shape): policy 0 is a plain tensor, 1 has strides of its
        own kind, 2 sizes.
        """
        torch = self.torch

        def empty(shape, dtype=torch.float32, **options):
            return torch.empty(shape, dtype=dtype, device="cpu", **options)

        samples = [
            (empty((2, 3)), 6, 0, (2, 3)),
            (empty((5, 7, 11), torch.int64), 4, 0, (5, 7, 11)),
            (empty((), torch.bool), 11, 0, ()),
            (empty((2, 1, 3, 1, 2), torch.float64), 7, 0, (2, 1, 3, 1, 2)),
            (empty((1, 2, 3, 1, 2, 3), torch.bfloat16), 15, 0, (1, 2, 3, 1, 2, 3)),
            (empty((1, 2, 3, 1, 2, 3, 2), torch.uint8), 0, 0, (1, 2, 3, 1, 2, 3, 2)),
            (empty((3, 4)).t(), 6, 0, (4, 3)),
            (empty((1, 3)).expand(4, 3), 6, 0, (4, 3)),
            (empty((2, 3, 4, 5), memory_format=torch.channels_last), 6, 0, (2, 3, 4, 5)),
            (empty((2, 3, 2, 4, 5), memory_format=torch.channels_last_3d), 6, 0, (2, 3, 2, 4, 5)),
            (empty((3, 4), layout=torch.sparse_coo), 6, 1, (3, 4)),
            # Memory that is not freed by its address.
            (torch.frombuffer(bytearray(40), dtype=torch.int16), 2, 0, (20,)),
        ]

        class Wrapped(torch.Tensor):
            @classmethod
            def __torch_dispatch__(cls, function, types, arguments=(), keywords=None):
                return NotImplemented

        for policy, number in (("strides", 1), ("sizes", 2)):
            wrapped = torch.Tensor._make_wrapper_subclass(
                Wrapped, (2, 3), dtype=torch.int64, device="cpu", dispatch_sizes_strides_policy=policy
            )
            samples.append((wrapped, 4, number, (2, 3)))
        return samples

    # ---- What an op costs.

    def calibrate(self):
        """In how many steps ops are recorded follows from what that takes: it is measured on views, for which no kernel
        runs, with callbacks that do nothing.
        """
        import time

        rounds, calls = 5, 32
        library, torch = self.library, self.torch
        with torch.no_grad():
            view = torch.empty((2, 3), dtype=torch.float32, device="cpu").transpose

            def measure():
                begin = time.thread_time_ns()
                for _ in range(calls):
                    view(0, 1)
                return time.thread_time_ns() - begin

            plain, called, ops = [], [], 0
            for _ in range(rounds):
                plain.append(measure())
                if not library.tfprof_capture_calibrate(1):
                    return
                try:
                    called.append(measure())
                finally:
                    ops = library.tfprof_capture_calibrate(0)
        cost = [self.ctypes.c_int64(number) for number in (ops, min(plain), min(called))]
        library.tfprof_capture_calibrated(*cost)

    # ---- Memory.

    def prove_memory(self):
        """A tensor of known size is made and dropped."""
        size = 12345
        if self.library.tfprof_capture_watch_memory():
            address = 0
            try:
                tensor = self.torch.empty(size, dtype=self.torch.uint8, device="cpu")
                address = tensor.data_ptr()
                del tensor
            finally:
                self.library.tfprof_capture_prove_memory(self.ctypes.c_void_p(address), self.ctypes.c_int64(size))

    # ---- Python stacks.

    def begin_typed(self):
        if self.process.stacks.are_proved:
            self.typed = load_beside("_tfprof_typed").TypedSources(self.library, self.say_problem)
            self.typed.begin(self.holding_gil)

    # ---- Python calls.

    def prepare_calls(self):
        """What is to be called when everything else is done, so that our own calls are not among those recorded."""
        return self.monitor_calls() if sys.version_info >= (3, 12) else self.profile_calls()

    def monitor_calls(self):
        monitoring = sys.monitoring
        free = [tool for tool in (4, 3, 2, 1, 0) if monitoring.get_tool(tool) is None]
        if not free:
            raise RuntimeError("all places of sys.monitoring are taken")
        make = self.holding_gil.tfprof_capture_call_watcher
        make.restype = self.ctypes.py_object
        begins, ends = make(0), make(1)
        if begins is None or ends is None:
            raise MemoryError()
        events, tool = monitoring.events, free[0]
        monitoring.use_tool_id(tool, "tfprof")
        mask = 0
        for event in (events.PY_START, events.PY_RESUME, events.PY_THROW):
            monitoring.register_callback(tool, event, begins)
            mask |= event
        for event in (events.PY_RETURN, events.PY_YIELD, events.PY_UNWIND):
            monitoring.register_callback(tool, event, ends)
            mask |= event
        return lambda: monitoring.set_events(tool, mask)

    def profile_calls(self):
        """This thread and those that will be started by the module threading."""
        import threading

        profile_thread = self.holding_gil.tfprof_capture_profile_thread

        def in_new_thread(frame, event, argument):
            profile_thread()  # takes the place of this function

        threading.setprofile(in_new_thread)
        return profile_thread

    # ---- What the module tfprof asks for.

    def open_range(self, name):
        """Begins a range and returns what ends it. PyTorch's own ranges serve: they nest among the ops. These functions
        take a fifth of the time of record_function (1.4 us with torch 2.13), and are in torch 1.13 to 2.15.
        """
        begin = getattr(self.torch.autograd, "_record_function_with_args_enter", None)
        end = getattr(self.torch.autograd, "_record_function_with_args_exit", None)
        if begin and end:
            handle = begin(name)
            return lambda: end(handle)
        opened = self.torch.profiler.record_function(name)
        opened.__enter__()
        return lambda: opened.__exit__(None, None, None)

    def open_step(self, name):
        """The same of a step; other frameworks of the process hear of its end."""
        marks = self.process.marks
        marks.begin_step("tfprof.step")
        end = self.open_range(name)

        def end_step():
            before = marks.steps()
            end()
            if marks.steps() != before:
                marks.ended(name, 1 + self.holding_gil.tfprof_capture_step_has_ended())

        return end_step

    def switch(self, is_on):
        self.library.tfprof_capture_switch(int(is_on))

    def begin_window(self):
        self.library.tfprof_capture_begin_window()

    def end_window(self):
        self.library.tfprof_capture_end_window()

    # ---- Optimizers.

    def prove_optimizers(self):
        """Which optimizer steps is told by the first argument of the function that PyTorch puts in the place of its
        step(): of a function like it, what the library finds there. Without it optimizers are told apart by class.
        """
        if sys.implementation.name != "cpython" or "t" in sys.abiflags or hasattr(sys, "getobjects"):
            return
        optimizer = getattr(self.torch.optim, "Optimizer", None)
        constants = getattr(getattr(getattr(optimizer, "profile_hook_step", None), "__code__", None), "co_consts", ())
        codes = [one for one in constants if getattr(one, "co_varnames", ())[:1] == ("args",)]
        if len(codes) != 1 or codes[0].co_argcount or "args" in codes[0].co_cellvars:
            return
        prove = self.holding_gil.tfprof_capture_prove_optimizers
        prove.argtypes = [self.ctypes.c_uint] + [self.ctypes.c_void_p] * 3
        version = sys.version_info[0] * 100 + sys.version_info[1]

        def probe(*args):
            return prove(version, id(probe.__code__), id(args[0]), id(codes[0]))

        if probe(object(), None):  # one may be made where another was
            made = self.holding_gil.tfprof_capture_optimizer_made
            # The library itself is called, as debuggers and profilers would see a function of Python here; so an
            # optimizer that hands its arguments on by name is not noted.
            made.argtypes, made.restype = [self.ctypes.py_object] * 3, None
            self.hooks.around(optimizer, "__init__", first=made)

    # ---- Modules.

    def prove_modules(self):
        """Modules are seen as the first local of the function that calls them: of two, one called by the
        other, which do nothing but look.
        """
        import gc

        function = getattr(self.torch.nn.Module, "_wrapped_call_impl", None)
        code = getattr(function, "__code__", None)
        if not self.process.stacks.are_proved:
            return
        if sys.hexversion < 0x030B01F0 and sys.version_info >= (3, 11):
            # Until 3.11.0 (gh-99729) a frame can still be seen while its locals are released, `self` among them.
            return self.believe_modules(False, "CPython 3.11.0 shows frames that end; from 3.11.1 on they are known")
        if code is None or code.co_varnames[:1] != ("self",) or "self" in code.co_cellvars:
            return self.believe_modules(False, "this PyTorch calls modules in another way; from 2.1 on they are known")
        ctypes, library = self.ctypes, self.holding_gil
        texts, numbers = ctypes.c_char_p, ctypes.c_int64
        library.tfprof_capture_tell_node.argtypes = [ctypes.c_uint] + [numbers] * 2 + [texts] * 2
        library.tfprof_capture_tell_change.argtypes = [numbers, ctypes.c_uint] + [numbers] * 4 + [texts] * 5
        library.tfprof_capture_modules_again.argtypes = [ctypes.c_uint]
        library.tfprof_capture_module_news.argtypes = [ctypes.py_object, ctypes.c_int]
        library.tfprof_capture_find_modules.argtypes = [ctypes.py_object] * 6 + [ctypes.c_void_p]
        library.tfprof_capture_find_modules.restype = None
        library.tfprof_capture_module_tree.argtypes = [ctypes.py_object]
        library.tfprof_capture_module_tree.restype = ctypes.py_object
        library.tfprof_capture_model_tree.argtypes = [ctypes.c_uint]
        library.tfprof_capture_model_tree.restype = ctypes.py_object
        part = sys.modules["_tfprof_hooks"].load_beside("_tfprof_modules")
        modules = part.Modules(self.library, library, self.torch, self.say_problem)
        classes = (self.torch.nn.Module, self.torch.Tensor, modules.lazy_class)
        no_overrides = getattr(self.torch._C, "DisableTorchFunction", None)
        library.tfprof_capture_find_modules(modules.found, gc.get_objects, *classes, no_overrides, id(code))
        tracing = [getattr(self.torch._C, name, None) for name in ("_get_tracing_state", "_set_tracing_state")]
        if all(tracing):
            library.tfprof_capture_mute_tracing.argtypes = [ctypes.py_object] * 2
            library.tfprof_capture_mute_tracing(*tracing)
        if not self.sees_modules():
            return self.believe_modules(False, "the locals of this Python's frames are laid out in another way")
        self.modules = modules
        tells_calls = code.co_varnames[:3] == ("self", "args", "kwargs") and not code.co_cellvars and self.sees_calls()
        reason = ""
        if not tells_calls:
            reason = "how often they are called is not known: this Python's dictionaries have no numbers"
        self.believe_modules(True, reason, tells_calls)

    def believe_modules(self, is_proved, reason, tells_calls=False):
        believe = self.holding_gil.tfprof_capture_believe_modules
        believe(int(is_proved), int(tells_calls), reason.encode("utf-8", "replace"))

    def look_twice(self):
        """A module that calls another twice: the addresses of both, and the modules and the numbers of the calls that
        the library saw on the stack each time, the innermost first.
        """
        describe, seen = self.holding_gil.tfprof_capture_describe_modules, []

        class Looking(self.torch.nn.Module):
            def forward(self, word):
                modules, calls = (self.numbers * 4)(), (self.numbers * 4)()
                count = describe(modules, calls, 4)
                seen.append((list(modules[:count]), list(calls[:count])))

        class Calling(self.torch.nn.Module):
            def forward(self, other):
                for _ in range(2):
                    other(word=1)

        outer, inner = Calling(), Looking()
        inner.numbers = self.ctypes.c_uint64
        outer(inner)
        return [id(inner), id(outer)], seen

    def sees_modules(self):
        modules, seen = self.look_twice()
        return [one for one, _ in seen] == [modules, modules]

    def sees_calls(self):
        """Whether a call has a number that stays while it lasts and grows from call to call, keywords or not."""
        (first, second), (third, fourth) = ([calls for _, calls in self.look_twice()[1]] for _ in range(2))
        return (
            0 < first[1] < first[0] < second[0] < third[1] < third[0] < fourth[0]
            and first[1] == second[1]
            and third[1] == fourth[1]
        )


def has_recorded_parent():
    """Whether a Python of the same recording has started this process."""
    parent = "/proc/%d/" % os.getppid()
    try:
        with open(parent + "environ", "rb") as file:
            is_recorded = b"TFPROF_RUN_DIRECTORY=" in file.read()
        return is_recorded and "python" in os.path.basename(os.readlink(parent + "exe"))
    except OSError:
        return False
