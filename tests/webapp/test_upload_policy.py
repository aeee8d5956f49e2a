"""A person uploads a policy, takes it away, deletes it."""

import hashlib
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils.html import escape

from engine import api
from tests.engine.policies.small_policies import changed, small_policy
from tests.webapp.purge import purge
from webapp.graphs.models import Graph
from webapp.pages.graphs.upload_limits import upload_limit_bytes
from webapp.policies import default_policy, lifecycle
from webapp.policies.models import Policy, PolicyFile
from webapp.runs.models import Run

JSON = {"accept": "application/json"}
HOSTILE = "<img src=x onerror=alert(1)>"


def upload(client: Client, name: str, content: bytes, **headers: str) -> Any:
    """Send the form."""
    return client.post("/policies/upload/", {"file": SimpleUploadedFile(name, content)}, headers=headers)


@pytest.fixture
def policy(client: Client) -> Policy:
    """One that was uploaded."""
    upload(client, "small.safetensors", small_policy().to_bytes())
    return Policy.objects.get()


def test_it_is_kept_with_its_card_and_can_be_taken_away(client: Client, data_folder: Path) -> None:
    blob = small_policy().to_bytes()
    response = upload(client, "Mine.SafeTensors", blob)
    policy = Policy.objects.get()
    assert (response.status_code, response.url) == (302, f"/policies/{policy.id}/")
    assert (policy.name, policy.source, policy.status) == ("small", Policy.UPLOADED, Policy.DONE)
    assert (policy.digest, policy.file_bytes) == (hashlib.sha256(blob).hexdigest(), len(blob))
    assert policy.card == small_policy().card.to_json()
    assert not [path for path in data_folder.rglob("*") if path.is_file()]
    answer = client.get(f"/policies/{policy.id}/policy.safetensors")
    assert answer.content == blob
    assert answer.headers["Content-Disposition"] == 'attachment; filename="small.safetensors"'


def test_a_file_that_is_sent_twice_is_one_policy(client: Client, policy: Policy) -> None:
    response = upload(client, "again.safetensors", small_policy().to_bytes())
    assert (response.status_code, response.url) == (302, f"/policies/{policy.id}/")
    assert "This file is already here" in client.get(response.url).content.decode()
    assert list(Policy.objects.all()) == [policy]
    assert upload(client, "other.safetensors", changed("card.seed", 8)).url != response.url
    assert Policy.objects.count() == 2


