"""The project and the graphs of an attack."""

import json
import time

from tests.chaos.jobs import Material
from tests.chaos.visitor import Visitor

OPS_OF_THE_UPLOAD = 40_000
"""some megabytes, which take seconds to read"""


def node_link(ops: int) -> bytes:
    """A binary tree of ops as node-link JSON."""
    nodes = [
        {
            "id": f"op{index}",
            "type": "MatMul",
            "time_us": 10.0 * (index % 97 + 1),
            "output_bytes": [1000 * (index % 31)],
        }
        for index in range(ops)
    ]
    edges = [{"source": f"op{(index - 1) // 2}", "target": f"op{index}", "output": 0} for index in range(1, ops)]
    graph = {"directed": True, "multigraph": False, "graph": {"name": "tree"}, "nodes": nodes, "edges": edges}
    return json.dumps(graph).encode()


def make_material(
    visitor: Visitor, graph_name: str, graph_file: bytes, ops_of_the_upload: int = OPS_OF_THE_UPLOAD
) -> Material:
    """Make a project, and a graph of the file, ready for runs."""
    project = visitor.send("/projects/", {"name": "Chaos"})
    graph = visitor.upload(f"{project}graphs/", graph_name, graph_file)
    while (status := visitor.json(f"{graph}status.json"))["status"] != "ready":
        assert status["status"] != "failed", status["error"]
        time.sleep(0.1)
    return Material(project, graph, node_link(ops_of_the_upload))
