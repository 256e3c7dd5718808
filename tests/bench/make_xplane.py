#!/usr/bin/env python3
"""make_xplane.py: a large XSpace of a training run: host threads with ops, input and allocations, and GPUs.

    make_xplane.py FILE [EVENTS [GPUS]]     2,800,000 events on 2 GPUs: some 165 MB

What is in an event is that of real recordings (names and stats of TensorFlow's executor, CUPTI, BFC, tf.data); events
of a step are laid out once, and written for each step with the times, numbers and addresses of that one.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from xplane_files import Names, Ref, Unsigned, message, number, stat, varint

STEP_PS = 60_000_000_000
OPS = [f"model/layer_{i}/{kind}:{kind}" for i in range(60)
       for kind in ("Conv2D", "BiasAdd", "FusedBatchNormV3", "Relu", "Conv2DBackpropFilter", "MatMul")]


def event_bytes(events, keys, name, offset, duration, fixed=b"", **own):
    body = number(1, events.id(name)) + number(2, offset) + number(3, duration) + fixed
    body += b"".join(message(4, stat(keys, key, value)) for key, value in own.items())
    return varint(4 << 3 | 2) + varint(len(body)) + body


class Fixed:
    """Stats that are the same in each event of a kind, encoded once."""

    def __init__(self, keys):
        self.keys, self.known = keys, {}

    def of(self, **stats):
        key = tuple(stats.items())
        if key not in self.known:
            self.known[key] = b"".join(message(4, stat(self.keys, name, value)) for name, value in stats.items())
        return self.known[key]


def finish(name, lines, events, keys, stats=None):
    of_plane = b"".join(message(6, stat(keys, key, value)) for key, value in (stats or {}).items())
    yield message(2, name)
    for id_, line_name, parts in lines:
        yield message(3, number(1, id_) + message(2, line_name) + number(3, 1000) + b"".join(parts))
    for event_name, id_ in events.ids.items():
        yield message(4, number(1, id_) + message(2, number(1, id_) + message(2, event_name)))
    for key, id_ in keys.ids.items():
        yield message(5, number(1, id_) + message(2, number(1, id_) + message(2, key)))
    yield of_plane


def host_plane(steps, gpus):
    events, keys = Names(), Names()
    fixed = Fixed(keys)
    lines = [[] for _ in range(gpus + 2)]
    for step in range(steps):
        at = step * STEP_PS
        lines[0].append(event_bytes(events, keys, "train", at, STEP_PS - 1000, _r=1, step_num=step))
        for k in range(40):
            lines[0].append(event_bytes(events, keys, "ThreadpoolListener::Record", at + k * 5000 + 10, 900,
                                        fixed.of(_pt=15), _p=step * 64 + k))
        for k in range(60):
            lines[1].append(event_bytes(events, keys, "Iterator::Root::Prefetch::ParallelMap::TFRecord",
                                        at + k * 9_000_000, 8_000_000, fixed.of(id=4, parent_id=3),
                                        element_id=step * 60 + k))
        for gpu in range(gpus):
            out = lines[2 + gpu]
            for k, op in enumerate(OPS):
                start, correlation = at + k * 150_000_000, (step * gpus + gpu) * 1000 + k + 1
                out.append(event_bytes(events, keys, op, start, 140_000_000, fixed.of(_ct=2), _c=step, id=k))
                out.append(event_bytes(events, keys, "cuLaunchKernel", start + 10_000_000, 4_000_000,
                                       fixed.of(device_id=gpu, context_id=Ref("$$1")), correlation_id=correlation))
                if k % 4 == 0:
                    for which, when in (("MemoryAllocation", 5_000_000), ("MemoryDeallocation", 130_000_000)):
                        out.append(event_bytes(
                            events, keys, which, start + when, 0,
                            fixed.of(allocator_name=Ref(f"GPU_{gpu}_bfc"), bytes_reserved=0, data_type=1,
                                     tf_op=Ref(op.split(":")[0]), region_type=Ref("temp"), shape=Ref("[32,64,56,56]"),
                                     fragmentation=0.125),
                            bytes_allocated=(k + 1) << 20, bytes_available=(9000 - k) << 20,
                            peak_bytes_in_use=400 << 20, requested_bytes=k << 16, allocation_bytes=k << 16,
                            addr=Unsigned(0x7f0000000000 + (k << 20))))
    names = ["python", "tf_data_private_threadpool/9"] + [f"tf_Compute/{i}" for i in range(gpus)]
    return finish("/host:CPU", [(100 + i, names[i], parts) for i, parts in enumerate(lines)], events, keys)


def gpu_plane(gpu, steps, gpus):
    events, keys = Names(), Names()
    fixed = Fixed(keys)
    compute, copies = [], []
    for step in range(steps):
        at = step * STEP_PS
        for k, op in enumerate(OPS):
            correlation = (step * gpus + gpu) * 1000 + k + 1
            compute.append(event_bytes(
                events, keys, f"void cutlass::Kernel<cutlass_80_tensorop_s16816gemm_f16_{k % 97}>(Params)",
                at + k * 150_000_000 + 20_000_000, 90_000_000 + k,
                fixed.of(context_id=Ref("$$1"), tf_op=Ref(op), kernel_details=Ref(
                    f"regs:{32 + k % 200} static_shared:0 dynamic_shared:{1024 * (k % 50)} grid:{k + 1},1,1 "
                    "block:256,1,1 occ_pct:50"), theoretical_occupancy_pct=50.0), correlation_id=correlation))
        for k in range(4):
            copies.append(event_bytes(events, keys, "MemcpyH2D", at + k * 1_000_000_000, 500_000_000, fixed.of(
                memcpy_details=Ref("kind_src:pinned kind_dst:device size:4194304 dest:0 async:1")),
                correlation_id=(step * gpus + gpu) * 1000 + 900 + k))
    return finish(f"/device:GPU:{gpu}", [(13, "Stream #13(Compute)", compute), (14, "Stream #14(MemcpyH2D)", copies)],
                  events, keys, {"gpu_device_name": "NVIDIA H100", "core_count": 132, "clock_rate": 1980000,
                                 "compute_cap_major": 9, "compute_cap_minor": 0, "memory_size": 85520809984,
                                 "memory_bandwidth": Unsigned(3352320000000)})


def main():
    path = sys.argv[1]
    wanted = int(sys.argv[2]) if len(sys.argv) > 2 else 2_800_000
    gpus = int(sys.argv[3]) if len(sys.argv) > 3 else 2
    of_step = 101 + gpus * (2 * len(OPS) + 2 * ((len(OPS) + 3) // 4) + len(OPS) + 4)
    steps = max(1, wanted // of_step)
    with open(path, "wb") as file:
        for parts in (host_plane(steps, gpus), *(gpu_plane(gpu, steps, gpus) for gpu in range(gpus))):
            file.write(message(1, b"".join(parts)))
        file.write(message(1, b"".join(finish("Task Environment", [], Names(), Names(), {
            "profile_start_time": Unsigned(1700000000000000000),
            "profile_stop_time": Unsigned(1700000000000000000 + steps * STEP_PS // 1000)}))))
        file.write(message(4, "host-a"))
    print(f"{path}: {steps * of_step} events in {steps} steps, {os.path.getsize(path)} bytes")


main()
