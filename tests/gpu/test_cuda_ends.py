#!/usr/bin/env python3
"""However a program that uses CUDA ends, what was complete is on disk; what is in its way is told, and never in the
program's. On the doubles (doubles/), by play.c."""

import concurrent.futures
import os
import signal

import playing
from capturing import Directory, dumps, summary
import visit_first

THREADS = ["threads=4", "kernels=2000", "copies=40", "syncs=10", "joined"]


def test_ends():
    """All records of four threads, where anything is called at the end."""
    for end, status, is_closed in (("return", 0, True), ("exit", 0, True), ("fork=none", 0, True)):
        with Directory() as directory:
            run = os.path.join(directory, "run")
            taken, (dump,), error = playing.play(run, THREADS + ["kernels=100", end, "return"])
            assert "recorded 8,100 kernels into" in error, error
            assert taken["kernels"] == 8100 and dump["closed"] == is_closed, (end, taken, dump)
            playing.check_rows(taken, dump)


def test_end_of_a_kernel():
    """One that runs when the program ends is waited for: forced, its record would come without its end."""
    with Directory() as directory:
        run = os.path.join(directory, "run")
        playing.play(run, ["kernels=10", "return"], DOUBLE_RUNS=40, DOUBLE_EAGER=1)
        rows = playing.query(run, "SELECT count(*) AS kernels, count(dur_ns) AS ended FROM kernels")
        assert rows == [{"kernels": 10, "ended": 10}], rows
        assert not any("buffers back" in row["message"] for row in playing.messages(run)), playing.messages(run)


def test_sudden_ends():
    """Where nothing is: all that was fetched before, which is at most what half a second before was complete."""
    for end, status in (("_exit", 0), ("abort", -signal.SIGABRT), ("kill", -signal.SIGKILL), ("term", -signal.SIGTERM),
                        ("exec", 0)):
        with Directory() as directory:
            run = os.path.join(directory, "run")
            with playing.started(run, THREADS + ["kernels=100", "input", end]) as process:
                taken = playing.numbers(process.stdout.readline())

                def is_there():
                    found = dumps(run)
                    return found and not playing.missing_rows(taken, summary(found[0]))

                playing.wait_until(is_there, end)
                process.communicate("x\n", timeout=60)
            assert process.returncode == status, (end, process.returncode)
            (dump,) = [summary(path) for path in dumps(run)]
            assert not dump["closed"], (end, dump)
            playing.check_rows(taken, dump)


def test_sudden_end_of_a_busy_device():
    """Buffers that hold a kernel which has not ended are not given back: what is lost with them is little, and told."""
    launches = 0
    with Directory() as directory:
        run = os.path.join(directory, "run")
        words = []
        for count in [20] * 30 + [400] * 10 + [20] * 30:  # 400 a second, then more than 5,000, then fewer again
            launches += count
            words += [f"kernels={count}", "sleep=50"]
        _, (dump,), error = playing.play(run, words + ["kill"], status=-signal.SIGKILL, DOUBLE_BUSY=1)
        assert not dump["closed"] and launches - 1100 - 400 <= dump["rows"]["kernels"] <= launches, dump
        assert ", of GPUs up to" in error, error
    with Directory() as directory:
        run = os.path.join(directory, "run")
        words = ["kernels=20", "sleep=50"] * 60 + ["kill"]
        _, (dump,), _ = playing.play(run, words, status=-signal.SIGKILL, DOUBLE_BUSY=1)
        assert 1200 - 130 - 400 <= dump["rows"]["kernels"] <= 1200, dump  # the last second's are not written
    with Directory() as directory:
        # A thread that launched 60, and whose buffer never became full, beside one that goes on.
        words = ["kernels=60", "threads=1"] + ["kernels=40", "sleep=50"] * 60 + ["joined", "kill"]
        _, (dump,), error = playing.play(os.path.join(directory, "run"), words, status=-signal.SIGKILL, DOUBLE_BUSY=1)
        assert dump["rows"]["kernels"] <= 2400, dump
        assert 2.5 < visit_first.seconds_told(error, "of GPUs up to"), error  # the others' last kernel is later
        assert "1 buffer of CUPTI's never came back, with what was launched since then" in error, error
    for settings in ({}, {"DOUBLE_EAGER": 1}):
        with Directory() as directory:
            words = ["kernels=60", "sleep=3000", "kill"]
            _, (dump,), error = playing.play(os.path.join(directory, "run"), words, status=-signal.SIGKILL, **settings)
            assert dump["rows"]["kernels"] == 60 and "buffer" not in error and "of GPUs" not in error, (dump, error)


