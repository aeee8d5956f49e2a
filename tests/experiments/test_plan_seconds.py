"""What a search for plans finds by when: rows of real searches, and the page that stands beside the longest."""

from typing import Any

from experiments import plan_seconds
from experiments.plan_seconds import SEARCHES, all_keys, row_of
from tests.engine.plans.layered_step import layered_model


def test_a_longer_search_is_never_behind() -> None:
    rows: list[dict[str, Any]] = [
        {"cluster": "A100+K80", "batch": 8, **row_of(layered_model(), "A100+K80", 8, seconds)} for seconds in (1.0, 4.0)
    ]
    assert 0 < rows[0]["samples_per_second"] <= rows[1]["samples_per_second"] * (1 + 1e-9)
    assert rows[1]["not_reached"] == 0 and rows[1]["process_bytes"] > 10**6
    page = plan_seconds.page(rows, "today")
    assert page.count("| A100+K80 | 8 |") == 2 and "| 0.0 % |" in page


def test_a_search_is_measured_beside_a_longer_one_on_8_and_64_cards() -> None:
    cards = [sum(int(part.split("x")[0]) for part in cluster.split("+")) for cluster in SEARCHES]
    assert cards == [8, 64] and len([*all_keys()]) == 4
