"""A policy may come with the release: it is offered without anybody's doing, as long as its file is there and good."""

import os
from pathlib import Path

import pytest
from django.test import Client

from engine import api
from tests.engine.policies.small_policies import changed, small_policy
from webapp.graphs.models import Graph
from webapp.policies import default_policy
from webapp.policies.models import Policy
from webapp.policies.offered import offered_policies
from webapp.runs.models import Run

JSON = {"accept": "application/json"}
FIRST, SECOND = small_policy().to_bytes(), changed("card.seed", 8)


def write(path: Path, content: bytes, when: int) -> None:
    """Another file in its place."""
    path.write_bytes(content)
    os.utime(path, ns=(when, when))


def offered() -> list[Policy]:
    """To a form, after the web server's next look at the file."""
    default_policy.bring_up_to_date()
    return offered_policies(None).policies


@pytest.fixture
def default(release_policy: Path) -> Policy:
    """The release's, offered once."""
    assert offered() == []
    write(release_policy, FIRST, 1)
    [policy] = offered()
    return policy


def chosen(client: Client, graph: Graph, policy: Policy) -> bool:
    """Whether the form of a run begins with it, after the next look."""
    default_policy.bring_up_to_date()
    return f'<option value="{policy.id}" selected>' in client.get(f"/graphs/{graph.id}/").content.decode()


def use(run: Run, policy: Policy) -> None:
    """A run that has not ended applies it."""
    Run.objects.filter(id=run.id).update(policy=policy, policy_name=policy.name, policy_digest=policy.digest)


def test_it_is_offered_without_anybody_s_doing(client: Client, default: Policy, real_graph: Graph) -> None:
    assert (default.name, default.source) == ("Default policy", Policy.DEFAULT)
    assert offered() == [default], "no second one"
    assert chosen(client, real_graph, default), "Auto takes it in unless one says none"
    refused = client.post(f"/policies/{default.id}/delete/", headers=JSON)
    assert (refused.status_code, Policy.objects.count()) == (409, 1)


def test_its_page_names_the_settings_of_its_training_that_are_not_as_usual(client: Client, default: Policy) -> None:
    page = client.get(f"/policies/{default.id}/").content.decode()
    assert '<dt><code class="name">learners</code></dt><dd class="name">2 <span class="muted">usually 1</span>' in page
    assert '<dt><code class="name">an_earlier_setting</code></dt><dd class="name">true</dd>' in page
    assert "drawn_without" not in page, "it has its default"


def test_a_newer_release_s_takes_its_place(default: Policy, release_policy: Path) -> None:
    write(release_policy, SECOND, 2)
    [newer] = offered()
    assert newer.source == Policy.DEFAULT
    assert list(Policy.objects.all()) == [newer] != [default]


def test_one_that_a_run_uses_goes_once_that_has_ended(
    client: Client, default: Policy, release_policy: Path, run: Run
) -> None:
    use(run, default)
    write(release_policy, SECOND, 2)
    newer, older = offered()
    assert (newer.source, older.id, older.source) == (Policy.DEFAULT, default.id, Policy.FORMER)
    assert not chosen(client, run.graph, older)
    assert client.post(f"/policies/{older.id}/delete/", headers=JSON).status_code == 409
    Run.objects.update(status=Run.DONE)
    assert offered() == [newer], "the file has not changed again"
    run.refresh_from_db()
    assert (run.policy_id, run.policy_name) == (None, "Default policy")


def test_one_whose_file_has_gone_is_like_any_other(
    client: Client, default: Policy, release_policy: Path, run: Run
) -> None:
    use(run, default)
    Run.objects.update(status=Run.DONE)
    release_policy.unlink()
    assert not chosen(client, run.graph, default)
    assert [policy.source for policy in offered()] == [Policy.FORMER]
    run.refresh_from_db()
    assert run.policy_id == default.id
    assert "Delete policy" in client.get(f"/policies/{default.id}/").content.decode()
    assert "came with an earlier release" in client.get("/policies/").content.decode()
    write(release_policy, FIRST, 1)
    assert chosen(client, run.graph, default), "it is there again"
    release_policy.unlink()
    offered()
    assert client.post(f"/policies/{default.id}/delete/").status_code == 302
    assert not Policy.objects.exists()


def test_one_that_could_not_be_looked_at_is_looked_at_again(
    release_policy: Path, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(release_policy, FIRST, 1)
    looks: list[Path] = []

    def fails(file: Path, _name: str) -> api.Json:
        looks.append(file)
        raise api.LimitError("the check", where=file.name, allowed="less memory")

    def is_shown() -> bool:
        default_policy.bring_up_to_date()
        return "The default policy cannot be used" in client.get("/policies/").content.decode()

    with monkeypatch.context() as patched:
        patched.setattr(api, "check_policy", fails)
        assert is_shown()
    assert not is_shown()
    write(release_policy, b"broken", 2)
    assert is_shown()
    assert len(looks) == 1


def test_a_file_that_an_earlier_process_has_kept_is_not_checked_again(
    default: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(default_policy, "_checked_file", None)
    monkeypatch.setattr(api, "check_policy", None)
    assert offered() == [default]


def test_a_file_that_is_gone_has_no_fault(client: Client, release_policy: Path) -> None:
    write(release_policy, b"broken", 1)
    default_policy.bring_up_to_date()
    assert default_policy.known_fault()
    release_policy.unlink()
    default_policy.bring_up_to_date()
    assert default_policy.known_fault() == ""


def test_one_whose_file_is_broken_is_not_chosen_and_the_form_says_why(
    client: Client, default: Policy, release_policy: Path, ready_graph: Graph
) -> None:
    write(release_policy, b"broken", 2)
    default_policy.bring_up_to_date()
    fault = "The default policy cannot be used: no-policy.safetensors: "
    for address in ("/policies/", f"/graphs/{ready_graph.id}/", f"/graphs/{ready_graph.id}/compare/"):
        assert fault in client.get(address).content.decode(), address
    assert not chosen(client, ready_graph, default)
    assert offered_policies(None).default_fault.startswith(fault)
    assert client.post(f"/policies/{default.id}/delete/").status_code == 302
    write(release_policy, SECOND, 3)
    assert [policy.source for policy in offered()] == [Policy.DEFAULT]
    assert offered_policies(None).default_fault == ""
