"""`placeto.apply`: modules on their devices, and what they are called with when they run there."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import placeto
import pytest
import torch
from torch import Tensor, nn

from tests.client import models

X = torch.randn(4, 32)


def test_a_model_on_one_device_gives_what_it_gave() -> None:
    model = models.Residuals()
    weights = [id(parameter) for parameter in model.parameters()]
    before = model(X)
    assert placeto.apply(model, {"": "cpu"}) is model
    assert torch.equal(model(X), before)
    assert [id(parameter) for parameter in model.parameters()] == weights


def test_modules_are_where_they_are_placed_and_get_their_inputs_there() -> None:
    """On the device meta nothing is computed; a tensor from the CPU would be an error."""
    model = placeto.apply(models.Residuals(), {"blocks": "cpu", "blocks.1": "meta", "blocks.2": "meta", "head": "meta"})
    devices = {name: parameter.device.type for name, parameter in model.named_parameters()}
    assert {name for name, device in devices.items() if device == "cpu"} == {
        name for name in devices if name.startswith("blocks.0")
    }
    seen = {}
    for name, module in model.named_modules():
        module.register_forward_pre_hook(lambda _module, args, name=name: seen.update({name: args[0].device.type}))
    assert model(X).shape == (4, 8)
    assert {name: seen[name] for name in ("", "blocks.0", "blocks.1", "blocks.1.up", "head")} == {
        "": "cpu",
        "blocks.0": "cpu",
        "blocks.1": "meta",
        "blocks.1.up": "meta",
        "head": "meta",
    }


def test_only_modules_at_a_border_look_at_their_inputs() -> None:
    model = placeto.apply(models.Residuals(), {"": "cpu", "head": "meta"})
    looking = {name for name, module in model.named_modules() if module._forward_pre_hooks}
    assert looking == {"", "blocks.0", "blocks.1", "blocks.2", "head"}


def test_a_module_that_holds_nothing_runs_where_its_inputs_are() -> None:
    """Unless the placement names it."""

    class Passes(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.dropout = nn.Linear(32, 32), nn.Dropout(0.0)

        def forward(self, x: Tensor) -> Tensor:
            return self.dropout(self.layer(x))

    assert placeto.apply(Passes(), {"": "cpu", "layer": "meta"})(X).device.type == "meta"
    assert placeto.apply(Passes(), {"": "cpu", "dropout": "meta"})(X).device.type == "meta"


def test_arguments_by_name_and_in_lists_are_moved_too() -> None:
    class Takes(nn.Module):
        def forward(self, pair: list[Tensor], *, mask: dict[str, Tensor]) -> Tensor:
            return pair[0] + pair[1] * mask["mask"]

    class Calls(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.takes = Takes()

        def forward(self, x: Tensor) -> Tensor:
            return self.takes([x, x], mask={"mask": x})

    assert placeto.apply(Calls(), {"": "cpu", "takes": "meta"})(X).device.type == "meta"


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_tied_weights_stay_one(device: str) -> None:
    model = placeto.apply(models.Tied(), {"": device})
    assert model.head.weight is model.embedding.weight
    assert model.head.weight.device.type == device


def test_a_placement_is_read_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "model.device_map.json"
    path.write_text(json.dumps({"blocks": "cpu", "head": "meta"}), encoding="utf-8")
    assert placeto.apply(models.Residuals(), path)(X).device.type == "meta"


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "no such module": (lambda: {"": "cpu", "tail": "cpu"}, "the model has no module or parameter 'tail'"),
    "no such device": (lambda: {"": "gpu:0"}, "'': 'gpu:0' is no device of PyTorch"),
    "nothing": (lambda: {"": None}, "'': None is no device of PyTorch"),
    "a GPU that is not there": (
        lambda: {"": "cpu", "head": 99},
        f"'head': cuda:99 is not there; PyTorch sees {torch.cuda.device_count()} GPUs here",
    ),
    "a weight without a device": (lambda: {"head": "cpu"}, "the placement gives no device for 'blocks.0.up.weight'"),
    "no file": (lambda: "absent.device_map.json", "absent.device_map.json: No such file or directory"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_one_sentence_says_why_and_nothing_moves(name: str) -> None:
    placement, sentence = REFUSED[name]
    model = models.Residuals()
    with pytest.raises(placeto.PlacementError) as error:
        placeto.apply(model, placement())
    assert str(error.value) == sentence
    assert {parameter.device.type for parameter in model.parameters()} == {"cpu"}
    assert not any(module._forward_pre_hooks for module in model.modules())


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_outputs_are_equal_on_two_devices() -> None:
    model = models.Residuals()
    before = model(X)
    after = placeto.apply(model, {"": "cpu", "blocks.1": 0, "head": 0})(X)
    assert after.device.type == "cuda"
    torch.testing.assert_close(after.cpu(), before)
    after.sum().backward()
    for parameter in model.parameters():
        assert parameter.grad is not None and parameter.grad.device == parameter.device
