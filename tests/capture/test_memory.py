"""Memory: what is recorded of it is what torch.profiler's profile_memory=True sees, allocation by allocation, on the
same seeded programs; a profiler of the user sees the same with and without capture; threads that release what others
allocated, memory from before the recording, failures and sudden deaths leave what is asked for in the tables.
"""

import collections
import json
import os
import subprocess
import sys

import capturing
from capturing import query

PROGRAMS = ["cnn", "transformer", "autograd_threads", "loader"]
PROGRAMS += ["exceptions.raised"]  # of ranges that overlap torch.profiler forgets one
PROGRAMS += ["compiled.aot_eager"]
# Compiled code marks its regions only while a profiler watches it: another execution has other ranges.
TOGETHER = ["compiled.aot_eager"]


def line_of(program, text):
    with open(os.path.join(capturing.PROGRAMS, program)) as file:
        (line,) = [number for number, line in enumerate(file, 1) if "# " + text in line]
    return line


# ---- The same as torch.profiler.


DRIVE = os.path.join(capturing.PROGRAMS, "drive_memory.py")


def profiled(out, program):
    """What torch.profiler saw: one list of [innermost op, bytes, total in use] for each thread."""
    with open(out + "." + program) as file:
        return json.load(file)


def main_dump(directory):
    """That of the process with the ranges; workers have theirs."""
    sql = "SELECT path FROM profiles WHERE id IN (SELECT profile_id FROM ops WHERE name GLOB 'compared *')"
    (row,) = query(directory, sql)
    return row["path"]


def captured(path, program):
    """{thread: [[innermost op, bytes]]} in the order of time, within the range; of releases those of pieces that were
    allocated within it, which are all that torch.profiler tells of.
    """
    assert capturing.parts(path)["memory"] == ("ok", ""), capturing.parts(path)
    assert not capturing.summary(path)["problems"], capturing.summary(path)
    found = query(
        path,
        f"""WITH whole AS (SELECT start_ns, end_ns FROM ops WHERE name = 'compared {program}')
        SELECT a.thread_id AS thread, o.name AS op, a.bytes, a.allocated_ns AS time FROM allocations AS a, whole
        LEFT JOIN ops AS o ON o.id = a.op_id WHERE a.allocated_ns BETWEEN whole.start_ns AND whole.end_ns
        UNION ALL SELECT a.thread_id, o.name, -a.bytes, a.released_ns FROM allocations AS a, whole
        LEFT JOIN ops AS o ON o.id = a.release_op_id
        WHERE a.allocated_ns >= whole.start_ns AND a.released_ns <= whole.end_ns ORDER BY time""",
    )
    threads = collections.defaultdict(list)
    for row in found:
        # Of ranges that only we know, PyTorch tells the one around them.
        op = "compared " + program if row["op"] in capturing.NOTED else row["op"]
        threads[row["thread"]].append([op, row["bytes"]])
    return list(threads.values())


def sums(threads, sign):
    """{op: [count, bytes]} of allocations (1) or releases (-1)."""
    result = collections.defaultdict(lambda: [0, 0])
    for thread in threads:
        for op, size, *_ in thread:
            if size * sign > 0:
                result[op][0] += 1
                result[op][1] += size * sign
    return dict(result)


ALLOCATED, RELEASED = (1, "allocated"), (-1, "released")


def check_equal(what, mine, its, compared=(ALLOCATED, RELEASED)):
    for sign, word in compared:
        left, right = sums(mine, sign), sums(its, sign)
        assert left and right, (what, word, left, right)
        for op in sorted(set(left) | set(right), key=str):
            assert left.get(op) == right.get(op), (
                "%s: %s by %s: captured %s and profiled %s (count and bytes)"
                % (what, word, op, left.get(op), right.get(op))
            )
    count = sum(map(len, mine))
    print("%-40s %5d allocations and releases of %d ops are equal" % (what, count, len(sums(mine, 1))))


def check_against_profiler(programs):
    """Those of `programs` in one process with both, one with the profiler alone, one with the capture alone."""
    apart = [program for program in programs if program not in TOGETHER]
    with capturing.Directory() as directory:
        both, alone = os.path.join(directory, "both"), os.path.join(directory, "alone")
        run, its_own = os.path.join(directory, "run"), os.path.join(directory, "its-own")
        os.mkdir(run), os.mkdir(its_own)
        capturing.run(run, [DRIVE, ",".join(programs), "both", both])
        for program in programs:
            check_equal(program + ", same execution", captured(main_dump(run), program), profiled(both, program))
        if not apart:
            return
        command = [capturing.PYTHON, DRIVE, ",".join(apart), "profiler", alone]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        capturing.run(its_own, [DRIVE, ",".join(apart), "capture", "-"])
        for program in apart:
            check_users_profiler(program, profiled(both, program), profiled(alone, program))
            check_equal(program + ", an execution each", captured(main_dump(its_own), program),
                        profiled(alone, program))


