#!/usr/bin/env python3
"""test_flight_recorder.py: dumps of PyTorch's Flight Recorder: what stands in them, of every version, who hangs by them
and by what, beside a recording of the same ranks; and bad ones.
"""

import os
import pickle
import shutil
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from asking import BUILD, check, column, query, rows, run_tests
from flight_dumps import START, as_json, dump, entry, write


def waiting(number, **more):
    return [entry(i) for i in range(1, number)] + [entry(number, state="started", line=20, **more)]


def ended(number):
    return [entry(i) for i in range(1, number + 1)]


def test_records(folder):
    groups = {"0": ("default_pg", [0, 1]), "1": ("undefined", [0])}
    entries = waiting(3) + [entry(1, "nccl:send 0->1", group=("0", "default_pg"), p2p=True, record=9)]
    write(folder, {0: dump(entries, groups)})
    found = query(folder, "SELECT records.*, location, threads.name AS thread FROM flight_records AS records "
                          "JOIN _code_trace_lines AS lines ON lines.code_trace_id = records.code_trace_id "
                          "JOIN threads ON threads.id = thread_id ORDER BY record_number")
    last = found[2]
    expected = {"record_number": 3, "process_group": "0", "description": "default_pg", "group_ranks": "[0,1]",
                "name": "nccl:all_reduce", "number": 3, "op_number": 3, "is_point_to_point": 0,
                "input_shapes": "[[8]]", "output_dtypes": '["Float"]', "in_elements": 8, "created_ns": START + 3000000,
                "started_ns": START + 3001000, "completed_ns": None, "timeout_ns": 600 * 10**9, "state": "started",
                "is_pending": 1, "location": "train.py:20", "thread": "python"}
    check({key: last[key] for key in expected}, expected, "a record")
    check([row["is_pending"] for row in found], [0, 0, 1, 0], "pending")
    check((found[3]["number"], found[3]["is_point_to_point"]), (1, 1), "a send")
    check(rows(folder, "SELECT rank, world_size, origin, framework, attributes ->> 'comm_lib_version' FROM profiles"),
          [(0, 2, "flight_recorder", "pytorch", "2.21.5")], "the profile")
    check(rows(folder, "SELECT start_ns, noticed_ns, step_number FROM hangs"),
          [(START + 3000000, START + 3001000, None)], "the hang")


def test_versions(folder):
    """Of every version: who is waited for, and what it lacks is NULL."""
    for version in ("2.0", "2.1", "2.2", "2.3", "2.4", "2.5", "2.6", "2.7", "2.9", "2.10"):
        path = os.path.join(folder, version)
        write(path, {0: dump(waiting(4), version=version), 1: dump(ended(3), version=version),
                     2: dump(waiting(4), version=version), 3: dump(waiting(4), version=version)}, protocol=4)
        check(rows(path, "SELECT rank, role, location, collective_number FROM hang_summary"),
              [(1, "missing", "train.py:10", 3)] + [(rank, "waiting", "train.py:20", 4) for rank in (0, 2, 3)], version)
        (known,) = rows(path, "SELECT count(number), count(input_dtypes), count(thread_id) > 3 FROM flight_records")
        number = int(version.partition(".")[2])
        check(known, (15, 15 if number >= 4 else 0, int(number >= 7)), version)
        check(column(path, "SELECT message FROM diagnostics"), [], version)


def test_who_is_waited_for(folder):
    cases = {
        "another operation": ({0: waiting(4), 1: ended(3) + [entry(4, "nccl:broadcast", state="started", line=30)],
                               2: waiting(4)}, (1, "missing", "train.py:30")),
        "no dump": ({0: waiting(4), 2: waiting(4)}, (1, "absent", None)),
        "nobody": ({0: waiting(4), 1: waiting(4), 2: waiting(4)}, (0, "hanging", "train.py:20")),
    }
    for what, (entries, expected) in cases.items():
        path = write(os.path.join(folder, what), {rank: dump(of, ranks=3) for rank, of in entries.items()})
        check(rows(path, "SELECT rank, role, location FROM hang_summary LIMIT 1"), [expected], what)
        (told,) = rows(path, "SELECT severity, value FROM hangs_check")
        check(told, ("critical", None), what)
        summary = subprocess.run([os.path.join(BUILD, "tfprof"), path, "summary"], capture_output=True, text=True)
        assert summary.stdout.startswith("hang ") and "rank %d" % expected[0] in summary.stdout.split("\n")[0], summary
    healthy = write(os.path.join(folder, "healthy"), {rank: dump(ended(3), ranks=2) for rank in (0, 1)})
    check(rows(healthy, "SELECT * FROM hang_summary UNION ALL SELECT * FROM hang_summary"), [], "no hang")
    check(rows(healthy, "SELECT message FROM collective_mismatches"), [], "no mismatch")
    # what has only just begun may be over
    path = os.path.join(folder, "healthy", "nccl_trace_rank_0")
    with open(path, "wb") as file:
        pickle.dump(dump(waiting(3), ranks=2), file)
    for later, hangs in ((100_000_000, 0), (900_000_000, 1)):
        os.utime(path, ns=(START + 3000000 + later,) * 2)
        check(column(healthy, "SELECT count(*) FROM hangs"), [hangs], "written %d ns later" % later)


