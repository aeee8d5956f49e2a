"""A training that does as a test says: for what the web must do with any training."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pytest
from django.test import Client

from engine import api
from engine.files.tensor_file import pack_tensors, unpack_tensors
from engine.policies.checkpoint import WEIGHTS
from tests.engine.policies.small_policies import small_card, small_policy
from webapp.jobs import heartbeat
from webapp.policies.models import Policy

LEARNED = small_policy().to_bytes()


class KilledError(BaseException):
    """As if by a signal: nothing is caught, nothing tidied up."""


def progress(second: int, stage: str = "imitation", rows: int = 0) -> api.TrainingProgress:
    """The report of the engine after `second` seconds."""
    return api.TrainingProgress(stage, second / 10, float(second), 1 / second, small_card().held_out[:rows])


def state_after(second: int) -> bytes:
    """What the engine keeps after so many seconds; in the first it learns nothing."""
    card = replace(small_card(), seconds=float(second), imitation_steps=second - 1, episodes=0, held_out=())
    policy = replace(small_policy(), card=card)
    arrays = {f"{WEIGHTS}{name}": array for name, array in policy.weights.items()}
    return pack_tensors(arrays, policy.texts() | {"after": second})


def second_of(state: bytes) -> int:
    """The inverse."""
    after = unpack_tensors(state, "state")[1]["after"]
    assert isinstance(after, int)
    return after


@dataclass
class Script:
    """A training that reports once a second, and saves a state after each report."""

    seconds: int = 4
    before_second: Callable[[int], None] = lambda _second: None
    blob: bytes = LEARNED
    error: Exception | None = None
    requests: list[api.TrainRequest] = field(default_factory=list)
    begun_from: list[int] = field(default_factory=list)

    def train(
        self,
        request: api.TrainRequest,
        report_progress: Callable[[api.TrainingProgress], None],
        should_stop: api.ShouldStop,
        checkpoint: bytes | None = None,
        save_state: Callable[[bytes], None] | None = None,
    ) -> bytes:
        """In the place of `api.train`."""
        assert save_state is not None
        done = second_of(checkpoint) if checkpoint else 0
        self.requests.append(request)
        self.begun_from.append(done)
        for second in range(done + 1, self.seconds + 1):
            self.before_second(second)
            if should_stop():
                return self.blob
            report_progress(progress(second))
            save_state(state_after(second))
        if self.error is not None:
            raise self.error
        for rows in (1, 2):
            report_progress(progress(self.seconds + 1, "held_out", rows))
        return self.blob


def install(monkeypatch: pytest.MonkeyPatch, script: Script) -> Script:
    """Have every training follow `script`."""
    monkeypatch.setattr(api, "train", script.train)
    return script


def write_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not let a whole second pass between two writes."""
    quick = partial(heartbeat.Heartbeat, chore_every_seconds=0.01)
    monkeypatch.setattr("webapp.policies.training.Heartbeat", quick)


def events(client: Client, policy: Policy) -> Any:
    """What a page gets."""
    return client.get(f"/policies/{policy.id}/events.json").json()
