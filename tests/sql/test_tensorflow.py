"""TensorFlow's files: each by itself, together, damaged, and given where another one belongs.

The files are those that the fuzz target begins with: a convolution with its variable and its
input, cut out of a real graph.
"""

import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from engines import run_tests
from exchange_formats import message, written_varint
from made_graphs import (CONV, COSTS, FILES, GRAPH, LOG, NODES, PROFILE, RUN, RUN_TEXT, TEXT, VARIABLE, node_def,
                         opened, run_meta)


def test_graph(engine):
    binary, text = opened(engine, GRAPH), opened(engine, TEXT)
    for connection in (binary, text):
        rows = connection.values(NODES)
        assert [row[0] for row in rows] == ["images", VARIABLE, VARIABLE + "/read", CONV], rows
        assert list(rows[1]) == [VARIABLE, "VariableV2", "3x3x3x8", 216, 864, "[[3,3,3,8]]"], rows
        edges = connection.values("""SELECT node.name, position, source.name, source_output, node_inputs.shape
            FROM node_inputs JOIN nodes AS node ON node.id = node_id JOIN nodes AS source ON source.id = source_node_id
            ORDER BY 1, 2""")
        assert [list(edge) for edge in edges][1:] == [
            [CONV, 0, "images", 0, "-1x12x12x3"], [CONV, 1, VARIABLE + "/read", 0, "3x3x3x8"]], edges
        scopes = connection.values("SELECT name, depth FROM nodes WHERE is_scope ORDER BY name")
        assert [list(scope) for scope in scopes] == [["net", 0], ["net/block_1", 1], ["net/block_1/unit_1", 2]], scopes
        parents = connection.values("SELECT c.name FROM nodes AS c JOIN nodes AS p ON p.id = c.parent_id WHERE p.name "
                                    "= '%s'"
                                    % VARIABLE)
        assert [list(row) for row in parents] == [[VARIABLE + "/read"]], parents
    assert binary.values(NODES) == text.values(NODES)
    assert binary.values("SELECT attributes FROM nodes ORDER BY name") != []


def test_run_metadata(engine):
    alone = opened(engine, RUN)
    costs = {(row[0]): list(row)[1:] for row in alone.values(COSTS)}
    assert costs[CONV] == [0, 1, 118000, 0, 118000, 23040, 23040, 23040, 23040], costs
    assert costs[VARIABLE + "/read"] == [0, 1, 3000, 2000, 1000, 0, 0, 0, 864], costs
    assert alone.values(COSTS) == opened(engine, RUN_TEXT).values(COSTS)
    reasons = dict(alone.values("SELECT reason, count FROM diagnostics"))
    assert reasons.get("runtime_nodes"), reasons
    # As the second and third step of a program.
    together = opened(engine, "graph_path", GRAPH, "run_meta_path", RUN + "," + RUN_TEXT, "step", 7, "op_log_path", LOG)
    assert [list(row) for row in together.values("SELECT number, origin FROM steps ORDER BY number")] == [
        [7, "session"], [8, "session"]]
    both = [list(row) for row in together.values(COSTS) if row[0] == CONV]
    assert [row[1] for row in both] == [7, 8] and both[0][2:] == both[1][2:] == costs[CONV][1:], both
    # Each of the files is open, and is not opened again.
    for path in (GRAPH, RUN_TEXT, LOG):
        assert together.values("SELECT tfprof_open('%s')" % path) == [(1,)], path
    assert together.values("SELECT tfprof_refresh(), count(*) FROM profiles") == [(0, 1)]
    # The same step number again adds up.
    twice = opened(engine, "graph_path", GRAPH, "run_meta_path", RUN, "step", 4, "run_meta_path", RUN, "step", 4)
    assert [list(row)[1:4] for row in twice.values(COSTS) if row[0] == CONV] == [[4, 2, 236000]]
    assert twice.values("SELECT count(*), sum(dur_ns) FROM ops WHERE name = '%s'" % CONV)[0][0] == 2
    # Also where another step stands in between.
    parted = opened(engine, "graph_path", GRAPH, "run_meta_path", RUN, "step", 4, "run_meta_path", RUN, "step", 5,
                    "run_meta_path", RUN, "step", 4)
    of_steps = [list(row)[1:4] for row in parted.values(COSTS) if row[0] == CONV]
    assert sorted(of_steps) == [[4, 2, 236000], [5, 1, 118000]], of_steps