def test_forks():
    """A child of a process that uses CUDA cannot; one that begins it by itself has it in its own file."""
    if "TSAN_OPTIONS" in os.environ:
        # Where another thread loads a library at that moment, its runtime keeps a lock that the child waits for.
        print("skipped: ThreadSanitizer allows no dlopen in a forked child")
        return
    with Directory() as directory:
        run = os.path.join(directory, "run")
        taken, found, _ = playing.play(run, ["kernels=50", "fork=cuda", "kernels=50", "return"])
        assert len(found) == 1 and found[0]["rows"]["kernels"] == 100, found
    with Directory() as directory:
        run = os.path.join(directory, "run")
        taken, found, _ = playing.play(run, ["fork=cuda", "late", "kernels=50", "return"])
        assert sorted(dump["rows"]["kernels"] for dump in found) == [50, 100], found
        assert all(dump["closed"] for dump in found), found


def test_hang():
    """A device that does not answer any more hangs nobody: the end comes, and what was complete is there."""
    with Directory() as directory:
        run = os.path.join(directory, "run")
        taken, (dump,), _ = playing.play(run, ["kernels=100", "wait", "kernels=7", "return"], DOUBLE_HANG=1)
        # Those since the last fetch are with the device.
        assert dump["closed"] and 102 <= dump["rows"]["kernels"] <= taken["kernels"], (taken, dump)


def test_callback():
    """exit() within a callback of CUPTI's, which has its locks: the end comes, and what was fetched is there."""
    with Directory() as directory:
        run = os.path.join(directory, "run")
        taken, (dump,), _ = playing.play(run, ["kernels=100", "wait", "callback_exit"])
        assert dump["closed"] and 101 <= dump["rows"]["kernels"] <= taken["kernels"], (taken, dump)


def test_buffers():
    """The program's own flushes on several threads, and buffers that cannot be: each record is a row or counted."""
    with Directory() as directory:
        run = os.path.join(directory, "run")
        # One that comes back twice while it is lent again would be another thread's: only when these have ended.
        words = ["threads=4", "flushes=50", "kernels=300", "flushes=50", "joined", "odd", "kernels=100", "odd",
                 "return"]
        taken, (dump,), _ = playing.play(run, words)
        assert taken["kernels"] == 4 * 400 + 100 and dump["closed"], (taken, dump)
        # Each flush takes a buffer of its own, however little is in it: there may be none for those that come then.
        (lost,) = playing.query(run, """
            SELECT coalesce(sum(count), 0) AS count FROM diagnostics WHERE reason = 'capture_dropped'""")
        rows = dump["rows"]["kernels"] + dump["rows"]["api_calls"]
        assert rows + lost["count"] == taken["kernels"] + taken["runtime"] + taken["driver"], (taken, dump, lost)


def test_many_buffers():
    """Buffers that come back nearly empty, from many threads at once: whatever is in them is there, where all of it
    together is less than --buffer-size, however late it is read."""
    for words, launches in ((["threads=4", "flushes=100", "kernels=300", "flushes=100", "joined"], 4 * 500),
                            (["threads=30", "kernels=20", "joined"], 600)):
        with Directory() as directory:
            run = os.path.join(directory, "run")
            taken, (dump,), _ = playing.play(run, words + ["return"], options=["--buffer-size", "2M"])
            assert taken["kernels"] == taken["runtime"] + taken["driver"] == launches and dump["closed"], (taken, dump)
            playing.check_rows(taken, dump)
            assert not playing.query(run, "SELECT * FROM diagnostics WHERE reason = 'capture_dropped'"), words


def told(directory, words, version="13.0", **settings):
    """The part as it was told, and the kernels that there are."""
    run = os.path.join(directory, "run")
    _, found, error = playing.play(run, words, version, **settings)
    messages = [(row["reason"], row["message"]) for row in playing.messages(run)] if found else []
    return messages, found[0]["rows"].get("kernels", 0) if found else 0, error


