"""Ops called from everywhere that Python code can be; writes to argv[1] the stack that Python itself tells for each, by
the size of its tensor.
"""

import asyncio
import functools
import json
import sys
import threading

import torch

told = {}
number = 0


def stack_of(frame):
    result = []
    while frame is not None:
        code = frame.f_code
        result.append((code.co_filename, frame.f_lineno, getattr(code, "co_qualname", code.co_name)))
        frame = frame.f_back
    return result[::-1]


lock = threading.Lock()


def new():
    global number
    with lock:
        number += 1
        return torch.zeros(number)


def note(tensor, frame, lines_on=0):
    """The stack of the op that follows, which is called so many lines further on."""
    stack = stack_of(frame)
    file, line, function = stack[-1]
    told[tensor.shape[0]] = stack[:-1] + [(file, line + lines_on, function)]


def here(tensor):
    _ = note(tensor, sys._getframe()) or tensor.neg()  # on one line, which both stacks name


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        here(new())
        return x * 2

    @staticmethod
    def backward(context, gradient):
        here(new())
        return gradient * 2


class Wrapped(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, arguments=(), keywords=None):
        with torch._C.DisableTorchFunctionSubclass():
            here(new())
            return function(*arguments, **(keywords or {}))


def recurse(depth):
    if depth:
        return recurse(depth - 1)
    here(new())


def numbers():
    for _ in range(3):
        here(new())
        yield
    yield from (here(new()) for _ in range(2))


def decorated(function):
    @functools.wraps(function)
    def around(*arguments):
        here(new())
        function(*arguments)
        return here(new())

    return around


@decorated
@decorated
def inside(tensor):
    here(tensor)


async def pause(turns):
    for _ in range(turns):
        here(new())
        await asyncio.sleep(0)


async def asynchronous():
    await asyncio.gather(pause(2), pause(3))
    here(new())
    return [here(new()) async for _ in several()]


async def several():
    for turn in range(2):
        await asyncio.sleep(0)
        here(new())
        yield turn


def on_several_lines():
    """The line of a call is the one that it begins on; of a method the one of its name."""
    tensor, other = new(), new()
    torch.neg(
        note(tensor, sys._getframe(), -1)
        or
        tensor
    )
    note(other, sys._getframe(), 4)
    (
        other
        .add(1)
        .neg(
        )
        .mul(2)
    )


class Own:
    @property
    def value(self):
        return here(new())

    @staticmethod
    def of_class():
        here(new())

    def __call__(self, tensor):
        here(tensor)


def main():
    here(new())
    here(new())
    inside(new())
    asyncio.run(asynchronous())
    on_several_lines()
    [here(new()) for _ in range(2)], {here(new()): 0 for _ in range(2)}, {here(new()) for _ in range(2)}
    _ = Own().value, Own.of_class(), Own()(new())
    functools.partial(here, new())()
    eval("here(new())")
    for depth in (1, 20, 300):
        recurse(depth)
    list(numbers())
    (lambda: here(new()))()
    sorted([3, 1, 2], key=lambda value: here(new()) or value)
    # Code objects that live for a moment, and whose addresses the next ones get.
    for turn in range(300):
        text = "def name_%d():\n%s    here(new())\nname_%d()\n" % (turn % 11, "\n" * (turn % 7), turn % 11)
        exec(compile(text, "made up %d" % (turn % 3), "exec"), {"here": here, "new": new})
    with torch.profiler.record_function("range"):
        here(new())
        recurse(2)
        with torch.profiler.record_function("another"):
            here(new())
    x = torch.ones(2, requires_grad=True)
    for _ in range(2):
        y = Twice.apply(x).sum()
        y.register_hook(lambda gradient: here(new()))
        y.backward()
    library = torch.library.Library("tfprof_stacks", "FRAGMENT")
    library.define("python(Tensor x) -> Tensor")

    def implementation(tensor):
        here(new())
        return tensor + 1

    library.impl("python", implementation, "CPU")
    torch.ops.tfprof_stacks.python(torch.ones(1))
    torch.ones(1).as_subclass(Wrapped).exp()
    threads = [threading.Thread(target=recurse, args=(depth,)) for depth in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.setrecursionlimit(5000)
    recurse(700)
    del told[number]  # deeper than what is kept: looked at by itself
    print(number)
    with open(sys.argv[1], "w") as file:
        json.dump(told, file)


main()
