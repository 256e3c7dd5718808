#!/usr/bin/env python3
"""Writes large Kineto traces for tests/bench/bench_json.

  make_kineto_trace.py repeat OUT.json [--from TRACE.json[.gz]] [--megabytes 500]
      A small trace repeated with new ids and shifted time: every number that names something (External id, correlation,
      flow id, Sequence number, Ev Idx, Record function id, Python id) and every ts moves on with each copy.  Without
      --from, the small trace is one made by `distinct` with 2 MB.
  make_kineto_trace.py distinct OUT.json [--megabytes 500] [--seed 1]
      A trace of a language model answering requests: sequence lengths differ from step to step, so that shapes,
      strides, concrete inputs, launch grids and template arguments of kernels are as many as in traces of real
      inference.

A name that ends in .gz is compressed as it is written.  The same arguments give the same bytes.
"""
import argparse
import gzip
import io
import json
import random
import re

HEADER = """{
  "schemaVersion": 1,
  "deviceProperties": [
    {
      "id": 0, "name": "NVIDIA H100", "totalGlobalMem": 84942979072,
      "computeMajor": 9, "computeMinor": 0,
      "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048,
      "regsPerBlock": 65536, "warpSize": 32,
      "sharedMemPerBlock": 49152, "numSms": 132
    , "regsPerMultiprocessor": 65536, "sharedMemPerBlockOptin": 232448, "sharedMemPerMultiprocessor": 233472
    }
  ],
  "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 8, "pg_count": 1,
    "pg_config": [{"pg_name": "0", "pg_desc": "default_pg", "backend_config": "cuda:nccl", "pg_size": 8,
      "ranks": [0, 1, 2, 3, 4, 5, 6, 7]}], "nccl_version": "2.21.5"},
  "record_shapes": 1,
  "traceEvents": [
"""
FOOTER = """
  ],
  "traceName": "trace.json",
  "displayTimeUnit": "ms",
  "baseTimeNanoseconds": 1735632360000000000
}
"""
PID = 4711
MAIN, BACKWARD = 4711, 4802


