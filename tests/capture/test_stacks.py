"""The Python stack of an op is the one that Python itself tells at that moment, line by line."""

import json
import os

import capturing

OWN_ROOT = """
import _thread, torch

names = {"torch": torch}
own = "def own(work, lock):\\n    torch.ones(3).neg()\\n    work()\\n    lock.release()"
exec(compile(own, "<_tfprof_test>", "exec"), names)

def work():
    torch.ones(5).neg()

lock = _thread.allocate_lock()
lock.acquire()
_thread.start_new_thread(names["own"], (work, lock))
lock.acquire()
"""


def check_own_root():
    """Of a thread that begins in code of the recorder's own, as functions that it has called at the end do: what that
    calls begins the stack, and what it does itself has none.
    """
    with capturing.Directory() as directory:
        capturing.run(directory, ["-c", OWN_ROOT])
        (path,) = capturing.dumps(directory)
        stacks = capturing.stacks(path)
        traces = {op.shapes[0][0]: op.trace for op in capturing.ops(path) if op.name == "aten::neg"}
        assert set(traces) == {3, 5} and traces[3] is None, traces
        assert [frame[2] for frame in stacks[traces[5]]] == ["work"], stacks[traces[5]]
        files = {row["file"] for row in capturing.table(path, "code_frames")}
        assert not any(file.startswith("<_tfprof") for file in files), files


def check(told, path):
    stacks = capturing.stacks(path)
    ops = capturing.ops(path)
    by_thread = {}
    for op in ops:
        by_thread.setdefault(op.thread, []).append(op)
    seen = {}
    for thread_ops in by_thread.values():
        thread_ops.sort(key=lambda op: (op.start, -op.end))
        enclosing = []
        for op in thread_ops:
            while enclosing and enclosing[-1].end < op.end:
                enclosing.pop()
            # An op without a stack of its own was called from the C++ code of the op around it.
            trace = op.trace if op.trace is not None else enclosing[-1].inherited if enclosing else None
            op.inherited = trace
            enclosing.append(op)
            if op.name == "aten::neg":
                seen[op.shapes[0][0]] = stacks.get(trace)
    deepest = seen.pop(max(seen))
    assert len(deepest) == 512 and deepest[-1][2] == "here" and deepest[0][2] == "recurse", (len(deepest), deepest[0])
    assert len(seen) == len(told), (len(seen), len(told))
    for number, frames in told.items():
        mine = seen[int(number)]
        its = [tuple(frame) for frame in frames]
        if mine != its:
            for index, (one, other) in enumerate(zip(mine or [], its)):
                if one != other:
                    print("frame %d: %s and not %s" % (index, one, other))
            raise AssertionError("op %s has another stack (%d frames, not %d)" % (number, len(mine or []), len(its)))
    print(
        "the stacks of %d ops are equal, %d distinct, %d frames"
        % (len(told), len(set(map(tuple, seen.values()))), sum(map(len, seen.values())))
    )
    texts = {(row["file"], row["line"]): row["text"] for row in capturing.table(path, "code_frames")}
    with open(os.path.join(capturing.PROGRAMS, "stacks.py")) as file:
        lines = file.read().split("\n")
    for (name, line), text in texts.items():
        if name.endswith("programs/stacks.py") and line:
            assert text == lines[int(line) - 1].strip()[:200], (text, line)


def main():
    capturing.need_torch()
    with capturing.Directory() as directory:
        out = os.path.join(directory, "told.json")
        capturing.run(directory, [os.path.join(capturing.PROGRAMS, "stacks.py"), out])
        (path,) = capturing.dumps(directory)
        assert capturing.parts(path)["stacks"] == ("ok", ""), capturing.parts(path)
        with open(out) as file:
            check(json.load(file), path)
    with capturing.Directory() as directory:
        capturing.run(
            directory,
            [os.path.join(capturing.PROGRAMS, "stacks.py"), os.path.join(directory, "told.json")],
            python_mode="none",
            shapes=0,
        )
        (path,) = capturing.dumps(directory)
        assert capturing.parts(path)["stacks"] == ("off", "asked with --python=none"), capturing.parts(path)
        assert capturing.parts(path)["shapes"] == ("off", "asked with --no-shapes"), capturing.parts(path)
        rows = capturing.summary(path)["rows"]
        assert "code_traces" not in rows and rows["ops"] > 300, rows
        assert all(op.shapes is None and op.types is None and op.trace is None for op in capturing.ops(path))
    check_own_root()


main()
