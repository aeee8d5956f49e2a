"""Each operation of the OpenAPI document answers as it says, when it does what it is for and when it cannot."""

import uuid
from dataclasses import dataclass, field
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from tests.engine.policies.small_policies import small_policy
from tests.webapp.api.answers import faults_of, operations_of
from tests.webapp.api.cast import Cast
from tests.webapp.graph_files import graphdef
from tests.webapp.run_rows import searched
from webapp.api.server import server
from webapp.graphs.models import Graph
from webapp.plans.models import PlanReport

ENDED, WAITING = "ended", "waiting"


@dataclass(frozen=True, slots=True)
class Call:
    """How an operation is asked for what it is for."""

    json: dict[str, Any] | None = None
    form: dict[str, Any] | None = None
    content: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    query: str = ""
    more: dict[str, str] = field(default_factory=dict)
    """placeholder of the address → value"""
    rows: str = ENDED
    status: int = 200


JOBS = ("graph", "run", "comparison", "search", "policy")
STREAMS = [f"stream_of_{kind}" for kind in JOBS]
SHARED = ("graph", "run", "comparison", "search")
WITH_ACCOUNTS = ["list_members", "set_member", "delete_member", "open_project"]
"""`test_tokens.py` has their tests"""
OF_A_STEP = {"start_search": {"cluster": "2xK80", "batch": 8}, "open_replica": {"plan": "0", "replica": 0}}
"""operations that need a training step → body"""
NAMED = Call(json={"name": "other"})
GONE = Call(status=204)
CANCELLED = Call(rows=WAITING, status=202)
DEVICES = {"cluster": "2xK80"}


def file(name: str, content: bytes) -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content)


def calls(groups: int, graph_id: uuid.UUID, cpu_run_id: uuid.UUID) -> dict[str, Call]:
    """Name → call."""
    placement = {"placement": [0] * groups}
    lists = ("projects", "graphs", "runs", "comparisons", "searches", "policies", "measurements", "profiles")
    shown = ("project", "graph", "run", "comparison", "search", "policy", "measurement", "profile", "upload")
    return {
        **{f"list_{kind}": Call(query="?limit=1") for kind in lists},
        **{f"show_{kind}": Call() for kind in shown},
        **{f"change_{kind}": NAMED for kind in ("project", "graph", "run", "comparison", "search", "policy")},
        **{f"delete_{kind}": GONE for kind in shown if kind != "profile"},
        **{f"cancel_{kind}": CANCELLED for kind in ("run", "comparison", "search", "training")},
        **{f"cancel_{kind}": CANCELLED for kind in ("measurement", "profile")},
        **{f"events_of_{kind}": Call(query="?limit=1") for kind in JOBS},
        **{f"list_links_of_{kind}": Call() for kind in SHARED},
        **{f"share_{kind}": Call(json={"days": "7"}, status=201) for kind in SHARED},
        "revoke_link": GONE,
        "list_hooks": Call(),
        "add_hook": Call(json={"name": "new", "target": "https://hooks.example.org/y"}, status=201),
        "show_hook": Call(),
        "change_hook": Call(json={"name": "other", "is_active": False}),
        "delete_hook": GONE,
        "renew_secret": Call(),
        "test_hook": Call(status=202),
        "list_deliveries": Call(),
        "send_again": Call(status=202),
        "publish_policy": Call(json={"published": True}, status=409),
        "list_runs_of_project": Call(query="?limit=1"),
        "page_of_run": Call(),
        "me": Call(),
        "version": Call(),
        "methods": Call(),
        "samples": Call(),
        "devices": Call(query="?text=2xK80"),
        "make_project": Call(json={"name": "new"}, status=201),
        "upload_graph": Call(form={"file": file("a.pb", graphdef()), "groups": "3"}, status=202),
        "build_sample": Call(json={"sample": "tiny_cnn"}, status=202),
        "begin_graph": Call(json={"batch_size": 4, "lengths": {"length_0_2": 9}}, rows=WAITING, status=202),
        "read_graph_again": Call(json={"groups": "2"}, status=202),
        "view_graph": Call(),
        "list_ops": Call(),
        "begin_upload": Call(json={"name": "a.pb", "bytes": 9}, status=201),
        "send_part": Call(content=b"123", headers={"Upload-Offset": "0"}, rows=WAITING),
        "make_graph_of_upload": Call(json={}, status=202),
        "start_run": Call(json={**DEVICES, "method": "heft"}, status=202),
        "placement_of_run": Call(),
        "report_of_run": Call(),
        "file_of_run": Call(more={"name": "placement.json"}),
        "evaluate_placement": Call(json=placement),
        "timeline_of_placement": Call(json=placement),
        "explanation_of_event": Call(more={"seq": "1"}),
        "gains_of_run": Call(query="?groups=0&groups=1"),
        "start_comparison": Call(json={**DEVICES, "methods": ["heft", "random"], "seeds": 1}, status=202),
        "file_of_comparison": Call(more={"name": "comparison.md"}),
        "report_of_search": Call(),
        "upload_policy": Call(form={"file": file("p.safetensors", small_policy().to_bytes())}, status=201),
        "train_policy": Call(json={"name": "new", "graphs": [str(graph_id)], "clusters": "2xK80"}, status=202),
        "file_of_policy": Call(),
        "start_measurement": Call(json={"consent": True, "runs": [str(cpu_run_id)]}, status=202),
        "report_of_measurement": Call(),
        "start_profile": Call(json={"consent": True}, status=202),
        "file_of_profile": Call(),
        "use_profile": Call(status=202),
    }


