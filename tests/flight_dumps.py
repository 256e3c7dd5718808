"""Dumps of PyTorch's Flight Recorder as NCCL's process group writes them, of several versions of their form.

    dump(entries, groups, version)      the dict that is pickled
    entry(number, name, ...)            one of its entries
    write(folder, dumps, ...)           one file for each rank

What each version has beside the one before is that of torch/csrc/distributed/c10d/FlightRecorder*.hpp.
"""

import json
import os
import pickle

START = 1_700_000_000_000_000_000
SINCE = {"2.2": ["is_p2p", "p2p_seq_id", "collective_seq_id", "op_id"], "2.4": ["input_dtypes", "output_dtypes",
         "timeout_ms"], "2.7": ["thread_id", "thread_name"]}


def frames(line, file="/home/user/train.py"):
    library = "/usr/lib/python3/site-packages/torch/distributed/distributed_c10d.py"
    return [{"name": "all_reduce", "filename": library, "line": 2806}, {"name": "step", "filename": file, "line": line},
            {"name": "<module>", "filename": file, "line": 99}]


def entry(number, name="nccl:all_reduce", sizes=((8,),), outputs=None, dtype="Float", state="completed", line=10,
          group=("0", "default_pg"), record=None, p2p=False, **more):
    created = START + number * 1_000_000
    made = {
        "frames": frames(line), "record_id": number if record is None else record, "pg_id": int(group[0]),
        "process_group": group, "collective_seq_id": 0 if p2p else number, "p2p_seq_id": number if p2p else 0,
        "op_id": number, "profiling_name": name, "time_created_ns": created,
        "input_sizes": [list(size) for size in sizes],
        "output_sizes": [list(size) for size in (sizes if outputs is None else outputs)],
        "input_dtypes": [dtype], "output_dtypes": [dtype], "state": state,
        "time_discovered_started_ns": None if state == "scheduled" else created + 1000,
        "time_discovered_completed_ns": created + 5000 if state == "completed" else None,
        "retired": state == "completed", "timeout_ms": 600000, "is_p2p": p2p, "thread_id": "139000000000001",
        "thread_name": "python",
    }
    made.update(more)
    return made


def dump(entries, groups=None, version="2.10", ranks=4):
    groups = groups or {"0": ("default_pg", list(range(ranks)))}
    number = tuple(map(int, version.split(".")))
    entries = [dict(made) for made in entries]
    for since, keys in SINCE.items():
        if number < tuple(map(int, since.split("."))):
            for made in entries:
                if "collective_seq_id" in keys:
                    made["seq_id"] = made["collective_seq_id"]
                for key in keys:
                    made.pop(key, None)
    made = {"version": version,
            "pg_config": {name: {"name": name, "desc": text, "ranks": str(ranks)}
                          for name, (text, ranks) in groups.items()}}
    made["nccl_version" if number < (2, 10) else "comm_lib_version"] = "2.21.5"
    if number >= (2, 3):
        made["pg_status"] = {"0": {"last_enqueued_collective": 4, "last_started_collective": 4,
                                   "last_completed_collective": 3}}
    made["entries"] = entries
    return made


def write(folder, dumps, prefix="nccl_trace_rank_", protocol=2):
    """`dumps`: {rank: dump}."""
    os.makedirs(folder, exist_ok=True)
    for rank, made in dumps.items():
        with open(os.path.join(folder, prefix + str(rank)), "wb") as file:
            pickle.dump(made, file, protocol=protocol)
    return folder


def as_json(made):
    """As PyTorch writes the same as JSON: by the alphabet, without stacks, and 0 for no time."""
    made = dict(made, entries=[{key: 0 if value is None else value for key, value in entry.items() if key != "frames"}
                               for entry in made["entries"]])
    return json.dumps(made, sort_keys=True, separators=(",", ":"))
