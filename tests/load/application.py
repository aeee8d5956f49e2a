"""The application under load: one that runs already, or one started from a checkout; and its web process."""

import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.process_facts import memory_bytes

PATIENCE_SECONDS = 180.0
ROWS = Path(__file__).with_name("rows.py")
CLOCK_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Application:
    """A running application and the checkout that it comes from."""

    checkout: Path
    port: int
    environment: dict[str, str]
    """of its processes: a script with it reaches the same database and Redis"""

    @property
    def address(self) -> str:
        """The beginning of all addresses; always this machine."""
        return f"http://127.0.0.1:{self.port}"

    def script(self, *arguments: str) -> "subprocess.Popen[str]":
        """Start `rows.py` on its database, with the checkout's own models."""
        return subprocess.Popen(
            [sys.executable, str(ROWS), *arguments],
            cwd=self.checkout,
            env={**self.environment, "PYTHONPATH": str(self.checkout)},
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask_script(self, *arguments: str) -> str:
        """The line that `rows.py` prints. Raises RuntimeError if it fails."""
        process = self.script(*arguments)
        answer, _ = process.communicate(timeout=PATIENCE_SECONDS)
        if process.returncode:
            raise RuntimeError(f"rows.py {' '.join(arguments)} ended with {process.returncode}")
        return answer.strip()


@dataclass(frozen=True, slots=True)
class WebProcesses:
    """The web server: its process and those that it serves with."""

    ids: tuple[int, ...]

    @staticmethod
    def of_port(port: int) -> "WebProcesses":
        """Those whose command line names the application and the port. Raises RuntimeError without one."""
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            words = _command_line(entry)
            if str(port) in words and any(word.startswith("webapp.asgi") or word == "webapp.web" for word in words):
                found.append(int(entry.name))
        if not found:
            raise RuntimeError(f"no process on this machine serves the application on port {port}")
        return WebProcesses(tuple(sorted(found)))

    def resident_bytes(self) -> int:
        """Resident memory of all of them."""
        return sum(memory_bytes(process, "VmRSS") for process in self.ids)

    def cpu_seconds(self) -> float:
        """Processor time of all of them so far."""
        ticks = 0
        for process in self.ids:
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / CLOCK_TICKS_A_SECOND

    def threads(self) -> int:
        """Their threads."""
        return sum(len(list(Path(f"/proc/{process}/task").iterdir())) for process in self.ids)


def _command_line(entry: Path) -> list[str]:
    try:
        return [word.decode(errors="replace") for word in (entry / "cmdline").read_bytes().split(b"\0")]
    except OSError:
        return []


def running(checkout: Path, port: int) -> Application:
    """An application that somebody else has started, with the settings of this process's environment."""
    return Application(checkout, port, dict(os.environ))


@contextmanager
def started(checkout: Path, port: int, data_folder: Path) -> Iterator[Application]:
    """Start the whole application of `checkout` with a data folder of its own, and end it afterwards."""
    data_folder.mkdir(parents=True, exist_ok=True)
    ours = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "REDIS_URL", "HOST")}
    environment = {**ours, "PLACETO_DATA": str(data_folder), "PORT": str(port)}
    with (data_folder / "load.log").open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "webapp.supervisor"],
            cwd=checkout,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    application = Application(checkout, port, environment)
    try:
        _wait_for_health(application, process)
        yield application
    finally:
        process.terminate()
        process.wait(PATIENCE_SECONDS)


def _wait_for_health(application: Application, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            with urllib.request.urlopen(f"{application.address}/health/", timeout=5):
                return
        except OSError as error:
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{application.checkout} does not start: see load.log in its data folder") from error
            time.sleep(0.5)
