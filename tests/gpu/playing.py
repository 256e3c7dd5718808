"""What the tests of this directory share: running play.c, or any program, on doubles of NVIDIA's driver and CUPTI."""

import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "capture"))
import capturing  # noqa: E402
from capturing import query  # noqa: E402,F401

DOUBLES = os.path.join(capturing.BUILD, "tests", "doubles")
PLAY = os.path.join(capturing.BUILD, "tests", "play")
VERSIONS = ("11.8", "12.4", "12.8", "13.0", "13.5")
# The tables, and what each is told as by play.c.
TABLES = {
    "kernels": ("kernels",),
    "api_calls": ("runtime", "driver"),
    "transfers": ("copies", "peers", "fills"),
    "syncs": ("syncs",),
    "memory_events": ("memory", "pools"),
    "page_migrations": ("unified",),
    "overheads": ("overheads",),
    "compilations": ("jits",),
}


def environment(version="13.0", **settings):
    """CUPTI of that version, None: none; settings are variables of the doubles (DOUBLE_) and of tfprof."""
    folders = [os.path.join(DOUBLES, "cuda")] + ([os.path.join(DOUBLES, "cupti" + version)] if version else [])
    major, minor = (version or "13.0").split(".")
    return dict(os.environ, LD_LIBRARY_PATH=os.pathsep.join(folders), CUDA_HOME="",
                DOUBLE_DRIVER=str(int(major) * 1000 + int(minor) * 10),
                **{name: str(value) for name, value in settings.items()})


def environment_of_programs(version="13.0", **settings):
    """The same, for programs of Python: they import cuda_device, which is a library for them."""
    result = environment(version, **settings)
    result["PYTHONPATH"] = os.pathsep.join([os.path.join(HERE, "site-packages"), result["PYTHONPATH"]])
    return result


def numbers(text):
    """What play.c told last: {sort: count}."""
    lines = [line for line in text.splitlines() if "kernels=" in line]
    return {name: int(value) for name, value in (pair.split("=") for pair in lines[-1].split())} if lines else {}


def play(directory, words, version="13.0", options=(), status=0, **settings):
    """Plays the words under tfprof-capture; returns (what CUPTI took, the summaries of the dumps, stderr)."""
    output, error = capturing.launch(directory, [PLAY, *words], options, status, environment(version, **settings))
    return numbers(output), [capturing.summary(path) for path in capturing.dumps(directory)], error


def started(run, words, **settings):
    """Plays the words; at each `input` it tells its numbers in a line and waits for a line."""
    command = [os.path.join(capturing.BUILD, "tfprof-capture"), "-o", run, "--", PLAY]
    return capturing.bounded.started(command + words, env=environment(**settings), stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def missing_rows(taken, dump):
    """Of each table with another number of rows than there were records: how many it has, and how many there were."""
    counts = {table: (dump["rows"].get(table, 0), sum(taken[sort] for sort in sorts))
              for table, sorts in TABLES.items()}
    return {table: both for table, both in counts.items() if both[0] != both[1]}


def check_rows(taken, dump):
    """Each record is a row."""
    assert not missing_rows(taken, dump), (missing_rows(taken, dump), dump, taken)


def wait_until(is_true, what, seconds=120, pause=0.05):
    end = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < end, "waited in vain: " + what
        time.sleep(pause)


def messages(directory, pattern="cuda:%"):
    return query(directory,
                 "SELECT severity, reason, message, count FROM diagnostics WHERE message LIKE '%s'" % pattern)


def main(names):
    """Runs the functions of the file that are called test_..., or those that the command line names."""
    if not os.path.exists(PLAY):
        capturing.skip("the doubles of CUDA were not built")
    for name, test in sorted(names.items()):
        if name.startswith("test_") and (len(sys.argv) < 2 or name in sys.argv[1:]):
            test()
