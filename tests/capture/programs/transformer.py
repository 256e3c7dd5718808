"""A small transformer: attention, embeddings, AdamW, mixed precision, gradient accumulation, a schedule."""

import without_dynamo  # noqa: F401
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)
        self.project = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        y = self.norm1(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.project(self.norm2(x))


def run():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = nn.Sequential(nn.Embedding(50, 32), *[Block(32) for _ in range(2)], nn.LayerNorm(32), nn.Linear(32, 50))
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
    for step in range(3):
        for part in range(2):
            tokens = torch.randint(0, 50, (2, 12))
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=part == 1):
                loss = nn.functional.cross_entropy(model(tokens).float().view(-1, 50), tokens.view(-1))
            loss.backward()
        optimizer.step()
        schedule.step()
        optimizer.zero_grad(set_to_none=False)
    model.eval()
    with torch.inference_mode():
        model(tokens)
