"""The families of graphs that policies are trained on: name → what its members are."""

from collections.abc import Callable
from dataclasses import dataclass

from engine.events import Json
from engine.zoo.families.draws import NMT_SETTINGS, draw_cifar10, draw_nmt, draw_ptb

MOST_MEMBERS = 1000


@dataclass(frozen=True, slots=True)
class Family:
    """A row of the catalogue."""

    label: str
    model: str
    """the zoo's model that its members are settings of"""
    groups: int
    """that a member's ops are grouped to"""
    draw: Callable[[int, int], dict[str, Json]]
    """(seed, index) → settings of that member, over the model's defaults"""
    most: int = MOST_MEMBERS
    """members that can be had"""


FAMILIES: dict[str, Family] = {
    "nmt": Family("NMT by unrolled length and batch size", "nmt", 160, draw_nmt, len(NMT_SETTINGS)),
    "ptb": Family("Recurrent cells of ENAS's search space", "ptb", 128, draw_ptb),
    "cifar10": Family("Convolutional cells of ENAS's search space, and their channels", "cifar10", 128, draw_cifar10),
}
