"""The examples of docs/formats are read by the engine, and give the reports and events that stand beside them."""

import json
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, cast

import pytest

from engine import api
from engine.clusters.cluster import Contention, MemoryModel
from engine.clusters.cluster_json import cluster_of_json, cluster_to_json
from engine.comparing.child import outcome_of
from engine.comparing.listener import SINGLE_DEVICE, Listener
from engine.formats.node_link.reader import read_nodelink
from engine.graphs.grouping.grouping import group_ops
from engine.graphs.tensorflow.graphdef_messages import read_messages

FORMATS = Path(__file__).resolve().parent.parent / "docs" / "formats"
PAGE = "\n".join(page.read_text() for page in sorted(FORMATS.glob("*.md")))
VARIES = {"wall_seconds", "elapsed_seconds", "seconds", "engine_version"}
"""fields that a clock or the next release decides"""
REPEATED = "as in the report of place"


def examples(words: str) -> list[str]:
    """The fenced blocks that begin with these words."""
    return re.findall(rf"^```{words}\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)


def example(words: str) -> Any:
    """The JSON of the first block of its kind, with what it repeats of the report of `place`."""
    return unabridged(json.loads(examples(f"json {words}")[0]))


def unabridged(value: Any) -> Any:
    """`value` with the fields that stand in the report of `place`."""
    if isinstance(value, list):
        return [unabridged(item) for item in value]
    if isinstance(value, dict):
        named = {name: example("report of place")[name] if item == REPEATED else item for name, item in value.items()}
        return {name: unabridged(item) for name, item in named.items()}
    return value


def comparable(value: Any) -> Any:
    """Without the values that vary, and without the last digits, which another processor may round otherwise."""
    if isinstance(value, list):
        return [comparable(item) for item in value]
    if isinstance(value, dict):
        return {name: None if name in VARIES else comparable(item) for name, item in value.items()}
    return float(f"{value:.9g}") if isinstance(value, float) else value


@pytest.fixture(scope="module")
def prepared() -> api.PreparedGraph:
    graph, costs = read_nodelink(examples("json graph")[0].encode())
    return api.PreparedGraph(graph, costs, group_ops(graph, costs, None))


@pytest.fixture(scope="module")
def cluster() -> api.Cluster:
    return api.parse_cluster(examples("json cluster")[0])


def request_in(report: dict[str, Any], evaluations: int, cluster: api.Cluster) -> api.RunRequest:
    return api.RunRequest(cluster, report["method"], api.Budget(evaluations), report["seed"], report["settings"])


def test_the_shorthand_is_the_cluster_beside_it() -> None:
    short = api.cluster_to_json(api.parse_cluster("2xK80"))
    assert api.cluster_to_json(api.parse_cluster(examples("json cluster")[1])) == short


def names_in(value: Any, prefix: str = "") -> Iterator[str]:
    """Every field of `value`, as the tables write it: `devices[].kind`, `links.contention`."""
    for name, item in value.items():
        yield f"{prefix}{name}"
        if isinstance(item, dict):
            yield from names_in(item, f"{prefix}{name}.")
        elif isinstance(item, list) and item and isinstance(item[0], dict):
            yield from names_in(item[0], f"{prefix}{name}[].")


def test_every_field_of_a_cluster_is_described_with_its_default(cluster: api.Cluster) -> None:
    known = [name for name in names_in(cluster_to_json(cluster)) if name != "links" and "pairs[]" not in name]
    defaults = cluster_to_json(cluster_of_json({"devices": [{"name": "/device:GPU:0", "kind": "K80"}]}))
    links = cast(dict[str, Any], defaults["links"])
    rows = re.findall(r"^\| `([^`]+)` \|([^|]*)\|", PAGE, flags=re.MULTILINE)
    documented = {name: default.strip() for name, default in reversed(rows)}  # the first row of a name counts
    assert [name for name in known if name not in documented] == []
    assert documented["op_rest_us"] == str(defaults["op_rest_us"])
    assert documented["memory_model"] == f"`{defaults['memory_model']}`"
    assert documented["links.contention"] == f"`{links['contention']}`"
    for name in ("bandwidth_bytes_per_us", "latency_us", "rest_us"):
        assert float(documented[f"links.{name}"]) == links[name]
    assert {*Contention, *MemoryModel} <= documented.keys()


def test_every_device_kind_is_described_with_its_memory() -> None:
    documented = re.findall(r"^\| `([\w-]+)` \| [^|]* \| ([\d,]+) \|$", PAGE, flags=re.MULTILINE)
    kinds = {kind: api.parse_cluster(kind).devices[0].memory_bytes for kind, _ in documented}
    assert {kind: int(size.replace(",", "")) for kind, size in documented} == kinds
    assert {kind.name for kind in api.device_kinds()} <= kinds.keys()


def test_the_graph_as_text_is_read() -> None:
    messages = read_messages(examples("pbtxt graph")[0].encode(), ".pbtxt")
    assert [node.name for node in messages.nodes] == ["images", "weights", "scores"]


def test_the_report_of_simulate(prepared: api.PreparedGraph, cluster: api.Cluster) -> None:
    reports = api.simulate(prepared, cluster, example("placements"))
    assert comparable(reports) == comparable(example("report of simulate"))
    assert api.simulate(prepared, cluster, [example("placement")]) == reports[:1]


def test_the_report_of_place_and_the_events_of_its_run(prepared: api.PreparedGraph, cluster: api.Cluster) -> None:
    events: list[api.Json] = []

    def note(item: api.Emitted) -> None:
        events.extend([item.to_json()] if isinstance(item, api.NumberedEvent) else [])

    documented = example("report of place")
    started = example("events")[0]
    report = api.place(prepared, request_in(documented, started["evaluations"], cluster), note, lambda: False)
    placement: dict[str, api.Json] = {**api.placement_to_json(prepared, cluster, api.placement_of_report(report))}
    assert comparable(events) == comparable(example("events"))
    del report["device_of_group"], report["parts"]
    step_time_source = api.simulated_words(prepared.op_time_sources())
    whole = report | {"step_time_source": step_time_source, "placement": placement}
    assert comparable(whole) == comparable(documented)


def test_every_field_of_every_event_is_described() -> None:
    for kind in (api.Started, api.Baseline, api.Episode, api.Update, api.Progress, api.Finished):
        [row] = re.findall(rf"^\| `{kind.type}` \|.*$", PAGE, flags=re.MULTILINE)
        assert [field.name for field in fields(kind) if f"`{field.name}`" not in row] == []


def test_the_report_of_compare(prepared: api.PreparedGraph, cluster: api.Cluster) -> None:
    documented = example("report of compare")
    [row] = documented["rows"]
    asked = api.ComparisonRequest(cluster, (row["method"],), api.Budget(documented["evaluations"]), documented["seeds"])
    run = api.RunRequest(cluster, row["method"], asked.budget, row["seed"], baselines=(SINGLE_DEVICE,))
    report = api.comparison_report(prepared, asked, [outcome_of(prepared, run, Listener())])
    assert comparable(report) == comparable(documented)
    for of_report in (documented, documented["methods"][0], row):
        assert [name for name in of_report if f"`{name}`" not in PAGE] == []
