"""Batches of Keras' fit() on the thread that a ProfileContext is opened on, in a program that need not be recorded:
Keras 2 and 3 tell them to their list of callbacks, whose methods are replaced until the context ends.

Whatever is raised here is told, and the program goes on.
"""

import functools
import sys
import threading

load_beside = None  # set by the module tfprof

MODULES = ("keras.src.callbacks.callback_list", "keras.src.callbacks", "keras.callbacks", "tf_keras.src.callbacks")


class Batches:
    """begins: called with the number of the first batch, how many are done at once, and the backend's name; ends: with
    nothing. Numbers go on from epoch to epoch, and from fit() to fit(). Keras may be imported later.
    """

    def __init__(self, begins, ends, told):
        self.begins, self.ends, self.told = begins, ends, told
        self.count, self.open, self.replaced, self.thread = 0, None, [], threading.get_ident()
        self.look()
        sys.meta_path.insert(0, self)

    def find_spec(self, name, path=None, target=None):
        """Finds nothing, but sees that something is imported."""
        if len(self.replaced) < 2:
            self.told("looking for Keras", self.look)
        return None

    def look(self):
        for name in MODULES:
            its_class = getattr(sys.modules.get(name), "CallbackList", None)
            names = ("on_train_batch_begin", "on_train_batch_end")
            is_known = any(its_class is one for one, _, _, _ in self.replaced)
            if its_class is not None and not is_known and all(name in vars(its_class) for name in names):
                self.watch(its_class, *names)

    def watch(self, its_class, begin_name, end_name):
        begin, end = vars(its_class)[begin_name], vars(its_class)[end_name]

        @functools.wraps(begin)
        def begun(callbacks, batch, *arguments, **keywords):
            result = begin(callbacks, batch, *arguments, **keywords)
            if threading.get_ident() == self.thread:
                self.told("a batch of Keras", self.batch_begins, callbacks, batch)
            return result

        @functools.wraps(end)
        def ended(callbacks, batch, *arguments, **keywords):
            if threading.get_ident() == self.thread:
                self.told("a batch of Keras", self.batch_ends, callbacks, batch)
            return end(callbacks, batch, *arguments, **keywords)

        for name, before, ours in ((begin_name, begin, begun), (end_name, end, ended)):
            setattr(its_class, name, ours)
            self.replaced.append((its_class, name, before, ours))

    def end(self):
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        for its_class, name, before, ours in self.replaced:
            if vars(its_class).get(name) is ours:
                setattr(its_class, name, before)
        self.replaced = []

    def batch_begins(self, callbacks, batch):
        package = type(callbacks).__module__.partition(".")[0]
        backend = getattr(getattr(sys.modules.get(package), "backend", None), "backend", lambda: "tensorflow")
        self.open = int(batch)
        self.begins(self.count, self.at_once(callbacks, int(batch)), str(backend()))

    @staticmethod
    def at_once(callbacks, batch):
        """Of the last call of an epoch fewer, as far as Keras knows where that ends."""
        model = getattr(callbacks, "_model", None) or getattr(callbacks, "model", None)
        steps = getattr(model, "steps_per_execution", None) or getattr(model, "_steps_per_execution", None) or 1
        steps = int(steps.numpy()) if hasattr(steps, "numpy") else int(steps)
        in_epoch = (getattr(callbacks, "params", None) or {}).get("steps")
        return max(min(steps, int(in_epoch) - batch) if in_epoch else steps, 1)

    def batch_ends(self, callbacks, batch):
        began, self.open = self.open, None
        if began is None:
            return
        last, in_epoch = int(batch), (getattr(callbacks, "params", None) or {}).get("steps")
        if in_epoch and last >= in_epoch:  # the last call of an epoch has fewer than Keras says
            last = int(in_epoch) - 1
        self.count += max(last - began + 1, 1)
        self.ends()
