"""Errors keep all that they say, wherever they are raised again."""

import pytest

from engine.errors import PlacetoError, TimeLimitError

ERROR = TimeLimitError("too long", where="reading", allowed="1 s", advice="use fewer ops", field="file")


def test_an_error_of_its_own_facts_is_the_same() -> None:
    again = TimeLimitError(**ERROR.facts())
    assert (str(again), vars(again)) == (str(ERROR), vars(ERROR))


@pytest.mark.parametrize(("where", "shown"), [(None, "reading"), ("inception", "inception"), ("", "")])
def test_an_error_at_another_field_is_of_its_type_and_says_the_same(where: str | None, shown: str) -> None:
    moved: PlacetoError = ERROR.at("times", where=where)
    assert type(moved) is TimeLimitError
    assert moved.facts() == {**ERROR.facts(), "field": "times", "where": shown}
