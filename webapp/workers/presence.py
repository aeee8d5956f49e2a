"""A worker reports itself to the database, so that others see where it is and what it does."""

import logging
import os
import socket
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta

from django.db.models.functions import Now

from webapp.workers.machine_offer import MachineOffer
from webapp.workers.models import Worker
from webapp.workers.version import code_version, database_version, has_table

log = logging.getLogger(__name__)

OTHER_VERSION = "another version"
KEPT_AFTER_LAST_SIGN = timedelta(hours=1)
"""how long a worker that vanished stays listed"""


@dataclass(slots=True)
class Presence:
    """The row of one worker."""

    identity: str
    queues: tuple[str, ...]
    host: str
    pid: int
    logged: str = ""
    """the last line that the log got about the version, so that it gets each once"""
    offer: MachineOffer = field(init=False)

    def __post_init__(self) -> None:
        self.offer = MachineOffer(self.identity)

    @staticmethod
    def of_this_process(identity: str, queues: Iterable[str]) -> "Presence":
        """The row of the worker whose parent process this is."""
        return Presence(identity, tuple(sorted(queues)), socket.gethostname(), os.getpid())

    def has_version_of_database(self) -> bool:
        """Whether this worker may take jobs; logs one line when that changes. Raises DatabaseError."""
        own, stored = code_version(), database_version()
        line = ""
        if own != stored:
            there = "has no version: run `manage.py migrate`" if stored is None else f"is of version {stored}"
            line = f"this worker is version {own}, but the database {there}. It takes nothing until both are the same."
        if line and line != self.logged:
            log.warning("%s", line)
        elif self.logged and not line:
            log.warning("this worker and the database are both version %s now: it takes jobs again", own)
        self.logged = line
        return not line

    def report(self, takes_nothing_because: str) -> None:
        """Write the row anew and what it offers; remove workers that vanished long ago. Raises DatabaseError."""
        if not has_table(Worker):
            return  # nobody has migrated the database yet
        own = code_version()
        seen = {"takes_nothing_because": takes_nothing_because, "seen_at": Now()}
        first = {
            "host": self.host,
            "pid": self.pid,
            "queues": ",".join(self.queues),
            "version": own.version,
            "schema": own.schema,
            "started_at": Now(),
        }
        if not Worker.objects.filter(identity=self.identity).update(**seen):
            Worker.objects.create(identity=self.identity, **first, **seen)
        Worker.objects.filter(seen_at__lt=Now() - KEPT_AFTER_LAST_SIGN).delete()
        self.offer.report()

    def leave(self) -> None:
        """Remove the row, and what it offers. Raises DatabaseError."""
        self.offer.leave()
        Worker.objects.filter(identity=self.identity).delete()
