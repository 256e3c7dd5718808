"""Makes tests/golden/hlo: programs that JAX compiled for CPUs, and what XLA and XProf say that they cost.

    make_hlo_costs.py programs FOLDER    with JAX 0.10.2: programs.xplane.pb, and totals of compiled.cost_analysis()
    make_hlo_costs.py costs FOLDER       with XProf 2.24.2: hlo_stats of every instruction, as a kernel that takes 1 us

Both write into costs.json: {program: {"flops", "bytes", "instructions": {name: [flops, bytes]}}}.
"""

import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import xplane_files
from test_hlo_costs import of_gpu


def programs():
    import jax
    import jax.numpy as jnp
    from jax import lax

    def network(weights, images):
        hidden = lax.conv_general_dilated(images, weights["a"], (2, 2), "SAME",
                                          dimension_numbers=("NHWC", "HWIO", "NHWC"))
        hidden = lax.reduce_window(hidden, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        hidden = lax.conv_general_dilated(hidden, weights["b"], (1, 1), [(1, 2), (3, 1)], rhs_dilation=(2, 1),
                                          dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=4)
        return jnp.tanh(hidden.reshape(hidden.shape[0], -1) @ weights["c"]).sum()

    def train(weights, images):
        loss, gradients = jax.value_and_grad(network)(weights, images)
        return jax.tree.map(lambda weight, gradient: weight - 0.01 * gradient, weights, gradients), loss

    def recurrent(weight, x):
        def cell(carry, _):
            return jnp.tanh(carry @ weight), carry.sum()
        return lax.scan(cell, x, None, length=7)

    def others(x, i):
        square = x[:32, :32] @ x[:32, :32].T + 32 * jnp.eye(32)
        return (jnp.sort(x, axis=-1)[:, ::2], jnp.cumsum(x, 0), jnp.fft.fft2(x[:64, :16]).real,
                lax.linalg.cholesky(square), lax.linalg.triangular_solve(square, x[:32, :8], left_side=True),
                x.at[i].add(1.0), x[i], jnp.argmax(x, 1), lax.dynamic_update_slice(x, x[:4, :4] + 1, (i[0], i[1])),
                jnp.where(x > 0, jnp.exp(x), lax.cond(i[0] > 1, jnp.sin, lambda y: y * 2 + 1, x)),
                lax.conv_transpose(x[None, :16, :16, None], x[:3, :3, None, None], (3, 3), "VALID"),
                lax.dot(x[:16].astype(jnp.int8), x[:, :16].astype(jnp.int8), preferred_element_type=jnp.int32))

    def shape(*sizes, dtype=jnp.float32):
        return jax.ShapeDtypeStruct(sizes, dtype)

    made = {
        "train": (train, {"a": shape(3, 3, 3, 8), "b": shape(3, 2, 2, 12), "c": shape(420, 16)}, shape(4, 24, 16, 3)),
        "recurrent": (recurrent, shape(24, 24, dtype=jnp.bfloat16), shape(8, 24, dtype=jnp.bfloat16)),
        "others": (others, shape(64, 64), shape(3, dtype=jnp.int32)),
    }
    protos, costs = {}, {}
    for number, (name, (function, *arguments)) in enumerate(made.items()):
        compiled = jax.jit(function).lower(*arguments).compile()
        module = compiled.runtime_executable().hlo_modules()[0]
        total = compiled.cost_analysis()
        protos[f"jit_{name}({number + 1})"] = xplane_files.message(1, module.as_serialized_hlo_module_proto())
        costs[f"jit_{name}"] = {"flops": total["flops"], "bytes": total["bytes accessed"], "instructions": {}}
    return xplane_files.space(xplane_files.programs(protos), host=None), costs


def cost(path, costs):
    from xprof.convert import raw_to_tool_data
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "a.xplane.pb")
        with open(path, "rb") as source, open(file, "wb") as target:
            instructions, data = of_gpu(source.read())
            target.write(data)
        table = json.loads(raw_to_tool_data.xspace_to_tool_data([file], "hlo_stats", {})[0])
    columns = [column["id"] for column in table["cols"]]
    names = {number: module for module, number, _, _ in instructions}
    for cells in table["rows"]:
        row = dict(zip(columns, [cell.get("v") if cell else None for cell in cells["c"]]))
        if row["category"] != "IDLE":
            costs[names[int(row["program_id"])]]["instructions"][row["hlo_op_name"]] = [
                round(row["model_flop_rate"] * 1e3), round(row["measured_memory_bw"] * 2**30 / 1e6)]


def main():
    what, folder = sys.argv[1:]
    path, json_path = os.path.join(folder, "programs.xplane.pb"), os.path.join(folder, "costs.json")
    if what == "programs":
        os.makedirs(folder, exist_ok=True)
        data, costs = programs()
        with open(path, "wb") as file:
            file.write(data)
    else:
        with open(json_path, encoding="utf-8") as file:
            costs = json.load(file)
        cost(path, costs)
    with open(json_path, "w", encoding="utf-8") as file:
        json.dump(costs, file, indent=0)
        file.write("\n")


if __name__ == "__main__":
    main()
