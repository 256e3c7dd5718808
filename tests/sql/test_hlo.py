#!/usr/bin/env python3
"""test_hlo.py: what XLA made of programs, as rows of hlo_instructions and hlo_operands, and runs that name them."""

import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from asking import check, column, rows, run_tests
from xplane_files import (Ref, event, hlo_instruction as instruction, hlo_module as module, hlo_shape as shape, line,
                          message, number, plane, programs, space, written)

MATRIX, SCALAR = shape(8, 8) + message(5, message(1, b"\x01\x00")), shape()
NAMES = "(SELECT name FROM hlo_instructions AS other WHERE other.id = {})"


def made_of(name, file, at):
    return message(7, message(2, name) + message(3, file) + number(4, at))


def example():
    """A loop whose body is a fusion, in which a computation is applied; and a reduction that runs by itself."""
    added = ([instruction(1, "x", "parameter", SCALAR), instruction(2, "y", "parameter", SCALAR, more=number(9, 1)),
              instruction(3, "sum", "add", SCALAR, (1, 2))], 3)
    fused = ([instruction(1, "p0", "parameter", MATRIX),
              instruction(2, "mul", "multiply", MATRIX, (1, 1), more=made_of("jit(f)/while/mul", "model.py", 7)),
              instruction(3, "zero", "constant", SCALAR),
              instruction(4, "reduce", "reduce", SCALAR, (2, 3), (1,), made_of("jit(f)/while/sum", "model.py", 8))], 4)
    body = ([instruction(1, "p", "parameter", MATRIX),
             instruction(2, "fusion", "fusion", SCALAR, (1,), (2,),
                         message(11, "kLoop") + made_of("jit(f)/while/sum", "model.py", 8)),
             instruction(3, "wide", "broadcast", MATRIX, (2,))], 3)
    begin = ([instruction(1, "arg", "parameter", MATRIX),
              instruction(2, "while", "while", MATRIX, (1,), (3, 4)),
              instruction(3, "one", "constant", SCALAR),
              instruction(4, "total", "reduce", SCALAR, (2, 3), (1,)),
              instruction(5, "call", "custom-call", shape(parts=(SCALAR, shape(3, element_type=4))), (4, 99),
                          more=message(28, "__cublas$gemm"))], 5)
    return module({1: added, 2: fused, 3: body, 4: begin}, "jit_f", 4)


