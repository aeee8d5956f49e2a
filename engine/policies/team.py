"""Learners side by side: each in a process with its own share of the problems, their weights averaged.

    graphs 0, n, 2n, …    ──▶ learner 0   ─┐
    graphs 1, n+1, …      ──▶ learner 1   ─┼─ after each round: the mean of weights and of Adam's moments ──▶ all
    …                                      ─┘

Each is a training of its own otherwise, with its own random numbers; with a budget counted in steps the result depends
on no clock. They are processes, not threads: a training step is a thousand short calls, between which threads would
wait for Python's lock. Loads torch.

Source: Stich: Local SGD converges fast and communicates little, ICLR 2019.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain
from multiprocessing.connection import Connection, wait
from statistics import fmean
from types import TracebackType
from typing import Self, cast

import numpy as np
from numpy.typing import NDArray

from engine.events import Json, ShouldStop
from engine.files.tensor_file import pack_tensors, under, unpack_tensors
from engine.policies.checkpoint import STATE, WEIGHTS
from engine.policies.learner import Learner, placeto_settings_of
from engine.policies.member import LearnedArrays, LearnerNumbers
from engine.policies.member_process import MemberProcess
from engine.policies.settings import PolicyTrainingSettings
from engine.policies.training_problem import STAGES, TrainingProblem
from engine.policies.traits import Ranges, widened

SECONDS_BETWEEN_LOOKS = 0.25
"""at `should_stop`, which the calling process alone asks"""
MEMBER = "member."


class LearnerTeam:
    """One training by `settings.learners` learners. To be used as a `Learner`, in a `with` statement that ends them."""

    def __init__(
        self,
        problems: Sequence[TrainingProblem],
        settings: PolicyTrainingSettings,
        seed: int,
        should_stop: ShouldStop,
        learner_type: type[Learner] = Learner,
    ) -> None:
        """`learner_type` must be importable by its name."""
        count = min(settings.learners, len(problems))
        own = settings_of_member(settings, count)
        self.placeto_settings = placeto_settings_of(own)
        self._should_stop = should_stop
        self._members: list[MemberProcess] = []
        with ExitStack() as stack:
            stack.callback(self.end)
            for number, share in enumerate(shares_of(problems, count)):
                self._members.append(MemberProcess(share, own, seed_of_member(seed, number), learner_type))
            for member in self._members:
                member.take_answer()
            stack.pop_all()
        self._learned = self._members[0].answer.learned
        """what all go on from"""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def end(self) -> None:
        """End all processes; the team can only be asked for numbers and weights then."""
        for member in self._members:
            member.end()

    @property
    def _numbers(self) -> list[LearnerNumbers]:
        return [member.answer.numbers for member in self._members]

    @property
    def evaluations(self) -> int:
        """Simulated placements, those of the teachers included."""
        return sum(numbers.evaluations for numbers in self._numbers)

    @property
    def drawn(self) -> int:
        """Problems drawn at random that took part so far."""
        return sum(numbers.drawn for numbers in self._numbers)

    @property
    def imitation_steps(self) -> int:
        return sum(numbers.imitation_steps for numbers in self._numbers)

    @property
    def episodes(self) -> int:
        return sum(numbers.episodes for numbers in self._numbers)

    @property
    def ranges(self) -> Ranges:
        """Of the traits of all problems so far."""
        found: Ranges = {}
        for numbers in self._numbers:
            for end in (0, 1):
                found = widened(found, {name: ends[end] for name, ends in numbers.ranges.items()})
        return found

    @property
    def seconds(self) -> float:
        """The seconds since the training began, earlier calls included."""
        return max(numbers.seconds for numbers in self._numbers)

    @property
    def stage(self) -> str:
        """That of the learner that is furthest behind."""
        order = (*STAGES[:3], "done")
        return min((numbers.stage for numbers in self._numbers), key=order.index)

    @property
    def done(self) -> float:
        """The share of the training that is done, from 0 to 1, by the learner that is furthest behind."""
        return min(numbers.done for numbers in self._numbers)

    @property
    def mean_gap(self) -> float | None:
        """As `Learner.mean_gap`, over the learners that have one."""
        gaps = [numbers.mean_gap for numbers in self._numbers if numbers.mean_gap is not None]
        return fmean(gaps) if gaps else None

    def step(self) -> None:
        """One round: some steps of each learner, all at the same time, then one average."""
        if self._should_stop():
            return
        for member in self._members:
            member.work(self._learned)
        working, stops = {member.pipe: member for member in self._members}, False
        while working:
            for pipe in wait(list(working), SECONDS_BETWEEN_LOOKS):
                working.pop(cast(Connection, pipe)).take_answer()
            if working and not stops and self._should_stop():
                stops = True
                for member in working.values():
                    member.stop()
        self._learned = _mean_of([member.answer.learned for member in self._members])

    def weights(self) -> dict[str, NDArray[np.generic]]:
        """The network's weights, which all learners have between two rounds."""
        return under(WEIGHTS, self._learned)

    def state(self, beside: Mapping[str, Json] | None = None) -> bytes:
        """As `Learner.state`."""
        arrays = {f"{WEIGHTS}{name}": array for name, array in self.weights().items()}
        for member in self._members:
            member.save(self._learned)
        for number, member in enumerate(self._members):
            state = member.take_answer().state
            assert state is not None
            arrays[f"{MEMBER}{number}"] = np.frombuffer(state, np.uint8)
        return pack_tensors(arrays, beside or {})

    def restore(self, state: bytes) -> None:
        """Continue from `state`."""
        arrays, _ = unpack_tensors(state, STATE)
        for number, member in enumerate(self._members):
            member.restore(arrays[f"{MEMBER}{number}"].tobytes())
        for member in self._members:
            member.take_answer()
        self._learned = self._members[0].answer.learned


def shares_of(problems: Sequence[TrainingProblem], count: int) -> list[list[TrainingProblem]]:
    """[count] the problems of each learner: a graph on all of its clusters, or with fewer graphs single problems.

    So each learns on every cluster, and a graph is in the memory of one process.
    """
    of_graph: dict[int, list[TrainingProblem]] = {}
    for training in problems:
        of_graph.setdefault(id(training.problem.graph), []).append(training)
    parts = [*of_graph.values()] if len(of_graph) >= count else [[training] for training in problems]
    return [list(chain.from_iterable(parts[number::count])) for number in range(count)]


def settings_of_member(settings: PolicyTrainingSettings, count: int) -> PolicyTrainingSettings:
    """The settings of one of `count` learners, who share what is counted; seconds pass for all alike."""
    shared = ("imitation_steps", "reinforcement_batches", "drawn")
    changes = {name: -(-getattr(settings, name) // count) for name in shared}
    return replace(settings, learners=1, **changes)


def seed_of_member(seed: int, number: int) -> int:
    """The seed of a learner: the first has that of the training, so that a team of one is the training itself."""
    return seed if number == 0 else int(np.random.SeedSequence([seed, number]).generate_state(1)[0])


def _mean_of(found: Sequence[LearnedArrays]) -> dict[str, NDArray[np.generic]]:
    """The mean of each array that all of `found` have: an optimiser has no moments before its first step."""
    common = set.intersection(*(set(arrays) for arrays in found))
    return {name: _mean([arrays[name] for arrays in found]) for name in sorted(common)}


def _mean(arrays: Sequence[NDArray[np.generic]]) -> NDArray[np.generic]:
    return cast(NDArray[np.generic], np.mean(np.stack(arrays), axis=0, dtype=arrays[0].dtype))
