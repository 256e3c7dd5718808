#!/usr/bin/env python3
"""test_xplane_programs.py: what the programs of XLA in an XSpace say of ops: name, type, module, lines, collectives."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import xplane_files as files
from asking import check, column, query, rows, run_tests
from xplane_files import Ref, Unsigned, event, line, plane, space, written

SHARED = os.environ.get("TFPROF_SHARED", "")


def compiled(kept=bytes):
    """Two programs of one name; a stack of two frames, one that calls itself, and a file and line alone."""
    first = files.program("jit_step", [("dot.1", "", "jit(step)/jvp()/dot_general[a=b/c]", "", 0, 2),
                                       ("loop.1", "", "jit(step)/while", "", 0, 3),
                                       ("add.1", "AddV2", "model/add", "old.py", 70, 0),
                                       ("grad.1", "", "jit(step)/transpose(jvp(Encoder/Layer_0))/vmap(Dense_1)/while/"
                                        "body/jit(relu)/mul;jit(step)/jvp(Head)/sub", "", 0, 0),
                                       ("head.1", "", "jit(step)/jvp(Head)/Dense_0/exp", "", 0, 0),
                                       ("same.1", "", "jit(step)/mul", "", 0, 1)],
                          ["train.py", "model.py"], ["<module>", "mlp"], [(1, 1, 49), (2, 2, 12)],
                          [(1, 0), (2, 1), (2, 4), (2, 3), (99, 99)])
    second = files.program("jit_step", [("dot.1", "", "jit(step)/tanh", "", 0, 77),
                                        ("same.1", "", "jit(step)/mul", "", 0, 1)],
                           ["train.py"], ["<module>"], [(1, 1, 49)], [(1, 0)])
    ops = [("dot.1", 26), ("dot.1", 27), ("dot.1", None), ("same.1", None), ("loop.1", 26), ("a::add.1", 26),
           ("none", 26), ("grad.1", 26), ("head.1", 26)]
    events = [event(op, 1_000_000 * i, 900_000, hlo_op=Ref(op), hlo_module="jit_step",
                    **({} if number is None else {"program_id": number})) for i, (op, number) in enumerate(ops)]
    kernel = event("sgemm", 0, 5000, hlo_op="dot.1", hlo_module=Ref("jit_step"), program_id=Unsigned(26))
    return space(plane("/host:CPU", [line(1, "tf_XLAEigen/1", events)]),
                 plane("/device:GPU:0", [line(3, "Stream #3", [kernel])]),
                 files.programs({"jit_step(26)": kept(first), "jit_step(27)": kept(second)}))


def test_programs(directory):
    """Ops that XLA compiled have the framework's name and the place in the program that they were made of."""
    run = written(directory, compiled())
    place = ("(SELECT group_concat(file || ':' || line || coalesce(' ' || function, '')) FROM code_frames WHERE id IN "
             "(SELECT leaf_frame_id FROM code_traces AS leaf WHERE leaf.id = ops.code_trace_id))")
    check(rows(run, f"SELECT name, op_type, framework_name, {place} AS place FROM ops "
                    "WHERE module IS NULL ORDER BY start_ns"),
          [("dot.1", "dot_general", "jit(step)/jvp()/dot_general[a=b/c]", "model.py:12 mlp"),
           ("dot.1", "tanh", "jit(step)/tanh", None),
           ("dot.1", "dot.1", None, None), # either program's
           ("same.1", "mul", "jit(step)/mul", "train.py:49 <module>"),
           ("loop.1", "while", "jit(step)/while", "model.py:12 mlp"), ("none", "none", None, None)], "ops")
    check(rows(run, "SELECT name, module, is_backward FROM ops ORDER BY start_ns"),
          [("dot.1", None, 0), ("dot.1", None, 0), ("dot.1", None, None), ("same.1", None, 0), ("loop.1", None, 0),
           ("a::add.1", "model", 0), ("none", None, None), ("grad.1", "Encoder.Layer_0.Dense_1", 1),
           ("head.1", "Head.Dense_0", 0)], "modules")
    check(rows(run, "SELECT depth, line FROM code_traces JOIN (SELECT id AS key, line "
                    "FROM code_frames) ON key = leaf_frame_id ORDER BY 1, 2"),
          [(1, 12), (1, 49), (1, 70), (2, 12), (2, 12)], "traces")
    check(rows(run, "SELECT op_name, op_type FROM kernels"),
          [("jit(step)/jvp()/dot_general[a=b/c]", "dot_general")], "kernels")
    ask = lambda run: rows(
        run, f"SELECT name, op_type, framework_name, module, {place} AS place FROM ops ORDER BY start_ns")
    smaller = written(directory, compiled(files.Compressed), "smaller.xplane.pb")
    check(ask(smaller), ask(run), "programs that were compressed")
    check(column(smaller, "SELECT reason FROM diagnostics WHERE severity <> 'info'"), [], "nothing is wrong")
    data = compiled(files.Compressed)
    at = data.index(b"\x1f\x8b")
    for bad in (data[:at + 40] + b"\xff" + data[at + 41:], data[:at + 2] + b"\x09" + data[at + 3:]):
        broken = written(directory, bad, "broken.xplane.pb")
        check(column(broken, "SELECT reason FROM diagnostics WHERE severity <> 'info'"), ["damaged_program"], "damage")
        check(column(broken, "SELECT count(*) FROM ops"), [9], "the rest is there")
    check(rows(run, "SELECT location, count, self_ns FROM code_summary WHERE count > 0 ORDER BY 1"),
          [("model.py:12", 2, 1800), ("old.py:70", 1, 900), ("train.py:49", 1, 900)], "lines")
    check(column(run, "SELECT count(*) FROM diagnostics"), [0], "diagnostics")


