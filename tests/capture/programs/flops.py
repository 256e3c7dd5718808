"""A step of everything that torch.utils.flop_counter has a formula for on the CPU, of what it takes no account of, and
of ops that an exception ends, with all that lies inside; run twice from the same seed: counted by it, and within the
range "counted". What it counted is printed as JSON: {op: floating point operations}.
"""

import json
import warnings

import without_dynamo  # noqa: F401
import torch
from torch import nn
from torch.nn import functional
from torch.profiler import record_function
from torch.utils.checkpoint import checkpoint


if hasattr(torch.library, "custom_op"):

    @torch.library.custom_op("tfprof_test::cube", mutates_args=())
    def cube(x: torch.Tensor) -> torch.Tensor:
        return x @ x @ x

    cube.register_autograd(lambda context, gradient: gradient @ gradient)
else:

    def cube(x):
        return x @ x @ x


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolutions = nn.Sequential(
            nn.Conv2d(4, 8, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(8, 8, 3, padding=2, dilation=2, groups=4),
            nn.Conv2d(8, 12, (1, 3), stride=(2, 1), padding="valid", bias=False),
            nn.ConvTranspose2d(12, 6, 3, stride=2, output_padding=1, groups=3),
            nn.Conv2d(6, 4, 3, padding="same"),
        )
        self.line = nn.Sequential(nn.Conv1d(4, 6, 5, stride=3), nn.ConvTranspose1d(6, 4, 2))
        self.volume = nn.Conv3d(2, 3, 2)
        self.attention = nn.MultiheadAttention(16, 4, batch_first=True)
        self.recurrent = nn.LSTM(16, 8, batch_first=True)
        self.bilinear = nn.Bilinear(16, 16, 3)
        self.layers = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 16))
        self.encoder = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True).eval()

    def forward(self, images, words):
        y = self.convolutions(images)
        z = self.line(images.flatten(2)).sum() + self.volume(images.view(-1, 2, 4, 4, 8)).sum()
        z = z + self.convolutions[0](images[0]).sum()
        x = self.attention(words, words, words)[0]  # with weights: matrix products
        x = x + functional.scaled_dot_product_attention(x, x, x, is_causal=True)
        z = z + self.recurrent(x)[0].sum() + self.bilinear(x, x).sum() + cube(x[0] @ x[0].t()).sum()
        x = self.layers(x)
        x = torch.einsum("bij,bkj->bik", x, x) @ x
        x = torch.baddbmm(x, torch.matmul(x, x.transpose(1, 2)), x)
        return y.sum() + z + x.sum()


def fail(words):
    """Ops that end with an exception; one that does so once what it calls has been done; one of a computation that is
    done again, which ends as soon as nothing more of it is needed."""
    for wrong in (lambda: words[0] @ words[0], lambda: functional.linear(words, torch.ones(2, 15))):
        try:
            wrong()
        except RuntimeError:
            pass
    x = words.clone().requires_grad_()
    functional.linear(checkpoint(lambda y: (y @ y.mT).relu() @ y, x, use_reentrant=False),
                      torch.ones(2, 16)).sum().backward()


def step(network, optimizer):
    torch.manual_seed(1)
    images, words = torch.randn(2, 4, 8, 16), torch.randn(3, 5, 16)
    images.requires_grad_()
    optimizer.zero_grad()
    loss = network(images, words)
    with torch.no_grad():
        functional.linear(words, torch.ones(2, 16))
        network.encoder(words)  # in one op
        words[0] @ words[0, 0] + torch.dot(words[0, 0], words[0, 1])
        torch.outer(words[0, 0], words[0, 1]).addmm_(words[0].t(), words[0])
        torch.cdist(words[0].repeat(8, 1), words[0])
        torch.linalg.pinv(words[0])
    loss.backward()
    fail(words)
    optimizer.step()


def main():
    from torch.utils.flop_counter import FlopCounterMode

    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    network = Network()
    optimizer = torch.optim.AdamW(network.parameters())
    with FlopCounterMode(display=False) as counter:
        step(network, optimizer)
    with record_function("counted"):
        step(network, optimizer)
    print(json.dumps({str(op): number for op, number in counter.get_flop_counts()["Global"].items()}))


if __name__ == "__main__":
    main()
