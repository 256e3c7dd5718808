"""The classic views print what TensorFlow's own engine printed: every case of the folder of recorded traces,
byte for byte from the legend on.

A case is a file NAME.json: the input files, the view and its options; NAME.txt is the engine's report and NAME.stdout
what went to standard output; timelines are compared event by event, profiles of pprof sample by sample.  NAME.pb is the
message that the engine returned, with which the objects of the Python module are compared field by field.  The
committed folder tensorflow/ has a few small ones; the large set beside the clone (TFPROF_SHARED) is compared where it
is.

    test_tf_goldens.py [NAME...]
"""

import contextlib
import glob
import importlib.util
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
from exchange_formats import Pprof, check_events, fields  # noqa: E402

TFPROF = os.path.join(os.environ.get("TFPROF_BUILD", os.path.join(HERE, "..", "..", "build")), "tfprof")
SHARED = os.environ.get("TFPROF_SHARED", "")

# The Python interface of the engine takes any word here; its command line, like ours, refuses what it does not know.
REFUSED = {"error_order_by": "-order_by cannot be 'no_such_order'", "error_select": "-select cannot be 'no_such_value'"}
# Where the engine is wrong: ours does what is documented, and with --compat what the engine does.
COMPAT = {
    # The most expensive nodes are documented; the engine takes the outermost scopes and prints their own times.
    **dict.fromkeys(
        ("advise_ExpensiveOperationChecker", "advise_all", "advise_all_gpu", "advise_nostream", "advise_run_meta"),
        "ExpensiveOperationChecker: the scope view's top-level entries with their own times, mostly 0us: a bug"),
    # An input is the output that its edge takes; release builds of the engine show the first one's shape.
    **dict.fromkeys(("op_run_meta", "scope_run_meta", "scope_run_meta_no_log"),
                    "input_shapes[i]: the producer's output shape at the edge's output index"),
    # What ran under a name that the graph has not is to the engine an op called as the node.
    "gpu_run_meta": "types of nodes that no graph names",
    # Of a text graph without shapes the engine has no flops that the op log does not tell; the steps tell the shapes.
    "scope_two_steps_text": "flops by shapes that only the run knows",
    # Where the call tree branches and no line takes a millisecond the engine reports an empty line.
    "advise": "spec 5, ExpensiveOperationChecker: up to 3 children with total >= 1 ms; there is none",
}
# The same of the committed cases, whose steps name nodes that the graph has not: to the engine these are ops called as
# the nodes; here their op is what the label of the execution says.
RUNTIME_NODES = ("graph_all", "op_all", "op_shapes", "scope_all")

# Wrong uses: what we say instead of the engine's words.
ERRORS = {
    "code_no_trace": "there is no code trace information",
    "error_output_form": "is written as -output file:outfile=FILE",
    "error_output_key": "has no 'name'; it takes outfile",
    "error_output_missing": "needs a file",
    "error_output_type": "the types are file, none, pprof, stdout and timeline",
    "error_step": "there is no step 77; the steps are 0 1 5 9",
    "error_view": "there is no command tree; `help` lists the commands",
    "pprof_error_device": "-output pprof cannot show device; it takes bytes",
    "pprof_error_scope": "-output pprof is for the code view",
    "pprof_error_two": "-output pprof takes one metric, as in -select micros; -select names 2",
    "timeline_op": "the op view has no timeline; scope, graph and code have one",
}


def quoted(value):
    return "'" + str(value).replace("'", "''") + "'"


def opening(case, folder):
    files = case["input"]
    values = []
    if "profile" in files:
        values += ["profile_path", os.path.join(folder, files["profile"])]
    if "graph" in files:
        values += ["graph_path", os.path.join(folder, files["graph"])]
    for step, path in files.get("run_meta", {}).items():
        values += ["run_meta_path", os.path.join(folder, path), "step", int(step)]
    if "op_log" in files:
        values += ["op_log_path", os.path.join(folder, files["op_log"])]
    if "checkpoint" in files:
        values += ["checkpoint_path", os.path.join(folder, files["checkpoint"])]
    return "SELECT tfprof_open(" + ", ".join(quoted(v) if isinstance(v, str)
                                             else str(v) for v in values) + ")"


def command(case, left_out=()):
    words = [case["view"]]
    for name, value in case["options"].items():
        if name in left_out:
            continue
        if isinstance(value, bool):
            value = "true" if value else "false"
        elif isinstance(value, list):
            value = ",".join(value)
        words += ["-" + name, f'"{value}"' if value == "" or " " in str(value) or "(" in str(value) else str(value)]
    return " ".join(words)


