"""`compile` leaves nothing to be compiled: other graphs, clusters and settings need no version that it has not made."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engine import api
from engine.cli.compile import run_everything_once
from engine.errors import SettingsError
from tests.engine.policies.small_policies import small_policy

ROOT = Path(__file__).parents[3]
OTHERS = """
import json

import numpy as np

from engine import api
from engine.cli.compile import run_everything_once
from experiments.problems import regrouped
from engine.zoo.random_graphs import random_graph
from engine.files.compiled import compiled_versions

assert list(run_everything_once()) == []
before = compiled_versions()
graphs = {shape: random_graph(shape, 40, np.random.default_rng(1)) for shape in ("layered", "tree")}
methods = [(method.name, preset) for method in api.methods() for preset in method.presets or (None,)]
cases = (("2xV100+3xK80+cpu", "layered", 40), ("2xK80", "tree", 1))
for cluster, graph, groups in cases:
    prepared = regrouped(graphs[graph], groups)
    for name, preset in methods:
        settings = {} if preset is None else {"preset": preset}
        try:
            request = api.RunRequest(api.parse_cluster(cluster), name, api.Budget(60), 1, settings)
            api.place(prepared, request, lambda _: None, lambda: False)
        except (api.InfeasibleError, api.SettingsError):
            pass  # a rule for other names, a budget too small, no CPU
settings = {"teacher_evaluations": 200, "imitation_steps": 2, "reinforcement_batches": 4, "embedding_width": 8}
settings |= {"search_evaluations": 60}
clusters = (api.parse_cluster("2xK80"), api.parse_cluster("4xV100+cpu"))
training = api.TrainRequest((graphs["tree"],), (graphs["layered"],), clusters, "another", settings=settings)
api.train(training, lambda _: None, lambda: False)
for cluster, graph, groups in cases:
    session = api.Session(regrouped(graphs[graph], groups), api.parse_cluster(cluster))
    placement = session.by_group(session.allowed.argmax(axis=1))
    session.explain(placement)
    session.gains(placement)
    session.explain(session.by_op(np.arange(session.op_count, dtype=np.int32) % 2))
    api.flat_view_to_bytes(regrouped(graphs[graph], groups), "ops")
    api.flat_view_to_bytes(regrouped(graphs[graph], groups), "groups")
after = compiled_versions()
print(json.dumps([name for name in after if after[name] != before.get(name)]))
print(sum(before.values()))
"""


def test_nothing_more_is_compiled_for_other_graphs_clusters_and_settings() -> None:
    answer = subprocess.run([sys.executable, "-c", OTHERS], cwd=ROOT, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    more, versions = map(json.loads, answer.stdout.splitlines())
    assert more == []
    assert versions > 15


def test_a_method_that_cannot_run_on_this_machine_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def place(_prepared: object, request: api.RunRequest, *_: Any) -> None:
        placed.append(request.method)
        if request.method == "scotch":
            raise SettingsError("the Scotch library is not installed", where="scotch", allowed="another method")

    placed: list[str] = []
    monkeypatch.setattr(api, "place", place)
    monkeypatch.setattr(api, "train", lambda *_: small_policy().to_bytes())
    (line,) = run_everything_once()
    assert line == "scotch: the Scotch library is not installed; allowed: another method"
    assert set(placed) == {method.name for method in api.methods()}
    assert placed.count("placeto") == 3  # two presets, and with a policy
