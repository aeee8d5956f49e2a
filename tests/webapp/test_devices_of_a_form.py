"""The devices of a form: what they are is said as parsed, and the next form begins with what was used last."""

import json
from typing import Any

import pytest
from django.test import Client

from engine import api
from webapp.comparisons.models import Comparison
from webapp.graphs.models import Graph
from webapp.projects.models import Project
from webapp.runs.models import Run

RUN = {"method": "heft", "evaluations": "70", "seconds": "9.5", "seed": "3", "prefer": "simplest=2%"}


def described(client: Client, text: str) -> dict[str, Any]:
    answer: dict[str, Any] = client.post("/devices/described.json", {"text": text}).json()
    return answer


def form_of(client: Client, address: str, name: str) -> Any:
    return client.get(address).context[name]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("2xh100+cpu", "2 × H100 with 80 GiB each + CPU with 488 GiB; between GPUs 375.8 GB/s; to the CPU 53.56 GB/s"),
        ("K80:1.5", "K80 with 1.5 GiB"),
        ("9xA100", "9 × A100 with 40 GiB each; between GPUs 25 to 250.5 GB/s"),
        (
            "T4+CPU@ethernet",
            "2 machines, each T4 with 16 GiB + CPU with 488 GiB; to the CPU 13.39 GB/s; between machines 6.25 GB/s",
        ),
    ],
)
def test_devices_memory_and_links_are_said_in_one_line(client: Client, text: str, words: str) -> None:
    assert described(client, text)["words"] == words


def test_rows_say_what_the_text_says(client: Client) -> None:
    found = described(client, "2xA100:80 + cpu @NVLink")
    assert found["rows"] is not None and found["has_cpu"] and not found["error"]
    rows = [(row["count"], row["kind"], row["memory_gib"]) for row in found["rows"]]
    assert (rows, found["links"]) == ([(2, "A100", 80), (1, "CPU", 488)], ""), "its usual links are NVLink"
    assert described(client, "2xA100@pcie")["links"] == "pcie"


def test_rows_cannot_show_every_cluster_and_a_mistake_is_a_sentence(client: Client) -> None:
    own = api.cluster_to_json(api.parse_cluster("2xK80")) | {"op_rest_us": 9.0}
    found = described(client, json.dumps(own))
    assert (found["rows"], found["error"], found["words"][:9]) == (None, "", "2 × K80 w")
    assert "0 devices" in described(client, "0xK80")["error"] and described(client, "0xK80")["rows"] is None
    assert described(client, "")["error"]


def test_the_first_run_of_a_project_is_on_a_card_of_today_and_the_next_on_the_same_devices(
    client: Client, ready_graph: Graph
) -> None:
    addresses = ((f"/graphs/{ready_graph.id}/", "run_form"), (f"/graphs/{ready_graph.id}/compare/", "form"))
    for address, name in addresses:
        assert form_of(client, address, name)["cluster"].value() == "2xH100+CPU"
    client.post(f"/graphs/{ready_graph.id}/runs/", RUN | {"cluster": "3xv100:20 + cpu"})
    for address, name in addresses:
        assert form_of(client, address, name)["cluster"].value() == "3xV100:20GiB+CPU"
    elsewhere = Graph.objects.create(project=Project.objects.create(name="Another"), status=Graph.READY, suffix=".json")
    Graph.objects.filter(id=elsewhere.id).update(summary=ready_graph.summary)
    assert form_of(client, f"/graphs/{elsewhere.id}/", "run_form")["cluster"].value() == "2xH100+CPU"


def test_run_again_keeps_all_that_the_run_asked_for(client: Client, ready_graph: Graph) -> None:
    client.post(f"/graphs/{ready_graph.id}/runs/", RUN | {"cluster": "2xK80:3GiB+CPU@pcie", "drop_devices": "on"})
    run = Run.objects.get()
    client.post(f"/graphs/{ready_graph.id}/runs/", RUN | {"cluster": "8xT4"})
    again = f"/graphs/{ready_graph.id}/?run={run.id}"
    assert again.replace("&", "&amp;") in client.get(f"/runs/{run.id}/").content.decode()
    form = form_of(client, again, "run_form")
    values = {name: form[name].value() for name in (*RUN, "cluster", "drop_devices")}
    assert values | {"seed": "3"} == {
        **RUN,
        "evaluations": 70,
        "seconds": 9.5,
        "cluster": "2xK80:3GiB+CPU",  # its usual links are those of its boards
        "drop_devices": True,
    }
    comparison = form_of(client, f"/graphs/{ready_graph.id}/compare/?run={run.id}", "form")
    kept = {name: comparison[name].value() for name in ("cluster", "evaluations", "seconds", "drop_devices")}
    assert kept == {name: values[name] for name in kept}
    assert "has been deleted" not in client.get(again).content.decode()
    Run.objects.filter(id=run.id).update(policy_name="quick", policy_digest="0" * 64)
    assert "The policy of that run, quick, has been deleted" in client.get(again).content.decode()
    for odd in ("nonsense", str(ready_graph.id)):
        assert form_of(client, f"/graphs/{ready_graph.id}/?run={odd}", "run_form")["cluster"].value() == "8xT4"


def test_compare_again_keeps_all_that_the_comparison_asked_for(client: Client, ready_graph: Graph) -> None:
    asked = {"cluster": "2xP100", "methods": ["random", "placeto"], "preset_placeto": "paper", "evaluations": "30"}
    client.post(f"/graphs/{ready_graph.id}/compare/", asked | {"seconds": "2", "seeds": "2"})
    comparison = Comparison.objects.get()
    again = f"/graphs/{ready_graph.id}/compare/?comparison={comparison.id}"
    assert again in client.get(f"/comparisons/{comparison.id}/").content.decode()
    form = form_of(client, again, "form")
    values = {name: form[name].value() for name in (*asked, "seconds", "seeds")}
    assert values == asked | {"evaluations": 30, "seconds": 2.0, "seeds": 2}


def test_the_form_of_a_run_gives_a_comparison_what_was_entered(client: Client, ready_graph: Graph) -> None:
    address = f"/graphs/{ready_graph.id}/compare/?cluster=2xK80%40pcie&evaluations=55&seconds=&drop_devices=on&seed=4"
    form = form_of(client, address, "form")
    values = {name: form[name].value() for name in ("cluster", "evaluations", "seconds", "drop_devices")}
    assert values == {"cluster": "2xK80@pcie", "evaluations": "55", "seconds": "", "drop_devices": "on"}
