"""Reads a run's events, live or stored, and keeps the facts for the table and the figure of a comparison."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.comparing.curve import BestSoFar
from engine.events import Baseline, Emitted, Episode, Json, NumberedEvent, Started
from engine.run_request import TRIVIAL_BASELINES

SINGLE_DEVICE = "single_device"


@dataclass(slots=True)
class Listener:
    """The facts from one run's events so far."""

    curve: BestSoFar = field(default_factory=BestSoFar)
    method: str = ""
    evaluations: int = 0
    """the budget"""
    lower_bound_us: float | None = None
    one_device_us: float | None = None
    """step time of the best single device; None if none has room, or before it is known"""
    own_best_us: float | None = None
    """step time of the best feasible placement that the method found, without the trivial ones at the beginning"""
    elapsed_seconds: float = 0.0
    settings: dict[str, Json] = field(default_factory=dict)
    engine_version: str = ""

    def to_json(self) -> dict[str, Json]:
        """The fields as JSON."""
        fields: dict[str, Json] = dataclasses.asdict(self)
        return fields

    @staticmethod
    def from_json(values: Mapping[str, Any]) -> "Listener":
        """The inverse of `to_json`."""
        curve = values["curve"]
        improvements = [(int(evaluations), float(best_us)) for evaluations, best_us in curve["improvements"]]
        return Listener(**{**values, "curve": BestSoFar(improvements, curve["evaluations"])})

    def add(self, item: Emitted) -> None:
        """Add an event or ignore a checkpoint: the `emit` of a `Run`."""
        if isinstance(item, NumberedEvent):
            self.add_json(item.to_json())

    def add_json(self, event: Mapping[str, Any]) -> None:
        """Add an event in the form of `NumberedEvent.to_json`."""
        kind = event["type"]
        if kind == Started.type:
            self.method, self.evaluations = event["method"], event["evaluations"]
            self.lower_bound_us = event["lower_bound_us"]
            self.settings, self.engine_version = event["settings"], event["engine_version"]
        elif kind == Baseline.type and event["method"] == SINGLE_DEVICE:
            self.one_device_us = event["step_time_us"]
            if self.method not in TRIVIAL_BASELINES:  # all other methods evaluate these at their beginning
                self.curve.note(min(event["evaluations"], self.evaluations), self.one_device_us)
        elif kind == Episode.type:
            self.curve.note(event["evaluations"], event["best_step_time_us"])
            self.elapsed_seconds = event["elapsed_seconds"]
            if event["feasible"] and (self.own_best_us is None or event["step_time_us"] < self.own_best_us):
                self.own_best_us = event["step_time_us"]
