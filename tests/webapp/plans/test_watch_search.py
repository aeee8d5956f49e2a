"""A person watches a search for plans, cancels it, names it, deletes it."""

import json
from typing import Any

import pytest
from django.test import Client

from tests.webapp.plans.planned import planned
from webapp.jobs.claim import Claim
from webapp.jobs.models import Event
from webapp.plans.models import PlanReport, PlanSearch


def page_of(client: Client, search: PlanSearch) -> str:
    """The page's HTML."""
    response = client.get(f"/plans/{search.id}/")
    assert response.status_code == 200
    return response.content.decode()


def test_a_waiting_search_says_so_and_can_be_cancelled(client: Client, search: PlanSearch) -> None:
    page = page_of(client, search)
    assert "Waiting for a free worker." in page and "Cancel search" in page
    client.post(f"/plans/{search.id}/cancel/")
    search.refresh_from_db()
    assert search.status == PlanSearch.CANCELLED and Claim.take(PlanSearch, search.id) is None
    assert "cancelled before it had found a plan" in page_of(client, search)
    refused = client.post(f"/plans/{search.id}/cancel/", headers={"accept": "application/json"})
    assert refused.status_code == 409


def test_the_page_of_an_ended_search_has_the_verdict_first(client: Client, search: PlanSearch) -> None:
    report = planned(search)
    page = page_of(client, search)
    assert "samples a second" in page.split("Throughput against memory")[0]
    assert "GPU:0" in page and "What people do" in page and "a replica on each GPU, equal shares" in page
    assert page.count("data-plan=") == len(report["plans"]) + len(report["usual"])
    assert "Collectives" in page and "plans simulated in" in page.replace("\n", "").replace("</span>", "")


def test_an_estimate_is_a_figure_alone(client: Client, search: PlanSearch) -> None:
    report = planned(search)
    figure = {"batch_time_us": 9e9, "samples_per_second": 0.5, "peak_bytes": [7, 7], "replicas": [], "reduced": []}
    report["usual"] |= {"equal_layers": None, "sharded": figure}
    PlanReport.objects.update(content=report)
    page = page_of(client, search)
    assert "all weights sharded" in page and "figures alone" in page
    assert "cannot be made, or does not fit in memory" in page and "</span> less</td>" not in page
    faster = {**figure, "batch_time_us": report["plans"][0]["batch_time_us"] / 2}
    report["usual"]["sharded"] = faster
    PlanReport.objects.update(content=report)
    assert '<span data-percent="0.5">0.5</span> less</td>' in page_of(client, search)


def test_a_stopped_search_says_what_was_not_reached(client: Client, search: PlanSearch) -> None:
    report = planned(search) | {"stopped": True, "not_reached": 3}
    PlanReport.objects.update(content=report)
    PlanSearch.objects.update(status=PlanSearch.CANCELLED)
    page = page_of(client, search)
    assert "It was cancelled; these are the plans found until then." in page
    assert "candidates not reached" in page.replace("</span>", "") and "division not" not in page


def test_a_search_that_reached_all_says_so_of_candidates_alone(client: Client, search: PlanSearch) -> None:
    report = planned(search) | {"stopped": False, "not_reached": 0, "left_out": 1}
    PlanReport.objects.update(content=report)
    page = page_of(client, search).replace("</span>", "")
    assert "No candidate was left untried for lack of time." in page and "1 candidate left out" in page


def test_a_failed_search_shows_its_line(client: Client, search: PlanSearch) -> None:
    PlanSearch.objects.update(status=PlanSearch.FAILED, error="no plan fits in memory (7 simulated)")
    assert "no plan fits in memory (7 simulated)" in page_of(client, search)


def test_its_events_and_its_report_can_be_fetched(client: Client, search: PlanSearch) -> None:
    Event.objects.create(job_id=search.id, seq=1, type="plan", data='{"seq":1,"type":"plan"}')
    PlanSearch.objects.update(last_seq=1)
    events = client.get(f"/plans/{search.id}/events.json").json()
    assert (events["events"], events["status"]) == ([{"seq": 1, "type": "plan"}], "queued")
    assert client.get(f"/plans/{search.id}/plan.json").status_code == 404
    report = planned(search)
    downloaded = client.get(f"/plans/{search.id}/plan.json")
    assert downloaded.json() == json.loads(json.dumps(report))
    assert downloaded.headers["Content-Disposition"] == 'attachment; filename="step1-plan.json"'


def test_it_can_be_renamed(client: Client, search: PlanSearch) -> None:
    client.post(f"/plans/{search.id}/rename/", {"name": "Two cards"})
    assert '<h1 class="name">Two cards</h1>' in page_of(client, search)


def test_it_can_be_deleted(client: Client, search: PlanSearch) -> None:
    asked = client.get(f"/plans/{search.id}/delete/").content.decode()
    assert "runs that show replicas stay" in asked
    client.post(f"/plans/{search.id}/delete/")
    assert client.get(f"/plans/{search.id}/").status_code == 404 and not PlanSearch.objects.exists()


@pytest.mark.parametrize("which", ["graph", "second"])
def test_it_goes_with_its_graph_and_outlives_its_second_reading(client: Client, search: PlanSearch, which: str) -> None:
    planned(search)
    graph: Any = getattr(search, which)
    client.post(f"/graphs/{graph.id}/delete/")
    if which == "graph":
        assert not PlanSearch.objects.exists()
        return
    search.refresh_from_db()
    assert search.second is None and "step2.json" in page_of(client, search)
