"""Runs: what works can be watched and cancelled; what has an answer gives its placement, figures and files."""

from __future__ import annotations

import html
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from placeto.errors import ClientError, InfeasibleError
from placeto.remote.connection import Connection, path_of
from placeto.remote.progress import ProgressLine, bar, time_words
from placeto.remote.rows import Baseline, Row
from placeto.remote.watching import EVENTS_A_PAGE, Watch

if TYPE_CHECKING:
    import pandas

RECORDS = {"episodes": "episode", "baselines": "baseline"}
"""what a run has tables of → the type of its events"""
NUMBERS = (bool, int, float, str, type(None))
"""what goes into a table; placements do not"""
FILES = {
    ".device_map.json": "model.device_map.json",
    ".split_spec.json": "model.split_spec.json",
    ".layers.json": "model.layers.json",
    "report.json": "report.json",
    "-stages.zip": "placed-stages.zip",
    ".json": "placement.json",
    ".zip": "placed.zip",
    ".onnx": "placed.onnx",
    ".pbtxt": "placed.pbtxt",
    ".pb": "placed.pb",
    ".html": "run.html",
}
"""end of a name → file of the server; the first that fits"""


@dataclass(frozen=True)
class Run(Row):
    """One method on one graph and cluster, as it was when the server was asked."""

    graph_id: str
    project_id: str
    title: str
    status: str
    """`queued`, `running`, `done`, `failed` or `cancelled`"""
    error: str
    method: str
    evaluations: int
    """the budget"""
    evaluations_used: int
    seed: int
    best_step_time_us: float | None
    """None: no placement that fits has been found"""
    created_at: datetime
    connection: Connection = field(repr=False, compare=False)

    KIND: ClassVar[str] = "runs"

    @property
    def address(self) -> str:
        """Its page, for a browser."""
        return f"{self.connection.login.address}/runs/{self.id}/"

    def now(self) -> Run:
        """The same run as it is now."""
        return Run.of(self.connection.get(path_of("runs", self.id)), connection=self.connection)

    def watch(self, progress: bool | None = None) -> PlacedRun:
        """Waits until it has ended; returns its answer. A connection that is lost meanwhile is made again.

        Args:
            progress: Whether to show how far it is; by default where stderr is a terminal.

        Raises:
            InfeasibleError: No placement fits the devices' memory.
            ClientError: It failed, or was cancelled before it had an answer; the server refuses, or does not answer.
        """
        with ProgressLine(progress) as line:
            shown = _Shown(self)
            try:
                for news in Watch(self.connection, path_of("runs", self.id)):
                    shown.take(news.events)
                    line.show(shown.words(news.state), now=news.has_ended)
            except KeyboardInterrupt:
                line.clear()
                print(f'The run goes on. Watch it again by Client().run("{self.id}").watch()', file=sys.stderr)
                raise
        return self.now().answer()

    def answer(self) -> PlacedRun:
        """The best placement that it has found.

        Raises:
            InfeasibleError: No placement fits the devices' memory.
            ClientError: It failed, or has found none so far.
        """
        if self.status == "failed":
            kind = InfeasibleError if _is_infeasible(self.values) else ClientError
            raise kind(f"{self.title}: {self.error}")
        if self.best_step_time_us is None:
            raise ClientError(f"{self.title}: this run is {self.status} and has found no placement that fits")
        return PlacedRun(self)


