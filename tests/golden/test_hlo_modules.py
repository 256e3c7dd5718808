#!/usr/bin/env python3
"""test_hlo_modules.py: modules of XLA as text and as messages, against each other, the message itself and JAX.

tests/golden/hlo/modules has four modules that JAX 0.10.2 compiled for a CPU, each as the message that XLA keeps and as
the text that it prints of it, the text of what it was made of, and what compiled.cost_analysis() says
(make_hlo_modules.py).
"""

import gzip
import json
import os
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
from asking import check, column, query, rows, run_tests
from xplane_files import fields

MODULES = os.path.join(HERE, "hlo", "modules")
NAMES = ("convolution", "loop", "shared", "step")
EVERYTHING = """
SELECT hlo_module, computation, name, opcode, result, dtype, is_root, is_entry, parameter, fusion_kind,
  custom_call_target, framework_name, op_type, module, is_backward, flops, bytes_accessed,
  (SELECT name FROM hlo_instructions AS other WHERE other.id = part_of_id) AS part_of,
  (SELECT group_concat(other.name, ' ') FROM (SELECT operand_id FROM hlo_operands
   WHERE instruction_id = hlo_instructions.id ORDER BY position) JOIN hlo_instructions AS other
   ON other.id = operand_id) AS operands,
  (WITH RECURSIVE above(id, level) AS (SELECT code_trace_id, 0 UNION ALL SELECT parent_id, level + 1
   FROM above JOIN code_traces ON code_traces.id = above.id WHERE parent_id IS NOT NULL)
   SELECT group_concat(place, ' < ') FROM (SELECT file || ':' || line || ' ' || function AS place
   FROM above JOIN code_traces ON code_traces.id = above.id JOIN code_frames ON code_frames.id = leaf_frame_id
   ORDER BY level)) AS stack
FROM hlo_instructions ORDER BY computation, name"""
# The one of two branches that costs less is not counted by XLA.
OF_BRANCH = {"loop": 64 + 4 * 64 * 2}


def parts(data, wanted):
    return [value for field, value in fields(data) if field == wanted]


def instructions_of(data):
    """{instruction: (opcode, computation, names of operands)} of the message, by nothing of tfprof."""
    found = {}
    for computation in parts(data, 3):
        ids = {parts(one, 35)[0]: parts(one, 1)[0].decode() for one in parts(computation, 2)}
        for one in parts(computation, 2):
            packed, operands, value, shift = b"".join(parts(one, 36)), [], 0, 0
            for byte in packed:
                value |= (byte & 127) << shift
                shift += 7
                if byte < 128:
                    operands.append(ids[value])
                    value, shift = 0, 0
            found[parts(one, 1)[0].decode()] = (parts(one, 2)[0].decode(), parts(computation, 1)[0].decode(),
                                                " ".join(operands) or None)
    return found


def test_forms(_):
    """Both forms of a module have the same rows, which are those of the message."""
    for name in NAMES:
        path = os.path.join(MODULES, name)
        message, text = query(path + ".hlo.pb", EVERYTHING), query(path + ".txt", EVERYTHING)
        for one, other in zip(message, text):
            check(other, one, f"{name}: {one['name']}")
        check(len(text), len(message), name)
        with open(path + ".hlo.pb", "rb") as file:
            wanted = instructions_of(file.read())
        check({row["name"]: (row["opcode"], row["computation"], row["operands"]) for row in message}, wanted, name)
        assert sum(row["stack"] is not None and "model.py" in row["stack"] for row in message) >= 10, name
        for form in (".hlo.pb", ".txt"):
            check(rows(path + form, "SELECT severity, message FROM diagnostics"), [], name + form)


def test_costs(_):
    """The sum over what runs by itself is what JAX says."""
    with open(os.path.join(MODULES, "modules.json"), encoding="utf-8") as file:
        told = json.load(file)
    for name in NAMES:
        flops = column(os.path.join(MODULES, name + ".txt"),
                       "SELECT sum(flops) FROM hlo_instructions WHERE part_of_id IS NULL AND caller_id IS NULL OR "
                       "caller_id IN (SELECT id FROM hlo_instructions WHERE opcode = 'while')")[0]
        branch = column(os.path.join(MODULES, name + ".txt"),
                        "SELECT max(flops) FROM (SELECT sum(flops) AS flops FROM hlo_instructions WHERE part_of_id "
                        "IS NULL AND caller_id IN (SELECT id FROM hlo_instructions WHERE opcode = 'conditional') "
                        "GROUP BY computation)")[0]
        check(flops + (branch or 0), told[name]["flops"], name)


