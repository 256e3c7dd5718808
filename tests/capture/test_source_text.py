"""Lines have the text of what ran, or none: of files that were changed meanwhile, and with --no-source. What is
recorded of command lines, and that with --no-command nothing is.
"""

import os

import capturing

MODULE = """
import torch

def early(x):
    return x + 1

def late(x):
    return x * 3
"""
PROGRAM = """
import os, sys, time, torch
import edited, replaced, untouched
x = torch.ones(2)
for module in (edited, replaced, untouched):
    module.early(x)
with open("generated.py", "w") as file:
    file.write(open("untouched.py").read())
import generated
generated.early(x)
with open("edited.py", "r+") as file:
    text = file.read()
    file.seek(0)
    file.write("# a line that was put in while the job runs\\n" + text)
os.rename("prepared.py", "replaced.py")  # which has an old mtime
time.sleep(0.3)
for number in range(12):  # few files are kept in memory
    namespace = {}
    exec(compile("def step(x): return x - %d" % number, "/nowhere/step_%d.py" % number, "exec"), namespace)
    namespace["step"](x)
time.sleep(0.3)
for module in (edited, replaced, untouched):
    module.late(x)
namespace = {}
exec(compile("def step(x): return x + 2  # IN NO FILE", "<a name>", "exec"), namespace)
namespace["step"](x)
import linecache
linecache.cache["<another>"] = (1, None, ["def step(x): return x + 2  # TYPED\\n"], "<another>")
exec(compile("def step(x): return x + 2  # TYPED\\n", "<another>", "exec"), namespace)
namespace["step"](x)
text = "y = (\\n    x * 7\\n)\\n"
linecache.cache["<of several lines>"] = (1, None, [line + "\\n" for line in text.split("\\n")], "<of several lines>")
exec(compile(text, "<of several lines>", "exec"), {"x": x})
# A cell of a notebook, as an IPython of old kept it: with a time.
sys.modules["IPython"] = __import__("types").SimpleNamespace(get_ipython=lambda: __import__("types").SimpleNamespace(
    compile=__import__("types").SimpleNamespace(_filename_map={"/tmp/ipykernel_71/1003.py": 1})))
text = "x = torch.ones(3) * 5  # IN A CELL\\n"
linecache.cache["/tmp/ipykernel_71/1003.py"] = (len(text), 1500000000.0, [text], "/tmp/ipykernel_71/1003.py")
exec(compile(text, "/tmp/ipykernel_71/1003.py", "exec"), {"torch": torch})
# A file that is gone, of which a traceback has kept what stood there at some time.
gone = "/tmp/no_such_folder/gone.py"
linecache.cache[gone] = (20, 1500000000.0, ["# another line\\n"], gone)
exec(compile("x = torch.ones(3) * 7\\n", gone, "exec"), {"torch": torch})
"""


def record(directory, *options):
    for name, text in (("edited", MODULE), ("replaced", MODULE), ("untouched", MODULE), ("program", PROGRAM),
                       ("prepared", MODULE.replace("x * 3", "x * 4"))):
        path = os.path.join(directory, name + ".py")
        with open(path, "w") as file:
            file.write(text)
        if name != "program":
            os.utime(path, (1500000000, 1500000000))
    run = os.path.join(directory, "run")
    capturing.launch(run, [capturing.PYTHON, "program.py"], ["--ops=all", *options], cwd=directory)
    [path] = capturing.dumps(run)
    texts = {(os.path.basename(row["file"]), int(row["line"] or 0)): row["text"]
             for row in capturing.table(path, "code_frames")}
    return path, texts


def test_changed_files():
    with capturing.Directory() as directory:
        path, texts = record(directory)
        assert texts["untouched.py", 5] == "return x + 1" and texts["untouched.py", 8] == "return x * 3", texts
        assert texts["program.py", 6] == "module.early(x)" and texts["<another>", 1].endswith("# TYPED"), texts
        for name in ("edited.py", "replaced.py", "generated.py"):
            for line in (5, 8):
                right = {5: "return x + 1", 8: "return x * 3"}[line]
                assert texts.get((name, line)) in (None, right), (name, line, texts)
        assert texts["1003.py", 1].endswith("# IN A CELL") and texts["gone.py", 1] is None, texts
        (several,) = [row for row in capturing.table(path, "code_frames") if row["file"] == "<of several lines>"]
        assert (several["line"], several["text"]) == ("2", "x * 7"), several
        assert (several["statement_line"], several["statement_text"]) == ("1", "y = ( x * 7 )"), several
        assert texts["edited.py", 8] is None and texts["replaced.py", 8] is None, texts
        told = [row for row in capturing.table(path, "diagnostics") if row["reason"] == "capture_source_changed"]
        without = sum(texts[place] is None for place in texts if place[0] in ("edited.py", "replaced.py",
                                                                               "generated.py"))
        assert sum(int(row["count"]) for row in told) == without, (told, without)
        assert any(name in told[0]["message"] for name in ("edited.py", "replaced.py", "generated.py")), told
        assert capturing.parts(path)["source"] == ("ok", "")


def test_no_source():
    with capturing.Directory() as directory:
        path, texts = record(directory, "--no-source", "--no-command")
        assert ("untouched.py", 5) in texts and set(texts.values()) == {None}, texts
        cells = [row["cell"] for row in capturing.table(path, "code_frames") if row["file"].endswith("/1003.py")]
        assert set(cells) == {"1"}, cells  # where it is told, not what stands there
        assert capturing.parts(path)["source"] == ("off", "asked with --no-source")
        with open(path, "rb") as file:
            dump = file.read()
        assert b"module.early(x)" not in dump and b"program.py" not in dump.replace(b"/program.py", b"")
        assert [row["command"] for row in capturing.query(path, "SELECT command FROM profiles UNION ALL "
                                                                "SELECT command FROM runs")] == [None, None]


def test_commands():
    with capturing.Directory() as directory:
        run = os.path.join(directory, "run")
        code = "import torch, sys; torch.ones(2) + 1; print(sys.argv[1:])"
        words = ["-c", code, "--hf-token", "not-a-long-key", "--lr", "0.001", "--api_key=x", "--note=kept"]
        out, _ = capturing.launch(run, ["env", "WANDB_API_KEY=abc", capturing.PYTHON, *words])
        assert out.strip() == str(words[2:]), out  # the program has them all
        [row] = capturing.query(run, "SELECT profiles.command AS process, runs.command AS run FROM profiles, runs")
        told = "%s -c '%s' --hf-token *** --lr 0.001 --api_key=*** --note=kept" % (capturing.PYTHON, code)
        assert row == {"process": told, "run": "env WANDB_API_KEY=*** " + told}, row


capturing.main(globals())
