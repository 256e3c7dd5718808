"""Doubles of the profiler servers of TensorFlow and JAX, and of what else may listen at such an address.

A Double listens on loopback and calls `answer(call)` on a thread for each request; a call has the request's fields and
ways to answer. HTTP/2 is spoken by hand, without flow control: answers are smaller than any window. `speak` takes the
place of all of that: speak(connection) may do what it likes.
"""

import contextlib
import socket
import struct
import threading
import time

import xplane_files as xplane
from xplane_files import varint

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, SETTINGS = 0, 1, 4
ACK = END_STREAM = 1
END_HEADERS = 4
EMPTY, SPACE = 7, 8  # fields of an answer


def message(space=b"", empty=False):
    """A ProfileResponse."""
    return xplane.number(EMPTY, empty) + (xplane.message(SPACE, space) if space else b"")


def framed(body, compressed=0, length=None):
    return struct.pack(">BI", compressed, len(body) if length is None else length) + body


class Call:
    def __init__(self, double, connection, stream, body):
        self.double, self.connection, self.stream = double, connection, stream
        self.fields = dict(xplane.fields(body[5:]))
        # Profile begins with a number, Terminate with the text of a session.
        self.is_end = isinstance(self.fields.get(1), bytes)

    def send(self, kind, flags, payload):
        head = struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, self.stream)
        with self.double.lock, contextlib.suppress(OSError):
            self.connection.sendall(head + payload)

    def headers(self, *pairs, flags=0):
        block = b"".join(b"\0" + varint(len(name)) + name.encode() + varint(len(value)) + value.encode()
                         for name, value in pairs)
        self.send(HEADERS, END_HEADERS | flags, block)

    def begin(self, status="200", kind="application/grpc"):
        self.headers((":status", status), ("content-type", kind))

    def data(self, payload, flags=0):
        for at in range(0, len(payload) or 1, 9000):
            self.send(DATA, flags if at + 9000 >= len(payload) else 0, payload[at:at + 9000])

    def end(self, status=0, text=""):
        self.headers(("grpc-status", str(status)), ("grpc-message", text), flags=END_STREAM)

    def good(self, space):
        """The whole of a good answer."""
        self.begin()
        self.data(framed(message(space)))
        self.end()

    def refuse(self, status, text=""):
        self.headers((":status", "200"), ("content-type", "application/grpc"), ("grpc-status", str(status)),
                     ("grpc-message", text), flags=END_STREAM)

    def hang_up(self):
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)


class Double:
    def __init__(self, answer=None, speak=None, host="127.0.0.1"):
        self.answer, self.speak, self.calls = answer, speak or self.speak_http, []
        self.lock = threading.Lock()
        self.listener = socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
        self.address = ("[%s]:%d" if ":" in host else "%s:%d") % (host, self.listener.getsockname()[1])
        self.name = self.address.strip("[").replace("]", "").replace(":", "_") + ".server.xplane.pb"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self.serve, args=(self.listener.accept()[0],), daemon=True).start()

    def serve(self, connection):
        with connection, contextlib.suppress(OSError):
            self.speak(connection)

    def speak_http(self, connection):
        stream = connection.makefile("rb")
        assert stream.read(len(PREFACE)) == PREFACE
        connection.sendall(b"\0\0\0\4\0\0\0\0\0")
        bodies = {}
        while head := stream.read(9):
            length, kind, flags, number = int.from_bytes(head[:3], "big"), head[3], head[4], head[5:]
            payload, number = stream.read(length), struct.unpack(">I", number)[0]
            if kind == SETTINGS and not flags & ACK:
                connection.sendall(b"\0\0\0\4\1\0\0\0\0")
            if kind == DATA:
                bodies[number] = bodies.get(number, b"") + payload
            if kind in (DATA, HEADERS) and flags & END_STREAM:
                call = Call(self, connection, number, bodies.pop(number, b"\0" * 5))
                self.calls.append(call)
                threading.Thread(target=self.answer, args=(call,), daemon=True).start()


def after(times, first, then):
    """An answer that is `first` so many times and `then` from then on."""
    lock, count = threading.Lock(), [0]

    def answer(call):
        with lock:
            count[0] += 1
            which = first if count[0] <= times else then
        which(call)

    return answer


def until_ended(space):
    """Answers when it is told to end, or when the time is over."""
    told = {}

    def answer(call):
        session = call.fields[1 if call.is_end else 6]
        event = told.setdefault(session, threading.Event())
        if call.is_end:
            call.begin()
            call.data(framed(b""))
            call.end()
            event.set()
        else:
            event.wait(call.fields[1] / 1000)
            call.good(space)

    return answer


def dies(call):
    """Its program ends while it records."""
    time.sleep(0.7)
    call.hang_up()
