"""Builds whole families of graphs: as GraphDefs in a folder, or ready to be placed, with a cache."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from engine import VERSION
from engine.child.parent import Pulse, ReportProgress, no_pulse
from engine.errors import GraphError, SettingsError, shortened
from engine.events import Json
from engine.files.whole_files import write_whole
from engine.prepared import PreparedGraph
from engine.zoo.families.cache import cache_path, identity, read_cached
from engine.zoo.families.catalogue import Family
from engine.zoo.families.children import in_children
from engine.zoo.families.members import DEFAULT_COUNT, Member, family_named, members
from engine.zoo.families.split import Split

DESCRIPTION = "family.json"


@dataclass(frozen=True, slots=True)
class PreparedFamily:
    """A family's graphs, ready to be placed."""

    name: str
    train: tuple[PreparedGraph, ...]
    test: tuple[PreparedGraph, ...]


def build_family(
    family: str, folder: Path, report_progress: ReportProgress, seed: int = 0, count: int = DEFAULT_COUNT
) -> int:
    """Build the members into `folder` (`nmt-00.pb`, ... and `family.json`, which lists them); returns their number.

    The same seed gives the same bytes. Raises SettingsError for an unknown family, a bad seed or count, or a folder
    that cannot be made.
    """
    row, chosen = family_named(family), members(family, seed, count)
    _make_folder(folder, "out")
    orders = [member_order(row, member, destination=_graph_path(folder, member)) for member in chosen]
    ops = in_children("engine.zoo.families.making:build_in_child", orders, f"building {family}", report_progress)
    described: dict[str, Json] = {
        "family": family,
        "model": row.model,
        "groups": row.groups,
        "seed": seed,
        "engine": VERSION,
        "graphs": [
            {
                "file": _graph_path(folder, member).name,
                "split": member.split,
                "ops": ops[member.name],
                "settings": dict(member.settings),
            }
            for member in chosen
        ],
    }
    write_whole(folder / DESCRIPTION, (json.dumps(described, indent=1) + "\n").encode())
    return len(chosen)


def prepared_family(
    family: str,
    cache: Path,
    report_progress: ReportProgress,
    seed: int = 0,
    count: int = DEFAULT_COUNT,
    only: Split | None = None,
    pulse: Pulse = no_pulse,
) -> PreparedFamily:
    """The members ready to be placed; those missing in `cache` are built, costed, grouped and put there.

    A cache file that is damaged or holds other content is built again, which `report_progress` reports. `pulse` is
    called several times a second; an exception from it ends the children and reaches the caller. Raises SettingsError
    for an unknown family, a bad seed or count, or a cache folder that cannot be made.
    """
    row = family_named(family)
    chosen = [each for each in members(family, seed, count) if only in (None, each.split)]
    wanted = {each.name: identity(row, each, seed) for each in chosen}
    _make_folder(cache, "cache")
    found: dict[str, PreparedGraph | None] = {}
    for name in wanted:
        pulse()
        found[name] = _read(cache, wanted[name], report_progress)
    orders = [
        member_order(row, each, destination=cache_path(cache, wanted[each.name])) | {"identity": wanted[each.name]}
        for each in chosen
        if found[each.name] is None
    ]
    in_children("engine.zoo.families.making:prepare_in_child", orders, f"preparing {family}", report_progress, pulse)
    graphs = [(each.split, found[each.name] or _there(cache, wanted[each.name])) for each in chosen]
    train = tuple(graph for split, graph in graphs if split == "train")
    return PreparedFamily(family, train, tuple(graph for split, graph in graphs if split == "test"))


def member_order(row: Family, member: Member, *, destination: Path) -> dict[str, Json]:
    """A child's arguments for a member."""
    return {
        "name": member.name,
        "model": row.model,
        "settings": dict(member.settings),
        "groups": row.groups,
        "destination": str(destination.absolute()),
    }


def _read(cache: Path, wanted: Mapping[str, Json], report_progress: ReportProgress) -> PreparedGraph | None:
    """The graph in the cache; None where there is none, or where its file is bad, which `report_progress` reports."""
    try:
        return read_cached(cache_path(cache, wanted), wanted)
    except GraphError as error:
        report_progress(f"{error.where}: {error.what}; it is built again", 0, 0)
        return None


def _there(cache: Path, wanted: Mapping[str, Json]) -> PreparedGraph:
    """The graph that a child has just put into the cache. Raises GraphError if it is gone."""
    path = cache_path(cache, wanted)
    prepared = read_cached(path, wanted)
    if prepared is None:
        raise GraphError("it was deleted meanwhile", where=shortened(path.name), field="cache")
    return prepared


def _make_folder(folder: Path, field: str) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        what = f"the folder cannot be made: {error.strerror}"
        raise SettingsError(what, where=shortened(str(folder)), allowed="a folder", field=field) from None


def _graph_path(folder: Path, member: Member) -> Path:
    return folder / f"{member.name}.pb"
