"""The phrase that says where op times come from."""

import pytest

from engine.costs.costs import CostSource
from engine.costs.source_words import SOURCE_WORDS, simulated_words


def test_every_source_has_words() -> None:
    assert set(SOURCE_WORDS) == {source.name.lower() for source in CostSource}


@pytest.mark.parametrize(
    ("sources", "words"),
    [
        ({}, "simulated"),
        ({"estimated": 5338}, "simulated, op times estimated from operations and bytes"),
        ({"given": 4, "unknown": 0}, "simulated, op times given in the file"),
        (
            {"measured": 150, "estimated": 849, "unknown": 1},
            "simulated, op times 85 % estimated from operations and bytes, 15 % measured, < 1 % unknown, a lower bound",
        ),
    ],
)
def test_one_source_has_no_share(sources: dict[str, int], words: str) -> None:
    assert simulated_words(sources) == words
