"""What to expect of a policy: its gaps on held-out graphs, by family, cluster and size."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from engine.policies.card import HeldOut, PolicyCard

SIZES = (1_000, 5_000, 10_000)
"""ops at which the next class of sizes begins, just above each"""
OTHER_GRAPHS = "other graphs"


@dataclass(frozen=True, slots=True)
class ExpectedGap:
    """The gaps on some of the held-out graphs and clusters, as in `PolicyCard`."""

    name: str
    """the family, the cluster, or the size in words"""
    count: int
    """number of graphs and clusters"""
    misfits: int
    mean_gap: float | None
    worst_gap: float | None
    mean_best_of_gap: float | None


def expected_gaps(card: PolicyCard) -> dict[str, list[ExpectedGap]]:
    """`family`, `cluster` and `size` → the gaps in each; a part in which all rows are alike is left out.

    Sizes are left out where a row has none, as in files of earlier releases.
    """
    rows = card.held_out
    parts = {
        "family": _split(card, lambda row: _family(row, card.families), (*card.families, OTHER_GRAPHS)),
        "cluster": _split(card, lambda row: row.cluster, tuple(dict.fromkeys(row.cluster for row in rows))),
        "size": _split(card, lambda row: size_words(row.ops), tuple(size_words(1 + most) for most in (0, *SIZES))),
    }
    if any(row.ops == 0 for row in rows):
        del parts["size"]
    return {part: gaps for part, gaps in parts.items() if len(gaps) > 1}


def size_words(ops: int) -> str:
    """The class of sizes of a graph of `ops` ops, in words."""
    least = max((most for most in SIZES if ops > most), default=0)
    most = min((most for most in SIZES if ops <= most), default=None)
    if most is None:
        return f"more than {least:,} ops"
    return f"{least + 1:,} to {most:,} ops" if least else f"up to {most:,} ops"


def _family(row: HeldOut, families: Sequence[str]) -> str:
    """The family that made the row's graph, whose name is that of the family and a number."""
    family = row.graph.rpartition("-")[0]
    return family if family in families else OTHER_GRAPHS


def _split(card: PolicyCard, name_of: Callable[[HeldOut], str], order: Sequence[str]) -> list[ExpectedGap]:
    named: defaultdict[str, list[HeldOut]] = defaultdict(list)
    for row in card.held_out:
        named[name_of(row)].append(row)
    return [_gap(name, replace(card, held_out=tuple(named[name]))) for name in order if name in named]


def _gap(name: str, card: PolicyCard) -> ExpectedGap:
    return ExpectedGap(name, len(card.held_out), card.misfits, card.mean_gap, card.worst_gap, card.mean_best_of_gap)
