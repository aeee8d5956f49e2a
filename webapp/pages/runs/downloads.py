"""Downloads of a run, finished or not: the placed graph, the placement, the report."""

import asyncio
import json
import re
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.utils.text import slugify
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from engine import api
from webapp.graphs.models import Graph
from webapp.graphs.uploads import limits
from webapp.handler import WAITING, a_slot_to_explain, in_threads
from webapp.runs.models import Answer, Run
from webapp.runs.placing import request_of
from webapp.user_errors import error_answer

PLACED_SAVED_MODEL = "placed.zip"
CHUNK_BYTES = 1024**2
NOTHING_YET = "This run has found no placement that fits the devices' memory; there is nothing to download."
NO_GRAPHDEF = "This graph was uploaded as {}, so there is no GraphDef to write; download the placement as JSON."
"""with the format's words"""
NO_SAVED_MODEL = "This graph was not uploaded as a SavedModel, so there is none to write; download the placed GraphDef."


@in_threads(WAITING)
@require_safe
@never_cache
def download(request: HttpRequest, run_id: uuid.UUID, name: str) -> HttpResponse | StreamingHttpResponse:
    """The file `name`, for the best placement so far."""
    answer = Answer.objects.select_related("run__graph").filter(run__in=Run.objects.filter(id=run_id)).first()
    if answer is None:
        if not Run.objects.filter(id=run_id).exists():
            raise Http404("This run does not exist, or it has been deleted.")
        raise Http404(NOTHING_YET)
    if (refusal := refusal_of(answer.run.graph, name)) is not None:
        return error_answer(request, HTTPStatus.CONFLICT, {"": [refusal]})
    content_type, make = NAMES[name]
    return attachment(answer.run.graph, name, content_type, make(answer, name))


def attachment(
    graph: Graph, name: str, content_type: str, content: bytes | AsyncIterator[bytes]
) -> HttpResponse | StreamingHttpResponse:
    """`content` as a file to store, named after the graph."""
    answer_of = HttpResponse if isinstance(content, bytes) else StreamingHttpResponse
    filename = f"{stem_of(graph)}-{name}"
    return answer_of(
        content,
        content_type=content_type,
        headers={"Content-Disposition": f'attachment; filename="{filename}"'},
    )


def refusal_of(graph: Graph, name: str) -> str | None:
    """Why the graph cannot be written as `name`; None if it can."""
    if name.startswith("placed") and not graph.format.write:
        return NO_GRAPHDEF.format(graph.format.words)
    if name == PLACED_SAVED_MODEL and not graph.is_saved_model:
        return NO_SAVED_MODEL
    return graph.no_saved_model or None if name == PLACED_SAVED_MODEL else None


def stem_of(graph: Graph) -> str:
    """The graph's name in letters, digits and hyphens."""
    return slugify(Path(graph.name).stem)[:60] or "graph"


def _prepared(run: Run) -> api.PreparedGraph:
    return api.PreparedGraph.from_bytes(bytes(run.graph.prepared.blob))


def _device_of_op(answer: Answer, prepared: api.PreparedGraph) -> dict[str, str]:
    return api.placement_to_json(prepared, request_of(answer.run).cluster, answer.placement)


def _placed(answer: Answer, name: str) -> bytes | AsyncIterator[bytes]:
    return placed(answer.run.graph, _device_of_op(answer, _prepared(answer.run)), name)


def placed(graph: Graph, device_of_op: Mapping[str, str], name: str) -> bytes | AsyncIterator[bytes]:
    """The placed graph as the file `name`: a SavedModel in chunks, since it may be large."""
    with _written(graph, device_of_op, name) as path:
        if name == PLACED_SAVED_MODEL:
            return _pieces(path.open("rb"))  # the open file is already deleted from its folder
        return path.read_bytes()


async def _pieces(file: BinaryIO) -> AsyncIterator[bytes]:
    with file:
        while piece := await asyncio.to_thread(file.read, CHUNK_BYTES):
            yield piece


@contextmanager
def _written(graph: Graph, device_of_op: Mapping[str, str], name: str) -> Iterator[Path]:
    """The placed graph as a file, in the format of the name's suffix, until the context ends."""
    if not graph.source_path.exists():
        raise Http404("The graph's file is no longer on this machine.")
    with TemporaryDirectory(dir=settings.DATA_FOLDER, prefix="placed-") as folder:
        destination = Path(folder) / name
        reading = graph.own_options.reading
        api.write_placed(graph.source_path, graph.suffix, device_of_op, destination, limits(), reading)
        yield destination


def _placement(answer: Answer, _name: str) -> bytes:
    return json.dumps(_device_of_op(answer, _prepared(answer.run)), indent=1).encode()


def _report(answer: Answer, _name: str) -> bytes:
    """The engine's report; for a run without one, a report of its best placement so far."""
    run = answer.run
    prepared = _prepared(run)
    placement: dict[str, api.Json] = {**_device_of_op(answer, prepared)}
    report = answer.report
    if not isinstance(report, dict):
        with a_slot_to_explain():
            [report] = api.simulate(prepared, request_of(run).cluster, [placement])
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


NAMES: dict[str, tuple[str, Callable[[Answer, str], bytes | AsyncIterator[bytes]]]] = {
    "placed.pb": ("application/octet-stream", _placed),
    PLACED_SAVED_MODEL: ("application/zip", _placed),
    "placed.pbtxt": ("text/plain; charset=utf-8", _placed),
    "placement.json": ("application/json", _placement),
    "report.json": ("application/json", _report),
}
"""name → (content type, function that makes it)"""


class DownloadName:
    """Path converter: one of `NAMES`."""

    regex = "|".join(map(re.escape, NAMES))

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        if value not in NAMES:
            raise ValueError(value)
        return value
