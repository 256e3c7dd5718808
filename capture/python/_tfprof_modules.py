"""Tells the capture library what the modules of the program's models are: names, classes, parameters, their changes.

The library sees modules only as addresses on the stacks of ops; what is to be known of those that it does not know it
gathers in one piece, as long as they are there (module_facts.h), and hands to found(), on a thread of its own: nothing
of the program is called, nothing that it can see is changed, and nothing of it is held here.  A module is named by a
number, which is that of another one when the program has made a model like one that is gone.

Names are those of named_parameters() and named_modules() of the first model that has parameters.  A module that is part
of no other that is known is the root of a model; its own name is that of its class.  The names within other models
begin with the name of their root. A parameter that several modules share is counted where it comes first.

What is known is looked at again when something new is found, every LOOK_AGAIN_SECONDS, and at the end: parameters that
were replaced, frozen, moved or taken out since.  A model that is gone stays as it was.
"""

import json
import os
import time

TELLING_MS = 2000  # that another thread may take
LOOK_AGAIN_SECONDS = 10
LAZY_SECONDS = 1  # until lazy parameters are looked at again
SHARE = 500  # of the time that passes looking again takes at most one part in so many


class Known:
    """A module that was told of."""

    __slots__ = ("row", "depth", "path", "is_root", "is_removed", "parameters", "children")

    def __init__(self, row, depth, path, is_root):
        self.row, self.depth, self.path, self.is_root = row, depth, path, is_root
        self.is_removed = False  # from the module that it was seen in first
        self.parameters = {}  # Parameter by key
        self.children = {}  # Known by key


class Parameter:
    """Its row, the address of the tensor, and what was told of it last; None: that it was removed."""

    __slots__ = ("row", "address", "state")

    def __init__(self, row):
        self.row, self.address, self.state = row, None, None


