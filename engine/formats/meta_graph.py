"""A MetaGraphDef (`.meta`): its training step is read, or a signature that is asked for. Runs in a child."""

from pathlib import Path

from engine.child.parent import ReportProgress
from engine.formats import graphdef
from engine.formats.format import PLACED_FILE, Placing, ReadFile, Source
from engine.formats.graphdef import OPENING, OpenedGraph
from engine.graphs.graphdef_messages import read_messages
from engine.graphs.meta_graph import (
    MetaGraph,
    Step,
    meta_graph_of_file,
    signatures_of,
    step_of_collections,
    step_of_signature,
)
from engine.graphs.origin import Origin
from engine.graphs.pruning import pruned


def check(source: Source, report_progress: ReportProgress) -> None:
    """Read the whole graph, whichever part of it a step would run. Raises GraphError."""
    report_progress(OPENING, 0, 0)
    meta_graph = meta_graph_of_file(source.path.read_bytes())
    graphdef.check_messages(read_messages(meta_graph.graph, ".pb"), source)


def opened(source: Source, report_progress: ReportProgress) -> OpenedGraph:
    """What the collections say a step is run for, or the signature that is asked for."""
    report_progress(OPENING, 0, 0)
    meta_graph = meta_graph_of_file(source.path.read_bytes())
    if source.options.signature:
        return of_step(meta_graph, step_of_signature(meta_graph, source.options.signature))
    return of_step(meta_graph, step_of_collections(meta_graph))


def of_step(meta_graph: MetaGraph, step: Step) -> OpenedGraph:
    """The part of the graph that `step` runs; all of it where the step does not say."""
    messages = read_messages(meta_graph.graph, ".pb")
    notes: tuple[str, ...] = ()
    if step.fetches:
        before = len(messages.nodes)
        messages = pruned(messages, step.fetches)
        notes = (f"Of the file's {before} ops those {len(messages.nodes)} were read that {step.said_by} needs.",)
    ops = {node.name for node in messages.nodes}
    feeds = tuple(name for name in step.feeds if name in ops)
    origin = Origin(feeds=feeds, fetches=step.fetches, signatures=signatures_of(meta_graph), notes=notes)
    return OpenedGraph(messages, origin)


def read(source: Source, report_progress: ReportProgress) -> ReadFile:
    """The step's graph and its estimated costs. Raises GraphError, LimitError, SettingsError."""
    return graphdef.read_opened(opened(source, report_progress), source, report_progress)


def write(source: Source, placing: Placing, folder: Path, report_progress: ReportProgress) -> None:
    """The step's GraphDef with its devices. Raises PlacementError, GraphError, LimitError."""
    (folder / PLACED_FILE).write_bytes(graphdef.placed(read(source, report_progress), source.suffix, placing))
