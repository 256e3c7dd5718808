"""What `tfprof` makes of its arguments and of standard input: exit statuses and messages."""

import gzip
import io
import os
import re
import subprocess
import sys
import tarfile
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from mutations import dumps
from terminal import LeftOut, Terminal, program, run_tests

TFPROF = program("tfprof")
NEEDS_CLASSIC = {  # tests/parts.py
    "test_classic_mistakes", "test_classic_views", "test_classic_words",
    "test_damage_is_told_when_it_is_found", "test_damaged_files_are_told",
    "test_files_without_events_are_told", "test_help_and_version", "test_help_by_name", "test_kinds_of_files",
    "test_near_options", "test_standard_input"}


def tfprof(*arguments, text=None, directory=None, **environment):
    done = subprocess.run(
        [TFPROF, *arguments],
        input=text,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        cwd=directory,
        env={**os.environ, **environment},
        timeout=60,
        **({} if text is not None else {"stdin": subprocess.DEVNULL}),
    )
    return done.returncode, done.stdout, done.stderr


def test_damage_is_told_on_opening():
    """One line on stderr for a recording that is torn, whichever way it is opened; none for a whole one."""
    directory = tempfile.mkdtemp(prefix="tfprof-test-")
    whole, torn = (os.path.join(directory, name + ".tfprof") for name in ("whole", "torn"))
    make = os.path.join(os.path.dirname(TFPROF), "tests", "make_ops_dump")
    subprocess.run([make, whole, "5000"], check=True, stdout=subprocess.DEVNULL)
    with open(whole, "rb") as file, open(torn, "wb") as cut:
        cut.write(file.read()[:-300])
    for words in ((torn, "SELECT 1 AS x"), (whole, f"SELECT tfprof_open('{torn}') AS x")):
        status, out, error = tfprof("--format", "csv", *words)
        assert status == 0 and out.startswith("x\n"), (out, error)
        assert error.count("\n") == 1 and error.startswith(f"tfprof: {torn}: the last "), error
    status, out, error = tfprof(whole, "SELECT 1")
    assert (status, error) == (0, ""), error
    # Of a run, too, some of whose recordings have lost their beginning, or all that was in them.
    os.remove(torn)
    for name, text in (("lost.tfprof", "no recording"), ("emptied.tfprof", ""), ("notes.txt", "of mine")):
        with open(os.path.join(directory, name), "w") as file:
            file.write(text)
    status, out, error = tfprof("--format", "csv", directory, "SELECT count(*) AS x FROM profiles")
    assert (status, out, error.count("\n")) == (0, "x\n1\n", 1), (out, error)
    assert "emptied.tfprof could not be opened: the file is empty" in error and "(and 1 more)" in error, error


def test_paths_of_the_environment():
    """Of several paths in TFPROF_OPEN one that is missing is told, and the others are open; with none it fails."""
    directory = tempfile.mkdtemp(prefix="tfprof-test-")
    whole, missing = os.path.join(directory, "whole.tfprof"), os.path.join(directory, "missing")
    make = os.path.join(os.path.dirname(TFPROF), "tests", "make_ops_dump")
    subprocess.run([make, whole, "5000"], check=True, stdout=subprocess.DEVNULL)
    for paths in (f"{missing}:{whole}", f"{whole}::{missing}:"):
        status, out, error = tfprof("--format", "csv", "SELECT count(*) AS x FROM runs", TFPROF_OPEN=paths)
        assert (status, out) == (0, "x\n1\n"), (out, error)
        assert error.count("\n") == 1 and error.startswith(f"tfprof: TFPROF_OPEN: {missing}: no such file"), error
    status, out, error = tfprof("SELECT 1", TFPROF_OPEN=f"{missing}:{missing}")
    assert (status, out) == (3, "") and f"TFPROF_OPEN: {missing}: no such file" in error, (status, out, error)


def damaged_in_a_column(data):
    """The dump with the last byte of its largest frame changed: which column that is, only who reads it can tell."""
    largest = max(dumps.frames_of(data), key=lambda frame: frame[1])
    at = largest[0] + largest[1] - 1
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1:]


def test_a_saved_copy_tells_what_its_file_lost():
    """The copy of a trace that was torn says so when it is opened, as the trace does."""
    directory = tempfile.mkdtemp(prefix="tfprof-test-")
    torn, copy = os.path.join(directory, "torn.json"), os.path.join(directory, "copy.tfprof")
    with open(torn, "w") as file:
        file.write('{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1},'
                   '\n{"ph": "X", "cat": "cpu_')
    for path in (torn, copy):
        status, out, error = tfprof("--format", "csv", path, "SELECT count(*) AS x FROM ops")
        assert (status, out) == (0, "x\n1\n"), (out, error)
        assert error.count("\n") == 1 and "the file ends in the middle" in error, error
        status, out, error = tfprof("--csv", path, "SELECT reason FROM diagnostics WHERE offset > 0")
        assert out == "reason\ntruncated\n", (out, error)
        if path == torn:
            tfprof(torn, f"SELECT tfprof_save('{copy}')")