class Modules:
    def __init__(self, library, holding_gil, torch, say_problem):
        self.library, self.torch, self.say_problem = holding_gil, torch, say_problem
        self.begin_telling, self.end_telling = library.tfprof_capture_begin_telling, library.tfprof_capture_end_telling
        self.time_left = holding_gil.tfprof_capture_time_left
        self.lazy_class = getattr(torch.nn.parameter, "UninitializedTensorMixin", None)
        self.begin()
        os.register_at_fork(after_in_child=self.begin)

    def begin(self):
        """Nothing has been told yet; also in a forked child, whose dump is another one."""
        self.waiting = []  # news that were not told yet
        self.rows = 0
        self.modules = {}  # by number: Known
        self.roots = {}  # by model: Known
        self.names = set()  # of roots
        self.has_main = False
        self.is_broken = False

    # ---- Called by the library, and at the end.

    def found(self, is_last_time=0):
        """Tells what module_facts.h says is new: (model, [facts]), or (number, number that is the same module). At the
        end of the program a thread may stay where it is: what it has not told yet is in the list for the last one.
        """
        self.library.tfprof_capture_module_news(self.waiting, is_last_time)
        patience = min(TELLING_MS, self.time_left())
        if self.is_broken or not self.begin_telling(patience):
            return
        try:
            no_overrides = getattr(self.torch._C, "DisableTorchFunction", None)
            if no_overrides is None:
                self.update()
            else:
                with no_overrides():
                    self.update()
        except Exception as problem:
            self.is_broken = True
            self.say_problem(problem)
        finally:
            self.end_telling()

    def finish(self, flush):
        """At the end: what has been seen, initialised, added or changed since."""
        flush()
        if self.time_left():
            self.found(1)

    def update(self):
        start = time.monotonic()
        self.is_complete = True
        owners = {}
        for model, root in list(self.roots.items()):
            tree = self.library.tfprof_capture_model_tree(model)
            if tree is not None:
                self.tell_tree(root, tree, owners)
        done = 0
        while done < len(self.waiting):
            first, second = self.waiting[done]
            done += 1
            if not isinstance(second, int):
                self.tell_news(first, second)
            elif first in self.modules:
                self.change(self.modules[first].row, "made again", module=second)
        del self.waiting[:done]
        pause = max((time.monotonic() - start) * SHARE, LOOK_AGAIN_SECONDS)
        self.library.tfprof_capture_modules_again(int(1000 * (pause if self.is_complete else LAZY_SECONDS)))

    # ---- Walking.

    def tell_news(self, model, tree):
        number = tree[0][0]
        known = self.modules.get(number)
        if known is None and model:
            known = self.roots[model] = self.tell_root(tree)
        if known is not None:
            self.tell_tree(known, tree, {})

    def tell_root(self, tree):
        facts = tree[0]
        name = base = class_name(facts)
        number = 1
        while name in self.names:
            number += 1
            name = "%s_%d" % (base, number)
        self.names.add(name)
        path = name
        if not self.has_main and any(one[4] is None or one[4] for one in tree):
            self.has_main = True
            path = ""
        return self.tell_module(facts, None, name, path)

    def tell_tree(self, root, tree, owners):
        """Whatever of a root's tree is not known yet, or not known so: each module once, in the order of
        named_modules(). `owners`: by address of a tensor the name under which it comes first.
        """
        facts = {one[0]: one for one in tree}
        seen, waiting = set(), [(root, tree[0][0])]
        while waiting:
            known, number = waiting.pop()
            if known.row in seen or number not in facts:
                continue
            seen.add(known.row)
            children, parameters = facts[number][3:]
            if children is None:
                children, parameters = self.look_closely(facts[number], facts)
            self.tell_parameters(known, parameters, owners)
            waiting.extend(reversed(self.tell_children(known, children, facts)))

    def look_closely(self, its, facts):
        """The children and parameters of a module that has them in other things than dictionaries, as a ScriptModule;
        what is below is added to the facts. Of one that is gone nothing is known.
        """
        module = its[2]()
        children, parameters = [], []
        if module is None:
            return children, parameters
        for key, child in list(getattr(module, "_modules", {}).items()):
            if child is not None:
                tree = self.library.tfprof_capture_module_tree(child)
                for one in tree or ():
                    facts.setdefault(one[0], one)
                if tree:
                    children.append((key, tree[0][0]))
        for key, one in list(getattr(module, "_parameters", {}).items()):
            if one is not None:
                parameters.append((key, id(one), (type(one), one.shape, one.dtype, one.device, one.requires_grad, 0)))
        return children, parameters

    def tell_children(self, known, children, facts):
        """[(Known, number)] of them."""
        now = {}
        for key, number in children:
            child = self.modules.get(number)
            if child is None and number in facts:
                path = join(known.path, key)
                child = self.tell_module(facts[number], known, path, path)
            if child is not None:
                now[key] = child, number
        present = [child for child, _ in now.values()]
        for child in known.children.values():
            if child not in present:
                self.remove(child)
        for child in present:
            if child.is_removed:
                child.is_removed = False
                self.change(child.row, "added")
        known.children = {key: child for key, (child, _) in now.items()}
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

    def tell_parameters(self, known, parameters, owners):
        now = set()
        for key, address, facts in parameters:
            now.add(key)
            if facts is None:
                self.is_complete = False
                continue
            name = join(known.path, key)
            parameter = known.parameters.get(key)
            if parameter is None:
                row = self.tell(0, known.row, known.depth + 1, name, facts[0].__name__)
                parameter = known.parameters[key] = Parameter(row)
            owner = owners.setdefault(address, name)
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
                memory=facts[5],
            )
            parameter.address, parameter.state = address, state
        for key, parameter in known.parameters.items():
            if key not in now:
                self.remove_parameter(parameter)

    # ---- Telling.

    def tell_module(self, facts, parent, name, path):
        depth = 0 if parent is None else parent.depth + 1
        row = self.tell(facts[0], None if parent is None else parent.row, depth, name, class_name(facts))
        known = self.modules[facts[0]] = Known(row, depth, path, parent is None)
        return known

    def tell(self, module, parent, depth, name, kind):
        parent = -1 if parent is None else parent
        if not self.library.tfprof_capture_tell_node(module, parent, depth, encode(name), encode(kind)):
            raise MemoryError("a module is not recorded")
        self.rows += 1
        return self.rows - 1

    def change(
        self, row, kind, shape=None, dtype=None, device=None, attributes=None, count=-1, size=-1, trainable=-1,
        memory=0, module=0
    ):
        texts = map(encode, (kind, shape, dtype, device, attributes))
        if not self.library.tfprof_capture_tell_change(row, module, count, size, trainable, memory, *texts):
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


def class_name(facts):
    """Of a ScriptModule that of the class that was scripted, of a lazy module that of the class it becomes."""
    its_class = facts[1]
    if its_class.__module__.startswith("torch.jit"):
        module = facts[2]()
        return str(getattr(module, "original_name", None) or its_class.__name__)
    becomes = getattr(its_class, "cls_to_become", None)
    return becomes.__name__ if isinstance(becomes, type) else its_class.__name__
