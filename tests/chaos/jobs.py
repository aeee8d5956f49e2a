"""The jobs that the application does while it is attacked, and what must hold for each at its end."""

import re
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.chaos.visitor import Fields, UnreachableError, Visitor

DEVICES: Fields = {"cluster": "2xK80+CPU"}
LAST = ("done", "failed", "cancelled", "ready")
"""statuses of an ended job"""
EVENTS_A_PAGE = 2000


class NotWholeError(AssertionError):
    """A job did not end with its answer."""


@dataclass(frozen=True, slots=True)
class State:
    """How far a job has come."""

    status: str
    last_seq: int
    """number of its last event; 0 where it emits none"""
    error: str

    @property
    def has_ended(self) -> bool:
        """Whether it has reached one of its last statuses."""
        return self.status in LAST


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of job: how a user starts it, and reads its answer."""

    name: str
    start: Callable[[Visitor, "Material"], str]
    """returns the path of its page"""
    answer: Callable[[Visitor, str], Any]
    """from the path of its page, without times; the same for every job of the kind"""
    queue: str = "gpu"
    """the queue of its job"""
    has_events: bool = True
    """whether its events are stored, with numbers from 1"""

    def state(self, visitor: Visitor, path: str) -> State:
        """The state of the job at `path`."""
        if self.queue == "gpu":
            page = visitor.json(f"{path}events.json?limit=1")
            return State(page["status"], page["last_seq"], page["error"])
        what, _, job_id = path.strip("/").partition("/")
        key, kind = uuid.UUID(job_id).hex, what.removesuffix("s")
        state = visitor.json(f"/states.json?{kind}={key}")[kind][key]
        return State(state["status"], 0, state["error"])


@dataclass(frozen=True, slots=True)
class Material:
    """The project, and a graph that is ready."""

    project: str
    """path of its page"""
    graph: str
    """path of its page"""
    file: bytes
    """the content of a file to upload"""


def run_kind(name: str, method: str, evaluations: int, seed: int) -> Kind:
    """A run of `method`."""
    fields = {**DEVICES, "method": method, "evaluations": str(evaluations), "seed": str(seed)}
    return Kind(name, lambda visitor, material: visitor.send(f"{material.graph}runs/", fields), _run_answer)


def comparison_kind(methods: list[str], evaluations: int, seeds: int) -> Kind:
    """A comparison of `methods`."""
    fields = {**DEVICES, "methods": methods, "evaluations": str(evaluations), "seeds": str(seeds)}

    def answer(visitor: Visitor, path: str) -> Any:
        runs = sorted(set(re.findall(r"/runs/[0-9a-f-]{36}/", visitor.read(path).decode())))
        for run in runs:
            events, last_seq = events_of(visitor, run), visitor.json(f"{run}run.json")["last_seq"]
            check_numbers(run, [event["seq"] for event in events], last_seq)
        return {"runs": len(runs), "report": without_times(visitor.json(f"{path}comparison.json"))}

    return Kind(
        "comparison",
        lambda visitor, material: visitor.send(f"{material.graph}compare/", fields),
        answer,
        has_events=False,
    )


def training_kind(seconds: float) -> Kind:
    """A training of a policy on the graph. Its seconds decide where it ends, so that it has an answer must do."""

    def start(visitor: Visitor, material: Material) -> str:
        graph = material.graph.strip("/").rpartition("/")[2]
        fields = {"name": "chaos", "graphs": graph, "clusters": "2xK80+cpu", "seconds": str(seconds), "seed": "0"}
        return visitor.send("/policies/train/", fields)

    def answer(visitor: Visitor, path: str) -> Any:
        rows = {number for event in events_of(visitor, path) for number in _rows_of(event)}
        return {"held_out_rows": len(rows), "has_file": len(visitor.read(f"{path}policy.safetensors")) > 0}

    return Kind("training", start, answer)


def _rows_of(event: dict[str, Any]) -> range:
    """The numbers of the held-out rows in an event of a training."""
    return range(event["held_out_from"], event["held_out_from"] + len(event["held_out"]))


def upload_kind() -> Kind:
    """An upload that is read: the graph's picture is its answer."""

    def answer(visitor: Visitor, path: str) -> Any:
        return visitor.json(f"{path}view.json")

    return Kind("upload", start_upload, answer, queue="cpu", has_events=False)


