"""Makes a queued graph from uploaded files, a sample's name, or a stored graph."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain, count
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.http import Http404

from engine import api
from webapp.accounts import quotas
from webapp.graphs.graph_options import DEFAULT_READING, GraphOptions
from webapp.graphs.incoming import IncomingFile, StoredFile
from webapp.graphs.models import Graph
from webapp.graphs.readings import newest_reading
from webapp.graphs.upload_checks import place_for_a_check
from webapp.jobs.job import CHANGED
from webapp.jobs.publishing import publish_soon
from webapp.projects.access import store_new
from webapp.projects.models import Project

MOST_OF_STEM = 180
"""characters of a name before its number and suffix"""


def limits() -> api.Limits:
    """The limits on reading one file."""
    return api.Limits(file_bytes=settings.UPLOAD_LIMIT_BYTES)


def accept_upload(
    project: Project, file: IncomingFile | StoredFile, options: GraphOptions, times: IncomingFile | None
) -> Graph:
    """Check and store the files, and queue the reading, or ask first for lengths that are left open.

    Raises a PlacetoError and then stores nothing. `project` may be a new one, which is stored with the graph.
    """
    name = file.name or "graph"
    suffix = api.suffix_of(name)
    if suffix not in api.FORMATS:
        raise api.unknown_suffix(suffix, name)
    size = file.size or 0
    if not size:
        raise api.GraphError("the file is empty", where=name, allowed="a graph with at least one op", field="file")
    _check_choices(suffix, options, size, times)
    with place_for_a_check():
        open_inputs = api.check_upload(file.path, suffix, limits(), options.reading)
    _check_times(suffix, times)
    graph = Graph(project=project, name=name[:200], suffix=suffix, file_bytes=size, content_hash=file.content_hash)
    with files_of(graph):
        file.move_to(graph.source_path)
        if open_inputs:
            graph.status, graph.summary = Graph.ASKING, {"asked": [each.to_json() for each in open_inputs]}
        _queue(graph, options, times)
    return graph


def begin_reading(graph: Graph, options: GraphOptions) -> bool:
    """Queue a graph that asks, with what a person has said; False if it asks no more."""
    with transaction.atomic():
        asking = Graph.objects.filter(id=graph.id, status=Graph.ASKING)
        values = {"status": Graph.QUEUED, "options": options.to_json(), "summary": None}
        if not asking.update(**values, **CHANGED):
            return False
        transaction.on_commit(partial(publish_soon, Graph.QUEUE))
    return True


def accept_sample(project: Project, sample: str) -> Graph:
    """Queue the building and reading of `sample`, a name of `api.samples()`."""
    graph = Graph(project=project, name=api.samples()[sample][:200], suffix=".pb", sample=sample)
    _queue(graph, GraphOptions(), None)
    return graph


def read_again(graph: Graph, options: GraphOptions, times: IncomingFile | Path | None, times_name: str = "") -> Graph:
    """Queue the reading of `graph`'s file with other options, which takes the place of its newest one once it is ready.

    `times`: an uploaded file, or a stored one to be called `times_name`. Raises a PlacetoError, or Http404 if the
    graph's file is gone, and then stores nothing.
    """
    _check_choices(graph.suffix, options, graph.file_bytes, times)
    _check_times(graph.suffix, times)
    new = Graph(
        project=graph.project,
        name=graph.name,
        suffix=graph.suffix,
        file_bytes=graph.file_bytes,
        content_hash=graph.content_hash,
        read_again_from=newest_reading(graph),
    )
    with files_of(new):
        try:
            share_file(graph.source_path, new.source_path)
            if isinstance(times, Path):
                share_file(times, new.times_path)
                new.times_name, new.times_bytes = times_name, times.stat().st_size
        except FileNotFoundError:
            raise Http404("The graph's file is not on this machine.") from None
        _queue(new, options, times if isinstance(times, IncomingFile) else None)
    return new


def _check_choices(suffix: str, options: GraphOptions, file_bytes: int, times: IncomingFile | Path | None) -> None:
    """Raise a PlacetoError for options that exclude each other."""
    row = api.FORMATS[suffix]
    _require_options(row, options)
    if times is not None and not row.times:
        what = f"{row.words} has its times in itself"
        raise api.GraphError(what, allowed="no RunMetadata", field="run_metadata")
    times_bytes = (times.size or 0) if isinstance(times, IncomingFile) else 0
    if file_bytes + times_bytes > settings.UPLOAD_LIMIT_BYTES:
        what = f"both files together are too large: {api.bytes_words(file_bytes + times_bytes)}"
        raise api.LimitError(
            what, allowed=f"at most {api.bytes_words(settings.UPLOAD_LIMIT_BYTES)}", field="run_metadata"
        )


def _check_times(suffix: str, times: IncomingFile | Path | None) -> None:
    """Check an uploaded file of measured times. Raises a PlacetoError at its own field."""
    if not isinstance(times, IncomingFile):
        return
    try:
        with place_for_a_check():
            api.check_run_metadata(times.path, suffix, limits())
    except api.LimitError as error:
        raise error.at("run_metadata") from None


def _require_options(row: api.Format, options: GraphOptions) -> None:
    """Raise SettingsError for an option that the format does not take, where the engine's check does not."""
    api.require_offload(row, options.reading)
    given = options.reading.to_json()
    for field, usual in DEFAULT_READING.to_json().items():
        if row.is_closed and given[field] != usual and field not in row.options:
            where = field.replace("_", " ")
            raise api.SettingsError(f"{row.words} leaves nothing open", where=where, allowed="none", field=field)


