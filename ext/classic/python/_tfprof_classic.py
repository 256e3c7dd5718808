"""What the module tfprof has of TensorFlow's profiler: names, and the modules that have them.

tfprof.py asks for a name that it does not have itself.  Modules are loaded when one of their names is first asked for.
"""

load_beside = None  # set by the module tfprof

_PARTS = {
    "_tfprof_options": ("ProfileOptionBuilder", "FLOAT_OPS_OPTIONS", "PRINT_ALL_TIMING_MEMORY",
                        "TRAINABLE_VARS_PARAMS_STAT_OPTIONS", "TRAINABLE_VARIABLES"),
    "_tfprof_profiler": ("ALL_ADVICE", "Profiler", "advise", "print_model_analysis", "profile", "write_op_log"),
    "_tfprof_context": ("ProfileContext",),
}
# What results are: TensorFlow's own where the program uses TensorFlow. The others are what releases before 1.3 called
# them.
_MESSAGES = {"AdviceProto": "AdviceProto", "GraphNodeProto": "GraphNodeProto", "TFGraphNodeProto": "GraphNodeProto",
             "TFProfNode": "GraphNodeProto", "MultiGraphNodeProto": "MultiGraphNodeProto",
             "TFMultiGraphNodeProto": "MultiGraphNodeProto"}
# Modules of TensorFlow's profiler, whose names are all in the module tfprof.
_MODULES = ("model_analyzer", "option_builder", "profile_context", "profiler", "tfprof_logger")


def attribute(tfprof, name):
    """What the module `tfprof` has under a name; AttributeError: nothing."""
    if name in _MODULES:
        return tfprof
    if name in _MESSAGES:
        return load_beside("_tfprof_profiler").message_class(_MESSAGES[name])
    for part, names in _PARTS.items():
        if name in names:
            return getattr(load_beside(part), name)
    if name == "OpLogProto":  # goes with a graph of TensorFlow, and is TensorFlow's own
        try:
            from tensorflow.core.profiler.tfprof_log_pb2 import OpLogProto
        except ImportError:
            raise AttributeError("tfprof.OpLogProto is that of TensorFlow, which cannot be imported here") from None
        return OpLogProto
    raise AttributeError("module 'tfprof' has no attribute %r" % name)
