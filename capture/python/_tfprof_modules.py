"""Tells the capture library what the modules of the program's models are: names, classes, parameters.

The library sees modules only as addresses on the stacks of ops; those that it does not know it has found and handed to
found(), on a thread of its own.  Only dictionaries and plain attributes of modules and parameters are read; nothing of
the program is called, and nothing that it can see is changed.

Names are those of named_parameters() and named_modules() of the first model that has parameters.  A module that is part
of no other that is known is the root of a model; its own name is that of its class.  The names within other models begin
with the name of their root. A parameter that several modules share is counted where it comes first.
"""

import json
import os
import weakref
from _thread import allocate_lock

LOCK_SECONDS = 2


class Modules:
    def __init__(self, library, torch, say_problem):
        self.library, self.torch, self.say_problem = library, torch, say_problem
        self.module_class = torch.nn.Module
        self.lazy_class = getattr(torch.nn.parameter, "UninitializedTensorMixin", ())
        self.begin()
        os.register_at_fork(after_in_child=self.begin)

    def begin(self):
        """Nothing has been told yet; also in a forked child, whose dump is another one."""
        self.lock = allocate_lock()
        self.rows = 0
        self.modules = {}  # by id: Known
        self.parameters = {}  # by id: name; those that are gone are taken out
        self.references = {}  # weak references by id, so that their callbacks are called
        self.names = set()  # of roots
        self.has_main = False
        self.is_broken = False

    # ---- Called by the library, and at the end.

    def found(self, modules):
        if self.is_broken or not self.lock.acquire(True, LOCK_SECONDS):
            return
        try:
            no_overrides = getattr(self.torch._C, "DisableTorchFunction", None)
            if no_overrides is None:
                self.update(modules)
            else:
                with no_overrides():
                    self.update(modules)
        except Exception as problem:
            self.is_broken = True
            self.say_problem(problem)
        finally:
            self.lock.release()

    def settle(self, flush):
        """At the end: what has been seen, initialised or added since."""
        flush()
        unknown = []
        self.library.tfprof_capture_unknown_modules(unknown)
        if unknown or self.rows:
            self.found(unknown)

    def update(self, modules):
        self.is_settled = True
        for known in list(self.modules.values()):
            module = known.reference()
            if known.is_root and module is not None:
                self.tell_tree(module)
        new = []
        for module in modules:
            if not issubclass(type(module), self.module_class):
                self.library.tfprof_capture_module_died(id(module), id(type(module)))  # something else lies there now
            elif id(module) not in self.modules:
                new.append(module)
        inside = set()
        for module in new:
            inside.update(id(part) for part in self.tree(module) if part is not module)
        for module in new:
            if id(module) not in inside and id(module) not in self.modules:
                self.tell_root(module)
        if not self.is_settled:
            self.library.tfprof_capture_modules_again()

    # ---- Walking.

    def children(self, module):
        children = getattr(module, "_modules", None)
        return [(key, child) for key, child in children.items() if child is not None] if children else []

    def tree(self, module):
        """The module and all that are part of it, each once, in the order of named_modules()."""
        seen, waiting = set(), [module]
        while waiting:
            part = waiting.pop()
            if id(part) in seen:
                continue
            seen.add(id(part))
            yield part
            waiting.extend(child for _, child in reversed(self.children(part)))

    def tell_root(self, module):
        name = base = type(module).__name__
        number = 1
        while name in self.names:
            number += 1
            name = "%s_%d" % (base, number)
        self.names.add(name)
        has_parameters = any(getattr(part, "_parameters", None) for part in self.tree(module))
        path = name
        if has_parameters and not self.has_main:
            self.has_main = True
            path = ""
        self.tell_module(module, None, name, path)
        self.tell_tree(module)

    def tell_tree(self, root):
        """Whatever of a known root's tree is not known yet."""
        seen, waiting = set(), [root]
        while waiting:
            module = waiting.pop()
            if id(module) in seen:
                continue
            seen.add(id(module))
            known = self.modules[id(module)]
            if known.kind != id(type(module)):
                self.library.tfprof_capture_module_changed(id(module), known.kind, id(type(module)))
                known.kind = id(type(module))
            self.tell_parameters(module, known)
            children = self.children(module)
            for key, child in reversed(children):
                waiting.append(child)
            for key, child in children:
                if id(child) not in self.modules:
                    path = join(known.path, key)
                    self.tell_module(child, known, path, path)

    # ---- Telling.

    def tell_module(self, module, parent, name, path):
        identity, kind = id(module), id(type(module))

        def died(_):
            known = self.modules.pop(identity, None)
            self.library.tfprof_capture_module_died(identity, known.kind if known else kind)

        reference = weakref.ref(module, died)
        depth = 0 if parent is None else parent.depth + 1
        row = self.tell((identity, kind), None if parent is None else parent.row, depth, name, class_name(module))
        self.modules[identity] = Known(reference, row, depth, path, parent is None, kind)

    def tell_parameters(self, module, known):
        for key, parameter in list((getattr(module, "_parameters", None) or {}).items()):
            if parameter is None or key in known.parameters:
                continue
            if self.lazy_class and isinstance(parameter, self.lazy_class):
                self.is_settled = False
                continue
            name = join(known.path, key)
            first = self.parameters.get(id(parameter))
            count, size = int(parameter.numel()), int(parameter.element_size())
            self.tell(
                (0, 0),
                known.row,
                known.depth + 1,
                name,
                type(parameter).__name__,
                shape="x".join(str(int(dimension)) for dimension in parameter.shape),
                dtype=str(parameter.dtype).rpartition(".")[2],
                device=str(parameter.device),
                attributes=None if first is None else json.dumps({"same_as": first}),
                count=count if first is None else 0,
                size=count * size if first is None else 0,
                trainable=int(bool(parameter.requires_grad)),
            )
            known.parameters.add(key)
            if first is None:
                self.remember(parameter, name)

    def remember(self, parameter, name):
        identity = id(parameter)

        def died(_):
            self.parameters.pop(identity, None)
            self.references.pop(identity, None)

        self.parameters[identity] = name
        self.references[identity] = weakref.ref(parameter, died)

    def tell(
        self,
        identity,
        parent,
        depth,
        name,
        kind,
        shape=None,
        dtype=None,
        device=None,
        attributes=None,
        count=-1,
        size=-1,
        trainable=-1,
    ):
        texts = [
            None if text is None else text.encode("utf-8", "replace")
            for text in (name, kind, shape, dtype, device, attributes)
        ]
        numbers = (-1 if parent is None else parent, depth, count, size, trainable)
        if not self.library.tfprof_capture_tell_node(*identity, *numbers, *texts):
            raise MemoryError("a module is not recorded")
        self.rows += 1
        return self.rows - 1


class Known:
    __slots__ = ("reference", "row", "depth", "path", "is_root", "kind", "parameters")

    def __init__(self, reference, row, depth, path, is_root, kind):
        self.reference, self.row, self.depth, self.path, self.is_root = reference, row, depth, path, is_root
        self.kind = kind  # address of its class when it was told
        self.parameters = set()  # names that have been told


def join(path, key):
    return "%s.%s" % (path, key) if path else str(key)


def class_name(module):
    """Of a ScriptModule that of the class that was scripted."""
    return str(getattr(module, "original_name", None) or type(module).__name__)
