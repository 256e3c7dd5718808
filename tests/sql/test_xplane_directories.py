#!/usr/bin/env python3
"""test_xplane_directories.py: which XSpaces of a directory are opened: the newest run, each host once."""

import gzip
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import xplane_files as files
from asking import check, column, query, rows, run_tests
from xplane_files import written


def test_directories(directory):
    """A run of several hosts, a log directory, what XProf leaves beside them."""
    for run, name in (("2024_01_01_00_00_00", "old"), ("2025_01_01_00_00_00", "a"), ("2025_01_01_00_00_00", "b")):
        path = written(directory, files.example(), f"plugins/profile/{run}/{name}.xplane.pb")
        if name == "old":
            os.utime(path, (1, 1))
    newest = os.path.join(directory, "plugins", "profile", "2025_01_01_00_00_00")
    for name in ("ALL_HOSTS.op_stats_v2.pb", "a.SSTABLE", "a.metadata.SSTABLE", "a.trie.SSTABLE"):
        written(newest, b"\x0a\x03abc" * 100, name)
    plugins = os.path.join(directory, "plugins")
    for path in (newest, directory, plugins, os.path.join(plugins, "profile")):
        check(sorted(os.path.basename(each) for each in column(path, "SELECT path FROM profiles")),
              ["a.xplane.pb", "b.xplane.pb"], path)
    # JAX writes a trace for Chrome's viewer beside each: the same events, without their stats.
    trace = gzip.compress(json.dumps({"displayTimeUnit": "ns", "metadata": {"highres-ticks": True}, "traceEvents": [
        {"ph": "X", "pid": 1, "tid": 1, "ts": 1.0, "dur": 5.0, "name": "f"}]}).encode())
    copy = written(newest, trace, "a.trace.json.gz")
    alone = written(newest, trace, "c.trace.json.gz")
    check(sorted(os.path.basename(each) for each in column(directory, "SELECT path FROM profiles")),
          ["a.xplane.pb", "b.xplane.pb", "c.trace.json.gz"], "copies are left alone")
    check(column(directory, "SELECT tfprof_refresh()"), [0], "also by a refresh")
    check(column(copy, "SELECT format FROM profiles"), ["chrome"], "whoever names it wants it")
    os.remove(alone)
    shutil.rmtree(os.path.join(directory, "plugins"))
    written(directory, files.example(), "train/plugins/profile/2025_01_01_00_00_00/a.xplane.pb")
    check(column(directory, "SELECT count(*) FROM profiles"), [1], "below train")


def test_newest_run(directory):
    """Of a directory the newest run is opened, wherever it lies and whatever lies on top; what is left out is told."""
    def run(name, path, when, data=None):
        os.utime(written(os.path.join(directory, name), data or files.example(), path), (when, when))

    def opened(name):
        top = os.path.join(directory, name)
        told = {row["reason"]: row["message"] for row in query(top, "SELECT reason, message FROM diagnostics")}
        return sorted(os.path.relpath(each, top) for each in column(top, "SELECT path FROM profiles")), told

    stamp = "plugins/profile/2026_01_01_00_00_%02d/%s.xplane.pb"
    trace = json.dumps({"traceEvents": [{"ph": "X", "pid": 1, "tid": 1, "ts": 1.0, "dur": 5.0, "name": "f"}]}).encode()
    with open(os.path.join(os.path.dirname(__file__), "..", "fuzz", "corpus", "pprof", "example.pprof"), "rb") as file:
        heap = file.read()
    # At any depth, and by the time in the name, which copying does not change.
    run("deep", "a/b/c/d/" + stamp % (9, "vm"), 100)
    run("deep", stamp % (8, "vm"), 200)
    check(opened("deep")[0], ["a/b/c/d/" + stamp % (9, "vm")], "deep")
    assert "2 runs" in opened("deep")[1]["older_runs"], opened("deep")
    # What holds nothing that happened hides nothing; of runs the newer one counts, on top or below.
    run("heap", "memory.prof", 300, heap)
    run("heap", "train/" + stamp % (1, "vm"), 100)
    found, told = opened("heap")
    check(found, ["train/" + stamp % (1, "vm")], "below a memory profile")
    assert "memory.prof" in told["left_out"], told
    for when, expected in ((50, "train/" + stamp % (1, "vm")), (150, "old.json")):
        run("json", "old.json", when, trace)
        run("json", "train/" + stamp % (1, "vm"), 100)
        found, told = opened("json")
        check(found, [expected], "a trace on top")
        assert ("left_out" in told) == (when < 100) and ("older_runs" in told) == (when > 100), told
    # Each host in a directory of its own time, each rank in one of its own: one run.
    for host, second in (("a", 1), ("b", 3), ("c", 2)):
        run("hosts", stamp % (second, host), 100)
    run("hosts", stamp % (0, "a"), 100)
    found, told = opened("hosts")
    check(found, [stamp % (1, "a"), stamp % (2, "c"), stamp % (3, "b")], "hosts")
    assert "3 directories" in told["joined_directories"] and "older_runs" in told, told
    for step in (10, 20):
        for rank in range(2):
            run("ranks", f"iteration_{step}/rank{rank}/x.pt.trace.json", step, trace)
    check(opened("ranks")[0], [f"iteration_20/rank{rank}/x.pt.trace.json" for rank in range(2)], "ranks")


