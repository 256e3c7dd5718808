#!/usr/bin/env python3
"""test_alignment.py: clocks of ranks on different hosts are brought together, by collectives or by steps.

Traces of four ranks are made whose clocks differ by known amounts; three are opened together.
"""
import json
import os
import random
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from engines import run_tests

SKEWS = {0: 0, 1: 5_000_000_000, 3: -730_000}  # ns by which the rank's clock is ahead
BASE = 1_700_000_000_000_000_000


def trace(rank, skew, host, has_collectives=True, has_broadcasts=False, jitter=2000, slow=None, late=None):
    chance, events, start = random.Random(rank), [], 1_000_000_000
    for step in range(8):
        begin = start + step * 100_000_000
        ends = [begin + 20_000_000 * (k + 1) for k in range(4)]
        wait = chance.randrange(0, 15_000_000)  # the rank comes to the collective at its own pace
        if slow is not None:
            wait = 12_000_000 if rank == slow else 0
        for k, end in enumerate(ends):
            if rank == late and step == k == 0:
                continue
            at = end - 18_000_000 + wait + skew
            dur = end + skew + chance.randrange(-jitter, jitter) - at
            correlation = step * 10 + k + 1
            args = {"device": 0, "stream": 7, "correlation": correlation, "External id": correlation}
            name = "gemm"
            if has_collectives:
                name = "ncclDevKernel_AllReduce"
                args.update({"Collective name": "allreduce", "Process Group Name": "0", "Group size": 4,
                             "In msg nelems": 10, "Out msg nelems": 10, "dtype": "Float"})
            events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9,
                           "ts": (begin + k * 1000 + skew) / 1000, "dur": 0.5, "args": {"correlation": correlation}})
            events.append({"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": at / 1000,
                           "dur": dur / 1000,
                           "args": args})
        for k in range(5 if has_broadcasts else 0):  # everybody leaves them when it is done itself
            events.append({"ph": "X", "cat": "kernel", "name": "ncclDevKernel_Broadcast", "pid": 0, "tid": 8,
                           "ts": (begin + k * 19_000_000 + chance.randrange(9_000_000) + skew) / 1000, "dur": 5000,
                           "args": {"device": 0, "stream": 8, "Collective name": ("broadcast", "send")[k % 2],
                                    "Process Group Name": "0", "Group size": 4, "dtype": "Float"}})
        stop = begin + 99_000_000 + skew + chance.randrange(-jitter, jitter)
        events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 9, "tid": 9,
                       "ts": (begin + skew) / 1000, "dur": (stop - begin - skew) / 1000,
                       "args": {"External id": 1000 + step}})
    return {"distributedInfo": {"rank": rank, "world_size": 4}, "host_name": host, "baseTimeNanoseconds": BASE,
            "traceEvents": events}


def opened(engine, directory, **options):
    hosts = options.pop("hosts", lambda rank: f"node{rank}")
    for rank, skew in SKEWS.items():
        with open(os.path.join(directory, f"rank{rank}.json"), "w") as file:
            json.dump(trace(rank, skew, hosts(rank), **options), file)
    connection = engine()
    connection.values(f"SELECT tfprof_open('{directory}/rank*.json')")
    return connection


def offsets(connection):
    return {rank: (offset, error) for rank, offset, error in connection.values(
        "SELECT rank, clock_offset_ns, clock_error_ns FROM profiles ORDER BY rank")}


def check_offsets(found):
    assert set(found) == set(SKEWS), found
    for rank, (offset, error) in found.items():
        assert error is not None and error <= 4000, found
        assert abs(offset + SKEWS[rank]) <= 4000, found
    assert found[0] == (0, 0), found


