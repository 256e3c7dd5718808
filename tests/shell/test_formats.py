"""The formats of `tfprof --format`: exact texts, validity, widths."""

import csv
import io
import json
import os
import subprocess
import sys
import unicodedata

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from terminal import Terminal, program, run_tests

TFPROF = program("tfprof")
MIXED = (
    "SELECT 1 AS id, 'aten::addmm' AS name, NULL AS unknown, 0.1 AS ratio UNION ALL "
    "SELECT 9223372036854775807, 'a \"b\", ''c''|`d`', 'x' || char(10) || 'y' || char(9) || 'z', -1e300"
)
NASTY = [
    "",
    " ",
    "'",
    '"',
    '""',
    ",",
    "a,b",
    "a\nb",
    "a\r\nb",
    "\t",
    "|",
    "\\",
    "\x1b[31m",
    "\x7f",
    "é",
    "日本語",
    "😀",
    "a\u0301",
    "\u202eevil",
    "</script>",
    "{}",
    "null",
    "1",
    "x" * 500,
    "many words " * 40,
]


def run(sql, *options, binary=False):
    done = subprocess.run(
        [TFPROF, *options, sql], stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stderr == b"", done.stderr.decode()
    return done.stdout if binary else done.stdout.decode()


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def columns_of(line):
    """Columns on a terminal."""
    return sum(
        0 if unicodedata.category(c) in ("Mn", "Me", "Cf") else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in line
    )


def test_box():
    assert run("SELECT 1 AS id, 'aten::addmm' AS name, NULL AS unknown UNION ALL SELECT 20, 'b', 3.5") == """\
┌────┬─────────────┬─────────┐
│ id │ name        │ unknown │
├────┼─────────────┼─────────┤
│  1 │ aten::addmm │    NULL │
│ 20 │ b           │     3.5 │
└────┴─────────────┴─────────┘
"""


def test_box_without_rows():
    assert run("SELECT 1 AS id, 'x' AS name WHERE 0") == """\
┌────┬──────┐
│ id │ name │
├────┼──────┤
└────┴──────┘
"""


def test_box_shows_units():
    """Times and amounts of memory, by the names of the columns; what is a point in time, or text, stays as it is."""
    query = (
        "SELECT 1234567 AS self_ns, -1.5e9 AS \"avg(ops.dur_ns)\", 47815066 AS peak_bytes, 1 AS bytes, "
        "1234567 AS start_ns, 1700000000123456789 AS some_ns, 'x' AS text_ns, NULL AS no_ns, 5000 AS id"
    )
    assert run(query) == """\
┌─────────┬─────────────────┬────────────┬───────┬──────────┬─────────────────────┬─────────┬───────┬──────┐
│ self_ns │ avg(ops.dur_ns) │ peak_bytes │ bytes │ start_ns │             some_ns │ text_ns │ no_ns │   id │
├─────────┼─────────────────┼────────────┼───────┼──────────┼─────────────────────┼─────────┼───────┼──────┤
│ 1.23 ms │         -1.50 s │   45.6 MiB │   1 B │  1234567 │ 1700000000123456789 │ x       │  NULL │ 5000 │
└─────────┴─────────────────┴────────────┴───────┴──────────┴─────────────────────┴─────────┴───────┴──────┘
"""
    raw = run(query, "--raw")
    assert "1234567 │   -1500000000.0 │   47815066" in raw and "ms" not in raw, raw
    assert run(query, "--format=csv").split("\n")[1].startswith("1234567,-1500000000.0,47815066,1,")


def test_box_wraps_and_breaks_headers():
    assert run("SELECT 12 AS a_rather_long_header, 'some words that do not fit' AS text", "--width", "32") == """\
┌─────────┬────────────────────┐
│      a_ │ text               │
│ rather_ │                    │
│   long_ │                    │
│  header │                    │
├─────────┼────────────────────┤
│      12 │ some words that do │
│         │ not fit            │
└─────────┴────────────────────┘
"""


def test_box_becomes_blocks():
    query = "SELECT " + ", ".join(f"'value {i}' AS column_{i}" for i in range(20))
    text = run(query, "--width", "60")
    assert text.startswith("── row 1 ─") and "column_7  value 7\n" in text, text


def test_box_cuts_the_middle_in_long_results():
    query = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60) "
        "SELECT i, 'void at::native::vectorized_elementwise_kernel<4, at::native::functor<' || i || '>, float>' AS "
        "name FROM n"
    )
    text = run(query, "--width", "50")
    lines = text.split("\n")[3:-2]
    assert len(lines) == 60 and all("…" in line and line.startswith("│") for line in lines), text
    assert lines[41].endswith("<42>, float> │") and "│ void at::native" in lines[41], lines[41]


