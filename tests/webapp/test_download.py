"""A person takes a run's best placement away: with the real engine, on a small graph."""

import json
from pathlib import Path

import pytest
from django.test import Client

from engine import api
from tests.webapp.downloads import content_of
from tests.webapp.graph_files import node_link
from webapp.graphs.graph_options import GraphOptions
from webapp.graphs.models import Graph
from webapp.graphs.reading import read_graph
from webapp.jobs.shared_texts import SharedTexts
from webapp.pages.explorer import drawings
from webapp.runs.lifecycle import start
from webapp.runs.models import Answer, Run
from webapp.runs.placing import place_run
from webapp.runs.sessions import session_of

NODES = ["a", "b", "sum", "left", "right"]
NAMES = ["placed.pb", "placed.pbtxt", "placement.json", "report.json"]
JSON = {"accept": "application/json"}


@pytest.fixture
def done_run(transactional_db: None, real_graph: Graph) -> Run:
    """A run that has ended well."""
    request = api.RunRequest(api.parse_cluster("2xK80"), "random", api.Budget(50), 3)
    run = start(real_graph, request)
    place_run(run.id)
    run.refresh_from_db()
    assert (run.status, run.error) == (Run.DONE, "")
    return run


def test_every_node_of_the_placed_graph_has_its_device(client: Client, done_run: Run) -> None:
    placement = client.get(f"/runs/{done_run.id}/placement.json").json()
    assert sorted(placement) == sorted(NODES)
    assert set(placement.values()) <= {"/device:GPU:0", "/device:GPU:1"}
    text = content_of(client.get(f"/runs/{done_run.id}/placed.pbtxt")).decode()
    for node in text.split("node {")[1:]:
        name = node.partition('name: "')[2].partition('"')[0]
        assert f'device: "{placement[name]}"' in node
    binary = content_of(client.get(f"/runs/{done_run.id}/placed.pb"))
    assert all(name.encode() in binary for name in NODES)
    assert binary.count(b"/device:GPU:") == len(NODES)


def test_the_report_is_the_designs(client: Client, done_run: Run) -> None:
    report = client.get(f"/runs/{done_run.id}/report.json").json()
    assert set(report) >= {
        *("method", "seed", "step_time_us", "feasible", "peak_bytes", "evaluations", "wall_seconds"),
        *("lower_bound_us", "placement", "status", "step_time_source", "robustness"),
    }
    assert (report["method"], report["seed"], report["evaluations"], report["status"]) == ("random", 3, 50, "done")
    assert report["step_time_us"] == done_run.best_step_time_us
    assert report["step_time_source"] == "simulated, op times estimated from operations and bytes"
    assert report["placement"] == client.get(f"/runs/{done_run.id}/placement.json").json()


