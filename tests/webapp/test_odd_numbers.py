"""No number that a form is sent is an error of ours."""

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from webapp.graphs.models import Graph

ODD = ("inf", "-inf", "nan", "1e300", "-1e300", "1e-320", "1e999", "-1", "9" * 19, "9" * 400, "9" * 5000, "0x10", "\0")
PROBLEM = {"cluster": "2xK80", "evaluations": "9", "policy": ""}
FORMS: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "/graphs/{graph}/runs/": (
        PROBLEM | {"method": "random", "seed": "0"},
        ("cluster", "evaluations", "seconds", "seed"),
    ),
    "/graphs/{graph}/compare/": (
        PROBLEM | {"methods": ["random"], "seeds": "1"},
        ("cluster", "evaluations", "seconds", "seeds"),
    ),
    "/policies/train/": (
        {"name": "a", "families": "nmt", "clusters": "2xK80", "seconds": "9", "seed": "0"},
        ("seconds", "seed"),
    ),
    "/projects/{project}/graphs/": ({}, ("batch_size", "groups", "input_shapes", "trips", "sizes")),
}


@pytest.mark.parametrize("address", FORMS)
def test_it_is_taken_or_refused_at_its_field(client: Client, ready_graph: Graph, address: str) -> None:
    sent, fields = FORMS[address]
    address = address.format(graph=ready_graph.id, project=ready_graph.project_id)
    for field in fields:
        for odd in ODD:
            shown = f"images={odd}" if field in ("input_shapes", "trips", "sizes") else odd
            file = {} if sent else {"file": SimpleUploadedFile("odd.json", b"{}")}
            answer = client.post(address, sent | file | {field: shown}, headers={"accept": "application/json"})
            if answer.status_code != 302:
                assert (answer.status_code, list(answer.json()["errors"])) == (400, [field]), (field, odd[:9])
            else:
                assert client.get(answer.headers["Location"]).status_code == 200, (field, odd[:9])
