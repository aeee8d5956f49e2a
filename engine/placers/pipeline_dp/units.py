"""The units that a pipeline is split into, as plain arrays: what they take on each class of devices, what they send."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.graphs.ordering import Pairs


@dataclass(frozen=True, slots=True)
class StageUnits:
    """Sets of groups that share a device, in a partial order, and the outputs that pass between them.

    A stage is a set of units on one device. Its load is the sum of its units' times, plus `send_us` of each of its
    outputs that is used elsewhere, plus `receive_us` of each output from elsewhere that it uses; or, if greater, the
    sum of `channel_us` of its outputs that are used elsewhere. Classes are of devices that look alike to a stage.
    """

    before: Pairs
    """[pairs, 2] units (first, second): the device of the first is that of the second or comes before it; acyclic"""
    time_us: NDArray[np.float64]
    """[classes, units] rests included; infinite where the unit may not go"""
    kept_bytes: NDArray[np.int64]
    """[units] bytes that it occupies on its device"""
    producer: NDArray[np.int32]
    """[outputs] the unit that makes it; only outputs that other units use are here"""
    consumer_offset: NDArray[np.int64]
    """[outputs + 1] where the consumers of each begin"""
    consumer: NDArray[np.int32]
    """[uses] the other units that use each output, each once"""
    send_us: NDArray[np.float64]
    """[classes, outputs]"""
    receive_us: NDArray[np.float64]
    """[classes, outputs]"""
    channel_us: NDArray[np.float64]
    """[classes, outputs]"""
    devices: NDArray[np.int64]
    """[classes] number of devices of each class"""
    memory_bytes: NDArray[np.int64]
    """[classes] what fits a device of each class"""

    def __post_init__(self) -> None:
        assert self.time_us.shape == (self.class_count, self.unit_count)
        assert len(self.consumer_offset) == len(self.producer) + 1
        shape = (self.class_count, len(self.producer))
        assert self.send_us.shape == self.receive_us.shape == self.channel_us.shape == shape

    @property
    def unit_count(self) -> int:
        return len(self.kept_bytes)

    @property
    def class_count(self) -> int:
        return len(self.devices)

    def is_free(self) -> NDArray[np.bool_]:
        """[outputs] whether passing the output on costs nothing."""
        return np.asarray((self.send_us + self.receive_us + self.channel_us).max(axis=0, initial=0.0) == 0.0)

    def merged(self, unit_of: NDArray[np.int32]) -> "StageUnits":
        """The units of which each consists of all units of one number in `unit_of` [units], numbers from 0."""
        count = int(unit_of.max()) + 1
        time_us = np.zeros((self.class_count, count))
        kept_bytes = np.zeros(count, dtype=np.int64)
        for row, times in zip(time_us, self.time_us, strict=True):
            np.add.at(row, unit_of, times)
        np.add.at(kept_bytes, unit_of, self.kept_bytes)
        output_of_use = np.repeat(np.arange(len(self.producer)), np.diff(self.consumer_offset))
        uses = np.unique(np.stack([output_of_use, unit_of[self.consumer]], axis=1), axis=0)
        uses = uses[uses[:, 1] != unit_of[self.producer[uses[:, 0]]]]
        kept, output_of_use = np.unique(uses[:, 0], return_inverse=True)
        before = unit_of[self.before]
        return StageUnits(
            before=np.unique(before[before[:, 0] != before[:, 1]], axis=0).astype(np.int32),
            time_us=time_us,
            kept_bytes=kept_bytes,
            producer=unit_of[self.producer[kept]].astype(np.int32),
            consumer_offset=np.concatenate(([0], np.cumsum(np.bincount(output_of_use, minlength=len(kept))))),
            consumer=uses[:, 1].astype(np.int32),
            send_us=np.ascontiguousarray(self.send_us[:, kept]),
            receive_us=np.ascontiguousarray(self.receive_us[:, kept]),
            channel_us=np.ascontiguousarray(self.channel_us[:, kept]),
            devices=self.devices,
            memory_bytes=self.memory_bytes,
        )
