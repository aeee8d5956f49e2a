"""Stores the graphs and runs that the pages are measured with: rows, as if placers had run for hours.

    PLACETO_DATA=/somewhere/new python -m tests.bench_ui.material [--only NAME ...]

It migrates the database, stores what the named cases need, and prints JSON: name of a graph → addresses of its page and
of a run's page.
"""

import argparse
import json
import os
import random
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")

SEED = 17
CLUSTER = "4xK80+CPU"
DEVICES = 5
OPS_A_LAYER = 6
BRANCHES = 3
EPISODES = 400
EVENTS_A_STATEMENT = 5000
MOVED_SHARE = 0.05
"""of the groups, from one episode to the next"""


@dataclass(frozen=True, slots=True)
class Material:
    """One graph with one run."""

    ops: int
    groups: int | None
    """None: every op is a group"""
    episodes: int = EPISODES


MATERIAL = {
    "1,000 ops": Material(ops=1_000, groups=128),
    "5,000 ops": Material(ops=5_000, groups=128),
    "160 groups": Material(ops=2_000, groups=160),
    "1,000 groups": Material(ops=6_000, groups=1_000),
    "20,000 ops": Material(ops=20_000, groups=128),
    "20,000 groups": Material(ops=20_000, groups=None),
    "100,000 episodes": Material(ops=2_000, groups=160, episodes=100_000),
}


