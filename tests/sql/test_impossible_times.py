#!/usr/bin/env python3
"""test_impossible_times.py: times that cannot be true are bounded or taken out, told with what is at stake, and in no
gap, span or share; what many events have in common stays as it is.

That no view, check or panel has a duration below 0 or a share above 1, whatever a file says, is looked at by
tests/bounds/ask_sql_everything.c over changed copies of all fixtures.
"""

import gzip
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from engines import run_tests
from made_traces import answers, copy, kernel, launch, opened, span

STEP_US = 2000
HOUR = 3_600_000_000_000
TOLD = "SELECT reason, count, message FROM diagnostics WHERE severity = 'warning' ORDER BY reason, message"


def steps(change=lambda events: None):
    """Four steps of 10 ops, each of which launches a kernel of 90 µs on stream 7 every 100 µs: busy 45 %."""
    events = []
    for step in range(4):
        at = step * STEP_US * 1000
        events.append(span("user_annotation", "ProfilerStep#%d" % step, at, STEP_US * 1000 - 10_000))
        for i in range(10):
            number = 10 * step + i + 1
            events.append(span("cpu_op", "aten::mm", at + 20_000 + i * 30_000, 20_000, **{"External id": number}))
            events.append(launch(at + 25_000 + i * 30_000, 10_000, number))
            events.append(kernel(at + 100_000 * (i + 1), 90_000, correlation=number, name="gemm_%d" % (number % 3)))
    change(events)
    return events


def kernels(events):
    return [event for event in events if event["cat"] == "kernel"]


def last(events):
    return max((event["ts"] + event["dur"]) * 1000 for event in kernels(events))


def summary(connection):
    """(span, busy time and time of kernels on the device, longest gap, span of the profile, kernels with a time)"""
    return connection.values("""SELECT span_ns, busy_ns, kernel_ns, (SELECT max(gap_ns) FROM gpu_gaps),
        (SELECT max(end_ns) - min(start_ns) FROM profiles), (SELECT count(start_ns) FROM kernels)
        FROM device_utilization""")[0]


def changed(engine, change, reasons, what, is_whole=True):
    """The summary of the changed steps, and what is told; all views are asked, too, where it `is_whole`."""
    connection = opened(engine, steps(change))
    told = connection.values(TOLD)
    assert [row[:2] for row in told] == reasons, (what, told)
    if is_whole:
        answers(connection, what)  # no share above 1
    found = summary(connection)
    connection.close()
    return found, [row[2] for row in told]


def test_over_others(engine):
    """Two kernels of 3 s over all that follows on their stream end where the next one begins."""
    sound = changed(engine, lambda events: None, [], "sound")[0]

    def change(events):
        for i in (13, 24):
            kernels(events)[i]["dur"] = 3_000_000
    found, told = changed(engine, change, [("impossible_duration", 1)] * 2, "over others")
    assert found == (sound[0], sound[1] + 20_000, sound[2] + 20_000, *sound[3:]), (found, sound)
    assert all("stream 7 of GPU 0" in text and "3 s less" in text for text in told), told
    assert {text.split()[0] for text in told} == {"gemm_1", "gemm_2"}, told


def test_copies_over_kernels_once(engine):
    """The same of a copy that lasts over the kernels of its stream."""
    found, told = changed(engine, lambda events: events.append(copy(1_150_000, 50_000_000)),
                          [("impossible_duration", 1)], "copy")
    assert "Memcpy" in told[0] and found[4] < 10_000_000, (found, told)


def test_far_away_once(engine):
    """Kernels at time 0, years before the others, or ten days behind them have no time."""
    for away_us in (-1_700_000_000_000_000, 864_000_000_000):
        def change(events):
            for event in kernels(events)[3:6]:
                event["ts"], event["dur"] = away_us, 0
        found, told = changed(engine, change, [("impossible_time", 1)] * 3, away_us)
        assert found[5] == 37 and found[1] == 37 * 90_000 and found[4] < 8_000_000, found
        assert all("stream 7 of GPU 0" in text and ("year" in text or "day" in text) for text in told), told


def test_most_times_lost_once(engine):
    """Where a profiler lost the times of more than half of all events, those at time 0 have none; the rest is the run.
    The same of every second event, whose length no fault of a stream is measured by."""
    for lost in (slice(0, 80), slice(0, None, 2)):
        def change(events):
            for event in events:
                event["ts"] += 1_700_000_000_000_000
            for event in events[lost]:
                event["ts"] = 0
        connection = opened(engine, steps(change), baseTimeNanoseconds=0)
        told = connection.values("SELECT reason, sum(count), group_concat(message) FROM diagnostics "
                                 "WHERE reason <> 'lost_file' GROUP BY 1")
        assert [row[:2] for row in told] == [("impossible_time", len(steps()[lost]))], told
        assert "-" not in told[0][2], told
        assert 0 < connection.values("SELECT max(end_ns) - min(start_ns) FROM profiles")[0][0] < 8_000_000
        connection.close()


