"""The machine that `python -m engine calibrate` has measured: its cluster, which forms offer as "this machine"."""

from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from engine import api

CHOICE = "this-machine"
"""value of the option; no device kind has such a name"""
LABEL = "This machine"
MOST_BYTES = 1024**2


@dataclass(frozen=True, slots=True)
class ThisMachine:
    """The measured machine, or why it is not offered."""

    cluster: api.Cluster | None = None
    fault: str = ""
    """why the file cannot be used; empty if it can, or if there is none"""

    @property
    def attributes(self) -> dict[str, object]:
        """What the page's scripts know of it: it is a whole cluster, in these words."""
        assert self.cluster is not None and self.cluster.calibration is not None
        device, measured = self.cluster.devices[0], self.cluster.calibration
        return {
            "data-whole": f"this machine, {measured.machine}, measured {measured.date}",
            "data-memory-bytes": device.memory_bytes,
            "data-class": device.device_class,
        }


def this_machine() -> ThisMachine:
    """Read the file named in the settings, which may have changed since the last time."""
    path = Path(settings.MACHINE)
    try:
        if path.stat().st_size > MOST_BYTES:
            return ThisMachine(fault=f"{path.name} is not offered: it is larger than 1 MiB.")
        text = path.read_text()
    except FileNotFoundError:
        return ThisMachine()
    except (OSError, ValueError) as error:
        return ThisMachine(fault=f"{path.name} is not offered: {error}.")
    try:
        cluster = api.parse_cluster(text)
    except api.ClusterError as error:
        return ThisMachine(fault=f"{path.name} is not offered: {error}.")
    if cluster.calibration is None:
        return ThisMachine(fault=f"{path.name} is not offered: it is no cluster that `calibrate` has written.")
    return ThisMachine(cluster)
