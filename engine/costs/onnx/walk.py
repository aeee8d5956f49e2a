"""Goes through a model once, in the order in which it runs, and finds what is known of each value before it runs.

Nothing of the model is run. The body of a loop is gone through once, and again where a tensor grows in it: its largest
size counts.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from onnx import TensorProto

from engine.costs.onnx.bounds import bounded
from engine.costs.onnx.dimensions import Dimensions
from engine.costs.onnx.execution import OnnxExecution
from engine.costs.onnx.inference import inferred
from engine.costs.onnx.known import UNKNOWN, ValueFacts, joined, known_of, wider
from engine.costs.onnx.small_values import computed, with_contents
from engine.errors import SettingsError, shortened
from engine.events import Json
from engine.graphs.onnx.onnx_graph import ABSENT, OnnxGraph, Op
from engine.graphs.onnx.own_types import INPUT
from engine.graphs.reading_options import MOST_TRIPS, ReadingOptions

MOST_EXECUTIONS = 10**18
MOST_GROWING = 4
"""loops in each other whose growing tensors are followed"""
SHOWN = 8
"""names listed in an error"""


@dataclass(slots=True)
class IfBranch:
    """An If."""

    op: int
    taken: int | None
    """0 for `then`, 1 for `else`; None: the condition is not known"""


@dataclass(slots=True)
class Findings:
    """What is known of a model's values, and how often its ops run."""

    known: list[ValueFacts]
    """of each value"""
    trips: list[int]
    """executions of each op in a step, with both sides of an If"""
    is_folded: list[bool]
    """whether what an op gives follows from shapes and constants"""
    loops: dict[int, tuple[int, str]] = field(default_factory=dict)
    """Loop or Scan → trips, and the source of their number"""
    branches: list[IfBranch] = field(default_factory=list)
    sizes: dict[int, dict[str, Json]] = field(default_factory=dict)
    """op whose output's length depends on data → its row"""
    dimensions: list[dict[str, Json]] = field(default_factory=list)

    def of(self, values: Sequence[int]) -> list[ValueFacts | None]:
        """What is known of these values; None for one that is left out."""
        return [None if value == ABSENT else self.known[value] for value in values]


def walked(graph: OnnxGraph, options: ReadingOptions) -> Findings:
    """Go through `graph`. Raises SettingsError for options that it cannot meet."""
    return _Walker(graph, options).walk


