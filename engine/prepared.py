"""A graph that is ready to be placed, with its summary for people and its form in the database."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Device
from engine.clusters.device_kinds import class_of_kind, op_rest_us_of_kind
from engine.costs.costs import Costs, CostSource
from engine.costs.source_words import sources_of
from engine.costs.tensorflow.work_of_types import may_be_heavy
from engine.costs.unknown import Unknown
from engine.errors import PlacementError, shortened
from engine.events import Json
from engine.files.archive import fields_of, from_fields, pack, unpack
from engine.graphs.device_string import machines_of, parse_device_string, spelled_device
from engine.graphs.graph import ComputationGraph
from engine.graphs.grouping.grouping import Grouping
from engine.graphs.grouping.nesting import SPLIT, Levels, SplitPlacement, devices_of_groups
from engine.graphs.layout import COLUMN, ROW, Layout, Net, layout
from engine.graphs.loop_order import with_loop_order
from engine.graphs.origin import Origin
from engine.graphs.scopes import OpenScope, open_scope
from engine.graphs.short_names import ShortNames

TYPES_SHOWN = 3
"""types named for each group in the view"""
UNKNOWN_LISTED = 200
"""ops of unknown cost named in the summary"""
MOST_ITEMS_DRAWN, MOST_EDGES_DRAWN = 400, 2_000
"""of an opened scope; a larger one is a list"""
NO_PAIRS, NO_SIZES = np.empty((0, 2), dtype=np.int32), np.empty(0, dtype=np.int64)
DEVICES_LISTED = 100
"""devices, to which the file fixes ops, that the summary names"""
OPS_NAMED = 5
"""ops named for each reason to run on a CPU, or on a GPU"""


@dataclass(frozen=True, slots=True)
class PreparedGraph:
    """A graph that is ready to be placed: read, costed for every kind in the catalogue, grouped."""

    graph: ComputationGraph
    costs: Costs
    grouping: Grouping
    """the groups that people see, and that methods without levels place"""
    origin: Origin = field(default_factory=Origin)
    levels: Levels = field(default_factory=Levels)
    """all groupings that a search may use, `grouping` among them; none where a person fixed the number of groups"""

    def __post_init__(self) -> None:
        object.__setattr__(self, "costs", self.costs.with_types(self.graph.op_types))

    def to_bytes(self) -> bytes:
        """The graph as bytes for the database, without pickle."""
        arrays: dict[str, NDArray[np.generic]] = {}
        texts: dict[str, Json] = {}
        for part in (self.graph, self.costs, self.grouping, self.origin, self.levels):
            part_arrays, part_texts = fields_of(part)
            arrays, texts = arrays | part_arrays, texts | part_texts
        return pack(arrays, texts)

    @staticmethod
    def from_bytes(blob: bytes) -> "PreparedGraph":
        """The inverse of `to_bytes`. In graphs that an older version stored, Exits did not wait for their loops."""
        arrays, texts = unpack(blob)
        return PreparedGraph(
            with_loop_order(from_fields(ComputationGraph, arrays, texts)),
            from_fields(Costs, arrays, texts),
            from_fields(Grouping, arrays, texts),
            from_fields(Origin, arrays, texts),
            from_fields(Levels, arrays, texts),
        )

    def device_of_op(self, placement: SplitPlacement) -> NDArray[np.int32]:
        """[ops] the device of each op. Raises PlacementError for another number of groups or parts."""
        units = self.levels.units(placement)
        return units[self.levels.unit_of_op if self.levels else self.grouping.group_of_op]

    def by_groups(self, device_of_op: NDArray[np.int32]) -> SplitPlacement:
        """A placement [ops] by groups and parts.

        Raises PlacementError for ops on several devices that a run always puts on one: those of a group where the
        number of groups is fixed, else co-located ones.
        """
        group_of_op = self.levels.unit_of_op if self.levels else self.grouping.group_of_op
        device_of_unit = devices_of_groups(group_of_op, int(group_of_op.max()) + 1, device_of_op)
        split = np.flatnonzero(device_of_unit[group_of_op] == SPLIT)
        if len(split):
            group = self.grouping.names[self.grouping.group_of_op[split[0]]]
            what = "ops that must share its device are on others" if self.levels else "its group is on several devices"
            raise PlacementError(
                f"{what}: group {shortened(group)}",
                where=shortened(self.graph.op_names[split[0]]),
                allowed="one device for all ops of a group; a graph read with groups auto or all has smaller ones",
                field="placement",
            )
        return self.levels.split_placement(device_of_unit)

    def summary(self) -> dict[str, Json]:
        """A summary of the graph for people; docs/formats.md describes the keys."""
        found = self._summary()
        return found | {"short_names": self._short_names_in(found)}

    def _short_names_in(self, summary: Mapping[str, Any]) -> Json:
        """Name → short name, of the ops and scopes that a summary names, where these differ and are of one op alone."""
        rows = [row for part in ("loops", "branches", "sizes") for row in summary[part] or ()]
        names = {str(row["name"]) for row in rows} | {str(row[0]) for row in summary["unknown"]}
        for key in ("cpu_ops", "gpu_ops"):
            names.update(str(name) for _, _, listed in summary[key]["reasons"] for name in listed)
        short = self.short_names()
        found = {name: short.of_op_named.get(name) or short.of_scope(name) for name in sorted(names)}
        times = Counter(found.values())
        return {name: words for name, words in found.items() if words != name and times[words] == 1}

    def _summary(self) -> dict[str, Any]:
        graph, costs = self.graph, self.costs
        unknown = np.flatnonzero(costs.source == CostSource.UNKNOWN)
        sources = self.op_time_sources()
        return {
            "name": graph.name,
            "ops": graph.op_count,
            "edges": graph.edge_count,
            "groups": self.grouping.group_count,
            "group_edges": len(self.grouping.edge_source),
            "levels": [*self.levels.group_counts],
            "types": _most_common(graph.op_types),
            "output_bytes": int(costs.output_bytes.sum()),
            "persistent_bytes": int(costs.persistent_bytes.sum()),
            "unknown_ops": len(unknown),
            "unknown_types": _most_common([graph.op_types[op] for op in unknown]),
            "unknown": self._unknown(unknown),
            "sources": dict(sources),
            "bounded_ops": sources.get("bounded", 0) if len(costs.flops) else None,
            **self._flops(),
            "time_us": dict(zip(costs.kinds, np.nansum(costs.op_time_in_step_us(), axis=1).tolist(), strict=True)),
            "one_device_us": self._one_device_us(),
            "at_peaks": costs.at_peaks and len(costs.moved_bytes) > 0,
            "back_edges": len(graph.back_edges),
            "feedback_edges": len(self.grouping.feedback_edges),
            "format": self.origin.format,
            "framework": self.origin.framework,
            "options": dict(self.origin.options),
            "signatures": list(self.origin.signatures),
            "notes": [*self.origin.notes, *(f"Constraint: {line}" for line in graph.constraints)],
            "cpu_ops": _by_reason(self.graph.op_names, self.graph.cpu_reason),
            "gpu_ops": _by_reason(self.graph.op_names, self.graph.gpu_reason),
            "fixed_ops": self._fixed_ops(),
            "loops": _rows(self.origin.loops),
            "branches": _rows(self.origin.branches),
            "sizes": _rows(self.origin.sizes),
            "layers": _rows(self.origin.layers),
            "variables_stored": self.origin.variables_stored,
            "batch_helps": list(self.origin.batch_helps),
            "open_inputs": _rows(self.origin.open_inputs),
        }

    def op_time_sources(self) -> dict[str, int]:
        """The ops by the source of their times: its name in lower case → ops, without empty ones."""
        return sources_of(self.costs)

    def _one_device_us(self) -> dict[str, Json]:
        """By kind: the simulated step on one device, with the kind's rest after each op; None if an op cannot run."""
        times, rests = self.costs.op_time_in_step_us(), self.costs.rests_of_op()
        rests_us = np.array([op_rest_us_of_kind(kind) for kind in self.costs.kinds])
        steps = times.sum(axis=1) + rests_us * ((times > 0) * rests).sum(axis=1)
        needs_gpu = self.graph.needs_gpu.any()
        return {
            kind: None if np.isnan(step) or (needs_gpu and class_of_kind(kind) == "CPU") else float(step)
            for kind, step in zip(self.costs.kinds, steps, strict=True)
        }

    def _flops(self) -> dict[str, Json]:
        """Floating-point operations of a step, in all and by the source of the ops' costs, and types and number of the
        ops that may have more of them; null if not counted."""
        costs = self.costs
        if not len(costs.flops):
            return {"flops": None, "flops_by_source": None, "heavy_unknown": None}
        flops = costs.flops.astype(np.float64) * costs.trips_of_op()  # floats: the sum may be more than an int64
        sums = {source.name.lower(): float(flops[costs.source == source].sum()) for source in CostSource}
        by_source: dict[str, Json] = {name: total for name, total in sums.items() if total}
        why = costs.unknown if len(costs.unknown) else costs.source == CostSource.UNKNOWN
        unknown = np.flatnonzero((why > 0) & (costs.trips_of_op() > 0)).tolist()
        heavy = [self.graph.op_types[op] for op in unknown if may_be_heavy(self.graph.op_types[op])]
        return {"flops": float(flops.sum()), "flops_by_source": by_source, "heavy_unknown": _most_common(heavy)}

    def _unknown(self, ops: NDArray[np.intp]) -> list[Json]:
        """[[name, type, why], ...] of the first `ops`; those that only wait for another op's shape come last."""
        graph, costs = self.graph, self.costs
        if len(costs.unknown):
            ops = ops[np.argsort(costs.unknown[ops] == Unknown.INPUT_SHAPE, kind="stable")]
        shown = ops[:UNKNOWN_LISTED].tolist()
        return [[graph.op_names[op], graph.op_types[op], costs.why_unknown(op)] for op in shown]

    def _fixed_ops(self) -> dict[str, Json]:
        """The number of ops that the file fixes, by device, and the number of machines that these devices name."""
        fixed = [device for device in self.graph.devices if device]
        spelled = {device: spelled_device(parse_device_string(device, "")) for device in set(fixed)}
        by_device = _most_common([spelled[device] for device in fixed])
        return {
            "ops": len(fixed),
            "devices": len(by_device),
            "by_device": by_device[:DEVICES_LISTED],
            "machines": len(machines_of(fixed)),
        }

    def on(self, devices: Sequence[Device]) -> "PreparedGraph":
        """The same graph with times on the kinds of `devices` and no others, for the views of a run."""
        return replace(self, costs=self.costs.by_kind(devices))

    def short_names(self) -> ShortNames:
        """Names for people, of ops and scopes; found anew by each call."""
        return ShortNames.of(self.graph)

    def short_names_of_groups(self) -> list[str]:
        """[groups] those of the ops that give the groups their names."""
        short = self.short_names()
        return [short.of_op_named[name] for name in self.grouping.names]

    def group_time_us(self) -> dict[str, NDArray[np.float64]]:
        """By device kind: [groups] the sum of the times of a group's ops in a step."""
        return self._time_of_nodes(self.grouping.group_of_op, self.grouping.group_count)

    def view(self) -> dict[str, Json]:
        """The grouped graph, laid out, as `GroupGraph` in frontend/js/ui/contracts.js describes it."""
        positions = layout(self.grouping)
        return {
            "groups": self._node_rows(
                self.grouping.names, self.short_names_of_groups(), self.grouping.group_of_op, positions
            ),
            **_drawing(self.grouping, positions, NO_PAIRS, NO_SIZES),
        }

    def scope_view(self, group: int, prefix: str) -> dict[str, Json]:
        """The name scopes and ops of `group` right below the scope `prefix`, as `ScopeGraph` in
        frontend/js/ui/contracts.js describes them. More than a drawing holds are not laid out.

        Raises GraphError where the group has no such scope.
        """
        opened = open_scope(self.graph, self.costs, self.grouping.group_of_op, group, prefix)
        short = self.short_names()
        edges = len(opened.edge_source) + len(opened.against)
        is_drawn = opened.group_count <= MOST_ITEMS_DRAWN and edges <= MOST_EDGES_DRAWN
        positions = layout(opened) if is_drawn else None
        ops = np.flatnonzero(opened.item_of_op >= 0)
        return {
            "scope": opened.prefix,
            "short_scopes": _short_names_around(short, prefix),
            "is_drawn": is_drawn,
            "ops": ops.tolist(),
            "item_of_op": opened.item_of_op[ops].tolist(),
            "opens": [
                name if is_scope else None
                for name, is_scope in zip(opened.names, opened.is_scope.tolist(), strict=True)
            ],
            "inputs": opened.inputs.tolist(),
            "outputs": opened.outputs.tolist(),
            "groups": self._node_rows(opened.names, _short_names_of_items(short, opened), opened.item_of_op, positions),
            **_drawing(opened, positions, opened.against, opened.bytes_against),
        }

    def _node_rows(
        self,
        names: Sequence[str],
        short_names: Sequence[str],
        node_of_op: NDArray[np.int32],
        positions: Layout | None,
    ) -> list[Json]:
        """A row for each node, a group or an item of a scope; ops in none of them have a negative number."""
        count = len(names)
        inside = np.flatnonzero(node_of_op >= 0)
        node_of_inside = node_of_op[inside]
        types: list[Counter[str]] = [Counter() for _ in range(count)]
        for node, op in zip(node_of_inside.tolist(), inside.tolist(), strict=True):
            types[node][self.graph.op_types[op]] += 1
        sums = partial(np.bincount, node_of_inside, minlength=count)
        time_us = self._time_of_nodes(node_of_op, count)
        output_bytes = sums(weights=self.costs.bytes_of_op()[inside])
        persistent_bytes = sums(weights=self.costs.persistent_bytes[inside])
        ops = sums()
        return [
            {
                "id": node,
                "name": names[node],
                "short_name": short_names[node],
                "ops": int(ops[node]),
                "types": _most_common(types[node])[:TYPES_SHOWN],
                "time_us": {kind: float(times[node]) for kind, times in time_us.items()},
                "output_bytes": int(output_bytes[node]),
                "persistent_bytes": int(persistent_bytes[node]),
                "x": float(positions.x[node]) if positions else 0.0,
                "y": float(positions.y[node]) if positions else 0.0,
            }
            for node in range(count)
        ]

    def _time_of_nodes(self, node_of_op: NDArray[np.int32], count: int) -> dict[str, NDArray[np.float64]]:
        inside = np.flatnonzero(node_of_op >= 0)
        return {
            kind: np.bincount(node_of_op[inside], np.nan_to_num(times[inside]), count).astype(np.float64, copy=False)
            for kind, times in zip(self.costs.kinds, self.costs.op_time_in_step_us(), strict=True)
        }


