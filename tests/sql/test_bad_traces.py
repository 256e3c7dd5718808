#!/usr/bin/env python3
"""test_bad_traces.py: traces that no profiler writes: huge, deep, endless, cut, repeated, of another kind.

Each must end in an error that names the file, or be served with a diagnostic, within bounded memory.  Bytes flipped and
files cut off at every length are tried in tests/unit/test_json_reader.c.
"""

import gzip
import json
import os
import pickle
import resource
import subprocess
import sys
import tempfile
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from engines import BUILD, run_tests

NEEDS_CLASSIC = {"test_not_utf8_elsewhere"}  # tests/parts.py
MEGABYTE = 1 << 20
OP = '{"ph":"X","cat":"cpu_op","name":"%s","pid":1,"tid":1,"ts":%d,"dur":1,"args":{%s}}'
COUNTS = ("SELECT (SELECT count(*) FROM ops), (SELECT group_concat(name, ' ') FROM (SELECT name FROM ops ORDER BY id "
          "LIMIT 5))")
REASONS = "SELECT coalesce(group_concat(reason, ' '), '') FROM (SELECT reason FROM diagnostics ORDER BY 1)"


def ask(path, sql, seconds=120):
    """(lines, standard error without what it tells of damage, peak of resident memory in MiB) of the tool, in a process
    of its own.

    Linux lets a program begin with the peak of the process that started it, so this one has to stay small.
    """
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    assert own < 400, f"this test itself has taken {own:.0f} MiB, which would count as the tool's"
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(["timeout", str(seconds), os.path.join(BUILD, "tfprof"), "--format", "csv", path,
                                    sql],
                                   stdout=output, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0), errors.seek(0)
        text, error = output.read().decode("utf-8", "replace"), errors.read().decode("utf-8", "replace")
    assert process.returncode in (0, 1, 3), (process.returncode, error)
    if process.returncode == 0:
        told = "; SELECT * FROM diagnostics tells all"
        error = "".join(line for line in error.splitlines(True) if not line.rstrip("\n").endswith(told))
    return text.splitlines()[1:], error, usage.ru_maxrss / 1024


def written(directory, text, name="trace.json"):
    path = os.path.join(directory, name)
    with open(path, "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode())
    return path


def test_gigabyte_once(_engine):
    """A text of 1 GB, in a name, an argument, beside the events, and without an end: what
    stands around it is served."""
    before, after = OP % ("before", 1, ""), OP % ("after", 5, "")
    cases = {
        "name": ("[" + before + ',{"ph":"X","cat":"cpu_op","ts":3,"name":"', '"},' + after + "]", "before after",
                 "oversized_element"),
        "argument": ("[" + before + "," + OP % ("big", 3, '"x":"'), '"}},' + after + "]", "before after",
                     "oversized_element"),
        "member": ('{"traceEvents":[' + before + '],"note":"', '"}', "before", ""),
        "endless": ("[" + before + ',{"ph":"X","name":"', "", "before", ""),
    }
    for what, (head, tail, names, reason) in cases.items():
        if what == "argument":
            head = head[: -len("}}")]
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "trace.json")
            with open(path, "wb") as file:  # its middle takes no room on the disk
                file.write(head.encode())
                file.seek(1 << 30, os.SEEK_CUR)
                file.write((tail or " ").encode())
            lines, error, memory = ask(path, COUNTS + f", ({REASONS})")
            assert not error and lines, (what, error)
            assert names in lines[0] and reason in lines[0], (what, lines)
            assert memory < 700, (what, memory)


