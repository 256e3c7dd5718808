"""A training program that keeps its own log: `stepping.py LOG ENDING SECONDS [PAUSE]`.

After each optimizer step it appends the step's number and the time (ns since 1970) to LOG, with one write.  After
SECONDS it ends in the way that ENDING says: exit, status, exception, os_exit, abort, segv, or never (until somebody
kills it).  PAUSE is how long it sleeps after each step.
"""

import os
import sys
import time

import torch

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "capture", "within"))
import without_dynamo  # noqa: E402,F401

log = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
ending, seconds = sys.argv[2], float(sys.argv[3])
pause = float(sys.argv[4]) if len(sys.argv) > 4 else 0.002
torch.manual_seed(0)
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
images = torch.randn(8, 16)
end, step = time.monotonic() + seconds, 0
while ending == "never" or time.monotonic() < end:
    loss = model(images).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    os.write(log, b"%d %d\n" % (step, time.time_ns()))
    step += 1
    time.sleep(pause)
print("trained", step, "steps", flush=True)
if ending == "status":
    sys.exit(3)
elif ending == "exception":
    raise ValueError("as wanted")
elif ending == "os_exit":
    os._exit(4)
elif ending == "abort":
    os.abort()
elif ending == "segv":
    import ctypes

    ctypes.string_at(0)
