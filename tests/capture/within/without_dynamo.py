"""Imported by programs of the tests that train: an optimizer of PyTorch's imports torch._dynamo with its first step,
which takes twice as long as importing torch does, for two functions that do nothing where nothing is compiled.
DistributedDataParallel, init_process_group and checkpoints import it for one setting each. These stand for it until
something else of it is wanted: then it is imported after all. torch.profiler looks whether torch has _inductor, which
imports both: it has none until then, or until a program imports it.
"""

import importlib
import sys
import types

import torch

NAME = "torch._dynamo"
LAZY = getattr(torch, "_lazy_modules", set())  # names that torch imports when they are looked up


class Part(types.SimpleNamespace):
    """What is asked of one module of torch._dynamo where nothing is compiled; all else, of the module itself."""

    def __getattr__(self, name):
        return getattr(getattr(whole(), self.module), name)


class Dynamo(types.ModuleType):
    config = Part(module="config", error_on_nested_fx_trace=True)
    trace_rules = Part(module="trace_rules", clear_lru_cache=lambda: None)  # nothing has been kept there
    utils = Part(module="utils", get_optimize_ddp_mode=lambda: "ddp_optimizer")

    @staticmethod
    def graph_break(*words):
        pass

    @staticmethod
    def disable(function, *words, **more):
        return function

    def __getattr__(self, name):
        if name.startswith("__") and name != "__path__":
            raise AttributeError(name)
        return getattr(whole(), name)


def whole():
    """torch._dynamo itself, in place of what stands for it."""
    if type(sys.modules.get(NAME)) is Dynamo:
        del sys.modules[NAME]
        LAZY.add("_inductor")
    torch._dynamo = importlib.import_module(NAME)
    return torch._dynamo


if NAME not in sys.modules:
    torch._dynamo = sys.modules[NAME] = Dynamo(NAME)
    LAZY.discard("_inductor")
