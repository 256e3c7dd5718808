"""Hooks of functions and builtin functions, in whatever Python this is: which calls they see, with which arguments, and
that nobody sees them. Arguments: the folder of the hooks' modules, the library.
"""

import ctypes
import os
import sys
import traceback

sys.path.insert(0, sys.argv[1])
import _tfprof_calls  # noqa: E402

hooks = _tfprof_calls.Hooks(ctypes.PyDLL(sys.argv[2]))
assert hooks.is_possible
told = []

def plain(one, two=2, *more, **named):
    if one is None:
        raise KeyError(two)
    return one, two, more, named

class Holder:
    def __init__(self, value=1):
        self.value = value

    def __iter__(self):
        return iter((self.value,))

    def method(self, other):
        return self.value + other

module = type(sys)("module")
module.plain, before = plain, plain
hooks.around(module, "plain", lambda *given: told.append(given), lambda *given: told.append("end"))
for _ in range(50):
    assert module.plain(1) == (1, 2, (), {})
    assert module.plain(1, 3, 4, five=5) == (1, 3, (4,), {"five": 5})
    assert module.plain(*(1, 3), **{"six": 6}) == (1, 3, (), {"six": 6})
    assert module.plain(two=0, one=7) == (7, 0, (), {})
assert len(told) == 400 and told[:8] == [(1,), "end", (1, 3, 4), "end", (1, 3), "end", (), "end"], told[:8]
try:
    module.plain(None)
except KeyError:
    assert "_tfprof" not in traceback.format_exc(), traceback.format_exc()
else:
    assert False
assert told[400:] == [(None,), "end"], told[400:]
hooks.around(Holder, "method", lambda *given: 1 / 0)
hooks.around(Holder, "method", lambda *given: told.append("outer"), lambda *given: told.append("last"))
hooks.around(Holder, "__init__", lambda *given: told.append("made"))
hooks.around(Holder, "__iter__", lambda *given: told.append("iterated"))
told.clear()
for _ in range(50):
    one = Holder(value=4)
    assert one.method(3) == 7 and one.method(other=1) == 5 and list(one) == [4]
assert told == ["made", "outer", "last", "outer", "last", "iterated"] * 50, told[:9]
told.clear()
builtins = type(sys)("builtins")
builtins.getpid, builtins.chdir, builtins.execv = os.getpid, os.chdir, os.execv
builtins.hash, builtins.print = hash, print
for name in ("getpid", "chdir", "execv", "hash", "print"):
    function = getattr(builtins, name)
    hooks.around(builtins, name, lambda *given, name=name: told.append((name, given)))
    assert getattr(builtins, name) is function, name
for _ in range(50):
    assert os.getpid() > 0 and hash(5) == 5
    os.chdir(path=".")
    print("a", "b", sep="", end="", file=open(os.devnull, "w"))
    try:
        os.execv("/nowhere", ["x"])
    except OSError:
        assert "_tfprof" not in traceback.format_exc()
wanted = [("getpid", ()), ("hash", (5,)), ("chdir", ()), ("print", ("a", "b")), ("execv", ("/nowhere", ["x"]))]
found = [one for one in told if one[0] != "hash" or one[1] == (5,)]
assert found == wanted * 50, found[:6]
# With other arguments, in each of CPython's ways to call a builtin function.
import math, time
changed = (math, "factorial", (4,), 24), (math, "pow", (2, 5), 32), (time, "strftime", ("x",), "x")
for holder, name, other, wanted in changed:
    hooks.change(holder, name, lambda *given, other=other: other if given[0] != "%%" else None)
    assert getattr(holder, name)(*["%Y" if name == "strftime" else 3] * len(other)) == wanted, name
assert time.strftime("%%") == "%"
in_place = module.plain is before
assert in_place == (sys.version_info[:2] != (3, 11)), in_place
