"""The explanation of a placement over HTTP: of each event that has one; its session is made once and kept warm."""

import gzip
import json
import uuid
from typing import Any

import numpy as np
import pytest
from django.test import Client

from engine import api
from engine.files.tensor_file import unpack_tensors
from tests.webapp.scripted_engine import CLUSTER
from webapp.graphs.models import Graph
from webapp.jobs import deletion
from webapp.jobs.models import Event
from webapp.pages.explorer import views
from webapp.runs import sessions
from webapp.runs.models import Run
from webapp.runs.sessions import WarmSessions


@pytest.fixture
def run(real_graph: Graph) -> Run:
    """A run that has ended, with an event of each type."""
    groups = api.PreparedGraph.from_bytes(bytes(real_graph.prepared.blob)).grouping.group_count
    Graph.objects.filter(id=real_graph.id).update(op_count=9)
    run = Run.objects.create(
        graph=real_graph, cluster=CLUSTER, method="heft", settings={}, evaluations=9, seed=0, status=Run.DONE
    )
    on_first, on_second = [0] * groups, [1] * groups
    events: list[tuple[str, dict[str, Any]]] = [
        ("started", {}),
        ("baseline", {"placement": on_first}),
        ("baseline", {"placement": None}),
        ("episode", {"placement": on_second}),
        ("finished", {"report": {"device_of_group": on_first}}),
    ]
    for seq, (kind, fields) in enumerate(events, start=1):
        Event.objects.create(job_id=run.id, seq=seq, type=kind, data=json.dumps({"type": kind, **fields}))
    return run


def explained(client: Client, run: Run, seq: int) -> dict[str, Any]:
    answer = client.get(f"/runs/{run.id}/explanations/{seq}")
    assert answer.status_code == 200, answer.content
    arrays, texts = unpack_tensors(answer.content, "answer")
    return {**arrays, **texts}


@pytest.mark.parametrize(("seq", "device"), [(2, 0), (4, 1), (5, 0)])
def test_each_event_with_a_placement_is_explained(client: Client, run: Run, seq: int, device: int) -> None:
    found = explained(client, run, seq)
    assert set(found["op.device"].tolist()) == {device}
    assert sum(found["cause_us"]) == pytest.approx(found["step_time_us"], rel=1e-6)


def test_a_browser_gets_explanations_and_ops_compressed(client: Client, run: Run) -> None:
    for address in (f"/runs/{run.id}/explanations/4", f"/graphs/{run.graph_id}/ops.json"):
        plain = client.get(address)
        assert "Content-Encoding" not in plain.headers
        for _ in range(2):  # the second is one that was kept
            packed = client.get(address, headers={"accept-encoding": "br, gzip"})
            assert packed.headers["Content-Encoding"] == "gzip"
            assert gzip.decompress(packed.content) == plain.content


def test_the_costs_of_a_graph_say_where_they_are_from(client: Client, run: Run) -> None:
    ops = client.get(f"/graphs/{run.graph_id}/ops.json").json()
    costs = client.get(f"/graphs/{run.graph_id}/costs.json").json()
    assert costs["groups"] == ops["groups"]
    assert len(costs["source"]) == len(ops["names"])
    assert {costs["sources"][source] for source in costs["source"]} <= {"given", "estimated", "unknown"}
    assert all(0 <= op < len(ops["names"]) for op in costs["cpu_only"])


def test_viewers_of_an_event_share_its_explanation(client: Client, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    first = client.get(f"/runs/{run.id}/explanations/4").content

    def refuse(*_: object) -> None:
        raise AssertionError("simulated again")

    monkeypatch.setattr(api.Session, "explain", refuse)
    assert client.get(f"/runs/{run.id}/explanations/4").content == first
    with pytest.raises(AssertionError, match="simulated again"):
        client.get(f"/runs/{run.id}/explanations/2")


@pytest.mark.parametrize(
    ("seq", "sentence"), [(1, "no placement"), (3, "no placement"), (99, "no such event"), (2**63, "")]
)
def test_other_events_are_404_with_a_sentence(client: Client, run: Run, seq: int, sentence: str) -> None:
    answer = client.get(f"/runs/{run.id}/explanations/{seq}", headers={"accept": "application/json"})
    assert answer.status_code == 404
    assert sentence in answer.content.decode()


def by_hand(client: Client, run: Run, path: str, **fields: object) -> Any:
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in fields.items()}
    return client.post(f"/runs/{run.id}/{path}", texts, headers={"accept": "application/json"})


def groups_of(run: Run) -> int:
    return api.PreparedGraph.from_bytes(bytes(run.graph.prepared.blob)).grouping.group_count


def test_a_placement_by_hand_is_explained_as_that_of_an_event(client: Client, run: Run) -> None:
    groups = groups_of(run)
    answer = by_hand(client, run, "step", placement=[1] * groups)
    assert answer.status_code == 200
    assert answer.content == client.get(f"/runs/{run.id}/explanations/4").content
    assert "no-store" in answer["Cache-Control"]


