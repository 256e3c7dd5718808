"""tfprof-capture around programs that need no framework: exit statuses, signals, run directories, messages."""

import contextlib
import fcntl
import glob
import os
import re
import signal
import stat
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "shell"))
from terminal import Terminal, bounded, plain, program, run_tests

CAPTURE = program("tfprof-capture")
BUILD = os.path.dirname(CAPTURE)
SAMPLE = next(iter(glob.glob(os.path.join(HERE, "..", "golden", "dump-1", "*.tfprof"))))

# Counts the signals it gets and says so; SIGTERM ends it with status 9.
COUNTER = """
import signal, sys, time
counts = {}
def count(number, frame):
    counts[number] = counts.get(number, 0) + 1
    print("got", signal.Signals(number).name, counts[number], flush=True)
    if number == signal.SIGTERM:
        time.sleep(0.3)  # a second one would come now
        sys.exit(9)
for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGWINCH"):
    number = getattr(signal, name)
    if name == "SIGHUP" and "nohup" in sys.argv:
        continue
    signal.signal(number, count)
print("ready", flush=True)
while True:
    time.sleep(0.05)
"""


def folder():
    return tempfile.mkdtemp(prefix="tfprof-test-")


def capture(*arguments, directory=None, **more):
    stdin = more.pop("stdin", subprocess.DEVNULL)
    done = bounded.run([CAPTURE, *arguments], 60, stdin=stdin, cwd=directory or folder(), **more)
    return done.returncode, done.stdout, done.stderr


