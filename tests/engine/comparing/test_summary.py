"""What methods reached over their seeds, and the table."""

import json

import pytest

from engine.comparing.outcome import Outcome, outcome_from_json
from engine.comparing.summary import markdown_of, summaries_of, unit_of, verdict_sentence_of

SHORT = "none of the placements fits in memory (5 evaluated): the closest needs 150 B more than the 100 B of GPU 0"


def outcome(seed: int, step_time_us: float, **changes: object) -> Outcome:
    values: dict[str, object] = {
        "feasible": True,
        "evaluations": 10,
        "wall_seconds": 2.0 + seed,
        "lower_bound_us": 1000.0,
        "one_device_us": 4000.0,
        "evaluations_to_best": 4 + seed,
        "own_best_us": 2 * step_time_us,
        "curve": ((2, 4000.0), (10, step_time_us)),
    }
    return Outcome("brkga", seed, step_time_us, **{**values, **changes})  # type: ignore[arg-type]  # a test's shorthand


def test_figures_over_two_seeds() -> None:
    (summary,) = summaries_of([outcome(0, 2000.0), outcome(1, 3000.0)], {"brkga": "BRKGA"})
    assert (summary.label, summary.seeds, summary.ended, summary.feasible) == ("BRKGA", 2, 2, 2)
    assert (summary.least_us, summary.mean_us, summary.greatest_us) == (2000.0, 2500.0, 3000.0)
    assert summary.own_mean_us == 5000.0
    assert summary.of_one_device == 0.625
    assert summary.above_bound == 1.0
    assert summary.evaluations_to_best == 4.5
    assert summary.wall_seconds == 2.5
    assert summary.band.low_us == (4000.0, 2000.0)
    assert summary.band.high_us == (4000.0, 3000.0)


def test_an_infeasible_seed_is_reported_and_counts_for_no_time() -> None:
    short = outcome(1, 1.0, feasible=False, reason=f"brkga: {SHORT}", curve=(), evaluations_to_best=None)
    (summary,) = summaries_of([outcome(0, 2000.0), short], {})
    assert summary.mean_us == summary.least_us == 2000.0
    assert summary.feasible_words == "1 of 2 seeds"
    assert f"- brkga: {SHORT}\n" in markdown_of([summary], "simulated")


def test_the_verdict_is_that_on_the_fastest_of_what_has_ended() -> None:
    slow, fast = outcome(0, 3000.0, verdict={"sentence": "slow"}), outcome(1, 2000.0, verdict={"sentence": "fast"})
    short = outcome(2, 1.0, feasible=False, verdict={"sentence": "none fits"})
    working = outcome(3, 1000.0, ended=False)
    assert verdict_sentence_of([slow, fast, short, working]) == "fast"
    assert verdict_sentence_of([short, working]) == ""
    assert verdict_sentence_of([short]) == "none fits"
    assert verdict_sentence_of([slow, outcome(1, 2000.0)]) == "", "the fastest is of an older version"
    assert "\nVerdict: fast\n" in markdown_of(summaries_of([slow, fast], {}), "simulated", "fast")
    assert "Verdict" not in markdown_of(summaries_of([slow, fast], {}), "simulated")


def test_a_method_without_anything_is_a_row() -> None:
    nothing = Outcome("cpu_only", 0, reason="cpu_only: the cluster has no CPU")
    (summary,) = summaries_of([nothing], {"cpu_only": "CPU only"})
    assert summary.feasible_words == "no"
    assert (
        markdown_of([summary], "simulated").splitlines()[2]
        == "| CPU only | 1: deterministic | – | – | – | – | – | – | – | 0 | 0.00 | no |"
    )


def test_a_seed_that_waits_does_not_pull_the_means_down() -> None:
    waiting = Outcome("brkga", 1, ended=False)
    (summary,) = summaries_of([outcome(0, 2000.0), waiting], {})
    assert (summary.seeds, summary.ended, summary.evaluations, summary.wall_seconds) == (2, 1, 10, 2.0)
    assert summary.feasible_words == "yes so far"


def test_the_table_in_the_unit_that_reads_best() -> None:
    table = markdown_of(summaries_of([outcome(0, 2000.0), outcome(1, 3000.0)], {"brkga": "BRKGA"}), "simulated")
    assert table.splitlines() == [
        "| method | seeds | mean (ms) | range (ms) | best (ms) | by itself (ms) | against one device "
        "| above the lower bound | evaluations to 1 % | evaluations | seconds | feasible |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |",
        "| BRKGA | 2 | 2.5000 | 2.0000 to 3.0000 | 2.0000 | 5.0000 | 38 % faster | 100 % | 4 | 10 | 2.50 | yes |",
        "",
        "Step times: simulated.",
    ]


@pytest.mark.parametrize(("step_time_us", "unit"), [(2.5e6, "s"), (2.5e3, "ms"), (2.5, "µs")])
def test_units(step_time_us: float, unit: str) -> None:
    assert unit_of(summaries_of([outcome(0, step_time_us)], {}))[1] == unit


def test_an_outcome_comes_back_from_json() -> None:
    reported = outcome(0, 2000.0, peak_bytes=(5, 6), device_of_group=(0, 1), settings={"preset": "paper"})
    assert outcome_from_json(json.loads(json.dumps(reported.to_json()))) == reported
