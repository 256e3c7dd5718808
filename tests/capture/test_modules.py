"""nodes holds the modules and parameters of a recorded program as named_parameters() tells them, and ops say in which
module they ran.
"""

import collections
import json
import os
import subprocess

import capturing
from capturing import query

PROGRAM = os.path.join(capturing.PROGRAMS, "models.py")


def check_parameters(directory, expected, others=()):
    rows = query(directory, "SELECT * FROM nodes WHERE is_scope = 0")
    first = [row for row in rows if "same_as" not in (row["attributes"] or "")]
    mine = {
        row["name"]: [row["shape"], row["dtype"], row["trainable"], row["canonical_device"], row["param_count"]]
        for row in first
        if not row["name"].startswith(tuple(others) or "/")
    }
    assert mine == expected, "missing or different: %s\nnot expected: %s" % (
        {name: (value, mine.get(name)) for name, value in expected.items() if mine.get(name) != value},
        {name: value for name, value in mine.items() if name not in expected},
    )
    shared = {row["name"]: row for row in rows if row not in first}
    assert list(shared) == ["head.weight"], shared
    assert shared["head.weight"]["param_count"] == 0 and shared["head.weight"]["shape"] == "50x32"
    assert json.loads(shared["head.weight"]["attributes"]) == {"same_as": "embedding.weight"}
    devices = query(directory, "SELECT * FROM parameter_balance")
    assert {row["device"]: row["param_count"] for row in devices} == {
        "cpu": sum(value[-1] for value in expected.values() if value[3] == "cpu"),
        "meta": 25,
    }, devices
    assert abs(sum(row["balance_ratio"] for row in devices) - 2) < 1e-9, devices
    sizes = {"float32": 4, "bfloat16": 2, "int64": 8}
    assert all(row["param_bytes"] == row["param_count"] * sizes[row["dtype"]] for row in rows)
    return sum(value[-1] for value in expected.values())


def check_tree(directory):
    rows = query(directory, "SELECT * FROM nodes")
    by_id = {row["id"]: row for row in rows}
    for row in rows:
        parent = by_id.get(row["parent_id"])
        assert (parent is None) == (row["depth"] == 0), row
        if parent is not None:
            assert parent["is_scope"] == 1 and parent["depth"] == row["depth"] - 1, row
            path, _, key = row["name"].rpartition(".")
            assert path in ("", parent["name"]), (row, parent)
    classes = {row["name"]: row["op_type"] for row in rows if row["is_scope"]}
    assert classes["Language"] == "Language" and classes["blocks.1.project.0"] == "Linear", classes
    assert classes["blocks"] == "ModuleList" and classes["Generator.1"] == "Tanh", classes
    return len(classes)


def check_ops(directory):
    """Where each op ran: the products of the last step, and that nothing else runs in a layer than it must."""
    rows = query(
        directory,
        "SELECT ops.name AS name, module, nodes.op_type AS class FROM ops JOIN nodes ON nodes.id = node_id "
        "WHERE ops.name LIKE 'aten::%'",
    )
    by_class = collections.defaultdict(set)
    for row in rows:
        by_class[row["class"]].add(row["name"])
    assert "aten::native_layer_norm" in by_class["LayerNorm"] and "aten::addmm" in by_class["Linear"]
    assert "aten::gelu" in by_class["GELU"] and "aten::embedding" in by_class["Embedding"]
    assert not by_class["GELU"] - {"aten::gelu"}, by_class["GELU"]
    assert not by_class["ReLU"] - {"aten::relu", "aten::clamp_min"}, by_class["ReLU"]
    # The lazy layers became plain ones when they were first called.
    lazy = [row["module"] for row in rows if row["name"] == "aten::linear"]
    assert {"Discriminator.layers.0", "Discriminator.layers.2"} <= set(lazy), set(lazy)
    modules = collections.Counter(row["module"] for row in rows if row["name"] == "aten::gelu")
    assert set(modules) == {"blocks.0.project.1", "blocks.1.project.1"}, modules
    outside = query(
        directory,
        "SELECT count(*) AS count FROM ops WHERE module IS NULL AND name = 'aten::gelu'",
    )[0]["count"]
    assert outside == 0, "%d of them have no module" % outside


