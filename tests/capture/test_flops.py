"""ops.flops of a capture is what torch.utils.flop_counter counts on the same step, op by op, each operation once; and
what capture keeps of the inputs is what torch.profiler exports as "Concrete Inputs".
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
        assert len(values) == len(shapes) >= 7, row
        if row["name"] == "aten::convolution_backward":
            assert values[7] in ("True", "False") and values[10].startswith("["), row
        kept += 1
    names = {row["name"] for row in query(directory, "SELECT DISTINCT name FROM ops WHERE input_values IS NOT NULL")}
    assert {"aten::convolution", "aten::convolution_backward", "aten::mkldnn_convolution"} <= names, names
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
        "    flops.step(network, optimizer)\n"
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
        for row in capturing.table(dump, "ops"):
            if row["input_values"] is None:
                continue
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


main()
