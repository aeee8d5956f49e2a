"""Loaded by a worker of the tests (`--include`), never by the tests: its first run starts a child and never ends."""

import os
import subprocess
import time
from pathlib import Path

import pytest
from django.conf import settings

from tests.webapp.scripted_engine import Script, install
from webapp.jobs import heartbeat

EPISODES = 4
heartbeat.STOP_WITHIN_SECONDS = 0.5


def never_end_the_first_time(number: int) -> None:
    """The third episode of the first run waits for a child that sleeps; nobody asks whether to stop."""
    ids = Path(settings.DATA_FOLDER) / "endless"
    if number == 3 and not ids.exists():
        with subprocess.Popen(["sleep", "600"]) as child:
            ids.write_text(f"{os.getpid()} {child.pid}")
            while True:
                time.sleep(600)


install(
    pytest.MonkeyPatch(),
    Script([1000.0 - number for number in range(EPISODES)], before_episode=never_end_the_first_time),
)