def test_deep_once(_engine):
    """Ten thousand and ten million levels, in an argument, beside the events, and instead of them."""
    for depth in (10_000, 10_000_000):
        nested = "[" * depth + "]" * depth
        with tempfile.TemporaryDirectory() as directory:
            path = written(directory, "[" + OP % ("before", 1, "") + "," + OP % ("deep", 2, '"x":' + nested) + "," + OP
                           % ("after", 3, "") + "]")
            lines, error, _ = ask(path, COUNTS)
            assert not error and "before deep after" in lines[0], (depth, error, lines)
            assert ask(path, "SELECT length(attributes) > 20000 FROM ops WHERE name = 'deep'")[0] == ["1"]
            lines, error, _ = ask(written(directory, '{"schemaVersion":1,"note":' + nested + ',"traceEvents":[' + OP
                                          % ("op", 1, "") + "]}"), COUNTS)
            assert not error and lines[0].endswith("op"), (depth, error, lines)
            for text in (nested, nested[:depth], '{"traceEvents":' + nested[:depth]):
                lines, error, _ = ask(written(directory, text), COUNTS)
                assert error and path in error or lines == ["0,"], (depth, error, lines)


def test_bombs_once(_engine):
    """gzip that unpacks to a thousand times its size: stopped, and what came before is served."""
    with tempfile.TemporaryDirectory() as directory:
        head = "[" + OP % ("before", 1, "") + ","
        for filler, what in ((b" ", "space"), (b"0", "digits"), (b"{},", "events")):
            packer = zlib.compressobj(9, zlib.DEFLATED, 31)
            packed = packer.compress(head.encode())
            for _ in range(300):
                packed += packer.compress(filler * MEGABYTE)
            packed += packer.flush()
            lines, error, memory = ask(written(directory, packed, "trace.json.gz"), COUNTS + f", ({REASONS})")
            assert not error and "before" in lines[0] and "gzip" in lines[0], (what, error, lines)
            assert memory < 300, (what, memory)
        # A gzip file in a gzip file is no trace; one that begins with many empty members is.
        inner = gzip.compress(gzip.compress(("[" + OP % ("op", 1, "") + "]").encode()))
        assert "no profile" in ask(written(directory, inner, "twice.json.gz"), COUNTS)[1]
        members = (gzip.compress(b"") * 100_000 + gzip.compress(b" \n" * 100_000)
                   + gzip.compress(("[" + OP % ("op", 1, "") + "]").encode()))
        lines, error, _ = ask(written(directory, members, "members.json.gz"), COUNTS)
        assert not error and "op" in lines[0], (error, lines)