def _drawing(
    net: Net, positions: Layout | None, against: NDArray[np.int32], bytes_against: NDArray[np.int64]
) -> dict[str, Json]:
    """The edges, those against the order last, and where everything stands; without positions there are none."""
    edges: list[Json] = []
    if positions:
        source = np.concatenate((net.edge_source, against[:, 0])).tolist()
        target = np.concatenate((net.edge_target, against[:, 1])).tolist()
        sizes = np.concatenate((net.edge_bytes, bytes_against)).tolist()
        edges = [
            {"source": one, "target": other, "bytes": size}
            for one, other, size in zip(source, target, sizes, strict=True)
        ]
    return {
        "edges": edges,
        "width": positions.width if positions else 0.0,
        "height": positions.height if positions else 0.0,
        "across": COLUMN,
        "down": ROW,
        "strips": [
            {"left": strip.left, "right": strip.right, "leads_up": strip.leads_up}
            for strip in (positions.strips if positions else ())
        ],
    }


def _short_names_of_items(short: ShortNames, opened: OpenScope) -> list[str]:
    """[items] of an opened scope; a scope and an op that would have one name keep their own."""
    found = [
        short.of_scope(name) if is_scope else short.of_op_named[name]
        for name, is_scope in zip(opened.names, opened.is_scope.tolist(), strict=True)
    ]
    times = Counter(found)
    return [name if times[name] == 1 else own for name, own in zip(found, opened.names, strict=True)]