class PlacedRun:
    """The best placement that a run has found, with the run's figures."""

    def __init__(self, run: Run) -> None:
        self.run = run

    @property
    def id(self) -> str:
        """Of the run."""
        return self.run.id

    @property
    def step_time_us(self) -> float:
        """The time of one step, simulated."""
        result = self.run.values.get("result") or {}
        step_time_us: float | None = result.get("step_time_us", self.run.best_step_time_us)
        assert step_time_us is not None  # a run without an answer has no PlacedRun
        return step_time_us

    @cached_property
    def report(self) -> dict[str, Any]:
        """The engine's report: verdict, memory, budget, and the placement."""
        found: dict[str, Any] = self.run.connection.get(path_of("runs", self.id, "report"))
        return found

    @cached_property
    def placement(self) -> dict[str, str]:
        """{op: device}."""
        found: dict[str, str] = self.run.connection.get(path_of("runs", self.id, "placement"))
        return found

    @property
    def verdict(self) -> str:
        """Whether splitting the graph pays, in a sentence; empty for a run that did not end by itself."""
        return str(((self.run.values.get("result") or {}).get("verdict") or {}).get("sentence", ""))

    @cached_property
    def baselines(self) -> tuple[Baseline, ...]:
        """One device, random placements and others, to compare with."""
        records = self.to_records("baselines")
        return tuple(Baseline(each["method"], each["step_time_us"], each["note"]) for each in records)

    def device_map(self) -> dict[str, Any]:
        """{module: device}, for `placeto.apply` and for accelerate.

        Raises:
            ServerError: The graph is no recording of a PyTorch model.
        """
        found: dict[str, Any] = self.run.connection.get(path_of("runs", self.id, "files", "model.device_map.json"))
        return found

    def save(self, path: str | Path, *, simplest: bool = False) -> Path:
        """Writes a file of it; the end of the name says which.

        `.pb`, `.pbtxt`, `.onnx` and `.zip` are the placed graph, `-stages.zip` the stages of an ONNX model,
        `.device_map.json`, `.split_spec.json` and `.layers.json` what a runtime loads, `report.json` the report, any
        other `.json` {op: device}, and `.html` the run's page.

        Args:
            path: Is written whole or not at all.
            simplest: Whether of the simplest placement near the best one.

        Raises:
            ClientError: Another end of the name.
            ServerError: The graph has no such file.
            OSError: It cannot be written.
        """
        path = Path(path)
        query = {"simplest": "true"} if simplest else {}
        self.run.connection.download(path_of("runs", self.id, "files", file_named(path.name)), path, **query)
        return path

    def to_records(self, what: str = "episodes") -> list[dict[str, Any]]:
        """The rows of a table, `episodes` or `baselines`, in their order, without placements.

        Raises:
            ClientError: Another word.
        """
        if what not in RECORDS:
            raise ClientError(f"{what!r} is no table of a run; allowed: {', '.join(RECORDS)}")
        return [
            {name: value for name, value in event.items() if isinstance(value, NUMBERS) and name != "version"}
            for event in self._events
            if event["type"] == RECORDS[what]
        ]

    def to_pandas(self, what: str = "episodes") -> pandas.DataFrame:
        """The same as a frame of pandas, by the number of the event.

        Raises:
            ClientError: Another word, or pandas is missing.
        """
        records = self.to_records(what)
        try:
            import pandas
        except ImportError:
            raise ClientError("a frame needs pandas, which is not installed here; to_records() gives lists") from None
        return pandas.DataFrame.from_records(records, index="seq" if records else None)

    def html(self) -> str:
        """The run's page as one file, which opens without a server.

        Raises:
            ServerError: The run still works.
        """
        answer = self.run.connection.send("GET", path_of("runs", self.id, "files", "run.html"))
        return answer.content.decode("utf-8")

    @cached_property
    def _events(self) -> list[dict[str, Any]]:
        events: list[dict[str, Any]] = []
        while True:
            after = events[-1]["seq"] if events else 0
            page = self.run.connection.get(path_of("runs", self.id, "events"), after=after, limit=EVENTS_A_PAGE)
            events += page["events"]
            if len(page["events"]) < EVENTS_A_PAGE:
                return events

    def __str__(self) -> str:
        first = f"{self.run.title}: {time_words(self.step_time_us)} a step"
        return f"{first}. {self.verdict}" if self.verdict else first

    def __repr__(self) -> str:
        return f"PlacedRun({self.run.address}, {time_words(self.step_time_us)})"

    def _repr_html_(self) -> str:
        """The page in a frame of its own, which reaches nothing of the notebook; what can be said without it else."""
        try:
            page = self.html()
        except ClientError as error:
            return f"<p>{html.escape(str(self))}</p><p>{html.escape(str(error))}</p>"
        style = "width:100%;height:42em;border:1px solid #8884"
        return f'<iframe sandbox="allow-scripts" style="{style}" srcdoc="{html.escape(page)}"></iframe>'


def file_named(name: str) -> str:
    """The server's file for a name.

    Raises:
        ClientError: None ends like it.
    """
    for end, file in FILES.items():
        if name.endswith(end):
            return file
    raise ClientError(f"{name}: no file of a placement ends so; allowed: {', '.join(FILES)}")


def _is_infeasible(values: Mapping[str, Any]) -> bool:
    return (values.get("verdict") or {}).get("kind") == "infeasible"


class _Shown:
    """What is shown of a run that works."""

    def __init__(self, run: Run) -> None:
        self._method, self._budget = run.method, run.evaluations
        self._used = run.evaluations_used
        self._best_us = run.best_step_time_us
        self._one_device_us: float | None = None
        self._stage = ""

    def take(self, events: list[dict[str, Any]]) -> None:
        """Notes what the events say."""
        for event in events:
            if event["type"] == "episode":
                self._used, self._stage = event["evaluations"], ""
                self._best_us = event["best_step_time_us"]
            elif event["type"] == "baseline" and event["method"] == "single_device":
                self._one_device_us = event["step_time_us"]
            elif event["type"] == "progress":
                of_all = f" {event['done']:,}/{event['total']:,}" if event["total"] else ""
                self._stage = f"{event['stage']}{of_all}"

    def words(self, state: Mapping[str, Any]) -> str:
        """The line."""
        if state.get("status") == "queued":
            return f"{self._method}: waits for a worker"
        parts = [f"{self._method} {bar(self._used, self._budget)} {self._used:,}/{self._budget:,} evaluations"]
        if self._best_us is not None:
            parts.append(f"best {time_words(self._best_us)}")
        if self._best_us and self._one_device_us:
            parts.append(f"{self._one_device_us / self._best_us:.2f}× as fast as one device")
        return " · ".join([*parts, *[self._stage] * bool(self._stage)])
