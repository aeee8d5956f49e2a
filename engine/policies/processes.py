"""The processes of one training: those that it starts on this machine, or those that torchrun started on any hosts.

On this machine the process that asks for the training is the first, and the others are its children, which it replaces
when they end. They meet by a file and talk over loopback. A child gets its plan through its standard input, as a pickle
that nobody else can write. Under torchrun all are equal, and torchrun replaces them. Loads torch.

    python -m engine.policies.processes     one of the children; not for people
"""

import ipaddress
import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import NamedTuple, cast

from torch import cuda
from torch.distributed import FileStore, TCPStore, get_node_local_rank  # type: ignore[attr-defined]  # documented
from torch.distributed.rendezvous import rendezvous

from engine.child.process import bind_to_parent
from engine.errors import SettingsError
from engine.policies.meeting import LOOPBACK, LostLearnerError, Meeting, lost
from engine.policies.team_plan import TeamPlan

COMMAND = [sys.executable, "-m", "engine.policies.processes"]


class ChildPlan(NamedTuple):
    """What a child reads from its standard input."""

    parent: int
    """number of the parent's process"""
    file: str
    """by which all meet"""
    rank: int
    plan: TeamPlan

    def meet(self) -> Meeting:
        """Join the parent and the other children."""
        size = self.plan.count
        return Meeting(FileStore(self.file, size), self.rank, size, LOOPBACK, lambda: None)


class OwnProcesses:
    """The children of this process, one for each learner but the first."""

    def __init__(self, plan: TeamPlan) -> None:
        self._plan = plan
        self._children: list[subprocess.Popen[bytes]] = []

    def meet(self) -> Meeting:
        """Start all children anew, and wait for them. Raises LostLearnerError."""
        self.close()
        size, self._folder = self._plan.count, tempfile.TemporaryDirectory(prefix="placeto-")
        file = f"{self._folder.name}/store"
        for rank in range(1, size):
            cwd = Path(__file__).parents[2]
            child = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, cwd=cwd, start_new_session=True)  # noqa: S603
            self._children.append(child)
            plan = ChildPlan(os.getpid(), file, rank, self._plan.of_process(rank, size))
            Thread(target=_tell, args=(child, plan), daemon=True).start()
        return Meeting(FileStore(file, size), 0, size, LOOPBACK, self._require_all)

    def _require_all(self) -> None:
        statuses = [child.poll() for child in self._children]
        if any(status is not None for status in statuses):
            raise lost("it ended before it began")

    def close(self) -> None:
        """End the children."""
        for child in self._children:
            with suppress(ProcessLookupError, PermissionError):  # it has ended
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        self._children.clear()


def _tell(child: "subprocess.Popen[bytes]", plan: ChildPlan) -> None:
    assert child.stdin is not None
    with suppress(OSError), child.stdin as pipe:  # where it has ended, its parent notices
        pickle.dump(plan, pipe)


def learn_beside(told: ChildPlan) -> None:
    """Learn as a child, until the training is over or another process is gone."""
    from engine.policies.team import LearnerTeam

    bind_to_parent(told.parent)
    _choose_gpu(told.rank)
    with suppress(LostLearnerError):
        team = LearnerTeam(told.plan, told.meet, lambda: False)
        while team.done < 1.0 and not team.stopped:
            team.step()


def meet_by_torchrun(plan: TeamPlan) -> Meeting:
    """Join the processes that torchrun started. Raises SettingsError if they train something else."""
    store, rank, size = next(iter(rendezvous("env://")))
    if size > plan.count:
        what, allowed = f"{plan.count} for {size} processes of torchrun", "a learner, and a problem, for each process"
        raise SettingsError(what, where="learners", allowed=allowed, field="learners")
    _choose_gpu(get_node_local_rank())
    meeting = Meeting(store, rank, size, _address_towards(cast(TCPStore, store)), lambda: None)
    if len(set(meeting.exchange(plan.digest(), lambda: None))) > 1:
        allowed = "the same graphs, clusters, seed and settings on each host"
        raise SettingsError("the processes do not train the same", where="torchrun", allowed=allowed, field="settings")
    return meeting


def _address_towards(store: TCPStore) -> str:
    """The address of this host from which it reaches the store's; nothing is sent."""
    family, *_, target = socket.getaddrinfo(store.host, store.port, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, socket.SOCK_DGRAM) as towards:
        towards.connect(target)
        address = str(towards.getsockname()[0])
    return LOOPBACK if ipaddress.ip_address(address).is_loopback else address


def _choose_gpu(number: int) -> None:
    if cuda.is_available():
        cuda.set_device(number % cuda.device_count())


if __name__ == "__main__":
    from engine.policies import processes as imported  # so that both sides have the same classes

    imported.learn_beside(pickle.load(sys.stdin.buffer))  # noqa: S301  # its parent alone writes there
