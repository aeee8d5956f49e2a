"""A kept placement for pages and scripts."""

import uuid

from django.urls import reverse

from webapp.http.user_errors import row_or_404
from webapp.pages.runs.downloads import NAMES
from webapp.placements.models import Placement

DOWNLOADS = tuple(name for name in NAMES if name != "report.json")


def placement_or_404(placement_id: uuid.UUID | str, project_id: uuid.UUID | None = None) -> Placement:
    """The placement, of that project if one is given, with its graph; raises Http404 with a sentence."""
    rows = Placement.objects.select_related("graph")
    return row_or_404(rows if project_id is None else rows.filter(project=project_id), placement_id, "placement")


def placement_to_json(placement: Placement) -> dict[str, object]:
    """The placement for lists, without its devices."""
    return {
        "id": str(placement.id),
        "name": placement.name,
        "origin": placement.origin,
        "run": None if placement.run_id is None else str(placement.run_id),
        "run_seq": placement.run_seq,
        "parent": None if placement.parent_id is None else str(placement.parent_id),
        "step_time_us": placement.step_time_us,
        "missing_bytes": placement.missing_bytes,
        "peak_bytes": placement.peak_bytes,
        "split_groups": placement.split_groups,
        "created_at": placement.created_at,
        "urls": _urls(placement),
    }


def whole_to_json(placement: Placement) -> dict[str, object]:
    """The same with the device and the lock of each group."""
    return {
        **placement_to_json(placement),
        "device_of_group": placement.device_of_group,
        "locked_groups": placement.locked_groups,
    }


def _urls(placement: Placement) -> dict[str, object]:
    names = ("json", "explanation", "rename", "delete")
    urls: dict[str, object] = {name: reverse(f"placements:{name}", args=[placement.id]) for name in names}
    urls["downloads"] = {name: reverse("placements:download", args=[placement.id, name]) for name in DOWNLOADS}
    return urls
