"""Measures how fast a policy learns from many graphs in flight together, beside one graph at a time: see `training.py`.

In processor time, so that other programs on the machine change little.
"""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from engine.events import Json
from engine.placeto.episodes import EpisodePlan
from engine.placeto.networks import lockstep
from engine.placeto.torch_threads import torch_threads
from engine.policies.drawn.problems import drawn_problem
from engine.policies.drawn.shapes import SHAPES
from engine.policies.learner import Learner
from engine.policies.problem_learner import ProblemLearner
from engine.policies.settings import make_training_settings
from experiments.replaced import replaced

GRAPHS = 64
SAMPLED_SHARES = (1.0, 0.15)
"""of the decisions: at the start of a training, and at the end of that of the policy that ships"""
REPEATS = 3
SETTINGS: dict[str, Json] = {"teacher_evaluations": 30, "imitation_steps": 1, "reinforcement_batches": 1}


@dataclass(slots=True)
class _Fleet:
    """The graphs, bound to one network."""

    learner: Learner
    bound: Sequence[ProblemLearner]

    @staticmethod
    def drawn(torch_device: str) -> "_Fleet":
        """Graphs and clusters drawn at random, always the same."""
        problems = [drawn_problem(tuple(SHAPES), np.random.default_rng([7, number])) for number in range(GRAPHS)]
        settings = make_training_settings({**SETTINGS, "torch_device": torch_device})
        learner = Learner(problems, settings, 0, lambda: False)
        while learner.stage != "reinforcement":
            learner.step()
        return _Fleet(learner, learner._bound)

    def plans(self, share: float) -> list[EpisodePlan]:
        return [bound.plan("topological", np.random.default_rng(0), share) for bound in self.bound]

    @property
    def episodes(self) -> int:
        return GRAPHS * self.learner.placeto_settings.batch_episodes


def flight_lines(torch_device: str) -> list[str]:
    """Episodes a second, one graph at a time and together, and what of lockstep a device would take over."""
    fleet = _Fleet.drawn(torch_device)
    sizes = [bound.problem.group_count for bound in fleet.bound]
    with torch_threads(1):
        rows = [_learning_line(fleet, share, torch_device) for share in SAMPLED_SHARES]
        return [
            f"{GRAPHS} drawn graphs of {min(sizes)} to {max(sizes)} groups, {fleet.episodes // GRAPHS} episodes each, "
            "one thread, in processor time:",
            *rows,
            _deciding_line(fleet, torch_device),
        ]


def _learning_line(fleet: _Fleet, share: float, torch_device: str) -> str:
    def alone() -> None:
        for bound in fleet.bound:
            bound.explore("topological", 0.5, np.random.default_rng(0), share)

    def together() -> None:
        fleet.learner._flight.explore(fleet.bound, fleet.plans(share), 0.5)

    one, all_ = (fleet.episodes / _seconds(learn) for learn in (alone, together))
    return (
        f"{share:5.0%} of the decisions drawn, {torch_device}: {one:.0f} episodes/s one graph at a time, {all_:.0f} "
        f"together, {all_ / one:.2f} times as many"
    )


def _deciding_line(fleet: _Fleet, torch_device: str) -> str:
    """Deciding alone: the compiled sampler, lockstep, and the share of lockstep in the head and the choices."""
    actors, plans, inside = [bound.actor for bound in fleet.bound], fleet.plans(1.0), 0.0
    choose = lockstep.Lockstep.choose

    def timed(self: lockstep.Lockstep, step: int, alive: int) -> None:
        nonlocal inside
        began = time.process_time()
        choose(self, step, alive)
        inside += time.process_time() - began

    def in_lockstep() -> None:
        nonlocal inside
        inside = 0.0
        with ThreadPoolExecutor(1) as threads, replaced(lockstep.Lockstep, "choose", timed):
            lockstep.sample_together(fleet.learner._network, actors, plans, _never, threads, 1, lambda *_: None)

    def alone() -> None:
        for actor, plan in zip(actors, plans, strict=True):
            actor.sample(plan, _never)

    one, all_ = _seconds(alone), _seconds(in_lockstep)
    return (
        f"deciding alone, {torch_device}: {fleet.episodes / one:.0f} episodes/s graph by graph in compiled code, "
        f"{fleet.episodes / all_:.0f} in lockstep, of which the forward pass and the choices take {inside / all_:.0%}"
    )


def _seconds(work: Callable[[], None]) -> float:
    """The least processor time of some repeats, after one that compiles."""
    found = []
    for _ in range(1 + REPEATS):
        began = time.process_time()
        work()
        found.append(time.process_time() - began)
    return min(found[1:])


def _never() -> None:
    """Nothing interrupts the work."""
