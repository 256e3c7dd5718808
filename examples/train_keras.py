"""Trains a small convolutional network by fit() of Keras on synthetic images: what a first training script looks like.

Nothing here knows of tfprof.  Record it with

    tfprof-capture -o run -- python examples/train_keras.py

With KERAS_BACKEND=jax or torch Keras runs on these.
"""
import argparse
import time

import keras
import numpy as np


class SyntheticImages(keras.utils.PyDataset):
    """Images whose class is the quadrant that is brightest; made on demand, so that loading costs something."""

    def __init__(self, steps, batch_size):
        super().__init__()
        self.steps, self.batch_size = steps, batch_size

    def __len__(self):
        return self.steps

    def __getitem__(self, index):
        generator = np.random.default_rng(index)
        images = generator.random((self.batch_size, 32, 32, 3), dtype=np.float32)
        labels = generator.integers(4, size=self.batch_size)
        for image, label in zip(images, labels):
            row, column = 16 * (label // 2), 16 * (label % 2)
            image[row:row + 16, column:column + 16] += 0.5
        return images, labels


def make_model():
    return keras.Sequential([
        keras.Input((32, 32, 3)),
        keras.layers.Conv2D(16, 3, padding="same"), keras.layers.BatchNormalization(), keras.layers.ReLU(),
        keras.layers.MaxPooling2D(),
        keras.layers.Conv2D(32, 3, padding="same"), keras.layers.BatchNormalization(), keras.layers.ReLU(),
        keras.layers.MaxPooling2D(),
        keras.layers.Flatten(), keras.layers.Dense(4, activation="softmax"),
    ])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=30, help="of each epoch")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=16)
    options = parser.parse_args()

    keras.utils.set_random_seed(0)
    model = make_model()
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    started = time.perf_counter()
    history = model.fit(SyntheticImages(options.steps, options.batch_size), epochs=options.epochs, verbose=2,
                        validation_data=SyntheticImages(4, options.batch_size))
    print(f"{options.epochs * options.steps} steps in {time.perf_counter() - started:.2f} s, "
          f"last loss {history.history['loss'][-1]:.3f}")


if __name__ == "__main__":
    main()
