"""Tells where a framework computes that is not recorded: TensorFlow and JAX, whose own profilers are read.

Said at once, not when a run of hours has ended: where the program first computes with it, which importing it is not.
Each framework has functions through which that goes.  The first call of one says so, and puts back what was there
before, so that no other call, and no frame of one, meets anything of ours.
"""

import sys

# By the package: what it is called, what records it, and the functions, each a module, the path to it, and its name.
FRAMEWORKS = {
    "tensorflow": (
        "TensorFlow",
        "tf.profiler.experimental.start(LOGDIR), of Keras keras.callbacks.TensorBoard(LOGDIR, profile_batch=(10, 20)), "
        "of sessions tfprof.ProfileContext(LOGDIR)",
        (("tensorflow.python.eager.context", "Context", "ensure_initialized"),
         ("tensorflow.python.client.session", "BaseSession", "__init__")),
    ),
    "jax": ("JAX", "jax.profiler.trace(LOGDIR)", (("jax._src.xla_bridge", None, "_init_backend"),)),
}


class ComputingFinder:
    """Finds nothing: it looks on as one of the frameworks is imported, until the functions of all are there."""

    def __init__(self, say):
        self.say = say
        self.waiting = []  # (package, module, class, function)
        self.seen, self.told = set(), set()

    def find_spec(self, name, path=None, target=None):
        package = name.partition(".")[0]
        if package in FRAMEWORKS and package not in self.seen:
            self.seen.add(package)
            self.waiting += [(package, *place) for place in FRAMEWORKS[package][2]]
        if self.waiting:
            self.waiting = [place for place in self.waiting if not self.is_done(*place)]
        return None

    def is_done(self, package, module, class_name, function):
        loaded = sys.modules.get(module)
        if loaded is None or getattr(getattr(loaded, "__spec__", None), "_initializing", False):
            return False
        try:
            owner = getattr(loaded, class_name) if class_name else loaded
            watch(owner, function, lambda: self.tell(package))
        except Exception:
            pass  # another version: nothing is told, and nothing has changed
        return True

    def tell(self, package):
        name, remedy, _ = FRAMEWORKS[package]
        is_worker = "--multiprocessing-fork" in sys.argv  # of a program that has been told
        if package not in self.told and not is_worker:
            self.told.add(package)  # once, whichever function comes first
            self.say("%s computes here, and its ops are not recorded, only PyTorch's, and calls of CUDA and NVTX; "
                     "its own profiler records them: %s; `tfprof LOGDIR` opens that" % (name, remedy))


def watch(owner, name, tell):
    original = owner.__dict__[name]

    def first_call(*args, **kwargs):
        if owner.__dict__.get(name) is first_call:
            setattr(owner, name, original)
        try:
            tell()
        except Exception:
            pass
        return original(*args, **kwargs)

    for attribute in ("__module__", "__name__", "__qualname__", "__doc__"):
        if hasattr(original, attribute):
            setattr(first_call, attribute, getattr(original, attribute))
    first_call.__wrapped__ = original
    setattr(owner, name, first_call)