def test_instructions(directory):
    """Each with what it makes, stands in, and runs as a part of; operands as edges."""
    events = [event(name, 1_000_000 * i, 900_000, hlo_op=Ref(name), hlo_module="jit_f", program_id=5)
              for i, name in enumerate(("while", "fusion", "fusion", "unknown"))]
    kernel = event("kernel", 0, 5000, hlo_op="fusion", hlo_module=Ref("jit_f"), program_id=5)
    run = written(directory, space(plane("/host:CPU", [line(1, "tf_XLAEigen/1", events)]),
                                   plane("/device:GPU:0", [line(3, "Stream #3", [kernel])]),
                                   programs({"jit_f(5)": example(), "jit_f(6)": example()})))
    caller, part = NAMES.format("hlo_instructions.caller_id"), NAMES.format("hlo_instructions.part_of_id")
    check(rows(run, f"SELECT computation, name, opcode, result, {caller}, {part}, flops FROM hlo_instructions "
                    "WHERE program = 5 ORDER BY id"),
          [("c1", "x", "parameter", "f32[]", "reduce", "fusion", 0),
           ("c1", "y", "parameter", "f32[]", "reduce", "fusion", 0),
           ("c1", "sum", "add", "f32[]", "reduce", "fusion", 1),
           ("c2", "p0", "parameter", "f32[8,8]{1,0}", "fusion", "fusion", 0),
           ("c2", "mul", "multiply", "f32[8,8]{1,0}", "fusion", "fusion", 64),
           ("c2", "zero", "constant", "f32[]", "fusion", "fusion", 0),
           ("c2", "reduce", "reduce", "f32[]", "fusion", "fusion", 63),
           ("c3", "p", "parameter", "f32[8,8]{1,0}", "while", None, 0),
           ("c3", "fusion", "fusion", "f32[]", "while", None, 127),
           ("c3", "wide", "broadcast", "f32[8,8]{1,0}", "while", None, 0),
           ("c4", "arg", "parameter", "f32[8,8]{1,0}", None, None, 0),
           ("c4", "while", "while", "f32[8,8]{1,0}", None, None, None),
           ("c4", "one", "constant", "f32[]", None, None, 0),
           ("c4", "total", "reduce", "f32[]", None, None, 63),
           ("c4", "call", "custom-call", "(f32[], s32[3])", None, None, None)], "instructions")
    check(rows(run, "SELECT name, dtype, is_root, is_entry, parameter, fusion_kind, custom_call_target "
                    "FROM hlo_instructions WHERE program = 6 AND name IN ('y', 'fusion', 'wide', 'call', 'arg')"),
          [("y", "f32", 0, 0, 1, None, None), ("fusion", "f32", 0, 0, None, "kLoop", None),
           ("wide", "f32", 1, 0, None, None, None), ("arg", "f32", 0, 1, 0, None, None),
           ("call", None, 1, 1, None, None, "__cublas$gemm")], "more of them")
    check(rows(run, f"SELECT {NAMES.format('instruction_id')}, position, {NAMES.format('operand_id')} "
                    "FROM hlo_operands JOIN hlo_instructions ON hlo_instructions.id = instruction_id "
                    "WHERE program = 5 AND computation IN ('c2', 'c4')"),
          [("mul", 0, "p0"), ("mul", 1, "p0"), ("reduce", 0, "mul"), ("reduce", 1, "zero"), ("while", 0, "arg"),
           ("total", 0, "while"), ("total", 1, "one"), ("call", 0, "total"), ("call", 1, None)], "operands")
    check(rows(run, "SELECT ops.name, program, opcode, hlo_instructions.framework_name FROM ops "
                    "LEFT JOIN hlo_instructions ON hlo_instructions.id = hlo_instruction_id ORDER BY start_ns"),
          [("while", 5, "while", None), ("fusion", 5, "fusion", "jit(f)/while/sum"),
           ("fusion", 5, "fusion", "jit(f)/while/sum"), ("unknown", None, None, None)], "runs")
    check(rows(run, "SELECT kernels.program, opcode FROM kernels JOIN hlo_instructions ON hlo_instructions.id = "
                    "hlo_instruction_id"), [(5, "fusion")], "kernels")
    check(rows(run, "SELECT DISTINCT name, file, line FROM hlo_instructions JOIN code_traces ON code_traces.id = "
                    "code_trace_id JOIN (SELECT id AS frame, file, line FROM code_frames) ON frame = leaf_frame_id"),
          [("mul", "model.py", 7), ("reduce", "model.py", 8), ("fusion", "model.py", 8)], "lines")
    check(column(run, "SELECT count(*) FROM diagnostics"), [0], "diagnostics")


def test_odd_programs(directory):
    """Computations that call each other, or themselves, and names that several have."""
    circle = {1: ([instruction(1, "a", "call", SCALAR, (), (2,))], 1),
              2: ([instruction(1, "b", "fusion", SCALAR, (), (3,))], 1),
              3: ([instruction(1, "c", "fusion", SCALAR, (), (1, 77))], 1),
              4: ([instruction(1, "own", "while", SCALAR, (), (4,))], 1)}
    event_of = event("a", 0, 900_000, hlo_op=Ref("a"), hlo_module="odd")
    run = written(directory, space(plane("/host:CPU", [line(1, "tf_XLAEigen/1", [event_of])]),
                                   programs({"odd(1)": module(circle, "odd", 99), "odd(2)": module(circle, "odd", 1)})))
    check(rows(run, f"SELECT name, {NAMES.format('hlo_instructions.caller_id')}, "
                    f"{NAMES.format('hlo_instructions.part_of_id')}, is_entry FROM hlo_instructions WHERE program = 1"),
          [("a", "c", "b", 0), ("b", None, None, 0), ("c", "b", "b", 0), ("own", None, None, 0)], "circles")
    check(rows(run, "SELECT name, hlo_instruction_id FROM ops"), [("a", None)], "either program's")


def traced(directory):
    """The example with runs: of its loop on a thread, of the fusion there and on a device; and one of its name."""
    events = [event("while", 0, 9_000_000, hlo_op=Ref("while"), hlo_module="jit_f", program_id=5),
              event("fusion", 1_000_000, 900_000, hlo_op=Ref("fusion"), hlo_module="jit_f", program_id=5),
              event("fusion", 2_000_000, 900_000, hlo_op=Ref("fusion"), hlo_module="jit_f", program_id=5)]
    kernel = event("kernel", 0, 5_000_000, hlo_op="fusion", hlo_module=Ref("jit_f"), program_id=5)
    return written(directory, space(plane("/host:CPU", [line(1, "tf_XLAEigen/1", events)]),
                                    plane("/device:GPU:0", [line(3, "Stream #3", [kernel])]),
                                    programs({"jit_f(5)": example(), "jit_f(6)": example()})))


