"""Keeps placements: judges them by simulation and stores them; renames and deletes them."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction
from django.http import Http404

from engine import api
from webapp.capacity import a_slot_to_explain
from webapp.graphs.incoming import IncomingFile
from webapp.graphs.models import Graph
from webapp.graphs.upload_checks import place_for_a_check
from webapp.placements.models import LONGEST_NAME, Placement
from webapp.runs.models import Run
from webapp.runs.sessions import session_of

MOST_OF_A_GRAPH = 200
"""kept placements of one graph"""


@dataclass(frozen=True, slots=True)
class MadeFrom:
    """Where a placement comes from."""

    kind: str
    """one of `Placement.ORIGINS`"""
    seq: int | None = None
    """the event of the run from whose placement it was made"""
    parent: Placement | None = None
    """the kept placement from which it was made"""


def keep(
    run: Run, name: str, given: api.GivenPlacement, origin: MadeFrom, locked_groups: Sequence[int] = ()
) -> Placement:
    """Store `given`, a placement on the run's graph and cluster. Raises PlacetoError."""
    session = session_of(run)
    session.require_allowed(given)
    outcome = session.evaluate(given)
    device_of_group, device_of_split_op = session.parts_of(given)
    groups = len(device_of_group)
    if not all(0 <= group < groups for group in locked_groups):
        raise api.PlacementError("no such group", where="locked", allowed=f"0 to {groups - 1}", field="locked")
    placement = Placement(
        graph=run.graph,
        name=_checked_name(name),
        origin=origin.kind,
        cluster=run.cluster,
        drop_devices=run.drop_devices,
        run=run,
        run_seq=origin.seq,
        parent=origin.parent,
        device_of_group=[*device_of_group],
        device_of_split_op=[*device_of_split_op],
        split_groups=device_of_group.count(api.SPLIT),
        locked_groups=sorted(set(locked_groups)),
        step_time_us=outcome.step_time_us,
        missing_bytes=outcome.missing_bytes,
        peak_bytes=outcome.peak_bytes.tolist(),
    )
    with transaction.atomic():
        if not Graph.objects.select_for_update().filter(id=run.graph_id).exists():
            raise Http404("This graph has been deleted meanwhile.")
        if Placement.objects.filter(graph=run.graph_id).count() >= MOST_OF_A_GRAPH:
            raise api.LimitError(
                f"{MOST_OF_A_GRAPH} placements of this graph are kept already; delete some first",
                allowed=f"at most {MOST_OF_A_GRAPH}",
            )
        placement.save(force_insert=True)
    return placement


def keep_upload(run: Run, file: IncomingFile) -> Placement:
    """Read an uploaded placement JSON in a child, judge it and keep it under the file's name. Raises PlacetoError."""
    if not file.size:
        raise api.PlacementError("the file is empty", where=_file_name(file), allowed="JSON {op: device}", field="file")
    with a_slot_to_explain():
        session = session_of(run)
    with place_for_a_check():
        device_of_op = api.read_placement(session.prepared, session.cluster, file.path)
    with a_slot_to_explain():
        return keep(run, _file_name(file), session.by_op(device_of_op), MadeFrom(Placement.UPLOAD))


def rename(placement: Placement, name: str) -> None:
    """Give it another name. Raises SettingsError for an empty or too long one."""
    placement.name = _checked_name(name)
    placement.save(update_fields=["name"])


def given_of(placement: Placement) -> api.GivenPlacement:
    """Its placement as the engine takes it. Raises LimitError for a graph that is too large."""
    device_of_group, device_of_split_op = placement.device_of_group, placement.device_of_split_op
    assert isinstance(device_of_group, list) and isinstance(device_of_split_op, list)
    devices = [[device for device in part if isinstance(device, int)] for part in (device_of_group, device_of_split_op)]
    return session_of(placement).by_parts(*devices)


def kept_for(run: Run) -> list[Placement]:
    """The placements that the run's page can show: those of its graph on its cluster, the newest first."""
    rows = Placement.objects.filter(graph=run.graph_id, cluster=run.cluster)
    return list(rows.defer(*Placement.LARGE))


def belongs_to(placement: Placement, run: Run) -> bool:
    """Whether the run's page can show it."""
    return (placement.graph_id, placement.cluster) == (run.graph_id, run.cluster)


def _checked_name(name: str) -> str:
    name = name.replace("\0", " ").strip()  # PostgreSQL stores no NUL
    if not 1 <= len(name) <= LONGEST_NAME:
        raise api.SettingsError(
            f"a name of {len(name)} characters", where="name", allowed=f"1 to {LONGEST_NAME} characters", field="name"
        )
    return name


def _file_name(file: IncomingFile) -> str:
    return (file.name or "placement.json")[-LONGEST_NAME:]
