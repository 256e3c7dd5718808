"""Python stacks as the library reads them, without asking Python: whether they are as Python tells them. Without that
nobody believes any: neither those of ops nor those of threads that hang.
"""

import sys


class Stacks:
    are_proved = False

    def __init__(self, ctypes, holding_gil):
        self.ctypes, self.holding_gil = ctypes, holding_gil

    def prove(self):
        """Ends in believe(), unless the library lacks what it needs, and has said so."""
        try:
            self.compare()
        except Exception as problem:
            self.believe(False, "%s: %s" % (type(problem).__name__, problem))

    def compare(self):
        if sys.implementation.name != "cpython":
            return self.believe(False, "only the frames of CPython are known")
        if "t" in sys.abiflags:
            return self.believe(False, "free-threaded Python is not supported")
        if hasattr(sys, "getobjects"):
            return self.believe(False, "this Python was built with Py_TRACE_REFS")
        if not self.holding_gil.tfprof_capture_find_python(sys.version_info[0] * 100 + sys.version_info[1]):
            return
        self.code_died = self.holding_gil.tfprof_capture_code_died
        if not self.sees_deaths():
            return self.believe(False, "this Python does not tell when code objects are freed")
        difference = self.compare_stacks()
        self.believe(difference is None, difference or "")

    def believe(self, are_proved, reason):
        self.are_proved = are_proved
        self.holding_gil.tfprof_capture_believe_stacks(int(are_proved), reason.encode("utf-8", "replace"))

    def sees_deaths(self):
        code = compile("0", "<tfprof>", "eval")
        address = id(code)
        del code
        return bool(self.code_died(self.ctypes.c_void_p(address)))

    def compare_stacks(self):
        """None when the library reads the stack as Python tells it, else what differs. The functions have names of one,
        two and four bytes a character; a generator and a lambda are in between.
        """
        source = "def \u00fc(go):\n    return next(\u6570(go))\n\n\n"
        source += "def \u6570(go):\n    yield (lambda:\n           go())()\n"
        names = {}
        exec(compile(source, "<tfprof \U0001f50d>", "exec"), names)
        return names["\u00fc"](self.compare_stacks_here)

    def compare_stacks_here(self):
        size = 256 * 1024
        buffer = self.ctypes.create_string_buffer(size)
        describe = self.holding_gil.tfprof_capture_describe_stack
        describe.restype = self.ctypes.c_ulong
        told, length = self.told_by_python(sys._getframe()), describe(buffer, self.ctypes.c_ulong(size))
        if not length:
            return "the frames of this Python %s are laid out in another way" % sys.version.split()[0]
        seen = [line.split(" ", 4) for line in buffer.raw[:length].decode("utf-8", "replace").splitlines()]
        for number, (mine, its) in enumerate(zip(seen, told)):
            if number == 0:
                mine[1] = its[1]  # two calls on one line
            if mine != its:
                return "frame %d is read as %s and is %s" % (number, " ".join(mine), " ".join(its))
        # A very deep stack is compared as far as it is described.
        if len(seen) == len(told) or len(seen) >= 500:
            return None
        return "%d frames are read of %d" % (len(seen), len(told))

    @staticmethod
    def told_by_python(frame):
        def plain(text):
            return "".join("?" if ord(letter) < 32 or ord(letter) == 127 else letter for letter in text[:1000])

        told = []
        while frame is not None:
            code = frame.f_code
            name = getattr(code, "co_qualname", code.co_name)
            told.append(
                [str(id(code)), str(frame.f_lasti), str(frame.f_lineno or 0), str(code.co_firstlineno)]
                + ["%s\t%s" % (plain(code.co_filename), plain(name))]
            )
            frame = frame.f_back
        return told