def test_downloads_and_the_drawing_ask_the_warm_session(
    client: Client, done_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = (*NAMES, "graph.json")
    unpacked = [content_of(client.get(f"/runs/{done_run.id}/{name}")) for name in names]
    assert set(json.loads(unpacked[-1])["groups"][0]["time_us"]) == {"K80"}
    monkeypatch.setattr(drawings, "_drawings", SharedTexts(1000))
    session_of(done_run)
    monkeypatch.setattr(api.PreparedGraph, "from_bytes", lambda _: pytest.fail("the graph was unpacked again"))
    assert [content_of(client.get(f"/runs/{done_run.id}/{name}")) for name in names] == unpacked


def test_file_names_are_tame_and_nothing_is_shown_in_the_browser(client: Client, done_run: Run) -> None:
    for name in NAMES:
        response = client.get(f"/runs/{done_run.id}/{name}")
        assert response.headers["Content-Disposition"] == f'attachment; filename="my-graph-1-{name}"'
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert "text/html" not in response.headers["Content-Type"]


@pytest.mark.parametrize("status", [Run.RUNNING, Run.CANCELLED, Run.FAILED])
def test_a_run_that_did_not_end_well_gives_its_best_so_far(client: Client, done_run: Run, status: str) -> None:
    Run.objects.update(status=status)
    Answer.objects.update(report=None)
    for name in NAMES:
        assert client.get(f"/runs/{done_run.id}/{name}").status_code == 200
    report = client.get(f"/runs/{done_run.id}/report.json").json()
    assert (report["status"], report["step_time_us"]) == (status, done_run.best_step_time_us)
    assert len(report["peak_bytes"]) == 2


@pytest.mark.parametrize("name", NAMES)
def test_a_run_without_a_feasible_placement_has_nothing_to_give(client: Client, run: Run, name: str) -> None:
    response = client.get(f"/runs/{run.id}/{name}", headers=JSON)
    assert response.status_code == 404
    sentence = "This run has found no placement that fits the devices' memory; there is nothing to download."
    assert response.json() == {"errors": {"": [sentence]}}
    assert sentence.replace("'", "&#x27;") in client.get(f"/runs/{run.id}/{name}").content.decode()


def test_node_link_json_has_no_graphdef(client: Client, run: Run) -> None:
    Answer.objects.create(run=run, step_time_us=1.0, device_of_group=[0, 0, 0])
    for name in ("placed.pb", "placed.pbtxt"):
        response = client.get(f"/runs/{run.id}/{name}", headers=JSON)
        assert response.status_code == 409
        assert "there is no GraphDef to write" in response.json()["errors"][""][0]


def test_nothing_is_left_on_the_disk(client: Client, done_run: Run, data_folder: Path) -> None:
    for name in NAMES:
        client.get(f"/runs/{done_run.id}/{name}")
    assert [path for path in data_folder.rglob("*") if path.is_file()] == [done_run.graph.source_path]


def test_a_file_that_is_gone_is_a_sentence(client: Client, done_run: Run) -> None:
    done_run.graph.source_path.unlink()
    response = client.get(f"/runs/{done_run.id}/placed.pb", headers=JSON)
    assert response.status_code == 404
    assert response.json() == {"errors": {"": ["The graph's file is no longer on this machine."]}}
    assert client.get(f"/runs/{done_run.id}/placement.json").status_code == 200


@pytest.mark.slow
@pytest.mark.usefixtures("transactional_db")
def test_a_graph_that_fits_nowhere_says_by_how_much(graph: Graph) -> None:
    graph.source_path.write_bytes(node_link(output_bytes=1000))
    read_graph(graph.id)
    cluster = {"devices": [{"name": "/device:GPU:0", "kind": "K80", "memory_bytes": 1001}]}
    request = api.RunRequest(api.parse_cluster(json.dumps(cluster)), "random", api.Budget(5), 0)
    run = start(graph, request)
    place_run(run.id)
    run.refresh_from_db()
    assert run.status == Run.FAILED
    assert run.error.startswith("op1 needs at least 1.95 KiB, more than the 0.98 KiB of any device where it may be; ")
    assert run.events.filter(type="started").exists()
    assert not Answer.objects.exists()


def test_the_placed_graph_is_written_with_the_options_it_was_read_with(
    client: Client, done_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading = api.ReadingOptions(batch_size=7)
    Graph.objects.update(options=GraphOptions(reading).to_json())
    asked = []

    def write_placed(*arguments: object) -> None:
        asked.append(arguments[5])
        raise api.GraphError("enough")

    monkeypatch.setattr(api, "write_placed", write_placed)
    assert client.get(f"/runs/{done_run.id}/placed.pb", headers=JSON).status_code == 400
    assert asked == [reading]


def test_the_simplest_placement_is_offered_beside_the_fastest(client: Client, done_run: Run) -> None:
    answer = Answer.objects.get(run=done_run)
    assert isinstance(answer.report, dict) and isinstance(answer.report["simplest"], dict)
    other = [1 - device for device in answer.placement.device_of_group]  # so that the two cannot be mixed up
    Answer.objects.update(report=answer.report | {"simplest": answer.report["simplest"] | {"device_of_group": other}})
    fastest = client.get(f"/runs/{done_run.id}/placement.json").json()
    response = client.get(f"/runs/{done_run.id}/simplest/placement.json")
    assert response.headers["Content-Disposition"] == 'attachment; filename="my-graph-1-simplest-placement.json"'
    assert all(device != fastest[op] for op, device in response.json().items())
    text = content_of(client.get(f"/runs/{done_run.id}/simplest/placed.pbtxt")).decode()
    assert all(f'device: "{device}"' in text for device in set(response.json().values()))
    assert client.get(f"/runs/{done_run.id}/simplest/report.json").status_code == 404


def test_a_run_of_an_older_version_has_one_placement_and_its_page_opens(client: Client, done_run: Run) -> None:
    answer = Answer.objects.get(run=done_run)
    assert isinstance(answer.report, dict)
    new = ("verdict", "simplest", "devices_used", "crossing_edges", "prefer")
    Answer.objects.update(report={key: value for key, value in answer.report.items() if key not in new})
    response = client.get(f"/runs/{done_run.id}/simplest/placement.json", headers=JSON)
    assert response.status_code == 404
    assert client.get(f"/runs/{done_run.id}/placement.json").status_code == 200
    assert client.get(f"/runs/{done_run.id}/").context["result"] is None
    assert client.get(f"/runs/{done_run.id}/run.json").json()["result"] is None


def test_the_page_says_the_verdict_and_offers_the_simplest_first_where_it_may_be_as_fast(
    client: Client, done_run: Run
) -> None:
    answer = Answer.objects.get(run=done_run)
    assert isinstance(answer.report, dict) and isinstance(answer.report["simplest"], dict)
    simplest = answer.report["simplest"] | {"crossing_edges": 0, "within_error": True}
    Answer.objects.update(report=answer.report | {"crossing_edges": 9, "simplest": simplest})
    page = client.get(f"/runs/{done_run.id}/").content.decode()
    verdict = answer.report["verdict"]
    assert isinstance(verdict, dict) and str(verdict["sentence"]) in page
    assert page.index('data-files="simplest"') < page.index('data-files="best"')
    Answer.objects.update(report=answer.report | {"crossing_edges": 9, "simplest": simplest | {"within_error": False}})
    page = client.get(f"/runs/{done_run.id}/").content.decode()
    assert page.index('data-files="simplest"') > page.index('data-files="best"')
