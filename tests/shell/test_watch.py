"""--watch and the command watch: answers that follow a recording while it grows, on a terminal and on a pipe."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from mutations import dumps
from terminal import Terminal, bounded, plain, program, run_tests

TFPROF = program("tfprof")
MAKE = os.path.join(os.path.dirname(TFPROF), "tests", "make_ops_dump")
PROMPT = r"tfprof> $"
ROWS = 40000
COUNT = "SELECT 'n=' || count(*) AS ops FROM ops"
ENTER, LEAVE = "\x1b[?1049h", "\x1b[?1049l"


class Recording:
    """A dump that is written frame by frame, as its program would."""

    def __init__(self):
        self.run = tempfile.mkdtemp(prefix="tfprof-test-")
        whole = os.path.join(tempfile.mkdtemp(prefix="tfprof-test-"), "whole.tfprof")
        subprocess.run([MAKE, whole, str(ROWS)], check=True, stdout=subprocess.DEVNULL)
        with open(whole, "rb") as file:
            self.data = file.read()
        self.frames = [start for start, _ in dumps.frames_of(self.data)]
        self.path, self.written = os.path.join(self.run, "0.tfprof"), 0

    def write(self, share):
        """So much of it, up to the end of a frame; 1: all, with the trailer that closes it."""
        end = len(self.data) if share == 1 else self.frames[int(len(self.frames) * share)]
        with open(self.path, "ab") as file:
            file.write(self.data[self.written : end])
        self.written = end

    def count(self):
        """The ops that are written, as the extension has them now."""
        out = subprocess.run([TFPROF, "--csv", self.run, COUNT], check=True, stdout=subprocess.PIPE, text=True).stdout
        return int(out.split("n=")[1])


def watch(recording, *words, **more):
    return Terminal([TFPROF, recording.run, "--watch", "0.2", *words], **more)


def frames_drawn(text):
    """What each frame drew, in plain lines."""
    return [plain(frame) for frame in text.split("\x1b[H")[1:]]


def test_growing_on_a_terminal():
    recording = Recording()
    recording.write(0.3)
    counts = [recording.count()]
    with watch(recording, COUNT) as t:
        t.expect(rf"read at \d\d:\d\d:\d\d; 1 process is being recorded[\s\S]*?n={counts[0]} ")
        t.expect(rf"nothing new; 1 process is being recorded[\s\S]*?n={counts[0]} ")
        recording.write(0.6)
        counts.append(recording.count())
        assert counts[1] > counts[0]
        more = t.expect(rf"([0-9,]+) rows more; 1 process is being recorded[\s\S]*?n={counts[1]} ")
        assert counts[1] - counts[0] <= int(re.findall(r"([0-9,]+) rows more", more)[-1].replace(",", "")), more
        assert LEAVE not in t.raw and t.raw.count(ENTER) == 1 and "\x1b[2J" not in t.raw, t.raw
        recording.write(1)
        assert t.wait() == 0
        before, after = t.raw.split(LEAVE)
        assert f"n={ROWS} " in after and "the recording has ended" in after, after
        assert all(re.match("read at", frame) for frame in frames_drawn(before)), before


def test_an_answer_is_cut_to_the_screen():
    recording = Recording()
    recording.write(0.5)
    with watch(recording, "SELECT id, name FROM ops LIMIT 30", lines=12) as t:
        t.expect("… 25 more lines")  # of 34 with the box
        t.resize(80, lines=20)
        t.expect("… 17 more lines")
        t.resize(30, lines=50)
        t.expect("── row 15 ")  # a record a row where there is no room for columns
        t.send("q")
        assert t.wait() == 0
    for lines, frame in ((12, frames_drawn(t.raw)[0]), (50, frames_drawn(t.raw.split(LEAVE)[0])[-1])):
        assert frame.count("\n") < lines, frame
    last = frames_drawn(t.raw.split(LEAVE)[0])[-1]
    assert max(len(line) for line in last.split("\n")[1:]) <= 30, last


def test_the_ends_of_a_watch():
    """Ctrl-C in a pause and in a query, q, and a signal; the terminal is given back each time."""
    recording = Recording()
    recording.write(0.5)
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    for send, status in (("\x03", 0), ("q", 0), (signal.SIGTERM, -signal.SIGTERM)):
        with watch(recording, COUNT) as t:
            t.expect("n=")
            t.send(send) if isinstance(send, str) else t.signal(send)
            assert t.wait() == status, (send, t.raw)
            assert t.raw.count(ENTER) == t.raw.count(LEAVE) == 1, t.raw
    with watch(recording, COUNT, endless) as t:
        time.sleep(0.5)
        t.insist("\x03", "")
        assert t.wait() == 0 and ENTER not in t.raw, t.raw


def test_at_the_prompt():
    recording = Recording()
    recording.write(0.3)
    environment = {"XDG_STATE_HOME": tempfile.mkdtemp(prefix="tfprof-test-")}
    with Terminal([TFPROF, recording.run], environment=environment) as t:
        t.expect(PROMPT)
        t.send(f".watch 0.2 {COUNT};\n")
        t.expect(f"n={recording.count()} ")
        recording.write(0.6)
        t.expect(f"n={recording.count()} ")
        t.send("\x03")
        t.expect(PROMPT)
        t.send("SELECT 'typed ' || 'last' AS x;\n")
        t.expect(r"typed last[\s\S]*1 row[\s\S]*" + PROMPT)
        t.send("\\watch 500ms\n")
        t.expect(r"read at[^\n]*every 0.5 s[\s\S]*typed last")
        t.send("\x1a")  # Ctrl-Z has nobody to stop it for here, and must not leave the screen as it is
        t.insist("q", PROMPT)
        t.send("watch 2 watch 1 SELECT 1;\n")
        assert "what is watched cannot watch" in t.expect(PROMPT)
        t.send("watch 1 SELECT nothing_of_this_name;\n")
        assert "no such column" in t.expect(PROMPT)
        t.send("watch summary\n")
        t.expect("every 2 s[\\s\\S]*steps ")
        t.send("q")
        t.expect(PROMPT)
        recording.write(1)
        t.send(f"watch {COUNT};\n")
        assert f"n={ROWS} " in t.expect("the recording has ended[\\s\\S]*" + PROMPT)
        t.send("quit\n")
        assert t.wait() == 0


def ask(*words, status=0):
    done = bounded.run([TFPROF, *words], 60, stdin=subprocess.DEVNULL)
    assert done.returncode == status, (words, done.returncode, done.stdout, done.stderr)
    return done.stdout, done.stderr


def test_on_a_pipe():
    """Each format: the answers one after the other; their times where no program reads them."""
    for form, marks, parts in (("box", 3, "-- read at"), ("csv", 0, "\n\n"), ("json", 0, "]\n"), ("jsonl", 0, "\n")):
        recording = Recording()
        recording.write(0.4)
        counts = [recording.count()]
        command = [TFPROF, "--format", form, recording.run, "--watch=0.2", COUNT.replace("'n=' || ", "")]
        with bounded.started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watching:
            first = watching.stdout.readline()
            recording.write(0.8)
            counts += [recording.count(), ROWS]
            while str(counts[1]) not in first:
                first += watching.stdout.readline()
            recording.write(1)
            text = first + watching.stdout.read()
            assert watching.wait(60) == 0 and watching.stderr.read() == ""
        assert (text.count("-- read at ") >= marks) if marks else "read at" not in text, text
        if form.startswith("json"):
            answers = [json.loads(part + "]" * (form == "json")) for part in text.strip("]\n").split(parts)]
            found = [(answer[0] if form == "json" else answer)["ops"] for answer in answers]
        else:
            found = [int(number) for number in re.findall(r"^(?:│ +)?(\d+)(?: │)?$", text, re.M)]
        assert found == sorted(found) and set(found) == set(counts), (form, found, counts)


def test_what_cannot_be_watched():
    recording = Recording()
    recording.write(1)
    assert "no such column" in ask(recording.run, "--watch", "1", "SELECT x FROM ops", status=1)[1]
    assert ask(recording.run, "--watch", "1", "--csv", "SELECT 1 AS x") == ("x\n1\n", "")
    for seconds in ("SELECT 1", "0", "-1", "1h30", "1e9", "nan"):
        assert "seconds from 0.1" in ask(recording.run, f"--watch={seconds}", "SELECT 1", status=2)[1]
    assert "needs seconds" in ask(recording.run, "--watch", status=2)[1]
    error = ask(os.path.join(recording.run, "none"), "--watch", "1", status=3)[1]
    assert "no such file or directory" in error, error
    assert "steps" in ask(recording.run, "--watch", "1")[0]


def test_waits_for_the_first_recording():
    recording = Recording()
    command = [TFPROF, "--csv", recording.run, "--watch", "0.2", COUNT]
    with bounded.started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watching:
        assert "is empty; waiting for the first recording" in watching.stderr.readline()
        recording.write(1)
        out, error = watching.communicate(timeout=60)
    assert (watching.returncode, out, error) == (0, f"ops\nn={ROWS}\n", ""), (out, error)


def test_a_recording_whose_program_is_gone():
    """Its file is not closed, but old; a file of another profiler does not tell, and is watched on."""
    recording = Recording()
    recording.write(0.5)
    os.utime(recording.path, (1, 1))
    assert "the recording has ended" in ask(recording.run, "--watch", "0.2", COUNT)[0]
    with open(recording.path[:-7] + ".json", "w") as file:
        file.write('{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1, '
                   '"dur": 1}]}')
    command = [TFPROF, file.name, "--watch", "0.1", COUNT]
    with bounded.started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watching:
        text = "".join(watching.stdout.readline() for _ in range(13))
        watching.send_signal(signal.SIGINT)
        out, error = watching.communicate(timeout=60)
    assert watching.returncode == 0 and text.count("n=1 ") >= 2 and "ended" not in text + out + error, (text, out)


run_tests(globals())