def test_exit_statuses_of_the_program():
    for status in (0, 1, 2, 3, 77, 126, 255):
        assert capture("--", "sh", "-c", f"exit {status}")[0] == status
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGINT):
        assert capture("--", "sh", "-c", f"kill -{number.value} $$")[0] == -number, number
    # As the shell sees it.
    done = subprocess.run(
        ["bash", "-c", f"{CAPTURE} -o {folder()} -- sh -c 'kill -9 $$'; echo $?"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert done.stdout == b"137\n", done


def test_programs_that_cannot_be_run():
    directory = folder()
    with open(os.path.join(directory, "train.py"), "w") as file:
        file.write("print('hello')\n")
    with open(os.path.join(directory, "broken"), "w") as file:
        file.write("#!/no/such/interpreter\n")
    os.chmod(os.path.join(directory, "broken"), 0o755)
    for command, status, words in (
        ("no-such-program", 127, "no-such-program: there is no such program on PATH"),
        ("/no/such/program", 127, "/no/such/program: there is no such program"),
        ("train.py", 127, "it is a Python script: say  tfprof-capture … -- python3 train.py"),
        ("./train.py", 126, "it is a Python script: say  tfprof-capture … -- python3 ./train.py"),
        ("./broken", 126, "its first line names /no/such/interpreter, which does not exist"),
        ("/", 126, "is a directory"),
        ("", 127, "there is no such program"),
    ):
        got, out, error = capture("-o", "run", "--", command, directory=directory)
        assert got == status and out == "" and words in error, (command, got, error)
        assert not os.path.exists(os.path.join(directory, "run")), "an empty run directory was left behind"


def test_wrong_usage():
    for arguments, words in (
        ([], "no program is given"),
        (["--"], "no program is given"),
        (["-o"], "-o needs a value: DIR"),
        (["--frce", "true"], "did you mean --force?"),
        (["--xops=all", "true"], "unknown option '--xops=all'; did you mean --ops?"),
        (["--ops=some", "true"], "--ops must be one of sampled|all|none"),
        (["--python", "true", "--"], "--python must be one of"),
        (["--python="], "--python= needs a value"),
        (["--buffer-size=12X", "true"], "--buffer-size must be a size such as 64M, and 1M at least, not '12X'"),
        (["--max-size=12", "true"], "--max-size must be a size such as 64M, and 1M at least, or 0, not '12'"),
        (["--buffer-size=0", "true"], "--buffer-size must be a size such as 64M, and 1M at least, not '0'"),
        (["--buffer-size=-1", "true"], "--buffer-size must be a size"),
        (["--buffer-size=1000k", "true"], "--buffer-size must be a size such as 64M, and 1M at least, not '1000k'"),
        (["--quiet=1", "true"], "--quiet takes no value"),
        (["-x", "true"], "unknown option '-x'"),
        (["--output=", "true"], "--output= needs a value: DIR"),
    ):
        directory = folder()
        status, out, error = capture(*arguments, directory=directory)
        assert status == 2 and out == "" and words in error and "--help" in error, (arguments, status, error)
        assert os.listdir(directory) == []


def test_help():
    status, out, error = capture("--help")
    assert status == 0 and error == "" and "tfprof-capture -o run -- python train.py" in out
    assert max(map(len, out.split("\n"))) <= 80, max(out.split("\n"), key=len)


def test_help_names_every_variable():
    """Each option is explained, and set by the variable that its text names."""
    out = capture("--help")[1]
    options = set(re.findall(r"^  (?:-., |    )--([a-z-]+)", out, re.MULTILINE))
    assert {"output", "force", "ops", "python", "no-shapes", "no-memory", "buffer-size", "quiet"} <= options, options
    variables = re.findall(r"\[(TFPROF_[A-Z_]+)(=[\w.]+)?\]", out)
    # What is asked of programs that run is no setting.
    without = {"help", "version", "list", "attach", "for", "write", "add", "retries", "host-tracer-level",
               "device-tracer-level", "python-tracer-level"}
    assert len(variables) >= len(options - without) - 2, (options, variables)  # two are aliases
    show = "import os; print(*sorted(n + '=' + v for n, v in os.environ.items() if n.startswith('TFPROF_')))"
    for variable, value in variables:
        if variable == "TFPROF_OUTPUT":
            continue
        status, out, error = capture("--", "true", env={**os.environ, variable: "no such value"})
        assert status == 2 and f"the variable {variable} must be" in error, (variable, error)
    directory = folder()
    environment = {**os.environ, "TFPROF_OUTPUT": "mine", "TFPROF_SHAPES": "0", "TFPROF_BUFFER_SIZE": "3M"}
    status, out, error = capture("--", sys.executable, "-c", show, directory=directory, env=environment)
    assert status == 0 and os.listdir(directory) == ["mine"], (error, os.listdir(directory))
    assert "TFPROF_SHAPES=0" in out and "TFPROF_BUFFER_SIZE=3145728" in out, out
    words = ("-oyours", "--buffer-size", "1GiB", "--max-size=0", "--no-stacks", "--")
    status, out, error = capture(*words, sys.executable, "-c", show, directory=directory, env=environment)
    assert status == 0 and sorted(os.listdir(directory)) == ["mine", "yours"], error  # the command line wins
    assert "TFPROF_PYTHON_MODE=none" in out and "TFPROF_BUFFER_SIZE=1073741824" in out, out


def test_check():
    """Says what can be recorded with a Python, and leaves nothing behind."""
    place = folder()
    environment = {**os.environ, "TMPDIR": place}
    directory = folder()
    for words in (("--", sys.executable), ("--", sys.executable, "-I")):
        status, out, error = capture("--check", *words, directory=directory, env=environment)
        assert status in (0, 125) and not error, (status, error)
        assert re.search(r"^  version    CPython %d\.%d\." % sys.version_info[:2], out, re.MULTILINE), out
        assert ("can be recorded.\n" in out) == (status == 0) and "PyTorch\n  version" in out and "GPU\n" in out, out
        assert ("reached through LD_PRELOAD" in out) == ("-I" in words), out
    assert os.listdir(directory) == [] and os.listdir(place) == [], os.listdir(place)
    assert capture("--check", "--", "no-such-python")[0] == 127
    assert capture("--check", env={**os.environ, "TMPDIR": "/no/such/place"})[0] == 125


def test_the_line_for_sqlite_can_be_typed():
    """Whatever the run directory is called, what is printed to be typed next does open it."""
    for name in ("run", "it's", 'a "b"', "$HOME `x` \\", "two\nlines", "wow!", "-dash", "a;b'c\"d$e"):
        directory = folder()
        code = "import shutil, os; shutil.copy(os.environ['SAMPLE'], os.environ['TFPROF_RUN_DIRECTORY'])"
        environment = {**os.environ, "SAMPLE": SAMPLE}
        command = ("--output=" + name, "--", sys.executable, "-c", code)
        status, out, error = capture(*command, directory=directory, env=environment)
        assert status == 0, (name, error)
        line = error[error.index("  sqlite3 ") :].strip()
        done = subprocess.run(
            ["bash", "-c", line + " -cmd 'SELECT count(*) FROM runs'"],
            cwd=directory,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )
        assert "│ 1" in done.stdout and not done.stderr, (name, line, done.stdout, done.stderr)


def test_options_end_at_the_program():
    status, out, error = capture("echo", "-o", "x", "--force", "--help")
    assert status == 0 and out == "-o x --force --help\n"


def test_run_directories():
    directory = folder()
    path = os.path.join(directory, "run")
    assert capture("-o", "run", "--", "true", directory=directory)[0] == 0
    assert capture("-o", "run", "--", "true", directory=directory)[0] == 0  # still nothing in it
    for name in ("host-1.tfprof", "notes.txt"):
        open(os.path.join(path, name), "w").close()
    os.mkdir(os.path.join(path, "folder"))
    status, out, error = capture("-o", "run", "--", "echo", "ran", directory=directory)
    assert (status == 125 and out == "" and "run holds a recording already (1 file)" in error
            and "--force" in error), error
    status, out, error = capture("-o", "run", "--force", "--", "echo", "ran", directory=directory)
    assert status == 0 and out == "ran\n"
    assert sorted(os.listdir(path)) == ["folder", "notes.txt"]
    # Parents are made; a trailing slash is fine; a file is refused.
    assert capture("-o", "a/b/c/", "--", "true", directory=directory)[0] == 0 and os.path.isdir(
        os.path.join(directory, "a/b/c")
    )
    status, out, error = capture("-o", "run/notes.txt", "--", "true", directory=directory)
    assert status == 125 and "is a file" in error


def mode(path):
    return stat.S_IMODE(os.lstat(path).st_mode)


def test_directories_of_others():
    """What is recorded is for the user alone, and goes nowhere that somebody else may have prepared."""
    directory = folder()
    assert capture("-o", "parent/run", "--", "true", directory=directory, umask=0)[0] == 0
    assert (mode(f"{directory}/parent"), mode(f"{directory}/parent/run")) == (0o777, 0o700)
    assert capture("--", "true", directory=directory, umask=0)[0] == 0 and mode(f"{directory}/tfprof-run") == 0o700
    target = folder()
    os.symlink(target, os.path.join(directory, "link"))
    os.symlink("nowhere", os.path.join(directory, "dangling"))
    for name in ("link", "link/", "dangling"):
        status, out, error = capture("-o", name, "--", "echo", "ran", directory=directory)
        assert status == 125 and out == "" and f"{name.strip('/')}: is a symbolic link" in error, (name, status, error)
        assert "choose another directory with -o" in error, error
    assert os.listdir(target) == [] and not os.path.lexists(os.path.join(directory, "nowhere"))
    # Parents may be links: /tmp is one on some systems.
    assert capture("-o", "link/run", "--", "true", directory=directory)[0] == 0 and os.listdir(target) == ["run"]
    if os.getuid():
        foreign = "/"
    else:
        foreign = folder()
        os.chown(foreign, 12345, -1)
    status, out, error = capture("-o", foreign, "--", "echo", "ran")
    assert status == 125 and out == "" and "belongs to another user" in error, (status, error)
    # Without -o the next name is taken.
    numbered = folder()
    os.symlink(target, os.path.join(numbered, "tfprof-run"))
    os.mkdir(os.path.join(numbered, "tfprof-run-2"))
    if not os.getuid():
        os.chown(os.path.join(numbered, "tfprof-run-2"), 12345, -1)
    assert capture("--", "true", directory=numbered)[0] == 0
    assert os.path.isdir(os.path.join(numbered, "tfprof-run-3")) == (os.getuid() == 0), os.listdir(numbered)


def test_default_directories_are_numbered():
    directory = folder()
    for expected in (["tfprof-run"], ["tfprof-run", "tfprof-run-2"], ["tfprof-run", "tfprof-run-2", "tfprof-run-3"]):
        for _ in range(2):  # one without a recording is used again
            assert capture("--", "true", directory=directory)[0] == 0
            assert sorted(os.listdir(directory)) == expected
        open(os.path.join(directory, expected[-1], "host-1.tfprof"), "w").close()


def test_unwritable_directories():
    status, out, error = capture("-o", "/proc/run", "--", "echo", "ran")
    assert status == 125 and out == "" and "/proc/run: cannot make the run directory" in error and "-o" in error, error
    directory = folder()
    os.chmod(os.path.dirname(directory), 0o755)
    os.chmod(directory, 0o555)
    # Root may write anywhere, but for the capability.
    before = ["setpriv", "--bounding-set", "-dac_override"] if os.getuid() == 0 else []
    done = subprocess.run([*before, CAPTURE, "-o", directory, "--", "echo", "ran"], cwd="/", capture_output=True,
                          text=True)
    status, out, error = done.returncode, done.stdout, done.stderr
    assert status == 125 and out == "" and "cannot write into the run directory" in error, (status, error)
    assert os.listdir(directory) == []


def test_two_recordings_into_one_directory():
    directory = folder()
    lock = os.open(directory, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    status, out, error = capture("-o", directory, "--", "true")
    assert status == 125 and "another tfprof-capture is recording into" in error, error
    os.close(lock)


def test_streams_are_left_alone():
    data = bytes(range(256)) * 1000
    done = subprocess.run(
        [CAPTURE, "-o", folder(), "--", "cat"], input=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert done.returncode == 0 and done.stdout == data
    done = subprocess.run(
        ["bash", "-c", f"{CAPTURE} --quiet -o {folder()} -- yes | head -n 1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        timeout=60,
    )
    assert done.stdout == b"y\n"
    # Nobody reads stderr; no stdin at all.
    done = subprocess.run(
        ["bash", "-c", f"{CAPTURE} -o {folder()} -- sh -c 'exit 5' 2>&- <&-; echo $?"], stdout=subprocess.PIPE
    )
    assert done.stdout == b"5\n", done


def test_environment():
    code = (
        "import os; print(os.environ['PYTHONPATH']); print(*[os.environ['TFPROF_' + n] for n in "
        "'RUN_DIRECTORY LIBRARY PYTHON_MODE SHAPES OPS QUIET STEPS RUN_COMMAND'.split()], sep='\\n')"
    )
    directory = folder()
    run = os.path.realpath(os.path.join(directory, "run"))
    for more, path in (({"PYTHONPATH": "/a:/b"}, BUILD + "/python:/a:/b"), ({"PYTHONPATH": ""}, BUILD + "/python")):
        status, out, error = capture(
            "-o",
            "run",
            "--no-stacks",
            "--steps",
            "10,15",
            "--",
            sys.executable,
            "-c",
            code,
            directory=directory,
            env={**os.environ, **more},
        )
        assert status == 0, error
        values = out.split("\n")
        assert values[0] == path, values
        assert values[1:8] == [run, BUILD + "/libtfprof_capture.so", "none", "1", "sampled", "0", "10-15"], values
        assert values[8].startswith(sys.executable + " -c 'import os"), values


def test_nothing_recorded_says_why():
    for command, status, words in (
        ([sys.executable, "-c", "pass"], 0, "the program imported none of PyTorch, TensorFlow and JAX"),
        ([sys.executable, "-c", "pass", "-I"], 0, "and tfprof-capture needs --preload"),
        ([sys.executable, "-c", "import no_such_framework"], 1, "ended before it imported PyTorch, TensorFlow or JAX"),
        (["sleep", "0"], 0, "neither sleep nor what it started imported PyTorch, TensorFlow or JAX"),
    ):
        got, out, error = capture("-o", "run", "--", *command)
        assert got == status and "nothing was recorded in run" in error and words in error, (command, error)


def test_a_full_disk_is_told():
    """Nothing was recorded, since there was no room: not since the program did nothing."""
    disk = folder()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], stderr=subprocess.DEVNULL).returncode:
        return  # only root may
    try:
        with contextlib.suppress(OSError), open(os.path.join(disk, "fill"), "wb") as file:
            file.write(bytes(1 << 20))
        got, out, error = capture("-o", "run", "--", sys.executable, "-c", "pass", directory=disk)
        assert got == 0 and "nothing was recorded in run: its disk is full; free some space" in error, error
        assert "imported none" not in error, error
    finally:
        subprocess.run(["umount", disk], check=True)


def test_files_without_end_are_told():
    """Of workers that were terminated while the program went on to a good end."""
    for count, words in ((1, " was ended before"), (3, " and 2 more were ended before")):
        copies = "; ".join("head -c -20 %s > run/host-%d.tfprof" % (SAMPLE, i) for i in range(count))
        got, out, error = capture("-q", "-o", "run", "--", "sh", "-c", copies)
        assert got == 0 and words + " what was recorded last could be written" in error, error
        got, out, error = capture("-o", "run", "--", "sh", "-c", copies + "; exit 3")
        assert got == 3 and words not in error, error
    got, out, error = capture("-o", "run", "--", "sh", "-c", "cp %s run/host-1.tfprof" % SAMPLE)
    assert got == 0 and "ended before" not in error, error


def test_preloaded_where_python_is_isolated():
    """LD_PRELOAD is set where PYTHONPATH would not be read, and nowhere else."""
    script = os.path.join(folder(), "isolated")
    code = "import os; print(os.environ.get('LD_PRELOAD'))"
    library = BUILD + "/libtfprof_preload.so"
    for first, expected in (
        (f"#!{sys.executable} -I", library),
        (f"#!/usr/bin/env -S {sys.executable} -uE", library),
        (f"#!{sys.executable} -u", "None"),
    ):
        with open(script, "w") as file:
            file.write(first + "\n" + code + "\n")
        os.chmod(script, 0o755)
        assert capture("--", script)[1] == expected + "\n", first
    for options, words, expected in (
        ([], ["-I"], library),
        ([], ["-uES"], library),
        ([], ["-W", "ignore", "-X", "utf8", "-S"], library),
        ([], ["-Xutf8", "-s"], "None"),
        (["--preload"], [], library),
    ):
        assert capture(*options, "--", sys.executable, *words, "-c", code)[1] == expected + "\n", words
    environment = {**os.environ, "LD_PRELOAD": "libm.so.6"}
    assert capture("--", sys.executable, "-I", "-c", code, env=environment)[1] == library + ":libm.so.6\n"


def test_a_foreign_file_in_the_run_is_told():
    directory = folder()
    code = "open('run/zz-1.tfprof', 'w').write('something else')"
    status, out, error = capture("-o", "run", "--quiet", "--", sys.executable, "-c", code, directory=directory)
    assert status == 0 and "zz-1.tfprof cannot be read" in error, error


@contextlib.contextmanager
def counter(*prefix, words=(), **more):
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    command = [*prefix, CAPTURE, "-o", folder(), "--", sys.executable, "-c", COUNTER, *words]
    with bounded.started(command, encoding="utf-8", **{**streams, **more}) as process:
        assert process.stdout.readline() == "ready\n"
        yield process


def test_signals_are_handed_on():
    with counter() as process:
        for name in ("SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGWINCH", "SIGUSR1"):
            process.send_signal(getattr(signal, name))
            assert process.stdout.readline().startswith(f"got {name}")
        process.send_signal(signal.SIGTERM)
        out, error = process.communicate(timeout=60)
    assert out == "got SIGTERM 1\n" and process.returncode == 9, (out, error)


EVERY_SIGNAL = """
import os, signal, sys
numbers = [int(word) for word in sys.argv[1:]]
signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
print("ready", flush=True)
for _ in numbers:
    told = signal.sigwaitinfo(numbers)
    print(told.si_signo, flush=True)
"""


def test_every_signal_is_handed_on():
    """Those of timers, limits, watchdogs, input and real time as well; faults that somebody sends, too."""
    left_out = (signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD, signal.SIGTTIN, signal.SIGTTOU, signal.SIGTSTP)
    numbers = [number for number in sorted(signal.valid_signals()) if number not in left_out]
    command = [CAPTURE, "-q", "-o", folder(), "--", sys.executable, "-c", EVERY_SIGNAL, *map(str, map(int, numbers))]
    with bounded.started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8") as process:
        assert process.stdout.readline() == "ready\n"
        for number in numbers:
            process.send_signal(number)
            assert process.stdout.readline() == f"{int(number)}\n", number
        out, error = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, ""), (process.returncode, out, error)


def test_what_the_program_closes_is_closed():
    """Pipes that it was started with: whoever is at the other end sees their end."""
    (inner_in, outer_in), (outer_out, inner_out), (outer_more, inner_more) = os.pipe(), os.pipe(), os.pipe()
    program = "import os, time; os.close(0); os.close(1); os.close(%d); time.sleep(60)" % inner_more
    command = [CAPTURE, "-q", "-o", folder(), "--", sys.executable, "-c", program]
    with bounded.started(command, stdin=inner_in, stdout=inner_out, pass_fds=[inner_more]) as process:
        for descriptor in (inner_in, inner_out, inner_more):
            os.close(descriptor)
        assert os.read(outer_out, 1) == b"" and os.read(outer_more, 1) == b""
        end = time.monotonic() + 20
        try:
            while time.monotonic() < end:
                os.write(outer_in, b"x")
                time.sleep(0.05)
            raise AssertionError("somebody still reads what the program does not")
        except BrokenPipeError:
            pass
        process.terminate()
        assert process.wait(60) == -signal.SIGTERM


def test_long_command_lines():
    """As long as the kernel takes them: of the text that is recorded of them the beginning is kept."""
    program = ["sh", "-c", 'echo "$#"', "sh"]
    words = [f"data/shard-{number:05}.tar" for number in range(20000)]
    done = subprocess.run([CAPTURE, "-q", "-o", folder(), "--", *program, *words], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "20000\n"), done.stderr
    # Where the environment is nearly full as well, the program runs all the same, if need be without the recorder.
    limited = ["bash", "-c", 'ulimit -s 512; exec "$@"', "bash"]  # a quarter of which is for both
    recorded = [CAPTURE, "-q", "-o", folder(), "--force", "--"]
    ends, fits = set(), 0
    for step in (4000, 100):  # near the end room for the launcher itself is left, and none for the recorder's variables
        for length in range(fits + step, 128 * 1024, step):
            filled = {"PATH": os.environ["PATH"], "FILLED": "x" * length}
            command = limited + recorded + program + words[:2000]
            done = subprocess.run(command, capture_output=True, text=True, env=filled)
            if done.returncode == 126 and done.stderr.startswith("bash:"):
                break  # which cannot start the launcher
            assert (done.returncode, done.stdout) == (0, "2000\n"), (length, done.returncode, done.stderr)
            ends.add("not recorded" in done.stderr)
            fits = length
    assert ends == {False, True}, ends


def test_signals_to_the_group_arrive_once():
    with counter(start_new_session=True) as process:
        for count in (1, 2, 3):
            os.killpg(process.pid, signal.SIGUSR1)
            assert process.stdout.readline() == f"got SIGUSR1 {count}\n"
            time.sleep(0.2)
        os.kill(process.pid, signal.SIGUSR1)  # and one to the launcher alone
        assert process.stdout.readline() == "got SIGUSR1 4\n"
        os.killpg(process.pid, signal.SIGTERM)
        out, error = process.communicate(timeout=60)
    assert out == "got SIGTERM 1\n" and process.returncode == 9, (out, error)


def test_signals_to_the_group_while_the_watcher_gets_no_processor():
    """They arrive once all the same: here it is stopped, as it looks to the program where the machine is busy."""
    with counter(start_new_session=True) as process:
        found = subprocess.run(["pgrep", "-x", "-P", str(process.pid), "signal-watch"], capture_output=True, text=True)
        watcher = int(found.stdout)
        os.kill(watcher, signal.SIGSTOP)
        os.killpg(process.pid, signal.SIGUSR1)
        assert process.stdout.readline() == "got SIGUSR1 1\n"
        time.sleep(0.5)
        os.kill(watcher, signal.SIGCONT)
        time.sleep(0.2)
        os.killpg(process.pid, signal.SIGTERM)
        out, error = process.communicate(timeout=60)
    assert out == "got SIGTERM 1\n" and process.returncode == 9, (out, error)


def test_timeout_command():
    with counter("timeout", "1000") as process:
        process.send_signal(signal.SIGALRM)  # what timeout gets when the time is over
        out, error = process.communicate(timeout=60)
    assert out == "got SIGTERM 1\n" and process.returncode == 124, (out, process.returncode)


def test_stop_and_continue():
    command = ["ps", "-o", "stat="]
    with counter() as process:
        command += ["--pid", str(process.pid), "--ppid", str(process.pid)]
        process.send_signal(signal.SIGTSTP)
        end, states = time.monotonic() + 20, []
        while [state[0] for state in states].count("T") < 2 and time.monotonic() < end:
            time.sleep(0.1)
            states = subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8").stdout.split()
        process.send_signal(signal.SIGCONT)
        process.send_signal(signal.SIGUSR1)
        assert process.stdout.readline() == "got SIGUSR1 1\n"
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert process.returncode == 9
    assert len(states) == 3 and [state[0] for state in states].count("T") >= 2, states  # we, the watcher, the program


def test_keys_of_the_terminal():
    with Terminal(["bash", "--norc", "-i"], environment={"PS1": "bash$ "}, directory=folder()) as t:
        t.expect(r"bash\$ $")
        with open("/proc/%d/cwd/counter.py" % t.pid, "w") as file:
            file.write(COUNTER)
        t.send(f"{CAPTURE} -- {sys.executable} counter.py\n")
        t.expect("ready\n")
        t.send("\x03")
        t.expect("got SIGINT 1\n")
        t.send("\x1a")
        t.expect(r"Stopped[\s\S]*bash\$ $")
        t.send("fg\n")
        t.expect("counter.py\n")
        time.sleep(0.3)
        t.send("\x03")
        t.expect("got SIGINT 2\n")
        t.send("\x1c")
        t.expect("got SIGQUIT 1\n")
        time.sleep(0.3)
        t.send("\x1a")
        t.expect(r"Stopped[\s\S]*bash\$ $")
        t.send("kill %1; fg\n")
        t.expect(r"nothing was recorded[\s\S]*bash\$ $")  # bash's own lines come between the program's
        t.send("echo status $?\n")
        t.expect("status 9\n")
        assert "SIGTERM 1\n" in plain(t.raw) and "SIGTERM 2" not in plain(t.raw) and "SIGINT 3" not in plain(t.raw)


def test_nohup():
    with counter("nohup", words=["nohup"], stderr=subprocess.DEVNULL) as process:
        process.send_signal(signal.SIGHUP)
        time.sleep(0.3)
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=60)
    assert out == "got SIGTERM 1\n" and process.returncode == 9, (out, process.returncode)


def test_a_killed_launcher_leaves_the_program_alone():
    with counter() as process:
        children = subprocess.run(
            ["ps", "-o", "pid=,args=", "--ppid", str(process.pid)], stdout=subprocess.PIPE, encoding="utf-8"
        ).stdout
        program = next(int(line.split()[0]) for line in children.splitlines() if "-c" in line)
        watcher = next(int(line.split()[0]) for line in children.splitlines() if "watch" in line)
        process.kill()
        process.wait()
        end = time.monotonic() + 20
        while os.path.exists(f"/proc/{watcher}") and bounded.read(f"/proc/{watcher}/stat").split()[2] != "Z":
            assert time.monotonic() < end, "the watcher outlives the launcher"
            time.sleep(0.05)
        os.kill(program, signal.SIGTERM)
        assert process.stdout.readline() == "got SIGTERM 1\n"
        process.communicate(timeout=60)


if __name__ == "__main__":
    run_tests(globals())
