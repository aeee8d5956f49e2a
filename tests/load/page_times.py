"""Prints how long the server takes for each page and for each round of a reaper, on a database that is there.

    PLACETO_DATA=/somewhere python -m tests.load.page_times [--repeats 11] [--accounts]

`tests.load.fill` makes such a database. The requests pass all middleware in this process, without a network. With
`--accounts` each page is asked in turn without accounts and by the first user, who owns the largest projects, and the
API by the user's token; the last column is the ratio of the medians.
"""

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")

WARM_UP = 2
STATES_AT_ONCE = 100


def cases(headers: dict[str, str], user: Any = None) -> dict[str, Callable[[], object]]:
    """What is measured, by its name in the table; asked by `user`, and by the API with `headers`."""
    from django.db.models import Count
    from django.test import Client

    from webapp.comparisons.models import Comparison
    from webapp.graphs import orphan_files
    from webapp.graphs.models import Graph
    from webapp.policies.models import Policy
    from webapp.projects.models import Project
    from webapp.runs.models import Run

    client = Client(headers={"host": "localhost", **headers})
    if user is not None:
        client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")

    def get(address: str) -> Callable[[], object]:
        def request() -> None:
            response = client.get(address)
            assert response.status_code == 200, (address, response.status_code)

        return request

    graphs = Graph.objects.annotate(run_count=Count("runs")).order_by("-run_count")
    large = graphs.defer("summary")[0]
    many = Project.objects.annotate(graph_count=Count("graphs")).order_by("-graph_count")[0]
    runs = Run.objects.filter(graph=large).order_by("created_at")
    project = Project.objects.annotate(run_count=Count("graphs__runs")).order_by("-run_count")[0]
    runs_of_project = Run.objects.filter(graph__project=project).count()
    last_page = max(1, runs_of_project // 100)
    asked = ",".join(key.hex for key in runs.values_list("id", flat=True)[:STATES_AT_ONCE])
    longest = Run.objects.order_by("-last_seq")[0]
    found: dict[str, Callable[[], object]] = {
        f"list of {Project.objects.count():,} projects": get("/projects/?sort=name"),
        f"project of {runs_of_project:,} runs": get(f"/projects/{project.id}/"),
        f"its page {last_page} of runs": get(f"/projects/{project.id}/?page={last_page}"),
        f"project of {many.graph_count:,} graphs": get(f"/projects/{many.id}/"),
        f"graph of {large.run_count:,} runs": get(f"/graphs/{large.id}/"),
        f"train form, {Graph.objects.count():,} graphs": get("/policies/train/"),
        f"train form of {many.graph_count:,} graphs": get(f"/policies/train/?project={many.id}"),
        f"list of {Policy.objects.count():,} policies": get("/policies/"),
        f"page of a run of {longest.last_seq:,} events": get(f"/runs/{longest.id}/"),
        "its first 2,000 events": get(f"/runs/{longest.id}/events.json?limit=2000"),
        f"states of {STATES_AT_ONCE} runs": get(f"/states.json?run={asked}"),
        "API: projects": get("/api/v1/projects"),
        "API: runs of the graph": get(f"/api/v1/graphs/{large.id}/runs"),
        "API: the run": get(f"/api/v1/runs/{longest.id}"),
        "API: its first 2,000 events": get(f"/api/v1/runs/{longest.id}/events?limit=2000"),
    }
    comparison = Comparison.objects.first()
    if comparison is not None:
        found["comparison of 12 runs"] = get(f"/comparisons/{comparison.id}/")
        found["form of a comparison"] = get(f"/graphs/{large.id}/compare/")
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
    for name, case in cases({}).items():
        median, longest, of_processor, queries = measured(case, repeats)
        print(f"| {name} | {median:.1f} | {longest:.1f} | {of_processor:.1f} | {queries} |", flush=True)


def pages_with_accounts(repeats: int) -> None:
    """The table that compares each page with and without accounts, in turn; a token is made for it and removed."""
    from django.conf import settings

    from webapp.accounts.models import ApiToken, User

    user = User.objects.order_by("date_joined", "username").first()
    if user is None:
        raise SystemExit("this database has no users: tests.load.fill makes some")
    row, token = ApiToken.make(user, "page times", "read")
    without, known = cases({}), cases({"authorization": f"Bearer {token}"}, user)
    print("| what | without accounts, median ms | with, median ms | ratio |\n|---|---|---|---|")
    for (name, case), its_twin in zip(without.items(), known.values(), strict=True):
        times: dict[str, list[float]] = {"off": [], "local": []}
        for repeat in range(repeats + WARM_UP):
            for settings.ACCOUNTS, asked in (("off", case), ("local", its_twin)):
                milliseconds, _ = once(asked)
                if repeat >= WARM_UP:
                    times[settings.ACCOUNTS].append(milliseconds)
        off, local = (statistics.median(times[mode]) for mode in ("off", "local"))
        print(f"| {name} | {off:.1f} | {local:.1f} | {local / off:.2f} |", flush=True)
    row.delete()


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=11)
    parser.add_argument("--accounts", action="store_true", help="compare with and without accounts")
    asked = parser.parse_args()
    django.setup()
    (pages_with_accounts if asked.accounts else pages)(asked.repeats)
    return 0


if __name__ == "__main__":
    sys.exit(main())
