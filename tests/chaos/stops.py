"""`python -m tests.chaos.stops`: stop a worker in the middle of a Placeto run, again and again.

The worker is started by the command in docs/operations.md and gets SIGTERM, SIGINT or SIGQUIT at a random moment. Each
stop must end within 15 s, give the run back, count no attempt, and fail nothing.
"""

import argparse
import json
import os
import random
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.webapp.processes import Surroundings
    from webapp.runs.models import Run

LONGEST_STOP_SECONDS = 15.0
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)
LONGEST_PAUSE_SECONDS = 3.0
EVALUATIONS = 200_000
"""more than the stops leave time for: one run is stopped each time"""


def main(words: Sequence[str]) -> int:
    """Stop, check, print; the exit status: 0 if every stop kept its promise."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.stops", description=__doc__)
    parser.add_argument("--stops", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0, help="of the signals and their moments")
    parser.add_argument("--out", type=Path, help="a file for the result as JSON")
    choices = parser.parse_args(words)
    random.seed(choices.seed)
    folder = Path(tempfile.mkdtemp(prefix="placeto-stops-"))
    os.environ |= {"PLACETO_DATA": str(folder), "DJANGO_SETTINGS_MODULE": "webapp.settings", "LOG_LEVEL": "WARNING"}
    import django

    django.setup()
    rows = _stops(folder, choices.stops)
    result = _result(rows, choices.seed)
    print(
        f"{result['stops']} stops: median {result['median_seconds']:.1f} s, worst {result['worst_seconds']:.1f} s; "
        f"late: {result['late']}; not given back whole: {result['not_given_back']}"
    )
    if choices.out is not None:
        choices.out.write_text(json.dumps(result, indent=1) + "\n")
    return 0 if result["late"] == result["not_given_back"] == 0 else 1


def _result(rows: list[dict[str, Any]], seed: int) -> dict[str, Any]:
    seconds = [row["seconds"] for row in rows]
    return {
        "stops": len(rows),
        "median_seconds": statistics.median(seconds),
        "worst_seconds": max(seconds),
        "late": sum(value > LONGEST_STOP_SECONDS for value in seconds),
        "not_given_back": sum(row["status"] != "queued" or row["error"] != "" or row["attempts"] != 0 for row in rows),
        "seed": seed,
        "rows": rows,
    }


def _stops(folder: Path, count: int) -> list[dict[str, Any]]:
    """Make the data, then stop a worker `count` times; one row for each stop."""
    from django.core.management import call_command

    from tests.webapp.processes import Surroundings

    call_command("migrate", verbosity=0)
    around = Surroundings(folder, folder)  # Redis where the settings look for it
    try:
        around.start_redis()
        run = _start_run()
        rows = []
        for number in range(1, count + 1):
            rows.append(_stop(around, run))
            print(number, rows[-1], flush=True)
            if rows[-1]["status"] != "queued":
                run = _start_run()
        return rows
    finally:
        around.end()


def _start_run() -> "Run":
    from engine import api
    from tests.chaos.material import node_link
    from webapp.graphs.models import Graph
    from webapp.graphs.reading import read_graph
    from webapp.projects.models import Project
    from webapp.runs.lifecycle import start

    project = Project.objects.create(name="Stops")
    graph = Graph.objects.create(project=project, name="tree.json", suffix=".json")
    graph.source_path.parent.mkdir(exist_ok=True)
    graph.source_path.write_bytes(node_link(60))
    read_graph(graph.id)
    graph.refresh_from_db()
    assert graph.is_ready, graph.error
    return start(graph, api.RunRequest(api.parse_cluster("2xK80"), "placeto", api.Budget(EVALUATIONS), 5))


def _stop(around: "Surroundings", run: "Run") -> dict[str, Any]:
    """Start a worker, wait until the run goes on, stop it at a random moment."""
    worker = around.start_worker_as_documented("gpu")
    before = run.events.count()
    deadline = time.monotonic() + 60
    while run.events.count() <= before:
        assert time.monotonic() < deadline, "the run does not go on"
        time.sleep(0.05)
    time.sleep(random.uniform(0, LONGEST_PAUSE_SECONDS))
    number = random.choice(SIGNALS)
    began = time.monotonic()
    worker.signal(number)
    worker.exit_status()
    seconds = time.monotonic() - began
    run.refresh_from_db()
    return {
        "signal": number.name,
        "seconds": round(seconds, 2),
        "status": run.status,
        "error": run.error,
        "attempts": run.attempts,
        "last_seq": run.last_seq,
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
