"""Tells the capture library what the modules of the program's models are: names, classes, parameters, their changes.

The library sees modules only as addresses on the stacks of ops; those that it does not know it has found and handed to
found(), on a thread of its own, as weak references.  What is to be known of a module it gathers in one piece
(module_facts.h): nothing of the program is called, nothing that it can see is changed, and nothing of it is held here.

Names are those of named_parameters() and named_modules() of the first model that has parameters.  A module that is part
of no other that is known is the root of a model; its own name is that of its class.  The names within other models
begin with the name of their root. A parameter that several modules share is counted where it comes first.

What is known is looked at again when something new is found, every LOOK_AGAIN_SECONDS, and at the end: parameters that
were replaced, frozen, moved or taken out since.  A model that is gone stays as it was.
"""

import json
import os
import time
import weakref
from _thread import allocate_lock

LOCK_SECONDS = 2
LOOK_AGAIN_SECONDS = 10
LAZY_SECONDS = 1  # until lazy parameters are looked at again
SHARE = 500  # of the time that passes looking again takes at most one part in so many


class Reference(weakref.ref):
    """To a module. The library makes them; where it lies is said here once it is known."""

    __slots__ = ("address",)


class Known:
    """A module that was told of."""

    __slots__ = ("reference", "row", "depth", "path", "kind", "is_root", "is_removed", "parameters", "children")

    def __init__(self, reference, row, depth, path, kind, is_root):
        self.reference, self.row, self.depth, self.path, self.is_root = reference, row, depth, path, is_root
        self.kind = kind  # address of its class
        self.is_removed = False  # from the module that it was seen in first
        self.parameters = {}  # Parameter by key
        self.children = {}  # Known by key


class Parameter:
    """Its row, the address of the tensor, and what was told of it last; None: that it was removed."""

    __slots__ = ("row", "address", "state")

    def __init__(self, row):
        self.row, self.address, self.state = row, None, None


