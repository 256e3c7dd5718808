"""The pure functions."""

import glob
import json
import math
import os
import random
import re
import statistics
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from engines import run_tests
from stored import read_advice_words


def one(connection, expression):
    ((value,),) = connection.values(f"SELECT {expression}")
    return value


def rows(*values):
    return (
        "("
        + " UNION ALL ".join(
            "SELECT " + ", ".join(f"{cell} AS {'xyz'[i]}" for i, cell in enumerate(row)) for row in values
        )
        + ")"
    )


def test_path_sums(engine):
    connection = engine()
    numbers = random.Random(11)
    for _ in range(60):
        count = numbers.randint(1, 25)
        ids = numbers.sample(range(-50, 1 << 40), count)
        rows = []  # some roots, some parents that are no row, keys that come again on one path
        for i, number in enumerate(ids):
            parent = numbers.choice([None, 1 << 50, *ids[:i], *ids[:i]])
            rows.append((number, parent, numbers.choice((None, 1, 2, 3, -(1 << 62))),
                         numbers.choice((None, 0.25, 3, 2**40))))
        circle = numbers.choice(((), ((1 << 55, 1 << 55, 1, 7), (1 << 56, 1 << 57, 1, 7), (1 << 57, 1 << 56, 1, 7))))
        by_id, expected = {row[0]: row for row in rows}, {}
        for number, _, _, value in rows:
            keys, at = set(), number
            while at in by_id:
                keys.add(by_id[at][2])
                at = by_id[at][1]
            for key in keys - {None}:
                if value is not None:
                    expected[str(key)] = expected.get(str(key), 0) + value
        rows += circle
        numbers.shuffle(rows)
        values = ", ".join("(" + ", ".join("NULL" if x is None else repr(x) for x in row) + ")" for row in rows)
        found = json.loads(one(connection,
                               f"(SELECT path_sums(column1, column2, column3, column4) FROM (VALUES {values}))"))
        assert found == expected, (rows, found, expected)
    assert one(connection, "(SELECT path_sums(id, id, id, id) FROM ops)") is None
    assert one(connection,
               "(SELECT value FROM (SELECT path_sums(1, NULL, 5, -9e999) AS sums), json_each(sums))") == -math.inf
    deep = ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000) "
            "SELECT path_sums(i, i - 1, i % 2, 1) FROM n")
    assert json.loads(one(connection, f"({deep})")) == {"0": 199_999, "1": 200_000}
    for call in ("path_sums('a', 1, 1, 1)", "path_sums(1, 'a', 1, 1)", "path_sums(1, 1, 0.5, 1)",
                 "path_sums(1, 1, 1, x'00')", "path_sums(NULL, 1, 1, 1)"):
        _, error = connection.query(f"SELECT {call}")
        assert error and "path_sums" in error and "must be" in error, call


def test_depth_functions(engine):
    connection = engine()
    numbers = random.Random(5)

    def points(intervals):
        """The times at which the depth changes, and the depth from there on."""
        times = sorted({time for interval in intervals for time in interval[:2]})
        return [(time, [one for one in intervals if one[0] <= time < one[1]]) for time in times]

    for _ in range(40):
        intervals = [(start, start + numbers.randint(0, 9), numbers.randint(0, 4))
                     for start in (numbers.randint(0, 40) for _ in range(numbers.randint(1, 12)))]
        values = ("(SELECT column1 AS x, column2 AS y, column3 AS w FROM (VALUES " + ", ".join(map(str, intervals))
                  + "))")
        steps = points(intervals)
        for minimum in (1, 2, 3):
            expected = sum(after[0] - time for (time, open_), after in zip(steps, steps[1:]) if len(open_) >= minimum)
            assert one(connection,
                       f"(SELECT depth_ns(x, y, {minimum}) FROM {values})") == expected, (intervals, minimum)
        assert one(connection, f"(SELECT depth_ns(x, y, 1) - union_ns(x, y) FROM {values})") == 0
        expected = sum((after[0] - time) * min(3, sum(w for _, _, w in open_))
                       for (time, open_), after in zip(steps, steps[1:]))
        assert one(connection, f"(SELECT capped_ns(x, y, w, 3) FROM {values})") == expected, intervals
        # Starts come first of what happens at one time.
        events = sorted([(start, 0) for start, _, _ in intervals] + [(end, 1) for _, end, _ in intervals])
        depths, depth = [], 0
        for _, is_end in events:
            depth += -1 if is_end else 1
            depths.append(depth)
        summary = json.loads(one(connection, f"(SELECT depth_summary(x, y) FROM {values})"))
        assert (summary["count"], summary["max"], summary["min"]) == (len(depths), max(depths), min(depths)), intervals
        assert math.isclose(summary["mean"], statistics.mean(depths), abs_tol=1e-12), (summary, depths)
        assert math.isclose(summary["stddev"], statistics.stdev(depths), abs_tol=1e-12), (summary, depths)
        assert math.isclose(summary["p50"], statistics.median(depths)), (summary, depths)
    assert one(connection, "(SELECT depth_ns(id, id, 1) FROM ops)") == 0
    assert one(connection, "(SELECT depth_summary(id, id) FROM ops)") is None
    assert one(connection, "(SELECT capped_ns(id, id, 1, 1) FROM ops)") == 0
    for call in ("depth_ns('a', 5, 1)", "depth_summary(1, 'b')", "capped_ns(1, 2, 'c', 1)"):
        _, error = connection.query(f"SELECT {call}")
        assert error and "numbers" in error, call


