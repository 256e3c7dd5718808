"""A small training program of what PyTorch has had since 1.12: convolutions, a DataLoader with a worker, autograd,
Adam, a user's range. It prints what a recording of it has to hold: optimizer steps, parameters, the line of the forward
pass.
"""

import json

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

STEPS = 40


class Images(Dataset):
    def __len__(self):
        return 4 * STEPS

    def __getitem__(self, number):
        return torch.rand(3, 16, 16) + number % 3, number % 3


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 14 * 14, 3))
    optimizer = torch.optim.Adam(model.parameters())
    for images, labels in DataLoader(Images(), batch_size=4, num_workers=1):
        with torch.autograd.profiler.record_function("forward"):
            loss = nn.functional.cross_entropy(model(images), labels)  # the line of the forward pass
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    with open(__file__) as file:
        (line,) = [number for number, text in enumerate(file, 1) if "# the " in text and "(text)" not in text]
    print(json.dumps({"steps": STEPS, "parameters": sum(p.numel() for p in model.parameters()), "line": line}))


if __name__ == "__main__":
    main()
