"""The tuning's trials are alike for all methods, and its page says what they found."""

from pathlib import Path

import pytest

from engine.placers.registry import PLACERS, make_placer
from experiments import tuning
from experiments.keeping.kept_results import KeptResults
from experiments.tuning import SETTINGS, TuningTrial, page, share_of, trials
from tests.engine.small_runs import prepared_graph


def test_every_method_has_eight_settings_that_it_takes_the_defaults_first() -> None:
    for method, settings in SETTINGS.items():
        assert method in PLACERS
        assert len(settings) == (1 if method == "auto" else 8) and settings[0] == {}
        made = [make_placer(method, changes) for changes in settings]
        assert len(made) == len({str(sorted(changes.items())) for changes in settings})


def test_a_share_is_of_the_best_single_device() -> None:
    prepared = prepared_graph(12)
    assert share_of(prepared, "2xK80", "single_device", {}, 10, 0) == pytest.approx(1.0)
    assert share_of(prepared, "2xK80", "random", {}, 1, 0) > 0.0


def found(better: float) -> dict[str, list[float]]:
    """Every default is at 0.9 and 0.92, every first change `better` below."""
    shares: dict[str, list[float]] = {}
    for trial in trials():
        by = better if trial.changes and trial.changes == SETTINGS[trial.method][1] else 0.0
        shares[trial.shown] = [0.9 - by, 0.92 - by]
    return shares


def row_of(text: str, label: str) -> list[str]:
    [line] = [line for line in text.splitlines() if line.startswith(f"| {label} |")]
    return [cell.strip() for cell in line.strip("|").split("|")]


@pytest.mark.parametrize(("better", "on_all"), [(0.05, "yes"), (0.01, "no")])
def test_a_better_setting_counts_only_beyond_the_scatter_on_every_graph(better: float, on_all: str) -> None:
    text = page(found(better), "by a test")
    row = row_of(text, "BRKGA")
    assert row[1:5] == ["8", "0.910", f"{0.91 - better:.3f}", "population=25"]
    assert row[5].startswith(f"+{100 * better:.1f} %") and row[5].endswith(f"on all: {on_all}")
    assert row_of(text, "Auto")[1:] == ["1", "0.910", "0.910", "defaults", "–"]


def test_a_second_call_makes_no_trial_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "first_graphs", lambda *_: ())
    kept = KeptResults(tmp_path / "kept" / "tuning.jsonl")
    monkeypatch.setattr(tuning, "SETTINGS", {"auto": ({},)})
    for family in tuning.FAMILIES:
        for seed in tuning.SEEDS:
            kept.add(TuningTrial("auto", {}, family).key(seed), 0.7)
    told: list[str] = []
    assert "| Auto | 1 | 0.700 | 0.700 | defaults | – |" in tuning.run(tmp_path, told.append)
    assert told == [f"a graph of {family}" for family in tuning.FAMILIES]