@contextmanager
def files_of(graph: Graph) -> Iterator[None]:
    """Delete the files of `graph` if anything goes wrong."""
    try:
        yield
    except BaseException:
        for path in graph.paths:
            path.unlink(missing_ok=True)
        raise


def share_file(source: Path, destination: Path) -> None:
    """Link `source` at `destination`: stored files never change. Copy it if the disk has no hard links."""
    destination.parent.mkdir(mode=0o700, exist_ok=True)
    os.utime(source)  # as young as an upload: without a row yet, an old file would be removed
    try:
        destination.hardlink_to(source)
    except FileNotFoundError:
        raise
    except OSError:
        shutil.copyfile(source, destination)


def _free_name(graph: Graph) -> str:
    """The graph's name, with a number if its project has a graph of that name: `model (2).pb`."""
    length = len(api.suffix_of(graph.name)) if api.suffix_of(graph.name) in api.FORMATS else 0
    stem, suffix = graph.name[: len(graph.name) - length], graph.name[len(graph.name) - length :]
    alike = Graph.objects.filter(project=graph.project_id, name__startswith=stem[:MOST_OF_STEM])
    taken = set(alike.values_list("name", flat=True))
    numbered = (f"{stem[:MOST_OF_STEM]} ({number}){suffix}" for number in count(2))
    return next(name for name in chain([graph.name], numbered) if name not in taken)


def _queue(graph: Graph, options: GraphOptions, times: IncomingFile | None) -> None:
    graph.options = options.to_json()
    if times is not None:
        graph.times_name, graph.times_bytes = (times.name or "times")[:200], times.size or 0
        times.move_to(graph.times_path)
    with transaction.atomic():
        if graph.project._state.adding:
            store_new(graph.project)
        elif not Project.objects.select_for_update().filter(id=graph.project_id).exists():
            raise Http404("This project has been deleted meanwhile.")
        quotas.require_upload(graph.file_bytes + graph.times_bytes, Graph.objects.all(), Graph.all_rows.all())
        if graph.read_again_from is None:
            graph.name = _free_name(graph)
        graph.save(force_insert=True)
        if graph.status == Graph.QUEUED:
            transaction.on_commit(partial(publish_soon, Graph.QUEUE))
