"""TensorFlow, Keras and JAX: what is recorded of each begins when its modules have been imported.

Each of the modules below has a function that begins what is recorded of one module of a framework; it is called as soon
as that one has been imported, and before anything else of the program can use it.  Versions whose private functions are
gone are told of in a line, and the program goes on.
"""

import functools
import os
import sys

# By the module of the framework: the part of the hooks, and its function.
MODULES = {
    "tensorflow": ("_tfprof_tensorflow", "begin"),
    "jax": ("_tfprof_jax", "begin"),
    "keras": ("_tfprof_keras", "begin"),
    "tf_keras": ("_tfprof_keras", "begin"),
    "keras.src.callbacks.callback_list": ("_tfprof_keras", "watch_batches"),
    "keras.src.callbacks": ("_tfprof_keras", "watch_batches"),
    "keras.callbacks": ("_tfprof_keras", "watch_batches"),
    "tf_keras.src.callbacks": ("_tfprof_keras", "watch_batches"),
    "keras.src.models.model": ("_tfprof_keras", "watch_fit"),
    "tf_keras.src.engine.training": ("_tfprof_keras", "watch_fit"),
    "keras.src.optimizers.base_optimizer": ("_tfprof_keras", "watch_optimizers"),
    "keras.src.optimizers.optimizer": ("_tfprof_keras", "watch_optimizers"),
    "keras.src.optimizers.legacy.optimizer_v2": ("_tfprof_keras", "watch_optimizers"),
    "keras.optimizers.legacy.optimizer_v2": ("_tfprof_keras", "watch_optimizers"),
    "tf_keras.src.optimizers.optimizer": ("_tfprof_keras", "watch_optimizers"),
    "tf_keras.src.optimizers.legacy.optimizer_v2": ("_tfprof_keras", "watch_optimizers"),
}
PACKAGES = ("tensorflow", "jax", "keras", "tf_keras")


class Finder:
    """Finds nothing: it looks on as the modules are imported."""

    RANK = "which process of its job this is"

    def __init__(self, hooks):
        self.hooks = hooks  # the module _tfprof_hooks
        self.waiting = dict(MODULES)
        self.is_looking = False  # one of the packages is being imported, or has been
        self.parts = {}
        self.name_of = name_of

    def find_spec(self, name, path=None, target=None):
        self.is_looking = self.is_looking or name in PACKAGES
        if self.is_looking:
            try:
                self.look()
            except Exception as problem:
                self.hooks.say_problem(problem)
        return None

    def look(self):
        for module in [one for one in self.waiting if one in sys.modules]:
            part = self.waiting.pop(module)
            spec = getattr(sys.modules[module], "__spec__", None)
            if getattr(spec, "_initializing", False):
                self.hooks.when_imported(spec, lambda module=module, part=part: self.begin(module, *part))
            else:
                self.begin(module, *part)

    def begin(self, module, part, function):
        if module not in sys.modules:  # its import has failed, and may be tried again
            self.waiting[module] = (part, function)
            return
        try:
            if part not in self.parts:
                self.parts[part] = self.hooks.load_beside(part)
            getattr(self.parts[part], function)(sys.modules[module], self)
            self.look()  # what it has imported last
        except Exception as problem:
            self.hooks.say_problem(problem)

    def watch_annotation(self, annotation, process, is_traced, number_of):
        """Objects of the class mark a step from where they are entered to where they are left; number_of: of the
        keywords that one was made with its number, as far as steps go so far; None: it marks none.
        """
        make, enter, leave = annotation.__init__, annotation.__enter__, annotation.__exit__
        marks, say_problem = process.marks, self.hooks.say_problem
        following = [0]

        @functools.wraps(make)
        def __init__(self, *arguments, **keywords):
            make(self, *arguments, **keywords)
            try:
                number = number_of(keywords, following[0])
                self._tfprof_step = None if number is None or number < 0 else [number, 0]
            except Exception as problem:
                say_problem(problem)

        @functools.wraps(enter)
        def __enter__(self):
            try:
                step = getattr(self, "_tfprof_step", None)
                if step and marks.wanted and not is_traced():
                    marks.begin_step("StepTraceAnnotation")
            except Exception as problem:
                say_problem(problem)
            result = enter(self)
            try:
                if step and not is_traced():
                    step[1] = marks.begin()
            except Exception as problem:
                say_problem(problem)
            return result

        @functools.wraps(leave)
        def __exit__(self, *problem):
            try:
                step = getattr(self, "_tfprof_step", None)
                if step and step[1]:
                    ticks, step[1] = step[1], 0
                    following[0] = step[0] + 1
                    marks.end("StepTraceAnnotation#%d" % step[0], ticks)
            except Exception as its_problem:
                say_problem(its_problem)
            return leave(self, *problem)

        annotation.__init__, annotation.__enter__, annotation.__exit__ = __init__, __enter__, __exit__

    @staticmethod
    def ops(sessions):
        """What is said of its ops. `sessions`: what opens sessions of its profiler (_tfprof_profilers), or why none."""
        if os.environ.get("TFPROF_OPS") == "none":
            return "without its ops"
        if isinstance(sessions, str):
            return "without its ops: its profiler cannot be used: " + sessions
        return "and its ops in some of the steps, by its own profiler"

    def say_missing(self, name, missing):
        """What of a framework cannot be seen in its version, a list; and what to do then."""
        if missing:
            advice = "mark steps with tfprof.step()" if missing != [self.RANK] else "set RANK and WORLD_SIZE"
            missing = " and ".join(missing)
            self.say("of this %s %s cannot be seen, as it is made otherwise; %s" % (name, missing, advice))

    def say(self, text):
        self.hooks.say_framework(text)


def name_of(name, function, names):
    """As the framework calls it, and a number behind where functions with other code have the same name."""
    name = str(name)
    while isinstance(function, functools.partial):
        function = function.func
    code = getattr(function, "__code__", None) or type(function)
    known = names.setdefault(name, [])
    if code not in known:
        if len(known) == 64:
            return name
        known.append(code)
    number = known.index(code)
    return name if not number else "%s %d" % (name, number + 1)