def test_collectives(engine):
    with tempfile.TemporaryDirectory(prefix="tfprof-ranks-") as directory:
        connection = opened(engine, directory)
        check_offsets(offsets(connection))
        # Times are read on the common clock.
        rows = connection.values(
            "SELECT max(end_ns) - min(end_ns) FROM (SELECT end_ns, row_number() OVER (PARTITION BY profile_id "
            "ORDER BY end_ns) AS place FROM collectives) GROUP BY place")
        assert len(rows) == 32 and max(rows)[0] < 10000, rows
        missing = connection.values("SELECT count, message FROM diagnostics WHERE reason = 'missing_ranks'")
        assert missing == [(1, "of the 4 ranks of the job 1 are not open: 2")], missing


def test_broadcasts(engine):
    """Operations in which ranks do not wait for each other say nothing about clocks."""
    with tempfile.TemporaryDirectory(prefix="tfprof-ranks-") as directory:
        check_offsets(offsets(opened(engine, directory, has_broadcasts=True)))


def test_late_rank(engine):
    """A rank that was recorded from the second collective on: those of the same step and place are the same still."""
    with tempfile.TemporaryDirectory(prefix="tfprof-ranks-") as directory:
        check_offsets(offsets(opened(engine, directory, late=1)))


def test_steps(engine):
    with tempfile.TemporaryDirectory(prefix="tfprof-ranks-") as directory:
        check_offsets(offsets(opened(engine, directory, has_collectives=False)))


def test_stragglers(engine):
    with tempfile.TemporaryDirectory(prefix="tfprof-ranks-") as directory:
        rows = opened(engine, directory, slow=3).values(
            "SELECT rank, count, round(metric, 2), round(late_ns / 1e6), step_count FROM late_ranks")
        # The others come 12 ms earlier to each of four collectives in each of eight steps of 99 ms.
        assert rows[0] == (3, 8, 0.48, 384.0, 8) and len(rows) == 3, rows
        assert all(row[1] == 0 and row[3] < 1 for row in rows[1:]), rows


def test_waits(engine):
    """What a rank waits in a collective is how much longer it is in it than the one that is in it shortest; of one rank
    alone that is not known."""
    with tempfile.TemporaryDirectory(prefix="tfprof-ranks-") as directory:
        connection = opened(engine, directory, slow=3, has_broadcasts=True)
        spans, least = {}, {}
        for one, rank, step, start, dur, name in connection.values(
                "SELECT c.id, p.rank, s.number, c.start_ns, c.dur_ns, c.name FROM collectives AS c "
                "JOIN profiles AS p ON p.id = c.profile_id LEFT JOIN steps AS s ON s.id = c.step_id "
                "ORDER BY c.start_ns"):
            spans.setdefault((rank, step, name), []).append((one, dur))
        for (_, step, name), found in spans.items():
            for place, (_, dur) in enumerate(found):
                key = step, name, place
                least[key] = min(dur, least.get(key, dur))
        wanted = sorted((one, dur, least[step, name, place], dur - least[step, name, place])
                        for (_, step, name), found in spans.items() if name != "send"
                        for place, (one, dur) in enumerate(found))
        rows = connection.values(
            "SELECT collective_id, dur_ns, transfer_ns, waiting_ns FROM collective_waits "
            "WHERE name <> 'send' ORDER BY 1")
        assert len(rows) > 100 and rows == wanted, (rows[:4], wanted[:4])
        rows = connection.values("SELECT count(*), count(waiting_ns) FROM collective_waits WHERE name = 'send'")
        assert rows == [(48, 0)], rows
        # Of four collectives a step of 99 ms, each 6 ms after the last rank comes; the others come 12 ms earlier.
        for rank, transfer, waiting in connection.values(
                "SELECT rank, sum(transfer_ns) / 32e6, (sum(sum_ns) - sum(transfer_ns)) / 32e6 FROM collective_summary "
                "WHERE name = 'all_reduce' GROUP BY 1"):
            assert abs(transfer - 6) < 0.1 and abs(waiting - (0 if rank == 3 else 12)) < 0.1, (rank, transfer, waiting)
        for rank, both, parts, waiting in connection.values(
                "SELECT rank, overlap_ns + communication_ns, transfer_ns + waiting_ns, waiting_ns "
                "FROM tb_distributed_summary"):
            assert abs(both - parts) <= 3, (rank, both, parts)
            assert waiting < 25e6 if rank == 3 else waiting > 40e6, (rank, waiting)
        alone = engine()
        alone.values(f"SELECT tfprof_open('{directory}/rank0.json')")
        rows = alone.values(
            "SELECT count(*), count(transfer_ns), count(waiting_ns), max(rank_count) FROM collective_waits")
        assert rows == [(72, 0, 0, 1)], rows
        rows = alone.values("SELECT communication_ns > 0, transfer_ns, waiting_ns FROM tb_distributed_summary")
        assert rows == [(1, None, None)], rows


