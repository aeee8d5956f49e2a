"""The rules of other tools, restated: accelerate's own answers, closed forms, and slow twins."""

import itertools

import numpy as np
import pytest
import torch
from accelerate import infer_auto_device_map
from accelerate.utils.modeling import get_balanced_memory
from hypothesis import given
from hypothesis import strategies as st

from engine.clusters.parsing import parse_cluster
from engine.placers.registry import make_placer
from engine.placers.shipped.accelerate import balanced_bytes, filled
from engine.placers.shipped.balanced_parameters import balanced_stages
from engine.placers.shipped.even_layers import even_counts
from engine.placers.shipped.layers import WeightedLayers
from engine.problem.making import problem_of
from tests.engine.formats.modules.recorded_chain import recorded_chain

FLOAT = 4
CPU = 9


def layers_of(sizes: list[list[int]], devices: int) -> WeightedLayers:
    """WeightedLayers of modules with so many floats each, GPUs from 0 and a CPU."""
    bytes_of = tuple(tuple(FLOAT * size for size in modules) for modules in sizes)
    weights = np.array([sum(each) for each in bytes_of])
    return WeightedLayers(np.arange(len(sizes)), weights, bytes_of, np.arange(devices), np.array([CPU]))


class Block(torch.nn.Module):
    """What a tool must not split."""

    def __init__(self, sizes: list[int]) -> None:
        super().__init__()
        self.parts = torch.nn.ModuleList(torch.nn.Linear(size, 1, bias=False) for size in sizes)


def model_of(sizes: list[list[int]]) -> torch.nn.Module:
    """The same layers as a model on the meta device: alone a module, several a block."""
    with torch.device("meta"):
        made = [torch.nn.Linear(each[0], 1, bias=False) if len(each) == 1 else Block(each) for each in sizes]
    return torch.nn.ModuleList(made)


MODELS = st.tuples(
    st.lists(st.integers(1, 60), min_size=2, max_size=3),
    st.lists(st.one_of(st.integers(1, 400), st.none()), min_size=3, max_size=14),
).map(lambda drawn: [list(drawn[0]) if alone is None else [alone] for alone in drawn[1]])
"""models with blocks of one kind between modules"""


@given(MODELS, st.integers(1, 4), st.integers(20, 3000))
def test_sequential_is_accelerates(sizes: list[list[int]], devices: int, room: int) -> None:
    max_memory: dict[int | str, int] = {"cpu": 10**9} | dict.fromkeys(range(devices), FLOAT * room)
    theirs = infer_auto_device_map(model_of(sizes), max_memory, no_split_module_classes=["Block"], clean_result=False)
    ours = filled(layers_of(sizes, devices), np.full(devices, FLOAT * room))
    assert ours.tolist() == [CPU if theirs[str(layer)] == "cpu" else theirs[str(layer)] for layer in range(len(sizes))]


@given(MODELS, st.integers(2, 4))
def test_balanced_shares_are_accelerates(sizes: list[list[int]], devices: int) -> None:
    max_memory: dict[int | str, int] = dict.fromkeys([*range(devices), "cpu"], 10**9)
    theirs = get_balanced_memory(model_of(sizes), dict(max_memory), no_split_module_classes=["Block"])
    assert theirs[0] == min(10**9, balanced_bytes(layers_of(sizes, devices), devices))


@given(st.lists(st.integers(1, 50), min_size=1, max_size=9), st.integers(1, 4))
def test_balanced_parameters_are_the_best_cut(sizes: list[int], stages: int) -> None:
    stage = balanced_stages(np.array(sizes), stages)
    assert stage[0] == 0 and set(np.diff(stage).tolist()) <= {0, 1} and stage[-1] < stages
    most = max(np.bincount(stage, sizes))
    cuts = itertools.combinations_with_replacement(range(len(sizes) + 1), stages - 1)
    bounds = ([0, *cut, len(sizes)] for cut in cuts)
    assert most == min(max(sum(sizes[a:b]) for a, b in itertools.pairwise(bound)) for bound in bounds)


@pytest.mark.parametrize(
    ("layers", "stages", "counts"),
    [(32, 4, [8, 8, 8, 8]), (30, 4, [7, 8, 8, 7]), (31, 4, [8, 8, 8, 7]), (3, 4, [1, 1, 1, 0]), (5, 1, [5])],
)
def test_even_layers_give_what_is_over_to_the_stages_before_the_last(
    layers: int, stages: int, counts: list[int]
) -> None:
    assert even_counts(layers, stages) == counts


@pytest.mark.parametrize(
    ("method", "stages"),
    [
        ("accelerate_auto", [3, 4, 3]),  # the first keeps room for one more
        ("accelerate_sequential", [10]),
        ("even_layers", [3, 4, 3]),
        ("balanced_parameters", [4, 4, 2]),
    ],
)
def test_ten_equal_layers_are_taken_in_the_order_of_the_forward_pass(method: str, stages: list[int]) -> None:
    """The chain has a backward pass, which comes to the last layer first."""
    prepared = recorded_chain(4)
    problem = problem_of(prepared, parse_cluster("3xA100"))
    make_placer(method, {}).place(problem, np.random.default_rng(0), lambda: False)
    device_of_op = problem.ledger.answer()[prepared.grouping.group_of_op]
    device_of = dict(zip(prepared.graph.op_names, device_of_op.tolist(), strict=True))
    order = ["embed", *(f"layers/{layer}/{part}" for layer in range(4) for part in ("attn", "mlp")), "head"]
    assert [device_of[f"{name}/mm"] for name in order] == np.repeat(np.arange(len(stages)), stages).tolist()
    assert device_of["ids"] == 0
