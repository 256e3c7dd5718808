"""Names of columns mean one thing in all views: the dictionary of sql/README.md, held to what views really have."""

import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from engines import run_tests

# A name that is not used, and what is called instead.  HTA tells times in milliseconds, and so do the views that equal
# its results.
UNUSED = {
    r"op_name": "op",
    r"kernel_name": "kernel",
    r"calls|.*_calls": "count, or ..._count",
    r"ratio|share|.*_share|percent|.*_percent": "a ratio of something: self_ratio, sum_ratio",
    r"(host_|device_|)total_ns|.*_total_ratio": "sum_ns, host_sum_ns, device_sum_ns: with all that is inside",
    r".*(utilization|idle|bytes|in_\w+)_error": "..._error_ratio, error_bytes: _error stands before the unit",
    r"(is_op_)?tensor_core_eligible": "is_tensor_core_eligible",
    r"minimum|maximum": "min, max",
    r"(de)?allocations": "allocation_count, deallocation_count",
}
# Views of other profilers' pages, and others where a row is no op and no kernel that have a name of their own.
OPS = {"op_summary", "xprof_op_stats", "eager_calls", "tb_operator_memory", "tb_operator_summary",
       "xprof_top_device_ops", "xprof_kernel_stats", "roofline", "hta_frequent_sequences", "hta_op_kernels",
       "kernel_by_op", "memory_breakdown", "memory_by_op", "memory_failures", "sync_summary", "op_diff"}
KERNELS = {"kernel_summary", "kernel_by_op", "xprof_kernel_stats", "roofline", "kernel_diff",
           "hta_kernel_breakdown", "hta_kernel_launch_stats", "sync_summary"}


def test_one_name_for_each_thing(engine):
    connection = engine()
    columns = connection.values(
        "SELECT name, column_name FROM tfprof_views JOIN tfprof_columns ON table_name = name WHERE section <> 'old'")
    assert len(columns) > 1300, len(columns)
    wrong = [f"{view}.{column}: {instead}" for view, column in columns for name, instead in UNUSED.items()
             if re.fullmatch(name, column)]
    assert not wrong, "\n".join(wrong)
    assert {view for view, column in columns if column == "op"} == OPS
    assert {view for view, column in columns if column == "kernel"} == KERNELS


def test_errors_stand_beside_what_they_are_of(engine):
    """x_error_ns beside x_ns, error_bytes beside bytes, x_count_error beside x_count."""
    connection = engine()
    views = {}
    for view, column in connection.values(
            "SELECT name, column_name FROM tfprof_views JOIN tfprof_columns ON table_name = name "
            "WHERE section <> 'old'"):
        views.setdefault(view, set()).add(column)
    found = 0
    for view, columns in views.items():
        for column in columns:
            if re.search(r"(^|_)error(_|$)", column) and column != "error_count":
                of = re.sub(r"_error$", "", re.sub(r"(^|_)error_", r"\1", column))
                assert of in columns, (view, column, of)
                found += 1
    assert found > 30, found


def test_kinds_of_views(engine):
    """The name of a view says of which kind it is, as its section does."""
    connection = engine()
    prefixes = {"xprof": "xprof_", "tensorboard": "tb_", "hta": "hta_", "helpers": "_"}
    for name, section in connection.values(
            "SELECT name, section FROM tfprof_views WHERE section NOT IN ('old', 'checks')"):
        expected = prefixes.get(section, "")
        others = [prefix for prefix in prefixes.values() if prefix != expected and name.startswith(prefix)]
        assert name.startswith(expected) and not others, (name, section)


def test_panels_are_called_as_what_they_show(engine):
    """A panel that has the name of a view or of a table reads it."""
    panels = engine().values("""SELECT tfprof_panels.name, instr(tfprof_panels.sql, '.' || tfprof_panels.name) > 0
        FROM tfprof_panels WHERE name IN (SELECT name FROM tfprof_views WHERE kind <> 'old')
            OR name IN (SELECT name FROM tfprof_tables)""")
    assert len(panels) > 10 and all(reads for _, reads in panels), panels


if __name__ == "__main__":
    run_tests(sys.modules[__name__])
