"""The modelled machine: devices, their memory, and the links between them."""

import dataclasses
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from engine.clusters.calibration import Calibration
from engine.clusters.device_kinds import CATALOGUE, KINDS, DeviceKind, class_of_kind
from engine.errors import ClusterError, shortened

MOST_DEVICES = 256
NO_DEVICE = -1
"""used in place of a device's index"""
MOST_MEMORY_BYTES = 10**15
SMALLEST_BANDWIDTH_BYTES_PER_US = 1e-6
"""a byte a second: with less a transfer's time could leave the range of numbers"""
LARGEST_BANDWIDTH_BYTES_PER_US = 1e15
LARGEST_PRICE = 1e9
LONGEST_US = 1e12
"""longest latency or rest: eleven days"""


class Contention(StrEnum):
    """The rule by which transfers wait for each other."""

    BUS = "bus"
    """one outgoing FIFO bus a device (the published model)"""
    PAIR = "pair"
    """one FIFO channel an ordered pair of devices"""
    NONE = "none"
    """transfers are independent"""
    SENDER = "sender"
    """a transfer is work of its sender, which meanwhile computes nothing; devices run depth first"""
    HOST = "host"
    """through host memory: a GPU computes nothing while it sends, and again while it receives; CPUs are not charged"""


BUS_CODE, PAIR_CODE, NONE_CODE, SENDER_CODE, HOST_CODE = range(5)
CONTENTION_CODES = {
    Contention.BUS: BUS_CODE,
    Contention.PAIR: PAIR_CODE,
    Contention.NONE: NONE_CODE,
    Contention.SENDER: SENDER_CODE,
    Contention.HOST: HOST_CODE,
}
"""`Contention` as a number, for compiled code"""
NO_CHANNELS = (Contention.NONE, Contention.SENDER, Contention.HOST)
"""with these any number of transfers may be under way between two devices"""


class MemoryModel(StrEnum):
    """The data that occupy a device's memory."""

    FULL = "full"
    """variables, constants, fed inputs; outputs until their last local consumer, copies elsewhere, temporaries"""
    OUTPUTS = "outputs"
    """outputs on their producer's device alone, until a consumer's last whole µs (the published model)"""
    PERSISTENT = "persistent"
    """variables, constants and fed inputs alone: what a step computes is left out"""


@dataclass(frozen=True, slots=True)
class Device:
    """One modelled device; `kind` is a catalogue's name (`K80`), a class (`GPU`, `CPU`), or the name of `own`."""

    name: str
    kind: str
    memory_bytes: int
    own: DeviceKind | None = None
    """a kind that the cluster describes itself"""
    reserved_bytes: int = 0
    """part of its memory that the runtime keeps: its context, its allocator, other processes"""
    price_per_hour: float | None = None
    """what an hour of it costs, in any currency; None: nobody has said"""

    def __post_init__(self) -> None:
        assert self.own is None or (self.own.name == self.kind and self.kind not in KINDS)
        if self.own is None and self.kind not in KINDS:
            raise ClusterError(
                f"{shortened(self.kind)} is not known", where="kind", allowed=", ".join(KINDS), field="cluster"
            )
        if not 1 <= self.memory_bytes <= MOST_MEMORY_BYTES:
            allowed = f"an integer from 1 to {MOST_MEMORY_BYTES}"
            raise ClusterError(
                f"{self.memory_bytes}", where=f"memory_bytes of {self.name}", allowed=allowed, field="cluster"
            )

        if not 0 <= self.reserved_bytes < self.memory_bytes:
            raise ClusterError(
                f"{self.reserved_bytes} bytes are reserved",
                where=f"reserved_bytes of {self.name}",
                allowed=f"an integer from 0 to {self.memory_bytes - 1}, less than its memory",
                field="cluster",
            )
        if self.price_per_hour is not None and not 0 <= self.price_per_hour <= LARGEST_PRICE:
            where, allowed = f"price_per_hour of {self.name}", f"a number from 0 to {LARGEST_PRICE:g}"
            raise ClusterError(f"{self.price_per_hour}", where=where, allowed=allowed, field="cluster")

    @property
    def usable_bytes(self) -> int:
        """The memory that a step may take."""
        return self.memory_bytes - self.reserved_bytes

    @property
    def device_class(self) -> str:
        """`GPU` or `CPU`."""
        return self.own.device_class if self.own else class_of_kind(self.kind)

    @property
    def machine(self) -> str:
        """Its job, replica and task, such as `/job:worker/task:0`; empty where its name has none."""
        machine, separator, _ = self.name.partition("/device:")
        return machine if separator else ""

    @property
    def is_cpu(self) -> bool:
        return self.device_class == "CPU"

    @property
    def short_name(self) -> str:
        """`GPU 0`, for people; the whole name where it names a machine."""
        return self.name if self.machine else " ".join(self.name.removeprefix("/device:").split(":"))

    @property
    def figures(self) -> DeviceKind | None:
        """The figures of the device's kind; None for a class."""
        return self.own or CATALOGUE.get(self.kind)


