"""The one door into the engine. Importing it loads neither torch nor tensorflow.

Everything that touches an untrusted file or TensorFlow runs in a bounded child process (`Limits`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from engine.clusters.cluster import Cluster
from engine.costs.costs import Costs
from engine.errors import (
    ClusterError,
    CostError,
    GraphError,
    InfeasibleError,
    LimitError,
    PlacementError,
    PlacetoError,
    SettingsError,
)
from engine.events import Baseline, Checkpoint, Emit, Episode, Finished, Json, NumberedEvent, Progress, ShouldStop, Started
from engine.graphs.graph import ComputationGraph
from engine.graphs.grouping import Grouping
from engine.problem import Budget

ReportProgress: TypeAlias = Callable[[str, int, int], None]
"""(stage, done, total); total 0 where it is not known"""


@dataclass(frozen=True, slots=True)
class Limits:
    """What reading one file may take."""

    file_bytes: int = 256 * 1024**2
    memory_bytes: int = 4 * 1024**3
    seconds: float = 120.0


@dataclass(frozen=True, slots=True)
class PreparedGraph:
    """A graph that is ready to be placed: read, costed for every kind in the catalogue, grouped."""

    graph: ComputationGraph
    costs: Costs
    grouping: Grouping

    def to_bytes(self) -> bytes:
        """For the database; no pickle."""
        raise NotImplementedError

    @staticmethod
    def from_bytes(blob: bytes) -> "PreparedGraph":
        raise NotImplementedError

    def summary(self) -> dict[str, Json]:
        """What was read, for people: {"name", "ops", "edges", "groups", "group_edges", "types": [[type, count], ...] most
        frequent first, "output_bytes", "persistent_bytes", "unknown_ops": count, "unknown_types": [[type, count], ...],
        "sources": {"estimated": count, ...}, "time_us": {kind: sum}, "back_edges", "feedback_edges"}."""
        raise NotImplementedError

    def view(self) -> dict[str, Json]:
        """The grouped graph for the browser, laid out top-down: {"groups": [{"id": index, "name", "ops", "types":
        [[type, count], ...up to 3], "time_us": {kind: time}, "output_bytes", "persistent_bytes", "x", "y"}],
        "edges": [{"source": index, "target": index, "bytes"}], "width", "height"}."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One placer on one graph and cluster."""

    cluster: Cluster
    method: str
    budget: Budget
    seed: int
    settings: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MethodInfo:
    """A row of the registry: for forms and `python -m engine methods`."""

    name: str
    label: str
    presets: tuple[str, ...]
    """names for settings["preset"]; empty where the method has none"""


@dataclass(frozen=True, slots=True)
class KindInfo:
    """A row of the catalogue: for forms."""

    name: str
    device_class: str
    memory_bytes: int


def methods() -> list[MethodInfo]:
    """All placers, in the order of the registry."""
    raise NotImplementedError


def device_kinds() -> list[KindInfo]:
    """All device kinds, in the order of the catalogue."""
    raise NotImplementedError


def samples() -> dict[str, str]:
    """What `build` can make: name → label."""
    raise NotImplementedError


def parse_cluster(text: str) -> Cluster:
    """A shorthand such as `2xK80+cpu`, or cluster JSON. Raises ClusterError."""
    raise NotImplementedError


def cluster_to_json(cluster: Cluster) -> dict[str, Json]:
    """The inverse for JSON."""
    raise NotImplementedError


def check_upload(path: Path, suffix: str, limits: Limits) -> None:
    """Whether `path` holds a graph that can be read (fast; no TensorFlow loaded); raises GraphError if not."""
    raise NotImplementedError


def prepare(path: Path, suffix: str, report_progress: ReportProgress, limits: Limits, groups: int | None = 128) -> PreparedGraph:
    """Read, cost and group the graph in `path`; `suffix` (`.pb`, `.pbtxt`, `.json`) names its format. None: no merging."""
    raise NotImplementedError


def build(name: str, destination: Path, report_progress: ReportProgress) -> None:
    """Build a graph of the zoo with TensorFlow, as a binary GraphDef."""
    raise NotImplementedError


def place(
    prepared: PreparedGraph, request: RunRequest, emit: Emit, should_stop: ShouldStop, checkpoint: bytes | None = None
) -> dict[str, Json]:
    """Run one placer and return its report (also emitted as `Finished`, unless `should_stop` ended it).

    With `checkpoint` it goes on from there: events are numbered from the checkpoint's on. Without, from 1. Raises
    InfeasibleError where nothing feasible was evaluated, after the events that show it.
    """
    raise NotImplementedError


def placement_to_json(prepared: PreparedGraph, cluster: Cluster, device_of_group: list[int]) -> dict[str, str]:
    """{op name: device string}."""
    raise NotImplementedError


def write_placed(source: Path, suffix: str, device_of_op: Mapping[str, str], destination: Path, limits: Limits) -> None:
    """Write `source` with every node's device set, nothing else changed; `destination`'s suffix (.pb, .pbtxt) decides."""
    raise NotImplementedError


__all__ = [
    "Baseline", "Budget", "Checkpoint", "Cluster", "ClusterError", "CostError", "Emit", "Episode", "Finished", "GraphError",
    "InfeasibleError", "Json", "KindInfo", "LimitError", "Limits", "MethodInfo", "NumberedEvent", "PlacementError",
    "PlacetoError", "PreparedGraph", "Progress", "RunRequest", "SettingsError", "ShouldStop", "Started", "build",
    "check_upload", "cluster_to_json", "device_kinds", "methods", "parse_cluster", "place", "placement_to_json",
    "prepare", "samples", "write_placed",
]
