"""What methods reached in a stream: they are judged by whole batches, in micro-batches a second."""

import pytest

from engine.comparing.outcome import Outcome, outcome_from_json
from engine.comparing.summary import markdown_of, summaries_of, verdict_sentence_of

MICRO_BATCHES = 8


def outcome(seed: int, period_us: float, batch_us: float | None, **changes: object) -> Outcome:
    values: dict[str, object] = {
        "feasible": True,
        "lower_bound_us": 1000.0,
        "one_device_us": 4000.0,
        "batch_time_us": batch_us,
        "micro_batches_per_second": None if batch_us is None else MICRO_BATCHES * 1e6 / batch_us,
        "curve": ((2, 4000.0), (10, period_us)),
        "verdict": {"sentence": f"{batch_us}", "one_device_us": 40_000.0},
    }
    return Outcome("brkga", seed, period_us, **{**values, **changes})  # type: ignore[arg-type]  # a test's shorthand


def test_the_shortest_batch_is_the_best_though_its_period_is_longer() -> None:
    short_period, short_batch = outcome(0, 1000.0, 32_000.0), outcome(1, 1500.0, 16_000.0)
    unknown = outcome(2, 500.0, None)
    assert verdict_sentence_of([short_period, short_batch, unknown]) == "16000.0"
    (summary,) = summaries_of([short_period, short_batch, unknown], {})
    assert summary.batch is not None
    assert (summary.batch.best_batch_us, summary.batch.best_period_us) == (16_000.0, 1500.0)
    assert (summary.batch.least_per_second, summary.batch.greatest_per_second) == (250.0, 500.0)
    assert summary.batch.mean_per_second == 375.0
    assert summary.of_one_device == pytest.approx(24_000.0 / 40_000.0)


def test_the_table_tells_rates_batches_and_periods() -> None:
    rows = [outcome(0, 1000.0, 16_000.0, samples_per_second=4000.0)]
    table = markdown_of(summaries_of(rows, {}), "simulated")
    head, _, row = table.splitlines()[:3]
    assert "micro-batches a second, mean" in head and "step" not in head
    assert "| 500 | 500 | 500 | 4000 | 16.00 ms | 1.000 ms | 60 % faster |" in row


def test_what_a_stream_has_is_kept_and_a_step_has_none_of_it() -> None:
    of_stream, of_step = outcome(0, 1000.0, 16_000.0), outcome(0, 1000.0, None)
    assert outcome_from_json(of_stream.to_json()) == of_stream
    assert not of_step.to_json().keys() & {"batch_time_us", "micro_batches_per_second", "samples_per_second"}
    assert "batch" not in summaries_of([of_step], {})[0].to_json()