class _Walker:
    def __init__(self, graph: OnnxGraph, options: ReadingOptions) -> None:
        self._graph, self._options = graph, options
        ops = len(graph.ops)
        self.walk = Findings([UNKNOWN] * len(graph.values), [1] * ops, [False] * ops)
        inputs = {
            graph.values[op.outputs[0]].name: graph.values[op.outputs[0]].declared
            for op in graph.ops
            if op.type == INPUT and op.node is None
        }
        self._dimensions = Dimensions(inputs, options)
        for value, each in enumerate(graph.values):
            if each.tensor is not None:
                self.walk.known[value] = ValueFacts(each.tensor.type, each.tensor.shape, each.tensor.content)
        self._run(0, 1, 0)
        self.walk.dimensions = self._dimensions.rows()
        self._require_names()

    def _run(self, region: int, executions: int, depth: int) -> None:
        """Go through the ops of a region, which a step runs `executions` times."""
        for number in self._graph.regions[region].ops:
            op = self._graph.ops[number]
            self.walk.trips[number] = executions
            if op.node is None:
                if op.type == INPUT:
                    value = op.outputs[0]
                    self.walk.known[value] = self._dimensions.of_input(self._graph.values[value].name)
                continue
            inputs = self.walk.of(op.inputs)
            if op.regions:
                found = self._container(number, op, inputs, executions, depth)
            else:
                found = self._outputs(number, op, inputs)
            self._keep(op, found)

    def _keep(self, op: Op, found: Sequence[ValueFacts]) -> None:
        for value, known in zip(op.outputs, found, strict=False):
            if value != ABSENT:
                declared = known_of(self._graph.values[value].declared, self._dimensions.lengths)
                self.walk.known[value] = joined(known, declared)

    def _outputs(self, number: int, op: Op, inputs: Sequence[ValueFacts | None]) -> list[ValueFacts]:
        """What is known of the outputs of an op without bodies."""
        assert op.node is not None
        found = inferred(op, inputs, self._graph.versions)
        if not op.domain:
            contents = computed(OnnxExecution(op.node, inputs, [None] * len(op.outputs)))
            found = with_contents(found, contents)
            self.walk.is_folded[number] = bool(found) and all(
                known.content is not None for known, value in zip(found, op.outputs, strict=True) if value != ABSENT
            )
            found = self._sized(number, op, inputs, found)
        if any(known is not None and known.is_bounded for known in inputs):
            found = [replace(known, is_bounded=True) if known.content is None else known for known in found]
        return found

    def _sized(
        self, number: int, op: Op, inputs: Sequence[ValueFacts | None], found: list[ValueFacts]
    ) -> list[ValueFacts]:
        """The outputs with a length that depends on data: as given, or its bound."""
        assert op.node is not None
        size = bounded(OnnxExecution(op.node, inputs, found), self._options.sizes.get(op.name))
        if size is None:
            return found
        row: dict[str, Json] = {"name": op.name, "type": op.type, "length": size.length, "source": size.source}
        self.walk.sizes[number] = row
        return size.outputs

    def _container(
        self, number: int, op: Op, inputs: Sequence[ValueFacts | None], executions: int, depth: int
    ) -> list[ValueFacts]:
        """What is known of the outputs of an op that runs bodies."""
        if op.type == "If":
            return self._branch(number, op, inputs, executions, depth)
        scanned = self._scanned(op) if op.type == "Scan" else []
        trips, source = self._trips(op, inputs, scanned)
        self.walk.loops[number] = (trips, source)
        first = self._first_formals(op, inputs, scanned)
        inner = min(executions * trips, MOST_EXECUTIONS)
        results = self._body(op, first, inner, depth)
        grown = _grown(first, self._carried(op, results), trips, 2 if op.type == "Loop" else 0)
        if grown is not None:
            results = self._body(op, grown if depth < MOST_GROWING else _opened(first, grown), inner, depth)
        return self._loop_outputs(op, results, trips if source != "assumed" else None, scanned)

    def _branch(
        self, number: int, op: Op, inputs: Sequence[ValueFacts | None], executions: int, depth: int
    ) -> list[ValueFacts]:
        condition = inputs[0].content if inputs and inputs[0] is not None else None
        taken = None if condition is None or condition.size != 1 else int(not condition.reshape(-1)[0])
        self.walk.branches = [each for each in self.walk.branches if each.op != number]
        self.walk.branches.append(IfBranch(number, taken))
        sides = []
        for side, region in enumerate(op.regions):
            self._run(region, executions if taken in (None, side) else 0, depth + 1)
            results = self.walk.of(self._graph.regions[region].results)
            sides.append([known or UNKNOWN for known in results])
        if taken is not None:
            return sides[taken]
        return [wider(one, other) for one, other in zip(*sides, strict=False)]

    def _scanned(self, op: Op) -> list[int]:
        """The positions of the inputs of a Scan through which it goes."""
        assert op.node is not None
        count = OnnxExecution(op.node, [], []).number("num_scan_inputs", 0)
        return list(range(max(len(op.inputs) - count, 0), len(op.inputs)))

    def _axes(self, op: Op, key: str, count: int) -> list[int]:
        assert op.node is not None
        axes = OnnxExecution(op.node, [], []).numbers(key)
        return axes if len(axes) == count else [0] * count

    def _trips(self, op: Op, inputs: Sequence[ValueFacts | None], scanned: Sequence[int]) -> tuple[int, str]:
        """How often a step runs the body, and where the number is from. Raises SettingsError."""
        trips, source = self._trips_in_file(op, inputs, scanned)
        given = self._options.trips.get(op.name)
        if given is None:
            return trips, source
        if source in ("constant", "length") and given != trips:
            what = f"{given} trips contradict the file"
            raise SettingsError(what, where=shortened(op.name), allowed=f"{trips}", field="trips")
        if source == "at most" and given > trips:
            what = f"{given} trips contradict the file"
            raise SettingsError(what, where=shortened(op.name), allowed=f"at most {trips}", field="trips")
        return given, source if source in ("constant", "length") else "given"

    def _trips_in_file(self, op: Op, inputs: Sequence[ValueFacts | None], scanned: Sequence[int]) -> tuple[int, str]:
        if op.type == "Scan":
            axes = self._axes(op, "scan_input_axes", len(scanned))
            for position, axis in zip(scanned, axes, strict=True):
                known = inputs[position]
                lengths = None if known is None else known.lengths
                if lengths is not None and -len(lengths) <= axis < len(lengths) and lengths[axis] is not None:
                    length = int(lengths[axis] or 0)
                    return (length, "length") if length <= MOST_TRIPS else (1, "assumed")
            return 1, "assumed"
        most = inputs[0] if inputs else None
        if most is None or most.content is None or most.content.size != 1:
            return 1, "assumed"
        trips = int(most.content.reshape(-1)[0])
        if trips > MOST_TRIPS:
            return 1, "assumed"
        is_constant = self._graph.values[op.inputs[0]].tensor is not None
        if self._may_end(op):
            return max(trips, 0), "at most"
        return max(trips, 0), "constant" if is_constant else "length"

    def _may_end(self, op: Op) -> bool:
        """Whether the body of a Loop gives a condition that may be false."""
        body = self._graph.regions[op.regions[0]]
        if not body.results:
            return False
        value = body.results[0]
        while True:
            each = self._graph.values[value]
            if each.tensor is not None and each.tensor.content is not None:
                return not bool(each.tensor.content.reshape(-1)[:1].all())
            if len(body.formals) > 1 and value == body.formals[1]:
                return False  # the condition stays as it was
            if each.op == ABSENT or self._graph.ops[each.op].type not in ("Identity", "Cast"):
                return True
            value = self._graph.ops[each.op].inputs[0]

    def _first_formals(self, op: Op, inputs: Sequence[ValueFacts | None], scanned: Sequence[int]) -> list[ValueFacts]:
        """What the body gets in its first trip."""
        plain = [UNKNOWN if known is None else replace(known, content=None) for known in inputs]
        if op.type == "Loop":
            return [ValueFacts(TensorProto.INT64, ()), ValueFacts(TensorProto.BOOL, ()), *plain[2:]]
        axes = self._axes(op, "scan_input_axes", len(scanned))
        for position, axis in zip(scanned, axes, strict=True):
            lengths = plain[position].lengths
            if lengths is not None and -len(lengths) <= axis < len(lengths):
                kept = list(lengths)
                del kept[axis]
                plain[position] = replace(plain[position], lengths=tuple(kept))
        return plain

    def _body(self, op: Op, formals: Sequence[ValueFacts], executions: int, depth: int) -> list[ValueFacts]:
        """Go through the body of a loop; what is known of its results."""
        region = self._graph.regions[op.regions[0]]
        for position, value in enumerate(region.formals):
            known = formals[position] if position < len(formals) else UNKNOWN
            declared = known_of(self._graph.values[value].declared, self._dimensions.lengths)
            self.walk.known[value] = joined(known, declared)
        self._run(op.regions[0], executions, depth + 1)
        return [known or UNKNOWN for known in self.walk.of(region.results)]

    def _carried(self, op: Op, results: Sequence[ValueFacts]) -> list[ValueFacts]:
        """The results that the body gets in the next trip, in the order of its inputs."""
        if op.type == "Loop":
            return [ValueFacts(TensorProto.INT64, ()), *results[: len(op.inputs) - 1]]
        return list(results[: len(op.inputs) - len(self._scanned(op))])

    def _loop_outputs(
        self, op: Op, results: Sequence[ValueFacts], trips: int | None, scanned: Sequence[int]
    ) -> list[ValueFacts]:
        """Carried values as they are at the end, then a row a trip of the other results."""
        skipped = 1 if op.type == "Loop" else 0
        carried = len(op.inputs) - 2 if op.type == "Loop" else len(op.inputs) - len(scanned)
        found = [replace(known, content=None) for known in results[skipped : skipped + carried]]
        rows = results[skipped + carried :]
        axes = self._axes(op, "scan_output_axes", len(rows)) if op.type == "Scan" else [0] * len(rows)
        for known, axis in zip(rows, axes, strict=True):
            if known.lengths is None:
                found.append(replace(known, content=None))
                continue
            lengths = list(known.lengths)
            lengths.insert(axis if axis >= 0 else len(lengths) + 1 + axis, trips)
            found.append(ValueFacts(known.type, tuple(lengths), None, known.other, known.is_bounded))
        return found

    def _require_names(self) -> None:
        """Raise SettingsError for options that name something that the graph lacks."""
        loops = [self._graph.ops[op].name for op in self.walk.loops]
        _require(self._options.trips, loops, "the graph has no such loop", "trips")
        sizes = [*self._dimensions.names, *(str(row["name"]) for row in self.walk.sizes.values())]
        _require(self._options.sizes, sizes, "the graph has no dimension or length of this name", "sizes")


