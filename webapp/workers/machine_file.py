"""The file in which `calibrate` has written a machine as a cluster; any host of a web server or worker may have one."""

from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from engine import api

MOST_BYTES = 1024**2


@dataclass(frozen=True, slots=True)
class MeasuredMachine:
    """A measured machine, or why it is not offered; neither where nothing was measured."""

    cluster: api.Cluster | None = None
    """which has a calibration"""
    fault: str = ""
    """why the file cannot be used; empty if it can, or if there is none"""


def own_machine() -> MeasuredMachine:
    """Read the file named in the settings, which may have changed since the last time."""
    path = Path(settings.MACHINE)
    try:
        if path.stat().st_size > MOST_BYTES:
            return MeasuredMachine(fault=f"{path.name} is not offered: it is larger than 1 MiB.")
        text = path.read_text()
    except FileNotFoundError:
        return MeasuredMachine()
    except (OSError, ValueError) as error:
        return MeasuredMachine(fault=f"{path.name} is not offered: {error}.")
    return parse_machine(text, path.name)


def parse_machine(text: str, name: str) -> MeasuredMachine:
    """The machine whose cluster JSON is `text`, from the file `name`."""
    try:
        cluster = api.parse_cluster(text)
    except api.ClusterError as error:
        return MeasuredMachine(fault=f"{name} is not offered: {error}.")
    if cluster.calibration is None:
        return MeasuredMachine(fault=f"{name} is not offered: it is no cluster that `calibrate` has written.")
    return MeasuredMachine(cluster)
