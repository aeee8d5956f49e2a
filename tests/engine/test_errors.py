"""Errors keep all that they say, wherever they are raised again."""

import pytest

from engine.errors import PlacetoError, TimeLimitError, shortened

ERROR = TimeLimitError("too long", where="reading", allowed="1 s", advice="use fewer ops", field="file")


def test_an_error_of_its_own_facts_is_the_same() -> None:
    again = TimeLimitError(**ERROR.facts())
    assert (str(again), vars(again)) == (str(ERROR), vars(ERROR))


@pytest.mark.parametrize(("where", "shown"), [(None, "reading"), ("inception", "inception"), ("", "")])
def test_an_error_at_another_field_is_of_its_type_and_says_the_same(where: str | None, shown: str) -> None:
    moved: PlacetoError = ERROR.at("times", where=where)
    assert type(moved) is TimeLimitError
    assert moved.facts() == {**ERROR.facts(), "field": "times", "where": shown}


def test_a_path_that_is_cut_keeps_its_end_and_another_text_its_beginning() -> None:
    name = f"StatefulPartitionedCall/{'layer/' * 20}MatMul"
    assert [shortened(name), len(shortened(name))] == [f"{name[:40]}…{name[-39:]}", 80]
    assert shortened(name, 12) == "Statef…atMul" and shortened("x" * 99, 5) == "xxxx…"
    assert shortened("a/\u202e") == "a/\N{REPLACEMENT CHARACTER}" and shortened("a/b", 3) == "a/b"
