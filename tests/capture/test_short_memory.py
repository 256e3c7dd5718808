"""Where memory is short for the recorder the program is what it is without it: its output, its status, its results.

Allocations of the library fail one time in 1,000 to each time, from its start on or in between. And where CPython's own
fail, in what the library asks of it, no function that is called from Python returns what is no object.
"""

import os
import re
import subprocess

import capturing
from capturing import bounded

PROGRAM = os.path.join(capturing.PROGRAMS, "short_memory.py")

# Each allocation of CPython's in turn, and all after it, fail while the facts of a model are gathered.
WITHOUT_OBJECTS = """
import sys, torch, _testcapi
model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU()))
model(torch.ones(1, 2))
# CPython dereferences NULL where a thread enters it without memory (PyThreadState_New of 3.11): the recorder's thread,
# which tells what is new of the model, has to be done.
import os, time
def name_of(tid):
    try: return open("/proc/self/task/%s/comm" % tid).read().strip()
    except OSError: return "" # it has ended
def is_done(): return "tfprof-python" not in map(name_of, os.listdir("/proc/self/task"))
end, quiet = time.time() + 60, 0
while quiet < 50 and time.time() < end:
    time.sleep(0.02)
    quiet = quiet + 1 if is_done() else 0
library = sys.modules["_tfprof_hooks"].recording.holding_gil
answers = []
for function, argument in ((library.tfprof_capture_module_tree, model), (library.tfprof_capture_model_tree, 1)):
    whole = 0
    for number in range(3000):
        answer = "no memory"
        _testcapi.set_nomemory(number, 0)
        try:
            answer = function(argument)
        except MemoryError:
            pass
        _testcapi.remove_mem_hooks()
        answers.append(answer)
        whole += isinstance(answer, list)
        if whole == 3:
            break
assert any(answer is None for answer in answers) and any(answer == "no memory" for answer in answers), len(answers)
# Where a dictionary cannot be looked into, the hook looks closely itself: the list ends there.
wholes = [answer for answer in answers if isinstance(answer, list)]
assert len(wholes) == 6 and all(len(answer) == 5 or any(one[3] is None for one in answer) for answer in wholes), wholes
print("whole")
"""


def compile_double(directory):
    library = os.path.join(directory, "short_memory.so")
    source = os.path.join(capturing.PROGRAMS, "short_memory.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source], check=True)
    return library


def test_failing_allocations():
    plain = bounded.run([capturing.PYTHON, PROGRAM], capturing.SECONDS)
    assert plain.returncode == 0 and plain.stdout.count("\n") == 141, (plain.returncode, plain.stdout, plain.stderr)
    with capturing.Directory() as directory:
        double = compile_double(directory)
        for number, (first, arguments) in enumerate([(0, ["fail"]), (1, []), (3, [])]):
            run = os.path.join(directory, "run%d" % number)
            os.mkdir(run)
            command = [capturing.PYTHON, PROGRAM] + arguments
            settings = dict(LD_PRELOAD=double, FAIL_ONE_IN=str(first), FAIL_IN=os.path.basename(capturing.LIBRARY))
            result = bounded.run(command, capturing.SECONDS, env={**capturing.environment(run), **settings})
            assert result.returncode == 0, (first, result.returncode, result.stdout[-500:], result.stderr[-2000:])
            assert result.stdout == plain.stdout, (first, result.stdout, plain.stdout)
            failed = int(re.search(r"^failed: (\d+)$", result.stderr, re.M).group(1))
            assert failed > 0, (first, result.stderr)
            told = [line for line in result.stderr.splitlines() if not line.startswith(("failed: ", "tfprof: "))]
            assert not told, told
            if arguments:  # of the others the recording may not have begun
                problems = [problem for dump in capturing.dumps(run) for problem in capturing.summary(dump)["problems"]]
                assert any(problem[1] in ("capture_dropped", "dropped_rows") for problem in problems), problems


def test_failing_objects():
    if subprocess.run([capturing.PYTHON, "-c", "import _testcapi"], stderr=subprocess.DEVNULL).returncode:
        capturing.left_out.append("CPython's allocations do not fail: this Python has no _testcapi")
        return
    with capturing.Directory() as run:
        out, _ = capturing.run(run, ["-c", WITHOUT_OBJECTS])
        assert out == "whole\n", out


if __name__ == "__main__":
    capturing.main(globals())
