"""What a problem is like, and how far it is from those of a training."""

import dataclasses

import numpy as np
import pytest

from engine import api
from engine.errors import SettingsError
from engine.placeto.seeing.features import group_graph
from engine.policies.card import PolicyCard
from engine.policies.drawn.problems import drawn_problem
from engine.policies.drawn.shapes import SHAPES
from engine.policies.traits import FAR_TIMES, LEAST, MOST, TRAITS, beyond, is_far, traits_of, widened
from tests.engine.placeto.problems import random_problem, renumbered, slower, two_chains
from tests.engine.policies.small_policies import small_policy

RANGES = {"groups": (10.0, 100.0), "devices": (2.0, 8.0)}


def test_two_chains_on_two_equal_devices() -> None:
    traits = traits_of(group_graph(two_chains(length=5)))
    assert {name: traits[name] for name in ("groups", "devices", "device_ratio", "link_ratio", "edges_per_group")} == {
        "groups": 10,
        "devices": 2,
        "device_ratio": 1.0,
        "link_ratio": 1.0,
        "edges_per_group": 0.8,
    }
    assert traits["parallelism"] == pytest.approx(2.0)
    assert traits["backward_share"] == LEAST
    assert traits["computing_per_transfer"] < 1.0, "any transfer costs more than it saves"


@pytest.mark.parametrize("seed", range(6))
def test_traits_are_finite_and_do_not_depend_on_numbering_or_scale(seed: int) -> None:
    problem = random_problem(seed, groups=15, devices=3, cpu=True)
    traits = traits_of(group_graph(problem))
    assert traits.keys() == TRAITS.keys()
    assert all(LEAST <= value <= MOST for value in traits.values())
    again = (renumbered(problem, np.random.default_rng(seed).permutation(4)), slower(problem, 8.0))
    for other in again:
        assert traits_of(group_graph(other)) == pytest.approx(traits)


def test_one_device_has_no_links_and_drawn_problems_have_all_traits() -> None:
    assert traits_of(group_graph(random_problem(1, devices=1)))["link_ratio"] == 1.0
    rng = np.random.default_rng(0)
    ranges: dict[str, tuple[float, float]] = {}
    for _ in range(20):
        traits = traits_of(group_graph(drawn_problem(tuple(SHAPES), rng).problem))
        ranges = widened(ranges, traits)
        assert beyond(ranges, traits) == []
    assert all(least < most for least, most in ranges.values())


def test_what_is_beyond_is_reported_the_furthest_first() -> None:
    inside = {"groups": 100.0, "devices": 2.0}
    assert beyond(RANGES, inside) == []
    outside = beyond(RANGES, {"groups": 5.0, "devices": 24.0})
    assert [each.trait for each in outside] == ["devices", "groups"]
    assert [each.times for each in outside] == [3.0, 2.0]
    assert outside[0].sentence == "Devices: 2 to 8 in its training, 24 here."
    assert is_far(outside) and not is_far(outside[1:]), f"more than {FAR_TIMES} times"
    assert beyond({}, inside) == [], "an older card does not know"


def test_a_card_keeps_its_ranges() -> None:
    card = dataclasses.replace(small_policy().card, ranges=RANGES)
    assert PolicyCard.from_json(card.to_json(), "a card") == card


@pytest.mark.parametrize(
    ("ranges", "line"),
    [
        ([1, 2], "the card's ranges is a list; allowed: a JSON object"),
        ({"height": [1, 2]}, "a range of the card is of 'height'"),
        ({"groups": [1]}, "the card's most is nothing"),
        ({"groups": [3, 2]}, "the card's groups is 3 to 2"),
        ({"groups": [1, 2, 3]}, "the card's groups is a list of 3"),
        ({"groups": "many"}, "the card's groups is 'many'"),
        ({"groups": [0, 2]}, "the card's least is 0"),
        ({"groups": [1, 1e9]}, "the card's groups is 1 to 1e+09"),
    ],
)
def test_ranges_that_none_can_have_are_refused(ranges: api.Json, line: str) -> None:
    stated = {**small_policy().card.to_json(), "ranges": ranges}
    with pytest.raises(SettingsError) as caught:
        PolicyCard.from_json(stated, "a file")
    assert str(caught.value).startswith("a file: ")
    assert line in str(caught.value)