def check_users_profiler(program, together, alone):
    """What the user sees: each event, none the less and none the more. In which order the gradients of a module go is
    chance even so; what is counted together is not."""
    events_alone, events_together = (
        [sorted([op, size] for op, size, _ in thread) for thread in threads] for threads in (alone, together)
    )
    assert sorted(events_alone) == sorted(events_together), (program, events_alone, events_together)
    has_totals = len(together) == 1 and program != "loader"  # memory shared with workers is in none
    for thread in together if has_totals else []:
        first = total = thread[0][2] - thread[0][1]
        for index, event in enumerate(thread):
            total += event[1]
            what = "%s: event %d of the user's profiler is %s after %d"
            assert event[2] == total, what % (program, index, event, total)
        grown = alone[0][-1][2] - alone[0][0][2] + alone[0][0][1]
        assert total - first == grown, (program, total, first, alone[0][-1])
    print("%-40s %5d events of the user's profiler are as without us" % (program, sum(map(len, together))))


def check_ranks():
    """A thread of Gloo's that releases the last reference does so where torch.profiler does not look."""
    with capturing.Directory() as directory:
        out = os.path.join(directory, "profile")
        command = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", DRIVE, "ranks", "both", out]
        capturing.launch(directory, [capturing.PYTHON, *command], ["--quiet"])
        ranks = query(directory, "SELECT path, rank FROM profiles WHERE rank IS NOT NULL ORDER BY rank")
        assert [row["rank"] for row in ranks] == [0, 1], ranks
        for row in ranks:
            its = profiled(out, "ranks%d" % row["rank"])
            check_equal("rank %d, same execution" % row["rank"], captured(row["path"], "ranks"), its, [ALLOCATED])


# ---- What only a recording sees.


def check_sums(run):
    """Totals fit, event by event, and what ops are said to have allocated is what the rows say."""
    found = query(
        run,
        """SELECT count(*) AS count, sum(in_use_bytes - before <> bytes) AS wrong,
        sum(peak_bytes < in_use_bytes) AS low, max(peak_bytes) = max(in_use_bytes) AS meets
        FROM (SELECT *, lag(in_use_bytes) OVER (ORDER BY id) AS before
        FROM memory_events WHERE allocator = 'DefaultCPUAllocator' AND kind <> 'out_of_memory')""",
    )[0]
    assert found["count"] > 20 and found["wrong"] == 0 and found["low"] == 0 and found["meets"] == 1, found
    found = query(
        run,
        """SELECT (SELECT sum(allocated_self_bytes) FROM ops) AS own,
        (SELECT sum(allocated_bytes) FROM ops WHERE parent_id IS NULL) AS outermost,
        (SELECT sum(bytes) FROM allocations WHERE op_id IS NOT NULL AND allocated_ns IS NOT NULL) AS rows""",
    )[0]
    assert found["own"] == found["outermost"] == found["rows"] > 0, found