def _short_names_around(short: ShortNames, prefix: str) -> dict[str, Json]:
    """Scope → short name, of `prefix` and the scopes around it."""
    parts = prefix.split("/") if prefix else []
    around = ["/".join(parts[: depth + 1]) for depth in range(len(parts))]
    return {scope: short.of_scope(scope) for scope in around}


def _by_reason(op_names: Sequence[str], reasons: Sequence[str]) -> dict[str, Json]:
    """The number of ops with a reason, and number and names by reason, the most frequent reason first."""
    names: dict[str, list[Json]] = {}
    for name, reason in zip(op_names, reasons, strict=True):
        if reason:
            names.setdefault(reason, []).append(name)
    ordered = sorted(names.items(), key=lambda item: (-len(item[1]), item[0]))
    by_reason: list[Json] = [[reason, len(ops), ops[:OPS_NAMED]] for reason, ops in ordered]
    return {"ops": sum(map(len, names.values())), "reasons": by_reason}


def _rows(rows: "tuple[Mapping[str, Json], ...] | None") -> Json:
    """The rows as JSON objects; null if they were never collected."""
    return None if rows is None else [dict(row) for row in rows]


def _most_common(names: "Counter[str] | list[str] | tuple[str, ...]") -> list[Json]:
    """[[name, count], ...], the most frequent first, equals by name."""
    ordered = sorted(Counter(names).items(), key=lambda item: (-item[1], item[0]))
    return [[name, count] for name, count in ordered]
