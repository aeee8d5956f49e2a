"""`compile` leaves nothing to be compiled: not for other graphs, clusters and settings either."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OTHERS = """
import numpy as np

from engine import api
from engine.experiments.random_graphs import random_graph
from engine.simulator.compiled import compiled_anew

graphs = {shape: random_graph(shape, 40, np.random.default_rng(1)) for shape in ("layered", "tree", "butterfly")}
for shape, prepared in graphs.items():
    for method in METHODS:
        request = api.RunRequest(api.parse_cluster("2xV100+3xK80"), method, api.Budget(100), 1)
        api.place(prepared, request, lambda _: None, lambda: False)
settings = {"teacher_evaluations": 200, "imitation_steps": 2, "reinforcement_batches": 4, "embedding_width": 8}
clusters = (api.parse_cluster("2xK80"), api.parse_cluster("4xV100+cpu"))
training = api.TrainRequest((graphs["tree"],), (graphs["layered"],), clusters, "another", settings=settings)
api.train(training, lambda _: None, lambda: False)
print(compiled_anew())
"""
METHODS = ("auto", "placeto", "m_topo", "m_etf", "m_sct", "heft", "scotch", "post", "regal", "local_search")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=True)


@pytest.fixture(scope="module")
def compiled() -> None:
    run("-m", "engine", "compile")


def test_a_second_time_there_is_nothing_to_compile(compiled: None) -> None:
    assert run("-m", "engine", "compile").stderr == "nothing to compile\n"


def test_nothing_is_compiled_for_other_graphs_clusters_and_settings(compiled: None) -> None:
    others = OTHERS.replace("METHODS", repr(METHODS))
    assert run("-c", others).stdout == "[]\n"
