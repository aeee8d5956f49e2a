"""What is asked of a run is what its row gives back: with its policy, its start and its pins."""

import dataclasses
import uuid
from pathlib import Path
from typing import Any

import pytest

from engine import api
from engine.placers.placer import Placer
from engine.placers.registry import make_placer
from tests.engine.drawn_requests import POLICY, drawn_request
from webapp.comparisons import lifecycle as comparisons
from webapp.comparisons import requests as comparison_requests
from webapp.graphs.models import Graph
from webapp.policies.lifecycle import keep_file
from webapp.policies.models import Policy
from webapp.runs.baselines import BASELINES
from webapp.runs.lifecycle import start
from webapp.runs.models import Run
from webapp.runs.placing import place_run
from webapp.runs.requests import new_start, request_of


@pytest.fixture
def policy(data_folder: Path) -> Policy:
    return keep_file("small", Policy.UPLOADED, POLICY.blob, POLICY.trained.card.to_json(), uuid.uuid4())


@pytest.mark.parametrize("seeds", [range(12), range(12, 24)])
def test_a_run_gives_its_request_back(seeds: range, run: Run, policy: Policy) -> None:
    for seed in seeds:
        asked = drawn_request(seed)
        if asked.start is None:
            asked = dataclasses.replace(asked, pins={})
        from_start = None if asked.start is None else new_start(asked, "episode 1", run, "")
        row = start(run.graph, asked, policy if asked.policy else None, from_start)
        of_every_run = {"baselines": [*BASELINES], "robust": False, "robustness": True}
        again = request_of(Run.objects.get(id=row.id))
        assert again.to_json() == asked.to_json() | of_every_run
        assert again.policy == asked.policy


@pytest.mark.usefixtures("transactional_db")
def test_a_run_reads_its_policy_and_makes_its_placer_once(
    real_graph: Graph, policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups = real_graph.prepared.value.grouping.group_count
    cluster, placement = api.parse_cluster("2xK80"), api.SplitPlacement([0] * groups)
    asked = api.RunRequest(cluster, "auto", api.Budget(5), 0, policy=POLICY, start=placement, pins={0: 0})
    run = start(real_graph, asked, policy, new_start(asked, "a start", None, ""))
    read: list[str] = []
    made: list[str] = []

    def counted_reading(blob: bytes, where: str) -> api.TrainedPolicy:
        read.append(where)
        return from_bytes(blob, where)

    def counted_making(method: str, *more: Any) -> Placer:
        made.append(method)
        return make_placer(method, *more)

    from_bytes = api.TrainedPolicy.from_bytes
    monkeypatch.setattr(api.TrainedPolicy, "from_bytes", staticmethod(counted_reading))
    for module in ("engine.run.request", "engine.run.baselines"):
        monkeypatch.setattr(f"{module}.make_placer", counted_making)
    assert place_run(run.id)
    run.refresh_from_db()
    assert (run.status, run.error) == (Run.DONE, "")
    assert (read, made.count("auto"), sorted(set(made))) == (["policy"], 1, sorted({"auto", *BASELINES}))


def test_each_cell_of_a_comparison_is_a_run_with_the_comparisons_request(ready_graph: Graph, policy: Policy) -> None:
    settings: dict[str, dict[str, Any]] = {"placeto": {"torch_device": "cpu"}}
    cluster, budget = api.parse_cluster("2xK80+cpu"), api.Budget(9, 2.5)
    asked = api.ComparisonRequest(cluster, ("placeto", "heft"), budget, 2, settings, drop_devices=True, policy=POLICY)
    comparison = comparisons.start(ready_graph, asked, policy)
    stored = comparison_requests.request_of(comparison)
    assert stored.members() == asked.members() == [("placeto", 0), ("placeto", 1), ("heft", 0)]
    runs = comparisons.runs_of(comparison)
    for (method, seed), run in zip(asked.members(), runs, strict=True):
        of_every_run = {"baselines": [*BASELINES], "robustness": True}
        assert request_of(run).to_json() == asked.run_request(method, seed).to_json() | of_every_run
