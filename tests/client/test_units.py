"""What must share a device: labels by module, and the rules that join modules."""

import placeto
import pytest
import torch
from placeto import Recording
from torch import Tensor, nn

from tests.client import models
from tests.client.twin import check, labels, named


@pytest.fixture(scope="module")
def chain() -> Recording:
    return placeto.record(models.Residuals(), torch.zeros(4, 32), loss=models.total, optimizer=torch.optim.AdamW)


def test_a_parameter_its_gradient_its_state_and_its_update_are_together(chain: Recording) -> None:
    unit = labels(chain)
    for path in ("blocks/0/up", "blocks/1/down", "head"):
        ops = named(chain, f"{path}/")
        assert {f"{path}/weight", f"{path}/weight.exp_avg", f"{path}/addmm", f"{path}/optimizer_addcdiv"} <= set(ops)
        assert any(name.startswith(f"{path}/backward_mm") for name in ops)
        assert len({unit[name] for name in ops}) == 1


def test_an_op_of_a_module_is_with_those_of_its_children_that_it_reads(chain: Recording) -> None:
    """The sum reads what `down` gave, which is in the block; what came from outside a hook can move."""
    unit = labels(chain)
    assert unit["blocks/0/add"] == unit["blocks/0/down/addmm"] == "blocks/0"
    assert unit["blocks/0/relu"] == unit["blocks/0/up/addmm"] == "blocks/0"
    assert unit["blocks/1/add"] == "blocks/1"
    assert unit["head/addmm"] == "head"


class Language(nn.Module):
    """A body that adds its embeddings, runs its blocks, and views what its norm gives, and a head behind it."""

    def __init__(self, *, shifted: bool = False) -> None:
        super().__init__()
        self.body, self.head = Body(shifted=shifted), nn.Linear(8, 20)

    def forward(self, words: Tensor) -> Tensor:
        return self.head(self.body(words))


class Body(nn.Module):
    def __init__(self, *, shifted: bool) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(20, 8), nn.Embedding(6, 8)
        self.blocks = nn.ModuleList(models.Residual(8) for _ in range(2))
        self.norm = nn.LayerNorm(8)
        self.shift = nn.Parameter(torch.zeros(8)) if shifted else None

    def forward(self, words: Tensor) -> Tensor:
        found = self.words(words) + self.places(torch.arange(words.shape[1]))
        for block in self.blocks:
            found = block(found)
        found = self.norm(found).neg()
        return found if self.shift is None else found + self.shift


def of_language(*, shifted: bool) -> dict[str, str | None]:
    words, total = torch.zeros(3, 6, dtype=torch.long), models.total
    return labels(placeto.record(Language(shifted=shifted), words, loss=total, optimizer=torch.optim.AdamW))


def test_own_ops_of_a_module_follow_the_children_that_they_read() -> None:
    """In both passes: the sum is where the embeddings are, the last op where the norm is, and these may be apart."""
    unit = of_language(shifted=False)
    first = ("body/words/embedding", "body/places/embedding", "body/add", "body/words/weight.exp_avg")
    last = ("body/norm/native_layer_norm", "body/neg", "body/backward_neg", "body/norm/bias")
    assert {unit[name] for name in first} == {"body/places"}
    assert {unit[name] for name in last} == {"body/norm"}
    assert unit["body/arange"] == "body" and unit["body/blocks/1/add"] == "body/blocks/1"


def test_a_module_with_weights_of_its_own_or_an_op_on_what_it_was_given_stays_in_one_place() -> None:
    assert {of_language(shifted=True)[name] for name in ("body/add", "body/neg", "body/norm/bias")} == {"body"}
    unit = labels(placeto.record(models.Residual(4), torch.zeros(2, 4)))
    assert {unit["relu"], unit["add"], unit["up/addmm"], unit["down/addmm"]} == {"/"}


def test_the_backward_ops_are_with_the_forward_ops(chain: Recording) -> None:
    backward = {node["id"]: node["colocation"] for node in chain.nodes if node.get("phase") == "backward"}
    assert set(backward.values()) == {"blocks/0", "blocks/1", "blocks/2", "head", "loss"}
    for name, label in backward.items():
        assert name.startswith(label)


