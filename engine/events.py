"""The events of a run, or of a search for plans: numbered from 1, typed, versioned, kept as JSON. See docs/formats."""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias, get_args

EVENT_VERSION = 1

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


@dataclass(frozen=True, slots=True)
class Started:
    """The run begins, with its method, settings and budget."""

    type: ClassVar[str] = "started"
    method: str
    settings: dict[str, Json]
    seed: int
    evaluations: int
    groups: int
    devices: list[str]
    lower_bound_us: float
    engine_version: str
    policy: str | None = None
    """the name on the card of the trained policy that it begins from"""
    levels: list[int] = field(default_factory=list)
    """the numbers of groups of the levels that it searches, the coarsest first; none where it has `groups` alone"""


@dataclass(frozen=True, slots=True)
class Baseline:
    """A placer to compare with has been evaluated, beside the run and outside its budget."""

    type: ClassVar[str] = "baseline"
    method: str
    """one of the request's baselines"""
    step_time_us: float | None
    """its best feasible placement; None where it has none"""
    mean_step_time_us: float | None
    """mean of all its evaluations"""
    evaluations: int
    note: str
    """why it has no feasible placement, or an empty string"""
    placement: list[int] | None = None
    """[groups] its best feasible placement, the answer of a run that is cut off before it finds a better one; baselines
    split no group"""
    peak_bytes: list[int] | None = None
    """[devices] of that placement; None without one, and in events before version 0.2.0"""
    wall_seconds: float | None = None
    """that all its evaluations took; None in events before version 0.2.0"""


@dataclass(frozen=True, slots=True)
class Episode:
    """One pass of a method over the groups (for a method without episodes: one placement it evaluated)."""

    type: ClassVar[str] = "episode"
    episode: int
    """numbered from 1"""
    step_time_us: float
    feasible: bool
    best_step_time_us: float | None
    """best feasible so far in this run, trivial placements included"""
    evaluations: int
    """used so far"""
    elapsed_seconds: float
    placement: list[int]
    """[groups] device of each group, -1 where its parts are on several"""
    parts: list[list[int]] = field(default_factory=list)
    """[finer levels] the devices of the parts of what is -1: see `SplitPlacement`"""
    level_groups: int | None = None
    """the number of groups of the level at which it was found; None in events before version 0.2.0"""


@dataclass(frozen=True, slots=True)
class Update:
    """A method has learned: means over what it learned from since its last update; None where it has no such number."""

    type: ClassVar[str] = "update"
    episode: int
    """number of the last episode so far"""
    evaluations: int
    """used so far"""
    elapsed_seconds: float
    mean_return: float | None
    """of an episode, as the method counts it: the higher, the better"""
    return_baseline: float | None
    """the return that the method expected"""
    memory_penalty: float | None
    """part of the return that memory which is missing at an episode's end takes, at least 0"""
    entropy: float | None
    """of a decision, in nats"""
    gradient_norm: float | None
    """before it is clipped"""
    learning_rate: float | None


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of long work that is no episode: building, reading, costing."""

    type: ClassVar[str] = "progress"
    stage: str
    done: int
    total: int
    """0 if it is not known"""


@dataclass(frozen=True, slots=True)
class PlanFound:
    """A search for plans has found one that fits in memory: a usual one, or the fastest of its division so far."""

    type: ClassVar[str] = "plan"
    batch_time_us: float
    samples_per_second: float | None
    """None where the batch takes no time"""
    peak_bytes: list[int]
    """[devices]"""
    replicas: list[dict[str, Json]]
    """each with its `devices`, `micro_batch`, `micro_batches` and `turns`"""
    is_best: bool
    """whether it is faster than all before it"""
    usual: str | None = None
    """the name of a usual plan, as in the report; None for one that the search has found"""


@dataclass(frozen=True, slots=True)
class Finished:
    """It has ended by itself, with the report of docs/formats.md; a run's placement is the device of each group."""

    type: ClassVar[str] = "finished"
    report: dict[str, Json]


@dataclass(frozen=True, slots=True)
class PlacerState:
    """A placer's state between two episodes, from which it can continue as if never stopped. Bytes without pickle."""

    state: bytes


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state of a whole run right after event `seq`. It is not an event.

    A store keeps it in one transaction with the events up to `seq`, so that continuing from it neither loses nor
    repeats an event.
    """

    seq: int
    state: bytes


@dataclass(frozen=True, slots=True)
class LearnedPolicy:
    """A method's policy when the method ends or stops, from which its decisions can be computed again. No event."""

    policy: bytes


Event: TypeAlias = Started | Baseline | Episode | Update | Progress | PlanFound | Finished


@dataclass(frozen=True, slots=True)
class NumberedEvent:
    """An event and its number in its run, from 1."""

    seq: int
    event: Event

    def to_json(self) -> dict[str, Json]:
        """The event as `{"seq", "type", "version", ...fields}`."""
        names = [field.name for field in dataclasses.fields(self.event)]
        fields: dict[str, Json] = {name: getattr(self.event, name) for name in names}  # `asdict` copies each number
        return {"seq": self.seq, "type": self.event.type, "version": EVENT_VERSION, **fields}

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> "NumberedEvent":
        """The inverse of `to_json`. Raises KeyError, TypeError or ValueError for what this version never emits."""
        fields = dict(value)
        seq, kind, version = (fields.pop(name) for name in ("seq", "type", "version"))
        if version != EVENT_VERSION:
            raise ValueError(f"an event of version {version}; this is version {EVENT_VERSION}")
        return NumberedEvent(seq, {event.type: event for event in get_args(Event)}[kind](**fields))


FromPlacer: TypeAlias = Episode | Update | Progress | PlacerState | LearnedPolicy
EmitFromPlacer: TypeAlias = Callable[[FromPlacer], None]
"""the function to which a placer emits events"""
Emitted: TypeAlias = NumberedEvent | Checkpoint | LearnedPolicy
Emit: TypeAlias = Callable[[Emitted], None]
"""the function to which a run emits events"""
ShouldStop: TypeAlias = Callable[[], bool]