def check_flops(directory, counts):
    """Forward and backward of the step by torch.utils.flop_counter's modules; there they begin with the root's name."""
    span = "(SELECT %s_ns FROM ops WHERE name = 'counted')"
    rows = query(
        directory,
        "WITH RECURSIVE inside(node_id, flops) AS (SELECT node_id, flops FROM ops WHERE flops IS NOT NULL AND module "
        "IS NOT NULL AND start_ns >= %s AND end_ns <= %s UNION ALL SELECT nodes.parent_id, inside.flops FROM inside "
        "JOIN nodes ON nodes.id = inside.node_id WHERE nodes.parent_id IS NOT NULL) "
        "SELECT name, sum(inside.flops) AS flops FROM inside JOIN nodes ON nodes.id = node_id GROUP BY 1"
        % (span % "start", span % "end"),
    )
    mine = {row["name"]: row["flops"] for row in rows}
    total = query(
        directory,
        "SELECT sum(flops) AS flops FROM ops WHERE start_ns >= %s AND end_ns <= %s" % (span % "start", span % "end"),
    )[0]["flops"]
    assert total == counts["Global"], (total, counts["Global"])
    compared = 0
    for name, flops in mine.items():
        if name == "blocks":
            continue  # a list of modules, which nobody calls
        its = counts["Language" if name == "Language" else "Language." + name]
        # Every product of the forward pass has two of its size in the backward pass, but where nothing asks for one.
        assert flops <= its <= 3 * flops, (name, flops, its)
        compared += its == 3 * flops
    assert compared >= 8, (mine, counts)
    summary = query(directory,
                    "SELECT module, class, sum_flops, param_count FROM module_summary WHERE module = 'Language'")
    assert len(summary) == 1 and summary[0]["class"] == "Language", summary
    return total


CHANGING = """
import json, os, recorder, sys, torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(4, 8), nn.Linear(8, 8), nn.Linear(8, 2)
        self.extra, self.unused = nn.Parameter(torch.ones(5)), nn.Linear(3, 3)
    def forward(self, x):
        return self.c(self.b(self.a(x)))
def run(model):
    for _ in range(3):
        model(torch.randn(3, 4)).sum().backward()
    recorder.know_modules()
model = Net()
run(model)
model.a.weight = nn.Parameter(torch.randn(8, 4))
model.a.bias.requires_grad_(False)
model.b = nn.Sequential(nn.Linear(8, 16), nn.Linear(16, 8))
del model.extra, model.unused
model.c.to(torch.float64)
model.c.to(torch.float32)
model.c.bias.data = model.c.bias.data.to(torch.float16)
model.register_parameter("new", nn.Parameter(torch.ones(3)))
model.tied = nn.Linear(8, 16, bias=False)
model.tied.weight = model.b[0].weight
model.c.bias.data = model.c.bias.data.float()
run(model)
if len(sys.argv) > 1:
    model.c.bias.data = model.c.bias.data.to(torch.bfloat16)
print(json.dumps([[name, "x".join(map(str, p.shape)), str(p.dtype)[6:], int(p.requires_grad), p.numel()]
                  for name, p in model.named_parameters()]))
"""


def check_changes():
    """nodes follows the model: what it has at the end is what named_parameters() says then, the rest is removed."""
    with capturing.Directory() as directory:
        out, err = capturing.run(directory, ["-c", CHANGING, "at the end"])
        assert "tfprof" not in err, err
        expected = {name: facts for name, *facts in json.loads(out)}
        rows = query(directory, "SELECT * FROM nodes WHERE is_scope = 0")
        now = {row["name"]: row for row in rows if row["removed_ns"] is None}
        tied = now.pop("tied.weight")
        assert (tied["param_count"], json.loads(tied["attributes"])) == (0, {"same_as": "b.0.weight"}), tied
        mine = {name: [row["shape"], row["dtype"], row["trainable"], row["param_count"]] for name, row in now.items()}
        assert mine == expected, (mine, expected)
        gone = {row["name"]: (row["shape"], row["param_count"]) for row in rows if row["removed_ns"] is not None}
        assert gone == {"extra": ("5", 0), "b.weight": ("8x8", 0), "b.bias": ("8", 0), "unused.weight": ("3x3", 0),
                        "unused.bias": ("3", 0)}, gone
        (total,) = query(directory, "SELECT sum(param_count) AS n FROM nodes")
        assert total["n"] == sum(facts[-1] for facts in expected.values()), total
        found = collections.defaultdict(list)
        sql = """SELECT name, kind, time_ns >= (SELECT min(start_ns) FROM ops) AS is_then FROM node_changes
            JOIN nodes ON nodes.id = node_id WHERE is_scope = 0 ORDER BY node_changes.id"""
        for row in query(directory, sql):
            assert row["is_then"], row
            found[row["name"]].append(row["kind"])
        assert found["a.weight"] == ["added", "replaced"] and found["a.bias"] == ["added", "changed"], found
        assert found["extra"] == ["added", "removed"] and found["c.bias"] == ["added", "changed"], found
        assert found["c.weight"] == ["added"] and found["new"] == ["added"], found
        modules = {row["name"]: row["removed_ns"] is None
                   for row in query(directory, "SELECT * FROM nodes WHERE is_scope")}
        assert not modules["unused"] and modules["a"] and modules["b.1"], modules
        print("a model that changes: %d parameters at its end, %d removed" % (len(now) + 1, len(gone)))


