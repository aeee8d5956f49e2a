"""The parts of the application: their commands and tests of readiness."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from webapp.supervisor.configuration import Configuration
from webapp.supervisor.worker_ready import READY_LINE

QUEUES = ("gpu", "cpu", "execute")
"""one worker each: `gpu` trains and searches, `cpu` reads graphs, `execute` runs users' graphs to measure them"""

_NO_WARNING_OF_PICKLES = {"PYTHONWARNINGS": "ignore:You're running the worker with superuser"}
"""Celery warns root about pickles in messages; ours are JSON only."""


@dataclass(frozen=True, slots=True)
class WhenDone:
    """Ready when it has ended with status 0; the only kind of part that may end."""


@dataclass(frozen=True, slots=True)
class WhenItSays:
    """Ready when it writes this line."""

    line: str


@dataclass(frozen=True, slots=True)
class WhenItAnswers:
    """Ready when this function returns True."""

    answers: Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Part:
    """A process that the supervisor starts and ends."""

    name: str
    command: tuple[str, ...]
    readiness: WhenDone | WhenItSays | WhenItAnswers
    environment: Mapping[str, str] = field(default_factory=dict)
    """beside the variables of all parts"""
    shown: bool = True
    """whether its warnings and errors go to the console, not only to its log"""
    drains: bool = False
    """whether it does work that it finishes and then ends, when it gets the drain signal"""
    never_rests: bool = False
    """whether it does a little all the time, so that one that does nothing hangs"""


def web_command(host: str, port: int) -> tuple[str, ...]:
    """The web server. Open event streams delay its end by no more than the timeout."""
    return (
        *("uvicorn", "webapp.asgi:application", "--host", host, "--port", str(port)),
        *(
            "--http",
            "webapp.http.connections:BoundedProtocol",
            "--no-proxy-headers",
            "--timeout-graceful-shutdown",
            "3",
        ),
    )


def worker_command(queue: str) -> tuple[str, ...]:
    """A worker. Everything else is in the settings, so that a host needs only this command."""
    return ("celery", "-A", "webapp", "worker", "-Q", queue)


def _module(command: tuple[str, ...]) -> tuple[str, ...]:
    """`command` with the Python that runs the supervisor, whatever the PATH holds."""
    return (sys.executable, "-m", *command)


def database_part() -> Part:
    """Brings the database's tables up to date."""
    return Part(
        "database", (sys.executable, "manage.py", "migrate", "--noinput", "--verbosity", "0"), WhenDone(), shown=False
    )


def web_part(configuration: Configuration, answers: Callable[[], bool]) -> Part:
    """The web server; `answers` asks it for its health."""
    return Part(
        "web", _module(web_command(configuration.host, configuration.port)), WhenItAnswers(answers), never_rests=True
    )


def worker_parts() -> list[Part]:
    """One worker for each queue, with its own name; the included module prints when it takes tasks."""
    options = (
        *("--loglevel", "INFO", "--include", "webapp.supervisor.worker_ready"),
        *("--without-mingle", "--without-gossip"),  # workers do not talk to each other
    )
    parts = []
    for queue in QUEUES:
        program, *arguments = worker_command(queue)
        command = (program, "--quiet", *arguments, "--hostname", f"{queue}@%h", *options)
        readiness = WhenItSays(READY_LINE)
        parts.append(Part(queue, _module(command), readiness, _NO_WARNING_OF_PICKLES, drains=True, never_rests=True))
    return parts
