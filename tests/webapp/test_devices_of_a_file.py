"""A person starts runs on a graph whose file fixes ops to devices, or needs a GPU."""

import dataclasses
from typing import Any

import pytest
from django.test import Client

from engine import api
from webapp.graphs.models import Graph, PreparedBlob
from webapp.runs.models import Run

FORM = {"cluster": "2xK80", "method": "random", "evaluations": "100", "seed": "0"}
FIELD = "“Ignore device placements stored in the file”"
KERNEL = "TensorFlow has no CPU kernel for it"


@pytest.fixture
def fixed_graph(real_graph: Graph) -> Graph:
    """Two ops fixed to GPUs of a machine."""
    return changed(real_graph, devices=("/device:GPU:0", "/device:GPU:7", "", "", ""))


@pytest.fixture
def gpu_graph(real_graph: Graph) -> Graph:
    """An op without a kernel for CPUs."""
    return changed(real_graph, gpu_reason=("", "", KERNEL, "", ""))


def changed(graph: Graph, **fields: Any) -> Graph:
    """`graph` as if its file had these fields."""
    row = PreparedBlob.objects.get(graph=graph)
    prepared = api.PreparedGraph.from_bytes(bytes(row.blob))
    prepared = dataclasses.replace(prepared, graph=dataclasses.replace(prepared.graph, **fields))
    PreparedBlob.objects.filter(graph=graph).update(blob=prepared.to_bytes())
    Graph.objects.filter(id=graph.id).update(summary=prepared.summary(), op_count=prepared.graph.op_count)
    graph.refresh_from_db()
    return graph


def refused(client: Client, address: str, **changes: str) -> dict[str, list[str]]:
    """The errors of the form that is sent to `address`, by field; nothing is started."""
    answer = client.post(address, FORM | changes, headers={"accept": "application/json"})
    assert answer.status_code == 400
    assert not Run.objects.exists()
    errors: dict[str, list[str]] = answer.json()["errors"]
    return errors


def test_a_device_that_is_not_in_the_cluster_is_refused_at_once_and_the_field_helps(
    client: Client, fixed_graph: Graph
) -> None:
    sentence = (
        "b: it is fixed to /device:GPU:7, which is not in the cluster; allowed: /device:GPU:0, /device:GPU:1, "
        f"/device:CPU:0, or {FIELD}"
    )
    address = f"/graphs/{fixed_graph.id}/runs/"
    assert refused(client, address, cluster="2xK80+CPU") == {"cluster": [sentence]}
    methods = {"methods": "heft", "seeds": "1", "cluster": "2xK80+CPU"}
    assert refused(client, f"/graphs/{fixed_graph.id}/compare/", **methods) == {"cluster": [sentence]}
    assert client.post(address, FORM | {"drop_devices": "on"}).status_code == 302


def test_a_cluster_without_a_gpu_is_refused_for_ops_that_need_one(client: Client, gpu_graph: Graph) -> None:
    address = f"/graphs/{gpu_graph.id}/runs/"
    assert refused(client, address, cluster="2xCPU") == {
        "cluster": [
            f"sum: it needs a GPU ({KERNEL}), but it may go to none; allowed: a cluster with a GPU; this one has "
            "/device:CPU:0, /device:CPU:1"
        ]
    }
    assert client.post(address, FORM).status_code == 302


def test_the_page_counts_what_is_fixed_by_device_and_names_the_field(client: Client, fixed_graph: Graph) -> None:
    page = client.get(f"/graphs/{fixed_graph.id}/").content.decode()
    part = page.partition('data-part="fixed-ops"')[2].partition("</details>")[0]
    for words in ('data-count="2"', "/device:GPU:0", "/device:GPU:7", FIELD):
        assert words in part
    assert 'data-part="gpu-ops"' not in page


def test_the_page_counts_what_needs_a_gpu_with_reasons(client: Client, gpu_graph: Graph) -> None:
    page = client.get(f"/graphs/{gpu_graph.id}/").content.decode()
    part = page.partition('data-part="gpu-ops"')[2].partition("</details>")[0]
    assert KERNEL in part and "sum" in part
    assert 'data-part="fixed-ops"' not in page


def test_notes_name_the_field_in_place_of_the_option(client: Client, real_graph: Graph) -> None:
    graph = changed(real_graph)
    assert isinstance(graph.summary, dict)
    notes = ["2 ops count as not fixed; --drop-devices ignores all devices of the file."]
    Graph.objects.filter(id=graph.id).update(summary=graph.summary | {"notes": notes})
    page = client.get(f"/graphs/{graph.id}/").content.decode()
    assert f"count as not fixed; {FIELD} ignores all devices" in page
    assert "--drop-devices" not in page
