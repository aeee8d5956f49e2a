"""The processes that stand for devices: how many there may be, and how one ended. Without TensorFlow."""

import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from engine.child.parent import kills_for_memory
from engine.errors import ChildError, ChildKilledError, ClusterError, LimitError, PlacetoError
from engine.simulator.batches import usable_cores

ALWAYS = 2
"""processes that are allowed even on a machine with one processor: fewer have no link to measure"""


@dataclass(frozen=True, slots=True)
class DeviceProcess:
    """A process that stands for a device."""

    device: str
    """its name in the placement"""
    process: subprocess.Popen[str]
    kills_before: int | None
    """processes that the system had killed for memory before this one began; None where it does not say"""

    def require_running(self) -> None:
        """Raise what `ended` returns if it has ended."""
        status = self.process.poll()
        if status is not None:
            raise self.ended(status)

    def ended(self, status: int) -> PlacetoError:
        """The error for its end, by its exit status: LimitError, ChildKilledError or ChildError."""
        end = f"signal {signal.Signals(-status).name}" if status < 0 else f"status {status}"
        what = f"the process of this device ended with {end}"
        if status != -signal.SIGKILL:
            return ChildError(what, where=self.device)
        if self.kills_before is not None and self.kills_before == kills_for_memory():
            return ChildKilledError(f"{what}: something killed it", where=self.device, allowed="another try")
        allowed = "placements that fit in its memory"
        return LimitError(f"{what}: the machine ran out of memory", where=self.device, allowed=allowed)


def most_processes() -> int:
    """The most devices that may be processes: one for each processor of this process, or `ALWAYS`."""
    return max(ALWAYS, usable_cores())


def require_few(devices: Sequence[str]) -> None:
    """Raise ClusterError for more `devices` than may be processes."""
    most = most_processes()
    if len(devices) > most:
        allowed = f"at most {most} on this machine, one for each processor, or {ALWAYS}"
        what = f"{len(devices)} devices would be as many processes"
        raise ClusterError(what, where="cluster", allowed=allowed, field="cluster")
