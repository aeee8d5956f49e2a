"""Readings share the memory of a machine."""

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.conf import settings as django_settings
from pytest_django import Settings

from engine import api
from tests.supervisor.started import eventually
from webapp.graphs.models import Graph
from webapp.graphs.reading import most_memory_bytes
from webapp.jobs import memory_shares, worker_hooks
from webapp.jobs.memory_shares import UNIT_BYTES, share_of_memory

HOLDER = """
import sys, time
from django.conf import settings
settings.configure(DATA_FOLDER=sys.argv[1], READING_MEMORY_BYTES=8 * 1024**3)
from webapp.jobs.memory_shares import share_of_memory
with share_of_memory(6 * 1024**3):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture(autouse=True)
def _eight_units(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.READING_MEMORY_BYTES = 8 * UNIT_BYTES
    monkeypatch.setattr(memory_shares, "LOOK_EVERY_SECONDS", 0.01)


class Reading:
    """A thread that takes a share and keeps it until it is told to end."""

    def __init__(self, units: int) -> None:
        self.works, self._ends = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, args=(units * UNIT_BYTES,), daemon=True)
        self._thread.start()

    def _run(self, wanted_bytes: int) -> None:
        with share_of_memory(wanted_bytes):
            self.works.set()
            self._ends.wait()

    def end(self) -> None:
        """Give its share back."""
        self._ends.set()
        self._thread.join(20)


@pytest.fixture
def readings() -> Iterator[list[Reading]]:
    """Ended after the test."""
    found: list[Reading] = []
    yield found
    for reading in found:
        reading.end()


def started(readings: list[Reading], units: int) -> Reading:
    """A reading that has its share."""
    readings.append(Reading(units))
    assert readings[-1].works.wait(20)
    return readings[-1]


def test_one_that_does_not_fit_beside_the_others_waits_for_them(readings: list[Reading]) -> None:
    first, _second = started(readings, 4), started(readings, 3)
    third = Reading(4)
    readings.append(third)
    assert not third.works.wait(0.1)
    first.end()
    assert third.works.wait(20)


def test_a_large_one_is_not_passed_over_by_small_ones(readings: list[Reading]) -> None:
    first = started(readings, 4)
    large = Reading(8)
    readings.append(large)
    eventually(lambda: locked() == 8, "it keeps what it has found")
    small = Reading(1)
    readings.append(small)
    first.end()
    assert large.works.wait(20)
    assert not small.works.is_set()
    large.end()
    assert small.works.wait(20)


def test_one_that_is_larger_than_all_works_alone(readings: list[Reading]) -> None:
    alone = started(readings, 12)
    assert locked() == 8
    alone.end()
    assert locked() == 0


def test_a_killed_process_holds_nothing(data_folder: Path, readings: list[Reading]) -> None:
    command = [sys.executable, "-c", HOLDER, str(data_folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        waiting = Reading(4)
        readings.append(waiting)
        assert not waiting.works.wait(0.1)
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    assert waiting.works.wait(20)


def locked() -> int:
    """The units that somebody holds."""
    with ExitStack() as mine:
        folder = Path(django_settings.DATA_FOLDER) / memory_shares.FOLDER
        return sum(not memory_shares._lock_now(mine, folder / str(unit)) for unit in range(8))


def test_a_share_is_the_limit_of_the_children(graph: Graph) -> None:
    assert most_memory_bytes(graph) == api.Limits().memory_bytes
    graph.sample = "tiny_cnn"
    assert most_memory_bytes(graph) == api.BUILD_LIMITS.memory_bytes


@pytest.mark.parametrize(
    ("queues", "gibibytes", "processes"), [("cpu", 17, 4), ("cpu", 3, 1), ("cpu", 99, 6), ("gpu", 99, 1)]
)
def test_a_worker_reads_as_many_at_once_as_fit(
    queues: str, gibibytes: int, processes: int, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.READING_MEMORY_BYTES = gibibytes * UNIT_BYTES
    monkeypatch.setattr("os.cpu_count", lambda: 6)
    amqp = SimpleNamespace(queues=SimpleNamespace(consume_from={queues: None}))
    worker = SimpleNamespace(app=SimpleNamespace(amqp=amqp), concurrency=1)
    worker_hooks._read_several_at_once(worker)
    assert worker.concurrency == processes
