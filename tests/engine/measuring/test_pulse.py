"""What a pulse raises ends the child that measures."""

from pathlib import Path

import pytest

from engine import api
from engine.clusters.parsing import parse_cluster
from tests.engine.measuring.conftest import LIMITS
from tests.own_network import NEEDS_OWN_NETWORK


class EnoughError(Exception):
    """Raised by a pulse."""


def enough() -> None:
    raise EnoughError


@NEEDS_OWN_NETWORK
def test_a_calibration_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.getloadavg", lambda: (0.0, 0.0, 0.0))
    with pytest.raises(EnoughError):
        api.calibrate(pulse=enough)


@NEEDS_OWN_NETWORK
def test_a_measurement_of_placements_ends_in_its_round(
    prepared: api.PreparedGraph, tiny_cnn_path: Path, tmp_path: Path
) -> None:
    stages: list[str] = []

    def end_in_a_round() -> None:
        if stages and stages[-1].startswith("round"):
            raise EnoughError

    placements: list[api.Json] = [dict.fromkeys(prepared.graph.op_names, f"/device:CPU:{index}") for index in range(2)]
    with pytest.raises(EnoughError):
        api.measure_many(
            tiny_cnn_path,
            ".pb",
            placements,
            api.ReadingOptions(),
            LIMITS,
            lambda stage, *_: stages.append(stage),
            cluster=parse_cluster("2xCPU"),
            kept=tmp_path / "kept.json",
            pulse=end_in_a_round,
        )
    assert not (tmp_path / "kept.json").exists()
