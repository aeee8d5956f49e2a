"""Starts the parts in stages, starts again each that dies, and ends them all together."""

import os
import selectors
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from webapp.processes import DRAIN_SIGNAL, adopt_orphans, end_descendants, listen_to_signals
from webapp.supervisor.failure import StartError
from webapp.supervisor.kept_part import KeptPart
from webapp.supervisor.output import Console, Log
from webapp.supervisor.parts import Part
from webapp.supervisor.running_part import RunningPart

START_SECONDS = 120.0
"""longest time for a stage to become ready"""
END_SECONDS = 10.0
"""longest time for a stage to end by itself"""
LOOK_EVERY_SECONDS = 5.0
"""time between two looks for parts that hang"""
HANGS_AFTER_SECONDS = 30.0
"""for which a part that never rests may use no processor time"""
TURN_SECONDS = 0.1
"""time between two checks of starting or ending parts"""


class Supervisor:
    """One thread, one loop: the output of all parts, their ends and the signals to this process.

    starting ──every part is ready──▶ running ──a stop signal, or drained──▶ ending ──▶ ended, status 0
        │                              └─ a part died too often ──┐                         status 1 for a part's death
        └─ a stop signal, a part's death, too long a time ────────┴──▶ ending
    """

    def __init__(
        self,
        stages: Sequence[Sequence[Part]],
        folder: Path,
        logs: Path,
        environment: Mapping[str, str],
        note: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`stages` start one after the other and end in the opposite order; parts run in `folder`.

        `note` gets a sentence about each part that hung and was ended.
        """
        self._folder, self._logs, self._environment = folder, logs, environment
        self._stages = [[KeptPart(part, self._start) for part in stage] for stage in stages]
        self._note = note
        self._looked_at = time.monotonic()
        self._console = Console()
        self._selector = selectors.DefaultSelector()
        self._stop_signals = 0
        self._drain_signals = 0

    def run(self, announce: Callable[[], None], announce_end: Callable[[], None] = lambda: None) -> int:
        """Run until a stop signal comes, all work is drained, or a part dies too often; returns the exit status.

        Calls `announce` when all is ready, and `announce_end` when all is about to end.
        """
        self._listen_to_signals()
        try:
            if self._start_stages():
                announce()
                self._keep_running()
            self._console.say("stopping")
            return 0
        except StartError as error:
            self._console.say(str(error))
            return 1
        finally:
            announce_end()
            self._end_stages()

    def _start_stages(self) -> bool:
        """Start all stages; False if a stop signal came first. Raises StartError."""
        for stage in self._stages:
            for kept in stage:
                kept.start_at(time.monotonic())
            if not self._wait_until_ready([kept.running for kept in stage if kept.running]):
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
        """Whether a stop signal has come. Raises StartError if a part has died."""
        if self._stop_signals:
            return True
        for kept in self._parts():
            if kept.running and kept.running.has_failed():
                kept.running.kill()
                raise StartError(kept.running.epitaph())
        return False

    def _keep_running(self) -> None:
        """Start again what dies, until a stop signal comes or all work is drained. Raises StartError."""
        drained: list[KeptPart] | None = None
        while not self._stop_signals:
            if drained is None and self._drain_signals:
                drained = self._drain()
            self._end_hanging()
            for kept in self._parts():
                self._keep(kept, may_end=drained is not None and kept in drained)
            if drained is not None and not any(kept.running for kept in drained):
                self._console.say("drained: nothing runs any more")
                return
            self._turn(min(LOOK_EVERY_SECONDS, self._seconds_to_next_start()))

    def _end_hanging(self) -> None:
        """Kill each part that hangs: it is then started again like one that died by itself."""
        now = time.monotonic()
        if now - self._looked_at < LOOK_EVERY_SECONDS:
            return
        self._looked_at = now
        for kept in self._parts():
            running = kept.running
            if running is not None and running.exit_status() is None:
                idle_seconds = running.idle_seconds(now, LOOK_EVERY_SECONDS)
                if idle_seconds >= HANGS_AFTER_SECONDS:
                    sentence = f"{kept.part.name} hung: it did nothing for {idle_seconds:.0f} s and was ended"
                    self._console.say(sentence)
                    self._note(sentence)
                    running.kill()

    def _keep(self, kept: KeptPart, *, may_end: bool) -> None:
        """Start the part if its time has come; bury it if it died. Raises StartError if it died too often."""
        if kept.starts_at is not None and time.monotonic() >= kept.starts_at:
            try:
                kept.start_at(time.monotonic())
            except StartError as error:
                self._start_later(kept, str(error))
        elif kept.running and kept.running.exit_status() is not None:
            status, failed, epitaph = kept.running.exit_status(), kept.running.has_failed(), self._bury(kept.running)
            if failed and not may_end:
                self._start_later(kept, epitaph)
            else:
                kept.running = None
                if status != 0:
                    self._console.say(epitaph)

    def _start_later(self, kept: KeptPart, reason: str) -> None:
        wait_seconds = kept.wait_after_death(reason, time.monotonic())
        self._console.say(f"{reason}; it starts again in {wait_seconds:g} s")

    def _bury(self, running: RunningPart) -> str:
        """Kill what a dead part left of its process group, and let go of it; returns its epitaph."""
        running.kill()
        epitaph = running.epitaph()
        if running.lines in self._selector.get_map():
            self._selector.unregister(running.lines)
        running.close()
        return epitaph

    def _drain(self) -> list[KeptPart]:
        """Ask each part that does work to finish it and end; returns these parts."""
        self._console.say("draining: the workers finish what they do and take nothing new; Ctrl-C stops at once")
        drained = [kept for kept in self._parts() if kept.part.drains]
        for kept in drained:
            kept.starts_at = None  # one that waits for its start does nothing that it could finish
            if kept.running:
                kept.running.drain()
        return drained

    def _seconds_to_next_start(self) -> float:
        """Infinite while no part waits for its start."""
        times = [kept.starts_at for kept in self._parts() if kept.starts_at is not None]
        return max(0.0, min(times) - time.monotonic()) if times else float("inf")

    def _turn(self, seconds: float) -> None:
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
        for stage in reversed(self._stages):
            parts = [kept.running for kept in stage if kept.running]
            for running in parts:
                running.ask_to_end()
            deadline = time.monotonic() + END_SECONDS
            while any(running.exit_status() is None for running in parts):
                if self._stop_signals > max(asked, 1) or time.monotonic() > deadline:
                    break
                self._turn(TURN_SECONDS)
            for running in parts:
                running.kill()
                running.close()
        end_descendants()

    def _parts(self) -> list[KeptPart]:
        return [kept for stage in self._stages for kept in stage]

    def _listen_to_signals(self) -> None:
        """Count stop signals; wake the loop for them and for a part's end."""
        wakes, woken = os.pipe()
        for end in (wakes, woken):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
        self._selector.register(wakes, selectors.EVENT_READ)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        listen_to_signals(self._count_signal)

    def _count_signal(self, received: signal.Signals) -> None:
        if received == DRAIN_SIGNAL:
            self._drain_signals += 1
        else:
            self._stop_signals += 1