OPTIONS = []  # of every command


def tfprof(*words):
    done = subprocess.run([TFPROF, "--format", "csv", *OPTIONS, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          encoding="utf-8", stdin=subprocess.DEVNULL, timeout=120)
    return done.returncode, done.stdout, done.stderr


def from_legend(text):
    return text[text.index("node name | "):]


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def check_timelines(case, folder, golden):
    """The files that the engine wrote are the files that we write: NAME_<step>, the same events in the same order."""
    with tempfile.TemporaryDirectory(prefix="tfprof-test-") as directory:
        path = os.path.join(directory, case["name"])
        status, out, error = tfprof(opening(case, folder), command(case, ("output",)) + " -output timeline:outfile="
                                    + path)
        if status != 0:
            return out + error
        theirs = sorted(os.path.basename(name) for name in glob.glob(golden + "_*")
                        if "." not in os.path.basename(name))
        theirs = [name for name in theirs if name[len(case["name"]) + 1 :].lstrip("-").isdigit()]
        if sorted(os.listdir(directory)) != theirs:
            return f"written: {sorted(os.listdir(directory))}, the engine wrote {theirs}"
        for name in theirs:
            text, golden_text = read(os.path.join(directory, name)), read(os.path.join(os.path.dirname(golden), name))
            check_events(json.loads(text))
            if f"Timeline written to {os.path.join(directory, name)}" not in out:
                return out
            if text == golden_text:
                continue
            pairs = zip(json.loads(text)["traceEvents"], json.loads(golden_text)["traceEvents"])
            return name + next((f"\nours:   {a}\ntheirs: {b}" for a, b in pairs if a != b),
                               ": other text, or more events")
        peaks = [line for line in read(golden + ".stdout").split("\n") if "peak memory" in line]
        return None if all(peak in out.split("\n") for peak in peaks) else f"{peaks} is not in {out}"


def check_advise(case, folder, golden):
    """`advise` of the chosen checkers; what the engine said on stderr we say in our words."""
    checkers = ",".join(case["options"]["checkers"])
    words = [opening(case, folder), "advise -checkers " + (checkers or "''")]
    done = subprocess.run([TFPROF, *OPTIONS, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
                          stdin=subprocess.DEVNULL, timeout=120)
    out = done.stdout[done.stdout.index("┘\n") + 2 :]  # after the result of tfprof_open
    if done.returncode or out != read(golden + ".stdout"):
        return f"ours: {out}{done.stderr}\ntheirs: {read(golden + '.stdout')}"
    return None if bool(done.stderr) == bool(case.get("stderr")) else f"on stderr: {done.stderr}"


def canonical(profile):
    """What a profile says, whatever order it says it in."""
    samples = sorted((tuple(stack), tuple(values), tuple(labels.items())) for stack, values, labels in profile.samples)
    return profile.types, sorted(profile.functions), samples


def check_pprof(case, folder, golden):
    with tempfile.TemporaryDirectory(prefix="tfprof-test-") as directory:
        path = os.path.join(directory, "profile.gz")
        status, out, error = tfprof(opening(case, folder), command(case, ("output",)) + " -output pprof:outfile="
                                    + path)
        if status != 0 or "Profile written to " + path not in out:
            return out + error
        ours, theirs = Pprof(path), Pprof(golden + ".gz")
        for what, a, b in zip(("types", "functions", "samples"), canonical(ours), canonical(theirs)):
            if a != b:
                different = [(x, y) for x, y in zip(a, b) if x != y] or [(len(a), len(b))]
                return f"{what}: ours {different[0][0]}\ntheirs {different[0][1]}"
        if shutil.which("go"):
            environment = {**os.environ, "HOME": directory}
            shown = [subprocess.run(["go", "tool", "pprof", "-top", "-nodecount=1000", "-sample_index=1", name],
                                    check=True,
                                    stdout=subprocess.PIPE, encoding="utf-8", env=environment,
                                    stderr=subprocess.PIPE).stdout
                     for name in (path, golden + ".gz")]
            # Equal values come in any order.
            lines = [sorted(text[text.index("flat%"):].split("\n")) for text in shown]
            return None if lines[0] == lines[1] else shown[0] + shown[1]
    return None


def check(case, folder, golden):
    """None: as it should be; else what is not."""
    name = case["name"]
    if name in REFUSED:
        status, _, error = tfprof(opening(case, folder), command(case, ("output",)))
        return None if status == 1 and REFUSED[name] in error else error
    if name in ERRORS:
        status, out, error = tfprof(opening(case, folder), command(case))
        return None if status == 1 and ERRORS[name] in error and "node name" not in out else error
    if name == "output_none":
        status, out, error = tfprof(opening(case, folder), command(case))
        return None if (status, error) == (0, "") and "node name" not in out else out + error
    with tempfile.TemporaryDirectory(prefix="tfprof-test-") as directory:
        report = os.path.join(directory, "report")
        for option in ("-dump_to_file ", "-output file:outfile="):
            status, _, error = tfprof(opening(case, folder), command(case, ("output", "dump_to_file")) + " " + option
                                      + report)
            if status != 0:
                return error
            ours, theirs = from_legend(read(report)), from_legend(read(golden + ".txt"))
            if ours != theirs:
                lines = zip(ours.split("\n"), theirs.split("\n"))
                return next((f"ours:   {a}\ntheirs: {b}" for a, b in lines if a != b), "one has more lines")
        tfprof("--compat", opening(case, folder),
               command(case, ("output", "dump_to_file")) + " -dump_to_file " + report)
        ours, theirs = (text.partition("\nDoc:\n")[0] for text in (read(report), read(golden + ".txt")))
        if ours != theirs and not theirs.startswith("node name | "):  # some goldens are kept from there on
            return "in the file stands before the report: " + ours
    if os.path.exists(golden + ".stdout"):
        _, out, _ = tfprof(opening(case, folder), command(case, ("dump_to_file",)))
        if "node name" in read(golden + ".stdout") and from_legend(out) != from_legend(read(golden + ".stdout")):
            return "what went to standard output differs"
        _, compatible, _ = tfprof("--compat", opening(case, folder), command(case, ("dump_to_file",)))
        if before_report(out) or before_report(compatible) != before_report(read(golden + ".stdout")):
            return "before the report stands: " + before_report(out) + before_report(compatible)
    return None


def before_report(text):
    """What the engine says where an accelerator's streams are missing; ours does with --compat."""
    _, begun, rest = text.partition("=Model Analysis Report======================\n")
    return rest[: rest.index("\nDoc:\n")] if begun and "\nDoc:\n" in rest else ""


# ---- messages ----

METRICS = ("exec_micros", "accelerator_exec_micros", "cpu_exec_micros", "requested_bytes", "peak_bytes",
           "residual_bytes", "output_bytes", "parameters", "float_ops")
# Numbers of the fields in tfprof_output.proto: of METRICS, and of the same with total_ before them.
GRAPH_NODE = (2, 17, 18, 3, 24, 25, 26, 4, 13), (6, 19, 20, 7, 27, 28, 29, 8, 14)
MULTI_GRAPH_NODE = (2, 12, 13, 3, 16, 17, 18, 4, 5), (6, 14, 15, 7, 19, 20, 21, 8, 9)


def all_of(parts, number):
    return [value for field, value in parts if field == number]


def text_of(parts, number):
    return (all_of(parts, number) or [b""])[0].decode()


def metrics(parts, numbers):
    values = dict(part for part in parts if isinstance(part[1], int))
    return {prefix + name: values.get(number, 0)
            for prefix, of in zip(("", "total_"), numbers) for name, number in zip(METRICS, of)}


def shape_of(data):
    return [dict(fields(size)).get(1, 0) for size in all_of(list(fields(data)), 2)]


def graph_node(data):
    """A GraphNodeProto as a dictionary; without tensor_value, which the reports are compared for, and shapes,
    which the engine leaves empty."""
    parts = list(fields(data))
    values = dict(part for part in parts if isinstance(part[1], int))
    inputs = [dict(fields(entry)) for entry in all_of(parts, 16)]
    return {"name": text_of(parts, 1), **metrics(parts, GRAPH_NODE), "run_count": values.get(21, 0),
            "total_run_count": values.get(22, 0), "total_definition_count": values.get(23, 0),
            "devices": [device.decode() for device in all_of(parts, 10)],
            "input_shapes": {entry.get(1, 0): shape_of(entry.get(2, b"")) for entry in inputs},
            "children": [graph_node(child) for child in all_of(parts, 12)]}


def multi_graph_node(data):
    parts = list(fields(data))
    return {"name": text_of(parts, 1), **metrics(parts, MULTI_GRAPH_NODE),
            "graph_nodes": [graph_node(node) for node in all_of(parts, 10)],
            "children": [multi_graph_node(child) for child in all_of(parts, 11)]}


def advice(data):
    checkers = [list(fields(entry)) for _, entry in fields(data)]
    return {text_of(parts, 1): [report.decode() for _, report in fields(b"".join(all_of(parts, 2)))]
            for parts in checkers}


def as_dictionary(message):
    """An object of the Python module in the form of graph_node() and multi_graph_node()."""
    def of(value):
        if isinstance(value, list):
            return [of(item) for item in value]
        if isinstance(value, dict):
            return {key: of(item) for key, item in value.items()}
        if hasattr(value, "dim"):
            return [size.size for size in value.dim]
        return as_dictionary(value) if hasattr(value, "__dict__") else value

    return {name: of(value) for name, value in vars(message).items() if name not in ("tensor_value", "shapes")}


def difference(ours, theirs, place=""):
    """The first place where two of them differ; None: nowhere."""
    if isinstance(ours, dict) and isinstance(theirs, dict) and set(ours) == set(theirs):
        pairs = [(f"{place}.{key}", ours[key], theirs[key]) for key in ours]
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        pairs = [(f"{place}[{i}]", a, b) for i, (a, b) in enumerate(zip(ours, theirs))]
    else:
        return None if ours == theirs else f"{place}: ours {str(ours)[:300]}, theirs {str(theirs)[:300]}"
    return next(filter(None, (difference(a, b, where) for where, a, b in pairs)), None)


def python_profiler():
    os.environ["TFPROF_PROGRAM"] = TFPROF
    path = os.path.join(HERE, "..", "..", "ext", "classic", "python", "_tfprof_profiler.py")
    spec = importlib.util.spec_from_file_location("_tfprof_profiler", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def check_message(case, folder, golden):
    with open(golden + ".pb", "rb") as file:
        data = file.read()
    profiler, options = python_profiler(), {**case["options"], "compat": bool(OPTIONS), "output": "none"}
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        if case["view"] == "advise":
            result = profiler.run_advise(opening(case, folder) + (", tfprof_set('compat', 1)" if OPTIONS else ""),
                                         {name: {} for name in case["options"]["checkers"]})
            ours, theirs = {name: checker.reports for name, checker in result.checkers.items()}, advice(data)
        else:
            result = profiler.run_view(opening(case, folder), case["view"], options)
            ours = as_dictionary(result)
            theirs = (graph_node if case["view"] in ("scope", "graph") else multi_graph_node)(data)
    return difference(ours, theirs, "message")


def check_case(case, folder, golden):
    trouble = check_text(case, folder, golden)
    if trouble is None and os.path.exists(golden + ".pb") and case["name"] not in ERRORS:
        trouble = check_message(case, folder, golden)
    return trouble


def check_text(case, folder, golden):
    output = str(case["options"].get("output", ""))
    if case["view"] == "advise":
        return check_advise(case, folder, golden)
    if output.startswith("timeline") and case["name"] not in ERRORS:
        return check_timelines(case, folder, golden)
    if output.startswith("pprof") and case["name"] not in ERRORS:
        return check_pprof(case, folder, golden)
    return check(case, folder, golden)


def main():
    folders = [os.path.join(HERE, "tensorflow")]
    if SHARED and os.path.isdir(os.path.join(SHARED, "traces", "tf")):
        folders += [os.path.join(SHARED, "traces", "tf"), os.path.join(SHARED, "traces", "tf", "legacy_1.15")]
    passed, failed, listed = 0, 0, 0
    for folder in folders:
        for path in sorted(glob.glob(os.path.join(folder, "golden", "*.json"))):
            case, golden = json.loads(read(path)), path[: -len(".json")]
            name = case["name"]
            if sys.argv[1:] and name not in sys.argv[1:]:
                continue
            reason = COMPAT.get(name) or (folder == folders[0] and name in RUNTIME_NODES and COMPAT["gpu_run_meta"])
            OPTIONS[:] = ["--compat"] if reason else []
            trouble = check_case(case, folder, golden)
            if reason:
                listed += 1
                OPTIONS[:] = []
                if not trouble and not check_case(case, folder, golden):
                    trouble = "is equal without --compat: " + reason
            passed += trouble is None
            failed += trouble is not None
            if trouble is not None:
                print(f"FAILED {name}: {trouble}")
    print(f"{passed} passed, {failed} failed; {listed} of them with --compat, the others without")
    if not passed and not failed:
        print("there are no recorded traces of TensorFlow")
        sys.exit(77)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
