"""Downloads of a run, finished or not: the placed graph, the placement, the report."""

import json
import re
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.utils.text import slugify
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from engine import api
from webapp.capacity import BusyError, a_slot_to_explain
from webapp.graphs.models import Graph
from webapp.graphs.uploads import limits
from webapp.http.handler import WAITING, in_threads
from webapp.http.large_answers import temporary_answer
from webapp.http.user_errors import error_answer
from webapp.runs.models import Answer, Run
from webapp.runs.sessions import prepared_and_cluster_of

PLACED_SAVED_MODEL = "placed.zip"
PLACED_GRAPHDEF = "placed.pb"
PLACED_ONNX = "placed.onnx"
PLACED_STAGES = "placed-stages.zip"
DEVICE_MAP = "model.device_map.json"
MOST_WRITINGS = 2
"""placed graphs that are written at a time, each by a process of its own"""
LONGEST_WAIT_SECONDS = 60.0
WAIT = "Too many placed graphs are being written. Try again in a few seconds."
NOTHING_YET = "This run has found no placement that fits the devices' memory; there is nothing to download."
NO_SIMPLEST = "This run has no simplest placement: it still works, it failed, or an older version made it."
NO_GRAPHDEF = "This graph was uploaded as {}, so there is no GraphDef to write; download the placement as JSON."
"""with the format's words"""
NO_ONNX = "This graph was not uploaded as an ONNX model, so there is none to write; download the placement as JSON."
NO_MODULES = "This graph is no recording of a PyTorch model, so it has no modules to map to devices."
NO_SAVED_MODEL = "This graph was not uploaded as a SavedModel, so there is none to write; download the placed GraphDef."
_writings = threading.BoundedSemaphore(MOST_WRITINGS)


@in_threads(WAITING)
@require_safe
@never_cache
def download(request: HttpRequest, run_id: uuid.UUID, name: str) -> HttpResponse | StreamingHttpResponse:
    """The file `name`, for the best placement so far."""
    return _download(request, run_id, name, simplest=False)


@in_threads(WAITING)
@require_safe
@never_cache
def download_simplest(request: HttpRequest, run_id: uuid.UUID, name: str) -> HttpResponse | StreamingHttpResponse:
    """The file `name`, for the simplest placement near the run's answer; its report is that of the run."""
    return _download(request, run_id, name, simplest=True)


def _download(
    request: HttpRequest, run_id: uuid.UUID, name: str, *, simplest: bool
) -> HttpResponse | StreamingHttpResponse:
    answer = Answer.objects.select_related("run__graph").filter(run__in=Run.objects.filter(id=run_id)).first()
    if answer is None:
        if not Run.objects.filter(id=run_id).exists():
            raise Http404("This run does not exist, or it has been deleted.")
        raise Http404(NOTHING_YET)
    if (refusal := refusal_of(answer.run.graph, name)) is not None:
        return error_answer(request, HTTPStatus.CONFLICT, {"": [refusal]})
    content_type, make = NAMES[name]
    if not simplest:
        return attachment(answer.run.graph, name, content_type, make(answer, answer.placement, name))
    if answer.simplest is None or name == REPORT:
        raise Http404(NO_SIMPLEST)
    return attachment(answer.run.graph, f"simplest-{name}", content_type, make(answer, answer.simplest, name))


def attachment(
    graph: Graph, name: str, content_type: str, content: bytes | BinaryIO
) -> HttpResponse | StreamingHttpResponse:
    """`content` as a file to store, named after the graph; a temporary file in pieces. Raises BusyError."""
    headers = {"Content-Disposition": f'attachment; filename="{stem_of(graph)}-{name}"'}
    if isinstance(content, bytes):
        return HttpResponse(content, content_type=content_type, headers=headers)
    return temporary_answer(content, content_type=content_type, headers=headers)


def refusal_of(graph: Graph, name: str) -> str | None:
    """Why the graph cannot be written as `name`; None if it can."""
    if (row := api.module_file_of(name)) is not None:
        if row.is_of_onnx:
            return None if graph.is_onnx else NO_ONNX
        return None if graph.is_recording else NO_MODULES
    if name in (PLACED_ONNX, PLACED_STAGES):
        return None if graph.is_onnx else NO_ONNX
    if name.startswith("placed") and not graph.format.is_tensorflow:
        return NO_GRAPHDEF.format(graph.format.words)
    if name == PLACED_SAVED_MODEL and not graph.is_saved_model:
        return NO_SAVED_MODEL
    return graph.no_saved_model or None if name == PLACED_SAVED_MODEL else None


@dataclass(frozen=True, slots=True)
class Loading:
    """How a placed file of a run is loaded, for its page."""

    name: str
    """of the file"""
    suffix: str
    lines: str
    """of Python"""


