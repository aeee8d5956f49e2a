"""Learners side by side: each in a thread with its own share of the problems, their weights averaged. Loads torch.

    problems 0, n, 2n, …    ──▶ learner 0   ─┐
    problems 1, n+1, …      ──▶ learner 1   ─┼─ after each round: the mean of weights and of Adam's moments ──▶ all
    …                                        ─┘

Compiled code and torch let go of Python's lock, so that learners work at the same time. Each is a training of its own
otherwise, with its own random numbers; with a budget counted in steps the result depends on no clock.

Source: Stich: Local SGD converges fast and communicates little, ICLR 2019.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from statistics import fmean
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from engine.events import Json, ShouldStop
from engine.files.tensor_file import pack_tensors, unpack_tensors
from engine.placeto.settings import PlacetoSettings
from engine.policies.checkpoint import STATE, WEIGHTS
from engine.policies.learner import Learner
from engine.policies.settings import PolicyTrainingSettings
from engine.policies.training_problem import STAGES, TrainingProblem
from engine.policies.traits import Ranges, widened

ROUND_STEPS = 16
"""of each learner between two averages, once there is something to average"""
SECONDS_BETWEEN_LOOKS = 0.25
"""at `should_stop`, which the calling thread alone asks"""
MEMBER = "member."
MakeLearner: TypeAlias = Callable[
    [Sequence[TrainingProblem], PolicyTrainingSettings, int, ShouldStop],
    Learner,
]


class LearnerTeam:
    """One training by `settings.learners` learners. To be used as a `Learner`: call `step` until `done` is 1."""

    def __init__(
        self,
        problems: Sequence[TrainingProblem],
        settings: PolicyTrainingSettings,
        seed: int,
        should_stop: ShouldStop,
        make_learner: MakeLearner = Learner,
    ) -> None:
        count = min(settings.learners, len(problems))
        own = settings_of_member(settings, count)
        self._should_stop, self._stops = should_stop, False
        self._members = [
            make_learner(problems[number::count], own, seed_of_member(seed, number), lambda: self._stops)
            for number in range(count)
        ]
        for member in self._members[1:]:
            member.take(self._members[0].learned())

    @property
    def placeto_settings(self) -> PlacetoSettings:
        return self._members[0].placeto_settings

    @property
    def evaluations(self) -> int:
        """Simulated placements, those of the teachers included."""
        return sum(member.evaluations for member in self._members)

    @property
    def drawn(self) -> int:
        """Problems drawn at random that took part so far."""
        return sum(member.drawn for member in self._members)

    @property
    def imitation_steps(self) -> int:
        return sum(member.imitation_steps for member in self._members)

    @property
    def episodes(self) -> int:
        return sum(member.episodes for member in self._members)

    @property
    def ranges(self) -> Ranges:
        """Of the traits of all problems so far."""
        found: Ranges = {}
        for member in self._members:
            for end in (0, 1):
                found = widened(found, {name: ends[end] for name, ends in member.ranges.items()})
        return found

    @property
    def seconds(self) -> float:
        """The seconds since the training began, earlier calls included."""
        return max(member.seconds for member in self._members)

    @property
    def stage(self) -> str:
        """That of the learner that is furthest behind."""
        order = (*STAGES[:3], "done")
        return min((member.stage for member in self._members), key=order.index)

    @property
    def done(self) -> float:
        """The share of the training that is done, from 0 to 1, by the learner that is furthest behind."""
        return min(member.done for member in self._members)

    @property
    def mean_gap(self) -> float | None:
        """As `Learner.mean_gap`, over the learners that have one."""
        gaps = [member.mean_gap for member in self._members if member.mean_gap is not None]
        return fmean(gaps) if gaps else None

    def step(self) -> None:
        """One round: some steps of each learner, all at the same time, then one average."""
        self._stops = self._should_stop()
        with ThreadPoolExecutor(len(self._members)) as threads:
            working = {threads.submit(self._work, member) for member in self._members}
            while working:
                ended, working = wait(working, SECONDS_BETWEEN_LOOKS)
                for each in ended:
                    each.result()
                self._stops = self._stops or self._should_stop()
        self._average()

    def _work(self, member: Learner) -> None:
        for _ in range(1 if member.stage == STAGES[0] else ROUND_STEPS):
            if self._stops or member.done >= 1.0:
                return
            member.step()

    def _average(self) -> None:
        found = [member.learned() for member in self._members]
        common = set.intersection(*(set(arrays) for arrays in found))
        mean = {name: _mean([arrays[name] for arrays in found]) for name in sorted(common)}
        for member in self._members:
            member.take(mean)

    def weights(self) -> dict[str, NDArray[np.generic]]:
        """A copy of the network's weights, which all learners have between two rounds."""
        return self._members[0].weights()

    def state(self, beside: Mapping[str, Json] | None = None) -> bytes:
        """As `Learner.state`."""
        arrays = {f"{WEIGHTS}{name}": array for name, array in self.weights().items()}
        for number, member in enumerate(self._members):
            arrays[f"{MEMBER}{number}"] = np.frombuffer(member.state(), np.uint8)
        return pack_tensors(arrays, beside or {})

    def restore(self, state: bytes) -> None:
        """Continue from `state`."""
        arrays, _ = unpack_tensors(state, STATE)
        for number, member in enumerate(self._members):
            member.restore(arrays[f"{MEMBER}{number}"].tobytes())


def settings_of_member(settings: PolicyTrainingSettings, count: int) -> PolicyTrainingSettings:
    """The settings of one of `count` learners, who share what is counted; seconds pass for all alike."""
    shared = ("imitation_steps", "reinforcement_batches", "drawn")
    changes = {name: -(-getattr(settings, name) // count) for name in shared}
    return replace(settings, learners=1, **changes)


def seed_of_member(seed: int, number: int) -> int:
    """The seed of a learner: the first has that of the training, so that a team of one is the training itself."""
    return seed if number == 0 else int(np.random.SeedSequence([seed, number]).generate_state(1)[0])


def _mean(arrays: Sequence[NDArray[np.generic]]) -> NDArray[np.generic]:
    return cast(NDArray[np.generic], np.mean(np.stack(arrays), axis=0, dtype=arrays[0].dtype))
