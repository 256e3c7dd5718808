#!/usr/bin/env python3
"""test_hlo_costs.py: operations and bytes of what XLA compiled, against XLA's own and XProf's.

tests/golden/hlo has three programs of JAX for a CPU, what its compiled.cost_analysis() says of each, and what hlo_stats
of XProf 2.24.2 says of their instructions, each a kernel of a GPU (make_hlo_costs.py).  XProf counts for an element of
an element-wise instruction of GPUs the cycles that it takes, XLA else one operation; so does tfprof, whose totals are
JAX's.  Of a fusion that reads parts of its operands XProf estimates other bytes than XLA.
"""

import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
from asking import query, run_tests
from xplane_files import (Ref, event, fields, hlo_instruction as instruction, hlo_module as module, hlo_shape as shape,
                          line, message, number, plane, programs, space, varint)

# Instructions that XProf's rules for GPUs count as XLA's.
ALIKE = {"dot", "convolution", "fft", "sort", "broadcast", "copy", "iota", "slice", "dynamic-slice",
         "dynamic-update-slice", "gather", "pad", "reverse"}
WITHOUT_COSTS = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "while", "call", "conditional"}


def parts(data, wanted):
    return [value for field, value in fields(data) if field == wanted]


def text(data, wanted):
    return parts(data, wanted)[0].decode()


def instructions_of(data):
    """[(module, number of its program, [(instruction, opcode, whether the program itself runs it)])]"""
    found = []
    for metadata in (entry for space_plane in parts(data, 1) for entry in parts(space_plane, 4)):
        for value in parts(metadata, 2):
            name = text(value, 2)
            for proto in (proto for told in parts(value, 5) for proto in parts(told, 6)):
                module = parts(proto, 1)[0]
                entry, listed = parts(module, 6), []
                for computation in parts(module, 3):
                    is_entry = parts(computation, 5) == entry
                    listed += [(text(one, 1), text(one, 2), is_entry) for one in parts(computation, 2)]
                found.append((text(module, 1), int(name[name.rindex("(") + 1:-1]), listed))
    return found


def of_gpu(data, kept=lambda opcode: opcode not in WITHOUT_COSTS):
    """The programs as they are, and every instruction as a kernel of a GPU that takes 1 us."""
    found, kernels, launches = [], [], []
    for module, program_id, listed in instructions_of(data):
        for name, opcode, is_entry in listed:
            if not kept(opcode):
                continue
            at, correlation = 2_000_000 * len(found), len(found) + 1
            launches.append(event("cuLaunchKernel", at, 1000, correlation_id=correlation))
            kernels.append(event(f"kernel {correlation}", at, 1_000_000, correlation_id=correlation, hlo_op=Ref(name),
                                 hlo_module=Ref(module), program_id=program_id, kernel_details=Ref(
                                     "regs:32 static_shared:0 dynamic_shared:0 grid:1,1,1 block:64,1,1 occ_pct:50")))
            found.append((module, program_id, (name, opcode), is_entry))
    step = event("train", 0, 2_000_000 * len(found), _r=1, step_num=1)
    device = {"gpu_device_name": "NVIDIA A100", "core_count": 108, "clock_rate": 1410000, "compute_cap_major": 8,
              "compute_cap_minor": 0, "memory_bandwidth": 1555200000000, "device_vendor": "Nvidia"}
    return found, space(plane("/host:CPU", [line(1, "main", [step] + launches)]),
                        plane("/device:GPU:0", [line(3, "Stream #3(Compute)", kernels, 1000)], device)) + data


def write(folder, data):
    path = os.path.join(folder, "host-a.xplane.pb")
    with open(path, "wb") as file:
        file.write(data)
    return path


def is_close(left, right, slack):
    return left is not None and abs(left - right) <= slack * max(1, abs(right))