def test_models_beside_a_run(engine):
    """Graphs that lie beside what ran are models, and no processes that help it."""
    with tempfile.TemporaryDirectory(prefix="tfprof-test-") as directory:
        for name, path in (("a.pb", GRAPH), ("b.pb", GRAPH), ("run_meta", RUN)):
            shutil.copy(path, os.path.join(directory, name))
        with open(os.path.join(directory, "b.pb"), "ab") as file:
            file.write(message((1, message((1, "other"), (2, "Const")))))
        connection = opened(engine, directory)
        text = connection.values("SELECT text FROM run_summary WHERE title = 'run'")[0][0]
        assert "1 process and 2 models, " in text, text


def test_time_between_sessions(engine):
    """What passes from session to session is the recorder's work: no finding, and no rate."""
    values = []
    with tempfile.TemporaryDirectory(prefix="tfprof-test-") as directory:
        for number in range(12):
            path = os.path.join(directory, f"run_{number}.pbtxt")
            with open(path, "w") as file:
                file.write('step_stats { dev_stats { device: "/job:a/replica:0/task:0/device:CPU:0" node_stats { '
                           'node_name: "mm" all_start_micros: %d op_end_rel_micros: 300 all_end_rel_micros: 300 '
                           'timeline_label: "mm = MatMul(x, w)" } } }' % (1_000_000 + number * 10_000))
            values += ["run_meta_path", path, "step", number]
        connection = opened(engine, *values)
        assert connection.values("SELECT mean_ns, steps_per_second, between_ns FROM step_summary") == [
            (300_000, None, None)]
        assert connection.values("SELECT text FROM run_summary WHERE title = 'steps'") == [
            ("12, median 300 µs, 95 % within 300 µs",)]
        assert connection.values("SELECT message FROM advise WHERE check_name = 'between_steps'") == []


def test_warmup_of_sessions(engine):
    """An initializer's run and the first run of a graph are warm-up; what other graphs take tells nothing of one."""
    train = ("x", "mm", "mm_grad", "apply")
    first, again, evaluated = (train, 500), (train, 5), (("x", "loss"), 2)
    initializer = (("w/Assign", "w/zeros"), 1)
    for name, steps, warmup in (
            ("loop", [initializer, first] + [again] * 8, [0, 1]),
            ("window", [again] * 10, []),
            ("slow later", [again, again, first] + [again] * 6, []),
            ("initializer alone", [initializer] + [again] * 3, [0]),
            ("one of two", [initializer, first], [0]),
            ("evaluation", [again, evaluated, again, evaluated, evaluated], []),
            ("train once", [first, evaluated, evaluated, evaluated], []),
            ("untimed", [((), 0), ((), 0)], []),
            ("networks", [(("d", "d_grad"), 400), (("g", "g_grad"), 50), (("d", "d_grad"), 4), (("g", "g_grad"), 9)]
             + [(("d", "d_grad"), 4), (("g", "g_grad"), 9)] * 4, [0, 1])):
        with tempfile.TemporaryDirectory() as directory, tempfile.TemporaryDirectory() as other:
            known = sorted({node for nodes, _ in steps for node in nodes} | {"x"})
            with open(os.path.join(directory, "graph.pbtxt"), "w") as file:
                file.write("".join("node { %s} " % node_def(node, "Op") for node in known))
            for number, (nodes, micros) in enumerate(steps):
                with open(os.path.join(directory, f"run_meta_{number}"), "w") as file:
                    file.write('step_stats { dev_stats { device: "/job:a/replica:0/task:0/device:CPU:0" ' + "".join(
                        'node_stats { node_name: "%s" all_start_micros: %d op_end_rel_micros: %d timeline_label: "%s = '
                        'Op()" } ' % (node, 1000 * (number + 1), micros, node) for node in nodes) + "} }")
            connection, saved = opened(engine, directory), os.path.join(other, "saved.tfprof")
            asked = "SELECT number FROM steps WHERE is_warmup ORDER BY number"
            assert [row[0] for row in connection.values(asked)] == warmup, (name, connection.values(asked))
            connection.values(f"SELECT tfprof_save('{saved}')")
            again_opened = engine()
            again_opened.values(f"SELECT tfprof_open('{saved}')")
            assert [row[0] for row in again_opened.values(asked)] == warmup, name


