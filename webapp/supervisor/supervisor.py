"""Starts the parts in stages, watches them, and ends them all together."""

import os
import selectors
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from webapp.processes import adopt_orphans, end_descendants, listen_to_stop_signals
from webapp.supervisor.failure import StartError
from webapp.supervisor.output import Console, Log
from webapp.supervisor.parts import Part
from webapp.supervisor.running_part import RunningPart

START_SECONDS = 120.0
"""longest time for a stage to become ready"""
END_SECONDS = 10.0
"""longest time for a stage to end by itself"""
TURN_SECONDS = 0.1
"""time between two checks of starting or ending parts"""


class Supervisor:
    """One thread, one loop: the output of all parts, their ends and the signals to this process.

    starting --every part is ready--> running --a stop signal--------> ending --> ended, status 0
        └─────── a stop signal, a part's end, too long a time ──────────┘             status 1 but for the signal
    """

    def __init__(
        self, stages: Sequence[Sequence[Part]], folder: Path, logs: Path, environment: Mapping[str, str]
    ) -> None:
        """`stages` start one after the other and end in the opposite order; parts run in `folder`."""
        self._stages, self._folder, self._logs, self._environment = stages, folder, logs, environment
        self._console = Console()
        self._running: list[list[RunningPart]] = []
        self._selector = selectors.DefaultSelector()
        self._stop_signals = 0

    def run(self, announce: Callable[[], None]) -> int:
        """Run until a stop signal comes or a part ends; returns the exit status. Calls `announce` when all is ready."""
        self._listen_to_signals()
        try:
            if self._start_stages():
                announce()
                while not self._must_stop():
                    self._turn(None)
            self._console.say("stopping")
            return 0
        except StartError as error:
            self._console.say(str(error))
            return 1
        finally:
            self._end_stages()

    def _start_stages(self) -> bool:
        """Start all stages; False if a stop signal came first. Raises StartError."""
        for stage in self._stages:
            self._running.append([])
            for part in stage:
                self._running[-1].append(self._start(part))
            if not self._wait_until_ready(self._running[-1]):
                return False
        return True

    def _start(self, part: Part) -> RunningPart:
        log = Log(self._logs / f"{part.name}.log", self._console)
        running = RunningPart(part, self._folder, self._environment, log, self._console)
        self._selector.register(running.lines, selectors.EVENT_READ, running)
        return running

    def _wait_until_ready(self, stage: list[RunningPart]) -> bool:
        deadline = time.monotonic() + START_SECONDS
        while late := [running for running in stage if not running.is_ready()]:
            if self._must_stop():
                return False
            if time.monotonic() > deadline:
                raise StartError(
                    f"{late[0].part.name} is not ready after {START_SECONDS:g} seconds: see {late[0].log.path}"
                )
            self._turn(TURN_SECONDS)
        return True

    def _must_stop(self) -> bool:
        """Whether a stop signal has come. Raises StartError if a part has ended."""
        if self._stop_signals:
            return True
        for running in self._parts():
            if running.has_failed():
                running.kill()
                raise StartError(running.epitaph())
        return False

    def _turn(self, seconds: float | None) -> None:
        """Wait for output, a signal or a part's end, for at most `seconds`; pass on the output."""
        for key, _ in self._selector.select(seconds):
            if isinstance(key.data, RunningPart):
                if not key.data.take_lines():
                    self._selector.unregister(key.fileobj)
            else:
                os.read(key.fd, 4096)

    def _end_stages(self) -> None:
        """End the parts, those that were started last first; a second stop signal ends them at once."""
        adopt_orphans()  # processes left by a killed part then become children of this one
        asked = self._stop_signals
        for stage in reversed(self._running):
            for running in stage:
                running.ask_to_end()
            deadline = time.monotonic() + END_SECONDS
            while any(running.exit_status() is None for running in stage):
                if self._stop_signals > max(asked, 1) or time.monotonic() > deadline:
                    break
                self._turn(TURN_SECONDS)
            for running in stage:
                running.kill()
                running.close()
        end_descendants()

    def _parts(self) -> list[RunningPart]:
        return [running for stage in self._running for running in stage]

    def _listen_to_signals(self) -> None:
        """Count stop signals; wake the loop for them and for a part's end."""
        wakes, woken = os.pipe()
        for end in (wakes, woken):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
        self._selector.register(wakes, selectors.EVENT_READ)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        listen_to_stop_signals(self._count_stop_signal)

    def _count_stop_signal(self, _received: signal.Signals) -> None:
        self._stop_signals += 1
