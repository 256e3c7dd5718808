"""The classic views answer for programs of PyTorch: a capture of a small one, and traces of torch.profiler, of which
all sums must be those of the tables.
"""

import decimal
import glob
import json
import os
import re
import subprocess
import tempfile

import capturing  # noqa: F401  (also makes the modules of tests/ known)
from exchange_formats import Pprof, check_events

SHELL = os.path.join(capturing.BUILD, "tfprof")
PROGRAM = os.path.join(capturing.PROGRAMS, "classic.py")
FIXTURES = os.path.join(capturing.HERE, "..", "fixtures", "kineto")
EVERY = "max_depth = 10000"


def print_view(path, command):
    """The lines from behind the legend to the end of the report."""
    done = subprocess.run([SHELL, path, command], capture_output=True, text=True)
    assert done.returncode == 0, (command, done.stderr)
    return re.search(r"node name \| [^\n]*\n(.*?)\n*=+End of Report", done.stdout, re.S).group(1).split("\n")


def one(path, sql):
    return capturing.query(path, sql)[0]


def check_parameters(run):
    lines = print_view(run, "scope -select params -account_type_regexes _trainable_variables -max_depth 10")
    expected = """_TFProfRoot (--/224 params)
  Network (--/107 params)
    Network/encoder (--/80 params)
      Network/encoder/0 (--/8 params)
        Network/encoder/0/bias (8, 8/8 params)
      Network/encoder/2 (--/72 params)
        Network/encoder/2/bias (8, 8/8 params)
        Network/encoder/2/weight (8x8, 64/64 params)
    Network/head (--/27 params)
      Network/head/bias (3, 3/3 params)
      Network/head/weight (3x8, 24/24 params)"""
    assert "\n".join(lines[1:11]) == "\n".join(expected.split("\n")[1:]), "\n".join(lines)
    # The other model has the same parameters under another name, all that is frozen left out as well.
    twin = [line.replace("Observer", "Network") for line in lines[11:21]]
    assert lines[0] == expected.split("\n")[0] and twin == lines[1:11], "\n".join(lines)
    assert lines[21:] == ["  Scale (--/10 params)", "    Scale/factor (1, 1/1 params)", "    Scale/part (--/9 params)",
                          "      Scale/part/weight (3x3, 9/9 params)"], "\n".join(lines)
    lines = print_view(run, "op -select params,occurrence -account_type_regexes Parameter -max_depth 5")
    assert len(lines) == 1 and re.match(r"Parameter +416 params \(100.00%, 100.00%\), +0\|14$", lines[0]), lines
    classes = {row["name"]: row["op_types"]
               for row in capturing.query(run, "SELECT name, op_types FROM scope_view WHERE " + EVERY)}
    assert classes["Network/encoder"] == "Sequential" and classes["Network/head"] == "Linear", classes
    assert classes["Network/encoder/0/weight"] == "Parameter", classes
    assert classes["Network/encoder/0/bias"] == "Parameter|_trainable_variables", classes
    rows = capturing.query(run,
                           "SELECT scope_view.name AS path, nodes.name AS name FROM scope_view "
                           "JOIN nodes ON nodes.id = node_id WHERE " + EVERY)
    # In nodes one of the two models bears its class in all its names; here both do.
    names = {row["path"]: row["name"] for row in rows}
    assert len(rows) == 28, rows
    assert names["Network/encoder/2/weight"] in ("encoder.2.weight", "Network.encoder.2.weight"), rows


def check_types(run):
    """Types of one's own, for ops and modules alike."""
    define = "INSERT INTO node_type_patterns VALUES ('.*/head(/.*)?', 'head'), ('gradients/.*', 'backward')"
    rows = json.loads(subprocess.run([SHELL, run, "--format", "json", define,
                                      "SELECT name, op_types FROM scope_view WHERE is_accounted "
                                      "AND account_type_regexes = 'head' AND " + EVERY], capture_output=True, text=True,
                                     check=True).stdout)
    types = {row["name"]: row["op_types"].split("|") for row in rows}
    assert "Linear" in types["Network/head"] and "Parameter" in types["Network/head/weight"], types
    assert all("head" in kinds and re.search("/head(/|$)", name) for name, kinds in types.items()), types
    both = [name for name, kinds in types.items() if "backward" in kinds]
    assert both and all(name.startswith("gradients/") for name in both), types


