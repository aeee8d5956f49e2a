"""Refuses a run that could not begin when it is asked for, not when a worker takes it."""

from typing import Any

from engine import api
from webapp.graphs.models import Graph
from webapp.graphs.prepared import prepared_of

MOST_OPS = 200_000
"""of a graph that is looked at: a larger one would take seconds, and its run says the same"""


def require_placeable(
    graph: Graph, cluster: api.Cluster, *, drop_devices: bool, constraints: api.Constraints | None = None
) -> None:
    """Raise GraphError, or SettingsError for `constraints`, where no run could place the ready `graph` on `cluster`;
    InfeasibleError without room for it."""
    variables = graph.summary.get("persistent_bytes") if isinstance(graph.summary, dict) else None
    if isinstance(variables, int):
        api.require_room_for_variables(variables, cluster)
    if (graph.op_count or 0) > MOST_OPS or not (constraints or _may_be_refused(graph)):
        return
    api.require_placeable(prepared_of(graph), cluster, drop_devices=drop_devices, constraints=constraints)


def _may_be_refused(graph: Graph) -> bool:
    """Whether some cluster cannot take it, by its summary; false where an earlier version read it: its run says so."""
    summary: Any = graph.summary
    if not isinstance(summary, dict) or "fixed_ops" not in summary:
        return False
    needs_devices = summary["fixed_ops"]["ops"] or summary["gpu_ops"]["ops"]
    return bool(needs_devices) or None in summary["one_device_us"].values() or not graph.format.is_tensorflow