def check_failure():
    with capturing.Directory() as directory:
        program = os.path.join(capturing.PROGRAMS, "out_of_memory.py")
        _, errors = capturing.run(directory, [program, "fails"], status=1)
        assert "can't allocate memory" in errors, errors
        (path,) = capturing.dumps(directory)
        check_sums(path)
        (failure,) = query(
            path,
            """SELECT bytes, in_use_bytes, f.line, f.file, o.name AS op, e.allocation_id FROM memory_events AS e
            JOIN code_traces AS t ON t.id = e.code_trace_id JOIN code_frames AS f ON f.id = t.leaf_frame_id
            JOIN ops AS o ON o.id = e.op_id WHERE e.kind = 'out_of_memory'""",
        )
        weights, history = 3 * 1000 * 256 * 4, 20 * 500 * 1000 * 4
        assert failure["bytes"] == 2**50 * 4 and failure["allocation_id"] is None, failure
        assert failure["in_use_bytes"] >= weights + history, failure
        assert failure["line"] == line_of("out_of_memory.py", "the line that fails"), failure
        assert failure["op"] == "aten::empty" and failure["file"] == program, failure
        live = query(
            path,
            """SELECT f.line, count(*) AS count, sum(a.bytes) AS bytes FROM allocations AS a
            JOIN code_traces AS t ON t.id = a.code_trace_id JOIN code_frames AS f ON f.id = t.leaf_frame_id
            JOIN memory_events AS e ON e.kind = 'out_of_memory'
            WHERE a.allocated_ns < e.time_ns AND coalesce(a.released_ns > e.time_ns, 1) GROUP BY f.line""",
        )
        by_line = {row["line"]: (row["count"], row["bytes"]) for row in live}
        assert by_line[line_of("out_of_memory.py", "the line of the weights")] == (3, weights), by_line
        assert by_line[line_of("out_of_memory.py", "the line of the history")] == (20, history), by_line
        (device,) = query(path,
                          "SELECT kind, ordinal, multiprocessor_count AS cores, memory_bytes AS bytes FROM devices")
        cores = subprocess.run(["lscpu", "-p=CORE,SOCKET"], capture_output=True, text=True, check=True).stdout
        cores = len({line for line in cores.splitlines() if not line.startswith("#")})
        size = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE")
        assert device == {"kind": "cpu", "ordinal": 0, "cores": cores, "bytes": size}, device
        (seen,) = query(path, "SELECT bytes, op, location FROM memory_failures")
        where = "out_of_memory.py:%d" % line_of("out_of_memory.py", "the line that fails")
        assert seen == {"bytes": 2**52, "op": "aten::empty", "location": where}, seen
        (advice,) = query(path, "SELECT severity, message FROM advise WHERE check_name = 'out_of_memory'")
        holder = "out_of_memory.py:%d (" % line_of("out_of_memory.py", "the line of the history")
        assert advice["severity"] == "critical" and "held by " + holder in advice["message"], advice
        assert "at " + where + ": 4.00 PiB" in advice["message"], advice
        print("a failure is there with its line, %d bytes in use, and the lines that hold them"
              % failure["in_use_bytes"])


def check_kill():
    with capturing.Directory() as directory:
        capturing.run(directory, [os.path.join(capturing.PROGRAMS, "out_of_memory.py"), "kill"], status=-9)
        (path,) = capturing.dumps(directory)
        assert not capturing.summary(path)["closed"]
        live = query(path, "SELECT line, live_count, live_bytes, peak_bytes FROM memory_by_line")
        by_line = {row["line"]: (row["live_count"], row["live_bytes"]) for row in live}
        assert all(row["peak_bytes"] == row["live_bytes"] for row in live), live  # it died at its peak
        timeline = query(path,
                         "SELECT sum(bytes) AS bytes, count(*) AS count, max(device_bytes) AS peak "
                         "FROM memory_timeline")
        assert timeline[0]["peak"] == query(path,
                                            "SELECT max(in_use_bytes) AS peak FROM memory_events")[0]["peak"], timeline
        # The last one was asked for just before the end: growth like this is written at once.
        assert by_line[line_of("out_of_memory.py", "the last line")] == (1, 64 * 1024 * 1024 * 4), by_line
        assert by_line[line_of("out_of_memory.py", "the line of the history")] == (20, 20 * 500 * 1000 * 4), by_line
        print("a killed process: all that was live is there by its line")


def check_threads():
    """One thread allocates, another releases; shared memory of the workers is told apart."""
    source = """
import queue, threading, torch, torch.multiprocessing
tensors, done = queue.Queue(), threading.Event()
def release():
    while True:
        tensor = tensors.get()
        if tensor is None: return
        del tensor
thread = threading.Thread(target=release)
thread.start()
for number in range(200):
    tensors.put(torch.empty(100000 + number, dtype=torch.uint8))
tensors.put(None)
thread.join()
shared = torch.empty(54321, dtype=torch.uint8).share_memory_()
"""
    with capturing.Directory() as directory:
        capturing.run(directory, ["-c", source])
        (path,) = capturing.dumps(directory)
        check_sums(path)
        (found,) = query(
            path,
            """SELECT count(*) AS count, sum(a.released_ns > a.allocated_ns) AS released,
            count(DISTINCT a.bytes) AS sizes, count(DISTINCT a.thread_id) AS threads
            FROM allocations AS a WHERE bytes BETWEEN 100000 AND 100199""",
        )
        assert found == {"count": 200, "released": 200, "sizes": 200, "threads": 1}, found
        events = [(row["thread"], int(row["bytes"])) for row in capturing.table(path, "memory_events")]
        allocated_by = {thread for thread, size in events if 100000 <= size <= 100199}
        released_by = {thread for thread, size in events if -100199 <= size <= -100000}
        assert len(allocated_by) == 1 and released_by - allocated_by, (allocated_by, released_by)
        shared = query(path, "SELECT bytes, allocator FROM allocations WHERE allocator = 'MapAllocator'")
        assert [row["bytes"] for row in shared] == [54321], shared
        events = query(path, "SELECT in_use_bytes FROM memory_events WHERE allocator = 'MapAllocator'")
        assert all(row["in_use_bytes"] is None for row in events), events
        print("200 pieces of one thread, released by another; shared memory has no total")


