"""A rank of a distributed job (torchrun, gloo): a model under DistributedDataParallel, and an all_reduce of its own."""

import torch
import torch.distributed as dist

state = {}


def run():
    if not state:
        torch.manual_seed(0)
        torch.set_num_threads(1)
        dist.init_process_group("gloo")
        model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
        state["model"] = torch.nn.parallel.DistributedDataParallel(model)
        state["optimizer"] = torch.optim.SGD(model.parameters(), 0.01)
        state["x"] = torch.randn(6, 8) + dist.get_rank()
    for _ in range(3):
        loss = state["model"](state["x"]).square().mean()
        loss.backward()
        state["optimizer"].step()
        state["optimizer"].zero_grad()
        loss = loss.detach()
        dist.all_reduce(loss)
    dist.barrier()
