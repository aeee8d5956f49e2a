"""A person starts a run with constraints; its placements keep them, and its page says them."""

from typing import Any

import pytest
from django.test import Client

from engine import api
from webapp.graphs.models import Graph
from webapp.runs import first_values
from webapp.runs.models import Answer, Run
from webapp.runs.placing import place_run
from webapp.runs.requests import new_run, request_from, request_of

FORM = {"cluster": "2xK80+cpu", "method": "auto", "preset": "", "evaluations": "60", "seconds": "", "seed": "0"}


def start(client: Client, graph: Graph, constraints: str, **changes: str) -> Any:
    """Send the form."""
    fields = FORM | {"constraints": constraints} | changes
    return client.post(f"/graphs/{graph.id}/runs/", fields, headers={"accept": "application/json"})


def two_ops(graph: Graph) -> tuple[str, str]:
    """Two ops of different groups that may be anywhere."""
    prepared = graph.prepared.value
    return prepared.grouping.names[0], prepared.grouping.names[-1]


def test_the_form_has_a_closed_field_for_them(client: Client, real_graph: Graph) -> None:
    page = client.get(f"/graphs/{real_graph.id}/").content.decode()
    assert '<details class="options" data-part="constraints">' in page
    assert 'name="constraints"' in page


@pytest.mark.usefixtures("transactional_db")
def test_a_run_keeps_them(client: Client, real_graph: Graph) -> None:
    one, other = two_ops(real_graph)
    rules = [f"apart {one} {other}", f"off {one} CPU"]
    assert start(client, real_graph, "\r\n".join(rules)).status_code == 302
    run = Run.objects.get()
    assert run.constraints == rules
    assert request_of(run).constraints == api.Constraints.of_lines(rules)
    assert new_run(real_graph, request_of(run)).constraints == rules
    assert place_run(run.id)
    placement = Answer.objects.get(run=run).placement.device_of_group
    assert placement[0] != placement[-1] and placement[0] in (0, 1)
    assert client.get(f"/runs/{run.id}/run.json").json()["constraints"] == rules
    page = client.get(f"/runs/{run.id}/").content.decode()
    assert all(f"<code>{rule}</code>" in page for rule in rules)
    answer = api.SplitPlacement(placement)
    assert request_from(run, "auto", 60, answer, []).constraints == api.Constraints.of_lines(rules)


def test_run_again_keeps_them(client: Client, real_graph: Graph) -> None:
    one, _ = two_ops(real_graph)
    assert start(client, real_graph, f"off {one} CPU").status_code == 302
    run = Run.objects.get()
    assert first_values.of_run(run)["constraints"] == f"off {one} CPU"
    page = client.get(f"/graphs/{real_graph.id}/?run={run.id}").content.decode()
    assert '<details class="options" data-part="constraints" open>' in page
    assert f"off {one} CPU</textarea>" in page


def test_without_them_nothing_is_stored(client: Client, real_graph: Graph) -> None:
    assert start(client, real_graph, " \r\n# a remark\r\n").status_code == 302
    run = Run.objects.get()
    assert run.constraints is None
    assert not request_of(run).constraints
    assert "constraints" not in client.get(f"/runs/{run.id}/run.json").json()


@pytest.mark.parametrize(
    ("constraints", "changes", "field", "words"),
    [
        ("togther a b", {}, "constraints", "the rule `togther a b`: it has another form; allowed: together OPS"),
        ("together no_such_op", {}, "constraints", "no_such_op names no op"),
        ("off * TPU", {}, "constraints", "TPU is no device of the cluster"),
        ("apart a b", {"method": "post"}, "method", "post cannot keep ops apart, as `apart a b` says"),
        ("apart a b\n" * 20_000, {}, "constraints", "at most 100000"),
    ],
)
def test_errors_are_at_their_fields(
    client: Client, real_graph: Graph, constraints: str, changes: dict[str, str], field: str, words: str
) -> None:
    answer = start(client, real_graph, constraints, **changes)
    assert answer.status_code == 400
    assert words in " ".join(answer.json()["errors"][field])
    assert not Run.objects.exists()
