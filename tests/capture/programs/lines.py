"""Trains a small model in the ways of WAYS, for test_lines.py: lines that cost end with a mark, # ways: number of ops.

The packages that it needs, stand-ins for a trainer and a library of models, are written beside it by the test.
"""

import sys

import torch
import torch.nn.functional as F
import without_dynamo  # noqa: F401
from torch.utils.checkpoint import checkpoint

STEPS = 12


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.01, foreach=False)


class Net(torch.nn.Module):
    def __init__(self, wrap=lambda function, x: function(x)):
        super().__init__()
        self.a, self.b, self.wrap = torch.nn.Linear(8, 16), torch.nn.Linear(16, 1), wrap

    def inner(self, x):
        return self.a(x).tanh()  # LINE inner

    def forward(self, x):
        h = self.wrap(self.inner, x)  # LINE call
        return self.b(h)  # LINE outer


def plain():
    model = Net()
    optimizer = sgd(model)
    for _ in range(STEPS):
        loss = model(torch.randn(4, 8)).square().sum()  # LINE loss
        loss.backward()  # LINE backward
        optimizer.step()  # LINE optimizer
        optimizer.zero_grad()


def one_line():
    m = Net()
    opt = sgd(m)
    for _ in range(STEPS):
        loss = m.b(m.a(torch.randn(4, 8))).sum(); loss.backward(); opt.step(); opt.zero_grad()  # noqa: E702  LINE all


def trainer():
    import trainkit

    trainkit.Trainer(modelkit_model(), sgd).train(STEPS)  # LINE train


def trainer_of_own_model():
    import trainkit

    trainkit.Trainer(Net(), sgd).train(STEPS)  # LINE train_own


def modelkit_model():
    import modelkit

    return modelkit.Block(8)


def again(use_reentrant):
    model = Net(lambda function, x: checkpoint(function, x, use_reentrant=use_reentrant))  # LINE checkpoint
    optimizer = sgd(model)
    for _ in range(STEPS):
        loss = model(torch.randn(4, 8, requires_grad=True)).sum()
        loss.backward()  # LINE backward_again
        optimizer.step()
        optimizer.zero_grad()


def reentrant():
    again(True)


def not_reentrant():
    again(False)


class Own(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        context.save_for_backward(x)
        return x.exp()  # LINE own_forward

    @staticmethod
    def backward(context, gradient):
        (x,) = context.saved_tensors
        return gradient * x.exp()  # LINE own_backward


def own_function():
    import modelkit

    model = Net()
    optimizer = sgd(model)
    for _ in range(STEPS):
        h = model(torch.randn(4, 8))
        h = Own.apply(h)  # LINE own
        h = modelkit.Scaled.apply(h)  # LINE library_function
        h.register_hook(lambda gradient: gradient.clamp(-1, 1))  # LINE hook
        h.sum().backward()
        optimizer.step()
        optimizer.zero_grad()


def gradients():
    model = Net()
    optimizer = sgd(model)
    for _ in range(STEPS):
        x = torch.randn(4, 8, requires_grad=True)
        y = model(x)
        (slope,) = torch.autograd.grad(y.sum(), x, create_graph=True)  # LINE grad
        penalty = slope.square().sum()  # LINE penalty
        penalty.backward()
        optimizer.step()
        optimizer.zero_grad()


def compiled():
    model = Net()
    fast = torch.compile(model, backend="aot_eager")
    optimizer = sgd(model)
    for _ in range(STEPS):
        out = fast(torch.randn(4, 8))  # LINE compiled
        out.sum().backward()
        optimizer.step()
        optimizer.zero_grad()


def generated():
    names = {"torch": torch}
    exec("def f(x):\n    return x.tanh()\n", names)
    inductor = "/tmp/torchinductor_somebody/ab/cab.py"
    exec(compile("def g(x):\n    return x.exp()\n", inductor, "exec"), names)
    graph = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.Sigmoid()))
    model = Net()
    optimizer = sgd(model)
    for _ in range(STEPS):
        h = model(torch.randn(4, 8))
        h = names["f"](h)  # LINE string
        h = names["g"](h)  # LINE inductor
        h = graph(h)  # LINE graph
        h.sum().backward()
        optimizer.step()
        optimizer.zero_grad()


CELLS = (
    "model = torch.nn.Linear(8, 1)\noptimizer = sgd(model)\n",
    "def step():\n    loss = model(torch.randn(4, 8)).sum()\n    loss.backward()\n    optimizer.step()\n",
    "for _ in range(STEPS):\n    step()\n",
    "total = sum(parameter.sum() for parameter in model.parameters())\n",  # the program ends right behind it
)


def notebook():
    import IPython

    for cell in CELLS:
        IPython.get_ipython().run_cell(cell, globals())


if __name__ == "__main__":
    torch.manual_seed(0)
    torch.set_num_threads(1)
    globals()[sys.argv[1]]()
