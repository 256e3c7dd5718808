"""What torch.compile, torch.export, torch.jit and torch.fx make of a program is the same with the recorder and without:
graphs, breaks, recompilations, results, warnings, and the keys of compiled code in caches.
"""

import json
import os
import re
import tempfile

os.environ["WHOLE_TORCH"] = "1"  # see within/sitecustomize.py
import capturing
import bounded

PROGRAM = os.path.join(capturing.PROGRAMS, "traced.py")

CACHED = """
import json, torch
from torch._dynamo.utils import counters
model = torch.nn.Sequential(torch.nn.Linear(4, 4, bias=False), torch.nn.Dropout(0.5))
@torch.compile
def step(x):
    model.eval()
    x = model(x)
    model.train()
    return x  # of one product: nothing is to be compiled by a compiler of C++
with torch.no_grad():
    step(torch.ones(2, 4))
print(json.dumps({kind: {name: count for name, count in counters[kind].items() if "cache" in name}
                  for kind in ("inductor", "aot_autograd")}))
"""


def last_line(out):
    return json.loads(out.splitlines()[-1])


def warnings(error):
    """Without times and numbers of processes, and without the launcher's last words."""
    lines = [re.sub(r"^([WE]\d{4}) [\d:.]+ \d+ ", r"\1 ", line) for line in error.splitlines()]
    return [line for line in lines if not line.startswith("tfprof: ")]


def plain(arguments, **variables):
    result = bounded.run([capturing.PYTHON] + arguments, capturing.SECONDS, env=dict(os.environ, **variables))
    assert not result.returncode, result.stderr
    return result.stdout, result.stderr


def launched(options, arguments, **variables):
    with capturing.Directory() as directory:
        command = [capturing.PYTHON] + arguments
        return capturing.launch(directory, command, options, environment=dict(os.environ, **variables))


def test_programs():
    arguments = [PROGRAM, "aot_eager"]
    out, error = plain(arguments)
    expected = last_line(out)
    assert expected["modes_within"]["counts"]["graph_break"] == 0, expected
    assert expected["checkpoints"]["counts"]["graph_break"] > 0 and len(expected) >= 10, expected
    for options in (["-q"], ["-q", "--ops=all", "--python=calls"]):
        found_out, found_error = launched(options, arguments)
        found = last_line(found_out)
        others = [name for name in expected if found[name] != expected[name]]
        if others and "--python=calls" in options:  # the first releases of CPython 3.11 change them under any profiler
            out, _ = plain([*arguments, *others], PROFILED="1")
            expected = {**expected, **last_line(out)}
        for name, result in expected.items():
            assert found[name] == result, (options, name, found[name], result)
        assert warnings(found_error) == warnings(error), (options, found_error, error)


def test_caches():
    """Code that was compiled without the recorder is found with it."""
    with tempfile.TemporaryDirectory() as cache:
        variables = {"TORCHINDUCTOR_CACHE_DIR": cache}
        made = last_line(plain(["-c", CACHED], **variables)[0])
        found = last_line(launched(["-q"], ["-c", CACHED], **variables)[0])
        assert made["inductor"].get("fxgraph_cache_miss") == 1, made
        assert found["inductor"] == {"fxgraph_cache_hit": 1}, (made, found)
        assert not any(name.endswith("_miss") for name in found["aot_autograd"]), (made, found)


if __name__ == "__main__":
    capturing.main(globals())
