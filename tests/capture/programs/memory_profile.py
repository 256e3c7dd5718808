"""A small network whose most memory is in use in the backward pass; PATH: under torch.profiler, whose trace is written
there, and what its memory profile says is printed as JSON: {"categories": {category: bytes} of that moment, "tensors":
[[address, time_ns, bytes, [[shape, dtype] of each tensor that ops had in it]] of each allocation]}."""

import json
import sys
import warnings

import without_dynamo  # noqa: F401
import torch
from torch import nn


def prepare():
    torch.manual_seed(0)
    network = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
                            nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 16 * 16, 10))
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1, momentum=0.9, foreach=False)
    criterion = nn.CrossEntropyLoss()

    def step():
        images, labels = torch.randn(32, 3, 16, 16), torch.randint(0, 10, (32,))  # the inputs
        optimizer.zero_grad()
        loss = criterion(network(images), labels)
        loss.backward()
        optimizer.step()

    return step


def tensors_of_allocations(tree):
    """It follows tensors by the addresses of their inputs and by the number of the allocation there."""
    from torch._C._profiler import _EventType, _TensorMetadata

    allocations, tensors = {}, {}
    for event in tree.dfs():
        kind, fields = event.typed
        if kind == _EventType.Allocation and fields.alloc_size > 0:
            allocations[fields.allocation_id] = [fields.ptr, event.start_time_ns, fields.alloc_size]
        for value in fields.inputs if kind == _EventType.TorchOp else ():
            for tensor in value if isinstance(value, list) else [value]:
                if isinstance(tensor, _TensorMetadata) and tensor.allocation_id is not None:
                    seen = tensors.setdefault(tensor.allocation_id, [])
                    own = [list(tensor.sizes), str(tensor.dtype).replace("torch.", "")]
                    if own not in seen:
                        seen.append(own)
    return [allocation + [tensors.get(number, [])] for number, allocation in allocations.items()]


def profiled(path):
    from torch.profiler import ProfilerActivity, profile
    from torch.profiler._memory_profiler import _CATEGORY_TO_INDEX, MemoryProfileTimeline

    step = prepare()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True, record_shapes=True,
                 with_stack=True) as profiler:
        for _ in range(4):
            step()
    memory_profile = profiler._memory_profile()
    _, sizes = MemoryProfileTimeline(memory_profile)._coalesce_timeline("cpu")
    most = max(sizes, key=sum)
    names = [str(category).replace("Category.", "").lower() for category in _CATEGORY_TO_INDEX]
    print(json.dumps({"categories": dict(zip(names, most[1:])),
                      "tensors": tensors_of_allocations(memory_profile._op_tree)}))
    profiler.export_chrome_trace(path)


def main():
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    if sys.argv[1:]:
        profiled(sys.argv[1])
        return
    step = prepare()
    for _ in range(8):
        step()


main()