def test_types_of_instructions(directory):
    """An op that XLA made of many or by itself is of XLA's kind; the names of many that it joins are no type."""
    joined = "jit(f)/(transpose(jvp(layer))/dot_general:transpose(jvp())/reduce_sum:jvp()/reduce_sum)"
    proto = files.program("jit_f", [("all-reduce.9", "", joined, "", 0, 0), ("copy.5", "copy"),
                                    ("some.1", "", "jit(f)/mul", "", 0, 0)])
    events = [event(name, 1_000_000 * i, 900_000, hlo_op=Ref(name), hlo_module="jit_f", program_id=3)
              for i, name in enumerate(("all-reduce.9", "copy.5", "some.1", "unknown.1"))]
    run = written(directory, space(plane("/host:CPU", [line(1, "tf_XLAEigen/1", events)]),
                                   files.programs({"jit_f(3)": proto})))
    asked = rows(run, "SELECT name, op_type, framework_name FROM ops ORDER BY start_ns")
    check(asked,
          [("all-reduce.9", "fusion", joined), ("copy.5", "copy", None), ("some.1", "mul", "jit(f)/mul"),
           ("unknown.1", "unknown.1", None)], "ops")


def test_modules_of_jax(directory):
    """Forward and backward of a module, by the names that its ops have; a checkpoint's backward pass names all anew."""
    names = {"a": "jit(step)/jvp(Net)/Block_0/Dense_0/dot_general",
             "b": "jit(step)/transpose(jvp(Net))/Block_0/Dense_0/dot_general",
             "c": "jit(step)/transpose(jvp(Net))/Block_0/jvp(Net)/Block_0/checkpoint/Dense_0/mul",
             "d": "jit(step)/transpose(jvp(Net))/jvp(Net)/checkpoint/Head/mul",
             "e": "jit(step)/jvp(Net)/Netting/jvp(Other)/mul", "f": "jit(step)/transpose(jvp())/jvp()/checkpoint/mul"}
    program = files.program("jit_step", [(name, "", told, "", 0, 0) for name, told in names.items()])
    events = [event(name, 1_000_000 * i, (i + 1) * 100_000, hlo_op=Ref(name), hlo_module="jit_step", flops=10 + i)
              for i, name in enumerate(names)]
    run = written(directory, space(plane("/host:CPU", [line(1, "tf_XLAEigen/1", events)]),
                                   files.programs({"jit_step(1)": program})))
    check(rows(run, "SELECT name, module, is_backward FROM ops ORDER BY start_ns"),
          [("a", "Net.Block_0.Dense_0", 0), ("b", "Net.Block_0.Dense_0", 1), ("c", "Net.Block_0.Dense_0", 1),
           ("d", "Net.Head", 1), ("e", "Net.Netting.Other", 0), ("f", None, 1)], "modules")
    check(rows(run, "SELECT module, count, self_ns, sum_ns, backward_ns, flops, "
                    "backward_flops FROM module_summary WHERE count ORDER BY 1"),
          [("Net.Block_0.Dense_0", 3, 600, 600, 500, 33, 23), ("Net.Head", 1, 400, 400, 400, 13, 13),
           ("Net.Netting.Other", 1, 500, 500, None, 14, None)], "module_summary")