def test_damage_is_told_when_it_is_found():
    """What opening does not read is told after the first result that needs it, once."""
    directory = tempfile.mkdtemp(prefix="tfprof-test-")
    path = os.path.join(directory, "damaged.tfprof")
    make = os.path.join(os.path.dirname(TFPROF), "tests", "make_ops_dump")
    subprocess.run([make, path, "5000"], check=True, stdout=subprocess.DEVNULL)
    with open(path, "rb") as file:
        data = damaged_in_a_column(file.read())
    with open(path, "wb") as file:
        file.write(data)
    status, out, error = tfprof("--format", "csv", path, "SELECT 1 AS x")
    assert (status, out, error) == (0, "x\n1\n", ""), error
    status, out, error = tfprof("--format", "csv", path, "SELECT count(*) AS x FROM diagnostics; SELECT * FROM ops")
    assert status == 0 and out.startswith("x\n"), error
    assert error.count("\n") == 1 and error.startswith(f"tfprof: {path}: ") and "diagnostics tells all" in error, error
    status, out, error = tfprof("--format", "csv", path, text="SELECT * FROM ops;\nSELECT * FROM ops;\nscope\n")
    assert status == 0 and error.count("diagnostics tells all") == 1, error
    status, out, error = tfprof("scope", path, "-max_depth", "1")
    assert error.count("diagnostics tells all") == 1, error


def test_what_is_no_dump_beside_one():
    """A file that has only the name of a dump is told beside one; beside traces it hides none of them."""
    directory = tempfile.mkdtemp(prefix="tfprof-test-")
    bad, make = os.path.join(directory, "bad.tfprof"), os.path.join(os.path.dirname(TFPROF), "tests", "make_ops_dump")
    with open(bad, "wb") as file:
        file.write(b"garbage " * 1000)
    status, out, error = tfprof(directory, "SELECT 1")
    assert status == 3 and bad in error and "no profile" in error, error
    with open(os.path.join(directory, "trace.json"), "w") as file:
        file.write('{"schemaVersion":1,"traceEvents":[{"ph":"X","cat":"cpu_op","pid":1,"tid":1,"ts":1,"dur":1}]}')
    for kind in ("kineto", "tfprof"):
        status, out, error = tfprof("--format", "csv", directory,
                                    "SELECT (SELECT count(*) FROM profiles), format FROM runs; "
                                    "SELECT reason, message FROM diagnostics WHERE severity = 'error'")
        assert status == 0 and error.startswith(f"tfprof: {bad} could not be opened: "), error
        assert f"unopened_file,{bad} could not be opened: " in out.replace('"', ""), out
        assert f"1,{kind}\n" in out, out
        subprocess.run([make, os.path.join(directory, "good.tfprof"), "100"], check=True, stdout=subprocess.DEVNULL)


def test_help_and_version():
    status, out, error = tfprof("--help")
    assert status == 0 and out.startswith("SQL on recordings") and error == ""
    assert "TensorFlow's own tfprof" in out and "max_depth" not in out and "profile_path" not in out, out
    for words in (["--help"], ["report", "--help"], ["serve", "--help"], ["scope", "--help"]):
        status, out, error = tfprof(*words)
        assert (status, error) == (0, "") and max(map(len, out.split("\n"))) <= 80, (words, out)
    assert "-max_depth 10" in out and out == tfprof("--help", "op")[1], out
    assert max(map(len, tfprof(text="help\n")[1].split("\n"))) <= 80
    for option in ("--version", "-V"):
        status, out, error = tfprof(option)
        assert status == 0 and out.startswith("tfprof ") and error == ""


def test_wrong_usage():
    for arguments, words in (
        (["--frmat", "csv"], "unknown option '--frmat'"),
        (["--format", "yaml", "SELECT 1"], "no format 'yaml'"),
        (["--format"], "--format needs one of box, csv"),
        (["--width", "wide"], "'wide' is no width"),
        (["--width=-1"], "no width"),
        (["SELECT 1", "run"], "stands after SQL"),
    ):
        status, out, error = tfprof(*arguments)
        assert status == 2 and out == "" and words in error and "--help" in error, (arguments, status, error)


def test_no_run_at_a_terminal():
    with Terminal([TFPROF]) as t:
        assert t.wait() == 2
        assert "no run is given" in t.raw and "usage" in t.raw


def test_runs_that_cannot_be_opened():
    directory = tempfile.mkdtemp(prefix="tfprof-test-")
    open(os.path.join(directory, "empty"), "w").close()
    with open(os.path.join(directory, "text"), "w") as file:
        file.write("this is no profile\n" * 20)
    os.mkdir(os.path.join(directory, "folder"))
    for path in ("missing", "empty", "text", "folder", "no*such", "a\nb"):
        status, out, error = tfprof(path, "SELECT 1", directory=directory)
        assert status == 3 and out == "" and error.startswith("tfprof: "), (path, status, error)
        assert path in error, (path, error)
    # Nothing is run when one of several cannot be opened.
    status, out, error = tfprof("missing", "SELECT 1 AS x")
    assert status == 3 and out == ""


