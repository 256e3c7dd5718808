"""ops.flops of a capture is what torch.utils.flop_counter counts on the same step, op by op, each operation once; and
what capture keeps of the inputs is what torch.profiler exports as "Concrete Inputs". So is that of its traces.
"""

import collections
import json
import os
import subprocess

import capturing
from capturing import query


def check_flops(directory, counted):
    rows = query(
        directory,
        "SELECT name, sum(flops) AS flops FROM ops WHERE flops IS NOT NULL AND start_ns >= (SELECT start_ns FROM ops "
        "WHERE name = 'counted') AND end_ns <= (SELECT end_ns FROM ops WHERE name = 'counted') GROUP BY name",
    )
    mine = {row["name"].replace("aten::", "aten."): row["flops"] for row in rows}
    assert mine == counted, "\n%s\n%s" % (sorted(mine.items()), sorted(counted.items()))
    print("%d ops, %d operations: equal to FlopCounterMode" % (len(mine), sum(mine.values())))


def check_errors(directory):
    """Ops that an exception ended say so, and no others: products of wrong shapes and what is around them, and the last
    product that a checkpoint did again."""
    rows = query(
        directory,
        "SELECT name, error, flops FROM ops WHERE error IS NOT NULL AND start_ns >= (SELECT start_ns FROM ops WHERE "
        "name = 'counted') ORDER BY id",
    )
    ended = ["aten::" + name for name in ("mm", "matmul", "mm", "matmul", "linear", "bmm", "matmul")]
    assert [tuple(row.values()) for row in rows] == [(name, "exception", None) for name in ended], rows
    print("ended by an exception: %s" % ", ".join(ended))


def check_values(directory):
    kept = 0
    for row in query(directory, "SELECT name, input_shapes, input_values FROM ops WHERE input_values IS NOT NULL"):
        values, shapes = json.loads(row["input_values"]), json.loads(row["input_shapes"])
        assert len(values) == len(shapes) and (len(values) >= 7 or len(values) == 6 and values[0].startswith("[")), row
        if row["name"] == "aten::convolution_backward":
            assert values[7] in ("True", "False") and values[10].startswith("["), row
        kept += 1
    names = {row["name"] for row in query(directory, "SELECT DISTINCT name FROM ops WHERE input_values IS NOT NULL")}
    wanted = {"aten::convolution", "aten::convolution_backward", "aten::mkldnn_convolution", "aten::empty"}
    assert wanted <= names, names
    print("%d ops with values: %s" % (kept, ", ".join(sorted(names))))


def check_against_profiler():
    """The same numbers as torch.profiler's, where both have one."""
    program = (
        "import json, sys, torch\n"
        "sys.path.insert(0, %r)\n"
        "import flops\n"
        "from torch.profiler import profile, ProfilerActivity\n"
        "network = flops.Network()\n"
        "optimizer = torch.optim.SGD(network.parameters(), lr=0.1)\n"
        "with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler:\n"
        "    with torch.profiler.record_function('compared'):\n"
        "        flops.step(network, optimizer)\n"
        "profiler.export_chrome_trace(sys.argv[1])\n" % capturing.PROGRAMS
    )
    with capturing.Directory() as directory:
        trace = os.path.join(directory, "trace.json")
        capturing.run(directory, ["-c", program, trace])
        (dump,) = capturing.dumps(directory)
        with open(trace) as file:
            events = [event for event in json.load(file)["traceEvents"] if event.get("cat") == "cpu_op"]
        its = collections.Counter()
        for event in events:
            if "Concrete Inputs" in event["args"]:
                its[event["name"], tuple(event["args"]["Concrete Inputs"])] += 1
        compared = 0
        for row in query(dump, "SELECT name, input_values FROM ops WHERE input_values IS NOT NULL AND start_ns >= "
                               "(SELECT start_ns FROM ops WHERE name = 'compared')"):
            values = json.loads(row["input_values"])
            # Texts, numbers with a fraction and lists of them are not kept.
            match = [
                key
                for key in its
                if key[0] == row["name"]
                and len(key[1]) == len(values)
                and all(mine == other or (mine == "" and not other.startswith("["))
                        for mine, other in zip(values, key[1]))
            ]
            assert match, (row["name"], values, [key for key in its if key[0] == row["name"]])
            compared += 1
        assert compared > 20, compared
    print("%d lists of values: equal to torch.profiler's" % compared)


def check_traces():
    """A trace of torch.profiler's says the same as FlopCounterMode, op type by op type; without the values of inputs,
    which it wrote from PyTorch 2.1 on only, its forward convolutions still do."""
    program = (
        "import json, sys, warnings, torch\n"
        "sys.path.insert(0, %r)\n"
        "import flops\n"
        "from torch.profiler import profile, ProfilerActivity\n"
        "from torch.utils.flop_counter import FlopCounterMode\n"
        "warnings.simplefilter('ignore')\n"
        "flops.fail = lambda words: None\n"
        "network = flops.Network()\n"
        "optimizer = torch.optim.SGD(network.parameters(), lr=0.1)\n"
        "with FlopCounterMode(display=False) as counter:\n"
        "    flops.step(network, optimizer)\n"
        "with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler:\n"
        "    flops.step(network, optimizer)\n"
        "profiler.export_chrome_trace(sys.argv[1])\n"
        "counted = counter.get_flop_counts()['Global']\n"
        "print(json.dumps({str(op): number for op, number in counted.items()}))\n" % capturing.PROGRAMS
    )
    sql = "SELECT name, sum(flops) AS flops FROM ops WHERE flops IS NOT NULL GROUP BY name"
    with capturing.Directory() as directory:
        new, old = os.path.join(directory, "new.json"), os.path.join(directory, "old.json")
        out = subprocess.run([capturing.PYTHON, "-c", program, new], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                             check=True, timeout=capturing.SECONDS).stdout
        counted = json.loads(out.splitlines()[-1])
        with open(new) as file:
            trace = json.load(file)
        for event in trace["traceEvents"]:
            event.get("args", {}).pop("Concrete Inputs", None)
        with open(old, "w") as file:
            json.dump(trace, file)
        of_new, of_old = (
            {row["name"].replace("aten::", "aten."): row["flops"] for row in query(path, sql)} for path in (new, old)
        )
        assert of_new == counted, (of_new, counted)
        assert counted.pop("aten.convolution_backward") and of_old == counted, (of_old, counted)
        shapes = query(old, "SELECT output_shapes FROM ops WHERE name = 'aten::convolution'")
        assert len(shapes) == 9 and all(row["output_shapes"] for row in shapes), shapes
    print("traces: %d op types equal to FlopCounterMode" % len(of_new))


def main():
    capturing.need_torch()
    if subprocess.run([capturing.PYTHON, "-c", "import torch.utils.flop_counter"]).returncode:
        capturing.skip("this PyTorch has no FlopCounterMode")
    with capturing.Directory() as directory:
        out, _ = capturing.run(directory, [os.path.join(capturing.PROGRAMS, "flops.py")])
        check_flops(directory, json.loads(out))
        check_errors(directory)
        check_values(directory)
    check_against_profiler()
    check_traces()


main()