def check_regions():
    """What pieces are for, on a program whose sizes are known: 8 steps, a batch of 16 x
    32, a layer of 32 x 64 and 64."""
    source = """
import torch, without_dynamo
from torch import nn
torch.manual_seed(0)
data = torch.utils.data.DataLoader(torch.arange(16 * 8 * 32, dtype=torch.float32).view(128, 32), batch_size=16)
model = nn.Linear(32, 64)
optimizer = torch.optim.Adam(model.parameters(), foreach=False)
kept = []
for batch in data:
    optimizer.zero_grad()
    output = model(batch)
    loss = (output * output).mean()
    loss.backward()
    optimizer.step()
    kept.append(output.detach())
"""
    parameters, batch, output = (32 * 64 + 64) * 4, 16 * 32 * 4, 16 * 64 * 4
    with capturing.Directory() as directory:
        capturing.run(directory, ["-c", source])
        (path,) = capturing.dumps(directory)
        found = {
            (row["region"], row["op"], row["bytes"]): (row["count"], row["live"])
            for row in query(
                path,
                """SELECT a.region, o.name AS op, a.bytes, count(*) AS count, sum(a.released_ns IS NULL) AS live
                FROM allocations AS a LEFT JOIN ops AS o ON o.id = a.op_id GROUP BY 1, 2, 3""",
            )
        }
        states = {op: count for (region, op, size), count in found.items()
                  if (region, size) == ("optimizer_state", 8192)}
        assert sum(count for count, _ in states.values()) == 2 == sum(live for _, live in states.values()), found
        inputs = sum(size * count for (region, _, size), (count, _) in found.items() if region == "input")
        assert inputs >= 8 * batch, found
        gradients = sum(size * count for (region, _, size), (count, _) in found.items() if region == "gradient")
        assert gradients >= 8 * parameters, found
        kept = [count for (region, op, size), count in found.items() if (region, op) == ("persistent", "aten::addmm")]
        assert kept and kept[0][0] >= 6 and ("activation", "aten::addmm", output) in found, found
        assert any(region == "temporary" for region, _, _ in found), found
        last = query(
            path,
            """WITH t AS (SELECT *, row_number() OVER (PARTITION BY category ORDER BY time_ns DESC) AS place,
            row_number() OVER (ORDER BY time_ns DESC) AS last FROM memory_timeline)
            SELECT sum(bytes) AS bytes, max(CASE WHEN last = 1 THEN device_bytes END) AS device FROM t
            WHERE place = 1""",
        )[0]
        in_use = query(path, "SELECT in_use_bytes AS bytes FROM memory_events ORDER BY id DESC LIMIT 1")[0]["bytes"]
        assert last["bytes"] == last["device"] == in_use, (last, in_use)
        print("categories: %s" % sorted({str(region) for region, _, _ in found}))


