"""Rules that people write: how they are read and written, which ops they name, and what is refused in one sentence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import SettingsError
from engine.graphs.constraints import ConstrainedOps, Constraints

NAMES = ("encoder/0/mm", "encoder/1/mm", "expert_1", "expert_2", "head", "odd name", "a*b", "axb")
TEXT = """
# what a person writes
together encoder/*
apart expert_1 expert_2

off head "odd name" GPU:0
"""


def test_rules_are_read_from_a_text() -> None:
    rules = Constraints.of_text(TEXT)
    assert rules.together == (("encoder/*",),)
    assert rules.apart == (("expert_1", "expert_2"),)
    assert rules.off == (("head", "odd name", "GPU:0"),)
    assert rules.lines == ["together encoder/*", "apart expert_1 expert_2", 'off head "odd name" GPU:0']


WORDS = st.text(st.characters(blacklist_categories=["Cs"]), min_size=1, max_size=6)
RULES = st.lists(st.lists(WORDS, min_size=2, max_size=4).map(tuple), max_size=3).map(tuple)


@given(st.builds(Constraints, RULES, RULES, RULES))
def test_rules_come_back_from_their_json(rules: Constraints) -> None:
    """Whatever the names are: quotes, backslashes, spaces, line ends."""
    assert Constraints.from_json(rules.to_json()) == rules


@pytest.mark.parametrize(
    ("word", "ops"),
    [
        ("head", ["head"]),
        ("encoder/*", ["encoder/0/mm", "encoder/1/mm"]),
        ("*mm", ["encoder/0/mm", "encoder/1/mm"]),
        ("encoder/*/mm", ["encoder/0/mm", "encoder/1/mm"]),
        ("*pert*1", ["expert_1"]),
        ("a*b", ["a*b"]),  # the op of this very name
        ("a*b*", ["a*b", "axb"]),
        ("*", list(NAMES)),
    ],
)
def test_a_word_names_an_op_or_all_that_match(word: str, ops: list[str]) -> None:
    (found,) = ConstrainedOps.of(Constraints(together=((word,),)), NAMES).together
    assert [NAMES[op] for op in found.tolist()] == ops


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            "togther a b",
            "the rule `togther a b`: it has another form; allowed: together OPS …, apart OPS OPS …, off ",
        ),
        ("apart expert_1", "the rule `apart expert_1`: it has another form; allowed: "),
        ("off head", "the rule `off head`: it has another form; allowed: "),
        ("together", "the rule `together`: it has another form; allowed: "),
        ('together "a', 'the rule `together "a`: it has another form; allowed: '),
        ("together tail", "the rule `together tail`: tail names no op; allowed: an op's name, or a text with * that"),
        ("off tail/* GPU:0", "the rule `off tail/* GPU:0`: tail/* names no op; allowed: "),
        (
            "apart head expert_* head",
            "the rule `apart head expert_* head`: head cannot be apart from itself; ",
        ),
        ("apart encoder/* *mm", "the rule `apart encoder/* *mm`: encoder/0/mm cannot be apart from itself; allowed: "),
    ],
)
def test_odd_rules_are_refused(text: str, error: str) -> None:
    with pytest.raises(SettingsError) as refused:
        ConstrainedOps.of(Constraints.of_text(text), NAMES)
    assert str(refused.value).startswith(error)
    assert refused.value.field == "constraints"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("together a\n" * 1001, "constraints: 1,001 rules; allowed: at most 1,000"),
        ("together " + "a " * 10_001, "constraints: 10,001 words; allowed: at most 10,000"),
        ("together " + "a* " * 1001, "constraints: 1,001 words with a *; allowed: at most 1,000"),
    ],
)
def test_too_many_rules_are_refused(text: str, error: str) -> None:
    with pytest.raises(SettingsError) as refused:
        Constraints.of_text(text)
    assert str(refused.value) == error


@pytest.mark.parametrize("value", [None, "together a", [1], {"together": []}])
def test_json_of_another_form_is_refused(value: object) -> None:
    with pytest.raises(SettingsError, match=r"^constraints: "):
        Constraints.from_json(value)  # type: ignore[arg-type]


def test_too_many_patterns_for_so_many_ops_are_refused() -> None:
    names = tuple(map(str, range(100_000)))
    with pytest.raises(SettingsError) as refused:
        ConstrainedOps.of(Constraints.of_text("together 1*\n" * 201), names)
    assert str(refused.value) == "constraints: 201 words with a * for 100,000 ops; allowed: at most 200"


def test_a_pattern_of_many_stars_takes_no_time() -> None:
    """One that a regular expression would try in exponentially many ways."""
    names = ("a" * 2000 + "!",)
    with pytest.raises(SettingsError, match="names no op"):
        ConstrainedOps.of(Constraints(together=(("*a" * 500 + "b",),)), names)