def test_ordered_concat(engine):
    connection = engine()
    table = "(SELECT column1 AS t, column2 AS k FROM (VALUES ('b', 2), ('a', 2), (NULL, 0), ('c', 1), ('', 3)))"
    assert one(connection, f"(SELECT ordered_concat(t, '-', k) FROM {table})") == "c-a-b-"
    assert one(connection, f"(SELECT ordered_concat(t, '', k) FROM {table} WHERE k = 2)") == "ab"
    assert one(connection, f"(SELECT ordered_concat(t, ',', k) FROM {table} WHERE k = 0)") is None
    # What it keeps until the end is bounded as any text is.
    if connection.name == "apsw":
        connection.connection.limit(connection.apsw.SQLITE_LIMIT_LENGTH, 100000)
    else:
        connection.run(".limit length 100000")
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)"
    short = f"(SELECT length(ordered_concat(hex(zeroblob(40)), ',', i)) FROM ({numbers} SELECT i FROM n))"
    assert one(connection, short) == 80999
    _, error = connection.query(f"{numbers} SELECT length(ordered_concat(hex(zeroblob(400)), ',', i)) FROM n")
    assert error and "too big" in error, error


def test_is_library_file(engine):
    connection = engine()
    for path, expected in (
        ("'/usr/lib/python3.11/site-packages/torch/nn/functional.py'", 1),
        ("'/usr/lib/python3/dist-packages/numpy/__init__.py'", 1),
        ("'/usr/lib/python3.11/enum.py'", 1),
        ("'<frozen os>'", 1),
        ("'torch/nn/functional.py'", 1),
        ("'contextlib.py'", 1),
        ("'torch.py'", 0),
        ("'train.py'", 0),
        ("'models/torch/net.py'", 0),
        ("'/home/ada/lib/python/net.py'", 0),
        ("'/home/ada/torch/net.py'", 0),
        ("'<string>'", 0),
        ("''", 0),
        ("NULL", None),
    ):
        assert one(connection, f"is_library_file({path})") == expected, path


def test_has_framework(engine):
    connection = engine()
    both = "'pytorch, jax'"
    for names, name, expected in (("'jax'", "'jax'", 1), (both, "'jax'", 1), (both, "'pytorch'", 1),
                                  ("'a,,b, '", "'b'", 1), (both, "'torch'", 0), (both, "'ja'", 0),
                                  ("'jaxlib'", "'jax'", 0), ("''", "''", 0), ("NULL", "'jax'", 0),
                                  ("'jax'", "NULL", 0)):
        assert one(connection, f"has_framework({names}, {name})") == expected, (names, name)


def test_framework_versions(engine):
    connection = engine()
    for names, versions, expected in (("'jax'", "'1.2'", "jax 1.2"), ("'jax, a'", "'1.2, 3'", "jax 1.2, a 3"),
                                      ("'jax, a'", "'1.2'", "jax 1.2, a"), ("'jax'", "NULL", "jax"),
                                      ("NULL", "'3'", "3"), ("NULL", "NULL", None), ("''", "''", "")):
        assert one(connection, f"framework_versions({names}, {versions})") == expected, (names, versions)


