"""All methods on a graph: the best run of each on each cluster, with the baselines of the newest run there."""

import json
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from engine import api
from tests.webapp.scripted_engine import CLUSTER
from webapp.graphs.models import Graph
from webapp.jobs.models import Event
from webapp.pages.explorer import methods
from webapp.runs.models import Answer, Run, RunStart

OTHER_CLUSTER = {**CLUSTER, "op_rest_us": 1.0}


def run_of(graph: Graph, best_us: float | None, **fields: Any) -> Run:
    given: dict[str, Any] = {"cluster": CLUSTER, "method": "heft", "seed": 0, "status": Run.DONE, **fields}
    now = timezone.now()
    return Run(
        graph=graph,
        project_id=graph.project_id,
        settings={},
        evaluations=9,
        evaluations_used=7,
        best_step_time_us=best_us,
        started_at=now,
        finished_at=now,
        **given,
    )


def add_run(graph: Graph, best_us: float | None, **fields: Any) -> Run:
    run = run_of(graph, best_us, **fields)
    run.save()
    return run


def rows_of(client: Client, graph: Graph) -> list[dict[str, Any]]:
    answer = client.get(f"/graphs/{graph.id}/methods.json")
    assert answer.status_code == 200
    found: list[dict[str, Any]] = answer.json()["clusters"]
    return found


def test_the_best_run_of_each_method_is_a_row_with_its_figures(client: Client, real_graph: Graph) -> None:
    best = add_run(real_graph, 40.0, seed=2)
    add_run(real_graph, 50.0)
    add_run(real_graph, 60.0, method="random")
    add_run(real_graph, 1.0, status=Run.RUNNING)
    add_run(real_graph, None, method="cpu_only")
    report: dict[str, api.Json] = {"peak_bytes": [3, 4], "wall_seconds": 1.5}
    Answer.objects.create(run=best, step_time_us=40.0, device_of_group=[0], report=report)
    [cluster] = rows_of(client, real_graph)
    assert [(row["method"], row["runs"], row["step_time_us"]) for row in cluster["rows"]] == [
        ("heft", 2, 40.0),
        ("random", 1, 60.0),
    ]
    first = cluster["rows"][0]
    assert (first["seed"], first["evaluations"], first["peak_bytes"], first["wall_seconds"]) == (2, 7, [3, 4], 1.5)
    assert first["url"] == f"/runs/{best.id}/"


def test_a_run_that_goes_on_from_a_placement_is_not_the_methods_own(client: Client, real_graph: Graph) -> None:
    add_run(real_graph, 900.0)
    continued = add_run(real_graph, 10.0)
    RunStart.objects.create(run=continued, device_of_group=[0], words="episode 1")
    [cluster] = rows_of(client, real_graph)
    assert [row["step_time_us"] for row in cluster["rows"]] == [900.0]


def test_clusters_stand_apart_the_one_used_last_first_and_policies_too(client: Client, real_graph: Graph) -> None:
    add_run(real_graph, 40.0)
    add_run(real_graph, 30.0, cluster=OTHER_CLUSTER, method="placeto", policy_name="<b>mine</b>")
    add_run(real_graph, 35.0, cluster=OTHER_CLUSTER, method="placeto")
    found = rows_of(client, real_graph)
    assert [[(row["method"], row["policy"]) for row in cluster["rows"]] for cluster in found] == [
        [("placeto", "<b>mine</b>"), ("placeto", "")],
        [("heft", "")],
    ]


def test_the_newest_run_of_a_cluster_gives_its_baselines(client: Client, real_graph: Graph) -> None:
    add_run(real_graph, 40.0)
    newest = add_run(real_graph, 30.0, method="random")
    known = {"peak_bytes": [5, 7], "wall_seconds": 0.25}
    events: list[dict[str, Any]] = [
        {"type": "started", "lower_bound_us": 20.0},
        {
            "type": "baseline",
            "method": "single_device",
            "step_time_us": 80.0,
            "evaluations": 1,
            "placement": [0],
            **known,
        },
        {"type": "baseline", "method": "scotch", "step_time_us": 70.0, "evaluations": 5},
        {"type": "baseline", "method": "cpu_only", "step_time_us": None, "evaluations": 0},
    ]
    for seq, event in enumerate(events, start=1):
        Event.objects.create(job_id=newest.id, seq=seq, type=event["type"], data=json.dumps(event))
    [cluster] = rows_of(client, real_graph)
    assert (cluster["one_device_us"], cluster["lower_bound_us"]) == (80.0, 20.0)
    assert [(row["method"], row["runs"], row["url"]) for row in cluster["rows"][2:]] == [
        ("single_device", 0, f"/runs/{newest.id}/?show=baseline-single_device"),
        ("scotch", 0, f"/runs/{newest.id}/"),
    ], "an older run did not store the placement"
    assert [(row["peak_bytes"], row["wall_seconds"]) for row in cluster["rows"][2:]] == [([5, 7], 0.25), (None, None)]


def test_of_many_clusters_the_last_ones_are_shown(
    client: Client, real_graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(methods, "MOST_CLUSTERS", 1)
    add_run(real_graph, 40.0)
    add_run(real_graph, 50.0, cluster=OTHER_CLUSTER)
    found = client.get(f"/graphs/{real_graph.id}/methods.json").json()
    assert [len(found["clusters"]), found["other_clusters"]] == [1, 1]
    assert found["clusters"][0]["rows"][0]["step_time_us"] == 50.0


def test_a_thousand_runs_are_as_many_queries_as_one(
    client: Client, real_graph: Graph, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    Run.objects.bulk_create(run_of(real_graph, 100.0 + seed, seed=seed) for seed in range(1000))
    with django_assert_num_queries(4):
        [cluster] = rows_of(client, real_graph)
    assert [(row["runs"], row["step_time_us"], row["seed"]) for row in cluster["rows"]] == [(1000, 100.0, 0)]


def test_the_page_of_a_graph_has_the_table_once_a_run_has_ended(client: Client, real_graph: Graph) -> None:
    assert "All methods on this graph" not in client.get(f"/graphs/{real_graph.id}/").content.decode()
    add_run(real_graph, 40.0)
    page = client.get(f"/graphs/{real_graph.id}/").content.decode()
    assert f'data-address="/graphs/{real_graph.id}/methods.json"' in page
