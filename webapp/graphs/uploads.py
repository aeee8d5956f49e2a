"""From an uploaded file, or a sample's name, to a queued graph."""

from functools import partial
from pathlib import PurePath

from django.conf import settings
from django.db import transaction
from django.http import Http404

from engine import api
from webapp.graphs.incoming import IncomingFile
from webapp.graphs.models import Graph
from webapp.jobs.publishing import publish
from webapp.projects.models import Project


def limits() -> api.Limits:
    """What reading one file may take."""
    return api.Limits(file_bytes=settings.UPLOAD_LIMIT_BYTES)


def accept_upload(project: Project, file: IncomingFile) -> Graph:
    """Check `file`, keep it, and queue its reading. Raises GraphError; then nothing is kept."""
    name = file.name or "graph"
    suffix = PurePath(name).suffix.lower()
    if suffix not in api.FORMATS:
        raise api.GraphError(
            f"a file ending in {suffix or 'nothing'}", where=name, allowed=", ".join(api.FORMATS), field="file"
        )
    if not file.size:
        raise api.GraphError("the file is empty", where=name, allowed="a graph with at least one op", field="file")
    api.check_upload(file.path, suffix, limits())
    graph = Graph(project=project, name=name[:200], suffix=suffix, file_bytes=file.size, content_hash=file.content_hash)
    file.move_to(graph.source_path)
    try:
        _queue(graph)
    except BaseException:
        graph.source_path.unlink(missing_ok=True)
        raise
    return graph


def accept_sample(project: Project, sample: str) -> Graph:
    """Queue the building and reading of `sample`, a name of `api.samples()`."""
    graph = Graph(project=project, name=api.samples()[sample][:200], suffix=".pb", sample=sample)
    _queue(graph)
    return graph


def _queue(graph: Graph) -> None:
    with transaction.atomic():
        if not Project.objects.select_for_update().filter(id=graph.project_id).exists():
            raise Http404("This project has been deleted meanwhile.")
        graph.save(force_insert=True)
        transaction.on_commit(partial(publish, Graph, graph.id))