def test_views(directory):
    """What ran and what it took, with the lines in it; what is in a fusion."""
    run = traced(directory)
    check(rows(run, "SELECT program, name, opcode, location, count, self_ns, self_error_ns, kernel_count, kernel_ns, "
                    "round(self_ratio, 3), flops, part_count, locations FROM hlo_summary"),
          [(5, "while", "while", None, 1, 7200, 0, None, None, 0.514, None, 0, None),
           (5, "fusion", "fusion", "model.py:8", 2, 1800, 0, 1, 5000, 0.486, 127, 7, "model.py:7, model.py:8")],
          "hlo_summary")
    check(rows(run, "SELECT whole, name, depth, is_root, location, flops, round(flops_ratio, 3) FROM hlo_parts "
                    "WHERE program = 5"),
          [("fusion", "sum", 2, 1, None, 1, None), ("fusion", "mul", 1, 0, "model.py:7", 64, 0.504),
           ("fusion", "zero", 1, 0, None, 0, 0.0), ("fusion", "reduce", 1, 1, "model.py:8", 63, 0.496)], "hlo_parts")
    path = os.path.join(directory, "f.hlo.pb")
    with open(path, "wb") as file:
        file.write(example())
    check(rows(path, "SELECT name, count, flops, part_count FROM hlo_summary"),
          [("fusion", None, 127, 7), ("total", None, 63, 0), ("wide", None, 0, 0)], "of a file alone")


def drawn(run, arguments):
    """What a file for Graphviz holds: ({node: first line of its label}, {cluster: label}, edges between names)."""
    path = os.path.join(os.path.dirname(run), "graph.dot")
    count = column(run, f"SELECT tfprof_dot('{path}', {arguments})")[0]
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if shutil.which("dot"):
        subprocess.run(["dot", "-Tsvg", path], check=True, stdout=subprocess.DEVNULL)
    nodes = dict(re.findall(r'^ *(n\d+) \[label="([^"\\]*)', text, re.M))
    clusters = re.findall(r'^ *label="([^"\\]*)', text, re.M)
    edges = [(nodes[a], nodes[b], bool(more)) for a, b, more in re.findall(r"^ *(n\d+) -> (n\d+)( \[.*\])?;$", text,
                                                                          re.M)]
    assert text.count("{") == text.count("}"), text
    return count, sorted(nodes.values()), clusters, sorted(edges)


def test_dot(directory):
    """A module with its fusions and loops, a computation, an instruction with what is near it."""
    run = traced(directory)
    body = [("mul", "reduce", False), ("p", "p0", False), ("p0", "mul", False), ("p0", "mul", False),
            ("reduce", "wide", False), ("zero", "reduce", False)]
    check(drawn(run, "'jit_f(5)'"),
          (12, ["arg", "call", "mul", "one", "p", "p0", "reduce", "total", "while", "wide", "zero"],
           ["while: while, 7.20 µs", "fusion: fusion kLoop, model.py:8, 6.80 µs"],
           sorted(body + [("arg", "while", False), ("one", "total", False), ("total", "call", False),
                          ("while", "total", False), ("while", "wide", True)])), "a module")
    check(drawn(run, "'jit_f(6)/c3'"),
          (7, ["mul", "p", "p0", "reduce", "wide", "zero"], ["fusion: fusion kLoop, model.py:8, 127 FLOP"], body),
          "a computation")
    check(drawn(run, "'jit_f(6)/one', 1"), (2, ["one", "total"], [], [("one", "total", False)]), "one edge away")
    check(drawn(run, "'jit_f(6)/one', 2")[1],
          ["call", "mul", "one", "p", "p0", "reduce", "total", "while", "wide", "zero"], "two edges away")
    for arguments, told in (("'jit_f'", "several are called jit_f; say which: jit_f(5), jit_f(6)"),
                            ("'fusion'", "jit_f(5)/fusion, jit_f(6)/fusion"),
                            ("'jit_f(5)/none'", "neither a computation nor an instruction 'none'"),
                            ("'none'", "no module, computation or instruction of XLA is called 'none'"),
                            ("'jit_f(5)', -1", "a number from 0 on"), ("NULL", "NULL is no name")):
        try:
            drawn(run, arguments)
        except AssertionError as error:
            assert told in str(error), error
        else:
            assert False, arguments


if __name__ == "__main__":
    run_tests(globals())
