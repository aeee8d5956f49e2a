"""m-SCT: finds favourite children by a linear relaxation, then runs m-ETF with devices that wait for these children.

Source: Jeon, Cai, Srivastava, Jiang, Ke, Meng, Xie, Gupta: Baechi: fast device placement of machine learning graphs,
SoCC 2020, section 3.3; the method without memory: Hanen, Munier (1995).

Deviations: those of m-ETF; the relaxation is solved by HiGHS instead of Mosek, at the time of each op on its fastest
device and the mean link; a solver that needs more than `iterations` is reported as an event, and m-ETF takes over.

The favourite child of a task is the consumer that should share its device. x of an edge is 0 where the consumer is the
producer's favourite and nothing has to be sent, 1 where the output is sent. Each task has at most one favourite child
and is the favourite of at most one parent; the makespan on unlimited devices is minimized. With x anywhere in [0, 1]
this is a linear programme. Below the threshold x counts as 0: with a threshold of at most 0.5 no task gets two
favourites.

Sources: Hanen, Munier: An approximation algorithm for scheduling dependent tasks on m processors with small
communication delays (1995), section 3; Jeon et al.: Baechi, SoCC 2020, section 3.3.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.events import ShouldStop
from engine.placers.list_schedules import ListScheduler, evaluate_schedules
from engine.problem import PlacementProblem
from engine.search.earliest_start import NO_TASK, schedule_earliest_start
from engine.search.tasks import IsLate, Tasks, mean_link, readings_of, upward_ranks
from engine.settings.fields import number, require_allowed, whole

ROUNDING = 1e-6
"""above the solver's error, so that two edges of one task at a half each are no favourites"""


@dataclass(frozen=True, slots=True)
class TaskPairs:
    """Pairs of tasks, each once, sorted."""

    producer: NDArray[np.int64]
    """[edges]"""
    consumer: NDArray[np.int64]
    """[edges]"""
    transfer_us: NDArray[np.float64]
    """[edges] time to send all its bytes over the mean link"""


@dataclass(frozen=True, slots=True)
class Relaxation:
    """The solution of the linear programme."""

    x: NDArray[np.float64]
    """[edges] 0 to 1"""
    makespan_us: float


