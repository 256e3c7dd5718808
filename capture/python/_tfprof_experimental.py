"""What tf.profiler.experimental has, for a program that tfprof-capture records: one import of it is changed,

    from tfprof import experimental as profiler     # was: profiler = tf.profiler.experimental

and start, stop, Profile, Trace, ProfilerOptions, server.start, client.trace and client.monitor go on as they were.

Where the program uses TensorFlow or JAX the profile is that of the framework's own profiler, in logdir as before:
`tfprof LOGDIR` opens it, and TensorBoard does.  The recording has the stretch as a range (tfprof.experimental.start),
and of PyTorch every op in it.  In a program of neither there is no file in logdir: what the stretch holds is in the
recording alone, and outside of one nothing happens.  Trace is a range of the recording, and with step_num=N a step.

Errors are TensorFlow's where it is there, else classes of the same names: AlreadyExistsError where a profile is going
on, UnavailableError where none is, InvalidArgumentError.
"""

import collections
import os
import shutil
import subprocess
import sys
import threading
import types

load_beside = None  # set by the module tfprof

_lock = threading.Lock()
_profile = None  # what ends the profile that goes on


class AlreadyExistsError(RuntimeError):
    """A profile is going on."""


class UnavailableError(RuntimeError):
    """No profile is going on, or nothing was collected."""


class InvalidArgumentError(ValueError):
    """An argument that cannot be."""


def _error(its_class, message):
    """TensorFlow's error of that name, where the program has TensorFlow."""
    errors = getattr(sys.modules.get("tensorflow"), "errors", None)
    of_tensorflow = getattr(errors, its_class.__name__, None)
    return its_class(message) if of_tensorflow is None else of_tensorflow(None, None, message)


class ProfilerOptions(collections.namedtuple("ProfilerOptions", ["host_tracer_level", "python_tracer_level",
                                                                 "device_tracer_level", "delay_ms"])):
    """How closely is looked: at the host 1 to 3, at calls of Python 0 or 1, at devices 0 or 1; delay_ms is for
    client.trace().
    """

    def __new__(cls, host_tracer_level=2, python_tracer_level=0, device_tracer_level=1, delay_ms=None):
        return super().__new__(cls, host_tracer_level, python_tracer_level, device_tracer_level, delay_ms)


# ---- Whose profiler it is.


def _framework():
    """(name, module) of the one that runs the steps, as far as that is known; (None, None): neither is there."""
    process = getattr(sys.modules.get("_tfprof_hooks"), "process", None)
    leading = getattr(process, "leading", None)
    there = [name for name in ("tensorflow", "jax") if hasattr(sys.modules.get(name), "__version__")]
    if leading in there:
        return leading, sys.modules[leading]
    return (there[0], sys.modules[there[0]]) if there else (None, None)


def _start_framework(logdir, options):
    """Begins the profile of the framework's own profiler and returns what ends it; None: there is none."""
    name, module = _framework()
    if name == "tensorflow":
        profiler = module.profiler.experimental
        profiler.start(logdir, options)
        return profiler.stop
    if name == "jax":
        start_trace, stop_trace = module.profiler.start_trace, module.profiler.stop_trace
        keywords = {}
        its_options = getattr(module.profiler, "ProfileOptions", None)
        if options is not None and its_options is not None:
            keywords["profiler_options"] = its_options()
            for level in ("host_tracer_level", "python_tracer_level"):
                setattr(keywords["profiler_options"], level, getattr(options, level))
        start_trace(os.fspath(logdir), **keywords)

        def stop(save=True):
            if save:
                stop_trace()
            else:
                _drop_trace(module, stop_trace)

        return stop
    return None


def _drop_trace(module, stop_trace):
    """JAX writes what it has profiled: into a directory that is removed, where this one can be told so."""
    import tempfile

    state = getattr(sys.modules.get("jax._src.profiler"), "_profile_state", None)
    with tempfile.TemporaryDirectory() as directory:
        if hasattr(state, "log_dir"):
            state.log_dir = directory
        stop_trace()


# ---- Profiles.


def start(logdir, options=None):
    """A profile begins, of which stop() writes the results into logdir. AlreadyExistsError: one goes on already."""
    global _profile
    tfprof = sys.modules["tfprof"]
    with _lock:
        if _profile is not None:
            raise _error(AlreadyExistsError, "Another profiler is running.")
        end_framework = _start_framework(logdir, options)
        window = tfprof.Profile("tfprof.experimental.start").__enter__()

        def end(save):
            window.__exit__()
            if end_framework is not None:
                end_framework(save=save)

        _profile = end


def stop(save=True):
    """The profile ends, on any thread; save: its results are written. UnavailableError: none goes on."""
    global _profile
    with _lock:
        if _profile is None:
            raise _error(UnavailableError, "Cannot export profiling results. No profiler is running.")
        end, _profile = _profile, None
        end(save)