def test_misspelled_commands_are_no_runs_but_near():
    directory = tempfile.mkdtemp(prefix="tfprof-test-")
    run = os.path.join(directory, "run.tfprof")
    make = os.path.join(os.path.dirname(TFPROF), "tests", "make_ops_dump")
    subprocess.run([make, run, "50"], check=True, stdout=subprocess.DEVNULL)
    for word, hint in (("advize", "did you mean advise?"), ("step_summary", "SELECT * FROM step_summary;"),
                       ("step_sumary", "did you mean SELECT * FROM step_summary?"), ("other-run", ""),
                       ("somewhere", "")):
        status, out, error = tfprof(run, word)
        first, *more = error.splitlines()
        assert (status, out) == (3, "") and first.startswith(f"tfprof: {word}: no such file"), (word, error)
        assert more == [] if not hint else len(more) == 1 and hint in more[0], (word, error)


def without_roots_rights():
    """Root may read anything, but for the capability."""
    return ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"] if os.getuid() == 0 else []


def test_recordings_that_may_not_be_read():
    directory = tempfile.mkdtemp(prefix="tfprof-test-")
    for number in range(2):
        path = os.path.join(directory, f"host-{number}.tfprof")
        subprocess.run([program("tests/make_random_dump"), path, "50", str(number)], check=True)
    query = "SELECT profile_count, reason, message FROM runs JOIN diagnostics WHERE reason = 'unopened_file'"
    for closed, status, words in ((["host-1"], 0, ["1,unopened_file"]), (["host-0", "host-1"], 3, [])):
        for name in closed:
            os.chmod(os.path.join(directory, name + ".tfprof"), 0)
        with open(os.path.join(directory, "other"), "w") as file:  # beside dumps it is left alone
            file.write("text")
            os.fchmod(file.fileno(), 0)
        command = [*without_roots_rights(), TFPROF, "--format", "csv", directory, query]
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        assert done.returncode == status, done
        for word in [*words, closed[0] + ".tfprof", "Permission denied"]:
            assert word in (done.stderr if status else done.stdout), (word, done)
        assert "other" not in done.stdout + done.stderr, done


def test_directories_that_may_not_be_read():
    directory = tempfile.mkdtemp(prefix="tfprof-test-")
    for name in ("run-0", "run-1"):
        os.mkdir(os.path.join(directory, name))
        path = os.path.join(directory, name, "host.tfprof")
        subprocess.run([program("tests/make_random_dump"), path, "50", "1"], check=True)
    query = "SELECT profile_count, severity, message FROM runs JOIN diagnostics WHERE reason = 'unopened_file'"
    for closed, status, words in (("run-0", 0, ["1,error", "run-0 could not be opened"]), ("run-1", 3, ["run-0"])):
        os.chmod(os.path.join(directory, closed), 0)
        command = [*without_roots_rights(), TFPROF, "--format", "csv", os.path.join(directory, "run-*"), query]
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        assert done.returncode == status, done
        for word in [*words, "Permission denied"]:
            assert word in (done.stderr if status else done.stdout), (word, done)
    os.chmod(os.path.join(directory, "run-0"), 0o700)
    os.chmod(os.path.join(directory, "run-1"), 0o700)


def test_statements():
    assert tfprof("SELECT 1 AS x", "--format", "csv") == (0, "x\n1\n", "")
    assert tfprof("SELECT 1 AS x", "-csv") == tfprof("--csv", "SELECT 1 AS x") == (0, "x\n1\n", "")
    assert tfprof("--format", "csv", "SELECT 1 AS x", "SELECT 2 AS y; SELECT 3 AS z") == (0, "x\n1\ny\n2\nz\n3\n", "")
    assert tfprof("--format", "csv", " /* comment */ SELECT 1 AS x") == (0, "x\n1\n", "")
    assert tfprof("--format", "csv", "-- comment\nSELECT 1 AS x") == (0, "x\n1\n", "")
    assert tfprof("--format", "csv", "CREATE TABLE t(a); INSERT INTO t VALUES (7); SELECT a FROM t") == (
        0,
        "a\n7\n",
        "",
    )


def test_failing_statements():
    status, out, error = tfprof("--format", "csv", "SELECT 1 AS x; SELECT nothing_of_this_name; SELECT 2")
    assert (
        status == 1 and out == "x\n1\n" and "no such column: nothing_of_this_name" in error and "    ^" in error
    ), error
    status, out, error = tfprof("SELECT abs(-9223372036854775808)")
    assert status == 1 and out == "" and "integer overflow" in error, error
    status, out, error = tfprof("SELECT 1 +")
    assert status == 1 and "incomplete input" in error, error


