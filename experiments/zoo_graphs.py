"""Prepares graphs of the zoo for experiments, and simulates a graph on a single device."""

import tempfile
from collections.abc import Mapping
from pathlib import Path

from engine import api
from experiments.pages import ReportLine


def prepared_zoo_graph(
    name: str, report: ReportLine, settings: Mapping[str, api.Json] | None = None
) -> api.PreparedGraph:
    """A graph of the zoo, built with these settings and costed."""
    report(f"building and costing {name}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.pb"
        api.build(name, path, lambda *_: None, settings)
        return api.prepare(path, path.suffix, lambda *_: None, api.Limits())


def single_device_report(prepared: api.PreparedGraph, kind: str) -> dict[str, api.Json]:
    """The simulated step with all ops on one device of `kind`."""
    cluster = api.parse_cluster(kind)
    placement: api.Json = dict.fromkeys(prepared.graph.op_names, cluster.devices[0].name)
    (report,) = api.simulate(prepared, cluster, [placement])
    assert isinstance(report, dict)
    return report
