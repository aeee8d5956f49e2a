"""Reads an ONNX file (`.onnx`). Runs in a child.

The weights may lie in other files: their lengths and types are in the model, and no other file is opened.
"""

import numpy as np

from engine.child.parent import ReportProgress
from engine.costs.cost_model import GraphWithShapes
from engine.costs.onnx.dimensions import Dimensions
from engine.costs.onnx.estimating import OnnxCosts
from engine.costs.onnx.walk import Findings, walked
from engine.errors import SettingsError
from engine.formats.format import ReadFile, SourceFile
from engine.formats.graphdef import INLINING, READING
from engine.formats.onnx.functions import with_functions_inlined
from engine.formats.open_inputs import MOST_LISTED, OpenInput
from engine.graphs.graph import CONTROL, ComputationGraph
from engine.graphs.onnx.model_messages import read_model
from engine.graphs.onnx.onnx_graph import ABSENT, OnnxGraph, onnx_graph
from engine.graphs.onnx.own_types import INPUT, SUFFIX
from engine.graphs.origin import Origin
from engine.graphs.reading_options import OPEN_LENGTH, ReadingOptions


def check(source: SourceFile, report_progress: ReportProgress) -> tuple[OpenInput, ...]:
    """Read the whole model; its open inputs. Raises GraphError, SettingsError."""
    return check_content(source.path.read_bytes(), source, report_progress)


def check_content(content: bytes, source: SourceFile, report_progress: ReportProgress) -> tuple[OpenInput, ...]:
    """Check a model that was in any container, as `check` does."""
    report_progress(READING, 0, 0)
    require_options(source.options)
    return open_inputs_of(onnx_graph(with_functions_inlined(read_model(content))), source)


def require_options(options: ReadingOptions) -> None:
    """Raise SettingsError for options of a SavedModel or a GraphDef."""
    given = {"signature": options.signature, "tags": options.tags is not None, "fetches": options.fetches}
    for field, is_given in given.items():
        if is_given:
            raise SettingsError(f"an ONNX model has no {field}", where=field, allowed="none", field=field)


def open_inputs_of(graph: OnnxGraph, source: SourceFile) -> tuple[OpenInput, ...]:
    """The inputs of which the file and the options leave lengths open."""
    inputs = [graph.values[op.outputs[0]] for op in graph.ops if op.type == INPUT and op.node is None]
    dimensions = Dimensions({value.name: value.declared for value in inputs}, source.options)
    found = []
    for value in inputs:
        lengths = dimensions.of_input(value.name).lengths
        if lengths is not None and None in lengths:
            shape = tuple(OPEN_LENGTH if length is None else length for length in lengths)
            found.append(OpenInput(value.name, shape, dimensions.names_of(value.name)))
    return tuple(found[:MOST_LISTED])


def read(source: SourceFile, report_progress: ReportProgress) -> ReadFile:
    """The graph and its estimated costs. Raises GraphError, LimitError, SettingsError."""
    return read_content(source.path.read_bytes(), source, report_progress)


def read_content(content: bytes, source: SourceFile, report_progress: ReportProgress) -> ReadFile:
    """Read a model that was in any container, as `read` does."""
    report_progress(READING, 0, 0)
    require_options(source.options)
    model = read_model(content)
    report_progress(INLINING, 0, 0)
    inlined = with_functions_inlined(model)
    onnx = onnx_graph(inlined)
    walk = walked(onnx, source.options)
    graph = computation_graph(onnx, walk, source.path.stem)
    costs = OnnxCosts(onnx, walk)
    origin = Origin(
        format=SUFFIX,
        options=source.options.to_json(),
        feeds=tuple(op.name for op in onnx.ops if op.type == INPUT and op.node is None),
        notes=() if inlined is model else (_inlined_note(len(model.functions)),),
        fetches=tuple(dict.fromkeys(_makers(onnx, onnx.regions[0].results))),
    )
    return ReadFile(GraphWithShapes(graph, options=source.options), costs, origin, held=costs.held())


def _inlined_note(count: int) -> str:
    whose = "A function of the model is" if count == 1 else f"{count} functions of the model are"
    return f"{whose} replaced by the nodes in {'it' if count == 1 else 'them'}, in the placed file too."


def _makers(onnx: OnnxGraph, values: list[int]) -> list[str]:
    return [onnx.ops[onnx.values[value].op].name for value in values if onnx.values[value].op != ABSENT]


def computation_graph(onnx: OnnxGraph, walk: Findings, name: str) -> ComputationGraph:
    """The ops of the model and their edges.

    An op whose result follows from shapes and constants stays on the device of its first consumer; others need nothing
    of it, and it needs only lengths.
    """
    edges: list[tuple[int, int, int]] = []
    first_consumer: dict[int, int] = {}
    for source, target, output in onnx.edges():
        if walk.is_folded[source]:
            if first_consumer.setdefault(source, target) != target:
                continue
        elif walk.is_folded[target]:
            output = CONTROL
        edges.append((source, target, output))
    pairs = list(first_consumer.items())
    pairs += [(container, op) for op in range(len(onnx.ops)) for container in onnx.containers_of(op)]
    columns = np.array(list(dict.fromkeys(edges)), dtype=np.int32).reshape(-1, 3)
    together = np.array(sorted({tuple(sorted(pair)) for pair in pairs}), dtype=np.int32).reshape(-1, 2)
    count = len(onnx.ops)
    return ComputationGraph(
        name=name,
        op_names=tuple(op.name for op in onnx.ops),
        op_types=tuple(op.type for op in onnx.ops),
        edge_source=columns[:, 0].copy(),
        edge_target=columns[:, 1].copy(),
        edge_output=columns[:, 2].copy(),
        devices=("",) * count,
        colocation=((),) * count,
        back_edges=np.empty((0, 2), dtype=np.int32),
        must_colocate=together,
    )
