"""Reads one file of the suite and compares it with the closed forms: a row of figures."""

import resource
from collections import Counter
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import cast

import numpy as np

from engine import api
from engine.clusters.parsing import parse_cluster
from engine.costs.arithmetic import HEAVY
from engine.costs.costs import CostSource
from engine.events import Json
from engine.simulator import Simulator
from tests.models.model import FROZEN, SuiteModel

LIMITS = api.Limits()
CLUSTER = "1xV100"
COMPILED = frozenset({"PartitionedCall", "StatefulPartitionedCall"})
"""calls that stay in a graph: XLA compiles them whole, and they count their products"""
SHOWN = 12
"""number of heavy ops without a cost that a row names"""


def figures(path: Path, form: str, model: SuiteModel, closed: Mapping[str, Json]) -> dict[str, Json]:
    """The figures of the file `path` and its reading time; `closed` are the closed forms from `make`."""
    started = processor_seconds()
    try:
        prepared = _prepared(path, form, model)
    except api.PlacetoError as refusal:
        return {"refused": str(refusal), "seconds": round(processor_seconds() - started, 2)}
    seconds = round(processor_seconds() - started, 2)
    return {"seconds": seconds, **_read(prepared), **_beside(prepared, form, closed)}


def _prepared(path: Path, form: str, model: SuiteModel) -> api.PreparedGraph:
    """Read the file; if trips are open and the row gives them, read again with them, as a user does on the page."""
    read = partial(api.prepare, path, path.suffix, lambda *_: None, LIMITS)
    prepared = read(options=model.options(form, {}))
    if not model.open_trips:
        return prepared
    rows = prepared.origin.loops or ()
    trips = {str(row["name"]): model.open_trips for row in rows if row["source"] == "assumed"}
    return read(options=model.options(form, trips))


def processor_seconds() -> float:
    """Processor seconds of this process and its ended children; other work on the machine changes them little."""
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in spent)


def _read(prepared: api.PreparedGraph) -> dict[str, Json]:
    """The figures of the summary."""
    summary = prepared.summary()
    keys = ("ops", "unknown_ops", "unknown_types", "bounded_ops", "flops_by_source", "persistent_bytes")
    return {
        **{key: summary[key] for key in keys},
        **{key: summary[key] for key in ("loops", "branches", "sizes", "notes")},
        **heavy_ops(prepared),
        "one_device_ms": one_device_ms(prepared),
    }


def one_device_ms(prepared: api.PreparedGraph) -> float:
    """Simulated step time with all ops on one device."""
    simulator = Simulator(prepared.graph, prepared.costs, parse_cluster(CLUSTER))
    placement = np.zeros((1, prepared.graph.op_count), dtype=np.int32)
    return round(float(simulator.evaluate(placement).step_time_us[0]) / 1000, 4)


def heavy_ops(prepared: api.PreparedGraph) -> dict[str, Json]:
    """The number of heavy ops, of those without a cost, and their reasons."""
    graph, costs = prepared.graph, prepared.costs
    heavy = [op for op, op_type in enumerate(graph.op_types) if op_type in HEAVY]
    unknown = [op for op in heavy if costs.source[op] == CostSource.UNKNOWN]
    why = Counter((graph.op_types[op], costs.why_unknown(op)) for op in unknown)
    return {
        "heavy_ops": len(heavy),
        "heavy_unknown": len(unknown),
        "heavy_unknown_why": [[*reason, count] for reason, count in why.most_common()],
        "heavy_unknown_names": [graph.op_names[op] for op in unknown[:SHOWN]],
    }


def heavy_flops(prepared: api.PreparedGraph) -> float | None:
    """Operations of all heavy ops of a step, each as often as it runs; None without counts."""
    costs = prepared.costs
    if not len(costs.flops):
        return None
    counted = HEAVY | COMPILED
    heavy = np.array([op_type in counted for op_type in prepared.graph.op_types])
    return float((costs.flops * costs.trips_of_op().astype(np.float64))[heavy].sum())


def _beside(prepared: api.PreparedGraph, form: str, closed: Mapping[str, Json]) -> dict[str, Json]:
    """The counts beside the closed forms; variables of frozen graphs are constants and not held."""
    flops, closed_flops = heavy_flops(prepared), cast(int, closed["flops"])
    difference = None if flops is None else round(flops / max(1, closed_flops) - 1, 6)
    held = 0 if form == FROZEN else cast(int, closed["parameter_bytes"])
    return {
        "flops": flops,
        "closed_flops": closed_flops,
        "flops_difference": difference,
        "closed_persistent_bytes": held,
    }
