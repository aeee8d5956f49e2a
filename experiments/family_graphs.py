"""Graphs of the families' cache one by one, for experiments whose children each need a few."""

from functools import cache

from engine.child.parent import no_progress
from engine.prepared import PreparedGraph
from engine.zoo.families.catalogue import FAMILIES
from engine.zoo.families.family import prepared_family
from engine.zoo.families.members import members
from engine.zoo.families.split import Split
from experiments.folders import CACHE

"""of this checkout, wherever a child works"""
MOST = 32


def first_names(family: str, split: Split, count: int) -> list[str]:
    """The names of the first `count` graphs of a split."""
    return [member.name for member in members(family, count=MOST) if member.split == split][:count]


def further_graphs(family: str, split: Split, count: int) -> list[PreparedGraph]:
    """Up to `count` graphs of a split beyond those of the usual members, as many as the family has."""
    usual = len(first_names(family, split, MOST))
    return list(first_graphs(family, split, usual + count)[usual:])


@cache
def first_graphs(family: str, split: Split, count: int) -> tuple[PreparedGraph, ...]:
    """The first `count` graphs of a split, or all that the family has, built where the cache lacks them."""
    of_split = _first_numbers(family, split, count)
    prepared = prepared_family(family, CACHE / "families", no_progress, count=of_split[-1] + 1, only=split)
    return (prepared.train if split == "train" else prepared.test)[:count]


def _first_numbers(family: str, split: Split, count: int) -> list[int]:
    """The numbers of the first `count` members of a split; all are drawn only where the usual ones are too few."""
    found: list[int] = []
    for drawn in (MOST, FAMILIES[family].most):
        found = [index for index, member in enumerate(members(family, count=drawn)) if member.split == split]
        if len(found) >= count:
            break
    return found[:count]
