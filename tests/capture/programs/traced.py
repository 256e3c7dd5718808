"""Programs that torch.compile, torch.export, torch.jit and torch.fx look into: each by its name, with what they made of
it, as JSON.  With PROFILED=1 in the environment under a function that Python calls for each call.
"""

import gc
import io
import json
import os
import sys

import torch
from torch._dynamo import testing, utils
from torch.utils import checkpoint, data

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "capture", "python"))
import tfprof  # noqa: E402  (a recorded program finds the recorder's copy)

sys.path.pop()
TEXTS = ("graph_break", "unimplemented", "resumes")  # counters of PyTorch by these names: their keys are messages
programs = {}


def program(function):
    programs[function.__name__] = function
    return function


def small():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.5), torch.nn.Linear(4, 2))


@program
def modes_within(backend):
    """train() and eval() within a function that must be one graph."""
    model = small()

    def step(x):
        model.eval()
        value = model(x).detach().sum()
        model.train()
        return model(x).sum() + value

    step = torch.compile(step, backend=backend, fullgraph=True)
    return [step(torch.ones(2, 4)).backward() for _ in range(3)], model.training


@program
def modes_between(backend):
    """Dropout switched: a graph for each mode."""
    model = small()
    compiled = torch.compile(model, backend=backend)
    shapes = []
    for mode in (True, False, True, False):
        compiled.train(mode)
        shapes.append(tuple(compiled(torch.ones(2, 4)).shape))
    return shapes, model.training


@program
def overridden_train(backend):
    class Frozen(torch.nn.Sequential):
        def train(self, mode=True):
            super().train(mode)
            self[0].eval()
            return self

    model = Frozen(torch.nn.Dropout(), torch.nn.Linear(4, 4))

    def step(x):
        model.train()
        return model(x)

    torch.compile(step, backend=backend, fullgraph=True)(torch.ones(2, 4))
    return model.training, model[0].training


@program
def ranges(backend):
    model = small()

    def step(x):
        with torch.profiler.record_function("forward"):
            x = model(x)
        with torch.autograd.profiler.record_function("loss"):
            return x.sum()

    return torch.compile(step, backend=backend, fullgraph=True)(torch.ones(2, 4)).shape


@program
def marks(backend):
    """The marks of tfprof: of no effect within what is compiled, as PyTorch's own."""
    model = small()

    @tfprof.range("decorated")
    def loss(x):
        return x.sum()

    def step(x):
        tfprof.step()
        with tfprof.range("forward"):
            x = model(x)
        with tfprof.Profile("evaluation"):
            x = x + 1
        tfprof.is_recording()
        tfprof.stop()
        tfprof.start()
        return loss(x)

    compiled = torch.compile(step, backend=backend, fullgraph=True)
    for _ in range(3):
        with tfprof.range("outside"):
            compiled(torch.ones(2, 4))


class Items(data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, place):
        return torch.full((4,), float(place))


@program
def loader(backend):
    """A loop over a loader around what is compiled, and within it."""
    model = small()
    batches = data.DataLoader(Items(), batch_size=4)
    step = torch.compile(lambda x: model(x).sum(), backend=backend)
    outside = [step(batch).shape for batch in batches]

    def epoch():
        total = torch.zeros(())
        for batch in batches:
            total = total + model(batch).sum() * 2
        return total

    return outside, torch.compile(epoch, backend=backend)().shape


@program
def checkpoints(backend):
    """torch.save ends a graph, and another begins."""
    model = small()

    def step(x):
        x = model(x) + 1
        torch.save(x.detach(), io.BytesIO())
        return x.sum() * 2

    step = torch.compile(step, backend=backend)
    for _ in range(2):
        step(torch.ones(2, 4)).backward()


@program
def optimizers(backend):
    model = small()
    optimizer = torch.optim.Adam(model.parameters(), 0.1)
    for _ in range(3):
        model(torch.ones(2, 4)).sum().backward()
        torch.compile(optimizer.step, backend=backend)()
        optimizer.zero_grad()


@program
def nested(backend):
    """Compiled functions that call compiled ones, with a backward pass and recomputation."""
    model = small()

    @torch.compile(backend=backend)
    def inner(x):
        return checkpoint.checkpoint(model, x, use_reentrant=False)

    @torch.compile(backend=backend)
    def outer(x):
        model.eval()
        return inner(x).sum() + inner(x + 1).sum()

    for _ in range(2):
        outer(torch.ones(2, 4)).backward()


@program
def shapes(backend):
    """A graph for one shape, then one for all, then one for each kind of number."""
    compiled = torch.compile(lambda x, y: (x * y).sum(), backend=backend)
    for size in (2, 3, 4, 5):
        compiled(torch.ones(size, 4), 2)
    compiled(torch.ones(2, 4), 3.5)
    compiled(torch.ones(2, 4, dtype=torch.float64), 3)


@program
def collections(backend):
    def step(x):
        x = x + 1
        gc.collect()
        return x * 2

    return torch.compile(step, backend=backend)(torch.ones(2)).tolist()


class Moded(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = small()

    def forward(self, x):
        self.inner.eval()
        return self.inner(x) + 1


@program
def exported(backend):
    texts = []
    for strict in (True, False):
        texts.append(torch.export.export(Moded(), (torch.ones(2, 4),), strict=strict).graph_module.code)
    return texts


@program
def explained(backend):
    def step(x, model=small()):
        model.train()
        x = model(x)
        print("", end="")
        model.eval()
        return model(x) if x.dim() == 1 else x

    found = torch._dynamo.explain(step)(torch.ones(2, 4))
    return found.graph_count, found.graph_break_count, found.op_count


@program
def scripted(backend):
    script = torch.jit.script(small())
    script.train(False)
    traced = torch.jit.trace(small().eval(), torch.ones(2, 4))
    symbolic = torch.fx.symbolic_trace(Moded())
    return str(script.graph), str(traced.graph), symbolic.code


if os.environ.get("PROFILED") == "1":
    sys.setprofile(lambda frame, event, argument: None)
results = {}
for name in sys.argv[2:] or programs:
    torch._dynamo.reset()
    utils.counters.clear()
    utils.guard_failures.clear()
    counter = testing.CompileCounterWithBackend(sys.argv[1])
    returned = repr(programs[name](counter))
    counts = {kind: dict(values) for kind, values in utils.counters.items() if values}
    for kind in TEXTS:
        counts[kind] = sum(counts.get(kind, {}).values())
    counts.update(frames=counter.frame_count, ops=counter.op_count, recompiles=len(utils.guard_failures))
    results[name] = {"returned": returned, "counts": counts}
print(json.dumps(results))