def measurement_kind() -> Kind:
    """A measurement of the graph's op times, which executes it."""

    def start(visitor: Visitor, material: Material) -> str:
        visitor.send(f"{material.graph}profiles/", {"consent": "on"})
        newest = re.search(r'data-job="profile" data-job-id="([0-9a-f]{32})"', visitor.read(material.graph).decode())
        assert newest is not None, "the page lists its measurements"
        return f"/profiles/{uuid.UUID(newest[1])}/"

    def answer(visitor: Visitor, path: str) -> Any:
        return {"has_times": len(visitor.read(f"{path}run_metadata.pb")) > 0}

    return Kind("measurement", start, answer, queue="execute", has_events=False)


def start_upload(visitor: Visitor, material: Material) -> str:
    """Upload the file; the path of its graph."""
    return visitor.upload(f"{material.project}graphs/", "uploaded.json", material.file)


def _run_answer(visitor: Visitor, path: str) -> Any:
    """All of a run that does not depend on the time: its events, its best placement, and the evaluations."""
    run = visitor.json(f"{path}run.json")
    report = visitor.json(f"{path}placement.json")
    values = {name: run[name] for name in ("status", "best_step_time_us", "evaluations_used", "last_seq")}
    return without_times({**values, "placement": report, "events": events_of(visitor, path)})


def events_of(visitor: Visitor, path: str) -> list[dict[str, Any]]:
    """All events of a job, in their order."""
    events: list[dict[str, Any]] = []
    while True:
        after = events[-1]["seq"] if events else 0
        page = visitor.json(f"{path}events.json?after={after}&limit={EVENTS_A_PAGE}")
        events += page["events"]
        if len(page["events"]) < EVENTS_A_PAGE:
            return events


def without_times(value: Any) -> Any:
    """`value` without what a clock has measured."""
    if isinstance(value, Mapping):
        return {key: without_times(part) for key, part in value.items() if not key.endswith("seconds")}
    return [without_times(part) for part in value] if isinstance(value, list) else value


def check_numbers(what: str, numbers: list[int], last_seq: int) -> None:
    """Raise NotWholeError unless `numbers` counts from 1 to `last_seq`."""
    if numbers != list(range(1, last_seq + 1)):
        raise NotWholeError(f"{what} has {len(numbers)} events, the last is {last_seq}")


class Follower:
    """A viewer who follows a stream through every interruption, and notes the numbers of its events."""

    def __init__(self, visitor: Visitor, path: str) -> None:
        self._visitor, self._path = visitor, path
        self.numbers: list[int] = []
        self.connections = 0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End it."""
        self._stopped.set()

    def _follow(self) -> None:
        while not self._stopped.is_set():
            self.connections += 1
            try:
                for event in self._visitor.stream(f"{self._path}events", self.numbers[-1] if self.numbers else 0):
                    self.numbers.append(event["seq"])
            except UnreachableError:
                self._stopped.wait(0.5)
            else:
                self._stopped.wait(0.2)  # the stream has ended with its job, or with its server


@dataclass
class Job:
    """One job, from its start to the check of its answer."""

    kind: Kind
    path: str
    follower: Follower | None = field(default=None)

    def check(self, visitor: Visitor, expected: Any) -> None:
        """Raise NotWholeError unless it ended with `expected`, every event once."""
        state = self.kind.state(visitor, self.path)
        if state.status not in ("done", "ready"):
            raise NotWholeError(f"{self.kind.name} {self.path} ended as {state.status}: {state.error}")
        if self.kind.has_events:
            check_numbers(self.path, [event["seq"] for event in events_of(visitor, self.path)], state.last_seq)
        if self.follower is not None:
            self._check_followed(self.follower, state.last_seq)
        answer = self.kind.answer(visitor, self.path)
        if expected is not None and answer != expected:
            raise NotWholeError(f"{self.kind.name} {self.path} has another answer: {difference(expected, answer)}")

    def _check_followed(self, follower: Follower, last_seq: int) -> None:
        deadline = time.monotonic() + 30
        while follower.numbers[-1:] != [last_seq] and time.monotonic() < deadline:
            time.sleep(0.1)
        follower.stop()
        check_numbers(f"the stream of {self.path}", follower.numbers, last_seq)


def difference(expected: Any, found: Any, where: str = "") -> str:
    """The first place where two JSON values differ."""
    if isinstance(expected, Mapping) and isinstance(found, Mapping):
        for key in sorted({*expected, *found}):
            if expected.get(key) != found.get(key):
                return difference(expected.get(key), found.get(key), f"{where}.{key}")
    if isinstance(expected, list) and isinstance(found, list):
        if len(expected) != len(found):
            return f"{where}: {len(found)} instead of {len(expected)} entries"
        for index, (one, other) in enumerate(zip(expected, found, strict=True)):
            if one != other:
                return difference(one, other, f"{where}[{index}]")
    return f"{where}: {str(found)[:100]} instead of {str(expected)[:100]}"