def check_parameters():
    """Which parameter lies where, by its address: several of one size, made in another order than the model has them,
    converted, shared, or together in one piece."""
    source = """
import json, torch
from torch import nn
class Network(nn.Module):
    def __init__(self):
        super().__init__()
        second = nn.Linear(64, 64)
        self.first, self.second, self.shared = nn.Linear(64, 64), second, nn.Linear(64, 64)
        self.shared.weight = self.first.weight
        self.scale = nn.Parameter(torch.ones(64))
    def forward(self, x):
        return self.shared(self.second(self.first(x))) * self.scale
class Flat(nn.Module):
    def __init__(self):
        super().__init__()
        together = torch.zeros(2, 64)
        self.left, self.right = nn.Parameter(together[0]), nn.Parameter(together[1])
    def forward(self, x):
        return x * self.left + self.right
model, flat = Network().double(), Flat()
parameters = [*model.named_parameters(), *flat.named_parameters("Flat")]
optimizer = torch.optim.SGD([parameter for _, parameter in parameters], lr=0.1)
for _ in range(4):
    optimizer.zero_grad()
    (model(torch.ones(8, 64, dtype=torch.float64)) + flat(torch.ones(8, 64))).mean().backward()
    optimizer.step()
print(json.dumps({name: parameter.data_ptr() for name, parameter in parameters}))
"""
    with capturing.Directory() as directory:
        out, _ = capturing.run(directory, ["-c", source], ops="all")
        places = json.loads(out)
        (path,) = capturing.dumps(directory)
        rows = query(path, """SELECT a.address, a.region, n.name, a.module, a.dtype, a.shape FROM allocations AS a
            LEFT JOIN nodes AS n ON n.id = a.node_id WHERE a.released_ns IS NULL""")
        found = {row.pop("address"): row for row in rows}
        assert found[places.pop("Flat.left")] == {"region": "parameter", "name": None, "module": None,
                                                  "dtype": "float32", "shape": "2x64"}, (places, found)
        places.pop("Flat.right")
        for name, place in places.items():
            assert found[place] == {
                "region": "parameter", "name": name, "module": name.rpartition(".")[0] or "Network",
                "dtype": "float64", "shape": "64x64" if name.endswith("weight") else "64"}, (name, found[place])
        assert len(places) == 6 and len({*places.values()}) == 6, places
    print("parameters by their addresses: %s" % ", ".join(sorted(places)))


AT_THE_PEAK = """WITH peak AS (SELECT time_ns, in_use_bytes FROM memory_events WHERE kind = 'allocate'
    ORDER BY in_use_bytes DESC, time_ns LIMIT 1)
SELECT coalesce(region, 'unknown') AS region, sum(bytes) AS bytes, max(in_use_bytes) AS in_use_bytes
FROM allocations, peak WHERE allocated_ns <= time_ns AND (released_ns IS NULL OR released_ns > time_ns) GROUP BY 1"""


def compare_tensors(path, told):
    """Dtype and shape of each allocation, by its address, against the tensors that torch.profiler found ops to have
    there: views of one among them. What it knows and we do not are numbers that PyTorch makes of Python's outside of
    ops, and the losses of ops that reduce."""
    rows = query(path, "SELECT address, allocated_ns, bytes, dtype, shape FROM allocations "
                       "WHERE allocated_ns IS NOT NULL ORDER BY allocated_ns")
    mine, known, unknown = collections.defaultdict(list), 0, 0
    for row in rows:
        mine[row["address"], row["bytes"]].append(row)
    for address, time_ns, size, tensors in told:
        # The recorder has an allocation within microseconds of the profiler; at an address it comes again much later.
        row = min(mine[address, size], key=lambda row: abs(row["allocated_ns"] - time_ns))
        if not tensors:
            continue
        if row["dtype"] is None or (row["shape"] is None and size > 8):
            unknown += size
            continue
        assert any(row["dtype"] == dtype and (row["shape"] or "") == "x".join(map(str, shape))
                   for shape, dtype in tensors), (row, tensors)
        known += size
    assert known > 10_000_000 and unknown < 1000, (path, known, unknown)
    print("%d bytes hold the tensors that torch.profiler knows, of %d bytes it is not known" % (known, unknown))


