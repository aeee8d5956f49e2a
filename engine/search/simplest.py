"""The simplest placement near a given one: the fewest devices, then the fewest crossing edges, almost as fast.

A search places ops on another device for the last microsecond, although each crossing edge is a transfer that someone
has to keep alive. From the given placement, and from those with all on one device, this moves groups back: it empties
devices, the one with the least work first, and moves pieces to a device that they have more edges with than with their
own, those that move the least work for an edge first. A piece is an island of joined groups, the part of a coarser
group on one device, or a group. Each placement that it goes on from was simulated: it fits in memory and takes at most
the given step time and the tolerance. Several moves are tried at once, and halved where they take too long together.
A pass over the moves ends after a few failures in a row; only where no pass finds anything more are more allowed.

It draws nothing, so a placement has one answer. Evaluations are bounded, and charged to no budget: what a method finds
by itself stays its own.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from engine.graphs.grouping.levels import coarser_group_of_each
from engine.problem import PlacementProblem
from engine.problem.trivial import one_device_placements
from engine.search.crossing import GroupEdges

TOLERANCE = 0.01
"""default: how much slower than the given placement the simplest one may be"""
LARGEST_TOLERANCE = 1.0
SHARE_OF_SECONDS = 0.1
"""most seconds, as a share of the run's budget of seconds"""
SHARE_OF_EVALUATIONS = 0.08
"""most evaluations, as a share of the run's budget: at most a tenth of its time. One takes up to 1.2 times as long as
one of the local search, the fastest of the methods that use all of their budget"""
MOST_EVALUATIONS = 5000
"""so that a run of many evaluations does not wait for it"""
QUICK_EVALUATIONS, QUICK_WORK = 500, 1_000_000
"""evaluations, and simulated ops and edges, that nobody notices, a tenth of a second: a run of few evaluations, or of a
method that needs few, has a simplest placement too"""
FAILURES, MORE_FAILURES = 2, 4
"""simulations in a row that find nothing and end a pass over the moves; how many times as many are allowed where no
pass finds anything. On the zoo 160 evaluations so save as many edges as 500 of passes over all moves"""
MOST_WORK = 40_000_000
"""most simulated ops and edges, a few seconds; a number, so that no clock decides what a report says"""
LEAST_OF_LARGE = 20
"""evaluations of a graph so large that even these are more work"""
MOST_LOOKED_AT = 100_000_000
"""most pairs of groups, and groups times devices, that are looked at, a few seconds: not all moves are simulated"""
LEAST_LOOKS = 10
"""looks at all moves; where fewer are left, nothing is moved: the arrays would fill the memory too"""
MOST_CLIMBED = 256
"""groups of a level whose groups are moved one after the other, also where that costs edges"""
MOST_TARGETS = 4
"""devices to which a device's groups are moved as a whole: those with the most edges to them"""