def loading_of(run: Run, *, simplest: bool) -> Loading | None:
    """How the placed SavedModel is loaded, or the GraphDef, ONNX model or device map in its place; None without any."""
    graph = run.graph
    loaded = (PLACED_SAVED_MODEL, PLACED_GRAPHDEF, PLACED_ONNX, DEVICE_MAP)
    name = next((each for each in loaded if refusal_of(graph, each) is None), None)
    if name is None:
        return None
    file = f"{stem_of(graph)}-{'simplest-' if simplest else ''}{name}"
    devices = [device.name for device in run.cluster_value.devices]
    lines = api.loading_lines(file, devices, offload=graph.own_options.reading.offload)
    return Loading(file, f".{name.partition('.')[2]}", lines)


def stem_of(graph: Graph) -> str:
    """The graph's name in letters, digits and hyphens."""
    suffix = api.suffix_of(graph.name)
    return slugify(graph.name[: len(graph.name) - len(suffix)])[:60] or "graph"


def _device_of_op(answer: Answer, placement: api.SplitPlacement) -> dict[str, str]:
    return api.placement_to_json(*prepared_and_cluster_of(answer.run), placement)


def _placed(answer: Answer, placement: api.SplitPlacement, name: str) -> BinaryIO:
    return placed(answer.run.graph, _device_of_op(answer, placement), name)


def placed(graph: Graph, device_of_op: Mapping[str, str], name: str) -> BinaryIO:
    """The placed graph in the format of `name`: an open file, which is already deleted from its folder."""
    with _written(graph, device_of_op, name) as path:
        return path.open("rb")


@contextmanager
def _written(graph: Graph, device_of_op: Mapping[str, str], name: str) -> Iterator[Path]:
    """The placed graph as a file, in the format of the name's suffix, until the context ends."""
    if not graph.source_path.exists():
        raise Http404("The graph's file is no longer on this machine.")
    if not _writings.acquire(timeout=LONGEST_WAIT_SECONDS):
        raise BusyError(WAIT)
    try:
        with TemporaryDirectory() as folder:
            destination = Path(folder) / name
            reading = graph.own_options.reading
            api.write_placed(graph.source_path, graph.suffix, device_of_op, destination, limits(), reading)
            yield destination
    finally:
        _writings.release()


def _placement(answer: Answer, placement: api.SplitPlacement, _name: str) -> bytes:
    return json.dumps(_device_of_op(answer, placement), indent=1).encode()


def _module_file(answer: Answer, placement: api.SplitPlacement, name: str) -> bytes:
    return module_file(*prepared_and_cluster_of(answer.run), _device_of_op(answer, placement), name)


def module_file(prepared: api.PreparedGraph, cluster: api.Cluster, device_of_op: Mapping[str, str], name: str) -> bytes:
    """The file `name`, one of `MODULE_FILES`, of a placement. Raises PlacementError where the placement has none."""
    row = api.module_file_of(name)
    assert row is not None
    return api.module_file_text(row, prepared, cluster, device_of_op).encode()


def _report(answer: Answer, best: api.SplitPlacement, _name: str) -> bytes:
    """The engine's report; for a run without one, a report of its best placement so far."""
    run = answer.run
    prepared, cluster = prepared_and_cluster_of(run)
    placement: dict[str, api.Json] = {**api.placement_to_json(prepared, cluster, best)}
    report = answer.report
    if not isinstance(report, dict):
        with a_slot_to_explain():
            [report] = api.simulate(prepared, cluster, [placement])
        assert isinstance(report, dict)
        report |= {
            "method": run.method,
            "seed": run.seed,
            "settings": run.settings,
            "feasible": True,
            "evaluations": run.evaluations_used,
            "policy": run.policy_name or None,
        }
    step_time_source = api.simulated_words(prepared.op_time_sources())
    report = report | {"status": run.status, "step_time_source": step_time_source, "placement": placement}
    if run.policy_digest:
        report["policy_digest"] = run.policy_digest
    return json.dumps(report, indent=1).encode()


REPORT = "report.json"
NAMES: dict[str, tuple[str, Callable[[Answer, api.SplitPlacement, str], bytes | BinaryIO]]] = {
    PLACED_GRAPHDEF: ("application/octet-stream", _placed),
    PLACED_SAVED_MODEL: ("application/zip", _placed),
    PLACED_ONNX: ("application/octet-stream", _placed),
    PLACED_STAGES: ("application/zip", _placed),
    "placed.pbtxt": ("text/plain; charset=utf-8", _placed),
    "placement.json": ("application/json", _placement),
    **{f"model{suffix}": ("application/json", _module_file) for suffix in api.MODULE_FILES},
    REPORT: ("application/json", _report),
}
"""name → (content type, function that makes it)"""


def module_files_of(graph: Graph) -> list[tuple[str, str]]:
    """(name, words) of the files of `MODULE_FILES` that a placement of `graph` has."""
    files = [(f"model{suffix}", row.words) for suffix, row in api.MODULE_FILES.items()]
    return [(name, words) for name, words in files if refusal_of(graph, name) is None]


class DownloadName:
    """Path converter: one of `NAMES`."""

    regex = "|".join(map(re.escape, NAMES))

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        if value not in NAMES:
            raise ValueError(value)
        return value
