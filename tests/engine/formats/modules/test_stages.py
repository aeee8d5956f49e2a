"""Split points and layers a stage: of placements that are chains, and read back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.clusters.parsing import parse_cluster
from engine.errors import PlacementError
from engine.events import Json
from engine.formats.modules.stages import devices_of_split, is_split, split_spec_of
from tests.engine.formats.modules.recorded_chain import along, recorded_chain, units

CLUSTER = parse_cluster("3xA100")
CHAIN = recorded_chain(6)
ORDER = ["embed", *(f"layers.{layer}.{part}" for layer in range(6) for part in ("attn", "mlp")), "head"]


def test_a_chain_of_three_stages() -> None:
    of_unit = {unit: 0 if place < 5 else 2 if place < 9 else 1 for place, unit in enumerate(ORDER)}
    found = split_spec_of(CHAIN, CLUSTER, along(CHAIN, of_unit))
    assert found == {
        "split_spec": {"layers.2": "BEGINNING", "layers.4": "BEGINNING"},
        "stages": [
            {"device": "/device:GPU:0", "modules": ["embed", "layers.0", "layers.1"]},
            {"device": "/device:GPU:2", "modules": ["layers.2", "layers.3"]},
            {"device": "/device:GPU:1", "modules": ["layers.4", "layers.5", "head"]},
        ],
        "layers_per_stage": [2, 2, 2],
    }


@given(st.sets(st.integers(1, len(ORDER) - 1), max_size=2))
def test_split_points_are_read_back(cuts: set[int]) -> None:
    of_unit = {unit: sum(place >= cut for cut in cuts) for place, unit in enumerate(ORDER)}
    placement = along(CHAIN, of_unit)
    written = split_spec_of(CHAIN, CLUSTER, placement)
    assert is_split(written)
    assert devices_of_split(CHAIN, CLUSTER, written).tolist() == placement.tolist()


def test_layers_a_stage_are_read() -> None:
    found = devices_of_split(CHAIN, CLUSTER, {"layers_per_stage": [1, 3, 2]})
    stage = dict(zip(CHAIN.graph.op_names, found.tolist(), strict=True))
    assert [stage[f"layers/{layer}/mlp/mm"] for layer in range(6)] == [0, 1, 1, 1, 2, 2]
    assert (stage["embed/mm"], stage["head/mm"], stage["head/backward_mm"], stage["embed/backward_mm"]) == (0, 2, 2, 0)


def test_a_layer_that_is_split_has_no_count() -> None:
    of_unit = {unit: int(place >= 4) for place, unit in enumerate(ORDER)}
    assert split_spec_of(CHAIN, CLUSTER, along(CHAIN, of_unit))["layers_per_stage"] is None


def test_a_placement_that_returns_is_no_chain() -> None:
    of_unit = dict.fromkeys(units(CHAIN), 0) | {"layers.3.attn": 1, "layers.3.mlp": 1}
    with pytest.raises(PlacementError, match=r"module layers.4: the placement is no chain of stages"):
        split_spec_of(CHAIN, CLUSTER, along(CHAIN, of_unit))


@pytest.mark.parametrize(
    ("split", "words"),
    [
        ({"split_spec": {"layers.9": "BEGINNING"}}, "layers.9: no such module"),
        ({"split_spec": {"layers.2": "END"}}, "split_spec"),
        ({"split_spec": ["layers.2"]}, "split_spec"),
        ({"split_spec": {f"layers.{layer}": "BEGINNING" for layer in range(1, 6)}}, "6 stages on 3 devices"),
        ({"layers_per_stage": [3, 4]}, "numbers from 1 that add up to the model's 6 layers"),
        ({"layers_per_stage": [6, 0]}, "numbers from 1 that add up to the model's 6 layers"),
        ({"layers_per_stage": "half"}, "numbers from 1 that add up to the model's 6 layers"),
    ],
)
def test_splits_that_are_refused_in_one_line(split: dict[str, Json], words: str) -> None:
    with pytest.raises(PlacementError) as error:
        devices_of_split(CHAIN, CLUSTER, split)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_all_on_one_device_is_one_stage() -> None:
    found = split_spec_of(CHAIN, CLUSTER, np.zeros(CHAIN.graph.op_count, dtype=np.int32))
    assert found["split_spec"] == {}
    assert found["layers_per_stage"] == [6]
