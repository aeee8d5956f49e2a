"""Trivial placements, which put all groups on one device, and the prior that policies may share: the best of these.

The prior gives the best one a probability of `MOST_PROBABLE` in each group, and shares the rest equally among the other
devices of the group. As a bias on the scores of a softmax whose scores are else equal, that is the logarithm of
w = MOST_PROBABLE · others / (1 − MOST_PROBABLE) on that device, and 0 on the others. Random keys u in [0, 1], the
highest of which decides, give the same probabilities as keys u^(1 / w).
Source: Efraimidis and Spirakis: Weighted random sampling with a reservoir, 2006, for the keys.
"""

import numpy as np
from numpy.typing import NDArray

from engine.errors import InfeasibleError
from engine.problem.problem import PlacementProblem
from engine.settings.learners import BEST_TRIVIAL
from engine.simulator.streams.stream import is_contiguous

MOST_PROBABLE = 0.8
"""so that a sample still differs from the trivial placement in a fifth of its groups"""


def one_device_placements(problem: PlacementProblem) -> NDArray[np.int32]:
    """[devices, groups] placements with all groups on one device, the device with the least total time first.

    A group that may not be on the device (a pin, no kernel, others from which it must be apart) is on the first device
    where it may be. Where stages must be contiguous, placements that are not are left out. If none is left and groups
    must be apart, all groups in turn stand for them. Raises InfeasibleError if these are not contiguous either.
    """
    placements = kept_apart(problem, np.stack([all_on(problem.allowed, device) for device in fastest_first(problem)]))
    if not is_contiguous(problem.stream):
        return placements
    runs = np.isfinite(problem.simulator.evaluate(placements).step_time_us)
    if not runs.any() and problem.apart:
        placements = _in_turn(problem)
        runs = np.isfinite(problem.simulator.evaluate(placements).step_time_us)
        if not runs.any():
            raise InfeasibleError(
                "no placement was found that is contiguous and keeps apart what the constraints say",
                advice="allow stages that are not contiguous, or leave rules out",
            )
    if not runs.any():
        raise InfeasibleError(
            "no device can take all ops that are not fixed elsewhere: its stages would not be contiguous",
            advice="allow stages that are not contiguous, or ignore the devices that the file fixes",
        )
    return placements[runs]


def _in_turn(problem: PlacementProblem) -> NDArray[np.int32]:
    """[0 to devices, groups] placements of the groups, in their order, on one device after the other."""
    order = fastest_first(problem)
    turns = [problem.apart.in_turn(problem.allowed, [*order[first:], *order[:first]]) for first in range(len(order))]
    found = [placement for placement in turns if placement is not None]
    return np.array(found, dtype=np.int32).reshape(-1, problem.group_count)


def kept_apart(problem: PlacementProblem, placements: NDArray[np.int32]) -> NDArray[np.int32]:
    """[batch, groups] for each of `placements` one near it that keeps groups apart as the problem's constraints say.

    Those that do stay as they are. Raises InfeasibleError where no such placement is found.
    """
    if not problem.apart:
        return placements
    order = fastest_first(problem)
    return np.stack([problem.apart.kept(placement, problem.allowed, order) for placement in placements])


def all_on(allowed: NDArray[np.bool_], device: int) -> NDArray[np.int32]:
    """[groups] `device` for each group that may be there by `allowed` [groups, devices], else its first device."""
    return np.where(allowed[:, device], device, np.argmax(allowed, axis=1)).astype(np.int32)


def best_one_device(problem: PlacementProblem) -> int:
    """The device of the best trivial placement; a run has charged their evaluations before its method begins."""
    evaluations = problem.times_of(one_device_placements(problem))
    best = int(np.lexsort((evaluations.step_time_us, problem.missing_bytes(evaluations)))[0])
    return fastest_first(problem)[best]


def prior_scores(problem: PlacementProblem, prior: str) -> NDArray[np.float64]:
    """[groups, devices] the bias of the setting `prior` on the scores of a policy: see `engine.settings.learners`."""
    if prior != BEST_TRIVIAL:
        return np.zeros(problem.allowed.shape)
    return scores_for(problem.allowed, best_one_device(problem))


def scores_for(allowed: NDArray[np.bool_], device: int) -> NDArray[np.float64]:
    """[rows, devices] the bias that prefers all on `device`; `allowed` [rows, devices] are those of groups or alike."""
    scores = np.zeros(allowed.shape)
    others = allowed.sum(axis=1) - 1
    weights = np.where(others > 0, MOST_PROBABLE / (1.0 - MOST_PROBABLE) * others, 1.0)
    scores[np.arange(len(allowed)), all_on(allowed, device)] = np.log(weights)
    return scores


def fastest_first(problem: PlacementProblem) -> list[int]:
    """The devices by the total time of the ops there; an op without a time counts its slowest time elsewhere."""
    times = problem.op_time_us
    slowest = np.nanmax(times, axis=0)
    busy_us = np.where(np.isnan(times), slowest, times).sum(axis=1)
    return [int(device) for device in np.argsort(busy_us, kind="stable")]
