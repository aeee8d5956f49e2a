"""Real processes around the test's own database: a Redis, workers, the web server."""

import http.client
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from redis import Redis

from tests.supervisor.started import Started, eventually, free_port
from webapp.broker_address import redis_address
from webapp.supervisor.parts import web_command, worker_command
from webapp.supervisor.redis_server import EmbeddedRedis, find_redis_program
from webapp.supervisor.worker_ready import READY_LINE

HEARTBEAT_SECONDS = 0.5


def database_url() -> str:
    """The address of the test's own database."""
    own = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{own['NAME']}"
    return f"postgres://{own['USER']}:{own['PASSWORD']}@{own['HOST']}:{own['PORT']}/{own['NAME']}"


class Surroundings:
    """Starts processes that share the test's database, a data folder and a Redis; ends them all."""

    def __init__(self, data_folder: Path, socket_folder: Path) -> None:
        self._data_folder = data_folder
        self._redis = EmbeddedRedis(find_redis_program(), socket_folder)
        self._redis_process: Started | None = None
        self._started: list[Started] = []
        self.environment = {
            **os.environ,
            "PLACETO_DATA": str(data_folder),
            "DATABASE_URL": database_url(),
            "REDIS_URL": self._redis.url,
            "PLACETO_HEARTBEAT_SECONDS": str(HEARTBEAT_SECONDS),
            "OMP_NUM_THREADS": "1",
        }

    def start(self, name: str, *command: str, **environment: str) -> Started:
        """Start `command`; its output goes to a file in the data folder."""
        output = self._data_folder / f"{name}-{len(self._started)}.log"
        started = Started(command, output, {**self.environment, **environment})
        self._started.append(started)
        return started

    def start_redis(self) -> None:
        """Start the broker, and wait until it answers."""
        self._redis_process = self.start("redis", *self._redis.part().command)
        eventually(self._redis.answers, "Redis answers")

    def kill_redis(self) -> None:
        """End the broker without a word."""
        assert self._redis_process is not None
        self._redis_process.signal(signal.SIGKILL)
        self._redis_process.exit_status()
        self._redis.clean_up()

    def ask_redis(self, *command: str | bytes) -> Any:
        """Send the broker a command; returns its answer."""
        with Redis.from_url(redis_address(self._redis.url)) as client:
            return client.execute_command(*command)

    def stop_redis(self, *, go_on: bool = False) -> None:
        """Let the broker hang, or `go_on`: it takes connections, and answers nothing."""
        assert self._redis_process is not None
        self._redis_process.signal(signal.SIGCONT if go_on else signal.SIGSTOP)

    def forget_messages(self) -> None:
        """Lose all that the stopped broker has kept."""
        for file in (self._redis.socket.parent).rglob("*"):
            if file.is_file():
                file.unlink()

    def start_worker(self, queue: str, *modules: str) -> Started:
        """Start a worker as the supervisor does, with `modules` loaded, and wait until it takes tasks."""
        command = (sys.executable, "-W", "ignore", "-m", *worker_command(queue), "--hostname", f"{queue}@%h")
        worker = self.start(queue, *command, "--include", ",".join(("webapp.supervisor.worker_ready", *modules)))
        worker.wait_for_line(READY_LINE)
        return worker

    def start_worker_as_documented(self, queue: str, *modules: str) -> Started:
        """Start a worker by the command in docs/operations.md, and wait until it takes tasks."""
        program = Path(sys.executable).with_name("celery")
        command = (str(program), *worker_command(queue)[1:])
        worker = self.start(queue, *command, "--include", ",".join(("webapp.supervisor.worker_ready", *modules)))
        worker.wait_for_line(READY_LINE)
        return worker

    def start_web(self, **environment: str) -> int:
        """Start the web server, and return its port."""
        return self.start_server(**environment)[1]

    def start_server(self, **environment: str) -> tuple[Started, int]:
        """Start the web server, and return it and its port."""
        port = free_port()
        server = self.start("web", sys.executable, "-m", *web_command("127.0.0.1", port), **environment)
        server.wait_for_line("running on")
        return server, port

    def end(self) -> None:
        """End everything, and whatever it has started."""
        for started in reversed(self._started):
            started.signal(signal.SIGKILL)  # Redis writes over its environment, by which `end` would find it
            started.end()


@contextmanager
def surroundings(data_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Surroundings]:
    """Processes for one test."""
    around = Surroundings(data_folder, tmp_path_factory.mktemp("r"))
    try:
        yield around
    finally:
        around.end()


def logs(data_folder: Path) -> str:
    """The output of all processes, for the message of a failing test."""
    return "\n".join(f"--- {path.name}\n{path.read_text()}" for path in sorted(data_folder.glob("*.log")))


def fetch(port: int, path: str, **headers: str) -> tuple[int, Mapping[str, str], bytes]:
    """Status, headers and body of a GET."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", path, headers=headers)
    response = connection.getresponse()
    return response.status, dict(response.getheaders()), response.read()