def test_gradients_count_at_the_forward_line(engine):
    """As in the code view, where they are below the line of the forward node, too."""
    with tempfile.TemporaryDirectory(prefix="tfprof-test-") as directory:
        paths = [os.path.join(directory, name) for name in ("graph.pbtxt", "run_meta_1", "op_log")]
        nodes = [node_def("mm", "MatMul"), node_def("gradients/mm_grad/MatMul", "MatMul"), node_def("step", "NoOp"),
                 node_def("gradients/gone_grad/Mul", "Mul")]
        log = b"".join(
            message((1, message((1, node["name"]), (4, message((1, message((1, "train.py"), (2, line), (3, "f"),
                                                                           (4, "y = %d" % line))))))))
            for node, line in (({"name": "mm"}, 3), ({"name": "gradients/mm_grad/MatMul"}, 9), ({"name": "step"}, 9),
                               ({"name": "gradients/gone_grad/Mul"}, 9)))
        runs = run_meta(*[(name + " = NoOp()", {}) for name in ("mm", "gradients/mm_grad/MatMul", "step",
                                                                "gradients/gone_grad/Mul")])
        for path, content in zip(paths, ("".join("node { %s} " % node for node in nodes), runs, log)):
            with open(path, "wb") as file:
                file.write(content if isinstance(content, bytes) else content.encode())
        connection = opened(engine, directory)
        lines = connection.values("SELECT location, text, self_ns, backward_ns FROM code_summary ORDER BY 1")
        assert [list(line) for line in lines] == [["train.py:3", "y = 3", 2000, 1000],
                                                  ["train.py:9", "y = 9", 2000, None]], lines
        forwards = connection.values("SELECT nodes.name, forwards.name FROM nodes JOIN nodes AS forwards "
                                     "ON forwards.id = nodes.forward_node_id")
        assert [list(row) for row in forwards] == [["gradients/mm_grad/MatMul", "mm"]], forwards


def test_reports(engine):
    """Public reports of graphs whose flops were missing, where they are beside the clone."""
    folder = os.path.join(os.environ.get("TFPROF_SHARED", ""), "traces", "reports", "tensorflow")
    if not os.path.isdir(folder):
        return
    for files, expected in ((("graphs/frozen_keras_shapes.pb",), {"Conv2D": 6912, "DepthwiseConv2dNative": 1296,
                                                                  "MatMul": 576, "BiasAdd": 204}),
                            (("graphs/convs.pb",), {"Conv3D": 1143072, "Conv3DBackpropInputV2": 18432,
                                                    "BatchMatMulV2": 14400, "Conv2DBackpropInput": 294912}),
                            (("session_v2",), {"MatMul": 94208}),
                            (("graph_path", "graphs/graph.pb", "run_meta_path", "graphs/run_meta_plain"),
                             {"MatMul": 8192})):
        connection = opened(engine, *[os.path.join(folder, word) if "/" in word or word == "session_v2" else word
                                      for word in files])
        rows = dict(connection.values("SELECT name, float_ops FROM op_view WHERE max_depth = 100 AND order_by = 'name' "
                                      "AND selected = 'float_ops'"))
        assert {name: rows[name] for name in expected} == expected, (files, rows)
    assert connection.values("SELECT count(*) FROM nodes WHERE op_type = name AND is_runtime") == [(0,)]


