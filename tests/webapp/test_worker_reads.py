"""A worker that reads graphs keeps a process with TensorFlow, from which children are forked; both end with it."""

import os
import signal
import sys
from pathlib import Path

import pytest

from tests.process_facts import command_line
from tests.supervisor.started import eventually
from tests.webapp.graph_files import graphdef
from tests.webapp.processes import Surroundings, logs
from webapp.graphs.models import Graph
from webapp.processes import descendants
from webapp.projects.models import Project

SERVER = "engine.child.server"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing is forked")


def queued(project: Project) -> Graph:
    """A graph that waits to be read; the worker's reaper sees that it has no message."""
    graph = Graph.objects.create(project=project, name="small.pb", suffix=".pb")
    graph.source_path.parent.mkdir(exist_ok=True)
    graph.source_path.write_bytes(graphdef())
    return graph


def read(graph: Graph, data_folder: Path) -> None:
    """Wait until it is read."""

    def holds() -> bool:
        graph.refresh_from_db()
        return graph.status == Graph.READY

    try:
        eventually(holds, "the graph is read")
    except AssertionError as error:
        raise AssertionError(f"{error}; it is {graph.status}\n{logs(data_folder)}") from None


def servers_of(worker: int) -> list[int]:
    """The processes below the worker that are such servers."""
    return [process for process in descendants(worker) if SERVER in command_line(process)]


def test_graphs_are_read_whether_the_server_lives_or_not_and_nothing_outlives_the_worker(
    around: Surroundings, project: Project, data_folder: Path
) -> None:
    around.start_redis()
    worker = around.start_worker("cpu")
    [server] = servers_of(worker.pid)
    first = queued(project)
    read(first, data_folder)
    assert servers_of(worker.pid) == [server], "the child that read it has ended"
    os.kill(server, signal.SIGKILL)
    read(queued(project), data_folder)

    worker.signal(signal.SIGKILL)
    worker.exit_status()
    worker.expect_nothing_left()


def test_the_server_ends_with_a_killed_worker(around: Surroundings) -> None:
    around.start_redis()
    worker = around.start_worker("cpu")
    [server] = servers_of(worker.pid)
    worker.signal(signal.SIGKILL)
    worker.exit_status()
    eventually(lambda: not Path(f"/proc/{server}/task").exists(), "the server ends with it")


def test_a_worker_that_reads_nothing_keeps_no_server(around: Surroundings) -> None:
    around.start_redis()
    assert servers_of(around.start_worker("gpu").pid) == []
