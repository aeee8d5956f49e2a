"""A person has placements measured by a worker, and reads how far their simulated order can be trusted."""

import json
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from engine import api
from engine.measuring import device_process
from tests.webapp.conftest import MemoryBroker
from tests.webapp.purge import purge
from tests.webapp.run_rows import answered
from tests.webapp.states import state_of
from webapp.graphs.models import Graph
from webapp.jobs import heartbeat
from webapp.jobs.turns import next_in_turn
from webapp.measuring import candidates
from webapp.measuring.models import Calibration, MeasuredPlacement, StepMeasurement
from webapp.measuring.orphan_files import unknown_rounds
from webapp.measuring.placement_times import measure_placements
from webapp.runs.models import Run

pytestmark = pytest.mark.usefixtures("transactional_db")

JSON = {"accept": "application/json"}
CPUS = api.cluster_to_json(api.parse_cluster("2xCPU"))
CALIBRATION: dict[str, api.Json] = {"machine": "4 × a processor", "date": "2026-01-31", "figures": {}}
"""that a user may write into any cluster"""
NOISY = api.SettingsError(
    "the machine is too noisy to tell these placements apart: the step time of a placement, over 3 rounds, scatters by "
    "7.0 %, the placements differ from each other by 9.0 %",
    where="measure",
)
TIMES_US = {"simulated_step_time_us": [100.0, 200.0, 300.0, 400.0], "step_time_us": [150.0, 330.0, 300.0, 900.0]}
REPORT: dict[str, api.Json] = {
    "placements": [
        {
            "simulated_step_time_us": simulated,
            "step_time_us": measured,
            "fastest_us": measured - 9,
            "rounds_us": [measured],
        }
        for simulated, measured in zip(*TIMES_US.values(), strict=True)
    ],
    "rounds": 2,
    "steps": 4,
    "noise": 0.01,
    "spread": 0.5,
    "fidelity": {
        "spearman": 0.8,
        "kendall": 0.67,
        "kendall_fastest": 0.67,
        "reachable_spearman": None,
        "pairs": 6,
        "ordered_pairs": 0.8333,
        "top_1_regret": 0.0,
        "top_1_regret_cross_checked": 0.021,
        "top_1_regret_error": None,
        "median_ratio": 1.575,
        "least_ratio": 1.0,
        "greatest_ratio": 2.25,
    },
    "sources": {"estimated": 5},
    "notes": ["The simulated steps are those of another machine, 2 × <b>, this one is 4 × another."],
}

Measuring = Callable[..., dict[str, api.Json]]


@pytest.fixture(autouse=True)
def _four_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_process, "usable_cores", lambda: 4)


@pytest.fixture
def cpu_run(real_graph: Graph) -> Run:
    """One on two processors, all on the first."""
    return answered(real_graph, cluster=CPUS)[0]


@pytest.fixture
def measurement(cpu_run: Run, client: Client) -> StepMeasurement:
    """One that waits, of a run's placement, each device alone and one drawn at random."""
    start(client, cpu_run)
    return StepMeasurement.objects.get()


def start(client: Client, *runs: Run, **fields: str) -> Any:
    """Send the form."""
    form = {"runs": [str(run.id) for run in runs], "one_device": "on", "others": "1", "rounds": "2", "steps": "4"}
    return client.post(f"/graphs/{runs[0].graph_id}/measure/", {**form, "consent": "on", **fields}, headers=JSON)


def carry_out(
    measurement: StepMeasurement, monkeypatch: pytest.MonkeyPatch, measuring: Measuring = lambda *_, **__: REPORT
) -> StepMeasurement:
    """Let the worker do it."""
    monkeypatch.setattr(api, "measure_many", measuring)
    measure_placements(measurement.id)
    return StepMeasurement.objects.get(id=measurement.id)


def page_of(client: Client, measurement: StepMeasurement) -> str:
    return client.get(f"/measurements/{measurement.id}/").content.decode()


