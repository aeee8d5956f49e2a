"""What must hold for every recording, and its memory replayed op by op, slow and plain."""

from typing import Any

from placeto import Recording


def check(recording: Recording) -> None:
    """Names once, edges once and forward, outputs there, memory passed on along edges, numbers in their ranges."""
    place = {node["id"]: number for number, node in enumerate(recording.nodes)}
    assert len(place) == len(recording.nodes)
    edges = [(edge["source"], edge["target"], edge["output"]) for edge in recording.edges]
    assert len(set(edges)) == len(edges)
    data = {(source, target) for source, target, output in edges if output is not None}
    targets = [place[target] for _, target, _ in edges]
    assert targets == sorted(targets)
    for source, target, output in edges:
        assert place[source] < place[target], (source, target)
        assert output is None or 0 <= output < len(recording.nodes[place[source]]["output_bytes"])
        assert output is not None or (source, target) not in data
    known = set(edges)
    for node in recording.nodes:
        _check_node(node, known)


def _check_node(node: dict[str, Any], edges: set[tuple[str, str, int | None]]) -> None:
    assert node["flops"] is None or 0 <= node["flops"] <= 10**18
    assert 0 <= node["bytes_accessed"] <= 10**15
    assert node.get("phase") in (None, "forward", "backward", "optimizer")
    for size, buffer in zip(node["output_bytes"], buffers_of(node), strict=True):
        assert size >= 0
        if isinstance(buffer, list):
            assert (buffer[0], node["id"], buffer[1]) in edges, (node["id"], buffer)


def buffers_of(node: dict[str, Any]) -> list[Any]:
    """An entry for each output."""
    buffers: list[Any] = node.get("buffers", [None] * len(node["output_bytes"]))
    return buffers


def peak_bytes(recording: Recording) -> int:
    """The most memory that a device holds which runs all ops in their order and frees what nobody reads any more."""
    memory: dict[tuple[str, int], tuple[str, int] | None] = {}
    sizes: dict[tuple[str, int], int] = {}
    last: dict[tuple[str, int], str] = {}
    whole_step = 0
    for node in recording.nodes:
        for output, buffer in enumerate(buffers_of(node)):
            own = (node["id"], output)
            if buffer is None:
                memory[own], sizes[own], last[own] = own, node["output_bytes"][output], node["id"]
            else:
                lasts = buffer in ("persistent", "step")
                whole_step += node["output_bytes"][output] * (buffer == "step")
                memory[own] = None if lasts else memory[buffer[0], buffer[1]]
    for edge in recording.edges:  # in the order of their targets
        held = None if edge["output"] is None else memory[edge["source"], edge["output"]]
        if held is not None:
            last[held] = edge["target"]
    freed: dict[str, int] = {}
    for held, name in last.items():
        freed[name] = freed.get(name, 0) + sizes[held]
    live = whole_step + sum(node.get("persistent_bytes", 0) for node in recording.nodes)
    most = live
    for node in recording.nodes:
        live += sum(sizes.get((node["id"], output), 0) for output in range(len(node["output_bytes"])))
        most = max(most, live + node.get("temporary_bytes", 0))
        live -= freed.get(node["id"], 0)
    return most


def labels(recording: Recording) -> dict[str, str | None]:
    """The unit of each op."""
    return {node["id"]: node.get("colocation") for node in recording.nodes}


def named(recording: Recording, start: str) -> list[str]:
    """The names that begin with a text."""
    return [node["id"] for node in recording.nodes if node["id"].startswith(start)]