def test_of_json(folder):
    """The same as of a pickle, but for the stacks; of both of a rank the pickle is read."""
    made = {rank: dump(waiting(4) if rank else ended(3)) for rank in range(4)}
    pickled, written = write(os.path.join(folder, "p"), made), os.path.join(folder, "j")
    os.mkdir(written)
    for rank, one in made.items():
        with open(os.path.join(written, "trace_%d.json" % rank), "w") as file:
            file.write(as_json(one))
    for table, but in (("flight_records", ("code_trace_id",)), ("hangs", ()), ("hang_collectives", ())):
        sql = "SELECT * FROM " + table
        left, right = ([{k: v for k, v in row.items() if k not in but} for row in query(path, sql)]
                       for path in (pickled, written))
        assert left, table
        check(left, right, table)
    check(rows(written, "SELECT rank, role, location FROM hang_summary LIMIT 1"), [(0, "missing", None)], "JSON")
    for name in os.listdir(written):
        shutil.copy(os.path.join(written, name), pickled)
    found = rows(pickled, "SELECT rank, path LIKE '%.json' FROM profiles ORDER BY rank")
    check(found, [(rank, 0) for rank in range(4)], "both")
    assert column(pickled, "SELECT reason FROM diagnostics") == ["older_files"]
    check(column(os.path.join(pickled, "nccl_trace_rank_*"), "SELECT count(*) FROM profiles"), [4], "a glob")


def test_beside_a_recording(folder):
    """The dumps of the ranks of a recording are part of its run, and tell of its last hang."""
    for rank in range(3):
        path = os.path.join(folder, "host-%d.tfprof" % rank)
        subprocess.run([os.path.join(BUILD, "tests", "make_ops_dump"), path, "40"], check=True,
                       stdout=subprocess.DEVNULL)
    recorded = column(folder, "SELECT count(*) FROM profiles")
    write(folder, {rank: dump(waiting(4) if rank else ended(3), ranks=3) for rank in range(3)})
    check(column(folder, "SELECT count(*) FROM profiles"), [recorded[0] + 3], "profiles")
    check(column(folder, "SELECT count(DISTINCT run_id) FROM profiles"), [1], "one run")
    check(rows(folder, "SELECT rank, role FROM hang_summary WHERE rank IS NOT NULL"),
          [(0, "missing"), (1, "waiting"), (2, "waiting")], "who hangs")


def test_mismatches(folder):
    """Each by its own name; rank 1 is the odd one."""
    def with_last(last):
        return {0: waiting(4), 1: ended(3) + last, 2: waiting(4)}

    cases = {
        "missing": with_last([]),
        "operation": with_last([entry(4, "nccl:broadcast", state="started")]),
        "size": with_last([entry(4, sizes=((16,),), state="started")]),
        "dtype": with_last([entry(4, dtype="Double", state="started")]),
        "state": with_last([entry(4, state="scheduled")]),
    }
    for what, entries in cases.items():
        path = write(os.path.join(folder, what), {rank: dump(of, ranks=3) for rank, of in entries.items()})
        check(rows(path, "SELECT mismatch, rank, collective_number, is_first FROM collective_mismatches"),
              [(what, 1, 4, int(what != "state"))], what)
    path = write(os.path.join(folder, "ring"), {  # a dump has only the last entries
        0: dump(waiting(6), ranks=2), 1: dump(waiting(6)[3:], ranks=2)})
    check(rows(path, "SELECT * FROM collective_mismatches"), [], "what one dump no longer has")
    gathered = entry(1, "nccl:all_gather", sizes=((4,),), outputs=((7,),), state="started")
    path = write(os.path.join(folder, "gather"), {rank: dump([gathered], ranks=2) for rank in (0, 1)})
    check(column(path, "SELECT DISTINCT mismatch || ' ' || expected FROM collective_mismatches"),
          ["size output of 8 elements"], "sizes of an all_gather")
    pair = {0: [entry(1, "nccl:send 0->1", state="started", p2p=True)],
            1: [entry(1, "nccl:recv 1<-0", state="started", p2p=True)]}
    path = write(os.path.join(folder, "pair"), {rank: dump(of, ranks=2) for rank, of in pair.items()})
    check(rows(path, "SELECT * FROM collective_mismatches"), [], "a send and its receive")
    pair[1] = [entry(1, "nccl:recv 1<-2", state="started", p2p=True)]
    path = write(os.path.join(folder, "odd"), {rank: dump(of, ranks=3) for rank, of in pair.items()})
    check(rows(path, "SELECT rank, mismatch, expected FROM collective_mismatches"),
          [(0, "no partner", "recv on rank 1"), (1, "no partner", "send on rank 2")], "a send without one")


