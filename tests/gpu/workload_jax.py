"""workload_jax.py STEPS FOLDER: so many steps in JAX, as many under jax.profiler, which writes to FOLDER, and as many
again. Prints as JSON the device and when jax.profiler was there, in nanoseconds since 1970.
"""

import json
import sys
import time

import jax
import jax.numpy as jnp


@jax.jit
def step(weights, batch):
    def loss(weights):
        return jnp.mean((jnp.tanh(batch @ weights[0]) @ weights[1] - 1) ** 2)
    return [weight - 0.01 * change for weight, change in zip(weights, jax.grad(loss)(weights))]


def steps(weights, batch, count):
    for _ in range(count):
        weights = step(weights, batch)
    return jax.block_until_ready(weights)


def main():
    count, folder = int(sys.argv[1]), sys.argv[2]
    key = jax.random.PRNGKey(0)
    weights, batch = [jax.random.normal(key, (1024, 1024)) for _ in range(2)], jax.random.normal(key, (256, 1024))
    weights = steps(weights, batch, count)
    begin_ns = time.time_ns()
    jax.profiler.start_trace(folder)
    weights = steps(weights, batch, count)
    jax.profiler.stop_trace()
    end_ns = time.time_ns()
    weights = steps(weights, batch, count)
    print(json.dumps({"device": jax.devices()[0].device_kind, "begin_ns": begin_ns, "end_ns": end_ns}))


main()
