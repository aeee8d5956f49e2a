"""Numbers in words: the same cases as in the browser."""

import json
from pathlib import Path

import pytest

from engine import number_words

CASES = json.loads((Path(__file__).resolve().parent.parent / "number_words.json").read_text())


@pytest.mark.parametrize(
    ("name", "value", "words"), [(names.split()[1], *case) for names, cases in CASES.items() for case in cases]
)
def test_a_number_reads_the_same_in_python_and_in_the_browser(name: str, value: float, words: str) -> None:
    assert getattr(number_words, name)(value) == words


@pytest.mark.parametrize(
    ("share", "words"), [(0.0, "0 %"), (0.004, "< 1 %"), (0.5, "50 %"), (0.996, "> 99 %"), (1.0, "100 %")]
)
def test_a_part_is_none_or_all_only_if_it_is(share: float, words: str) -> None:
    assert number_words.part_words(share) == words


def test_a_count_with_its_noun() -> None:
    assert [number_words.counted(count, "group") for count in (1, 10_061)] == ["1 group", "10,061 groups"]
