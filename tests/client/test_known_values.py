"""Values that follow from numbers alone, such as sizes of images and masks drawn by numpy, are known to a recording."""

from typing import Any

import numpy as np
import placeto
import pytest
import torch
from torch import Tensor, nn


class Windows(nn.Module):
    """Orders patches by windows, as vision models of several sizes do: windows at the borders are smaller."""

    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(4, 4)

    def forward(self, patches: Tensor, sizes: Tensor) -> Tensor:
        indices = []
        for height, width in sizes.tolist():
            index = torch.arange(height * width).reshape(height, width)
            padded = nn.functional.pad(index, (0, -width % 2, 0, -height % 2), value=-100)
            windows = padded.reshape(padded.shape[0] // 2, 2, padded.shape[1] // 2, 2).permute(0, 2, 1, 3).flatten()
            indices.append(windows[windows != -100])
        return torch.cat([self.project(patches[index]) for index in indices])


class Masked(nn.Module):
    """Puts a learned vector in the place of some frames, as models of sound do when they are trained."""

    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(4, 4)
        self.mask = nn.Parameter(torch.zeros(4))

    def forward(self, frames: Tensor) -> Tensor:
        drawn = np.zeros(frames.shape[:2], dtype=bool)
        drawn[:, ::3] = True
        frames = self.project(frames)
        frames[torch.tensor(drawn)] = self.mask
        return frames.mean()


class Overwritten(nn.Module):
    """Adds data to known values, and reads one of them."""

    def forward(self, ids: Tensor) -> Tensor:
        positions = torch.arange(100)
        positions.add_(ids)
        return ids if positions[1].item() > 3 else -ids


def last_output_bytes(recording: placeto.Recording) -> int:
    return int(recording.nodes[-1]["output_bytes"][0])


def test_shapes_that_follow_from_sizes_are_those_of_a_run() -> None:
    inputs = (torch.randn(15, 4), torch.tensor([[3, 5], [2, 2]]))
    model = Windows()
    recording = placeto.record(model, inputs)
    out = model(*inputs)
    assert out.shape == (19, 4)
    assert last_output_bytes(recording) == out.numel() * 4
    assert recording.flops("forward", products=True) == 19 * 4 * 4 * 2


def test_a_mask_drawn_by_numpy_is_trained() -> None:
    frames = torch.randn(2, 70, 4)
    recording = placeto.record(Masked(), frames, optimizer=torch.optim.SGD)
    chosen = [node for node in recording.nodes if node["type"] == "index" and node.get("phase") == "backward"]
    assert [node["output_bytes"] for node in chosen] == [[2 * 24 * 4 * 4]]


def test_a_view_of_positions_takes_no_memory() -> None:
    class Positions(nn.Module):
        def forward(self, x: Tensor) -> Any:
            return x + torch.arange(12).view(3, 4)[1:].T.contiguous()

    nodes = placeto.record(Positions(), torch.zeros(4, 2)).nodes
    own = [node["id"] for node in nodes if node["type"] != "input" and None in node.get("buffers", [None])]
    assert own == ["arange", "clone"], "and what the model returns is there the whole step"


def test_values_with_data_in_them_are_unknown() -> None:
    with pytest.raises(placeto.RecordingError, match=r"aten\._local_scalar_dense depends on the values of the data"):
        placeto.record(Overwritten(), torch.zeros(100, dtype=torch.long))
