"""The programs that python_lines.py measures: training loops whose time passes in Python.

  python tests/bench/python_lines_program.py data|augmentation|tokenizer SECONDS

Lines that run operations of PyTorch end with a comment that says so.  Where it is recorded it prints how much processor
time the recorder's thread took meanwhile, in percent of the time that passed.
"""

import os
import random
import re
import sys
import time

import torch


def parse(line):
    key, *values = line.split(",")
    return key, [float(value) for value in values]


def normalize(values):
    largest = max(abs(value) for value in values)
    return [value / largest for value in values]


def prepare_data():
    lines = ["%d," % n + ",".join("%.3f" % random.gauss(0, 1) for _ in range(24)) for n in range(300)]
    random.shuffle(lines)
    rows = {}
    for line in lines:
        key, values = parse(line)
        rows[int(key)] = normalize(values)
    ordered = sorted(rows, key=lambda key: (sum(rows[key]), key))
    total = 0.0
    for key in ordered:
        for value in rows[key]:
            if value > 0.5:
                total += value * value
            else:
                total -= value
    return [total] * 16


def augment_image():
    width = 48
    image = [[random.random() for _ in range(width)] for _ in range(width)]
    flipped = [list(reversed(row)) for row in image]
    blurred = []
    for y in range(1, width - 1):
        row = []
        for x in range(1, width - 1):
            around = image[y - 1][x] + image[y + 1][x] + image[y][x - 1] + image[y][x + 1]
            row.append(0.5 * flipped[y][x] + 0.125 * around)
        blurred.append(row)
    sums = [sum(row) for row in zip(*blurred)]
    time.sleep(0.001)
    return sums[:16]


WORDS = re.compile(r"[a-z]+|[0-9]+|[^a-z0-9 ]")
vocabulary = {}


def pairs_of(symbols):
    return {(symbols[i], symbols[i + 1]) for i in range(len(symbols) - 1)}


def rank_of(pair):
    return len(pair[0]) * 31 + ord(pair[1][0])


def merge(word):
    symbols = list(word)
    while len(symbols) > 2:
        first = min(pairs_of(symbols), key=rank_of)
        i, merged = 0, []
        while i < len(symbols):
            if i + 1 < len(symbols) and (symbols[i], symbols[i + 1]) == first:
                merged.append(symbols[i] + symbols[i + 1])
                i += 2
            else:
                merged.append(symbols[i])
                i += 1
        if len(merged) == len(symbols):
            break
        symbols = merged
    return symbols


def tokenize():
    letters = "abcdefghijklmnopqrst"
    text = " ".join("".join(random.choices(letters, k=7)) + ("!" if n % 5 else "12") for n in range(80))
    numbers = []
    for word in WORDS.findall(text.lower()):
        for symbol in merge(word):
            numbers.append(vocabulary.setdefault(symbol, len(vocabulary)))
    return [float(number % 97) for number in numbers[:16]]


def recorder_ns():
    for task in os.listdir("/proc/self/task"):
        with open("/proc/self/task/%s/comm" % task, encoding="utf-8") as file:
            name = file.read().strip()
        if name == "tfprof-writer":
            with open("/proc/self/task/%s/schedstat" % task, encoding="ascii") as file:
                return int(file.read().split()[0])
    return None


def main():
    make = {"data": prepare_data, "augmentation": augment_image, "tokenizer": tokenize}[sys.argv[1]]
    torch.set_num_threads(1)
    random.seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    begin, used = time.monotonic(), recorder_ns()
    while time.monotonic() < begin + float(sys.argv[2]):
        inputs = make()
        model(torch.tensor([inputs])).sum().backward()  # operations
        optimizer.step()  # operations
        optimizer.zero_grad()  # operations
    if used is not None:
        print((recorder_ns() - used) * 1e-7 / (time.monotonic() - begin))


main()