NAMES = sorted(calls(0, uuid.uuid4(), uuid.uuid4()))


def test_every_operation_is_called(document: dict[str, Any]) -> None:
    assert sorted([*NAMES, *STREAMS, *OF_A_STEP, *WITH_ACCOUNTS]) == sorted(operations_of(document))


@pytest.mark.parametrize("name", NAMES)
def test_an_operation_answers_as_documented(name: str, client: Client, cast: Cast, document: dict[str, Any]) -> None:
    call = calls(cast.groups, cast.ended["graph_id"], cast.cpu_run_id)[name]
    method, address, operation = operations_of(document)[name]
    ids = cast.ended if call.rows == ENDED else cast.waiting
    response = asked(client, method, address.format(**ids, **call.more) + call.query, call)
    assert response.status_code == call.status, response.content
    assert list(faults_of(document, operation, response)) == []
    if "Location" in response.headers:
        shown = client.get(response.headers["Location"])
        assert shown.status_code == 200 and shown.json()["id"] == response.json()["id"]


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_ends_with_its_job(
    name: str, client: Client, transactional_db: None, cast: Cast, document: dict[str, Any]
) -> None:
    _, address, operation = operations_of(document)[name]
    Graph.objects.filter(id=cast.ended["graph_id"]).update(status=Graph.READY)
    response: Any = client.get(address.format(**cast.ended))
    assert response.status_code == 200
    assert "text/event-stream" in operation["responses"]["200"]["content"]
    assert response.headers["Content-Type"] == "text/event-stream"
    text = async_to_sync(whole)(response).decode()
    assert text.startswith("retry: ") and text.count("event: status") == 1


async def whole(response: Any) -> bytes:
    """All that a stream sends."""
    return b"".join([piece async for piece in response.streaming_content])


@pytest.mark.parametrize("name", OF_A_STEP)
def test_a_search_for_plans_is_as_documented(
    name: str, client: Client, readings: dict[int, Graph], document: dict[str, Any]
) -> None:
    search = searched(readings[1], is_done=True)
    report: Any = PlanReport.objects.get(search=search).content
    report["plans"][0]["replicas"][0]["device_of_group"] = [0] * (readings[1].group_count or 0)
    PlanReport.objects.update(content=report)
    method, address, operation = operations_of(document)[name]
    ids = {"graph_id": search.graph_id, "search_id": search.id}
    response = asked(client, method, address.format(**ids), Call(json=OF_A_STEP[name]))
    assert response.status_code == 202, response.content
    assert list(faults_of(document, operation, response)) == []
    assert client.get(response.headers["Location"]).json()["id"] == response.json()["id"]


@pytest.mark.parametrize("name", NAMES)
def test_what_is_not_there_is_a_documented_404(name: str, client: Client, cast: Cast, document: dict[str, Any]) -> None:
    method, address, operation = operations_of(document)[name]
    if "_id}" not in address:
        pytest.skip("it names no row")
    call = calls(cast.groups, cast.ended["graph_id"], cast.cpu_run_id)[name]
    ids = {key: uuid.uuid4() for key in cast.ended}
    response = asked(client, method, address.format(**ids, **call.more) + call.query, call)
    assert response.status_code == 404, response.content
    assert list(faults_of(document, operation, response)) == []
    assert response.json()["error"]["code"] == "not_found"


def asked(client: Client, method: str, address: str, call: Call) -> Any:
    """The answer to a call; a stream's is read to its end."""
    if call.form is not None:
        return client.post(address, call.form, headers=call.headers)
    options: dict[str, Any] = {"headers": call.headers}
    if call.json is not None:
        options |= {"data": call.json, "content_type": "application/json"}
    elif call.content:
        options |= {"data": call.content, "content_type": "application/octet-stream"}
    return getattr(client, method.lower())(address, **options)


def test_the_document_is_of_openapi_3_1(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1")
    assert document["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    assert server.urls_namespace == "api"
