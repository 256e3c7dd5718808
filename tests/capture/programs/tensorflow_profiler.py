"""The snippets of the tutorials of TensorFlow's profiler, with tfprof in the place of tf.profiler, each result compared
with that of TensorFlow's own engine.  argv: the folder of the module tfprof, a folder to write to.
"""

import contextlib
import io
import os
import sys
import threading

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf  # noqa: E402
from tensorflow.core.profiler import tfprof_log_pb2, tfprof_output_pb2  # noqa: E402
from tensorflow.python.profiler import model_analyzer as original  # noqa: E402

sys.path.insert(0, sys.argv[1])
import tfprof  # noqa: E402
from tfprof import option_builder  # noqa: E402

FOLDER = sys.argv[2]
tf1 = tf.compat.v1
tf1.disable_eager_execution()


def model():
    images = tf1.placeholder(tf.float32, [4, 8, 8, 3], name="images")
    labels = tf1.placeholder(tf.int64, [4], name="labels")
    with tf1.variable_scope("conv"):
        kernel = tf1.get_variable("kernel", [3, 3, 3, 6])
        hidden = tf.nn.relu(tf.nn.conv2d(images, kernel, [1, 2, 2, 1], "SAME"))
    with tf1.variable_scope("dense"):
        weight = tf1.get_variable("weight", [96, 5])
        logits = tf.matmul(tf.reshape(hidden, [4, 96]), weight)
    loss = tf1.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    train = tf1.train.GradientDescentOptimizer(0.1).minimize(loss)
    return train, {images: [[[[0.5] * 3] * 8] * 8] * 4, labels: [0, 1, 2, 3]}


def check_options():
    """Ready-made options, and those of each method of the builder, are TensorFlow's dictionaries."""
    original_builder = tf1.profiler.ProfileOptionBuilder
    limits = dict(min_micros=3, min_bytes=7, min_accelerator_micros=1, min_cpu_micros=2, min_peak_bytes=4,
                  min_residual_bytes=5, min_output_bytes=6)
    for preset, arguments in (("trainable_variables_parameter", {}), ("float_operation", {}), ("time_and_memory", {}),
                              ("time_and_memory", limits)):
        ours, theirs = (getattr(kind, preset)(**arguments) for kind in (tfprof.ProfileOptionBuilder, original_builder))
        assert ours == theirs, (preset, ours, theirs)
    methods = {
        "with_max_depth": (3,), "with_min_memory": (1, 2, 3, 4), "with_min_execution_time": (1, 2, 3),
        "with_min_parameters": (5,), "with_min_occurrence": (6,), "with_min_float_operations": (7,),
        "with_accounted_types": (["a", "b"],), "with_node_names": (["a"], ["b"], ["c"], ["d"]),
        "account_displayed_op_only": (True,), "with_empty_output": (), "with_stdout_output": (),
        "with_file_output": ("f",), "with_timeline_output": ("t",), "with_pprof_output": ("p",),
        "order_by": ("micros",), "select": (["micros", "bytes"],), "with_step": (4,),
    }
    presets = {"trainable_variables_parameter", "float_operation", "time_and_memory"}
    assert {name for name in dir(original_builder) if name[0] != "_"} == {"build", *presets, *methods}
    for method, arguments in methods.items():
        ours, theirs = (getattr(kind(), method)(*arguments).build()
                        for kind in (tfprof.ProfileOptionBuilder, original_builder))
        assert ours == theirs, (method, ours, theirs)
    names = {name for name in dir(tf1.profiler) if name[0] != "_"}
    assert all(hasattr(tfprof, name) for name in names), names
    assert tfprof.OpLogProto is tf1.profiler.OpLogProto


def fields(message):
    """Of a message of theirs or of ours, by the names of the fields; children that are
    equal in order may stand in any."""
    result = {}
    for name in ("name", "exec_micros", "accelerator_exec_micros", "cpu_exec_micros", "requested_bytes", "peak_bytes",
                 "residual_bytes", "output_bytes", "parameters", "float_ops", "run_count"):
        result[name] = getattr(message, name, None)
        result["total_" + name] = getattr(message, "total_" + name, None)
    if hasattr(message, "devices"):
        result["devices"] = list(message.devices)
        result["input_shapes"] = {k: [d.size for d in message.input_shapes[k].dim] for k in message.input_shapes}
    if hasattr(message, "graph_nodes"):
        result["graph_nodes"] = sorted((node.name, node.exec_micros, node.requested_bytes, node.run_count,
                                        node.float_ops)
                                       for node in message.graph_nodes)
    result["children"] = [fields(child) for child in message.children]
    return result


