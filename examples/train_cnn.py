"""Trains a small convolutional network on synthetic images: what a first training script looks like.

Nothing here knows of tfprof.  Record it with

    tfprof-capture -o run -- python examples/train_cnn.py
"""
import argparse
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class SyntheticImages(Dataset):
    """Images whose class is the quadrant that is brightest; made on demand, so that loading costs something."""

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        image = torch.rand(3, 32, 32, generator=generator)
        label = index % 4
        row, column = 16 * (label // 2), 16 * (label % 2)
        image[:, row:row + 16, column:column + 16] += 0.5
        return image, label


class SmallNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        )
        self.classifier = nn.Linear(32 * 8 * 8, 4)

    def forward(self, images):
        return self.classifier(self.features(images).flatten(1))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--workers", type=int, default=0, help="worker processes of the DataLoader")
    options = parser.parse_args()

    torch.manual_seed(0)
    model = SmallNetwork()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    loader = DataLoader(SyntheticImages(options.steps * options.batch_size), batch_size=options.batch_size,
                        num_workers=options.workers)
    started = time.perf_counter()
    for step, (images, labels) in enumerate(loader):
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            print(f"step {step:3d}  loss {loss.item():.3f}")
    print(f"{options.steps} steps in {time.perf_counter() - started:.2f} s, last loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