def check_sums(path, view, step):
    """What the root of a view says of a step is what the ops of the step add up to."""
    where = "step_id = (SELECT id FROM steps WHERE number = %d)" % step
    table = one(path,
                "SELECT sum(self_ns) AS cpu, sum(device_self_ns) AS device, sum(flops) AS flops, count(*) AS calls, "
                "sum(allocated_self_bytes) AS bytes FROM ops WHERE category NOT IN ('user', 'python', 'module') AND "
                + where)
    unlinked = one(path,
                   "SELECT count(*) AS calls, sum(dur_ns) AS device FROM (SELECT dur_ns, op_id, step_id FROM kernels "
                   "UNION ALL SELECT dur_ns, op_id, step_id FROM transfers) WHERE op_id NOT IN (SELECT id FROM ops "
                   "WHERE category NOT IN ('user', 'python', 'module')) IS NOT FALSE AND " + where)
    root = one(path, "SELECT * FROM %s_view WHERE step = %d AND position = 0 AND %s" % (view, step, EVERY))
    nodes = one(path, "SELECT count(*) AS count FROM graph_view WHERE min_occurrence = 1 AND step = %d AND %s"
                % (step, EVERY))["count"]
    assert abs(root["total_cpu_micros"] - (table["cpu"] or 0) / 1e3) <= nodes, (view, root, table)
    device = (table["device"] or 0) + (unlinked["device"] or 0)
    assert abs(root["total_accelerator_micros"] - device / 1e3) <= nodes, (view, root, table)
    assert root["total_micros"] == root["total_cpu_micros"] + root["total_accelerator_micros"], root
    assert root["total_occurrence"] == table["calls"] + unlinked["calls"], (view, root, table)
    assert root["total_float_ops"] == (table["flops"] or 0), (view, root, table)
    assert root["total_bytes"] == (table["bytes"] or 0), (view, root, table)
    return root


def check_views(run):
    for view in ("scope", "graph"):
        root = check_sums(run, view, 5)
        assert root["total_float_ops"] > 0 and root["total_bytes"] > 0 and root["total_micros"] > 0, root
    rows = {row["name"]: row for row in capturing.query(run, "SELECT * FROM scope_view WHERE step = 5 AND " + EVERY)}
    # The head is called twice, from two places of one line, with inputs of one shape: one node that ran twice.
    product = rows["Network/head/aten::linear/aten::addmm"]
    assert product["occurrence"] == 2 and product["defined"] == 1 and product["float_ops"] == 2 * 2 * 5 * 8 * 3, product
    assert product["input_shapes"] == "0:3|1:5x8|2:8x3", product
    assert product["output_bytes"] == product["residual_bytes"] == product["peak_bytes"] == 5 * 3 * 4, product
    assert product["bytes"] == 2 * 5 * 3 * 4, product
    assert "Observer/head/aten::linear/aten::addmm" in rows and "Network/aten::relu" in rows, sorted(rows)
    assert "looking on" in rows and rows["looking on"]["total_occurrence"] == 0, rows.get("looking on")
    backward = [row for name, row in rows.items()
                if name.startswith("gradients/Network/head/aten::linear/aten::addmm_grad/")]
    assert sum(row["occurrence"] for row in backward if row["op_types"].endswith("|AddmmBackward0")) == 2, backward
    assert not any(name.startswith("gradients/Observer") for name in rows), sorted(rows)
    # The average leaves the warm-up out, where the network allocates what it keeps.
    steps = capturing.query(run, "SELECT number, is_warmup FROM steps")
    assert [row["is_warmup"] for row in steps] == [1, 1, 1, 0, 0, 0, 0], steps
    total = ("SELECT total_micros AS micros, total_defined AS nodes FROM scope_view WHERE name = 'Network' "
             "AND step = %d AND " + EVERY)
    measured = [one(run, total % step)["micros"] for step in (3, 4, 5, 6)]
    average = one(run, total % -1)
    assert abs(average["micros"] - sum(measured) / 4) <= average["nodes"], (average, measured)
    done = subprocess.run([SHELL, run, "scope -step 77"], capture_output=True, text=True)
    assert done.returncode == 1 and "no step 77; the steps are 0 1 2 3 4 5 6" in done.stderr, done.stderr


