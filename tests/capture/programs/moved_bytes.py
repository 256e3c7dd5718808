"""A training step whose ops are recorded, and what they are given and return, in bytes, by a dispatch mode of PyTorch.

    moved_bytes.py TRACE    writes a trace of torch.profiler; prints what ops read and wrote in that step, and in one
                            named `counted`
"""

import collections
import json
import sys

import torch
from torch.profiler import ProfilerActivity, profile, record_function
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class Moved(TorchDispatchMode):
    """Inputs and outputs of every op, by its name without the underscore at the end."""

    def __init__(self):
        super().__init__()
        self.read, self.written = collections.Counter(), collections.Counter()

    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        result = function(*arguments, **(named or {}))
        name = "aten::" + function._schema.name.split("::")[1]
        for values, sums in ((arguments, self.read), (result, self.written)):
            sums[name] += sum(one.nbytes for one in tree_leaves(values) if isinstance(one, torch.Tensor))
        return result


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.grouped = torch.nn.Conv2d(8, 12, (3, 5), groups=4, bias=False)
        self.norm = torch.nn.BatchNorm2d(12)
        self.embedding = torch.nn.Embedding(50, 36)
        self.layer_norm = torch.nn.LayerNorm(36)
        self.head = torch.nn.Linear(36, 5)

    def forward(self, images, words):
        hidden = torch.nn.functional.gelu(self.norm(self.grouped(torch.relu(self.first(images)))))
        pooled = hidden.flatten(2).mean(2).repeat(1, 3)
        mixed = self.layer_norm(pooled * self.embedding(words) + 0.5)
        scores = torch.bmm(mixed[:, None].contiguous(), mixed[:, :, None].contiguous())
        halves = torch.where(mixed > 0, mixed, -mixed).to(torch.bfloat16) * 2
        return torch.log_softmax(self.head(mixed.tanh()) + scores[:, 0] + halves.sum().float(), 1)


def step(network, images, words):
    loss = network(images, words)[:, 1].sum()
    loss.backward()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(parameter.grad, alpha=-0.1)
            parameter.grad.zero_()


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    network, images, words = Network(), torch.rand(4, 3, 20, 30), torch.randint(50, (4,))
    step(network, images, words)
    traced, counted = Moved(), Moved()
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler, traced:
        step(network, images, words)
    profiler.export_chrome_trace(sys.argv[1])
    with record_function("counted"), counted:
        step(network, images, words)
    print(json.dumps([{"read": moved.read, "written": moved.written} for moved in (traced, counted)]))


if __name__ == "__main__":
    main()
