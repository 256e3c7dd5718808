"""Importing PyTorch in the tests' programs takes a third less: what a program needs that compiles is imported when it
is first looked for, and Python does not look for garbage meanwhile.

torch._meta_registrations, which `import torch` imports last, tells of thousands of operators which shapes they give, of
tensors without values: for torch.compile, torch.export, decompositions, and some ops on tensors of device "meta" (a
convolution), which raise without it: a program of these sets WHOLE_TORCH=1. A stand-in is there until the compiler is
imported, or something of it is asked for. What else comes of importing it is said in import_generator. Other versions
of PyTorch, of which nobody has looked, have it whole.
"""

import gc
import importlib
import importlib.machinery
import sys
import types

NAME = "torch._meta_registrations"
VERSION = "2.13."
THAT_NEED_IT = ("torch._dynamo", "torch._inductor")  # what exports imports these, too


class StandIn(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(whole(), name)


class Finder:
    """Of the stand-in, as torch is imported; it finds nothing else."""

    def find_spec(self, name, path=None, target=None):
        if name == "torch" and gc.isenabled():
            return without_collecting(importlib.machinery.PathFinder.find_spec(name, path, target))
        if name == NAME:
            if finder in sys.meta_path and sys.modules["torch"].__version__.startswith(VERSION):
                return importlib.machinery.ModuleSpec(name, self)
        elif name in THAT_NEED_IT and type(sys.modules.get(NAME)) is StandIn:
            whole()
        return None

    def create_module(self, spec):
        return StandIn(spec.name)

    def exec_module(self, module):
        import_generator()


def without_collecting(spec):
    """The same module, while whose import Python does not look for garbage, however that ends."""
    if spec is None or spec.loader is None:
        return spec
    run = spec.loader.exec_module

    def exec_module(module):
        if vars(spec.loader).get("exec_module") is exec_module:
            del spec.loader.exec_module  # a program finds the loader as it is
        gc.disable()
        try:
            run(module)
        finally:
            gc.enable()
    spec.loader.exec_module = exec_module
    return spec


finder = Finder()


def begin():
    sys.meta_path.insert(0, finder)


def import_generator():
    """torch._prims.rng_prims gives torch.Generator, without which it cannot be called, its metaclass."""
    opaque = importlib.import_module("torch._opaque_base")
    sys.modules["torch"]._C._set_generator_metaclass(opaque.OpaqueBaseMeta)


def whole():
    """The module itself, in place of the stand-in."""
    if finder in sys.meta_path:
        sys.meta_path.remove(finder)
    if type(sys.modules.get(NAME)) is StandIn:
        del sys.modules[NAME]
    return importlib.import_module(NAME)
