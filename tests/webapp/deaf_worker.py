"""Loaded by a worker of the tests (`--include`), never by the tests: its runs do not notice a stop of their process."""

import os
import time
from pathlib import Path

import pytest
from django.conf import settings

from tests.webapp.scripted_engine import CHECKPOINT_EVERY, EPISODES, Script, install


def take_no_notice(number: int) -> None:
    """Each episode takes its time; an exit in the middle of it is lost, as it may be in compiled code."""
    with (Path(settings.DATA_FOLDER) / "lives").open("a") as lives:
        lives.write(f"{os.getpid()} {number}\n")
    ends_at = time.monotonic() + 0.5
    while time.monotonic() < ends_at:
        try:
            time.sleep(0.01)
        except SystemExit:
            continue


install(
    pytest.MonkeyPatch(),
    Script(
        [1000.0 - number for number in range(10 * EPISODES)],
        checkpoint_every=CHECKPOINT_EVERY,
        before_episode=take_no_notice,
    ),
)