@dataclass(frozen=True, slots=True)
class Cluster:
    """Devices and links. `bandwidth_bytes_per_us` and `latency_us` are [devices, devices], from row to column."""

    devices: tuple[Device, ...]
    contention: Contention
    bandwidth_bytes_per_us: NDArray[np.float64]
    latency_us: NDArray[np.float64]
    link_rest_us: float
    """a bus or channel rests this long after each transfer; with `sender` a transfer keeps its sender so much longer
    than its bytes / bandwidth"""
    op_rest_us: float
    """a device rests this long after each op of non-zero time, unless its kind has a rest of its own"""
    memory_model: MemoryModel
    op_rest_of_kind: Mapping[str, float] = field(default_factory=dict)
    """kind → rest of its devices"""
    calibration: Calibration | None = None
    """what was measured on this machine; the simulator does not read it"""

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
        if "" in (machines := {device.machine for device in self.devices}) and len(machines) > 1:
            nameless = next(device.name for device in self.devices if not device.machine)
            raise ClusterError(
                "it names no job and task, and others do",
                where=nameless,
                allowed="all devices or none",
                field="cluster",
            )
        assert self.bandwidth_bytes_per_us.shape == self.latency_us.shape == (count, count)
        smallest, largest = SMALLEST_BANDWIDTH_BYTES_PER_US, LARGEST_BANDWIDTH_BYTES_PER_US
        _check_links("bandwidth_bytes_per_us", self.bandwidth_bytes_per_us, smallest, largest)
        _check_links("latency_us", self.latency_us, 0.0, LONGEST_US)
        own_rests = [("op_rest_us", rest_us) for rest_us in self.op_rest_of_kind.values()]
        for label, value in (("rest_us", self.link_rest_us), ("op_rest_us", self.op_rest_us), *own_rests):
            if not 0 <= value <= LONGEST_US:
                raise ClusterError(
                    f"{value}", where=label, allowed=f"a number from 0 to {LONGEST_US:g}", field="cluster"
                )

    @property
    def device_count(self) -> int:
        return len(self.devices)

    @property
    def usable_bytes(self) -> NDArray[np.int64]:
        """[devices] the memory of each that a step may take."""
        return np.array([device.usable_bytes for device in self.devices], dtype=np.int64)

    def op_rest_us_on(self, kind: str) -> float:
        """The rest of a device of `kind` after each op of non-zero time."""
        return self.op_rest_of_kind.get(kind, self.op_rest_us)

    @property
    def op_rests_us(self) -> NDArray[np.float64]:
        """[devices] the rest of each after an op of non-zero time."""
        return np.array([self.op_rest_us_on(device.kind) for device in self.devices])

    @property
    def one_of_each_kind(self) -> tuple[Device, ...]:
        """A device of each kind, in the order of their names."""
        return tuple({device.kind: device for device in sorted(self.devices, key=lambda device: device.kind)}.values())


def with_reserve(cluster: Cluster, reserved_bytes: int) -> Cluster:
    """The cluster with so much of each GPU's memory kept by the runtime. Raises ClusterError for all of it, or more."""
    devices = [
        device if device.is_cpu else dataclasses.replace(device, reserved_bytes=reserved_bytes)
        for device in cluster.devices
    ]
    return dataclasses.replace(cluster, devices=tuple(devices))


def with_prices(cluster: Cluster, prices: Mapping[str, float]) -> Cluster:
    """The cluster with `prices` an hour, kind → price of a device; other kinds keep theirs.

    Raises ClusterError for a kind of which it has no device, and for a price out of range.
    """
    kinds = {device.kind for device in cluster.devices}
    for kind in prices:
        if kind not in kinds:
            what, allowed = f"the cluster has no {shortened(kind)}", ", ".join(sorted(kinds))
            raise ClusterError(what, where="price", allowed=allowed, field="cluster")
    devices = [
        dataclasses.replace(device, price_per_hour=prices.get(device.kind, device.price_per_hour))
        for device in cluster.devices
    ]
    return dataclasses.replace(cluster, devices=tuple(devices))


def price_per_hour(devices: Iterable[Device]) -> float | None:
    """What an hour of all `devices` costs; None where one of them has no price."""
    prices = [device.price_per_hour for device in devices]
    known = [price for price in prices if price is not None]
    return math.fsum(known) if len(known) == len(prices) else None


def part_of_cluster(cluster: Cluster, devices: NDArray[np.integer]) -> Cluster:
    """The cluster of `devices` alone, with the links between them."""
    between = np.ix_(devices, devices)
    return dataclasses.replace(
        cluster,
        devices=tuple(cluster.devices[device] for device in devices.tolist()),
        bandwidth_bytes_per_us=cluster.bandwidth_bytes_per_us[between],
        latency_us=cluster.latency_us[between],
    )


def _check_links(label: str, matrix: NDArray[np.float64], lowest: float, highest: float) -> None:
    """Raise ClusterError unless all links between different devices lie in the range, both ends included."""
    matrix.setflags(write=False)
    between = matrix[~np.eye(len(matrix), dtype=bool)]
    bad = ~((between >= lowest) & (between <= highest))
    if bad.any():
        allowed = f"numbers from {lowest:g} to {highest:g}"
        raise ClusterError(f"{between[bad][0]}", where=label, allowed=allowed, field="cluster")