def microseconds(ns):
    return "%d.%03d" % (ns // 1000, ns % 1000)


class Distinct:
    """Events of a decoder that runs `layers` layers a step; yields text, each event with its leading separator."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.now = 4203669604595407
        self.gpu = self.now
        self.external = 1
        self.correlation = 1
        self.index = 0
        self.first = True

    def event(self, body):
        text = body if self.first else ",\n" + body
        self.first = False
        return text

    def op(self, name, dims, types, concrete, duration, extra=""):
        self.external += 1
        self.index += 1
        return self.event(
            '  {\n    "ph": "X", "cat": "cpu_op", "name": "%s", "pid": %d, "tid": %d,\n    "ts": %s, "dur": %s,\n'
            '    "args": {\n      "External id": %d,"Record function id": 0, %s"Concrete Inputs": [%s], '
            '"Input type": [%s], "Input Strides": [%s], "Input Dims": [%s], "Ev Idx": %d\n    }\n  }'
            % (name, PID, MAIN, microseconds(self.now), microseconds(duration), self.external, extra,
               ", ".join('"%s"' % c for c in concrete), ", ".join('"%s"' % t for t in types),
               ", ".join(self.strides(d) for d in dims), ", ".join("[" + ", ".join(map(str, d)) + "]" for d in dims),
               self.index))

    @staticmethod
    def strides(dims):
        strides, product = [], 1
        for d in reversed(dims):
            strides.append(product)
            product *= d
        return "[" + ", ".join(map(str, reversed(strides))) + "]"

    def launch(self, kernel, grid, block, shared, registers, duration):
        self.correlation += 1
        start = self.now
        self.now += self.random.randrange(3000, 6000)
        self.gpu = max(self.gpu + 500, self.now + 1000)
        yield self.event(
            '  {\n    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": %d, "tid": %d,\n'
            '    "ts": %s, "dur": %s,\n'
            '    "args": {\n      "External id": %d, "cbid": 211, "correlation": %d\n    }\n  }'
            % (PID, MAIN, microseconds(start), microseconds(self.now - start - 200), self.external, self.correlation))
        yield self.event(
            '  {\n    "ph": "s", "id": %d, "pid": %d, "tid": %d, "ts": %s,\n    "cat": "ac2g", "name": "ac2g"\n  }'
            % (self.correlation, PID, MAIN, microseconds(start)))
        yield self.event(
            '  {\n    "ph": "X", "cat": "kernel", "name": "%s", "pid": 0, "tid": 7,\n    "ts": %s, "dur": %s,\n'
            '    "args": {\n      "External id": %d, "queued": 0, "device": 0, "context": 1,\n'
            '      "stream": 7, "correlation": %d,\n      "registers per thread": %d,\n      "shared memory": %d,\n'
            '      "blocks per SM": %f,\n      "warps per SM": %f,\n'
            '      "grid": [%d, %d, %d],\n      "block": [%d, %d, %d],\n'
            '      "est. achieved occupancy %%": %d\n    }\n  }'
            % (kernel, microseconds(self.gpu), microseconds(duration), self.external, self.correlation, registers,
               shared, grid[0] * grid[1] * grid[2] / 132, grid[0] * grid[1] * grid[2] * block[0] / 32 / 132,
               *grid, *block, self.random.randrange(101)))
        yield self.event(
            '  {\n    "ph": "f", "id": %d, "pid": 0, "tid": 7, "ts": %s,\n'
            '    "cat": "ac2g", "name": "ac2g", "bp": "e"\n  }'
            % (self.correlation, microseconds(self.gpu)))
        self.gpu += duration

    def step(self, number):
        r = self.random
        begin = self.now
        batch, length = r.randrange(1, 65), r.randrange(1, 8192)
        hidden, heads, wide = 4096, 32, 14336
        for layer in range(32):
            tokens = batch * (length if number % 16 == 0 else 1)
            m, n, k = r.choice((64, 128, 256)), r.choice((32, 64, 128, 256)), r.choice((16, 32, 64))
            for name, dims, types, concrete, kernel in (
                ("aten::linear", [[tokens, hidden], [hidden * 3, hidden], []], ["c10::BFloat16"] * 2 + [""],
                 ["", "", ""], None),
                ("aten::mm", [[tokens, hidden], [hidden, hidden * 3]], ["c10::BFloat16"] * 2, ["", ""],
                 "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize%dx%dx%d_warpgroupsize1x1x1_execute_segment_k_off_"
                 "kernel__5x_cublas"
                 % (m, n, k)),
                ("flash_attn::_flash_attn_varlen_forward",
                 [[tokens, heads, 128], [batch * (length + layer), 8, 128], [batch * (length + layer), 8, 128],
                  [batch + 1], []],
                 ["c10::BFloat16"] * 3 + ["int", "Scalar"], ["", "", "", "", str(length + number)],
                 "void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, %d, %d, %d, false, false, "
                 "cutlass::bfloat16_t, Flash_kernel_traits<128, %d, %d, %d, cutlass::bfloat16_t> >, true, false, "
                 "false, false, %s, true, false>(flash::Flash_fwd_params)"
                 % (m, n, k, m, n, k, r.choice(("true", "false")))),
                ("_C::rms_norm", [[tokens, hidden], [tokens, hidden], [hidden], []], ["c10::BFloat16"] * 3 + ["Scalar"],
                 ["", "", "", "1e-05"],
                 "void vllm::rms_norm_kernel<c10::BFloat16, %d>(c10::BFloat16*, c10::BFloat16 const*, c10::BFloat16 "
                 "const*, float, int, int)" % r.choice((4, 8, 16))),
                ("aten::slice", [[batch * length, hidden], [], [], [], []], ["c10::BFloat16"] + ["Scalar"] * 4,
                 ["", "0", str(layer * batch), str(tokens + layer), "1"], None),
                ("triton_poi_fused_add_mul_silu_%d" % (layer * 7 + number % 50), [[tokens, wide], [tokens, wide], []],
                 ["c10::BFloat16"] * 2 + ["Scalar"], ["", "", str(tokens * wide)],
                 "triton_poi_fused_add_mul_silu_%d" % (layer * 7 + number % 50)),
                ("aten::copy_", [[tokens, hidden // 8], [tokens, hidden // 8], []],
                 ["c10::BFloat16", "float", "Scalar"], ["", "", "False"],
                 "void at::native::elementwise_kernel<128, 4, "
                 "at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::"
                 "{lambda()#3}::operator()() const::{lambda()#%d}::operator()() const::{lambda(float)#1}>"
                 "(at::TensorIteratorBase&, "
                 "at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() "
                 "const::{lambda()#%d}::operator()() const::{lambda(float)#1} const&)::{lambda(int)#1}>(int, "
                 "at::native::gpu_kernel_impl_nocast)" % (layer % 12, layer % 12)),
            ):
                yield self.op(name, dims, types, concrete, r.randrange(5000, 30000))
                self.now += r.randrange(500, 2500)
                if kernel:
                    grid = (max(1, tokens // m) * r.choice((1, 1, 2)), max(1, hidden // n), r.choice((1, 1, 1, batch)))
                    yield from self.launch(kernel, grid, (r.choice((128, 256, 384)), 1, 1),
                                           r.choice((0, 0, 49152, 166912)), r.choice((32, 40, 96, 168, 255)),
                                           r.randrange(1500, 90000))
        self.external += 1
        yield self.event(
            '  {\n    "ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d", "pid": %d, "tid": %d,\n'
            '    "ts": %s, "dur": %s,\n'
            '    "args": {\n      "External id": %d,"Record function id": 0, "Ev Idx": %d\n    }\n  }'
            % (number, PID, MAIN, microseconds(begin), microseconds(self.now - begin), self.external, self.index))
        self.now += 20000

    def metadata(self):
        for thread in (MAIN, BACKWARD):
            yield self.event('  {\n    "name": "thread_name", "ph": "M", "ts": %s, "pid": %d, "tid": %d,\n'
                             '    "args": {\n      "name": "thread %d (python)"\n    }\n  }'
                             % (microseconds(self.now), PID, thread, thread))


def write_distinct(out, size, seed):
    trace = Distinct(seed)
    out.write(HEADER)
    written, number = len(HEADER), 0
    while written < size:
        text = "".join(trace.step(number))
        out.write(text)
        written += len(text)
        number += 1
    out.write("".join(trace.metadata()))
    out.write(FOOTER)


IDS = ("External id", "external id", "correlation", "Sequence number", "Ev Idx", "Record function id", "Python id",
       "Python parent id", "id", "wait_on_cuda_event_record_corr_id")
SLOT = re.compile(r'"(?:(ts|external ts)|(%s))": *(\d+)(\.\d+)?' % "|".join(IDS))


def write_repeat(out, size, text):
    start = text.index("[", text.index('"traceEvents"'))
    end = json.JSONDecoder().raw_decode(text, start)[1] - 1
    start += 1
    events = text[start:end].strip().rstrip(",")
    pieces, slots, first, last, ids = [], [], None, 0, 0
    position = 0
    for match in SLOT.finditer(events):
        digits = match.start(3)
        pieces.append(events[position:digits])
        position = match.end()
        number = int(match.group(3))
        if match.group(1):
            fraction = match.group(4) or ""
            slots.append((0, number, fraction))
            first = number if first is None else min(first, number)
            last = max(last, number)
        else:
            slots.append((1, number, match.group(4) or ""))
            if number < 1 << 40:
                ids = max(ids, number)
    rest = events[position:]
    period = last - first + 1000
    out.write(text[:start])
    written, copy = 0, 0
    while written < size:
        step = (copy * period, copy * (ids + 1))
        parts = ["" if copy == 0 else ",\n  "]
        for piece, (kind, number, fraction) in zip(pieces, slots):
            parts.append(piece)
            parts.append("%d%s" % (number + (step[kind] if number or not kind else 0), fraction))
        parts.append(rest)
        block = "".join(parts)
        out.write(block)
        written += len(block)
        copy += 1
    out.write(text[end:])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=("repeat", "distinct"))
    parser.add_argument("out")
    parser.add_argument("--from", dest="source")
    parser.add_argument("--megabytes", type=float, default=500)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    opener = gzip.open if options.out.endswith(".gz") else open
    size = int(options.megabytes * 1000000)
    with opener(options.out, "wt", encoding="utf-8", newline="") as out:
        if options.kind == "distinct":
            write_distinct(out, size, options.seed)
            return
        if options.source:
            reader = gzip.open if options.source.endswith(".gz") else open
            with reader(options.source, "rt", encoding="utf-8", newline="") as trace:
                text = trace.read()
        else:
            small = io.StringIO()
            write_distinct(small, 2000000, options.seed)
            text = small.getvalue()
        write_repeat(out, size, text)


if __name__ == "__main__":
    main()