def test_saved(folder):
    made = {rank: dump(waiting(4) if rank else ended(3), ranks=3) for rank in range(3)}
    path = write(os.path.join(folder, "run"), made)
    copy = os.path.join(folder, "copy")
    rows(path, "SELECT tfprof_save('%s')" % copy)
    for view in ("hang_summary", "collective_mismatches", "flight_records"):
        sql = "SELECT * FROM %s ORDER BY rank, message" % view if view != "flight_records" else \
            "SELECT name, number, state, is_pending FROM flight_records"
        check(rows(copy, sql), rows(path, sql), view)


def word(text):
    return b"X" + struct.pack("<I", len(text)) + text.encode()


def refused(path):
    answer = subprocess.run([os.path.join(BUILD, "tfprof"), path, "SELECT 1"], capture_output=True, text=True)
    assert answer.returncode == 3, answer
    return answer.stderr


def test_bad_ones(folder):
    """Nothing is executed, and what was whole is served."""
    class Evil:
        def __reduce__(self):
            return os.system, ("touch %s/executed" % folder,)

    path = os.path.join(folder, "trace_0")
    with open(path, "wb") as file:
        pickle.dump({"version": "2.5", "pg_config": {}, "entries": [entry(1), Evil(), entry(2)]}, file, protocol=2)
    check(rows(path, "SELECT number FROM flight_records"), [(1,)], "before what would be called")
    assert "never done" in column(path, "SELECT message FROM diagnostics")[0]
    assert not os.path.exists(os.path.join(folder, "executed"))

    whole = pickle.dumps(dump(waiting(4)), protocol=2)
    for text in (whole, as_json(dump(waiting(4))).encode()):
        counts = []
        for part in (0.5, 0.75, 0.9, 1):
            with open(path, "wb") as file:
                file.write(text[:int(len(text) * part)])
            counts.append(column(path, "SELECT count(*) FROM flight_records")[0])
            check(column(path, "SELECT count(*) FROM diagnostics WHERE reason = 'damaged' AND offset > 0"),
                  [int(part < 1)], part)
        assert counts == sorted(counts) and counts[0] and counts[-1] == 4, counts
    odd = [entry(1, sizes=((-1,),)), entry(2, input_sizes=[["x"]]), entry(3, input_sizes=[[2**62, 4]]), 7, {},
           entry(4, process_group=None, collective_seq_id=-5, time_created_ns=-1, state=None, frames=3)]
    with open(path, "wb") as file:
        pickle.dump(dict(dump([]), entries=odd), file, protocol=2)
    check(rows(path, "SELECT number, in_elements, input_shapes FROM flight_records"),
          [(1, None, None), (2, None, None), (3, None, "[[%d,4]]" % 2**62), (None, 8, "[[8]]")], "odd entries")
    with open(os.path.join(folder, "nobody"), "wb") as file:
        pickle.dump(dump(ended(1)), file, protocol=2)
    check(column(os.path.join(folder, "nobody"), "SELECT reason FROM diagnostics"), ["no_rank"], "no rank")
    head = b"\x80\x02}" + word("version") + word("2.5") + b"s" + word("pg_config")
    with open(path, "wb") as file:
        file.write(head + b"c")
    assert "before any entry" in refused(path)
    with open(path, "wb") as file:  # nested far deeper than any stack
        file.write(b'{"entries":[{"collective_seq_id":1,"profiling_name":"a:b","x":' + b"[" * 100000)
    check(column(path, "SELECT count(*) FROM flight_records"), [1], "deep JSON")
    with open(path, "wb") as file:  # the same entries over and over
        file.write(head + b"}s" + word("entries") + b"](}(" + word("profiling_name") + word("x" * 100) + b"uq\x01"
                   + b"h\x01" * 3000000 + b"es.")
    assert "over and over" in column(path, "SELECT message FROM diagnostics WHERE reason = 'limit'")[0]


run_tests(globals())
