"""Notes what a training program is at where PyTorch marks no range: models that are put into evaluation mode and back,
data loaders that begin anew and what they do for each batch, gradient scalers that are updated, checkpoints that are
written, and full garbage collections.  (Backward passes are seen by the library itself.)  Each becomes a range, in
every step, whether its ops are recorded or not.

What is noted happens a few times in an epoch, or twice for a batch; what happens in every step, such as model.train()
while no model is in evaluation mode, costs no more than a call.
"""

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

    def begin(self, hooks, calls):
        """`hooks`: a Hooks of the module `calls`."""
        # However a model is put into evaluation mode, by its own eval(), as those of transformers have, by train(False)
        # or by a trainer, it comes to Module.train().
        hooks.note(self.torch.nn.Module, "train", None, calls.PHASE_MODES)
        loaders = sys.modules.get("torch.utils.data.dataloader")
        if loaders is not None:
            hooks.note(loaders.DataLoader, "__iter__", b"torch.utils.data.DataLoader.__iter__")
        # What a loader, or a process of its, does for each batch, and which part of that puts samples together.
        fetchers = sys.modules.get("torch.utils.data._utils.fetch")
        for fetcher in ("_MapDatasetFetcher", "_IterableDatasetFetcher"):
            fetcher = getattr(fetchers, fetcher, None)
            if fetcher is not None:
                hooks.note(fetcher, "fetch", b"torch.utils.data.DataLoader.fetch", calls.PHASE_FETCH)
        # Of a step that the scaler leaves out, because gradients overflowed, nothing else tells.
        scalers = sys.modules.get("torch.amp.grad_scaler") or sys.modules.get("torch.cuda.amp.grad_scaler")
        if scalers is not None:
            hooks.note(scalers.GradScaler, "update", b"torch.amp.GradScaler.update")
        files = sys.modules.get("torch.serialization")
        if files is not None and self.torch.save is files.save:
            hooks.note(files, "save", b"torch.save")
            self.torch.save = files.save
        gc.callbacks.append(self.collected)  # a function in C: what traces the program sees no call of it
