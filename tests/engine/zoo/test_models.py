"""The models as they are offered: op counts, structure, and names that tell layer and branch."""

import re
from collections import Counter
from pathlib import Path
from typing import cast

import pytest

from engine.child.parent import Limits, run_in_child
from engine.events import Json
from tests.engine.formats.reading import read_graph

Ops = dict[str, str]
"""name → type"""

INCEPTION_OPS = 5338
NASNET_OPS = 14_086
"""Placeto's paper: 12,942"""
NMT_OPS = {"nmt": 18_567, "nmt_4_layers": 31_877}
NMT_STEPS = 32

BUILT: dict[str, Json] = {
    "nasnet": ["nasnet", {}],
    "nmt": ["nmt", {"steps": 4}],
    "nmt_longer": ["nmt", {"steps": 5}],
    "nmt_dot": ["nmt", {"steps": 4, "attention": "dot"}],
    "nmt_4_layers": ["nmt_4_layers", {"steps": 2}],
    "nmt_4_layers_longer": ["nmt_4_layers", {"steps": 3}],
    "nasnet_inference": ["nasnet", {"inference": True, "batch": 1}],
    "nmt_inference": ["nmt", {"inference": True, "steps": 2}],
}
"""label → name and settings; of NMT, in which every step is like the one before, only a few steps"""


@pytest.fixture(scope="module")
def texts() -> dict[str, Json]:
    limits = Limits(memory_bytes=8 * 1024**3, seconds=300.0)
    return run_in_child("tests.engine.zoo.running:build_in_child", BUILT, limits, task="building", is_warm=True)[1]


@pytest.fixture(scope="module")
def built(texts: dict[str, Json]) -> dict[str, Ops]:
    lists = cast(dict[str, dict[str, list[str]]], {label: texts[label] for label in BUILT})
    return {label: dict(zip(each["names"], each["types"], strict=True)) for label, each in lists.items()}


@pytest.fixture(scope="module")
def inception(inception_path: Path) -> Ops:
    graph = read_graph(inception_path, ".pb", Limits())
    return dict(zip(graph.op_names, graph.op_types, strict=True))


def unexpected(ops: Ops, *patterns: str) -> list[str]:
    """Names that fit none of the patterns."""
    expected = re.compile("|".join(patterns))
    return [name for name in ops if not expected.fullmatch(name)]


AROUND = (
    r"images|labels|loss|train_step|global_step|optimizer",
    r"(total_loss|cross_entropy|auxiliary_cross_entropy|classifier|auxiliary)/.*",
    r"gradients/(AddN(_\d+)?|grad_ys_0/?.*|Shape|[a-z_]*cross_entropy/.*|total_loss/.*|classifier/.*|auxiliary/.*)",
    r"(optimizer/update_|(gradients/)?weight_decay/)(classifier|auxiliary)/.*",
    r"optimizer/\w+|(gradients/)?weight_decay/(sum|scaled)(/x|_grad/.*)?",
)
"""what is not part of a cell or block"""
OF = r"(gradients/|optimizer/update_|weight_decay/|gradients/weight_decay/)?"


def test_inception_is_a_whole_training_step(inception: Ops) -> None:
    types = Counter(inception.values())
    assert types["Conv2D"] == types["Conv2DBackpropFilter"] == types["FusedBatchNormGradV3"] == 96
    assert types["ResourceApplyRMSProp"] == 2 * 2 + 3 * 96
    assert types["AssignSubVariableOp"] == 2 * 96
    assert types["Placeholder"] == 2
    assert not {"RandomStandardNormal", "TruncatedNormal", "SaveV2", "AssignVariableOp"} & set(types), "not of a step"
    assert len(inception) == INCEPTION_OPS


def test_inceptions_names_hold_block_and_branch(inception: Ops) -> None:
    assert {"train_step", "loss", "mixed_17_2/branch_2/conv_7x1_a/conv"} <= set(inception)
    block = r"(stem|mixed_\d+_(\d|reduction)/branch_\d|mixed_\d+_(\d|reduction)/concat(/axis|_grad)?)(/.*)?"
    assert unexpected(inception, OF + block, *AROUND) == []


def test_all_of_inception_is_there_for_its_two_ends(inception_path: Path) -> None:
    graph = read_graph(inception_path, ".pb", Limits())
    consumed = {graph.op_names[source] for source in graph.edge_source.tolist()}
    assert set(graph.op_names) - consumed == {"train_step", "loss"}


def test_nasnet_has_the_papers_cells(built: dict[str, Ops]) -> None:
    ops = built["nasnet"]
    types = Counter(ops.values())
    normal, reduction = 5 * 2, 5 * 2  # separable convolutions of a cell
    assert types["DepthwiseConv2dNative"] == types["DepthwiseConv2dNativeBackpropFilter"] == 12 * normal + 4 * reduction
    squeezes, halvings, others = 2 * 16, 4, 3  # others: the stem's and the second classifier's
    assert types["Conv2D"] == 12 * normal + 4 * reduction + squeezes + halvings + others
    assert types["FusedBatchNormV3"] == types["FusedBatchNormGradV3"] == 12 * normal + 4 * reduction + squeezes + others
    assert len(ops) == NASNET_OPS


