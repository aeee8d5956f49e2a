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


@cache
def further_graphs(family: str, split: Split, count: int) -> list[PreparedGraph]:
    """Up to `count` graphs of a split beyond those of the usual members, as many as the family has."""
    usual = sum(member.split == split for member in members(family, count=MOST))
    drawn = min(FAMILIES[family].most, MOST)
    while drawn < FAMILIES[family].most:
        if sum(member.split == split for member in members(family, count=drawn)) >= usual + count:
            break
        drawn = min(FAMILIES[family].most, drawn + MOST)
    prepared = prepared_family(family, CACHE / "families", no_progress, count=drawn, only=split)
    return list((prepared.train if split == "train" else prepared.test)[usual : usual + count])


@cache
def first_graphs(family: str, split: Split, count: int) -> tuple[PreparedGraph, ...]:
    """The first `count` graphs of a split, built where the cache lacks them."""
    of_split = [index for index, member in enumerate(members(family, count=MOST)) if member.split == split]
    prepared = prepared_family(family, CACHE / "families", no_progress, count=of_split[count - 1] + 1, only=split)
    return (prepared.train if split == "train" else prepared.test)[:count]