def test_shares_of_devices_once(engine):
    """Occupancies above 100 % and numbers of blocks below 0 are NULL and counted, and nothing has less than no time."""
    def change(events):
        for i, event in enumerate(kernels(events)):
            occupancy, blocks = (800, -3) if i % 2 else (40, 2)
            event["args"].update({"est. achieved occupancy %": occupancy, "blocks per SM": blocks, "warps per SM": 4})
    connection = opened(engine, steps(change))
    assert [row[:2] for row in connection.values(TOLD)] == [("value_out_of_range", 40)]
    assert connection.values("SELECT DISTINCT occupancy_ratio, blocks_per_multiprocessor FROM kernels ORDER BY 1") == [
        (None, None), (0.4, 2.0)]
    answers(connection, "occupancy")
    connection.close()


def test_kernel_time_within_time_once(engine):
    """Kernels that run beside each other on a stream promise no more than the time in which any of them runs, and
    those that communicate below a product are no product without tensor cores."""
    def change(events):
        for event in kernels(events):
            event["dur"] = 250
    check = "SELECT saves_ns FROM tensor_cores"
    connection = opened(engine, steps(change))
    told = connection.values("SELECT severity, count, message FROM diagnostics WHERE reason = 'overlapping_stream'")
    assert [row[:2] for row in told] == [("info", 36)] and "5.4 ms in all" in told[0][2], told
    for sql in ("SELECT utilization_ratio FROM device_utilization", "SELECT kernel_ns / 1e6 / 2 FROM step_breakdown"):
        shares = [share for (share,) in connection.values(sql)]
        assert shares and all(0 < share <= 1 for share in shares), (sql, shares)
    (saved,), (busy,) = connection.values(check)[0], connection.values("SELECT busy_ns FROM device_utilization")[0]
    assert 0 < saved <= busy / 2, (saved, busy)
    answers(connection, "overlaps")
    connection.close()

    def communicate(events):
        for event in kernels(events):
            event["name"] = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
    connection = opened(engine, steps(communicate))
    assert connection.values(check) == []
    assert connection.values("SELECT DISTINCT kind, tensor_core_eligible FROM kernels") == [("communication", 0)]
    connection.close()


def test_before_their_launch_once(engine):
    """Kernels that begin before the call that launched them have no time, be it by 10 ms or by an hour; what is early
    by no more than two clocks may differ by stays."""
    for early_us, many in ((3_000_000, 1), (10_000, 1), (3_600_000_000, 3), (10_000_000, 13)):
        def change(events):
            for event in kernels(events)[13:13 + many]:
                event["ts"] -= early_us
        found, told = changed(engine, change, [("impossible_time", 1)] * many if many < 4 else
                              [("impossible_time", 4)] * 2 + [("impossible_time", 5)], early_us, many == 1)
        assert found[5] == 40 - many and found[4] < 8_000_000 and found[1] == 90_000 * (40 - many), found
        assert all("before the call" in text and "stream 7 of GPU 0" in text for text in told), told

    def little(events):
        kernels(events)[10]["ts"] -= 100  # its call began 75 µs before it
    assert changed(engine, little, [], "little", is_whole=False)[0][5] == 40


def test_after_all_else_once(engine):
    """Kernels that begin seconds or hours after everything has ended have no time, the last ones of their stream,
    too."""
    for late_us, place in ((10_000_000, slice(3, 6)), (5_000_000, slice(37, 40)), (3_600_000_000, slice(3, 6))):
        def change(events):
            for event in kernels(events)[place]:
                event["ts"] += late_us
        found, told = changed(engine, change, [("impossible_time", 1)] * 3, late_us, late_us == 5_000_000)
        assert found[5] == 37 and found[4] < 8_000_000 and found[1] <= 90_000 * 37, found

    def backlog(events):  # the host runs ahead: all of its launches run for a second after the last of them
        for i, event in enumerate(kernels(events)):
            event["ts"], event["dur"] = 1000 + 25_000 * i, 25_000
    found = changed(engine, backlog, [], "backlog", is_whole=False)[0]
    assert found[5] == 40 and found[4] > 990_000_000, found


