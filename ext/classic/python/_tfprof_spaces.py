"""Steps of TensorFlow and JAX for ProfileContext: what their own profilers see of one, an XSpace, and several of them
as one file, a message of the same kind.

A session of the framework's profiler is open for each step that is traced, on the thread of the program and with
nothing of the step before in it.  The program's own profiler wins: when it begins while one of ours is open, that is
closed and its step is not traced.

In the file all times count from 1970, steps have the numbers that the context gave them, whatever the framework marks
itself, and what JAX compiled is there once.  XSpace planes=1; XPlane id=1 name=2 lines=3 event_metadata=4
stat_metadata=5 stats=6; XLine timestamp_ns=3; entries of maps key=1 value=2; metadata id=1 name=2; XStat metadata_id=1
uint64_value=3 int64_value=4.
"""

import os
import sys
import time

load_beside = None  # set by the module tfprof

OF_TENSORFLOW = "tensorflow.python.profiler.internal._pywrap_profiler"
STEP, OWN_STEP, THEIR_STEP = b"step_num", "tfprof_step_num", b"step_num_of_framework"
ABSOLUTE = 10 ** 18  # nanoseconds since 1970, not since the session began


class Space:
    """What was seen of a step. began: when its session did, by the wall clock; functions: of TensorFlow, those that the
    program called."""

    def __init__(self, content, began, functions=()):
        self.content, self.began, self.functions = content, began, functions


# ---- Sessions.


class Sessions:
    """Stands where a recording has what shares its windows with the program's own sessions (_tfprof_profilers)."""

    def __init__(self):
        self.recorder = None  # whose session is open
        self.openers = {}

    def yield_to(self, framework):
        recorder = self.recorder
        if recorder is not None and recorder.framework == framework:
            recorder.give_up()

    def server_started(self, framework):
        self.yield_to(framework)

    def step_aside(self, who):
        pass

    come_back = step_aside

    def opener(self, framework):
        """What opens sessions of it; None: nothing does. It is watched from then on, until the context ends."""
        if framework not in self.openers:
            self.openers[framework] = self.watched(framework)
        return self.openers[framework]

    def watched(self, framework):
        profilers = load_beside("_tfprof_profilers")
        if framework == "jax":
            profiler, module = profilers.module_of_jax()
            if module is None:
                return None
            opener = profilers.JaxSessions(self, module, profiler)
        else:
            module = sys.modules.get(OF_TENSORFLOW)
            if not hasattr(module, "ProfilerSession"):
                return None
            opener = profilers.TensorFlowSessions(self, module)
            opener.device_level = 1
        opener.watch()
        return opener

    def end(self):
        for opener in self.openers.values():
            if opener is not None:
                opener.unwatch()
        self.openers = {}


class Recorder:
    """Of one step. Raises where no session can be opened."""

    def __init__(self, sessions, framework, number):
        self.sessions, self.framework, self.space, self.is_given_up = sessions, framework, None, False
        self.opener = sessions.opener(framework)
        if self.opener is None:
            raise RuntimeError("this %s has no profiler that is known here" % framework)
        self.opener.settle()
        self.session, self.began = None, time.time_ns()
        self.session = self.opener.start(is_first=True)
        sessions.recorder = self
        self.watch = load_beside("_tfprof_functions").Watch() if framework == "tensorflow" else None
        self.mark = begin_mark(framework, number)

    def give_up(self):
        self.is_given_up = True
        self.close()

    def close(self):
        """The content of the space."""
        session, self.session, self.sessions.recorder = self.session, None, None
        if session is None:
            return b""
        end_mark(self.framework, self.mark)
        if self.watch is not None:
            self.watch.end()
        content, directory, _ = self.opener.stop(session)
        if directory is None:
            return content
        directory = os.fsdecode(directory)
        try:
            paths = [os.path.join(folder, name) for folder, _, names in os.walk(directory)
                     for name in names if name.endswith(".xplane.pb")]
            with open(paths[0], "rb") as file:
                return file.read()
        finally:
            load_beside("_tfprof_profilers").remove_tree(directory)

    def stop(self):
        if not self.is_given_up:
            self.opener.settle()
        content = self.close()
        if self.is_given_up:
            raise RuntimeError("the program has begun the profiler of %s itself" % self.framework)
        return Space(content, self.began, self.watch.functions if self.watch is not None else ())