def test_an_input_of_one_unit_is_with_it_and_one_of_several_is_free() -> None:
    class Both(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
            return self.a(x), self.b(x + y)

    unit = labels(placeto.record(Both(), (torch.zeros(2, 4), torch.zeros(2, 4))))
    assert (unit["x"], unit["y"], unit["add"], unit["a/addmm"], unit["b/addmm"]) == (None, "/", "/", "a", "b")


def test_tied_weights_are_one_parameter_in_one_unit() -> None:
    recording = placeto.record(
        models.Tied(), torch.zeros(2, 3, dtype=torch.long), loss=models.total, optimizer=torch.optim.AdamW
    )
    check(recording)
    unit = labels(recording)
    assert [node["id"] for node in recording.nodes if node["type"] == "parameter"] == [
        "embedding/weight",
        "middle/weight",
        "middle/bias",
    ]
    assert unit["embedding/weight"] == unit["head/mm"] == unit["embedding/backward_add"] == "embedding"
    assert unit["middle/addmm"] == "middle"


@pytest.mark.parametrize("checkpointed", ["plain", "reentrant"])
def test_what_is_recorded_again_belongs_to_the_same_modules(checkpointed: str) -> None:
    inputs = torch.zeros(4, 32, requires_grad=True)
    recording = placeto.record(
        models.Residuals(checkpointed=checkpointed), inputs, loss=models.total, optimizer=torch.optim.AdamW
    )
    check(recording)
    again = [node for node in recording.nodes if node["type"] == "addmm" and node["phase"] == "backward"]
    assert {node["id"] for node in again} >= {f"blocks/{number}/up/backward_addmm" for number in range(3)}
    assert all(node["id"].startswith(node["colocation"]) for node in recording.nodes if node.get("phase") == "backward")


def test_classes_that_are_not_split_stay_whole() -> None:
    model, inputs = models.Convolutions().eval(), torch.zeros(1, 3, 8, 8)
    assert len(set(labels(placeto.record(model, inputs)).values())) > 5
    whole = labels(placeto.record(model, inputs, no_split=["Sequential"]))
    assert {label for name, label in whole.items() if name.startswith("features")} == {"features"}
    model._no_split_modules = {"Sequential"}  # type: ignore[assignment]
    assert labels(placeto.record(model, inputs)) == whole


def test_a_function_with_its_own_gradient_belongs_to_its_module() -> None:
    recording = placeto.record(
        models.WithOwnGradient(), torch.zeros(2, 8), loss=models.total, optimizer=torch.optim.AdamW
    )
    check(recording)
    unit = labels(recording)
    assert unit["doubled/sin"] == unit["doubled/mul"] == unit["doubled/backward_cos"] == "doubled"


def test_names_are_module_paths_with_odd_characters_escaped() -> None:
    model = nn.ModuleDict({"a/b%": nn.Linear(2, 2)})
    model.forward = lambda x: model["a/b%"](x)
    recording = placeto.record(model, torch.zeros(1, 2))
    assert {"a%2Fb%25/weight", "a%2Fb%25/addmm"} <= {node["id"] for node in recording.nodes}


def test_a_module_that_is_called_twice_numbers_its_ops() -> None:
    layer = nn.Linear(3, 3)
    recording = placeto.record(nn.Sequential(layer, layer), torch.zeros(1, 3))
    assert named(recording, "0/addmm") == ["0/addmm", "0/addmm_1"]
    assert recording.parameters == 12


def test_a_tied_weight_has_its_name_in_a_module_that_does_not_run() -> None:
    class Translates(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Linear(4, 4, bias=False)
            self.head = nn.Linear(4, 4, bias=False)
            self.head.weight = self.embed.weight
            self.other = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.other(self.embed(x))

    recording = placeto.record(Translates(), torch.zeros(2, 4), loss=torch.sum, optimizer=torch.optim.SGD)
    nodes = {node["id"]: node for node in recording.nodes}
    assert nodes["head/weight"]["buffers"] == [["embed/weight", 0]]
    assert (
        nodes["head/weight"]["colocation"] == nodes["embed/weight"]["colocation"] != nodes["other/weight"]["colocation"]
    )
    assert nodes["head/weight"].get("persistent_bytes", 0) == 0
    assert recording.parameters == 4 * 4 + 4 * 4 + 4