def test_misspelled_statements():
    directory = tempfile.mkdtemp(prefix="tfprof-test-")
    run = os.path.join(directory, "run")
    subprocess.run([program("tests/make_ops_dump"), run, "100"], check=True, stdout=subprocess.DEVNULL)
    for words in ("selec 1", "SELEC * FROM ops", "slect 1 / 2", "step_summary LIMIT 3"):
        status, out, error = tfprof(run, words)
        assert status == 1 and out == "" and "syntax error" in error, (words, status, error)
    # Paths may have blanks, too.
    os.rename(run, os.path.join(directory, "my run"))
    assert tfprof("--format", "csv", "my run", "SELECT 1 AS x", directory=directory) == (0, "x\n1\n", "")
    status, out, error = tfprof("my run", "my r*", directory=directory, text="SELECT count(*) AS n FROM runs;")
    assert status == 0 and "1" in out, (status, error)
    status, out, error = tfprof("my missing run", directory=directory, text="")
    assert status == 3 and "no such file or directory" in error and "exists" not in error, error


def test_error_place():
    status, out, error = tfprof("SELECT 'é😀',\n       nme FROM steps")
    lines = error.split("\n")
    assert lines[0].startswith("error: no such column: nme"), error
    error = tfprof("SELECT name FROM op_summary WHERE name = 1")[2]  # it is called op since 0.2
    assert error.startswith("error: no such column: name; there are profile_id, rank, op, category, "), error
    assert lines[1].index("nme") == lines[2].index("^"), error


def test_standard_input():
    text = "SELECT 1 AS x;\n-- a comment\nSELECT\n2 AS y\n;\nSELECT 3 AS z"
    assert tfprof("--format", "csv", text=text) == (0, "x\n1\ny\n2\nz\n3\n", "")
    status, out, error = tfprof("--format", "csv", text="SELECT 1 AS x;\n\nSELECT\n bad;\nSELECT 2;\n")
    assert status == 1 and out == "x\n1\n2\n2\n" and "standard input:3" in error, error
    assert tfprof("--format", "csv", text="format json\nSELECT 1 AS x;\nquit\nSELECT 2;\n") == (0, '[{"x":1}]\n', "")
    assert tfprof(text="") == (0, "", "")
    # What stands behind a failing statement on its line runs, as the next line does.
    for failing in (
        "SELECT bad",
        "SELEC 1",
        "SELECT 1 +",
        "SELECT abs(-9223372036854775808)",
        "SELECT ';' AS \"a;b\", bad /* ; */",
        "CREATE TRIGGER t AFTER INSERT ON nothing BEGIN SELECT 1; SELECT 2; END",
    ):
        status, out, error = tfprof("--format", "csv", text=f"SELECT 1 AS x; {failing}; SELECT 2 AS y; {failing};\n")
        assert (status, out) == (1, "x\n1\ny\n2\n"), (failing, status, out, error)
        assert error.count("error: standard input:1: ") == 2, error
        assert tfprof("--format", "csv", f"{failing}; SELECT 2")[:2] == (1, ""), failing
    # A failure is told at the end, whatever ends it; the arguments behind one that fails are not run.
    for failing in ("SELECT bad;", "scope -max_depth many", "format paper", "read missing.sql"):
        for ending in ("", "quit\n"):
            status, out, _ = tfprof("--format", "csv", text=failing + "\nSELECT 4 AS x;\n" + ending)
            assert (status, out) == (1, "x\n4\n"), (failing, status, out)
        assert tfprof(failing, "SELECT 4")[:2] == (1, ""), failing
    status, out, error = tfprof(text="SELECT 1;\0\n")
    assert status == 1 and "not a text file" in error


def test_read():
    directory = tempfile.mkdtemp(prefix="tfprof-test-")
    with open(os.path.join(directory, "two words.sql"), "w") as file:
        file.write("-- why\nSELECT 5 AS five\n")
    for command in ("read two words.sql", ".read 'two words.sql'", 'read "two words.sql"'):
        assert tfprof("--format", "csv", text=command + "\n", directory=directory) == (0, "five\n5\n", ""), command
    with open(os.path.join(directory, "bad.sql"), "w") as file:
        file.write("SELECT 1 AS x;\nSELECT bad;\nSELECT 2 AS y;\n")
    status, out, error = tfprof("--format", "csv", "read bad.sql", "SELECT 3", directory=directory)
    assert (status, out) == (1, "x\n1\ny\n2\n") and "bad.sql:2" in error, (status, out, error)
    status, out, error = tfprof(text="read missing.sql\n")
    assert status == 1 and "missing.sql" in error and "No such file" in error
    status, out, error = tfprof(text="read /\n")
    assert status == 1 and "Is a directory" in error


