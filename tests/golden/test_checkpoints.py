"""Every tensor of checkpoints that TensorFlow wrote, V2 and V1, whole and in shards, with the values that TensorFlow
reads; and what is said where they are damaged.
"""

import glob
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import scratch  # noqa: E402,F401  (temporary files go where they are removed)

TFPROF = os.path.join(os.environ.get("TFPROF_BUILD", os.path.join(HERE, "..", "..", "build")), "tfprof")
FOLDER = os.path.join(HERE, "checkpoints")
SINGLE = ("float32", "float16", "bfloat16", "complex64")


def ask(path, *sql):
    return subprocess.run([TFPROF, "--format", "json", "--checkpoint_path=" + path, *sql], capture_output=True,
                          text=True)


def rows(path, *sql):
    """Of the last SELECT. What is damaged is told in a line on stderr."""
    done = ask(path, *sql)
    is_damaged = done.stderr.startswith("tfprof: " + path) and done.stderr.count("\n") == 1
    assert done.returncode == 0 and (is_damaged or not done.stderr), (path, done.stderr)
    at, found = 0, []
    while at < len(done.stdout):
        found, end = json.JSONDecoder().raw_decode(done.stdout[at:])
        at += end + 1
    return found


def troubles(path):
    """What reading all values has to tell."""
    return [row["message"] for row in rows(path, "SELECT count(value) FROM tensors", "SELECT message FROM diagnostics")]


def summary(path, *command):
    """What the shell's summary says, by title."""
    command = [*(command or (TFPROF, "--format", "json")), *(["--checkpoint_path=" + path] if path else []), "summary"]
    done = subprocess.run(command, capture_output=True, text=True)
    return {row["title"]: row["text"] for row in json.loads(done.stdout)}


def rounded(value, dtype):
    """Values of four bytes are written with nine digits."""
    if isinstance(value, list):
        return [rounded(item, dtype) for item in value]
    return struct.unpack("f",
                         struct.pack("f", value))[0] if isinstance(value, (int, float)) and dtype in SINGLE else value


def check_values(path, wanted):
    tensors = rows(path, "SELECT name, dtype, shape, value, element_count, minimum, mean FROM tensors ORDER BY name")
    assert [tensor["name"] for tensor in tensors] == sorted(wanted), (path, [tensor["name"] for tensor in tensors])
    for tensor in tensors:
        dtype, shape, value = wanted[tensor["name"]]
        ours = json.loads(tensor["value"]) if isinstance(tensor["value"], str) else tensor["value"]
        assert (tensor["dtype"], tensor["shape"]) == (dtype, shape), (path, tensor)
        assert rounded(ours, dtype) == rounded(value, dtype), (path, tensor, value)
    lowest = {tensor["name"]: tensor["minimum"] for tensor in tensors}
    assert lowest["integer/int8"] == -128 and lowest["part/columns"] == 0 and lowest["text"] is None, lowest
    assert lowest["real/float32"] == -1.25 and lowest["empty"] is None, lowest
    # Of the finite ones: neither the infinite value nor the one that is no number is counted.
    mean = next(tensor["mean"] for tensor in tensors if tensor["name"] == "real/float64")
    assert mean == (0.5 - 1.25 + 3.0 + 0.001) / 4, mean
    assert troubles(path) == [], path


