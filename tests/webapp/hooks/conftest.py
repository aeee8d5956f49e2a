"""A receiver, a webhook that sends to it, and a stand-in for the names of the network."""

import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pytest_django import Settings

from tests.webapp.hooks.receiver import Receiver, receiving
from webapp.hooks import lifecycle
from webapp.hooks.events import EVENTS
from webapp.hooks.models import Webhook
from webapp.projects.models import Project

ORIGIN = "https://placeto.example.org"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


@pytest.fixture
def loopback_allowed(settings: Settings) -> None:
    """As an operator allows it."""
    settings.HOOKS_ALLOWED = ["127.0.0.0/8"]


@pytest.fixture
def hook(project: Project, receiver: Receiver, loopback_allowed: None) -> Webhook:
    """One that asks for every event."""
    return added(project, receiver.address())


def added(project: Project, target: str, *events: str, kind: str = Webhook.WEBHOOK) -> Webhook:
    """A stored webhook that asks for these events, or for all."""
    row = Webhook(name="Ours", target=target, kind=kind, events=[*(events or EVENTS)], origin=ORIGIN)
    return lifecycle.add(project, row)


Names = Callable[..., None]


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Names:
    """A function that says to which addresses a name resolves; with several lists, one list at each look-up."""
    lists: dict[str, list[list[str]]] = {}
    whole = socket.getaddrinfo

    def resolve(host: Any, port: Any, *more: Any, **named: Any) -> Any:
        if host not in lists:
            return whole(host, port, *more, **named)
        answers = lists[host]
        addresses = answers.pop(0) if len(answers) > 1 else answers[0]
        return [entry for address in addresses for entry in whole(address, port, *more, **named)]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)

    def say(host: str, *answers: list[str]) -> None:
        lists[host] = list(answers)

    return say