def test_source_kind(engine):
    connection = engine()
    packages = "/usr/lib/python3.11/site-packages"
    inductor = "c" + "ox4f2siem62vgiukxenoqm3et3e5akggzs4m2zhtyiqvxfxijzf"
    for path, kind in (
        ("train.py", "program"), ("/home/ada/torch/net.py", "program"), ("/tmp/ipykernel_71/2105.py", "program"),
        ("<stdin>", "program"), ("<ipython-input-3-0a1b>", "program"), ("<doctest net[0]>", "program"),
        ("<torch_package_0>.net.py", "program"), ("cab.py", "program"), (f"/work/xo/{inductor}.py", "program"),
        (f"{packages}/torch/nn/functional.py", "framework"), ("torch/nn/functional.py", "framework"),
        (f"{packages}/keras/src/backend/torch/nn.py", "framework"), (f"{packages}/einops.py", "framework"),
        (f"{packages}/keras/src/layers/core/dense.py", "library"), (f"{packages}/torchmetrics/metric.py", "library"),
        (f"{packages}/transformers/trainer.py", "library"), ("transformers/trainer.py", "library"),
        ("/opt/lib/python3/dist-packages/numpy/linalg.py", "library"), (f"{packages}/six.py", "library"),
        ("/usr/lib/python3.11/enum.py", "python"), ("<frozen runpy>", "python"), ("contextlib.py", "python"),
        ("<string>", "generated"), ("<eval_with_key>.12", "generated"), ("<lambdifygenerated-1>", "generated"),
        (f"/var/cache/ox/{inductor}.py", "generated"), ("/tmp/torchinductor_ada/ab/anything.py", "generated"),
        ("/tmp/__autograph_generated_file_x1.py", "generated"),
        # Built where it is, vendored, from a store of packages, on Windows; folders of a program that only sound so.
        ("/src/pytorch/torch/nn/modules/linear.py", "framework"), ("/src/pytorch/torch/_ops.py", "framework"),
        ("/b/x.runfiles/org_tensorflow/tensorflow/python/framework/ops.py", "framework"),
        ("third_party/tensorflow/python/framework/ops.py", "framework"), ("/opt/jax/jax/_src/pjit.py", "framework"),
        ("/opt/keras/keras/src/backend/torch/nn.py", "framework"), ("/opt/keras/keras/src/layers/layer.py", "library"),
        (r"C:\Users\ada\venv\Lib\site-packages\torch\nn\functional.py", "framework"),
        (r"C:\Python311\Lib\contextlib.py", "python"), (r"C:\Users\ada\train.py", "program"),
        (r"torch\nn\modules\module.py", "framework"), ("/home/ada/tensorflow/train.py", "program"),
        ("/home/ada/torch/nn/mine.py", "program"), ("/home/ada/Python3/Lib.py", "program"),
    ):
        assert one(connection, f"source_kind('{path}')") == kind, (path, one(connection, f"source_kind('{path}')"))
    assert one(connection, "source_kind(NULL)") is None


def test_union_ns(engine):
    connection = engine()
    for intervals, length in (
        ([(1, 5)], 4),
        ([(1, 5), (3, 7)], 6),
        ([(3, 7), (1, 5)], 6),
        ([(1, 5), (5, 7)], 6),
        ([(1, 5), (6, 7)], 5),
        ([(1, 10), (2, 3), (4, 5)], 9),
        ([(4, 5), (2, 3), (1, 10)], 9),
        ([(5, 5), (7, 6)], 0),
        ([("NULL", 5), (1, "NULL"), (1, 3)], 2),
        ([(1.0, 3.0)], 2),
        ([("'1'", "'3'")], 2),
        ([(-9223372036854775808, -1)], 9223372036854775807),
    ):
        assert one(connection, f"(SELECT union_ns(x, y) FROM {rows(*intervals)})") == length, intervals
    assert one(connection, "(SELECT union_ns(id, id) FROM ops)") == 0
    _, error = connection.query(f"SELECT union_ns(x, y) FROM {rows((-9223372036854775808, 9223372036854775807))}")
    assert error and "overflow" in error
    _, error = connection.query("SELECT union_ns('a', 5)")
    assert error and "numbers" in error
    generator = random.Random(3)
    for _ in range(50):
        intervals = [(generator.randint(0, 100), generator.randint(0, 120)) for _ in range(generator.randint(1, 60))]
        if generator.random() < 0.5:
            intervals.sort()
        covered = set()
        for start, end in intervals:
            covered.update(range(start, end))
        assert one(connection, f"(SELECT union_ns(x, y) FROM {rows(*intervals)})") == len(covered)
        assert connection.values(
            f"SELECT x % 2, union_ns(x, y) FROM {rows((0, 10), (1, 2), (2, 30), (3, 1))} GROUP BY 1"
        ) == [(0, 30), (1, 1)]


