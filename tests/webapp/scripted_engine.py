"""An engine whose runs do as a test says: for what the web must do with any engine."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from engine import api

CLUSTER: dict[str, api.Json] = {
    "devices": [
        {"name": "/device:GPU:0", "kind": "K80", "memory_bytes": 12 * 1024**3},
        {"name": "/device:GPU:1", "kind": "K80", "memory_bytes": 12 * 1024**3},
    ]
}
GROUPS = 3
EPISODES = 70
CHECKPOINT_EVERY = 8
"""of the runs in workers' processes (`scripted_worker`)"""


def started() -> api.Started:
    """The first event of every script."""
    return api.Started("placeto", {}, 0, 100, GROUPS, ["/device:GPU:0", "/device:GPU:1"], 1.0, "0.1.0")


def episode(number: int, step_time_us: float, *, feasible: bool = True) -> api.Episode:
    """Episode `number`, with a placement that identifies it."""
    placement = [number % 2, number // 2 % 2, number // 4 % 2]
    return api.Episode(number, step_time_us, feasible, None, number, 0.1 * number, placement)


@dataclass
class Script:
    """Episodes with these step times, a checkpoint after every few, then the report."""

    step_times_us: list[float]
    checkpoint_every: int = 0
    """0: none"""
    before_episode: Callable[[int], None] = lambda _number: None
    error: Exception | None = None
    """raised in the place of the end"""
    calls: int = 0

    def place(
        self,
        _prepared: object,
        _request: api.RunRequest,
        emit: api.Emit,
        should_stop: api.ShouldStop,
        checkpoint: bytes | None = None,
    ) -> dict[str, api.Json]:
        """In the place of `api.place`."""
        self.calls += 1
        done = json.loads(checkpoint)["done"] if checkpoint else 0
        if not done:
            emit(api.NumberedEvent(1, started()))
        stopped = False
        for number in range(done + 1, len(self.step_times_us) + 1):
            self.before_episode(number)
            if should_stop():
                stopped = True
                break
            emit(api.NumberedEvent(1 + number, episode(number, self.step_times_us[number - 1])))
            done = number
            if self.checkpoint_every and number % self.checkpoint_every == 0:
                emit(api.Checkpoint(1 + number, json.dumps({"done": number}).encode()))
        emit(api.LearnedPolicy(f"policy after {done}".encode()))
        if self.error is not None:
            raise self.error
        report = self.report(done)
        if not stopped:
            emit(api.NumberedEvent(2 + done, api.Finished(report)))
        return report

    def report(self, done: int) -> dict[str, api.Json]:
        """The best of the first `done` episodes."""
        best = min(range(done), key=lambda index: self.step_times_us[index])
        return {
            "method": "placeto",
            "step_time_us": self.step_times_us[best],
            "feasible": True,
            "evaluations": done,
            "device_of_group": list[api.Json](episode(best + 1, 0.0).placement),
        }


def install(monkeypatch: pytest.MonkeyPatch, script: Script) -> Script:
    """Have every run follow `script`."""
    monkeypatch.setattr(api, "place", script.place)
    monkeypatch.setattr(api.PreparedGraph, "from_bytes", staticmethod(lambda _blob: None))
    monkeypatch.setattr("webapp.runs.placing.request_of", lambda _run: None)
    return script


def rows(run: Any) -> list[tuple[int, str]]:
    """Number and type of every stored event, in order."""
    return list(run.events.order_by("seq").values_list("seq", "type"))
