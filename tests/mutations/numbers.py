"""Numbers at which programs break, and how to draw one."""

EDGES = [0, 1, 2, 3, 7, 8, 63, 64, 127, 128, 255, 256, 1000, 4095, 4096, 65535, 65536, 10**6, 2**24 - 1, 2**24,
         2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**35, 2**36 - 1, 2**36, 10**12, 2**53, 2**62 - 1, 2**62, 2**63 - 1]


def number(random, old=0):
    """One that may stand for `old`: at an edge, near to it, or far from it; of 64 bits, with a sign."""
    kind = random.randrange(6)
    if kind == 0:
        return max(-(2**63), -random.choice(EDGES))
    if kind == 1:
        return old + random.choice((-1, 1)) if abs(old) < 2**62 else old
    if kind == 2:
        return min(2**63 - 1, abs(old) * random.choice((2, 10, 1000)))
    if kind == 3:
        return random.getrandbits(random.randrange(1, 64))
    return random.choice(EDGES)


def length(random, most):
    """How often something is done: mostly a few times."""
    return min(most, int(2 ** random.uniform(0, 1 + random.randrange(most.bit_length()))))


def text(random):
    """A text that is hard on those who keep, split or print it."""
    kind = random.randrange(9)
    count = length(random, 20000)
    if kind == 0:
        return "/" * count
    if kind == 1:
        return "a/" * count
    if kind == 2:
        return "\x01\"\\" * count
    if kind == 3:
        return "é\u2028" * count
    if kind == 4:
        return "(" * count
    if kind == 5:
        return str(number(random))
    if kind == 6:
        return ""
    if kind == 7:
        return "aten::" + "a" * count
    return random.choice(("step", "ProfilerStep#%d" % random.randrange(10**9), "gradients/x",
                          "Optimizer.step#Adam.step", "ncclDevKernel_AllReduce",
                          "[memory]", "aten::mm", "inf", "nan", "1e999", "-0"))
