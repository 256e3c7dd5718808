"""Notes what a training program is at where PyTorch marks no range: models that are put into evaluation mode and back,
data loaders that begin anew and what they do for each batch, checkpoints that are written, and full garbage
collections.  (Backward passes are seen by the library itself.)  Each becomes a range, in every step, whether its ops
are recorded or not.

What is noted happens a few times in an epoch, or twice for a batch; what happens in every step, such as model.train()
while no model is in evaluation mode, costs no more than a call.
"""

import functools
import gc
import sys


class Noting:
    def __init__(self, library, torch):
        import ctypes

        self.torch = torch
        self.begin_range, self.end_range = library.tfprof_capture_begin_range, library.tfprof_capture_end_range
        self.begin_range.restype = ctypes.c_uint64
        self.end_range.argtypes = [ctypes.c_char_p, ctypes.c_uint64]
        self.collected = library.tfprof_capture_collected
        self.collected.restype, self.collected.argtypes = None, [ctypes.c_wchar_p, ctypes.py_object]

    def begin(self):
        module = self.torch.nn.Module
        module.train = self.noted_modes(module.train)
        loaders = sys.modules.get("torch.utils.data.dataloader")
        if loaders is not None:
            loader = loaders.DataLoader
            loader.__iter__ = self.noted(loader.__iter__, b"torch.utils.data.DataLoader.__iter__")
        self.begin_fetching(sys.modules.get("torch.utils.data._utils.fetch"))
        files = sys.modules.get("torch.serialization")
        if files is not None and self.torch.save is files.save:
            self.torch.save = files.save = self.noted(files.save, b"torch.save")
        gc.callbacks.append(self.collected)  # a function in C: what traces the program sees no call of it

    def noted(self, function, name):
        begin_range, end_range = self.begin_range, self.end_range

        @functools.wraps(function)
        def call(*arguments, **keywords):
            start = begin_range()
            try:
                return function(*arguments, **keywords)
            finally:
                end_range(name, start)

        return call

    # ---- Batches: what a loader, or a process of its, does for each, and which part of that puts samples together.

    def begin_fetching(self, fetchers):
        base = getattr(fetchers, "_BaseDatasetFetcher", None)
        if base is None:
            return
        for fetcher in ("_MapDatasetFetcher", "_IterableDatasetFetcher"):
            fetcher = getattr(fetchers, fetcher, None)
            if fetcher is not None:
                fetcher.fetch = self.noted(fetcher.fetch, b"torch.utils.data.DataLoader.fetch")
        begin, noted = base.__init__, self.noted

        @functools.wraps(begin)
        def __init__(self, *arguments, **keywords):
            begin(self, *arguments, **keywords)
            if callable(getattr(self, "collate_fn", None)):
                self.collate_fn = noted(self.collate_fn, b"torch.utils.data.DataLoader.collate")

        base.__init__ = __init__

    # ---- Modes. However a model is put into evaluation mode, by its own eval(), as those of transformers have, by
    # ---- train(False) or by a trainer, it comes to Module.train(), which calls itself for each of the model's modules:
    # ---- the outermost call is noted, and the one that puts a model back only while one is in evaluation mode.

    def noted_modes(self, function):
        into_evaluation = self.noted(function, b"torch.nn.Module.eval")
        into_training = self.noted(function, b"torch.nn.Module.train")
        is_evaluating = is_within = False

        @functools.wraps(function)
        def train(self, mode=True):
            nonlocal is_evaluating, is_within
            if is_within or (mode and not is_evaluating):
                return function(self, mode)
            is_evaluating, is_within = not mode, True
            try:
                return (into_training if mode else into_evaluation)(self, mode)
            finally:
                is_within = False

        return train
