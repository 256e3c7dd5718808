#!/usr/bin/env python3
"""What CUPTI tells is in the tables: each record a row, whatever version of CUPTI, and with the links that questions
need. On the doubles (doubles/), by play.c."""

import os

import playing
from capturing import Directory, dumps  # found by playing

WORK = ["kernels=500", "copies=12", "peers=3", "graphs=4x6", "syncs=5", "memory=7", "overheads=3", "pools=2", "idle=20"]


def test_versions():
    """Of each version all records, whose fields are where that version has them."""
    for version in playing.VERSIONS:
        with Directory() as directory:
            run = os.path.join(directory, "run")
            jits = ["jits=2"] if version != "11.8" else []
            taken, (dump,), error = playing.play(run, WORK + jits + ["return"], version)
            assert taken["kernels"] == 524 and taken["copies"] == 9 and taken["syncs"] == 10, taken
            if version in ("11.8", "12.4"):  # cudaGetDevice cannot be left out there by CUPTI, and is by us
                taken["runtime"] -= 20
            playing.check_rows(taken, dump)
            assert dump["closed"] and not dump["problems"] or version, dump
            (kernel,) = playing.query(run, """
                SELECT name, count(*) AS count, sum(api_call_id IS NULL) AS loose, min(launch_delay_ns) AS delay,
                       sum(dur_ns) AS total, max(grid_x) AS grid, max(registers_per_thread) AS registers,
                       max(cluster_x) AS cluster, max(priority) AS priority, count(DISTINCT thread_id) AS streams
                FROM kernels WHERE name = 'ncclDevKernel_AllReduce' AND graph_node IS NULL""")
            # 62 rounds of eight kernels, and four of the last.
            assert (kernel["count"], kernel["loose"], kernel["delay"]) == (63, 0, 3000), (version, kernel)
            assert (kernel["grid"], kernel["registers"], kernel["streams"]) == (1024, 64, 1), (version, kernel)
            assert kernel["cluster"] == 2, (version, kernel)
            assert kernel["priority"] == (-1 if version == "13.5" else None), (version, kernel)


def test_links():
    """Kernels, copies and waits know their calls; kernels of graphs their launch; waits the kernel waited for."""
    with Directory() as directory:
        run = os.path.join(directory, "run")
        playing.play(run, WORK + ["return"])
        rows = playing.query(run, """
            SELECT (SELECT count(*) FROM kernels WHERE api_call_id IS NULL) AS kernels,
                   (SELECT count(*) FROM transfers WHERE api_call_id IS NULL) AS transfers,
                   (SELECT count(*) FROM graph_launches WHERE kernel_count = 6) AS graphs,
                   (SELECT count(*) FROM kernels WHERE graph_launch_id IS NOT NULL) AS nodes,
                   (SELECT count(*) FROM syncs WHERE waits_on_kernel_id IS NULL) AS waits,
                   (SELECT count(*) FROM kernels WHERE theoretical_occupancy_ratio IS NULL) AS occupancy,
                   (SELECT count(*) FROM kernel_configurations) AS forms,
                   (SELECT group_concat(DISTINCT name) FROM api_calls WHERE name LIKE '%GetDevice%') AS idle""")
        assert rows == [{"kernels": 0, "transfers": 0, "graphs": 4, "nodes": 24, "waits": 0, "occupancy": 0,
                         "forms": 8, "idle": None}], rows
        (device,) = playing.query(run, "SELECT * FROM devices WHERE ordinal = 0 AND kind = 'gpu'")
        assert device["model"] == "NVIDIA Double 0" and device["multiprocessor_count"] == 132, device
        assert device["compute_capability"] == "9.0" and device["memory_bytes_per_second"] == 3352320000000, device
        peaks = playing.query(run, "SELECT dtype, flops_per_second AS rate FROM device_peaks WHERE device_id = %d"
                              % device["id"])
        assert {row["dtype"]: row["rate"] for row in peaks}["bfloat16"] == 132 * 1.98e9 * 4096, peaks
        names = playing.query(run, "SELECT DISTINCT short_name AS name FROM kernels WHERE name LIKE 'void%' ORDER BY 1")
        assert [row["name"] for row in names] == ["at::native::gemm", "softmax"], names