def test_copies_on_devices(engine):
    """A copy that is told of a device itself, and not of a lane of its own, leaves the device's ops to be ops."""
    with tempfile.TemporaryDirectory(prefix="tfprof-test-") as directory:
        path = os.path.join(directory, "run_meta.pbtxt")
        with open(path, "w") as file:
            runs = (("", "MEMCPYHtoD", 10), ("", "a", 20), ("/memcpy", "MEMCPYDtoH", 30))
            file.write("step_stats { " + "".join(
                'dev_stats { device: "/device:GPU:0%s" node_stats { node_name: "%s" all_start_micros: %d '
                "op_end_rel_micros: 5 } } " % run for run in runs) + "}")
        profile = opened(engine, path)
    assert [row[0] for row in profile.values("SELECT name FROM ops")] == ["a"]
    assert [row[0] for row in profile.values("SELECT name FROM kernels")] == []
    copies = profile.values("SELECT transfers.name, lanes.kind, lanes.name FROM transfers "
                            "JOIN threads AS lanes ON lanes.id = thread_id ORDER BY 1")
    assert [list(row) for row in copies] == [["MEMCPYDtoH", "stream", "/device:GPU:0/memcpy"],
                                             ["MEMCPYHtoD", "host", "/device:GPU:0"]], copies


def test_op_log(engine):
    alone = opened(engine, LOG)
    frames = alone.values("SELECT file, function, line, text FROM code_frames WHERE file = 'a.py'")
    assert [list(row) for row in frames] == [["a.py", "f", 3, "x"]], frames
    traced = alone.values("""WITH RECURSIVE up(trace, level) AS (SELECT code_trace_id, 0 FROM nodes WHERE name = '%s'
        UNION ALL SELECT parent_id, level + 1 FROM up JOIN code_traces ON id = trace WHERE parent_id IS NOT NULL)
        SELECT function FROM up JOIN code_traces ON code_traces.id = trace
        JOIN code_frames ON code_frames.id = leaf_frame_id ORDER BY level DESC""" % VARIABLE)
    assert [row[0] for row in traced][:2] == ["<module>", "main"], traced
    assert [row[0] for row in alone.values("SELECT trainable FROM nodes WHERE name = '%s'" % VARIABLE)] == [1]
    # Without a graph the nodes are those that ran; of others the op log tells nothing.
    nodes = "SELECT name FROM nodes WHERE NOT is_scope ORDER BY 1"
    logged, ran = [[row[0] for row in profile.values(nodes)]
                   for profile in (alone, opened(engine, "run_meta_path", RUN))]
    both = opened(engine, "run_meta_path", RUN, "op_log_path", LOG)
    assert set(logged) - set(ran) and [row[0] for row in both.values(nodes)] == ran, (logged, ran)
    assert [row[0] for row in both.values("SELECT trainable FROM nodes WHERE name = '%s'" % VARIABLE)] == [1]
    assert both.values("SELECT count(*) FROM diagnostics WHERE reason = 'unknown_node'")[0][0]


def test_profile(engine):
    profile = opened(engine, "profile_path", PROFILE)
    costs = [list(row) for row in profile.values(COSTS) if row[0] == CONV]
    assert costs[0][1:6] == [1, 1, 217000, 85000, 132000] and [row[1] for row in costs] == [1, 5, 9], costs
    assert profile.values("SELECT count(*) FROM kernels")[0][0] > 0
    types = profile.values("SELECT type FROM node_types JOIN nodes ON nodes.id = node_id WHERE name = '%s' ORDER BY 1"
                           % VARIABLE)
    assert [row[0] for row in types] == ["/job:localhost/replica:0/task:0/device:cpu:0", "VariableV2",
                                         "_trainable_variables"]
    assert profile.values("SELECT format FROM runs") == [("tf_profile",)]
    devices = profile.values("SELECT kind, ordinal FROM devices ORDER BY 1")
    assert [list(row) for row in devices] == [["cpu", 0], ["gpu", 0]], devices


