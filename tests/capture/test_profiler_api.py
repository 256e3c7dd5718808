"""tfprof.ProfileContext, Profiler, profile(), advise() and ProfileOptionBuilder: for PyTorch and plain Python always,
for TensorFlow, whose tutorials then run and must get TensorFlow's own results, with a Python that has it:
TFPROF_TENSORFLOW_PYTHON.
"""

import os
import shutil
import subprocess
import sys
import tempfile

import capturing

TORCH = """
import contextlib, io, os, sys
sys.path.insert(0, sys.argv[1])
import torch, tfprof, without_dynamo
from torch import nn
builder = tfprof.ProfileOptionBuilder
silent = builder(builder.time_and_memory(min_micros=0, min_bytes=0)).with_empty_output().build()
network = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
def train():
    loss = network(torch.ones(3, 4)).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
with tfprof.ProfileContext(sys.argv[2], trace_steps=range(2, 5), dump_steps=[3, 6]) as context:
    context.add_auto_profiling("op", builder(silent).with_file_output(os.path.join(sys.argv[2], "op.txt")).build(), [3])
    for number in range(8):
        train()
assert sorted(os.listdir(sys.argv[2])) == ["op.txt", "profile_3", "profile_6"], os.listdir(sys.argv[2])
ops = context.profiler.profile_operations(builder(silent).with_max_depth(1000).build())
row, rows = ops, {}
while row.children:
    row = row.children[0]
    rows[row.name] = row
assert rows["aten::addmm"].float_ops == 2 * 3 * 4 * 8 + 2 * 3 * 8 * 2, rows["aten::addmm"]
product = rows["aten::mm"]
assert sum(node.run_count for node in product.graph_nodes) >= 3 and product.exec_micros > 0, product
scope = context.profiler.profile_name_scope(builder(silent).with_step(4).build())
assert scope.total_exec_micros > 0 and "gradients" in [child.name for child in scope.children], scope
shown = builder(silent).with_step(4).with_node_names(show_name_regexes=["<string>.*"])
code = context.profiler.profile_python(shown.build())
assert code.total_exec_micros > 0, code
timeline = builder(silent).with_timeline_output(os.path.join(sys.argv[2], "t")).with_step(2)
graph = context.profiler.profile_graph(timeline.build())
assert os.path.getsize(os.path.join(sys.argv[2], "t_2")) > 1000 and graph.children, graph
advice = context.profiler.advise({"ExpensiveOperationChecker": {}})
reports = advice.checkers["ExpensiveOperationChecker"].reports
assert [line[:21] for line in reports[0].split("\\n")] == ["top %d operation type:" % n for n in (1, 2, 3)], reports
assert len(reports) <= 3 and sum("top 1 graph node: " in report for report in reports) < 2, reports
assert context.profiler.advise({}).checkers == {}
every = context.profiler.advise().checkers
told = [report for name, checker in every.items() if name not in tfprof.ALL_ADVICE for report in checker.reports]
assert told and all("\\n  " in report for report in told), every
with contextlib.redirect_stderr(io.StringIO()) as said:
    empty = context.profiler.profile_name_scope(builder(silent).with_step(77).build())
assert "no step 77; the steps are 2 3 4" in said.getvalue() and empty == tfprof.GraphNodeProto(), said.getvalue()
# Parameters: of all models when a step was traced, also in what was dumped; of one model without any step.
parameters = dict(builder.trainable_variables_parameter(), output="none")
class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.head = nn.Embedding(5, 2), nn.Linear(2, 5)
        self.head.weight = self.words.weight
        self.words.requires_grad_(False)
        self.scale = nn.Parameter(torch.ones(()))
stats = context.profiler.profile_name_scope(parameters)
network_size = sum(one.numel() for one in network.parameters())
assert stats.total_parameters == network_size == 58 and [one.name for one in stats.children] == ["Sequential"], stats
other = Tied()
stats = tfprof.profile(other, options=parameters)
assert stats.total_parameters == 5 + 1 and stats.children[0].name == "Tied", stats
stats = tfprof.profile(other, options=dict(parameters, account_type_regexes=["Parameter"]))
names = {one.name: (one.parameters, [size.size for shape in one.shapes for size in shape.dim])
         for part in stats.children[0].children for one in part.children or [part]}
assert names == {"Tied/words/weight": (10, [5, 2]), "Tied/head/weight": (0, [5, 2]), "Tied/head/bias": (5, [5]),
                 "Tied/scale": (1, [1])}, names
try:
    tfprof.profile(7, options=parameters)
    assert False, "7 is no graph"
except TypeError as problem:
    assert "tf.Graph or a torch.nn.Module" in str(problem), problem
# A torch.profiler of one's own, and what 0.12 called it.
with torch.profiler.profile(record_shapes=True) as recorded:
    train()
assert tfprof.print_model_analysis(None, recorded, tfprof_options=silent).total_exec_micros > 0
# One that is read twice; one that its owner has written already.
one = tfprof.Profiler(network)
one.add_step(0, recorded)
assert tfprof.profile(network, recorded, cmd="op", options=silent).total_exec_micros > 0
recorded.export_chrome_trace = lambda path: (_ for _ in ()).throw(RuntimeError("Trace is already saved."))
assert tfprof.Profiler(network).add_step(0, recorded) is None
with torch.profiler.profile() as written:
    train()
written.export_chrome_trace(os.path.join(sys.argv[2], "own.json"))
try:
    tfprof.Profiler().add_step(0, written)
    assert False, "written already"
except ValueError as problem:
    assert "give the path of that file" in str(problem), problem
tfprof.Profiler().add_step(0, os.path.join(sys.argv[2], "own.json"))
# A step that is to be dumped is traced where none has been; one that is asked for in the loop is the one that follows.
for folder, arguments, ask, dumped in (("one", {"dump_steps": [5]}, None, "profile_5"),
                                       ("none", {"trace_steps": [], "dump_steps": [5]}, None, "profile_5"),
                                       ("next", {"trace_steps": [], "dump_steps": []}, 4, "profile_4")):
    folder = os.path.join(sys.argv[2], folder)
    with tfprof.ProfileContext(folder, **arguments) as context:
        for number in range(8):
            if number == ask:
                context.trace_next_step()
                context.dump_next_step()
            train()
    assert os.listdir(folder) == [dumped], os.listdir(folder)
    tree = context.profiler.profile_operations(silent)
    assert tree.total_exec_micros > 0 and list(context.profiler._source.steps) == [int(dumped[-1])], folder
# What goes wrong in a context is told and never raised into the loop, whatever fails.
with contextlib.redirect_stderr(io.StringIO()) as said:
    file = os.path.join(sys.argv[2], "file")
    open(file, "w").close()
    with tfprof.ProfileContext(file, trace_steps=[1, 2], dump_steps=[2]) as context:
        context.add_auto_profiling("op", builder(silent).with_file_output("").build(), [1])
        context.add_auto_profiling("tree", silent, [1])
        with tfprof.ProfileContext(sys.argv[2]), torch.profiler.profile():  # which another one cannot be beside
            for number in range(4):
                train()
    assert context.profiler is not None and "no step has ended" not in said.getvalue(), said.getvalue()
    with tfprof.ProfileContext(file):  # around what it knows no steps of
        pass
for text in ("no view 'tree'", "is open already", "writing profile_2 failed", "the program goes on",
             "no step has ended"):
    assert text in said.getvalue(), (text, said.getvalue())
# The parameters of a model as an op log, without TensorFlow.
tfprof.write_op_log(other, sys.argv[2])
with open(os.path.join(sys.argv[2], "tfprof_log"), "rb") as file:
    log = file.read()
names = [name for name, parameter in other.named_parameters() if parameter.requires_grad]
assert all(name.encode() in log for name in names) and log.count(b"_trainable_variables") == len(names) == 2, log
# Marks instead of optimizers, and the automatic choice: the first step after the tenth.
with tfprof.ProfileContext(sys.argv[2], dump_steps=[]) as context:
    for number in range(13):
        context.step(number)
        network(torch.ones(3, 4))
steps = context.profiler._source.steps
assert 11 in steps and min(steps) == 11, steps
print("PyTorch: done")
"""

