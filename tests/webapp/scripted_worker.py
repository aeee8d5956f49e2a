"""Loaded by a worker of the tests (`--include`), never by the tests: its runs take a few seconds and need no engine."""

import os
import time
from pathlib import Path

import pytest
from django.conf import settings

from tests.webapp.scripted_engine import CHECKPOINT_EVERY, EPISODES, Script, install

EPISODE_SECONDS = 0.03


def write_down(number: int) -> None:
    """Each episode takes its time, and leaves a line with the name of its worker."""
    time.sleep(EPISODE_SECONDS)
    with (Path(settings.DATA_FOLDER) / "lives").open("a") as lives:
        lives.write(f"{os.getpid()} {number}\n")


install(
    pytest.MonkeyPatch(),
    Script(
        [1000.0 - number for number in range(EPISODES)],
        checkpoint_every=CHECKPOINT_EVERY,
        before_episode=write_down,
    ),
)