class Modules:
    def __init__(self, library, torch, say_problem):
        self.library, self.torch, self.say_problem = library, torch, say_problem
        self.module_class = torch.nn.Module
        self.lazy_class = getattr(torch.nn.parameter, "UninitializedTensorMixin", None)
        self.begin()
        os.register_at_fork(after_in_child=self.begin)

    def begin(self):
        """Nothing has been told yet; also in a forked child, whose dump is another one."""
        self.lock = allocate_lock()
        self.rows = 0
        self.modules = {}  # by address: Known
        self.names = set()  # of roots
        self.has_main = False
        self.is_broken = False

    # ---- Called by the library, and at the end.

    def found(self, references):
        if self.is_broken or not self.lock.acquire(True, LOCK_SECONDS):
            return
        try:
            no_overrides = getattr(self.torch._C, "DisableTorchFunction", None)
            if no_overrides is None:
                self.update(references)
            else:
                with no_overrides():
                    self.update(references)
        except Exception as problem:
            self.is_broken = True
            self.say_problem(problem)
        finally:
            self.lock.release()

    def died(self, reference):
        address = getattr(reference, "address", None)
        known = self.modules.get(address)
        if known is not None and known.reference is reference:
            del self.modules[address]
            self.library.tfprof_capture_module_died(address, known.kind)

    def settle(self, flush):
        """At the end: what has been seen, initialised, added or changed since."""
        flush()
        unknown = []
        self.library.tfprof_capture_unknown_modules(unknown)
        if unknown or self.rows:
            self.found(unknown)

    def update(self, references):
        start = time.monotonic()
        self.is_settled = True
        self.facts = {}  # by address, of this time
        self.owners = {}  # by address of a tensor: the name under which it comes first, this time
        for known in list(self.modules.values()):
            if known.is_root:
                self.look_at(known.reference)
                self.tell_tree(known)
        new, inside = [], set()
        for reference in references:
            facts = self.look_at(reference)
            if facts is not None and facts[0] not in self.modules:
                new.append((reference, facts))
                inside.update(self.addresses_below(facts))
        for reference, facts in new:
            if facts[0] not in inside and facts[0] not in self.modules:
                self.tell_root(reference, facts)
        self.facts = self.owners = None
        pause = max((time.monotonic() - start) * SHARE, LOOK_AGAIN_SECONDS)
        self.library.tfprof_capture_modules_again(int(1000 * (pause if self.is_settled else LAZY_SECONDS)))

    # ---- Looking.

    def look_at(self, reference):
        """(address, address of the class, class, [(key, address, reference)], [(key, address, facts)]) of a module, its
        children and its parameters; None when it is gone, or no module.
        """
        facts = self.library.tfprof_capture_module_facts(reference)
        if facts is False:
            facts = self.look_closely(reference())
        if facts is None:
            return None
        if not issubclass(facts[2], self.module_class):
            self.library.tfprof_capture_module_died(facts[0], facts[1])  # something else lies there now
            return None
        self.facts[facts[0]] = facts
        return facts

    def look_closely(self, module):
        """The same of a module whose parts are in other things than dictionaries, as those of a ScriptModule."""
        if module is None:
            return None
        children = [] if not hasattr(module, "_modules") else list(module._modules.items())
        parameters = [] if not hasattr(module, "_parameters") else list(module._parameters.items())
        return (
            id(module),
            id(type(module)),
            type(module),
            [(key, id(child), Reference(child, self.died)) for key, child in children if child is not None],
            [
                (key, id(one), (type(one), one.shape, one.dtype, one.device, one.requires_grad))
                for key, one in parameters
                if one is not None
            ],
        )

    def addresses_below(self, facts):
        """Of all modules that are part of one."""
        seen, waiting = set(), list(facts[3])
        while waiting:
            _, address, reference = waiting.pop()
            if address not in seen:
                seen.add(address)
                below = self.facts.get(address) or self.look_at(reference)
                waiting.extend(below[3] if below else ())
        return seen

    # ---- Walking.

    def tell_root(self, reference, facts):
        name = base = class_name(facts[2], reference)
        number = 1
        while name in self.names:
            number += 1
            name = "%s_%d" % (base, number)
        self.names.add(name)
        path = name
        below = [self.facts.get(address) for address in self.addresses_below(facts)]
        if not self.has_main and any(one and one[4] for one in [facts] + below):
            self.has_main = True
            path = ""
        self.tell_tree(self.tell_module(reference, facts, None, name, path))

    def tell_tree(self, root):
        """Whatever of a root's tree is not known yet, or not known so: each module once, in the order of
        named_modules().
        """
        seen, waiting = set(), [root]
        while waiting:
            known = waiting.pop()
            if known.row in seen:
                continue
            seen.add(known.row)
            facts = self.facts.get(getattr(known.reference, "address", None)) or self.look_at(known.reference)
            if facts is None:
                continue
            address, kind = facts[:2]
            if known.kind != kind:
                self.library.tfprof_capture_module_changed(address, known.kind, kind)
                known.kind = kind
            self.tell_parameters(known, facts[4])
            waiting.extend(reversed(self.tell_children(known, facts[3])))

    def tell_children(self, known, children):
        now = {}
        for key, address, reference in children:
            child = self.modules.get(address)
            if child is None:
                path = join(known.path, key)
                facts = self.look_at(reference)
                if facts is None:
                    continue
                child = self.tell_module(reference, facts, known, path, path)
            now[key] = child
        for key, child in known.children.items():
            if child not in now.values():
                self.remove(child)
        for child in now.values():
            if child.is_removed:
                child.is_removed = False
                self.change(child.row, "added")
        known.children = now
        return list(now.values())

    def remove(self, known):
        """It is not part of its model any more, and neither is what is part of it, until it is seen elsewhere."""
        waiting = [known]
        while waiting:
            known = waiting.pop()
            if known.is_removed or known.is_root:
                continue
            known.is_removed = True
            self.change(known.row, "removed")
            for parameter in known.parameters.values():
                self.remove_parameter(parameter)
            waiting.extend(known.children.values())

    def remove_parameter(self, parameter):
        if parameter.state is not None:
            shape, dtype, device = parameter.state[:3]
            parameter.state = None
            self.change(parameter.row, "removed", "x".join(map(str, shape)), dtype, device, count=0, size=0)

    def tell_parameters(self, known, parameters):
        now = set()
        for key, address, facts in parameters:
            now.add(key)
            if facts is None:
                self.is_settled = False
                continue
            name = join(known.path, key)
            parameter = known.parameters.get(key)
            if parameter is None:
                row = self.tell((0, 0), known.row, known.depth + 1, name, facts[0].__name__)
                parameter = known.parameters[key] = Parameter(row)
            owner = self.owners.setdefault(address, name)
            shape, trainable = tuple(map(int, facts[1])), bool(facts[4])
            dtype, same_as = str(facts[2]).rpartition(".")[2], None if owner == name else owner
            state = (shape, dtype, str(facts[3]), trainable, same_as)
            if state == parameter.state and address == parameter.address:
                continue
            is_new = parameter.state is None
            kind = "added" if is_new else "changed" if address == parameter.address else "replaced"
            count = 1
            for dimension in shape:
                count *= dimension
            self.change(
                parameter.row,
                kind,
                shape="x".join(map(str, shape)),
                dtype=dtype,
                device=state[2],
                attributes=None if same_as is None else json.dumps({"same_as": owner}),
                count=count if same_as is None else 0,
                size=count * item_size(facts[2]) if same_as is None else 0,
                trainable=int(trainable),
            )
            parameter.address, parameter.state = address, state
        for key, parameter in known.parameters.items():
            if key not in now:
                self.remove_parameter(parameter)

    # ---- Telling.

    def tell_module(self, reference, facts, parent, name, path):
        address, kind = facts[:2]
        depth = 0 if parent is None else parent.depth + 1
        row = self.tell(
            (address, kind), None if parent is None else parent.row, depth, name, class_name(facts[2], reference)
        )
        known = Known(reference, row, depth, path, kind, parent is None)
        reference.address = address
        self.modules[address] = known
        return known

    def tell(self, identity, parent, depth, name, kind):
        parent = -1 if parent is None else parent
        if not self.library.tfprof_capture_tell_node(*identity, parent, depth, encode(name), encode(kind)):
            raise MemoryError("a module is not recorded")
        self.rows += 1
        return self.rows - 1

    def change(self, row, kind, shape=None, dtype=None, device=None, attributes=None, count=-1, size=-1, trainable=-1):
        texts = map(encode, (kind, shape, dtype, device, attributes))
        if not self.library.tfprof_capture_tell_change(row, count, size, trainable, *texts):
            raise MemoryError("a change of a module is not recorded")


def join(path, key):
    return "%s.%s" % (path, key) if path else str(key)


def encode(text):
    return None if text is None else text.encode("utf-8", "replace")


def item_size(dtype):
    size = getattr(dtype, "itemsize", None)
    if size is None:  # before PyTorch 2.1
        import torch

        size = torch.empty((), dtype=dtype, device="meta").element_size()
    return size


def class_name(its_class, reference):
    """Of a ScriptModule that of the class that was scripted."""
    if its_class.__module__.startswith("torch.jit"):
        module = reference()
        return str(getattr(module, "original_name", None) or its_class.__name__)
    return its_class.__name__
