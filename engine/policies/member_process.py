"""A learner of a team in a process of its own: the parent's side. `member.py` is the child's.

Orders and answers take turns on one pipe. The child ends with its pipe, and with its parent (where the system supports
it).
"""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import ChildError, ChildKilledError, PlacetoError
from engine.policies.member import Begin, LearnedArrays, LearnRound, MemberAnswer, Order, Restore, Save, Stop, sent
from engine.policies.settings import PolicyTrainingSettings
from engine.policies.training_problem import TrainingProblem

if TYPE_CHECKING:
    from engine.policies.learner import Learner

SECONDS_TO_END = 5.0


class MemberProcess:
    """One learner. Give an order, then `take_answer`; what it answered last is in `answer`."""

    answer: MemberAnswer

    def __init__(
        self,
        problems: Sequence[TrainingProblem],
        settings: PolicyTrainingSettings,
        seed: int,
        learner_type: "type[Learner]",
    ) -> None:
        """The first order has been given: `take_answer`."""
        self.pipe: Connection[Order, MemberAnswer | PlacetoError]
        self.pipe, theirs = Pipe()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "engine.policies.member"],
                stdin=theirs.fileno(),
                cwd=Path(__file__).parents[2],
                start_new_session=True,
            )
        self._give(Begin(os.getpid(), [sent(problem) for problem in problems], settings, seed, learner_type))

    def work(self, learned: LearnedArrays) -> None:
        """Order a round, from what all have `learned`."""
        self._give(LearnRound(learned))

    def save(self, learned: LearnedArrays) -> None:
        """Order a state, with what all have `learned`."""
        self._give(Save(learned))

    def restore(self, state: bytes) -> None:
        """Order to continue from `state`."""
        self._give(Restore(state))

    def stop(self) -> None:
        """Order the end of the round that goes on."""
        self._give(Stop())

    def take_answer(self) -> MemberAnswer:
        """Wait for the answer. Raises the learner's typed error, or ChildError if its process has ended."""
        try:
            answer = self.pipe.recv()
        except (EOFError, OSError):
            raise self._ended() from None
        if isinstance(answer, PlacetoError):
            raise answer
        self.answer = answer
        return answer

    def end(self) -> None:
        """End the process."""
        self.pipe.close()
        with suppress(ProcessLookupError, PermissionError):  # it has ended
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _give(self, order: Order) -> None:
        with suppress(OSError):  # its process has ended, which `take_answer` tells
            self.pipe.send(order)

    def _ended(self) -> ChildError:
        try:
            status = self._process.wait(SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            return ChildError("a learner of the training closed its pipe", field="settings")
        if status == -signal.SIGKILL:
            what = "a learner of the training was killed"
            return ChildKilledError(
                what, allowed="another try, with fewer learners if memory ran out", field="settings"
            )
        return ChildError(f"a learner of the training ended with status {status}", field="settings")
