"""Prints how long the server takes for each page and for each round of a reaper, on a database that is there.

    PLACETO_DATA=/somewhere python -m tests.load.page_times [--repeats 11]

`tests.load.fill` makes such a database. The requests pass all middleware in this process, without a network.
"""

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")

WARM_UP = 2
STATES_AT_ONCE = 100


def addresses() -> dict[str, str]:
    """The pages and answers that are measured, by their names in the table."""
    from django.db.models import Count

    from webapp.comparisons.models import Comparison
    from webapp.graphs.models import Graph
    from webapp.policies.models import Policy
    from webapp.projects.models import Project
    from webapp.runs.models import Run

    graphs = Graph.objects.annotate(run_count=Count("runs")).order_by("-run_count")
    large = graphs.defer("summary")[0]
    many = Project.objects.annotate(graph_count=Count("graphs")).order_by("-graph_count")[0]
    runs = Run.objects.filter(graph=large).order_by("created_at")
    project = Project.objects.annotate(run_count=Count("graphs__runs")).order_by("-run_count")[0]
    runs_of_project = Run.objects.filter(graph__project=project).count()
    last_page = max(1, runs_of_project // 100)
    asked = ",".join(key.hex for key in runs.values_list("id", flat=True)[:STATES_AT_ONCE])
    longest = Run.objects.order_by("-last_seq")[0]
    found = {
        f"list of {Project.objects.count():,} projects": "/projects/?sort=name",
        f"project of {runs_of_project:,} runs": f"/projects/{project.id}/",
        f"its page {last_page} of runs": f"/projects/{project.id}/?page={last_page}",
        f"project of {many.graph_count:,} graphs": f"/projects/{many.id}/",
        f"graph of {large.run_count:,} runs": f"/graphs/{large.id}/",
        f"train form, {Graph.objects.count():,} graphs": "/policies/train/",
        f"train form of {many.graph_count:,} graphs": f"/policies/train/?project={many.id}",
        f"list of {Policy.objects.count():,} policies": "/policies/",
        f"page of a run of {longest.last_seq:,} events": f"/runs/{longest.id}/",
        "its first 2,000 events": f"/runs/{longest.id}/events.json?limit=2000",
        f"states of {STATES_AT_ONCE} runs": f"/states.json?run={asked}",
        "API: projects": "/api/v1/projects",
        "API: runs of the graph": f"/api/v1/graphs/{large.id}/runs",
        "API: the run": f"/api/v1/runs/{longest.id}",
        "API: its first 2,000 events": f"/api/v1/runs/{longest.id}/events?limit=2000",
    }
    comparison = Comparison.objects.first()
    if comparison is not None:
        found["comparison of 12 runs"] = f"/comparisons/{comparison.id}/"
        found["form of a comparison"] = f"/graphs/{large.id}/compare/"
    return found


def cases() -> dict[str, Callable[[], object]]:
    """What is measured in this process, by its name in the table."""
    from django.test import Client

    from webapp.graphs import orphan_files

    client = Client(headers={"host": "localhost"})

    def get(address: str) -> Callable[[], object]:
        def request() -> None:
            response = client.get(address)
            assert response.status_code == 200, (address, response.status_code)

        return request

    found: dict[str, Callable[[], object]] = {name: get(address) for name, address in addresses().items()}
    found["round of a reaper, its queries"] = _reap_all
    if hasattr(orphan_files, "unknown_files"):  # an earlier checkout has no function for the look alone
        found["look for orphan files"] = lambda: list(orphan_files.unknown_files())
    return found


def _reap_all() -> None:
    from webapp.jobs.reaper import job_models, publish_queued, reap

    for model in job_models():
        reap(model)
        publish_queued(model)


def once(case: Callable[[], object]) -> tuple[float, float]:
    """Milliseconds of one call, and of its processor time."""
    began, processor_began = time.perf_counter(), time.process_time()
    case()
    return 1000 * (time.perf_counter() - began), 1000 * (time.process_time() - processor_began)


def measured(case: Callable[[], object], repeats: int) -> tuple[float, float, float, int]:
    """Median and longest milliseconds, median milliseconds of processor time, and number of queries of one call."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    for _ in range(WARM_UP):
        case()
    times = [once(case) for _ in range(repeats)]
    with CaptureQueriesContext(connection) as queries:
        case()
    milliseconds, of_processor = zip(*times, strict=True)
    return statistics.median(milliseconds), max(milliseconds), statistics.median(of_processor), len(queries)


def pages(repeats: int) -> None:
    """The table of pages."""
    print("| what | median ms | longest ms | processor, median ms | queries |\n|---|---|---|---|---|")
    for name, case in cases().items():
        median, longest, of_processor, queries = measured(case, repeats)
        print(f"| {name} | {median:.1f} | {longest:.1f} | {of_processor:.1f} | {queries} |", flush=True)


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=11)
    asked = parser.parse_args()
    django.setup()
    pages(asked.repeats)
    return 0


if __name__ == "__main__":
    sys.exit(main())
