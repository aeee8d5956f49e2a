"""TensorFlow's device strings, such as `/job:worker/task:3/device:GPU:1` or `/gpu:0`, part by part."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields

from engine.errors import GraphError, shortened

DROP_DEVICES = "--drop-devices"
"""the option with which a run ignores the devices that the file fixes; a page names its field instead"""
DEVICE_STRINGS = "/device:TYPE:N, with /job:, /replica: and /task: where there are any"

_PARTS = re.compile(
    r"""(?:/job:(?P<job>[A-Za-z][A-Za-z0-9_]*)|/replica:(?P<replica>[0-9]{1,9}|\*)|/task:(?P<task>[0-9]{1,9}|\*)
    |/(?:device:)?(?P<type>(?<=device:)[A-Za-z][A-Za-z0-9_]*|[cC][pP][uU]|[gG][pP][uU]):(?P<index>[0-9]{1,9}|\*))""",
    re.VERBOSE | re.ASCII,
)


@dataclass(frozen=True, slots=True)
class DeviceString:
    """The parts of a device string; an empty part allows any device."""

    job: str = ""
    replica: str = ""
    task: str = ""
    type: str = ""
    """in capitals, such as `GPU`"""
    index: str = ""

    @property
    def machine(self) -> "DeviceString":
        """Job, replica and task alone."""
        return DeviceString(self.job, self.replica, self.task)

    @property
    def on_its_machine(self) -> "DeviceString":
        """Type and number alone."""
        return DeviceString(type=self.type, index=self.index)

    def agrees_with(self, other: "DeviceString") -> bool:
        """Whether one device can fit both strings."""
        return all(one == two or not one or not two for one, two in self._beside(other))

    def joined_with(self, other: "DeviceString") -> "DeviceString":
        """The parts of both, which must agree."""
        return DeviceString(*(one or two for one, two in self._beside(other)))

    def _beside(self, other: "DeviceString") -> Iterator[tuple[str, str]]:
        return ((getattr(self, field.name), getattr(other, field.name)) for field in fields(self))


def parse_device_string(text: str, op_name: str) -> DeviceString:
    """The parts of `text`, the device of op `op_name`; empty text allows any device. Raises GraphError."""
    parts: dict[str, str] = {}
    position = 0
    while position < len(text):
        match = _PARTS.match(text, position)
        found = {key: part for key, part in match.groupdict().items() if part is not None} if match else {}
        if match is None or found.keys() & parts.keys():
            what = f"{shortened(text)} is not a device"
            raise GraphError(what, where=shortened(op_name), allowed=DEVICE_STRINGS, field="file")
        parts |= found
        position = match.end()
    numbers = {
        key: "" if parts[key] == "*" else str(int(parts[key])) for key in ("replica", "task", "index") if key in parts
    }
    return DeviceString(job=parts.get("job", ""), type=parts.get("type", "").upper(), **numbers)


def machines_of(devices: Iterable[str]) -> list[DeviceString]:
    """The machines that the `devices`, which are valid, name by job, replica and task: one where all of them agree.

    Of several, the parts that each device gives; sorted as texts.
    """
    machines = {parse_device_string(text, "").machine for text in set(devices)} - {DeviceString()}
    joined = DeviceString()
    for machine in machines:
        if not joined.agrees_with(machine):
            return sorted(machines, key=spelled_device)
        joined = joined.joined_with(machine)
    return [joined] if machines else []


def spelled_device(device: DeviceString) -> str:
    """TensorFlow's full form of `device`; the inverse of `parse_device_string`."""
    numbered = f"/device:{device.type}:{device.index or '*'}" if device.type else ""
    parts = (("job", device.job), ("replica", device.replica), ("task", device.task))
    return "".join(f"/{key}:{value}" for key, value in parts if value) + numbered
