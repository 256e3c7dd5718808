"""The prompt of build/tfprof, through a pseudo-terminal: statements, history, completion, signals, width."""

import json
import os
import re
import shutil
import signal
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from terminal import LeftOut, Terminal, plain, program, run_tests

TFPROF = program("tfprof")
PROMPT = r"tfprof> $"
# Far too slow to end by itself: what Ctrl-C is tried on.
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n;"
NEEDS_CLASSIC = {"test_commands"}  # tests/parts.py


def shell(state=None, columns=80, **more):
    state = state or tempfile.mkdtemp(prefix="tfprof-test-")
    # TFPROF_OPEN empty: the prompt appears though no run is named.
    return Terminal([TFPROF], columns=columns, environment={"XDG_STATE_HOME": state, "TFPROF_OPEN": "", **more})


def test_statement_and_count():
    with shell() as t:
        t.expect(PROMPT)
        t.send("SELECT 6 * 7 AS answer;\n")
        text = t.expect(PROMPT)
        assert re.search(r"│ +42 │", text), text
        assert re.search(r"\(1 row, [0-9.]+ m?s\)", text), text


def test_statement_over_several_lines():
    with shell() as t:
        t.expect(PROMPT)
        t.send("SELECT 'a;b' AS x, -- a comment; with a semicolon\n")
        t.expect(r"   \.\.\.> $")
        t.send("2 AS y\n")
        t.expect(r"   \.\.\.> $")
        t.send(";\n")
        assert "a;b" in t.expect(PROMPT)


def test_pasted_lines():
    with shell() as t:
        t.expect(PROMPT)
        t.send("\x1b[200~SELECT 'first' AS x;\nSELECT\n'second' AS y;\x1b[201~\n")
        text = t.expect(r"second +│[\s\S]*" + PROMPT)
        assert re.search(r"│ first +│", text), text


def test_error_leaves_the_prompt():
    with shell() as t:
        t.expect(PROMPT)
        t.send("SELECT 1 +;\n")
        text = t.expect(PROMPT)
        assert "error" in text and "syntax error" in text and "^" in text, text
        t.send("SELECT 'still here';\n")
        t.expect("still here +│")


def test_unknown_commands_do_not_wait_for_more():
    with shell() as t:
        t.expect(PROMPT)
        t.send("tree -step 1\n")
        assert "there is no command tree" in t.expect(PROMPT)


def test_near_names_are_suggested():
    with shell() as t:
        t.expect(PROMPT)
        t.send("SELECT * FROM op;\n")  # not the word `op` alone: this is SQL
        text = t.expect(PROMPT)
        assert "did you mean ops?" in text, text
        t.send("SELECT nmae FROM ops;\n")
        text = t.expect(PROMPT)
        assert "did you mean name?" in text, text


def test_ctrl_c_stops_a_query_and_not_the_shell():
    with shell() as t:
        t.expect(PROMPT)
        t.send(ENDLESS + "\n")
        time.sleep(0.7)
        t.send("\x03")
        assert "interrupted" in t.expect(PROMPT, seconds=5)
        t.send("SELECT 'alive';\n")
        t.expect("alive +│")


def test_each_query_may_be_stopped():
    with shell() as t:
        t.expect(PROMPT)
        for _ in range(5):
            t.send(ENDLESS + "\n")
            t.expect("running …", seconds=10)
            t.send("\x03")
            assert "interrupted" in t.expect(PROMPT, seconds=10)
        t.send("SELECT 'alive';\n")
        t.expect("alive +│")


def test_a_query_that_does_not_notice():
    # Each instr() compares half of a million bytes at as many places, and nothing looks for interrupts between them.
    deaf = "SELECT " + ", ".join(["instr(a, b)"] * 200) + " FROM (SELECT printf('%.*c', 1000000, 'a') AS a, " \
           "printf('%.*c', 500000, 'a') || 'b' AS b);\n"
    with shell() as t:
        t.expect(PROMPT)
        t.send(deaf)
        t.expect("running …", seconds=10)
        t.send("\x03")
        time.sleep(0.2)
        t.send("\x03")
        t.expect("has not noticed Ctrl-C yet. Press it twice more to end tfprof", seconds=10)
        t.send("\x03")
        time.sleep(0.2)
        t.send("\x03")
        assert t.wait() == 130