def test_golden(folder):
    with open(os.path.join(HERE, "hlo", "programs.xplane.pb"), "rb") as file:
        found, data = of_gpu(file.read(), kept=lambda opcode: True)
    with open(os.path.join(HERE, "hlo", "costs.json"), encoding="utf-8") as file:
        costs = json.load(file)
    rows = query(write(folder, data), "SELECT flops, bytes_accessed FROM kernels ORDER BY id")
    assert len(rows) == len(found)
    totals, equal_flops, equal_bytes, compared = {}, 0, 0, 0
    for (module, _, (name, opcode), is_entry), row in zip(found, rows):
        total = totals.setdefault(module, [0, 0])
        if is_entry and opcode not in ("while", "conditional"):
            total[0] += row["flops"] or 0
            total[1] += row["bytes_accessed"] or 0
        if opcode in WITHOUT_COSTS:
            runs_others = opcode in ("while", "call", "conditional")
            assert (row["flops"], row["bytes_accessed"]) == ((None, None) if runs_others else (0, 0)), (name, row)
            continue
        if name not in costs[module]["instructions"] or opcode == "custom-call":
            continue
        flops, moved = costs[module]["instructions"][name]
        if moved == 0: # a transposition that only the layout tells, and what orders a sort
            continue
        compared += 1
        # XProf's are floats of 32 bits.
        equal_bytes += is_close(row["bytes_accessed"], moved, 1e-4)
        if opcode in ALIKE:
            assert is_close(row["flops"], flops, 1e-4), (module, name, opcode, flops, row)
            equal_flops += 1
        else:
            assert row["flops"] <= flops, (module, name, opcode, flops, row)
    assert compared > 200 and equal_flops > 60 and equal_bytes >= compared - 4, (compared, equal_flops, equal_bytes)
    # Of the program that runs no others: XLA adds the pointers of one tuple to the bytes.
    assert totals["jit_train"] == [costs["jit_train"]["flops"], costs["jit_train"]["bytes"] - 32], totals


def costs_of(folder, proto):
    """{instruction: (flops, bytes_accessed)}"""
    found, data = of_gpu(space(programs({"made(7)": proto}), host=None), kept=lambda opcode: True)
    rows = query(write(folder, data), "SELECT flops, bytes_accessed FROM kernels ORDER BY id")
    return {name: (row["flops"], row["bytes_accessed"]) for (_, _, (name, _), _), row in zip(found, rows)}


def convolution(window=1, pad=0, stride=1, dilation=1, base=1, groups=1):
    """NHWC, HWIO, NHWC."""
    dimension = number(1, window) + number(2, stride) + number(3, pad) + number(4, pad) + number(5, dilation)
    numbers = number(8, 3) + number(3, 2) + number(4, 3) + number(10, 3)
    numbers += b"".join(message(field, varint(a) + varint(b)) for field, a, b in ((11, 1, 2), (6, 0, 1), (12, 1, 2)))
    return message(15, 2 * message(1, dimension + number(6, base))) + message(16, numbers) + number(50, groups)


def test_libraries(folder):
    """Calls of cuBLAS and cuDNN, by what their configuration and arrays tell; of others nothing is known."""
    image, kernel, output = shape(2, 8, 8, 4), shape(3, 3, 4, 6), shape(2, 8, 8, 6)
    scratch = shape(1000, element_type=6)
    config = message(43, '{"gemm_backend_config":{"dot_dimension_numbers":{"lhs_contracting_dimensions":["1"],'
                         '"rhs_contracting_dimensions":["0"]}}}')
    same = convolution(3, 1)
    made = costs_of(folder, module({1: ([
        instruction(1, "image", "parameter", image), instruction(2, "kernel", "parameter", kernel),
        instruction(3, "output", "parameter", output), instruction(4, "left", "parameter", shape(16, 32)),
        instruction(5, "right", "parameter", shape(32, 8)),
        instruction(6, "plain", "convolution", output, (1, 2), more=same),
        instruction(7, "forward", "custom-call", shape(parts=(output, scratch)), (1, 2),
                    more=same + message(28, "__cudnn$convForward")),
        instruction(8, "input", "custom-call", shape(parts=(image, scratch)), (3, 2),
                    more=same + message(28, "__cudnn$convBackwardInput")),
        instruction(9, "filter", "custom-call", shape(parts=(kernel, scratch)), (1, 3),
                    more=same + message(28, "__cudnn$convBackwardFilter")),
        instruction(10, "gemm", "custom-call", shape(parts=(shape(16, 8), scratch)), (4, 5),
                    more=message(28, "__cublas$lt$matmul") + config),
        instruction(11, "other", "custom-call", shape(16, 8), (4, 5), more=message(28, "mine")),
    ], 11)}))
    # Of 8 places and 3 of the kernel 22 pairs lie inside in each direction.
    flops = 2 * 22 * 22 * 4 * 6 * 2
    image_bytes, kernel_bytes, output_bytes = 4 * 2 * 64 * 4, 4 * 9 * 24, 4 * 2 * 64 * 6
    for name in ("plain", "forward", "input", "filter"):
        assert made[name] == (flops, image_bytes + kernel_bytes + output_bytes), (name, made[name], flops)
    assert made["gemm"] == (2 * 16 * 8 * 32, 4 * (16 * 32 + 32 * 8 + 16 * 8)), made["gemm"]
    assert made["other"] == (None, None), made["other"]


