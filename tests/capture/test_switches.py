"""main_thread_* in counters: how often the main thread gave up its processor, as the program's own count has it, and
how long it waited for one.
"""

import json
import os

import capturing

SLEEPS = 300
PROGRAM = f"""
import json, resource, time, torch
before = resource.getrusage(resource.RUSAGE_THREAD)
for _ in range({SLEEPS}): time.sleep(0.001)
after = resource.getrusage(resource.RUSAGE_THREAD)
print(json.dumps([before.ru_nvcsw, after.ru_nvcsw, after.ru_nivcsw]))
torch.ones(2).sum()
"""


def last_values(directory):
    """The values at the end, after the program's own look; each counter only rises."""
    rows = capturing.query(
        directory, "SELECT name, value FROM counters WHERE name LIKE 'main\\_thread\\_%' ESCAPE '\\' ORDER BY time_ns")
    last = {}
    for row in rows:
        assert float(row["value"]) >= last.get(row["name"], 0), (row, rows)
        last[row["name"]] = float(row["value"])
    return last


def test_switches():
    with capturing.Directory() as directory:
        out, error = capturing.run(directory, ["-c", PROGRAM])
        assert "tfprof" not in error, error
        before, voluntary, involuntary = json.loads(out)
        assert voluntary >= before + SLEEPS, (before, voluntary)  # the program waited as often as it says
        last = last_values(directory)
        assert last["main_thread_voluntary_switches"] >= voluntary, (last, voluntary)
        assert last["main_thread_involuntary_switches"] >= involuntary, (last, involuntary)
        assert ("main_thread_wait_s" in last) == os.path.exists("/proc/self/schedstat"), last


capturing.main(globals())
