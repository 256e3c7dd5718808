#!/usr/bin/env python3
"""Programs of PyTorch that use CUDA, as far as the doubles go: kernels belong to the ops that launched them, and the
program's own torch.profiler listens to CUDA when it wants to, while the recorder steps aside.

PyTorch itself runs on the CPU; what it would have launched is played within its ops (doubles/).
"""

import concurrent.futures
import os

import playing
from playing import capturing
from capturing import Directory

DEVICE = """
import ctypes, torch, without_dynamo
from cuda_device import cupti, cupti_library, launch, taken

class Launching(torch.autograd.Function):
    @staticmethod
    def forward(context, value):
        launch(2)
        return value * 2
    @staticmethod
    def backward(context, gradient):
        launch(3)
        return gradient * 2
"""

LINKS = DEVICE + """
weight = torch.ones(8, requires_grad=True)
optimizer = torch.optim.SGD([weight], 0.01)
for step in range(10):
    optimizer.zero_grad()
    with torch.profiler.record_function("forward part"):
        loss = Launching.apply(weight).sum()
    loss.backward()
    optimizer.step()
print("kernels=%d runtime=%d" % (taken[1], taken[0]))
"""

# Steps until the recorder has thinned what it records of the device, and as many again.
THINNED = DEVICE + """
import time
weight = torch.ones(8, requires_grad=True)
optimizer = torch.optim.SGD([weight], 0.01)
end, after = time.monotonic() + 120, 0
while after < 200 and time.monotonic() < end:
    optimizer.zero_grad()
    Launching.apply(weight).sum().backward()
    launch(20)
    optimizer.step()
    after += not cupti.is_on(5, 211) or after > 0  # in steps that measure what a launch takes calls are recorded
print("kernels=%d runtime=%d" % (taken[1], taken[0]))
"""

# In the place of Kineto, which has no CUDA here, before the recorder looks at it: it listens when it is enabled, makes
# CUPTI count the processor's ticks, and stays CUPTI's subscriber.
ASIDE = """
import ctypes, importlib.machinery, os, sys, threading, time

Complete = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)
unknown = []
complete = Complete(lambda _context, _stream, buffer, _size, _used: unknown.append(buffer))
numbering = ctypes.c_int(-1)

def prepare(config, activities):
    raise RuntimeError("it cannot be prepared")

def enable(config, activities):
    if config == "impossible":
        raise RuntimeError("it cannot be enabled")
    seen["subscribed"] = subscribe(ctypes.byref(handle), None, None)
    seen["latency"] = cupti.has_latency()
    cupti_library.cuptiGetThreadIdType(ctypes.byref(numbering))
    seen["threads"] = numbering.value
    seen["links"] = cupti.is_on(46, 0) or cupti.is_on(40, 0)
    if os.environ.get("DOUBLE_LATE") and seen["subscribed"] == 0:
        cupti_library.cuptiActivityRegisterCallbacks(None, complete)
        time.sleep(0.2)
        assert not unknown, unknown
    if ProfilerActivity.CUDA in activities:
        cupti.keep_ticks()  # and they stay

def disable():
    launch(5)
    if os.environ.get("TEARDOWN_CUPTI") and seen.get("subscribed") == 0:
        threading.Thread(target=tear_down).start()

def tear_down():  # some time later, in the next call of the driver, of which the program makes none
    time.sleep(1.2)
    assert not cupti.is_on(10, 0) and not cupti.is_on(2, 2)  # until then nobody begins anything
    at_end.value = ctypes.cast(cupti_library.cuptiFinalize, ctypes.c_void_p).value
    seen["torn_down"] = True

class Kineto:
    def find_spec(self, name, path=None, target=None):
        if name != "torch.autograd.profiler":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        run = spec.loader.exec_module

        def exec_module(module):
            run(module)
            module._prepare_profiler, module._enable_profiler = prepare, enable
            module._disable_profiler = disable

        spec.loader.exec_module = exec_module
        return spec

sys.meta_path.insert(0, Kineto())
""" + DEVICE + """
from torch.profiler import ProfilerActivity
from cuda_device import driver
at_end = ctypes.c_void_p.in_dll(driver, "double_cuda_at_end")
subscribe = cupti_library.cuptiSubscribe
subscribe.argtypes = [ctypes.c_void_p] * 3
handle = ctypes.c_void_p()
launch(10)
before = list(taken)
assert before == [10, 10] and cupti.has_latency(), before
assert subscribe(ctypes.byref(handle), None, None) == 39  # the recorder has it
import torch.autograd.profiler as profiler
seen = {}

def is_back():  # the recorder; where TEARDOWN_CUPTI is set it waits to see that CUPTI has no listener
    end = time.monotonic() + 60
    while not cupti.is_on(10, 0):
        assert time.monotonic() < end, "the recorder does not come back"
        time.sleep(0.01)

profiler._enable_profiler(None, {ProfilerActivity.CPU})
profiler._disable_profiler()
# It does not step aside for the CPU.
assert seen.pop("links") in (True, False)  # asked for by another thread
assert seen == {"subscribed": 39, "latency": True, "threads": 1} and taken == [15, 15], (seen, taken)
for failing, config in ((profiler._prepare_profiler, None), (profiler._enable_profiler, "impossible")):
    try:
        failing(config, {ProfilerActivity.CUDA})
        assert False, config
    except RuntimeError:
        is_back()
profiler._enable_profiler(None, {ProfilerActivity.CPU, ProfilerActivity.CUDA})
assert seen == {"subscribed": 0, "latency": False, "threads": 0, "links": False}, seen
launch(7)
try:
    profiler._enable_profiler("impossible", {ProfilerActivity.CUDA})  # within the other one, which goes on
except RuntimeError:
    launch(7)
profiler._disable_profiler()
assert taken == [15, 15], taken
while os.environ.get("TEARDOWN_CUPTI") and not (seen.get("torn_down") and cupti.is_on(10, 0)):
    time.sleep(0.05)
assert at_end.value is None, "it was not finalised before kernels were recorded again"
launch(20)
assert cupti.has_latency()
print("kernels=%d runtime=%d" % (taken[1], taken[0]))
"""


