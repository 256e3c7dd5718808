"""Options of the classic views as dictionaries: those that TensorFlow's profiler offers ready-made, and a builder."""

import copy

TRAINABLE_VARIABLES = "_trainable_variables"

_THRESHOLDS = ("bytes", "micros", "params", "float_ops", "occurrence")


def _options(**changes):
    """The keys are those of TensorFlow's dictionaries; what they lack is 0."""
    options = dict.fromkeys(("min_" + name for name in _THRESHOLDS), 0)
    options.update(
        max_depth=10000,
        order_by="name",
        account_type_regexes=[".*"],
        start_name_regexes=[".*"],
        trim_name_regexes=[],
        show_name_regexes=[".*"],
        hide_name_regexes=[],
        account_displayed_op_only=True,
        select=["micros"],
        step=-1,
        output="stdout",
    )
    options.update(changes)
    return options


class ProfileOptionBuilder:
    """Options step by step, each method returning the builder, build() the dictionary:

        options = (ProfileOptionBuilder(ProfileOptionBuilder.time_and_memory())
                   .with_node_names(show_name_regexes=[".*train.py.*"]).with_step(7).build())
    """

    def __init__(self, options=None):
        if options is None:
            options = _options(max_depth=100, account_displayed_op_only=False)
        self._options = copy.deepcopy(options)

    @staticmethod
    def trainable_variables_parameter():
        """How many parameters there are that training changes; for the scope view."""
        return _options(account_type_regexes=[TRAINABLE_VARIABLES], select=["params"])

    @staticmethod
    def float_operation():
        """Floating point operations, the most first."""
        return _options(min_float_ops=1, order_by="float_ops", select=["float_ops"])

    @staticmethod
    def time_and_memory(min_micros=1, min_bytes=1, min_accelerator_micros=0, min_cpu_micros=0, min_peak_bytes=0,
                        min_residual_bytes=0, min_output_bytes=0):
        """Time and memory of what took at least so much of both, the longest first."""
        return _options(
            min_micros=min_micros,
            min_bytes=min_bytes,
            min_accelerator_micros=min_accelerator_micros,
            min_cpu_micros=min_cpu_micros,
            min_peak_bytes=min_peak_bytes,
            min_residual_bytes=min_residual_bytes,
            min_output_bytes=min_output_bytes,
            order_by="micros",
            select=["micros", "bytes"],
        )

    def build(self):
        return copy.deepcopy(self._options)

    def _with(self, **changes):
        self._options.update(copy.deepcopy({name: value for name, value in changes.items() if value is not None}))
        return self

    def with_max_depth(self, max_depth):
        return self._with(max_depth=max_depth)

    def with_min_memory(self, min_bytes=0, min_peak_bytes=0, min_residual_bytes=0, min_output_bytes=0):
        return self._with(min_bytes=min_bytes, min_peak_bytes=min_peak_bytes, min_residual_bytes=min_residual_bytes,
                          min_output_bytes=min_output_bytes)

    def with_min_execution_time(self, min_micros=0, min_accelerator_micros=0, min_cpu_micros=0):
        return self._with(min_micros=min_micros, min_accelerator_micros=min_accelerator_micros,
                          min_cpu_micros=min_cpu_micros)

    def with_min_parameters(self, min_params):
        return self._with(min_params=min_params)

    def with_min_occurrence(self, min_occurrence):
        return self._with(min_occurrence=min_occurrence)

    def with_min_float_operations(self, min_float_ops):
        return self._with(min_float_ops=min_float_ops)

    def with_accounted_types(self, account_type_regexes):
        return self._with(account_type_regexes=account_type_regexes)

    def with_node_names(self, start_name_regexes=None, show_name_regexes=None, hide_name_regexes=None,
                        trim_name_regexes=None):
        return self._with(start_name_regexes=start_name_regexes, show_name_regexes=show_name_regexes,
                          hide_name_regexes=hide_name_regexes, trim_name_regexes=trim_name_regexes)

    def account_displayed_op_only(self, is_true):
        return self._with(account_displayed_op_only=is_true)

    def with_empty_output(self):
        return self._with(output="none")

    def with_stdout_output(self):
        return self._with(output="stdout")

    def _with_file(self, kind, path):
        return self._with(output="%s:outfile=%s" % (kind, path))

    def with_file_output(self, outfile):
        return self._with_file("file", outfile)

    def with_timeline_output(self, timeline_file):
        return self._with_file("timeline", timeline_file)

    def with_pprof_output(self, pprof_file):
        return self._with_file("pprof", pprof_file)

    def order_by(self, attribute):
        return self._with(order_by=attribute)

    def select(self, attributes):
        return self._with(select=attributes)

    def with_step(self, step):
        return self._with(step=step)


# The names of 0.12, when the options were plain dictionaries.
TRAINABLE_VARS_PARAMS_STAT_OPTIONS = ProfileOptionBuilder.trainable_variables_parameter()
FLOAT_OPS_OPTIONS = ProfileOptionBuilder.float_operation()
PRINT_ALL_TIMING_MEMORY = ProfileOptionBuilder.time_and_memory()