def test_waiting_is_shown_and_removed():
    with shell() as t:
        t.expect(PROMPT)
        t.send(ENDLESS + "\n")
        t.expect("running … 1 s", seconds=10)
        t.expect("running … 2 s", seconds=10)
        t.send("\x03")
        t.expect(PROMPT, seconds=5)
        assert t.raw.rindex("\x1b[K") > t.raw.rindex("running …"), "the line was left standing"


def test_ctrl_c_forgets_the_line_and_the_statement():
    with shell() as t:
        t.expect(PROMPT)
        t.send("SELECT 'unfinished'")
        t.expect("unfinished'")
        t.send("\x03")
        t.expect(PROMPT)
        t.send("SELECT 1,\n")
        t.expect(r"   \.\.\.> $")
        t.send("\x03")
        t.expect(PROMPT)
        t.send("SELECT 'fresh';\n")
        t.expect("fresh +│")


def test_ctrl_d_leaves():
    with shell() as t:
        t.expect(PROMPT)
        t.send("\x04")
        assert t.wait() == 0


def test_quit_leaves():
    for word in ("quit", "exit", ".quit", "quit;"):
        with shell() as t:
            t.expect(PROMPT)
            t.send(word + "\n")
            assert t.wait() == 0, word


def test_ctrl_z_and_back():
    with Terminal(
        ["bash", "--norc", "-i"], environment={"PS1": "bash$ ", "XDG_STATE_HOME": tempfile.mkdtemp(), "TFPROF_OPEN": ""}
    ) as t:
        t.expect(r"bash\$ $")
        t.send(TFPROF + "\n")
        t.expect(PROMPT)
        t.send("SELECT 'kept")
        t.expect("kept")
        t.send("\x1a")
        t.expect(r"Stopped[\s\S]*bash\$ $")
        t.send("fg\n")
        time.sleep(0.5)
        t.send(" line' AS x;\n")
        t.expect(r"kept line +│")
        t.send("quit\n")
        t.expect(r"bash\$ $")


def test_history_is_kept_with_its_lines():
    state = tempfile.mkdtemp(prefix="tfprof-test-")
    with shell(state) as t:
        t.expect(PROMPT)
        t.send("SELECT 'remember'\n")
        t.expect(r"\.\.\.> $")
        t.send("AS me;\n")
        t.expect(PROMPT)
        t.send("SELECT 'last one';\n")
        t.expect(PROMPT)
        t.send("quit\n")
        assert t.wait() == 0
    path = os.path.join(state, "tfprof", "history")
    assert os.stat(path).st_mode & 0o077 == 0, "others can read the history"
    with shell(state) as t:
        t.expect(PROMPT)
        t.send("\x1b[A")  # up
        t.expect("last one")
        t.send("\x1b[A\n")
        t.expect(r"remember +│")


def test_history_survives_a_kill():
    state = tempfile.mkdtemp(prefix="tfprof-test-")
    with shell(state) as t:
        t.expect(PROMPT)
        t.send("SELECT 'before the kill';\n")
        t.expect(PROMPT)
        t.signal(signal.SIGKILL)
    with open(os.path.join(state, "tfprof", "history")) as file:
        assert "before the kill" in file.read()


def test_unwritable_history_is_no_trouble():
    with shell("/proc/none") as t:
        t.expect(PROMPT)
        t.send("SELECT 'works';\n")
        t.expect("works +│")
        t.expect(PROMPT)  # before, the terminal itself would take the Ctrl-D
        t.send("\x04")
        assert t.wait() == 0


def completes(typed, pattern, **more):
    with shell(**more) as t:
        t.expect(PROMPT)
        t.send(typed)
        t.expect(re.escape(typed.rstrip("\t")))
        return t.expect(pattern, seconds=5)


def test_completion():
    completes("SELECT * FROM overh\t", "eads ")
    completes("select count(*) from ops where self_\t", "ns ")
    completes("SELECT * FROM ops AS o, steps s WHERE s.num\t", "ber ")
    completes("SEL\t", "ECT ")
    completes("select format_by\t", r"tes\(")
    completes("columns overh\t", "eads ")
    completes("forma\t", "t ")
    completes("functi\t", "ons ")
    completes("help percen\t", "tile ")
    completes("help capture_stray\t", "_write ")
    completes("SELECT * FROM tfprof_reas\t", "ons ")
    completes("SELECT * FROM step_sum\t", "mary ")


