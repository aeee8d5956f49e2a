"""Problems for tests of Placeto: drawn by hand, or random; the same ones with groups or devices numbered anew."""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster
from engine.costs.costs import Costs, CostSource
from engine.graphs.graph import ComputationGraph
from engine.graphs.grouping.grouping import Grouping
from engine.problem import Budget, PlacementProblem, RunContext
from tests.engine.placers.small_problems import one_group_an_op, small_cluster, small_graph


def graph_of(
    edges: list[tuple[int, int]], time_us: list[float], output_bytes: list[int]
) -> tuple[ComputationGraph, Costs]:
    """One op a number, in topological order."""
    ops = len(time_us)
    ordered = sorted(edges, key=lambda edge: (edge[1], edge[0]))
    graph = ComputationGraph(
        name="drawn",
        op_names=tuple(f"op_{index}" for index in range(ops)),
        op_types=("MatMul",) * ops,
        edge_source=np.array([edge[0] for edge in ordered], dtype=np.int32),
        edge_target=np.array([edge[1] for edge in ordered], dtype=np.int32),
        edge_output=np.zeros(len(ordered), dtype=np.int32),
        devices=("",) * ops,
        colocation=((),) * ops,
        back_edges=np.zeros((0, 2), np.int32),
    )
    costs = Costs(
        kinds=("GPU",),
        time_us=np.array([time_us]),
        output_offset=np.arange(ops + 1, dtype=np.int64),
        output_bytes=np.array(output_bytes, dtype=np.int64),
        persistent_bytes=np.zeros(ops, np.int64),
        temporary_bytes=np.zeros(ops, np.int64),
        source=np.full(ops, CostSource.GIVEN, np.uint8),
    )
    return graph, costs


def problem_of(
    graph: ComputationGraph, costs: Costs, cluster: Cluster, *, evaluations: int = 1000, seconds: float | None = None
) -> PlacementProblem:
    """One group an op, each allowed everywhere."""
    grouping = one_group_an_op(graph, costs)
    allowed = np.ones((grouping.group_count, cluster.device_count), dtype=bool)
    return PlacementProblem(graph, costs, grouping, cluster, allowed, RunContext.of(Budget(evaluations, seconds)))


def two_chains(*, length: int = 5, evaluations: int = 1000) -> PlacementProblem:
    """Two chains that share nothing: each belongs on a device of its own, and any transfer costs more than it saves."""
    edges = [(2 * step + chain, 2 * step + 2 + chain) for step in range(length - 1) for chain in range(2)]
    graph, costs = graph_of(edges, [1000.0] * (2 * length), [20_000_000] * (2 * length))
    return problem_of(graph, costs, small_cluster(2), evaluations=evaluations)


def random_problem(
    seed: int, *, groups: int = 12, devices: int = 3, cpu: bool = False, evaluations: int = 1000
) -> PlacementProblem:
    graph, costs = small_graph(np.random.default_rng(seed), groups)
    return problem_of(graph, costs, small_cluster(devices, cpu=cpu), evaluations=evaluations)


def reordered(problem: PlacementProblem, new_of_old: NDArray[np.int64]) -> PlacementProblem:
    """The same problem with group g numbered `new_of_old[g]`, and other names; it must stay a topological order."""
    old = problem.grouping
    old_of_new = np.argsort(new_of_old)
    source, target = new_of_old[old.edge_source], new_of_old[old.edge_target]
    order = np.lexsort((target, source))[::-1]
    grouping = Grouping(
        names=tuple(f"renamed {index}" for index in range(old.group_count)),
        group_of_op=new_of_old[old.group_of_op].astype(np.int32),
        edge_source=source[order].astype(np.int32),
        edge_target=target[order].astype(np.int32),
        edge_bytes=old.edge_bytes[order],
        feedback_edges=old.feedback_edges,
    )
    return PlacementProblem(
        problem.graph,
        problem.costs,
        grouping,
        problem.cluster,
        problem.allowed[old_of_new],
        RunContext.of(problem.ledger.budget),
    )


def another_topological_order(problem: PlacementProblem, rng: np.random.Generator) -> NDArray[np.int64]:
    """[groups] new numbers, drawn among the orders in which every edge still goes up."""
    waiting = np.bincount(problem.grouping.edge_target, minlength=problem.group_count)
    new_of_old = np.full(problem.group_count, -1)
    for number in range(problem.group_count):
        ready = np.flatnonzero((waiting == 0) & (new_of_old < 0))
        group = int(rng.choice(ready))
        new_of_old[group] = number
        np.subtract.at(waiting, problem.grouping.edge_target[problem.grouping.edge_source == group], 1)
    return new_of_old


def renumbered(problem: PlacementProblem, new_of_old: NDArray[np.int64]) -> PlacementProblem:
    """The same problem with device d numbered `new_of_old[d]`."""
    old_of_new = np.argsort(new_of_old)
    cluster = problem.cluster
    changed = dataclasses.replace(
        cluster,
        devices=tuple(cluster.devices[old] for old in old_of_new),
        bandwidth_bytes_per_us=cluster.bandwidth_bytes_per_us[np.ix_(old_of_new, old_of_new)],
        latency_us=cluster.latency_us[np.ix_(old_of_new, old_of_new)],
    )
    return PlacementProblem(
        problem.graph,
        problem.costs,
        problem.grouping,
        changed,
        np.ascontiguousarray(problem.allowed[:, old_of_new]),  # for another order in memory all would be compiled anew
        RunContext.of(problem.ledger.budget),
    )


def slower(problem: PlacementProblem, times: float) -> PlacementProblem:
    """The same problem where everything takes so many times as long."""
    cluster, costs = problem.cluster, problem.costs
    changed = dataclasses.replace(
        cluster,
        bandwidth_bytes_per_us=cluster.bandwidth_bytes_per_us / times,
        latency_us=cluster.latency_us * times,
        link_rest_us=cluster.link_rest_us * times,
        op_rest_us=cluster.op_rest_us * times,
    )
    slow = dataclasses.replace(costs, time_us=costs.time_us * times)
    return PlacementProblem(
        problem.graph, slow, problem.grouping, changed, problem.allowed, RunContext.of(problem.ledger.budget)
    )


def grouped(graph: ComputationGraph, costs: Costs, group_of_op: list[int], devices: int) -> PlacementProblem:
    """Ops in groups, both in topological order."""
    groups, group = max(group_of_op) + 1, np.array(group_of_op, np.int32)
    pairs = np.unique(np.stack([group[graph.edge_source], group[graph.edge_target]]), axis=1)
    source, target = pairs[:, pairs[0] < pairs[1]]
    names, bytes_ = tuple(f"group {index}" for index in range(groups)), np.ones(len(source), np.int64)
    grouping = Grouping(names, group, source, target, bytes_, np.zeros((0, 2), np.int32))
    allowed = np.ones((groups, devices), dtype=bool)
    return PlacementProblem(graph, costs, grouping, small_cluster(devices), allowed, RunContext.of(Budget(9)))
