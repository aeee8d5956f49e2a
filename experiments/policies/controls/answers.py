"""Placements of a graph by quick means, each with the evaluations that it took, and a sweep after any of them."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from engine.graphs.graph import ComputationGraph
from engine.policies.trained_policy import TrainedPolicy
from engine.prepared import PreparedGraph
from engine.problem import Budget, PlacementProblem
from engine.problem.trivial import one_device_placements
from experiments.best_found import ledger_of_run

LISTS = ("heft", "m_etf", "m_sct")
ORDERS = 16
"""drawn topological orders, beside the usual one"""
FURTHER_PASSES = 3
"""each from the end of the one before"""


@dataclass(frozen=True, slots=True)
class QuickAnswer:
    """A placement and what finding it took."""

    placement: NDArray[np.int32]
    """[groups]"""
    rank: tuple[int, float]
    """bytes over the memory of its fullest device; step time in µs"""
    evaluations: int

    @property
    def fitting_us(self) -> float | None:
        """The step time in µs; None if the placement does not fit."""
        missing_bytes, step_time_us = self.rank
        return None if missing_bytes else step_time_us


def fitting_us(answer: QuickAnswer | None) -> float | None:
    """That of an answer; None if there is none, or if it does not fit."""
    return None if answer is None else answer.fitting_us


def best_of(problem: PlacementProblem, placements: NDArray[np.int32]) -> QuickAnswer:
    """The best of `placements` [batch, groups], each evaluated."""
    evaluations = problem.simulator.evaluate(placements)
    missing_bytes = problem.missing_bytes(evaluations)
    best = int(np.lexsort((evaluations.step_time_us, missing_bytes))[0])
    rank = int(missing_bytes[best]), float(evaluations.step_time_us[best])
    return QuickAnswer(placements[best].astype(np.int32), rank, len(placements))


def one_device(problem: PlacementProblem) -> QuickAnswer:
    """The best single device."""
    return best_of(problem, one_device_placements(problem))


def listed(problem: PlacementProblem, methods: Sequence[str]) -> QuickAnswer | None:
    """The best schedule of `methods`; None if all refuse the problem."""
    placements = []
    for method in methods:
        ledger = ledger_of_run(problem, Budget(16), method, np.random.default_rng(0))
        if ledger is not None:
            placements.append(ledger.answer())
    return best_of(problem, np.stack(placements)) if placements else None


def swept(problem: PlacementProblem, answer: QuickAnswer) -> QuickAnswer:
    """`answer` after one sweep: each group in turn goes to the device that is best for it then."""
    placement, rank, evaluations = answer.placement.copy(), answer.rank, answer.evaluations
    for group in range(problem.group_count):
        devices = np.flatnonzero(problem.allowed[group])
        devices = devices[devices != placement[group]]
        if len(devices) == 0:
            continue
        moved = np.tile(placement, (len(devices), 1))
        moved[:, group] = devices
        best = best_of(problem, moved)
        evaluations += len(devices)
        if best.rank < rank:
            placement, rank = best.placement.copy(), best.rank
    return QuickAnswer(placement, rank, evaluations)


def nearest(graph: PreparedGraph, others: Sequence[PreparedGraph]) -> int:
    """Which of `others` has most op names in common with `graph`, as a share of both together."""
    names = set(graph.graph.op_names)

    def likeness(other: PreparedGraph) -> float:
        theirs = set(other.graph.op_names)
        return len(names & theirs) / len(names | theirs)

    return max(range(len(others)), key=lambda index: likeness(others[index]))


def copied(problem: PlacementProblem, other: ComputationGraph, device_of_op: NDArray[np.int32]) -> QuickAnswer:
    """The placement of another graph by scope: an op goes where the ops of its name or its innermost scope are there.

    A group goes where most of its work wants to go, among its allowed devices.
    """
    votes: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for name, device in zip(other.op_names, device_of_op.tolist(), strict=True):
        for scope in _scopes(name):
            votes[scope][device] += 1
    device_of_scope = {scope: count.most_common(1)[0][0] for scope, count in votes.items()}
    wanted = np.array([_device(name, device_of_scope) for name in problem.graph.op_names])
    work = np.zeros(problem.allowed.shape)
    np.add.at(work, (problem.grouping.group_of_op, wanted), _work_us(problem))
    work[~problem.allowed] = -1.0
    return best_of(problem, work.argmax(axis=1).astype(np.int32)[None, :])


def _scopes(name: str) -> list[str]:
    """`a/b/c`, `a/b`, `a` and the empty scope of all."""
    parts = name.split("/")
    return ["/".join(parts[:length]) for length in range(len(parts), -1, -1)]


def _device(name: str, device_of_scope: dict[str, int]) -> int:
    return next(device_of_scope[scope] for scope in _scopes(name) if scope in device_of_scope)


def _work_us(problem: PlacementProblem) -> NDArray[np.float64]:
    """[ops] the time on its slowest device, and a little for each op, so that ops without time count too."""
    return np.asarray(np.nan_to_num(problem.op_time_us).max(axis=0) + 1e-6)


def in_further_passes(
    policy: TrainedPolicy, problem: PlacementProblem, first: NDArray[np.int32], rng: np.random.Generator
) -> NDArray[np.int32]:
    """[FURTHER_PASSES, groups] greedy passes of `policy` in a row, the first from the placement `first` [groups]."""
    sample = _greedy_passes(policy, problem, "topological", 1, rng)
    ends = [first]
    for _ in range(FURTHER_PASSES):
        ends.append(sample(ends[-1][None, :])[0])
    return np.stack(ends[1:])


def in_orders(
    policy: TrainedPolicy,
    problem: PlacementProblem,
    rng: np.random.Generator,
    count: int = ORDERS,
    traversal: str = "random_topological",
) -> NDArray[np.int32]:
    """[count, groups] greedy passes of `policy` in orders of `traversal`, by default drawn topological ones."""
    return _greedy_passes(policy, problem, traversal, count, rng)(None)


def _greedy_passes(
    policy: TrainedPolicy, problem: PlacementProblem, traversal: str, count: int, rng: np.random.Generator
) -> Callable[[NDArray[np.int32] | None], NDArray[np.int32]]:
    """From starts [count, groups], or from nowhere, to the ends [count, groups] of greedy episodes."""
    from engine.placeto.episodes import make_episode_plan  # torch takes seconds to load
    from engine.placeto.networks.making import bound_network, make_network
    from engine.placeto.seeing.features import fastest_device_placement, group_graph

    settings = replace(policy.settings, start="nowhere", traversal=traversal, exploration=0.0, batch_episodes=count)
    graph = group_graph(problem, settings.prior)
    network = make_network(settings, problem.device_count, rng, policy.weights)
    actor = bound_network(settings, graph, network, None)

    def ends(starts: NDArray[np.int32] | None) -> NDArray[np.int32]:
        plan = make_episode_plan(settings, graph, fastest_device_placement(graph), True, rng)
        plan = replace(plan, greedy=np.ones_like(plan.greedy))
        return actor.sample(plan if starts is None else replace(plan, starts=starts), lambda: None).ends()

    return ends
