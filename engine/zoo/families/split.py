"""The split of a family into graphs to train on and graphs to test with, by a member's index alone."""

from typing import Literal, TypeAlias

Split: TypeAlias = Literal["train", "test"]
HELD_OUT = frozenset({2, 5, 8, 11, 14})
"""indices of the test members in each `SPLIT_PERIOD` members: 10 of 32"""
SPLIT_PERIOD = 16


def split_of(index: int) -> Split:
    """The split of the member at `index`."""
    return "test" if index % SPLIT_PERIOD in HELD_OUT else "train"


def number_in_split(index: int) -> int:
    """How many earlier members are in the split of the member at `index`."""
    return sum(split_of(earlier) == split_of(index) for earlier in range(index))
