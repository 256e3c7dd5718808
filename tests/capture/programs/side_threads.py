"""Four threads of the program's own run ops at the same time, one after another and again."""

import threading

import torch
from torch.profiler import record_function


def work(number):
    weight = torch.ones(number + 1, 4, requires_grad=True)
    for turn in range(50):
        with record_function("thread %d" % number):
            (weight * turn).sum().backward()
            weight.grad = None


def run():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    for round in range(3):
        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    work(9)
