"""What a server has, as rows: the fields that matter by name, and the whole answer in `values`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, ClassVar, TypeVar

ROW = TypeVar("ROW", bound="Row")
TIMES = ("created_at", "started_at", "finished_at")


@dataclass(frozen=True)
class Row:
    """A row of the server as it was when it was asked."""

    id: str
    values: Mapping[str, Any] = field(repr=False, compare=False)
    """all that the server says of it"""

    KIND: ClassVar[str]
    """the part of an address that names such rows: `runs`"""

    @classmethod
    def of(cls: type[ROW], values: Mapping[str, Any], **more: Any) -> ROW:
        """From an answer of the server; fields of a newer one are in `values` alone."""
        names = [each.name for each in fields(cls) if each.name in values and each.name not in more]
        known: dict[str, Any] = {name: _time(values[name]) if name in TIMES else values[name] for name in names}
        return cls(**known, values=values, **more)


@dataclass(frozen=True)
class Project(Row):
    """A project: graphs, and what was done with them."""

    name: str
    created_at: datetime

    KIND: ClassVar[str] = "projects"


@dataclass(frozen=True)
class Graph(Row):
    """A graph, and how far it has been read."""

    project_id: str
    name: str
    status: str
    """`asking`, `queued`, `reading`, `ready` or `failed`"""
    error: str
    ops: int | None
    groups: int | None
    created_at: datetime

    KIND: ClassVar[str] = "graphs"


@dataclass(frozen=True)
class Comparison(Row):
    """Several methods on one graph and cluster."""

    graph_id: str
    title: str
    methods: Sequence[str]
    seeds: int
    evaluations: int
    created_at: datetime
    status: str = ""
    """`queued`, `running` or `done`; empty in lists"""

    KIND: ClassVar[str] = "comparisons"


@dataclass(frozen=True)
class PlanSearch(Row):
    """A search for plans of replicas and pipelines."""

    graph_id: str
    title: str
    status: str
    """`queued`, `running`, `done`, `failed` or `cancelled`"""
    error: str
    batch: int
    best_batch_us: float | None
    created_at: datetime

    KIND: ClassVar[str] = "plans"


@dataclass(frozen=True)
class Policy(Row):
    """A policy, or its training."""

    name: str
    source: str
    status: str
    error: str
    is_usable: bool
    trained_on: str
    created_at: datetime

    KIND: ClassVar[str] = "policies"


@dataclass(frozen=True)
class Evaluation:
    """What a step of one placement takes, simulated."""

    step_time_us: float
    feasible: bool
    """whether it fits the devices' memory"""
    missing_bytes: int
    """that the worst device lacks"""
    peak_bytes: tuple[int, ...]
    """of each device"""


@dataclass(frozen=True)
class Baseline:
    """A simple way to place the graph, to compare with."""

    method: str
    step_time_us: float | None
    """None: it has no placement that fits"""
    note: str


@dataclass(frozen=True)
class Me:
    """Who asks."""

    user: str | None
    """None where there are no accounts"""
    accounts: str
    """how people log in there; `off`: they do not"""
    scope: str
    """what the token allows: `read`, `write` or `admin`"""
    values: Mapping[str, Any] = field(repr=False, compare=False)

    @staticmethod
    def of(values: Mapping[str, Any]) -> Me:
        """From an answer of the server."""
        return Me(values["user"], values["accounts"], values["scope"], values)


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text.replace("Z", "+00:00"))