def test_nested_calls():
    """Where CUPTI records the runtime's calls of the driver as well, a launch is one row, that of the program's call,
    and counts once; a program that calls the driver has its calls."""
    with Directory() as directory:
        run = os.path.join(directory, "run")
        words = ["threads=2", "nested=200", "joined", "kernels=16", "return"]
        taken, (dump,), _ = playing.play(run, words)
        assert (taken["runtime"], taken["driver"], taken["kernels"]) == (415, 401, 416), taken
        rows = playing.query(run, """
            SELECT name, domain, count(*) AS count, count(DISTINCT correlation) AS launches,
                   min(dur_ns) AS shortest, max(dur_ns) AS longest,
                   (SELECT count(*) FROM kernels WHERE api_call_id IN
                      (SELECT id FROM api_calls AS these WHERE these.name = api_calls.name)) AS kernels
            FROM api_calls GROUP BY 1, 2 ORDER BY 3""")
        assert rows == [
            {"name": "cuLaunchKernel", "domain": "driver", "count": 1, "launches": 1, "shortest": 2000,
             "longest": 2000, "kernels": 1},
            {"name": "cudaLaunchKernel", "domain": "runtime", "count": 415, "launches": 415, "shortest": 2000,
             "longest": 2000, "kernels": 415}], rows
        summary = playing.query(run, "SELECT name, count FROM api_summary ORDER BY count")
        assert [(row["name"], row["count"]) for row in summary] == [("cuLaunchKernel", 1), ("cudaLaunchKernel", 415)]


def test_trace_words():
    """Only what is asked for is recorded."""
    asked = WORK + ["unified=4", "environment=3", "return"]
    for words, tables in (("kernels", {"kernels"}), ("memory", {"transfers", "memory_events"}),
                          ("api,sync", {"api_calls", "syncs"}), ("graphs", {"graph_launches"}),
                          ("unified,environment", {"page_migrations"})):
        with Directory() as directory:
            # What is asked for once the driver is initialised is on when it has been fetched once.
            _, (dump,), error = playing.play(os.path.join(directory, "run"), ["sleep=300"] + asked, TFPROF_TRACE=words)
            seen = {name for name in list(playing.TABLES) + ["graph_launches"] if dump["rows"].get(name)}
            assert seen == tables, (words, dump["rows"])
    with Directory() as directory:
        taken, (dump,), _ = playing.play(os.path.join(directory, "run"), asked, TFPROF_TRACE="none")
        assert not any(taken.values()) and "kernels" not in dump["rows"], dump


def test_latency():
    """When kernels were queued and submitted, where that is asked for."""
    for words, told in (("kernels,latency", 20), ("kernels", 0)):
        with Directory() as directory:
            run = os.path.join(directory, "run")
            playing.play(run, ["kernels=20", "return"], options=["--trace=" + words])
            (row,) = playing.query(run, """
                SELECT count(*) AS all_of_them, sum(start_ns - queued_ns BETWEEN 2999 AND 3001) AS queued,
                       sum(start_ns - submitted_ns BETWEEN 999 AND 1001) AS submitted,
                       count(queued_ns) + count(submitted_ns) AS told FROM kernels""")
            assert (row["all_of_them"], row["told"]) == (20, 2 * told), row
            assert (row["queued"] or 0, row["submitted"] or 0) == (told, told), row


def test_topology():
    """Connections of devices, and what they measure of themselves."""
    for version in ("13.0", "13.5"):
        with Directory() as directory:
            run = os.path.join(directory, "run")
            words = ["wait", "links=1", "environment=2", "return"]
            playing.play(run, words, version, TFPROF_TRACE="kernels,environment")
            rows = playing.query(run, """
                SELECT links.kind, a.ordinal AS one, b.ordinal AS other, bytes_per_second AS rate FROM links
                JOIN devices AS a ON a.id = device_id LEFT JOIN devices AS b ON b.id = peer_device_id ORDER BY 1""")
            assert rows == [{"kind": "nvlink", "one": 0, "other": 1, "rate": 450000000000},
                            {"kind": "pcie", "one": 0, "other": None, "rate": 63015384608}], (version, rows)
            power = playing.query(run, "SELECT value, unit, device_id FROM counters WHERE name = 'cupti_power'")
            assert [(row["value"], row["unit"]) for row in power] == [(250, "W")] * 2, power