def trace_of_host(rank, pause):
    """Two steps; two all_reduces queued at once, after a pause of rank 1, then a send to it and a step of its own."""
    def mark(name, start, end):
        return {"ph": "X", "cat": "user_annotation", "name": name, "pid": 9, "tid": 12, "ts": start, "dur": end - start,
                "args": {"External id": start + rank}}

    events = []
    for number in (1, 2):
        begin = number * 1000
        entered = begin + 100 + pause
        events += [mark(f"ProfilerStep#{number}", begin, begin + 900), mark("gloo:all_reduce", entered, begin + 400),
                   mark("gloo:all_reduce", entered + 10, begin + 450),
                   mark(("gloo:send", "gloo:recv")[rank], begin + 500, begin + 510 + 300 * rank)]
    return {"schemaVersion": 1, "distributedInfo": {"rank": rank, "world_size": 2}, "traceEvents": events}


def test_stragglers_on_hosts(engine):
    """Gloo runs no kernels: marks tell who is waited for, of operations that were queued
    together once, of sends never."""
    with tempfile.TemporaryDirectory(prefix="tfprof-ranks-") as directory:
        for rank, pause in ((0, 0), (1, 250)):
            with open(os.path.join(directory, f"rank{rank}.json"), "w") as file:
                json.dump(trace_of_host(rank, pause), file)
        connection = engine()
        connection.values(f"SELECT tfprof_open('{directory}/rank*.json')")
        rows = connection.values("SELECT rank, count, round(metric, 4), late_ns, step_count FROM late_ranks")
        assert rows == [(1, 2, round(250 / 900, 4), 500_000, 2), (0, 0, 0.0, 0, 2)], rows


def test_small_offsets(engine):
    """A skew that is too small to be told from what ranks differ by stays, and is part of the error."""
    kept = dict(SKEWS)
    SKEWS.update({1: 8_000, 3: -25_000})
    with tempfile.TemporaryDirectory(prefix="tfprof-ranks-") as directory:
        for jitter in (10, 20_000):
            found = offsets(opened(engine, directory, jitter=jitter))
            assert found[1][0] == 0 and 8_000 - jitter <= found[1][1] <= 8_000 + 3 * jitter, (jitter, found)
            assert abs(found[3][0] - 25_000) + found[3][1] <= 25_000 + 3 * jitter, (jitter, found)
            for rank, (offset, error) in found.items():
                assert abs(offset + SKEWS[rank]) <= error + jitter, (jitter, found)
    SKEWS.update(kept)


def test_one_host(engine):
    """Ranks of one host have one clock: what differs is theirs."""
    with tempfile.TemporaryDirectory(prefix="tfprof-ranks-") as directory:
        found = offsets(opened(engine, directory, hosts=lambda rank: "node"))
        assert all(offset == 0 for offset, _ in found.values()), found


def test_nothing_in_common(engine):
    """Differences all over the place are no skew."""
    with tempfile.TemporaryDirectory(prefix="tfprof-ranks-") as directory:
        SKEWS[1], kept = 40_000_000, SKEWS[1]
        found = offsets(opened(engine, directory, jitter=30_000_000))
        SKEWS[1] = kept
        assert found[1][0] == 0 and found[1][1] > 10_000_000, found


if __name__ == "__main__":
    run_tests(sys.modules[__name__])