def test_modules_of_tensorflow(directory):
    """Keras' layers and other scopes, by the names of ops, of those that XLA compiled, too."""
    scopes = {"StatefulPartitionedCall/net_1/dense_1/MatMul:MatMul": ("net_1.dense_1", 0),
              "net_1/dense_1/MatMul/ReadVariableOp:ReadVariableOp": ("net_1.dense_1", 0),
              "StatefulPartitionedCall/gradient_tape/net_1/dense_1/MatMul/MatMul_1:MatMul": ("net_1.dense_1", 1),
              "gradient_tape/MatMul/MatMul:MatMul": (None, 1), "gradient_tape/ReluGrad:ReluGrad": (None, 1),
              "gradients/conv1/Conv2D_grad/Conv2DBackpropFilter:Conv2DBackpropFilter": ("conv1", 1),
              "net_1/norm/moments/mean:Mean": ("net_1.norm.moments", 0), "while/body/add:AddV2": (None, 0),
              "ArithmeticOptimizer/ReplaceMulWithSquare_mul:Square": (None, 0), "MapDataset/_2:Map": (None, 0),
              "PartitionedCall_1/adam/Sqrt_6:Sqrt": ("adam", 0), "Mul:Mul": (None, 0)}
    host = [event(name, 1_000_000 * i, 900_000) for i, name in enumerate(scopes)]
    program = files.program("f", [("a", "MatMul", "gradient_tape/net_1/dense_1/MatMul/MatMul", "", 0, 0)])
    compiled_op = event("a", 1_000_000, 500_000, hlo_op=Ref("a"), hlo_module="f")
    run = written(directory, space(plane("/host:CPU", [line(1, "main", host), line(2, "tf_XLAEigen", [compiled_op])]),
                                   files.programs({"f(1)": program})))
    found = query(run, "SELECT name, op_type, module, is_backward FROM ops WHERE hlo_module IS NULL")
    check({f"{row['name']}:{row['op_type']}": (row["module"], row["is_backward"]) for row in found}, scopes, "scopes")
    check(rows(run, "SELECT module, count, self_ns, backward_ns FROM module_summary WHERE module GLOB 'net_1.dense*'"),
          [("net_1.dense_1", 4, 900 * 3 + 500, 900 + 500)], "module_summary")


def test_lines_of_tensorflow(directory):
    """Its own line that makes all ops is none of the program."""
    maker = "/lib/site-packages/tensorflow/python/framework/ops.py"
    program = files.program("f", [("a", "Mul", "mul", maker, 1221, 0), ("b", "Add", "add", "", 0, 1),
                                  ("c", "Sub", "sub", "", 0, 2), ("d", "Neg", "neg", "train.py", 3, 1)],
                            [maker, "model.py"], ["make", "call"], [(1, 1, 1221), (2, 2, 7)], [(1, 0), (2, 1)])
    events = [event(name, 1000 * i, 900, hlo_op=Ref(name), hlo_module="f") for i, name in enumerate("abcd")]
    run = written(directory, space(plane("/host:CPU", [line(1, "tf_XLAEigen/1", events)]),
                                   files.programs({"f(1)": program})))
    check(rows(run, "SELECT file, line FROM code_frames ORDER BY line"), [("train.py", 3), ("model.py", 7)], "frames")
    check(column(run, "SELECT code_trace_id IS NULL FROM ops ORDER BY start_ns"), [1, 1, 0, 0], "traces")