def positions(kernel, output, size, stride, pad, dilation, base):
    at = [o * stride - pad + k * dilation for k in range(kernel) for o in range(output)]
    return sum(x % base == 0 and 0 <= x // base < size for x in at)


def test_convolutions(folder):
    """Pairs of places, counted one by one, for strides, padding, dilations of both kernel and input, and groups."""
    rows, made = [], []
    for i in range(60):
        kernel, size, output = 1 + i % 5, 1 + i * 7 % 11, 1 + i * 5 % 9
        stride, pad, dilation, base = 1 + i % 3, i % 4, 1 + i // 3 % 3, 1 + i // 2 % 4
        rows += [instruction(3 * i + 1, f"x{i}", "parameter", shape(4, size, size, 8)),
                 instruction(3 * i + 2, f"k{i}", "parameter", shape(kernel, kernel, 4, 6)),
                 instruction(3 * i + 3, f"y{i}", "convolution", shape(4, output, output, 6), (3 * i + 1, 3 * i + 2),
                             more=convolution(kernel, pad, stride, dilation, base, groups=2))]
        made.append(2 * positions(kernel, output, size, stride, pad, dilation, base) ** 2 * 4 * 6 * 4)
    costs = costs_of(folder, module({1: (rows, 3)}))
    assert [costs[f"y{i}"][0] for i in range(60)] == made


def test_damage(folder):
    """Computations that call each other, operands and computations that are not there, sizes beyond all numbers."""
    huge, pair = shape(2**40, 2**40), shape(4, 4)
    deep = {i: ([instruction(1, f"call{i}", "fusion", pair, called=(i + 1,))], 1) for i in range(10, 2000)}
    deep[2000] = ([instruction(1, "leaf", "add", pair)], 1)
    costs = costs_of(folder, module({
        1: ([instruction(1, "huge", "parameter", huge), instruction(2, "sum", "add", huge, (1, 1)),
             instruction(3, "lost", "add", pair, (99, 98)), instruction(4, "product", "dot", pair, (97, 3)),
             instruction(5, "negative", "add", shape(2**64 - 1)), instruction(6, "circle", "fusion", pair, called=(2,)),
             instruction(7, "absent", "fusion", pair, called=(5,)), instruction(8, "none", "reduce", pair),
             instruction(9, "part", "get-tuple-element", pair, (10,)),
             instruction(10, "other", "get-tuple-element", pair, (9,)),
             instruction(11, "unheard", "frobnicate", pair), instruction(12, "ordinary", "add", pair, (4, 4)),
             instruction(13, "no shape", "add", b"")], 12),
        2: ([instruction(1, "first", "fusion", pair, called=(3,))], 1),
        3: ([instruction(1, "second", "fusion", pair, called=(2,))], 1), **deep}))
    expected = {"sum": (None, None), "lost": (16, None), "product": (16 * 2, None), "negative": (None, None),
                "circle": (None, 64), "absent": (None, None), "none": (None, 64), "part": (0, 0),
                "unheard": (None, None), "ordinary": (16, 192), "call1999": (16, 64), "call10": (None, 64)}
    assert {name: costs[name] for name in expected} == expected, {name: costs[name] for name in expected}


def test_one_name(folder):
    """Two programs of one name, told apart by their numbers: a kernel without one has what both say alike."""
    protos, names = {}, {}
    for program_id, size in ((7, 4), (8, 8)):
        names[program_id] = [instruction(1, "a", "add", shape(size, size)), instruction(2, "b", "add", shape(3, 3))]
        protos[f"made({program_id})"] = module({1: (names[program_id], 2)})
    def kernel(at, name, **more):
        return event("kernel", at * 1000, 1000, hlo_op=Ref(name), hlo_module=Ref("made"), **more)
    data = space(plane("/device:GPU:0", [line(3, "Stream #3(Compute)", [
        kernel(1, "a", program_id=7), kernel(2, "a", program_id=8), kernel(3, "a"), kernel(4, "b"),
        kernel(5, "a", program_id=7, flops=5)])]), programs(protos))
    rows = query(write(folder, data), "SELECT flops, bytes_accessed FROM kernels ORDER BY start_ns")
    assert [tuple(row.values()) for row in rows] == [(16, 64), (64, 256), (None, None), (9, 36), (5, 64)], rows


def test_several_kernels(folder):
    """Kernels that one run of an instruction launches share what it computes; the same kernel again is another run."""
    product = [instruction(1, "x", "parameter", shape(8, 8)), instruction(2, "gemm", "dot", shape(8, 8), (1, 1), more=(
        message(30, varint(1) + number(2, 0)))), instruction(3, "sum", "add", shape(8, 8), (2, 2))]
    launched = [("split", "gemm", 30), ("add up", "gemm", 10), ("split", "gemm", 60), ("add up", "gemm", 20),
                ("add", "sum", 5), ("split", "gemm", 0), ("add up", "gemm", 0), ("split", "gemm", 7)]
    kernels = [event(name, 100_000 * at, 1000 * dur_ns, hlo_op=Ref(of), hlo_module=Ref("made"), program_id=7)
               for at, (name, of, dur_ns) in enumerate(launched)]
    data = space(plane("/device:GPU:0", [line(3, "Stream #3(Compute)", kernels)]),
                 programs({"made(7)": module({1: (product, 3)})}))
    rows = query(write(folder, data), "SELECT name, flops, bytes_accessed FROM kernels ORDER BY start_ns")
    alone = query(write(folder, space(plane("/device:GPU:0", [line(3, "Stream #3(Compute)", kernels[:1])]),
                                      programs({"made(7)": module({1: (product, 3)})}))),
                  "SELECT flops, bytes_accessed FROM kernels")[0]
    flops, moved = alone["flops"], alone["bytes_accessed"]
    assert flops > 0 and moved > 0, alone
    shares = [0.75, 0.25, 0.75, 0.25, None, 0.5, 0.5, 1]
    for row, share in zip(rows, shares):
        if share:
            assert (row["flops"], row["bytes_accessed"]) == (flops * share, moved * share), (row, flops, moved)
    assert rows[4]["flops"] == 64, rows[4]


# As JAX 0.10.2 compiles lambda x, i: x[i], of which its cost_analysis() says 17,164 bytes.
GATHER = """HloModule jit_f, is_scheduled=true

%fused (p.0: f32[64,64], p.1: s32[3]) -> f32[3,64] {
  %p.0 = f32[64,64]{1,0} parameter(0)
  %p.1 = s32[3]{0} parameter(1)
  %rows = s32[3,1]{1,0} bitcast(%p.1)
  %gather.2 = f32[3,1,64]{2,1,0} gather(%p.0, %rows), offset_dims={1,2}, collapsed_slice_dims={}, start_index_map={0}, \
index_vector_dim=1, slice_sizes={1,64}
  ROOT %bitcast.2 = f32[3,64]{1,0} bitcast(%gather.2)
}

ENTRY %main (x: f32[64,64], i: s32[3]) -> f32[3,64] {
  %x = f32[64,64]{1,0} parameter(0)
  %i = s32[3]{0} parameter(1)
  ROOT %fusion = f32[3,64]{1,0} fusion(%x, %i), kind=kLoop, calls=%fused
}
"""


def test_gather_in_a_fusion(folder):
    """All of what it gathers from is read; of a gather by itself what it takes."""
    path = os.path.join(folder, "module_0001.jit_f.txt")
    with open(path, "w", encoding="utf-8") as file:
        file.write(GATHER)
    rows = query(path, "SELECT name, bytes_accessed FROM hlo_instructions WHERE part_of_id IS NULL AND name = 'fusion'")
    assert rows == [{"name": "fusion", "bytes_accessed": 17164}], rows


if __name__ == "__main__":
    run_tests(globals())