def test_completion_lists_several():
    with shell() as t:
        t.expect(PROMPT)
        t.send("SELECT * FROM memory_\t\t")
        text = t.expect(r"tfprof> SELECT \* FROM memory_$")  # the line again, below the list
        assert "memory_events" in text and "memory_segments" in text


def test_completion_of_files():
    directory = tempfile.mkdtemp(prefix="tfprof-test-")
    os.mkdir(os.path.join(directory, "a-long-run-name"))
    with Terminal([TFPROF], environment={"XDG_STATE_HOME": directory, "TFPROF_OPEN": ""}, directory=directory) as t:
        t.expect(PROMPT)
        t.send("SELECT tfprof_open('a-lo\t")
        t.expect("a-long-run-name")


def test_completion_of_files_in_folders():
    directory = tempfile.mkdtemp(prefix="tfprof-test-")
    os.mkdir(os.path.join(directory, "queries"))
    os.mkdir(os.path.join(directory, "queries", "inner folder"))
    for name in ("slow-steps.sql", "inner folder/memory.sql"):
        with open(os.path.join(directory, "queries", name), "w") as file:
            file.write("SELECT 1;\n")
    for typed, completed in (
        ("read que\tslo\t", "read queries/slow-steps.sql "),
        (f"read {directory}/queries/slo\t", f"read {directory}/queries/slow-steps.sql "),
        ("\\i queries/slo\t", "\\i queries/slow-steps.sql "),
        ("output que\t", "output queries/"),
        ("SELECT tfprof_open('que\tinn\tme\t", "SELECT tfprof_open('queries/inner folder/memory.sql'"),
        ("\\d step_sum\t", "\\d step_summary "),
    ):
        with Terminal([TFPROF], environment={"XDG_STATE_HOME": directory, "TFPROF_OPEN": ""}, directory=directory,
                      columns=200) as t:
            t.expect(PROMPT)
            t.send(typed)
            t.expect(re.escape(completed))


COUNT = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {}) SELECT i FROM n"


def test_long_results_go_through_a_pager():
    directory = tempfile.mkdtemp(prefix="tfprof-test-")
    pager = os.path.join(directory, "pager")
    with open(pager, "w") as file:  # the first lines only, and then it leaves
        file.write("#!/bin/sh\necho PAGED\nhead -n 3\necho LEFT\n")
    os.chmod(pager, 0o755)
    environment = {"TFPROF_PAGER": pager, "XDG_STATE_HOME": directory, "TFPROF_OPEN": ""}
    with Terminal([TFPROF], environment=environment) as t:
        t.expect(PROMPT)
        t.send(COUNT.format(30) + ";\n")  # with its rules and the lines around it just not longer than the screen
        assert "PAGED" not in t.expect(PROMPT)
        t.send(COUNT.format(40) + ";\n")
        text = t.expect(PROMPT)
        assert text.index("PAGED") < text.index("│") < text.index("LEFT") and "│ 30 │" not in text, text
        t.send(ENDLESS.replace("count(*)", "i") + "\n")  # what nobody reads is not made
        assert "LEFT" in t.expect(PROMPT)
        t.send("tables\n")
        assert "PAGED" in t.expect(PROMPT)
        t.send("SELECT 'still here';\n")
        t.expect("still here +│")
    for more, is_paged in (([], True), (["--no-pager"], False)):
        with Terminal([TFPROF, *more, COUNT.format(100)], environment=environment) as t:
            assert t.wait() == 0
            assert ("PAGED" in t.raw) == is_paged and ("│ 100 │" in plain(t.raw)) != is_paged, t.raw


def test_less():
    if not shutil.which("less"):
        raise LeftOut("less is not installed")
    with shell(TFPROF_PAGER="less") as t:
        t.expect(PROMPT)
        t.send(COUNT.format(100000) + ";\n")
        t.expect(r"│ +36 │\n:")
        t.send("\x03")  # is for less, and leaves the shell as it is: the result goes on
        t.insist(" ", r"│ +60 │\n")
        t.send("q")
        t.expect(PROMPT)
        t.send("SELECT 'alive';\n")
        t.expect("alive +│")


