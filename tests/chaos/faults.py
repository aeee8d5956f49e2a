"""`python -m tests.chaos.faults`: what users see while a disk, a database, Redis or a clock fails, and what is lost."""

import argparse
import json
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import redis

from tests.chaos.jobs import DEVICES, Follower, Job, Kind, Material, NotWholeError, run_kind, upload_kind
from tests.chaos.material import make_material, node_link
from tests.chaos.services import MissingServiceError, Redis, services
from tests.chaos.shifted_clock import ShiftedClock
from tests.chaos.site import Site
from tests.chaos.visitor import RefusedError, UnreachableError, Visitor

DISK_BYTES = 64 * 1024**2
END_SECONDS = 300.0
"""longest time for accepted jobs to end after the fault"""
SETTINGS = {"PLACETO_HEARTBEAT_SECONDS": "2"}
Undo: TypeAlias = Callable[[], object]
SiteAndBegin: TypeAlias = tuple[Site, Callable[[], Undo]]
"""the application, and what makes the fault and returns what ends it"""
Fault: TypeAlias = Callable[[Path], AbstractContextManager[SiteAndBegin]]
SMALL_RUN = {**DEVICES, "method": "heft", "evaluations": "10", "seed": "0"}


@contextmanager
def full_disk(folder: Path) -> Iterator[SiteAndBegin]:
    """The data folder is a small disk of its own, filled to its last byte."""
    data = folder / "data"
    data.mkdir(mode=0o700)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES},mode=0700", "tmpfs", str(data)]
    if subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        raise MissingServiceError("this user may not mount a small disk")

    def fill() -> Undo:
        filler = data / "filler"
        with filler.open("wb", buffering=0) as stream, suppress(OSError):
            for size in (65536, 1):
                with suppress(OSError):
                    while stream.write(bytes(size)):
                        pass
        return filler.unlink

    try:
        yield Site(folder, SETTINGS), fill
    finally:
        subprocess.run(["umount", "--lazy", str(data)], check=False)


@contextmanager
def locked_database(folder: Path) -> Iterator[SiteAndBegin]:
    """Another program holds SQLite's lock."""
    site = Site(folder, SETTINGS)

    def lock() -> Undo:
        connection = sqlite3.connect(site.data_folder / "placeto.sqlite3", timeout=60, isolation_level=None)
        connection.execute("BEGIN EXCLUSIVE")
        return connection.close

    yield site, lock


@contextmanager
def read_only_redis(folder: Path) -> Iterator[SiteAndBegin]:
    """The embedded Redis becomes the copy of a server that is not there, as in a failover."""
    site = Site(folder, SETTINGS)

    def follow() -> Undo:
        client = redis.Redis(unix_socket_path=str(site.data_folder / "redis" / "redis.sock"))
        client.replicaof("127.0.0.1", 1)
        return lambda: client.replicaof("NO", "ONE")

    yield site, follow


@contextmanager
def full_redis(folder: Path) -> Iterator[SiteAndBegin]:
    """The embedded Redis takes no more memory."""
    site = Site(folder, SETTINGS)

    def limit() -> Undo:
        client = redis.Redis(unix_socket_path=str(site.data_folder / "redis" / "redis.sock"))
        client.config_set("maxmemory", 1)
        return lambda: client.config_set("maxmemory", 0)

    yield site, limit


def clock(shift_seconds: int) -> Fault:
    """The clock of web server and workers is set by `shift_seconds`; that of Redis is not."""

    @contextmanager
    def shifted(folder: Path) -> Iterator[SiteAndBegin]:
        shifted_clock, broker = ShiftedClock(folder), Redis(folder)
        broker.start()

        def begin() -> Undo:
            shifted_clock.set(shift_seconds)
            return lambda: shifted_clock.set(0)

        try:
            yield Site(folder, SETTINGS | shifted_clock.settings | {"REDIS_URL": broker.url}), begin
        finally:
            broker.remove()

    return shifted


