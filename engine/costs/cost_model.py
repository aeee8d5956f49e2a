"""Whatever gives the costs of a graph's ops: the protocol, what it is given, and what it gives."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeAlias

from engine.child.parent import ReportProgress
from engine.costs.costs import Costs
from engine.events import Json
from engine.graphs.graph import ComputationGraph
from engine.graphs.origin import Origin
from engine.graphs.reading_options import ReadingOptions
from engine.graphs.tensorflow.graphdef_messages import GraphMessages

OpRows: TypeAlias = tuple[Mapping[str, Json], ...]


@dataclass(frozen=True, slots=True)
class GraphWithShapes:
    """A graph, and what the shapes of its tensors follow from."""

    graph: ComputationGraph
    messages: GraphMessages | None = None
    """TensorFlow's ops with their attributes, in the order of the graph; None where the file holds none"""
    options: ReadingOptions = field(default_factory=ReadingOptions)
    """what a person says of shapes, batch size, trips and lengths"""


@dataclass(frozen=True, slots=True)
class CostedGraph:
    """The costs of a graph, and what was found on the way to them, as `Origin` has it."""

    costs: Costs
    loops: OpRows | None = None
    branches: OpRows | None = None
    sizes: OpRows | None = None
    batch_helps: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    """what people should know of the costs, a sentence each"""

    def added_to(self, origin: Origin) -> Origin:
        """`origin` with what was found."""
        return replace(
            origin,
            notes=(*origin.notes, *self.notes),
            loops=self.loops,
            branches=self.branches,
            sizes=self.sizes,
            batch_helps=self.batch_helps,
        )


class CostModel(Protocol):
    """Gives the costs of a graph. Works in a child, where TensorFlow may be loaded.

    Estimates (`estimated.py`), measured times in the place of another model's (`measured.py`), and the costs that a
    file brings along (`GivenCosts`) are such models.
    """

    def costs_of(self, graph: GraphWithShapes, kinds: Sequence[str], report_progress: ReportProgress) -> CostedGraph:
        """The costs of `graph` on each of the catalogue's `kinds`. Raises CostError, GraphError, SettingsError."""


@dataclass(frozen=True, slots=True)
class GivenCosts:
    """Costs that the graph's file has in itself, on the kinds that it names."""

    costs: Costs

    def costs_of(self, _graph: GraphWithShapes, _kinds: Sequence[str], _report_progress: ReportProgress) -> CostedGraph:
        """Those of the file."""
        return CostedGraph(self.costs)