def _require(given: Iterable[str], names: Sequence[str], what: str, field: str) -> None:
    known = set(names)
    for name in given:
        if name not in known:
            shown = ", ".join(shortened(each) for each in names[:SHOWN]) + ", …" * (len(names) > SHOWN)
            raise SettingsError(what, where=shortened(name), allowed=shown or "none: it has none", field=field)


def _grown(
    first: Sequence[ValueFacts], carried: Sequence[ValueFacts], trips: int, start: int
) -> list[ValueFacts] | None:
    """What the body gets in its last trip, where lengths differ from those of the first; None where none do."""
    found, differs = list(first), False
    for position in range(start, min(len(first), len(carried))):
        before, after = first[position].lengths, carried[position].lengths
        if before is None or after is None or before == after:
            continue
        differs = True
        if len(before) != len(after):
            found[position] = replace(first[position], lengths=None)
            continue
        lengths = tuple(
            one
            if one == other
            else None
            if one is None or other is None
            else max(one, one + (other - one) * (trips - 1))
            for one, other in zip(before, after, strict=True)
        )
        found[position] = replace(first[position], lengths=lengths, is_bounded=True)
    return found if differs else None


def _opened(first: Sequence[ValueFacts], grown: Sequence[ValueFacts]) -> list[ValueFacts]:
    """The lengths that differ, left open."""
    return [
        one if one.lengths == other.lengths else replace(one, lengths=None)
        for one, other in zip(first, grown, strict=True)
    ]
