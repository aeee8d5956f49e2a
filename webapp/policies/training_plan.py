"""The plan of a training: its graphs, clusters, time and processors, as a policy's row stores it."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine import api

LONGEST_SEARCH_SECONDS = 10.0
LEAST_SEARCH_SECONDS = 5.0
"""a shorter search finds too poor a placement for a gap to say much"""
SEARCH_SHARE = 0.01
"""share of the training's seconds for the search that each held-out graph is compared with"""


@dataclass(frozen=True, slots=True)
class PlannedGraph:
    """A graph by its id; its name is for people, in case it is deleted."""

    id: uuid.UUID
    name: str

    def to_json(self) -> dict[str, api.Json]:
        """For the row."""
        return {"id": str(self.id), "name": self.name}

    @staticmethod
    def from_json(stored: Mapping[str, Any]) -> "PlannedGraph":
        """The inverse."""
        return PlannedGraph(uuid.UUID(stored["id"]), str(stored["name"]))


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """Families and graphs, clusters, seconds, seed, learners; a row of an earlier version has no learners."""

    families: tuple[str, ...]
    graphs: tuple[PlannedGraph, ...]
    """to train on"""
    held_out: tuple[PlannedGraph, ...]
    """graphs to evaluate after the training, beside the families' test graphs"""
    clusters: tuple[str, ...]
    """shorthands, or cluster JSON on one line"""
    seconds: float
    """of the training, without preparing families and evaluating held-out graphs"""
    seed: int
    learners: int = 1
    """side by side, each on a processor of the worker's machine"""

    def to_json(self) -> dict[str, api.Json]:
        """For the row."""
        return {
            "families": list(self.families),
            "graphs": [graph.to_json() for graph in self.graphs],
            "held_out": [graph.to_json() for graph in self.held_out],
            "clusters": list(self.clusters),
            "seconds": self.seconds,
            "seed": self.seed,
            "learners": self.learners,
        }

    @staticmethod
    def from_json(stored: Mapping[str, Any]) -> "TrainingPlan":
        """The inverse."""
        return TrainingPlan(
            tuple(stored["families"]),
            tuple(map(PlannedGraph.from_json, stored["graphs"])),
            tuple(map(PlannedGraph.from_json, stored["held_out"])),
            tuple(stored["clusters"]),
            stored["seconds"],
            stored["seed"],
            stored.get("learners", 1),
        )

    def fields(self) -> dict[str, Any]:
        """The fields of the form that give this plan."""
        chosen = {"graphs": self.graphs, "held_out": self.held_out}
        return {
            "families": list(self.families),
            **{name: [str(graph.id) for graph in graphs] for name, graphs in chosen.items()},
            "clusters": "\n".join(self.clusters),
            "seconds": self.seconds,
            "seed": self.seed,
            "learners": self.learners,
        }

    @property
    def search_seconds(self) -> float:
        """Seconds of the search that each held-out graph is compared with on each cluster."""
        return max(LEAST_SEARCH_SECONDS, min(LONGEST_SEARCH_SECONDS, SEARCH_SHARE * self.seconds))

    def settings(self) -> dict[str, api.Json]:
        """For the engine."""
        several: dict[str, api.Json] = {"learners": self.learners} if self.learners > 1 else {}
        return {"seconds": self.seconds, "search_seconds": self.search_seconds, **several}
