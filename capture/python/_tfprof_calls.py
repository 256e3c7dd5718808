"""Has something done before and after each call of a function of the program's modules: see call_hooks.h of the
library, which leaves the function in its place.

Where it cannot (CPython 3.11 calls functions of Python without a look at what the library changes) a wrapper takes
the place.  It looks like the function, torch.compile traces through it to the function, and on 3.11 no traceback has
it, though profilers of all calls do: CPython takes a frame for one that has not begun, and shows it nowhere, whose
instruction lies before the RESUME of its code.
"""

import functools
import sys

PHASE_RANGE, PHASE_MODES, PHASE_FETCH = range(3)
OWN_NAME = "<_tfprof_calls>"  # of code: by it the library leaves it out of stacks
TRIES = 64  # so many calls make CPython specialise the one that calls


class Hooks:
    def __init__(self, holding_gil):
        """`holding_gil`: the library, called without giving up the GIL."""
        import ctypes

        self.is_possible = bool(self.prove(ctypes, holding_gil))
        text, thing = ctypes.c_char_p, ctypes.py_object
        self.hook_phase, self.hook_call = holding_gil.tfprof_capture_hook_phase, holding_gil.tfprof_capture_hook_call
        self.hook_phase.argtypes, self.hook_phase.restype = [thing, ctypes.c_uint, text], thing
        self.hook_call.argtypes, self.hook_call.restype = [thing] * 4, thing
        self.hook_names = holding_gil.tfprof_capture_hook_names
        self.hook_names.argtypes, self.hook_names.restype = [thing] * 4 + [ctypes.c_int], thing
        self.hook_fork = holding_gil.tfprof_capture_hook_fork
        self.hook_fork.argtypes, self.hook_fork.restype = [thing], None

    @staticmethod
    def prove(ctypes, library):
        """Whether functions can be hooked at all; in their place they are where each call of one is seen."""
        if sys.implementation.name != "cpython":
            return False

        def probe():
            pass

        def call():
            for _ in range(TRIES):
                probe()

        call()
        has_other_objects = "t" in getattr(sys, "abiflags", "") or hasattr(sys, "getobjects")
        watched = None if has_other_objects else probe  # they are laid out in another way: nothing is in its place
        library.tfprof_capture_watch_calls.argtypes = [ctypes.py_object]
        if not library.tfprof_capture_watch_calls(watched):
            return False
        call()
        library.tfprof_capture_prove_calls(TRIES)
        return True

    def note(self, holder, name, text, kind=PHASE_RANGE):
        """Calls of the function `name` of a module or class become ranges called `text`."""
        self.put(holder, name, lambda function: self.hook_phase(function, kind, text))

    def around(self, holder, name, first=None, last=None, raised=None):
        """`first` and `last` are called with its positional arguments, and `raised` in the place of `last` where the
        function raised; what they raise is told and forgotten, but for what a handler of a signal raised.
        """
        self.put(holder, name, lambda function: self.hook_call(function, first, last, raised))

    def named(self, holder, name, first=None, last=None, raised=None):
        """The same, with the arguments as they are given, by place or by name."""
        self.put(holder, name, lambda function: self.hook_names(function, first, last, raised, 0))

    def change(self, holder, name, first, last=None, raised=None):
        """The same; where `first` returns a tuple the function is called with what is in it instead."""
        self.put(holder, name, lambda function: self.hook_names(function, first, last, raised, 1))

    def rest(self, holder, *names):
        """Functions that fork: CPython does not count threads of ours around them."""
        for name in names:
            function = getattr(holder, name, None)
            if function is not None and self.is_possible:
                self.hook_fork(function)

    def put(self, holder, name, hook):
        function = getattr(holder, name, None)
        if function is None or not self.is_possible:
            return
        hooked = hook(function)
        if hooked is not None and hooked is not function:
            setattr(holder, name, wrapper_of(function, hooked))


def wrapper_of(function, hooked):
    """While torch.compile traces, it goes straight to the function. It takes no globals: those of this module, which
    cannot be imported, would be asked for. Its code says to come from the function's file, by which torch.compile
    decides what it traces at all, and by its name that it is ours.
    """
    is_compiling = getattr(sys.modules.get("torch.compiler"), "is_compiling", None)
    if is_compiling is None:  # before 2.1, whose torch.compile does not work on 3.11

        @functools.wraps(function)
        def wrapper(*arguments, **keywords):
            return hooked(*arguments, **keywords)

    else:

        @functools.wraps(function)
        def wrapper(*arguments, **keywords):
            if is_compiling():
                return function(*arguments, **keywords)
            return hooked(*arguments, **keywords)

    wrapper.__code__ = disguised(wrapper.__code__, getattr(function, "__code__", None))
    # Called outside of what is compiled, it is nothing to compile.
    dynamo = getattr(sys.modules.get("torch._C"), "_dynamo", None)
    skip = getattr(getattr(dynamo, "eval_frame", None), "skip_code", None)
    if skip is not None:
        skip(wrapper.__code__)
    return wrapper


def disguised(code, its_code):
    """The code of a wrapper, and that of the function or None."""
    if not hasattr(code, "replace"):  # before 3.8
        return code
    if sys.version_info[:2] == (3, 11) and sys.implementation.name == "cpython":
        code = without_frame(code).replace(co_qualname=OWN_NAME)
    if its_code is not None:
        code = code.replace(co_filename=its_code.co_filename, co_firstlineno=its_code.co_firstlineno)
    return code.replace(co_name=OWN_NAME)


def without_frame(code):
    """The same code of CPython 3.11 with its RESUME moved to the end, so that all that follows it lies before it."""
    from opcode import opmap

    words = len(code.co_code) // 2
    moved = bytearray(code.co_code)
    if moved[0] != opmap["COPY_FREE_VARS"] or moved[2] != opmap["RESUME"] or moved[3] or words > 250:
        return code
    moved[2:4] = opmap["JUMP_FORWARD"], words - 2
    moved += bytes((opmap["RESUME"], 0, opmap["JUMP_BACKWARD_NO_INTERRUPT"], words))
    return code.replace(co_code=bytes(moved))
