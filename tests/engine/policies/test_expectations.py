"""A card tells what to expect: the gaps on held-out graphs by family, cluster and size."""

import dataclasses

import pytest

from engine.policies.card import HeldOut, PolicyCard
from engine.policies.expectations import SIZES, expected_gaps, size_words
from tests.engine.policies.small_policies import small_card


def row(graph: str, cluster: str, greedy_us: float | None, ops: int) -> HeldOut:
    best_us = None if greedy_us is None else greedy_us / 2
    return HeldOut(graph, cluster, greedy_us, best_us, 4, 100.0, 1.0, 10, ops)


def card_of(*rows: HeldOut) -> PolicyCard:
    return dataclasses.replace(small_card(), families=("nmt", "ptb"), held_out=rows)


def test_gaps_are_reported_by_family_cluster_and_size() -> None:
    card = card_of(
        row("nmt-02", "2xK80", 110.0, 9_000),
        row("nmt-05", "4xK80", 130.0, 11_000),
        row("mine.pb", "2xK80", None, 400),
        row("mine.pb", "4xK80", 100.0, 400),
    )
    expected = expected_gaps(card)
    assert list(expected) == ["family", "cluster", "size"]
    nmt, others = expected["family"]
    assert (nmt.name, nmt.count, nmt.misfits) == ("nmt", 2, 0)
    assert (nmt.mean_gap, nmt.worst_gap, nmt.mean_best_of_gap) == pytest.approx((0.2, 0.3, -0.4))
    assert (others.name, others.count, others.misfits, others.mean_gap) == ("other graphs", 2, 1, 0.0)
    assert [(gap.name, gap.count, gap.misfits) for gap in expected["cluster"]] == [("2xK80", 2, 1), ("4xK80", 2, 0)]
    sizes = [gap.name for gap in expected["size"]]
    assert sizes == ["up to 1,000 ops", "5,001 to 10,000 ops", "more than 10,000 ops"]
    for gaps in expected.values():
        assert sum(gap.count for gap in gaps) == len(card.held_out)


def test_where_nothing_fits_there_is_no_gap() -> None:
    card = card_of(row("nmt-02", "2xK80", None, 10), row("ptb-02", "2xK80", 90.0, 20))
    nmt = expected_gaps(card)["family"][0]
    assert (nmt.misfits, nmt.mean_gap, nmt.worst_gap, nmt.mean_best_of_gap) == (1, None, None, None)


def test_parts_that_say_nothing_are_left_out() -> None:
    assert expected_gaps(card_of()) == {}
    assert expected_gaps(card_of(row("nmt-02", "2xK80", 90.0, 10), row("nmt-05", "2xK80", 95.0, 20))) == {}
    older = card_of(row("nmt-02", "2xK80", 90.0, 0), row("nmt-05", "4xK80", 95.0, 20_000))
    assert list(expected_gaps(older)) == ["cluster"]


@pytest.mark.parametrize("most", SIZES)
def test_a_size_belongs_to_one_class(most: int) -> None:
    assert size_words(most) != size_words(most + 1)
    assert f"to {most:,} ops" in size_words(most)
    assert f"{most + 1:,} to" in size_words(most + 1) or size_words(most + 1) == f"more than {most:,} ops"
