"""A training problem with other costs: what a policy learns should not hang on the exact times of a few graphs."""

import dataclasses

import numpy as np

from engine.clusters.cluster import LARGEST_BANDWIDTH_BYTES_PER_US, SMALLEST_BANDWIDTH_BYTES_PER_US
from engine.problem import MOST_EVALUATIONS, Budget, PlacementProblem


def varied_problem(problem: PlacementProblem, spread: float, rng: np.random.Generator) -> PlacementProblem:
    """`problem` with the time of each op type, and the speed of all links, times a log-normal factor of its own.

    `spread` is the deviation of the factors' logarithms. Bytes, groups and where they may go stay. Raises CostError
    where a step could become too long to be simulated.
    """
    type_of_op = np.unique(np.array(problem.graph.op_types), return_inverse=True)[1]
    factors = np.exp(spread * rng.standard_normal(int(type_of_op.max()) + 2))
    costs = dataclasses.replace(problem.costs, time_us=problem.costs.time_us * factors[type_of_op])
    bandwidth = problem.cluster.bandwidth_bytes_per_us * factors[-1]
    bandwidth = bandwidth.clip(SMALLEST_BANDWIDTH_BYTES_PER_US, LARGEST_BANDWIDTH_BYTES_PER_US)
    cluster = dataclasses.replace(problem.cluster, bandwidth_bytes_per_us=bandwidth)
    budget = Budget(MOST_EVALUATIONS)
    return PlacementProblem(problem.graph, costs, problem.grouping, cluster, problem.allowed, budget)
