"""device_memory.py MODE: a training loop that keeps pieces of known size of cuda:0 from known lines until there are no
more, as far as the doubles go (site-packages/cuda_device.py); it tells what its allocator counts, and then

  fails   dies of the exception
  killed  is killed at once, as by a scheduler that sees another rank fail
"""

import json
import os
import signal
import sys

import without_dynamo  # noqa: F401
import torch

from cuda_device import Memory

MIB = 1 << 20
memory, other = Memory(0, 80 * MIB), Memory(1, 80 * MIB)


class Layer(torch.autograd.Function):
    @staticmethod
    def forward(context, value, size):
        context.piece = memory.allocate(size)  # the line of the activations
        return value * 2

    @staticmethod
    def backward(context, gradient):
        memory.release(context.piece)
        return gradient * 2, None


def keep_weights():
    return [memory.allocate(3 * MIB) for _ in range(3)]  # the line of the weights


def keep_history(count):
    return [memory.allocate(5 * MIB) for _ in range(count)]  # the line of the history


def main():
    weight = torch.ones(8, requires_grad=True)
    optimizer = torch.optim.SGD([weight], 0.01)
    kept = [keep_weights()]
    for _ in range(6):
        optimizer.zero_grad()
        Layer.apply(Layer.apply(weight, 4 * MIB), 2 * MIB).sum().backward()
        optimizer.step()
    kept.append(other.allocate(7 * MIB))  # the line of the other device
    hole = memory.allocate(8 * MIB)  # the line of the hole
    kept.append(keep_history(5))
    output = Layer.apply(weight, 4 * MIB)
    memory.release(hole)
    counts = {name: getattr(memory, name) for name in ("in_use", "reserved", "peak", "reserved_peak")}
    print(json.dumps(dict(counts, largest=max(memory.holes.values()))), flush=True)
    try:
        Layer.apply(output, 64 * MIB)  # the line that fails
    except MemoryError:
        if sys.argv[1] == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        raise


main()
