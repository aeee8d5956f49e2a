"""The same placement problem with other op times and links: each type of op and each link has a factor."""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import LARGEST_BANDWIDTH_BYTES_PER_US, SMALLEST_BANDWIDTH_BYTES_PER_US
from engine.problem.context import RunContext
from engine.problem.ledger import MOST_EVALUATIONS, Budget
from engine.problem.problem import PlacementProblem


def type_of_op(problem: PlacementProblem) -> NDArray[np.intp]:
    """[ops] the number of each op's type among the sorted names of the graph's types."""
    return np.unique(np.array(problem.graph.op_types), return_inverse=True)[1]


def with_factors(
    problem: PlacementProblem, time_factors: NDArray[np.float64], bandwidth_factors: NDArray[np.float64] | float
) -> PlacementProblem:
    """`problem` with op times and bandwidths multiplied, in a ledger of its own. Bytes, groups and pins stay.

    `time_factors` is [ops], or [kinds, ops] in the order in which the kinds of the cluster's devices first appear;
    `bandwidth_factors` is one for all links, or [devices, devices]. Raises CostError if a step could become too long to
    be simulated.
    """
    costs = problem.costs.by_kind(problem.cluster.devices)
    costs = dataclasses.replace(costs, time_us=costs.time_us * time_factors)
    bandwidth = problem.cluster.bandwidth_bytes_per_us * bandwidth_factors
    bandwidth = bandwidth.clip(SMALLEST_BANDWIDTH_BYTES_PER_US, LARGEST_BANDWIDTH_BYTES_PER_US)
    cluster = dataclasses.replace(problem.cluster, bandwidth_bytes_per_us=bandwidth)
    return dataclasses.replace(
        problem,
        costs=costs,
        cluster=cluster,
        context=RunContext.of(Budget(MOST_EVALUATIONS), clock=problem.ledger.clock),
        coarser=(),
        shared=problem.simulator.with_times(costs, cluster),
    )