@contextmanager
def restarted_services(folder: Path) -> Iterator[SiteAndBegin]:
    """PostgreSQL and Redis of the system end without a word, and come back."""
    with services(folder) as (outside, settings):

        def end() -> Undo:
            for service in outside.values():
                service.kill()

            def start() -> None:
                for service in outside.values():
                    service.start()

            return start

        yield Site(folder, SETTINGS | settings), end


FAULTS: Mapping[str, Fault] = {
    "disk full": full_disk,
    "database locked": locked_database,
    "Redis read-only": read_only_redis,
    "Redis full": full_redis,
    "clock 2 h forwards": clock(7200),
    "clock 2 h back": clock(-7200),
    "broker and database away": restarted_services,
}


@dataclass
class Seen:
    """What a user saw, by request."""

    answers: dict[str, Counter[int]] = field(default_factory=dict)
    """request → status → number; 0: no answer"""
    longest_seconds: float = 0.0
    accepted: list[tuple[str, str]] = field(default_factory=list)
    """(`upload` or `run`, path of its page)"""


class User:
    """Looks at pages, uploads and starts runs, once a second."""

    def __init__(self, visitor: Visitor, material: Material) -> None:
        self._visitor, self._material = visitor, material
        self.seen = Seen()

    def visit(self, until: float) -> None:
        """Do all of it again and again until the monotonic time `until`."""
        project, graph = self._material.project, self._material.graph
        while time.monotonic() < until:
            self._try("page", lambda: self._visitor.read(project))
            self._try("ready", lambda: self._visitor.read("/health/ready"))
            self._try("upload", lambda: self._visitor.upload(f"{project}graphs/", "small.json", node_link(20)))
            self._try("run", lambda: self._visitor.send(f"{graph}runs/", SMALL_RUN))
            time.sleep(1.0)

    def _try(self, what: str, ask: Callable[[], object]) -> None:
        began = time.monotonic()
        try:
            answer = ask()
            status = 200 if isinstance(answer, bytes) else 302
            if isinstance(answer, str):
                self.seen.accepted.append((what, answer))
        except (UnreachableError, RefusedError) as error:
            status = error.status
        self.seen.longest_seconds = max(self.seen.longest_seconds, time.monotonic() - began)
        self.seen.answers.setdefault(what, Counter())[status] += 1


