"""Loops that people have put on two GPUs are read, kept or placed anew, and run in TensorFlow where they were put."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine import api
from engine.child.parent import no_progress, run_in_child
from engine.cli.main import main
from engine.prepared import PreparedGraph
from engine.problem.pins import allowed_devices

IN_CHILD = "tests.engine.placed_graphs.in_child"
LIMITS = api.Limits(memory_bytes=12 * 1024**3, seconds=300.0)
BY_HAND = ("stack of version 1", "stack of version 2", "replicas")
DECODERS = ("decoder without a loop", "decoder")
CLUSTER = "2xK80"
LEAST_EXECUTED = 50
LAYER_BYTES, MEMORY_BYTES = 43_000**2 * 4, 12 * 1024**3


@dataclass(frozen=True)
class Built:
    """The files of `loops_by_hand`."""

    folder: Path
    found: dict[str, Any]

    def prepared(self, name: str) -> PreparedGraph:
        return api.prepare(self.path(name), self.path(name).suffix, no_progress, LIMITS, groups=None)

    def path(self, name: str) -> Path:
        return self.folder / str(self.found[name]["file"])


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The files, and what TensorFlow did with placements of them."""
    folder = tmp_path_factory.mktemp("by_hand")
    build = f"{IN_CHILD}:build_by_hand_in_child"
    return Built(folder, run_in_child(build, {"folder": str(folder)}, LIMITS, task="building")[1])


def devices_of(prepared: PreparedGraph, ending: str, *, drop_devices: bool) -> list[list[int]]:
    """For each op whose name has this ending, the devices to which it may go."""
    cluster = api.parse_cluster(CLUSTER)
    table = allowed_devices(prepared.graph, prepared.costs, prepared.grouping, cluster, drop_pins=drop_devices)
    groups = [
        group
        for name, group in zip(prepared.graph.op_names, prepared.grouping.group_of_op, strict=True)
        if name.rpartition("/")[2] == ending
    ]
    return [np.flatnonzero(table[group]).tolist() for group in groups]


@pytest.mark.parametrize("name", BY_HAND)
def test_each_layer_stays_where_its_file_puts_it_unless_devices_are_dropped(built: Built, name: str) -> None:
    prepared = built.prepared(name)
    assert devices_of(prepared, "below", drop_devices=False) == [[0]]
    assert devices_of(prepared, "above", drop_devices=False) == [[1]]
    for layer in ("below", "above"):
        assert devices_of(prepared, layer, drop_devices=True) == [[0, 1]]
    assert [note for note in prepared.origin.notes if "fixed" in note] == []


@pytest.mark.parametrize("name", BY_HAND)
def test_it_runs_in_tensorflow_where_it_was_put(built: Built, name: str) -> None:
    kept, dropped = built.found[name]["ran"]
    on = {name.rpartition("/")[2]: device for name, device in kept["devices"].items()}
    assert on == {"below": "/device:CPU:0", "above": "/device:CPU:1"}
    for ran in (kept, dropped):
        assert (ran["mismatches"], ran["unequal"]) == ([], [])
        assert ran["executed"] >= LEAST_EXECUTED


@pytest.mark.parametrize("name", DECODERS)
def test_a_layer_of_a_decoder_fits_on_each_gpu(built: Built, name: str, tmp_path: Path) -> None:
    prepared, cluster = built.prepared(name), api.parse_cluster(CLUSTER)
    group_of_op = prepared.grouping.group_of_op
    of_layer = [each.startswith("above") or "MatMul_1" in each for each in prepared.graph.op_names]
    above = {group for group, is_above in zip(group_of_op.tolist(), of_layer, strict=True) if is_above}
    devices = [int(group in above) for group in range(prepared.grouping.group_count)]
    placement = api.placement_to_json(prepared, cluster, api.SplitPlacement(devices))
    (report,) = api.simulate(prepared, cluster, [dict(placement)])
    assert isinstance(report, dict)
    peaks = report["peak_bytes"]
    assert isinstance(peaks, list)
    assert [LAYER_BYTES <= int(str(peak)) < MEMORY_BYTES for peak in peaks] == [True, True]
    search = ["--method", "local_search", "--evaluations", "200", "--groups", "all"]
    placed = tmp_path / "placed.pb"
    assert main(["place", str(built.path(name)), "--cluster", CLUSTER, *search, "--out", str(placed)]) == 0