def test_commands_as_arguments():
    status, out, error = tfprof("tables")
    assert status == 0 and "collectives" in out, error
    status, out, error = tfprof("columns ops")
    assert status == 0 and "self_ns" in out, error
    # Without a run there is nothing that could be well.
    for command in ("advise", "summary"):
        for words in ((command,), ("--json", command)):
            status, out, error = tfprof(*words)
            assert status == 2 and out == "" and f"nothing is open; tfprof RUN {command} begins" in error, (out, error)
    assert tfprof(text="summary;\nSELECT 'goes on';\n")[0] == 2
    assert tfprof("SELECT op FROM op_summary")[2] == "no rows: nothing is open: SELECT tfprof_open('run');\n"
    # A view that is empty as a whole says why; a question that finds nothing, or is for a program, says nothing.
    chrome = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fixtures", "kineto", "chrome.json")
    status, out, error = tfprof(chrome, "SELECT * FROM temp.kernel_summary")
    assert status == 0 and "no rows: No kernels were recorded." in error, (out, error)
    # Of several panels that which shows it first tells, and where none does the tables that it is made of.
    error = tfprof(chrome, "SELECT * FROM gpu_gaps")[2]
    assert error == "no rows: There are no gaps, or no work on devices was recorded.\n", error
    error = tfprof(chrome, "SELECT * FROM hta_memory_bandwidth")[2]
    assert re.fullmatch("no rows: there is nothing in .*transfers.*, of which it is made.\n", error), error
    # So does a table, by what there is instead.
    assert re.fullmatch("no rows: what is open has no kernels; it has .*ranges.*\\.\n",
                        tfprof(chrome, "SELECT * FROM kernels")[2])
    for words in ((chrome, "SELECT 1 FROM ranges WHERE 0"), ("--csv", chrome, "SELECT * FROM kernel_summary"),
                  ("SELECT 1 WHERE 0",)):
        assert "no rows" not in tfprof(*words)[2], words
    # As other databases have it.
    for command, same in (("show tables", "tables"), ("show views;", "views"), ("desc ops", "columns ops"),
                          ("describe steps", "columns steps"), ("show columns from ops", "columns ops"),
                          ("SHOW COLUMNS IN ops", "columns ops")):
        assert tfprof(command) == tfprof(same) and tfprof(same)[1], command
    status, out, error = tfprof("show nothing")
    assert status == 1 and "show tables" in error, (status, out, error)
    trace = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fixtures", "kineto")
    trace = os.path.join(trace, sorted(os.listdir(trace))[0])
    status, out, error = tfprof("--width", "60", trace, "summary")
    lines = out.splitlines()
    assert status == 0 and lines[0].startswith("run  "), (out, error)
    assert "more: advise" in [line[:12] for line in lines], out
    assert all(len(line) <= 60 for line in lines), out
    assert not re.search(r"\d\n +(%|ns|µs|ms|s|B|[KMG]iB)\b", out), out
    # Of allocations alone: who holds them, and what to ask about them.
    pprof = os.path.join(FILES, "..", "pprof", "example.pprof")
    status, out, error = tfprof(pprof, "summary")
    said = dict(line.split(None, 1) for line in out.splitlines() if line)
    assert status == 0 and said["memory"] == "gpu:1 in use 2.95 KiB, most of 3 memories", (out, error)
    assert said["held"] == "by     train.py:12 3.42 KiB, model.py:7 70 B, 0x1004 11 B", out
    assert said["more:"] == "advise; SELECT * FROM memory_by_line LIMIT 10", out
    status, out, error = tfprof("--format", "csv", trace, "summary")
    assert status == 0 and out.startswith("title,text\nrun,"), (out, error)


FILES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fuzz", "corpus", "tensorflow")


def test_classic_words():
    directory = tempfile.mkdtemp(prefix="tfprof-test-")
    os.mkdir(os.path.join(directory, "scope"))
    status, out, error = tfprof("scope", "SELECT 1", directory=directory)
    assert status == 3 and out == "", error  # the path wins: an empty directory
    # But not where something else is to be opened.
    graph = "--graph_path=" + os.path.join(FILES, "graph.pb")
    for words in (["scope", graph], ["scope", graph, "SELECT 1"], ["scope", os.path.join(FILES, "graph.pb")]):
        status, out, error = tfprof(*words, directory=directory)
        assert status == 0 and "_TFProfRoot" in out, (words, out, error)
    status, out, error = tfprof("./graph", "SELECT 1", directory=directory)
    assert status == 3 and "graph" in error, error


