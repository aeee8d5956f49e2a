"""The fixed cast: a project, a graph that waits, a graph that is ready, a run on it; and a broker in memory."""

import dataclasses
import json
import threading
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.transaction import Atomic
from django.test import Client
from pytest_django import Settings

from engine import api
from tests.webapp.graph_files import graphdef
from tests.webapp.processes import Surroundings, surroundings
from tests.webapp.scripted_engine import CLUSTER
from webapp.broker_address import redis_address
from webapp.celery import app
from webapp.graphs.models import Graph, PreparedBlob
from webapp.jobs.heartbeat import Heartbeat
from webapp.projects.models import Project
from webapp.runs.models import Run
from webapp.supervisor.parts import QUEUES


@pytest.fixture(scope="session")
def django_db_modify_db_settings(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A file, as in use: threads then meet the same locks."""
    if connection.vendor == "sqlite":
        connection.settings_dict["TEST"]["NAME"] = str(tmp_path_factory.mktemp("database") / "test.sqlite3")


@pytest.fixture(autouse=True)
def _database(request: pytest.FixtureRequest, db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test's changes are rolled back, and what waits for a commit is done where its block ends.

    A test whose threads or processes use the database commits: it asks for `transactional_db`, as `around` does.
    """
    if "transactional_db" not in request.fixturenames:
        monkeypatch.setattr(BaseDatabaseWrapper, "connect", _connect_in_the_main_thread_alone)
        monkeypatch.setattr(Heartbeat, "__enter__", _no_heartbeat)
        monkeypatch.setattr(Atomic, "__exit__", _exit_and_call_back(len(connection.savepoint_ids)))


_connect = BaseDatabaseWrapper.connect
_exit = Atomic.__exit__


def _connect_in_the_main_thread_alone(self: BaseDatabaseWrapper) -> None:
    assert threading.current_thread() is threading.main_thread(), "a test whose threads use the database commits"
    _connect(self)


def _no_heartbeat(_heartbeat: Heartbeat) -> Heartbeat:
    raise AssertionError("a job is kept by a thread that uses the database: its test asks for transactional_db")


def _exit_and_call_back(depth: int) -> Callable[..., None]:
    """`Atomic.__exit__`, which takes a block inside `depth` blocks of the test's own for the outermost one."""

    def leave(self: Atomic, *error: Any) -> None:
        _exit(self, *error)
        if len(connection.savepoint_ids) == depth:
            callbacks, connection.run_on_commit = connection.run_on_commit, []
            for waiting in callbacks:
                waiting[1]()

    return leave


@pytest.fixture(autouse=True)
def data_folder(tmp_path: Path, settings: Settings) -> Path:
    """A data folder of the test's own."""
    folder = tmp_path / "data"
    folder.mkdir()
    settings.DATA_FOLDER = folder
    settings.FAMILIES_FOLDER = folder / "families"
    settings.DEFAULT_POLICY = folder / "no-policy.safetensors"
    settings.MACHINE = folder / "machine.json"
    settings.NOTICES_URL = f"unix://{folder}/no-redis.sock"
    return folder


@pytest.fixture
def release_policy(data_folder: Path, settings: Settings) -> Path:
    """Where a test may write the file of a release's policy: never the repository's own."""
    path = Path(settings.DEFAULT_POLICY)
    assert path.parent == data_folder
    return path


class MemoryBroker:
    """What has been published and not been taken."""

    def messages(self, queue: str) -> list[Any]:
        """Take all messages of `queue` and return their arguments."""
        found = []
        with app.connection_for_read() as connection, connection.SimpleQueue(queue) as waiting:
            while len(waiting):
                message = waiting.get_nowait()
                found.append(message.decode()[0])
                message.ack()
        return found


@pytest.fixture(autouse=True)
def broker(monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryBroker]:
    """Celery's transport in memory."""
    monkeypatch.setattr(app.conf, "broker_url", "memory://")
    monkeypatch.setattr(app.conf, "broker_read_url", "memory://")
    monkeypatch.setattr(app.conf, "broker_write_url", "memory://")
    memory = MemoryBroker()
    yield memory
    for queue in QUEUES:
        memory.messages(queue)


@pytest.fixture
def client() -> Client:
    """A browser that sends forms as pages do; CSRF is checked in a test of its own."""
    return Client()


@pytest.fixture
def project() -> Project:
    """A project."""
    return Project.objects.create(name="Placements")


@pytest.fixture
def graph(project: Project, data_folder: Path) -> Graph:
    """A graph that waits to be read, its file in place."""
    graph = Graph.objects.create(project=project, name="small.json", suffix=".json")
    graph.source_path.parent.mkdir(exist_ok=True)
    graph.source_path.write_text("{}")
    return graph


@pytest.fixture
def ready_graph(graph: Graph) -> Graph:
    """The same graph, read."""
    Graph.objects.filter(id=graph.id).update(status=Graph.READY, summary={"groups": 3, "ops": 3})
    PreparedBlob.objects.create(graph=graph, blob=b"", view='{"groups":[]}')
    graph.refresh_from_db()
    return graph


@pytest.fixture
def run(ready_graph: Graph) -> Run:
    """A queued run on it."""
    return Run.objects.create(
        graph=ready_graph, cluster=CLUSTER, method="placeto", settings={}, evaluations=100, seconds=None, seed=0
    )


@pytest.fixture
def around(
    transactional_db: None, data_folder: Path, tmp_path_factory: pytest.TempPathFactory, settings: Settings
) -> Iterator[Surroundings]:
    """Real processes around the test's database. What the test itself stores is announced on their Redis."""
    with surroundings(data_folder, tmp_path_factory) as found:
        settings.NOTICES_URL = redis_address(found.environment["REDIS_URL"])
        yield found


@pytest.fixture(scope="session")
def prepared_blob(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The small GraphDef, read and costed once for all tests."""
    path = tmp_path_factory.mktemp("graph") / "small.pb"
    path.write_bytes(graphdef())
    return api.prepare(path, ".pb", lambda *_: None, api.Limits()).to_bytes()


@pytest.fixture
def real_graph(project: Project, data_folder: Path, prepared_blob: bytes) -> Graph:
    """That graph, ready."""
    graph = Graph.objects.create(project=project, name='My gräph; "1".pb', suffix=".pb", status=Graph.READY)
    graph.source_path.parent.mkdir()
    graph.source_path.write_bytes(graphdef())
    view = json.dumps(api.PreparedGraph.from_bytes(prepared_blob).view())
    PreparedBlob.objects.create(graph=graph, blob=prepared_blob, view=view)
    return graph


@pytest.fixture
def run_of_blob(run: Run, prepared_blob: bytes) -> Run:
    """The queued run; its graph has what a reading leaves."""
    view = json.dumps(api.PreparedGraph.from_bytes(prepared_blob).view())
    PreparedBlob.objects.filter(graph=run.graph).update(blob=prepared_blob, view=view)
    return run


@pytest.fixture
def slower_graph(project: Project, prepared_blob: bytes) -> Graph:
    """Another one, ready: its ops take twice as long."""
    prepared = api.PreparedGraph.from_bytes(prepared_blob)
    costs = dataclasses.replace(prepared.costs, time_us=2.0 * prepared.costs.time_us)
    graph = Graph.objects.create(project=project, name="slower.pb", suffix=".pb", status=Graph.READY)
    blob = dataclasses.replace(prepared, costs=costs).to_bytes()
    PreparedBlob.objects.create(graph=graph, blob=blob, view="{}")
    return graph


@pytest.fixture
def log_that_is_emptied(transactional_db: None) -> Iterator[None]:
    """After a test that commits: the database refuses to delete the log's entries, which the next test must not see."""
    yield
    migration: Any = import_module("webapp.accounts.migrations.0001_users")
    with connection.schema_editor() as editor:
        if connection.vendor == "sqlite":
            for event in ("update", "delete"):
                editor.execute(f"DROP TRIGGER audit_refuses_{event}")
        else:
            migration.allow_changes(None, editor)
        editor.execute("DELETE FROM accounts_auditentry")
        migration.refuse_changes(None, editor)