class Profile:
    """start() and stop() as a context manager."""

    def __init__(self, logdir, options=None):
        self._logdir, self._options = logdir, options

    def __enter__(self):
        start(self._logdir, self._options)

    def __exit__(self, *problem):
        stop()


class Trace:
    """A stretch of time with a name, a range of the recording; with step_num=N the step of that number."""

    def __init__(self, name, **keywords):
        tfprof = sys.modules["tfprof"]
        self._step = keywords.get("step_num")
        self._mark = tfprof.range(name) if self._step is None else None
        its_class = self._class_of_framework()
        self._inner = its_class(name, **keywords) if its_class else None

    @staticmethod
    def _class_of_framework():
        """The profile of the framework has it, too. Outside of a recording, and of steps: a recorder hears of these."""
        name, module = _framework()
        if name == "tensorflow":
            return module.profiler.experimental.Trace
        return module.profiler.TraceAnnotation if name == "jax" else None

    def __enter__(self):
        tfprof = sys.modules["tfprof"]
        if self._mark is not None:
            self._mark.__enter__()
        else:
            tfprof.step(self._step)
        if self._inner is not None:
            self._inner.__enter__()
        return self

    def set_metadata(self, **keywords):
        """Facts for the framework's own profile."""
        if hasattr(self._inner, "set_metadata"):
            self._inner.set_metadata(**keywords)

    def __exit__(self, *problem):
        if self._inner is not None:
            self._inner.__exit__(*(problem or (None, None, None)))
        if self._mark is not None:
            self._mark.__exit__(*problem)
        else:
            sys.modules["tfprof"].end_step()
        return False


# ---- Servers.


def _start_server(port):
    """Others may ask this process for profiles at that port. RuntimeError: neither TensorFlow nor JAX is there."""
    name, module = _framework()
    if name == "tensorflow":
        module.profiler.experimental.server.start(port)
    elif name == "jax":
        _servers.append(module.profiler.start_server(port))
    else:
        raise RuntimeError("tfprof.experimental.server.start: a profiler server is TensorFlow's or JAX's, and neither "
                           "is imported here; start the program by `tfprof-capture --dormant -o RUN -- ...` and ask it "
                           "by `tfprof-capture --attach PID`")


_servers = []  # of JAX, which end when nothing refers to them


def _trace_client(service_addr, logdir, duration_ms, worker_list="", num_tracing_attempts=3, options=None):
    """Asks the profiler servers at these addresses ('grpc://host:6009,host2:6009') for a profile of so many
    milliseconds into logdir: by TensorFlow where it is there, else by `tfprof-capture --attach`. UnavailableError:
    there was nothing to collect, or nobody answered.
    """
    if duration_ms <= 0:
        raise _error(InvalidArgumentError, "duration_ms must be greater than zero.")
    client = getattr(getattr(_tensorflow(), "profiler", None), "experimental", None)
    if client is not None:
        client.client.trace(service_addr, logdir, duration_ms, worker_list, num_tracing_attempts, options)
        return
    addresses = ",".join(address[7:] if address.startswith("grpc://") else address
                         for address in service_addr.split(","))
    command = [_capture_program(), "--attach", addresses, "--for", "%dms" % duration_ms, "-o", os.fspath(logdir)]
    result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if result.returncode:
        raise _error(UnavailableError, "tfprof.experimental.client.trace: `%s` ended with status %d: %s"
                     % (" ".join(command), result.returncode, result.stderr.strip()))


def _monitor_client(service_addr, duration_ms, level=1):
    """What TensorFlow's monitor says of a TPU; RuntimeError without TensorFlow."""
    tensorflow = _tensorflow()
    if tensorflow is None:
        raise RuntimeError("tfprof.experimental.client.monitor is TensorFlow's, which is not imported here")
    return tensorflow.profiler.experimental.client.monitor(service_addr, duration_ms, level)


def _tensorflow():
    module = sys.modules.get("tensorflow")
    return module if hasattr(module, "__version__") else None


def _capture_program():
    """tfprof-capture: beside what records this process, else on PATH."""
    here = os.path.dirname(os.environ.get("TFPROF_LIBRARY") or os.path.abspath(__file__))
    for place in (here, os.path.dirname(here), os.path.join(here, "..", "..", "bin")):
        path = os.path.join(place, "tfprof-capture")
        if os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    found = shutil.which("tfprof-capture")
    if found is None:
        raise _error(UnavailableError, "tfprof.experimental.client.trace: TensorFlow is not imported here, and there "
                     "is no tfprof-capture on PATH to ask the servers by")
    return found


def _namespace(name, doc, **functions):
    module = types.ModuleType("tfprof.experimental." + name, doc)
    for its_name, function in functions.items():
        function.__name__ = its_name
    module.__dict__.update(functions)
    return sys.modules.setdefault(module.__name__, module)


server = _namespace("server", "Profiler servers of this process.", start=_start_server)
client = _namespace("client", "Asks profiler servers of other processes.", trace=_trace_client, monitor=_monitor_client)
