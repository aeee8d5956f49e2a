"""The learning curve: a training and its frozen control, kept results, what `holds` asks."""

from dataclasses import replace
from pathlib import Path

import pytest

from experiments import learning_curve
from experiments.learning_curve import Curve, Pair, trained
from tests.engine.small_runs import prepared_graph

CURVE = Curve([90, 80, 70], [1, 2, 3], 70.0, 75.0, 78.0, 1.0)


@pytest.mark.parametrize(
    ("frozen", "holds"),
    [
        ({"greedy_us": 76.0, "step_time_us": [90, 80, 71]}, True),
        ({"greedy_us": 75.0, "step_time_us": [90, 80, 71]}, False),  # the policy itself is no better
        ({"greedy_us": 76.0, "step_time_us": [90, 80, 70]}, False),  # the episodes fall as far without learning
    ],
)
def test_learning_must_beat_its_frozen_control(frozen: dict[str, object], holds: bool) -> None:
    assert Pair(CURVE, replace(CURVE, **frozen)).holds == holds  # type: ignore[arg-type]  # fields of a curve


def test_a_frozen_policy_passes_as_before_it_began(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = prepared_graph()
    monkeypatch.setattr(learning_curve, "EVALUATIONS", 40)
    short = trained(prepared, 0, frozen=True)
    monkeypatch.setattr(learning_curve, "EVALUATIONS", 200)
    long, learned = (trained(prepared, 0, frozen=frozen) for frozen in (True, False))
    assert (short.greedy_us, short.sampled_us) == (long.greedy_us, long.sampled_us)
    assert learned.sampled_us != long.sampled_us
    assert len(long.step_time_us) == len(long.evaluations) > len(short.evaluations)


def test_a_second_call_trains_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning_curve, "prepared_graph", lambda _: prepared_graph())
    monkeypatch.setattr(learning_curve, "EVALUATIONS", 40)
    monkeypatch.setattr(learning_curve, "SEEDS", (0, 1))
    text = learning_curve.run(tmp_path, lambda _: None)
    assert text.count("| frozen |") == 2 and "learning − frozen" in text
    monkeypatch.setattr(learning_curve, "trained", lambda *_, **__: pytest.fail("it is known"))
    assert learning_curve.run(tmp_path, lambda _: None) == text
    assert (tmp_path / "learning_curve.png").exists()