def test_instances():
    """Devices that are instances of MIG have their own numbers; links are between whole ones."""
    for settings, uuid in (({}, "GPU-a0a0a0a0-"), ({"DOUBLE_MIG": 1}, "MIG-b0b0b0b0-")):
        with Directory() as directory:
            run = os.path.join(directory, "run")
            playing.play(run, ["wait", "links=1", "kernels=10", "return"], **settings)
            rows = playing.query(run, """
                SELECT json_extract(devices.attributes, '$.uuid') AS uuid, count(*) AS kernels FROM kernels
                JOIN threads ON threads.id = thread_id JOIN devices ON devices.id = threads.device_id GROUP BY 1""")
            assert [(row["uuid"][:13], row["kernels"]) for row in rows] == [(uuid, 12)], rows
            (links,) = playing.query(run, "SELECT count(peer_device_id) AS count FROM links WHERE kind = 'nvlink'")
            assert links["count"] == 1, links


def test_names():
    """Streams and devices that the program names by NVTX are called so."""
    for version in playing.VERSIONS:
        with Directory() as directory:
            run = os.path.join(directory, "run")
            playing.play(run, ["names", "wait", "kernels=10", "links=1", "return"], version)
            rows = playing.query(run, "SELECT stream, name FROM threads WHERE kind = 'stream' ORDER BY 1")
            assert rows == [{"stream": 7, "name": "of compute"}, {"stream": 8, "name": "of copies"}], (version, rows)
            rows = playing.query(run, "SELECT json_extract(attributes, '$.name') AS name FROM devices "
                                      "WHERE kind = 'gpu' ORDER BY ordinal")
            assert rows == [{"name": None}, {"name": 'the "second" \\  one'}], (version, rows)


def test_late_names():
    """Names that come when rows are there already, again and again, also of a program that is killed; all that was
    named, with the numbers that other tables have."""
    for end, status in (("return", 0), ("kill", -9)):
        with Directory() as directory:
            run = os.path.join(directory, "run")
            looks = ("SELECT 1 FROM kernels WHERE id % 10 = 9", "SELECT 1 FROM given_names WHERE name = 'of copies'",
                     "SELECT 1 FROM given_names WHERE name = 'player 2'")
            words = ["kernels=10", "input", "names", "input", "names", "input", end]
            with playing.started(run, words) as process:
                for look in looks:
                    process.stdout.readline()
                    playing.wait_until(lambda: dumps(run) and playing.query(run, look), look)  # noqa: B023
                    process.stdin.write("x\n")
                    process.stdin.flush()
                process.communicate(timeout=120)
            assert process.returncode == status, (end, process.returncode)
            rows = playing.query(run, "SELECT kind, stream, name FROM threads ORDER BY kind, stream")
            assert [row["name"] for row in rows] == ["player 2", "of compute", "of copies again"], rows
            rows = playing.query(run, "SELECT kind, name, handle, context, stream FROM given_names ORDER BY id")
            last = {(row["kind"], row["handle"]): (row["name"], row["context"], row["stream"]) for row in rows}
            tid = playing.query(run, "SELECT tid FROM threads WHERE kind = 'host'")[0]["tid"]
            assert last == {("thread", tid): ("player 2", None, None),
                            ("device", 1): ('the "second" \\\n one', None, None),
                            ("stream", 56): ("of compute", 1, 7), ("stream", 64): ("of copies again", 1, 8),
                            ("stream", 1): ("none", None, None), ("context", 0x4000): ("the context", 1, None),
                            ("event", 0x5000): ("the event", None, None)}, last
            assert [row["name"] for row in rows if row["handle"] == 64] == ["of copies", "of copies again"], rows


def test_unified():
    """Counters of unified memory are on for each device, whichever of them this CUPTI knows."""
    for version in ("11.8", "13.0"):
        with Directory() as directory:
            run = os.path.join(directory, "run")
            taken, (dump,), _ = playing.play(run, ["wait", "unified=16", "return"], version,
                                             TFPROF_TRACE="kernels,unified")
            assert taken["unified"] == dump["rows"]["page_migrations"] == 16, (version, taken, dump)
            rows = playing.query(run, """
                SELECT ordinal, count(*) AS count FROM page_migrations JOIN devices ON devices.id = target_device_id
                WHERE page_migrations.kind = 'HtoD' GROUP BY 1 ORDER BY 1""")
            assert rows == [{"ordinal": 0, "count": 2}, {"ordinal": 1, "count": 2}], (version, rows)


def test_unified_too_short():
    """A program may end before its devices are known: the next one that does so tells that nothing was counted."""
    tries = 50
    for number in range(tries):
        with Directory() as directory:
            run = os.path.join(directory, "run")
            playing.play(run, ["return"], TFPROF_TRACE="kernels,unified")
            told = [row["message"] for row in playing.messages(run) if "unified memory" in row["message"]]
            assert all("the program ended before its devices were known" in message for message in told), told
            if told:
                return
    raise AssertionError(f"{tries} programs lived long enough")


