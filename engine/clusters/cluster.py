"""The modelled machine: devices, their memory, and the links between them."""

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from engine.clusters.catalogue import class_of_kind
from engine.errors import ClusterError

MOST_DEVICES = 64


class Contention(StrEnum):
    """Which transfers wait for each other."""

    BUS = "bus"
    """one outgoing FIFO bus a device (the published model)"""
    PAIR = "pair"
    """one FIFO channel an ordered pair of devices"""
    NONE = "none"
    """transfers are independent"""


class MemoryModel(StrEnum):
    """What occupies a device's memory."""

    FULL = "full"
    """variables, outputs until the last local consumer, copies on the consumers' devices, temporaries"""
    OUTPUTS = "outputs"
    """outputs on their producer's device alone, with whole µs (the published model)"""


@dataclass(frozen=True, slots=True)
class Device:
    """One modelled device; `kind` is a catalogue's name (`K80`) or a class (`GPU`, `CPU`)."""

    name: str
    kind: str
    memory_bytes: int

    @property
    def is_cpu(self) -> bool:
        return class_of_kind(self.kind) == "CPU"


@dataclass(frozen=True, slots=True)
class Cluster:
    """Devices and links. `bandwidth_bytes_per_us` and `latency_us` are [devices, devices], from row to column."""

    devices: tuple[Device, ...]
    contention: Contention
    bandwidth_bytes_per_us: NDArray[np.float64]
    latency_us: NDArray[np.float64]
    link_rest_us: float
    """a bus or channel rests this long after each transfer"""
    op_rest_us: float
    """a device rests this long after each op of non-zero time"""
    memory_model: MemoryModel

    def __post_init__(self) -> None:
        count = len(self.devices)
        if not 1 <= count <= MOST_DEVICES:
            raise ClusterError(
                f"{count} devices", where="devices", allowed=f"1 to {MOST_DEVICES} devices", field="cluster"
            )
        names = [device.name for device in self.devices]
        if len(set(names)) != count:
            raise ClusterError(
                "two devices have one name", where=", ".join(names), allowed="unique names", field="cluster"
            )
        assert self.bandwidth_bytes_per_us.shape == self.latency_us.shape == (count, count)
        for label, matrix in (("bandwidth_bytes_per_us", self.bandwidth_bytes_per_us), ("latency_us", self.latency_us)):
            _check_links(label, matrix, zero_allowed=label == "latency_us")
            matrix.setflags(write=False)
        for label, value in (("rest_us", self.link_rest_us), ("op_rest_us", self.op_rest_us)):
            if not (math.isfinite(value) and value >= 0):
                raise ClusterError(f"{value}", where=label, allowed="a finite number from 0", field="cluster")

    @property
    def device_count(self) -> int:
        return len(self.devices)


def _check_links(label: str, matrix: NDArray[np.float64], *, zero_allowed: bool) -> None:
    """The links between different devices must be finite and positive (a latency may be 0)."""
    between = matrix[~np.eye(len(matrix), dtype=bool)]
    bad = ~np.isfinite(between) | (between < 0) | ((between == 0) & (not zero_allowed))
    if bad.any():
        lowest = "from 0" if zero_allowed else "above 0"
        raise ClusterError(f"{between[bad][0]}", where=label, allowed=f"finite numbers {lowest}", field="cluster")