def test_duplicates_once(_engine):
    """400,000 kernels and launches of one correlation, ops and frames of one number:
    what would be ambiguous is cut in linear time."""
    count = 400_000
    kernel = ('{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":%d,"dur":1,'
              '"args":{"device":0,"stream":7,"correlation":5,"External id":5}}')
    launch = ('{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":%d,"dur":1,'
              '"args":{"correlation":5,"External id":5}}')
    op_count = count // 5
    frame = ('{"ph":"X","cat":"python_function","name":"a.py(1): f","pid":1,"tid":1,"ts":%d,"dur":1,'
             '"args":{"Python id":3,"Python parent id":3}}')
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "trace.json")
        with open(path, "w") as file:  # an event at a time: this process stays small, see ask()
            file.write("[")
            for i in range(count):
                file.write(kernel % (2 * i) + ",\n" + launch % (2 * i) + ",\n")
            for i in range(op_count):
                file.write(OP % ("op", 2 * i, '"External id":5,"Sequence number":1') + ",\n")
            file.write(",\n".join(frame % i for i in range(op_count // 10)) + "]")
        sql = ("SELECT count(*), count(api_call_id), count(op_id), (SELECT count(*) FROM ops), (SELECT count(op_id) "
               "FROM api_calls), (SELECT count(*) FROM hta_queue_length), "
               "(SELECT count(*) FROM tb_operator_summary), (SELECT count(*) > 0 FROM code_summary) FROM kernels")
        lines, error, _ = ask(path, sql)
        assert (not error and lines[0].split(",")[:3] == [str(count), "0", "0"]
                and lines[0].split(",")[3] == str(op_count + op_count // 10)), (error, lines)


def test_not_utf8(engine):
    """Bytes that are not UTF-8, in a name, an argument, a frame and a thread's name: U+FFFD stands for each."""
    bad = b"[" + b",".join([
        (OP % ("a\xff\xe2\x82b", 1, '"note":"\x80"')).encode("latin-1"),
        b'{"ph":"X","cat":"python_function","name":"f\xc0.py(3): '
        b'g\xed\xa0\x80","pid":1,"tid":1,"ts":0,"dur":9,"args":{"Python id":1}}',
        b'{"ph":"M","name":"thread_name","pid":1,"tid":1,"ts":0,"args":{"name":"t\xf8"}}',
        (OP % ("\u00e9\u20ac\U0001f600", 3, "")).encode(),
    ]) + b"]"
    connection = engine()
    with tempfile.TemporaryDirectory() as directory:
        connection.values(f"SELECT tfprof_open('{written(directory, bad)}')")
        names = connection.values("SELECT name FROM ops WHERE category = 'op' ORDER BY start_ns")
        assert names == [("a\ufffd\ufffd\ufffdb",), ("\u00e9\u20ac\U0001f600",)], names
        assert connection.values("SELECT attributes FROM ops WHERE name GLOB 'a*'") == [('{"note":"\ufffd"}',)]
        assert connection.values("SELECT function, file FROM code_frames") == [("g\ufffd\ufffd\ufffd", "f\ufffd.py")]
        assert connection.values("SELECT name FROM threads") == [("t\ufffd",)]
        told = "SELECT table_name, count, offset FROM diagnostics WHERE reason = 'not_utf8' ORDER BY 1"
        rows = connection.values(told)
        assert len(rows) == 2 and rows[0][1] >= 3 and bad[rows[0][2]:].startswith(b"a\xff"), rows
        assert rows[1][:2] == ("ops", 1), rows
        assert bad[rows[1][2]:].startswith(b'{"ph":"X","cat":"cpu_op","name":"a\xff'), rows
        for name, sql in (("op_summary", "SELECT * FROM op_summary"), ("code_summary", "SELECT * FROM code_summary")):
            assert connection.values(sql), name
    connection.close()


def test_not_utf8_elsewhere(engine):
    """The same in what other programs write, in attributes alone, and in the name of a file."""
    trace = [{"action": "alloc", "addr": 1, "size": 512, "stream": 0, "time_us": 1,
              "frames": [{"filename": "f.py", "line": 1, "name": "gQ"}]}]
    files = {
        "snapshot.pickle": (pickle.dumps({"segments": [], "device_traces": [trace]}, 4).replace(b"gQ", b"g\xff"),
                            "SELECT function FROM code_frames", "g\ufffd"),
        "graph.pbtxt": (b'node { name: "a\\377b" op: "NoOp" }', "SELECT name FROM nodes", "a\ufffdb"),
        "chrome.json": (b'[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1,"args":{"text":"\xff"}}]',
                        "SELECT attributes FROM ranges", '{"text":"\ufffd"}'),
    }
    with tempfile.TemporaryDirectory() as directory:
        for name, (content, sql, expected) in files.items():
            connection = engine()
            connection.values(f"SELECT tfprof_open('{written(directory, content, name)}')")
            assert connection.values(sql) == [(expected,)], (name, connection.values(sql))
            assert connection.values("SELECT count(*) FROM diagnostics WHERE reason = 'not_utf8'") == [(1,)], name
            connection.close()
        connection, run = engine(), os.path.join(directory, "run")
        os.mkdir(run)
        with open(os.path.join(os.fsencode(run), b"x\xff.json"), "wb") as file:
            file.write(files["chrome.json"][0])
        connection.values(f"SELECT tfprof_open('{run}')")
        assert connection.values("SELECT path FROM profiles")[0][0].endswith("x\ufffd.json")
        connection.close()


def test_other_kinds(engine):
    """JSON that is no trace is refused, and the message says what was expected or what it looks like."""
    others = {
        "package.json": {"name": "left-pad", "version": "1.3.0", "dependencies": {}},
        "notebook.ipynb": {"cells": [{"cell_type": "code", "source": ["import torch"]}], "nbformat": 4},
        "numbers.json": [1, 2, 3.5, None],
        "texts.json": ["a", "b"],
        "coco.json": {"images": [{"id": 1}], "annotations": [{"ph": 1}]},
        "geo.json": {"type": "FeatureCollection", "features": []},
        "scalar.json": 17,
        "schema.json": {"schemaVersion": 1},
        "events.json": {"traceEvents": "none"},
    }
    connection = engine()
    with tempfile.TemporaryDirectory() as directory:
        for name, content in others.items():
            for text in (json.dumps(content).encode(), gzip.compress(json.dumps(content).encode())):
                path = written(directory, text, name)
                _, error = connection.query(f"SELECT tfprof_open('{path}')")
                assert error and name in error, (name, error)
        # In a folder with a trace they are left alone.
        written(directory, "[" + OP % ("op", 1, "") + "]", "rank0.json")
        connection.values(f"SELECT tfprof_open('{directory}')")
        assert connection.values("SELECT count(*) FROM profiles") == [(1,)]
    connection.close()


def test_recognition(engine):
    """A trace is known by its own members in any order, however much stands before the
    events; by its name beyond 1 MB."""
    event = OP % ("op", 1, "")
    filler = '"note":{"list":[%s],"text":"%s"}'
    short = filler % (",".join(["[{}]"] * 2000), '\\"[]{' * 2000)
    long = filler % ("1", "x" * (2 * MEGABYTE))
    traces = {
        "late.json": '{%s,"traceEvents":[%s]}' % (short, event),
        "kineto.json": '{%s,"deviceProperties":[],%s,"traceEvents":[%s]}' % (short, long, event),
        "array.json": '[{"args":{%s},%s]' % (short, event[1:]),
        "third.json": "[{},17,%s]" % event,
        "spaced.json": '\ufeff \n{ "a" : 1 ,\n"traceEvents"\t: [ %s ] }' % event,
        "long.pt.trace.json": '{%s,"traceEvents":[%s]}' % (long, event),
    }
    others = {
        "long.json": '{%s,"traceEvents":[%s]}' % (long, event),
        "text.json": json.dumps({"a": '"traceEvents":[', "b": '"deviceProperties":[]'}),
        "deeper.json": '{"a":{"traceEvents":[%s]},"b":[%s]}' % (event, event),
        "argument.json": '[{"args":%s}]' % event,
        "broken.json": '{"a" 1,"traceEvents":[%s]}' % event,
    }
    with tempfile.TemporaryDirectory() as directory:
        for pack in (bytes, gzip.compress):
            for name, text in {**traces, **others}.items():
                connection = engine()
                path = written(directory, pack(text.encode()), name)
                _, error = connection.query(f"SELECT tfprof_open('{path}')")
                assert bool(error) == (name in others), (name, error)
                assert not error or "no profile" in error and name in error, (name, error)
                assert error or connection.values("SELECT name FROM ops") == [("op",)], name
                connection.close()
        # In a folder the others are left alone, without a word; all traces have the same event.
        connection = engine()
        connection.values(f"SELECT tfprof_open('{directory}')")
        assert connection.values("SELECT count(*) FROM profiles") == [(1,)]
        told = connection.values("SELECT message FROM diagnostics WHERE reason = 'repeated_file'")
        names = sorted([message.split(" holds")[0] for message, in told] + [
            os.path.basename(path) for path, in connection.values("SELECT path FROM profiles")])
        assert names == sorted(traces), names
        assert connection.values("SELECT count(*) FROM diagnostics WHERE reason = 'unopened_file'") == [(0,)]
        connection.close()


def test_cut_once(_engine):
    """Cut behind the first event, which has no category: it is a range, and the cut is told."""
    event = '{"ph":"X","name":"a","ts":1,"dur":2,"pid":1,"tid":1}'
    sql = (f"SELECT name, start_ns, dur_ns, ({REASONS}), (SELECT complete FROM profiles), "
           f"(SELECT offset FROM diagnostics) FROM ranges")
    with tempfile.TemporaryDirectory() as directory:
        for head in ("[", '{"traceEvents":['):
            for tail in ("", ",", ',{"ph":', ',{"ph":"X","name":"b","ts":4,"dur":1'):
                lines, error, _ = ask(written(directory, head + event + tail), sql)
                cut = len(head + event) + (tail.startswith(",") and len(tail) == 1)
                is_whole = head == "[" and len(tail) < 2  # the last bracket of an array may be missing
                expected = "a,1000,2000,%s" % ('"",1,' if is_whole else f"truncated,0,{cut}")
                assert not error and lines == [expected], (head, tail, error, lines, expected)


def test_numbers(engine):
    """NaN, infinities, 2^63 and more, where a number belongs."""
    odd = ["NaN", "Infinity", "-Infinity", "9223372036854775808", "-9223372036854775809", "1e400", "-0", "1e-400",
           "0x10",
           "null", "true", '"NaN"', '""', "[1]", "{}", "18446744073709551615", "1" * 400, "-", ".5", "5.", "+1", "1e",
           "--1"]
    members = ['"ts":%s', '"dur":%s', '"pid":%s', '"tid":%s', '"args":{"External id":%s}',
               '"args":{"Sequence number":%s}']
    device = ["stream", "device", "correlation", "registers per thread", "shared memory", "blocks per SM",
              "warps per SM",
              "est. achieved occupancy %", "queued", "graph id", "graph node id", "bytes", "memory bandwidth (GB/s)",
              "context", "grid"]
    events, after = [], OP % ("after", 9, "")
    for value in odd:
        for member in members:
            rest = {"ts": 1, "dur": 1, "pid": 1, "tid": 1}
            name = member.split('"')[1]
            rest.pop(name, None)
            others = ",".join(f'"{key}":{number}' for key, number in rest.items())
            events.append('{"ph":"X","cat":"cpu_op","name":"odd",%s,%s}' % (others, member % value))
        for argument in device:
            category = "gpu_memcpy" if argument in ("bytes", "memory bandwidth (GB/s)") else "kernel"
            events.append('{"ph":"X","cat":"%s","name":"odd","pid":0,"tid":7,"ts":1,"dur":1,"args":{"%s":%s}}'
                          % (category, argument, value))
        events.append('{"ph":"C","name":"c","pid":1,"ts":2,"args":{"v":%s}}' % value)
        events.append('{"ph":"i","s":"t","name":"[memory]","pid":1,"tid":1,"ts":2,"args":{"Bytes":%s,"Addr":%s,"Device '
                      'Type":%s}}'
                      % (value, value, value))
    with tempfile.TemporaryDirectory() as directory:
        for base in ("0", "9223372036854775807", "18446744073709551615", "NaN", "-5", '"x"'):
            text = ('{"baseTimeNanoseconds":%s,"schemaVersion":1,"traceEvents":[%s]}'
                    % (base, ",\n".join([*events, after])))
            connection = engine()
            connection.values(f"SELECT tfprof_open('{written(directory, text)}')")
            names = [row[0]
                     for row in connection.values("SELECT name FROM tfprof_views WHERE kind IN ('view', 'check')")]
            tables = [row[0] for row in connection.values("SELECT name FROM tfprof_tables WHERE is_cache >= 0")]
            errors = [(name, error) for name in tables + names
                      for error in [connection.query(f"SELECT * FROM temp.{name}")[1]] if error]
            assert not errors, (base, errors[:3])
            assert connection.values("SELECT count(*) FROM ops WHERE name = 'after'") == [(1,)], base
            assert connection.values("SELECT count(*) > 0 FROM diagnostics WHERE offset > 0") == [(1,)], base
            connection.close()


if __name__ == "__main__":
    run_tests(sys.modules[__name__])
