"""A graph that is ready to be placed, with its summary for people and its form in the database."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster_json import DEFAULT_OP_REST_US
from engine.costs.costs import Costs, CostSource
from engine.costs.unknown import Unknown
from engine.events import Json
from engine.files.archive import fields_of, from_fields, pack, unpack
from engine.graphs.graph import ComputationGraph
from engine.graphs.grouping.grouping import Grouping
from engine.graphs.layout import COLUMN, ROW, layout
from engine.graphs.origin import Origin

TYPES_SHOWN = 3
"""types named for each group in the view"""
UNKNOWN_LISTED = 200
"""ops of unknown cost named in the summary"""
OPS_NAMED = 5
"""ops named for each reason to run on a CPU"""


@dataclass(frozen=True, slots=True)
class PreparedGraph:
    """A graph that is ready to be placed: read, costed for every kind in the catalogue, grouped."""

    graph: ComputationGraph
    costs: Costs
    grouping: Grouping
    origin: Origin = field(default_factory=Origin)

    def to_bytes(self) -> bytes:
        """The graph as bytes for the database, without pickle."""
        arrays: dict[str, NDArray[np.generic]] = {}
        texts: dict[str, Json] = {}
        for part in (self.graph, self.costs, self.grouping, self.origin):
            part_arrays, part_texts = fields_of(part)
            arrays, texts = arrays | part_arrays, texts | part_texts
        return pack(arrays, texts)

    @staticmethod
    def from_bytes(blob: bytes) -> "PreparedGraph":
        """The inverse of `to_bytes`."""
        arrays, texts = unpack(blob)
        return PreparedGraph(
            from_fields(ComputationGraph, arrays, texts),
            from_fields(Costs, arrays, texts),
            from_fields(Grouping, arrays, texts),
            from_fields(Origin, arrays, texts),
        )

    def summary(self) -> dict[str, Json]:
        """A summary of the graph for people; docs/formats.md describes the keys."""
        graph, costs = self.graph, self.costs
        unknown = np.flatnonzero(costs.source == CostSource.UNKNOWN)
        sources = self.op_time_sources()
        return {
            "name": graph.name,
            "ops": graph.op_count,
            "edges": graph.edge_count,
            "groups": self.grouping.group_count,
            "group_edges": len(self.grouping.edge_source),
            "types": _most_common(graph.op_types),
            "output_bytes": int(costs.output_bytes.sum()),
            "persistent_bytes": int(costs.persistent_bytes.sum()),
            "unknown_ops": len(unknown),
            "unknown_types": _most_common([graph.op_types[op] for op in unknown]),
            "unknown": self._unknown(unknown),
            "sources": dict(sources),
            "bounded_ops": sources.get("bounded", 0) if len(costs.flops) else None,
            **self._flops(),
            "time_us": dict(zip(costs.kinds, np.nansum(costs.step_time_us(), axis=1).tolist(), strict=True)),
            "one_device_us": self._one_device_us(),
            "back_edges": len(graph.back_edges),
            "feedback_edges": len(self.grouping.feedback_edges),
            "format": self.origin.format,
            "options": dict(self.origin.options),
            "signatures": list(self.origin.signatures),
            "notes": list(self.origin.notes),
            "cpu_ops": self._cpu_ops(),
            "loops": _rows(self.origin.loops),
            "branches": _rows(self.origin.branches),
            "sizes": _rows(self.origin.sizes),
            "variables_stored": self.origin.variables_stored,
            "batch_helps": list(self.origin.batch_helps),
        }

    def op_time_sources(self) -> dict[str, int]:
        """The ops by the source of their times: its name in lower case → ops, without empty ones."""
        counts = Counter(self.costs.source.tolist())
        return {source.name.lower(): counts[source] for source in CostSource if counts[source]}

    def _one_device_us(self) -> dict[str, Json]:
        """By kind: the simulated step on one device, with the default rest after each op; None if an op cannot run."""
        times, trips = self.costs.step_time_us(), self.costs.trips_of_op()
        steps = times.sum(axis=1) + DEFAULT_OP_REST_US * ((times > 0) * trips).sum(axis=1)
        return {
            kind: None if np.isnan(step) else float(step) for kind, step in zip(self.costs.kinds, steps, strict=True)
        }

    def _flops(self) -> dict[str, Json]:
        """Floating-point operations of a step, in all and by the source of the ops' costs; null if not counted."""
        costs = self.costs
        if not len(costs.flops):
            return {"flops": None, "flops_by_source": None}
        flops = costs.flops.astype(np.float64) * costs.trips_of_op()  # floats: the sum may be more than an int64
        sums = {source.name.lower(): float(flops[costs.source == source].sum()) for source in CostSource}
        by_source: dict[str, Json] = {name: total for name, total in sums.items() if total}
        return {"flops": float(flops.sum()), "flops_by_source": by_source}

    def _unknown(self, ops: NDArray[np.intp]) -> list[Json]:
        """[[name, type, why], ...] of the first `ops`; those that only wait for another op's shape come last."""
        graph, costs = self.graph, self.costs
        if len(costs.unknown):
            ops = ops[np.argsort(costs.unknown[ops] == Unknown.INPUT_SHAPE, kind="stable")]
        shown = ops[:UNKNOWN_LISTED].tolist()
        return [[graph.op_names[op], graph.op_types[op], costs.why_unknown(op)] for op in shown]

    def _cpu_ops(self) -> dict[str, Json]:
        """The number of ops that no GPU can run, and number and names by reason, the most frequent reason first."""
        names: dict[str, list[Json]] = {}
        for name, reason in zip(self.graph.op_names, self.graph.cpu_reason, strict=True):
            if reason:
                names.setdefault(reason, []).append(name)
        ordered = sorted(names.items(), key=lambda item: (-len(item[1]), item[0]))
        reasons: list[Json] = [[reason, len(ops), ops[:OPS_NAMED]] for reason, ops in ordered]
        return {"ops": sum(map(len, names.values())), "reasons": reasons}

    def view(self) -> dict[str, Json]:
        """The grouped graph, laid out, as `GroupGraph` in frontend/js/ui/contracts.js describes it."""
        positions = layout(self.grouping)
        edges = zip(
            self.grouping.edge_source.tolist(),
            self.grouping.edge_target.tolist(),
            self.grouping.edge_bytes.tolist(),
            strict=True,
        )
        return {
            "groups": self._group_rows(positions.x, positions.y),
            "edges": [{"source": source, "target": target, "bytes": size} for source, target, size in edges],
            "width": float(positions.width),
            "height": float(positions.height),
            "across": COLUMN,
            "down": ROW,
            "strips": [
                {"left": strip.left, "right": strip.right, "leads_up": strip.leads_up} for strip in positions.strips
            ],
        }

    def _group_rows(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> list[Json]:
        groups, group_of_op = self.grouping.group_count, self.grouping.group_of_op
        types: list[Counter[str]] = [Counter() for _ in range(groups)]
        for group, op_type in zip(group_of_op.tolist(), self.graph.op_types, strict=True):
            types[group][op_type] += 1
        sums = partial(np.bincount, group_of_op, minlength=groups)
        time_us = [sums(weights=np.nan_to_num(times)) for times in self.costs.step_time_us()]
        output_bytes = sums(weights=self.costs.bytes_of_op())
        persistent_bytes = sums(weights=self.costs.persistent_bytes)
        ops = sums()
        return [
            {
                "id": group,
                "name": self.grouping.names[group],
                "ops": int(ops[group]),
                "types": _most_common(types[group])[:TYPES_SHOWN],
                "time_us": {kind: float(times[group]) for kind, times in zip(self.costs.kinds, time_us, strict=True)},
                "output_bytes": int(output_bytes[group]),
                "persistent_bytes": int(persistent_bytes[group]),
                "x": float(x[group]),
                "y": float(y[group]),
            }
            for group in range(groups)
        ]


def _rows(rows: "tuple[Mapping[str, Json], ...] | None") -> Json:
    """The rows as JSON objects; null if they were never collected."""
    return None if rows is None else [dict(row) for row in rows]


def _most_common(names: "Counter[str] | list[str] | tuple[str, ...]") -> list[Json]:
    """[[name, count], ...], the most frequent first, equals by name."""
    ordered = sorted(Counter(names).items(), key=lambda item: (-item[1], item[0]))
    return [[name, count] for name, count in ordered]