def test_overlap_ns(engine):
    connection = engine()
    for arguments, length in (
        ("0, 10, 5, 20", 5),
        ("5, 20, 0, 10", 5),
        ("0, 1, 2, 3", 0),
        ("0, 10, 2, 3", 1),
        ("0, 10, 10, 20", 0),
        ("0, 10, 9, 3", 0),
        ("NULL, 1, 2, 3", None),
        ("0, 1, 2, NULL", None),
    ):
        assert one(connection, f"overlap_ns({arguments})") == length, arguments


def test_percentile(engine):
    connection = engine()
    for values in ([1], [1, 2], [3, 1, 2], [5, 5, 5, 1], [1.5, 2.5, -3, 8], list(range(100, 0, -1))):
        source = rows(*[(value,) for value in values])
        ordered = sorted(values)
        assert one(connection, f"(SELECT median(x) FROM {source})") == statistics.median(values)
        for part in (0, 10, 25, 50, 75, 99.5, 100):
            place = part / 100 * (len(ordered) - 1)
            low = ordered[int(place)]
            high = ordered[min(int(place) + 1, len(ordered) - 1)]
            expected = low + (high - low) * (place - int(place))
            assert math.isclose(
                one(connection, f"(SELECT percentile(x, {part}) FROM {source})"), expected, abs_tol=1e-12
            ), (values, part)
    assert one(connection, "(SELECT percentile(id, 50) FROM ops)") is None
    assert one(connection, f"(SELECT median(x) FROM {rows(('NULL',), (2,), ('NULL',))})") == 2
    for sql in (
        "percentile(1, 101)",
        "percentile(1, -1)",
        "percentile(1, 'x')",
        "percentile('a', 50)",
        "median('a')",
        "percentile(9e999, 50)",
    ):
        assert connection.query(f"SELECT {sql}")[1], sql
    # As a window function, which means taking values out again.
    assert connection.values(
        "SELECT x, median(x) OVER (ORDER BY x ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM "
        f"{rows((1,), (2,), (4,), (8,))}"
    ) == [(1, 1.5), (2, 2.0), (4, 4.0), (8, 6.0)]


def test_stddev(engine):
    connection = engine()
    for values in ([1, 2], [1, 2, 3, 4], [1.5, -2, 8], [1e18 + 100000 * i for i in range(5)]):
        result = one(connection, f"(SELECT stddev(x) FROM {rows(*[(repr(value),) for value in values])})")
        assert math.isclose(result, statistics.stdev(values), rel_tol=1e-9), values
    assert one(connection, "stddev(5)") is None and one(connection, "stddev(NULL)") is None
    assert one(connection, f"(SELECT stddev(x) FROM {rows((1,), ('NULL',))})") is None
    assert connection.query("SELECT stddev('a')")[1]


def test_formats(engine):
    connection = engine()
    for call, text in (
        ("format_ns(0)", "0 ns"),
        ("format_ns(999)", "999 ns"),
        ("format_ns(1000)", "1.00 µs"),
        ("format_ns(1234567)", "1.23 ms"),
        ("format_ns(-12345678)", "-12.3 ms"),
        ("format_ns(999999)", "1.00 ms"),
        ("format_ns(9995)", "10.0 µs"),
        ("format_ns(12e9)", "12.0 s"),
        ("format_ns(1.5)", "1.50 ns"),
        ("format_ns(7200000000000)", "7200 s"),
        ("format_bytes(0)", "0 B"),
        ("format_bytes(1023)", "1023 B"),
        ("format_bytes(1024)", "1.00 KiB"),
        ("format_bytes(1048575)", "1.00 MiB"),
        ("format_bytes(80e9)", "74.5 GiB"),
        ("format_bytes(9223372036854775807)", "8.00 EiB"),
        ("format_bytes(-2048)", "-2.00 KiB"),
        ("format_count(999)", "999"),
        ("format_count(1000)", "1.00 k"),
        ("format_count(12345678)", "12.3 M"),
        ("format_count(1e30)", "1000000000000 E"),
        ("format_count('5')", "5"),
        ("format_ns(NULL)", None),
        ("format_bytes('x')", None),
        ("format_count(x'00')", None),
    ):
        assert one(connection, call) == text, (call, one(connection, call))


