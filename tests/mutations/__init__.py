"""Changed copies of the files that tfprof reads, as a forger could write them: parts are changed where they begin and
end, and lengths and checksums are right again.

    mutate(data, random)        a changed copy of a dump, a trace or memory timeline (JSON), a pickle, one of
                                TensorFlow's files (bytes or text) or a checkpoint, whichever it is, gzip or not

The same `random.Random` gives the same copy.  One module for each format has what is needed to make files of one's own.
"""

import gzip

from mutations import checkpoints, dumps, messages, pickles, traces

BIGGEST = 1 << 20  # a copy that has grown beyond it is made anew


def kind_of(data):
    if data.startswith(dumps.MAGIC):
        return dumps.mutate
    if data[:1] == b"\x80" and data[1:2] in b"\x02\x03\x04\x05":
        return pickles.mutate
    if data.endswith(checkpoints.MAGIC):
        return checkpoints.mutate
    if data.lstrip()[:1] in (b"{", b"["):
        return traces.mutate
    start = data[:4000]
    is_text = not any(byte < 9 for byte in start) and b": " in start
    return messages.mutate_text if is_text else messages.mutate


def mutate(data, random):
    if data.startswith(b"\x1f\x8b"):
        inner = gzip.decompress(data)
        return gzip.compress(kind_of(inner)(inner, random), random.choice((1, 9)), mtime=0)
    for _ in range(20):
        changed = kind_of(data)(data, random)
        if len(changed) <= BIGGEST:
            return changed
    return changed[:BIGGEST]