def test_out_of_order_once(engine):
    """Kernels that begin after ones that were launched later on their stream have no time, and calls that are late
    among those of their thread have none either, while what they launched keeps its own.  A stream that runs work in
    any order is left as it is."""
    sound = changed(engine, lambda events: None, [], "sound")[0]
    for late_us, place in ((2000, slice(10, 11)), (3000, slice(3, 6)), (3_000_000, slice(20, 21))):
        def late_kernels(events):
            for event in kernels(events)[place]:
                event["ts"] += late_us

        def sorted_by_time(events):
            late_kernels(events)
            events.sort(key=lambda event: event["ts"])
        many = place.stop - place.start
        for change in (late_kernels, sorted_by_time):
            found, told = changed(engine, change, [("impossible_time", 1)] * many, late_us, False)
            assert found[5] == 40 - many and found[4] <= sound[4] and found[1] == sound[1] - 90_000 * many, found
            assert all("order of launches" in text and "stream 7 of GPU 0" in text for text in told), told

    for late_us in (2000, 5_000_000):
        def late_call(events):
            [event for event in events if event["cat"] == "cuda_runtime"][5]["ts"] += late_us
        found, told = changed(engine, late_call, [("impossible_time", 1)], late_us, late_us > 2000)
        assert found == sound and "cudaLaunchKernel on thread 1" in told[0], (found, told)

    def few_calls(events):  # in a thread of ten calls one is late
        events[:] = [event for event in events if event["ts"] < STEP_US]
        [event for event in events if event["cat"] == "cuda_runtime"][5]["ts"] += 5_000_000
    found, told = changed(engine, few_calls, [("impossible_time", 1)], "few calls", False)
    assert found[5] == 10 and "cudaLaunchKernel on thread 1" in told[0], (found, told)

    def any_order(events):  # of two kernels that are launched in a row the second one runs first, after milliseconds
        for i, event in enumerate(kernels(events)):
            event["ts"] += 5000 * (1 - i % 2)
    assert changed(engine, any_order, [], "any order", False)[0][5] == 40


def test_clocks_of_devices_once(engine):
    """A device whose clock is off is moved as a whole: no kernel begins before its call, and nothing else changes."""
    sound = changed(engine, lambda events: None, [], "sound")[0]
    for off_us in (-5000, 3_600_000_000, -7_400_000_000):
        def change(events):
            for event in kernels(events):
                event["ts"] += off_us
        found, told = changed(engine, change, [("device_clock", 40)], off_us, off_us == -5000)
        assert found[:4] == sound[:4] and found[4] <= sound[4] and found[5] == 40, (off_us, found, sound)


def test_clocks_and_lost_times_once(engine):
    """Kernels at time 0 in a file that begins there say nothing of the device's clock: they have no time, and the rest
    stays where it is, or is moved by what its own calls say; of more than one kernel at 0 none runs."""
    sound = changed(engine, lambda events: None, [], "sound")[0]
    for off_us, every, dur_us in ((0, 5, 90), (0, 3, 0), (-5000, 5, 90)):
        def change(events):
            for event in kernels(events):
                event["ts"] += off_us
            for event in kernels(events)[4::every]:
                event["ts"], event["dur"] = 0, dur_us
        lost = len(range(4, 40, every))
        connection = opened(engine, steps(change))
        told = connection.values("SELECT reason, sum(count) FROM diagnostics WHERE reason <> 'lost_file' GROUP BY 1")
        clock = [("device_clock", 40)] if off_us else []
        assert told == clock + [("impossible_time", lost)], (off_us, every, told)
        assert summary(connection)[4:] == (sound[4], 40 - lost), (off_us, every, summary(connection))
        late = connection.values("SELECT max(abs(start_ns % 100000)), sum(dur_ns) FROM kernels")
        assert off_us or late == [(0, 90_000 * (40 - lost))], (off_us, every, late)
        assert connection.values("SELECT kernel_ns, busy_ns FROM device_utilization") == [
            (90_000 * (40 - lost), 90_000 * (40 - lost))]
        connection.close()


def test_promises_once(engine):
    """Marks of steps that are there twice, or of which one lasts over all others, promise no more than the run."""
    def twice(events):
        events += [dict(event) for event in events if event["cat"] == "user_annotation"]

    def too_long(events):
        events[31]["dur"] = 5 * HOUR // 1000
    for change in (twice, too_long):
        connection = opened(engine, steps(change))
        answers(connection, change.__name__)
        connection.close()


def test_marks_of_one_step_once(engine):
    """Marks of one number at one time are one step: copies, cut ones, ones within it, and ones on another thread.  A
    number that comes again later is another step."""
    def again(start_us, dur_us, **members):
        def change(events):
            for event in [event for event in events if event["cat"] == "user_annotation"]:
                events.append({**event, "ts": event["ts"] + start_us, "dur": dur_us or event["dur"], **members})
        return change

    def later(events):
        for i, event in enumerate(event for event in events if event["cat"] == "user_annotation"):
            event["name"] = "ProfilerStep#%d" % (i % 2)
    number = "SELECT step_count, mean_ns FROM step_summary"
    for change, is_told in ((again(0, 0), True), (again(5, 1000), True), (again(-5, 500), True), (later, False),
                            (again(300, 100), True), (again(5, 1900, tid=2), True), (again(-5, 3, tid=2), False)):
        connection = opened(engine, steps(change))
        assert connection.values(number) == [(4, 1_990_000)], connection.values(number)
        told = connection.values("SELECT message FROM diagnostics WHERE reason = 'repeated_step_marks'")
        assert [text[:16] for text, in told] == ["4 marks of steps"] * is_told, told
        connection.close()


