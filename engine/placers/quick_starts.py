"""Quickly made placements, from which a search starts."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.errors import PlacetoError
from engine.events import ShouldStop
from engine.graphs.grouping.grouping import Grouping
from engine.graphs.grouping.levels import nearest
from engine.placers.registry import PLACERS, make_placer
from engine.problem import Ledger, PlacementProblem
from engine.problem.trivial import fastest_first, one_device_placements
from engine.search.few_devices import FEW_DEVICES, few_devices
from engine.search.halving import Start
from engine.search.levels import level_of_methods
from engine.search.symmetry import interchangeable_classes, interchangeable_devices

LIST_METHODS = ("m_topo", "heft", "m_etf")
"""the quickest first"""
FINEST_METHODS = ("heft", "m_etf")
"""list schedulers that also place single ops, after all others: where nothing keeps ops together they find much more"""
FINE_START_GROUPS = 1024
"""finer than that, list schedules and Scotch lose more by what they leave out than they gain; coarser, much is lost"""
SHARE_FOR_STARTS = 0.1
"""of a budget of seconds, for all methods that give starts: the rest is the search's"""
MOST_DEVICES_OF_A_SCHEDULE = 64
"""on more, list schedules of large graphs take minutes, and gigabytes for their channels"""


def evaluate_one_device(problem: PlacementProblem) -> None:
    """Evaluate each single device; if the run has evaluated placements already, report the best of them instead.

    Of more than `FEW_DEVICES`, only the first of those that are alike.
    """
    ledger = problem.ledger
    if ledger.used == 0:
        placements = one_device_placements(problem)
        if problem.device_count > FEW_DEVICES:
            class_of_device = interchangeable_devices(problem)
            kinds = interchangeable_classes(problem, class_of_device)[class_of_device][fastest_first(problem)]
            placements = placements[np.sort(np.unique(kinds, return_index=True)[1])]
        problem.evaluate_episodes(placements[: ledger.remaining])
        return
    feasible = ledger.best_step_time_us is not None
    problem.context.episode(ledger.answer(), ledger.best_time_us, feasible=feasible, number=ledger.used)


def evaluate_methods(
    problem: PlacementProblem,
    methods: Sequence[str],
    rng: np.random.Generator,
    should_stop: ShouldStop,
    grouping: Grouping | None = None,
    most_seconds: float | None = None,
    devices: NDArray[np.int32] | None = None,
) -> list[Start]:
    """Run `methods` one after the other until the budget is spent or a stop is requested; returns the best of each.

    With `grouping`, one of the problem's coarser levels, they place its groups. Each has at most `most_seconds`, at
    which a list scheduler ends. With `devices` they use those alone.
    """
    starts = []
    for method in methods:
        if problem.ledger.spent or should_stop():
            break
        sub_problem = problem.sub_problem(grouping, most_seconds, devices)
        try:
            make_placer(method, {}).place(sub_problem, rng, should_stop)
        except PlacetoError as error:  # such as no rule for this graph, or no library on this machine
            problem.context.progress(f"without {PLACERS[method].label}: {error.what}")
        if sub_problem.ledger.best_placement is not None:
            starts.append(start_of(sub_problem.ledger))
    return starts


class Round(NamedTuple):
    """A method at a level, and the devices that it may use, None for all."""

    method: str
    level: Grouping | None
    devices: NDArray[np.int32] | None


def rounds_of(problem: PlacementProblem, methods: Sequence[str], fine_methods: Sequence[str] = ()) -> list[Round]:
    """The rounds of `methods` at the level of methods; with `fine_methods`, those at a finer level come before them,
    and list schedules of single ops after them.

    Each is for a few devices of a large cluster first, as if there were no others; then come rounds for all, at one
    level, unless there are more than `MOST_DEVICES_OF_A_SCHEDULE`.
    """
    coarse = level_of_methods(problem)
    fine = nearest(problem.coarser, FINE_START_GROUPS) if problem.coarser else None
    levels = [(method, fine) for method in methods_in(fine_methods, methods) if fine is not coarse]
    levels += [(method, coarse) for method in methods]
    levels += [(method, None) for method in methods_in(FINEST_METHODS, methods) if fine is not None and fine_methods]
    few = few_devices(problem, problem.ledger.answer())
    rounds = [Round(method, level, None if method == "human_expert" else few) for method, level in levels]
    if few is not None and problem.device_count <= MOST_DEVICES_OF_A_SCHEDULE:
        finest: dict[str, Grouping | None] = {}
        for method, level in levels:
            finest.setdefault(method, level)
        rounds += [Round(method, level, None) for method, level in finest.items() if method != "human_expert"]
    return rounds


def methods_in(wanted: Sequence[str], known: Sequence[str]) -> list[str]:
    """Those of `wanted` that are `known`, in their order."""
    return [method for method in wanted if method in known]


def evaluate_rounds(
    problem: PlacementProblem, rounds: Sequence[Round], rng: np.random.Generator, should_stop: ShouldStop
) -> list[Start]:
    """Run `rounds` one after the other; returns the best start of each method, since those of one method are alike.

    Of a budget of seconds they have a share: none begins after it, and list schedulers end with it.
    """
    best: dict[str, Start] = {}
    for method, level, devices in rounds:
        left = seconds_for_starts(problem)
        if left is not None and left <= 0:
            break
        for start in evaluate_methods(problem, [method], rng, should_stop, level, left, devices):
            if method not in best or start.rank < best[method].rank:
                best[method] = start
    return list(best.values())


def seconds_for_starts(problem: PlacementProblem) -> float | None:
    """The seconds that are left for starts; None without a budget of seconds."""
    seconds = problem.ledger.budget.seconds
    return None if seconds is None else SHARE_FOR_STARTS * seconds - problem.ledger.elapsed_seconds


def start_of(ledger: Ledger) -> Start:
    """A start at the best placement of `ledger`, in the groups of the ledger of which it is a part."""
    assert ledger.missing_bytes is not None
    return Start(ledger.lifted(ledger.answer()).copy(), ledger.best_time_us, ledger.missing_bytes)


def given_start(problem: PlacementProblem) -> list[Start]:
    """A start at the placement that the problem begins from, which has been evaluated; none without one."""
    if problem.context.start is None:
        return []
    evaluations = problem.times_of(problem.context.start[None, :])
    missing_bytes = int(problem.missing_bytes(evaluations)[0])
    return [Start(problem.context.start.copy(), float(evaluations.step_time_us[0]), missing_bytes)]
