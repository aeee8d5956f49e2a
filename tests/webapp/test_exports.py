"""A person takes a placement of a run to other programs: the best, that of an event, one made by hand."""

import json
import tracemalloc
from typing import Any

import pytest
from django.test import Client

from tests.webapp.run_rows import answered
from webapp.graphs.models import Graph
from webapp.jobs.models import Event
from webapp.pages.exports.placements import OF_PLACEMENT
from webapp.pages.exports.tables import OF_RUN
from webapp.runs.models import Answer, Run

JSON = {"accept": "application/json"}


@pytest.fixture
def run(real_graph: Graph) -> Run:
    """A run whose best placement is on the first device, and whose second event is on the second."""
    run, groups = answered(real_graph, evaluations_used=7)
    baseline: dict[str, Any] = {
        "method": "random",
        "step_time_us": None,
        "mean_step_time_us": 4.5,
        "evaluations": 50,
        "note": "=no",
    }
    episode: dict[str, Any] = {
        "episode": 1,
        "step_time_us": 5.0,
        "feasible": True,
        "best_step_time_us": 3.0,
        "evaluations": 2,
        "elapsed_seconds": 0.5,
        "placement": [1] * groups,
    }
    for seq, (kind, fields) in enumerate([("baseline", baseline), ("episode", episode)], start=1):
        Event.objects.create(job_id=run.id, seq=seq, type=kind, data=json.dumps({"type": kind, **fields}))
    return run


def export(client: Client, run: Run, name: str, **fields: int | str) -> Any:
    return client.get(f"/runs/{run.id}/exports/{name}", fields, headers=JSON)


def devices_in(text: str) -> set[str]:
    return {line.split(",")[3] for line in text.splitlines()[1:]}


def test_it_is_the_best_the_one_of_an_event_or_the_one_by_hand(client: Client, run: Run) -> None:
    groups = len(Answer.objects.get(run=run).device_of_group)  # type: ignore[arg-type]
    assert devices_in(export(client, run, "groups.csv").content.decode()) == {"/device:GPU:0"}
    assert devices_in(export(client, run, "groups.csv", event=2).content.decode()) == {"/device:GPU:1"}
    sent = {"placement": json.dumps([1, *[0] * (groups - 1)])}
    answer = client.post(f"/runs/{run.id}/exports/groups.csv", sent)
    assert devices_in(answer.content.decode()) == {"/device:GPU:0", "/device:GPU:1"}


@pytest.mark.parametrize("name", [*OF_PLACEMENT, *(f"run/{name}" for name in OF_RUN)])
def test_every_export_is_a_file_with_a_tame_name(client: Client, run: Run, name: str) -> None:
    answer = export(client, run, name)
    assert answer.status_code == 200
    last = name.rpartition("/")[2]
    assert answer.headers["Content-Disposition"] == f'attachment; filename="my-graph-1-{last}"'
    assert "html" not in answer.headers["Content-Type"]
    if name.endswith(".json"):
        json.loads(answer.content)


def test_episodes_and_methods_are_the_events(client: Client, run: Run) -> None:
    episodes = export(client, run, "run/episodes.csv").content.decode().splitlines()
    assert episodes[0].split(",")[:3] == ["episode", "step_time_us", "feasible"]
    source = f'"{run.graph.step_time_source}"' if "," in run.graph.step_time_source else run.graph.step_time_source
    assert source and episodes[1:] == [f"1,5.0,true,3.0,2,0.5,{source}"]
    methods = export(client, run, "run/methods.csv").content.decode().splitlines()
    assert methods[1:] == [f"random,,4.5,50,,,'=no,{source}", f"heft,3.0,,7,,,this run: done,{source}"]
    reported = {"method": "m_etf", "step_time_us": 4.0, "mean_step_time_us": 4.0, "evaluations": 1, "note": ""}
    data = json.dumps({**reported, "peak_bytes": [5, 9, 7], "wall_seconds": 0.25})
    Event.objects.create(job_id=run.id, seq=3, type="baseline", data=data)
    Answer.objects.update(report={"wall_seconds": 1.5, "peak_bytes": [6, 2]})
    methods = export(client, run, "run/methods.csv").content.decode().splitlines()
    assert methods[2:] == [f"m_etf,4.0,4.0,1,0.25,9,,{source}", f"heft,3.0,,7,1.5,6,this run: done,{source}"]


@pytest.mark.parametrize(
    ("name", "event", "status"),
    [("groups.csv", 1, 404), ("groups.csv", 9, 404), ("groups.csv", "x", 400), ("no.csv", 2, 404), ("run/no", 2, 404)],
)
def test_what_is_not_there_is_refused_in_a_sentence(
    client: Client, run: Run, name: str, event: int | str, status: int
) -> None:
    answer = export(client, run, name, event=event)
    assert answer.status_code == status
    assert next(iter(json.loads(answer.content)["errors"].values()))[0]


def test_without_a_placement_there_is_nothing_to_export(client: Client, run: Run) -> None:
    Answer.objects.all().delete()
    assert export(client, run, "trace.json").status_code == 404
    assert export(client, run, "run/episodes.csv").status_code == 200


def test_long_events_are_read_a_few_at_a_time(client: Client, run: Run) -> None:
    placement = [1] * 100_000
    for number in range(2, 34):
        fields = {"episode": number, "step_time_us": 5.0, "feasible": True, "best_step_time_us": 3.0, "evaluations": 2}
        data = json.dumps({"type": "episode", **fields, "elapsed_seconds": 0.5, "placement": placement})
        Event.objects.create(job_id=run.id, seq=number + 5, type="episode", data=data)
    export(client, run, "run/methods.csv")  # loads what the first request loads
    tracemalloc.start()
    try:
        rows = export(client, run, "run/episodes.csv").content.decode().splitlines()[1:]
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert [int(row.split(",")[0]) for row in rows] == list(range(1, 34))
    assert peak_bytes < 8 * 1024**2 < 33 * len(data)
