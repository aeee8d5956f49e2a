"""What people's models and optimizers do beside layers in a row, each recorded whole."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import placeto
import pytest
import torch
from placeto import Recording
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.attention.flex_attention import flex_attention
from torch.nn.utils.parametrizations import spectral_norm, weight_norm
from torch_geometric.nn import GIN

from tests.client import models
from tests.client.twin import check, labels

X = torch.zeros(4, 8)
OPTIMIZERS = (
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "ASGD",
    "NAdam",
    "RAdam",
    "RMSprop",
    "Rprop",
)


def of(forward: Callable[..., Any]) -> nn.Module:
    """A module with one layer, whose forward is a function of the layer and the input."""

    class One(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(8, 8)

        def forward(self, x: Tensor) -> Any:
            return forward(self.layer, x)

    return One()


def trained(model: nn.Module, inputs: Any = X, optimizer: Any = torch.optim.SGD, loss: Any = models.total) -> Recording:
    recording = placeto.record(model, inputs, loss=loss, optimizer=optimizer)
    check(recording)
    return recording


def types(recording: Recording) -> list[str]:
    return [node["type"] for node in recording.nodes]


@pytest.mark.parametrize("name", [*OPTIMIZERS, "Muon", "SGD"])
def test_every_optimizer_updates_every_parameter(name: str) -> None:
    if not hasattr(torch.optim, name):
        pytest.skip(f"this PyTorch has no {name}")
    recording = trained(
        nn.Sequential(nn.Linear(8, 8, bias=False), nn.Linear(8, 8, bias=False)), X, getattr(torch.optim, name)
    )
    written = {
        tuple(buffer) for node in recording.nodes for buffer in node.get("buffers", []) if isinstance(buffer, list)
    }
    assert {("0/weight", 0), ("1/weight", 0)} <= written
    assert recording.graph["optimizer"] == name
    assert {node["colocation"] for node in recording.nodes if node.get("phase") == "optimizer"} == {"0", "1"}
    assert recording.without_formula == {}


@pytest.mark.parametrize("way", ["foreach", "fused"])
def test_an_optimizer_updates_one_parameter_at_a_time(way: str) -> None:
    settings: dict[str, Any] = {way: True}
    together = functools.partial(torch.optim.Adam, **settings)
    assert types(trained(nn.Linear(8, 8), X, together)) == types(trained(nn.Linear(8, 8), X, torch.optim.Adam))


def test_an_optimizer_that_is_in_use_keeps_its_state_and_gradients() -> None:
    model = nn.Linear(8, 8)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.5)
    model(X).sum().backward()
    optimizer.step()
    gradient, state = model.weight.grad, optimizer.state[model.weight]["exp_avg"].clone()
    recording = trained(model, X, optimizer)
    assert model.weight.grad is gradient
    assert torch.equal(optimizer.state[model.weight]["exp_avg"], state)
    assert optimizer.param_groups[0]["params"][0] is model.weight
    assert types(recording) == types(trained(nn.Linear(8, 8), X, torch.optim.AdamW))


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_autocast_of_any_device_is_followed(device: str) -> None:
    def forward(layer: nn.Module, x: Tensor) -> Tensor:
        with torch.autocast(device, dtype=torch.bfloat16):
            return layer(x)

    products = [node for node in trained(of(forward)).nodes if node["type"] in ("mm", "addmm")]
    assert products and {node["dtype"] for node in products} == {"bfloat16"}


def test_dropout_is_one_op_with_a_mask_of_bytes() -> None:
    recording = trained(of(lambda layer, x: functional.dropout(layer(x), 0.1)))
    dropout = next(node for node in recording.nodes if node["type"] == "native_dropout")
    assert dropout["output_bytes"] == [4 * 8 * 4, 4 * 8]


def test_dropout_inside_of_attention_is_part_of_it() -> None:
    def forward(_layer: nn.Module, x: Tensor) -> Tensor:
        return functional.scaled_dot_product_attention(x, x, x, dropout_p=0.5)

    found = types(placeto.record(of(forward), torch.zeros(1, 2, 16, 8)))
    assert [name for name in found if "attention" in name] == ["_scaled_dot_product_flash_attention_for_cpu"]
    assert not any("dropout" in name or "bernoulli" in name for name in found)


def test_numbers_that_the_model_holds_are_known() -> None:
    """A buffer of whole numbers may decide how much is computed; so may a tensor that is no buffer."""
    model: Any = of(lambda layer, x: layer(x)[: int(model.length[1])] * model.factor.item())
    model.register_buffer("length", torch.tensor([4, 2]))
    model.factor = torch.tensor(3.0)
    recording = trained(model)
    assert next(node for node in recording.nodes if node["type"] == "slice")["output_bytes"] == [2 * 8 * 4]
    assert recording.without_formula == {}


def test_a_layer_that_is_left_out_at_random_is_recorded() -> None:
    def forward(layer: nn.Module, x: Tensor) -> Tensor:
        return x if torch.rand([]) < 0.1 else layer(x)

    assert trained(of(forward)).flops("forward", products=True) == 2 * 4 * 8 * 8


def test_gradients_of_gradients() -> None:
    def forward(layer: nn.Module, x: Tensor) -> Tensor:
        x = x.detach().requires_grad_()
        slope = torch.autograd.grad(torch.tanh(layer(x)).sum(), x, create_graph=True)[0]
        return slope.square().sum()

    recording = trained(of(forward), loss=lambda out: out)
    assert all(label is not None for label in labels(recording).values())
    assert recording.flops("backward", products=True) >= 2 * recording.flops("forward", products=True)


@pytest.mark.parametrize("norm", [weight_norm, spectral_norm, nn.utils.weight_norm])
def test_weights_that_are_computed_from_others(norm: Callable[[nn.Module], nn.Module]) -> None:
    recording = trained(norm(nn.Linear(8, 8)))
    assert recording.without_formula == {}
    assert len(set(labels(recording).values()) - {"loss"}) == 1


@pytest.mark.parametrize("layers", [nn.RNN, nn.GRU, nn.LSTM])
def test_recurrent_layers_in_two_directions(layers: Callable[..., nn.Module]) -> None:
    gates = {nn.RNN: 1, nn.GRU: 3, nn.LSTM: 4}[layers]  # type: ignore[index]
    recording = trained(layers(8, 16, bidirectional=True), torch.zeros(5, 2, 8), loss=lambda out: models.total(out[0]))
    assert recording.flops("forward", products=True) == 2 * 2 * 5 * 2 * gates * 16 * (8 + 16)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_a_part_without_gradients(mode: Callable[[], Any]) -> None:
    def forward(layer: nn.Module, x: Tensor) -> Tensor:
        with mode():
            x = layer(x)
        return x * 2

    recording = placeto.record(of(forward), X)
    check(recording)
    assert recording.flops(products=True) == 2 * 4 * 8 * 8


def test_a_gradient_of_a_table_that_is_sparse() -> None:
    recording = trained(nn.Embedding(10, 4, sparse=True), torch.zeros(3, dtype=torch.long), torch.optim.SparseAdam)
    assert recording.graph["optimizer"] == "SparseAdam"


def test_an_op_of_a_persons_own_has_no_formula_and_is_listed() -> None:
    @torch.library.custom_op("placeto_tests::twice", mutates_args=())
    def twice(x: Tensor) -> Tensor:
        return x * 2

    twice.register_fake(torch.empty_like)
    recording = placeto.record(of(lambda layer, x: twice(layer(x))), X)
    check(recording)
    assert recording.graph["without_formula"] == {"placeto_tests::twice": 1}
    assert "without a formula for FLOPs: placeto_tests::twice × 1" in str(recording)


def test_attention_that_needs_the_compiler_is_refused() -> None:
    with pytest.raises(
        placeto.RecordingError, match="flex_attention needs the compiler: record with another attention"
    ):
        placeto.record(of(lambda _layer, x: flex_attention(x, x, x)), torch.zeros(1, 2, 16, 16))


def test_a_model_built_on_fake_tensors_of_its_own() -> None:
    with torch._subclasses.FakeTensorMode():
        model = nn.Linear(8, 8)
    assert types(trained(model)) == types(trained(nn.Linear(8, 8)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_experts_of_any_type(dtype: torch.dtype) -> None:
    """Rows of one matrix meet one of four others each, forward and in both gradients."""

    class Experts(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.zeros(4, 16, 32, dtype=dtype))

        def forward(self, x: Tensor, ends: Tensor) -> Tensor:
            return torch._grouped_mm(x, self.weight, offs=ends)

    inputs = (torch.zeros(64, 16, dtype=dtype, requires_grad=True), torch.zeros(4, dtype=torch.int32))
    recording = trained(Experts(), inputs)
    assert recording.flops("forward", products=True) == 2 * 64 * 16 * 32
    assert recording.flops("backward", products=True) == 2 * 2 * 64 * 16 * 32


def test_a_graph_network_of_a_library() -> None:
    """Two layers, each of which multiplies each node's features twice."""
    inputs = (torch.zeros(40, 16), torch.zeros(2, 90, dtype=torch.long))
    recording = trained(GIN(16, 32, 2, 8), inputs)
    assert recording.flops("forward", products=True) == 2 * 40 * (16 * 32 + 32 * 32 + 32 * 8 + 8 * 8)
    assert recording.without_formula == {}


