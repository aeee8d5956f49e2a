"""`python -m tests.chaos.hosts`: many runs on two hosts and the centre; a host is lost, one has another version.

Each host has a folder of its own and shares only PostgreSQL and Redis with the centre.
"""

import argparse
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import psycopg

from tests.chaos.jobs import Kind, Material, NotWholeError, check_numbers, events_of, run_kind
from tests.chaos.material import make_material, node_link
from tests.chaos.services import services
from tests.chaos.site import Site
from tests.chaos.visitor import UnreachableError
from tests.supervisor.application import OTHER_SETTINGS
from tests.supervisor.started import ROOT, Started
from webapp.supervisor.parts import worker_command

HEARTBEAT_SECONDS = 2.0
END_SECONDS = 1800.0
"""longest time for all runs to end"""
EVALUATIONS = 300
OTHER_VERSION = "9.9.9"
SOURCES = ("engine", "experiments", "webapp", "manage.py")
CENTRE = "centre"


class Host:
    """A machine with one worker on the `gpu` queue."""

    def __init__(self, name: str, folder: Path, settings: Mapping[str, str], sources: Path = ROOT) -> None:
        """Start the command of docs/operations.md in `sources`."""
        self.name = name
        self._folder = folder / name
        self._folder.mkdir(mode=0o700)
        machine = {key: value for key, value in os.environ.items() if key not in OTHER_SETTINGS}
        own = {"PLACETO_DATA": str(self._folder), "PLACETO_HEARTBEAT_SECONDS": str(HEARTBEAT_SECONDS)}
        program = Path(sys.executable).with_name("celery")
        command = [str(program), *worker_command("gpu")[1:]]
        self._worker = Started(command, self._folder / "output.log", {**machine, **settings, **own}, sources)
        self.pid = self._worker.pid

    def lose(self) -> None:
        """Lose the host with all of its processes."""
        self._worker.end()

    def stop(self) -> None:
        """Stop it as an operator does."""
        self._worker.signal(signal.SIGTERM)
        self._worker.exit_status()

    def refusals(self) -> int:
        """How many lines of its log say that it takes nothing."""
        return self._worker.output().count("It takes nothing until")


def main(words: Sequence[str]) -> int:
    """Queue, lose a host, check, print; the exit status: 0 if every run ended whole."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.hosts", description=__doc__)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--out", type=Path, help="a file for the result as JSON")
    choices = parser.parse_args(words)
    folder = Path(tempfile.mkdtemp(prefix="placeto-hosts-"))
    with services(folder) as (_, settings):
        site = Site(folder / "centre", settings | {"PLACETO_HEARTBEAT_SECONDS": str(HEARTBEAT_SECONDS)})
        site.folder.mkdir(mode=0o700)
        hosts: list[Host] = []
        try:
            site.start()
            result = _work(site, hosts, folder, settings, choices.runs)
        finally:
            for host in hosts:
                host.lose()
            site.end()
    print(json.dumps(result, indent=1))
    if choices.out is not None:
        choices.out.write_text(json.dumps(result, indent=1) + "\n")
    return 1 if result["faults"] else 0


def _work(site: Site, hosts: list[Host], folder: Path, settings: Mapping[str, str], count: int) -> dict[str, Any]:
    material = make_material(site.visitor, "tree.json", node_link(60))
    kind = run_kind("placeto", "placeto", EVALUATIONS, seed=1)
    expected = _expected(site, kind, material)
    lost, kept = (Host(name, folder, settings) for name in ("lost host", "kept host"))
    other = Host("other version", folder, settings, _sources_of_another_version(folder))
    hosts += [lost, kept, other]
    paths = [kind.start(site.visitor, material) for _ in range(count)]
    began = time.monotonic()
    ledger = Ledger(settings["DATABASE_URL"])
    _watch(ledger, lambda: lost.pid in ledger.working())
    lost.lose()
    lost_at = time.monotonic() - began
    _watch(ledger, lambda: False)
    seconds = time.monotonic() - began
    names = {lost.pid: lost.name, kept.pid: kept.name, other.pid: other.name}
    return {
        "runs": count,
        "seconds": round(seconds, 1),
        "host_lost_after_seconds": round(lost_at, 1),
        "share": dict(Counter(names.get(pid, CENTRE) for pid in ledger.last_worker.values())),
        "begun_more_than_once": sum(attempts > 1 for attempts in ledger.attempts().values()),
        "lines_of_the_other_version": other.refusals(),
        "faults": _faults(site, kind, paths, expected),
    }


def _expected(site: Site, kind: Kind, material: Material) -> Any:
    path = kind.start(site.visitor, material)
    while not kind.state(site.visitor, path).has_ended:
        time.sleep(0.1)
    return kind.answer(site.visitor, path)


def _sources_of_another_version(folder: Path) -> Path:
    """A copy of the sources that calls itself another release."""
    copy = folder / "sources"
    copy.mkdir()
    for name in SOURCES:
        source = ROOT / name
        ignored = shutil.ignore_patterns("__pycache__")
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=ignored)
        else:
            shutil.copy(source, copy)
    package = copy / "engine" / "__init__.py"
    text, count = re.subn(r"(?m)^(VERSION\b[^=]*= ).*$", rf'\g<1>"{OTHER_VERSION}"', package.read_text())
    assert count == 1, "engine/__init__.py has the version"
    package.write_text(text)
    return copy


class Ledger:
    """Which worker has which run, read from the database."""

    def __init__(self, database_url: str) -> None:
        self._connection = psycopg.connect(database_url, autocommit=True)
        self.last_worker: dict[str, int] = {}
        """run → process of the worker that had it last"""

    def working(self) -> set[int]:
        """The workers that have a run now."""
        rows = self._connection.execute(
            "SELECT r.id::text, w.pid FROM runs_run r JOIN workers_worker w ON w.identity = r.worker"
            " WHERE r.status = 'running'"
        ).fetchall()
        self.last_worker |= dict(rows)
        return {pid for _, pid in rows}

    def attempts(self) -> dict[str, int]:
        """Run → number of attempts."""
        return dict(self._connection.execute("SELECT id::text, attempts FROM runs_run").fetchall())

    def unfinished(self) -> int:
        """How many runs have not ended."""
        row = self._connection.execute("SELECT count(*) FROM runs_run WHERE finished_at IS NULL").fetchone()
        assert row is not None
        return int(row[0])


def _watch(ledger: Ledger, enough: Callable[[], bool]) -> None:
    """Note who works until `enough`, or until all runs have ended. Raises TimeoutError."""
    deadline = time.monotonic() + END_SECONDS
    while time.monotonic() < deadline:
        ledger.working()
        if enough() or ledger.unfinished() == 0:
            return
        time.sleep(0.1)
    raise TimeoutError(f"{ledger.unfinished()} runs have not ended after {END_SECONDS:g} s")


def _faults(site: Site, kind: Kind, paths: Sequence[str], expected: Any) -> list[str]:
    faults = []
    for path in paths:
        try:
            events = events_of(site.visitor, path)
            check_numbers(path, [event["seq"] for event in events], kind.state(site.visitor, path).last_seq)
            if sum(event["type"] == "finished" for event in events) != 1:
                raise NotWholeError(f"{path} has not finished exactly once")
            if kind.answer(site.visitor, path) != expected:
                raise NotWholeError(f"{path} has another answer")
        except (NotWholeError, UnreachableError) as error:
            faults.append(str(error))
    return faults


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