def test_collectives_of_hosts(directory):
    """What XLA compiled of collectives for CPUs, whose devices are threads: told by the opcode, whatever JAX called it,
    with the data and the devices that the program names; they are communication of the step that they lie in."""
    shape, groups = files.hlo_shape, files.message(87, files.message(1, files.message(1, bytes(range(4)))))
    iota = files.message(87, files.message(2, files.number(1, 1) + files.number(2, 8)))
    old = files.message(49, files.message(1, bytes(range(2))))
    proto = files.hlo_module({1: ([
        files.hlo_instruction(1, "p", "parameter", shape(1024)),
        files.hlo_instruction(2, "psum_invariant.7", "all-reduce", shape(1024), [1], more=groups),
        files.hlo_instruction(3, "gather.3", "all-gather-start", shape(4096), [2], more=iota),
        files.hlo_instruction(4, "gather.4", "all-gather-done", shape(4096), [3]),
        files.hlo_instruction(5, "scatter", "reduce-scatter", shape(512), [2], more=old),
        files.hlo_instruction(6, "moved", "collective-permute", shape(512), [5]),
        files.hlo_instruction(7, "sine", "sine", shape(512), [6])], 7)}, "jit_f")
    ms, names = 1_000_000_000, ("psum_invariant.7", "gather.3", "gather.4", "scatter", "moved", "sine")
    lines = [line(1, "python", [event("train", 20 * ms * i, 15 * ms, _r=1, step_num=i) for i in range(2)])]
    for device in range(2):
        lines.append(line(2 + device, f"tf_XLAEigen/{device}", [
            event(name, 20 * ms * i + 2 * ms * place, ms, hlo_op=Ref(name), hlo_module="jit_f", program_id=3)
            for i in range(2) for place, name in enumerate(names)]))
    run = written(directory, space(plane("/host:CPU", lines), files.programs({"jit_f(3)": proto})))
    asked = rows(run, "SELECT name, carried_by, count(*), sum(dur_ns), bytes, group_size, bus_bytes_per_second, "
                      "count(step_id) FROM collectives GROUP BY 1 ORDER BY bytes, 1")
    check(asked,
          [("collective_permute", "op", 4, 4_000_000, 2048, None, 2048000.0, 4),
           ("all_reduce", "op", 4, 4_000_000, 4096, 4, 6144000.0, 4),
           ("reduce_scatter", "op", 4, 4_000_000, 4096, 2, 2048000.0, 4),
           ("all_gather", "op", 4, 4_000_000, 16384, 8, 14336000.0, 4)], "collectives")
    check(rows(run, "SELECT communication_ns FROM step_breakdown"), [(4_000_000,)] * 2, "steps")
    check(rows(run, "SELECT communication_ns, computation_ns, collective_count FROM tb_distributed_summary"),
          [(4_000_000, 2_000_000, 16)], "tb_distributed_summary")


def test_damaged_programs(directory):
    """What is damaged in a program is told; its other instructions are there."""
    data = compiled()
    at = data.index(b"\x0a\x05dot.1")
    run = written(directory, data[:at] + b"\x0b" + data[at + 1:])
    check(column(run, "SELECT op_type FROM ops ORDER BY start_ns LIMIT 4"), ["dot.1", "tanh", "tanh", "mul"], "ops")
    check(column(run, "SELECT reason FROM diagnostics"), ["damaged_program"], "told")


def test_deep_stacks(directory):
    """A stack of a hundred thousand frames, in the order that is worst, and all of them of another instruction."""
    count = 100_000
    deep = files.program("f", [(f"op.{i}", "", "f/op", "", 0, i + 1) for i in range(0, count, 100)], ["a.py"], ["f"],
                         [(1, 1, i + 1) for i in range(1000)],
                         [(i % 1000 + 1, i + 2 if i + 1 < count else 0) for i in range(count)])
    run = written(directory, space(plane("/host:CPU", [line(1, "x", [event("op.0", 0, 9000, hlo_op="op.0",
                                                                           hlo_module="f")])]),
                                   files.programs({"f(1)": deep})))
    check(rows(run, "SELECT max(depth), count(*) FROM code_traces"), [(count, count)],
          "depths")


def test_recorded_programs(directory):
    """A recording of JAX: all ops whose instruction has metadata have a place, of the lines that the program has."""
    del directory
    run = os.path.join(SHARED, "traces/xplane/jax_a.xplane.pb")
    if not os.path.exists(run):
        return
    counts = rows(run, "SELECT count(*), count(framework_name), count(code_trace_id) FROM ops "
                       "WHERE hlo_module IS NOT NULL")
    check(counts, [(240, 224, 224)], "ops")
    check(column(run, "SELECT location || ' ' || function FROM code_summary"),
          ["gen_jax.py:12 mlp", "gen_jax.py:14 mlp", "gen_jax.py:41 train_step", "gen_jax.py:35 loss",
           "gen_jax.py:36 loss", "gen_jax.py:49 <module>", "gen_jax.py:40 train_step"], "lines")


if __name__ == "__main__":
    run_tests(globals())
