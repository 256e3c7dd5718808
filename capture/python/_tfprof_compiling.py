"""Notes what torch.compile compiles: each phase of it becomes a range with the name that PyTorch gives it while a
profiler watches, NAME (dynamo_timed), of which the extension makes the table compilations.

PyTorch imports its compiler when it is first needed: nothing happens before.  From 2.6 on it asks one function for what
marks a phase; before, it marked phases by itself in every run.
"""

import functools
import sys

COMPILER = "torch._dynamo.utils"


class Phase:
    """A phase, with the mark that PyTorch itself sets."""

    def __init__(self, mark, note, name):
        self.mark, self.note, self.name = mark, note, name

    def __enter__(self):
        self.start = self.note.begin_range()
        return self.mark.__enter__()

    def __exit__(self, *error):
        try:
            return self.mark.__exit__(*error)
        finally:
            self.note.end_range(self.name, self.start)


def begin(note, finder_class):
    """note has begin_range and end_range, as _tfprof_phases.Noting does."""

    def watch(_prepared, compiler):
        mark_phase = getattr(compiler, "compile_time_record_function", None)
        profiler = sys.modules.get("torch.autograd.profiler")
        if mark_phase is None or not hasattr(profiler, "_is_profiler_enabled"):
            return

        @functools.wraps(mark_phase)
        def mark_and_note(name):
            mark = mark_phase(name)
            if profiler._is_profiler_enabled:  # then the mark is a range of PyTorch's, which is recorded as such
                return mark
            return Phase(mark, note, str(name).encode("utf-8", "replace"))

        compiler.compile_time_record_function = mark_and_note

    if COMPILER in sys.modules:
        watch(None, sys.modules[COMPILER])
    else:
        sys.meta_path.insert(0, finder_class(COMPILER, lambda: None, watch))
