"""The health of the web server and of the parts that it needs, for machines that watch it.

`/health/live` answers as long as the process does. `/health/ready` also asks the database, the broker and the disk,
and every few seconds has each of them store something: a full disk or a read-only Redis still answers questions.
"""

import threading
import time
from collections.abc import Callable, Collection, Mapping
from http import HTTPStatus
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from webapp.access.marks import open_to_anyone
from webapp.http.handler import HEALTH, in_threads
from webapp.jobs.models import HealthMark
from webapp.jobs.publishing import broker_fault, broker_write_fault

WRITES_EVERY_SECONDS = 10.0
LONGEST_LOCK_SECONDS = 2.0
"""for which a writer may hold SQLite before the database counts as away"""
DISK_FILE = ".health"
OK = "ok"


@open_to_anyone
@in_threads(HEALTH)
@require_safe
@never_cache
def live(_request: HttpRequest) -> JsonResponse:
    """200: this process answers."""
    return JsonResponse({"web": OK})


@open_to_anyone
@in_threads(HEALTH)
@require_safe
@never_cache
def ready(_request: HttpRequest) -> JsonResponse:
    """200 and "ok" for each part, or 503 and the fault of each part that does not answer or cannot write."""
    faults = part_faults()
    well = not any(faults.values())
    answers = {part: fault or OK for part, fault in faults.items()}
    return JsonResponse(answers, status=HTTPStatus.OK if well else HTTPStatus.SERVICE_UNAVAILABLE)


def part_faults() -> dict[str, str]:
    """Part → why it does not answer or cannot write; an empty string if it does."""
    faults = {"database": _database(), "broker": broker_fault(), "disk": ""}
    written = _writes.faults(away=[part for part, fault in faults.items() if fault])
    return {part: fault or written[part] for part, fault in faults.items()}


class Writes:
    """Writes to each part, at most every `WRITES_EVERY_SECONDS`."""

    def __init__(self, writers: Mapping[str, Callable[[], str]]) -> None:
        """`writers` by part: why it cannot write, or an empty string."""
        self._writers = writers
        self._faults: dict[str, str] = {}
        self._written_at = float("-inf")
        self._lock = threading.Lock()

    def faults(self, away: Collection[str] = ()) -> dict[str, str]:
        """Why each part could not write at the last attempt; an empty string if it could, or was `away`: not asked."""
        with self._lock:
            if time.monotonic() - self._written_at >= WRITES_EVERY_SECONDS:
                self._faults = {part: "" if part in away else write() for part, write in self._writers.items()}
                self._written_at = time.monotonic()
            return self._faults


def _database() -> str:
    """Why the database does not answer; an empty string if it does."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError as error:
        return f"{type(error).__name__}: {error}"
    return ""


def _database_write() -> str:
    try:
        if connection.vendor == "sqlite":
            with connection.cursor() as cursor:
                cursor.execute(f"PRAGMA busy_timeout = {int(1000 * LONGEST_LOCK_SECONDS)}")
        HealthMark.write()
    except DatabaseError as error:
        return f"{type(error).__name__}: {error}"
    finally:
        connection.close()  # with its shorter patience
    return ""


def _disk_write() -> str:
    path = Path(settings.DATA_FOLDER) / DISK_FILE
    try:
        path.write_bytes(bytes(4096))
        path.unlink()
    except OSError as error:
        return f"{type(error).__name__}: {error.strerror}"
    return ""


_writes = Writes({"database": _database_write, "broker": broker_write_fault, "disk": _disk_write})