def test_nodes_on_devices(engine):
    """Nodes are the ops of a device's side, and the time between steps is none of theirs."""
    if not os.environ.get("TFPROF_SHARED"):
        return
    traces = os.path.join(os.environ["TFPROF_SHARED"], "traces", "tf")
    connection = opened(engine, os.path.join(traces, "profile_gpu"))
    names = "SELECT count(*), count(op_name), sum(op_name = name), count(op_type), sum(1.0 * dur_ns) FROM kernels"
    ((count, named, alike, typed, kernel_ns),) = connection.values(names)
    assert count == named == alike == typed > 1900, (count, named, alike, typed)
    sides = dict(connection.values("SELECT side, sum(sum_ns) FROM xprof_op_stats GROUP BY side"))
    assert abs(sides["device"] - kernel_ns) < 1000 and sides["host"] > 0, (sides, kernel_ns)
    ((host, device, utilization),) = connection.values(
        "SELECT host_op_ratio, device_op_ratio, (SELECT utilization_ratio FROM overview) FROM xprof_overview")
    assert 0.5 < device < 0.6 and abs(host + device - 1) < 1e-9, (host, device)
    # Three steps of 4.50, 0.77 and 3.50 ms, 27 ms from the first to the last.
    ((step_ns, busy_ns),) = connection.values(
        "SELECT (SELECT sum(dur_ns) FROM steps), (SELECT 1.0 * union_ns(start_ns, end_ns) FROM kernels "
        "WHERE start_ns < (SELECT max(end_ns) FROM steps))")
    assert abs(utilization - busy_ns / step_ns) < 0.01, (utilization, busy_ns, step_ns)
    assert len(connection.values("SELECT 1 FROM xprof_top_device_ops")) == 10
    ((suggestion,),) = connection.values("SELECT suggestion FROM advise WHERE check_name = 'accelerator_utilization'")
    assert suggestion.endswith("from the first to the last node of step 9; device_utilization has the share of all "
                               "steps."), suggestion


def test_profile_whose_first_node_has_no_number(engine):
    """A map entry of protobuf may lack a key that is 0."""
    def node(number, name, key):
        fields = message((1, name.encode()), (9, b"Const"), (13, number))
        return message((1, (message((1, number)) if key else b"") + message((2, fields))))

    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "profile_20")
        for keys in ((False, True), (True, False)):
            with open(path, "wb") as file:
                file.write(node(0, "first", keys[0]) + node(1 if keys[1] else 0, "second", keys[1]))
            for words in ((path,), ("profile_path", path)):
                names = opened(engine, *words).values("SELECT name, op_type FROM nodes ORDER BY 1")
                assert [list(row) for row in names] == [["first", "Const"], ["second", "Const"]], (words, names)


def test_missing_step(engine):
    few = opened(engine, "graph_path", GRAPH, "run_meta_path", RUN)
    _, error = few.query("SELECT * FROM scope_view WHERE step = 7")
    assert "there is no step 7; the steps are 0" in error and "more" not in error, error
    many = opened(engine, "graph_path", GRAPH, "run_meta_path", ",".join([RUN] * 300))
    _, error = many.query("SELECT * FROM scope_view WHERE step = 300")
    assert "the steps are 0 1 2 3 " in error and " more, to 299" in error, error
    listed, more = error.split("the steps are ")[1].split(" and ")
    assert len(listed.split()) + int(more.split()[0]) == 300, error


