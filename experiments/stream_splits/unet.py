"""U-Net as published, for segmentation of images of 512 × 512, with padding so that sizes stay.

Source: Ronneberger, Fischer, Brox, U-Net: convolutional networks for biomedical image segmentation, 2015, figure 1.
"""

import torch
from torch import Tensor, nn

WIDTHS = (64, 128, 256, 512, 1024)
SIZE, CLASSES = 512, 2


class UNet(nn.Module):
    """[batch, 1, size, size] → [batch, classes, size, size]"""

    def __init__(self) -> None:
        super().__init__()
        before = (1, *WIDTHS)
        self.down = nn.ModuleList(_two_convolutions(*pair) for pair in zip(before, WIDTHS, strict=False))
        pairs = list(zip(WIDTHS[::-1], WIDTHS[-2::-1], strict=False))
        self.widen = nn.ModuleList(nn.ConvTranspose2d(wide, narrow, 2, stride=2) for wide, narrow in pairs)
        self.up = nn.ModuleList(_two_convolutions(wide, narrow) for wide, narrow in pairs)
        self.pool, self.head = nn.MaxPool2d(2), nn.Conv2d(WIDTHS[0], CLASSES, 1)

    def forward(self, images: Tensor) -> Tensor:
        kept = [self.down[0](images)]
        for block in self.down[1:]:
            kept.append(block(self.pool(kept[-1])))
        found = kept.pop()
        for widen, block in zip(self.widen, self.up, strict=True):
            found = block(torch.cat([kept.pop(), widen(found)], dim=1))
        scores: Tensor = self.head(found)
        return scores


def _two_convolutions(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU(), nn.Conv2d(outputs, outputs, 3, padding=1), nn.ReLU()
    )


def training_step(batch: int) -> tuple[object, ...]:
    """What `placeto record` takes: the model, its inputs, the loss, the optimizer."""
    images = torch.zeros(batch, 1, SIZE, SIZE)
    truth = torch.zeros(batch, SIZE, SIZE, dtype=torch.long)
    return UNet(), (images,), lambda scores: nn.functional.cross_entropy(scores, truth), torch.optim.AdamW