def test_box_stays_in_its_width():
    for width in (30, 40, 80, 200):
        for text in NASTY:
            for query in (
                f"SELECT {quoted(text)} AS name, 1 AS n",
                f"SELECT 123456 AS total_ns, {quoted(text)} AS first_name, {quoted(text)} AS second_name",
            ):
                for line in run(query, "--width", str(width)).split("\n"):
                    assert columns_of(line) <= width, (width, text, line)


def test_box_lines_are_even():
    query = " UNION ALL ".join(
        f"SELECT {quoted(text)} AS name, {i} AS n" for i, text in enumerate(NASTY) if "\u202e" not in text
    )
    lines = run(query, "--width", "100").rstrip("\n").split("\n")
    assert {columns_of(line) for line in lines} == {100}, sorted({columns_of(line) for line in lines})


def test_box_hides_control_characters():
    text = run("SELECT char(27) || '[31m' || char(7) || char(0) || 'x' || char(8206) || char(8238) AS x")
    assert not any(c in text for c in "\x1b\x07\x00\u202e"), repr(text)


def test_box_streams():
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) "
    query = numbers + "SELECT i, 'name ' || i AS name FROM n"
    lines = run(query, "--width", "80").rstrip("\n").split("\n")
    assert len(lines) == 3004 and "name 3000" in lines[-2]


def test_box_rounds_reals():
    values = [
        "0.5",
        "2.0",
        "1e0/3",
        "-123456.789",
        "1234567.891",
        "0.0123456789",
        "0.000123456789",
        "1e-9",
        "1e300",
        "0.0",
    ]
    text = run("SELECT " + ", ".join(f"{value} AS c{i}" for i, value in enumerate(values)))
    shown = [cell.strip() for cell in text.split("\n")[3].strip("│").split("│")]
    assert shown == [
        "0.5",
        "2.0",
        "0.333333",
        "-123456.8",
        "1234567.9",
        "0.0123457",
        "0.000123457",
        "1e-09",
        "1e+300",
        "0.0",
    ], shown


def test_box_shows_columns_without_values():
    query = "SELECT 'some words' AS name, NULL AS always_unknown, 12 AS n UNION ALL SELECT 'more words', NULL, NULL"
    assert "always_unknown" in run(query)
    blocks = run(query, "--width", "27").split("\n")
    assert [line.split() for line in blocks[1:4]] == [["name", "some", "words"], ["always_unknown", "NULL"],
                                                      ["n", "12"]], blocks


def test_numbers_are_never_cut():
    for width in (20, 40):
        assert "-9223372036854775808" in run(
            "SELECT -9223372036854775808 AS n, 'abc def ghi' AS t", "--width", str(width)
        )


def test_csv():
    assert run(MIXED, "--format", "csv") == (
        "id,name,unknown,ratio\n1,aten::addmm,,0.1\n" '9223372036854775807,"a ""b"", \'c\'|`d`","x\ny\tz",-1e+300\n'
    )
    assert (
        run("SELECT '' AS empty, NULL AS unknown, x'00ff' AS bytes", "--format=csv")
        == 'empty,unknown,bytes\n"",,00ff\n'
    )
    query = "SELECT " + ", ".join(f"{quoted(text)} AS c{i}" for i, text in enumerate(NASTY))
    rows = list(csv.reader(io.StringIO(run(query, "--format", "csv"), newline="")))
    assert rows[1] == NASTY, rows[1]


