"""Training loops of several kinds, which tell on stdout what they were at and when: one line "phase begin end" for
each, in nanoseconds of CLOCK_MONOTONIC. Usage: phases.py KIND... Each runs in a process of its own, which begins what
it tells by a line with its kind and one with its number.
"""

import contextlib
import os
import sys
import time

import torch
import without_dynamo  # noqa: F401
from torch import nn
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset

lines = []
WIDTH, BATCH = 16, 8


@contextlib.contextmanager
def at(phase):
    begin = time.monotonic_ns()
    yield
    lines.append("%s %d %d" % (phase, begin, time.monotonic_ns()))


def network():
    return nn.Sequential(nn.Linear(WIDTH, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 4))


def batches(count):
    return DataLoader(TensorDataset(torch.randn(count * BATCH, WIDTH), torch.randint(4, (count * BATCH,))), BATCH)


def fetch(loader):
    """next() of an iterator, told as input; None at the end."""
    begin = time.monotonic_ns()
    batch = next(loader, None)
    lines.append("%s %d %d" % ("input" if batch else "end_of_input", begin, time.monotonic_ns()))
    return batch


def validate(model, loader, marks_modes):
    with at("evaluation"):
        if marks_modes:
            model.eval()
        with torch.no_grad():
            for inputs, _ in loader:
                model(inputs).argmax(1).float().mean().item()
        if marks_modes:
            model.train()


def passes(model, optimizer, inputs, targets):
    with at("forward"):
        loss = nn.functional.cross_entropy(model(inputs), targets)
    with at("backward"):
        loss.backward()
    return loss


def update(optimizer, model=None):
    with at("optimizer"):
        if model is not None:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    optimizer.zero_grad()


class OwnModes(nn.Sequential):
    """A model with modes of its own, as those of transformers are."""

    def train(self, mode=True):
        return super().train(mode)

    def eval(self):
        return self.train(False)


def own_modes():
    """The same with a model that nobody calls torch.nn.Module.eval() for."""
    accumulate(OwnModes(network()))


def accumulate(model=None):
    """Two micro-batches a step, validation with marks, a checkpoint, and a new epoch after every four steps."""
    model, training, validation = model or network(), batches(8), batches(3)
    optimizer = torch.optim.AdamW(model.parameters())
    for epoch in range(3):
        with at("input"):
            loader = iter(training)
        number = 0
        while (batch := fetch(loader)) is not None:
            passes(model, optimizer, *batch)
            number += 1
            if number % 2 == 0:
                update(optimizer, model)
        validate(model, validation, True)
        torch.save(model.state_dict(), "/dev/null")


def unmarked():
    """Validation that nothing marks but that it runs without gradients; batches from a data loader."""
    model, validation = network(), batches(3)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    loader = iter(batches(8))
    for number in range(8):
        passes(model, optimizer, *fetch(loader))
        update(optimizer)
        if number % 3 == 2:
            validate(model, validation, False)


def closure():
    """All passes are called by the optimizer, as in Lightning."""
    model = network()
    optimizer = torch.optim.AdamW(model.parameters())
    loader = iter(batches(8))
    for _ in range(8):
        batch = fetch(loader)
        begin = time.monotonic_ns()

        def run():
            loss = nn.functional.cross_entropy(model(batch[0]), batch[1])
            lines.append("forward %d %d" % (begin, time.monotonic_ns()))
            optimizer.zero_grad()
            with at("backward"):
                loss.backward()
            return loss

        optimizer.step(run)


def sliced():
    """Four micro-batches a step, of slices of what is there: no data loader tells of them."""
    model, inputs, targets = network(), torch.randn(4 * BATCH, WIDTH), torch.randint(4, (4 * BATCH,))
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    for _ in range(12):
        for first in range(0, 4 * BATCH, BATCH):
            passes(model, optimizer, inputs[first : first + BATCH], targets[first : first + BATCH])
        update(optimizer)


def lbfgs():
    """An optimizer that calls its closure as often as it likes."""
    model, inputs, targets = network(), torch.randn(BATCH, WIDTH), torch.randint(4, (BATCH,))
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=5)

    def run():
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), targets)
        loss.backward()
        return loss

    for _ in range(12):
        optimizer.step(run)


def recompute(is_reentrant):
    """Half of the model is run again in the backward pass."""
    first, second = network(), nn.Linear(4, 4)
    first.register_forward_pre_hook(lambda module, inputs: begin.append(time.monotonic_ns()))
    first.register_forward_hook(lambda module, inputs, outputs: end.append(time.monotonic_ns()))
    optimizer = torch.optim.SGD(list(first.parameters()) + list(second.parameters()), 0.01)
    for _ in range(6):
        begin, end = [], []
        inputs = torch.randn(BATCH, WIDTH, requires_grad=True)
        with at("forward"):
            loss = second(checkpoint(first, inputs, use_reentrant=is_reentrant)).sum()
        with at("backward"):
            loss.backward()
        # The one that is not reentrant ends the forward pass by an exception once it has what it needs.
        lines.append("recomputation %d %d" % (begin[1], end[1] if len(end) > 1 else time.monotonic_ns()))
        update(optimizer)


def penalty():
    """Gradients of gradients: nothing is run again."""
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    for _ in range(6):
        inputs = torch.randn(BATCH, WIDTH, requires_grad=True)
        with at("forward"):
            score = model(inputs).sum()
        with at("backward"):
            (gradient,) = torch.autograd.grad(score, inputs, create_graph=True)
        with at("forward"):
            loss = score + gradient.norm()
        with at("backward"):
            loss.backward()
        update(optimizer)


def rollouts():
    """Actions are chosen without gradients, then what was learnt from them updates the policy: each step does that."""
    policy = network()
    optimizer = torch.optim.Adam(policy.parameters())
    for _ in range(6):
        with at("forward"):
            with torch.no_grad():
                states = [torch.randn(1, WIDTH)]
                for _ in range(4):
                    states.append(states[-1] + 0.01 * policy(states[-1]).argmax())
        passes(policy, optimizer, torch.cat(states), torch.randint(4, (5,)))
        update(optimizer)


def teacher():
    """A frozen model that runs without gradients for each batch is a part of the forward pass."""
    model, frozen = network(), network().eval()
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    loader = iter(batches(6))
    for _ in range(6):
        inputs, _ = fetch(loader)
        with at("forward"):
            with torch.no_grad():
                targets = frozen(inputs)
            loss = (model(inputs) - targets).square().mean()
        with at("backward"):
            loss.backward()
        update(optimizer)


KINDS = {
    "accumulate": accumulate,
    "own_modes": own_modes,
    "unmarked": unmarked,
    "closure": closure,
    "sliced": sliced,
    "lbfgs": lbfgs,
    "checkpoint": lambda: recompute(False),
    "reentrant": lambda: recompute(True),
    "penalty": penalty,
    "rollouts": rollouts,
    "teacher": teacher,
}

if __name__ == "__main__":
    torch.manual_seed(0)
    torch.set_num_threads(1)
    for kind in sys.argv[1:]:
        child = os.fork()
        if not child:
            KINDS[kind]()
            print(kind, os.getpid(), *lines, sep="\n", flush=True)
            os._exit(0)
        if os.waitpid(child, 0)[1]:
            sys.exit(1)