def test_gains_are_the_step_times_after_each_move(client: Client, run: Run) -> None:
    groups = groups_of(run)
    answer = by_hand(client, run, "gains.json", placement=[0] * groups, groups=[0]).json()
    [times] = answer["step_time_us"]
    assert answer["groups"] == [0] and answer["missing_bytes"] == [[0, 0]]
    assert times[0] == explained(client, run, 2)["step_time_us"]
    moved = by_hand(client, run, "step", placement=[1] + [0] * (groups - 1))
    _, texts = unpack_tensors(moved.content, "answer")
    assert times[1] == texts["step_time_us"]
    back = by_hand(client, run, "gains.json", placement=[0] * groups, groups=[0], to=[1]).json()
    assert back["step_time_us"] == [[None, times[1]]]
    everything = list(range(groups))
    joint = by_hand(client, run, "gains.json", placement=[0] * groups, groups=everything, together=True).json()
    moved = by_hand(client, run, "step", placement=[1] * groups)
    assert joint["step_time_us"] == [[times[0], unpack_tensors(moved.content, "answer")[1]["step_time_us"]]]


def test_without_groups_the_gains_are_those_of_all_or_of_the_largest(
    client: Client, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups = groups_of(run)
    answer = by_hand(client, run, "gains.json", placement=[0] * groups).json()
    assert answer["groups"] == list(range(groups))
    monkeypatch.setattr(views, "MOST_WORK", 1)
    assert len(by_hand(client, run, "gains.json", placement=[0] * groups).json()["groups"]) == 1


@pytest.mark.parametrize(
    "placement",
    ["", "no", "{}", "[0.5]", "[true]", "[[0]]", "[9]", "[-1]", "[4294967296]", "[" * 100_000, "[" + "9" * 5000 + "]"],
)
def test_what_is_no_placement_is_400_with_a_sentence(client: Client, run: Run, placement: str) -> None:
    for path in ("step", "gains.json"):
        answer = by_hand(client, run, path, placement=placement, groups=[0])
        assert answer.status_code == 400
        assert "placement: " in answer.content.decode()


@pytest.mark.parametrize("groups", ["", "[99]", "[-1]", '["0"]'])
def test_what_is_no_group_is_400_with_a_sentence(client: Client, run: Run, groups: str) -> None:
    answer = by_hand(client, run, "gains.json", placement=[0] * groups_of(run), groups=groups)
    assert answer.status_code == 400
    assert "groups: " in answer.content.decode()


def test_more_gains_than_a_page_may_ask_for_are_refused(
    client: Client, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "MOST_WORK", 1)
    groups = groups_of(run)
    answer = by_hand(client, run, "gains.json", placement=[0] * groups, groups=[0, 0])
    assert answer.status_code == 413
    assert "2 groups at once; allowed: 1 of this graph" in answer.content.decode()


def test_the_ops_have_names_types_and_groups_in_the_order_of_the_explanation(client: Client, run: Run) -> None:
    answer = client.get(f"/graphs/{run.graph_id}/ops.json")
    assert answer.status_code == 200
    assert "immutable" in answer["Cache-Control"]
    found = answer.json()
    prepared = api.PreparedGraph.from_bytes(bytes(run.graph.prepared.blob))
    assert found["names"] == list(prepared.graph.op_names)
    assert found["types"] == list(prepared.graph.op_types)
    assert found["groups"] == prepared.grouping.group_of_op.tolist()
    assert len(found["names"]) == len(explained(client, run, 2)["op.device"])


def test_a_graph_that_is_too_large_is_refused_in_a_sentence(
    client: Client, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "MOST_OPS", 8)
    for path in (f"/runs/{run.id}/explanations/2", f"/graphs/{run.graph_id}/ops.json"):
        answer = client.get(path, headers={"accept": "application/json"})
        assert answer.status_code == 413
        assert "9 ops, too many to explain its placements here; allowed: at most 8 ops" in answer.content.decode()


def test_what_is_gone_is_404(client: Client, run: Run) -> None:
    assert client.get(f"/runs/{uuid.uuid4()}/explanations/2").status_code == 404
    assert client.get(f"/graphs/{uuid.uuid4()}/ops.json").status_code == 404


def test_a_session_is_made_once_and_again_after_a_failure(run: Run) -> None:
    prepared = api.PreparedGraph.from_bytes(bytes(run.graph.prepared.blob))
    session = api.Session(prepared, api.parse_cluster("2xK80"))
    made: list[str] = []

    def make(name: str) -> api.Session:
        made.append(name)
        if name == "broken":
            raise api.CostError("no time")
        return session

    warm: WarmSessions[api.Session] = WarmSessions(2 * session.op_count)
    assert warm.get("a", lambda: make("a")) is session
    assert warm.get("a", lambda: make("a")) is session
    for _ in range(2):
        with pytest.raises(api.CostError):
            warm.get("broken", lambda: make("broken"))
    warm.get("b", lambda: make("b"))
    warm.get("a", lambda: make("a"))
    warm.get("c", lambda: make("c"))  # "b" was used longest ago, and has to go
    warm.get("a", lambda: make("a"))
    warm.get("b", lambda: make("b"))
    assert made == ["a", "broken", "broken", "b", "c", "b"]


def test_a_graph_of_an_earlier_version_is_laid_out_as_today(client: Client, run: Run) -> None:
    drawn = client.get(f"/graphs/{run.graph_id}/drawing.json").json()
    assert drawn["strips"] and drawn["across"] > 0 and drawn["down"] > 0
    names = [group["name"] for group in drawn["groups"]]
    prepared = api.PreparedGraph.from_bytes(bytes(run.graph.prepared.blob))
    assert names == list(prepared.grouping.names)


OTHER_KINDS: dict[str, api.Json] = {
    "devices": [
        {"name": "/device:GPU:0", "kind": "H100", "memory_bytes": 1024**3},
        {"name": "/device:CPU:0", "kind": "Slow", "memory_bytes": 1024**3},
    ],
    "kinds": {
        "Slow": {
            "class": "CPU",
            "peak_gflops": {"float32": 1},
            "memory_bandwidth_bytes_per_us": 1,
            "memory_bytes": 1024**3,
        }
    },
}


@pytest.mark.parametrize("name", ["graph.json", "drawing.json"])
def test_a_run_shows_times_on_its_own_devices(client: Client, run: Run, name: str) -> None:
    prepared = api.PreparedGraph.from_bytes(bytes(run.graph.prepared.blob))
    Run.objects.filter(id=run.id).update(cluster=OTHER_KINDS)
    shown = client.get(f"/runs/{run.id}/{name}").json()
    devices = api.parse_cluster(json.dumps(OTHER_KINDS)).devices
    times = np.nan_to_num(prepared.costs.time_on_devices(devices))
    expected = [np.bincount(prepared.grouping.group_of_op, of_ops) for of_ops in times]
    found = np.array([[group["time_us"][kind] for group in shown["groups"]] for kind in ("H100", "Slow")])
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert found[1].sum() > 1000 * found[0].sum() > 0
    assert {"H100", "Slow"} == set(shown["groups"][0]["time_us"])
    scope = client.get(f"/runs/{run.id}/scope.json?group=0").json()
    of_items = [sum(item["time_us"][kind] for item in scope["groups"]) for kind in ("H100", "Slow")]
    np.testing.assert_allclose(of_items, found[:, 0], rtol=1e-12)


def test_a_device_of_an_own_kind_has_the_class_that_the_cluster_gives(client: Client, run: Run) -> None:
    Run.objects.filter(id=run.id).update(cluster=OTHER_KINDS)
    devices = client.get(f"/runs/{run.id}/run.json").json()["devices"]
    assert [(device["kind"], device["class"]) for device in devices] == [("H100", "GPU"), ("Slow", "CPU")]


@pytest.mark.parametrize("of_run", [False, True])
@pytest.mark.parametrize("name", ["drawing.json", "scope.json?group=0", "blocks/0", "blocks/ops"])
def test_a_drawing_is_gone_with_its_graph_and_refused_for_a_large_one(
    client: Client, run: Run, name: str, of_run: bool
) -> None:
    address = f"/runs/{run.id}/{name}" if of_run else f"/graphs/{run.graph_id}/{name}"
    assert client.get(address).status_code == 200
    Graph.objects.filter(id=run.graph_id).update(op_count=sessions.MOST_OPS + 1)
    assert client.get(address).status_code == 413
    deletion.delete(run.graph)
    assert client.get(address).status_code == 404


@pytest.mark.parametrize("of", ["ops", "groups"])
def test_all_ops_or_groups_are_drawn_for_everyone_once(
    client: Client, run: Run, of: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"/graphs/{run.graph_id}/flat/{of}"
    answer = client.get(address)
    arrays, texts = unpack_tensors(answer.content, "answer")
    prepared = api.PreparedGraph.from_bytes(bytes(run.graph.prepared.blob))
    count = prepared.graph.op_count if of == "ops" else prepared.grouping.group_count
    assert (texts["of"], arrays["node.x"].shape) == (of, (count,))
    monkeypatch.setattr(api, "flat_view_to_bytes", None)
    assert client.get(address).content == answer.content
    assert client.get(f"/graphs/{run.graph_id}/flat/edges").status_code == 404


def test_a_graph_that_is_too_large_is_not_drawn_op_by_op(client: Client, run: Run) -> None:
    Graph.objects.filter(id=run.graph_id).update(op_count=api.MOST_DRAWN + 1)
    answer = client.get(f"/graphs/{run.graph_id}/flat/ops", headers={"accept": "application/json"})
    assert answer.status_code == 413
    assert "too many to draw one by one" in answer.content.decode()


def test_a_group_is_opened(client: Client, run: Run) -> None:
    ops = client.get(f"/graphs/{run.graph_id}/ops.json").json()
    scope = client.get(f"/graphs/{run.graph_id}/scope.json?group=0").json()
    assert scope["ops"] == [op for op, group in enumerate(ops["groups"]) if group == 0]
    assert len(scope["groups"]) == len(scope["opens"]) == len(set(scope["item_of_op"]))
    for query in ("", "?group=-1", "?group=x", "?group=99999", "?group=0&scope=nowhere", "?group=²"):
        assert client.get(f"/graphs/{run.graph_id}/scope.json{query}").status_code == 400