def test_merged_with_itself_once(engine):
    """Events that stand in a file twice, one file behind the other or by time, count once; a second window of the same
    process, or two events alike but for their times, are others."""
    sums = """SELECT (SELECT count(*) FROM profiles), (SELECT count(*) FROM steps), (SELECT total(dur_ns) FROM kernels),
        (SELECT count(*) FROM ops), (SELECT total(dur_ns) FROM ranges), (SELECT count(op_id) FROM collectives),
        (SELECT count(*) FROM counters), (SELECT count(*) FROM memory_events)"""

    def more(events):
        for i, event in enumerate(kernels(events)[::2]):
            event["args"].update({"Collective name": "allreduce", "In msg nelems": i, "dtype": "Float"})
        for i in range(2000):  # several pieces of a file
            at, number = 10_000_000 + i * 1000, {"External id": 100 + i}
            events.append(span("cpu_op", "aten::relu", at, 500, tid=i % 3, **number))
            events.append({"ph": "C", "name": "level", "pid": 1, "tid": 1, "ts": i, "args": {"value": 1}})

    def found(change):
        connection = opened(engine, steps(change))
        rows = connection.values(sums)
        told = connection.values("SELECT reason, count FROM diagnostics WHERE reason = 'repeated_events'")
        connection.close()
        return rows[0], told

    def appended(events):
        more(events)
        events += [dict(event) for event in events]

    def by_time(events):
        appended(events)
        events.sort(key=lambda event: event["ts"])

    def shifted(events):
        more(events)
        events += [{**event, "ts": event["ts"] + 1e6} for event in events]
    once = found(more)
    assert once[1] == [] and once[0][0] == 1 and once[0][3] == 2044, once
    for change in (appended, by_time):
        assert found(change) == (once[0], [("repeated_events", 128 + 4000)]), (once, found(change))
    assert found(shifted) == ((2, *(2 * value for value in once[0][1:])), []), found(shifted)


def test_work_there_twice_once(engine):
    """Kernels and copies that stand in a file twice, and nothing else does, count once, those of a launch of a graph,
    too; two alike ones beside others of one launch are two."""
    def graph(events):
        for event in kernels(events)[10:20]:
            event["args"]["correlation"] = 11

    def copies(events):
        events += [copy(9_000_000 + i * 10_000, 5000, correlation=100 + i) for i in range(2)]

    def twice(events):
        graph(events)
        copies(events)
        events += [dict(event) for event in events if event["cat"] in ("kernel", "gpu_memcpy")]

    def alike(events):
        graph(events)
        copies(events)
        events.append(dict(kernels(events)[12]))

    def one(events):
        graph(events)
        copies(events)
        events.append(dict(kernels(events)[3]))
    for change, told, count in ((twice, [("repeated_events", 42)], 40), (one, [("repeated_events", 1)], 40),
                                (alike, [], 41)):
        connection = opened(engine, steps(change))
        assert connection.values("SELECT reason, count FROM diagnostics WHERE reason = 'repeated_events'") == told
        assert connection.values("SELECT count(*), sum(dur_ns), (SELECT sum(dur_ns) FROM transfers) FROM kernels") == [
            (count, 90_000 * count, 10_000)], change.__name__
        connection.close()