def test_greeting():
    """It says what is open: processes, steps, ops."""
    directory = tempfile.mkdtemp(prefix="tfprof-test-")
    trace = os.path.join(directory, "server.json")
    with open(trace, "w") as file:
        json.dump({"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 10,
                                    "dur": 5}]}, file)
    dump = os.path.join(os.path.dirname(__file__), "..", "golden", "dump-1", "ops.tfprof")
    for paths, said in (
        ([dump], ", 1 process open: 3 steps, 10,000 ops. Type SQL"),
        ([trace], ", 1 process open: 1 op. "),
        ([dump, trace], ", 2 processes open: 3 steps, 10,001 ops. "),
        ([], ", 0 processes open. "),
    ):
        with Terminal([TFPROF, *paths], environment={"XDG_STATE_HOME": directory, "TFPROF_OPEN": ""}) as t:
            text = t.expect(PROMPT)
            assert said in text, (paths, text)


def result_lines(text):
    """What follows the statement's echo: the lines of the table or of its blocks."""
    lines = text.split("\n")
    first = next(i for i, line in enumerate(lines) if line.startswith(("┌", "── row")))
    return lines[first:]


def test_width_follows_the_terminal():
    query = (
        "SELECT 'some words of a text ' || hex(zeroblob(80)) AS first, "
        "'and of another text, quite long, for a column' AS second, 123456789 AS n;\n"
    )
    for columns in (40, 80, 200):
        with shell(columns=columns) as t:
            t.expect(PROMPT)
            t.send(query)
            text = t.expect(r"\(1 row[\s\S]*" + PROMPT)
            table = result_lines(text)
            assert len(table) > 3 and max(map(len, table)) <= columns, (columns, table)
            assert "123456789" in text
    with shell(columns=200) as t:
        t.expect(PROMPT)
        t.resize(60)
        time.sleep(0.2)
        t.send(query)
        table = result_lines(t.expect(r"\(1 row[\s\S]*" + PROMPT))
        assert max(map(len, table)) <= 60, table


def test_colour_only_where_wanted():
    for more, wanted in (({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)):
        with shell(**more) as t:
            t.expect(PROMPT)
            t.send("SELECT NULL AS x;\n")
            t.expect(r"\(1 row")
            assert ("\x1b[1m" in t.raw) == wanted, more


def test_output_to_a_file_is_plain():
    """No colours, no counts, no lines broken for the terminal: as behind > in a shell."""
    path = os.path.join(tempfile.mkdtemp(prefix="tfprof-test-"), "out.txt")
    with shell(columns=40) as t:
        t.expect(PROMPT)
        t.send(f"output {path}\n")
        t.expect(PROMPT)
        t.send("SELECT NULL AS x, printf('%100s', 'end') AS y;\n")
        t.expect(PROMPT)
        t.send("help advise\n")
        t.expect(PROMPT)
        t.send("output\n")
        t.expect(PROMPT)
        t.send("SELECT 5 AS y;\n")
        t.expect(r"\(1 row")
    with open(path) as file:
        text = file.read()
    assert "\x1b" not in text and "row, " not in text and " " * 97 + "end" in text and len(text.splitlines()) > 5, text


def test_commands():
    with shell() as t:
        t.expect(PROMPT)
        for command, expected in (
            ("help", "Ctrl-C stops a query"),
            (".help", "Ctrl-C stops a query"),
            ("tables", "collectives"),
            ("views", "step_summary"),
            ("columns steps", "is_warmup"),
            (".schema steps", "is_warmup"),
            ("COLUMNS step_summary", "column_name"),
            ("columns nothing", "no such table or view"),
            (".nothing", "there is no command"),
            ("scope -max_depth 3", "nothing that is open has nodes, ops or kernels"),
            ("read /nonexistent.sql", "No such file"),
            ("format nothing", "there is no format"),
        ):
            t.send(command + "\n")
            assert expected in t.expect(PROMPT), command
        for command in ("tables", "views", "columns kernels"):  # sentences lose nothing, however many rows there are
            t.send(command + "\n")
            listed = t.expect(PROMPT)
            assert "…" not in listed and listed.count("\n") > 80, listed
        t.send("format csv\n")
        t.expect(PROMPT)
        t.send("SELECT 1 AS a, 'x,y' AS b;\n")
        t.expect('a,b\n1,"x,y"\n')


def test_terminal_cannot_be_played_with():
    with shell() as t:
        t.expect(PROMPT)
        t.send("SELECT 'a' || char(27) || '[31mred' || char(7) || char(155) || 'x' AS x;\n")
        t.expect(r"\(1 row")
        assert "\x1b[31m" not in t.raw and "\x9b" not in t.raw, t.raw
        assert "␛[31mred" in plain(t.raw)


if __name__ == "__main__":
    run_tests(globals())
