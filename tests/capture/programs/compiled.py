"""A step of a model that torch.compile has compiled for the CPU, forward and backward."""

import torch

state = {}


def run(backend="inductor"):
    if not state:
        torch.manual_seed(0)
        torch.set_num_threads(1)
        model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 4))
        state["optimizer"] = torch.optim.SGD(model.parameters(), 0.01)
        state["model"] = torch.compile(model, backend=backend)
        state["x"] = torch.randn(6, 8)
    for _ in range(3):
        state["model"](state["x"]).square().mean().backward()
        state["optimizer"].step()
        state["optimizer"].zero_grad()


def aot_eager():
    """The same in parts of the graph that PyTorch itself runs, which takes no compiler of C++."""
    run("aot_eager")
