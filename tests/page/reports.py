"""What the tests of this directory share: writing reports, and reading what is in one without a browser."""

import base64
import html.parser
import json
import os
import pickle
import re
import subprocess
import sys
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, ".."), os.path.join(HERE, "..", "sql")]
import scratch  # noqa: E402,F401  (temporary files go where they are removed)
from asking import query  # noqa: E402,F401

ROOT = os.path.normpath(os.path.join(HERE, "..", ".."))
BUILD = os.path.abspath(os.environ.get("TFPROF_BUILD") or os.path.join(ROOT, "build"))
SHARED = os.environ.get("TFPROF_SHARED")
CAPTURE = os.path.join(ROOT, "tests", "golden", "dump-1", "ops.tfprof")
COLUMNS = ("starts", "lengths", "names", "rows", "counts", "busy", "links", "traces")
PARAMETERS = ("profile_id", "first_step", "last_step", "origin_ns")


def tfprof(*arguments):
    """(exit status, standard error)."""
    done = subprocess.run([os.path.join(BUILD, "tfprof"), "report", *arguments], stdin=subprocess.DEVNULL,
                          capture_output=True, encoding="utf-8")
    return done.returncode, done.stderr


def write_report(name, *arguments):
    path = os.path.join(scratch.DIRECTORY, name)
    status, told = tfprof(*arguments, "-o", path)
    assert status == 0, told
    return path


class Elements(html.parser.HTMLParser):
    """The attributes and texts of the elements of a file that have one of the names."""

    def __init__(self, names):
        super().__init__()
        self.names, self.found, self.depth = names, [], 0

    def handle_starttag(self, tag, attributes):
        if tag in self.names:
            self.found.append((tag, dict(attributes), []))

    def handle_data(self, data):
        if self.found:
            self.found[-1][2].append(data)


