"""The frames of every CPython that is installed here are read as Python itself tells them, or not at all."""

import glob
import os
import subprocess
import sys

import capturing

KNOWN = [(3, minor) for minor in range(8, 15)]

# Runs in the other Python: the proof that the hooks make when they arm, on a line far from its function's first.
INSIDE = (
    r"""
import sys, ctypes, os
sys.path.insert(0, os.environ["HOOKS"])
import _tfprof_stacks
library = ctypes.CDLL(os.environ["TFPROF_LIBRARY"], mode=ctypes.RTLD_GLOBAL)
stacks = _tfprof_stacks.Stacks(ctypes, ctypes.PyDLL(os.environ["TFPROF_LIBRARY"]))
verdict = []
stacks.believe = lambda are_proved, reason: verdict.append((are_proved, reason))
def prove(depth):
    if depth:
        return prove(depth - 1)
"""
    + "\n" * 300
    + r"""
    x = [
        1,
        stacks.prove() if depth == 0 else (
            2),
    ]
    return x
class Deep:
    def method(self):
        return [prove(depth) for depth in (3,)]
def generator():
    yield from (item for item in Deep().method())
list(generator())
for name in ("try: 1/0\nexcept ZeroDivisionError: prove(1)",
             "async def f():\n  prove(2)\ntry: f().send(None)\nexcept StopIteration: pass",
             "with open('/dev/null') as f:\n  (lambda a, *, b: prove(a))(\n  1,\n  b=2)"):
    exec(compile(name, "a file\nwith a line end", "exec"))
print("%d.%d" % sys.version_info[:2], verdict)
if sys.version_info[:2] not in __KNOWN__: assert not verdict or not verdict[0][0]
else: assert verdict == [(True, "")] * 4, verdict
""".replace("__KNOWN__", repr(KNOWN))
)


def pythons():
    found = {}
    candidates = (
        [capturing.PYTHON, sys.executable]
        + glob.glob("/root/.pyenv/versions/3*/bin/python3")
        + glob.glob("/usr/bin/python3*")
    )
    for candidate in candidates + glob.glob(os.path.expanduser("~/.pyenv/versions/3*/bin/python3")):
        look = "import sys, ctypes; print(sys.version_info[:2] >= (3, 8), sys.version)"
        result = (
            subprocess.run([candidate, "-c", look], capture_output=True, text=True)
            if os.access(candidate, os.X_OK)
            else None
        )
        if result and result.returncode == 0 and result.stdout.startswith("True"):
            found.setdefault(result.stdout, candidate)
    return sorted(found.values())


def main():
    environment = dict(
        os.environ, TFPROF_LIBRARY=os.path.abspath(capturing.LIBRARY), HOOKS=os.path.abspath(capturing.HOOKS)
    )
    environment.pop("TFPROF_RUN_DIRECTORY", None)
    for python in pythons():
        result = subprocess.run([python, "-c", INSIDE], env=environment, capture_output=True, text=True)
        print(python, result.stdout.strip(), result.stderr)
        assert result.returncode == 0, "%s ended with %d" % (python, result.returncode)


main()