def test_csv_and_tsv_hold_nothing_that_a_spreadsheet_computes():
    texts = ["=1+1", "+cmd|x!A0", "-x", "@SUM(1)", "-5", "+1e3", "-", "a=1", "\"=1\"", "\t=1+1"]
    query = "SELECT " + ", ".join(f"{quoted(text)} AS c{i}" for i, text in enumerate(texts)) + ", -1 AS n"
    row = list(csv.reader(io.StringIO(run(query, "--format", "csv"), newline="")))[1]
    assert row == ["'=1+1", "'+cmd|x!A0", "'-x", "'@SUM(1)", "-5", "+1e3", "-", "a=1", '"=1"', "'\t=1+1", "-1"], row
    cells = run(query, "--format", "tsv").splitlines()[1].split("\t")
    assert cells == ["'=1+1", "'+cmd|x!A0", "'-x", "'@SUM(1)", "-5", "+1e3", "-", "a=1", '"=1"', "'\\t=1+1",
                     "-1"], cells


def test_nothing_steers_the_terminal():
    evil = "SELECT 'a' || char(27) || '[31mred' || char(0x9b) || '2J' || char(9) || 'é' AS x"
    for name in ("csv", "tsv"):
        terminal = Terminal([TFPROF, "--no-pager", "--format", name, evil])
        assert terminal.wait() == 0
        terminal.close()
        assert "a␛[31mred" in terminal.raw and "é" in terminal.raw, terminal.raw
        assert "\x1b" not in terminal.raw and "\x9b" not in terminal.raw, terminal.raw
    done = subprocess.run([TFPROF, 'SELECT * FROM "a\x1b[31mé\u009b2J"'], stdin=subprocess.DEVNULL, capture_output=True)
    told = done.stderr.decode()
    assert done.returncode and "a␛[31mé" in told and "\x1b" not in told and "\x9b" not in told, told


def test_tsv():
    assert run(MIXED, "--format", "tsv") == (
        "id\tname\tunknown\tratio\n1\taten::addmm\t\t0.1\n"
        "9223372036854775807\ta \"b\", 'c'|`d`\tx\\ny\\tz\t-1e+300\n"
    )
    assert run("SELECT 'a\\b' || char(13) AS x", "--format=tsv") == "x\na\\\\b\\r\n"


def test_json():
    value = json.loads(run(MIXED, "--format", "json"))
    assert value == [
        {"id": 1, "name": "aten::addmm", "unknown": None, "ratio": 0.1},
        {"id": 9223372036854775807, "name": "a \"b\", 'c'|`d`", "unknown": "x\ny\tz", "ratio": -1e300},
    ]
    assert json.loads(run("SELECT 1 AS x WHERE 0", "--format", "json")) == []
    assert json.loads(
        run("SELECT 9e999 AS a, -9e999 AS b, 2.0 AS c, x'c0ff' AS d, 1 AS a, 2 AS a", "--format", "json")
    ) == [{"a": None, "b": None, "c": 2.0, "d": "c0ff", "a:1": 1, "a:2": 2}]
    query = "SELECT " + ", ".join(f"{quoted(text)} AS c{i}" for i, text in enumerate(NASTY))
    assert list(json.loads(run(query, "--format", "json"))[0].values()) == NASTY
    # Bytes that are no UTF-8, and a NUL inside.
    text = run("SELECT CAST(x'61ff62c3' AS TEXT) AS bad, 'a' || char(0) || 'b' AS nul", "--format", "json", binary=True)
    assert json.loads(text) == [{"bad": "a\ufffdb\ufffd", "nul": "a\0b"}]


