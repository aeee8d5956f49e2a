"""Who is merged first, and with which neighbour: the rules by which `merging.py` merges groups.

`least_bytes` is what `group_ops` uses. `published` is Placeto's own; the others are those of the field.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from engine.graphs.grouping.contraction import Contraction

Cost: TypeAlias = Callable[[Contraction, int], float]
"""(contraction, group) → its cost; the group with the least is merged first"""
Affinity: TypeAlias = Callable[[Contraction, int, int, int], float]
"""(contraction, group, neighbour, bytes between them) → how much the two belong together; most is taken"""


def _bytes(contraction: Contraction, group: int) -> float:
    return contraction.output_bytes[group]


def _work(contraction: Contraction, group: int) -> float:
    return contraction.weight[group]


def _work_and_transfer(contraction: Contraction, group: int) -> float:
    return contraction.weight[group] + contraction.weight_per_byte * contraction.output_bytes[group]


def _shared_bytes(_contraction: Contraction, _group: int, _other: int, shared: int) -> float:
    return shared


def _shared_for_work(contraction: Contraction, group: int, other: int, shared: int) -> float:
    """The heavier both are, the more must flow between them. Source: Holtgrewe et al., IPDPS 2010, `expansion*`."""
    return shared / ((contraction.weight[group] + 1) * (contraction.weight[other] + 1))


@dataclass(frozen=True, slots=True)
class MergingRule:
    """How groups are merged: the same walk for all rules, with these choices."""

    words: str
    """what it does, in a few words"""
    source: str
    cost: Cost
    affinity: Affinity
    bounds_weight: bool = True
    """whether no group may weigh much more than an equal share of the work while lighter ones can be merged"""
    matches: bool = False
    """whether a group is merged once at most until all others have had their turn"""
    joins: bool = False
    """whether ops join their only consumers again, within the bound of each level, before groups are merged"""
    keeps_branches: bool = False
    """whether groups that could run side by side are merged only when no others can be, within four equal shares"""


LEAST_BYTES = MergingRule(
    "the group with the fewest output bytes, with the neighbour with which it shares the most; weights are bounded",
    "Addanki et al., NeurIPS 2019, appendix; the bound is this project's",
    _bytes,
    _shared_bytes,
)

MERGING_RULES: dict[str, MergingRule] = {
    "least_bytes": LEAST_BYTES,
    "published": MergingRule(
        "the same without any bound",
        "Addanki et al., NeurIPS 2019, appendix",
        _bytes,
        _shared_bytes,
        bounds_weight=False,
    ),
    "bytes_and_time": MergingRule(
        "the group with the least work and transfer together, with the neighbour with which it shares the most bytes",
        "this project's",
        _work_and_transfer,
        _shared_bytes,
    ),
    "heavy_edge_matching": MergingRule(
        "all groups in turn, the lightest first, each once, with the neighbour with which it shares the most bytes",
        "Karypis and Kumar, SIAM J. Sci. Comput. 20(1), 1998, section 3.1",
        _work,
        _shared_bytes,
        matches=True,
    ),
    "expansion_matching": MergingRule(
        "the same by the bytes shared in proportion to the work of both, after ops have joined their only consumers",
        "Holtgrewe, Sanders and Schulz, IPDPS 2010, rating `expansion*`",
        _work,
        _shared_for_work,
        matches=True,
        joins=True,
    ),
    "balance": MergingRule(
        "the group with the least work, with the neighbour with which it shares the most bytes",
        "this project's",
        _work,
        _shared_bytes,
    ),
    "branches": MergingRule(
        "as least_bytes, but neighbours that could run side by side are merged last",
        "the idea of linear clusters: Gerasoulis and Yang, IEEE Trans. Parallel Distrib. Syst. 4(6), 1993",
        _bytes,
        _shared_bytes,
        keeps_branches=True,
    ),
}
"""name → rule"""