def test_runs_and_hosts(directory):
    """Hosts of one job go on together, whatever their clocks say within an hour; the second run of a host is another
    recording, and a window of the process where the pid says so.  Without a time in the file the directory has it."""
    second, day = 10**9, 86400 * 10**9

    def run(name, path, start, host, pid=0):
        events = [event for i in range(3) for event in (
            files.event("train", 50_000_000 * i, 40_000_000, _r=1, step_num=i + 10),
            files.event("mul:Mul", 50_000_000 * i + 1000, 9_000_000, id=5))]
        facts = {"process_id": files.Unsigned(pid)} if pid else {}
        if start:
            facts.update(profile_start_time=files.Unsigned(1_700_000_000 * second + start),
                         profile_stop_time=files.Unsigned(1_700_000_000 * second + start + second // 5))
        data = files.space(files.plane("/host:CPU", [files.line(7, "main", events)]),
                           files.plane("Task Environment", [], facts), host=host)
        written(os.path.join(directory, name), data, path)

    def sessions(pattern):
        return rows(os.path.join(directory, pattern), """SELECT host, process_id, window, session_id, session_count
            FROM _process_windows JOIN profiles ON profiles.id = _process_windows.profile_id ORDER BY path""")
    run("job", "a.xplane.pb", second, "a")
    run("job", "b.xplane.pb", 700 * second, "b")
    check(sessions("job"), [("a", 1, 0, 1, 2), ("b", 2, 0, 1, 2)], "hosts")
    check(column(os.path.join(directory, "job"), "SELECT count(pod_step) FROM xprof_pod_steps"), [6], "steps of hosts")
    for name, host in (("one", "a"), ("two", "b")):  # of two days
        run(name, "mon.xplane.pb", second, "a")
        run(name, "tue.xplane.pb", day, host)
        check(sessions(name), [("a", 1, 0, 1, 1), (host, 2, 0, 2, 1)], name)
        check(column(os.path.join(directory, name), "SELECT count(pod_step) FROM xprof_pod_steps"), [0], name)
    stamp = "plugins/profile/2026_01_%02d_00_00_00/%s.xplane.pb"
    for i in (1, 2):
        for host in "ab":
            run("windows", stamp % (i, host), 10 * i * second, host, ord(host))
            run("old", stamp % (i, host), 0, host)
            run("strangers", stamp % (i, "ab"[i - 1]), 0, "ab"[i - 1])
    check(sessions("windows/plugins/profile/*/*.pb"),
          [("a", 1, 0, 1, 2), ("b", 2, 0, 1, 2), ("a", 1, 1, 3, 2), ("b", 2, 1, 3, 2)], "windows")
    check(column(os.path.join(directory, "windows/plugins/profile/*/*.pb"), "SELECT name FROM _process_names")[::2],
          ["process 97, window 1 of 2", "process 97, window 2 of 2"], "names")
    check(sessions("old/plugins/profile/*/*.pb"),
          [("a", 1, 0, 1, 2), ("b", 2, 0, 1, 2), ("a", 3, 0, 3, 2), ("b", 4, 0, 3, 2)], "by directories")
    check(sessions("strangers/plugins/profile/*/*.pb"), [("a", 1, 0, 1, 1), ("b", 2, 0, 2, 1)], "strangers")


def test_hosts_that_are_packed(directory):
    """Files of hosts that are packed, under both names, are read; what is there twice counts once; a link to nowhere
    is told."""
    data = files.example()
    for name, expected in (("a.xplane.pb", 1), ("b.xplane.pb.gz", 2), ("c.xplane.pb", 3), ("b.xplane.pb", 3)):
        packed = data if name in ("a.xplane.pb", "b.xplane.pb") else gzip.compress(data)
        written(directory, packed, name)
        check(column(directory, "SELECT count(*) FROM profiles"), [expected], name)
    ops = [rows(os.path.join(directory, name), "SELECT name, category, start_ns, dur_ns, attributes FROM ops")
           for name in ("a.xplane.pb", "b.xplane.pb.gz", "c.xplane.pb")]
    assert ops[0] and ops[0] == ops[1] == ops[2], "packed or not"
    check(column(os.path.join(directory, "b.xplane.pb.gz"), "SELECT complete FROM profiles"), [1], "complete")
    assert "b.xplane.pb.gz" in column(directory, "SELECT message FROM diagnostics WHERE reason = 'copies'")[0]
    written(directory, gzip.compress(data)[:-20], "cut.xplane.pb.gz")
    check(column(os.path.join(directory, "cut.xplane.pb.gz"), "SELECT complete FROM profiles"), [0], "cut")
    os.symlink("/nowhere/d.xplane.pb", os.path.join(directory, "d.xplane.pb"))
    assert "d.xplane.pb" in column(directory, "SELECT message FROM diagnostics WHERE reason = 'unopened_file'")[0]
    written(directory, gzip.compress(b'{"traceEvents": [{"ph": "X", "pid": 1, "ts": 1, "dur": 1, "name": "f"}]}'),
            "perfetto_trace.json.gz")
    check(column(directory, "SELECT count(*) FROM profiles WHERE format <> 'xplane'"), [0], "a copy for Perfetto")


def test_host_that_is_lost(directory):
    """Of a run one host's file is empty, and another's is cut off: the others are there, and both are told."""
    data = files.example()
    for name, part in (("a", data), ("b", b""), ("c", data[:len(data) - 40])):
        written(directory, part, f"plugins/profile/2025_01_01_00_00_00/{name}.xplane.pb")
    check([os.path.basename(path) for path in column(directory, "SELECT path FROM profiles ORDER BY path")],
          ["a.xplane.pb", "c.xplane.pb"], "profiles")
    told = rows(directory, "SELECT reason, file, message FROM diagnostics "
                           "WHERE severity = 'error' AND reason <> 'recorded'")
    check(sorted(reason for reason, _, _ in told), ["truncated", "unopened_file"], "told")
    assert all(("c." if reason == "truncated" else "b.") + "xplane.pb" in file + message
               for reason, file, message in told), told


def test_servers(directory):
    """Profiler servers of programs on one host: without a pid told apart by their addresses, recorded together; what
    one of them sends later is a window of it."""
    start, second = 1_700_000_000_000_000_000, 1_000_000_000
    for address, later in (("10.0.0.1_6009", 0), ("10.0.0.1_6010", 1000), ("10.0.0.1_6009-2", 20 * second)):
        calls = [files.event("EagerLocalExecute: __inference_step_7", i * 10**9, 9 * 10**8) for i in range(8)]
        times = {"profile_start_time": files.Unsigned(start + later),
                 "profile_stop_time": files.Unsigned(start + later + second // 100)}
        written(directory, files.space(files.plane("/host:CPU", [files.line(7, "python", calls)]),
                                       files.plane("Task Environment", [], times), host="vm"),
                address + ".server.xplane.pb")
    names = rows(directory, "SELECT name, host, rank FROM _process_names")
    first, again, other = ("server 10.0.0.1:6009, window 1 of 2", "server 10.0.0.1:6009, window 2 of 2",
                           "server 10.0.0.1:6010")
    check(sorted(names), [(name, "vm", None) for name in (first, again, other)], "names")
    check(rows(directory, "SELECT name, window, window_count, session_count FROM _process_windows JOIN _process_names "
                          "USING (profile_id) ORDER BY name"), [(first, 0, 2, 2), (again, 1, 2, 1), (other, 0, 1, 2)],
          "windows")
    check(column(directory, "SELECT count(DISTINCT profile_id) FROM xprof_pod_steps WHERE pod_step "
                            "= 3"), [2], "xprof_pod_steps")
    # A name that is none of an address is left alone.
    path = written(directory, files.space(files.plane("/host:CPU", []), host="vm"), 'other/a"b_1.server.xplane.pb')
    check(column(path, "SELECT attributes FROM profiles"), [None], "another name")


def test_processes_of_jax(directory):
    """Ranks of a job of JAX on CPUs, by the numbers of its devices, where these tell all of its processes."""
    def space(ordinal, start):
        events = [files.event(f"dot.{i}", i * 10**9, 10**8, _src="x.cc") for i in range(3)]
        if ordinal is not None:
            events.append(files.event("all-reduce", 10**10, 10**8, hlo_op="all-reduce", device_ordinal=ordinal))
        call = files.line(7, "python", [files.event("PjitFunction(f)", 0, 10**9)])
        return files.space(files.plane("/host:metadata", [], {"jax_version": "0.10.2"}),
                           files.plane("/host:CPU", [call, files.line(8, "tf_XLAPjRtCpuClient/-12", events)]),
                           files.plane("Task Environment", [], {"profile_start_time": files.Unsigned(start)}))

    for name, ordinals, ranks in (("all", (4096, 0, 2048), [2, 0, 1]), ("again", (0, 2049, 1), [0, 1, 0]),
                                  ("alone", (0,), [None]), ("some", (2048, 4096), [None] * 2),
                                  ("otherwise", (0, 131072), [None] * 2), ("none", (None, 0), [None] * 2),
                                  ("large", (0, 2**62), [None] * 2)):
        for i, ordinal in enumerate(ordinals):
            written(directory, space(ordinal, 1_700_000_000_000_000_000 + i), f"{name}/h_{i + 1}.server.xplane.pb")
        run = os.path.join(directory, name)
        check(column(run, "SELECT rank FROM profiles ORDER BY path"), ranks, name)
    copy = os.path.join(directory, "copy")
    query(os.path.join(directory, "all"), f"SELECT tfprof_save('{copy}')")
    check(sorted(column(copy, "SELECT rank FROM profiles")), [0, 1, 2], "a saved copy")


if __name__ == "__main__":
    run_tests(globals())
