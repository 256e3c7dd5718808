"""nodes holds the modules and parameters of a recorded program as named_parameters() tells them, and ops say in which
module they ran.
"""

import collections
import json
import os
import subprocess

import capturing

SHELL = os.path.join(capturing.BUILD, "tfprof")
PROGRAM = os.path.join(capturing.PROGRAMS, "models.py")


def query(directory, sql):
    result = subprocess.run([SHELL, "--format", "json", directory, sql], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout or "[]")


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
        "WITH RECURSIVE inside(node_id, flops) AS (SELECT node_id, flops FROM ops WHERE flops IS NOT NULL AND module IS "
        "NOT NULL AND start_ns >= %s AND end_ns <= %s UNION ALL SELECT nodes.parent_id, inside.flops FROM inside JOIN nodes ON "
        "nodes.id = inside.node_id WHERE nodes.parent_id IS NOT NULL) "
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
    summary = query(directory, "SELECT module, class, sum_flops, param_count FROM module_summary WHERE module = 'Language'")
    assert len(summary) == 1 and summary[0]["class"] == "Language", summary
    return total


def main():
    capturing.need_torch()
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
