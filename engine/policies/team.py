"""Learners side by side, each with its share of the problems, their weights averaged after each round.

    learner 0 ─┐
    learner 1 ─┼─ the mean of weights and of Adam's moments ──▶ all
    …          ─┘

A learner is a training of its own otherwise, with its own random numbers. The learners are spread over the processes of
a meeting, and each process knows all of them after a round. So with a budget counted in steps the weights depend on the
seed and the number of learners, not on the processes, and any of these can go on when others are gone. They are
processes, not threads: a training step is a thousand short calls, between which threads would wait for Python's lock.
Loads torch.

Source: Stich: Local SGD converges fast and communicates little, ICLR 2019.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from engine import errors
from engine.errors import PlacetoError
from engine.events import Json, ShouldStop
from engine.files.tensor_file import pack_tensors, under, unpack_tensors
from engine.policies.checkpoint import STATE, WEIGHTS
from engine.policies.learner import Learner, placeto_settings_of
from engine.policies.learner_numbers import LearnerNumbers, numbers_together
from engine.policies.meeting import LostLearnerError, Meeting
from engine.policies.team_plan import TeamPlan, seed_of_member
from engine.policies.training_problem import STAGES

ROUND_STEPS = 16
"""of each learner between two averages, once there is something to average"""
LEARNED = (WEIGHTS, "optimiser.")
"""prefixes of the arrays that are averaged"""
MEMBER = "member."


class LearnerTeam:
    """One training by several learners: to be used as a `Learner`, in each of its processes."""

    def __init__(
        self,
        plan: TeamPlan,
        meet: Callable[[], Meeting],
        should_stop: ShouldStop,
        checkpoint: bytes | None = None,
        *,
        replaces: bool = False,
    ) -> None:
        """Begin, or continue from the latest `checkpoint` that one of the processes has.

        `replaces`: whether `meet` may be called again after a loss, to go on with another process.
        """
        self.placeto_settings = placeto_settings_of(plan.settings)
        self.stopped = False
        """whether the processes have agreed to stop"""
        self._plan, self._meet, self._asked_to_stop, self._replaces = plan, meet, should_stop, replaces
        self._form(checkpoint or b"")

    @property
    def numbers(self) -> LearnerNumbers:
        """How far the learners are together."""
        return numbers_together([_numbers_in(texts) for _, texts in self._states])

    @property
    def done(self) -> float:
        """As of `LearnerNumbers`."""
        return self.numbers.done

    def step(self) -> None:
        """One round: some steps of each learner, all at the same time, then one average.

        If a process is lost, all go on from the round before with another one in its place. Raises LostLearnerError
        where none can take its place, or if one is lost in the same round again.
        """
        if self.stopped:
            return
        try:
            self._round()
        except LostLearnerError:
            if not self._replaces:
                raise
            self._form(self.state())
            self._round()

    def weights(self) -> dict[str, NDArray[np.generic]]:
        """The network's weights, which all learners have between two rounds."""
        return under(WEIGHTS, self._learned)

    def state(self, beside: Mapping[str, Json] | None = None) -> bytes:
        """As `Learner.state`."""
        arrays = {f"{WEIGHTS}{name}": array for name, array in self.weights().items()}
        arrays |= {f"{MEMBER}{number}": np.frombuffer(blob, np.uint8) for number, blob in enumerate(self._blobs)}
        return pack_tensors(arrays, {**(beside or {}), "rounds": self._rounds})

    @property
    def rank(self) -> int:
        """The number of this process."""
        return self._meeting.rank

    def told_by_the_first(self, told: bytes) -> bytes:
        """What the first process tells all others."""
        return self._meeting.exchange(told, lambda: None)[0]

    def _form(self, checkpoint: bytes) -> None:
        """Meet, make new learners, and go on from the latest checkpoint."""
        self._meeting, self._stops = self._meet(), False
        plan = self._plan
        self._learners = {
            number: plan.learner_type(share, plan.settings, seed_of_member(plan.seed, number), self._should_stop)
            for number, share in plan.of_process(self._meeting.rank, self._meeting.size).shares.items()
        }
        """those in this process"""
        latest = max(self._meeting.exchange(checkpoint, self._should_stop), key=_rounds_in)
        self._rounds = max(0, _rounds_in(latest))
        if latest:
            members = unpack_tensors(latest, STATE)[0]
            for number, learner in self._learners.items():
                learner.restore(members[f"{MEMBER}{number}"].tobytes())
        self._share()

    def _round(self) -> None:
        error: PlacetoError | None = None
        try:
            for learner in self._learners.values():
                self._work(learner)
        except LostLearnerError:
            raise
        except PlacetoError as caught:
            error = caught
        self._share(error)
        self._rounds += 1

    def _work(self, learner: Learner) -> None:
        for _ in range(1 if learner.stage == STAGES[0] else ROUND_STEPS):
            if self._should_stop() or learner.done >= 1.0:
                return
            learner.step()

    def _share(self, error: PlacetoError | None = None) -> None:
        """Tell all processes of this one's learners, hear of theirs, and go on from the mean.

        Raises the error that one of them had.
        """
        own = {str(number): np.frombuffer(_state_of(learner), np.uint8) for number, learner in self._learners.items()}
        texts: dict[str, Json] = {"stops": self._should_stop()}
        if error is not None:
            texts["error"] = [type(error).__name__, dict[str, Json](error.facts())]
        blobs: dict[int, bytes] = {}
        for each in self._meeting.exchange(pack_tensors(own, texts), self._should_stop):
            arrays, told = unpack_tensors(each, STATE)
            if "error" in told:
                name, facts = cast(tuple[str, dict[str, str]], told["error"])
                raise getattr(errors, name)(**facts)
            self.stopped = self.stopped or bool(told["stops"])
            blobs |= {int(number): array.tobytes() for number, array in arrays.items()}
        self._blobs = [blobs[number] for number in sorted(blobs)]
        """the state of each learner, before the mean"""
        self._states = [unpack_tensors(blob, STATE) for blob in self._blobs]
        self._learned = _mean_of([arrays for arrays, _ in self._states])
        for learner in self._learners.values():
            learner.take(self._learned)

    def _should_stop(self) -> bool:
        """Whether the round shall end at once, because this process or another one was asked to."""
        if not self._stops and self._asked_to_stop():
            self._stops = True
            self._meeting.ask_to_stop()
        self._stops = self._stops or self._meeting.is_stop_asked()
        return self._stops


def _state_of(learner: Learner) -> bytes:
    """The learner's state, with its numbers beside it."""
    return learner.state({"numbers": cast(Json, learner.numbers._asdict())})


def _numbers_in(texts: Mapping[str, Json]) -> LearnerNumbers:
    return LearnerNumbers(**cast(dict[str, Any], texts["numbers"]))


def _rounds_in(checkpoint: bytes) -> int:
    """The rounds before a state of the team; -1 for none."""
    return cast(int, unpack_tensors(checkpoint, STATE)[1]["rounds"]) if checkpoint else -1


def _mean_of(found: Sequence[Mapping[str, NDArray[np.generic]]]) -> dict[str, NDArray[np.generic]]:
    """The mean of what all of `found` have learned: an optimiser has no moments before its first step."""
    common = set.intersection(*(set(arrays) for arrays in found))
    learned = sorted(name for name in common if name.startswith(LEARNED))
    return {name: _mean([arrays[name] for arrays in found]) for name in learned}


def _mean(arrays: Sequence[NDArray[np.generic]]) -> NDArray[np.generic]:
    return cast(NDArray[np.generic], np.mean(np.stack(arrays), axis=0, dtype=arrays[0].dtype))
