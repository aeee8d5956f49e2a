"""Above each page stands the way to it, from the list down; the last word is the page itself."""

import re

from django.test import Client

from webapp.pages.breadcrumbs import crumbs
from webapp.policies.models import Policy
from webapp.runs.models import Run

WORDS = re.compile(r">([^<]+)</(?:a|span)>")


def test_the_deletion_of_a_run_is_below_its_graph_and_its_project(client: Client, run: Run) -> None:
    page = client.get(f"/runs/{run.id}/delete/").content.decode()
    way = re.search('aria-label="Breadcrumb"><ol>(.*?)</ol>', page)
    assert way is not None
    assert WORDS.findall(way[1]) == ["Projects", run.graph.project.name, run.graph.name, run.method_label, "Delete"]
    for address in re.findall('href="([^"]+)"', way[1]):
        assert client.get(address).status_code == 200, address


def test_a_page_of_a_policy_is_below_the_policies(client: Client) -> None:
    policy = Policy.objects.create(name="<b>mine</b>")
    assert WORDS.findall(crumbs(policy)) == ["Policies", "&lt;b&gt;mine&lt;/b&gt;"]
