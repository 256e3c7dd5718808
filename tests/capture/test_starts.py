"""Whatever way Python is started, it is recorded, and the program notices nothing of it."""

import os
import subprocess
import sys
import tempfile

import capturing

PROGRAM = """import sys, torch
assert "_tfprof_hooks" in sys.modules
torch.ones(3).add(1)
print(sys.flags.isolated, sys.flags.no_site, sys.flags.ignore_environment, __name__, sorted(vars()))
"""


def count_adds(directory):
    return [sum(op.name == "aten::add" for op in capturing.ops(path)) for path in capturing.dumps(directory)]


def site_packages():
    code = "import importlib.util, os; path = importlib.util.find_spec('torch').origin; "
    code += "print(os.path.dirname(os.path.dirname(path)))"
    return subprocess.run([capturing.PYTHON, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def check(what, command, is_compared=False):
    """Recorded, and the output is the one without tfprof-capture."""
    with capturing.Directory() as directory:
        out, error = capturing.launch(directory, command)
        found = count_adds(directory)
        assert found == [1] and out, (what, found, error)
        if is_compared:
            plain = [word.replace("assert", "0 and") for word in command]
            result = subprocess.run(plain, capture_output=True, text=True)
            assert out == result.stdout, (what, out, result.stdout, result.stderr)
        print("%-34s %s" % (what, out.split(" [")[0].strip()))
        return out


def test_options_of_python():
    """-S finds no site-packages by itself: the program adds them."""
    packages = "import sys; sys.path.append(%r)\n" % site_packages()
    for words in (["-I"], ["-S"], ["-ISu"], ["-s", "-P"] if sys.version_info >= (3, 11) else ["-s"]):
        check(" ".join(words), [capturing.PYTHON, *words, "-c", packages + PROGRAM], words == ["-I"])


def test_scripts_and_modules():
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "train.py")
        text = PROGRAM.replace("assert", "sys.argv[1:] == ['bare'] or")
        for first in ("#!%s", "#!%s -I", "#!/usr/bin/env -S %s -sE"):
            first = first % capturing.PYTHON
            with open(path, "w") as file:
                file.write(first + "\n" + text)
            os.chmod(path, 0o755)
            with capturing.Directory() as run:
                capturing.launch(run, [path])
                assert count_adds(run) == [1], first
                print("%-34s recorded" % first.replace(capturing.PYTHON, "python"))
        bare = "from runpy import run_path; import sys; sys.argv[1:] = []; run_path(%r, run_name='__main__')"
        check("runpy", [capturing.PYTHON, "-c", bare % path])
        with capturing.Directory() as run:
            environment = dict(os.environ, PYTHONPATH=directory)
            capturing.launch(run, [capturing.PYTHON, "-m", "train"], environment=environment)
            assert count_adds(run) == [1]
    with capturing.Directory() as run, tempfile.TemporaryFile("w+") as file:
        file.write(PROGRAM)
        file.seek(0)
        out, _ = capturing.launch(run, [capturing.PYTHON, "-I", "-"], stdin=file)
        assert count_adds(run) == [1] and "__main__" in out, out
    print("-m, standard input")


def test_children_of_isolated_and_other_pythons():
    """What another program starts with -I: with --preload. An isolated Python's own children: always."""
    child = "import subprocess, sys; subprocess.run([sys.executable, %s '-c', 'import torch; torch.ones(3).add(1)'])"
    by_shell = ["sh", "-c", '"$0" -I -c "import torch; torch.ones(3).add(1)"', capturing.PYTHON]
    with capturing.Directory() as run:
        capturing.launch(run, by_shell)
        assert count_adds(run) == []
        capturing.launch(run, by_shell, ["--preload"])
        assert count_adds(run) == [1]
    for words in ("", "'-I',"):
        with capturing.Directory() as run:
            capturing.launch(run, [capturing.PYTHON, "-I", "-c", child % words])
            assert count_adds(run) == [1], words
    print("children of isolated Pythons")


def test_check():
    """--check tells each part as it is recorded."""
    with capturing.Directory() as directory:
        out, error = capturing.launch(directory, [capturing.PYTHON], ["--check", "--no-shapes"])
        assert os.listdir(directory) == [] and not error, error
    for line in ("ops        ok: ", "stacks     ok: ", "shapes     off: asked with --no-shapes", "can be recorded."):
        assert line in out, (line, out)
    def check(*command, **more):
        command = [os.path.join(capturing.BUILD, "tfprof-capture"), "--check", "--", *command]
        result = subprocess.run(command, capture_output=True, text=True, **more)
        return result.returncode, result.stdout + result.stderr

    with tempfile.TemporaryDirectory() as directory:
        # The script of the command line is not run, nor any program that is no Python.
        script = os.path.join(directory, "train")
        with open(script, "w") as file:
            file.write("#!%s -X utf8\nopen(%r, 'w')\n" % (capturing.PYTHON, script + ".ran"))
        os.chmod(script, 0o755)
        for command in (
            [capturing.PYTHON, "-u", "-W", "ignore", script, "-I"],
            [capturing.PYTHON, "-m", "train"],
            ["env", "A=1", capturing.PYTHON, script],
            [script, "--steps", "3"],
        ):
            status, text = check(*command)
            assert status == 0 and "can be recorded." in text, (command, status, text)
        status, text = check("touch", script + ".ran")
        assert status == 125 and "touch is no Python" in text, (status, text)
        impostor = os.path.join(directory, "python3")
        os.symlink("/bin/true", impostor)
        assert check(impostor) == (125, ""), check(impostor)
        assert check("no-such-program")[0] == 127
        assert sorted(os.listdir(directory)) == ["python3", "train"], os.listdir(directory)
        by_variable = [os.path.join(capturing.BUILD, "tfprof-capture"), capturing.PYTHON, script]
        by_variable = subprocess.run(by_variable, env=dict(os.environ, TFPROF_CHECK="1"), capture_output=True,
                                     text=True)
        assert by_variable.returncode == 0 and "can be recorded." in by_variable.stdout, by_variable
        # A Python without PyTorch.
        status, text = check(capturing.PYTHON, "-S")
        assert status == 125 and "not installed here" in text, (status, text)
    print("--check")


def test_virtual_environment():
    """One that is made now, whose site-packages hold a sitecustomize of their own: what Python alone runs, runs.

    (Debian's python3 has a sitecustomize beside the standard library, which comes before that of site-packages.)
    """
    show = ("import sys; print(vars(__builtins__).get('mine'), getattr(sys.modules.get('sitecustomize'), '__file__', "
            "None))")
    with tempfile.TemporaryDirectory() as directory:
        if subprocess.run([capturing.PYTHON, "-m", "venv", "--without-pip", directory]).returncode:
            capturing.skip("venv is not there")
        roots = [root for root, _, _ in os.walk(os.path.join(directory, "lib"))]
        (packages,) = [root for root in roots if root.endswith("site-packages")]
        with open(os.path.join(packages, "others.pth"), "w") as file:
            file.write(site_packages() + "\n")
        with open(os.path.join(packages, "sitecustomize.py"), "w") as file:
            file.write("import builtins; builtins.mine = 42\n")
        python = os.path.join(directory, "bin", "python")
        for words in ([], ["-I"]):
            plain = subprocess.run([python, *words, "-c", show], capture_output=True, text=True, check=True).stdout
            out = check("venv " + " ".join(words), [python, *words, "-c", PROGRAM + show], words == [])
            assert out.splitlines()[-1] == plain.strip(), (out, plain)


def test_isolated_programs_stay_clean():
    """The bootstrap leaves nothing in __main__; an error in it harms nobody; other programs are left alone."""
    look = "import sys; print(sorted(vars()), sys.path, sorted(k for k in sys.modules if 'tfprof' in k))"
    plain = subprocess.run([capturing.PYTHON, "-I", "-c", look], capture_output=True, text=True).stdout
    with capturing.Directory() as run:
        out, error = capturing.launch(run, [capturing.PYTHON, "-I", "-c", look])
        assert out == plain.replace("[]", "['_tfprof_hooks']"), (out, plain)
        preload = os.path.join(capturing.BUILD, "libtfprof_preload.so")
        broken = dict(os.environ, LD_PRELOAD=preload, TFPROF_LIBRARY="/no/such/place/library.so")
        result = subprocess.run([capturing.PYTHON, "-I", "-c", "print(5)"], env=broken, capture_output=True, text=True)
        assert (result.returncode, result.stdout, result.stderr.count("\n")) == (0, "5\n", 1), result.stderr
        assert result.stderr.startswith("tfprof: this Python process is not recorded: FileNotFoundError"), result.stderr
        out, error = capturing.launch(run, ["sh", "-c", "echo a | cat"], ["--preload"])
        assert out == "a\n", out
    print("nothing is left behind")


capturing.main(globals())