def check_code(run):
    rows = capturing.query(run, "SELECT * FROM code_view WHERE step = 5 AND " + EVERY)
    names = {row["name"] for row in rows}
    head = [name for name in names if re.match(r"classic.py:18:Network.forward( \(gradient\))?$", name)]
    assert len(head) == 2, sorted(names)
    trees = [row for row in rows if row["depth"] == 2]
    assert sum(row["total_occurrence"] for row in trees) == rows[0]["total_occurrence"] > 0, trees
    assert sum(row["total_float_ops"] for row in rows if row["depth"] == 2
               and row["name"].endswith("(gradient)")) > 0, trees
    # Parameters stand where they are used first.
    params = {row["name"]: row["total_params"] for row in rows}
    lines = ("_TFProfRoot", "classic.py:48:main", "classic.py:49:main", "classic.py:36:Scale.forward")
    assert [params[line] for line in lines] == [416, 203 + 10, 203, 10], params
    lines = print_view(run,
                       "code -max_depth 100 -select float_ops -show_name_regexes classic.py.*|_TFProfRoot -step 5 "
                       "-order_by float_ops")
    assert any(re.match(r" +classic.py:51:main \(0/[0-9.k]+ flops\)$", line) for line in lines), "\n".join(lines)


def check_pprof(path, directory):
    """Every node has a sample, and each place is a line of the function that it is in, from the
    outermost on."""
    file = os.path.join(directory, "stacks.gz")
    command = "code -max_depth 1000 -select micros -output pprof:outfile=" + file
    subprocess.run([SHELL, path, command], capture_output=True, check=True)
    profile = Pprof(file)
    root = one(path, "SELECT total_micros FROM code_view WHERE position = 0 AND " + EVERY)
    assert profile.total("micros") == root["total_micros"]
    shown = set()
    for stack, _, _ in profile.samples:
        for name, file, line in stack:
            name = name.replace(" (gradient)", "")
            function = name.partition(":")[2] if file else name
            cut = function if len(function) < 20 else function[:17] + "..."
            shown.add("%s:%d:%s" % (os.path.basename(file), line, cut) if file else function)
    rows = capturing.query(path, "SELECT name FROM code_view WHERE depth > 1 AND " + EVERY)
    names = {row["name"].replace(" (gradient)", "") for row in rows}
    assert shown == names, shown ^ names
    return names


def check_graph(run):
    """Below an op is what it takes: parameters by their shapes, the ops that it called, and
    in the end what ran before."""
    rows = capturing.query(run, "SELECT position, parent_position, name FROM graph_view WHERE max_depth = 100000")
    below = {}
    for row in rows:
        below.setdefault(row["parent_position"], []).append(row["name"])
    children = {row["name"]: below.get(row["position"], []) for row in rows}
    head = children["Network/head/aten::linear"]
    assert "Network/head/weight" in head and "Network/head/bias" in head, head
    assert "Network/head/aten::linear/aten::addmm" in head, head
    assert ("Scale/part/weight" in children["Scale/aten::linear"]
            and "Scale/factor" in children["Scale/aten::mul"]), children
    # What is reached over an op that came later is listed there only, so that all that is
    # left is that it is there once.
    assert len({row["name"] for row in rows}) == len(rows), rows
    assert any(name.startswith("gradients/") for name in children), rows
    lines = print_view(run, "graph -account_type_regexes Parameter,aten::mm -select params -max_depth 100000")
    assert any("Network/encoder/0/weight (8x12, 96/96 params)" in line for line in lines), "\n".join(lines)


def timeline(path, step, directory):
    """The events of a step; also by kind."""
    file = os.path.join(directory, "timeline.json")
    subprocess.run([SHELL, path, "graph -step %d -max_depth 100000 -output timeline:outfile=%s" % (step, file)],
                   capture_output=True, check=True)
    with open("%s_%d" % (file, step), encoding="utf-8") as opened:
        text = opened.read()
    check_events(json.loads(text))
    trace = json.loads(text, parse_float=decimal.Decimal)
    kinds = {kind: [] for kind in "MXstC"}
    for event in trace["traceEvents"]:
        kinds[event["ph"]].append(event)
        if "ts" in event:  # which a double holds to the nanosecond
            assert 0 <= event["ts"] < 2 ** 52 // 1000, event
            event["ts"] += decimal.Decimal(trace.get("baseTimeNanoseconds", 0)) / 1000
    return kinds


