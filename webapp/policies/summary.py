"""The summary of a policy for lists: small however large its plan and card are, and stored with them."""

import dataclasses
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine import api
from webapp.policies.training_plan import TrainingPlan

MOST_NAMED = 6
"""families, and clusters, that are named; the others are counted"""
LONGEST_CLUSTER = 40
"""characters of a cluster's name to show"""


@dataclass(frozen=True, slots=True)
class PolicySummary:
    """A few words and figures of a policy."""

    families: tuple[str, ...] = ()
    """the first few"""
    family_count: int = 0
    graph_count: int = 0
    """number of training graphs; before the training, of those chosen beside the families"""
    clusters: tuple[str, ...] = ()
    """the first few, shortened"""
    cluster_count: int = 0
    seconds: float | None = None
    """of training; None before it"""
    mean_gap: float | None = None
    """None if nothing was held out"""
    worst_gap: float | None = None
    misfits: int = 0
    """number of held-out graphs and clusters on which the greedy pass does not fit"""
    search_seconds: float | None = None
    """least time of a search that a gap compares with; None if nothing was held out, 0 if the budget was evaluations"""
    search_evaluations: int | None = None
    """fewest evaluations of a search that a gap compares with; None if nothing was held out"""

    @property
    def more_families(self) -> int:
        """The number of families that are not named."""
        return self.family_count - len(self.families)

    @property
    def clusters_words(self) -> str:
        """The named clusters, and the number of the others."""
        more = self.cluster_count - len(self.clusters)
        return ", ".join([*self.clusters, *([f"and {more} more"] if more else [])])

    def to_json(self) -> dict[str, api.Json]:
        """For the row."""
        lists: dict[str, api.Json] = {"families": list(self.families), "clusters": list(self.clusters)}
        return dataclasses.asdict(self) | lists

    @staticmethod
    def from_json(stored: Mapping[str, Any]) -> "PolicySummary":
        """The inverse."""
        lists = {name: tuple(stored[name]) for name in ("families", "clusters")}
        return PolicySummary(**{**stored, **lists})


def summary_of_plan(plan: TrainingPlan) -> PolicySummary:
    """The summary before the training."""
    return PolicySummary(
        families=plan.families[:MOST_NAMED],
        family_count=len(plan.families),
        graph_count=len(plan.graphs),
        clusters=_shortened(plan.clusters),
        cluster_count=len(plan.clusters),
    )


def summary_of_card(card: Mapping[str, Any]) -> PolicySummary:
    """The summary of a policy with a file. `card`: PolicyCard.to_json()."""
    return PolicySummary(
        families=tuple(card["families"][:MOST_NAMED]),
        family_count=len(card["families"]),
        graph_count=len(card["graphs"]),
        clusters=_shortened(card["clusters"]),
        cluster_count=len(card["clusters"]),
        seconds=card["seconds"],
        mean_gap=card["mean_gap"],
        worst_gap=card["worst_gap"],
        misfits=card["misfits"],
        search_seconds=min((row["search_seconds"] for row in card["held_out"]), default=None),
        search_evaluations=min((row["search_evaluations"] for row in card["held_out"]), default=None),
    )


def _shortened(clusters: Any) -> tuple[str, ...]:
    def short(name: str) -> str:
        return name if len(name) <= LONGEST_CLUSTER else f"{name[: LONGEST_CLUSTER - 1]}…"

    return tuple(short(name) for name in clusters[:MOST_NAMED])


def columns_of_file(blob: bytes, card: dict[str, api.Json]) -> dict[str, Any]:
    """The columns of a policy's row that describe its file."""
    return {
        "card": card,
        "summary": summary_of_card(card).to_json(),
        "digest": hashlib.sha256(blob).hexdigest(),
        "file_bytes": len(blob),
        "file_version": api.POLICY_VERSION,
    }