def begin_mark(framework, number):
    about = {OWN_STEP: number, "_r": 1}
    if framework == "tensorflow":
        from tensorflow.python.profiler.internal import _pywrap_traceme

        return _pywrap_traceme.TraceMe("tfprof.step", **about)
    mark = load_beside("_tfprof_profilers").module_of_jax()[1].TraceMe("tfprof.step", **about)
    mark.__enter__()
    return mark


def end_mark(framework, mark):
    if framework == "tensorflow":
        mark.Stop()
    else:
        mark.__exit__(None, None, None)


def framework_of_loop():
    """Whose profiler tells of a loop without PyTorch; None: no framework is there."""
    tensorflow = sys.modules.get("tensorflow")
    if hasattr(sys.modules.get("jax"), "live_arrays") and not hasattr(tensorflow, "executing_eagerly"):
        return "jax"
    return "tensorflow" if OF_TENSORFLOW in sys.modules else None


# ---- One file of several.


def fields(content):
    """(number, wire type, value, start, end) of each field of a message; start and end with its tag."""
    place, varint = 0, load_beside("_tfprof_profilers").varint
    while place < len(content):
        start = place
        key, place = varint(content, place)
        kind = key & 7
        if kind == 0:
            value, place = varint(content, place)
        else:
            size = 8
            if kind == 2:
                size, place = varint(content, place)
            elif kind == 5:
                size = 4
            elif kind != 1:
                raise ValueError("what the profiler told is damaged at byte %d" % start)
            value, place = content[place:place + size], place + size
        yield key >> 3, kind, value, start, place


def first(content, wanted, otherwise=None):
    return next((value for number, _, value, _, _ in fields(content) if number == wanted), otherwise)


def start_in(content):
    """When the session began, as the space says it; None: it does not."""
    for number, kind, plane, _, _ in fields(content):
        if number != 1 or kind != 2 or first(plane, 2) != b"Task Environment":
            continue
        names, stats = {}, []
        for part, _, value, _, _ in fields(plane):
            if part == 5:
                names[first(value, 1, 0)] = first(first(value, 2, b""), 2)
            elif part == 6:
                stats.append(value)
        for stat in stats:
            if names.get(first(stat, 1, 0)) == b"profile_start_time":
                return first(stat, 3, first(stat, 4))
    return None


class Merging:
    """Makes the parts of a file, one for each space."""

    def __init__(self):
        self.encode = load_beside("_tfprof_profile_proto")
        self.known = set()  # planes that are there once: what was compiled, and where all of it ran

    def part(self, space):
        start = start_in(space.content) or space.began
        return self.changed(space.content, {1: lambda plane: self.plane(plane, start)})

    def changed(self, content, changes):
        """A message with some of its parts replaced by what a function makes of them; None: by nothing."""
        made, kept = [], 0
        for number, kind, value, begin, end in fields(content):
            change = changes.get(number) if kind == 2 else None
            if change is None:
                continue
            new = change(value)
            if new is not value:
                made.append(content[kept:begin])
                made.append(b"" if new is None else self.encode.message(number, new))
                kept = end
        return content if not kept else b"".join(made) + content[kept:]

    def plane(self, plane, start):
        name = first(plane, 2)
        if name in (b"/host:metadata", b"Task Environment"):
            key = plane if name == b"/host:metadata" else name
            if key in self.known:
                return None
            self.known.add(key)
        return self.changed(plane, {3: lambda line: self.line(line, start), 5: self.entry})

    def line(self, line, start):
        """Its times count from 1970. The time stands before the events, which are not looked at."""
        place, at, head = 0, 0, []
        for number, _, value, begin, end in fields(line):
            if number == 4:
                break
            place = end
            if number == 3:
                at = value
            else:
                head.append(line[begin:end])
        if at >= ABSOLUTE:
            return line
        return b"".join(head) + self.encode.integer(3, at + start) + line[place:]

    def entry(self, entry):
        """Of stat_metadata: steps have our numbers."""
        return self.changed(entry, {2: lambda metadata: self.changed(metadata, {2: self.name_of_stat})})

    @staticmethod
    def name_of_stat(name):
        return {STEP: THEIR_STEP, OWN_STEP.encode(): STEP}.get(name, name)

