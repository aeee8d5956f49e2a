"""Puts the example into the database: ordinary rows, made by the code that stores what workers report."""

import hashlib
import uuid
from functools import cache, lru_cache
from typing import TypeVar

from django.db import transaction

from engine import api
from webapp.accounts.visitor import acting
from webapp.capacity import BusyError
from webapp.example.example_file import ExampleFile, Request, read_example
from webapp.graphs.models import Graph
from webapp.graphs.reading import store_prepared
from webapp.graphs.uploads import files_of
from webapp.jobs.claim import Claim, JobType
from webapp.jobs.deletion import Deletable
from webapp.projects.access import add_owner, editable_by
from webapp.projects.models import Project
from webapp.runs import lifecycle
from webapp.runs.models import Run
from webapp.runs.requests import new_run
from webapp.runs.run_store import RunStore

NAME = "Example"
LONGEST_SECONDS = 40.0
"""of a run that a visitor starts on it, after its baselines"""
MOST_WAITING = 100
"""deleted examples that wait for their purge; each has ids of its own"""
_NAMESPACE = uuid.UUID("2d9b7a0e-53a4-4c1d-9a53-6f2f0f5c8b17")

RowType = TypeVar("RowType", bound=Deletable)


def open_example() -> Run:
    """The example's run. It is stored with its graph and project unless it is there; two requests store it once.

    Raises BusyError.
    """
    run = _living(Run)
    return run if run is not None else _store(read_example())


def run_example() -> Run:
    """Queue a run as the example's own, with a limit of time. Raises BusyError."""
    run = open_example()
    return lifecycle.start(run.graph, _request().run(LONGEST_SECONDS))


def is_example(run: Run) -> bool:
    """Whether this is the example's run."""
    return run.id in _ids(Run)


def _store(file: ExampleFile) -> Run:
    with transaction.atomic():
        project, is_new = Project.objects.get_or_create(id=_id_of(Project), defaults={"name": NAME})
        if is_new:
            add_owner(project)
        Project.objects.select_for_update().get(id=project.id)  # a second request waits here for the first one
        run = _living(Run)
        return run if run is not None else _store_run(file, _living(Graph) or _store_graph(file, project))


def _store_graph(file: ExampleFile, project: Project) -> Graph:
    graph = Graph(
        id=_id_of(Graph),
        project=project,
        name=api.samples()[file.request.sample][:200],
        suffix=".pb",
        sample=file.request.sample,
        file_bytes=len(file.graph),
        content_hash=hashlib.sha256(file.graph).hexdigest(),
    )
    with files_of(graph):
        graph.source_path.parent.mkdir(mode=0o700, exist_ok=True)
        graph.source_path.write_bytes(file.graph)
        graph.save(force_insert=True)
        store_prepared(_claim(graph), api.PreparedGraph.from_bytes(file.prepared))
    return graph


def _store_run(file: ExampleFile, graph: Graph) -> Run:
    run = new_run(graph, file.request.run())
    run.id = _id_of(Run)
    run.save(force_insert=True)
    store = RunStore(_claim(run), run)
    for event in file.events:
        store.emit(event)
    store.emit(api.LearnedPolicy(file.policy))
    store.end_with(Run.DONE, file.report)
    return run


def _claim(job: JobType) -> Claim[JobType]:
    """Raises BusyError while the database belongs to another version."""
    claim = Claim.take(type(job), job.id)
    if claim is None:
        raise BusyError("The application is being updated. Try again in a few seconds.")
    return claim


@cache
def _request() -> Request:
    return read_example().request


def _living(model: type[RowType]) -> RowType | None:
    """The row that is there and that the visitor may change: somebody may have removed them from its project."""
    mine = editable_by(acting())
    where = {"pk__in": mine} if model is Project else {"project__in": mine}
    return model.objects.filter(pk__in=_ids(model)).filter(**where).first()


def _id_of(model: type[Deletable]) -> uuid.UUID:
    """The id of the living row, or else one that no row has. Raises BusyError."""
    living = _living(model)
    if living is not None:
        return uuid.UUID(str(living.pk))
    waiting = set(model.all_rows.filter(pk__in=_ids(model)).values_list("pk", flat=True))
    free = next((key for key in _ids(model) if key not in waiting), None)
    if free is None:
        raise BusyError("The example has been deleted many times. Try again in a minute.")
    return free


def _ids(model: type[Deletable]) -> tuple[uuid.UUID, ...]:
    """The ids that rows of the example may have: each user has one of their own."""
    return _ids_for(model, acting().user_id)


@lru_cache(maxsize=256)
def _ids_for(model: type[Deletable], user_id: uuid.UUID | None) -> tuple[uuid.UUID, ...]:
    whose = "" if user_id is None else f" of {user_id}"
    names = (f"{model._meta.label_lower} {number}{whose}" for number in range(MOST_WAITING))
    return tuple(uuid.uuid5(_NAMESPACE, name) for name in names)
