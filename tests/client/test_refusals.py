"""Models, inputs and arguments with which no step can be recorded: one sentence each."""

import copy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import placeto
import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import GCN

from tests.client import models

HERE = Path(__file__)


class Chooses(nn.Module):
    """Its way depends on a value."""

    def forward(self, x: Tensor) -> Tensor:
        return x if x.sum().item() > 0 else -x  # the line of .item()


class Selects(nn.Module):
    """Its shapes depend on values."""

    def forward(self, x: Tensor) -> Tensor:
        return x[x > 0]  # the line of the mask


class Masks(nn.Module):
    """Its shapes depend on values in the backward pass alone."""

    def forward(self, x: Tensor) -> Tensor:
        x = x * 1
        x[x[:, 0] > 0] = x.sum()
        return x


class Inside(nn.Module):
    """Holds one of them among others."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 4), inner)

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


class FullyShardedDataParallel(nn.Module):
    """Named as PyTorch's wrapper is, which needs several processes to be made."""

    def __init__(self) -> None:
        super().__init__()
        self.module = nn.Linear(4, 4)


def line_of(comment: str) -> str:
    lines = HERE.read_text(encoding="utf-8").splitlines()
    return f"{HERE}:{next(number for number, line in enumerate(lines, 1) if line.endswith(f'# {comment}'))}"


X = torch.zeros(2, 4)
REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "a value decides": (
        lambda: placeto.record(Inside(Chooses()), X),
        f"layers/1 ({line_of('the line of .item()')}): aten._local_scalar_dense depends on the values of the "
        "data, and a recording has shapes alone",
    ),
    "a mask decides the shape": (
        lambda: placeto.record(Inside(Selects()), X),
        f"layers/1 ({line_of('the line of the mask')}): aten.nonzero depends on the values of the data, and a "
        "recording has shapes alone",
    ),
    "a mask decides the shape of a gradient": (
        lambda: placeto.record(Inside(Masks()), X, loss=models.total),
        "layers/1 in the backward pass: aten.nonzero depends on the values of the data, and a recording has shapes "
        "alone",
    ),
    "no module": (
        lambda: placeto.record(torch.relu, X),  # type: ignore[arg-type]
        "the model is a torch.nn.Module; here it is a builtin_function_or_method",
    ),
    "FSDP": (
        lambda: placeto.record(nn.Sequential(FullyShardedDataParallel()), X),
        "0 is wrapped by FSDP, which cuts its weights: record the model before that",
    ),
    "TorchScript": (
        lambda: placeto.record(torch.jit.trace(nn.Linear(4, 4), X), X),  # type: ignore[no-untyped-call]
        "a model of TorchScript does not run in Python: record the one it was made from",
    ),
    "a lazy layer": (
        lambda: placeto.record(nn.Sequential(nn.LazyLinear(3)), X),
        "0.weight has no shape before the model has run once: run it once on an input",
    ),
    "LBFGS": (
        lambda: placeto.record(nn.Linear(4, 4), X, loss=models.total, optimizer=torch.optim.LBFGS),
        "LBFGS runs the model as often in a step as the data ask: there is no step to record",
    ),
    "an optimizer by name": (
        lambda: placeto.record(nn.Linear(4, 4), X, loss=models.total, optimizer="adam"),
        "optimizer is a class or a function of the parameters; here it is 'adam'",
    ),
    "several optimizers": (
        lambda: placeto.record(nn.Linear(4, 4), X, loss=models.total, optimizer=[torch.optim.SGD, torch.optim.Adam]),
        "record takes one optimizer: parameters with other options go into it as groups",
    ),
    "a class of which there is no module": (
        lambda: placeto.record(nn.Sequential(nn.Linear(4, 4)), X, no_split=["Linaer"]),
        "no_split names Linaer, and the model has no module of that class",
    ),
    "an optimizer of another model": (
        lambda: placeto.record(
            nn.Linear(4, 4), X, loss=models.total, optimizer=torch.optim.SGD(nn.Linear(4, 4).parameters(), lr=0.1)
        ),
        "the optimizer updates another model's parameters: make it with model.parameters() of this one",
    ),
    "an optimizer that is none": (
        lambda: placeto.record(nn.Linear(4, 4), X, loss=models.total, optimizer=list),
        "optimizer(parameters) gives a torch.optim.Optimizer; here list",
    ),
    "no loss": (
        lambda: placeto.record(nn.LSTM(4, 4), X, optimizer=torch.optim.SGD),
        "a training step needs a loss that is a tensor: without loss= the model gives .loss; here it is NoneType",
    ),
    "a loss that gives a number": (
        lambda: placeto.record(nn.Linear(4, 4), X, loss=lambda _out: 1.0),
        "a training step needs a loss that is a tensor: loss(output) gives float",
    ),
    "a loss with a shape": (
        lambda: placeto.record(nn.Linear(4, 4), X, loss=lambda out: out),
        "the loss is one number; this one has the shape (2, 4)",
    ),
    "nothing to train": (
        lambda: placeto.record(nn.Linear(4, 4).requires_grad_(False), X, loss=models.total),
        "no parameter takes part in the loss with requires_grad: there is nothing to train",
    ),
    "no passes": (
        lambda: placeto.record(nn.Linear(4, 4), X, loss=models.total, accumulate=0),
        "accumulate is a number of passes, at least 1; here it is 0",
    ),
    "no cache": (
        lambda: placeto.record(nn.Linear(4, 4), X, after=X),
        "the call that after= describes gives no past_key_values",
    ),
    "another ending": (
        lambda: placeto.record(nn.Linear(4, 4), X).save("step.pt"),
        "step.pt: the name of a recording ends in .json or .json.gz",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_one_sentence_says_why(name: str) -> None:
    call, sentence = REFUSED[name]
    with pytest.raises(placeto.RecordingError) as error:
        call()
    assert str(error.value) == sentence


def test_a_pytorch_that_is_too_old_or_lacks_a_part_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "__version__", "2.3.1+cu121")
    with pytest.raises(
        placeto.RecordingError, match=r"^recording needs PyTorch 2\.4 or newer; here is 2\.3\.1\+cu121$"
    ):
        placeto.record(nn.Linear(4, 4), X)
    monkeypatch.setattr(torch, "__version__", "9.0.0")
    monkeypatch.setitem(sys.modules, "placeto.pytorch.step", None)
    with pytest.raises(placeto.RecordingError, match=r"^PyTorch 9\.0\.0 lacks what a recording needs: "):
        placeto.record(nn.Linear(4, 4), X)


