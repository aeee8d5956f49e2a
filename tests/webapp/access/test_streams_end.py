"""A stream ends soon after its viewer may no longer see what it shows, whatever took the right away."""

import http.client
import json
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from tests.supervisor.started import eventually
from tests.webapp.access.people import client_of, member
from tests.webapp.processes import Surroundings
from tests.webapp.run_rows import started
from tests.webapp.streams import messages
from webapp.accounts.models import ApiToken, TokenScope, User
from webapp.graphs.models import Graph
from webapp.jobs import deletion
from webapp.jobs.notices import announce
from webapp.projects.models import Membership, Project
from webapp.runs.models import Run
from webapp.sharing.models import ShareLink, make_link

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("log_that_is_emptied")]


class Viewer:
    """A user, or whoever has a token, with an open stream of a run of a project of their own."""

    def __init__(self, name: str, way: str) -> None:
        self.project = Project.objects.create(name=name)
        graph = Graph.objects.create(project=self.project, name=name, suffix=".json", status=Graph.READY)
        self.run = started(graph, status=Run.RUNNING)
        self.user = member(self.project, name, Membership.VIEWER)
        self.token: ApiToken | None = None
        self.client = Client()
        self.address, self.headers = f"/runs/{self.run.id}/events", {}
        if way == "session":
            self.client = client_of(self.user)
            cookie = self.client.cookies[settings.SESSION_COOKIE_NAME].value
            self.headers = {"Cookie": f"{settings.SESSION_COOKIE_NAME}={cookie}"}
        elif way == "token":
            self.token, text = ApiToken.make(self.user, "a test", TokenScope.READ)
            self.address, self.headers = f"/api/v1{self.address}/stream", {"Authorization": f"Bearer {text}"}
        else:
            self.address = f"/shared/{make_link(self.run)}/events"
        self.said: list[Any] = []
        self.has_ended = False

    def watch(self, port: int) -> threading.Thread:
        """Open the stream, and read it to its end in a thread."""
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=90)
        connection.request("GET", self.address, headers={"Accept": "text/event-stream", **self.headers})
        response = connection.getresponse()
        assert response.status == 200, (self.address, response.status, response.read()[:300])
        stream = messages(response)
        assert next(stream).comment.startswith("retry: ")
        assert json.loads(next(stream).data)["status"] == "running"
        thread = threading.Thread(target=self._read, args=(stream,), daemon=True)
        thread.start()
        return thread

    def _read(self, stream: Iterator[Any]) -> None:
        self.said = [json.loads(message.data) for message in stream if message.event == "status"]
        self.has_ended = True

    @property
    def link(self) -> Any:
        """The rows of the link."""
        return ShareLink.objects.filter(run=self.run)


def _log_out(viewer: Viewer) -> None:
    assert viewer.client.post("/accounts/log-out/").status_code == 302


def _change_password(viewer: Viewer) -> None:
    viewer.user.set_password("quite another one")
    viewer.user.save()


PAST = timedelta(seconds=1)
ENDS: dict[str, tuple[str, Callable[[Viewer], Any]]] = {
    "removed-from-members": ("session", lambda one: Membership.objects.filter(user=one.user).delete()),
    "project-deleted": ("session", lambda one: deletion.delete(one.project)),
    "no-longer-active": ("session", lambda one: User.objects.filter(id=one.user.id).update(is_active=False)),
    "logged-out": ("session", _log_out),
    "password-changed": ("session", _change_password),
    "token-revoked": ("token", lambda one: ApiToken.objects.filter(user=one.user).delete()),
    "token-expired": (
        "token",
        lambda one: ApiToken.objects.filter(user=one.user).update(expires_at=timezone.now() - PAST),
    ),
    "removed-with-token": ("token", lambda one: Membership.objects.filter(user=one.user).delete()),
    "inactive-with-token": ("token", lambda one: User.objects.filter(id=one.user.id).update(is_active=False)),
    "link-revoked": ("link", lambda one: deletion.delete(one.link.get())),
    "link-expired": ("link", lambda one: one.link.update(expires_at=timezone.now() - PAST)),
    "run-deleted": ("link", lambda one: deletion.delete(one.run)),
}
"""what takes the right away → how the viewer came, and how it is done"""
STAYS = {
    "role-raised": "session",
    "as-before": "session",
    "as-before-with-token": "token",
    "as-before-with-link": "link",
}


def test_every_way_to_lose_a_right_ends_the_stream(around: Surroundings, local: Settings) -> None:
    """All at once: each viewer has a project of their own, and those who keep their rights keep their streams."""
    around.start_redis()
    port = around.start_web(PLACETO_ACCOUNTS="local", SECRET_KEY=settings.SECRET_KEY)
    losing = {name: Viewer(name, way) for name, (way, _) in ENDS.items()}
    keeping = {name: Viewer(name, way) for name, way in STAYS.items()}
    threads = [viewer.watch(port) for viewer in (*losing.values(), *keeping.values())]
    for name, (_, lose) in ENDS.items():
        lose(losing[name])
    Membership.objects.filter(user=keeping["role-raised"].user).update(role=Membership.OWNER)

    def all_have_ended() -> bool:
        for viewer in (*losing.values(), *keeping.values()):
            announce(viewer.run.id)
        return all(viewer.has_ended for viewer in losing.values())

    try:
        eventually(all_have_ended, "the streams end")
    finally:
        missing = [name for name, viewer in losing.items() if not viewer.has_ended]
        assert missing == []
    said = {name: [each["status"] for each in viewer.said] for name, viewer in losing.items()}
    assert said == {name: ["deleted"] for name in losing}
    assert [name for name, viewer in keeping.items() if viewer.has_ended] == []
    Run.objects.filter(id__in=[viewer.run.id for viewer in keeping.values()]).update(status=Run.DONE)
    for viewer in keeping.values():
        announce(viewer.run.id)
    for thread in threads:
        thread.join(timeout=60)
    assert {viewer.said[-1]["status"] for viewer in keeping.values()} == {"done"}
