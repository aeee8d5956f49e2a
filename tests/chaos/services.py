"""A PostgreSQL and a Redis of the system, started for an attack on sockets and ports of this machine only."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
import redis

from tests.supervisor.started import eventually, free_port

_SERVER_USER = "nobody"
"""PostgreSQL refuses to run as root: the user who runs it then"""
DATABASE = "placeto"


class MissingServiceError(Exception):
    """The system has no such program."""


def _program(name: str) -> str:
    """The newest program of this name. Raises MissingServiceError."""
    found = shutil.which(name)
    installed = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: float(path.parts[4]))
    if found is None and not installed:
        raise MissingServiceError(f"{name} is not installed")
    return found or str(installed[-1])


class Service:
    """A server with its output in a file, started, killed and started again."""

    def __init__(self, command: list[str], output: Path, user: str | None = None) -> None:
        self._command, self._output, self._user = command, output, user
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        with self._output.open("ab") as output:
            self._process = subprocess.Popen(
                self._command, stdout=output, stderr=subprocess.STDOUT, user=self._user, start_new_session=True
            )
        eventually(self.answers, f"{self._command[0]} answers")

    def end(self, number: signal.Signals) -> None:
        """Send it a signal, and wait for its end."""
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(60)
            self._process = None

    def answers(self) -> bool:
        """Whether it serves."""
        raise NotImplementedError

    def kill(self) -> None:
        """End it without time to clean up."""
        raise NotImplementedError

    def remove(self) -> None:
        """End it, and delete what lies outside its folder."""
        raise NotImplementedError


class Redis(Service):
    """The system's redis-server on a port of this machine, with every write on disk at once."""

    def __init__(self, folder: Path) -> None:
        """Raises MissingServiceError."""
        self._port = free_port()
        self.url = f"redis://127.0.0.1:{self._port}/0"
        (folder / "redis").mkdir(mode=0o700)
        options = f"--port {self._port} --bind 127.0.0.1 --appendonly yes --appendfsync always --save"
        command = [_program("redis-server"), *options.split(), "", "--dir", str(folder / "redis")]
        super().__init__(command, folder / "redis.log")

    def answers(self) -> bool:
        """Whether it has loaded its files and serves."""
        with suppress(redis.RedisError), self.client() as client:
            return bool(client.ping())
        return False

    def client(self) -> redis.Redis:
        """A connection."""
        return redis.Redis.from_url(self.url, socket_timeout=5)

    def kill(self) -> None:
        """End it without a word."""
        self.end(signal.SIGKILL)

    def remove(self) -> None:
        """End it."""
        self.end(signal.SIGTERM)


class PostgreSQL(Service):
    """The system's PostgreSQL on a port of this machine, with a new cluster of its own."""

    def __init__(self, folder: Path) -> None:
        """Raises MissingServiceError."""
        self._port = free_port()
        user = _SERVER_USER if os.geteuid() == 0 else None
        own_name = user or pwd.getpwuid(os.geteuid()).pw_name
        self._server_url = f"postgres://{own_name}@127.0.0.1:{self._port}/postgres"
        self.url = f"postgres://{own_name}@127.0.0.1:{self._port}/{DATABASE}"
        # Not below `folder`, which is its owner's alone.
        self._home = Path(tempfile.mkdtemp(prefix="placeto-postgres-"))
        if user is not None:
            shutil.chown(self._home, user)
        data = self._home / "data"
        subprocess.run(
            [
                _program("initdb"),
                "--pgdata",
                str(data),
                "--auth",
                "trust",
                "--encoding",
                "UTF8",
                "--username",
                own_name,
            ],
            check=True,
            stdout=subprocess.DEVNULL,
            user=user,
            cwd=self._home,
        )
        options = f"-p {self._port} -h 127.0.0.1 -k".split()
        super().__init__(
            [_program("postgres"), "-D", str(data), *options, str(self._home)], folder / "postgres.log", user
        )

    def create_database(self) -> None:
        """Make the application's database, which is new."""
        with psycopg.connect(self._server_url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {DATABASE}")

    def answers(self) -> bool:
        """Whether it takes connections."""
        with suppress(psycopg.OperationalError), psycopg.connect(self._server_url, connect_timeout=2):
            return True
        return False

    def kill(self) -> None:
        """End it at once; it recovers from its log when it starts."""
        self.end(signal.SIGQUIT)

    def remove(self) -> None:
        """End it, and delete its files."""
        self.end(signal.SIGINT)
        shutil.rmtree(self._home, ignore_errors=True)


@contextmanager
def no_services(_folder: Path) -> Iterator[tuple[dict[str, Service], dict[str, str]]]:
    """SQLite and the embedded Redis, in the form of `services`."""
    yield {}, {}


@contextmanager
def services(folder: Path) -> Iterator[tuple[dict[str, Service], dict[str, str]]]:
    """A PostgreSQL and a Redis by their names, and the application's settings for them. Raises MissingServiceError."""
    redis_server, postgresql = Redis(folder), PostgreSQL(folder)
    try:
        redis_server.start()
        postgresql.start()
        postgresql.create_database()
        yield (
            {"redis": redis_server, "postgresql": postgresql},
            {"REDIS_URL": redis_server.url, "DATABASE_URL": postgresql.url},
        )
    finally:
        postgresql.remove()
        redis_server.remove()
