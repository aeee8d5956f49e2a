"""The application under attack: started as a user starts it, and started again, as systemd does, when it ends."""

import os
import random
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from tests.chaos.services import Service
from tests.chaos.visitor import UnreachableError, Visitor
from tests.process_facts import command_line
from tests.supervisor.application import OTHER_SETTINGS
from tests.supervisor.started import Started, free_port
from webapp.processes import descendants, send

RESTART_AFTER_SECONDS = 1.0
"""as RestartSec in a unit file"""
START_SECONDS = 120.0
"""longest time for the application to answer"""

WORKERS = ("gpu", "cpu", "execute")
PARTS = (
    *(f"{queue} worker" for queue in WORKERS),
    *(f"{queue} pool child" for queue in WORKERS),
    *("web", "redis", "supervisor", "guardian"),
)
"""what can be killed"""


class Site:
    """The application on a data folder of its own."""

    def __init__(
        self, folder: Path, settings: Mapping[str, str], services: Mapping[str, Service] | None = None
    ) -> None:
        """`settings` are environment variables of the application; `services` can be killed by their names."""
        self.folder = folder
        self.services = services or {}
        self.port = free_port()
        self.visitor = Visitor(self.port)
        self.starts = 0
        """how often all of it was started"""
        machine = {name: value for name, value in os.environ.items() if name not in OTHER_SETTINGS}
        self._environment = {**machine, **settings, "PLACETO_DATA": str(self.data_folder), "PORT": str(self.port)}
        self._running: Started | None = None

    @property
    def data_folder(self) -> Path:
        """PLACETO_DATA."""
        return self.folder / "data"

    def start(self) -> None:
        """Start it, and wait until it is ready."""
        self._start()
        self.wait_until_ready()

    def wait_until_ready(self) -> None:
        """Wait until it answers, and start it again if all of it has ended. Raises TimeoutError."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            self.start_again_if_ended()
            try:
                self.visitor.json("/health/ready")
            except UnreachableError:
                time.sleep(0.1)
            else:
                return
        raise TimeoutError(f"not ready within {START_SECONDS:g} s; the output is {self._output}")

    def start_again_if_ended(self) -> bool:
        """Start it again if its first process has ended; whether that was so."""
        if self._running is None or not self._running.has_ended():
            return False
        time.sleep(RESTART_AFTER_SECONDS)
        self._start()
        return True

    def kill(self, part: str) -> bool:
        """Kill a process of `part` without a word; False if there is none at the moment. A service starts again."""
        if part in self.services:
            self.services[part].kill()
            time.sleep(RESTART_AFTER_SECONDS)
            self.services[part].start()
            return True
        process = self.find(part)
        if process is None:
            return False
        send(process, signal.SIGKILL)
        return True

    def find(self, part: str) -> int | None:
        """The process of `part`, or a random one of a pool's; None if there is none at the moment."""
        assert self._running is not None, "started before"
        if self._running.has_ended():
            return None
        if part == "guardian":
            return self._running.pid
        below = descendants(self._running.pid)
        if part == "supervisor":
            return below[0] if below else None
        queue, _, what = part.partition(" ")
        words = {"web": "uvicorn", "redis": "redis-server"}.get(part, f"--hostname {queue}@")
        leader = next((process for process in below if words in command_line(process)), None)
        if what != "pool child" or leader is None:
            return leader
        pool = descendants(leader)
        return random.choice(pool) if pool else None

    def stop(self) -> None:
        """Ask it to stop, and wait for its end."""
        if self._running is not None and not self._running.has_ended():
            self._running.signal(signal.SIGTERM)
            self._running.exit_status()

    def end(self) -> None:
        """End all of it at once."""
        if self._running is not None:
            self._running.end()

    def processes(self) -> list[str]:
        """Id and command line of each of its living processes."""
        return self._running.left() if self._running is not None else []

    def left_uploads(self) -> list[str]:
        """What lies in the folder of uploads in progress."""
        return sorted(path.name for path in (self.data_folder / "incoming").glob("*"))

    @property
    def _output(self) -> Path:
        return self.folder / f"output-{self.starts}.log"

    def _start(self) -> None:
        self.starts += 1
        command = [sys.executable, "-m", "webapp.supervisor", "--end-with-parent"]
        self._running = Started(command, self._output, self._environment)
