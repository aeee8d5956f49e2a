"""A setting is one field: it is listed with its range, a value out of it is refused, and the method uses it."""

import json
from pathlib import Path

import pytest

from engine.events import Json
from tests.contributing.patched import ROOT, Copy, changed_files, patched

RECIPE = "setting"
LISTED = """
from engine import api
[setting] = [one for one in api.list_settings(api.what_has_settings()["brkga"], {}) if one.name == "restarts"]
print(setting.default, setting.allowed)
"""
STEP_TIMES_US = """
import json, sys
import numpy as np
from engine.events import Episode
from engine.prepared import PreparedGraph
from engine.problem import Budget
from engine.run.run import Run
from engine.run.request import RunRequest
from tests.engine.placers.small_problems import one_group_an_op, small_cluster, small_graph

graph, costs = small_graph(np.random.default_rng(40), 40)
prepared = PreparedGraph(graph, costs, one_group_an_op(graph, costs))

def step_times_us(settings):
    found = []
    request = RunRequest(small_cluster(3, cpu=True), "brkga", Budget(300), 0, {"population": 10} | settings)
    Run(prepared, request, found.append, lambda: False).execute(None)
    events = [numbered.event for numbered in found if hasattr(numbered, "event")]
    return [event.step_time_us for event in events if isinstance(event, Episode)]

print(json.dumps(step_times_us(json.loads(sys.argv[1]))))
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    return patched(RECIPE, tmp_path_factory.mktemp("setting"))


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve ops, each of which takes from half of those before it, as node-link JSON."""
    nodes: list[Json] = [{"id": op, "time_us": 1 + op % 5, "output_bytes": [1000 * op]} for op in range(12)]
    edges: list[Json] = [{"source": op, "target": later} for later in range(12) for op in range(later % 2, later, 2)]
    path = tmp_path_factory.mktemp("graph") / "graph.json"
    path.write_text(json.dumps({"nodes": nodes, "edges": edges}))
    return path


def test_the_diff_adds_one_field_and_its_use_to_one_file() -> None:
    [(file, method)] = changed_files(RECIPE).items()
    assert (file, method.is_new) == ("engine/placers/brkga.py", False)
    assert [line for line in method.added if ": int = whole(" in line] == [method.added[0]]
    assert len(method.added) < 10


def test_the_command_line_and_the_api_list_it(copy: Copy) -> None:
    assert "further searches from a fresh population" in copy.output("-m", "engine", "settings", "brkga")
    schema = json.loads(copy.output("-m", "engine", "settings", "brkga", "--json-schema"))
    limits = schema["properties"]["restarts"]
    assert (limits["type"], limits["minimum"], limits["maximum"], limits["default"]) == ("integer", 0, 1000, 0)
    assert copy.output("-c", LISTED) == "0 an integer from 0 to 1000\n"


@pytest.mark.parametrize("value", ["1001", "-1", "0.5", "true"])
def test_a_value_out_of_its_range_is_refused(copy: Copy, graph: Path, value: str) -> None:
    options = ("--cluster", "2xK80", "--method", "brkga", "--set", f"restarts={value}")
    refused = copy.run("-m", "engine", "place", graph, *options)
    shown = {"true": "True"}.get(value, value)
    assert refused.returncode == 2
    assert refused.stderr.splitlines()[-1] == f"brkga restarts: {shown}; allowed: an integer from 0 to 1000"


def step_times_us(sources: Copy, settings: Json) -> list[float]:
    """Those of the episodes of one run."""
    found: list[float] = json.loads(sources.output("-c", STEP_TIMES_US, json.dumps(settings)))
    return found


def test_the_method_uses_it_and_its_default_changes_nothing(copy: Copy) -> None:
    default, ten_searches = step_times_us(copy, {}), step_times_us(copy, {"restarts": 9})
    assert default == step_times_us(copy, {"restarts": 0}) == step_times_us(Copy(ROOT, copy.data), {})
    assert default[:30] == ten_searches[:30]
    bred, drawn_anew = default[30:40], ten_searches[30:40]
    assert sum(drawn_anew) > sum(bred)