def main(words: Sequence[str]) -> int:
    """Fail, look, check, print; the exit status: 0 if nothing was lost."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.faults", description=__doc__)
    parser.add_argument("--only", action="append", choices=FAULTS, help="this fault alone")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long each fault lasts")
    parser.add_argument("--out", type=Path, help="a file for the results as JSON")
    choices = parser.parse_args(words)
    rows = []
    for name in choices.only or FAULTS:
        folder = Path(tempfile.mkdtemp(prefix="placeto-faults-"))
        try:
            rows.append({"fault": name, **_one(FAULTS[name], folder, choices.seconds)})
        except MissingServiceError as error:
            rows.append({"fault": name, "not_run": str(error)})
        except (NotWholeError, TimeoutError) as error:
            rows.append({"fault": name, "lost": [str(error)], "folder": str(folder)})
        print(json.dumps(rows[-1]), flush=True)
        if not rows[-1].get("lost"):
            shutil.rmtree(folder, ignore_errors=True)
    if choices.out is not None:
        choices.out.write_text(json.dumps(rows, indent=1) + "\n")
    print(_table(rows))
    return 1 if any(row.get("lost") for row in rows) else 0


def _one(fault: Fault, folder: Path, seconds: float) -> dict[str, Any]:
    with fault(folder) as (site, begin):
        try:
            site.start()
            return _observe(site, begin, seconds)
        finally:
            site.end()


def _observe(site: Site, begin: Callable[[], Undo], seconds: float) -> dict[str, Any]:
    material = make_material(site.visitor, "tree.json", node_link(60))
    kind = run_kind("placeto", "placeto", evaluations=1500, seed=3)
    expected = _answer_without_a_fault(site, kind, material)
    path = kind.start(site.visitor, material)
    job = Job(kind, path, Follower(site.visitor, path))
    user = User(site.visitor, material)
    _wait_for(lambda: kind.state(site.visitor, path).last_seq > 0)
    undo = begin()
    user.visit(time.monotonic() + seconds)
    undo()
    ended = time.monotonic()
    seq = kind.state(site.visitor, path).last_seq if _wait_for_health(site) else 0
    well = time.monotonic() - ended
    _wait_for(lambda: kind.state(site.visitor, path).has_ended or kind.state(site.visitor, path).last_seq > seq)
    goes_on = time.monotonic() - ended
    _wait_for(lambda: kind.state(site.visitor, path).has_ended)
    lost = _lost(site, job, expected, user.seen)
    return {
        "seen": {what: dict(sorted(counts.items())) for what, counts in user.seen.answers.items()},
        "longest_answer_seconds": round(user.seen.longest_seconds, 1),
        "well_after_seconds": round(well, 1),
        "goes_on_after_seconds": round(goes_on, 1),
        "accepted": dict(Counter(what for what, _ in user.seen.accepted)),
        "restarts_of_all": site.starts - 1,
        "lost": lost,
    }


def _answer_without_a_fault(site: Site, kind: Kind, material: Material) -> Any:
    path = kind.start(site.visitor, material)
    _wait_for(lambda: kind.state(site.visitor, path).has_ended)
    return kind.answer(site.visitor, path)


def _wait_for_health(site: Site) -> bool:
    site.wait_until_ready()
    return True


def _wait_for(holds: Callable[[], bool]) -> None:
    """Wait until `holds`, while the application may be away. Raises TimeoutError."""
    deadline = time.monotonic() + END_SECONDS
    while time.monotonic() < deadline:
        with suppress(UnreachableError):
            if holds():
                return
        time.sleep(0.2)
    raise TimeoutError(f"not within {END_SECONDS:g} s after the fault")


def _lost(site: Site, job: Job, expected: Any, seen: Seen) -> list[str]:
    """What did not end with its answer, and what was left of refused uploads."""
    lost = []
    kinds = {"upload": upload_kind(), "run": job.kind}
    for what, path in seen.accepted:
        _wait_for(lambda kind=kinds[what], path=path: kind.state(site.visitor, path).has_ended)  # type: ignore[misc]
        status = kinds[what].state(site.visitor, path).status
        if status not in ("done", "ready"):
            lost.append(f"{what} {path} ended as {status}")
    try:
        job.check(site.visitor, expected)
    except NotWholeError as error:
        lost.append(str(error))
    files = len(list((site.data_folder / "graphs").iterdir()))
    uploads = sum(what == "upload" for what, _ in seen.accepted) + 1
    if files != uploads:
        lost.append(f"{files} files of graphs for {uploads} accepted uploads")
    return lost + [f"incoming/{name} is left" for name in site.left_uploads()]


def _counts(counts: Mapping[int, int]) -> str:
    return ", ".join(f"{count} x {status or 'no answer'}" for status, count in counts.items())


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    lines = ["", "| fault | what the user saw | longest answer | goes on after | lost |", "|---|---|---|---|---|"]
    for row in rows:
        if "seen" not in row:
            lines.append(f"| {row['fault']} | {row.get('not_run', '')} | | | {'; '.join(row.get('lost', []))} |")
            continue
        seen = "; ".join(f"{what}: {_counts(counts)}" for what, counts in row["seen"].items())
        numbers = f"{row['longest_answer_seconds']} s | {row['goes_on_after_seconds']} s"
        lines.append(f"| {row['fault']} | {seen} | {numbers} | {'; '.join(row['lost']) or 'nothing'} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
