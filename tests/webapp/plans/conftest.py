"""Two readings of one training step, at one and two samples, and searches on them."""

import json
from pathlib import Path

import pytest

from engine import api
from tests.engine.plans.layered_step import step
from tests.webapp.plans.planned import CLUSTER_TEXT
from webapp.graphs.models import Graph, PreparedBlob
from webapp.plans import lifecycle
from webapp.plans.models import PlanSearch
from webapp.projects.models import Project


@pytest.fixture(scope="session")
def reading_blobs(tmp_path_factory: pytest.TempPathFactory) -> dict[int, bytes]:
    """Samples → the step, read once for all tests."""
    folder, blobs = tmp_path_factory.mktemp("readings"), {}
    for samples in (1, 2):
        path = folder / f"{samples}.json"
        path.write_text(json.dumps(step(samples)))
        blobs[samples] = api.prepare(path, ".json", lambda *_: None, api.Limits(), groups=None).to_bytes()
    return blobs


@pytest.fixture
def readings(project: Project, data_folder: Path, reading_blobs: dict[int, bytes]) -> dict[int, Graph]:
    """Samples → the graph, ready."""
    return {samples: _ready(project, samples, blob) for samples, blob in reading_blobs.items()}


def _ready(project: Project, samples: int, blob: bytes) -> Graph:
    prepared = api.PreparedGraph.from_bytes(blob)
    graph = Graph.objects.create(
        project=project,
        name=f"step{samples}.json",
        suffix=".json",
        status=Graph.READY,
        summary=prepared.summary(),
        op_count=prepared.graph.op_count,
        group_count=prepared.grouping.group_count,
    )
    graph.source_path.parent.mkdir(exist_ok=True)
    graph.source_path.write_text(json.dumps(step(samples)))
    PreparedBlob.objects.create(graph=graph, blob=blob, view=json.dumps(prepared.view()))
    return graph


@pytest.fixture
def search(readings: dict[int, Graph]) -> PlanSearch:
    """A queued search on both readings."""
    rules = api.PlanRules(api.Pipeline.ONE_F_ONE_B)
    request = api.PlanRequest(api.parse_cluster(CLUSTER_TEXT), 8, rules, 5.0)
    return lifecycle.start(readings[1], readings[2], request)