def test_charts(engine):
    """Bars and curves in eighths of a character; what is more than nothing is seen, NULL is a gap."""
    connection = engine()
    for call, text in (
        ("bar(10, 10, 4)", "████"),
        ("bar(5, 10, 1)", "▌"),
        ("bar(0, 10)", ""),
        ("bar(-3, 10)", ""),
        ("bar(1e-9, 10, 4)", "▏"),
        ("bar(70, 10, 2)", "██"),
        ("length(bar(1, 1))", 20),
        ("length(bar(1, 1, 1000))", 1000),
        ("bar(NULL, 10)", None),
        ("bar('a', 10)", None),
        ("bar(1, 0)", None),
        ("bar(1, 9e999)", ""),
    ):
        assert one(connection, call) == text, (call, one(connection, call))
    for values, call, text in (
        ((1, 2, 3, 4, 5, 6, 7, 8), "sparkline(x)", "▁▂▃▄▅▆▇█"),
        ((8, 1), "sparkline(x)", "█▁"),
        ((5, 5), "sparkline(x)", "▅▅"),
        ((1, "NULL", "'a'", "9e999", 2), "sparkline(x)", "▁   █"),
        (("NULL",), "sparkline(x)", None),
        ((0, 0, 9, 0, 0, 0), "sparkline(x, 3)", "▁█▁"),
        ((-1e308, 0, 1e308), "sparkline(x)", "▁▅█"),
        ((1, 1, 1, 1, 2, 10), "histogram(x, 3)", "█ ▂"),
        ((3,), "histogram(x, 2)", " █"),
        ((-1e308, 1e308), "histogram(x, 2)", "██"),
    ):
        found = one(connection, f"(SELECT {call} FROM {rows(*[(value,) for value in values])})")
        assert found == text, (values, call, found)
    many = ("(WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 100000) "
            "SELECT sparkline(x) FROM n)")
    shares = [(i * 100000 // 60 - 1) / 99999 for i in range(1, 61)]
    assert one(connection, many) == "".join("▁▂▃▄▅▆▇█"[min(7, int(share * 8))] for share in shares)
    for call in ("bar(1, 2, 0)", "bar(1, 2, 1001)", "bar(1, 2, 'a')", "(SELECT sparkline(1, 0))",
                 "(SELECT histogram(1, -1))"):
        assert "from 1 to 1000" in connection.query(f"SELECT {call}")[1], call


def test_regular_expressions(engine):
    connection = engine()
    for call, result in (
        ("regexp_full_match('a.c', 'abc')", 1),
        ("regexp_full_match('a.c', 'abcd')", 0),
        ("regexp_full_match('b', 'abc')", 0),
        ("regexp_full_match('a|ab', 'ab')", 1),
        ("regexp_full_match('', '')", 1),
        ("regexp_full_match('.*', '')", 1),
        ("regexp_full_match('a.*', 'a' || char(10))", 0),
        ("regexp_full_match('é+', 'éé')", 1),
        ("regexp_full_match('.', 'é')", 1),
        ("regexp_full_match(NULL, 'x')", None),
        ("regexp_full_match('x', NULL)", None),
        ("regexp_full_match('5', 5)", 1),
        ("regexp_full_match('a$', 'a' || char(10))", 0),
        ("regexp_full_match('.', CAST(x'ff' AS TEXT))", 0),
        ("'abc' REGEXP 'b'", 1),
        ("'abc' REGEXP '^b'", 0),
    ):
        assert one(connection, call) == result, (call, one(connection, call))
    for pattern in ("(", "[", "a{2,1}", "\\\\C"):
        _, error = connection.query(f"SELECT regexp_full_match('{pattern}', 'x')")
        assert error or pattern == "\\\\C", pattern
    _, error = connection.query("SELECT regexp_full_match('(', 'x')")
    assert "regular expression" in error and "(" in error, error
    # A pattern that backtracks without end is an error before long.
    _, error = connection.query("SELECT regexp_full_match('(a|aa)+', printf('%.*c!', 60, 'a'))")
    assert error and "limit" in error, error


def test_flops(engine):
    connection = engine()
    for call, result in (
        ("flops('aten::mm', '[[64,128],[128,10]]')", 163840),
        ("flops('MatMul', '[[128,64],[128,10]]', NULL, '{\"transpose_a\":true}')", 163840),
        ("flops('Sum', '[[64,10]]', '64')", 576),
        ("flops('aten::view', '[[64,10]]')", None),
        ("flops('aten::layer_norm', '[[64,10]]')", 4480),
        ("flops('aten::native_layer_norm', '[[64,10]]')", 4480),
        ("flops('aten::mm', '[[64,128],[129,10]]')", None),
        ("flops('aten::mm', 'nonsense')", None),
        ("flops('aten::mm', x'5b5b00')", None),
        ("flops('aten::mm', 7)", None),
        ("flops(NULL, '[[1]]')", None),
        ("flops('aten::mm', NULL)", None),
        ("flops('aten::mm', '[[4611686018427387904,2],[2,1]]')", None),
        ("flops_formula('aten::mm')", "2 * m * k * n"),
        ("flops_formula('aten::add_')", "out"),
        ("flops_formula('aten::view')", None),
        ("flops_formula(NULL)", None),
    ):
        assert one(connection, call) == result, (call, one(connection, call))
    for call in ("flops('aten::mm')", "flops('aten::mm', '[]', NULL, NULL, 1)"):
        _, error = connection.query("SELECT " + call)
        assert error and "op_type" in error, error


# What only one of the frameworks has, and checks of which the same is true: the reason is what their rows are of.
WORDS = {
    "pytorch": r"torch\.|DataLoader|DistributedDataParallel|non_blocking|pin_memory|zero_grad|num_workers|detach\(",
    "tensorflow": r"\btf\.|TF_|Keras|@tf|GradientTape",
    "jax": r"\bjax\.|\bjnp\.|JAX|XLA_PYTHON|orbax|flax",
}
OF_ONE_FRAMEWORK = {
    **dict.fromkeys(("input_python", "input_sequential", "input_sharded_late", "input_thread_pools",
                     "input_unprefetched"), "iterators of tf.data"),
    **dict.fromkeys(("launch_contention", "operation", "retracing"), "asks for the framework"),
    "hangs_check": "the collectives that it knows are PyTorch's",
    "host_bound": "ranges of PyTorch's own, which are no places of the program",
    "input_loading": "its cases are loaders, which JAX has of both others",
    **dict.fromkeys(("needless_checkpoints", "optimizer_loop", "scalar_loop", "single_samples", "unused_graphs",
                     "repeated_constants", "tensor_conversions", "zeroed_gradients"), "ops and ranges of PyTorch"),
}


def test_advice_words(engine):
    """Findings speak the language of the framework; what to do there is said in one place."""
    connection = engine()
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    keys = list(read_advice_words())
    assert keys == sorted(keys), keys
    asked = set()
    for path in sorted(glob.glob(os.path.join(root, "sql", "advise", "*.sql"))):
        with open(path, encoding="utf-8") as file:
            text = re.sub(r"(?m)^--.*", "", file.read())
        for call in re.findall(r"advice_words\((.*?)framework", text, re.S):
            asked |= set(re.findall(r"'([a-z_]+(?:\.[a-z0-9]+)?)'", call))
        name = os.path.basename(path)[:-4]
        foreign = [word for words in WORDS.values() for word in re.findall(words, text)]
        assert not foreign or name in OF_ONE_FRAMEWORK, (name, foreign)
    assert asked == set(keys), (asked ^ set(keys))
    for key in keys:
        texts = {framework: one(connection, f"advice_words('{key}', '{framework}')") for framework in (*WORDS, "")}
        assert texts[""] == one(connection, f"advice_words('{key}', NULL)")
        for framework in ("tensorflow", "jax"):
            assert texts[framework] != texts["pytorch"], (key, "the same in PyTorch")
            foreign = {other: re.findall(words, texts[framework]) for other, words in WORDS.items()
                       if other != framework}
            if framework == "jax":  # whose input may be tf.data, or a loader of its own name
                foreign = {other: [word for word in found if word not in ("tf.", "DataLoader")]
                           for other, found in foreign.items()}
            assert not any(foreign.values()), (key, framework, foreign)
    _, error = connection.query("SELECT advice_words('nothing', 'jax')")
    assert error and "no such key" in error, error


def test_version(engine):
    assert engine().values("SELECT tfprof_version() GLOB '[0-9]*.[0-9]*.[0-9]*'") == [(1,)]


def test_pure_functions_are_innocuous(engine):
    connection = engine()
    connection.query("CREATE TABLE t(x, y GENERATED ALWAYS AS (format_ns(x)))")
    connection.query("INSERT INTO t VALUES (1000)")
    assert connection.values("SELECT y FROM t") == [("1.00 µs",)]
    assert connection.query("CREATE INDEX i ON t(overlap_ns(x, 5, 1, 2))")[1] is None
    connection.query("PRAGMA trusted_schema = 0")
    assert connection.values("SELECT y FROM t") == [("1.00 µs",)]


if __name__ == "__main__":
    run_tests(sys.modules[__name__])
