"""A learner of a team in a process of its own: the child's side. `member_process.py` runs it; it is not for people.

Everything goes through one pipe, its standard input; what is pickled there is the two processes' own.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from engine.child.process import bind_to_parent
from engine.clusters.cluster import Cluster
from engine.costs.costs import Costs
from engine.errors import PlacetoError
from engine.graphs.graph import ComputationGraph
from engine.graphs.grouping.grouping import Grouping
from engine.policies.settings import PolicyTrainingSettings
from engine.policies.training_problem import STAGES, TrainingProblem
from engine.policies.traits import Ranges
from engine.problem import Budget, PlacementProblem, RunContext
from engine.problem.ledger import Clock

if TYPE_CHECKING:
    from engine.policies.learner import Learner

ROUND_STEPS = 16
"""of each learner between two averages, once there is something to average"""
LearnedArrays: TypeAlias = Mapping[str, NDArray[np.generic]]
"""as of `Learner.learned`"""


class SentProblem(NamedTuple):
    """A training problem without its simulator, which the child makes anew."""

    name: str
    cluster_name: str
    graph: ComputationGraph
    costs: Costs
    grouping: Grouping
    cluster: Cluster
    allowed: NDArray[np.bool_]
    clock: Clock


def sent(training: TrainingProblem) -> SentProblem:
    """`training` for another process."""
    problem = training.problem
    parts = (problem.graph, problem.costs, problem.grouping, problem.cluster, problem.allowed, problem.ledger.clock)
    return SentProblem(training.name, training.cluster_name, *parts)


def received(problem: SentProblem) -> TrainingProblem:
    """The inverse of `sent`."""
    made = PlacementProblem(
        problem.graph,
        problem.costs,
        problem.grouping,
        problem.cluster,
        problem.allowed,
        RunContext.of(Budget(1), clock=problem.clock),
    )
    return TrainingProblem(problem.name, problem.cluster_name, made)


@dataclass(frozen=True, slots=True)
class Begin:
    """The first order: make a learner."""

    parent: int
    """number of the parent's process"""
    problems: Sequence[SentProblem]
    settings: PolicyTrainingSettings
    seed: int
    learner_type: "type[Learner]"


@dataclass(frozen=True, slots=True)
class LearnRound:
    """Take what all have learned, then learn for one round."""

    learned: LearnedArrays


@dataclass(frozen=True, slots=True)
class Save:
    """Take what all have learned, then give the learner's state."""

    learned: LearnedArrays


@dataclass(frozen=True, slots=True)
class Restore:
    """Continue from a state."""

    state: bytes


@dataclass(frozen=True, slots=True)
class Stop:
    """End the round at once; the only order that comes while another is carried out, and that has no answer."""


Order: TypeAlias = Begin | LearnRound | Save | Restore | Stop


class LearnerNumbers(NamedTuple):
    """How far a learner is: see `Learner`."""

    stage: str
    done: float
    seconds: float
    evaluations: int
    drawn: int
    imitation_steps: int
    episodes: int
    ranges: Ranges
    mean_gap: float | None


class MemberAnswer(NamedTuple):
    """The answer to each order."""

    numbers: LearnerNumbers
    learned: LearnedArrays
    state: bytes | None = None
    """for `Save`"""


class _Member:
    """Carries out orders with one learner."""

    def __init__(self, pipe: "Connection[MemberAnswer | PlacetoError, Order]", begin: Begin) -> None:
        self._pipe, self._stops = pipe, False
        problems = [received(problem) for problem in begin.problems]
        self._learner = begin.learner_type(problems, begin.settings, begin.seed, self._should_stop)

    def carry_out(self, order: Order) -> MemberAnswer:
        """Carry out an order that has an answer."""
        state = None
        match order:
            case LearnRound():
                self._learner.take(order.learned)
                self._work()
            case Save():
                self._learner.take(order.learned)
                state = self._learner.state()
            case Restore():
                self._learner.restore(order.state)
        return self.answer(state)

    def answer(self, state: bytes | None = None) -> MemberAnswer:
        """What the learner is and has learned."""
        numbers = LearnerNumbers(*(getattr(self._learner, name) for name in LearnerNumbers._fields))
        return MemberAnswer(numbers, self._learner.learned(), state)

    def _work(self) -> None:
        self._stops = False
        for _ in range(1 if self._learner.stage == STAGES[0] else ROUND_STEPS):
            if self._should_stop() or self._learner.done >= 1.0:
                return
            self._learner.step()

    def _should_stop(self) -> bool:
        if not self._stops and self._pipe.poll():
            assert isinstance(self._pipe.recv(), Stop), "an order before the answer to the last one"
            self._stops = True
        return self._stops


def serve(pipe: "Connection[MemberAnswer | PlacetoError, Order]") -> None:
    """Carry out the orders on `pipe` until the parent closes it; a typed error is an answer too."""
    begin = pipe.recv()
    assert isinstance(begin, Begin)
    bind_to_parent(begin.parent)
    try:
        member = _Member(pipe, begin)
        pipe.send(member.answer())
        while True:
            order = pipe.recv()
            if not isinstance(order, Stop):  # a round may end before it hears of the stop
                pipe.send(member.carry_out(order))
    except PlacetoError as error:
        pipe.send(error)
    except EOFError:  # the parent has ended, or needs this learner no more
        return


if __name__ == "__main__":
    from engine.policies import member as imported  # so that both sides have the same classes

    imported.serve(Connection(sys.stdin.fileno()))