def difference(ours, theirs, way=""):
    for key in ours:
        if key == "children":
            if len(ours[key]) != len(theirs[key]):
                return way, "children", [c["name"] for c in ours[key]], [c["name"] for c in theirs[key]]
            for one, other in zip(ours[key], theirs[key]):
                found = difference(one, other, way + "/" + one["name"])
                if found:
                    return found
        elif key == "input_shapes":
            # Theirs lists an input whose shape is not known as one without dimensions.
            if {k: v for k, v in ours[key].items() if v} != {k: v for k, v in theirs[key].items() if v}:
                return way, key, ours[key], theirs[key]
        elif ours[key] != theirs[key]:
            return way, key, ours[key], theirs[key]
    return None


def check(name, ours, theirs):
    found = difference(fields(ours), fields(theirs), name)
    assert found is None, "%s: %s" % (name, found)
    print("equal to TensorFlow:", name)


def main():
    check_options()
    train, feed = model()
    builder = tfprof.ProfileOptionBuilder
    # Time and memory, quick start: one step.
    with tf1.Session() as session:
        session.run(tf1.global_variables_initializer())
        run_metadata = tf1.RunMetadata()
        session.run(train, feed, options=tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE),
                    run_metadata=run_metadata)
        graph = session.graph
    silent = builder(builder.time_and_memory(min_bytes=0)).with_empty_output().build()
    for view in ("scope", "graph", "op"):
        # Of a graph TensorFlow's engine shows the shape of a source's first output, whichever output an input takes.
        check(view, tfprof.profile(graph, run_meta=run_metadata, cmd=view, options=dict(silent, compat=True)),
              original.profile(graph, run_meta=run_metadata, cmd=view, options=silent))
    lines = builder(silent).with_node_names(show_name_regexes=[".*tensorflow_profiler.py.*"]).build()
    check("code", tfprof.profile(graph, run_meta=run_metadata, cmd="code", options=lines),
          original.profile(graph, run_meta=run_metadata, cmd="code", options=lines))
    # Parameters.
    file = os.path.join(FOLDER, "params.txt")
    parameters = builder(builder.trainable_variables_parameter()).with_file_output(file).build()
    stats = tfprof.profile(graph, options=parameters)
    assert stats.total_parameters == 3 * 3 * 3 * 6 + 96 * 5 == 642, stats.total_parameters
    check("parameters", stats, original.profile(graph, options=parameters))
    # Floating point operations.
    flops = builder(builder.float_operation()).with_empty_output().build()
    ours = tfprof.print_model_analysis(graph, tfprof_options=dict(flops, compat=True))
    check("float_operation", ours, original.profile(graph, options=flops))
    assert ours.total_float_ops > 2 * 4 * 4 * 4 * 6 * 27, ours.total_float_ops
    # The same of a Keras model, whose every layer is built in a graph of its own.
    with tf.Graph().as_default() as keras_graph:
        network = tf.keras.Sequential([tf.keras.Input((10,), batch_size=2), tf.keras.layers.Dense(7),
                                       tf.keras.layers.Dense(3)])
        network(tf1.placeholder(tf.float32, [2, 10]))
        check("keras", tfprof.profile(keras_graph, options=dict(flops, compat=True)),
              original.profile(keras_graph, options=flops))
    # Several steps, advice with chosen checkers, a timeline for each step.
    profiler = tfprof.Profiler(graph)
    with tf1.Session(graph=graph) as session:
        session.run(tf1.global_variables_initializer())
        for step in (10, 11):
            run_metadata = tf1.RunMetadata()
            session.run(train, feed, options=tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE),
                        run_metadata=run_metadata)
            profiler.add_step(step, run_metadata)
            timeline = os.path.join(FOLDER, "timeline")
            profiler.profile_graph(option_builder.ProfileOptionBuilder(builder.time_and_memory()).with_step(step)
                                   .with_timeline_output(timeline).build())
            assert os.path.getsize("%s_%d" % (timeline, step)) > 1000
    profiler.profile_operations(builder(silent).with_step(11).build())
    advice = profiler.advise(options={"ExpensiveOperationChecker": {}, "AcceleratorUtilizationChecker": {}})
    assert set(advice.checkers) == {"ExpensiveOperationChecker", "AcceleratorUtilizationChecker"}, advice
    assert advice.checkers["ExpensiveOperationChecker"].reports, advice
    # What is written can be read again, by both engines.
    path = os.path.join(FOLDER, "profile")
    profiler._write_profile(path)

    proto = tfprof_log_pb2.ProfileProto.FromString(profiler.serialize_to_string())
    assert list(proto.steps) == [10, 11] and len(proto.nodes) == len(graph.get_operations()) + len(
        [1 for node in proto.nodes.values()
         if node.name not in {op.name for op in graph.get_operations()}]), proto.steps
    from tensorflow.python.util import _pywrap_tfprof as engine

    engine.ProfilerFromFile(path.encode())
    for view, message in (("scope", original.tfprof_output_pb2.GraphNodeProto),
                          ("op", original.tfprof_output_pb2.MultiGraphNodeProto)):
        theirs = message.FromString(engine.Profile(view.encode(), original._build_options(silent).SerializeToString()))
        ours = profiler.profile_name_scope(silent) if view == "scope" else profiler.profile_operations(silent)
        check("profile read by TensorFlow, " + view, ours, theirs)
    engine.DeleteProfiler()
    # An op log.
    tfprof.write_op_log(graph, FOLDER, run_meta=run_metadata)
    log = tfprof_log_pb2.OpLogProto.FromString(open(os.path.join(FOLDER, "tfprof_log"), "rb").read())
    assert {entry.name for entry in log.log_entries
            if "_trainable_variables" in entry.types} == {"conv/kernel", "dense/weight"}
    # ProfileContext: steps traced, dumped and profiled as the program runs.
    with tfprof.ProfileContext(os.path.join(FOLDER, "context"), trace_steps=range(3, 6), dump_steps=[5],
                               debug=True) as context:
        automatic = os.path.join(FOLDER, "automatic.txt")
        context.add_auto_profiling("op", builder(silent).with_file_output(automatic).build(), [4])
        with tf1.Session(graph=graph) as session:
            session.run(tf1.global_variables_initializer())
            for step in range(1, 9):
                if step == 7:
                    context.trace_next_step()
                    context.dump_next_step()
                session.run(train, feed)
        result = context.profiler.profile_name_scope(builder(silent).with_step(7).build())
    assert result.total_exec_micros > 0
    with open(automatic, encoding="utf-8") as file:
        assert "Conv2DBackpropFilter" in file.read()
    files = sorted(os.listdir(os.path.join(FOLDER, "context")))
    assert files == ["profile_5", "profile_7"] + ["run_meta_%d" % step for step in (3, 4, 5, 7)], files
    proto = tfprof_log_pb2.ProfileProto.FromString(open(os.path.join(FOLDER, "context", "profile_7"), "rb").read())
    assert list(proto.steps) == [3, 4, 5, 7], proto.steps
    with tfprof.ProfileContext(os.path.join(FOLDER, "automatic")) as context, tf1.Session(graph=graph) as session:
        session.run(tf1.global_variables_initializer())
        for step in range(1, 102):
            session.run(train, feed)
    assert os.listdir(os.path.join(FOLDER, "automatic")) == ["profile_100"], os.listdir(FOLDER)
    steps = context.profiler._source.steps
    assert min(steps) == 11 and max(steps) < 100 and (len(steps) == 1 or context.profiler._coverage < 0.6), steps
    # A step that is dumped is traced where none has been.
    with (tfprof.ProfileContext(os.path.join(FOLDER, "dumped"), dump_steps=[5]) as context,
          tf1.Session(graph=graph) as session):
        session.run(tf1.global_variables_initializer())
        for step in range(1, 8):
            session.run(train, feed)
    proto = tfprof_log_pb2.ProfileProto.FromString(open(os.path.join(FOLDER, "dumped", "profile_5"), "rb").read())
    assert list(proto.steps) == [5] and any(node.execs for node in proto.nodes.values()), proto.steps
    check_threads()
    check_any_number(session_of=lambda: tf1.Session(graph=graph), run=lambda session: session.run(train, feed))
    print("tutorials: done")


