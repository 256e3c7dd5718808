"""Nothing of the recorder is on a program's stderr: no frame of it in a traceback, no warning that is not there without
it, no line where a Python cannot be recorded; and functions that are watched are those that they were.
"""

import ast
import glob
import os
import re
import subprocess
import tempfile

import capturing
import bounded

# Every function that is watched, called so that it raises.
RAISING = """
import os, pickle, sys, traceback, warnings
import torch
from torch.utils import data

def attempt(function):
    try:
        function()
    except BaseException:
        traceback.print_exc()

class Items(data.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, place):
        raise ValueError("item %d" % place)

class Stream(data.IterableDataset):
    def __iter__(self):
        yield 1
        raise KeyError("no more")

class Warning(torch.nn.Module):
    def train(self, mode=True):
        warnings.warn("where this is called from", stacklevel=2)
        return super().train(mode)

def fail(batch):
    raise RuntimeError("no batch")

if __name__ == "__main__":
    model = torch.nn.Linear(2, 2)
    attempt(lambda: model.train("no mode"))
    attempt(lambda: torch.nn.Sequential(model, Warning()).train(mode=3))
    attempt(lambda: torch.save(model, "/nowhere/at/all"))
    attempt(lambda: torch.save(lambda: 0, os.devnull))
    attempt(lambda: os.execv("/nowhere", ["nothing"]))
    attempt(lambda: os.execve("/nowhere", ["nothing"], {}))
    attempt(lambda: list(data.DataLoader(Items())))
    attempt(lambda: list(data.DataLoader(Stream())))
    attempt(lambda: list(data.DataLoader([1, 2], collate_fn=fail)))
    attempt(lambda: list(data.DataLoader([1, 2], collate_fn=fail, num_workers=1)))
    attempt(lambda: torch.autograd.profiler._enable_profiler(1, 2))
    nested = torch.nn.Sequential(Warning(), Warning())
    nested.train(), nested.eval(), nested.train()
    functions = torch.nn.Module.train, torch.save, data.DataLoader.__iter__, os._exit, os.execv
    for function in functions:
        print(function.__name__, function.__qualname__, function.__module__, type(function).__name__, file=sys.stderr)
        assert pickle.loads(pickle.dumps(function)) is function, function
    sys.stderr.flush()
    os._exit(3)
"""

FORKING = """
import os, torch
for _ in range(3):
    child = os.fork()
    if not child:
        torch.ones(2).add(1)
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    torch.ones(2).add(1)
"""


def both(path, options=("-q",)):
    """Status and output without the recorder and with it, addresses left out."""
    found = []
    with capturing.Directory() as directory:
        launcher = [os.path.join(capturing.BUILD, "tfprof-capture"), *options, "-o", directory, "--"]
        for prefix in ([], launcher):
            result = bounded.run(prefix + [capturing.PYTHON] + path, capturing.SECONDS)
            text = re.sub(r"0x[0-9a-f]{6,}", "ADDRESS", result.stderr)
            lines = [line for line in text.splitlines() if not re.match(r"(USDT|ERROR):|tfprof: ", line)]
            found.append((result.returncode, result.stdout, lines))
    return found


def test_tracebacks():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "raising.py")
        with open(path, "w") as file:
            file.write(RAISING)
        plain, recorded = both([path])
        assert plain[0] == 3 and sum(line.startswith("Traceback") for line in plain[2]) > 10, plain
        assert recorded == plain, "\n".join(recorded[2] + ["---- without the recorder:"] + plain[2])


def test_failing_import():
    """A PyTorch that cannot be imported, one that is not there, and a finder of the program's that raises."""
    begin = "import sys; sys.path.insert(0, sys.argv[1])\n"
    programs = [
        begin + "import torch",
        "import sys; sys.path[:] = [path for path in sys.path if 'site-packages' not in path]\nimport torch",
        begin + """
class Refusing:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            raise ImportError("not in this house")
sys.meta_path.insert(0, Refusing())
sys.meta_path.append(sys.meta_path.pop(0))
sys.meta_path.insert(1, sys.meta_path.pop())
import torch
""",
        begin + """
import traceback
for _ in range(2):
    try:
        import torch
    except ImportError:
        traceback.print_exc()
assert type(sys.meta_path[-1]).__name__ != "ImportFinder"
""",
    ]
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "torch"))
        for name, text in (("__init__", "from . import deeper\n"), ("deeper", "import torch.missing_library\n")):
            with open(os.path.join(folder, "torch", name + ".py"), "w") as file:
                file.write(text)
        for number, text in enumerate(programs):
            path = os.path.join(folder, "program%d.py" % number)
            with open(path, "w") as file:
                file.write(text)
            plain, recorded = both([path, folder])
            assert plain[2] and recorded == plain, (number, recorded, plain)