def test_obstacles():
    """Another listener, a driver that refuses, a kind that cannot be had: told, with who and how to get it."""
    words = ["kernels=100", "sleep=300", "return"]
    for settings, text, kernels in (
            ({"DOUBLE_HOLDER": "Nsight"}, "another profiler listens to CUDA in this process (Nsight)", 0),
            ({"DOUBLE_SUBSCRIBE": 35}, "NVreg_RestrictProfilingToAdminUsers=0", 0),
            ({"DOUBLE_SUBSCRIBE": 40}, "parameter enable_profiling=1 (", 0),
            ({"DOUBLE_SUBSCRIBE": 41}, "confidential computing mode, which allows no profiling", 0),
            ({"DOUBLE_SUBSCRIBE": 43}, "an instance of a GPU (MIG): use one of a newer CUDA, or a whole GPU", 0),
            ({"DOUBLE_SUBSCRIBE": 47}, "shared by MPS", 0),
            ({"DOUBLE_REFUSED": "38:35"}, "without waits: the driver lets only administrators profile: set its option "
             "NVreg_RestrictProfilingToAdminUsers=0", 100),
            ({"DOUBLE_SUBSCRIBE": 999}, "fit together: CUPTI of CUDA 13.0 (version 130001), ", 0),
            ({"DOUBLE_REFUSED": 38}, "without waits (CUPTI_ERROR_NOT_COMPATIBLE)", 100),
            ({"DOUBLE_REFUSED": 46}, "how devices are attached (CUPTI_ERROR_NOT_COMPATIBLE)", 100),
            ({"DOUBLE_REFUSED": 25, "TFPROF_TRACE": "kernels,unified"},
             "unified memory (CUPTI_ERROR_NOT_COMPATIBLE)", 100),
            ({"DOUBLE_REFUSED_LATENCY": 1, "TFPROF_TRACE": "kernels,latency"},
             "without times at which kernels were queued and submitted", 100),
            ({"DOUBLE_REFUSED_COUNTERS": 1, "TFPROF_TRACE": "kernels,unified"},
             "without unified memory of device 1", 100)):
        with Directory() as directory:
            messages, seen, error = told(directory, words, **settings)
            assert seen == kernels, (settings, seen)
            assert any(reason == "capture_degraded" and text in message for reason, message in messages), messages
            assert text in error, error
    with Directory() as directory:
        messages, seen, error = told(directory, words, "11.8", DOUBLE_HOLDER="Nsight")
        assert seen == 0 and any("such as nsys" in message for _, message in messages), messages


def test_another_leaves():
    """Who listened first has left: from then on it is recorded, and told."""
    for version in ("11.8", "13.0"):
        with Directory() as directory:
            messages, seen, error = told(directory, ["kernels=10", "left", "kernels=100", "return"], version,
                                         DOUBLE_HOLDER="Nsight", DOUBLE_LATCH=1)
            rows = playing.query(os.path.join(directory, "run"), """
                SELECT count(start_ns) AS timed, max(launch_delay_ns) AS delay FROM kernels""")
            assert seen == 100 and rows == [{"timed": 100, "delay": 3000}], (version, seen, rows)  # by our clock
            first, last = [(reason, message) for reason, message in messages if "listens" in message or "ok" in message]
            assert first[0] == "capture_degraded" and "tried whether it has left" in first[1], messages
            assert last[0] == "capture_ok" and "the other profiler has left" in error, (messages, error)


