"""Tells the capture library the text of source that lies in no file: cells of notebooks, what is typed at a prompt.

Whoever runs such code puts its text into linecache, so that tracebacks can show it, under the name that the code
objects have for their file.  IPython also keeps which name belongs to which cell.  Nothing of either is changed.

What is there when recording begins, and at the end, is told at once; what comes meanwhile the library asks for, on a
thread of its own, when it meets code of a name that is no file (typed_sources.h).
"""

import os
import re
import sys

NAME_BYTES = 1024
TIME, LINES = 1, 2  # of an entry of linecache that holds text: its size, when it was changed, the lines, the path
OLD_NAME = re.compile(r"<ipython-input-(\d+)-")  # of a cell, before IPython 8


class TypedSources:
    def __init__(self, library, say_problem):
        import ctypes

        self.library, self.say_problem, self.ctypes = library, say_problem, ctypes
        library.tfprof_capture_tell_source.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int]
        library.tfprof_capture_wanted_source.argtypes = [ctypes.c_char_p, ctypes.c_ulong]
        library.tfprof_capture_wanted_source.restype = ctypes.c_ulong

    def begin(self, holding_gil):
        """`holding_gil`: the library, called without giving up the GIL."""
        find = holding_gil.tfprof_capture_find_sources
        find.restype, find.argtypes = None, [self.ctypes.py_object]
        find(self.tell_wanted)
        self.tell_all()

    def tell_wanted(self):
        try:
            name = self.ctypes.create_string_buffer(NAME_BYTES)
            while self.library.tfprof_capture_wanted_source(name, NAME_BYTES):
                wanted = name.value.decode("utf-8", "replace")
                self.tell(wanted, self.entries().get(wanted))
        except Exception as problem:
            self.say_problem(problem)

    def tell_all(self, time_left=None):
        """Whatever is kept of names that are no files. An entry that has not been read yet would be now, by code of the
        program: it is left until it is asked for.
        """
        for name, entry in list(self.entries().items()):
            if time_left and not time_left():
                return
            if len(entry) > LINES and (name[:1] == "<" or not os.path.exists(name)):
                self.tell(name, entry)

    @staticmethod
    def entries():
        linecache = sys.modules.get("linecache")
        return getattr(linecache, "cache", None) or {}

    def tell(self, name, entry):
        text = None
        if entry and len(entry) > LINES:
            # With a time the lines are those that a file had when a traceback was shown, and IPython's, which had one.
            if entry[TIME] is None or name[:1] == "<" or cell_number(name):
                text = "".join(entry[LINES])
        elif entry:
            text = entry[0]()  # whoever makes the code has left a function that knows its text
        text = text.encode("utf-8", "replace") if isinstance(text, str) else None
        self.library.tfprof_capture_tell_source(name.encode("utf-8", "replace"), text, cell_number(name))


def cell_number(name):
    """What In[...] shows of the cell; 0: it is none."""
    found = OLD_NAME.match(name)
    if found:
        return int(found.group(1))
    get_shell = getattr(sys.modules.get("IPython"), "get_ipython", None)
    compiler = getattr(get_shell() if get_shell else None, "compile", None)
    number = getattr(compiler, "_filename_map", {}).get(name, 0)
    return number if isinstance(number, int) else 0
