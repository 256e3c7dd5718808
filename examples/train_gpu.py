"""Trains the transformer of train_transformer.py on a GPU where there is one, on the CPU where not.

    tfprof-capture -o run -- python examples/train_gpu.py
    tfprof-capture -o run -- python examples/train_gpu.py --mode small     so small that the host cannot keep up
    tfprof-capture -o run -- python examples/train_gpu.py --mode graph     the same, each step launched as a CUDA graph
    tfprof-capture -o run -- python examples/train_gpu.py --mode compile   torch.compile
    ... --float32                                                          without tensor cores
    ... --pageable                                                         batches that are not in pinned memory

Nothing here knows of tfprof.
"""
import argparse
import os
import sys
import time

import torch
from torch import nn

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from train_transformer import Transformer, counting_batch  # noqa: E402

VOCABULARY = 64


def settings(mode, device):
    """(width, layers, length, batch size); a CPU gets what it finishes in seconds."""
    if device == "cpu":
        return 64, 2, 32, 8
    return (64, 3, 32, 8) if mode in ("small", "graph") else (1024, 8, 256, 32)


def graphed(step, example):
    """The step recorded as a CUDA graph, as torch.cuda.graphs has it: a warm-up on a stream of its own before."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            step(example)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step(example)

    def replay(batch):
        example.copy_(batch, non_blocking=True)
        graph.replay()
        return loss
    return replay


def parse(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mode", choices=["eager", "small", "graph", "compile"], default="eager")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--float32", action="store_true")
    parser.add_argument("--pageable", action="store_true")
    return parser.parse_args(arguments)


def prepare(options, device):
    """A function that trains one step and returns its loss, which lies on the device."""
    width, layers, length, batch_size = settings(options.mode, device)

    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    model = Transformer(VOCABULARY, width, 4, layers, length).to(device)
    run = torch.compile(model) if options.mode == "compile" else model
    has_graph = options.mode == "graph" and device == "cuda"
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, capturable=has_graph)

    def step(batch):
        optimizer.zero_grad(set_to_none=not has_graph)
        with torch.autocast(device, dtype=torch.bfloat16, enabled=not options.float32 and device == "cuda"):
            logits = run(batch[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1).float(), batch[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        return loss.detach()

    def next_batch():
        batch = counting_batch(generator, batch_size, length, VOCABULARY)
        return batch if options.pageable or device == "cpu" else batch.pin_memory()

    if has_graph:
        step = graphed(step, next_batch().to(device))
    return lambda: step(next_batch().to(device, non_blocking=True)).clone()


def main():
    options = parse()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    train_step = prepare(options, device)
    times, losses = [], []
    for number in range(options.steps):
        begin = time.perf_counter()
        losses.append(train_step())
        if number % 20 == 19:
            print(f"step {number + 1:3d}  loss {losses[-1].item():.3f}")  # .item() waits for the device
        times.append(time.perf_counter() - begin)
    if device == "cuda":
        torch.cuda.synchronize()
    print(f"{options.mode} on {device}: {options.steps} steps, median {1e3 * sorted(times)[len(times) // 2]:.2f} ms, "
          f"last loss {losses[-1].item():.3f}")


if __name__ == "__main__":
    main()