def test_unusual_forms(engine):
    """A file may write its numbers longer than need be, the parts of an entry in any order, several runs of a device,
    and the numbers of a run one by one; it says the same."""
    def profile(padding, is_turned, is_single):
        def say(*fields):
            return message(*fields, padding=padding)

        def entry(key, value):
            return say(*([(2, value), (1, key)] if is_turned else [(1, key), (2, value)]))

        def time(start, micros):
            together = written_varint(start, padding) + written_varint(micros, padding)
            numbers = [(1, start), (1, micros)] if is_single else [(1, together)]
            return (1, say(*numbers))

        def node(number, device):
            execs = []
            for step in range(4):
                start = 1700000000000000 + 1000 * step + 10000 * number
                cost = [(1, 2), (2, start), (3, start + 90),
                        (4, entry(device + "/stream:all",
                                  say(time(start + 9, 20), time(start + 40, 22 + 300 * (step == 3))))),
                        (5, entry("/device:" + device, say(time(start, 7 + step)))), (6, "/device:" + device),
                        (7, say((1, start + 90), (6, 4096), (7, 300 + step), (8, -200 - step), (9, 5000000000),
                                (10, 77),
                                (11, b"\x08\x01"))),
                        (11, say((1, start + 2), (2, 512))), (11, say((1, start + 3), (2, -512)))]
                execs.append((12, entry(step, say(*(cost[::-1] if is_turned else cost)))))
            return (1, entry(number, say((1, f"n{number}"), (6, "/device:" + device), (9, "Add"), *execs)))

        return say(node(1, "gpu:0"), node(2, "gpu:1"), (4, entry(1, "no text")))

    expected = None
    for form in ((0, False, False), (1, False, False), (7, True, False), (0, True, True), (2, False, True)):
        with tempfile.TemporaryDirectory(prefix="tfprof-test-") as directory:
            path = os.path.join(directory, "profile")
            with open(path, "wb") as file:
                file.write(profile(*form))
            connection = opened(engine, "profile_path", path)
            told = [[list(row) for row in connection.values(sql)] for sql in (
                COSTS,
                "SELECT start_ns, dur_ns, threads.name FROM kernels JOIN threads ON threads.id = thread_id "
                "ORDER BY 1, 2",
                "SELECT start_ns, dur_ns FROM ops ORDER BY 1, 2", "SELECT time_ns, value FROM counters ORDER BY 1",
                "SELECT allocated_ns, released_ns, bytes FROM allocations ORDER BY 1",
                "SELECT reason, count FROM diagnostics")]
            expected = expected or told
            assert told == expected, (form, told, expected)
    costs, kernels, ops, counters, allocations, diagnostics = expected
    longer = [300000 * (step == 3) for step in range(4)]
    assert costs == [[f"n{number}", step, 2, 49000 + 1000 * step + longer[step], 42000 + longer[step],
                      7000 + 1000 * step, 4096, 300 + step, -200 - step, 5000000000] for number in (1, 2)
                     for step in range(4)], costs
    starts = [1700000000000000000 + 1000000 * step + 10000000 * number for number in (1, 2) for step in range(4)]
    assert kernels == [[start + after, micros, f"gpu:{i // 4}/stream:all"] for i, start in enumerate(starts)
                       for after, micros in ((9000, 20000), (40000, 22000 + longer[i % 4]))], kernels
    assert ops == [[start, 7000 + 1000 * (i % 4)] for i, start in enumerate(starts)], ops
    assert counters == [[start + 90000, 77.0] for start in starts], counters
    assert allocations == [[start + 2000, start + 3000, 512] for start in starts], allocations
    assert not diagnostics, diagnostics


