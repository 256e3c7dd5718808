"""What is recorded of Keras 2 and 3: each training batch of fit() is a step, and where the program trains without it
each step that an optimizer takes; ranges of fit(), its epochs, evaluate() and predict().
"""

import sys
import threading
import weakref

MOST_WITHIN = 16  # stretches that are open within one another
OF_KERAS = 1 << 31  # in numbers of optimizers: none of PyTorch's


def begin(module, finder):
    version = getattr(module, "__version__", "?")
    finder.say("Keras %s (%s) is recorded: each batch of fit() is a step" % (version, backend_of(module)))


def backend_of(module):
    return getattr(getattr(module, "backend", None), "backend", lambda: "tensorflow")()


class Batches:
    """Of each thread the batch that is open; and how many there were."""

    def __init__(self, process):
        self.process, self.marks = process, process.marks
        self.has_begun = False
        self.here = threading.local()  # .batch: its number for Keras, and when it began; or None
        self.count = 0  # of the process: numbers of steps go on from epoch to epoch, and from fit() to fit()
        self.lock = threading.Lock()
        self.seen = []  # classes
        self.stretches = Stretches(self.marks)

    def begins(self, callbacks, batch=0, *_):
        if not self.has_begun:
            self.has_begun = True
            package = type(callbacks).__module__.partition(".")[0]
            backend = str(backend_of(sys.modules.get(package)))
            self.process.lead("pytorch" if backend == "torch" else backend, is_certain=True)
        self.here.batch = (int(batch), self.marks.begin_step("keras."))

    def ends(self, callbacks, batch=0, *_):
        began, self.here.batch = getattr(self.here, "batch", None), None
        if began is None:
            return
        last, in_epoch = int(batch), (getattr(callbacks, "params", None) or {}).get("steps")
        if in_epoch and last >= in_epoch:  # the last call of an epoch has fewer of steps_per_execution than Keras says
            last = int(in_epoch) - 1
        steps = max(last - began[0] + 1, 1)
        with self.lock:
            first = self.count
            self.count += steps
        name = "keras.step#%d" % first if steps == 1 else "keras.step#%d-%d" % (first, first + steps - 1)
        self.marks.end(name, began[1])

    def is_within(self):
        return getattr(self.here, "batch", None) is not None

    def failed(self, *_):
        """fit() has raised, in a batch as a rule, whose end does not come: what the program does next is not in it."""
        self.here.batch = None


class Stretches:
    """Ranges of what Keras tells by on_WHAT_begin and on_WHAT_end, of each thread. One whose end does not come, since
    something was raised, is none.
    """

    NAMES = {"train": "keras.fit", "epoch": "keras.epoch#%d", "test": "keras.evaluate", "predict": "keras.predict"}

    def __init__(self, marks):
        self.marks = marks
        self.here = threading.local()  # .open: (callbacks, what, name, when it began), the innermost last

    def begins(self, what):
        name = self.NAMES[what]

        def begin(callbacks, epoch=0, *_):
            if not hasattr(self.here, "open"):
                self.here.open = []
            del self.here.open[:-MOST_WITHIN]
            its_name = name % int(epoch) if "%" in name else name
            self.here.open.append((callbacks, what, its_name, self.marks.begin()))

        return begin

    def ends(self, what):
        def end(callbacks, *_):
            opened = getattr(self.here, "open", [])
            for place in range(len(opened) - 1, -1, -1):
                if opened[place][0] is callbacks and opened[place][1] == what:
                    _, _, name, began = opened[place]
                    del opened[place:]
                    self.marks.end(name, began)
                    break

        return end


def watch_batches(module, finder):
    callbacks = getattr(module, "CallbackList", None)
    process = finder.hooks.the_process()
    if callbacks is None or process is None:
        return
    if not all(name in vars(callbacks) for name in ("on_train_batch_begin", "on_train_batch_end")):
        finder.say("of this Keras batches cannot be seen, as it is made otherwise; mark steps with tfprof.step()")
        return
    if process.batches is None:
        process.batches = Batches(process)
    batches = process.batches
    if callbacks not in batches.seen:  # it has several modules
        batches.seen.append(callbacks)
        process.hooks.around(callbacks, "on_train_batch_begin", last=batches.begins)
        process.hooks.around(callbacks, "on_train_batch_end", first=batches.ends)
        for what in Stretches.NAMES:
            process.hooks.around(callbacks, "on_%s_begin" % what, first=batches.stretches.begins(what))
            process.hooks.around(callbacks, "on_%s_end" % what, last=batches.stretches.ends(what))


def watch_fit(module, finder):
    """The function that the backend has."""
    process = finder.hooks.the_process()
    model = getattr(module, "Model", None)
    for one in getattr(model, "__mro__", ()) if process is not None else ():
        if "fit" in vars(one):
            process.hooks.around(one, "fit", raised=lambda *_: process.batches and process.batches.failed())
            break


def watch_optimizers(module, finder):
    """Where they are called, not where a function that calls them is traced."""
    process = finder.hooks.the_process()
    for class_name, method in (("BaseOptimizer", "apply"), ("_BaseOptimizer", "apply_gradients"),
                               ("OptimizerV2", "apply_gradients")):  # of Keras 3, 2, and 2's legacy ones
        optimizer = getattr(module, class_name, None)
        if process is not None and optimizer is not None and method in vars(optimizer):
            steps = OptimizerSteps(process, method)
            process.hooks.around(optimizer, method, steps.begins, steps.ends, steps.failed)


class OptimizerSteps:
    numbers = weakref.WeakKeyDictionary()

    def __init__(self, process, method):
        self.process, self.marks, self.method = process, process.marks, method
        self.here = threading.local()  # .start, .of: of the step that goes on, or None

    def begins(self, optimizer, *_):
        context = sys.modules.get("tensorflow.python.eager.context")
        is_eager = context is None or context.executing_eagerly()
        if getattr(self.here, "of", None) is None and is_eager and not self.process.is_traced():
            self.here.of, self.here.start = optimizer, self.marks.begin()

    def ends(self, optimizer, *_):
        if getattr(self.here, "of", None) is not optimizer:
            return
        self.here.of = None
        number = self.numbers.setdefault(optimizer, len(self.numbers) + 1)
        name = "Optimizer.step#%s.%s" % (type(optimizer).__name__, self.method)
        self.marks.end(name, self.here.start, OF_KERAS | number)

    def failed(self, optimizer, *_):
        if getattr(self.here, "of", None) is optimizer:
            self.here.of = None
