"""Seven steps of a small network, one layer of it frozen, and one of the same shape beside it that only looks on."""

import recorder
import tfprof
import torch
import without_dynamo  # noqa: F401
from torch import nn


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(12, 8), nn.ReLU(), nn.Linear(8, 8))
        self.head = nn.Linear(8, 3)
        self.encoder[0].weight.requires_grad_(False)

    def forward(self, values):
        hidden = self.encoder(values)
        hidden = hidden + hidden.relu()
        return self.head(hidden) + self.head(hidden.neg())


class Observer(Network):
    pass


class Scale(nn.Module):
    """Its weights are those of a part that it never calls, and a single number."""

    def __init__(self):
        super().__init__()
        self.part = nn.Linear(3, 3, bias=False)
        self.factor = nn.Parameter(torch.ones(()))

    def forward(self, values):
        return nn.functional.linear(values, self.part.weight) * self.factor


def main():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    network, other, scale = Network(), Observer(), Scale()
    optimizer = torch.optim.SGD([p for p in network.parameters() if p.requires_grad], lr=0.1)
    for number in range(7):
        tfprof.step(number)
        values = torch.ones(5, 12)
        with tfprof.range("looking on"), torch.no_grad():
            scale(other(values))
        loss = network(values).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if number == 0:
            recorder.know_modules()
    return network, other, scale


if __name__ == "__main__":
    models = main()  # those that live at the end are known, however busy the machine is