# Launches from threads of the program's own while an op runs on the main one: without any op, within a range, within
# ops of their own, and from a backward pass, each known by how many it launches in a step.
THREADS = DEVICE + """
import threading

def on_a_thread(function):
    thread = threading.Thread(target=function)
    thread.start()
    thread.join()

def in_a_range():
    with torch.profiler.record_function("prefetch"):
        launch(5)

class Handing(torch.autograd.Function):
    @staticmethod
    def forward(context, value):
        launch(1)
        on_a_thread(lambda: launch(4))
        on_a_thread(in_a_range)
        on_a_thread(lambda: Launching.apply(value))
        return value * 2
    @staticmethod
    def backward(context, gradient):
        launch(6)
        return gradient * 2

weight = torch.ones(8, requires_grad=True)
optimizer = torch.optim.SGD([weight], 0.01)
for step in range(10):
    optimizer.zero_grad()
    loss = Handing.apply(weight).sum()
    on_a_thread(loss.backward)
    optimizer.step()
print("kernels=%d runtime=%d" % (taken[1], taken[0]))
"""


# In the place of JAX and of Triton's proton, which have no CUDA here: modules of the same names, functions and states,
# that want CUPTI for themselves; one begins while the other listens, and one that is on is begun once more.
OTHERS = {
    "jax/__init__.py": "import jax._src.profiler as profiler",
    "jax/_src/__init__.py": "",
    "jax/_src/profiler.py": """
import types, listening
_profile_state = types.SimpleNamespace(profile_session=None)
def start_trace(log_dir):
    if _profile_state.profile_session:
        raise RuntimeError("Profile has already been started")
    _profile_state.profile_session = listening.begin()
def stop_trace():
    if not _profile_state.profile_session:
        raise RuntimeError("No profile started")
    _profile_state.profile_session = listening.end()
""",
    "triton/__init__.py": "",
    "triton/profiler/__init__.py": "",
    "triton/profiler/profile.py": """
import listening
sessions = []
def start(name=None):
    if name == "impossible":
        raise RuntimeError("no such backend")
    sessions.append(listening.begin() if not sessions else True)
    return len(sessions) - 1
def finalize(session=None):
    sessions[session:session + 1 if session is not None else None] = []
    if not sessions:
        listening.end()
""",
    "listening.py": """
import ctypes
from cuda_device import cupti_library
subscribe, handle = cupti_library.cuptiSubscribe, ctypes.c_void_p()
subscribe.argtypes, cupti_library.cuptiUnsubscribe.argtypes = [ctypes.c_void_p] * 3, [ctypes.c_void_p]
def begin():
    assert subscribe(ctypes.byref(handle), None, None) == 0  # 39: another one has it
    return True
def end():
    assert cupti_library.cuptiUnsubscribe(handle) == 0
""",
}
# JAX since 0.12, whose functions are built on a class that programs may use, too.
SESSIONS = """
import types, listening
_profile_state = types.SimpleNamespace(session=None)
class ProfileSession:
    def __init__(self, log_dir=None):
        self.log_dir = log_dir
    def start(self):
        if _profile_state.session:
            raise RuntimeError("Profile has already been started")
        if self.log_dir == "impossible":
            raise RuntimeError("no backend")
        listening.begin()
        _profile_state.session = self
    def stop(self):
        if _profile_state.session is not self:
            raise RuntimeError("No profile started")
        _profile_state.session = listening.end()
def start_trace(log_dir):
    ProfileSession(log_dir).start()
def stop_trace():
    if not _profile_state.session:
        raise RuntimeError("No profile started")
    _profile_state.session.stop()
"""
GIVING_WAY = """
from cuda_device import launch, taken
launch(10)
import jax
start, stop = jax.profiler.start_trace, jax.profiler.stop_trace
from triton.profiler import profile as proton
for failing in (stop, lambda: proton.sessions[0]):
    try:
        failing()
    except (RuntimeError, IndexError):
        launch(1)
assert taken == [12, 12], taken
start("there")
launch(5)
try:
    start("there")
except RuntimeError as error:
    import traceback
    frames = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
    assert [name for name in frames if name not in ("<tfprof>", "start")] == ["<module>", "start_trace"], frames
launch(5)
assert taken == [12, 12], taken
stop()
launch(20)
assert taken == [32, 32], taken
try:
    proton.start("impossible")
except RuntimeError:
    launch(3)
assert taken == [35, 35], taken
first, second = proton.start(), proton.start()
try:
    proton.start("impossible")
except RuntimeError:
    launch(5)
proton.finalize(first)
launch(5)
assert taken == [35, 35], taken
proton.finalize(0)
launch(17)
if hasattr(jax.profiler, "ProfileSession"):
    session, other = jax.profiler.ProfileSession(), jax.profiler.ProfileSession("impossible")
    session.start()
    for failing in (other.start, other.stop):
        try:
            failing()
        except RuntimeError:
            launch(5)
    session.stop()
    assert taken == [52, 52], taken
    launch(1)
    try:
        other.start()
    except RuntimeError:
        launch(1)
print("kernels=%d runtime=%d" % (taken[1], taken[0]))
"""


