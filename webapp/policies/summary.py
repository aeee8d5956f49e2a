"""What lists tell of a policy: small whatever its plan or its card holds, and written when that is."""

import dataclasses
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine import api
from webapp.policies.training_plan import TrainingPlan

MOST_NAMED = 6
"""families, and clusters, that are named; of the others it is told how many there are"""
LONGEST_CLUSTER = 40
"""characters of a cluster's name"""


@dataclass(frozen=True, slots=True)
class PolicySummary:
    """A few words and figures of a policy."""

    families: tuple[str, ...] = ()
    """the first few"""
    family_count: int = 0
    graph_count: int = 0
    """those that it was trained on; before that, those that were chosen beside the families"""
    clusters: tuple[str, ...] = ()
    """the first few, shortened"""
    cluster_count: int = 0
    seconds: float | None = None
    """of training; None before"""
    mean_gap: float | None = None
    """None where nothing was held out"""
    worst_gap: float | None = None
    misfits: int = 0
    """on how many held-out graphs and clusters the greedy pass does not fit"""
    search_seconds: float | None = None
    """the least that a search had to which a gap is; None where nothing was held out, 0 where it had evaluations"""
    search_evaluations: int | None = None
    """the least that a search made to which a gap is; None where nothing was held out"""

    @property
    def more_families(self) -> int:
        """How many are not named."""
        return self.family_count - len(self.families)

    @property
    def clusters_words(self) -> str:
        """The clusters, and how many are not named."""
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
    """Before the training."""
    return PolicySummary(
        families=plan.families[:MOST_NAMED],
        family_count=len(plan.families),
        graph_count=len(plan.graphs),
        clusters=_shortened(plan.clusters),
        cluster_count=len(plan.clusters),
    )


def summary_of_card(card: Mapping[str, Any]) -> PolicySummary:
    """Of a policy that has a file. `card`: PolicyCard.to_json()."""
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
    """What the row of a policy says of its file."""
    return {
        "card": card,
        "summary": summary_of_card(card).to_json(),
        "digest": hashlib.sha256(blob).hexdigest(),
        "file_bytes": len(blob),
        "file_version": api.POLICY_VERSION,
    }