def test_classic_views():
    profile = "--profile_path=" + os.path.join(FILES, "profile")
    conv = "net/block_1/unit_1/conv (117us/117us, 79us/79us, 38us/38us)"
    for words in (("scope", profile), (profile, "scope"), ("scope", os.path.join(FILES, "profile"))):
        status, out, error = tfprof(*words, "--max_depth=9", "-step", "5")
        assert status == 0 and error == "", (words, error)
        assert "-max_depth                  9\n" in out and "-step                       5\n" in out, out
        assert "\n_TFProfRoot (--/" in out and "End of Report" in out and conv.split(" ")[0] in out, out
    status, out, error = tfprof("op", profile, "-select", "occurrence", "-order_by", "name")
    lines = out.split("node name | op occurrence (run|defined)\n")[1].split("\n\n")[0].split("\n")
    assert [line.split()[0] for line in lines] == ["Conv2D", "Identity", "Placeholder", "VariableV2"], out
    status, out, error = tfprof("code", "--graph_path=" + os.path.join(FILES, "graph.pb"))
    assert status == 1 and "no code trace information" in error, error
    with tempfile.TemporaryDirectory(prefix="tfprof-test-") as directory:
        report = os.path.join(directory, "report")
        for option in ("--dump_to_file=" + report, "--output=file:outfile=" + report):
            status, out, error = tfprof("graph", profile, option, "-select", "params")
            assert (status, out, error) == (0, "", ""), (option, error)
            with open(report) as file:
                assert "_TFProfRoot (--/216 params)" in file.read()
            os.unlink(report)
    # `set` lasts; what a command says counts for it alone.
    status, out, error = tfprof(profile, "set -max_depth 2 -select params", "scope", "scope -max_depth 3", "scope")
    assert [out.count(text) for text in ("-max_depth                  2\n",
                                         "-max_depth                  3\n")] == [3, 1], out


def test_classic_mistakes():
    profile = "--profile_path=" + os.path.join(FILES, "profile")
    for words, expected in (
            (("-step", "77"), "there is no step 77; the steps are 1 5 9"),
            (("-max_depth", "x"), "-max_depth takes a whole number, not 'x'"),
            (("-order_by", "size"), "-order_by cannot be 'size'; it is name, depth, bytes"),
            (("-select", "size"), "-select cannot be 'size'; it is bytes, micros"),
            (("-output", "svg:outfile=x"), "the types are file, none, pprof, stdout and timeline"),
            (("-output", "file:name=x"), "has no 'name'; it takes outfile"),
            (("-output", "file"), "needs a file"),
            (("-account_displayed_op_only=maybe",), "takes true or false, not 'maybe'"),
            (("-deep", "3"), "unknown option '-deep'")):
        status, out, error = tfprof("scope", profile, *words)
        assert status in (1, 2) and expected in error, (words, error)
        if words[0] != "-deep":
            status, out, error = tfprof(profile, "scope " + " ".join(words))
            assert status == 1 and expected in error, (words, error)
    status, out, error = tfprof(profile, "scope -deep 3")
    assert status == 1 and "there is no option '-deep'" in error, error
    status, out, error = tfprof(profile, "scope -show_name_regexes (unclosed")
    assert status == 0 and "no regular expression" in error and out.count("_TFProfRoot") == 1, (out, error)
    status, out, error = tfprof("scope", "--graph_path=" + os.path.join(FILES, "op_log"))
    assert status == 3 and "graph_path must be a GraphDef, and this is an OpLogProto" in error, error


def test_damaged_files_are_told():
    """A view of a part of a profile says that it is a part."""
    with tempfile.TemporaryDirectory(prefix="tfprof-test-") as directory:
        cut = os.path.join(directory, "cut")
        with open(os.path.join(FILES, "profile"), "rb") as whole, open(cut, "wb") as part:
            part.write(whole.read()[:-20])
        status, out, error = tfprof("scope", "--profile_path=" + cut)
        assert (status == 0 and "_TFProfRoot" in out
                and cut + ": parts of the file are damaged or cut off" in error), error
    assert tfprof("scope", "--profile_path=" + os.path.join(FILES, "profile"))[2] == ""


def test_files_without_events_are_told():
    """A file of which no table has a row does not answer with zeros alone, whatever it is called."""
    with tempfile.TemporaryDirectory(prefix="tfprof-test-") as directory:
        event = '{"ph":"X","cat":"x","name":"a","pid":1,"tid":1,"ts":1,"dur":2}'
        name_alone = '{"ph":"M","name":"process_name","pid":1,"args":{"name":"x"}}'
        for name, events, is_told in (("x.xplane.pb", "", True), ("named.json", name_alone, True),
                                      ("one.json", event, False)):
            path = os.path.join(directory, name)
            with open(path, "w") as file:
                file.write('{"traceEvents":[' + events + "]}")
            question = "SELECT reason FROM diagnostics WHERE reason = 'no_events'"
            status, out, error = tfprof("--format", "csv", path, question)
            assert status == 0 and ("no_events" in out.split()) == is_told, (name, out)
            assert ("holds no events" in error) == is_told, error
            assert ("holds no events" in tfprof(path, "summary")[1]) == is_told
    assert not tfprof(os.path.join(FILES, "graph.pb"), "SELECT count(*) FROM nodes")[2]


