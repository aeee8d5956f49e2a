"""Runs the tools of a set-up: their output goes to a log, progress also to the terminal."""

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from setup.failure import SetupError, explain

LONGEST_LINE = 100


def say(line: str) -> None:
    """Print a line for the person who started the set-up."""
    print(f"set-up: {line}", flush=True)


def run(
    tool: str,
    command: Sequence[str],
    log: Path,
    *,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
    shows: Callable[[str], bool] = lambda _line: False,
) -> None:
    """Run `command`; write its output to `log`, and the lines that `shows` picks to the terminal. Raises SetupError."""
    log.parent.mkdir(parents=True, exist_ok=True)
    lines: list[str] = []
    with log.open("w", encoding="utf-8") as stream:
        try:
            process = subprocess.Popen(
                command,
                cwd=cwd,
                env={**os.environ, **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                encoding="utf-8",
                errors="replace",
            )
        except OSError as error:
            raise SetupError(f"{tool} cannot be started: {error.strerror} ({command[0]})") from error
        with process:
            assert process.stdout is not None
            for line in process.stdout:
                stream.write(line)
                stream.flush()
                lines.append(line)
                if shows(line.strip()):
                    say(_shortened(line.strip()))
    if process.returncode != 0:
        raise SetupError(explain(tool, "".join(lines), str(log)))


def _shortened(line: str) -> str:
    return line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 1]}…"
