"""What the processes of data loaders do for a batch belongs to the step that waited for it: input_stages against a
program that tells of each of its batches which process made it, with as many epochs, processes that stay or begin anew,
and samples that take differently long.
"""

import collections
import json

import capturing
from capturing import query

PROGRAM = """
import json, os, torch

class Samples(torch.utils.data.Dataset):
    def __len__(self):
        return 60
    def __getitem__(self, i):
        x = torch.rand(64, 64)
        for _ in range(200 if i %% 7 == 0 else 2):  # some batches take far longer
            x = x @ x / 32
        return x.sum(), os.getpid()

def main():
    torch.set_num_threads(1)
    weight = torch.nn.Parameter(torch.zeros(()))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    told = []
    for workers, stays in %r:
        loader = torch.utils.data.DataLoader(Samples(), batch_size=4, num_workers=workers, persistent_workers=stays)
        for epoch in range(2):
            for x, pids in loader:
                optimizer.zero_grad()
                (x.mean() * weight).backward()
                optimizer.step()
                assert len(set(pids.tolist())) == 1
                told.append(int(pids[0]) if workers else None)
    print(json.dumps(told))

if __name__ == "__main__":
    main()
"""


def check(loaders):
    with capturing.Directory() as directory:
        out, _ = capturing.run(directory, ["-c", PROGRAM % (loaders,)])
        told = json.loads(out)
        steps = query(directory, "SELECT id, number FROM steps WHERE is_warmup = 0 ORDER BY number")
        stages = collections.defaultdict(dict)
        for row in query(directory, "SELECT * FROM input_stages"):
            # The call that ends an epoch is one more.
            assert row["count"] <= 1 + row["name"].endswith("__next__") and 0 <= row["self_ns"] <= row["sum_ns"], row
            stages[row["step_id"]][row["name"].rsplit(".", 1)[-1]] = row
        own = query(directory, "SELECT file, function FROM code_frames WHERE file GLOB '<_tfprof*'")
        assert own == [], own  # the recorder stands around what loaders do, and is no part of the program's stacks
        first = len(told) - len(steps)  # those before are warm-up
        assert first >= 0 and len(steps) > 40, (len(told), len(steps))
        for place, step in enumerate(steps):
            mine, pid = stages[step["id"]], told[first + place]
            assert set(mine) == {"__next__", "fetch", "collate"}, (step, mine)
            assert mine["fetch"]["worker_pid"] == mine["collate"]["worker_pid"] == pid, (step, mine, pid)
            assert mine["collate"]["sum_ns"] <= mine["fetch"]["sum_ns"], mine
            if pid is None:  # in the step's own waiting
                assert mine["fetch"]["sum_ns"] <= mine["__next__"]["sum_ns"], mine
            else:
                assert mine["fetch"]["ready_ns"] >= 0, mine
        print("%s: the processes of %d batches" % (loaders, len(steps)))


def main():
    capturing.need_torch()
    check([(0, False), (3, False), (2, True)])


main()
