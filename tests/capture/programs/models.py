"""Models of all sorts, and what is in them: for each, {name: [shape, dtype, trainable, device, number]} of its
parameters as named_parameters() says, printed as JSON. The range "counted" is a step of the first one whose floating
point operations, by module, are printed too.
"""

import json
import sys

import without_dynamo  # noqa: F401
import torch
from torch import nn
from torch.profiler import record_function


kept = []  # what lives to the end is known at the end, however short the program is


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)
        self.project = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        y = self.norm(x)
        x = x + self.attention(y, y, y)[0]
        return x + self.project(x)


class Language(nn.Module):
    """Embedding and head share their weight; a part is frozen, a part is in half precision and used by nobody."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(50, 32)
        self.blocks = nn.ModuleList(Block(32) for _ in range(2))
        self.head = nn.Linear(32, 50, bias=False)
        self.head.weight = self.embedding.weight
        self.scale = nn.Parameter(torch.ones(()))
        self.frozen = nn.Linear(32, 32).requires_grad_(False)
        self.unused = nn.Linear(3, 3).to(torch.bfloat16)
        self.somewhere = nn.Linear(4, 5, device="meta")
        self.steps = nn.Parameter(torch.zeros(7, dtype=torch.int64), requires_grad=False)

    def forward(self, tokens):
        x = self.embedding(tokens) * self.scale
        for block in self.blocks:
            x = block(x)
        return self.head(self.frozen(x))


class Generator(nn.Sequential):
    pass


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.LazyLinear(6), nn.ReLU(), nn.LazyLinear(1))
        self.layers_again = self.layers  # one module under two names

    def forward(self, x):
        return self.layers_again(x)


def told(*models):
    result = {}
    for prefix, model in models:
        for name, parameter in model.named_parameters():
            result[prefix + name] = [
                "x".join(map(str, parameter.shape)) or None,
                str(parameter.dtype).split(".")[1],
                int(parameter.requires_grad),
                str(parameter.device),
                parameter.numel(),
            ]
    return result


def language():
    model = Language()
    kept.append(model)
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad and p.device.type == "cpu"], lr=0.01)

    def step():
        tokens = torch.randint(0, 50, (2, 12))
        loss = nn.CrossEntropyLoss()(model(tokens).view(-1, 50), tokens.view(-1))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    for _ in range(30):
        step()
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        step()
    with record_function("counted"):
        step()
    counts = {name: sum(ops.values()) for name, ops in counter.get_flop_counts().items()}
    return model, counts


def adversaries():
    generator, discriminator = Generator(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 5)), Discriminator()
    kept.extend((generator, discriminator))
    for _ in range(200):
        discriminator(generator(torch.randn(3, 4))).sum().backward()
    return generator, discriminator


def grown():
    """A model that gets another layer while it runs."""
    model = nn.Sequential(nn.Linear(5, 5))
    kept.append(model)
    for step in range(400):
        if step == 200:
            model.append(nn.Linear(5, 2))
        model(torch.randn(2, 5)).sum().backward()
    return model


class Fleeting(nn.Module):
    def forward(self, x):
        return x + 1


def short_lived():
    """A thousand models, one after the other, many at the address of another, as later are those of other classes."""
    for number in range(1000):
        models = [Fleeting() for _ in range(number % 30 + 1)]
        for model in models:
            model(torch.ones(3, 3))


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    short_lived() if "short_lived" in sys.argv else None
    model, counts = language()
    generator, discriminator = adversaries()
    growing = grown()
    print(
        json.dumps(
            {
                "parameters": told(
                    ("", model), ("Generator.", generator), ("Discriminator.", discriminator), ("Sequential.", growing)
                ),
                "counts": counts,
            }
        )
    )


if __name__ == "__main__":
    main()
