"""The runs of a graph whose placements this machine can run, by their clusters."""

from dataclasses import dataclass, field
from pathlib import Path

from engine import api
from webapp.graphs.models import Graph
from webapp.json_field import to_text
from webapp.runs.models import Run

MOST_LOOKED_AT = 200
"""runs, the newest ones"""
NVIDIA_GPUS = Path("/proc/driver/nvidia/gpus")
"""has a folder for each GPU"""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Runs on one cluster, the newest first."""

    cluster: api.Cluster
    runs: list[Run] = field(default_factory=list)

    @property
    def words(self) -> str:
        """The cluster in a few words."""
        return self.runs[0].cluster_words


def candidates_of(graph: Graph) -> list[Candidates]:
    """The ended runs that have a placement, on devices that this machine has, by cluster; that of the newest first.

    Runs for a stream are left out: a measured step has no period to compare with.
    """
    ended = graph.runs.filter(
        status__in=(Run.DONE, Run.CANCELLED), best_step_time_us__isnull=False, stream__isnull=True
    )
    by_cluster: dict[str, Candidates | None] = {}
    for run in ended.filter(answer__isnull=False).select_related("graph").defer("graph__summary")[:MOST_LOOKED_AT]:
        text = to_text(run.cluster)
        if text not in by_cluster:
            by_cluster[text] = _of_cluster(run.cluster_value)
        candidates = by_cluster[text]
        if candidates is not None:
            candidates.runs.append(run)
    return [candidates for candidates in by_cluster.values() if candidates is not None]


def _of_cluster(cluster: api.Cluster) -> Candidates | None:
    """Nothing for a cluster with devices that this machine lacks; each processor of it needs one here."""
    others = [device.name for device in cluster.devices if not device.is_cpu]
    has_processors = cluster.device_count - len(others) <= api.most_processes()
    return Candidates(cluster) if has_processors and set(others) <= set(_gpus_here()) else None


def _gpus_here() -> list[str]:
    count = len(list(NVIDIA_GPUS.iterdir())) if NVIDIA_GPUS.is_dir() else 0
    return [f"/device:GPU:{index}" for index in range(count)]


def run_words(run: Run) -> str:
    """The run among others on its graph."""
    return f"{run.name or run.method_label}, seed {run.seed}"
