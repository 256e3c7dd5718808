"""frameworks_program.py FRAMEWORK WIDTH [PAUSE]: the steps that frameworks.py measures, of layers so wide. For each
number on standard input it runs so many steps and says what they took: {"passed_ns": ..., "thread_ns": ...,
"process_ns": ...}. With a PAUSE, in seconds, it runs a step after each, until standard input ends (soak.py).
"""

import json
import select
import sys
import time


def jax_steps(width):
    import jax
    import jax.numpy as jnp

    def loss(weights, batch):
        return jnp.mean((jnp.tanh(jnp.tanh(batch @ weights) @ weights) @ weights) ** 2)

    @jax.jit
    def train_step(weights, batch):
        return weights - 1e-3 * jax.grad(loss)(weights, batch)

    state = [jnp.ones((width, width)) * 0.01, jnp.ones((32, width))]

    def run(count):
        for _ in range(count):
            state[0] = train_step(*state)
        state[0].block_until_ready()

    return run


def tensorflow_steps(width):
    import tensorflow as tf

    weights = [tf.Variable(tf.ones((width, width)) * 0.01) for _ in range(4)]
    batch = tf.ones((32, width))

    @tf.function
    def train_step():
        with tf.GradientTape() as tape:
            hidden = batch
            for one in weights:
                hidden = tf.tanh(hidden @ one)
            loss = tf.reduce_mean(hidden ** 2)
        for one, gradient in zip(weights, tape.gradient(loss, weights)):
            one.assign_sub(1e-3 * gradient)
        return loss

    def run(count):
        for _ in range(count):
            loss = train_step()
        loss.numpy()

    return run


def keras_steps(width):
    import keras
    import numpy as np

    model = keras.Sequential([keras.Input((width,)), *(keras.layers.Dense(width, activation="tanh") for _ in range(4)),
                              keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    inputs, targets = np.ones((32 * 512, width), "float32"), np.ones((32 * 512, 1), "float32")

    def run(count):
        model.fit(inputs[:32 * count], targets[:32 * count], batch_size=32, verbose=0)

    return run


def torch_steps(width):
    import torch

    torch.set_num_threads(1)
    model = torch.nn.Sequential(*(torch.nn.Linear(width, width) for _ in range(4)), torch.nn.Linear(width, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    batch = torch.ones((32, width))

    def run(count):
        for _ in range(count):
            optimizer.zero_grad()
            model(batch).square().mean().backward()
            optimizer.step()

    return run


STEPS = {"jax": jax_steps, "tensorflow": tensorflow_steps, "keras": keras_steps, "torch": torch_steps}


def main():
    run = STEPS[sys.argv[1]](int(sys.argv[2]))
    while len(sys.argv) > 3 and not select.select([sys.stdin], [], [], float(sys.argv[3]))[0]:
        run(1)
    for line in sys.stdin:
        passed, thread, process = time.monotonic_ns(), time.thread_time_ns(), time.process_time_ns()
        run(int(line))
        took = {"passed_ns": time.monotonic_ns() - passed, "thread_ns": time.thread_time_ns() - thread,
                "process_ns": time.process_time_ns() - process}
        print(json.dumps(took), flush=True)


main()
