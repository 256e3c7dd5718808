"""Ranges of asyncio's tasks overlap on their thread: each has its row, with its own duration, however many are open."""

import json

import capturing

# Each task tells of each of its ranges by a name of its own: when it had not begun and had begun, was about to end and
# had ended. The second lot are all open at the same time.
PROGRAM = """
import asyncio, json, sys, time, torch
from torch.autograd.profiler import record_function
torch.set_num_threads(1)
told = {}
async def request(number, times, wait):
    for k in range(times):
        name = "request %d %d" % (number, k)
        before = time.monotonic_ns()
        with record_function(name):
            begun = time.monotonic_ns()
            y = torch.ones(4) + 1
            await wait()
            y = y.mul(2)
            ending = time.monotonic_ns()
        told[name] = (before, begun, ending, time.monotonic_ns())
async def main():
    await asyncio.gather(*(request(i, 40, lambda i=i: asyncio.sleep(0.0005 * (i % 7))) for i in range(30)))
    everybody = asyncio.Event()
    tasks = [asyncio.create_task(request(1000 + i, 1, everybody.wait)) for i in range(5000)]
    await asyncio.sleep(0)
    everybody.set()
    await asyncio.gather(*tasks)
asyncio.run(main())
json.dump(told, sys.stdout)
"""


def test_tasks():
    with capturing.Directory() as directory:
        out, errors = capturing.run(directory, ["-c", PROGRAM], ops="all")
        told = json.loads(out)
        assert len(told) == 6200, (len(told), errors)
        rows = capturing.query(directory, "SELECT name, dur_ns, self_ns FROM ops WHERE name LIKE 'request %'")
        assert {row["name"] for row in rows} == set(told) and len(rows) == len(told), (len(rows), len(told))
        for row in rows:
            before, begun, ending, ended = told[row["name"]]
            length = int(row["dur_ns"])
            assert ending - begun <= length <= ended - before, (row, told[row["name"]])
            assert row["self_ns"] is None or 0 <= int(row["self_ns"]) <= length, row
        for name in ("aten::ones", "aten::add", "aten::mul"):
            (row,) = capturing.query(directory, "SELECT count(*) AS count FROM ops WHERE name = '%s'" % name)
            assert int(row["count"]) == 6200, (name, row)
        crossing = capturing.query(directory, """SELECT count(*) AS count, sum(is_crossing) AS crossing FROM ranges
            WHERE name GLOB 'request [1-9]??? 0'""")  # fmt: skip
        assert crossing == [{"count": 5000, "crossing": 5000}], crossing  # each ends after the next has begun
        lost = capturing.query(directory, "SELECT message, count FROM diagnostics WHERE reason = 'capture_dropped'")
        assert not lost, lost


if __name__ == "__main__":
    capturing.main(globals())
