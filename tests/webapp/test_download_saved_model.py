"""A person who uploaded a SavedModel takes it away placed; or reads why there is a placed GraphDef alone."""

import io
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from engine import api
from engine.graphs.tensorflow.wire import bytes_field
from tests.engine.formats.container_samples import archive, meta_graph, saved_model, signature
from tests.engine.formats.graphdef_samples import attribute, node, type_attribute
from tests.webapp.downloads import content_of
from tests.webapp.graph_files import graphdef
from webapp.graphs.graph_options import GraphOptions
from webapp.graphs.models import Graph
from webapp.graphs.reading import read_graph
from webapp.projects.models import Project
from webapp.runs.lifecycle import start
from webapp.runs.models import Answer, Run
from webapp.runs.placing import place_run

pytestmark = pytest.mark.usefixtures("transactional_db")

JSON = {"accept": "application/json"}
LACKS = (
    "There is no placed SavedModel: the upload lacks the files of variables (variables/variables.index and the files "
    "beside it), so a placed GraphDef can be written, but no placed SavedModel."
)


@pytest.fixture
def graph(project: Project, data_folder: Path) -> Graph:
    """A SavedModel that waits to be read, without variables; in a folder of the archive."""
    graph = Graph.objects.create(project=project, name="model.zip", suffix=".zip")
    graph.source_path.parent.mkdir(exist_ok=True)
    content = saved_model(meta_graph(graphdef(), more=signature("serving_default", "sum:0")))
    graph.source_path.write_bytes(archive(("model/saved_model.pb", content), ("model/assets/words.txt", b"a b c")))
    return graph


def placed(graph: Graph) -> Run:
    """A run on the graph that has ended well."""
    run = start(graph, api.RunRequest(api.parse_cluster("2xK80"), "random", api.Budget(20), 0))
    place_run(run.id)
    run.refresh_from_db()
    assert (run.status, run.error) == (Run.DONE, "")
    return run


def pieces_of(client: Client, path: str) -> bytes:
    """What the address gives, piece by piece."""

    response: Any = client.get(path)
    assert response.streaming
    assert response.headers["Content-Type"] == "application/zip"
    return content_of(response)


def test_a_saved_model_comes_back_placed_with_its_assets(client: Client, graph: Graph, data_folder: Path) -> None:
    read_graph(graph.id)
    graph.refresh_from_db()
    run = placed(graph)
    page = client.get(f"/runs/{run.id}/").content.decode()
    assert 'href="placed.zip"' in page
    assert "lacks the files of variables" not in page
    with zipfile.ZipFile(io.BytesIO(pieces_of(client, f"/runs/{run.id}/placed.zip"))) as archive_:
        assert archive_.namelist() == ["model/saved_model.pb", "model/assets/words.txt"]
        assert archive_.read("model/assets/words.txt") == b"a b c"
        content = archive_.read("model/saved_model.pb")
    assert content.count(b"/device:GPU:") == 3
    assert b"serving_default" in content
    assert [path for path in data_folder.rglob("*.*") if path.is_file()] == [graph.source_path]


def test_without_its_variables_there_is_a_graphdef_alone_and_the_page_says_why(client: Client, graph: Graph) -> None:
    shape = attribute("shape", bytes_field(7, bytes_field(2, b"\x08\x04")))
    handle = node("weights", "VarHandleOp", attributes=type_attribute("dtype", 1) + shape)
    read = node("read", "ReadVariableOp", "weights", attributes=type_attribute("dtype", 1))
    content = saved_model(meta_graph(graphdef() + handle + read, more=signature("serving_default", "read:0")))
    graph.source_path.write_bytes(archive(("saved_model.pb", content)))
    read_graph(graph.id)
    graph.refresh_from_db()
    assert LACKS.partition(": ")[2][1:] in client.get(f"/graphs/{graph.id}/").content.decode()
    run = placed(graph)
    page = client.get(f"/runs/{run.id}/").content.decode()
    assert LACKS in page
    assert f'href="/runs/{run.id}/placed.zip"' not in page
    response = client.get(f"/runs/{run.id}/placed.zip", headers=JSON)
    assert (response.status_code, response.json()) == (409, {"errors": {"": [LACKS]}})
    assert client.get(f"/runs/{run.id}/placed.pb").status_code == 200


def test_what_the_variables_lack_is_known_before_a_run_and_the_page_says_so(client: Client, graph: Graph) -> None:
    shape = attribute("shape", bytes_field(7, bytes_field(2, b"\x08\x04")))
    handle = node("weights", "VarHandleOp", attributes=type_attribute("dtype", 1) + shape)
    read = node("read", "ReadVariableOp", "weights", attributes=type_attribute("dtype", 1))
    content = saved_model(meta_graph(graphdef() + handle + read, more=signature("serving_default", "read:0")))
    variables = (("variables/variables.index", b""), ("variables/variables.data-00000-of-00001", b""))
    graph.source_path.write_bytes(archive(("saved_model.pb", content), *variables))
    read_graph(graph.id)
    sentence = (
        "weights: the SavedModel has no op that fills this VarHandleOp, so only a placed GraphDef can be written; "
        "allowed: a SavedModel that restores its variables and initialises its tables"
    )
    assert sentence in client.get(f"/graphs/{graph.id}/").content.decode()
    graph.refresh_from_db()
    run = placed(graph)
    page = client.get(f"/runs/{run.id}/").content.decode()
    assert sentence in page and 'href="placed.zip"' not in page
    response = client.get(f"/runs/{run.id}/placed.zip", headers=JSON)
    assert response.json() == {"errors": {"": [f"There is no placed SavedModel: {sentence}."]}}
    assert client.get(f"/runs/{run.id}/placed.pb").status_code == 200


def test_with_fetches_in_place_of_a_signature_there_is_a_graphdef_alone(client: Client, graph: Graph) -> None:
    graph.options = GraphOptions(api.ReadingOptions(fetches=("left",))).to_json()
    graph.save()
    read_graph(graph.id)
    graph.refresh_from_db()
    assert graph.op_count == 4
    run = placed(graph)
    reason = f"There is no placed SavedModel: {api.NO_SIGNATURE}."
    assert reason in client.get(f"/runs/{run.id}/").content.decode()
    response = client.get(f"/runs/{run.id}/placed.zip", headers=JSON)
    assert (response.status_code, response.json()) == (409, {"errors": {"": [reason]}})
    assert content_of(client.get(f"/runs/{run.id}/placed.pb")).count(b"/device:GPU:") == 4


def test_of_another_file_there_is_no_saved_model(client: Client, real_graph: Graph) -> None:
    run = Run.objects.create(
        graph=real_graph, cluster={}, method="random", settings={}, evaluations=1, seconds=None, seed=0
    )
    Answer.objects.create(run=run, step_time_us=1.0, device_of_group=[0])
    response = client.get(f"/runs/{run.id}/placed.zip", headers=JSON)
    assert response.status_code == 409
    sentence = "This graph was not uploaded as a SavedModel, so there is none to write; download the placed GraphDef."
    assert response.json() == {"errors": {"": [sentence]}}