def test_taken_away():
    """Another one in the process finalises CUPTI, or takes its records: that is noticed, told, and it is begun anew."""
    def take(how, version):
        with Directory() as directory:
            run = os.path.join(directory, "run")
            words = ["kernels=100", "sleep=1200", "kernels=10"] + how + ["left", "kernels=100", "wait", "return"]
            _, (dump,), error = playing.play(run, words, version)
            (row,) = playing.query(run, """
                SELECT count(*) AS kernels, count(DISTINCT correlation) AS numbers, count(api_call_id) AS launched,
                       max(launch_delay_ns) AS delay, max(correlation) >> 32 > 0 AS is_renumbered FROM kernels""")
            assert row.pop("is_renumbered"), (how, row)  # nobody can tell whether CUPTI was finalised
            # What it had been lent is written off, and nothing is held any more.
            kept = [line["count"] for line in playing.messages(run) if "so many buffers back" in line["message"]]
            held = [line["value"] for line in playing.query(run, """
                SELECT value FROM counters WHERE name = 'cupti_held' ORDER BY time_ns""")]
            assert held[-1:] in ([], [0]) and len(kept) == 1 and 1 <= kept[0] <= 3, (how, held, kept)
            assert row["kernels"] == row["numbers"] == row["launched"] >= 200 and row["delay"] == 3000, (how, row)
            told = [(row["reason"], row["message"]) for row in playing.messages(run) if "cuda: " in row["message"]]
            (lost,) = [number for number, (_, message) in enumerate(told) if "another one in this process" in message]
            assert told[lost][0] == "capture_degraded" and told[lost + 1][0] == "capture_ok", (how, told)
            assert "may have taken CUPTI; it is recorded from here on" in error, (how, error)

    def go_on(version):
        """A device that is never idle, with few launches: buffers come back seldom, and nobody has taken CUPTI."""
        with Directory() as directory:
            words = ["kernels=300"] + ["kernels=4", "sleep=500"] * 25 + ["return"]
            messages, seen, error = told(directory, words, version, DOUBLE_BUSY=1)
            (row,) = playing.query(os.path.join(directory, "run"), "SELECT count(api_call_id) AS launched FROM kernels")
            assert seen == row["launched"] == 400, (seen, row)
            assert not any("may have taken" in message for _, message in messages) and "may have" not in error, messages

    def hear_nothing():
        """CUPTI that does not record the call by which it is heard is not taken for lost where nothing is launched."""
        with Directory() as directory:
            words = ["kernels=100", "sleep=13000", "kernels=100", "return"]
            messages, seen, error = told(directory, words, DOUBLE_MUTE_CALL=2)  # cuDriverGetVersion
            assert seen == 200 and not any("may have taken" in message for _, message in messages), (seen, messages)
            assert "may have" not in error, error

    def take_graphs(words, kernels, launched, lost):
        with Directory() as directory:
            run = os.path.join(directory, "run")
            messages, _, _ = told(directory, ["graphs=3x4", "sleep=1200", "finalize", "left"] + words + ["return"])
            rows = playing.query(run, """
                SELECT count(*) AS kernels, count(api_call_id) AS launched FROM kernels WHERE graph_node NOT NULL""")
            assert rows == [{"kernels": kernels, "launched": launched}], rows
            counts = [row["count"] for row in playing.messages(run) if "graphs have no call, op" in row["message"]]
            assert counts == lost, messages
            assert any(reason == "cupti_fault" and "CUDA 13.1 Update 1" in message for reason, message in messages)

    with concurrent.futures.ThreadPoolExecutor() as threads:
        # Numbers that can be right hold; of those of other launches the first kernel of a node may.
        tries = [(take_graphs, ["graphs=4x4", "graphs=4x1000"], 4028, 4028, []),
                 (take_graphs, ["graphs=2x4", "strays=6x4"], 44, 24, [20]), (go_on, "12.4"),
                 (hear_nothing,), (take, ["replace", "kernels=50"], "13.0"), (take, ["replace"], "12.4"),
                 (take, ["finalize", "kernels=50"], "13.0"), (take, ["finalize"], "12.4"),
                 (take, ["steal", "kernels=50", "steal"], "13.0")]
        for one in [threads.submit(*words) for words in tries]:
            one.result()


def test_no_kernels():
    """CUPTI records launches, and no kernel."""
    with Directory() as directory:
        messages, seen, _ = told(directory, ["kernels=150", "return"], DOUBLE_MUTE=10)
        assert not seen and any("recorded no kernel" in message for _, message in messages), messages
    with Directory() as directory:
        messages, seen, _ = told(directory, ["kernels=150", "return"])
        assert seen == 150 and not any("recorded no kernel" in message for _, message in messages), messages


def test_device_falls_off_the_bus():
    """What came before is there, and that CUPTI refuses everything since is told."""
    with Directory() as directory:
        messages, seen, _ = told(directory, ["kernels=100", "wait", "fall", "kernels=10", "sleep=1200", "return"])
        assert 100 <= seen <= 115, seen
        (text,) = [message for reason, message in messages if "CUPTI refused" in message]
        assert "at first cuptiActivityFlushAll: CUPTI_ERROR_UNKNOWN (999)" in text, text


def test_driver_hangs():
    """cuInit never comes back: the program ends as it does, and what the driver owes is told."""
    with Directory() as directory:
        messages, seen, _ = told(directory, ["begins", "return"], DOUBLE_INIT_HANGS=1)
        assert not seen and any("did not answer at the end" in message for _, message in messages), messages


def test_device_is_reset():
    """By the program: what came before and what comes after, in another context, is there, each with its call."""
    with Directory() as directory:
        run = os.path.join(directory, "run")
        _, (dump,), _ = playing.play(run, ["kernels=100", "reset", "kernels=100", "copies=8", "reset", "return"])
        (row,) = playing.query(run, """
            SELECT count(*) AS kernels, count(api_call_id) AS launched, count(device_id) AS placed,
                   count(DISTINCT thread_id) AS streams,
                   (SELECT count(*) FROM api_calls WHERE name = 'cudaDeviceReset') AS resets FROM kernels""")
        assert row == {"kernels": 200, "launched": 200, "placed": 200, "streams": 4, "resets": 2}, row
        assert dump["closed"], dump


