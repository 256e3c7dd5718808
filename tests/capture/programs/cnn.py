"""A small convolutional network: forward, backward, SGD with momentum, batch normalisation, channels_last, lists of
tensors (foreach).
"""

import without_dynamo  # noqa: F401
import torch
from torch import nn


def run():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Dropout(0.1),
        nn.Linear(16, 10),
    ).to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, foreach=True)
    for step in range(4):
        images = torch.randn(4, 3, 16, 16).to(memory_format=torch.channels_last)
        labels = torch.randint(0, 10, (4,))
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        loss.item()
    mixed = [
        images.half(),
        images.bfloat16(),
        images.to(torch.complex64),
        images > 0,
        images.long(),
        torch.empty(0, 3),
        torch.ones(()),
    ]
    for tensor in mixed:
        torch.cat([tensor.reshape(-1), tensor.reshape(-1)]).sum()
    images.to_sparse() + images.to_sparse()
    images[torch.tensor([0, 1])]
    torch.einsum("ij,kj->ik", torch.ones(2, 3), torch.ones(4, 3))
    torch._foreach_add([torch.ones(1)] * 40, 1.0)
    torch.zeros(1, 2, 1, 2, 1, 2, 1).sum()
    torch.empty([1] * 35)