def check_profile():
    """What was in use at the peak, category by category and byte by byte as torch.profiler's memory profile has it of
    the same program, in a capture and in its own trace. It follows tensors by address: the running statistics of a
    batch norm are inputs to it and kept here, and it does not know what libraries take for a while."""
    program = os.path.join(capturing.PROGRAMS, "memory_profile.py")
    with capturing.Directory() as directory:
        trace = os.path.join(directory, "trace.json")
        out = subprocess.run([capturing.PYTHON, program, trace], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                             check=True, timeout=capturing.SECONDS).stdout
        told = json.loads(out[out.index(b"{"):out.rindex(b"}") + 1])
        its = told["categories"]
        statistics, steps = 16 * 4 * 2, 8
        capturing.run(directory, [program], ops="all")
        (path,) = capturing.dumps(directory)
        rows = query(path, AT_THE_PEAK)
        mine = {row["region"]: row["bytes"] for row in rows}
        assert sum(mine.values()) == rows[0]["in_use_bytes"] == sum(its.values()), (mine, its)
        for region in ("parameter", "optimizer_state", "gradient", "activation", "autograd_detail"):
            assert mine[region] == its[region] > 0, (region, mine, its)
        assert mine["input"] == its["input"] - statistics and mine["persistent"] == statistics + steps, (mine, its)
        assert mine["temporary"] == its["temporary"] + its["none"] - steps and "unknown" not in mine, (mine, its)
        shapes = query(path, "SELECT shape || ' ' || dtype AS shape FROM allocations WHERE region = 'parameter' "
                             "AND shape LIKE '%x%' ORDER BY bytes")
        wanted = ["16x3x3x3 float32", "16x16x3x3 float32", "10x4096 float32"]
        assert [row["shape"] for row in shapes] == wanted, shapes
        for file in (path, trace):  # the views tell the same
            (summary,) = query(file, "SELECT * FROM memory_summary")
            rows = query(file, AT_THE_PEAK)
            assert summary["peak_bytes"] == rows[0]["in_use_bytes"] == sum(row["bytes"] for row in rows), summary
            parts = query(file, "SELECT region, sum(bytes) AS bytes, sum(requested_bytes) AS requested_bytes "
                                "FROM memory_breakdown GROUP BY 1")
            by_region = [{row["region"]: row["bytes"] for row in each} for each in (parts, rows)]
            assert by_region[0] == by_region[1], by_region
            assert all(row["bytes"] == row["requested_bytes"] for row in parts), parts
        lines = query(path, "SELECT location, sum(bytes) AS bytes FROM memory_breakdown "
                            "WHERE region = 'input' GROUP BY 1")
        line = "memory_profile.py:%d" % line_of("memory_profile.py", "the inputs")
        assert lines == [{"location": line, "bytes": mine["input"]}], lines
        compare_tensors(trace, told["tensors"])
        both = os.path.join(directory, "both")
        os.mkdir(both)
        out, _ = capturing.run(both, [program, os.path.join(both, "trace.json")], ops="all")
        compare_tensors(capturing.dumps(both)[0], json.loads(out[out.index("{"):out.rindex("}") + 1])["tensors"])
        parameters = query(path, "SELECT module, sum(bytes) AS bytes FROM memory_breakdown WHERE region = 'parameter' "
                                 "GROUP BY 1")
        wanted = {"0": 16 * 3 * 9 + 16, "1": 16 + 16, "3": 16 * 16 * 9 + 16, "6": 4096 * 10 + 10}
        assert {row["module"]: row["bytes"] // 4 for row in parameters} == wanted, parameters
        of_trace = {row["region"]: row["bytes"] for row in query(trace, AT_THE_PEAK)}
        for region in ("optimizer_state", "gradient", "activation", "autograd_detail"):
            assert of_trace[region] == its[region], (region, of_trace, its)
        assert of_trace["input"] == mine["input"] and of_trace["temporary"] == mine["temporary"], of_trace
        print("at the peak as torch.profiler's memory profile: %s" % mine)


def check_off():
    """Without memory nothing of it is recorded, and the user's profiler is PyTorch's own."""
    with capturing.Directory() as directory:
        alone, run = os.path.join(directory, "alone"), os.path.join(directory, "run")
        os.mkdir(run)
        command = [capturing.PYTHON, DRIVE, "exceptions", "profiler", alone]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        capturing.run(run, [DRIVE, "exceptions", "both", os.path.join(directory, "both")], memory=0)
        (path,) = capturing.dumps(run)
        assert "memory_events" not in capturing.summary(path)["rows"]
        assert capturing.parts(path)["memory"] == ("off", "asked with --no-memory"), capturing.parts(path)
        assert profiled(os.path.join(directory, "both"), "exceptions") == profiled(alone, "exceptions")
    print("--no-memory records none")


def check_late_library():
    """PyTorch loaded before the library: there is nothing to interpose any more. It is said, and the rest records."""
    source = """
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__name__ != "ImportFinder"]
import torch
hooks = sys.modules["_tfprof_hooks"]
hooks.begin_recording(hooks.prepare_recording(), torch)
torch.ones(3) + 1
"""
    with capturing.Directory() as directory:
        capturing.run(directory, ["-c", source])
        (path,) = capturing.dumps(directory)
        state, reason = capturing.parts(path)["memory"]
        assert state == "degraded" and "was it loaded before" in reason, (state, reason)
        assert any(op.name == "aten::add" for op in capturing.ops(path))
    print("a PyTorch that was there first: degraded, with the reason")


def main():
    capturing.need_torch()
    check_against_profiler(sys.argv[1:] or PROGRAMS)
    check_ranks()
    check_threads()
    check_failure()
    check_kill()
    check_off()
    check_regions()
    check_parameters()
    check_profile()
    check_late_library()


main()