def check_threads():
    """Runs of two threads that wait for each other go on side by side; options of the program stay what they are."""
    with tf.Graph().as_default(), tfprof.ProfileContext(os.path.join(FOLDER, "threads"), trace_steps=range(9),
                                                        dump_steps=[]) as context:
        queue = tf1.FIFOQueue(1, [tf.float32], [[]])
        take, put = queue.dequeue(), queue.enqueue(1.0)
        options = tf1.RunOptions()
        with tf1.Session() as session:
            taker = threading.Thread(target=session.run, args=(take,), kwargs={"options": options})
            taker.start()
            while not context._step:
                pass
            session.run(put)
            taker.join(60)
            assert not taker.is_alive() and options.trace_level == 0 and context._step == 2
    assert context.profiler._source.steps == {0, 1}, context.profiler._source.steps


def check_any_number(session_of, run):
    """More steps than a function of SQL takes arguments; the profile has the program's lines; what goes wrong is told,
    and the program goes on."""
    folder = os.path.join(FOLDER, "many")
    builder = tfprof.ProfileOptionBuilder
    options = builder(builder.time_and_memory()).with_empty_output().build()
    errors, sys.stderr = sys.stderr, io.StringIO()
    with tfprof.ProfileContext(folder, trace_steps=range(1, 111), dump_steps=[110, 113]) as context:
        context.add_auto_profiling("op", builder(options).with_file_output("").build(), [3])
        context.add_auto_profiling("tree", options, [4])
        with tfprof.ProfileContext(folder), session_of() as session:
            session.run(tf1.global_variables_initializer())
            for _ in range(111):
                run(session)
            write = context.profiler._write_profile
            context.profiler._write_profile = None
            for _ in range(3):
                run(session)
            context.profiler._write_profile = write
    said, sys.stderr = sys.stderr.getvalue(), errors
    for text in ("-output is written as", "no view 'tree'", "is open already", "writing profile_113 failed"):
        assert text in said, (text, said)
    with open(os.path.join(folder, "profile_110"), "rb") as file:
        proto = tfprof_log_pb2.ProfileProto.FromString(file.read())
    assert list(proto.steps) == list(range(1, 111)), proto.steps
    texts = dict(proto.id_to_string)
    own = [frame for node in proto.nodes.values() for frame in node.trace.traces
           if texts[frame.file_id].endswith(os.path.basename(__file__))]
    assert texts[0] == "none" and {texts[frame.function_id] for frame in own} >= {"<module>", "main", "model"}
    assert "weight = tf1.get_variable(\"weight\", [96, 5])" in {texts[frame.line_id] for frame in own}
    # Results are TensorFlow's messages; what cannot be made is told and is an empty one, as there.
    profiler, quiet = context.profiler, contextlib.redirect_stderr(io.StringIO())
    result = profiler.profile_operations(options)
    again = tfprof_output_pb2.MultiGraphNodeProto.FromString(result.SerializeToString())
    assert again == result and isinstance(result, tfprof.MultiGraphNodeProto)
    assert tfprof.TFProfNode is tfprof_output_pb2.GraphNodeProto
    with quiet as said:
        wrong = (profiler.profile_operations(builder(options).with_step(777).build()),
                 profiler.profile_python(builder(options).with_pprof_output(os.path.join(folder, "two")).build()),
                 profiler.profile_name_scope(builder(options).with_file_output("").build()))
    assert [type(one).__name__ for one in wrong] == ["MultiGraphNodeProto", "MultiGraphNodeProto", "GraphNodeProto"]
    assert not any(one.children for one in wrong)
    assert "there is no step 777" in said.getvalue() and "takes one metric" in said.getvalue(), said.getvalue()


main()