def test_long_once(engine):
    """What ends seconds or hours after all else, and nothing waited for or lies around, has a start and no duration:
    work alone on its stream, or the last of one, ops and calls that outlive the step they began in, marks of steps.  A
    step ends where the next one begins, and the last one is none."""
    sound = changed(engine, lambda events: None, [], "sound")[0]

    def longer(category, place, dur_us, **members):
        def change(events):
            [event for event in events if event["cat"] == category][place].update(dur=dur_us, **members)
        return change

    def alone(events):
        events.append(kernel(150_000, 3_000_000_000, stream=20, name="gemm_0"))

    def at_first(events):  # what begins together with the op lies in it, and says nothing of it
        [event for event in events if event["name"] == "aten::mm"][0].update(ts=0, dur=hours)

    def late_collective(events):  # the profiler says that it had stopped
        events.append(kernel(150_000, 3_000_000_000, stream=20, name="ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)"))
        events.append({"ph": "i", "name": "Record Window End", "pid": "", "tid": "", "ts": 7980, "s": "g"})
    hours = 5 * HOUR // 1000
    for change, busy, saves, step_times, is_whole in (
            (alone, 40, 1.8, 4 * [1990], True), (late_collective, 40, 1.8, 4 * [1990], False),
            (longer("kernel", -1, 3_000_000), 39, 1.755, 4 * [1990], True),
            (longer("kernel", -1, hours), 39, 1.755, 4 * [1990], False),
            (longer("kernel", -1, 3_000_000, cat="gpu_memcpy", name="Memcpy HtoD"), 39, 1.755, 4 * [1990], False),
            (longer("cpu_op", 15, 3_000_000), 40, None, 4 * [1990], False), (at_first, 40, None, 4 * [1990], False),
            (longer("cpu_op", -1, hours), 40, None, 4 * [1990], True),
            (longer("cuda_runtime", 15, 3_000_000), 40, 1.8, 4 * [1990], False),
            (longer("user_annotation", 1, hours), 40, 1.8, [1990, 2000, 1990, 1990], False),
            (longer("user_annotation", -1, hours), 30, None, 3 * [1990], True)):
        connection = opened(engine, steps(change))
        told = [row for row in connection.values(TOLD) if row[0] != "lost_kernels"]
        assert [row[:2] for row in told] == [("impossible_duration", 1)], told
        assert "after all else" in told[0][2] and ("3 s" in told[0][2] or "5 hours" in told[0][2]), told
        found = summary(connection)
        assert found[1] == busy * 90_000 and found[3] <= sound[3] + 90_000 and found[4] <= sound[4], (found, told)
        durations = [row[0] for row in connection.values("SELECT dur_ns / 1000 FROM steps ORDER BY start_ns")]
        assert durations == step_times, (durations, told)
        if saves:
            assert connection.values("SELECT saves_ns / 1e6 FROM tensor_cores") == [(saves,)], told
        longest = connection.values("""SELECT max(dur_ns), max(self_ns), count(start_ns) = count(*) FROM
            (SELECT start_ns, dur_ns, self_ns FROM ops UNION ALL SELECT start_ns, dur_ns, 0 FROM ranges
             UNION ALL SELECT start_ns, dur_ns, 0 FROM kernels UNION ALL SELECT start_ns, dur_ns, 0 FROM transfers
             UNION ALL SELECT start_ns, dur_ns, 0 FROM api_calls)""")[0]
        assert longest[0] == 1_990_000 and longest[1] < 1_990_000 and longest[2], (longest, told)
        if is_whole:
            answers(connection, told)
        connection.close()

    def late_mark(events):
        events.append({"ph": "i", "name": "Record Window End", "pid": "", "tid": "", "ts": hours, "s": "g"})
    found, told = changed(engine, late_mark, [("impossible_time", 1)], "late mark")
    assert found == sound and "5 hours" in told[0], (found, told)

    def late_window(events):
        events.append(span("Trace", "PyTorch Profiler (0)", 0, 5 * HOUR, pid="Spans", tid="PyTorch Profiler"))
        kernels(events)[-1]["dur"] = 1000 * 3600 * 1000
    found, told = changed(engine, late_window, 2 * [("impossible_duration", 1)], "late window", False)
    assert found[1] < sound[1] and found[3] <= sound[3] + 90_000, (found, told)

    def late_step(events):  # told once, though the mark is a row of ops and one of ranges
        events[0]["ts"] = hours
    found, told = changed(engine, late_step, [("impossible_time", 1)], "late step", False)
    assert "ProfilerStep#0" in told[0] and "5 hours" in told[0], told


def test_long_of_few_once(engine):
    """In a file of few rows, too, a kernel has no duration that ends long after a synchronization that waited for it,
    and neither has an op that outlives the step it began in.  A kernel that the synchronization waits for, that a later
    one waits for, or that runs on another device than one of two, keeps its own, and so does an op that waits for other
    processes."""
    def few(wait_us, kernel_us, op_us, *more):
        return [span("user_annotation", "ProfilerStep#1", 0, 2_000_000),
                span("cpu_op", "aten::mm", 100_000, 1000 * op_us, **{"External id": 1}), launch(110_000, 10_000, 1),
                span("cuda_runtime", "cudaDeviceSynchronize", 300_000, 1000 * wait_us, correlation=2),
                kernel(130_000, 1000 * kernel_us, correlation=1), *more]
    other = span("kernel", "gemm", 100_000, 5000, 1, 7, device=1, stream=7, correlation=3)
    chosen = span("cuda_runtime", "cudaSetDevice", 290_000, 1000, correlation=3)
    later = span("cuda_runtime", "cudaStreamSynchronize", 330_000, 149_820_000, correlation=3)
    durations = "SELECT (SELECT dur_ns / 1000 FROM kernels WHERE correlation = 1), dur_ns / 1000 FROM ops WHERE " \
                "category <> 'user'"
    for events, found, told in ((few(20, 3_600_000_000, 100), (None, 100), "after a synchronization"),
                                (few(20, 150_000, 100), (None, 100), "after a synchronization"),
                                (few(20, 90, 3_600_000_000), (90, None), "after all else"),
                                (few(3_000_000, 2_999_000, 100), (2_999_000, 100), ""),
                                (few(20, 150_000, 100, chosen), (150_000, 100), ""),
                                (few(20, 150_000, 100, later), (150_000, 100), ""),
                                (few(20, 150_000, 100, other), (150_000, 100), "")):
        connection = opened(engine, events)
        assert connection.values(durations) == [found], (connection.values(durations), found)
        messages = connection.values("SELECT message FROM diagnostics WHERE reason = 'impossible_duration'")
        assert len(messages) == bool(told) and all(told in text for text, in messages), messages
        connection.close()

    for category in ("cpu_op", "user_annotation"):
        for many in ([], steps()):
            events = many + [span("cpu_op", "c10d::allreduce_", 9_000_000, 20_000, **{"External id": 90}),
                             span(category, "gloo:all_reduce", 9_005_000, 3_000_000_000, **{"External id": 91})]
            connection = opened(engine, events)
            assert [row for row in connection.values(TOLD) if "impossible" in row[0]] == [], connection.values(TOLD)
            assert connection.values("SELECT max(dur_ns) FROM ops") == [(3_000_000_000,)], (category, len(many))
            connection.close()


