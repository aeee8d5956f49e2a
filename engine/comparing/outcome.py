"""The outcome of one method with one seed: a row of the report of `compare`."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.comparing.curve import Point
from engine.events import Json

CLOSE = 0.01
"""a run counts as arrived when the relative gap of its best to its final best is at most this"""

OF_A_STREAM = ("batch_time_us", "micro_batches_per_second", "samples_per_second")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one method with one seed, ended or still running."""

    method: str
    seed: int
    step_time_us: float | None = None
    """of its best feasible placement, or if none fits of the one that misses the least; None without a placement"""
    feasible: bool = False
    reason: str = ""
    """why there is no feasible placement: the device that lacks memory and by how much, or the method's failure"""
    peak_bytes: tuple[int, ...] = ()
    """[devices]"""
    evaluations: int = 0
    """evaluations used"""
    wall_seconds: float = 0.0
    lower_bound_us: float | None = None
    one_device_us: float | None = None
    """step time of the best single device; None if the graph fits none"""
    own_best_us: float | None = None
    """best step time that the method itself found; a single device may be better"""
    evaluations_to_best: int | None = None
    """evaluations until the relative gap of its best to its final best was at most `CLOSE`"""
    curve: tuple[Point, ...] = ()
    """[points] the best so far"""
    ended: bool = True
    settings: dict[str, Json] = field(default_factory=dict)
    engine_version: str = ""
    device_of_group: tuple[int, ...] = ()
    """[groups] empty without a placement"""
    parts: tuple[tuple[int, ...], ...] = ()
    """of groups that are split: see `SplitPlacement`"""
    devices_used: int | None = None
    crossing_edges: int | None = None
    """edges between ops on different devices"""
    batch_time_us: float | None = None
    """in a stream, of the whole batch: what its rows are judged by; None of a step, and before the run has ended"""
    micro_batches_per_second: float | None = None
    """in a stream, micro-batches / batch time"""
    samples_per_second: float | None = None
    """in a stream of a graph that says of how many samples its step is"""
    verdict: dict[str, Json] | None = None
    """see `engine.explaining.verdict`; None without a placement, and in outcomes before version 0.3.0"""
    simplest: dict[str, Json] | None = None
    """the simplest placement near this one, as a run's report has it; None where none fits"""

    @property
    def rank(self) -> tuple[bool, float]:
        """What outcomes with a placement are ordered by: the batch in a stream, where it is known; the step."""
        in_stream = self.batch_time_us is not None
        return not in_stream, (self.batch_time_us if in_stream else self.step_time_us) or 0.0

    def to_json(self) -> dict[str, Json]:
        """The fields as JSON; those of a stream only in one."""
        fields: dict[str, Json] = dataclasses.asdict(self)
        return {name: _as_list(value) for name, value in fields.items() if value is not None or name not in OF_A_STREAM}


def outcome_from_json(values: Mapping[str, Any]) -> Outcome:
    """The inverse of `Outcome.to_json`. Raises TypeError, KeyError or ValueError for values that it did not write."""
    curve = tuple((int(evaluations), float(best_us)) for evaluations, best_us in values["curve"])
    lists = {
        "peak_bytes": tuple(values["peak_bytes"]),
        "device_of_group": tuple(values["device_of_group"]),
        "parts": tuple(tuple(part) for part in values.get("parts", ())),
    }
    return Outcome(**{**values, **lists, "curve": curve})


def _as_list(value: object) -> Any:  # the same value, with lists where JSON has no tuples
    return [_as_list(item) for item in value] if isinstance(value, tuple) else value