def test_lowered(_):
    """Text without %, as it is before XLA compiles it."""
    for name in NAMES:
        path = os.path.join(MODULES, name + ".lowered.txt")
        with open(path, encoding="utf-8") as file:
            count = sum(line.startswith("  ") and " = " in line for line in file)
        check(column(path, "SELECT count(*) FROM hlo_instructions"), [count], name)
        check(column(path, "SELECT count(*) FROM hlo_operands WHERE operand_id IS NULL"), [0], name)
        check(column(path, "SELECT count(*) FROM diagnostics"), [0], name)


def test_packed(directory):
    """gzip, and the message within the message that XLA's profiler and dumps have around it."""
    with open(os.path.join(MODULES, "step.hlo.pb"), "rb") as file:
        data = file.read()
    wanted = query(os.path.join(MODULES, "step.txt"), EVERYTHING)
    size = len(data)
    whole = b"\x0a" + bytes([size & 127 | 128, size >> 7]) + data
    for name, content in (("whole.pb", whole), ("packed.pb.gz", gzip.compress(data)), ("bare", data)):
        path = os.path.join(directory, name)
        with open(path, "wb") as file:
            file.write(content)
        check(query(path, EVERYTHING), wanted, name)
        check(column(path, "SELECT format FROM profiles"), ["hlo"], name)


def test_directory(directory):
    """What --xla_dump_to wrote: of each module the last form, the message rather than the text."""
    step, lowered = os.path.join(MODULES, "step"), os.path.join(MODULES, "step.lowered.txt")
    for name, source in (("module_0001.jit_step.before_optimizations.txt", lowered),
                         ("module_0001.jit_step.cpu_after_optimizations.txt", step + ".txt"),
                         ("module_0001.jit_step.cpu_after_optimizations.hlo.pb", step + ".hlo.pb"),
                         ("module_0001.jit_step.cpu_after_optimizations-buffer-assignment.txt", __file__),
                         ("module_0003.jit_step.0002.fusion.after_dce.before_cse.txt", lowered),
                         ("module_0003.jit_step.before_optimizations.txt", lowered),
                         ("other.txt", os.path.join(MODULES, "loop.txt"))):
        shutil.copy(source, os.path.join(directory, name))
    check([path[len(directory) + 1:] for path in column(directory, "SELECT path FROM profiles ORDER BY 1")],
          ["module_0001.jit_step.cpu_after_optimizations.hlo.pb",
           "module_0003.jit_step.0002.fusion.after_dce.before_cse.txt", "other.txt"], "files")
    told = column(directory, "SELECT message FROM diagnostics WHERE reason = 'before_optimizations'")
    assert len(told) == 1 and told[0].endswith("module_0001.jit_step.before_optimizations.txt"), told


def test_damage(directory):
    """What is cut or no instruction is told with its place; what is good is there."""
    with open(os.path.join(MODULES, "loop.txt"), "rb") as file:
        text = file.read()
    path = os.path.join(directory, "loop.txt")
    line = text.index(b"  %constant.")
    entry = text.index(b"ENTRY")
    odd = text[:line] + b"  %this is none\n" + text[line:]
    for content, reason, offset in ((text[:entry], "ENTRY", entry), (text[:entry + 400], "cut off", entry + 400),
                                    (odd, "no instruction", line), (text + text, "second module", len(text))):
        with open(path, "wb") as file:
            file.write(content)
        found = rows(path, "SELECT reason, offset, message FROM diagnostics")
        assert len(found) == 1 and found[0][:2] == ("damaged", offset) and reason in found[0][2], (found, offset)
        assert column(path, "SELECT count(*) FROM hlo_instructions")[0] > 50
    with open(os.path.join(MODULES, "loop.hlo.pb"), "rb") as file:
        data = file.read()
    with open(path, "wb") as file:
        file.write(data[:len(data) // 2])
    check(column(path, "SELECT reason FROM diagnostics"), ["damaged_program"], "a message that was cut")
    assert column(path, "SELECT count(*) FROM hlo_instructions")[0] > 20


if __name__ == "__main__":
    run_tests(globals())