def test_eight_bit_floating_point() -> None:
    def forward(_layer: nn.Module, x: Tensor) -> Tensor:
        eight = x.to(torch.float8_e4m3fn)
        return torch._scaled_mm(eight, eight.t(), torch.ones(()), torch.ones(()), out_dtype=torch.bfloat16)

    recording = placeto.record(of(forward), torch.zeros(16, 16))
    product = next(node for node in recording.nodes if node["type"] == "_scaled_mm")
    assert (product["dtype"], product["flops"]) == ("float8", 2 * 16**3)


def test_a_loss_may_hold_the_classes_that_it_compares_with() -> None:
    """Real numbers that no model and no input has, small enough that their values are known."""
    classes = torch.tensor([0, 3, 1, 7])
    recording = trained(nn.Linear(8, 8), loss=lambda out: functional.cross_entropy(out, classes))
    assert "nll_loss_forward" in types(recording)


def test_a_recording_says_by_what_a_trace_is_matched() -> None:
    """The shapes of what each op with work is given, and the classes of modules in the order of their calls."""
    model = nn.Sequential(nn.Linear(8, 6), nn.Dropout(0.0), nn.ReLU(), nn.Linear(6, 2))
    recording = trained(nn.Sequential(model, model[2]))
    assert recording.graph["modules"] == {
        "": "Sequential",
        "0": "Sequential",
        "0/0": "Linear",
        "0/1": "Dropout",
        "0/2": "ReLU",
        "0/3": "Linear",
    }
    table = recording.graph["input_shapes"]
    assert len(set(table)) == len(table)
    shapes = {node["id"]: table[node["input_shapes"]] for node in recording.nodes if "input_shapes" in node}
    assert shapes["0/0/addmm"] == ((6,), (4, 8), (8, 6))
    assert shapes["0/3/backward_mm_1"] == ((2, 4), (4, 6))
    assert {node["id"] for node in recording.nodes if node["bytes_accessed"]} == shapes.keys()


@dataclasses.dataclass(frozen=True)
class Batch:
    words: Tensor
    more: dict[str, Tensor]


def test_tensors_in_a_dataclass_are_inputs() -> None:
    class Reads(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, batch: Batch) -> Tensor:
            return self.linear(batch.words) + batch.more["mask"]

    words = torch.zeros(2, 4)
    recording = placeto.record(Reads(), (Batch(words, {"mask": torch.zeros(2, 4)}),))
    inputs = [node for node in recording.nodes if node["type"] == "input"]
    assert [node["output_bytes"] for node in inputs] == [[32], [32]]
    assert not [node for node in recording.nodes if node["type"] == "constant"]
    assert sum(node.get("persistent_bytes", 0) for node in recording.nodes) == (4 * 4 + 4) * 4
    assert type(words) is Tensor
