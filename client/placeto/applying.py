"""`placeto.apply`: a model's modules on the devices of a placement."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from placeto.errors import PlacementError

if TYPE_CHECKING:
    import torch

    Model = TypeVar("Model", bound=torch.nn.Module)


def apply(model: Model, placement: Mapping[str, Any] | str | Path) -> Model:
    """Moves each module to its device, and what it is called with when it runs there.

    Weights stay the same objects where PyTorch can move them, so that an optimizer made before keeps them. What a
    module gives stays on its device until a module elsewhere takes it. One that holds no weights and is not named runs
    where its inputs are.

    Args:
        model: Is changed, and returned.
        placement: `{"transformer.h.0": 0, "lm_head": "cpu"}`: path of a module or parameter to the number of a GPU or
            the name of a device, `""` for all that no longer path names; or a file of that, `x.device_map.json`.

    Raises:
        PlacementError: A path that the model does not have, a device that is not there, or a weight without a device.
    """
    from placeto.pytorch.moving import move

    if isinstance(placement, (str, Path)):
        placement = _read(Path(placement))
    move(model, placement)
    return model


def _read(path: Path) -> Mapping[str, Any]:
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise PlacementError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise PlacementError(f"{path}: not JSON: {error}") from error
    if not isinstance(values, dict):
        raise PlacementError(f"{path}: a device map is a JSON object of paths and devices")
    return values