def test_chosen_runs_are_queued_with_other_placements_and_measured(
    client: Client, cpu_run: Run, broker: MemoryBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph_page = f"/graphs/{cpu_run.graph_id}/"
    assert f'href="{graph_page}measure/"' in client.get(graph_page).content.decode()
    assert str(cpu_run.id) in client.get(f"{graph_page}measure/").content.decode()
    assert start(client, cpu_run, consent="").json()["errors"]["consent"]
    response = start(client, cpu_run)
    measurement = StepMeasurement.objects.get()
    assert response.headers["Location"] == f"/measurements/{measurement.id}/"
    assert broker.messages("execute") == [["execute"]]
    assert state_of(client, "measurement", measurement.id)["status"] == "queued"
    assert f'data-job-id="{measurement.id.hex}"' in page_of(client, measurement)
    assert f"/measurements/{measurement.id}/" in client.get(graph_page).content.decode()
    words = ["HEFT, seed 0", "All on /device:CPU:0", "All on /device:CPU:1", "Random 1"]
    assert [row.words for row in measurement.placements.all()] == words
    assert start(client, cpu_run).status_code == 409

    def measuring(path: Path, suffix: str, placements: list[dict[str, str]], *_: object, **named: Any) -> Any:
        assert (path, suffix) == (cpu_run.graph.source_path, ".pb")
        assert [set(placement.values()) for placement in placements[:3]] == [
            {"/device:CPU:0"},
            {"/device:CPU:0"},
            {"/device:CPU:1"},
        ]
        assert set(placements[3]) == {"a", "b", "sum", "left", "right"}
        assert (named["rounds"], named["steps"], named["kept"]) == (2, 4, measurement.rounds_path)
        assert api.cluster_to_json(named["cluster"]) == CPUS
        return REPORT

    done = carry_out(measurement, monkeypatch, measuring)
    assert (done.status, done.error, done.result) == (StepMeasurement.DONE, "", REPORT)


def test_its_page_says_what_it_means(
    client: Client, measurement: StepMeasurement, monkeypatch: pytest.MonkeyPatch
) -> None:
    carry_out(measurement, monkeypatch)
    page = page_of(client, measurement)
    assert "The simulator orders these 4 placements roughly as this machine does." in page
    assert "The one that it calls fastest is the fastest here, too." in page
    assert "1.57 times the simulated one in the median, 1 to 2.25 times over all." in page
    assert "With 4 placements these figures are rough" in page
    assert '<li class="name">The simulated steps are those of another machine, 2 × &lt;b&gt;, this one is' in page
    assert "<dt>Regret, cross-checked</dt><dd><strong>2.1 %</strong>" in page
    assert page.count('class="scatter-spot') == 4
    [run] = Run.objects.all()
    assert f'<a href="/runs/{run.id}/">HEFT, seed 0</a>' in page
    assert page.index(">HEFT, seed 0<") < page.index("All on /device:CPU:1") < page.index(">All on /device:CPU:0")
    report = json.loads(client.get(f"/measurements/{measurement.id}/measurement.json").content)
    assert report["fidelity"] == REPORT["fidelity"]
    assert report["placements"][3]["words"] == "Random 1" and report["cluster"] == CPUS
    client.post(f"/runs/{run.id}/delete/")
    purge()
    assert MeasuredPlacement.objects.filter(words="HEFT, seed 0", run=None).count() == 1
    assert f"/runs/{run.id}/" not in page_of(client, measurement)


def test_a_machine_that_is_too_noisy_ends_it_with_the_figures(
    client: Client, measurement: StepMeasurement, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> Any:
        raise NOISY

    failed = carry_out(measurement, monkeypatch, refuse)
    assert (failed.status, failed.error) == (StepMeasurement.FAILED, str(NOISY))
    assert str(NOISY) in page_of(client, measurement)
    assert str(NOISY) in client.get(f"/graphs/{measurement.graph_id}/").content.decode()
    assert client.get(f"/measurements/{measurement.id}/measurement.json").status_code == 404


def test_another_attempt_goes_on_from_the_kept_rounds(
    measurement: StepMeasurement, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed_after_a_round(*arguments: Any, kept: Path, **_: object) -> Any:
        kept.write_text("a round")
        arguments[5]("round 2 of 2", 1, 9)
        raise api.ChildKilledError("killed")

    waiting = carry_out(measurement, monkeypatch, killed_after_a_round)
    assert (waiting.status, waiting.attempts, waiting.fruitless_attempts) == (StepMeasurement.QUEUED, 1, 1)
    assert list(unknown_rounds()) == []

    def going_on(*_: object, kept: Path, **__: object) -> Any:
        assert kept.read_text() == "a round"
        return REPORT

    done = carry_out(measurement, monkeypatch, going_on)
    assert done.is_done and done.attempts == 2


def test_after_a_round_it_yields_to_another_project(
    measurement: StepMeasurement, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    settings.YIELD_AFTER_SECONDS, settings.HEARTBEAT_SECONDS = 0.0, 0.01
    Calibration.objects.create()

    def measuring(*arguments: Any, kept: Path, pulse: Callable[[], None], **_: object) -> Any:
        for number in range(2000):
            pulse()
            kept.write_text("round " * number)
            arguments[5]("round 2 of 2", number, 9)
            time.sleep(0.01)

    waiting = carry_out(measurement, monkeypatch, measuring)
    assert (waiting.status, waiting.error, waiting.attempts) == (StepMeasurement.QUEUED, "", 0)
    next_one = next_in_turn("execute")
    assert next_one is not None and next_one.model is Calibration


def test_one_that_runs_ends_at_its_next_pulse_and_its_file_goes_with_it(
    client: Client, measurement: StepMeasurement, data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heartbeat, "LOOK_EVERY_SECONDS", 0.01)

    def measuring(*_: object, kept: Path, pulse: Callable[[], None], **__: object) -> Any:
        kept.write_text("a round")
        client.post(f"/measurements/{measurement.id}/cancel/")
        while True:
            pulse()

    assert carry_out(measurement, monkeypatch, measuring).status == StepMeasurement.CANCELLED
    assert client.post(f"/measurements/{measurement.id}/cancel/", headers=JSON).status_code == 409
    assert "The runs stay." in client.get(f"/measurements/{measurement.id}/delete/").content.decode()
    assert client.post(f"/measurements/{measurement.id}/delete/").headers["Location"] == (
        f"/graphs/{measurement.graph_id}/"
    )
    assert page_of_gone(client, measurement)
    (data_folder / "measurements" / "stray.rounds").touch()
    assert [path.name for path in unknown_rounds()] == ["stray.rounds"]
    purge()
    assert not measurement.rounds_path.exists() and not MeasuredPlacement.objects.exists()


def page_of_gone(client: Client, measurement: StepMeasurement) -> bool:
    return client.get(f"/measurements/{measurement.id}/").status_code == 404


def test_runs_on_devices_that_are_not_here_are_not_offered(client: Client, real_graph: Graph) -> None:
    answered(real_graph)
    answered(real_graph, cluster=api.cluster_to_json(api.parse_cluster("5xCPU")))
    answered(real_graph, cluster={**api.cluster_to_json(api.parse_cluster("5xCPU")), "calibration": CALIBRATION})
    answered(real_graph, cluster=CPUS, status=Run.FAILED)
    page = client.get(f"/graphs/{real_graph.id}/measure/").content.decode()
    assert "No run of this graph has a placement for devices that this machine has." in page


def test_two_processors_are_offered_on_a_machine_with_one(
    client: Client, cpu_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A calibration takes two processes there, too."""
    monkeypatch.setattr(device_process, "usable_cores", lambda: 1)
    answered(cpu_run.graph, cluster=api.cluster_to_json(api.parse_cluster("3xCPU")))
    page = client.get(f"/graphs/{cpu_run.graph_id}/measure/").content.decode()
    assert str(cpu_run.id) in page and page.count('name="runs"') == 1


def test_a_gpu_that_is_here_is_offered(
    client: Client, real_graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("0000:01:00.0", "0000:02:00.0"):
        (tmp_path / "gpus" / name).mkdir(parents=True)
    monkeypatch.setattr(candidates, "NVIDIA_GPUS", tmp_path / "gpus")
    run, _ = answered(real_graph)
    assert start(client, run).status_code == 302


def test_what_cannot_be_compared_is_refused(client: Client, cpu_run: Run, real_graph: Graph) -> None:
    other, _ = answered(real_graph, cluster=api.cluster_to_json(api.parse_cluster("3xCPU")))
    for answer, field, sentence in (
        (start(client, cpu_run, runs=""), "runs", "Select a valid choice.  is not one of the available choices."),
        (start(client, cpu_run, other), "runs", "These runs are on different devices; choose runs on the same ones."),
        (
            start(client, cpu_run, one_device="", others="0"),
            "runs",
            "One placement has nothing to be compared with; choose another one.",
        ),
        (start(client, cpu_run, rounds="21"), "rounds", "Ensure this value is less than or equal to 20."),
    ):
        assert (answer.status_code, answer.json()["errors"]) == (400, {field: [sentence]})
    Graph.objects.update(status=Graph.FAILED)
    assert start(client, cpu_run).status_code == 400
    assert client.get(f"/measurements/{uuid.uuid4()}/").status_code == 404
    assert not StepMeasurement.objects.exists()