@dataclass(frozen=True, slots=True)
class Simplest:
    """The simplest placement that was found."""

    placement: NDArray[np.int32]
    """[groups]"""
    step_time_us: float
    devices_used: int
    crossing_edges: int
    evaluations: int
    """placements that were simulated to find it"""
    seconds: float
    """that this took, outside the run's budget"""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A placement with what decides how simple it is."""

    placement: NDArray[np.int32]
    devices_used: int
    crossing_edges: int
    step_time_us: float

    @property
    def key(self) -> tuple[int, int, float]:
        """The less, the simpler."""
        return self.devices_used, self.crossing_edges, self.step_time_us


def devices_used(placement: NDArray[np.int32]) -> int:
    """The devices that hold an op; `placement` [groups]."""
    return len(np.unique(placement))


def simplest_of(problem: PlacementProblem, placement: NDArray[np.int32], tolerance: float = TOLERANCE) -> Simplest:
    """The simplest placement within `tolerance` of `placement` [groups], which fits in memory, or that one itself."""
    began = problem.ledger.clock()
    search = _Descent(problem, placement, tolerance)
    found = search.simplest()
    return Simplest(
        found.placement,
        found.step_time_us,
        found.devices_used,
        found.crossing_edges,
        search.used,
        problem.ledger.clock() - began,
    )


def most_evaluations(problem: PlacementProblem) -> int:
    """The bound on the evaluations: it depends on the run's budget of evaluations and the size of the graph alone."""
    by_budget = math.ceil(SHARE_OF_EVALUATIONS * problem.ledger.budget.evaluations)
    work = problem.graph.op_count + problem.graph.edge_count
    quick = min(QUICK_EVALUATIONS, QUICK_WORK // work)
    return max(LEAST_OF_LARGE, min(MOST_WORK // work, MOST_EVALUATIONS, max(quick, by_budget)))


class _Descent:
    """Makes one placement simpler and simpler."""

    def __init__(self, problem: PlacementProblem, placement: NDArray[np.int32], tolerance: float) -> None:
        self._problem = problem
        self._edges = GroupEdges.of(problem.graph, problem.simulator.group_of_op)
        levels = [coarser_group_of_each(level, problem.grouping) for level in problem.coarser]
        self._levels: list[NDArray[np.integer]] = [*levels, np.arange(problem.group_count)]
        self.used = 0
        self._most = most_evaluations(problem)
        size = len(self._edges.one) + problem.group_count * problem.device_count
        looks = MOST_LOOKED_AT // size
        self._looks_left = looks if looks >= LEAST_LOOKS else 0
        seconds = problem.ledger.budget.seconds
        self._until = math.inf if seconds is None else problem.ledger.clock() + SHARE_OF_SECONDS * seconds
        self._tried: set[bytes] = set()
        step_time_us = float(problem.simulator.evaluate(placement[None, :]).step_time_us[0])
        self._limit_us = step_time_us * (1 + tolerance)
        self._given = self._found(placement, step_time_us)

    @cached_property
    def _work_us(self) -> NDArray[np.float64]:
        """[groups, devices] the time of each group's ops on each device; 0 for ops that cannot run there."""
        times, problem = np.nan_to_num(self._problem.op_time_us), self._problem
        of_devices = [np.bincount(problem.simulator.group_of_op, each, problem.group_count) for each in times]
        return np.stack(of_devices, axis=1)

    def simplest(self) -> Candidate:
        """The simplest of the given placement, what it becomes, and what the placements on one device become."""
        on_one = self._good(one_device_placements(self._problem))
        starts = [self._given, *sorted(on_one, key=lambda found: found.key)[:1]]
        best = min(starts, key=lambda found: found.key)
        if best.crossing_edges == 0 and best.devices_used == 1:
            return best
        return min((self._descended(start) for start in starts), key=lambda found: found.key)

    def _descended(self, found: Candidate) -> Candidate:
        failures = FAILURES
        while not self._spent:
            before = found
            found = self._with_fewer_devices(found)
            found = self._with_islands_moved(found, failures)
            for level in self._levels:
                found = self._moved(found, level, failures)
            if found is not before:
                continue
            if failures < len(self._levels[-1]) * self._problem.device_count:
                failures *= MORE_FAILURES
                continue
            found = self._through_worse(found)
            if found is before:
                break
        return found

    def _with_fewer_devices(self, found: Candidate) -> Candidate:
        """Empty devices as long as that is fast enough."""
        while found.devices_used > 1 and not self._spent:
            emptied = self._good(np.array(list(self._emptied(found.placement))))
            if not emptied:
                break
            found = min(emptied, key=lambda each: each.key)
        return found

    def _emptied(self, placement: NDArray[np.int32]) -> Iterator[NDArray[np.int32]]:
        """Placements without one of the devices, the one with the least work first."""
        devices = np.unique(placement)
        on_device = self._work_us[np.arange(len(placement)), placement]
        work_us = np.bincount(placement, on_device, self._problem.device_count)
        joined = self._edges.outside(np.arange(len(placement)), len(placement), placement, self._problem.device_count)
        for device in devices[np.argsort(work_us[devices], kind="stable")]:
            here, others = placement == device, devices[devices != device]
            allowed = self._problem.allowed[np.ix_(here, others)]
            if not allowed.any(axis=1).all():
                continue
            edges = np.where(allowed, joined[np.ix_(here, others)], -1)
            near = others[np.argsort(-edges.clip(0).sum(axis=0), kind="stable")]
            for target in [*near[:MOST_TARGETS].tolist(), None]:
                moved = placement.copy()
                nearest = others[edges.argmax(axis=1)]
                moved[here] = (
                    nearest if target is None else np.where(allowed[:, others == target][:, 0], target, nearest)
                )
                yield moved

    def _with_islands_moved(self, found: Candidate, failures: int) -> Candidate:
        """Move islands while that saves edges and is fast enough: each move makes others."""
        while not self._spent:
            moved = self._moved(found, self._edges.islands(found.placement), failures)
            if moved is found:
                break
            found = moved
        return found

    def _moved(self, found: Candidate, level: NDArray[np.integer], failures: int) -> Candidate:
        """One pass over the moves of pieces, the parts of the groups of `level` [groups] on one device.

        As many at once as are fast enough together; it ends after so many simulations in a row without one.
        """
        devices = self._problem.device_count
        together, piece = np.unique(level * devices + found.placement, return_inverse=True)
        which, target = self._moves(piece, (together % devices).astype(np.int64), found.placement)
        first, count, failed = 0, len(which), 0
        while first < len(which) and failed < failures and not self._spent:
            chosen, used = slice(first, first + count), self.used
            better = self._better(_applied(found.placement, piece, which[chosen], target[chosen]), found)
            if better is None and count > 1:
                count = max(1, min(count, len(which) - first) // 2)
                continue
            first += count
            if better is None:
                failed += self.used - used
            else:
                found, count, failed = better, 2 * count, 0
        return found

    def _moves(
        self, piece: NDArray[np.int64], device: NDArray[np.int64], placement: NDArray[np.int32]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """[moves] piece and new device of the moves that each save edges, the least work for an edge first.

        `piece` [groups]; `device` [pieces] where each is. No move goes to a device that is not used.
        """
        pieces = len(device)
        edges = self._edges.outside(piece, pieces, placement, self._problem.device_count)
        saved = edges - edges[np.arange(pieces), device][:, None]
        work_us, homeless = self._of_pieces(piece)
        which, target = np.nonzero((saved > 0) & ~homeless)
        price = work_us[which, target] / saved[which, target]
        order = np.lexsort((target, which, price))
        return which[order], target[order]

    def _through_worse(self, found: Candidate) -> Candidate:
        """Move groups one after the other, each once, also where that costs edges; keep the first that is simpler.

        The levels with few groups take part. Only what is simpler is simulated, so this costs few evaluations. Source:
        Fiduccia and Mattheyses: A linear-time heuristic for improving network partitions, 1982.
        """
        for level in self._levels:
            if int(level.max()) < MOST_CLIMBED and not self._spent:
                better = self._climbed(found, level)
                if better is not None:
                    return better
        return found

    def _climbed(self, found: Candidate, level: NDArray[np.integer]) -> Candidate | None:
        devices, placement = self._problem.device_count, found.placement
        piece = np.unique(level * devices + placement, return_inverse=True)[1]
        first = np.unique(piece, return_index=True)[1]
        work_us, homeless = self._of_pieces(piece)
        used = np.isin(np.arange(devices), placement)
        locked = np.zeros(len(first), dtype=bool)
        for _ in range(len(first)):
            device = placement[first]
            load_us = np.bincount(device, work_us[np.arange(len(first)), device], devices)
            self._looks_left -= 1
            edges = self._edges.outside(piece, len(first), placement, devices)
            saved = (edges - edges[np.arange(len(first)), device][:, None]).astype(np.float64)
            overloads = load_us + work_us > self._limit_us
            saved[homeless | overloads | locked[:, None] | ~used | (device[:, None] == np.arange(devices))] = -np.inf
            which, target = divmod(int(saved.argmax()), devices)
            if saved[which, target] == -np.inf or self._spent:
                return None
            placement = np.where(piece == which, target, placement).astype(np.int32)
            locked[which] = True
            better = self._better(placement, found)
            if better is not None:
                return better
        return None

    def _of_pieces(self, piece: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """[pieces, devices] the work of each piece there, and whether it may not go there; `piece` [groups]."""
        shape = (int(piece.max()) + 1, self._problem.device_count)
        work_us, homeless = np.zeros(shape), np.zeros(shape, dtype=bool)
        np.add.at(work_us, piece, self._work_us)
        np.logical_or.at(homeless, piece, ~self._problem.allowed)
        return work_us, homeless

    def _better(self, placement: NDArray[np.int32], than: Candidate) -> Candidate | None:
        """`placement` if it is simpler than `than` and fast enough."""
        self._looks_left -= 1
        simpler = (devices_used(placement), self._edges.crossing(placement)) < (than.devices_used, than.crossing_edges)
        if not simpler:
            return None
        return next(iter(self._good(placement[None, :])), None)

    def _good(self, placements: NDArray[np.int32]) -> list[Candidate]:
        """Those of `placements` [candidates, groups], as far as the evaluations reach, that fit and are fast enough."""
        fresh = []
        for placement in placements[: max(0, self._most - self.used)]:
            key = placement.tobytes()
            if key not in self._tried:
                self._tried.add(key)
                fresh.append(placement)
        if not fresh:
            return []
        self.used += len(fresh)
        evaluations = self._problem.simulator.evaluate(np.array(fresh))
        good = self._problem.feasible(evaluations) & (evaluations.step_time_us <= self._limit_us)
        times_us = evaluations.step_time_us
        return [self._found(fresh[index], float(times_us[index])) for index in np.flatnonzero(good).tolist()]

    def _found(self, placement: NDArray[np.int32], step_time_us: float) -> Candidate:
        return Candidate(placement, devices_used(placement), self._edges.crossing(placement), step_time_us)

    @property
    def _spent(self) -> bool:
        out_of_work = self.used >= self._most or self._looks_left <= 0
        return out_of_work or self._problem.ledger.clock() >= self._until


def _applied(
    placement: NDArray[np.int32], piece: NDArray[np.int64], which: NDArray[np.int64], target: NDArray[np.int64]
) -> NDArray[np.int32]:
    """[groups] `placement` after the moves; of several moves of a piece the first counts."""
    device_of_piece = np.full(int(piece.max()) + 1, -1, dtype=np.int32)
    device_of_piece[which[::-1]] = target[::-1]
    return np.where(device_of_piece[piece] < 0, placement, device_of_piece[piece]).astype(np.int32)
