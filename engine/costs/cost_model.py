"""The protocol of a model that gives the costs of a graph's ops, its argument and its result."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeAlias

from engine.child.parent import ReportProgress
from engine.costs.costs import Costs
from engine.costs.pytorch.recorded_calls import RecordedCalls
from engine.events import Json
from engine.graphs.graph import ComputationGraph
from engine.graphs.origin import Origin
from engine.graphs.reading_options import ReadingOptions
from engine.graphs.tensorflow.graphdef_messages import GraphMessages

OpRows: TypeAlias = tuple[Mapping[str, Json], ...]


@dataclass(frozen=True, slots=True)
class GraphWithShapes:
    """A graph, and the data from which the shapes of its tensors follow."""

    graph: ComputationGraph
    messages: GraphMessages | None = None
    """TensorFlow's ops with their attributes, in the order of the graph; None where the file holds none"""
    options: ReadingOptions = field(default_factory=ReadingOptions)
    """the shapes, batch size, trips and lengths that a person gives"""
    calls: RecordedCalls | None = None
    """of a recorded PyTorch step"""


@dataclass(frozen=True, slots=True)
class CostedGraph:
    """The costs of a graph, and the findings made with them, in the form of `Origin`."""

    costs: Costs
    loops: OpRows | None = None
    branches: OpRows | None = None
    sizes: OpRows | None = None
    batch_helps: tuple[int, ...] = ()
    open_inputs: OpRows = ()
    notes: tuple[str, ...] = ()
    """remarks on the costs for people, a sentence each"""

    def added_to(self, origin: Origin) -> Origin:
        """`origin` with these findings."""
        return replace(
            origin,
            notes=(*origin.notes, *self.notes),
            loops=self.loops,
            branches=self.branches,
            sizes=self.sizes,
            batch_helps=self.batch_helps,
            open_inputs=self.open_inputs,
        )


class CostModel(Protocol):
    """Gives the costs of a graph. Works in a child, where TensorFlow may be loaded.

    Such models are estimates (`estimated.py`), measured times in place of another model's (`measured.py`), and the
    costs in a graph's own file (`GivenCosts`).
    """

    def costs_of(self, graph: GraphWithShapes, kinds: Sequence[str], report_progress: ReportProgress) -> CostedGraph:
        """The costs of `graph` on each of the catalogue's `kinds`. Raises CostError, GraphError, SettingsError."""


@dataclass(frozen=True, slots=True)
class GivenCosts:
    """The costs in the graph's own file, on the kinds that it names."""

    costs: Costs

    def costs_of(self, _graph: GraphWithShapes, _kinds: Sequence[str], _report_progress: ReportProgress) -> CostedGraph:
        """Return the costs in the file."""
        return CostedGraph(self.costs)