def spans(events):
    return sorted((int(event["ts"] * 1000), int(event["dur"] * 1000)) for event in events)


def check_runs(path, step, directory):
    """The step itself, every range, op, kernel and transfer of it is there once, with its times; arrows lead
    from ops to what they launched."""
    where = "step_id = (SELECT id FROM steps WHERE number = %d)" % step
    events = timeline(path, step, directory)
    wanted = capturing.query(path, "SELECT start_ns AS start, dur_ns AS dur FROM ops "
                             "WHERE category NOT IN ('user', 'python', 'module') AND " + where
                             + "".join(" UNION ALL SELECT start_ns, dur_ns FROM %s WHERE thread_id IS NOT NULL AND %s"
                                       % (table, where) for table in ("kernels", "transfers")))
    shown = spans(event for event in events["X"] if event["cat"] == "Op")
    assert shown == sorted((row["start"], row["dur"])
                           for row in wanted) and shown, (path, step, len(shown), len(wanted))
    marks = capturing.query(path, "SELECT start_ns AS start, dur_ns AS dur FROM ops WHERE category = 'user' AND "
                            "name NOT GLOB 'ProfilerStep*' AND name NOT GLOB 'tfprof.step#*' AND %s UNION ALL "
                            "SELECT start_ns, dur_ns FROM steps WHERE thread_id IS NOT NULL AND number = %d"
                            % (where, step))
    shown = spans(event for event in events["X"] if event["cat"] == "Mark")
    assert shown == sorted((row["start"], row["dur"]) for row in marks) and shown, (path, step, shown, marks)
    launched = one(path, "SELECT count(*) AS count FROM (SELECT op_id, step_id FROM kernels "
                   "UNION ALL SELECT op_id, step_id FROM transfers) "
                   "JOIN ops ON ops.id = op_id AND category NOT IN ('user', 'python', 'module') "
                   "WHERE ops.%s AND ops.step_id IS NOT NULL" % where)
    assert len(events["s"]) == len(events["t"]) == launched["count"], (path, step, len(events["s"]), launched)
    # What is drawn in one lane does not overlap.
    ends = {}
    for event in sorted(events["X"], key=lambda event: (event["ts"], -event["dur"])):
        lane = event["pid"], event["tid"]
        assert event["ts"] >= ends.get(lane, 0), (path, event)
        ends[lane] = event["ts"] + event["dur"]
    return events


def check_timeline(run, directory):
    events = check_runs(run, 5, directory)
    names = {event["args"]["name"] for event in events["X"] if event["cat"] == "Op"}
    rows = capturing.query(run, "SELECT name FROM graph_view WHERE step = 5 AND min_occurrence = 1 AND " + EVERY)
    ran = {row["name"] for row in rows}
    assert names == ran - {"_TFProfRoot"}, names ^ ran
    lanes = [event["args"]["name"] for event in events["M"]]
    assert any(re.match(r"Op scheduling threads: /device:cpu:0/thread:\d+", name) for name in lanes), lanes
    assert "mem usage on:/device:cpu:0" in lanes and "mem usage on:/device:cpu:0 allocations" in lanes, lanes
    held = [event["args"]["Allocator Bytes in Use"] for event in events["C"] if event["name"] == "Allocated Bytes"]
    known = [row["bytes"] for row in capturing.query(run, "SELECT DISTINCT in_use_bytes AS bytes FROM memory_events")]
    assert held and set(held) <= set(known), (held, known[:10])
    largest = " ".join(str(event["args"]) for event in events["C"] if event["name"] == "Top Allocations")
    assert "MB from Network/" in largest, largest[:500]


