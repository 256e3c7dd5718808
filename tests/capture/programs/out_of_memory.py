"""out_of_memory.py MODE: keeps tensors of known size from known lines, then
  fails  asks for more than there is: the exception ends the program
  kill   allocates once more and is killed at once, as the kernel kills in need
"""

import os
import signal
import sys

import recorder
import torch


def keep_weights():
    return [torch.ones(1000, 256) for _ in range(3)]  # the line of the weights


def keep_history(count):
    history = []
    for number in range(count):
        history.append(torch.full((500, 1000), float(number)))  # the line of the history
    return history


def main():
    kept = keep_weights(), keep_history(20)
    dropped = torch.zeros(1000, 1000)
    del dropped
    if sys.argv[1] == "fails":
        torch.empty(2**50)  # the line that fails
    big = torch.zeros(64, 1024, 1024)  # the last line
    recorder.wait(0.05)
    os.kill(os.getpid(), signal.SIGKILL)
    print(kept, big)


main()
