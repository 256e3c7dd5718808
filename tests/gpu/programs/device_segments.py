"""device_segments.py: pieces that are given and taken back on two devices at random, as far as the doubles go
(site-packages/cuda_device.py), with segments given back to the driver and one that no allocator has. It prints what
its allocators counted after each event, by time: [device, in use, reserved, largest hole]."""

import json
import random

import without_dynamo  # noqa: F401
import torch

from cuda_device import Memory

MIB = 1 << 20


def main():
    weight = torch.ones(8, requires_grad=True)
    optimizer = torch.optim.SGD([weight], 0.01)
    drawn = random.Random(5)
    memories, told = (Memory(0, 300 * MIB), Memory(1, 300 * MIB)), []
    memories[0].take_for_itself(33 * MIB)
    pieces = [[], []]
    for _ in range(20):
        optimizer.zero_grad()
        for _ in range(40):
            number = drawn.randrange(2)
            memory, its = memories[number], pieces[number]
            if drawn.random() < 0.55:
                try:
                    its.append(memory.allocate(512 * drawn.randrange(1, 40000)))
                except MemoryError:
                    pass
            elif its:
                memory.release(its.pop(drawn.randrange(len(its))))
            else:
                continue
            told.append([number, memory.in_use, memory.reserved, max(memory.holes.values(), default=0)])
        memories[drawn.randrange(2)].give_back()
        (weight * 2).sum().backward()
        optimizer.step()
    print(json.dumps({"events": told, "segments": [memory.segments for memory in memories]}), flush=True)


main()
