"""Carries an input through the functions that read it in the application, in this process."""

import dataclasses
import json
from pathlib import Path
from typing import cast

from engine.child.parent import Limits, ReportProgress, Results, no_progress, require_size
from engine.clusters.cluster_json import cluster_to_json
from engine.clusters.parsing import parse_cluster
from engine.costs.costs import Costs
from engine.errors import SettingsError
from engine.events import Json
from engine.files.archive import from_fields, pack, unpack
from engine.formats import reading, writing
from engine.formats.format import PLACED_FILE, Placing
from engine.formats.registry import FORMATS
from engine.graphs.graph import ComputationGraph
from engine.graphs.origin import Origin
from engine.graphs.reading_options import ReadingOptions, tags_of_text
from engine.policies.upload import check_in_child as check_policy_in_child
from engine.prepared import PreparedGraph
from tests.fuzz.inputs import CLUSTER, GRAPH, POLICY, Input
from webapp.graphs.input_shapes import parse_input_shapes
from webapp.graphs.named_numbers import parse_named_numbers

LIMITS = Limits()
PLACED_ON = "/device:CPU:0"
WRITTEN_AS = {".meta": ".pb"}
"""suffix → that of the placed file, where it is another one"""


def read_input(tried: Input, folder: Path) -> None:
    """Read it as the application does. Raises a PlacetoError where that refuses it."""
    {GRAPH: _read_graph, POLICY: _read_policy, CLUSTER: _read_cluster}[tried.kind](tried, folder)


def _read_cluster(tried: Input, _folder: Path) -> None:
    cluster = parse_cluster(tried.content.decode("utf-8", "replace"))
    again = parse_cluster(json.dumps(cluster_to_json(cluster)))
    assert cluster_to_json(again) == cluster_to_json(cluster), "a cluster's JSON describes it"


def _read_policy(tried: Input, folder: Path) -> None:
    path = folder / "policy.safetensors"
    path.write_bytes(tried.content)
    _, texts = check_policy_in_child({"path": str(path), "where": path.name}, folder, no_progress)
    json.dumps(texts, allow_nan=False)


def _read_graph(tried: Input, folder: Path) -> None:
    """Check, read, cost, group, summarize; then write the graph with all ops on one device."""
    options, groups, kind = _options(tried)
    path = folder / f"graph{tried.suffix}"
    path.write_bytes(tried.content)
    require_size(path, LIMITS)
    reading._require_options(path, tried.suffix, options)
    order = reading.order_of(path, tried.suffix, options, LIMITS)
    reading.check_in_child(order, folder, no_progress)
    times = None
    if tried.times:
        times = folder / "times.pb"
        times.write_bytes(tried.times)
        order |= {"run_metadata": str(times), "profile_kind": kind}
        reading.check_run_metadata_in_child(order, folder, no_progress)
    reading._require_profiled(tried.suffix, times, kind)
    arrays, texts = unpack(pack(*reading.read_in_child(order, folder, no_progress)))
    graph, costs = from_fields(ComputationGraph, arrays, texts), from_fields(Costs, arrays, texts)
    grouping, levels = reading.grouped(graph, costs, groups)
    prepared = PreparedGraph(graph, costs, grouping, from_fields(Origin, arrays, texts), levels)
    json.dumps([prepared.summary(), prepared.view()], allow_nan=False)
    PreparedGraph.from_bytes(prepared.to_bytes())
    if FORMATS[tried.suffix].write:
        suffix = WRITTEN_AS.get(tried.suffix, tried.suffix)
        placing = Placing(dict.fromkeys(graph.op_names, PLACED_ON), suffix, False, False)
        writing.write_in_child(order | {"placing": dataclasses.asdict(placing)}, folder, no_progress)
        assert (folder / PLACED_FILE).stat().st_size > 0, "a placed graph is written"


def _options(tried: Input) -> tuple[ReadingOptions, reading.Groups, str | None]:
    """The options in the fields, as the application's form makes them. Raises SettingsError."""
    fields = tried.fields
    batch_size, groups = fields.get("batch_size", "").strip(), fields.get("groups", "").strip()
    options = ReadingOptions(
        fields.get("signature", "").strip(),
        _integer(batch_size) if batch_size else None,
        parse_input_shapes(fields.get("input_shapes", "")),
        parse_named_numbers(fields.get("trips", ""), "trips", "while=40"),
        parse_named_numbers(fields.get("sizes", ""), "sizes", "Where=100"),
        tuple(dict.fromkeys(line.strip() for line in fields.get("fetches", "").splitlines() if line.strip())),
        tags_of_text(fields["tags"]) if fields.get("tags") else None,
    )
    most: reading.Groups = reading.AUTO_GROUPS
    if groups:
        most = None if groups == "all" else max(1, _integer(groups))
    return options, most, fields.get("profile_kind") or None


def _integer(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise SettingsError("no integer", field="batch_size")
    return int(text)


def as_order(tried: Input) -> dict[str, Json]:
    """The input for a child of the engine's own, as `read_in_one_child` takes it."""
    return {"input": tried.to_json()}


def read_in_one_child(order: dict[str, Json], folder: Path, _report: ReportProgress) -> Results:
    """Read the input of `as_order`, in a child with the application's limits. Raises a PlacetoError."""
    read_input(Input.from_json(cast(str, order["input"])), folder)
    return {}, {}
