"""A part that has been started."""

import os
import signal
import subprocess
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path

from webapp.hanging import Watched
from webapp.processes import DRAIN_SIGNAL, die_with_parent, send, send_to_group
from webapp.supervisor.failure import StartError
from webapp.supervisor.output import Concern, Console, Lines, Log, last_words, readable
from webapp.supervisor.parts import Part, WhenDone, WhenItAnswers, WhenItSays

_MOST_READS_AT_THE_END = 100
"""A process that left the group may go on writing; the guardian ends it later."""


class RunningPart:
    """A process in a group of its own, its output, and whether it is ready."""

    def __init__(self, part: Part, folder: Path, environment: Mapping[str, str], log: Log, console: Console) -> None:
        """Start `part` in `folder`. Raises StartError. Only for a process without threads (`preexec_fn`)."""
        self.part, self.log = part, log
        self._console = console
        self._concern = Concern()
        self._last_lines: deque[str] = deque(maxlen=100)
        self._ready = False
        parent = os.getpid()
        try:
            self._process = subprocess.Popen(
                part.command,
                cwd=folder,
                env={**environment, **part.environment},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                process_group=0,
                preexec_fn=lambda: die_with_parent(parent),
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise StartError(f"{part.name} cannot be started ({part.command[0]}): {error}") from None
        assert self._process.stdout is not None
        self._watched = Watched(self._process.pid, time.monotonic()) if part.never_rests else None
        self.lines = Lines(os.dup(self._process.stdout.fileno()))
        self._process.stdout.close()

    def take_lines(self) -> bool:
        """Log and show its new lines; False at the end of its output."""
        lines = self.lines.read()
        for line in lines or ():
            self._take(line)
        return lines is not None

    def _take(self, line: str) -> None:
        self.log.write(line)
        is_mark = self.part.readiness == WhenItSays(line)
        self._ready = self._ready or is_mark
        for words in readable(line):
            self._last_lines.append(words)
            if self.part.shown and not is_mark and self._concern.shows(words):
                self._console.say(words, f"{self.part.name:>8} |")

    def exit_status(self) -> int | None:
        """None while it runs; negative: the signal that ended it."""
        return self._process.poll()

    def is_ready(self) -> bool:
        """Whether it can be used."""
        match self.part.readiness:
            case WhenDone():
                self._ready = self.exit_status() == 0
            case WhenItAnswers(answers):
                self._ready = self._ready or answers()
        return self._ready

    def idle_seconds(self, now: float, usual_seconds: float) -> float:
        """For how long it has done nothing, as `Watched` says; 0 for a part that may rest."""
        return 0.0 if self._watched is None else self._watched.idle_seconds(now, usual_seconds)

    def has_failed(self) -> bool:
        """Whether it has ended unexpectedly."""
        status = self.exit_status()
        return status is not None and not (status == 0 and isinstance(self.part.readiness, WhenDone))

    def epitaph(self) -> str:
        """How and why it ended, in one line."""
        status = self.exit_status() or 0
        how = f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
        return f"{self.part.name} {how}: {last_words(list(self._last_lines))} (more in {self.log.path})"

    def ask_to_end(self) -> None:
        """Send SIGTERM to the leader alone: a worker stops its children itself."""
        if self.exit_status() is None:
            send(self._process.pid, signal.SIGTERM)

    def drain(self) -> None:
        """Ask the leader to finish its work, take nothing new, and end."""
        if self.exit_status() is None:
            send(self._process.pid, DRAIN_SIGNAL)

    def kill(self) -> None:
        """End what is left of its process group, and read its last lines."""
        send_to_group(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for _ in range(_MOST_READS_AT_THE_END):
            if not self.take_lines():
                break

    def close(self) -> None:
        """Close its pipe and log."""
        self.lines.close()
        self.log.close()
