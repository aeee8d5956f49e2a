"""The machines of workers: each worker stores its own, once it has been measured; forms offer those of other hosts."""

import socket
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from engine import api
from webapp.json_field import to_text
from webapp.workers.machine_file import MeasuredMachine, own_machine, parse_machine
from webapp.workers.models import OfferedMachine, Worker
from webapp.workers.version import has_table

FileState = tuple[int, int, int]
"""inode, size, time of the last change in ns"""


@dataclass(slots=True)
class MachineOffer:
    """The row with the machine of one worker, which follows the file."""

    identity: str
    """the worker's"""
    _seen: FileState | None = None
    """the file when it was read last; None if there was none"""
    _columns: dict[str, str] | None = None
    """what the row has to hold; None for no row"""
    _is_stored: bool = True
    """whether the row was written since the file was read"""

    def report(self) -> None:
        """Write, rewrite or remove the row if the file has changed, or if the row is gone; remove the rows of workers
        that are not listed any more. Raises DatabaseError.
        """
        if not has_table(OfferedMachine):
            return  # the database has an older schema
        self._look()
        row = OfferedMachine.objects.filter(identity=self.identity)
        if self._columns is None:
            if not self._is_stored:
                row.delete()
        elif not (self._is_stored and row.exists()):
            OfferedMachine.objects.update_or_create(identity=self.identity, defaults=self._columns)
        self._is_stored = True
        OfferedMachine.objects.exclude(identity__in=Worker.objects.values("identity")).delete()

    def leave(self) -> None:
        """Remove the row. Raises DatabaseError."""
        if has_table(OfferedMachine):
            OfferedMachine.objects.filter(identity=self.identity).delete()

    def _look(self) -> None:
        """Read the file if it is another one than last time."""
        state = _file_state()
        if state == self._seen:
            return
        self._seen, self._is_stored = state, False
        machine = own_machine()
        if machine.cluster is not None:
            self._columns = {"cluster": _text(machine.cluster), "fault": ""}
        else:
            self._columns = {"cluster": "", "fault": machine.fault} if machine.fault else None


@dataclass(frozen=True, slots=True)
class WorkerMachine:
    """The machine of a worker on another host."""

    host: str
    machine: MeasuredMachine


def worker_machines(own: MeasuredMachine) -> list[WorkerMachine]:
    """Those of other hosts, by host: what the worker that was seen last has. `own`: this host's, which is left out.

    A host that has the same file is this one under another name, such as another container.
    """
    workers = Worker.objects.exclude(host=socket.gethostname()).order_by()
    hosts = {worker.identity: worker.host for worker in sorted(workers, key=lambda worker: worker.seen_at)}
    rows = {row.identity: row for row in OfferedMachine.objects.filter(identity__in=hosts)}
    newest = {host: rows[identity] for identity, host in hosts.items() if identity in rows}
    left_out = None if own.cluster is None else _text(own.cluster)
    found = ((host, row) for host, row in sorted(newest.items()) if row.fault or row.cluster != left_out)
    return [WorkerMachine(host, _machine_of(row)) for host, row in found]


def _machine_of(row: OfferedMachine) -> MeasuredMachine:
    return MeasuredMachine(fault=row.fault) if row.fault else parse_machine(row.cluster, "its machine")


def _text(cluster: api.Cluster) -> str:
    return to_text(api.cluster_to_json(cluster))


def _file_state() -> FileState | None:
    try:
        status = Path(settings.MACHINE).stat()
    except FileNotFoundError:
        return None
    except OSError as error:  # `own_machine` says what is wrong
        return 0, 0, error.errno or 0
    return status.st_ino, status.st_size, status.st_mtime_ns