def test_over_a_thread_once(engine):
    """Ops and calls of milliseconds that outlive the step they began in and lie over later ops, while others of their
    name take microseconds, have no duration, and neither have launches that lie over launches without any step; a mark
    of a step that lies over the next ones ends where the next one begins."""
    sound = changed(engine, lambda events: None, [], "sound")[0]

    def longer(category, places, dur_us, without=()):
        def change(events):
            for place in places:
                [event for event in events if event["cat"] == category][place]["dur"] = dur_us
            events[:] = [event for event in events if event["cat"] not in without]
        return change
    marks = "SELECT dur_ns / 1000 FROM ranges WHERE name GLOB 'ProfilerStep#*' ORDER BY start_ns"
    for change, what, stake, step_times, ops in (
            (longer("cpu_op", [12], 4_000), "aten::mm on thread 1", "4 ms", 4 * [1990], 43),
            (longer("cpu_op", [5, 12], 50_000), "aten::mm on thread 1", "100 ms", 4 * [1990], 42),
            (longer("cuda_runtime", [12, 25], 5_000), "cudaLaunchKernel on thread 1", "10 ms", 4 * [1990], 44),
            (longer("cuda_runtime", [12], 50_000, ("cpu_op", "user_annotation")), "cudaLaunchKernel on thread 1",
             "50 ms", [], 0),
            (longer("user_annotation", [1], 5_000), "ProfilerStep#1 on thread 1", "3 ms", [1990, 2000, 1990, 1990], 44),
            (longer("user_annotation", [1], 5_000_000), "ProfilerStep#1 on thread 1", "5 s",
             [1990, 2000, 1990, 1990], 44)):
        connection = opened(engine, steps(change))
        told = connection.values("SELECT reason, count(*), min(message) FROM diagnostics "
                                 "WHERE reason GLOB '*impossible*' GROUP BY 1")
        assert [row[:2] for row in told] == [("impossible_duration", 1)], (what, told)
        assert told[0][2].startswith(what) and stake in told[0][2] and "lasts over" in told[0][2], told
        assert [row[0] for row in connection.values(marks)] == step_times, (what, connection.values(marks))
        assert connection.values("SELECT count(dur_ns), count(start_ns) = count(*) FROM ops") == [(ops, 1)], what
        assert connection.values("SELECT count(dur_ns) FROM kernels") == [(40,)], what
        if ops > 40:
            assert summary(connection) == sound, (what, summary(connection), sound)
        connection.close()


