"""A person applies a policy in a run."""

import json
from typing import Any

import pytest
from django.test import Client

from engine import api
from tests.engine.policies.small_policies import changed, small_policy
from webapp.graphs.models import Graph
from webapp.policies import lifecycle, training_plan
from webapp.policies.models import Policy, PolicyFile
from webapp.policies.training import train_policy
from webapp.policies.training_plan import PlannedGraph, TrainingPlan
from webapp.runs.models import Run
from webapp.runs.placing import place_run

JSON = {"accept": "application/json"}
FORM: dict[str, Any] = {
    "cluster": "2xK80",
    "method": "placeto",
    "evaluations": "30",
    "seconds": "",
    "seed": "0",
}


@pytest.fixture
def policy() -> Policy:
    """One that is there."""
    known = small_policy()
    return lifecycle.keep_file("Small", Policy.UPLOADED, known.to_bytes(), known.card.to_json())


def start(client: Client, graph: Graph, **changes: str) -> Any:
    """Send the form."""
    return client.post(f"/graphs/{graph.id}/runs/", FORM | changes, headers=JSON)


def test_the_run_keeps_which_policy_it_was(client: Client, real_graph: Graph, policy: Policy) -> None:
    assert f'<option value="{policy.id}"' in client.get(f"/graphs/{real_graph.id}/").content.decode()
    address = start(client, real_graph, policy=str(policy.id)).url
    run = Run.objects.get()
    assert (run.policy, run.policy_name, run.policy_digest) == (policy, "Small", policy.digest)
    assert run.evaluations == 30
    answer = client.get(f"{address}run.json").json()["policy"]
    assert answer == {"id": str(policy.id), "name": "Small", "digest": policy.digest}
    for page in (address, f"/policies/{policy.id}/"):
        assert "Small" in client.get(page).content.decode()
    assert str(run.id) in client.get(f"/policies/{policy.id}/").content.decode()


def test_the_run_s_page_shows_how_near_the_policy_s_training_was(
    client: Client, real_graph: Graph, policy: Policy
) -> None:
    address = start(client, real_graph, policy=str(policy.id), cluster="2xP100").url
    assert "It was not trained on this cluster: never on P100." in client.get(address).content.decode()
    Policy.objects.all().delete()
    assert "training</dt>" not in client.get(address).content.decode()


def test_pages_of_what_has_happened_do_without_reading_the_policy_again(
    client: Client, real_graph: Graph, policy: Policy
) -> None:
    form = FORM | {"methods": ["auto", "random"], "seeds": "1", "policy": str(policy.id)}
    comparison = client.post(f"/graphs/{real_graph.id}/compare/", form).headers["Location"]
    run = Run.objects.get(method="auto")
    Policy.objects.update(card={**policy.known, "seed": "of another version"})
    PolicyFile.objects.update(blob=changed("version", 99))
    page = client.get(f"/runs/{run.id}/").content.decode()
    assert "this version cannot read the policy’s card." in page
    for address in (
        f"{comparison}comparison.json",
        f"{comparison}comparison.svg",
        comparison,
        f"/policies/{policy.id}/",
    ):
        assert client.get(address).status_code == 200, address
    rows = json.loads(client.get(f"{comparison}comparison.json").content)["rows"]
    assert [(row["method"], row["policy"]) for row in rows] == [("auto", "Small"), ("random", None)]
    assert client.post(f"/runs/{run.id}/cancel/").status_code == 302


BAD_FIELDS = [
    ({"policy": "x"}, "policy", "The chosen policy has been deleted or is no longer offered"),
    ({"method": "random"}, "policy", "random takes no policy; allowed: "),
    ({"preset": "paper"}, "preset", "with a policy; allowed: fast, as in the policy, or no policy"),
    ({"zero_shot": "on", "policy": ""}, "zero_shot", "Zero-shot needs a policy; choose one."),
    ({"zero_shot": "on", "method": "auto"}, "zero_shot", "Zero-shot works with Placeto only"),
    ({"evaluations": ""}, "evaluations", "required"),
]


