"""Every word that a page explains is explained on the help page too, by mouse, key and touch, without scripts."""

import re
from html import escape
from pathlib import Path

import pytest
from django.test import Client

import webapp
from engine import api
from tests.webapp.run_rows import compared
from webapp.graphs.models import Graph
from webapp.pages.help.words import WORDS, word
from webapp.policies.models import Policy
from webapp.runs.models import Run

USED = re.compile(r'{% tip "(\w+)" %}|word="(\w+)"')
NAMES = [name for words in WORDS.values() for name in words]


def text_of(client: Client, address: str) -> str:
    """A page that is there."""
    response = client.get(address)
    assert response.status_code == 200, address
    return response.content.decode()


def test_the_help_page_has_all_words_and_methods(client: Client) -> None:
    page = text_of(client, "/help/")
    for name in NAMES:
        assert escape(word(name).text) in page, name
    for method in api.methods():
        assert method.label in page and escape(method.does[1:]) in page


def test_every_word_is_used_and_every_used_one_is_there() -> None:
    templates = [path.read_text() for path in Path(webapp.__path__[0]).rglob("*.html")]
    used = {name for text in templates for found in USED.finditer(text) for name in found.groups() if name}
    assert len(NAMES) == len(set(NAMES))
    assert used == set(NAMES)


@pytest.mark.parametrize("part", ["run", "graph", "compare", "comparison", "policies", "train"])
def test_each_tip_opens_its_own_text(client: Client, run: Run, part: str) -> None:
    graph: Graph = run.graph
    Graph.objects.filter(id=graph.id).update(summary={"groups": 3, "ops": 3, "types": [], "time_us": {}})
    Policy.objects.create(name="Mine", status=Policy.DONE)
    address = {
        "run": f"/runs/{run.id}/",
        "graph": f"/graphs/{graph.id}/",
        "compare": f"/graphs/{graph.id}/compare/",
        "comparison": f"/comparisons/{compared(graph, 1).id}/",
        "policies": "/policies/",
        "train": "/policies/train/",
    }[part]
    page = text_of(client, address)
    opened = re.findall(r'popovertarget="(tip-[^"]+)" aria-label="What is “[^"]+”\?">', page)
    assert opened and len(opened) == len(set(opened))
    for key in opened:
        assert page.count(f'id="{key}" popover>') == 1
    assert 'href="/help/"' in page
