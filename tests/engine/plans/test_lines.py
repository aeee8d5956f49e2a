"""A report's lines for people."""

from typing import Any

import pytest

from engine.plans.report import plan_lines


def figures(batch_time_us: float) -> dict[str, Any]:
    """A plan of one device, with so long a batch of one sample."""
    replica = {"devices": [0], "micro_batch": 1, "micro_batches": 1, "device_of_group": [0], "turns": []}
    return {
        "batch_time_us": batch_time_us,
        "samples_per_second": 1e6 / batch_time_us,
        "peak_bytes": [0],
        "replicas": [replica],
        "is_extrapolated": False,
        "price_per_million_samples": None,
    }


@pytest.mark.parametrize(("usual_us", "words"), [(120.0, "20.0 % more"), (90.0, "10.0 % less"), (100.0, "0.0 % more")])
def test_a_usual_plan_beside_the_first_one(usual_us: float, words: str) -> None:
    report = {"devices": ["/device:GPU:0"], "plans": [figures(100.0)], "usual": {"sharded": figures(usual_us)}}
    assert plan_lines(report)[-1].endswith(f"; the first plan above has {words}")
