"""Prepares graphs of the zoo for experiments, keeps them, and simulates a graph on a single device."""

import hashlib
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path

from engine import VERSION, api
from engine.files.whole_files import write_whole
from engine.formats.reading import Groups
from engine.graphs.grouping.levels import GROUPS_WITHOUT_LEVELS
from engine.zoo.families.cache import RECIPE
from experiments.pages import ReportLine

DIGITS = 12
"""of a digest in a file's name"""


def prepared_zoo_graph(
    name: str,
    report: ReportLine,
    settings: Mapping[str, api.Json] | None = None,
    groups: Groups = GROUPS_WITHOUT_LEVELS,
) -> api.PreparedGraph:
    """A graph of the zoo, built with these settings, costed and grouped."""
    report(f"building and costing {name}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.pb"
        api.build(name, path, lambda *_: None, settings)
        return api.prepare(path, path.suffix, lambda *_: None, api.Limits(), groups)


def single_device_report(prepared: api.PreparedGraph, kind: str) -> dict[str, api.Json]:
    """The simulated step with all ops on one device of `kind`."""
    cluster = api.parse_cluster(kind)
    placement: api.Json = dict.fromkeys(prepared.graph.op_names, cluster.devices[0].name)
    (report,) = api.simulate(prepared, cluster, [placement])
    assert isinstance(report, dict)
    return report


def kept_zoo_graph(
    folder: Path, name: str, report: ReportLine, settings: Mapping[str, api.Json] | None = None
) -> api.PreparedGraph:
    """The same, kept in `folder` for the next call of this version."""
    written = json.dumps([VERSION, RECIPE, name, dict(settings or {})], sort_keys=True)
    path = folder / f"zoo-{name}-{hashlib.sha256(written.encode()).hexdigest()[:DIGITS]}.prepared"
    if path.exists():
        return api.PreparedGraph.from_bytes(path.read_bytes())
    prepared = prepared_zoo_graph(name, report, settings)
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(path, prepared.to_bytes())
    return prepared
