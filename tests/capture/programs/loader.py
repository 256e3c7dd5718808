"""A DataLoader with two worker processes; the batches are used in the main process."""

import without_dynamo  # noqa: F401
import torch
from torch.utils.data import DataLoader, Dataset

BATCHES, BATCH = 12, 4


class Numbers(Dataset):
    def __len__(self):
        return BATCHES * BATCH

    def __getitem__(self, index):
        return torch.full((3, 5), float(index)), index


def run():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = torch.nn.Linear(5, 2)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    for values, numbers in DataLoader(Numbers(), batch_size=BATCH, num_workers=2, shuffle=True):
        model(values).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
