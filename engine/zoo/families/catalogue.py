"""The families of graphs on which policies are trained, a row each."""

from collections.abc import Callable
from dataclasses import dataclass

from engine.events import Json
from engine.zoo.families.draws import (
    NMT_SETTINGS,
    draw_cifar10,
    draw_nmt,
    draw_nmt_by_form,
    draw_nmt_by_length,
    draw_ptb,
)

MOST_MEMBERS = 1000


@dataclass(frozen=True, slots=True)
class Family:
    """A row of the catalogue."""

    label: str
    model: str
    """name of the zoo's model; a member is the model with particular settings"""
    groups: int
    """number of groups into which a member's ops are grouped"""
    draw: Callable[[int, int], dict[str, Json]]
    """(seed, index) → settings of that member that override the model's defaults"""
    most: int = MOST_MEMBERS
    """number of members that exist"""
    variant_of: str = ""
    """the family whose kind of graphs it draws too, split otherwise; empty: none"""


FAMILIES: dict[str, Family] = {
    "nmt": Family("NMT by unrolled length and batch size", "nmt", 160, draw_nmt, len(NMT_SETTINGS)),
    "ptb": Family("Recurrent cells of ENAS's search space", "ptb", 128, draw_ptb),
    "cifar10": Family("Convolutional cells of ENAS's search space, and their channels", "cifar10", 128, draw_cifar10),
    "nmt_by_length": Family(
        "NMT, tested on unrolled lengths that training lacks",
        "nmt",
        160,
        draw_nmt_by_length,
        len(NMT_SETTINGS),
        variant_of="nmt",
    ),
    "nmt_by_form": Family(
        "NMT, tested on layers, units and attention that training lacks",
        "nmt",
        160,
        draw_nmt_by_form,
        len(NMT_SETTINGS),
        variant_of="nmt",
    ),
}
