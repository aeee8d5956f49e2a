"""A person who uploaded an ONNX model sees its dimensions, and takes the placed model and its stages away."""

import io
import zipfile
from http import HTTPStatus
from pathlib import Path

import onnx
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from engine import api
from tests.engine.onnx import models
from tests.webapp.downloads import content_of
from tests.webapp.graph_files import graphdef
from webapp.graphs.graph_options import GraphOptions
from webapp.graphs.models import Graph
from webapp.graphs.reading import read_graph
from webapp.projects.models import Project
from webapp.runs.lifecycle import start
from webapp.runs.models import Run
from webapp.runs.placing import place_run

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("transactional_db")]
JSON = {"accept": "application/json"}


def stored(project: Project, name: str, content: bytes, options: api.ReadingOptions | None = None) -> Graph:
    """A graph that has been read."""
    suffix = f".{name.partition('.')[2]}"
    graph = Graph.objects.create(project=project, name=name, suffix=suffix)
    graph.options = GraphOptions(reading=options or api.ReadingOptions()).to_json()
    graph.save()
    graph.source_path.parent.mkdir(exist_ok=True)
    graph.source_path.write_bytes(content)
    read_graph(graph.id)
    graph.refresh_from_db()
    assert (graph.status, graph.error) == (Graph.READY, "")
    return graph


def placed(graph: Graph) -> Run:
    """A run on the graph that has ended well."""
    run = start(graph, api.RunRequest(api.parse_cluster("2xRTX4090+cpu"), "random", api.Budget(20), 0))
    place_run(run.id)
    run.refresh_from_db()
    assert (run.status, run.error) == (Run.DONE, "")
    return run


def test_a_model_comes_back_placed_and_in_stages(client: Client, project: Project, data_folder: Path) -> None:
    content = models.bert(1, 16, 2, 30, seed=0).SerializeToString()
    options = api.ReadingOptions(batch_size=2, sizes={"sequence": 5})
    graph = stored(project, "bert.onnx", content, options)
    page = client.get(f"/graphs/{graph.id}/").content.decode()
    assert "sequence" in page and "ONNX model" in page
    run = placed(graph)
    page = client.get(f"/runs/{run.id}/").content.decode()
    assert 'href="placed.onnx"' in page and 'href="placed-stages.zip"' in page
    assert 'href="placed.pb"' not in page and "session.layer_assignment_settings" in page
    model = onnx.load_from_string(content_of(client.get(f"/runs/{run.id}/placed.onnx")))
    assert {each.key for each in model.metadata_props} == {"placeto.layer_assignment_settings"}
    assert all(node.metadata_props for node in model.graph.node if node.op_type != "Constant")
    with zipfile.ZipFile(io.BytesIO(content_of(client.get(f"/runs/{run.id}/placed-stages.zip")))) as archive:
        assert {"model.onnx", "stage_0.onnx", "run_stages.py", "check_placement.py"} <= set(archive.namelist())
    for name in ("placed.pb", "placed.pbtxt", "placed.zip"):
        assert client.get(f"/runs/{run.id}/{name}", headers=JSON).status_code == HTTPStatus.CONFLICT
    assert [path for path in data_folder.rglob("*.*") if path.is_file()] == [graph.source_path]


def test_other_graphs_have_no_onnx_model(client: Client, project: Project) -> None:
    run = placed(stored(project, "model.pb", graphdef()))
    response = client.get(f"/runs/{run.id}/placed.onnx", headers=JSON)
    assert response.status_code == HTTPStatus.CONFLICT
    assert "was not uploaded as an ONNX model" in response.content.decode()
    assert 'href="placed.onnx"' not in client.get(f"/runs/{run.id}/").content.decode()


def test_an_upload_asks_for_open_lengths(client: Client, project: Project) -> None:
    file = SimpleUploadedFile("bert.onnx", models.bert(1, 16, 2, 30).SerializeToString())
    response = client.post(f"/projects/{project.id}/graphs/", {"file": file}, follow=True)
    assert response.status_code == HTTPStatus.OK
    graph = Graph.objects.get()
    assert [each.dimensions for each in graph.asked] == [("batch", "sequence")] * 2
    page = response.content.decode()
    assert page.count("Length of batch") == page.count("Length of sequence") == 1 and "batch × sequence" in page
    wrong = client.post(f"/graphs/{graph.id}/begin/", {"dimension_0": "0", "dimension_1": "5"}, headers=JSON)
    assert list(wrong.json()["errors"]) == ["dimension_0"]
    assert (
        client.post(f"/graphs/{graph.id}/begin/", {"dimension_0": "2", "dimension_1": "5"}).status_code
        == HTTPStatus.FOUND
    )
    graph.refresh_from_db()
    assert graph.own_options.reading.sizes == {"batch": 2, "sequence": 5}