def test_steps_in_any_order(engine):
    """Nodes, and the steps of a node, come in any order; so do the moments at which memory is told, whose rows are
    made when they are asked for."""
    device = "/job:worker/task:0/device:gpu:0"

    def node(number, name, steps):
        execs = []
        for step, start, in_use in steps:
            memory = message((1, start + 7), (6, 100 * number + step), (10, in_use)) if start else b""
            cost = [(1, 1), (2, start), (3, start + 20)] if start else [(1, 2)]
            runs = message((1, device), (2, message((1, message((1, start), (1, 5 + step))))))
            execs.append((12, message((1, step), (2, message(*cost, (5, runs), *[(7, memory)] * bool(start))))))
        return (1, message((1, number), (2, message((1, name), (6, device), (9, "Add"), *execs, (13, number)))))

    profile = message(node(7, "z", [(3, 5000, 40), (1, 1000, 70)]),
                      node(2, "a/b", [(2, 0, 0), (1, 1010, 60), (3, 4990, 90)]))
    with tempfile.TemporaryDirectory(prefix="tfprof-test-") as directory:
        path = os.path.join(directory, "profile")
        with open(path, "wb") as file:
            file.write(profile)
        connection = opened(engine, path)
        costs = connection.values("""SELECT nodes.name, number, run_count, node_steps.start_ns, node_steps.end_ns,
            exec_ns, accelerator_ns, requested_bytes
            FROM node_steps JOIN nodes ON nodes.id = node_id JOIN steps ON steps.id = step_id ORDER BY 1, 2""")
        assert [list(row) for row in costs] == [
            ["a/b", 1, 1, 1010000, 1030000, 6000, 0, 201], ["a/b", 2, 2, None, None, 7000, 0, 0],
            ["a/b", 3, 1, 4990000, 5010000, 8000, 0, 203], ["z", 1, 1, 1000000, 1020000, 6000, 0, 701],
            ["z", 3, 1, 5000000, 5020000, 8000, 0, 703]], costs
        steps = connection.values("SELECT number, start_ns, dur_ns FROM steps ORDER BY id")
        assert [list(row) for row in steps] == [
            [1, 1000000, 30000], [2, None, None], [3, 4990000, 30000]], steps
        span = connection.values("SELECT start_ns, end_ns FROM profiles")
        assert [list(row) for row in span] == [[1000000, 5020000]], span  # the run of step 2 says no time
        ops = connection.values("""SELECT nodes.name, number, ops.dur_ns FROM ops JOIN nodes ON nodes.id = node_id
            JOIN steps ON steps.id = step_id ORDER BY 1, 2""")
        assert [list(row) for row in ops] == [
            ["a/b", 1, 6000], ["a/b", 2, 7000], ["a/b", 3, 8000], ["z", 1, 6000], ["z", 3, 8000]], ops
        expected = [[1007000, 70.0], [1017000, 60.0], [4997000, 90.0], [5007000, 40.0]]
        assert connection.values("SELECT value FROM counters ORDER BY id") == [(row[1],) for row in expected]
        counters = connection.values("SELECT time_ns, value FROM counters ORDER BY id")
        assert [list(row) for row in counters] == expected, counters
        names = connection.values("""SELECT counters.name, devices.name, count(*) FROM counters
            JOIN devices ON devices.id = device_id GROUP BY 1, 2""")
        assert [list(row) for row in names] == [["allocator_bytes_in_use", device, 4]], names
        assert connection.values("SELECT count(*) FROM diagnostics") == [(0,)]


