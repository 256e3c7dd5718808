"""Trains until a file appears, and says what the first losses were: steps_until.py FILE [PROCESSES]

With PROCESSES so many are forked, each of which trains; the first one does not, but to have what training needs.
"""

import os
import sys
import time

import torch

FIRST = 10
stop, processes = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0
torch.set_num_threads(1)
torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(4, 8)


def train():
    losses = []
    while not os.path.exists(stop) or len(losses) < FIRST:
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        time.sleep(0.004)
    return losses


if processes:
    children = []
    for _ in range(processes):
        pid = os.fork()
        if not pid:
            train()
            os._exit(0)
        children.append(pid)
    print(all(os.waitpid(pid, 0)[1] == 0 for pid in children))
else:
    print(train()[:FIRST])