def test_two_copies():
    """Of two copies of CUPTI the one that the program has is used."""
    with Directory() as directory:
        first = os.path.join(playing.DOUBLES, "cupti12.4", "libcupti.so.12")
        messages, seen, _ = told(directory, ["kernels=100", "return"], LD_PRELOAD=first)
        assert seen == 100 and any("CUDA 12.4" in message for _, message in messages), (seen, messages)


def test_missing():
    """No CUPTI, or one that is none: told, with how to get it, on machines that have one, too; and the one named."""
    words = ["kernels=100", "return"]
    with Directory() as directory:
        broken = os.path.join(directory, "libcupti.so.13")
        with open(broken, "w") as file:
            file.write("no library")
        empty = os.path.join(directory, "empty")
        os.mkdir(empty)
        for number, (named, text) in enumerate(((empty, "pip install nvidia-cuda-cupti"), (broken, "too short"),
                                                ("/nowhere/libcupti.so", "/nowhere/libcupti.so"))):
            folder = os.path.join(directory, str(number))
            os.mkdir(folder)
            messages, seen, error = told(folder, words, TFPROF_CUPTI=named)
            assert not seen and text in error, (named, error)
            assert [reason for reason, message in messages if text in message] == ["capture_off"], (named, messages)
        named = os.path.join(playing.DOUBLES, "cupti13.0")
        for number, path in enumerate((named, os.path.join(named, "libcupti.so.13"))):
            folder = os.path.join(directory, "named%d" % number)
            os.mkdir(folder)
            messages, seen, error = told(folder, words, None, TFPROF_CUPTI=path)
            assert seen == 100, (path, messages, error)


def test_no_device():
    """CUDA_VISIBLE_DEVICES is empty: the driver refuses the program, which goes on, and it is told at once."""
    for visible in ("", "-1"):
        with Directory() as directory:
            messages, seen, error = told(directory, ["return"], CUDA_VISIBLE_DEVICES=visible)
            assert "no driver: cuInit failed" in error, error
            (text,) = [message for reason, message in messages if reason == "capture_off"]
            assert 'gave the program no device: CUDA_VISIBLE_DEVICES is "%s"' % visible in text and not seen, messages
    with Directory() as directory:
        run = os.path.join(directory, "run")
        with playing.started(run, ["input", "kill"], CUDA_VISIBLE_DEVICES="") as process:
            process.stdout.readline()
            playing.wait_until(lambda: dumps(run) and playing.messages(run, "cuda: off%no device%"), "no device")
            process.communicate("x\n", timeout=60)
        assert process.returncode == -signal.SIGKILL and not summary(dumps(run)[0])["closed"], process.returncode


def test_quiet():
    """A program that never calls CUDA has nothing of it in its file, and says nothing."""
    with Directory() as directory:
        messages, seen, error = told(directory, ["quiet"])
        assert not messages and not seen and "GPU" not in error, (messages, error)


def test_losses():
    """What CUPTI lost, and what no buffer was free for, is counted and not guessed."""
    with Directory() as directory:
        messages, seen, _ = told(directory, ["kernels=100", "return"], DOUBLE_DROPPED=17)
        assert seen == 100, seen
        (row,) = playing.query(os.path.join(directory, "run"), """
            SELECT count, table_name FROM diagnostics WHERE reason = 'capture_dropped'""")
        assert row == {"count": 17, "table_name": "kernels"}, row
    with Directory() as directory:
        # Two buffers of 1 MiB for a thread that makes records as fast as it can.
        run = os.path.join(directory, "run")
        words = ["threads=6", "kernels=60000", "joined", "return"]
        taken, (dump,), _ = playing.play(run, words, options=["--buffer-size", "2M"])
        rows = playing.query(run, "SELECT sum(count) AS lost FROM diagnostics WHERE reason = 'capture_dropped'")
        rows = dump["rows"]["kernels"] + dump["rows"]["api_calls"] + (rows[0]["lost"] or 0)
        # Of the recorder's own calls, by which it knows that it still listens, some may be lost as well.
        assert 0 <= rows - (taken["kernels"] + taken["runtime"] + taken["driver"]) <= 40, (taken, dump)


playing.main(globals())
