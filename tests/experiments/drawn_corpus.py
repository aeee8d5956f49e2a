"""A corpus of drawn graphs: the list and the cache that the experiment would make, in a folder of a test."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from engine.zoo.random_graphs import SHAPES, random_graph
from experiments.corpus.cached import MODES, CorpusGraph, graph_path
from experiments.pages import write_json
from experiments.problems import regrouped

KINDS = ("decoder", "convolutional")


def listed_graph(
    name: str, *, mode: str = "inference", kind: str = KINDS[0], ops: int = 20, **more: object
) -> CorpusGraph:
    """A row of the list."""
    row = {
        "library": "drawn",
        "architecture": name,
        "mode": mode,
        "family": name,
        "kind": kind,
        "split": "test",
        "digest": f"digest of {name}",
        "ops": ops,
        "groups": 6,
        "edges": 10,
        "flops": 0,
        "parameter_bytes": 1,
        "activation_bytes": 1,
        "batch": 1,
        "version": "1",
    }
    return CorpusGraph(**(row | more))  # type: ignore[arg-type]


def drawn_corpus(folder: Path, count: int, *, ops: int = 20, groups: int = 6) -> list[CorpusGraph]:
    """Write `count` graphs of all shapes, and their list, `folder`/corpus.json; returns its rows."""
    graphs = []
    for index in range(count):
        shape = list(SHAPES)[index % len(SHAPES)]
        prepared = regrouped(random_graph(shape, ops, np.random.default_rng([7, index])), groups)
        graph = listed_graph(
            f"{shape}_{index}",
            mode=MODES[index % 2],
            kind=KINDS[index // 2 % 2],
            ops=prepared.graph.op_count,
            groups=prepared.grouping.group_count,
        )
        path = graph_path(folder, graph)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(prepared.to_bytes())
        graphs.append(graph)
    write_list(folder, graphs)
    return graphs


def write_list(folder: Path, graphs: Sequence[CorpusGraph]) -> Path:
    """Write the list; returns its path."""
    path = folder / "corpus.json"
    write_json(path, {"graphs": [asdict(graph) for graph in graphs]})
    return path
