#!/usr/bin/env python3
"""make_hlo_modules.py: modules of XLA in both forms, for test_hlo_modules.py.

    make_hlo_modules.py FOLDER    with JAX 0.10.2 on a CPU: NAME.hlo.pb, NAME.txt and NAME.lowered.txt of a training
                                  step, a loop with a condition, a convolution, and one on two devices; modules.json
                                  with what compiled.cost_analysis() says
"""

import json
import os
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"

import jax

MODEL = '''
import jax
import jax.numpy as jnp
from jax import lax


def loss(weights, inputs):
    for weight in weights:
        inputs = jnp.tanh(inputs @ weight)
    return (inputs ** 2).mean()


def step(weights, inputs):
    value, gradients = jax.value_and_grad(loss)(weights, inputs)
    return [weight - 0.1 * gradient for weight, gradient in zip(weights, gradients)], value


def loop(inputs):
    def body(carry, _):
        carry = jnp.sin(carry) @ inputs
        return carry, carry.sum()
    carry, sums = lax.scan(body, inputs, None, length=5)
    return lax.cond(carry.sum() > 0, lambda value: value * 2, lambda value: value - 1, carry), sums


def convolution(images, kernel):
    made = lax.conv_general_dilated(images, kernel, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return lax.reduce_window(made, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID").sum()


def shared(rows):
    return (rows @ rows.T).sum() + jnp.fft.rfft(rows).real.sum() + jnp.sort(rows).sum()
'''


def main():
    names = {}
    exec(compile(MODEL, "model.py", "exec"), names)
    import jax.numpy as jnp
    from jax.sharding import Mesh, NamedSharding, PartitionSpec
    rows = jax.device_put(jnp.ones((8, 16)), NamedSharding(Mesh(jax.devices(), ("d",)), PartitionSpec("d", None)))
    calls = {"step": (names["step"], [jnp.ones((32, 64)), jnp.ones((64, 16))], jnp.ones((8, 32))),
             "loop": (names["loop"], jnp.ones((8, 8))),
             "convolution": (jax.grad(names["convolution"], argnums=1), jnp.ones((2, 16, 16, 3)),
                             jnp.ones((3, 3, 3, 8))),
             "shared": (names["shared"], rows)}
    told = {}
    for name, (function, *arguments) in calls.items():
        lowered = jax.jit(function).lower(*arguments)
        compiled = lowered.compile()
        path = os.path.join(sys.argv[1], name)
        with open(path + ".txt", "w", encoding="utf-8") as file:
            file.write(compiled.as_text())
        with open(path + ".lowered.txt", "w", encoding="utf-8") as file:
            file.write(lowered.as_text("hlo"))
        with open(path + ".hlo.pb", "wb") as file:
            file.write(compiled.runtime_executable().hlo_modules()[0].as_serialized_hlo_module_proto())
        costs = compiled.cost_analysis()
        told[name] = {"flops": costs["flops"], "bytes": costs["bytes accessed"]}
    with open(os.path.join(sys.argv[1], "modules.json"), "w", encoding="utf-8") as file:
        json.dump(told, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
