"""A command that was started for a test: what it says, and which processes it has brought into being."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.process_facts import command_line
from webapp.processes import descendants

ROOT = Path(__file__).resolve().parent.parent.parent
PATIENCE_SECONDS = 60.0
"""longest time that anything here may take: a bound, not a claim"""


def eventually(holds: Callable[[], bool], what: str) -> None:
    """Wait until `holds`; the test fails if that takes too long."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < deadline, f"not within {PATIENCE_SECONDS:g} seconds: {what}"
        time.sleep(0.02)


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextmanager
def hang_ups_end() -> Iterator[None]:
    """What is started meanwhile is ended by a hang-up, even where the tests themselves are not (nohup)."""
    earlier = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, earlier)


class Started:
    """A running command with its output in a file."""

    def __init__(
        self, command: Sequence[str], output: Path, environment: Mapping[str, str], folder: Path = ROOT
    ) -> None:
        """Start it in `folder`, in a process group of its own, as a shell does."""
        self._output = output
        # A mark in the environment is inherited by all that it starts, and stays when a parent ends.
        self._mark = f"PLACETO_TEST_MARK={output}-{time.monotonic_ns()}"
        name, _, value = self._mark.partition("=")
        with output.open("w") as stream, hang_ups_end():
            self._process = subprocess.Popen(
                command,
                cwd=folder,
                env={**environment, name: value},
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                process_group=0,
            )
        self.pid = self._process.pid

    def output(self) -> str:
        """What it has said so far."""
        return self._output.read_text()

    def wait_for_line(self, text: str) -> None:
        """Wait until its output holds `text`."""
        eventually(lambda: text in self.output() or self._process.poll() is not None, f"the output holds {text!r}")
        assert text in self.output(), self.output()

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self._process.send_signal(number)

    def has_ended(self) -> bool:
        """Whether it has ended."""
        return self._process.poll() is not None

    def exit_status(self) -> int:
        """Wait for its end."""
        return self._process.wait(PATIENCE_SECONDS)

    def supervisor(self) -> int:
        """The process below the guardian."""
        return descendants(self.pid)[0]

    def process_with(self, words: str) -> int:
        """The first process it has started whose command line holds `words`."""
        for process in descendants(self.pid):
            if words in command_line(process):
                return process
        raise AssertionError(f"no process with {words!r}: {self.left()}")

    def left(self) -> list[str]:
        """The command lines of all living processes that it has brought into being, itself included."""
        mark = self._mark.encode()
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                marked = mark in (entry / "environ").read_bytes().split(b"\0")
                alive = (entry / "stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
            except OSError:
                continue
            if marked and alive:
                found.append(f"{entry.name} {command_line(int(entry.name))}")
        return found

    def expect_nothing_left(self) -> None:
        """All of its processes have ended, or do so at once."""
        eventually(lambda: not self.left(), f"no process is left: {self.left()}")

    def end(self) -> None:
        """End all of it, whatever the test has seen."""
        for line in self.left():
            try:
                os.kill(int(line.split()[0]), signal.SIGKILL)
            except ProcessLookupError:
                continue
        self._process.wait()


@contextmanager
def started(command: Sequence[str], output: Path, environment: Mapping[str, str]) -> Iterator[Started]:
    """Start a command of this Python's, and leave nothing of it."""
    running = Started([sys.executable, *command], output, environment)
    try:
        yield running
    finally:
        running.end()