def main():
    with open(os.path.join(FOLDER, "values.json"), encoding="utf-8") as file:
        expected = json.load(file)
    every = expected["values"]
    old = {name: every[name] for name in expected["of_v1"]}
    checked = 0
    for name, wanted in (("v2.ckpt", every), ("v2.ckpt.index", every), ("v2-sharded.ckpt", every), ("v1.ckpt", old),
                         ("v1-sharded.ckpt", old), ("v1-sharded.ckpt-?????-of-00002", old)):
        check_values(os.path.join(FOLDER, name), wanted)
        checked += len(wanted)
    directory = tempfile.mkdtemp(prefix="tfprof-test-")

    def copied(pattern):
        for path in glob.glob(os.path.join(FOLDER, pattern)):
            shutil.copy(path, directory)

    def change(name, edit):
        path = os.path.join(directory, name)
        with open(path, "rb") as file:
            content = bytearray(file.read())
        changed = edit(content)
        content = content if changed is None else changed
        with open(path, "wb") as file:
            file.write(content)

    def flip(place):
        def edit(content):
            content[place] ^= 0x40
        return edit

    # Below the lines of the scope view, as TensorFlow's profiler prints numbers.
    graph = os.path.join(directory, "graph.pbtxt")
    with open(graph, "w") as file:
        file.write('node { name: "real/float32" op: "VariableV2" }')
    shown = ask(os.path.join(FOLDER, "v2.ckpt"), "--graph_path=" + graph, "scope -select tensor_value").stdout
    assert "[[0.50 -1.25 3.00 ],\n[0.00 inf nan ],\n],\n" in shown, shown

    # What the summary says of a checkpoint, and of a graph of which no op ran.
    told = summary(os.path.join(FOLDER, "v2.ckpt"))
    largest = rows(os.path.join(FOLDER, "v2.ckpt"), "SELECT name FROM tensors ORDER BY bytes DESC, name LIMIT 1")[0]
    assert told["stored"].startswith(f"{len(every)} tensors, ") and set(told) == {"run", "stored", "largest"}, told
    assert told["run"].endswith("1 checkpoint") and told["largest"].startswith(largest["name"] + " "), told
    with open(graph, "w") as file:
        for name, op, sides in (("small", "VariableV2", (2, 3)), ("large", "VariableV2", (30, 4)), ("x", "Const", ())):
            shape = "".join("dim { size: %d } " % side for side in sides)
            file.write('node { name: "%s" op: "%s" attr { key: "shape" value { shape { %s} } } '
                       'attr { key: "dtype" value { type: DT_FLOAT } } }\n' % (name, op, shape))
    command = [TFPROF, "--format", "json", "--graph_path=" + graph]
    told = summary(None, *command)
    assert told["run"].endswith("1 graph") and told["node types"] == "VariableV2 2, Const 1", told
    assert told["model"] == "3 nodes, 126 parameters (504 B) in 2 variables", told
    assert told["largest"] == "large 30x4 480 B, small 2x3 24 B", told
    # Both together: the graph's variables are those that are told.
    told = summary(os.path.join(FOLDER, "v2.ckpt"), *command)
    assert set(told) == {"run", "model", "node types", "stored", "largest"}, told
    assert told["largest"].startswith("large 30x4 480 B, "), told

    # One shard of two: the slices that it has do not make a whole tensor.
    copied("v1-sharded.ckpt-00000*")
    path = os.path.join(directory, "v1-sharded.ckpt")
    values = {row["name"]: row["value"] for row in rows(path, "SELECT name, value FROM tensors")}
    assert values["part/rows"] is None and values["part/columns"] is None and values["real/float64"] is not None, values
    told = troubles(path)
    assert len(told) == 1 and "its slices do not fill it" in told[0], told
    # The bytes of a tensor changed, cut off, gone; each costs the tensors there and no others.
    for edit, reason in ((flip(0), "its checksum is wrong"),
                         (lambda content: content[:-8], "its bytes lie outside of the file"),
                         (lambda content: b"", "its bytes lie outside of the file"), (None, "cannot be opened")):
        copied("v2.ckpt*")
        data = "v2.ckpt.data-00000-of-00001"
        os.remove(os.path.join(directory, data)) if edit is None else change(data, edit)
        path = os.path.join(directory, "v2.ckpt")
        count = rows(path, "SELECT count(*) AS tensors, count(value) AS readable FROM tensors")[0]
        told = " ".join(troubles(path))
        assert count["tensors"] == len(every) > count["readable"] and reason in told, (reason, count, told)
    # The table itself damaged: said with its place; nothing is made up.
    for name in ("v2.ckpt.index", "v1.ckpt"):
        size = os.path.getsize(os.path.join(FOLDER, name))
        for edit in (flip(3), flip(size - 60), flip(size - 5), lambda content: content[:-1],
                     lambda content: content[: len(content) // 2]):
            copied("v*.ckpt*")
            change(name, edit)
            done = ask(os.path.join(directory, name), "SELECT count(*) AS count FROM tensors")
            assert (done.returncode == 3 and name in done.stderr
                    and "checkpoint" in done.stderr), (name, done.stdout, done.stderr)
    print("%d tensors of 6 checkpoints have TensorFlow's values" % checked)


main()
