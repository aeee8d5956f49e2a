"""A graph and its placement as JSON for Model Explorer, Google's viewer of large graphs.

Source: the classes GraphCollection, Graph, GraphNode and GraphNodeData of google-ai-edge/model-explorer,
src/server/package/src/model_explorer/graph_builder.py and node_data_builder.py, 2026-08.
"""

import json
from collections import defaultdict
from collections.abc import Iterator

from engine.costs.costs import CostSource
from engine.costs.source_words import simulated_words, sources_of
from engine.events import Json
from engine.explaining.session import Explanation, GivenPlacement, Session
from engine.graphs.graph import CONTROL

GRAPH_ID = "graph"
CONTROL_OUTPUT = "control"
SCOPES_SEPARATED_BY = ";"
"""Model Explorer takes what follows the last one as the namespace"""
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a400", "#7b5ea7")
"""of devices, in the order of the cluster; Okabe and Ito's set, as on the pages"""
LEAST_COLOUR, MOST_COLOUR = "#ffffff", "#d55e00"


def model_explorer_graph(session: Session, placement: GivenPlacement, explanation: Explanation, label: str) -> str:
    """A GraphCollection with one graph: every op with its scopes, inputs, group, device, time and bytes.

    Back edges of loops are left out.
    """
    nodes = ",\n".join(_compact(node) for node in _nodes(session, placement, explanation))
    return f'{{"label":{json.dumps(label)},"graphs":[{{"id":"{GRAPH_ID}","nodes":[\n{nodes}\n]}}]}}'


def device_node_data(session: Session, placement: GivenPlacement) -> str:
    """Node data by op: its device, in a colour for each."""
    devices = [device.name for device in session.cluster.devices]
    results: dict[str, Json] = {
        name: {"value": devices[device], "bgColor": COLOURS[device % len(COLOURS)], "textColor": "#000000"}
        for name, device in zip(session.prepared.graph.op_names, placement.device_of_op.tolist(), strict=True)
    }
    return _compact({GRAPH_ID: {"name": "device", "results": results}})


def time_node_data(session: Session, explanation: Explanation) -> str:
    """Node data by op: how long it runs in this step, in µs; the longer, the darker."""
    timeline = explanation.timeline
    times = (timeline.end_us - timeline.start_us).tolist()
    names = session.prepared.graph.op_names
    results: dict[str, Json] = {name: {"value": us} for name, us in zip(names, times, strict=True)}
    gradient: list[Json] = [{"stop": 0, "bgColor": LEAST_COLOUR}, {"stop": 1, "bgColor": MOST_COLOUR}]
    name = f"time (µs), {simulated_words(sources_of(session.prepared.costs))}"
    return _compact({GRAPH_ID: {"name": name, "results": results, "gradient": gradient}})


def _nodes(session: Session, placement: GivenPlacement, explanation: Explanation) -> Iterator[Json]:
    graph, costs, grouping = session.prepared.graph, session.prepared.costs, session.prepared.grouping
    devices = [device.name for device in session.cluster.devices]
    timeline = explanation.timeline
    critical = set(explanation.chain.activity.tolist())
    incoming = _incoming(session)
    for op, name in enumerate(graph.op_names):
        scope, _, last = name.rpartition("/")
        details = {
            "type": graph.op_types[op],
            "group": grouping.names[grouping.group_of_op[op]],
            "device": devices[placement.device_of_op[op]],
            "start_us": f"{timeline.start_us[op]:g}",
            "time_us": f"{timeline.end_us[op] - timeline.start_us[op]:g}",
            "time source": CostSource(costs.source[op]).name.lower(),
            "persistent_bytes": str(costs.persistent_bytes[op]),
            "on the critical chain": "yes" if op in critical else "no",
        }
        sizes = costs.output_bytes[costs.output_offset[op] : costs.output_offset[op + 1]].tolist()
        yield {
            "id": name,
            "label": last or name,
            "namespace": scope.replace(SCOPES_SEPARATED_BY, ","),
            "attrs": [{"key": key, "value": value} for key, value in details.items()],
            "incomingEdges": incoming[op],
            "outputsMetadata": [
                {"id": str(output), "attrs": [{"key": "bytes", "value": str(size)}]}
                for output, size in enumerate(sizes)
            ],
        }


def _incoming(session: Session) -> defaultdict[int, list[Json]]:
    """op → its incoming edges, in the order of its inputs."""
    graph = session.prepared.graph
    incoming: defaultdict[int, list[Json]] = defaultdict(list)
    for source, target, output in zip(
        graph.edge_source.tolist(), graph.edge_target.tolist(), graph.edge_output.tolist(), strict=True
    ):
        edges = incoming[target]
        edges.append(
            {
                "sourceNodeId": graph.op_names[source],
                "sourceNodeOutputId": CONTROL_OUTPUT if output == CONTROL else str(output),
                "targetNodeInputId": str(len(edges)),
            }
        )
    return incoming


def _compact(value: Json) -> str:
    return json.dumps(value, separators=(",", ":"))