def play(directory, program, **settings):
    run = os.path.join(directory, "run")
    output, error = capturing.launch(run, [capturing.PYTHON, "-c", program], ["--ops=all"], 0,
                                     playing.environment_of_programs(**settings))
    (path,) = capturing.dumps(run)
    return run, playing.numbers(output), capturing.summary(path), error


def test_links():
    """Kernels know the op, range, step, line and forward op that launched them."""
    with Directory() as directory:
        run, taken, dump, _ = play(directory, LINKS)
        assert taken["kernels"] == 50 and dump["rows"]["kernels"] == 50, (taken, dump)
        rows = playing.query(run, """
            SELECT ops.name, count(*) AS count, count(DISTINCT kernels.step_id) AS steps,
                   sum(EXISTS (SELECT 1 FROM ranges WHERE ranges.name = 'forward part'
                               AND ranges.start_ns <= api_calls.start_ns
                               AND ranges.end_ns >= api_calls.end_ns)) AS within
            FROM kernels JOIN ops ON ops.id = kernels.op_id JOIN api_calls ON api_calls.id = kernels.api_call_id
            GROUP BY 1 ORDER BY 2""")
        assert rows == [{"name": "Launching", "count": 20, "steps": 10, "within": 20},
                        {"name": "LaunchingBackward", "count": 30, "steps": 10, "within": 0}], rows
        (row,) = playing.query(run, """
            SELECT sum(line_frame_id IS NOT NULL) AS lines, count(*) AS kernels FROM kernels
            JOIN ops ON ops.id = kernels.op_id LEFT JOIN code_traces ON code_traces.id = ops.origin_code_trace_id""")
        assert row["lines"] == 50, row


def test_threads():
    """What a thread launches belongs to what runs on that thread, whatever runs on others meanwhile: that is what ids
    pushed around its launches would say, which cost something at each."""
    with Directory() as directory:
        run, taken, dump, _ = play(directory, THREADS)
        assert taken["kernels"] == dump["rows"]["kernels"] == 10 * (1 + 4 + 5 + 2 + 6), (taken, dump)
        rows = playing.query(run, """
            SELECT ops.name, count(*) AS count, count(DISTINCT kernels.step_id) AS steps,
                   min(threads.tid = threads.pid) AS is_main, max(forward.name) AS forward
            FROM kernels JOIN api_calls ON api_calls.id = kernels.api_call_id
            JOIN threads ON threads.id = api_calls.thread_id LEFT JOIN ops ON ops.id = kernels.op_id
            LEFT JOIN ops AS forward ON forward.id = ops.forward_op_id GROUP BY 1 ORDER BY 2""")
        wanted = [("Handing", 10, 10, 1, None), ("Launching", 20, 10, 0, None), (None, 40, 10, 0, None),
                  ("prefetch", 50, 10, 0, None), ("HandingBackward", 60, 10, 0, "Handing")]
        assert [tuple(row.values()) for row in rows] == wanted, rows


