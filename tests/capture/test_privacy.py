"""What is private in a recording stands in a page of it, and in none that is made with --redact.

A program leaves a word of its own in each place that a recording can have one from; the pages are unpacked and
searched.
"""

import base64
import os
import re
import subprocess
import zlib

import capturing

PROGRAM = """
import linecache, sys, threading
import torch
def login(token="AWordOfADefault"): return torch.ones(2)
login() + len("AWordOfALine")
def work():
    for _ in range(20):
        torch.ones(2) + 1
thread = threading.Thread(target=work, name="AWordOfAThread alice")
thread.start()
thread.join()
text = "torch.ones(3) * len('AWordOfACell')\\n"
linecache.cache["/tmp/ipykernel_71/1003.py"] = (len(text), None, [text], "/tmp/ipykernel_71/1003.py")
exec(compile(text, "/tmp/ipykernel_71/1003.py", "exec"))
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
try:
    import nvtx
except ImportError:
    nvtx = None
for step in range(6):
    with torch.profiler.record_function("AWordOfARange bob@example.com %d" % (step % 2)):
        with torch.profiler.record_function("forward"):
            loss = model(torch.randn(3, 4)).sum()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if nvtx:
        nvtx.mark("AWordOfAMark", domain="AWordOfADomain", category="AWordOfACategory", payload=5)
        with nvtx.annotate("AWordOfNvtx", domain="AWordOfADomain", category="AWordOfACategory", payload=7):
            torch.ones(3) + 2
print(nvtx is not None)
"""
WORD = re.compile(r"AWordOf[A-Za-z]*")
# Of a mark and of the command of the run no panel tells; a key is not even in the recording.
SHOWN = {"AWordOfADefault", "AWordOfALine", "AWordOfAThread", "AWordOfACell", "AWordOfARange", "AWordOfAFolder",
         "AWordOfAJob", "AWordOfACommand"}
SHOWN_OF_NVTX = {"AWordOfADomain", "AWordOfACategory", "AWordOfNvtx"}


def page(run, *options):
    """(what is in it, what was said)."""
    path = os.path.join(os.path.dirname(run), "page.html")
    done = subprocess.run([os.path.join(capturing.BUILD, "tfprof"), "report", run, "-o", path, *options],
                          capture_output=True, text=True, check=True)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    packed = re.findall(r'<script type="text/plain" id="[^"]*">([^<]*)</script>', text)
    assert len(packed) > 5, text[:300]
    parts = [zlib.decompress(base64.b64decode(part)).decode("latin-1") for part in packed]
    return "\n".join([text, *parts]), done.stderr


def test_eight_places():
    with capturing.Directory() as directory:
        folder = os.path.join(directory, "AWordOfAFolder")
        os.mkdir(folder)
        with open(os.path.join(folder, "program.py"), "w") as file:
            file.write(PROGRAM)
        run = os.path.join(directory, "run")
        command = ["sh", "-c", '"$0" program.py --note=AWordOfACommand --api-key AWordOfAKey', capturing.PYTHON,
                   "AWordOfTheRun"]
        out, _ = capturing.launch(run, command, ["--ops=all"], cwd=folder,
                                  environment=dict(os.environ, TORCHELASTIC_RUN_ID="AWordOfAJob"))
        has_nvtx = out.strip() == "True"
        rows = capturing.query(run, "SELECT (SELECT command FROM runs) AS run, host FROM profiles")
        assert "AWordOfTheRun" in rows[0]["run"] and "AWordOfAKey" not in rows[0]["run"], rows
        open_page, said = page(run)
        shown = set(WORD.findall(open_page))
        assert shown >= SHOWN | (SHOWN_OF_NVTX if has_nvtx else set()) and "AWordOfAKey" not in shown, shown
        assert rows[0]["host"] in open_page and "--redact leaves them out" in said, said
        closed_page, said = page(run, "--redact")
        assert not WORD.search(closed_page), WORD.findall(closed_page)
        for word in ("alice", "bob@example.com", directory):
            assert word not in closed_page, word
        assert "--redact" not in said, said
        assert '"range 2"' in closed_page and '"thread 1"' in closed_page and '["forward"' in closed_page


capturing.main(globals())
