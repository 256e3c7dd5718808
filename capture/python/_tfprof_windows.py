"""Where the library cannot listen to PyTorch itself: torch.profiler watches three steps now and then, and the ops that
it saw are handed to the library.  Steps are all there: a hook of the optimizers tells them.

A window opens after the first optimizer step and after every 50th, and closes three steps later; never while a profiler
of the program's own runs, and at once when one wants to begin.  Names, threads, times, nesting and sequence numbers are
taken; a torch.profiler without stacks and shapes costs least.
"""

import os
import sys
import time

LENGTH, PERIOD = 3, 50
USER = 7  # at::RecordScope


class Windows:
    def __init__(self, torch, add_op, say_problem, hooks):
        self.hooks = hooks
        self.torch, self.add_op, self.say_problem = torch, add_op, say_problem
        self.steps, self.profiler, self.pid, self.last = 0, None, os.getpid(), 0
        self.former = 0  # when the step before ended
        self.is_own = False  # it is ours that starts now

    def begin(self):
        """Raises where this PyTorch offers no hook for optimizer steps (before 2.0)."""
        from torch.optim import optimizer

        optimizer.register_optimizer_step_post_hook(step_hook(self.after_step))
        for name in ("_prepare_trace", "__enter__"):
            self.hooks.around(self.torch.autograd.profiler.profile, name, first=self.yield_to)

    def yield_to(self, *_):
        if not self.is_own:
            self.close()

    def after_step(self, optimizer, *unused):
        try:
            if os.getpid() != self.pid:  # forked: a window that was open is the parent's
                self.pid, self.profiler = os.getpid(), None
            self.steps += 1
            name = "Optimizer.step#%s.step" % type(optimizer).__name__
            if self.profiler is not None and self.steps >= self.last:
                self.close(name)
            self.former = time.monotonic_ns()
            if self.profiler is None:
                self.add_op(name.encode(), self.thread(), self.former, self.former + 1, -1, 0, USER)
                if self.steps % PERIOD == 1:
                    self.open()
        except Exception as problem:
            self.say_problem(problem)
            self.last, self.profiler = 0, None

    def thread(self):
        """The profiler numbers the threads that run ops from 1 on; the main thread is the first as a rule."""
        import threading

        return 1 if threading.current_thread() is threading.main_thread() else threading.get_native_id()

    def open(self):
        if self.torch._C._autograd._profiler_enabled():
            return
        self.last = self.steps + LENGTH
        profiler = self.torch.profiler.profile(activities=[self.torch.profiler.ProfilerActivity.CPU])
        self.is_own = True
        try:
            profiler.start()
            self.profiler = profiler
        finally:
            self.is_own = False

    def close(self, unfinished=None):
        """`unfinished` is the optimizer step that is still going on: PyTorch's row of it, which some versions give and
        some do not, ends after us; the hook's own stands for it.
        """
        profiler, self.profiler = self.profiler, None
        if profiler is None or os.getpid() != self.pid:
            return
        profiler.stop()
        to_monotonic = time.monotonic_ns() - time.time_ns()
        ops = []
        for event in profiler.profiler.kineto_results.events():
            if hasattr(event, "start_ns"):
                start, dur = event.start_ns(), event.duration_ns()
            else:
                start, dur = event.start_us() * 1000, event.duration_us() * 1000
            if dur < 0 or event.start_thread_id() == 0:
                continue
            start += to_monotonic
            if event.name() != unfinished or start < self.former:
                ops.append((start + dur, -start, event))
        for end, start, event in sorted(ops, key=lambda op: op[:2]):
            name = event.name().encode("utf-8", "replace")
            numbers = event.sequence_nr(), event.fwd_thread_id() or 0, event.scope()
            self.add_op(name, event.start_thread_id(), -start, end, *numbers)


def step_hook(after_step):
    """What torch.compile sees of the hook, as it traces an optimizer's step, is that it returns: no globals of this
    module, which cannot be imported.
    """
    is_compiling = getattr(sys.modules.get("torch.compiler"), "is_compiling", None)
    if is_compiling is None:  # before 2.1
        return after_step

    def hook(optimizer, *unused):
        if not is_compiling():
            after_step(optimizer)

    return hook
