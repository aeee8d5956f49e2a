"""The error of a verdict is that of the kept measurements of the fidelity experiment."""

import json
from pathlib import Path

import numpy as np
import pytest

from engine.explaining.model_error import ESTIMATED, GIVEN, MEASURED, SHARE, ModelError

KEPT = Path(__file__).parents[2] / "docs" / "results" / "kept" / "fidelity"


def errors(costing: str) -> list[float]:
    """Of each measured placement that is not on one device, all graphs together."""
    found = []
    for path in sorted(KEPT.glob("*.reports_of_*.json")):
        stem = path.name.partition(".")[0]
        placements = np.array(json.loads((KEPT / f"{stem}.placements.json").read_text()))
        rows = json.loads(path.read_text())[costing]["placements"]
        ratios = [row["step_time_us"] / row["simulated_step_time_us"] for row in rows]
        is_alone = (placements == placements[:, :1]).all(axis=1)
        (alone,) = np.flatnonzero(is_alone)
        found += [ratio / ratios[alone] for ratio, alike in zip(ratios, is_alone, strict=True) if not alike]
    return found


@pytest.mark.parametrize(("error", "costing"), [(ESTIMATED, "calibrated"), (MEASURED, "calibrated, measured op times")])
def test_the_interval_holds_the_middle_of_the_measured_errors(error: ModelError, costing: str) -> None:
    found = errors(costing)
    assert len(found) == 3 * 59
    least, greatest = np.quantile(found, [(1 - SHARE) / 2, (1 + SHARE) / 2])
    assert error.least == pytest.approx(least, abs=0.0005)
    assert error.greatest == pytest.approx(greatest, abs=0.0005)
    assert error.least < 1 < error.greatest, "the simulated gain lies in its interval"


def test_given_times_are_exact() -> None:
    assert GIVEN.is_exact and not ESTIMATED.is_exact
    assert GIVEN.covers(1.0) and not GIVEN.covers(1.01)
    assert ESTIMATED.covers(1.01)
