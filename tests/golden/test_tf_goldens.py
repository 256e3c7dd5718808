"""The classic views print what TensorFlow's own engine printed: every case of the folder of recorded traces, byte for byte
from the legend on.

A case is a file NAME.json: the input files, the view and its options; NAME.txt is the engine's report and NAME.stdout what
went to standard output.  The committed folder tensorflow/ has a few small ones; the large set beside the clone
(TFPROF_SHARED) is compared where it is.  What this release does not print yet is listed below and counted.

    test_tf_goldens.py [NAME...]
"""

import glob
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TFPROF = os.path.join(os.environ.get("TFPROF_BUILD", os.path.join(HERE, "..", "..", "build")), "tfprof")
SHARED = os.environ.get("TFPROF_SHARED", "")

# The Python interface of the engine takes any word here; its command line, like ours, refuses what it does not know.
REFUSED = {"error_order_by": "-order_by cannot be 'no_such_order'", "error_select": "-select cannot be 'no_such_value'"}
# Wrong uses: what we say instead of the engine's words.
ERRORS = {
    "code_no_trace": "there is no code trace information",
    "error_output_form": "is written as -output file:outfile=FILE",
    "error_output_key": "has no 'name'; it takes outfile",
    "error_output_missing": "needs a file",
    "error_output_type": "the types are file, none, pprof, stdout and timeline",
    "error_step": "there is no step 77; the steps are 0 1 5 9",
    "error_view": "syntax error",
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


def tfprof(*words):
    done = subprocess.run([TFPROF, "--format", "csv", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
                          stdin=subprocess.DEVNULL, timeout=120)
    return done.returncode, done.stdout, done.stderr


def from_legend(text):
    return text[text.index("node name | "):]


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


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
            status, _, error = tfprof(opening(case, folder), command(case, ("output", "dump_to_file")) + " " + option + report)
            if status != 0:
                return error
            ours, theirs = from_legend(read(report)), from_legend(read(golden + ".txt"))
            if ours != theirs:
                lines = zip(ours.split("\n"), theirs.split("\n"))
                return next((f"ours:   {a}\ntheirs: {b}" for a, b in lines if a != b), "one has more lines")
    if os.path.exists(golden + ".stdout"):
        _, out, _ = tfprof(opening(case, folder), command(case, ("dump_to_file",)))
        if "node name" in read(golden + ".stdout") and from_legend(out) != from_legend(read(golden + ".stdout")):
            return "what went to standard output differs"
    return None


def main():
    folders = [os.path.join(HERE, "tensorflow")]
    if SHARED and os.path.isdir(os.path.join(SHARED, "traces", "tf")):
        folders += [os.path.join(SHARED, "traces", "tf"), os.path.join(SHARED, "traces", "tf", "legacy_1.15")]
    passed, failed, later = 0, 0, []
    for folder in folders:
        for path in sorted(glob.glob(os.path.join(folder, "golden", "*.json"))):
            case, golden = json.loads(read(path)), path[: -len(".json")]
            name = case["name"]
            if sys.argv[1:] and name not in sys.argv[1:]:
                continue
            output = str(case["options"].get("output", ""))
            if case["view"] == "advise" or output.startswith(("timeline", "pprof")) and name not in ERRORS:
                later.append(name)
                continue
            trouble = check(case, folder, golden)
            passed += trouble is None
            failed += trouble is not None
            if trouble is not None:
                print(f"FAILED {name}: {trouble}")
    print(f"{passed} passed, {failed} failed; {len(later)} of timeline, pprof and advise are not compared yet")
    if not passed and not failed:
        print("there are no recorded traces of TensorFlow")
        sys.exit(77)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