@pytest.mark.parametrize(("changes", "field", "sentence"), BAD_FIELDS)
def test_nonsense_is_a_sentence_at_its_field(
    client: Client, real_graph: Graph, policy: Policy, changes: dict[str, str], field: str, sentence: str
) -> None:
    response = start(client, real_graph, **({"policy": str(policy.id)} | changes))
    assert response.status_code == 400
    assert list(response.json()["errors"]) == [field]
    assert sentence in " ".join(response.json()["errors"][field])
    assert not Run.objects.exists()


def test_a_policy_without_a_file_is_not_offered(client: Client, real_graph: Graph) -> None:
    waiting = lifecycle.start_training("Waits", TrainingPlan(("nmt",), (), (), ("2xK80",), 5.0, 0))
    assert "Waits" not in client.get(f"/graphs/{real_graph.id}/").content.decode()
    assert list(start(client, real_graph, policy=str(waiting.id)).json()["errors"]) == ["policy"]


@pytest.mark.usefixtures("transactional_db")
def test_one_that_went_before_its_run_began_is_reported(client: Client, real_graph: Graph, policy: Policy) -> None:
    start(client, real_graph, policy=str(policy.id))
    Policy.objects.all().delete()
    run = Run.objects.get()
    place_run(run.id)
    run.refresh_from_db()
    assert (run.status, run.error) == (Run.FAILED, "Small: it has been deleted; allowed: an existing policy")


def test_the_methods_of_a_comparison_that_take_one_begin_from_it(
    client: Client, real_graph: Graph, policy: Policy
) -> None:
    form = FORM | {"methods": ["auto", "random"], "seeds": "1", "policy": str(policy.id)}
    refused = client.post(f"/graphs/{real_graph.id}/compare/", form | {"methods": ["random"]}, headers=JSON)
    assert "no method takes it; allowed: one of the methods" in refused.json()["errors"]["policy"][0]
    address = client.post(f"/graphs/{real_graph.id}/compare/", form).headers["Location"]
    named = {run.method: (run.policy_name, run.policy_digest) for run in Run.objects.all()}
    assert named == {"auto": ("Small", policy.digest), "random": ("", "")}
    for _ in range(2):
        report = json.loads(client.get(f"{address}comparison.json").content)
        assert (report["policy"], report["policy_digest"]) == ("Small", policy.digest)
        assert "with policy" in client.get(address).content.decode()
        Policy.objects.all().delete()


@pytest.mark.usefixtures("transactional_db")
def test_trained_on_one_graph_and_applied_zero_shot(
    client: Client, real_graph: Graph, slower_graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the real engine, from the training to the report."""
    monkeypatch.setattr(training_plan, "LEAST_SEARCH_SECONDS", 0.2)
    learned_on, held_out = (PlannedGraph(graph.id, graph.name) for graph in (real_graph, slower_graph))
    policy = lifecycle.start_training("Trained", TrainingPlan((), (learned_on,), (held_out,), ("2xK80",), 1.0, 0))
    train_policy(policy.id)
    policy.refresh_from_db()
    assert (policy.status, policy.error) == (Policy.DONE, "")
    assert policy.known["name"] == "Trained"
    assert len(policy.known["held_out"]) == 1
    address = start(client, real_graph, policy=str(policy.id), zero_shot="on", evaluations="").url
    run = Run.objects.get()
    assert run.evaluations == api.zero_shot_evaluations(api.parse_cluster("2xK80"))
    place_run(run.id)
    run.refresh_from_db()
    assert (run.status, run.error) == (Run.DONE, "")
    assert run.evaluations_used <= run.evaluations
    report = json.loads(client.get(f"{address}report.json").content)
    assert (report["policy"], report["policy_digest"]) == ("Trained", policy.digest)
    assert run.events.filter(type="episode").count() == 1
