"""The band over the seeds of a run: over runs that differ from it in the seed alone."""

from typing import Any

import pytest
from django.test import Client

from tests.webapp.scripted_engine import CLUSTER
from webapp.graphs.models import Graph
from webapp.runs.models import Run, RunStart, RunSummary


def ended(graph: Graph, seed: int, best_us: float, **columns: Any) -> Run:
    """A run that has ended, with its summary; the single device took 100 µs."""
    fields: dict[str, Any] = {"cluster": CLUSTER, "method": "random", "settings": {"batch": 64}, "evaluations": 9}
    fields |= {"status": Run.DONE, "best_step_time_us": best_us, "last_seq": 5, **columns}
    run = Run.objects.create(graph=graph, seed=seed, **fields)
    curve = {"improvements": [[1, 100.0], [5, best_us]], "evaluations": 9}
    numbers = {"evaluations": 9, "lower_bound_us": 50.0, "one_device_us": 100.0, "own_best_us": best_us}
    texts = {"method": "random", "settings": {}, "engine_version": "0.2.0", "elapsed_seconds": 1.0}
    RunSummary.objects.create(run=run, seq=5, content={"curve": curve, **numbers, **texts})
    return run


@pytest.fixture
def runs(graph: Graph) -> list[Run]:
    """Three seeds."""
    return [ended(graph, seed, best_us) for seed, best_us in ((0, 80.0), (1, 60.0), (2, 70.0))]


def test_the_band_is_over_the_seeds(client: Client, runs: list[Run]) -> None:
    found = client.get(f"/runs/{runs[0].id}/band.json").json()
    assert found["seeds"] == [0, 1, 2]
    assert found["band"]["evaluations"][-1] == 9
    assert [found["band"][name][-1] for name in ("low_us", "median_us", "high_us")] == [60.0, 70.0, 80.0]


def test_runs_that_differ_in_more_do_not_count(client: Client, graph: Graph, runs: list[Run]) -> None:
    others: list[dict[str, Any]] = [{"settings": {"batch": 32}}, {"evaluations": 10}, {"status": Run.RUNNING}]
    others += [{"drop_devices": True}, {"method": "heft"}, {"policy_digest": "x"}]
    others += [{"constraints": ["off head CPU"]}]
    for seed, columns in enumerate(others, start=3):
        ended(graph, seed, 10.0, **columns)
    assert client.get(f"/runs/{runs[0].id}/band.json").json()["seeds"] == [0, 1, 2]


def test_a_run_that_goes_on_from_a_placement_does_not_count_and_stands_alone(
    client: Client, graph: Graph, runs: list[Run]
) -> None:
    continued = ended(graph, 3, 10.0)
    RunStart.objects.create(run=continued, device_of_group=[0], words="episode 1")
    assert client.get(f"/runs/{runs[0].id}/band.json").json()["seeds"] == [0, 1, 2]
    assert client.get(f"/runs/{continued.id}/band.json").json()["seeds"] == [3]


def test_a_seed_counts_once_and_this_run_for_its_own(client: Client, graph: Graph, runs: list[Run]) -> None:
    ended(graph, 0, 10.0)
    assert min(client.get(f"/runs/{runs[0].id}/band.json").json()["band"]["low_us"]) == 60.0
    assert min(client.get(f"/runs/{runs[1].id}/band.json").json()["band"]["low_us"]) == 10.0
