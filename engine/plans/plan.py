"""A plan: replicas of a model, each on devices of its own with its share of a batch, and how they are kept alike."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.events import Json
from engine.plans.collectives import Algorithm
from engine.simulator.streams.stream import Pipeline, Recompute, Stream


@dataclass(frozen=True, slots=True, eq=False)
class Replica:
    """One replica: its micro-batches flow through its own devices."""

    devices: tuple[int, ...]
    """of the cluster"""
    placement: NDArray[np.int32]
    """[groups] → index of `devices`"""
    micro_batch: int
    """samples of a micro-batch"""
    micro_batches: int
    """of the replica's share of a batch"""
    turns: tuple[tuple[int, ...], ...] = ()
    """sets of indices of `devices`: the micro-batches of the first one's groups go to each of the set in turn, which
    replicates a stage as PipeDream does; no more turns than micro-batches"""

    @property
    def samples(self) -> int:
        """Of its share of a batch."""
        return self.micro_batch * self.micro_batches

    def routes(self) -> NDArray[np.int32]:
        """[routes, groups] the placement of micro-batch m is that of route m mod routes."""
        routes = np.tile(self.placement, (math.lcm(*map(len, self.turns)), 1))
        assert len(routes) <= self.micro_batches, "a device would never have its turn"
        for devices in self.turns:
            is_there = self.placement == devices[0]
            for micro in range(len(routes)):
                routes[micro, is_there] = devices[micro % len(devices)]
        return routes

    def used(self) -> set[int]:
        """The devices of the cluster on which it runs anything."""
        own = {*np.unique(self.placement).tolist(), *(device for devices in self.turns for device in devices)}
        return {self.devices[index] for index in own}

    def to_json(self) -> dict[str, Json]:
        """The row of a replica in a plan's JSON."""
        device = np.array(self.devices)[self.placement]
        return {**self.in_short(), "device_of_group": device.tolist()}

    @staticmethod
    def from_json(row: Mapping[str, Any]) -> "Replica":
        """The inverse of `to_json`, for what this version has written."""
        index_of = {device: index for index, device in enumerate(row["devices"])}
        placement = np.array([index_of[device] for device in row["device_of_group"]], np.int32)
        turns = tuple(tuple(index_of[device] for device in devices) for devices in row["turns"])
        return Replica(tuple(row["devices"]), placement, row["micro_batch"], row["micro_batches"], turns)

    def in_short(self) -> dict[str, Json]:
        """The row without its groups."""
        return {
            "devices": [*self.devices],
            "micro_batch": self.micro_batch,
            "micro_batches": self.micro_batches,
            "turns": [[self.devices[index] for index in devices] for devices in self.turns],
        }


@dataclass(frozen=True, slots=True)
class PlanRules:
    """What holds for all plans of a search."""

    pipeline: Pipeline
    recompute: Recompute = Recompute.NONE
    shards_optimizer: bool = False
    """whether each replica keeps and updates one part in N of the optimizer's state (ZeRO-1)"""
    algorithm: Algorithm = Algorithm.FASTEST
    contiguous: bool = False
    """whether each device of a replica runs one contiguous part of each pass"""

    def stream(self, micro_batches: int) -> Stream:
        """The stream of one replica."""
        return Stream(micro_batches, self.pipeline, self.contiguous, self.recompute)

    @staticmethod
    def from_json(value: Json) -> "PlanRules":
        """The inverse of `to_json`. Raises KeyError, TypeError or ValueError for what this version never writes."""
        fields: Any = value
        return PlanRules(
            Pipeline(fields["pipeline"]),
            Recompute(fields["recompute"]),
            fields["shards_optimizer"],
            Algorithm(fields["algorithm"]),
            fields["contiguous"],
        )

    def to_json(self) -> dict[str, Json]:
        """The field `rules` of a plan's JSON."""
        return {
            "pipeline": str(self.pipeline),
            "recompute": str(self.recompute),
            "shards_optimizer": self.shards_optimizer,
            "algorithm": str(self.algorithm),
            "contiguous": self.contiguous,
        }


@dataclass(frozen=True, slots=True)
class Plan:
    """Replicas that train, or serve, one batch together."""

    replicas: tuple[Replica, ...]

    @property
    def samples(self) -> int:
        """Of a batch."""
        return sum(replica.samples for replica in self.replicas)