def test_unknown_commands():
    """A word by itself or with options is no SQL and waits for no semicolon."""
    for text in ("tree -max_depth 3\n", "advice\n", "  .tree\n"):
        status, out, error = tfprof("--format", "csv", text=text + "SELECT 1 AS x;\n")
        name = text.split()[0]
        assert (status, out) == (1, "x\n1\n"), (status, out)
        nearest = "; did you mean advise?" if name == "advice" else ""
        assert error == f"error: there is no command {name}{nearest}; `help` lists the commands\n", error
    for text in ("SELECT\n1 AS x;\n", "-- what follows\nSELECT 1 AS x;\n", "/*\n*/\nSELECT 1 AS x;\n",
                 "VALUES\n--\n(1);\n"):
        status, out, error = tfprof("--format", "json", text=text)
        assert (status, error) == (0, "") and ":1}" in out, (text, out, error)


def test_near_options():
    """A misspelled option: the nearest of the program, its files, the views and advise; without one, a list."""
    profile = "--profile_path=" + os.path.join(FILES, "profile")
    for word, meant in (("--formt", "--format"), ("--no-pagr=1", "--no-pager"), ("--grap_path=x", "--graph_path"),
                        ("-max_dpth", "--max_depth"), ("--chekers", "--checkers"),
                        ("--slow_bytes_per_secnd", "--slow_bytes_per_second")):
        status, out, error = tfprof("scope", profile, word, "3")
        first, second, *more = error.splitlines()
        assert first == f"tfprof: unknown option '{word}'; did you mean {meant}?", error
        assert (status, out, more) == (2, "", []) and second.startswith("usage: "), (status, out, error)
    # Options of tfprof itself, unless it is asked for the views; nobody's are nearest to a word that is like none.
    for words, listed, absent in ((["--bogus"], "--watch", "max_depth"),
                                  (["scope", "--bogus"], "--max_depth", "--watch"),
                                  ([profile, "--bogus"], "--max_depth", "--watch")):
        status, out, error = tfprof(*words)
        assert (status, out) == (2, "") and error.startswith("tfprof: unknown option '--bogus'\nusage: "), error
        assert listed in error and absent not in error and error.count("\n") == 3, error
    assert "did you mean --max_depth?" in tfprof("--max_dpth", "3")[2]  # of a command that is not named, the last
    for command, message in (
            ("scope -max_dpth 3", "there is no option '-max_dpth'; did you mean -max_depth?"),
            ("set --selct params", "there is no option '--selct'; did you mean -select?"),
            ("scope -nothing_like_it", "there is no option '-nothing_like_it'; the options are -max_depth, "),
            ("advise -chekers all", "advise has no option -chekers; did you mean -checkers?"),
            ("advise -slow_bytes_per_secnd 1", "no option -slow_bytes_per_secnd; did you mean -slow_bytes_per_second?"),
            ("advise -nothing_like_it", "advise has no option -nothing_like_it; the options are -checkers (all), ")):
        status, out, error = tfprof(profile, command)
        assert (status, out) == (1, "") and message in error and error.count("\n") == 1, (command, out, error)


def test_near_names():
    for text, words in (
        ("steps", "it is a table or view: SELECT * FROM steps;"),
        ("step_sumary", "did you mean SELECT * FROM step_summary?"),
        ("columns op_sumary", "did you mean op_summary?"),
        ("clumns ops", "there is no command clumns; did you mean columns?"),
        ("selct 1", 'near "selct": syntax error'),
        ("\\dq", "there is no command \\dq"),
        ("SELECT * FROM step_sumary;", "did you mean step_summary?"),
    ):
        status, out, error = tfprof(text=text + "\n")
        assert status == 1 and out == "" and words in error, (text, error)


def test_words_of_sqlite3_and_psql():
    for text, like in (("\\dt", "tables"), ("\\d", "tables"), (".tables", "tables"), ("\\dv", "views"),
                       ("\\d steps", "columns steps"), (".schema steps", "columns steps"), ("?", "help"),
                       ("\\?", "help"), ("\\h", "help"), ("\\q", "quit")):
        assert tfprof(text=text + "\n") == tfprof(text=like + "\n"), text
    assert tfprof(text="help\n")[1] and tfprof(text="\\q\nSELECT 1;\n") == (0, "", "")


def test_files_of_sql():
    directory = tempfile.mkdtemp(prefix="tfprof-test-")
    first, second, bad = (os.path.join(directory, name) for name in ("first.sql", "second", "bad.sql"))
    for path, text in ((first, "SELECT 1\nAS x;"), (second, "SELECT 2 AS x\n"), (bad, "SELECT y;\nSELECT 3 AS x;\n")):
        with open(path, "w") as file:
            file.write(text)
    assert tfprof("--format=csv", "-f", first, f"--file={second}") == (0, "x\n1\nx\n2\n", "")
    status, out, error = tfprof("--format=csv", "-f", bad, text="SELECT 4;")
    assert (status, out) == (1, "x\n3\n") and f"{bad}:1: no such column: y" in error, (status, out, error)
    assert tfprof("-f", os.path.join(directory, "none"))[0] == 1 and tfprof("-f")[0] == 2


