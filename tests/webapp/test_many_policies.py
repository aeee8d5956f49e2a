"""There are many policies, with large cards: what lists them stays cheap."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from engine import api
from tests.engine.policies.small_policies import card_with_a_misfit, small_card, small_policy
from webapp.graphs.models import Graph
from webapp.pages import pagination
from webapp.policies import default_policy, lifecycle, offered
from webapp.policies.default_policy import NAME
from webapp.policies.models import Policy
from webapp.policies.summary import MOST_NAMED, PolicySummary
from webapp.policies.training_plan import PlannedGraph, TrainingPlan

LARGE_COLUMNS = ('"policies_policy"."card"', '"policies_policy"."plan"', '"policies_policyfile"."blob"')
BLOB = small_policy().to_bytes()


def kept(name: str, card: api.PolicyCard | None = None) -> Policy:
    """One that is there."""
    return lifecycle.keep_file(name, Policy.UPLOADED, BLOB, (card or small_card()).to_json())


def large_card() -> api.PolicyCard:
    """A card of some megabytes."""
    many = tuple(f"{'graph' * 20}-{number}" for number in range(4000))
    return replace(small_card(), graphs=many, clusters=many[:1000], held_out=small_card().held_out * 2000)


@pytest.fixture(params=["/policies/", "/graphs/{graph}/", "/graphs/{graph}/compare/"])
def address(request: pytest.FixtureRequest, real_graph: Graph) -> Iterator[str]:
    """A page that lists or offers policies."""
    yield request.param.format(graph=real_graph.id)


def asked(client: Client, address: str) -> tuple[list[str], str]:
    """The queries of a page, and the page."""
    with CaptureQueriesContext(connection) as queries:
        response = client.get(address)
    assert response.status_code == 200, address
    return [query["sql"] for query in queries], response.content.decode()


def test_no_page_that_lists_policies_loads_their_cards(client: Client, address: str) -> None:
    kept("one")
    few, _ = asked(client, address)
    for number in range(4):
        kept(f"large {number}", large_card())
    many, page = asked(client, address)
    assert len(many) == len(few), "a query more for each policy"
    assert not [sql for sql in many for column in LARGE_COLUMNS if column in sql]
    assert "large 3" in page
    assert len(page) < 60_000


def test_what_is_asked_for_again_and_again_loads_no_card(client: Client) -> None:
    policy = kept("large", large_card())
    for path in (f"/states.json?policy={policy.id.hex}", f"/policies/{policy.id}/events.json"):
        queries, _ = asked(client, path)
        assert not [sql for sql in queries for column in LARGE_COLUMNS if column in sql]


def test_the_list_has_pages(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pagination, "ROWS_A_PAGE", 2)
    for number in range(5):
        kept(f"number {number}")
    for page, shown in ((1, {4, 3}), (2, {2, 1}), (3, {0})):
        text = client.get(f"/policies/?page={page}").content.decode()
        assert {number for number in range(5) if f">number {number}</a>" in text} == shown
        assert f"Page {page} of 3" in text
    for odd in ("0", "4", "x", "9" * 30):
        assert client.get(f"/policies/?page={odd}").status_code == 404
    monkeypatch.undo()
    assert "Page 1 of" not in client.get("/policies/").content.decode()


def test_a_form_offers_the_newest_and_the_release_s(
    client: Client, real_graph: Graph, monkeypatch: pytest.MonkeyPatch, release_policy: Path
) -> None:
    monkeypatch.setattr(offered, "MOST_OFFERED", 2)
    release_policy.write_bytes(BLOB)
    default_policy.bring_up_to_date()
    for number in range(4):
        kept(f"number {number}")
    assert [policy.name for policy in offered.offered_policies(None).policies] == [NAME, "number 3", "number 2"]
    page = client.get(f"/graphs/{real_graph.id}/").content.decode()
    assert "The newest 2 are offered" in page


def test_pages_say_on_how_many_graphs_the_pass_does_not_fit(client: Client) -> None:
    policy = kept("tight", card_with_a_misfit())
    page = client.get(f"/policies/{policy.id}/").content.decode()
    assert "<dt>greedy pass does not fit</dt><dd>on 1 of 3</dd>" in page
    assert page.count(">does not fit</td>") == 1 and page.count(">none fits <span") == 1 and "None" not in page
    assert "1 does not fit</span>" in client.get("/policies/").content.decode()
    fitting = client.get(f"/policies/{kept('roomy', small_card()).id}/").content.decode()
    assert "not fit" not in fitting


def test_a_summary_says_what_lists_show() -> None:
    known = kept("small").short
    assert known == PolicySummary(
        families=("nmt",),
        family_count=1,
        graph_count=2,
        clusters=("2xK80", "4xV100+CPU"),
        cluster_count=2,
        seconds=2.5,
        mean_gap=small_card().mean_gap,
        worst_gap=small_card().worst_gap,
        misfits=0,
        search_seconds=1.0,
        search_evaluations=50,
    )
    planned = TrainingPlan(("nmt", "ptb"), (PlannedGraph(Policy().id, "mine"),), (), ("2xK80",), 60.0, 3)
    waiting = lifecycle.start_training("Waits", planned).short
    assert waiting == PolicySummary(("nmt", "ptb"), 2, 1, ("2xK80",), 1)
    cut = kept("large", large_card()).short
    assert (len(cut.clusters), cut.cluster_count, cut.graph_count) == (MOST_NAMED, 1000, 4000)
    assert max(map(len, cut.clusters)) == 40


def test_a_page_shows_what_to_expect_by_family_cluster_and_size(client: Client) -> None:
    first, second = small_card().held_out
    mine = replace(second, graph="mine.pb", cluster="4xV100+CPU", ops=12_000, greedy_us=None, best_of_us=None)
    policy = kept("mixed", replace(small_card(), held_out=(replace(first, ops=800), replace(second, ops=900), mine)))
    page = " ".join(client.get(f"/policies/{policy.id}/").content.decode().split())
    for part in ("family", "cluster", "size"):
        assert f'<th scope="rowgroup" colspan="5" class="part">By {part}</th>' in page
    for name in ("nmt", "other graphs", "2xK80", "4xV100+CPU", "up to 1,000 ops", "more than 10,000 ops"):
        assert f'<th scope="row" class="name">{name}</th>' in page
    assert page.count('<td class="number">1 <span class="muted">1 does not fit</span></td>') == 3
    assert "All 3 graphs and clusters" in page and "None" not in page


def test_a_page_without_parts_shows_the_rows_alone(client: Client) -> None:
    page = client.get(f"/policies/{kept('one').id}/").content.decode()
    assert "What to expect" not in page and "nmt-01" in page
