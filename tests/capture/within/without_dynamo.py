"""Imported by programs of the tests that train: an optimizer of PyTorch's imports torch._dynamo with its first step,
which takes as long as importing torch does, for two functions that do nothing where nothing is compiled. These stand
for it until something else of it is wanted: then it is imported after all. torch.profiler looks whether torch has
_inductor, which imports both: it has none until then, or until a program imports it.
"""

import importlib
import sys
import types

import torch

NAME = "torch._dynamo"
LAZY = getattr(torch, "_lazy_modules", set())  # names that torch imports when they are looked up


class Dynamo(types.ModuleType):
    @staticmethod
    def graph_break(*words):
        pass

    @staticmethod
    def disable(function, *words, **more):
        return function

    def __getattr__(self, name):
        if name.startswith("__") and name != "__path__":
            raise AttributeError(name)
        if sys.modules.get(NAME) is self:
            del sys.modules[NAME]
            LAZY.add("_inductor")
        torch._dynamo = importlib.import_module(NAME)
        return getattr(torch._dynamo, name)


if NAME not in sys.modules:
    torch._dynamo = sys.modules[NAME] = Dynamo(NAME)
    LAZY.discard("_inductor")