def test_thinned():
    """Where the file would grow too fast kernels and calls are recorded in the steps whose ops are, all of them."""
    with Directory() as directory:
        # Less than tfprof-capture lets one ask for, so that it is soon too much.
        os.environ.update(playing.environment_of_programs(), CUDA_INJECTION64_PATH=capturing.LIBRARY)
        run = directory
        output, _ = capturing.run(run, ["-c", THINNED], ops="sampled", max_rate=1 << 30, max_gpu_rate=64000)
        (dump,), taken = [capturing.summary(path) for path in capturing.dumps(run)], playing.numbers(output)
        assert taken["kernels"] == dump["rows"]["kernels"], (taken, dump)
        told = [row["message"] for row in playing.messages(run, "kernels, copies%")]
        assert len(told) == 1 and "--max-gpu-rate" in told[0], told
        (row,) = playing.query(run, """
            WITH counted AS (SELECT steps.number, steps.ops_recorded AS has_ops, count(kernels.id) AS kernels
                             FROM steps LEFT JOIN kernels ON kernels.step_id = steps.id
                             WHERE steps.number < (SELECT max(number) FROM steps)
                               AND steps.id NOT IN (SELECT step_id FROM _calibration_steps) GROUP BY steps.id)
            SELECT max(number) FILTER (WHERE kernels AND NOT has_ops) AS last_without,
                   count(*) FILTER (WHERE NOT kernels) AS steps_without, max(number) AS last,
                   count(*) FILTER (WHERE has_ops AND kernels <> 25) AS broken FROM counted""")
        assert row["steps_without"] > 50 and (row["last_without"] or 0) < row["last"] - 50, row
        assert row["broken"] <= 1, row  # the one in which it began
        # Of all steps, of which each launches as many, these speak.
        (row,) = playing.query(run, """
            SELECT max(weight) AS most, (SELECT sum(count) FROM kernel_summary) AS kernels,
                   (SELECT sum(count) FROM xprof_kernel_stats) AS by_form,
                   (SELECT sum(count) FROM kernel_by_op) AS by_op,
                   (SELECT sum(count) FROM api_summary WHERE name LIKE 'cudaLaunchKernel%') AS calls,
                   (SELECT count(*) FROM kernels WHERE step_id IS NULL
                      OR step_id IN (SELECT id FROM steps WHERE is_warmup = 0 AND sample_weight IS NULL)) AS others,
                   (SELECT count(*) FROM steps WHERE is_warmup = 0 AND sample_weight IS NOT NULL) AS steps
            FROM _thinned_steps""")
        assert row["most"] >= 2 and row["steps"] > 150, row
        # Devices are as busy as in the steps that stand for all, and for no longer idle than a step takes.
        (busy,) = playing.query(run, """
            SELECT span_ns AS span, busy_ns AS busy,
                   (SELECT sum(dur_ns * coalesce(sample_weight, 1)) FROM steps
                    WHERE sample_weight IS NOT NULL OR id IN (SELECT step_id FROM device_steps)) AS time,
                   (SELECT sum(busy_ns * coalesce(sample_weight, 1)) FROM device_steps
                    JOIN steps ON steps.id = step_id) AS work,
                   (SELECT count(*) FROM _thinned_starts) AS starts,
                   (SELECT count(*) FROM gap_causes JOIN device_activities ON device_activities.id = activity_id
                    JOIN _thinned_starts USING (step_id, device_id)
                    WHERE device_activities.start_ns <= _thinned_starts.start_ns) AS unknown
            FROM device_utilization""")
        assert abs(busy["span"] - busy["time"]) < 2 and abs(busy["busy"] - busy["work"]) < 2, busy
        assert busy["starts"] > 5 and busy["unknown"] == 0, busy
        (parts,) = playing.query(run, """
            SELECT count(*) FILTER (WHERE (kernel_ns IS NULL) <> (weight IS 0 AND has_work = 0
                     OR step_id IN (SELECT step_id FROM _calibration_steps))) AS wrong,
                   count(*) FILTER (WHERE kernel_ns IS NULL) AS unknown,
                   count(*) FILTER (WHERE host_ns IS NOT NULL AND kernel_ns IS NULL) AS half
            FROM step_breakdown LEFT JOIN _thinned_steps USING (profile_id, step_id)""")
        assert parts["wrong"] == 0 and parts["unknown"] > 50 and parts["half"] == 0, parts
        for name in ("kernels", "by_form", "by_op", "calls"):
            assert abs(row[name] - row["others"] - 25 * row["steps"]) <= 25 * row["most"], (name, row)


