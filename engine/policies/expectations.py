"""What to expect of a policy: its gaps on held-out graphs, by family, cluster and size."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.policies.card import HeldOut, PolicyCard, mean_of_known

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
        "family": _split(rows, lambda row: _family(row, card.families), (*card.families, OTHER_GRAPHS)),
        "cluster": _split(rows, lambda row: row.cluster, tuple(dict.fromkeys(row.cluster for row in rows))),
        "size": _split(rows, lambda row: size_words(row.ops), tuple(size_words(1 + most) for most in (0, *SIZES))),
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


def _split(rows: Sequence[HeldOut], name_of: Callable[[HeldOut], str], order: Sequence[str]) -> list[ExpectedGap]:
    named: defaultdict[str, list[HeldOut]] = defaultdict(list)
    for row in rows:
        named[name_of(row)].append(row)
    return [_gap(name, named[name]) for name in order if name in named]


def _gap(name: str, rows: Sequence[HeldOut]) -> ExpectedGap:
    gaps = [row.gap for row in rows]
    return ExpectedGap(
        name=name,
        count=len(rows),
        misfits=gaps.count(None),
        mean_gap=mean_of_known(gaps),
        worst_gap=max((gap for gap in gaps if gap is not None), default=None),
        mean_best_of_gap=mean_of_known([row.best_of_gap for row in rows]),
    )
