"""Moves by hand on the page of a run keep its constraints, or are refused in a line that names the rule."""

import json
from typing import Any

import pytest
from django.test import Client

from webapp.graphs.models import Graph
from webapp.runs.models import Run

FORM = {"cluster": "2xK80+cpu", "method": "auto", "preset": "", "evaluations": "60", "seconds": "", "seed": "0"}
GPU_0, GPU_1 = 0, 1


@pytest.fixture
def run(client: Client, real_graph: Graph) -> Run:
    """A run that keeps its first group and its last apart."""
    names = real_graph.prepared.value.grouping.names
    fields = FORM | {"constraints": f"apart {names[0]} {names[-1]}"}
    assert client.post(f"/graphs/{real_graph.id}/runs/", fields).status_code == 302
    return Run.objects.get()


def groups_of(run: Run) -> int:
    return int(run.graph.prepared.value.grouping.group_count)


def sent(client: Client, run: Run, page: str, placement: list[int], **lists: list[int]) -> Any:
    """POST a placement by hand, with other lists."""
    fields = {"placement": json.dumps(placement)} | {name: json.dumps(values) for name, values in lists.items()}
    return client.post(f"/runs/{run.id}/{page}", fields, headers={"accept": "application/json"})


def test_a_move_that_breaks_a_rule_is_refused_and_one_that_keeps_it_is_simulated(client: Client, run: Run) -> None:
    last = groups_of(run) - 1
    broken = [GPU_0] * (last + 1)
    refused = sent(client, run, "step", broken, moved=[last])
    assert refused.status_code == 400
    assert "the move: it breaks `apart " in refused.content.decode()
    kept = [*broken[:-1], GPU_1]
    assert sent(client, run, "step", kept, moved=[last]).status_code == 200
    if last > 1:
        assert sent(client, run, "step", broken, moved=[1]).status_code == 200, "no rule is about this group"


def test_gains_leave_such_moves_out(client: Client, run: Run) -> None:
    last = groups_of(run) - 1
    placement = [*[GPU_0] * last, GPU_1]
    (times,) = sent(client, run, "gains.json", placement, groups=[last]).json()["step_time_us"]
    assert times[GPU_0] is None and times[GPU_1] is not None


def test_a_run_of_the_same_graph_without_rules_refuses_nothing(client: Client, run: Run) -> None:
    assert client.post(f"/graphs/{run.graph_id}/runs/", FORM).status_code == 302
    free = Run.objects.exclude(id=run.id).get()
    last = groups_of(run) - 1
    assert sent(client, free, "step", [GPU_0] * (last + 1), moved=[last]).status_code == 200