# As many steps, each with allocations of its own, until the ops' budget is used up, and some more.
KEPT = DEVICE + """
import time
weight = torch.ones(8, requires_grad=True)
optimizer = torch.optim.SGD([weight], 0.01)
for step in range(600):
    optimizer.zero_grad()
    Launching.apply(weight).sum().backward()
    held = [torch.empty(100 + step) for _ in range(20)]
    launch(20)
    optimizer.step()
    time.sleep(0.005)
print("kernels=%d runtime=%d" % (taken[1], taken[0]))
"""


def test_own_budget():
    """Where allocations would let the file grow too fast these are thinned, and every step has its kernels."""
    with Directory() as directory:
        os.environ.update(playing.environment_of_programs(), CUDA_INJECTION64_PATH=capturing.LIBRARY)
        output, _ = capturing.run(directory, ["-c", KEPT], ops="sampled", max_rate=20000, max_gpu_rate=1 << 28)
        (dump,), taken = [capturing.summary(path) for path in capturing.dumps(directory)], playing.numbers(output)
        ((left_out,),) = [row.values() for row in playing.query(directory, "SELECT count(*) FROM _calibration_steps")]
        assert taken["kernels"] == dump["rows"]["kernels"] == (600 - left_out) * 25 and left_out < 50, (taken, dump)
        thinned = playing.query(directory, "SELECT DISTINCT table_name AS name FROM diagnostics "
                                           "WHERE reason = 'capture_thinned' ORDER BY 1")
        assert {"name": "memory_events"} in thinned and {"name": "kernels"} not in thinned, thinned
        (row,) = playing.query(directory, """
            SELECT count(*) AS steps, sum(kernels <> 25) AS others FROM
              (SELECT steps.id, count(kernels.id) AS kernels FROM steps
               LEFT JOIN kernels ON kernels.step_id = steps.id GROUP BY steps.id)""")
        assert row["steps"] >= 600 and row["others"] <= left_out + 1, row  # after the last step none is launched


def test_step_aside():
    """For torch.profiler with CUDA, and not for one without; CUPTI's subscriber it stays, and we record on; where it
    finalises CUPTI at its end, afterwards."""
    with concurrent.futures.ThreadPoolExecutor() as threads:
        for one in [threads.submit(step_aside, settings)
                    for settings in ({}, {"TEARDOWN_CUPTI": "1"}, {"DOUBLE_LATE": "30"})]:
            one.result()


def test_give_way():
    """For the profilers of JAX and Triton, in a program without PyTorch, however their functions are called, and
    whether they begin or raise."""
    with concurrent.futures.ThreadPoolExecutor() as threads:
        for one in [threads.submit(give_way, *case)
                    for case in ((OTHERS, 52), ({**OTHERS, "jax/_src/profiler.py": SESSIONS}, 54))]:
            one.result()


def give_way(others, kernels):
    with Directory() as directory:
        for name, text in others.items():
            path = os.path.join(directory, "others", name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as file:
                file.write(text)
        path = os.path.join(directory, "others")
        run, taken, dump, error = play(directory, f"import sys; sys.path.insert(0, {path!r})" + GIVING_WAY)
        assert taken["kernels"] == dump["rows"]["kernels"] == kernels, (taken, dump, error)
        assert "is not recorded" not in error.replace("its ops are not recorded", ""), error


def step_aside(settings):
    with Directory() as directory:
        run, taken, dump, error = play(directory, ASIDE, TFPROF_TRACE="kernels,api,latency", **settings)
        assert taken["kernels"] == dump["rows"]["kernels"] == 35, (taken, dump, error)
        states = [row["message"] for row in playing.messages(run) if row["reason"].startswith("capture_")]
        assert sum("torch.profiler listens to CUDA instead" in text for text in states) <= 3, states
        assert sum(text.startswith("cuda: ok") for text in states) >= 1, states
        assert not error.count("is not recorded") and not any("begun anew" in text for text in states), (error, states)
        (times,) = playing.query(run, """
            SELECT min(dur_ns) AS shortest, max(dur_ns) AS longest, count(dur_ns) AS count FROM kernels""")
        assert times == {"shortest": 1000, "longest": 1000, "count": 35}, times


if __name__ == "__main__":
    capturing.need_torch()
    playing.main(globals())
