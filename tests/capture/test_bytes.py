"""ops.bytes_accessed is what PyTorch itself hands to ops and gets from them, op by op, in captures and in traces of
torch.profiler; of each op only that which is called by none that has them.
"""

import json
import os

import capturing
from capturing import query

# What these return is left out; norms return what they keep for the backward pass besides.
REDUCTIONS = {"aten::sum", "aten::mean"}
NORMS = {"aten::native_batch_norm", "aten::native_layer_norm", "aten::native_batch_norm_backward",
         "aten::native_layer_norm_backward"}
WANTED = {"aten::convolution", "aten::convolution_backward", "aten::addmm", "aten::mm", "aten::bmm", "aten::relu",
          "aten::gelu", "aten::gelu_backward", "aten::add", "aten::add_", "aten::mul", "aten::neg", "aten::gt",
          "aten::where", "aten::tanh", "aten::tanh_backward", "aten::threshold_backward", "aten::embedding",
          "aten::_log_softmax", "aten::_log_softmax_backward_data"} | REDUCTIONS | NORMS


def check(path, moved, between):
    rows = query(path, "SELECT name, total(bytes_accessed) AS bytes, count(*) AS count FROM ops "
                       f"WHERE bytes_accessed IS NOT NULL {between} GROUP BY name")
    found = {row["name"]: row["bytes"] for row in rows}
    calls = {row["name"]: row["count"] for row in rows}
    assert WANTED <= set(found), WANTED - set(found)
    for name in sorted(WANTED):
        read, written = moved["read"][name], moved["written"][name]
        expected = read + (0 if name in REDUCTIONS else written)
        if name == "aten::embedding": # reads of its table only the rows that it returns
            expected = 2 * written + 4 * 8
        # Plain numbers are tensors of eight bytes to the dispatcher.
        slack = 0.15 * expected if name in NORMS or name == "aten::convolution_backward" else 8 * calls[name]
        assert abs(found[name] - expected) <= slack, (path, name, found[name], expected)
    nested = query(path, "WITH RECURSIVE inside(id) AS (SELECT id FROM ops WHERE bytes_accessed IS NOT NULL UNION "
                         "SELECT ops.id FROM inside JOIN ops ON ops.parent_id = inside.id) SELECT count(*) AS count "
                         "FROM ops WHERE bytes_accessed IS NOT NULL AND parent_id IN inside")
    assert nested == [{"count": 0}], nested
    print("%s: %d ops, of these %d compared" % (os.path.basename(path), len(found), len(WANTED)))


def main():
    capturing.need_torch()
    program = os.path.join(capturing.PROGRAMS, "moved_bytes.py")
    with capturing.Directory() as directory:
        trace = os.path.join(directory, "trace.json")
        out, _ = capturing.run(directory, [program, trace])
        traced, counted = json.loads(out.splitlines()[-1])
        check(trace, traced, "")
        check(directory, counted, "AND start_ns >= (SELECT start_ns FROM ops WHERE name = 'counted') AND end_ns <= "
                            "(SELECT end_ns FROM ops WHERE name = 'counted')")
        rows = query(trace, "SELECT op_type, flops_per_byte, bytes_per_second FROM roofline WHERE position > 0")
        assert {"aten::convolution", "aten::relu"} <= {row["op_type"] for row in rows if row["bytes_per_second"]}, rows


main()
