"""A program in a pseudo-terminal, for tests of what a person at a keyboard sees. Needs nothing but Python."""

import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import asking  # noqa: E402,F401  (for the tests that import this)
import bounded  # noqa: E402,F401
import scratch  # noqa: E402,F401  (temporary files go where they are removed)
from parts import is_of_build  # noqa: E402

CONTROL = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]|\x1b\][^\x07]*\x07|\x07")


def plain(text):
    """The text without colours and cursor movements."""
    return CONTROL.sub("", text).replace("\r\n", "\n").replace("\r", "")


USUAL = {"TERM": "xterm", "TFPROF_PAGER": ""}  # long results come as they are


class Terminal:
    """terminal = Terminal([program, ...], columns=80); terminal.send("text\\n"); terminal.expect("pattern")"""

    def __init__(self, command, columns=80, lines=40, environment=None, directory=None):
        self.raw = ""  # all that was printed
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")  # a read may end within a character
        self.seen = 0  # how far expect() has come in it
        self.status = None
        self.pid, self.descriptor = pty.fork()
        if self.pid == 0:
            try:
                fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
                if directory:
                    os.chdir(directory)
                os.execvpe(command[0], command, {**os.environ, **USUAL, **(environment or {})})
            finally:
                os._exit(127)

    def resize(self, columns, lines=40):
        fcntl.ioctl(self.descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def send(self, text):
        os.write(self.descriptor, text.encode())

    def signal(self, number):
        os.kill(self.pid, number)

    def _read(self, seconds):
        ready, _, _ = select.select([self.descriptor], [], [], max(seconds, 0))
        if not ready:
            return True
        try:
            data = os.read(self.descriptor, 65536)
        except OSError:
            return False  # the other side is closed
        self.raw += self.decoder.decode(data)
        return bool(data)

    def expect(self, pattern, seconds=20):
        """Waits until the pattern appears after what the last call saw; returns the plain text up to its end."""
        end, alive = time.monotonic() + seconds, True
        while True:
            text = plain(self.raw)
            found = re.compile(pattern).search(text, self.seen)
            if found:
                before, self.seen = text[self.seen : found.end()], found.end()
                return before
            if not alive or time.monotonic() > end:
                raise AssertionError(
                    f"{pattern!r} did not appear; after {text[max(0, self.seen - 200):self.seen]!r} "
                    f"there is {text[self.seen:]!r}"
                )
            alive = self._read(min(0.2, end - time.monotonic()))

    def insist(self, key, pattern, seconds=20):
        """Types the key until the pattern appears, repeatedly: who has just got a signal may drop what was typed."""
        end = time.monotonic() + seconds
        while True:
            self.send(key)
            try:
                return self.expect(pattern, 0.5)
            except AssertionError:
                if time.monotonic() > end:
                    raise

    def wait(self, seconds=20):
        """Reads until the program ends; returns its exit status, or minus the signal that ended it."""
        end = time.monotonic() + seconds
        while self.status is None:
            self._read(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
            elif time.monotonic() > end:
                raise AssertionError(f"still running; the last it printed is {plain(self.raw)[-400:]!r}")
        while self._read(0.05) and select.select([self.descriptor], [], [], 0)[0]:
            pass
        return self.status

    def close(self):
        if self.status is None:
            try:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
            except (ProcessLookupError, ChildProcessError):
                pass
        os.close(self.descriptor)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()


def program(name):
    """A program of the build that is tested: $TFPROF_BUILD/name, or build/name."""
    path = os.path.abspath(os.path.join(os.environ.get("TFPROF_BUILD", "build"), name))
    if not os.path.exists(path):
        raise SystemExit(f"{path} does not exist; build it first, or name the build directory with TFPROF_BUILD")
    return path


class LeftOut(Exception):
    """Raised by a test that cannot be done here; says why."""


def run_tests(names):
    """Runs every function of the dictionary whose name begins with test_; ends the program with 0 or 1, or 77 when one
    had to be left out."""
    import traceback

    failures, left_out = 0, []
    for name, function in list(names.items()):
        if not name.startswith("test_") or not is_of_build(name, names):
            continue
        try:
            function()
            print(f"ok      {name}", flush=True)
        except LeftOut as reason:
            left_out.append(f"{name}: {reason}")
            print(f"left out {name}: {reason}", flush=True)
        except Exception:  # each failure is told, the others still run
            failures += 1
            print(f"FAILED  {name}", flush=True)
            traceback.print_exc(file=sys.stdout)
    if left_out and not failures:
        print("left out: " + "; ".join(left_out))
    sys.exit(1 if failures else 77 if left_out else 0)