WRAPPED = """
import json, os, sys, tempfile, torch
from torch import nn
kept = []
def tell(prefix, model):
    kept.append(model)
    for _ in range(60): model(torch.randn(3, 4)).sum().backward()
    return {prefix + name: p.numel() for name, p in model.named_parameters()}
torch.distributed.init_process_group("gloo", init_method="file://" + tempfile.mktemp(), rank=0, world_size=1)
told = tell("", nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 2))))
told.update(tell("OptimizedModule.", torch.compile(nn.Sequential(nn.Linear(4, 6), nn.Linear(6, 6)), backend="eager")))
told.update(tell("RecursiveScriptModule.", torch.jit.script(nn.Sequential(nn.Linear(4, 7)))))
print(json.dumps(told))
torch.distributed.destroy_process_group()
"""


def check_wrapped():
    """Models within DistributedDataParallel, torch.compile, torch.jit.script: with the names that those give."""
    with capturing.Directory() as directory:
        out, err = capturing.run(directory, ["-W", "ignore", "-c", WRAPPED])
        assert "tfprof" not in err, err
        rows = query(directory, "SELECT name, param_count FROM nodes WHERE is_scope = 0")
        mine = {row["name"]: row["param_count"] for row in rows}
        told = {name.replace("RecursiveScriptModule.", "Sequential."): count for name, count in json.loads(out).items()}
        assert mine == told, (mine, told)
        print("models in wrappers: %s" % ", ".join(sorted(mine)))


HELD = """
import sys, threading, weakref, torch
from torch import nn
sys.setswitchinterval(1e-6)
released = []
class Deep(nn.Sequential): pass
for number in range(20):
    model = Deep(*[nn.Linear(4, 4) for _ in range(60)])
    for part in [model, *model.children(), *model.parameters()]:
        weakref.finalize(part, lambda: released.append(threading.get_ident()))
    count = len(released)
    for _ in range(10 + number % 7):
        x = model(torch.ones(2, 4))
    del model, part, x
    assert len(released) == count + 181, (number, len(released) - count)
assert set(released) == {threading.get_ident()}
print(len(released))
"""


def check_nothing_is_held():
    """What the program lets go of is gone at once, on the thread that let go: we hold
    nothing of it, not even a moment."""
    with capturing.Directory() as directory:
        out, err = capturing.run(directory, ["-c", HELD])
        assert out == "3620\n", (out, err)
        # They are alike: one model that was made again and again.
        found = query(directory, "SELECT count(*) AS n FROM nodes WHERE op_type = 'Deep'")[0]["n"]
        again = query(directory, "SELECT count(*) AS n FROM node_changes JOIN nodes ON nodes.id = node_id "
                                 "WHERE kind = 'made again' AND op_type = 'Deep'")[0]["n"]
        assert (found, again) == (1, 19), (found, again)
        print("%d models were looked at, and none was held" % (found + again))


