"""Trains shared heads without some features, or with features that are not standardised."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
import torch

from engine.placeto import features
from engine.placeto.shared_head import SharedHead
from engine.placeto.shared_head_actor import fresh_network


@contextmanager
def blinded(columns: tuple[int, ...]) -> Iterator[None]:
    """Policies trained in this context keep zero weights for `columns` of the device view (`DEVICE_FEATURES`)."""
    from engine.policies import learner

    def blind(*arguments: Any) -> SharedHead:
        network = fresh_network(*arguments)
        for layer in (network.view, network.view_score):
            _hold_at_zero(layer.weight, columns)
        return network

    with mock.patch.object(learner, "fresh_network", blind):
        yield


@contextmanager
def features_as_they_come() -> Iterator[None]:
    """Policies in this context are trained and used with a group's features in their own units."""
    with mock.patch.object(features, "USUAL", np.tile((0.0, 1.0), (features.GROUP_FEATURES, 1))):
        yield


def _hold_at_zero(weight: torch.Tensor, columns: tuple[int, ...]) -> None:
    index = torch.tensor(columns, dtype=torch.long, device=weight.device)
    with torch.no_grad():
        weight.index_fill_(1, index, 0.0)
    weight.register_hook(lambda gradient: gradient.index_fill(1, index, 0.0))  # type: ignore[no-untyped-call]  # torch's own