def test_shapes_that_do_not_fit_name_the_module_and_the_line() -> None:
    with pytest.raises(placeto.RecordingError) as error:
        placeto.record(Inside(nn.Linear(5, 4)), X)
    assert str(error.value).startswith("layers/1 (")
    assert "RuntimeError" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_library_whose_name_begins_as_pytorchs_is_the_models() -> None:
    inputs = (torch.zeros(10, 4), torch.zeros(2, 40, dtype=torch.long))
    with pytest.raises(
        placeto.RecordingError, match=r"^convs/0 \(.*torch_geometric.*\.py:\d+\): aten\.nonzero depends on"
    ):
        placeto.record(GCN(4, 8, 2), inputs)


def test_a_model_is_as_it_was_after_a_refusal() -> None:
    model = Inside(Chooses())
    before = copy.deepcopy(model.state_dict())
    with pytest.raises(placeto.RecordingError):
        placeto.record(model, X)
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    assert model(X + 1).shape == (2, 4)


def compiled_inside(model: nn.Module) -> nn.Module:
    inner: Any = torch.compile(model)
    return nn.Sequential(inner)


@pytest.mark.parametrize("wrapped", [torch.compile, nn.DataParallel, compiled_inside])
def test_wrapped_models_are_unwrapped(wrapped: Callable[[nn.Module], Any]) -> None:
    plain = placeto.record(models.Residuals(), torch.zeros(4, 32))
    found = placeto.record(wrapped(models.Residuals()), torch.zeros(4, 32))
    assert [node["type"] for node in found.nodes] == [node["type"] for node in plain.nodes]
    assert found.flops() == plain.flops()


@pytest.mark.parametrize("device", ["meta", "cpu"])
def test_a_model_that_sends_its_tensors_to_a_gpu_is_recorded_without_one(device: str) -> None:
    class Sends(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 4, device=device)

        def forward(self, x: Tensor) -> Tensor:
            mask = torch.ones(4, device="cuda:1")
            return self.layer(x.to("cuda:1").cuda() * mask)

    recording = placeto.record(Sends(), X)
    assert [node["type"] for node in recording.nodes if node["flops"]] == ["mul", "addmm"]