def test_a_file_that_is_sent_twice_at_once_is_one_policy(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    keep, blob = lifecycle.keep_file, small_policy().to_bytes()

    def keep_second(*arguments: Any) -> Policy:
        keep(*arguments)  # the other one's, after both have looked whether there is one
        return keep(*arguments)

    monkeypatch.setattr(lifecycle, "keep_file", keep_second)
    assert upload(client, "small.safetensors", blob).status_code == 302
    assert (Policy.objects.count(), PolicyFile.objects.count()) == (1, 1)


def test_a_file_of_a_policy_that_was_deleted_is_kept_anew(client: Client, policy: Policy) -> None:
    client.post(f"/policies/{policy.id}/delete/")
    purge()
    response = upload(client, "small.safetensors", small_policy().to_bytes())
    assert "This file is already here" not in client.get(response.url).content.decode()
    assert (Policy.objects.count(), PolicyFile.objects.count()) == (1, 1)


def test_its_pages_show_its_card(client: Client, policy: Policy) -> None:
    page = client.get(f"/policies/{policy.id}/").content.decode()
    for text in ("nmt-01", "4xV100+CPU", policy.digest, "Download policy"):
        assert text in page
    assert f'data-gap="{small_policy().card.mean_gap}"' in page
    listed = client.get("/policies/").content.decode()
    assert f"/policies/{policy.id}/" in listed
    assert "nmt · 2 graphs" in listed


def test_what_a_file_says_never_reaches_a_page_as_html(client: Client) -> None:
    for field, value in (("card.name", HOSTILE), ("card.graphs", [HOSTILE])):
        assert upload(client, "p.safetensors", changed(field, value)).status_code == 302
    named, of_graphs = (client.get(f"/policies/{policy.id}/").content.decode() for policy in Policy.objects.all()[::-1])
    for page in (client.get("/policies/").content.decode(), named, of_graphs):
        assert HOSTILE not in page
    assert escape(HOSTILE) in named and escape(HOSTILE) in of_graphs


def test_one_of_another_release_is_not_offered_and_its_pages_say_so(
    client: Client, policy: Policy, real_graph: Graph
) -> None:
    offer = f'<option value="{policy.id}"'
    assert offer in client.get(f"/graphs/{real_graph.id}/").content.decode()
    Policy.objects.update(file_version=1)
    assert offer not in client.get(f"/graphs/{real_graph.id}/").content.decode()
    page = client.get(f"/policies/{policy.id}/").content.decode()
    assert "Its file has version 1, and this release applies version 3: train it again." in page
    assert "Download policy" in page
    assert "from another release" in client.get("/policies/").content.decode()
    Policy.objects.update(status=Policy.CANCELLED)
    page = client.get(f"/policies/{policy.id}/").content.decode()
    assert "Its training was stopped: what it had learned is kept." in page


def test_an_upload_of_the_release_s_own_file_outlasts_the_release(client: Client, release_policy: Path) -> None:
    blob = small_policy().to_bytes()
    release_policy.write_bytes(blob)
    default_policy.bring_up_to_date()
    address = upload(client, "mine.safetensors", blob).url
    assert Policy.objects.count() == 2
    release_policy.write_bytes(changed("card.seed", 8))
    default_policy.bring_up_to_date()
    assert client.get(address).status_code == 200


BAD_FILES = {
    "nothing in it": ("p.safetensors", b"", "p.safetensors: the file is empty; allowed: a policy written by Placeto"),
    "another suffix": ("p.pkl", b"x", "p.pkl: a file ending in .pkl; allowed: .safetensors"),
    "no suffix": ("policy", b"x", "policy: a file ending in nothing; allowed: .safetensors"),
    "a pickle": (
        "p.safetensors",
        b"\x80\x04]q\x00.",
        "this is not a file of Placeto; allowed: a file written by Placeto",
    ),
    "cut short": (
        "p.safetensors",
        small_policy().to_bytes()[:-9],
        "this is not a file of Placeto; allowed: a file written by Placeto",
    ),
    "another version": ("p.safetensors", changed("version", 99), "its version is 99; allowed: version 3"),
    "a card without a name": ("p.safetensors", changed("card.name", None), "the card's name is nothing; allowed"),
}


@pytest.mark.parametrize("which", BAD_FILES)
def test_a_file_that_is_no_policy_is_a_sentence_and_nothing_is_kept(
    client: Client, data_folder: Path, which: str
) -> None:
    name, content, sentence = BAD_FILES[which]
    response = upload(client, name, content, **JSON)
    assert response.status_code == 400
    [error] = response.json()["errors"]["file"]
    assert sentence in error
    assert not Policy.objects.exists()
    assert not [path for path in data_folder.rglob("*") if path.is_file()]


def test_the_page_comes_again_with_the_sentence(client: Client) -> None:
    response = upload(client, "p.pkl", b"x")
    assert response.status_code == 400
    assert "p.pkl: a file ending in .pkl; allowed: .safetensors" in response.content.decode()
    assert client.post("/policies/upload/", {}, headers=JSON).json() == {
        "errors": {"file": ["No file was chosen; allowed: .safetensors"]}
    }


def test_a_body_that_is_too_large_is_refused_before_it_is_spooled() -> None:
    from asgiref.sync import async_to_sync

    limit_bytes = async_to_sync(upload_limit_bytes)("POST", "/policies/upload/")
    assert limit_bytes is not None
    assert api.MOST_POLICY_BYTES < limit_bytes <= api.MOST_POLICY_BYTES + 2**20
    assert async_to_sync(upload_limit_bytes)("POST", "/policies/train/") is None


def test_it_is_deleted_unless_a_run_uses_it(client: Client, policy: Policy, run: Run) -> None:
    Run.objects.update(policy=policy, policy_name=policy.name, policy_digest=policy.digest)
    refused = client.post(f"/policies/{policy.id}/delete/", headers=JSON)
    assert refused.status_code == 409
    assert "An unfinished run uses this policy" in refused.json()["errors"][""][0]
    Run.objects.update(status=Run.DONE)
    assert client.post(f"/policies/{policy.id}/delete/").headers["Location"] == "/policies/"
    assert not Policy.objects.exists()
    purge()
    assert not PolicyFile.objects.exists()
    run.refresh_from_db()
    assert (run.policy_id, run.policy_name) == (None, "small")
    assert "deleted since" in client.get(f"/runs/{run.id}/").content.decode()


@pytest.mark.parametrize("address", ["upload/", "train/", "{}/cancel/", "{}/delete/"])
def test_a_form_from_elsewhere_is_refused(policy: Policy, address: str) -> None:
    response = Client(enforce_csrf_checks=True).post(f"/policies/{address.format(policy.id)}", headers=JSON)
    assert response.status_code == 403
    assert "another site" in response.json()["errors"][""][0]
    assert Policy.objects.get() == policy


def test_what_does_not_exist_is_reported(client: Client, policy: Policy) -> None:
    policy_id = policy.id
    policy.delete()
    for path in ("", "events.json", "policy.safetensors"):
        response = client.get(f"/policies/{policy_id}/{path}", headers=JSON)
        assert response.status_code == 404
        assert response.json()["errors"][""] == ["This policy does not exist, or it has been deleted."]
    for path in ("cancel/", "delete/"):
        assert client.post(f"/policies/{policy_id}/{path}").status_code == 404
    assert "No policies yet" in client.get("/policies/").content.decode()
