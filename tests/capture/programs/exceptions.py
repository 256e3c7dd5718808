"""Exceptions that leave ops and ranges: in Python inside a range, in an operator, in a backward function; ranges that
overlap.
"""

import torch
from torch.profiler import record_function


class Failing(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return x * 2

    @staticmethod
    def backward(context, gradient):
        torch.ones(3) + torch.ones(3)
        raise ValueError("backward fails")


def raised():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    x = torch.ones(2, 3, requires_grad=True)
    for number in range(3):
        try:
            with record_function("outer %d" % number):
                with record_function("inner"):
                    x + 1
                    raise KeyError("in a range")
        except KeyError:
            pass
        try:
            torch.mm(torch.ones(2, 3), torch.ones(2, 3))
        except RuntimeError:
            pass
        try:
            Failing.apply(x).sum().backward()
        except ValueError:
            pass
        x.sum().backward()


def run():
    raised()
    first, second = record_function("first"), record_function("second")
    first.__enter__()
    torch.ones(1)
    second.__enter__()
    torch.ones(2)
    first.__exit__(None, None, None)
    torch.ones(3)
    second.__exit__(None, None, None)
    torch.ones(4)

    def items():
        with record_function("generator"):
            yield torch.ones(5)

    held = items()
    next(held)
    torch.ones(6)
    del held