PLAIN = """
import sys
sys.path.insert(0, sys.argv[1])
import tfprof
assert not [name for name in sys.modules if name.startswith("_tfprof")], "import tfprof loads more than it needs"
def inner(number):
    return sum(range(number))
def work():
    return [inner(2000) for _ in range(5)]
with tfprof.ProfileContext(sys.argv[2], trace_steps=range(200), dump_steps=[]) as context:
    for number in range(200):
        tfprof.step(number)
    tfprof.end_step()
assert context.profiler._source.steps == set(range(200)), context.profiler._source.steps
with tfprof.ProfileContext(sys.argv[2], trace_steps=[1, 3], dump_steps=[3]) as context:
    for number in range(5):
        tfprof.step(number)
        work()
    tfprof.end_step()
silent = tfprof.ProfileOptionBuilder().with_empty_output().select(["micros", "occurrence"]).build()
ops = context.profiler.profile_operations(silent)
# The line of inner comes before that of work: what is hidden counts in the root; commas are part of an expression.
some = context.profiler.profile_operations(dict(silent, show_name_regexes=[".*:wo{1,3}r[,k]"]))
first = some.children[0]
assert some.total_exec_micros == ops.total_exec_micros > first.total_exec_micros and not first.children, some
names = {}
while ops.children:
    ops = ops.children[0]
    names[ops.name.split(":")[-1]] = ops
assert sum(node.run_count for node in names["inner"].graph_nodes) == 5 and names["inner"].exec_micros > 0, names
assert not [name for name in names if "step_begins" in name or "see" == name], names
# The lines that called: those of <module>, of work, and of what a comprehension is in some releases.
code = context.profiler.profile_python(dict(silent, order_by="micros", show_name_regexes=["<string>.*"]))
way = [code]
while way[-1].children:
    way.append(way[-1].children[0])
assert way[1].name == "<string>:18:<module>" and way[2].name == "<string>:9:work", [one.name for one in way]
assert [node.name.split(":")[-1] for node in way[-1].graph_nodes] == ["inner"], way[-1]
assert code.total_exec_micros == some.total_exec_micros, (code, some)
with tfprof.ProfileContext(sys.argv[2], enabled=False) as context:
    context.trace_next_step()
    assert context.profiler is None
print("plain Python: done")
"""