def test_forks():
    """From CPython 3.12 on os.fork() warns in a process with several threads."""
    plain, recorded = both(["-Wdefault", "-c", FORKING])
    assert recorded == plain, (recorded, plain)
    program = os.path.join(capturing.PROGRAMS, "forking.py")
    for python in glob.glob(os.path.expanduser("~/.pyenv/versions/3.1[2-9].*/bin/python")):
        with capturing.Directory() as directory:
            environment = capturing.environment(directory, quiet=1)
            del environment["PYTHONPATH"]
            command = [python, "-B", program, capturing.HOOKS, capturing.LIBRARY]
            result = bounded.run(command, capturing.SECONDS, env=environment)
            assert not result.returncode, (python, result.stderr)
            assert capturing.summary(capturing.dumps(directory)[0])["closed"], python


def test_other_pythons():
    """Whatever their version, they run as they do without us, and so does a sitecustomize of their own."""
    versions = sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python")))
    code = "import os, sys; sys.stdout.write('%s %s\\n' % (sys.version, [path for path in sys.path if path]))"
    with tempfile.TemporaryDirectory() as folder, capturing.Directory() as directory:
        with open(os.path.join(folder, "sitecustomize.py"), "w") as file:
            file.write("import os\nos.environ['MINE'] = '1'\nprint('my own')\n")
        for python in versions:
            for path in ("", folder):
                environment = dict(os.environ, PYTHONPATH=path, PYTHONDONTWRITEBYTECODE="1")
                if not path:
                    del environment["PYTHONPATH"]
                plain = subprocess.run([python, "-c", code], env=environment, capture_output=True, text=True)
                command = [python, "-c", code]
                shell = ["sh", "-c", '"$@"; true', "sh"]  # the last words of the launcher are not the program's
                result = subprocess.run(
                    [os.path.join(capturing.BUILD, "tfprof-capture"), "-q", "--force", "-o", directory, "--"]
                    + shell + command, env=environment, capture_output=True, text=True)
                error = "".join(line for line in result.stderr.splitlines(True) if not line.startswith(
                    ("tfprof: nothing was recorded in ", "tfprof: TensorFlow and JAX ", "tfprof: if it did ")))
                assert (result.stdout, error) == (plain.stdout, plain.stderr), (python, result, plain)
    if not any("/2." in python for python in versions):
        capturing.left_out.append("Python 2: there is none")


def test_hooks():
    """Functions are hooked alike in every Python from 3.8 on, whether PyTorch is there or not."""
    program = os.path.join(capturing.PROGRAMS, "hooked.py")
    found = glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python"))
    for python in [capturing.PYTHON] + [path for path in found if not re.search(r"/3\.[0-7]\.", path)]:
        result = bounded.run([python, "-B", program, capturing.HOOKS, capturing.LIBRARY], capturing.SECONDS)
        assert not result.returncode, (python, result.stderr)


def test_python_2_can_read_it():
    """What any Python may run has nothing that Python 2 cannot read."""
    with open(os.path.join(capturing.HOOKS, "sitecustomize.py"), "rb") as file:
        tree = ast.parse(file.read().decode("ascii"))
    modern = (ast.JoinedStr, ast.AnnAssign, ast.AsyncFunctionDef, ast.Await, ast.NamedExpr, ast.Nonlocal, ast.Starred,
              ast.YieldFrom)
    for node in ast.walk(tree):
        assert not isinstance(node, modern), ast.dump(node)
        assert not isinstance(node, ast.Raise) or node.cause is None, ast.dump(node)
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            assert not node.args.kwonlyargs, ast.dump(node)


if __name__ == "__main__":
    capturing.main(globals())