def test_output_to_a_file():
    directory = tempfile.mkdtemp(prefix="tfprof-test-")
    target = os.path.join(directory, "out.csv")
    for command, back in (("output", "output"), (".output", ".output stdout"), ("\\o", "\\o")):
        text = f"{command} {target}\nSELECT 1 AS x;\ncolumns runs\n{back}\nSELECT 2 AS x;\n"
        assert tfprof("--format=csv", text=text) == (0, "x\n2\n", "")
        with open(target) as file:
            assert file.read().startswith("x\n1\ncolumn_name,type,"), command
    status, out, error = tfprof("--format=csv", text=f"output {directory}\nSELECT 2 AS x;\n")
    assert (status, out) == (1, "x\n2\n") and "Is a directory" in error, error
    status, _, error = tfprof(text="output /dev/full\nSELECT 1;\n")
    assert status == 1 and "No space left" in error, error


def test_kinds_of_files():
    """What cannot be opened is told in a line, with what to do; the kinds that can be are listed where one asks."""
    directory = tempfile.mkdtemp(prefix="tfprof-test-")
    dump = os.path.join(os.path.dirname(__file__), "..", "golden", "dump-1", "ops.tfprof")

    def made(name, make):
        path = os.path.join(directory, name)
        with open(dump, "rb") as file:
            make(path, file.read())
        return path

    def tar(path, data):
        with tarfile.open(path, "w:gz") as archive:
            entry = tarfile.TarInfo("run/ops.tfprof")
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))

    def zipped(path, data):
        with gzip.open(path, "wb") as file:
            file.write(data)

    for path, words in (
        (made("ops.tfprof.gz", zipped),
         "a gzipped one (dump written by tfprof-capture or tfprof_save); unpack it first"),
        (made("run.tgz", tar), "a gzipped tar archive; unpack it"),
        (os.path.abspath(__file__), "text that begins with"),
    ):
        status, out, error = tfprof(path, "SELECT 1")
        assert status == 3 and words in error and "tfprof_formats" in error and len(error) < 400, error
    _, formats, _ = tfprof("--format=csv", "SELECT name FROM tfprof_formats")
    assert {"tfprof", "kineto", "memory_snapshot", "tf_profile"} <= set(formats.split()), formats
    assert "dump written by tfprof-capture" in tfprof(text="help formats\n")[1]


def test_help_by_name():
    """Of functions and codes of diagnostics, as tfprof_functions and tfprof_reasons describe them."""
    status, out, error = tfprof(text="help Percentile\nhelp op_diff\nhelp lost_kernels\n")
    assert (status, error) == (0, "") and "percentile(x, p): window function\n\n  The value below" in out, (out, error)
    assert "op_diff(a, b [, a_first, a_last, b_first, b_last]): table function\n" in out, out
    assert "  SELECT percentile(dur_ns, 95) FROM steps;\n" in out, out
    assert "lost_kernels: diagnostics of severity warning, info\n" in out, out
    assert "  SELECT * FROM diagnostics WHERE reason = 'lost_kernels';\n" in out, out
    assert tfprof("help", "median") == tfprof(text="help median\n") and tfprof("help", "scope")[0] == 0
    assert tfprof("help", "medan")[0] == 1
    status, out, error = tfprof(text="help lost_kernel\n")
    assert (status, out) == (1, "") and "no help on 'lost_kernel'" in error, (out, error)
    listed = tfprof("--format=csv", text="functions\n")
    assert listed[1].startswith('function,title\n') and '"percentile(x, p)",' in listed[1], listed
    assert listed == tfprof("--format=csv", text="\\df\n") == tfprof("--format=csv", text="show functions\n")


def test_output_that_nobody_reads():
    query = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000) SELECT i FROM n"
    done = subprocess.run(
        ["bash", "-c", f'{TFPROF} --format csv "{query}" | head -n 2; echo "${{PIPESTATUS[0]}}"'],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        timeout=60,
    )
    assert done.stdout == "i\n1\n141\n" and done.stderr == "", done


def test_full_disk():
    if not os.path.exists("/dev/full"):
        raise LeftOut("there is no /dev/full")
    with open("/dev/full", "w") as full:
        done = subprocess.run([TFPROF, "SELECT 1"], stdout=full, stderr=subprocess.PIPE, encoding="utf-8")
        script = subprocess.run([TFPROF], input="SELECT 1;\n" * 3, stdout=full, stderr=subprocess.PIPE,
                                encoding="utf-8")
    assert done.returncode == 1 and "No space left" in done.stderr, done
    assert script.returncode == 1 and script.stderr == done.stderr, script


if __name__ == "__main__":
    run_tests(globals())