def edges_of(tasks: Tasks) -> TaskPairs:
    """The pairs of tasks that a flow joins, and the time to send their flows."""
    count = len(tasks.group)
    flow = np.repeat(np.arange(len(tasks.flow_bytes)), np.diff(tasks.consumer_first))
    pair, edge = np.unique(tasks.flow_producer[flow] * count + tasks.consumer, return_inverse=True)
    sent_bytes, trips = np.zeros(len(pair)), np.zeros(len(pair))
    np.add.at(sent_bytes, edge, tasks.flow_bytes[flow] * tasks.flow_trips[flow])
    np.maximum.at(trips, edge, tasks.flow_trips[flow])
    latency_us, bandwidth_bytes_per_us = mean_link(tasks.links)
    return TaskPairs(pair // count, pair % count, latency_us * trips + sent_bytes / bandwidth_bytes_per_us)


def solve_relaxation(
    edges: TaskPairs, time_us: NDArray[np.float64], iterations: int, most_seconds: float | None = None
) -> Relaxation | None:
    """The relaxation for tasks that take `time_us` [tasks]; None if the solver needs more than `iterations` or seconds.

    Where a task has one consumer, which has no other input, some best solution sends nothing: such chains count as one
    task. HiGHS's dual simplex ends in a corner, the same one each time; with a limit in seconds it would not.
    """
    head, inside = _chains(edges, len(time_us))
    heads, number = np.unique(head, return_inverse=True)
    chain_us = np.zeros(len(heads))
    np.add.at(chain_us, number, time_us)
    between = TaskPairs(number[edges.producer[~inside]], number[edges.consumer[~inside]], edges.transfer_us[~inside])
    solution = _solved(between, chain_us, iterations, most_seconds)
    if solution is None:
        return None
    x = np.zeros(len(edges.producer))
    x[~inside] = solution.x
    return Relaxation(x, solution.makespan_us)


def _chains(edges: TaskPairs, tasks: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """[tasks] the first task of the chain in which each is, and [edges] whether an edge lies within a chain."""
    given = np.bincount(edges.producer, minlength=tasks)
    taken = np.bincount(edges.consumer, minlength=tasks)
    inside = (given[edges.producer] == 1) & (taken[edges.consumer] == 1)
    head = np.arange(tasks)
    head[edges.consumer[inside]] = edges.producer[inside]
    while not np.array_equal(further := head[head], head):
        head = further
    return head, inside


def _solved(
    edges: TaskPairs, time_us: NDArray[np.float64], iterations: int, most_seconds: float | None
) -> Relaxation | None:
    from scipy.optimize import linprog  # loaded only here: it takes a moment
    from scipy.sparse import coo_matrix

    tasks, count = len(time_us), len(edges.producer)
    unit_us = float(time_us.sum() + edges.transfer_us.sum()) or 1.0
    rows, columns, values, limits = _constraints(edges, time_us / unit_us, edges.transfer_us / unit_us)
    matrix = coo_matrix((values, (rows, columns)), shape=(len(limits), count + tasks + 1)).tocsc()
    objective = np.zeros(count + tasks + 1)
    objective[-1] = 1.0
    upper = np.concatenate([np.ones(count), np.full(tasks + 1, np.inf)])
    bounds = np.stack([np.zeros(len(upper)), upper], axis=1)
    options = {"maxiter": iterations} | ({} if most_seconds is None else {"time_limit": most_seconds})
    answer = linprog(objective, A_ub=matrix, b_ub=limits, bounds=bounds, method="highs-ds", options=options)
    if answer.status != 0:
        return None
    return Relaxation(np.clip(answer.x[:count], 0.0, 1.0), float(answer.x[-1]) * unit_us)


def _constraints(
    edges: TaskPairs, time: NDArray[np.float64], transfer: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Rows, columns and values of a matrix, and limits: matrix · (x [edges], start [tasks], makespan) ≤ limits."""
    count, tasks = len(edges.producer), len(time)
    edge, task = np.arange(count), np.arange(tasks)
    rows, columns = [edge, edge, edge], [count + edges.producer, count + edges.consumer, edge]
    values = [np.ones(count), -np.ones(count), transfer]  # start + time + transfer · x ≤ start of the consumer
    limits, height = [-time[edges.producer]], count
    rows, columns = [*rows, height + task, height + task], [*columns, count + task, np.full(tasks, count + tasks)]
    values += [np.ones(tasks), -np.ones(tasks)]  # start + time ≤ makespan
    limits, height = [*limits, -time], height + tasks
    for owner in (edges.producer, edges.consumer):  # all but one are sent
        degree = np.bincount(owner, minlength=tasks)
        several = np.flatnonzero(degree > 1)
        row_of = np.full(tasks, NO_TASK)
        row_of[several] = height + np.arange(len(several))
        counted = row_of[owner] != NO_TASK
        rows, columns = [*rows, row_of[owner[counted]]], [*columns, edge[counted]]
        values.append(-np.ones(int(counted.sum())))
        limits, height = [*limits, (1 - degree[several]).astype(np.float64)], height + len(several)
    return np.concatenate(rows), np.concatenate(columns), np.concatenate(values), np.concatenate(limits)


def favourites(edges: TaskPairs, x: NDArray[np.float64], tasks: int, threshold: float) -> NDArray[np.int64]:
    """[tasks] each task's favourite child, or `NO_TASK`: the consumer whose x lies below `threshold`, at most 0.5."""
    favourite = np.full(tasks, NO_TASK)
    chosen = x < threshold - ROUNDING
    favourite[edges.producer[chosen]] = edges.consumer[chosen]
    return favourite


@dataclass(frozen=True, slots=True)
class MSct:
    """Schedules ops, then groups, then the phases of groups, with favourite children."""

    threshold: float = number(0.5, 0.0, 0.5, "an edge leads to a favourite child if its x is below this")
    iterations: int = whole(50_000, 1, 10**9, "most iterations of the simplex method")

    def __post_init__(self) -> None:
        require_allowed(self, "m_sct")

    def place(self, problem: PlacementProblem, rng: np.random.Generator, should_stop: ShouldStop) -> None:
        schedulers = [self.list_scheduler(problem, tasks) for tasks in readings_of(problem)]
        evaluate_schedules(problem, schedulers, should_stop)

    def list_scheduler(self, problem: PlacementProblem, tasks: Tasks) -> ListScheduler:
        """The method on one reading of `problem`."""
        ranks, favourite = upward_ranks(tasks), self._favourites(problem, tasks)

        def schedule(room_bytes: NDArray[np.float64], is_late: IsLate) -> NDArray[np.int32]:
            return schedule_earliest_start(tasks, ranks, favourite, room_bytes, is_late)[0]

        return schedule

    def _favourites(self, problem: PlacementProblem, tasks: Tasks) -> NDArray[np.int64]:
        """[tasks] each task's favourite child; none, and a report, if the relaxation is not solved."""
        count, edges = len(tasks.group), edges_of(tasks)
        relaxation = solve_relaxation(edges, tasks.time_us.min(axis=1), self.iterations, problem.ledger.seconds_left)
        if relaxation is None:
            problem.context.progress(f"no favourite children: not solved within {self.iterations} iterations", 0, count)
            return np.full(count, NO_TASK)
        favourite = favourites(edges, relaxation.x, count, self.threshold)
        problem.context.progress("favourite children found", int((favourite != NO_TASK).sum()), count)
        return favourite
