"""Trains, runs threads, code that comes and goes, and forks; its models have entries that are no modules.

While it does, allocations of the recorder fail more and more often, where short_memory.c is loaded. Prints what does
not depend on that.
"""

import ctypes
import os
import sys
import threading

import torch

RATES = (1000, 100, 20, 7, 3, 2, 1)


class Odd:
    """What says no to whatever it is asked."""

    def __getattr__(self, name):
        raise RuntimeError("nobody should ask for %s" % name)

    def __hash__(self):
        raise RuntimeError("nobody should ask for a hash")

    __slots__ = ("value",)


def short(number):
    with torch.autograd.profiler.record_function("range %d" % number):
        torch.ones(2) + number


def call_fresh_code(number):
    names = {}
    exec(compile("def f(x): return x + 1", "<fresh %d>" % number, "exec"), names)
    names["f"](torch.ones(2))


def train(model, optimizer, number):
    optimizer.zero_grad()
    loss = model(torch.ones(4, 8)).sum()
    loss.backward()
    optimizer.step()
    if number % 5 == 0:
        thread = threading.Thread(target=short, args=(number,), name="short %d" % number)
        thread.start()
        thread.join()
        call_fresh_code(number)
        model.add_module("more", torch.nn.Linear(8, 8))
    if number % 20 == 0:
        child = os.fork()
        if child == 0:
            torch.ones(3) + 1
            os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    return float(loss.detach())


def main():
    torch.set_num_threads(1)
    torch.manual_seed(1)
    programs = ctypes.CDLL(None)
    model = torch.nn.Sequential(*[torch.nn.Linear(8, 8) for _ in range(4)])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    print("%.6f" % train(model, optimizer, 1))  # the model is known, and looked at again at the end
    model[0]._modules.update(note=5, odd=Odd(), text="text")
    model[1]._parameters.update(odd_weight=Odd(), number=7)
    for rate in RATES:
        if "fail" in sys.argv:
            programs.fail_one_in(rate)
        for number in range(20):
            print("%.6f" % train(model, optimizer, number))
    if hasattr(programs, "failed_allocations"):
        print("failed: %d" % programs.failed_allocations(), file=sys.stderr)


if __name__ == "__main__":
    main()