def test_reals_read_back_as_the_same_number():
    numbers = [0.1, 1 / 3, 1e-300, 123456789.123456789, 5e-324, 1.7976931348623157e308, 100.0, -0.5]
    query = "SELECT " + ", ".join(f"{number!r} AS c{i}" for i, number in enumerate(numbers))
    assert list(json.loads(run(query, "--format", "json"))[0].values()) == numbers


def test_jsonl():
    lines = run(MIXED, "--format", "jsonl").rstrip("\n").split("\n")
    assert [json.loads(line)["id"] for line in lines] == [1, 9223372036854775807]
    assert run("SELECT 1 AS x WHERE 0", "--format", "jsonl") == ""


def test_markdown():
    assert run(MIXED, "--format", "markdown") == (
        "| id | name | unknown | ratio |\n|---:|---|---|---:|\n| 1 | aten::addmm |  | 0.1 |\n"
        "| 9223372036854775807 | a \"b\", 'c'\\|\\`d\\` | x<br>y␉z | -1e+300 |\n"
    )
    # What cannot be printed shows as in a box.
    assert run("SELECT 'a' || char(0) || char(9) || char(27) AS x", "--format",
               "markdown") == "| x |\n|---|\n| a␀␉␛ |\n"


def test_chart():
    """A bar a row for the column that measures something, its scale in the header; the bars fit the width."""
    rows = ("SELECT 'a' AS name, 3 AS id, 1000000 AS dur_ns "
            "UNION ALL SELECT 'b', 9, 500000 UNION ALL SELECT 'c', 1, NULL")
    assert run(rows, "--chart", "--width", "40").splitlines() == [
        "┌──────┬────┬─────────┬────────────────┐",
        "│ name │ id │  dur_ns │ 0 … 1.00 ms    │",
        "├──────┼────┼─────────┼────────────────┤",
        "│ a    │  3 │ 1.00 ms │ ██████████████ │",
        "│ b    │  9 │  500 µs │ ███████        │",
        "│ c    │  1 │    NULL │                │",
        "└──────┴────┴─────────┴────────────────┘"]
    below = run("SELECT 'a' AS name, -2 AS change UNION ALL SELECT 'b', 1", "--chart")
    assert "│ a    │     -2 │ " + "░" * 40 in below and "│ b    │      1 │ " + "█" * 20 + " " in below, below
    assert "█" not in run("SELECT 'a' AS name, 'b' AS other", "--chart")
    later = run("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 600) "
                "SELECT 'a' AS name, i FROM n", "--chart")
    assert "█▶" in later.splitlines()[-2], later.splitlines()[-2]  # the first 500 rows decide the scale
    assert [len(line) for line in run(rows, "--chart", "--width", "20").splitlines()]  # in blocks


def test_histogram():
    """Of a single column of numbers: ranges, counts, bars."""
    values = " UNION ALL ".join(f"SELECT {value} AS dur_ns" for value in (1000, 1000, 1500, 2000, 3000, 5000, "NULL"))
    assert run(values, "--chart", "--width", "40").splitlines() == [
        " dur_ns      rows",
        "1.00 µs         3  " + "█" * 21,
        "2.00 µs         1  " + "█" * 7,
        "3.00 µs         1  " + "█" * 7,
        "4.00 µs         1  " + "█" * 7,
        "… 5.00 µs",
        "and 1 row is no number"]
    assert run("SELECT 7 AS x", "--chart").split() == ["x", "rows", "7", "1", "█" * 40]
    assert run("SELECT 'a' AS x", "--chart") == "1 row is no number\n"
    assert run("SELECT 1 AS x WHERE 0", "--chart") == ""
    skewed = run(" UNION ALL ".join(f"SELECT {10 ** i} AS x" for i in range(8)), "--chart").splitlines()
    assert [line.split()[1] for line in skewed[1:-1]] == ["2", "2", "2", "2"], skewed


if __name__ == "__main__":
    run_tests(globals())