SHORT = """
import os, sys, threading, torch
from torch import nn
torch.set_num_threads(1)
where, times = sys.argv[1], 60
if len(sys.argv) > 2:  # the recorder's thread hardly comes to run
    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
    for thread in os.listdir("/proc/self/task"):
        os.sched_setaffinity(int(thread), os.sched_getaffinity(0))
        if open("/proc/self/task/%s/comm" % thread).read() == "tfprof-writer\\n":
            os.setpriority(os.PRIO_PROCESS, int(thread), 19)
def make(lazy):
    class Discriminator(nn.Module):  # a class of its own each time
        def __init__(self):
            super().__init__()
            first = nn.LazyLinear(6) if lazy else nn.Linear(5, 6)
            self.layers = nn.Sequential(first, nn.ReLU(), nn.Linear(6, 1))
            self.also = nn.ModuleList([nn.Tanh()])
        def forward(self, x):
            return nn.Sigmoid()(self.also[0](self.layers(x)))
    return Discriminator()
def run(lazy):
    model = make(lazy)
    model(torch.ones(2, 5))
def run_all():
    for number in range(times):
        run(number % 2)
if where == "main":
    nn.Linear(2, 2)(torch.ones(2, 2))  # the first model, and its names have no prefix
    run_all()
elif where == "threads":
    threads = [threading.Thread(target=run_all) for _ in range(3)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()  # the main thread calls nothing meanwhile
elif where == "thrown":
    for number in range(times):
        try:
            make(0)(torch.ones(2, 7))
        except RuntimeError:
            pass
else:  # replaced parameters, and a batch of models
    base = make(0)
    parameters = {name: torch.stack([p, p]) for name, p in base.named_parameters()}
    call = lambda p, x: torch.func.functional_call(base, p, (x,))
    for number in range(times):
        torch.func.vmap(call, (0, None))({n: p * 1 for n, p in parameters.items()}, torch.ones(2, 5))
"""


def names_of_short_lived(*where):
    with capturing.Directory() as directory:
        out, err = capturing.run(directory, ["-c", SHORT, *where])
        assert "tfprof" not in err, err
        rows = query(directory, "SELECT name, module, count(*) AS n FROM ops WHERE name IN ('aten::linear', "
                                "'aten::relu', 'aten::tanh', 'aten::sigmoid') GROUP BY 1, 2")
        changed = query(directory, "SELECT count(*) AS n FROM nodes WHERE is_scope")[0]["n"]
        return collections.Counter({(row["name"], row["module"]): row["n"] for row in rows}), changed


REUSED = """
import sys, threading, time, torch
from torch import nn
torch.set_num_threads(1)
class Part(nn.Module):
    def forward(self, x):
        return torch.matmul(x, nine) if x.shape[-1] == 3 else torch.cos(x)
class Other(nn.Tanh): pass
class Thrower(nn.Module):
    def __init__(self, part):
        super().__init__()
        self.part = part
    def forward(self, x):
        return self.part(x)
class Good(Thrower): pass
three, four, nine, kept, addresses, reused = torch.ones(3), torch.ones(4), torch.ones(9), [], set(), 0
def throw():
    thrower = Thrower(Part())
    addresses.update((id(thrower), id(thrower.part)))
    try:
        thrower(three)
    except RuntimeError:
        pass
def run():
    global reused
    for number in range(100):
        throw()
        kept.append(Good(Part() if number % 2 else Other()))
        reused += id(kept[-1].part) in addresses
        kept[-1](four)
def run_later():
    # Parts at addresses of others that are gone, which are looked for while these are in no call yet.
    global reused
    throw()  # the first search
    for number in range(100):
        throw()
    kept.extend(Good(Part()) for _ in range(100))
    reused = sum(id(one.part) in addresses for one in kept)
    time.sleep(0.1)
    for one in kept:
        one(four)
if sys.argv[1] == "main":
    run()
elif sys.argv[1] == "later":
    run_later()
else:
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
print(reused)
"""


def check_reused_addresses():
    """A module that is gone before anybody has looked at it does not get the name of the next one at its address."""
    for where in ("main", "later", "thread"):
        with capturing.Directory() as directory:
            out, err = capturing.run(directory, ["-c", REUSED, where])
            assert "tfprof" not in err and int(out) >= (1 if where == "later" else 20), (out, err)
            rows = query(directory, "SELECT name, module, count(*) AS n FROM ops WHERE name IN ('aten::matmul', "
                                    "'aten::cos', 'aten::tanh') GROUP BY 1, 2")
            found = {(row["name"], row["module"]): row["n"] for row in rows}
            assert sum(found.values()) == (201 if where == "later" else 200), found
            classes = {row["name"]: row["op_type"] for row in query(directory, "SELECT name, op_type FROM nodes")}
            owners = {"aten::matmul": ("Thrower", "Part"), "aten::cos": ("Good", "Part"),
                      "aten::tanh": ("Good", "Other")}
            unknown = 0
            for (name, module), count in found.items():
                if module is None:
                    unknown += count
                    assert name == "aten::matmul", found
                else:
                    root = module.rpartition(".")[0]
                    assert (classes.get(root), classes[module]) == owners[name], (name, module, found)
            print("%s: an address was used again %s times, %d ops have no module" % (where, out.strip(), unknown))