def advised_nodes(run, *statements):
    """The nodes that ExpensiveOperationChecker names."""
    done = subprocess.run([SHELL, run, *statements, "advise -checkers ExpensiveOperationChecker"], capture_output=True,
                          text=True)
    assert done.returncode == 0 and done.stderr == "", (done.stdout, done.stderr)
    assert "top 1 operation type: " in done.stdout, done.stdout
    return re.findall(r"^top \d graph node: (.*?), cpu: ", done.stdout, re.M)


def check_advice(run):
    """Named are the three nodes that take longest, as far as each takes 100 us, which on a fast machine none may.
    Nothing points to TensorFlow's files, which a capture has no use for."""
    rows = capturing.query(run,
                           "SELECT nodes.name AS name, total(node_steps.cpu_ns) / (1000.0 * (SELECT count(*) FROM "
                           "steps)) AS micros FROM node_steps JOIN nodes ON nodes.id = node_id "
                           "WHERE nodes.name <> '' GROUP BY nodes.name ORDER BY 2 DESC, 1")
    for micros in 100, 1:
        longest = [row["name"] for row in rows if row["micros"] >= micros][:3]
        setting = ["SELECT tfprof_set('expensive_operation.node_micros', %d)" % micros] if micros < 100 else []
        named = advised_nodes(run, *setting)
        assert named == longest, (micros, named, rows)
    assert longest, rows
    done = subprocess.run([SHELL, run, "advise"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == "" and "Checker" not in done.stdout, (done.stdout, done.stderr)


def check_node_steps(run):
    rows = capturing.query(run,
                           "SELECT nodes.name AS name, sum(run_count) AS runs, sum(exec_ns) AS exec, "
                           "sum(requested_bytes) AS bytes FROM node_steps JOIN nodes ON nodes.id = node_id "
                           "GROUP BY nodes.id ORDER BY nodes.id")
    ops = capturing.query(run,
                          "SELECT nodes.name AS name, count(*) AS runs, sum(self_ns) AS exec, "
                          "sum(allocated_self_bytes) AS bytes FROM ops JOIN nodes ON nodes.id = ops.node_id "
                          "GROUP BY nodes.id ORDER BY nodes.id")
    assert rows == ops and len(rows) >= 8, (rows, ops)


def check_trace(path):
    steps = [row["number"] for row in capturing.query(path, "SELECT number FROM steps WHERE ops_recorded = 1")]
    for step in steps:
        for view in ("scope", "graph"):
            check_sums(path, view, step)
    with tempfile.TemporaryDirectory() as directory:
        for step in steps[-2:]:
            check_runs(path, step, directory)
    if capturing.query(path, "SELECT 1 FROM ops WHERE code_trace_id IS NOT NULL LIMIT 1"):
        with tempfile.TemporaryDirectory() as directory:
            names = check_pprof(path, directory)
        # What is written in C has no place, and its name is not that of one object.
        assert not any(name.startswith(":") or " at 0x" in name for name in names), names
    for command in ("scope -select micros,occurrence,op_types,device",
                    "op -select micros,input_shapes,occurrence -order_by micros",
                    "graph -max_depth 100 -select bytes,micros"):
        lines = print_view(path, command)
        assert len(lines) > 0 and lines[0], (path, command)
    return len(steps)


def main():
    checked = 0
    traces = [os.path.join(FIXTURES, name) for name in ("python.json", "links.json", "waits.json", "accelerators.json")]
    if os.environ.get("TFPROF_SHARED"):
        folder = os.path.join(os.environ["TFPROF_SHARED"], "traces")
        traces += [os.path.join(folder, "pytorch_cpu", "cnn_stack.json.gz")]
        traces += [path for path in glob.glob(os.path.join(folder, "pytorch", "*.json.gz"))
                   if re.search("resnet50|nccl|dlrm|triton|old_categories", path)]
    for path in filter(os.path.exists, traces):
        checked += check_trace(path)
    print("traces: the steps of %d add up" % checked)
    capturing.need_torch()
    with tempfile.TemporaryDirectory() as directory:
        run = os.path.join(directory, "run")
        capturing.launch(run, [capturing.PYTHON, PROGRAM], ["--ops=all"])
        check_parameters(run)
        check_types(run)
        check_views(run)
        check_code(run)
        check_pprof(run, directory)
        check_graph(run)
        check_node_steps(run)
        check_advice(run)
        check_timeline(run, directory)
    print("the classic views answer for a capture")


main()
