"""The decisions of a run's policy over HTTP: computed again from what the run has kept, or why they cannot be."""

import json
from typing import Any

import numpy as np
import pytest
from django.test import Client

from engine import api
from tests.webapp.purge import purge
from tests.webapp.scripted_engine import CLUSTER
from webapp.graphs.models import Graph
from webapp.jobs import deletion
from webapp.jobs.models import Event
from webapp.runs.models import KeptPolicy, Run

EVALUATIONS = 60


@pytest.fixture
def placed(real_graph: Graph) -> Run:
    """A run of Placeto that has ended, with its events and its policy."""
    return placed_with(real_graph, {})


def placed_with(real_graph: Graph, settings: dict[str, api.Json]) -> Run:
    Graph.objects.filter(id=real_graph.id).update(op_count=9)
    prepared = api.PreparedGraph.from_bytes(bytes(real_graph.prepared.blob))
    run = Run.objects.create(
        graph=real_graph, cluster=CLUSTER, method="placeto", settings=settings, evaluations=EVALUATIONS, seed=0
    )
    request = api.RunRequest(api.parse_cluster(json.dumps(CLUSTER)), "placeto", api.Budget(EVALUATIONS), 0, settings)

    def emit(item: api.Emitted) -> None:
        if isinstance(item, api.LearnedPolicy):
            KeptPolicy.objects.create(run=run, policy=item.policy)
        elif isinstance(item, api.NumberedEvent):
            data = json.dumps(item.to_json())
            Event.objects.create(job_id=run.id, seq=item.seq, type=item.event.type, data=data)

    api.place(prepared, request, emit, lambda: False)
    Run.objects.filter(id=run.id).update(status=Run.DONE)
    return run


def episodes(run: Run) -> list[dict[str, Any]]:
    texts = Event.objects.filter(job_id=run.id, type="episode").order_by("seq").values_list("data", flat=True)
    return [json.loads(text) for text in texts]


def asked(client: Client, run: Run, seq: int, start: str = "") -> dict[str, Any]:
    answer = client.get(f"/runs/{run.id}/decisions/{seq}{start}")
    assert answer.status_code == 200, answer.content
    found: dict[str, Any] = answer.json()
    return found


def test_each_episode_is_shown_decision_by_decision(client: Client, placed: Run) -> None:
    reported = episodes(placed)
    best = min(reported, key=lambda episode: float(episode["step_time_us"]))
    exact = [asked(client, placed, episode["seq"])["is_exact"] for episode in reported]
    assert sum(exact) == 1 and exact[reported.index(best)]
    other, before = reported[exact.index(False)], reported[-1]
    found = asked(client, placed, other["seq"], f"?from={before['seq']}")
    assert found["start"] == before["placement"]
    end = np.array(found["start"])
    end[found["order"]] = found["chosen"]
    assert end.tolist() == other["placement"]
    np.testing.assert_allclose(np.sum(found["probabilities"], axis=1), 1.0, atol=1e-4)


def test_those_of_the_preset_paper_too(client: Client, real_graph: Graph) -> None:
    run = placed_with(real_graph, {"preset": "paper"})
    reported = episodes(run)
    assert reported
    for episode in reported:
        found = asked(client, run, episode["seq"])
        assert "obstacle" not in found
        end = np.array(found["start"])
        end[found["order"]] = found["chosen"]
        assert end.tolist() == episode["placement"]
        np.testing.assert_allclose(np.sum(found["probabilities"], axis=1), 1.0, atol=1e-4)


def test_what_is_no_episode_has_none(client: Client, placed: Run) -> None:
    for seq in (1, 10_000):
        assert client.get(f"/runs/{placed.id}/decisions/{seq}").status_code == 404
    seq = episodes(placed)[0]["seq"]
    assert client.get(f"/runs/{placed.id}/decisions/{seq}?from=99999").status_code in (200, 404)
    assert client.get(f"/runs/{placed.id}/decisions/{seq}?from=1;drop").status_code == 200


@pytest.mark.parametrize(
    ("columns", "word"),
    [({"method": "rnn"}, "Only Placeto"), ({"status": "running"}, "still learns"), ({"kept_events": 3}, "long ago")],
)
def test_where_it_cannot_be_the_answer_says_why(client: Client, placed: Run, columns: Any, word: str) -> None:
    Run.objects.filter(id=placed.id).update(last_seq=EVALUATIONS, **columns)
    KeptPolicy.objects.all().delete()
    assert word in asked(client, placed, episodes(placed)[0]["seq"])["obstacle"]


def test_a_run_of_another_version_or_without_a_policy_says_so(client: Client, placed: Run) -> None:
    seq = episodes(placed)[0]["seq"]
    KeptPolicy.objects.update(policy=b"of another version")
    assert "older than this version" in asked(client, placed, seq)["obstacle"]
    KeptPolicy.objects.all().delete()
    assert "kept no policy" in asked(client, placed, seq)["obstacle"]


def test_the_policy_goes_with_its_run(placed: Run) -> None:
    deletion.delete(placed)
    purge()
    assert not KeptPolicy.objects.exists()
