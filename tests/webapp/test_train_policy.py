"""A person has a policy trained; what its worker then does, whatever happens."""

import json
import re
import threading
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from engine import api
from tests.engine.policies.small_policies import small_card
from tests.supervisor.started import eventually
from tests.webapp.conftest import MemoryBroker
from tests.webapp.processes import Surroundings
from tests.webapp.scripted_training import LEARNED, Script, events, install, write_at_once
from tests.webapp.states import state_of
from tests.webapp.streams import messages, open_stream
from webapp.graphs.graph_options import GraphOptions
from webapp.graphs.models import Graph
from webapp.jobs import heartbeat, reaper
from webapp.jobs.claim import Claim
from webapp.jobs.models import Event, SavedState
from webapp.policies import forms, training_store
from webapp.policies.lifecycle import start_training
from webapp.policies.models import Policy, PolicyFile
from webapp.policies.training import request_of, train_policy
from webapp.policies.training_plan import PlannedGraph, TrainingPlan
from webapp.policies.training_store import seconds_between_events

JSON = {"accept": "application/json"}
FORM: dict[str, Any] = {
    "name": "My policy",
    "families": ["nmt"],
    "graphs": [],
    "held_out": [],
    "clusters": "2xK80\n\n 4xK80+cpu \n2xK80",
    "seconds": "60",
    "seed": "3",
}


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat, "LOOK_EVERY_SECONDS", 0.01)
    monkeypatch.setattr(training_store, "seconds_between_events", lambda _plan: 0.0)
    monkeypatch.setattr(reaper, "SECOND_LOOK_AFTER_SECONDS", 0.01)


@pytest.fixture
def policy(real_graph: Graph, slower_graph: Graph) -> Policy:
    """One that waits to be trained on one graph."""
    learned_on, held_out = (PlannedGraph(graph.id, graph.name) for graph in (real_graph, slower_graph))
    return start_training("Mine", TrainingPlan((), (learned_on,), (held_out,), ("2xK80",), 60.0, 3))


def test_it_is_queued_as_it_was_asked_for(client: Client, real_graph: Graph, broker: MemoryBroker) -> None:
    response = client.post("/policies/train/", FORM | {"graphs": [str(real_graph.id)]})
    policy = Policy.objects.get()
    assert response.headers["Location"] == f"/policies/{policy.id}/"
    assert (policy.name, policy.source, policy.status) == ("My policy", Policy.TRAINED, Policy.QUEUED)
    planned = PlannedGraph(real_graph.id, real_graph.name)
    assert policy.training_plan == TrainingPlan(("nmt",), (planned,), (), ("2xK80", "4xK80+cpu"), 60.0, 3)
    assert broker.messages("gpu") == [["gpu"]]
    page = client.get(f"/policies/{policy.id}/").content.decode()
    assert "Waiting for a free worker" in page
    assert "nmt and 1 graph" in page
    assert "Download policy" not in page
    assert state_of(client, "policy", policy.id)["status"] == "queued"


def test_learners_side_by_side_are_asked_for_and_offered_again(
    client: Client, real_graph: Graph, broker: MemoryBroker
) -> None:
    chosen = FORM | {"graphs": [str(real_graph.id)], "learners": "4"}
    client.post("/policies/train/", chosen)
    policy = Policy.objects.get()
    plan = policy.training_plan
    assert plan is not None and plan.settings() == {"seconds": 60.0, "search_seconds": 5.0, "learners": 4}
    assert broker.messages("gpu") == [["gpu"]]
    again = client.get(f"/policies/train/?like={policy.id}").content.decode()
    assert re.search(r'<input[^>]*name="learners"[^>]*value="4"', again)
    refused = client.post("/policies/train/", chosen | {"learners": "65"})
    assert refused.status_code == 400 and "64" in refused.content.decode() and Policy.objects.count() == 1


def test_the_plan_of_an_earlier_version_has_one_learner() -> None:
    plan = TrainingPlan(("nmt",), (), (), ("2xK80",), 60.0, 3)
    stored = plan.to_json()
    del stored["learners"]
    assert TrainingPlan.from_json(stored) == plan and "learners" not in plan.settings()


