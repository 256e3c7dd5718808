"""What `tfprof` makes of its arguments and of standard input: exit statuses and messages."""

import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from terminal import LeftOut, Terminal, program, run_tests

TFPROF = program("tfprof")


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


def test_help_and_version():
    status, out, error = tfprof("--help")
    assert status == 0 and out.startswith("SQL on recordings") and error == ""
    assert max(map(len, out.split("\n"))) <= 80
    status, out, error = tfprof("--version")
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


def test_recordings_that_may_not_be_read():
    directory = tempfile.mkdtemp(prefix="tfprof-test-")
    for number in range(2):
        path = os.path.join(directory, f"host-{number}.tfprof")
        subprocess.run([program("tests/make_random_dump"), path, "50", str(number)], check=True)
    # Root may read anything, but for the capability.
    before = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"] if os.getuid() == 0 else []
    query = "SELECT profile_count, reason, message FROM runs JOIN diagnostics WHERE reason = 'unopened_file'"
    for closed, status, words in ((["host-1"], 0, ["1,unopened_file"]), (["host-0", "host-1"], 3, [])):
        for name in closed:
            os.chmod(os.path.join(directory, name + ".tfprof"), 0)
        with open(os.path.join(directory, "other"), "w") as file:  # beside dumps it is left alone
            file.write("text")
            os.fchmod(file.fileno(), 0)
        command = [*before, TFPROF, "--format", "csv", directory, query]
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        assert done.returncode == status, done
        for word in [*words, closed[0] + ".tfprof", "Permission denied"]:
            assert word in (done.stderr if status else done.stdout), (word, done)
        assert "other" not in done.stdout + done.stderr, done


def test_statements():
    assert tfprof("SELECT 1 AS x", "--format", "csv") == (0, "x\n1\n", "")
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
    assert lines[1].index("nme") == lines[2].index("^"), error


def test_standard_input():
    text = "SELECT 1 AS x;\n-- a comment\nSELECT\n2 AS y\n;\nSELECT 3 AS z"
    assert tfprof("--format", "csv", text=text) == (0, "x\n1\ny\n2\nz\n3\n", "")
    status, out, error = tfprof("--format", "csv", text="SELECT 1 AS x;\n\nSELECT\n bad;\nSELECT 2;\n")
    assert status == 1 and out == "x\n1\n2\n2\n" and "standard input:3" in error, error
    assert tfprof("--format", "csv", text="format json\nSELECT 1 AS x;\nquit\nSELECT 2;\n") == (0, '[{"x":1}]\n', "")
    assert tfprof(text="") == (0, "", "")
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
    status, out, error = tfprof("advise")
    assert status == 0, error


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
            (("-order_by", "size"), "-order_by cannot be 'size'; it is name, bytes"),
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


def test_unknown_commands():
    """A word by itself or with options is no SQL and waits for no semicolon."""
    for text in ("tree -max_depth 3\n", "advice\n", "  .tree\n"):
        status, out, error = tfprof("--format", "csv", text=text + "SELECT 1 AS x;\n")
        name = text.split()[0]
        assert (status, out) == (1, "x\n1\n"), (status, out)
        assert error == f"error: there is no command {name}; `help` lists the commands\n", error
    for text in ("SELECT\n1 AS x;\n", "-- what follows\nSELECT 1 AS x;\n", "/*\n*/\nSELECT 1 AS x;\n",
                 "VALUES\n--\n(1);\n"):
        status, out, error = tfprof("--format", "json", text=text)
        assert (status, error) == (0, "") and ":1}" in out, (text, out, error)


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