def test_bad_records():
    """What cannot be is counted and told; what is good stays."""
    with Directory() as directory:
        run = os.path.join(directory, "run")
        words = ["kernels=100", "unknown=3", "timeless=2", "reversed=4", "early=5", "cut=2", "kernels=100", "return"]
        taken, (dump,), _ = playing.play(run, words)
        # Of the two that are cut off nothing can be read.
        assert dump["rows"]["kernels"] == 100 + 2 + 4 + 5 + 100 and dump["closed"], dump
        told = {row["message"]: row["count"] for row in playing.messages(run)}
        for part, count in (("kinds that are not known were left out: kind 63", 3), ("have no times", 2),
                            ("end before they begin", 4), ("before the call that launched them", 5), ("cut off", 2)):
            assert [told[text] for text in told if part in text] == [count], (part, told)
        (nulls,) = playing.query(run, """
            SELECT sum(start_ns IS NULL) AS starts, sum(dur_ns IS NULL) AS durs FROM kernels""")
        assert nulls == {"starts": 2, "durs": 6}, nulls


def test_numbers_and_clock():
    """Numbers of calls that begin anew, and a clock that is set, back and forth."""
    with Directory() as directory:
        run = os.path.join(directory, "run")
        words = ["correlation=4294967200", "kernels=300", "return"]
        playing.play(run, words)
        (row,) = playing.query(run, """
            SELECT count(DISTINCT correlation) AS n, count(api_call_id) AS calls, max(launch_delay_ns) AS delay
            FROM kernels""")
        assert row == {"n": 300, "calls": 300, "delay": 3000}, row
    with Directory() as directory:
        run = os.path.join(directory, "run")
        words = ["kernels=10", "wait", "clock=-3600000", "wait", "wait", "clock=7200000", "wait", "wait", "kernels=10",
                 "return"]
        playing.play(run, words, DOUBLE_CLOCK="fixed")
        (told,) = [row for row in playing.messages(run) if "was set" in row["message"]]
        assert "(2 times)" in told["message"] and told["count"] >= 2, told  # of each wait one kernel and its call
        (row,) = playing.query(run, """
            SELECT max(start_ns) - (SELECT max(time_ns) FROM counters) AS last,
                   (SELECT max(start_ns) FROM kernels WHERE correlation <= 10)
                     - (SELECT min(time_ns) FROM counters) AS first
            FROM kernels""")
        assert abs(row["last"]) < 60e9 and abs(row["first"]) < 60e9, row


def test_clocks_of_others():
    """Another one makes CUPTI count ticks: what it records then has no times; CUPTI is told again, once, and the rest
    has, by CUPTI's own clock too."""
    for mode in ("told", "hidden", "heads"):
        with Directory() as directory:
            run = os.path.join(directory, "run")
            words = ["kernels=10", "wait", "ticks", "kernels=10", "wait", "wait", "wait", "kernels=10", "return"]
            settings = {"heads": {"DOUBLE_HEADS": 1}, "hidden": {"DOUBLE_CLOCK": mode}}.get(mode, {})
            playing.play(run, words, **settings)
            rows = playing.query(run, """
                SELECT start_ns, dur_ns, start_ns - (SELECT start_ns FROM profiles) AS since, launch_delay_ns AS delay
                FROM kernels ORDER BY correlation""")
            lost = [row for row in rows if row["start_ns"] is None]
            assert len(rows) >= 30 + 4 and 10 <= len(lost) <= 10 + 3, (mode, rows)  # each wait has one kernel at least
            assert all(row["dur_ns"] is None for row in lost) and rows[-10]["start_ns"], (mode, rows)
            for row in rows:
                assert row in lost or (1498 <= row["dur_ns"] <= 2102 and 0 < row["since"] < 60e9), (mode, row)
            of_own = [row for row in rows if row not in lost and row["delay"] != 3000]
            # It was told again twice, by the other one and by us: one head, with its call in ticks, and two.
            assert len(of_own) <= 3 * (mode == "heads"), (mode, rows)
            told = [row["count"] for row in playing.messages(run)
                    if "neither the recorder's nor its own" in row["message"]]
            calls = len(lost) + sum(row["delay"] is None for row in of_own)
            assert told == [len(lost) + calls], (mode, playing.messages(run))


playing.main(globals())