WHERE = """
import sys
import tfprof
module = tfprof.Profiler.__module__
program = sys.modules["_tfprof_profiler"].program
try:
    print(program())
except FileNotFoundError as problem:
    print(problem)
"""


def check_program():
    """The program is found where it was built, where it was installed, in a virtual environment and
    on PATH; else that is said."""
    with tempfile.TemporaryDirectory() as directory:
        def where(modules, path="/usr/bin:/bin", python=sys.executable, **variables):
            environment = {**os.environ, "PATH": path, "PYTHONPATH": modules, "TFPROF_PROGRAM": "", **variables}
            return subprocess.run([python, "-c", WHERE], capture_output=True, text=True, check=True,
                                  env=environment).stdout.strip()

        built = os.path.join(capturing.BUILD, "tfprof")
        assert os.path.realpath(where(os.path.join(capturing.BUILD, "python"))) == os.path.realpath(built)
        subprocess.run(["cmake", "--install", capturing.BUILD, "--prefix", os.path.join(directory, "installed")],
                       check=True, stdout=subprocess.DEVNULL)
        installed = [folder for folder, _, files in os.walk(os.path.join(directory, "installed"))
                     if "tfprof.py" in files]
        assert where(installed[0]) == os.path.join(directory, "installed", "bin", "tfprof"), installed
        alone = shutil.copytree(os.path.join(capturing.BUILD, "python"), os.path.join(directory, "somewhere", "alone"))
        assert "is found neither beside %s" % alone in where(alone), where(alone)
        assert where(alone, path=os.path.dirname(os.path.abspath(built))) == os.path.abspath(built)
        assert where(alone, TFPROF_PROGRAM=built) == os.path.normpath(built)
        assert where(alone,
                     TFPROF_PROGRAM="/no/such") == "TFPROF_PROGRAM names /no/such, which is no program that can be run"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", os.path.join(directory, "environment")],
                       check=True)
        shutil.copy(built, os.path.join(directory, "environment", "bin"))
        python = os.path.join(directory, "environment", "bin", "python")
        assert where(alone, python=python) == os.path.join(directory, "environment", "bin", "tfprof")
    print("the program is found")


def run(python, code, *words):
    environment = {name: value for name, value in os.environ.items() if name != "TFPROF_RUN_DIRECTORY"}
    done = subprocess.run([python, *code, os.path.join(capturing.BUILD, "python"), *words], capture_output=True,
                          text=True, timeout=300, env=environment)
    assert done.returncode == 0, "%s\n%s" % (done.stdout[-2000:], done.stderr[-4000:])
    print(done.stdout.strip().split("\n")[-1])


def main():
    check_program()
    with tempfile.TemporaryDirectory() as directory:
        run(sys.executable, ["-c", PLAIN], os.path.join(directory, "plain"))
        dumped = os.path.join(directory, "plain", "profile_3")
        report = subprocess.run([os.path.join(capturing.BUILD, "tfprof"), "op", "--profile_path=" + dumped,
                                 "-step", "3"], capture_output=True, text=True)
        assert report.returncode == 0 and ":inner" in report.stdout, report
        tensorflow = os.environ.get("TFPROF_TENSORFLOW_PYTHON")
        if tensorflow:
            folder = os.path.join(directory, "tensorflow")
            os.mkdir(folder)
            run(tensorflow, [os.path.join(capturing.PROGRAMS, "tensorflow_profiler.py")], folder)
        else:
            print("TensorFlow: not tried, TFPROF_TENSORFLOW_PYTHON names no Python that has it")
        capturing.need_torch()
        run(capturing.PYTHON, ["-c", TORCH], os.path.join(directory, "torch"))
        dumped = os.path.join(directory, "torch", "profile_3")
        rows = capturing.query(dumped, "SELECT name, param_count FROM nodes WHERE param_count > 0")
        assert {row["name"]: row["param_count"] for row in rows} == {"0.weight": 32, "0.bias": 8, "2.weight": 16,
                                                                     "2.bias": 2}, rows


main()