def test_nasnets_names_hold_cell_branch_and_side(built: dict[str, Ops]) -> None:
    ops = built["nasnet"]
    assert ops["cell_3/branch_2/left/pool"] == "AvgPool"
    assert ops["stem/reduction_cell_1/branch_1/right/separable_1/depthwise/conv"] == "DepthwiseConv2dNative"
    assert {"cell_11/concat", "reduction_cell_1/branch_4/add"} <= set(ops)
    cell = r"(stem/)?(reduction_)?cell_\d+/(branch_[0-4]/((left|right)/.+|add.*)|squeeze/.+|concat.*)"
    assert unexpected(ops, OF + cell, OF + "stem/conv/.+", *AROUND) == []


@pytest.mark.parametrize(("name", "layers", "steps"), [("nmt", 2, 4), ("nmt_4_layers", 4, 2)])
def test_nmt_is_unrolled(built: dict[str, Ops], name: str, layers: int, steps: int) -> None:
    ops = built[name]
    cells = (2 * layers + 1) * steps  # the first of the encoder runs both ways
    products = cells + 2 * steps + 1 + steps  # the attention's two a step and one for all; the softmax's
    types = Counter(ops.values())
    assert types["MatMul"] == 3 * products
    assert types["Split"] == cells
    assert types["SparseSoftmaxCrossEntropyWithLogits"] == types["Softmax"] == steps
    assert types["ResourceApplyGradientDescent"] == 2 * (2 * layers + 1) + 3 + 1
    assert types["ResourceScatterAdd"] == 2, "the two languages' words"
    assert sum(name.endswith("/residual") for name in ops) == 2 * (layers - 2) * steps
    ops_of_a_step = len(built[f"{name}_longer"]) - len(ops)
    assert len(ops) + (NMT_STEPS - steps) * ops_of_a_step == NMT_OPS[name]


def test_attention_by_dot_products_has_no_weights(built: dict[str, Ops]) -> None:
    additive, dot = built["nmt"], built["nmt_dot"]
    types, usual = Counter(dot.values()), Counter(additive.values())
    assert types["Softmax"] == usual["Softmax"] == 4
    assert usual["ResourceApplyGradientDescent"] - types["ResourceApplyGradientDescent"] == 3
    assert usual["MatMul"] - types["MatMul"] == 3 * (2 * 4 + 1), "keys, and each step's query and scores"
    assert types["BatchMatMulV2"] == 2 * usual["BatchMatMulV2"] == 2 * 3 * 4
    outside = {name for name in dot if not re.search("attention|clipping|AddN", name)}
    assert outside == {name for name in additive if not re.search("attention|clipping|AddN", name)}


def test_nmts_names_hold_layer_and_step(built: dict[str, Ops]) -> None:
    for name in ("nmt", "nmt_4_layers", "nmt_dot"):
        part = r"((encoder|decoder)/(embedding|layer_\d)|attention|softmax)/.+"
        of = r"(gradients/|optimizer/update_|clipping/)?"
        around = (
            r"source|target|target_before|loss|train_step|global_step|optimizer|total_loss/.*|optimizer/\w+",
            r"gradients/(AddN(_\d+)?|grad_ys_0/?.*|Shape|total_loss/.*)",
            r"clipping/(sum|squared_norm|norm|at_least|factor)(/[xy])?",
        )
        assert unexpected(built[name], of + part, *around) == []
    ops = built["nmt"]
    assert ops["encoder/layer_0/backward/step_3/matmul"] == ops["decoder/layer_1/step_2/matmul"] == "MatMul"
    assert ops["attention/step_1/weights"] == "Softmax"
    assert ops["softmax/step_0/logits"] == "MatMul"


def test_nasnet_has_the_published_size(texts: dict[str, Json]) -> None:
    """Zoph et al. 2017, table 3: 5.3 million parameters and 564 million multiply-adds, batch norm's counted too."""
    operations, parameters = cast(list[int], texts["nasnet_inference counted"])
    assert parameters == pytest.approx(5.3e6, rel=0.01)
    assert operations / 2 == pytest.approx(564e6, rel=0.02)


def test_nmt_has_gnmts_size(texts: dict[str, Json]) -> None:
    """Every weight by hand; each is used once for a sentence and step, but for the embeddings' and some biases'."""
    units, words, sentences, steps = 1024, 32_000, 128, 2
    lstm = [2 * units, 2 * units, 3 * units, 3 * units, 3 * units]
    gates = sum(4 * units * inputs for inputs in lstm)
    of_words = units * words
    operations, parameters = cast(list[int], texts["nmt_inference counted"])
    assert parameters == 3 * of_words + gates + len(lstm) * 4 * units + 2 * units * units + units
    attention = 2 * units * units + 2 * steps * units  # for each step: keys, query, scores, context
    assert operations == 2 * sentences * steps * (of_words + gates + attention)


@pytest.mark.parametrize("label", ["nasnet_inference", "nmt_inference"])
def test_inference_has_nothing_of_training(built: dict[str, Ops], label: str) -> None:
    ops = built[label]
    assert "prediction" in ops
    assert not [name for name in ops if re.match("gradients|optimizer|auxiliary|weight_decay|clipping|.*dropout", name)]
    assert not {op_type for op_type in ops.values() if op_type.startswith(("Resource", "Assign", "Random"))} - {
        "ResourceGather"
    }
