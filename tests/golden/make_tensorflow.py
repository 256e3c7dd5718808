#!/usr/bin/env python3
"""make_tensorflow.py: makes tests/golden/tensorflow: the files of a small program and what
TensorFlow's own engine prints.

    pip install tensorflow-cpu && tests/golden/make_tensorflow.py

A convolution, a dense layer and their gradients, two traced steps.  Paths in the call stacks become base names.
"""

import json
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf  # noqa: E402
from tensorflow.core.profiler import tfprof_log_pb2  # noqa: E402
from tensorflow.python.profiler import model_analyzer, option_builder, tfprof_logger  # noqa: E402
from tensorflow.python.util import _pywrap_tfprof as engine  # noqa: E402

OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tensorflow")
ALL = ["bytes", "peak_bytes", "residual_bytes", "output_bytes", "micros", "accelerator_micros", "cpu_micros", "params",
       "float_ops", "occurrence", "device", "op_types", "input_shapes"]
CASES = {
    "scope_all": ("scope", {"select": ALL, "max_depth": 4}),
    "scope_params": ("scope", {"select": ["params"], "account_type_regexes": ["_trainable_variables"]}),
    "scope_start": ("scope", {"select": ["micros"], "start_name_regexes": ["gradients.*"],
                              "hide_name_regexes": [".*Shape.*"], "step": 1}),
    "scope_displayed": ("scope", {"select": ["micros", "occurrence"], "account_displayed_op_only": True, "max_depth": 3,
                                  "order_by": "micros"}),
    "graph_all": ("graph", {"select": ALL, "max_depth": 6, "min_micros": 1}),
    "graph_trim": ("graph", {"select": ["micros"], "trim_name_regexes": [".*Relu.*"],
                             "account_type_regexes": ["MatMul", "Conv2D", "Relu"]}),
    "code_all": ("code", {"select": ALL, "max_depth": 5, "show_name_regexes": ["make_tensorflow.*"]}),
    "op_all": ("op", {"select": ALL, "order_by": "micros", "step": 0}),
    "op_shapes": ("op", {"select": ["occurrence", "input_shapes", "float_ops"], "order_by": "occurrence",
                         "max_depth": 4}),
}


def program():
    v1 = tf.compat.v1
    v1.disable_eager_execution()
    images = v1.placeholder(tf.float32, [2, 6, 6, 1], name="images")
    with v1.variable_scope("conv"):
        kernel = v1.get_variable("kernel", [3, 3, 1, 2], initializer=v1.zeros_initializer())
        hidden = tf.nn.relu(tf.nn.conv2d(images, kernel, [1, 2, 2, 1], "SAME", name="Conv2D"), name="Relu")
    with v1.variable_scope("dense"):
        weight = v1.get_variable("weight", [18, 3], initializer=v1.zeros_initializer())
        logits = tf.matmul(tf.reshape(hidden, [2, 18], name="Reshape"), weight, name="MatMul")
    loss = tf.reduce_mean(tf.square(logits), name="loss")
    train = v1.train.GradientDescentOptimizer(0.1).minimize(loss)
    return v1, images, train


def main():
    v1, images, train = program()
    os.makedirs(os.path.join(OUT, "golden"), exist_ok=True)
    graph = v1.get_default_graph()
    runs = []
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        for _ in range(2):
            meta = v1.RunMetadata()
            session.run(train, {images: [[[[1.0]] * 6] * 6] * 2}, v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE),
                        meta)
            kept = v1.RunMetadata()
            kept.step_stats.CopyFrom(meta.step_stats)
            runs.append(kept.SerializeToString())
    log = tfprof_logger.merge_default_with_oplog(graph)
    for key, text in log.id_to_string.items():
        log.id_to_string[key] = os.path.basename(text) if "/" in text else text
    files = {"graph.pb": graph.as_graph_def(add_shapes=True).SerializeToString(deterministic=True),
             "op_log": log.SerializeToString(deterministic=True), "run_meta_0": runs[0], "run_meta_1": runs[1]}
    assert isinstance(log, tfprof_log_pb2.OpLogProto)
    for name, content in files.items():
        with open(os.path.join(OUT, name), "wb") as file:
            file.write(content)
    engine.NewProfiler(files["graph.pb"], files["op_log"])
    for step, run in enumerate(runs):
        engine.AddStep(step, files["graph.pb"], run, files["op_log"])
    for name, (view, changes) in CASES.items():
        options = dict(option_builder.ProfileOptionBuilder.time_and_memory())
        options.update({"min_micros": 0, "min_bytes": 0, "max_depth": 10, "order_by": "name", "step": -1,
                        "start_name_regexes": [".*"], "account_type_regexes": [".*"], "show_name_regexes": [".*"],
                        "hide_name_regexes": [], "trim_name_regexes": [], "account_displayed_op_only": False})
        options.update(changes)
        golden = os.path.join(OUT, "golden", name)
        options["output"] = "file:outfile=" + golden + ".txt"
        engine.Profile(view, model_analyzer._build_options(options).SerializeToString())
        with open(golden + ".txt", encoding="utf-8") as file:
            text = file.read()
        with open(golden + ".txt", "w", encoding="utf-8") as file:
            file.write(text[text.index("node name | "):])  # the explanations before are each program's own
        shown = {key: value for key, value in options.items() if key not in ("output", "viz")}
        case = {"name": name, "view": view, "options": shown,
                "input": {"graph": "graph.pb", "op_log": "op_log", "run_meta": {"0": "run_meta_0", "1": "run_meta_1"}}}
        with open(golden + ".json", "w") as file:
            json.dump(case, file, indent=1, sort_keys=True)
            file.write("\n")
    engine.DeleteProfiler()


if __name__ == "__main__":
    main()