class Report:
    """A report, as its text has it."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.text = file.read()
        elements = Elements(("script",))
        elements.feed(self.text)
        self.scripts = {attributes["id"]: "".join(data) for _, attributes, data in elements.found if "id" in attributes}
        self.run = json.loads(self.scripts["run"])
        packed = [zlib.decompress(base64.b64decode(self.scripts[name])).decode() for name in ("panels", "lanes")]
        self.unpacked = "\n".join([self.text, *packed])  # all texts that are in it
        self.panels = {panel["name"]: whole_rows(panel) for panel in json.loads(packed[0])}
        self.lanes = json.loads(packed[1])

    def column(self, bundle, name):
        text = self.scripts.get(f"bundle-{bundle}-{name}")
        # What follows an element in the file is only white space.
        return list(varints(zlib.decompress(base64.b64decode(text)))) if text else None

    def each_lane(self, names):
        """(lane, its place in the columns, columns by name) of each lane; lanes of a bundle share the columns."""
        yield from lanes_of(self.lanes["lanes"], names, self.column)

    def causes(self):
        """(table, id, table of the cause or None, its id, id of the stack or None) of each event."""
        for lane, at, columns in self.each_lane(("rows", "links", "traces")):
            rows, links, traces = columns.values()
            base = lane["profile_id"] << 36
            for _, count in lane["tracks"]:
                row = link = trace = 0
                for i in range(at, at + count):
                    row += unzigzag(rows[i])
                    cause = stack = None
                    if links and links[i]:
                        link += unzigzag((links[i] - 1) >> 1)
                        cause = ("ops" if (links[i] - 1) & 1 else "api_calls", base + link)
                    if traces and traces[i]:
                        trace += unzigzag(traces[i] - 1)
                        stack = base + trace
                    yield (lane["table"], base + row, *(cause or (None, None)), stack)
                at += count

    def cells(self):
        """What the timeline draws: dictionaries with the columns of timeline()."""
        found, origin = [], int(self.run["origin_ns"])
        for lane, at, columns in self.each_lane(COLUMNS):
            for depth, count in lane["tracks"]:
                start, row = origin, 0
                for i in range(at, at + count):
                    start += columns["starts"][i]
                    row += unzigzag(columns["rows"][i])
                    name, category = self.lanes["names"][columns["names"][i]]
                    length = columns["lengths"][i]
                    found.append({"profile_id": lane["profile_id"], "thread_id": lane["thread_id"],
                                  "table_name": lane["table"], "depth": depth,
                                  "longest_id": (lane["profile_id"] << 36) + row, "name": name,
                                  "category": category, "start_ns": start, "end_ns": start + length,
                                  "count": columns["counts"][i] if columns["counts"] else 1,
                                  "busy_ns": columns["busy"][i] if columns["busy"] else length})
                at += count
        return found


def whole_rows(panel):
    """With the texts that the rows only refer to: [row] is the text that the column has there."""
    for row in panel["rows"]:
        row[:] = [panel["rows"][cell[0]][i] if isinstance(cell, list) else cell for i, cell in enumerate(row)]
    return panel


def lanes_of(lanes, names, column_of):
    places, bundles = {}, {}
    for lane in lanes:
        bundle = lane["bundle"]
        if bundle not in bundles:
            bundles[bundle] = {name: column_of(bundle, name) for name in names}
        at = places.get(bundle, 0)
        yield lane, at, bundles[bundle]
        places[bundle] = at + sum(count for _, count in lane["tracks"])


def unzigzag(value):
    return -(value + 1) // 2 if value % 2 else value // 2


def varints(data):
    value = shift = 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value = shift = 0


def query_all(run, questions):
    """{name: rows} of {name: SELECT}, by one process."""
    script = "".join(f"SELECT '{name}' AS name_of_answer;\n{sql};\n" for name, sql in questions.items())
    done = subprocess.run([os.path.join(BUILD, "tfprof"), "--format", "json", run], input=script, capture_output=True,
                          encoding="utf-8")
    assert done.returncode == 0, done.stderr
    answers, at, decoder = {}, 0, json.JSONDecoder()
    while done.stdout[at:at + 9].strip():
        rows, at = decoder.raw_decode(done.stdout, at + re.match(r"\s*", done.stdout[at:]).end())
        if rows and "name_of_answer" in rows[0]:
            name = rows[0]["name_of_answer"]
            answers[name] = []
        else:
            answers[name] = rows
        at += re.match(r"\s*", done.stdout[at:at + 9]).end()
    assert answers.keys() == questions.keys()
    return answers


def bound(sql, **values):
    for name in PARAMETERS:
        sql = re.sub(rf":{name}\b", str(values.get(name, "NULL")), sql)
    return sql


def hostile_trace():
    """A trace in which every text is markup, as far as a trace has texts, with all that panels are made of."""
    wild = "</script><img src=x onerror=alert(1)><b>&amp;'\"]]>--!>\\u003c" + "{}"
    event = lambda kind, name, pid, tid, ts, dur, **args: {  # noqa: E731
        "ph": "X", "cat": kind, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}
    events = [{"ph": "M", "name": "thread_name", "pid": 9, "tid": 9, "args": {"name": wild.format("thread")}},
              {"ph": "M", "name": "process_name", "pid": 9, "tid": 0, "args": {"name": wild.format("process")}}]
    for step in range(4):
        at = step * 1000
        events += [
            event("user_annotation", f"ProfilerStep#{step}", 9, 9, at, 990, **{"External id": at + 1}),
            event("cpu_op", wild.format("op"), 9, 9, at + 10, 80,
                  **{"External id": at + 2, "Input Dims": [[2, 3]], "Call stack": wild.format("stack")}),
            event("cuda_runtime", "cudaLaunchKernel", 9, 9, at + 30, 5,
                  **{"correlation": at + 3, "External id": at + 2}),
            event("kernel", wild.format("kernel"), 0, 7, at + 50, 200,
                  **{"device": 0, "stream": 7, "correlation": at + 3, "External id": at + 2}),
            event("user_annotation", wild.format("range"), 9, 9, at + 300, 100),
            event("python_function", wild.format("<python>"), 9, 9, at + 420, 50,
                  **{"Python id": at + 1, "Python parent id": None}),
            {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 9, "tid": 9, "ts": at + 20, "s": "t",
             "args": {"Total Allocated": 4096 * (step + 1), "Bytes": 4096, "Device Id": 0, "Device Type": 1,
                      "Addr": 4096 + step, "Total Reserved": 1 << 20}},
            {"ph": "C", "cat": "counter", "name": wild.format("counter"), "pid": 9, "tid": 9, "ts": at,
             "args": {wild.format("series"): step}}]
    path = os.path.join(scratch.DIRECTORY, "hostile.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": wild.format("device"), "numSms": 80}],
                   "traceName": wild.format("name"), "traceEvents": events}, file)
    return path


def ranks_of(count):
    """Traces of so many ranks of a job; of eight some wait for others."""
    import test_alignment
    folder = os.path.join(scratch.DIRECTORY, f"ranks-{count}")
    os.mkdir(folder)
    for rank in range(count):
        with open(os.path.join(folder, f"rank{rank}.json"), "w", encoding="utf-8") as file:
            trace = test_alignment.trace(rank, rank * 1_000_000, f"node{rank // 4}", slow=5 if rank > 3 else None)
            json.dump({**trace, "distributedInfo": {"rank": rank, "world_size": count}}, file)
    return folder


def eight_ranks():
    return ranks_of(8)


def memory_snapshot():
    import test_memory_snapshot
    path = os.path.join(scratch.DIRECTORY, "snapshot.pickle")
    with open(path, "wb") as file:
        pickle.dump(test_memory_snapshot.snapshot(count=2000)[0], file)
    return path
