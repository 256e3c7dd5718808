"""fork() of a program with one thread, beside the recorder's threads: CPython 3.12 and later ones count threads, and
warn of several. Without PyTorch. Arguments: the folder of the hooks' modules, the library.
"""

import ctypes
import os
import sys
import threading
import warnings

sys.path.insert(0, sys.argv[1])
import _tfprof_calls  # noqa: E402

library = ctypes.CDLL(sys.argv[2])


def count():
    return len(os.listdir("/proc/self/task"))


table = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int)(lambda _: None)  # of no NVTX
library.InitializeInjectionNvtx2(table)
assert count() > 1  # the writer, and threads for files


def fork(function=os.fork):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        child = function()
        child = child if isinstance(child, int) else child[0]
        if not child:
            os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    return [one.category.__name__ for one in told]


assert fork() == ["DeprecationWarning"], "this Python does not warn"
hooks = _tfprof_calls.Hooks(ctypes.PyDLL(sys.argv[2]))
hooks.rest(os, "fork", "forkpty")
for _ in range(30):
    assert fork() == fork(os.forkpty) == [] and count() > 1
stop = threading.Event()
thread = threading.Thread(target=stop.wait)
thread.start()
assert fork() == ["DeprecationWarning"]
stop.set()
thread.join()
assert fork() == [] and count() > 1
library.tfprof_capture_finish()
