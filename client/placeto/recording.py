"""A recorded step: its ops and edges in the form that Placeto Explorer reads, and its sums."""

import gzip
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from placeto.errors import RecordingError

PHASES = ("forward", "backward", "optimizer")
_PREFIXES = ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


@dataclass(frozen=True, slots=True)
class Recording:
    """The graph of one step as node-link JSON; printed, it gives its sums."""

    graph: dict[str, Any]
    """what holds for the whole: name, framework, torch, beside, batch, optimizer, parameters, flops, without_formula;
    modules (path → class, as they were called) and input_shapes (those to which nodes refer by number), by which a
    profiler's trace is matched"""
    nodes: list[dict[str, Any]]
    """the ops in the order in which they ran, after parameters, buffers, state and inputs"""
    edges: list[dict[str, Any]]
    product_types: frozenset[str]
    """the types of ops that multiply matrices: products, convolutions, attention"""

    def to_json(self) -> dict[str, Any]:
        """The whole as JSON values."""
        return {"directed": True, "multigraph": False, "graph": self.graph, "nodes": self.nodes, "edges": self.edges}

    def save(self, path: str | Path) -> None:
        """Writes the file; its name ends in `.json` or `.json.gz`.

        Raises:
            RecordingError: Another ending.
        """
        path = Path(path)
        if not path.name.endswith((".json", ".json.gz")):
            raise RecordingError(f"{path.name}: the name of a recording ends in .json or .json.gz")
        content = json.dumps(self.to_json(), separators=(",", ":")).encode()
        if path.suffix == ".gz":
            content = gzip.compress(content, compresslevel=6, mtime=0)
        path.write_bytes(content)

    def flops(self, phase: str | None = None, *, products: bool = False) -> int:
        """Floating-point operations of the step or of one phase; a multiply-add is two.

        Args:
            phase: `forward`, `backward` or `optimizer`; all of them without it.
            products: Only those of matrix products, convolutions and attention.
        """
        return sum(
            node["flops"] or 0
            for node in self.nodes
            if phase in (None, node.get("phase")) and (not products or node["type"] in self.product_types)
        )

    @property
    def parameters(self) -> int:
        """Parameters of the model; tied ones count once."""
        return sum(node.get("parameters", 0) for node in self.nodes)

    @property
    def without_formula(self) -> dict[str, int]:
        """How many ops of each type have no formula for their FLOPs."""
        counts = Counter(node["type"] for node in self.nodes if node["flops"] is None)
        return dict(sorted(counts.items()))

    def __str__(self) -> str:
        """Some lines for people."""
        phases = [phase for phase in PHASES if any(node.get("phase") == phase for node in self.nodes)]
        lines = [
            f"{self.graph['name']}: {len(self.nodes):,} ops, {_quantity(self.flops())}FLOP, "
            f"{self.parameters:,} parameters",
            *(
                f"  {phase:<9} {sum(node.get('phase') == phase for node in self.nodes):>7,} ops, "
                f"{_quantity(self.flops(phase))}FLOP, of products {_quantity(self.flops(phase, products=True))}FLOP"
                for phase in phases
            ),
        ]
        if self.without_formula:
            unknown = ", ".join(f"{name} × {count}" for name, count in self.without_formula.items())
            lines.append(f"  without a formula for FLOPs: {unknown}")
        return "\n".join(lines)


def _quantity(value: float) -> str:
    """`81.2 T`."""
    for size, prefix in _PREFIXES:
        if value >= size:
            return f"{value / size:.3g} {prefix}" if value / size < 999.5 else f"{value / size:.0f} {prefix}"
    return f"{value:g} "