def training_step(ops: int) -> dict[str, Any]:
    """A training step with about so many ops as node-link JSON: layers in branches, forward, backward and updates."""
    nodes: list[dict[str, Any]] = [_node("learning_rate", "Const", 1.0, 4), _node("images", "Placeholder", 5.0, 10**7)]
    edges: list[dict[str, Any]] = []
    ends, layers = ["images"], []
    for layer in range(max(1, (ops - 2) // OPS_A_LAYER)):
        block, branch = divmod(layer, BRANCHES)
        if branch == 0:
            inputs, ends = ends, []
        name = f"block{block}/branch{branch}"
        nodes += [_node(f"{name}/weights", "VariableV2", 1.0, 4_000_000, 4_000_000)]
        nodes += [
            _node(f"{name}/conv", "Conv2D", 80.0 + layer % 7, 900_000),
            _node(f"{name}/relu", "Relu", 9.0, 900_000),
        ]
        edges += [_edge(end, f"{name}/conv") for end in inputs]
        edges += [_edge(f"{name}/weights", f"{name}/conv"), _edge(f"{name}/conv", f"{name}/relu")]
        ends.append(f"{name}/relu")
        layers.append((name, list(inputs)))
    gradients: dict[str, list[str]] = {end: [] for end in ends}
    for name, inputs in reversed(layers):
        nodes += [_node(f"gradients/{name}/relu_grad", "ReluGrad", 11.0, 900_000)]
        nodes += [_node(f"gradients/{name}/conv_grad", "Conv2DBackprop", 150.0, 900_000)]
        nodes += [_node(f"update/{name}", "ApplyGradientDescent", 6.0, 4)]
        edges += [_edge(gradient, f"gradients/{name}/relu_grad") for gradient in gradients.get(f"{name}/relu", [])]
        edges += [_edge(f"{name}/relu", f"gradients/{name}/relu_grad")]
        edges += [_edge(f"gradients/{name}/relu_grad", f"gradients/{name}/conv_grad")]
        edges += [_edge(f"{name}/weights", f"gradients/{name}/conv_grad")]
        edges += [_edge(f"gradients/{name}/conv_grad", f"update/{name}"), _edge("learning_rate", f"update/{name}")]
        for end in inputs:
            gradients.setdefault(end, []).append(f"gradients/{name}/conv_grad")
    return {"directed": True, "multigraph": False, "graph": {"name": "measured"}, "nodes": nodes, "edges": edges}


def _node(name: str, op_type: str, time_us: float, output_bytes: int, persistent_bytes: int = 0) -> dict[str, Any]:
    return {
        "id": name,
        "type": op_type,
        "time_us": time_us,
        "output_bytes": [output_bytes],
        "persistent_bytes": persistent_bytes,
    }


def _edge(source: str, target: str) -> dict[str, Any]:
    return {"source": source, "target": target, "output": 0}


def store(material: Material, name: str, project: Any) -> dict[str, str]:
    """Store a graph and a run of it; the addresses of their pages."""
    graph = _graph(material, name, project)
    run = _run(material, graph)
    return {"graph": f"/graphs/{graph.id}/", "run": f"/runs/{run.id}/"}


def _graph(material: Material, name: str, project: Any) -> Any:
    from django.utils import timezone

    from engine import api
    from webapp.graphs.graph_options import GraphOptions
    from webapp.graphs.models import Graph, PreparedBlob
    from webapp.json_field import to_text

    file = json.dumps(training_step(material.ops)).encode()
    with tempfile.NamedTemporaryFile(suffix=".json") as stored:
        Path(stored.name).write_bytes(file)
        prepared = api.prepare(Path(stored.name), ".json", lambda *_: None, api.Limits(), groups=material.groups)
    summary = prepared.summary()
    graph = Graph(project=project, name=f"{name}.json", suffix=".json", status=Graph.READY, summary=summary)
    graph.file_bytes, graph.options = len(file), GraphOptions().to_json()
    graph.op_count, graph.group_count = prepared.graph.op_count, prepared.grouping.group_count
    graph.started_at = graph.finished_at = timezone.now()
    graph.save()
    PreparedBlob.objects.create(graph=graph, blob=prepared.to_bytes(), view=to_text(prepared.view()))
    return graph


def _run(material: Material, graph: Any) -> Any:
    from django.utils import timezone

    from engine import api
    from webapp.runs.models import Answer, Run, RunSummary

    run = Run(
        graph=graph, cluster=api.cluster_to_json(api.parse_cluster(CLUSTER)), method="random", settings={}, seed=0
    )
    run.project_id = graph.project_id
    run.status, run.evaluations, run.evaluations_used = Run.DONE, material.episodes, material.episodes
    run.last_seq, run.best_step_time_us = material.episodes + 2, 1000.0
    run.started_at = run.finished_at = timezone.now()
    run.save()
    placement: list[api.Json] = [0] * graph.group_count
    Answer.objects.create(run=run, step_time_us=1000.0, device_of_group=placement, report={})
    RunSummary.objects.create(run=run, seq=run.last_seq, content=api.ComparisonListener().to_json())
    _store_events(run, graph.group_count, material.episodes)
    return run


def _store_events(run: Any, groups: int, episodes: int) -> None:
    from django.db import transaction

    from webapp.jobs.models import Event

    rows = (
        Event(job_id=run.id, seq=seq, type=event["type"], data=json.dumps({"seq": seq, **event}, separators=(",", ":")))
        for seq, event in enumerate(_events(groups, episodes), 1)
    )
    with transaction.atomic():
        while batch := list(islice(rows, EVENTS_A_STATEMENT)):
            Event.objects.bulk_create(batch, batch_size=EVENTS_A_STATEMENT)


def _events(groups: int, episodes: int) -> Iterator[dict[str, Any]]:
    """The events of a run whose placement goes from random to blocks of neighbours, a few groups at a time."""
    rng = random.Random(SEED)
    names = [f"/device:GPU:{gpu}" for gpu in range(DEVICES - 1)] + ["/device:CPU:0"]
    begin = {"method": "random", "settings": {}, "seed": 0, "evaluations": episodes, "groups": groups, "devices": names}
    yield {"type": "started", "version": 1, **begin, "lower_bound_us": 900.0, "engine_version": "0"}
    placement = [rng.randrange(DEVICES - 1) for _ in range(groups)]
    for episode in range(1, episodes + 1):
        for _ in range(max(1, int(MOVED_SHARE * groups))):
            group = rng.randrange(groups)
            in_block = rng.random() < episode / episodes
            placement[group] = group * (DEVICES - 1) // groups if in_block else rng.randrange(DEVICES - 1)
        yield {
            "type": "episode",
            "version": 1,
            "episode": episode,
            "step_time_us": 1000.0 + 50_000.0 * rng.random() / (episode + 10),
            "feasible": True,
            "best_step_time_us": 1000.0,
            "evaluations": episode,
            "elapsed_seconds": episode / 100,
            "placement": list(placement),
        }
    report = {"method": "random", "step_time_us": 1000.0, "feasible": True, "peak_bytes": [0] * DEVICES}
    report |= {"evaluations": episodes, "wall_seconds": 1.0, "lower_bound_us": 900.0, "device_of_group": placement}
    yield {"type": "finished", "version": 1, "report": report}


def main(names: Sequence[str]) -> dict[str, dict[str, str]]:
    """Migrate the database and store what `names` need."""
    django.setup()
    from django.core.management import call_command

    from webapp.projects.models import Project

    call_command("migrate", verbosity=0)
    project = Project.objects.create(name="measured")
    return {name: store(MATERIAL[name], name, project) for name in names}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.bench_ui.material", description=__doc__)
    parser.add_argument("--only", action="append", choices=MATERIAL)
    print(json.dumps(main(parser.parse_args().only or list(MATERIAL))))
