#!/usr/bin/env python3
"""test_serve.py: who may ask `tfprof serve` what: each rule is tried by a socket, and SQL that does more than ask.

What is served is compared with what SQL says. test_served_page.py looks at it in a browser.
"""

import json
import os
import random
import signal
import socket
import stat
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import reports  # noqa: E402
from reports import CAPTURE, ROOT, query, query_all, scratch, varints  # noqa: E402
from serving import TFPROF, Served, serve_once, skip_without  # noqa: E402

LINKS = os.path.join(ROOT, "tests", "fixtures", "kineto", "links.json")
FOREVER = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
# Each instr() compares 170,000 bytes at as many places, and between them nothing looks for interrupts.
DEAF = ("WITH t(a, b) AS MATERIALIZED (SELECT printf('%.*c', 340000, 'a'), printf('%.*c', 170000, 'a') || 'b')"
        f" SELECT {', '.join(['instr(a, b)'] * 200)} FROM t")


def check_rules(served):
    """Status of each request that breaks one rule, and of the one that breaks none."""
    token, host = {"Authorization": f"Bearer {served.token}"}, {"Host": f"127.0.0.1:{served.port}"}
    good = {**token, **host}
    for status, path, headers in (
            (200, "/", host), (200, "/api/runs", good),
            (200, "/api/runs", {**good, "Host": "localhost"}), (200, "/api/runs", {**good, "Host": "localhost.:9"}),
            (200, "/api/runs", {**good, "Host": "[::1]:80"}),
            (421, "/api/runs", {**good, "Host": "evil.example"}), (421, "/", {"Host": "127.0.0.1.evil.example"}),
            (421, "/", {"Host": "localhost.evil.example:80"}), (421, "/", {"Host": ""}),
            (421, "/", {"Host": "10.0.0.1"}),
            (421, "/", {"Host": "localhost:80:80"}), (421, "/", {"Host": "[::1"}), (421, "/", {"Host": "a" * 5000}),
            (403, "/api/runs", {**good, "Origin": "http://evil.example"}),
            (403, "/api/runs", {**good, "Origin": "null"}),
            (403, "/api/runs", {**good, "Sec-Fetch-Site": "cross-site"}),
            (403, "/", {**host, "Sec-Fetch-Site": "same-site"}),
            (200, "/api/runs", {**good, "Sec-Fetch-Site": "same-origin", "Origin": f"http://{host['Host']}"}),
            (200, "/", {**host, "Sec-Fetch-Site": "none"}),
            (401, "/api/runs", host), (401, "/api/runs", {**host, "Authorization": "Bearer "}),
            (401, "/api/runs", {**host, "Authorization": f"Bearer {served.token}0"}),
            (401, "/api/runs", {**host, "Authorization": f"Bearer {served.token[:-1]}"}),
            (401, "/api/runs", {**host, "Authorization": f"Basic {served.token}"}),
            (401, "/api/runs", {**host, "Cookie": f"token={served.token}"}),
            (401, f"/api/runs?token={served.token}", host),
            (404, "/../../etc/passwd", good), (404, "/%2e%2e/%2e%2e/etc/passwd", good), (404, "/etc/passwd", good),
            (404, "//", good), (404, "/api/", good), (404, "/api/runs/", good), (404, "/index.html", good),
            (400, "/api/panel?run=x&name=op_steps", good), (400, "/api/panel?run=0&name=../ops", good),
            (400, "/api/panel?file=/etc/passwd", good), (400, "/api/panel?run=0&run", good),
            (400, "/api/events?window=5~1", good), (400, "/api/events?bucket=-1", good),
            (400, "/api/panel?steps=9223372036854775808-1", good),
            (404, "/api/panel?run=0&name=nothing", good), (404, "/api/panel?run=7&name=op_steps", good)):
        got, answered, _ = served.raw("GET", path, headers)
        assert got == status, (status, got, path, headers)
        assert "access-control-allow-origin" not in answered and "set-cookie" not in answered, answered
        assert answered["x-content-type-options"] == "nosniff" and answered["cache-control"] == "no-store", answered
        policy = answered["content-security-policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "unsafe" not in policy, policy
    for method, path, status in (("POST", "/", 405), ("POST", "/api/runs", 405), ("GET", "/api/sql", 405),
                                 ("DELETE", "/api/panel", 405), ("OPTIONS", "/api/sql", 405), ("PUT", "/api/sql", 405)):
        got, answered, _ = served.raw(method, path, good)
        assert got == status and answered["allow"], (method, path, got)
    # The page tells nobody anything of the run.
    _, _, page = served.raw("GET", "/", host)
    assert os.path.basename(CAPTURE).encode() not in page and served.token.encode() not in page


def is_answered_beside_strangers(served, good):
    strangers = [socket.create_connection(("127.0.0.1", served.port)) for _ in range(200)]
    assert served.raw("GET", "/api/runs", good)[0] == 200
    kept = 0
    for each in strangers:
        each.setblocking(False)
        try:
            each.recv(1)
        except BlockingIOError:
            kept += 1
        except OSError:
            pass
        each.close()
    return kept > 0


def check_limits(served):
    host = {"Host": "127.0.0.1"}
    good = {**host, "Authorization": f"Bearer {served.token}"}
    got, _, _ = served.raw("GET", "/", {**host, "X-Large": "x" * 200000})
    assert got in (400, 413, 414, 431), got
    got, _, _ = served.raw("GET", "/" + "x" * 200000, host)
    assert got in (400, 404, 414, 431, None), got
    got, _, _ = served.raw("POST", "/api/sql", good, b"x" * 1500000)
    assert got == 413, got
    got, _, _ = served.raw("POST", "/api/sql", {**good, "Transfer-Encoding": "chunked"},
                           (b"10000\r\n" + b"x" * 65536 + b"\r\n") * 20 + b"0\r\n\r\n", has_length=False)
    assert got == 413, got
    got, _, _ = served.raw("POST", "/api/sql?run=0", good, b"SELECT 1\0; DROP TABLE x")
    assert got == 400, got
    # Those without the token, who ask nothing, do not take the places of who has it until they are closed for that.
    assert any(is_answered_beside_strangers(served, good) for _ in range(3))
    # Slow ones, and more of them than there is room for, are in nobody's way for longer than it takes to close them.
    slow = [socket.create_connection(("127.0.0.1", served.port)) for _ in range(900)]
    for each in slow[:200]:
        try:
            each.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
        except OSError:
            pass
    for each in slow:
        each.close()
    served.until(lambda: served.raw("GET", "/", host)[0] == 200)


def check_noise(served, seed):
    """Whatever bytes come, the server answers or closes, and stays."""
    draw = random.Random(seed)
    base = (f"POST /api/sql?run=0&rows=5&view=a HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {served.token}\r\n"
            "Content-Length: 8\r\n\r\nSELECT 1").encode()
    keys = ("run", "name", "view", "steps", "window", "bucket", "rows", "profile", "x", "")
    for i in range(120):
        if i % 2:
            data = bytearray(base)
            for _ in range(draw.randrange(1, 6)):
                at = draw.randrange(len(data))
                data[at:at + draw.randrange(3)] = bytes(draw.randrange(256) for _ in range(draw.randrange(4)))
        else:
            words = "&".join(draw.choice(keys) + draw.choice(("=", "", "==", "%")) + "".join(
                draw.choice("0123456789-~%.aZ\\'\"<&é") for _ in range(draw.randrange(30)))
                for _ in range(draw.randrange(5)))
            data = (f"GET /api/{draw.choice(('panel', 'events', 'changes', 'runs'))}?{words} HTTP/1.1\r\n"
                    f"Host: 127.0.0.1\r\nAuthorization: Bearer {served.token}\r\nConnection: close\r\n\r\n").encode()
        with socket.create_connection(("127.0.0.1", served.port)) as connection:
            try:
                connection.sendall(bytes(data))
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(65536):
                    pass
            except OSError:
                pass
    assert served.raw("GET", "/", {"Host": "127.0.0.1"})[0] == 200, seed


def check_sql(served):
    answer = served.sql("SELECT count(*) AS n FROM ops")
    assert answer["columns"] == ["n"] and answer["rows"] == [[10000]] and answer["error"] is None, answer
    assert served.sql("SELECT value FROM json_each('[1, 2]')")["rows"] == [[1], [2]]
    # What a function does with a long text nothing interrupts, so that there are none.
    assert "too big" in served.sql("SELECT length(hex(zeroblob(300000)))")["error"]
    assert served.sql("SELECT op FROM op_summary WHERE op = '\"<b>\\'")["rows"] == []
    path = os.path.join(scratch.DIRECTORY, "written")
    for sql in (f"ATTACH '{path}' AS other", f"VACUUM INTO '{path}'", f"SELECT tfprof_save('{path}')",
                f"SELECT tfprof_timeline('{path}')", f"SELECT tfprof_pprof('{path}')",
                f"SELECT tfprof_dot('{path}', 'main')",
                f"SELECT writefile('{path}', 'x')",
                "SELECT readfile('/etc/passwd')", "SELECT load_extension('x')", "SELECT tfprof_open('/')",
                "SELECT tfprof_close(1)", "SELECT tfprof_refresh()", "SELECT tfprof_set('a', 1)",
                "PRAGMA temp_store = 1",
                "PRAGMA writable_schema = 1", "PRAGMA encoding = 'UTF-16'", "SELECT * FROM pragma_function_list",
                "CREATE TABLE t(a)", "CREATE TEMP VIEW v AS SELECT 1",
                "CREATE TRIGGER t AFTER INSERT ON x BEGIN SELECT 1; END",
                "INSERT INTO node_type_patterns VALUES ('a', 'b')", "UPDATE sqlite_master SET sql = ''",
                "UPDATE temp.sqlite_master SET sql = ''", "DELETE FROM sqlite_master", "DROP VIEW temp.advise",
                "BEGIN",
                "REINDEX", "ANALYZE", "DETACH temp", "SELECT 1; SELECT 2", "SELECT 1; DROP VIEW temp.advise", "", "--",
                "SELECT fts3_tokenizer('x')", "SELECT 'x", "CREATE VIRTUAL TABLE temp.x USING json_each"):
        answer = served.sql(sql)
        assert answer["error"] and not answer["rows"], (sql, answer)
    assert not os.path.exists(path)
    answer = served.sql("SELECT nme FROM ops")
    assert answer["place"] == 7 and "nme" in answer["error"], answer
    # No more rows than were asked for, however many there are, and nothing that is too large.
    answer = served.sql("SELECT a.id FROM ops AS a, ops AS b", rows=10000)
    assert len(answer["rows"]) == 10000 and answer["more"] and answer["error"] is None
    assert served.sql("SELECT zeroblob(1000000000)")["error"]
    assert served.raw("POST", "/api/sql?run=0&rows=10001", served.good, b"SELECT 1")[0] == 400


def check_interrupts(served):
    """A query ends when who asked hangs up, and when a newer one of the same view comes; others are not disturbed."""
    connection = served.begin("POST", "/api/sql?run=0", FOREVER.encode())
    connection.close()
    assert served.sql("SELECT 1")["rows"] == [[1]]
    connection = served.begin("POST", "/api/sql?run=0&view=box", FOREVER.encode())
    # Until it runs a newer one would only take its place in the queue, which is as well.
    assert served.sql("SELECT 2", view="box")["rows"] == [[2]]
    status, _, text = served.finish(connection)
    assert status == 409 and b"newer" in text, (status, text)
    # While SQL runs, panels are answered, and an end of the server is not kept waiting.
    connection = served.begin("POST", "/api/sql?run=0", FOREVER.encode())
    assert served.ask("panel?run=0&name=header")["panel"]["rows"]
    return connection


def check_answers(served, run):
    """Panels as views have them, and events as timeline() has them."""
    panels = {row["name"]: row["sql"] for row in query(run, "SELECT name, sql FROM tfprof_panels")}
    (origin,) = query(run, "SELECT min(start_ns) AS ns FROM profiles")
    wanted = query_all(run, {name: reports.bound(sql, origin_ns=origin["ns"]) for name, sql in panels.items()})
    for name, sql in panels.items():
        answer = served.ask(f"panel?run=0&name={name}")["panel"]
        assert answer["error"] is None and answer["sql"] == sql, (name, answer["error"])
        assert [dict(zip(answer["columns"], row)) for row in answer["rows"]] == wanted[name], name
    head, columns = served.events("run=0")
    assert head["all"] == head["events"] == head["cells"] and head["bucket_ns"] == 0, head["all"]
    found = sorted(cells(head, columns, origin["ns"]), key=str)
    rows = query(run, "SELECT profile_id, thread_id, table_name, depth, longest_id, name, start_ns, end_ns "
                      "FROM timeline(NULL, NULL, 0)")
    assert found == sorted((list(row.values()) for row in rows), key=str)
    check_windows(served, run)


def check_windows(served, run, seed=1):
    """A window has what touches it, in the rows where it lies in the whole, which the server finds by its index."""
    draw = random.Random(seed)
    (span,) = query(run, "SELECT min(start_ns) AS origin, max(end_ns) AS last FROM profiles")
    origin, length = span["origin"], span["last"] - span["origin"]
    windows = sorted(draw.randrange(length) for _ in range(12))
    select = "SELECT profile_id, thread_id, table_name, depth, longest_id, name, start_ns, end_ns FROM timeline"
    wanted = query_all(run, {str(at): f"{select}({origin + at}, {origin + at + length // 50}, 0)" for at in windows})
    assert any(wanted.values())
    for at in windows:
        head, columns = served.events(f"run=0&window={at}~{at + length // 50}")
        found = sorted(cells(head, columns, origin), key=str)
        assert found == sorted((list(row.values()) for row in wanted[str(at)]), key=str), (run, at)


def cells(head, columns, origin):
    for lane, at, found in reports.lanes_of(head["lanes"], ("starts", "lengths", "names", "rows"),
                                            lambda bundle, name: list(varints(columns[bundle][name]))):
        starts, lengths, names, rows = found.values()
        for depth, count in lane["tracks"]:
            start, row = origin, 0
            for i in range(at, at + count):
                start += starts[i]
                row += -(rows[i] + 1) // 2 if rows[i] % 2 else rows[i] // 2
                yield [lane["profile_id"], lane["thread_id"], lane["table"], depth, (lane["profile_id"] << 36) + row,
                       head["names"][names[i]][0], start, start + lengths[i]]
            at += count


def large_traces():
    folder = os.path.join(reports.SHARED or "", "traces")
    return [os.path.join(folder, *words) for words in (
        ("pytorch", "resnet50_num_workers_0.pt.trace.json.gz"), ("pytorch", "nccl_a100.json.gz"),
        ("xplane", "gpu_unsorted_a.xplane.pb"), ("tf", "profile_9"))] if reports.SHARED else []


def check_several():
    """Each run by itself, and all together, as tfprof opens them together."""
    with Served(CAPTURE, LINKS) as served:
        counts = [served.sql("SELECT count(*) FROM ops", run=run)["rows"][0][0] for run in ("0", "1", "all")]
        assert counts[0] == 10000 and 0 < counts[1] and counts[2] == counts[0] + counts[1], counts
        assert [run["name"] for run in served.ask("runs")["runs"]] == ["ops.tfprof", "links.json"]
        assert served.sql("SELECT count(*) FROM runs", run="all")["rows"] == [[2]]


def check_growing():
    """Rows that a recording gets are there without another opening; a run that is gone stays as it was read."""
    path = os.path.join(scratch.DIRECTORY, "growing.tfprof")
    with open(CAPTURE, "rb") as file:
        whole = file.read()
    with open(path, "wb") as file:
        file.write(whole[:len(whole) // 2])
    with Served(path) as served:
        before = served.ask("changes?run=0")["version"]
        with open(path, "ab") as file:
            file.write(whole[len(whole) // 2:])
        served.until(lambda: served.ask("changes?run=0")["version"] > before)
        assert served.sql("SELECT count(*) FROM ops")["rows"] == [[10000]]
        os.remove(path)
        time.sleep(1.6)  # it is looked after no more often
        assert served.ask("changes?run=0")["growing"] is False
        assert served.ask("panel?run=0&name=op_steps")["panel"]["rows"]


def check_socket():
    """A socket in the file system is its owner's alone, and goes with the server."""
    path = os.path.join(scratch.DIRECTORY, "socket")
    with Served(CAPTURE, "--socket", path) as served:
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        served.until(lambda: served.ask("runs")["runs"][0]["state"] == "open")
        assert served.raw("GET", "/api/runs", {"Host": "127.0.0.1"})[0] == 401
        status, _, told = serve_once(CAPTURE, "--socket", path)
        assert status == 1 and "in use" in told, told
    assert not os.path.exists(path)
    # ssh takes only a whole path.
    process = subprocess.Popen([TFPROF, "serve", CAPTURE, "--socket", "within"], cwd=scratch.DIRECTORY, text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    told = process.stderr.readline()
    process.terminate()
    process.communicate()
    assert f"8888:{os.path.realpath(scratch.DIRECTORY)}/within " in told, told
    # What a server that was killed has left is in nobody's way; what is no socket stays, whatever it is.
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(path)
    with Served(CAPTURE, "--socket", path) as served:
        assert served.raw("GET", "/", {"Host": "localhost"})[0] == 200
    with open(path, "w", encoding="utf-8") as file:
        file.write("mine")
    status, _, told = serve_once(CAPTURE, "--socket", path)
    assert status == 1 and "in use" in told, told
    with open(path, encoding="utf-8") as file:
        assert file.read() == "mine"


def check_names():
    """Which names a server answers to, and a token that a file holds."""
    path = os.path.join(scratch.DIRECTORY, "token")
    token = "0123456789abcdef" * 2
    with open(path, "w", encoding="utf-8") as file:
        file.write(token + "\n")
    os.chmod(path, 0o640)
    got, printed, told = serve_once(CAPTURE, "--token-file", path)
    assert got == 2 and "chmod 600" in told and not printed, (got, printed, told)
    os.chmod(path, 0o600)
    for words, wanted in (([], {"node7": 421, "192.0.2.7": 421}),
                          (["--host-name", "node7"], {"node7": 200, "NODE7.:80": 200, "node77": 421, "192.0.2.7": 421}),
                          (["--listen", "127.0.0.1", "--host-name", "node7"],
                           {"node7": 200, "192.0.2.7:80": 200, "[2001:db8::1]": 200, "192.0.2.7.evil.example": 421})):
        with Served(CAPTURE, "--token-file", path, *words) as served:
            assert served.token == token
            for host, status in {**wanted, "localhost": 200, "evil.example": 421}.items():
                got = served.raw("GET", "/api/runs", {**served.good, "Host": host})[0]
                assert got == status, (words, host, got)


def check_usage(port):
    for words, status, said in (
            (["--help"], 0, ""), ([], 2, "no run"), ([CAPTURE, "--prot", "1"], 2, "unknown option"),
            ([CAPTURE, "--port", "x"], 2, "no port"), ([CAPTURE, "--port", "70000"], 2, "no port"),
            ([CAPTURE, "--listen", "nowhere"], 1, "no address"), ([CAPTURE, "--token-file", CAPTURE], 2, "hexadecimal"),
            ([CAPTURE, "--socket", "x", "--port", "1"], 2, "alone"), (["/nowhere/at/all"], 3, "/nowhere"),
            ([CAPTURE, "--socket", "/nowhere/x"], 1, "/nowhere"), ([CAPTURE, "--port", str(port)], 1, "in use")):
        got, printed, told = serve_once(*words)
        assert got == status and said in told, (words, got, told)
        assert status in (0, 3) or not printed, (words, printed)


def main():
    skip_without()
    with Served(CAPTURE, CAPTURE) as served:
        long = served.begin("POST", "/api/sql?run=0", FOREVER.encode())
        deaf = served.begin("POST", "/api/sql?run=1", DEAF.encode())
        check_rules(served)
        # No longer than ten seconds; the next question waits for it.
        answer = served.sql("SELECT 1")
        cut = json.loads(served.finish(long)[2])
        assert answer["rows"] == [[1]] and cut["interrupted"] and cut["ns"] >= 9_000_000_000 and not cut["rows"], cut
        # Nor do functions of one row that no interrupt ends: what comes next is answered while they go on.
        assert served.sql("SELECT 1", run=1)["rows"] == [[1]]
        status, _, told = served.finish(deaf)
        assert status == 504 and b"goes on by itself" in told, (status, told)
        check_sql(served)
        check_answers(served, CAPTURE)
        check_limits(served)
        check_noise(served, os.environ.get("TFPROF_SERVE_SEED") or 1)
        check_usage(served.port)
        connection = check_interrupts(served)
        assert served.end(signal.SIGINT) == 0
        connection.close()
    traces = [os.path.join(ROOT, "tests", "fixtures", "kineto", name) for name in ("python.json", "gloo.json")]
    for path in traces + large_traces():
        with Served(path) as served:
            served.events("run=0")
            check_windows(served, path)
    check_several()
    check_growing()
    check_socket()
    check_names()


main()
