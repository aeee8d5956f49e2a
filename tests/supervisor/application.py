"""The whole application, started for a test."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.supervisor.started import Started, started

OTHER_SETTINGS = (
    "REDIS_URL",
    "REDIS_SERVER",
    "DATABASE_URL",
    "HOST",
    "PORT",
    "ALLOWED_HOSTS",
    "PLACETO_DATA",
    "DJANGO_SETTINGS_MODULE",
)


@contextmanager
def application(data_folder: Path, port: int, output: Path, **settings: str) -> Iterator[Started]:
    """The application on this data folder and port, with no other settings of the machine's."""
    own = {name: value for name, value in os.environ.items() if name not in OTHER_SETTINGS}
    environment = {**own, "PLACETO_DATA": str(data_folder), "PORT": str(port), **settings}
    with started(["-m", "webapp.supervisor"], output, environment) as running:
        yield running
