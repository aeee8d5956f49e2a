"""Deletes the graph whose runs have the most events, and prints how long the answer and other writers took.

    PLACETO_DATA=/somewhere python -m tests.load.deletion

On a database of `tests.load.fill`, which it changes. A second process writes one row after another meanwhile.
"""

import multiprocessing
import os
import sys
import threading
import time
from multiprocessing.synchronize import Event as ProcessEvent
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")

SECONDS_BETWEEN_WRITES = 0.02


def write_until(ended: ProcessEvent, waits: Any) -> None:
    """Write a row again and again; sends (when it began, how long it took)."""
    django.setup()
    from django.db import DatabaseError

    from webapp.jobs.models import HealthMark

    while not ended.is_set():
        began = time.monotonic()
        try:
            HealthMark.write()
        except DatabaseError as error:
            print(f"a writer got: {error}", file=sys.stderr)
        waits.send((began, time.monotonic() - began))
        time.sleep(SECONDS_BETWEEN_WRITES)


def purge() -> None:
    """All chores, as a worker does them."""
    try:
        from webapp.jobs.housekeeping import do_chores
    except ImportError:  # a version that deletes in the request
        return
    while do_chores(lambda chore: chore(), threading.Event(), 600.0):
        pass


def main() -> int:
    """The command."""
    django.setup()
    from django.db.models import Sum
    from django.test import Client

    from webapp.disk_use import disk_use
    from webapp.graphs.models import Graph
    from webapp.jobs.models import Event

    graph = Graph.objects.annotate(events=Sum("runs__last_seq")).exclude(events=None).order_by("-events")[0]
    before = disk_use()
    context = multiprocessing.get_context("spawn")
    ended, (receiver, sender) = context.Event(), context.Pipe(duplex=False)
    writer = context.Process(target=write_until, args=(ended, sender), daemon=True)
    writer.start()
    receiver.recv()
    began = time.monotonic()
    answer = Client(headers={"host": "localhost"}).post(f"/graphs/{graph.id}/delete/")
    answered = time.monotonic()
    assert answer.status_code == 302, answer.status_code
    purge()
    purged = time.monotonic()
    ended.set()
    waits = []
    while receiver.poll(1.0):
        waits.append(receiver.recv())
    writer.join()
    durations = sorted(duration for _, duration in waits)
    left = disk_use()
    print(f"graph of {graph.events:,} events")
    print(f"answer after {answered - began:.3f} s, all purged after {purged - began:.1f} s")
    print(f"{len(durations)} other writes: median {durations[len(durations) // 2] * 1000:.0f} ms, ", end="")
    print(f"99 % {durations[int(0.99 * (len(durations) - 1))] * 1000:.0f} ms, longest {durations[-1] * 1000:.0f} ms")
    print(f"database {before.database_bytes / 1e6:.0f} MB before, {left.database_bytes / 1e6:.0f} MB after, ", end="")
    print(f"of them reusable {left.reusable_bytes / 1e6:.0f} MB; {Event.objects.count():,} events left")
    return 0


if __name__ == "__main__":
    sys.exit(main())
