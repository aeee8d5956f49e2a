"""A request that comes twice makes one row."""

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.utils import timezone

from tests.webapp.graph_files import graphdef
from webapp.api import once
from webapp.api.kept_answers import remove_old_answers
from webapp.api.models import KeptAnswer
from webapp.graphs.models import Graph
from webapp.projects.models import Project
from webapp.runs.models import Run

RUN = {"cluster": "2xK80", "method": "heft"}


def start(client: Client, graph: Graph, key: str, **changes: Any) -> Any:
    headers = {"Idempotency-Key": key}
    return client.post(
        f"/api/v1/graphs/{graph.id}/runs", {**RUN, **changes}, content_type="application/json", headers=headers
    )


def test_the_same_key_and_body_give_the_same_answer(client: Client, real_graph: Graph) -> None:
    first, second = (start(client, real_graph, "k") for _ in range(2))
    assert (first.status_code, second.status_code) == (202, 202)
    assert first.json() == second.json() and first.headers["Location"] == second.headers["Location"]
    assert Run.objects.count() == 1
    assert start(client, real_graph, "another").status_code == 202
    assert Run.objects.count() == 2


def test_another_body_with_the_key_is_a_conflict(client: Client, real_graph: Graph) -> None:
    start(client, real_graph, "k")
    other = start(client, real_graph, "k", seed=1)
    assert other.status_code == 409 and other.json()["error"]["field"] == "Idempotency-Key"
    assert Run.objects.count() == 1


def test_a_refused_request_forgets_its_key(client: Client, real_graph: Graph) -> None:
    assert start(client, real_graph, "k", cluster="nothing").status_code == 400
    assert start(client, real_graph, "k").status_code == 202


@pytest.mark.parametrize("key", ["", "x" * 201])
def test_a_key_has_a_length(key: str, client: Client, real_graph: Graph) -> None:
    assert start(client, real_graph, key).status_code == 400
    assert KeptAnswer.objects.count() == 0


@pytest.mark.slow
def test_a_file_that_is_sent_twice_is_one_graph(client: Client, project: Project) -> None:
    def send(content: bytes) -> Any:
        form = {"file": SimpleUploadedFile("a.pb", content)}
        return client.post(f"/api/v1/projects/{project.id}/graphs", form, headers={"Idempotency-Key": "k"})

    first, second = send(graphdef()), send(graphdef())
    assert first.json() == second.json() and Graph.objects.count() == 1
    assert send(graphdef() + b"\n").status_code == 409


def test_after_a_day_a_key_is_new(client: Client, real_graph: Graph) -> None:
    start(client, real_graph, "k")
    KeptAnswer.objects.update(created_at=timezone.now() - timedelta(hours=25))
    assert start(client, real_graph, "k", seed=1).status_code == 202
    KeptAnswer.objects.update(created_at=timezone.now() - timedelta(hours=25))
    assert remove_old_answers() and not remove_old_answers()
    assert KeptAnswer.objects.count() == 0


def test_the_key_of_a_killed_request_is_free_after_a_while(client: Client, real_graph: Graph) -> None:
    start(client, real_graph, "k")
    KeptAnswer.objects.update(status=None)
    KeptAnswer.objects.update(created_at=timezone.now() - timedelta(minutes=11))
    assert start(client, real_graph, "k").status_code == 202


def test_while_the_first_request_works_another_one_is_told_to_come_again(
    client: Client, real_graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(client, real_graph, "k")
    KeptAnswer.objects.update(status=None)
    monkeypatch.setattr(once, "LONGEST_WAIT_SECONDS", 0.0)
    answer = start(client, real_graph, "k")
    assert answer.status_code == 503 and int(answer.headers["Retry-After"]) > 0
    assert Run.objects.count() == 1


def test_two_at_the_same_time_make_one_row(transactional_db: None, project: Project, client: Client) -> None:
    begin, answers = threading.Barrier(4), []

    def send() -> None:
        begin.wait(timeout=30)
        try:
            headers = {"Idempotency-Key": "k"}
            answer = Client().post("/api/v1/projects", {"name": "x"}, content_type="application/json", headers=headers)
            answers.append((answer.status_code, answer.json()["id"]))
        finally:
            connection.close()

    threads = [threading.Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert len(answers) == 4 and len(set(answers)) == 1 and answers[0][0] == 201
    assert Project.objects.filter(name="x").count() == 1
