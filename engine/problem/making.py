"""Makes the problem of placing a prepared graph on a cluster."""

from engine.clusters.cluster import Cluster
from engine.prepared import PreparedGraph
from engine.problem.context import RunContext
from engine.problem.ledger import Budget
from engine.problem.pins import allowed_devices
from engine.problem.problem import PlacementProblem
from engine.simulator import Simulator

ONE_EVALUATION = Budget(1)
"""for a problem that is only looked at, or gets its budget later"""


def problem_of(
    prepared: PreparedGraph,
    cluster: Cluster,
    context: RunContext | None = None,
    *,
    drop_pins: bool = False,
    shared: Simulator | None = None,
) -> PlacementProblem:
    """The problem of placing the groups that people see; by default with a budget of one evaluation.

    `drop_pins` ignores the devices that the file fixes; `shared` is as in `PlacementProblem`. Raises GraphError for a
    group that may go nowhere.
    """
    graph, costs, grouping = prepared.graph, prepared.costs, prepared.grouping
    allowed = allowed_devices(graph, costs, grouping, cluster, drop_pins=drop_pins)
    context = context or RunContext.of(ONE_EVALUATION)
    return PlacementProblem(graph, costs, grouping, cluster, allowed, context, shared=shared)
