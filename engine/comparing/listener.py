"""Reads a run's events, live or stored, and keeps the facts for the table and the figure of a comparison."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.comparing.curve import BestSoFar
from engine.comparing.outcome import CLOSE, Outcome
from engine.events import Baseline, Emitted, Episode, Json, NumberedEvent, Started
from engine.run.request import TRIVIAL_BASELINES

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

    def outcome(
        self,
        method: str,
        seed: int,
        report: Mapping[str, Any],
        *,
        feasible: bool,
        reason: str = "",
        ended: bool = True,
    ) -> Outcome:
        """The outcome of a run with these events and this report, of which fields may be missing while it works."""
        step_time_us: float | None = report.get("step_time_us")
        reached = None
        if feasible and step_time_us is not None:
            reached = self.curve.evaluations_to_reach(step_time_us * (1 + CLOSE))
        return Outcome(
            method=method,
            seed=seed,
            step_time_us=step_time_us,
            feasible=feasible,
            reason=reason,
            peak_bytes=tuple(report.get("peak_bytes", ())),
            evaluations=report.get("evaluations", 0),
            wall_seconds=report.get("wall_seconds", self.elapsed_seconds),
            lower_bound_us=self.lower_bound_us,
            one_device_us=self.one_device_us,
            own_best_us=self.own_best_us,
            evaluations_to_best=reached,
            curve=tuple(self.curve.points()) if feasible else (),
            ended=ended,
            settings=self.settings,
            engine_version=self.engine_version,
            device_of_group=tuple(report.get("device_of_group", ())),
            parts=tuple(tuple(part) for part in report.get("parts", ())),
            devices_used=report.get("devices_used"),
            crossing_edges=report.get("crossing_edges"),
            batch_time_us=report.get("batch_time_us"),
            micro_batches_per_second=report.get("micro_batches_per_second"),
            samples_per_second=report.get("samples_per_second"),
            verdict=report.get("verdict"),
            simplest=report.get("simplest"),
        )

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