def check_short_lived():
    """A model that is made, run once and dropped has its names, however soon it is gone and whatever else runs."""
    for how in ((), ("busy",)):
        found, modules = names_of_short_lived("main", *how)
        prefix = "Discriminator.layers."
        assert found.pop(("aten::linear", "Linear")) == 1, found
        layers = {("aten::linear", prefix + "0"): 60, ("aten::relu", prefix + "1"): 60,
                  ("aten::linear", prefix + "2"): 60, ("aten::tanh", "Discriminator.also.0"): 60,
                  ("aten::sigmoid", "Sigmoid"): 60}
        # Lazy models are not as the others, and one of them is the second of its name.
        merged = collections.Counter()
        for (name, module), count in found.items():
            merged[name, module and module.replace("Discriminator_2", "Discriminator").replace("_2", "")] += count
        assert merged == layers, found
        assert modules < 30, modules
    for how in ((), ("busy",)):
        found, _ = names_of_short_lived("threads", *how)
        # A thread waits half a second for who looks at its stack: on a very busy machine that may be in vain.
        unnamed = sum(count for (_, module), count in found.items() if module is None)
        assert unnamed <= 5, found
        whole = [(name, module) for name, module in found if module and "." not in module.lstrip("S")]
        assert all(name == "aten::sigmoid" for name, module in whole), found
        by_name = collections.Counter()
        for (name, module), count in found.items():
            by_name[name, module.rpartition(".")[2] if module and name != "aten::sigmoid" else ""] += count
        assert sum(by_name.values()) == 5 * 180, by_name
        for key in (("aten::linear", "0"), ("aten::relu", "1"), ("aten::linear", "2"), ("aten::tanh", "0"),
                    ("aten::sigmoid", "")):
            assert 180 - unnamed <= by_name[key] <= 180, by_name
    found, _ = names_of_short_lived("vmap")
    assert set(module for _, module in found) == {"layers.0", "layers.1", "layers.2", "also.0", "Sigmoid"}, found
    # Where its first op throws it may be gone before anybody looks, but it is taken for no other.
    found, _ = names_of_short_lived("thrown")
    assert sum(found.values()) == 60 and set(found) <= {("aten::linear", None), ("aten::linear", "layers.0")}, found
    print("models that live for one call have their names")


def check_first_of_311():
    """In CPython 3.11.0 `self` can be read of a frame that ends: modules are left out, and that is said."""
    program = """
import sys
sys.hexversion = 0x030b00f0
import torch
torch.nn.Linear(2, 2)(torch.ones(1, 2))
"""
    version = subprocess.run([capturing.PYTHON, "-c", "import sys; print(sys.version_info[:2])"], capture_output=True,
                             text=True, check=True).stdout
    if version != "(3, 11)\n":
        return
    with capturing.Directory() as directory:
        capturing.run(directory, ["-c", program])
        (dump,) = capturing.dumps(directory)
        state, reason = capturing.parts(dump)["modules"]
        assert state == "off" and "3.11.0" in reason, (state, reason)
        assert capturing.parts(dump)["stacks"] == ("ok", ""), capturing.parts(dump)


def main():
    capturing.need_torch()
    check_first_of_311()
    check_changes()
    check_wrapped()
    check_nothing_is_held()
    check_reused_addresses()
    check_short_lived()
    with capturing.Directory() as directory:
        out, err = capturing.run(directory, [PROGRAM])
        assert "tfprof" not in err, err
        (dump,) = capturing.dumps(directory)
        assert capturing.parts(dump)["modules"] == ("ok", ""), capturing.parts(dump)
        told = json.loads(out)
        count = check_parameters(directory, told["parameters"])
        (total,) = query(directory, "SELECT sum(param_count) AS count FROM nodes")
        assert total["count"] == count, (total, count)
        modules = check_tree(directory)
        check_ops(directory)
        flops = check_flops(directory, told["counts"])
        print("%d parameters in %d modules, %d operations in a step" % (count, modules, flops))
    with capturing.Directory() as directory:
        out, err = capturing.run(directory, [PROGRAM, "short_lived"])
        assert "tfprof" not in err, err
        names = query(directory, "SELECT count(*) AS count FROM nodes WHERE name = 'Language'")
        assert names == [{"count": 1}], names
        check_ops(directory)
        print("a thousand models that lived shortly: the others are told apart from them")
    with capturing.Directory() as directory:
        capturing.run(directory, [PROGRAM], python_mode="none")
        assert query(directory, "SELECT count(*) AS count FROM nodes") == [{"count": 0}]


main()
