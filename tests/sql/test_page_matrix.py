#!/usr/bin/env python3
"""test_page_matrix.py: what the pages of the TensorFlow 2 Profiler and of the PyTorch TensorBoard plugin show, panels
of our page show: docs/comparison.md is held to it, row by row.

A row has what the page shows, a panel and columns of it; a row without a first cell goes on with the one above. Where
there is no panel, the second cell is "not here" or "the timeline", and the third says why. Each panel is there, its
SELECT has these columns, and each column has a value in a row of some file: of those made here, in tests/fixtures or
among the golden files.
"""

import glob
import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
sys.path.insert(0, os.path.join(HERE, "..", "page"))
from reports import bound, query_all  # noqa: E402
import test_view_matrix as views  # noqa: E402  (which finds playing)
from made_traces import kernel, launch, span, write  # noqa: E402
from playing import capturing  # noqa: E402
from xplane_files import event, line, plane, space  # noqa: E402

ROOT = os.path.join(HERE, "..", "..")
US = views.US
# What the recipes are of: no page is left out.
PAGES = {"TensorFlow 2 Profiler": {"overview", "input pipeline", "op statistics", "memory", "kernel statistics",
                                   "pod viewer", "bottleneck graph", "trace viewer"},
         "PyTorch TensorBoard plugin": {"overview", "operator", "kernel", "memory", "module", "distributed", "trace",
                                        "diff of two runs"}}
# What only captures tell: known where there is a PyTorch to capture.
OF_CAPTURES = {("modules", column) for column in ("class", "call_count", "call_ns")}


def read_matrix():
    """{profiler: {page: [(panel, its columns)]}}, one for each row."""
    found, pages, page = {}, None, None
    with open(os.path.join(ROOT, "docs", "comparison.md"), encoding="utf-8") as file:
        lines = file.read().splitlines()
    for line in lines:
        heading = re.fullmatch(r"(##+) (?:\w+: )?(.*)", line)
        if heading and heading[1] == "##":
            pages = found.setdefault(heading[2], {}) if heading[2] in PAGES else None
        elif heading and pages is not None:
            page = pages.setdefault(heading[2], [])
        elif pages is not None and line.startswith("| ") and not line.startswith("| it shows |"):
            page.append(panel_of(line))
    return found


def panel_of(line):
    """(panel, its columns) of a row, or (None, []) of one that says why there is none."""
    _, panel, columns = (part.strip() for part in line[1:-1].split(" | "))
    if panel in ("not here", "the timeline"):
        return None, []
    match = re.fullmatch(r"`(\w+)`", panel)
    assert match and re.fullmatch(r"`\w+`(?:, `\w+`)*", columns), f"this row names no panel and columns: {line}"
    return match[1], re.findall(r"`(\w+)`", columns)


def two_ranks(folder):
    """Ranks of which the second is late, and modules around what they launch."""
    os.mkdir(os.path.join(folder, "ranks"))
    for rank, late in ((0, 0), (1, 3000)):
        events = [span("user_annotation", f"ProfilerStep#{step}", step * 100_000, 99_000) for step in range(3)]
        for step in range(3):
            at, number = step * 100_000, step * 10
            events += [span("python_function", "nn.Module: Net_0", at + 1000, 60_000,
                            **{"Python id": number + 1, "Python parent id": None, "Python module id": 0}),
                       span("cpu_op", "aten::mm", at + 2000, 9000, **{"External id": number + 1}),
                       launch(at + 3000, 500, number + 1), launch(at + 5000, 500, number + 2),
                       kernel(at + 10_000, 9000, 7, number + 1),
                       kernel(at + 20_000 + late, 8000 - late, 20, number + 2, "ncclDevKernel_AllReduce_Sum_f32_RING",
                              **{"Collective name": "allreduce", "In msg nelems": 1000, "Out msg nelems": 1000,
                                 "Group size": 2, "dtype": "Float", "Process Group Name": "0"})]
        write(os.path.join(folder, "ranks", f"rank{rank}.pt.trace.json"), events,
              host_name=f"node{rank}", distributedInfo={"backend": "nccl", "rank": rank, "world_size": 2})
    return os.path.join(folder, "ranks")


def input_tree(folder):
    """A batch that asks a map that asks a file."""
    calls = [event("Iterator::Batch", 10 * US, 90 * US, id=1),
             event("Iterator::Batch::Map", 15 * US, 70 * US, id=2, parent_id=1),
             event("Iterator::Batch::Map::TFRecord", 20 * US, 60 * US, id=3, parent_id=2)]
    path = os.path.join(folder, "input.xplane.pb")
    with open(path, "wb") as file:
        file.write(space(plane("/host:CPU", [line(1, "tf_data", calls)])))
    return path


def files_of(folder):
    made = [make(folder) for make in (views.xplane_gpu, views.torch_gpu, two_ranks, input_tree)]
    try:
        capturing.need_torch()
        made.append(views.capture_cpu(folder))
    except SystemExit:
        pass
    return (made + sorted(glob.glob(os.path.join(ROOT, "tests", "fixtures", "kineto", "*.json"))) +
            [os.path.join(ROOT, "tests", "golden", "dump-1", "ops.tfprof")])


def values_of(path, wanted, panels):
    """{(panel, column)} of those wanted that have a value in this file."""
    asked = {}
    for name, columns in wanted.items():
        counts = ", ".join(f"count({column}) AS {column}" for column in sorted(columns))
        asked[name] = f"SELECT {counts} FROM (\n{bound(panels[name])}\n)"
    return {(name, column) for name, rows in query_all(path, asked).items()
            for column, count in rows[0].items() if count}


def main():
    matrix = read_matrix()
    assert set(matrix) == set(PAGES), list(matrix)
    wanted = {}
    for profiler, pages in matrix.items():
        assert set(pages) == PAGES[profiler], set(pages) ^ PAGES[profiler]
        for rows in pages.values():
            assert rows, pages
            for panel, columns in rows:
                if panel:
                    wanted.setdefault(panel, set()).update(columns)
    panels = {}
    for path in glob.glob(os.path.join(ROOT, "sql", "panels", "*.sql")):
        with open(path, encoding="utf-8") as file:
            panels[os.path.basename(path)[:-len(".sql")]] = file.read().strip()
    assert not set(wanted) - set(panels), f"no such panels: {sorted(set(wanted) - set(panels))}"
    missing = {(name, column) for name, columns in wanted.items() for column in columns}
    with tempfile.TemporaryDirectory() as folder:
        paths = files_of(folder)
        for path in paths:
            left = {name: {column for panel, column in missing if panel == name} for name in wanted}
            missing -= values_of(path, {name: columns for name, columns in left.items() if columns}, panels)
    if not any(os.path.basename(path) == "cpu_run" for path in paths):
        missing -= OF_CAPTURES
    assert not missing, f"without a value in any file: {sorted(missing)}"
    print(sum(len(rows) for pages in matrix.values() for rows in pages.values()), "rows,", len(wanted), "panels")


if __name__ == "__main__":
    main()
