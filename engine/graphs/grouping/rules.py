"""Who is merged first, and with which neighbour: the rules by which `merging.py` merges groups.

`least_bytes` is what `group_ops` uses. `published` is Placeto's own; the others are those of the field.
"""

from dataclasses import dataclass

OUTPUT_BYTES, WORK, WORK_AND_TRANSFER = range(3)
"""what a group costs; the group with the least is merged first"""
SHARED_BYTES, SHARED_FOR_WORK = range(2)
"""how much two groups belong together; the neighbour with the most is taken. For work: the heavier both are, the more
must flow between them. Source: Holtgrewe et al., IPDPS 2010, `expansion*`."""


@dataclass(frozen=True, slots=True)
class MergingRule:
    """How groups are merged: the same walk for all rules, with these choices."""

    words: str
    """what it does, in a few words"""
    source: str
    cost: int
    """`OUTPUT_BYTES`, `WORK` or `WORK_AND_TRANSFER`"""
    affinity: int
    """`SHARED_BYTES` or `SHARED_FOR_WORK`"""
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
    OUTPUT_BYTES,
    SHARED_BYTES,
)

MERGING_RULES: dict[str, MergingRule] = {
    "least_bytes": LEAST_BYTES,
    "published": MergingRule(
        "the same without any bound",
        "Addanki et al., NeurIPS 2019, appendix",
        OUTPUT_BYTES,
        SHARED_BYTES,
        bounds_weight=False,
    ),
    "bytes_and_time": MergingRule(
        "the group with the least work and transfer together, with the neighbour with which it shares the most bytes",
        "this project's",
        WORK_AND_TRANSFER,
        SHARED_BYTES,
    ),
    "heavy_edge_matching": MergingRule(
        "all groups in turn, the lightest first, each once, with the neighbour with which it shares the most bytes",
        "Karypis and Kumar, SIAM J. Sci. Comput. 20(1), 1998, section 3.1",
        WORK,
        SHARED_BYTES,
        matches=True,
    ),
    "expansion_matching": MergingRule(
        "the same by the bytes shared in proportion to the work of both, after ops have joined their only consumers",
        "Holtgrewe, Sanders and Schulz, IPDPS 2010, rating `expansion*`",
        WORK,
        SHARED_FOR_WORK,
        matches=True,
        joins=True,
    ),
    "balance": MergingRule(
        "the group with the least work, with the neighbour with which it shares the most bytes",
        "this project's",
        WORK,
        SHARED_BYTES,
    ),
    "branches": MergingRule(
        "as least_bytes, but neighbours that could run side by side are merged last",
        "the idea of linear clusters: Gerasoulis and Yang, IEEE Trans. Parallel Distrib. Syst. 4(6), 1993",
        OUTPUT_BYTES,
        SHARED_BYTES,
        keeps_branches=True,
    ),
}
"""name → rule"""
