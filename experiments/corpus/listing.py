"""The list of the corpus: a row for each architecture and mode, with its family, kind and side of the split."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from engine.prepared import PreparedGraph
from experiments.architectures.sentences import without_folders
from experiments.corpus.cached import MODES, path_in
from experiments.corpus.digest import OpShares
from experiments.corpus.lineage import family_of
from experiments.corpus.split import AreNear, duplicates_in, split_of_families

FACTS = (
    "digest",
    "ops",
    "groups",
    "edges",
    "flops",
    "parameters",
    "parameter_bytes",
    "activation_bytes",
    "batch",
)
"""of a kept row, in the order of the list"""
MOST_READ = 256
"""graphs whose shares are kept while others are compared"""
NOT_KNOWN = {"parameters": 0, "parameter_bytes": 0, "batch": 0}
"""what graphs that no model gives do not say"""


def listing(rows: Iterable[Mapping[str, Any]], are_near: AreNear) -> dict[str, list[dict[str, Any]]]:
    """Graphs and failures of kept rows, which have library, architecture and mode.

    A graph that is a near-duplicate says of which one in `duplicate_of`; `are_near` is as `duplicates_in` takes it. The
    order is that of names.
    """
    sides = split_of_families()
    graphs, failures = [], []
    for row in sorted(rows, key=_order):
        family = family_of(row["architecture"])
        head = {
            "name": f"{row['library']}/{row['architecture']} {row['mode']}",
            **{key: row[key] for key in ("library", "version", "architecture", "mode")},
            "family": family.name,
            "kind": family.kind,
            "split": row.get("split") or sides[family.name],
        }
        if "failed" in row:
            failures.append(head | {"failed": row["failed"], "sentence": without_folders(row["sentence"])})
        else:
            blocks = {"blocks": row["blocks"]} if "blocks" in row else {}
            graphs.append(head | {key: (NOT_KNOWN | dict(row))[key] for key in FACTS} | blocks)
    duplicates = duplicates_in(graphs, are_near)
    for graph in graphs:
        if graph["name"] in duplicates:
            graph["duplicate_of"] = duplicates[graph["name"]]
    return {"graphs": graphs, "failures": failures}


def _order(row: Mapping[str, Any]) -> tuple[str, str, int]:
    return row["library"], row["architecture"], MODES.index(row["mode"])


def near_in(cache: Path) -> AreNear:
    """Whether the graphs of two rows, which `cache` has, are near-duplicates."""

    @lru_cache(maxsize=MOST_READ)
    def shares(library: str, architecture: str, mode: str) -> OpShares:
        path = path_in(cache, "graphs", library, architecture, mode)
        return OpShares.of(PreparedGraph.from_bytes(path.read_bytes()))

    def are_near(*rows: Mapping[str, Any]) -> bool:
        one, other = (shares(row["library"], row["architecture"], row["mode"]) for row in rows)
        return one.is_near(other)

    return are_near