def test_over_a_thread_and_true_once(engine):
    """First uses of an op that take long, waits, a mark around a loop, asynchronous ops of which one takes long, marks
    of layers inside each other and marks of coroutines keep their durations, and so does what several threads do that a
    converter wrote as one, and a call that its own clock ends after its op."""
    def first_use(events):
        for event in events:
            event["ts"] += 60_000_000 * (event["ts"] > 30)
        events[0]["dur"] += 60_000_000
        events[1]["dur"] += 60_000_000

    def wait(events):
        for i in range(10):
            at, dur = (6_400_000, 1_500_000) if i == 9 else (1_000_000 + i * 10_000, 5_000)
            events.append(span("cuda_runtime", "cudaStreamSynchronize", at, dur, correlation=500 + i))

    def loop(events):
        events.append(span("cpu_op", "train", -1000, 8_000_000, **{"External id": 99}))

    def asynchronous(events):
        for i in range(12):
            events.append(span("cpu_op", "rpc_async", 500_000 + i * 600_000, 10_000 if i < 8 else 5_000_000 + i,
                               **{"External id": 100 + i}))

    def layers(events):
        for i in range(10):
            events.append(span("user_annotation", "layer %d" % i, 10_000 + i * 1000, 1_900_000 - i * 2000))

    def coroutines(events):
        for i in range(12):
            events.append(span("user_annotation", "request %d" % i, i * 600_000, 1_000_000))

    def modules(events):  # numbered as they begin; one in the middle lies around one other only
        nested = [(0, 7_900_000), (30_000, 7_800_000)] + [(60_000 + i * 600_000, 500_000) for i in range(12)]
        alone = [(i * 900_000, 1_400_000 if i == 2 else 300_000) for i in range(8)]
        alone.insert(3, (2_000_000, 500_000))
        events += [span("user_annotation", f"module {i}", at, dur, tid=2) for i, (at, dur) in enumerate(nested)]
        events += [span("user_annotation", f"block_{i}", at, dur, tid=2) for i, (at, dur) in enumerate(alone)]

    def slow_request(events):
        for i in range(20):
            events.append(span("user_annotation", f"request {i}", i * 400_000, 3_000_000 if i == 5 else 300_000, tid=2))

    def slow_collective(events):
        for i in range(12):
            events.append(span("cpu_op", "c10d::allreduce_", i * 100_000, 15_000, tid=2))
            events.append(span("cpu_op", "gloo:all_reduce", i * 100_000 + 5000, 7_000_000 if i == 5 else 20_000, tid=2))

    def waits_of_threads(events):
        for i in range(20):
            events.append(span("cuda_runtime", "cudaStreamSynchronize", i * 100_000, 4_000_000 if i == 5 else 5000,
                               tid=2, correlation=500 + i))

    def ops_of_threads(events):
        for i in range(20):
            long = 5_000_000 if i == 5 else 5000
            for name, at, dur in (("a", 0, 50_000), ("b", 40_000, 30_000), ("c", 60_000, long)):
                events.append(span("cpu_op", name, i * 100_000 + at, dur, tid=2))

    def late_clock(events):
        for i in range(20):
            at, op, call = (i * 200_000, 100_000, 5000) if i < 19 else (8_000_000, 5_010_000, 5_000_000)
            events.append(span("cpu_op", "aten::copy_", at, op, tid=2))
            events.append(span("cuda_runtime", "cudaMemcpyAsync", at + 62_000, call, tid=2, correlation=500 + i))
            events += [span("cpu_op", "aten::add", at + op + 2000 + k * 8000, 5000, tid=2) for k in range(5)]
    for change in (first_use, wait, loop, asynchronous, layers, coroutines, modules, slow_request, slow_collective,
                   waits_of_threads, ops_of_threads, late_clock):
        connection = opened(engine, steps(change))
        assert [row for row in connection.values(TOLD) if "impossible" in row[0]] == [], change.__name__
        whole = "SELECT count(*), count(dur_ns), sum(dur_ns) FROM (SELECT dur_ns FROM ops UNION ALL " \
                "SELECT dur_ns FROM api_calls)"
        events = [event for event in steps(change) if event["cat"] != "kernel"]
        assert connection.values(whole) == [
            (len(events), len(events), round(sum(event["dur"] * 1000 for event in events)))], change.__name__
        connection.close()

    def apart(events):  # marks that begin and end as they like
        for i in range(20):
            for phase, at in (("b", 0), ("e", 60_000 if i == 5 else 300)):
                events.append({"ph": phase, "cat": "request", "name": f"request {i}", "id": i, "pid": 1, "tid": 1,
                               "ts": i * 400 + at})
    connection = opened(engine, steps(apart))
    assert [row for row in connection.values(TOLD) if "impossible" in row[0]] == [], connection.values(TOLD)
    assert connection.values("SELECT max(dur_ns) FROM ranges WHERE name GLOB 'request *'") == [(60_000_000,)]
    connection.close()


