"""A person compares methods under constraints; every run has them, and the page says them."""

from typing import Any

import pytest
from django.test import Client

from engine import api
from webapp.comparisons.forms import first_values_of_comparison
from webapp.comparisons.models import Comparison
from webapp.comparisons.requests import request_of
from webapp.graphs.models import Graph
from webapp.runs.models import Answer, Run
from webapp.runs.placing import place_run

FORM = {"cluster": "2xK80+cpu", "methods": ["auto", "local_search"], "seeds": "1", "evaluations": "60", "seconds": ""}


def compare(client: Client, graph: Graph, constraints: str, **changes: Any) -> Any:
    """Send the form."""
    fields = FORM | {"constraints": constraints} | changes
    return client.post(f"/graphs/{graph.id}/compare/", fields, headers={"accept": "application/json"})


def two_ops(graph: Graph) -> tuple[str, str]:
    """Two ops of different groups that may be anywhere."""
    names = graph.prepared.value.grouping.names
    return names[0], names[-1]


def test_the_form_has_a_closed_field_for_them(client: Client, real_graph: Graph) -> None:
    page = client.get(f"/graphs/{real_graph.id}/compare/").content.decode()
    assert '<details class="options" data-part="constraints">' in page
    assert 'name="constraints"' in page


@pytest.mark.usefixtures("transactional_db")
def test_every_run_keeps_them_and_the_page_and_the_report_say_them(client: Client, real_graph: Graph) -> None:
    one, other = two_ops(real_graph)
    rules = [f"apart {one} {other}", f"off {one} CPU"]
    assert compare(client, real_graph, "\r\n".join(rules)).status_code == 302
    comparison = Comparison.objects.get()
    assert comparison.constraints == rules
    assert request_of(comparison).constraints == api.Constraints.of_lines(rules)
    for run in Run.objects.all():
        assert run.constraints == rules and place_run(run.id)
        devices = Answer.objects.get(run=run).placement.device_of_group
        assert devices[0] != devices[-1] and devices[0] in (0, 1)
    page = client.get(f"/comparisons/{comparison.id}/").content.decode()
    assert all(f"<code>{rule}</code>" in page for rule in rules)
    assert client.get(f"/comparisons/{comparison.id}/comparison.json").json()["constraints"] == rules


def test_compare_again_and_the_form_of_a_run_give_them(client: Client, real_graph: Graph) -> None:
    one, _ = two_ops(real_graph)
    rule = f"off {one} CPU"
    assert compare(client, real_graph, rule).status_code == 302
    comparison, run = Comparison.objects.get(), Run.objects.first()
    assert run is not None
    assert first_values_of_comparison(comparison)["constraints"] == rule
    for asked in ({"comparison": str(comparison.id)}, {"run": str(run.id)}, {"constraints": rule}):
        page = client.get(f"/graphs/{real_graph.id}/compare/", asked).content.decode()
        assert f"{rule}</textarea>" in page and 'data-part="constraints" open' in page, asked


def test_without_them_nothing_is_stored(client: Client, real_graph: Graph) -> None:
    assert compare(client, real_graph, " \r\n# a remark\r\n").status_code == 302
    comparison = Comparison.objects.get()
    assert comparison.constraints is None and not request_of(comparison).constraints
    assert 'data-part="constraints"' not in client.get(f"/comparisons/{comparison.id}/").content.decode()
    assert "constraints" not in client.get(f"/comparisons/{comparison.id}/comparison.json").json()


@pytest.mark.parametrize(
    ("constraints", "changes", "field", "words"),
    [
        ("togther a b", {}, "constraints", "the rule `togther a b`: it has another form; allowed: together OPS"),
        ("together no_such_op", {}, "constraints", "no_such_op names no op"),
        ("off * TPU", {}, "constraints", "TPU is no device of the cluster"),
        ("apart a b", {"methods": ["auto", "post"]}, "methods", "post cannot keep ops apart, as `apart a b` says"),
    ],
)
def test_errors_are_at_their_fields(
    client: Client, real_graph: Graph, constraints: str, changes: dict[str, Any], field: str, words: str
) -> None:
    answer = compare(client, real_graph, constraints, **changes)
    assert answer.status_code == 400
    assert words in " ".join(answer.json()["errors"][field])
    assert not Comparison.objects.exists()