def test_the_form_offers_families_and_the_graphs_that_are_ready(client: Client, real_graph: Graph) -> None:
    unread = Graph.objects.create(project=real_graph.project, name="unread.pb", suffix=".pb")
    for address in ("/policies/train/", f"/policies/train/?project={real_graph.project_id}"):
        page = client.get(address).content.decode()
        assert all(f'value="{name}"' in page for name in api.families())
        assert page.count(f'value="{real_graph.id}"') == 2, "to train on, and to hold out"
        assert str(unread.id) not in page
    assert client.get("/policies/train/?project=x").status_code == 404


def test_the_form_says_where_it_does_not_offer_all(
    client: Client, real_graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = "The newest 1 are offered."
    assert words not in client.get("/policies/train/").content.decode()
    monkeypatch.setattr(forms, "MOST_GRAPHS", 1)
    assert words in client.get(f"/policies/train/?project={real_graph.project_id}").content.decode()


BAD_FIELDS = [
    ({"name": ""}, "name", "required"),
    ({"name": "a\u202eb"}, "name", "The name has characters that cannot be shown"),
    ({"families": []}, "families", "There is nothing to train on; choose a family, or a graph below."),
    ({"families": ["magic"]}, "families", "magic is not one of the available choices"),
    ({"graphs": ["x"]}, "graphs", "A chosen graph has been deleted or is no longer offered"),
    ({"clusters": " \n"}, "clusters", "required"),
    ({"clusters": "2xK80\n0xK80"}, "clusters", "Cluster 2 of 2, one a line: "),
    ({"clusters": "2xK80\n0xK80"}, "clusters", "0 devices; allowed: 1 to 256 devices"),
    ({"clusters": "\n".join(["2xK80"] * 17)}, "clusters", "17 clusters; allowed: at most 16."),
    ({"seconds": "0"}, "seconds", "0 seconds; allowed: 1 to 86400."),
    ({"seconds": "1e9"}, "seconds", "1e+09 seconds; allowed: 1 to 86400."),
    ({"seconds": "nan"}, "seconds", "Enter a number."),
    ({"seed": "-1"}, "seed", "greater than or equal to 0"),
]


@pytest.mark.parametrize(("changes", "at", "sentence"), BAD_FIELDS)
def test_nonsense_is_a_sentence_at_its_field(
    client: Client, broker: MemoryBroker, changes: dict[str, Any], at: str, sentence: str
) -> None:
    response = client.post("/policies/train/", FORM | changes, headers=JSON)
    assert response.status_code == 400
    assert list(response.json()["errors"]) == [at]
    assert sentence in " ".join(response.json()["errors"][at])
    assert not Policy.objects.exists()
    assert broker.messages("gpu") == []


@pytest.mark.parametrize(
    ("chosen", "sentence"),
    [
        ("graphs", "graphs: 151 × 16 clusters are 2416; allowed: at most 2048"),
        ("held_out", "held_out: 139 × 16 clusters are 2224; allowed: at most 2048"),
    ],
)
def test_more_graphs_on_clusters_than_can_be_held_in_memory_are_refused_before_anything_is_stored(
    client: Client, real_graph: Graph, broker: MemoryBroker, chosen: str, sentence: str
) -> None:
    """The families' own graphs count: 22 of each to train on, 10 to hold out."""
    graphs = [Graph(project=real_graph.project, name=f"{number}", status=Graph.READY) for number in range(129)]
    Graph.objects.bulk_create(graphs)
    clusters = "\n".join(f"{count}xK80" for count in range(1, 17))
    changes = {"clusters": clusters, chosen: [str(graph.id) for graph in graphs]}
    response = client.post("/policies/train/", FORM | changes, headers=JSON)
    assert (response.status_code, response.json()["errors"]) == (400, {chosen: [sentence]})
    assert not Policy.objects.exists()
    assert broker.messages("gpu") == []


def test_training_again_offers_what_was_chosen_then(
    client: Client, real_graph: Graph, slower_graph: Graph, policy: Policy
) -> None:
    Policy.objects.update(status=Policy.FAILED)
    address = f"/policies/train/?like={policy.id}"
    assert f'href="{address}"' in client.get(f"/policies/{policy.id}/").content.decode()
    form = client.get(address).context["form"]
    again = {name: form[name].value() for name in FORM}
    assert again == {
        "name": "Mine",
        "families": [],
        "graphs": [str(real_graph.id)],
        "held_out": [str(slower_graph.id)],
        "clusters": "2xK80",
        "seconds": 60.0,
        "seed": 3,
    }
    real_graph.delete()
    page = client.get(address).content.decode()
    assert "No longer available: My gräph; &quot;1&quot;.pb." in page
    Policy.objects.update(plan=None)
    for nothing in (address, "/policies/train/?like=x", f"/policies/train/?like={real_graph.project_id}"):
        assert client.get(nothing).status_code == 404
    assert "Train again" not in client.get(f"/policies/{policy.id}/").content.decode()


def test_a_graph_is_trained_on_or_held_out(client: Client, real_graph: Graph, slower_graph: Graph) -> None:
    """One graph, be it uploaded twice, under two names and in other groups; not one that is read in another way."""
    Graph.objects.update(content_hash="1" * 64)
    sentence = "trained on and held out; allowed: one of the two."
    for held_out, options, status in (
        (real_graph, GraphOptions(), 400),
        (slower_graph, GraphOptions(), 400),
        (slower_graph, GraphOptions(groups=8), 400),
        (slower_graph, GraphOptions(api.ReadingOptions(batch_size=8)), 302),
    ):
        Graph.objects.filter(id=slower_graph.id).update(options=options.to_json())
        both = {"graphs": [str(real_graph.id)], "held_out": [str(held_out.id)]}
        response = client.post("/policies/train/", FORM | both)
        assert (response.status_code, sentence in response.content.decode()) == (status, status == 400)


@pytest.mark.parametrize(("seconds", "search_seconds"), [(1.0, 5.0), (600.0, 6.0), (3600.0, 10.0)])
def test_what_it_is_compared_with_has_some_seconds_however_short_it_is(seconds: float, search_seconds: float) -> None:
    settings = TrainingPlan((), (), (), ("2xK80",), seconds, 0).settings()
    assert settings == {"seconds": seconds, "search_seconds": search_seconds}


@pytest.mark.usefixtures("transactional_db")
def test_it_ends_with_its_events_its_file_and_its_card(
    client: Client, policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = install(monkeypatch, Script())
    train_policy(policy.id)
    policy.refresh_from_db()
    assert (policy.status, policy.error, policy.stage, policy.claim) == (Policy.DONE, "", "", None)
    assert bytes(PolicyFile.objects.get().blob) == LEARNED
    assert policy.card == small_card().to_json()
    answer = events(client, policy)
    assert [event["seq"] for event in answer["events"]] == list(range(1, 7))
    assert [event["stage"] for event in answer["events"]] == ["imitation"] * 4 + ["held_out"] * 2
    assert [len(event["held_out"]) for event in answer["events"]] == [0, 0, 0, 0, 1, 1], "each row once"
    assert [event["held_out_from"] for event in answer["events"]] == [0, 0, 0, 0, 0, 1]
    assert (answer["status"], answer["last_seq"]) == ("done", 6)
    assert not SavedState.objects.exists()
    [request] = script.requests
    assert (request.name, request.seed, len(request.graphs), len(request.held_out)) == ("Mine", 3, 1, 1)
    assert [cluster.device_count for cluster in request.clusters] == [2]
    assert request.settings["seconds"] == 60.0
    train_policy(policy.id)
    assert len(script.requests) == 1, "a second message does nothing"


def test_families_come_out_of_their_cache(
    real_graph: Graph, slower_graph: Graph, monkeypatch: pytest.MonkeyPatch, data_folder: Path
) -> None:
    graph, other = (api.PreparedGraph.from_bytes(bytes(row.prepared.blob)) for row in (real_graph, slower_graph))
    asked = []

    def prepared_family(
        family: str, cache: Path, report_progress: api.ReportProgress, **_: object
    ) -> api.PreparedFamily:
        asked.append((family, cache))
        report_progress("preparing nmt", 3, 32)
        return api.PreparedFamily(family, (graph, graph), (other,))

    monkeypatch.setattr(api, "prepared_family", prepared_family)
    stages: list[tuple[str, int, int]] = []
    plan = TrainingPlan(("nmt",), (), (), ("2xK80",), 5.0, 0)
    request = request_of("p", plan, lambda *stage: stages.append(stage), lambda: None)
    assert asked == [("nmt", data_folder / "families")]
    assert (len(request.graphs), len(request.held_out), request.families) == (2, 1, ("nmt",))
    assert stages == [("preparing nmt", 3, 32), ("", 0, 0)]


@pytest.mark.usefixtures("transactional_db")
def test_events_are_there_while_it_is_trained(client: Client, policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    write_at_once(monkeypatch)
    seen: list[Any] = []

    def look(second: int) -> None:
        if second == 3:
            eventually(lambda: len(events(client, policy)["events"]) == 2, "all emitted events are stored")
            seen.append(state_of(client, "policy", policy.id))

    install(monkeypatch, Script(before_second=look))
    train_policy(policy.id)
    [state] = seen
    assert (state["status"], state["stage"]) == ("running", "Learning by imitation, 20 % of the training")


@pytest.mark.parametrize(("seconds", "between"), [(60.0, 0.5), (1800.0, 0.5), (7200.0, 2.0), (86400.0, 10.0)])
def test_a_long_training_reports_less_often(seconds: float, between: float) -> None:
    assert seconds_between_events(TrainingPlan((), (), (), ("2xK80",), seconds, 0)) == between


@pytest.mark.usefixtures("transactional_db")
def test_a_mistake_is_reported_and_a_fault_of_ours_has_a_number(
    client: Client, policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, Script(error=api.GraphError("an op fits nowhere")))
    train_policy(policy.id)
    policy.refresh_from_db()
    assert (policy.status, policy.error) == (Policy.FAILED, "an op fits nowhere")
    assert policy.last_seq == 4, "earlier events are kept"
    assert "an op fits nowhere" in client.get(f"/policies/{policy.id}/").content.decode()


@pytest.mark.usefixtures("transactional_db")
def test_a_graph_that_was_deleted_meanwhile_is_reported(policy: Policy, real_graph: Graph) -> None:
    real_graph.delete()
    train_policy(policy.id)
    policy.refresh_from_db()
    assert policy.error == f"{real_graph.name}: it has been deleted meanwhile; allowed: an existing graph"


@pytest.mark.usefixtures("transactional_db")
def test_one_that_is_deleted_while_it_is_trained_leaves_nothing(
    client: Client, policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy_id = policy.id

    def delete(second: int) -> None:
        if second == 2:
            client.post(f"/policies/{policy_id}/delete/")

    install(monkeypatch, Script(before_second=delete))
    train_policy(policy_id)
    assert not any(model.objects.exists() for model in (Policy, PolicyFile, Event, SavedState))


@pytest.mark.usefixtures("transactional_db")
def test_two_workers_train_it_once(policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    held = threading.Event()

    def wait(_second: int) -> None:
        held.wait(10)

    script = install(monkeypatch, Script(before_second=wait))
    first = threading.Thread(target=train_policy, args=(policy.id,))
    first.start()
    eventually(lambda: Policy.objects.get().status == Policy.RUNNING, "the first has it")
    assert Claim.take(Policy, policy.id) is None
    held.set()
    first.join()
    assert len(script.requests) == 1


def test_a_stream_brings_its_stages_its_events_and_its_end(
    around: Surroundings, policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    around.start_redis()
    stream = messages(open_stream(around.start_web(), f"/policies/{policy.id}/events"))
    assert [next(stream).event for _ in range(2)] == ["", "status"]
    claim = Claim.take(Policy, policy.id)
    assert claim is not None
    assert json.loads(next(stream).data)["status"] == "running"
    claim.update(stage="Building", stage_done=1, stage_total=3)
    expected = {"status": "running", "stage": "Building", "done": 1, "total": 3, "error": ""}
    assert json.loads(next(stream).data) == expected
    Policy.objects.update(status=Policy.QUEUED)
    install(monkeypatch, Script())
    train_policy(policy.id)
    rest = list(stream)
    assert [seq for message in rest if message.event == "events" for seq in message.seqs] == [1, 2, 3, 4, 5, 6]
    assert json.loads(rest[-1].data)["status"] == "done"
