"""What XProf and the converter in TensorFlow 2.16 print of the shared XPlane recordings."""

import glob
import json
import os
import re

GOLDEN = os.path.join(os.environ.get("TFPROF_SHARED", ""), "traces", "xplane")


def golden_json(run, tool):
    """What a tool printed of a recording, of the converter the tools tf216.*; {} where there is nothing."""
    path = os.path.join(GOLDEN, "golden", run, tool + ".json")
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def golden_tables(run, tool):
    """The tables of a tool's JSON as lists of dictionaries; [] where it has none."""
    content = golden_json(run, tool)
    tables = content if isinstance(content, list) else [content]
    return [[{column["id"]: cell["v"] if cell else None for column, cell in zip(table["cols"], row["c"])}
             for row in table["rows"]] for table in tables if "rows" in table]


def recordings():
    """(name, path) of each recording that has outputs of tools."""
    for path in sorted(glob.glob(os.path.join(GOLDEN, "*.xplane.pb"))):
        yield os.path.basename(path)[:-len(".xplane.pb")], path
    for path in sorted(glob.glob(os.path.join(GOLDEN, "multihost_*"))):
        yield os.path.basename(path), path


def is_unknown_tensor_kernel(name):
    """It computes on tensor cores, by its name, which XProf's list of parts of names lacks."""
    return re.search("xmma_[fdw][a-z]+_implicit_gemm", name) is not None


def is_close(found, expected, slack):
    return abs(found - expected) <= slack + 1e-9 * abs(expected)
