#!/usr/bin/env python3
"""test_flight_recorder.py: collective_mismatches finds what PyTorch's own analyzer of Flight Recorder dumps
(torch.distributed.flight_recorder.fr_trace) finds in the same ones.

The dumps are of four ranks that really hang, with Gloo, and of copies of these in which one rank's last collective is
made another.  The analyzer wants to know the ranks of each group, which Gloo's dumps lack (PyTorch 2.13): they are put
in.  Skipped where PyTorch is missing or has no such analyzer.
"""

import copy
import json
import os
import pickle
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from asking import check, query, rows, run_tests

PYTHON = os.environ.get("TFPROF_PYTHON") or sys.executable
RANKS = 4
HANGING = """
import os, sys, time, torch, torch.distributed as dist
folder = sys.argv[1]
torch.set_num_threads(1)
def work(rank):
    dist.init_process_group("gloo", init_method="file://" + folder + ".meeting", rank=rank, world_size=4)
    other = dist.new_group([0, 1])
    for _ in range(3): dist.all_reduce(torch.ones(4, 4))
    if rank < 2: dist.broadcast(torch.ones(5), 0, group=other)
    if rank != 2: dist.all_reduce(torch.ones(8), async_op=True)  # the last one
    time.sleep(0.6)  # by then it is not one that only just began
    with open(folder + "/nccl_trace_rank_%d" % rank, "wb") as file:
        file.write(torch._C._distributed_c10d._dump_fr_trace())
    open(folder + ".done-%d" % rank, "w").close()
    while not all(os.path.exists(folder + ".done-%d" % other) for other in range(4)): time.sleep(0.05)
    os._exit(0)
for rank in range(4):
    if not os.fork(): work(rank)
for _ in range(4): os.wait()
"""
LINE = 1 + next(number for number, text in enumerate(HANGING.split("\n")) if "# the last one" in text)
ANALYZER = """
import json, pickle, sys
from torch.distributed.flight_recorder import fr_trace
def faults_of(folder):
    fr_trace.main([folder, "-o", folder + ".db"])
    _, db = pickle.load(open(folder + ".db", "rb"))
    for one in db.collectives:
        for rank in one.missing_ranks or (): yield one.group_id, one.collective_seq_id, rank, "missing"
        for rank, bad in (one.mismatch_collectives or {}).items():
            yield one.group_id, one.collective_seq_id, rank, bad.type_of_mismatch.state.name
print("FAULTS" + json.dumps([list(faults_of(folder)) for folder in sys.argv[1:]]))
"""
WORDS = {"COLLECTIVE_TYPE_MISMATCH": "operation", "SIZE_OR_SYNTAX_MISMATCH": "size",
         "COLLECTIVE_DTYPE_MISMATCH": "dtype", "COLLECTIVE_STATE_MISMATCH": "state", "missing": "missing"}


def run(program, *arguments):
    answer = subprocess.run([PYTHON, "-c", program, *arguments], capture_output=True, text=True)
    if answer.returncode and "No module named" in answer.stderr:
        print(answer.stderr.strip().split("\n")[-1])
        sys.exit(77)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def real_dumps(folder):
    run("import torch.distributed.flight_recorder, torch\nassert hasattr(torch._C._distributed_c10d, '_dump_fr_trace')")
    os.mkdir(folder)
    path = folder + ".py"
    with open(path, "w") as file:
        file.write(HANGING)
    subprocess.run([PYTHON, path, folder], check=True, stderr=subprocess.DEVNULL)
    made = {}
    for rank in range(RANKS):
        with open(os.path.join(folder, "nccl_trace_rank_%d" % rank), "rb") as file:
            made[rank] = pickle.load(file)
    return made


def put_ranks(dumps):
    for made in dumps.values():
        made["pg_config"] = {name: {"name": name, "desc": text, "ranks": str(ranks)} for name, text, ranks in (
            ("0", "default_pg", list(range(RANKS))), ("1", "undefined", [0, 1]))}
    return dumps


def write(folder, dumps):
    os.mkdir(folder)
    for rank, made in dumps.items():
        with open(os.path.join(folder, "nccl_trace_rank_%d" % rank), "wb") as file:
            pickle.dump(made, file, protocol=2)
    return folder


def theirs(folders):
    told = run(ANALYZER, *folders)
    return [sorted((group, number, rank, WORDS[what]) for group, number, rank, what in faults)
            for faults in json.loads(told[told.index("FAULTS") + 6:])]


def ours(folder):
    return sorted(rows(folder, "SELECT process_group, collective_number, rank, mismatch FROM collective_mismatches"))


def changed(real, change):
    """All ranks take part in the last collective, rank 2 in another way."""
    dumps = copy.deepcopy(real)
    last = copy.deepcopy(dumps[0]["entries"][-1])
    last["record_id"] = len(dumps[2]["entries"])
    dumps[2]["entries"].append(last)
    change(last)
    return dumps


def test_against_the_analyzer(folder):
    real = real_dumps(os.path.join(folder, "real"))
    (first,) = query(os.path.join(folder, "real"), "SELECT * FROM hang_summary WHERE is_missing = 1")
    check((first["rank"], first["role"], first["collective_number"]), (2, "missing", 3), "Gloo's own dumps")
    found = rows(os.path.join(folder, "real"), "SELECT rank, role, line, collective FROM hang_summary "
                                               "WHERE is_missing = 0")
    check(found, [(rank, "waiting", LINE, "gloo:all_reduce") for rank in (0, 1, 3)], "who waits")
    check(rows(os.path.join(folder, "real"), "SELECT collective_number, rank, mismatch FROM collective_mismatches"),
          [(4, 2, "missing")], "without lists of ranks")
    put_ranks(real)
    cases = {
        "missing": real,
        "whole": changed(real, lambda last: None),
        "operation": changed(real, lambda last: last.update(profiling_name="gloo:broadcast")),
        "size": changed(real, lambda last: last.update(input_sizes=[[16]], output_sizes=[[16]])),
        "dtype": changed(real, lambda last: last.update(input_dtypes=["Double"], output_dtypes=["Double"])),
        "state": changed(real, lambda last: last.update(state="completed", retired=True)),
        "ring": changed(real, lambda last: None),
        "two": changed(real, lambda last: last.update(profiling_name="gloo:all_gather")),
    }
    for made in cases["ring"].values():
        del made["entries"][:1]
    group = next(entry for entry in cases["two"][1]["entries"] if entry["process_group"][0] == "1")
    group.update(input_sizes=[[6]], output_sizes=[[6]])
    paths = [write(os.path.join(folder, what), dumps) for what, dumps in cases.items()]
    for what, path, expected in zip(cases, paths, theirs(paths)):
        check(ours(path), expected, what)
        assert len(expected) == {"whole": 0, "ring": 0, "two": 2}.get(what, 1), (what, expected)


run_tests(globals())