def test_checkpoint(engine):
    index = os.path.join(FILES, "checkpoint.index")
    for path in (index, index[: -len(".index")]):
        connection = opened(engine, "graph_path", GRAPH, "checkpoint_path", path)
        rows = connection.values("""SELECT tensors.shape, tensors.dtype, element_count, bytes, nodes.name, value
            FROM tensors JOIN nodes ON nodes.id = node_id""")
        # The bytes themselves are not beside it.
        assert [list(row) for row in rows] == [["3x3x3x8", "float32", 216, 864, VARIABLE, None]], rows
        assert connection.values("SELECT count(*) FROM tensors WHERE value IS NOT NULL")[0][0] == 0
        assert connection.values("SELECT count(*) FROM diagnostics WHERE reason = 'tensor_value'")[0][0] == 1
        types = connection.values("SELECT type FROM node_types JOIN nodes ON nodes.id = node_id WHERE name = '%s'"
                                  % VARIABLE)
        assert ("_checkpoint_variables",) in [tuple(row) for row in types], types
    assert opened(engine, index).values("SELECT format FROM runs") == [("tf_checkpoint",)]
    with open(index, "rb") as file:
        whole = file.read()
    with tempfile.TemporaryDirectory(prefix="tfprof-test-") as directory:
        damaged = os.path.join(directory, "damaged.index")
        for place, expected in ((5, "checksum"), (len(whole) // 2, "checksum")):
            with open(damaged, "wb") as file:
                file.write(whole[:place] + bytes([whole[place] ^ 0x41]) + whole[place + 1:])
            _, error = engine().query(f"SELECT tfprof_open('checkpoint_path', '{damaged}')")
            assert error and damaged in error and any(word in error for word in expected.split("|")), error


def test_wrong_files(engine):
    for values, expected in (
            (("graph_path", RUN), "graph_path must be a GraphDef, and this is a RunMetadata"),
            (("run_meta_path", LOG), "run_meta_path must be a RunMetadata, and this is an OpLogProto"),
            (("op_log_path", PROFILE), "op_log_path must be an OpLogProto, and this is a ProfileProto"),
            (("profile_path", TEXT), "profile_path must be a ProfileProto, and this is a GraphDef"),
            (("profile_path", PROFILE, "graph_path", GRAPH), "goes with checkpoint_path only"),
            (("graph_path", GRAPH, "steps", 3), "there is no key 'steps'"),
            (("graph_path", GRAPH, "step", "x"), "step must be a number"),
            (("graph_path", GRAPH + ".none"), "No such file"),
            (("graph_path",), "no such file")):
        _, error = engine().query("SELECT tfprof_open(" + ", ".join(repr(value) for value in values) + ")")
        assert error and expected.lower() in error.lower(), (values, error)


def test_damaged_files(engine):
    with tempfile.TemporaryDirectory(prefix="tfprof-test-") as directory:
        for path in (GRAPH, RUN, LOG, PROFILE, TEXT):
            with open(path, "rb") as file:
                whole = file.read().strip() if path == TEXT else file.read()
            for cut in (len(whole) - 1, len(whole) // 2, 3):
                short = os.path.join(directory, "cut")
                with open(short, "wb") as file:
                    file.write(whole[:cut])
                connection = engine()
                _, error = connection.query(f"SELECT tfprof_open('{short}')")
                if error:
                    assert short in error, error
                else:
                    rows = connection.values("SELECT count(*) FROM diagnostics WHERE reason = 'damaged_message'")
                    complete = connection.values("SELECT complete FROM profiles")
                    assert rows[0][0] == 1 and complete[0][0] == 0, (path, cut)
                    assert connection.values("SELECT count(*) FROM nodes")[0][0] > 0


def test_files_that_were_cut_off(engine):
    """What nearly all of a file is one part of, as of a RunMetadata, is served up to the last node that is whole; how
    much is missing is told, and each place once, however often it is read."""
    def node_stats(number):
        return message((1, b"node_%d" % number), (2, 1000 + number), (5, 7), (8, b"node_%d = MatMul(a, b)" % number))

    def graph(count):
        node = lambda number: message((1, b"n%d" % number), (2, b"MatMul"))
        inner = message((1, message((1, b"f"))), (3, message((1, b"x"), (2, b"Relu"))))
        return message(*((1, node(number)) for number in range(count)), (2, message((1, inner), (1, inner * 40))))

    run = message((1, message((1, message((1, b"/job:a/replica:0/task:0/device:CPU:0"), *(
        (2, node_stats(number)) for number in range(60)))))))
    saved = message((1, 1), (2, message((1, message((4, b"serve"))), (2, graph(50)))))
    with tempfile.TemporaryDirectory(prefix="tfprof-test-") as directory:
        for name, whole, sql, last in (("run_meta", run, "SELECT count(*) FROM node_steps", 60),
                                       ("saved_model.pb", saved, "SELECT count(*) FROM nodes WHERE op_type = 'MatMul'",
                                        50)):
            path, before = os.path.join(directory, name), 0
            for cut in [*range(len(whole) // 2, len(whole), 37), len(whole) - 1, len(whole)]:
                with open(path, "wb") as file:
                    file.write(whole[:cut])
                connection = opened(engine, path)
                ((count,),) = connection.values(sql)
                assert count >= before and count >= last * cut // len(whole) - 2, (name, cut, count, before)
                before = count
                told = connection.values("SELECT message, count FROM diagnostics WHERE reason = 'damaged_message'")
                assert [count for _, count in told] == [1] * (cut < len(whole)), (name, cut, told)
                if told:
                    assert f"at least {len(whole) - cut} bytes are missing" in told[0][0], (cut, told)
                connection.close()
            assert before == last, (name, before)


if __name__ == "__main__":
    run_tests(sys.modules[__name__])
