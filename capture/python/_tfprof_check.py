"""tfprof-capture --check: what can be recorded with this Python, on this machine, and how to get the rest.

Run by tfprof-capture as the program that it records.  Exit status 0, and the file `recordable` in the run directory:
PyTorch's ops can be recorded; 125: they cannot.
"""

import importlib.util
import os
import platform
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # where it is not by itself: -I, -P
import _tfprof_check_gpu  # noqa: E402

MEANINGS = {
    "ops": "every op with name, thread, time and nesting",
    "shapes": "shapes and types of the ops' inputs",
    "stacks": "the line of Python that called each op",
    "source": "the text of those lines",
    "steps": "from the optimizers' steps, or tfprof.step()",
    "memory": "allocations and releases",
    "clock": "",
    "counters": "processor time and memory of the process, each second",
}


def show(name, text):
    print("  %-10s %s" % (name, text))


def read(path):
    try:
        with open(path) as file:
            return file.read().strip()
    except OSError:
        return None


def check_python():
    print("Python")
    show("program", sys.executable)
    show("version", "%s %s" % (platform.python_implementation(), platform.python_version()))
    if sys.flags.ignore_environment or sys.flags.no_site:
        show("started", "isolated (-I, -E or -S): reached through LD_PRELOAD")


def check_torch():
    """Whether its ops can be recorded."""
    print("PyTorch")
    if importlib.util.find_spec("torch") is None:
        show("version", "not installed here; name the Python that has it: tfprof-capture --check -- PYTHON")
        return False
    import torch

    show("version", torch.__version__)
    hooks = sys.modules.get("_tfprof_hooks")
    recording = getattr(hooks, "recording", None)
    if recording is None:
        show("ops", "cannot be recorded; the reason stands above, on stderr")
        return False
    is_recorded = False
    for name, state in parts():
        meaning = MEANINGS.get(name, "")
        show(name, state if state != "ok" or not meaning else "ok: " + meaning)
        is_recorded = is_recorded or name == "ops" and not state.startswith("off")
    return is_recorded


def check_frameworks():
    """Others, which are not imported for it: that takes seconds."""
    from importlib import metadata

    print("Other frameworks")
    others = (("TensorFlow", "tensorflow", ("tensorflow", "tensorflow-cpu", "tf-nightly")),
              ("Keras", "keras", ("keras",)), ("JAX", "jax", ("jax",)))
    for name, module, distributions in others:
        if importlib.util.find_spec(module) is None:
            show(name, "not installed here")
            continue
        version = ""
        for distribution in distributions:
            try:
                version = version or metadata.version(distribution) + ": "
            except metadata.PackageNotFoundError:
                pass
        show(name, version + ("each batch of fit() is a step" if module == "keras" else
                              "steps and ranges are recorded, and by its own profiler the ops of some steps"))


def parts():
    """What the recorder says of each part: (name, state)."""
    recording = getattr(sys.modules.get("_tfprof_hooks"), "recording", None)
    if recording is None:
        return
    import ctypes

    describe = recording.library.tfprof_capture_part
    describe.restype = ctypes.c_char_p
    number = 0
    while True:
        text = describe(number)
        if text is None:
            return
        name, _, state = text.decode("utf-8", "replace").partition(": ")
        yield name, state
        number += 1


def check_gpu():
    """The driver is initialised here, after which the recorder's parts for GPUs say what they are."""
    print("GPU")
    before = dict(parts())
    for name, text in _tfprof_check_gpu.check():
        show(name, text)
    for name, state in parts():
        if before.get(name) != state:
            show(name, state)


def check_system():
    print("System")
    source = read("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    show("clock", (source or "unknown") + ("" if source == "tsc" else "; tsc would make each op some 40 ns cheaper"))
    paranoid, scope = read("/proc/sys/kernel/perf_event_paranoid"), read("/proc/sys/kernel/yama/ptrace_scope")
    if paranoid is None:
        show("perf", "this kernel has no perf events; the recorder needs none")
    else:
        allowed = os.geteuid() == 0 or int(paranoid) <= 2
        remedy = "" if allowed else "; perf itself needs sysctl kernel.perf_event_paranoid=2"
        show("perf", "kernel.perf_event_paranoid is %s; the recorder needs no perf events%s" % (paranoid, remedy))
    if scope not in (None, "0") and os.geteuid() != 0:
        show("ptrace", "py-spy and gdb can only watch their own children (kernel.yama.ptrace_scope is %s)" % scope)
    limit = read("/sys/fs/cgroup/memory.max")
    if limit and limit != "max":
        show("memory", "this container may use %.1f GB" % (int(limit) / 1e9))


check_python()
is_recorded = check_torch()
check_frameworks()
check_gpu()
check_system()
if is_recorded:
    print("\nSo a program of this Python can be recorded.")
else:
    print("\nSo no ops of PyTorch can be recorded with this Python; steps and ops of TensorFlow and JAX are, "
          "and calls of CUDA and NVTX, in any program.")
if is_recorded:
    open(os.path.join(os.environ["TFPROF_RUN_DIRECTORY"], "recordable"), "w").close()
sys.exit(0 if is_recorded else 125)
