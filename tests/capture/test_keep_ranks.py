"""What one rank of a job meets makes all of its processes write their last seconds (tfprof-capture --keep): once, with
what follows, by whom they were asked, and whoever dies meanwhile.
"""

import contextlib
import os
import signal
import subprocess
import sys

import capturing
from test_keep import CAPTURE, PATIENCE, make_stand_in, wait_for

bounded = capturing.bounded
RANKS = 3

# Ends steps, and does what it is told: what lies in the file do-RANK.
RANK = """
import os, sys, time
packages, folder, rank = sys.argv[1:]
sys.path.insert(0, packages)
import jax, tfprof
path = os.path.join(folder, "do-" + rank)
def steps(count, seconds=0.005):
    for _ in range(count):
        tfprof.step()
        time.sleep(seconds)
steps(40)
with open(os.path.join(folder, "pid-" + rank + ".part"), "w") as file:
    file.write(str(os.getpid()))
os.rename(file.name, os.path.join(folder, "pid-" + rank))
while True:
    steps(1)
    if os.path.exists(path):
        with open(path) as file:
            text = file.read()
        os.remove(path)
        exec(text)
"""
JOB = """
import os, subprocess, sys
ranks = [subprocess.Popen([sys.executable, "-c", *sys.argv[1:], str(rank)],
                          env=dict(os.environ, RANK=str(rank), WORLD_SIZE="%d")) for rank in range(%d)]
for rank in ranks: rank.wait()
""" % (RANKS, RANKS)


TRIGGERS = """
SELECT triggers.*, rank FROM triggers JOIN profiles ON profiles.id = triggers.profile_id ORDER BY triggers.id"""


class Job:
    def __init__(self, folder, run, processes):
        self.folder, self.run, self.processes = folder, run, processes

    def tell(self, rank, text):
        path = os.path.join(self.folder, "do-%d" % rank)
        with open(path + ".part", "w") as file:
            file.write(text)
        os.rename(path + ".part", path)

    def files(self):
        """{rank: rows of triggers by file, the older file first}"""
        found = {}
        for path in sorted(capturing.dumps(self.run), key=os.path.getmtime):
            rows = capturing.query(path, TRIGGERS)
            for row in rows:
                row["path"] = path
            if rows:  # else it is being written
                found.setdefault(rows[0]["rank"], []).append(rows)
        return found

    def wait_for(self, kinds, what):
        """Until each rank has files whose first triggers are of these kinds."""
        return wait_for(lambda: self.have(kinds), what)

    def have(self, kinds):
        found = self.files()
        for rank, wanted in kinds.items():
            if [rows[0]["kind"] for rows in found.get(rank, [])] != wanted:
                return None
        return found


@contextlib.contextmanager
def job(folder, *options):
    packages, run = make_stand_in(folder), os.path.join(folder, "run")
    command = [CAPTURE, "--keep", "30s", "--keep-after", "500ms", *options, "-o", run, "--", capturing.PYTHON, "-c",
               JOB, RANK, packages, folder]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with bounded.started(command, **streams) as program:
        numbers = [os.path.join(folder, "pid-%d" % rank) for rank in range(RANKS)]
        wait_for(lambda: all(os.path.exists(path) for path in numbers), "the ranks")
        processes = [int(open(path).read()) for path in numbers]
        yield Job(folder, run, processes), program
    # Whoever is left is ended with its group.


def has_ended(process):
    """Its parent may not have asked yet how."""
    try:
        with open("/proc/%d/stat" % process) as file:
            return file.read().rpartition(")")[2][:2] in (" Z", " X")
    except FileNotFoundError:
        return True


def check_slow_step(found, processes):
    """All three have one file, of the same seconds, with what came after the step."""
    ((slow,),) = found[1]
    assert slow["kind"] == "slow_step" and slow["asked_processes"] == 2 and slow["step_ns"] > 1.4e9, slow
    (row,) = capturing.query(slow["path"], "SELECT max(number) AS last FROM steps")
    assert row["last"] > slow["step_number"], (row, slow)
    for rank in 0, 2:
        ((other,),) = found[rank]
        assert other["asked_by_process"] == processes[1] and other["asked_by_rank"] == 1, other
        assert other["asked_by_kind"] == "slow_step" and other["asked_processes"] is None, other
        assert other["message"] == "rank 1 (process %d): slow_step: %s" % (processes[1], slow["message"]), other
        assert abs(other["time_ns"] - slow["time_ns"]) < 100e6, (other, slow)
    for rank in range(RANKS):
        ((row,),) = found[rank]
        assert row["kept_to_ns"] - row["time_ns"] >= 500e6 > 0 < row["time_ns"] - row["kept_from_ns"], row


def test_job(folder):
    # A step takes 5 ms; on a busy machine one in a while takes a tenth of a second.
    with job(folder, "--slow-step", "150") as (it, program):
        it.tell(1, "steps(1, 1.5)")
        found = it.wait_for({0: ["other_process"], 1: ["slow_step"], 2: ["other_process"]}, "the files of a slow step")
        check_slow_step(found, it.processes)
        (row,) = capturing.query(it.run, "SELECT count(DISTINCT session_id) AS n FROM _process_windows")
        assert row["n"] == 1, row
        # No storm: another rank's slow step within the 30 s is counted only.
        it.tell(0, "steps(1, 1.5); steps(10); open(%r, 'w').close()" % os.path.join(folder, "done"))
        wait_for(lambda: os.path.exists(os.path.join(folder, "done")), "the second slow step")
        os.kill(it.processes[2], signal.SIGKILL)
        wait_for(lambda: has_ended(it.processes[2]), "the end of a rank")
        it.tell(0, "raise ValueError('as it is')")
        found = it.wait_for({0: ["other_process", "exception"], 1: ["slow_step", "other_process"],
                             2: ["other_process"]}, "the files of the exception")
        (failed,) = found[0][1]
        assert failed["asked_processes"] == 1 and "as it is" in failed["message"], failed
        (other,) = found[1][1]
        assert (other["asked_by_rank"], other["asked_by_kind"]) == (0, "exception"), other
        told = capturing.query(failed["path"], "SELECT reason, sum(count) AS n FROM diagnostics WHERE reason IN "
                                               "('capture_not_written', 'capture_not_asked') GROUP BY 1")
        assert [row["reason"] for row in told] == ["capture_not_written"] and told[0]["n"] >= 1, told
        # Whoever ends the job ends all of it: nobody is asked for SIGTERM.
        os.kill(it.processes[1], signal.SIGTERM)
        _, error = program.communicate(timeout=PATIENCE)
        found = it.files()
        assert [rows[0]["kind"] for rows in found[1]] == ["slow_step", "other_process", "crash"], found[1]
        assert found[1][2][0]["asked_processes"] is None, found[1][2]
        assert [rows[0]["kind"] for rows in found[2]] == ["other_process", "killed"], found[2]
        assert "asked 2 other processes of the run for theirs" in error, error


def main():
    with capturing.Directory() as directory:
        os.environ["XDG_RUNTIME_DIR"] = os.path.abspath(directory)
        os.chmod(directory, 0o700)
        folder = os.path.join(os.path.abspath(directory), "job")
        os.mkdir(folder)
        test_job(folder)


if __name__ == "__main__":
    sys.exit(main())
