"""Trains a small network in JAX on synthetic images: what a first training script looks like.

Nothing here knows of tfprof.  Record it with

    tfprof-capture -o run -- python examples/train_jax.py
"""
import argparse
import time

import jax
import jax.numpy as jnp
import numpy as np

SIZES = (3 * 32 * 32, 256, 128, 4)


def batches(count, size):
    """Images whose class is the quadrant that is brightest; made on demand, so that loading costs something."""
    for index in range(count):
        generator = np.random.default_rng(index)
        images = generator.random((size, 3, 32, 32), dtype=np.float32)
        labels = generator.integers(4, size=size)
        for image, label in zip(images, labels):
            row, column = 16 * (label // 2), 16 * (label % 2)
            image[:, row:row + 16, column:column + 16] += 0.5
        yield images.reshape(size, -1), labels


def make_parameters(key):
    parameters = []
    for inputs, outputs in zip(SIZES, SIZES[1:]):
        key, mine = jax.random.split(key)
        parameters.append((jax.random.normal(mine, (inputs, outputs)) * (2 / inputs) ** 0.5, jnp.zeros(outputs)))
    return parameters


def loss_of(parameters, images, labels):
    hidden = images
    for weights, bias in parameters[:-1]:
        hidden = jax.nn.relu(hidden @ weights + bias)
    weights, bias = parameters[-1]
    logits = jax.nn.log_softmax(hidden @ weights + bias)
    return -jnp.mean(logits[jnp.arange(labels.shape[0]), labels])


@jax.jit
def train_step(parameters, images, labels):
    loss, gradients = jax.value_and_grad(loss_of)(parameters, images, labels)
    return jax.tree.map(lambda value, gradient: value - 0.003 * gradient, parameters, gradients), loss


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--batch-size", type=int, default=16)
    options = parser.parse_args()

    parameters = make_parameters(jax.random.key(0))
    started = time.perf_counter()
    for step, (images, labels) in enumerate(batches(options.steps, options.batch_size)):
        parameters, loss = train_step(parameters, images, labels)
        if step % 20 == 0:
            print(f"step {step:3d}  loss {float(loss):.3f}")
    print(f"{options.steps} steps in {time.perf_counter() - started:.2f} s, last loss {float(loss):.3f}")


if __name__ == "__main__":
    main()
