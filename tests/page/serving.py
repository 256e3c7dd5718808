"""What the tests of `tfprof serve` share: a server of one's own, and asking it by sockets or a browser."""

import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time
import urllib.parse
import zlib

from reports import BUILD, whole_rows

TFPROF = os.path.join(BUILD, "tfprof")


def skip_without():
    """Ends the test where tfprof was built without it."""
    done = subprocess.run([TFPROF, "serve", "/nowhere/at/all"], capture_output=True, encoding="utf-8")
    if "libmicrohttpd" in done.stderr:
        print("tfprof was built without libmicrohttpd")
        sys.exit(77)


def serve_once(*words):
    """(exit status, standard output, standard error) of one that ends by itself."""
    done = subprocess.run([TFPROF, "serve", *words], stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8",
                          timeout=60)
    return done.returncode, done.stdout if "--help" not in words else "", done.stderr


class Served:
    """A server of the runs, until the end of the block."""

    def __init__(self, *words):
        self.process = subprocess.Popen([TFPROF, "serve", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, encoding="utf-8")
        self.address = self.process.stdout.readline().strip()
        match = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/#token=([0-9a-f]{32})", self.address)
        assert match, self.address
        self.port, self.token = int(match[1]), match[2]
        self.path = words[words.index("--socket") + 1] if "--socket" in words else None
        self.good = {"Host": "127.0.0.1", "Authorization": f"Bearer {self.token}"}

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if self.process.poll() is None:
            status = self.end(signal.SIGTERM)
            assert kind or status == 0, status
        elif not kind:
            assert self.process.returncode == 0, self.process.returncode

    def end(self, number):
        self.process.send_signal(number)
        return self.process.wait(60)

    def until(self, condition):
        end = time.monotonic() + 60
        while not condition():
            assert time.monotonic() < end, "it does not come"
            time.sleep(0.05)

    # ---- by sockets ----

    def connect(self):
        if not self.path:
            return socket.create_connection(("127.0.0.1", self.port), timeout=60)
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(self.path)
        return connection

    def begin(self, method, path, body=b"", headers=None, has_length=True):
        connection = self.connect()
        head = {**(self.good if headers is None else headers), "Connection": "close"}
        if body and has_length:
            head["Content-Length"] = len(body)
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in head.items()), "", ""]
        try:
            connection.sendall("\r\n".join(lines).encode() + body)
        except OSError:
            pass  # it has said why before it read all
        return connection

    def finish(self, connection):
        data = b""
        try:
            while more := connection.recv(1 << 20):
                data += more
        except ConnectionResetError:
            pass
        connection.close()
        if not data:
            return None, {}, b""
        head, _, body = data.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        headers = {line.split(": ")[0].lower(): line.split(": ", 1)[1] for line in lines[1:]}
        return int(lines[0].split()[1]), headers, body

    def raw(self, method, path, headers, body=b"", has_length=True):
        """(status, headers, body)."""
        return self.finish(self.begin(method, path, body, headers, has_length))

    def ask(self, path):
        status, _, body = self.raw("GET", f"/api/{path}", self.good)
        assert status == 200, (path, status, body)
        answer = json.loads(body)
        if "panel" in answer:
            whole_rows(answer["panel"])
        return answer

    def sql(self, sql, **parameters):
        words = urllib.parse.urlencode({"run": 0, **parameters})
        status, _, body = self.raw("POST", f"/api/sql?{words}", self.good, sql.encode())
        assert status == 200, (sql, status, body)
        return json.loads(body)

    def events(self, words):
        """(what the server says of them, {column: bytes} of each bundle)."""
        status, _, body = self.raw("GET", f"/api/events?{words}", self.good)
        assert status == 200, (words, status, body)
        (length,) = struct.unpack("<I", body[:4])
        head, at, lanes = json.loads(body[4:4 + length]), 4 + length, []
        for lengths in head["bytes"]:
            lane = {}
            for name, size in zip(head["columns"], lengths):
                if size:
                    lane[name] = zlib.decompress(body[at:at + size])
                at += size
            lanes.append(lane)
        assert at == len(body)
        return head, lanes
