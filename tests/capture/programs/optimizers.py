"""Trains in many ways, each in a child of its own, and prints of each: its name, its process, how many iterations."""

import itertools
import os
import sys
from concurrent.futures import ThreadPoolExecutor

import without_dynamo  # noqa: F401
import torch


def model(outputs=1):
    return torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU(), torch.nn.Linear(4, outputs))


def adam(module):
    return torch.optim.Adam(module.parameters())


def update(optimizer, loss):
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(optimizer.param_groups[0]["params"], 1.0)
    optimizer.step()


def gan(iterations=40, steps_of_critic=1):
    generator, critic = model(8), model()
    of_generator, of_critic = adam(generator), adam(critic)
    for _ in range(iterations):
        for _ in range(steps_of_critic):
            fake = generator(torch.rand(4, 8))
            update(of_critic, critic(fake.detach()).mean() - critic(torch.rand(4, 8)).mean())
        update(of_generator, -critic(fake).mean())
    return iterations * steps_of_critic


def critic():
    return gan(6, 5)


def parameters():
    """An optimizer for each, which step within the backward pass."""
    module = model()
    for parameter in module.parameters():
        optimizer = torch.optim.SGD([parameter], 0.1)
        parameter.register_post_accumulate_grad_hook(lambda _, own=optimizer: own.step())
    for _ in range(12):
        module(torch.rand(4, 8)).sum().backward()
    return 12


def scaler():
    """Gradients overflow in three iterations, the first among them."""
    module = model()
    optimizer, scale = torch.optim.SGD(module.parameters(), 0.01), torch.amp.GradScaler("cpu", init_scale=1024.0)
    for i in range(12):
        optimizer.zero_grad()
        scale.scale(module(torch.rand(4, 8)).sum() * (float("inf") if i in (0, 4, 5) else 1)).backward()
        scale.step(optimizer)
        scale.update()
    return 12


def turns():
    """An optimizer for every other batch."""
    modules = model(), model()
    optimizers = [adam(module) for module in modules]
    for i, batch in enumerate(torch.utils.data.DataLoader(torch.rand(48, 8), batch_size=4)):
        update(optimizers[i % 2], modules[i % 2](batch).sum())
    return 12


def threads():
    module = model()
    optimizer, pools = adam(module), (ThreadPoolExecutor(1), ThreadPoolExecutor(1))
    for i in range(12):
        pools[i % 2].submit(lambda: update(optimizer, module(torch.rand(4, 8)).sum())).result()
    return 12


def trials():
    """One model after the other, and gradients of two batches for each step."""
    for _ in range(3):
        module = model()
        optimizer = adam(module)
        for _ in range(4):
            update(optimizer, module(torch.rand(4, 8)).sum() + module(torch.rand(4, 8)).sum())
    return 12


def closures():
    module, batch = model(), torch.rand(4, 8)
    optimizer = torch.optim.LBFGS(itertools.chain(module.parameters()), max_iter=3)

    def closure():
        optimizer.zero_grad()
        loss = module(batch).pow(2).sum()
        loss.backward()
        return loss

    for _ in range(6):
        optimizer.step(closure)
    return 6


torch.set_num_threads(1)
for kind in (gan, critic, parameters, scaler, turns, threads, trials, closures):
    child = os.fork()
    if child == 0:
        print(kind.__name__, os.getpid(), kind())
        sys.stdout.flush()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
