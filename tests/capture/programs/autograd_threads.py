"""Backward passes that run Python: custom functions, hooks, checkpointing, a custom operator, double backward,
reentrant backward.
"""

import torch
from torch.utils.checkpoint import checkpoint


class Square(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        context.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(context, gradient):
        (x,) = context.saved_tensors
        return 2 * x * gradient


class Reentrant(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        with torch.enable_grad():
            context.inner = x.detach().requires_grad_()
            context.result = (context.inner**2).sum()
        return context.result.detach()

    @staticmethod
    def backward(context, gradient):
        context.result.backward()
        return context.inner.grad * gradient


def run():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    library = torch.library.Library("tfprof_test", "FRAGMENT")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x + x, "CPU")
    x = torch.randn(3, 4, requires_grad=True)
    layer = torch.nn.Linear(4, 4)
    x.register_hook(lambda gradient: gradient * 1.5)
    for step in range(4):
        y = checkpoint(lambda value: torch.relu(layer(value)), Square.apply(x), use_reentrant=bool(step % 2))
        (y.sum() + Reentrant.apply(x)).backward()
        (gradient,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
        gradient.sum().backward()
        torch.ops.tfprof_test.twice(x.detach())
        x.grad = None
    script = torch.jit.trace(lambda value: (value * 2).relu() + 1, torch.ones(2))
    for _ in range(3):
        script(torch.ones(2))
    library._destroy()