def test_long_in_other_files_once(engine):
    """The same of what JAX writes as a trace."""
    def event(name, at, dur, **args):
        return {"ph": "X", "pid": 701, "tid": 7, "ts": at, "dur": dur, "name": name, "args": args}
    with tempfile.TemporaryDirectory(prefix="tfprof-times-") as directory:
        path = os.path.join(directory, "vm.trace.json.gz")
        events = [{"ph": "M", "pid": 701, "name": "process_name", "args": {"name": "/host:CPU"}},
                  {"ph": "M", "pid": 701, "tid": 7, "name": "thread_name", "args": {"name": "python"}}]
        events += [event("train", 1000 * i, 5 * HOUR // 1000 if i == 9 else 900, step_num=str(i)) for i in range(10)]
        events += [event("dot.1", 1000 * i + 50, 3_000_000 if i == 4 else 60, hlo_module="jit_step", hlo_op="dot.1")
                   for i in range(10)]
        with gzip.open(path, "wt") as file:
            json.dump({"displayTimeUnit": "ns", "metadata": {"highres-ticks": True}, "traceEvents": events}, file)
        connection = engine()
        connection.values(f"SELECT tfprof_open('{path}')")
        assert connection.values("SELECT max(dur_ns), count(start_ns), (SELECT count(*) FROM steps) FROM ops") == [
            (900_000, 20, 9)]
        told = connection.values(TOLD)
        assert [(reason, text.split()[0]) for reason, _, text in told] == [
            ("impossible_duration", "dot.1"), ("impossible_duration", "train")], told
        connection.close()


def test_long_and_true(engine):
    """A kernel for which the host waits, whether the step lasts until then or its mark was cut, a last step that holds
    an op as long, a last op outside of all steps, an end of the recording that lies behind what lasts, kernels that
    follow one another, a collective that waits for other processes, and an evaluation or a wait of seconds at the
    end."""
    def wait(events):
        kernels(events)[-1]["dur"] = 3_000_000
        events.append(span("cuda_runtime", "cudaDeviceSynchronize", 6_400_000, 3_002_000_000, correlation=777))

    def wait_in_step(events):
        wait(events)
        [event for event in events if event["cat"] == "user_annotation"][-1]["dur"] = 3_010_000

    def last_step(events):
        [event for event in events if event["cat"] == "user_annotation"][-1]["dur"] = 3_000_000
        events.append(span("cpu_op", "aten::sort", 7_000_000, 2_998_500_000, **{"External id": 99}))

    def last_op(events):
        events.append(span("cpu_op", "aten::sort", 8_000_000, 700_000_000, **{"External id": 99}))

    def alone(events):
        events.append(kernel(150_000, 3_000_000_000, stream=20, name="gemm_0"))
        events.append({"ph": "i", "name": "Record Window End", "pid": "", "tid": "", "ts": 3_000_200, "s": "g"})

    def collective(events):  # of which other processes have no part
        events.append(kernel(7_900_000, 30_000_000_000, stream=20, name="ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)"))

    def in_a_row(events):
        for i in range(3):
            events.append(kernel(8_000_000 + i * 2_000_000_000, 1_999_990_000, name=f"gemm_{i}"))

    def evaluation(events):
        events.append(span("user_annotation", "evaluate", 8_000_000, 6_000_000_000))
        events.append(span("cpu_op", "aten::mm", 8_100_000, 50_000, **{"External id": 99}))

    def last_wait(events):
        events.append(span("cuda_runtime", "cudaDeviceSynchronize", 8_000_000, 30_000_000_000, correlation=777))
    for change in (wait, wait_in_step, last_step, last_op, alone, collective, in_a_row, evaluation, last_wait):
        connection = opened(engine, steps(change))
        assert connection.values(TOLD) == [], (change.__name__, connection.values(TOLD))
        assert connection.values("SELECT count(*) FROM ops WHERE dur_ns IS NULL") == [(0,)], change.__name__
        assert connection.values("SELECT count(dur_ns) >= 40 FROM kernels") == [(1,)], change.__name__
        connection.close()


def test_what_is_true_stays(engine):
    """Kernels that one launch of a graph runs side by side, streams on which much overlaps, a pause of hours between
    two parts of a recording, and a program whose only op takes hours."""
    def graph(events):
        for event in kernels(events)[10:20]:
            event["args"]["correlation"] = 11
        kernels(events)[10]["dur"] = 1000
    connection = opened(engine, steps(graph))
    assert connection.values("SELECT max(dur_ns) FROM kernels") == [(1_000_000,)]
    assert [reason for reason, *_ in connection.values(TOLD)] == ["lost_kernels"]  # of nine launches of the graph's
    connection.close()

    def overlaps(events):
        for event in kernels(events)[::5]:
            event["dur"] = 800
    connection = opened(engine, steps(overlaps))
    assert connection.values("SELECT count(*) FROM kernels WHERE dur_ns = 800000") == [(8,)]
    told = connection.values("SELECT reason, severity FROM diagnostics WHERE reason <> 'lost_file'")
    assert told == [("overlapping_stream", "info")], told
    connection.close()

    def pause(events):
        for event in events:
            if event["ts"] >= 3 * STEP_US:
                event["ts"] += 5 * HOUR // 1000
    connection = opened(engine, steps(pause))
    assert connection.values("SELECT count(start_ns) FROM kernels") == [(40,)]
    assert connection.values(TOLD) == []
    connection.close()
    connection = opened(engine, [span("cpu_op", "aten::mm", 0, 5 * HOUR)])
    assert connection.values("SELECT dur_ns FROM ops") == [(5 * HOUR,)]
    connection.close()


def test_own_time_of_ops(engine):
    """A call that its number gives to the outer op, in the time of the inner one, calls of the driver in calls of the
    runtime, and calls in a Python function within the op leave no op less than no time of its own."""
    connection = opened(engine, [
        span("cpu_op", "aten::_to_copy", 0, 100_000, **{"External id": 1}),
        span("cpu_op", "aten::empty_strided", 1000, 98_000, **{"External id": 2}),
        {**launch(10_000, 80_000, 7, "cudaMalloc"), "args": {"correlation": 7, "External id": 1}},
        {**launch(91_000, 1000, 8), "args": {"correlation": 8, "External id": 2}},
        kernel(95_000, 2000, correlation=8),
        span("cpu_op", "aten::add", 200_000, 10_000, **{"External id": 3}),
        {**launch(202_000, 6000, 9), "args": {"correlation": 9, "External id": 3}},
        {**span("cuda_driver", "cuLaunchKernel", 203_000, 5000), "args": {"correlation": 9, "External id": 3}},
        span("cpu_op", "Double", 300_000, 10_000, **{"External id": 4}),
        span("python_function", "a.py(1): forward", 301_000, 8000),
        {**launch(302_000, 6000, 10), "args": {"correlation": 10, "External id": 4}}])
    rows = dict(connection.values("SELECT op, host_self_ns FROM tb_operator_summary"))
    assert rows == {"aten::_to_copy": 2000, "aten::empty_strided": 97_000, "aten::add": 4000, "Double": 2000}, rows
    answers(connection, "own time")
    connection.close()


if __name__ == "__main__":
    run_tests(sys.modules[__name__])
