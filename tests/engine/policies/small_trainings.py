"""Trainings of a policy on small graphs."""

import dataclasses

from engine import api
from engine.events import Json
from tests.engine.placers.small_problems import small_cluster
from tests.engine.small_runs import prepared_graph

COUNTED: dict[str, Json] = {
    "teacher_evaluations": 40,
    "imitation_steps": 3,
    "reinforcement_batches": 4,
    "embedding_width": 4,
    "hidden_width": 8,
    "samples": 3,
    "search_evaluations": 200,
    "checkpoint_seconds": 0.0,
    "torch_device": "cpu",
}
"""with these the answer depends on no clock"""
CLUSTERS = (small_cluster(2), small_cluster(3))


def request(**changes: object) -> api.TrainRequest:
    graphs = (prepared_graph(8), prepared_graph(10))
    asked = api.TrainRequest(graphs, (prepared_graph(9),), CLUSTERS, "first", 3, COUNTED, ("nmt", "nmt"))
    return dataclasses.replace(asked, **changes)  # type: ignore[arg-type]  # by name
