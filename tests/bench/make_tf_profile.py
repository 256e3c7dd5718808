#!/usr/bin/env python3
"""make_tf_profile.py: writes a ProfileProto as TensorFlow's ProfileContext does, of any size.

    make_tf_profile.py PATH [NODES [STEPS]]       50000 nodes, 10 steps: about 140 MB

Blocks of layers, as deep as real models are: names of five parts, 30 frames of call stack, up to three inputs within
the block (TensorFlow's own profiler crashes on deeper graphs), one run of each node on the CPU and one on an
accelerator in each step, with memory.
"""

import sys


def varint(value):
    out = bytearray()
    value &= (1 << 64) - 1
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def data(field, value):
    if isinstance(value, str):
        value = value.encode()
    return varint(field << 3 | 2) + varint(len(value)) + value


def times(start, micros):
    return data(1, data(1, varint(start) + varint(micros)))


def main():
    path = sys.argv[1]
    nodes = int(sys.argv[2]) if len(sys.argv) > 2 else 50000
    steps = int(sys.argv[3]) if len(sys.argv) > 3 else 10
    ops = ["MatMul", "Add", "Relu", "Conv2D", "Identity", "Mul", "Const", "VariableV2"]
    device = "/job:localhost/replica:0/task:0/device:gpu:0"
    stream = "/device:gpu:0/stream:all"
    strings = {1: "/model/train.py", 2: "/python/framework/ops.py"}
    strings.update({100 + i: f"function_{i}" for i in range(400)})
    with open(path, "wb") as file:
        for i in range(nodes):
            op = ops[i % len(ops)]
            name = f"model/block_{i // 800}/layer_{i // 80 % 10}/unit_{i // 8 % 10}/{op}"
            node = data(1, name)
            for k in range(min(i % 800, i % 3 + 1)):
                node += data(2, number(1, k) + number(2, i - 1 - k))
            shape = varint(64) + varint(64)
            if op == "VariableV2":
                node += data(4, shape)
            node += data(5, op) + data(5, device) + data(6, device) + data(7, device[:-5] + "cpu:0")
            node += number(8, 4096 * 64) + data(9, op)
            trace = b""
            for k in range(30):
                line = 10 * k + (i // 8 % 100 if k > 20 else 0)
                trace += data(1, number(2, line) + number(5, (1 << 64) - 1) + number(6, 1 + k % 2)
                              + number(7, 100 + (k * 7 + line) % 400))
            node += data(10, trace)
            node += data(11, data(1, "T") + data(2, number(6, 1)))
            for step in range(steps):
                start = 1700000000000000 + step * 1000000 + i * 17
                cost = number(1, 1) + number(2, start) + number(3, start + 40)
                cost += data(4, data(1, stream) + data(2, times(start + 5, 11)))
                cost += data(5, data(1, device) + data(2, times(start, 7)))
                memory = number(1, start + 3) + number(6, 16384) + number(7, 16384) + number(9, 16384)
                memory += data(11, number(1, 0) + data(2, number(1, 16384) + number(2, 0x7F0000000000 + i * 256)))
                cost += data(6, device) + data(6, stream) + data(7, memory)
                node += data(12, number(1, step) + data(2, cost))
            node += number(13, i) + data(15, number(1, 0) + data(2, data(1, shape)))
            file.write(data(1, number(1, i) + data(2, node)))
        file.write(number(2, 1))
        file.write(data(3, b"".join(varint(step) for step in range(steps))))
        for key, text in strings.items():
            file.write(data(4, number(1, key) + data(2, text)))


main()
