"""A person compares methods: starts a comparison, looks at it, cancels it, takes it away, deletes it."""

import html
import json
from typing import Any

import pytest
from django.test import Client
from django.utils.timezone import localtime

from engine import api
from tests.webapp.conftest import MemoryBroker
from tests.webapp.states import state_of
from webapp.comparisons import lifecycle
from webapp.comparisons.models import ComparedRun, Comparison
from webapp.comparisons.requests import request_of
from webapp.graphs.models import Graph
from webapp.jobs.claim import Claim
from webapp.runs.models import Run
from webapp.runs.placing import place_run

FORM: dict[str, Any] = {
    "cluster": "2xK80",
    "methods": ["random", "m_topo"],
    "evaluations": "30",
    "seconds": "",
    "seeds": "2",
}


def start(client: Client, graph: Graph, **changes: Any) -> Any:
    """Send the form."""
    return client.post(f"/graphs/{graph.id}/compare/", FORM | changes, headers={"accept": "application/json"})


def only_comparison() -> Comparison:
    """The one that was started."""
    return Comparison.objects.get()


@pytest.fixture
def comparison(real_graph: Graph) -> Comparison:
    """Two methods, two seeds of the one that draws at random, queued."""
    cluster = api.parse_cluster("2xK80")
    return lifecycle.start(real_graph, api.ComparisonRequest(cluster, ("random", "cpu_only"), api.Budget(30), 2))


def carry_out(comparison: Comparison) -> None:
    """As workers do with what is queued."""
    for compared in ComparedRun.objects.filter(comparison=comparison):
        place_run(compared.run_id)


def test_each_method_and_seed_is_a_run_in_the_queue(client: Client, ready_graph: Graph, broker: MemoryBroker) -> None:
    response = start(client, ready_graph, seconds="60", drop_devices="on")
    comparison = only_comparison()
    assert (response.status_code, response.url) == (302, f"/comparisons/{comparison.id}/")
    runs = lifecycle.runs_of(comparison)
    assert [(run.method, run.seed) for run in runs] == [("random", 0), ("random", 1), ("m_topo", 0)]
    for run in runs:
        assert (run.status, run.evaluations, run.seconds, run.drop_devices) == (Run.QUEUED, 30, 60.0, True)
        assert run.cluster == api.cluster_to_json(api.parse_cluster("2xK80"))
    assert broker.messages("gpu") == [["gpu"]] * len(runs)
    assert [run.seed for run in Run.objects.order_by("created_at")[:2]] == [0, 0], "seed by seed"


def test_the_page_before_anything_has_run(client: Client, ready_graph: Graph) -> None:
    address = start(client, ready_graph).url
    page = client.get(address).content.decode()
    assert "0 of 3 runs ended" in page
    assert "Cancel all" in page
    state = client.get(f"{address}state.json").json()
    assert (state["total"], state["ended"], state["running"]) == (3, 0, 0)
    assert [(row["label"], row["mean_us"]) for row in state["methods"]] == [("Random", None), ("m-TOPO", None)]
    graph_page = client.get(f"/graphs/{ready_graph.id}/").content.decode()
    assert address in graph_page
    assert f"/graphs/{ready_graph.id}/compare/" in graph_page


@pytest.mark.usefixtures("transactional_db")
def test_once_all_have_ended_it_shows_what_the_engine_gives(client: Client, comparison: Comparison) -> None:
    carry_out(comparison)
    state = client.get(f"/comparisons/{comparison.id}/state.json").json()
    assert (state["ended"], state["total"]) == (3, 3)
    random, cpu_only = state["methods"]
    step_times = [run.best_step_time_us for run in lifecycle.runs_of(comparison)[:2]]
    assert random["feasible"] == 2
    assert [random["least_us"], random["greatest_us"]] == sorted(step_times)  # type: ignore[type-var]  # both are known
    assert random["evaluations"] == 30
    assert random["band"]["evaluations"][-1] == 30
    assert random["band"]["low_us"][-1] == random["least_us"]
    assert (cpu_only["feasible"], cpu_only["mean_us"]) == (0, None)
    assert cpu_only["reasons"] == ["the cluster has no CPU; add one, as in 2xK80+cpu"]
    page = client.get(f"/comparisons/{comparison.id}/").content.decode()
    assert "3 of 3 runs ended" in page
    assert "the cluster has no CPU" in page
    assert "Cancel all" not in page


@pytest.mark.usefixtures("transactional_db")
def test_what_is_shown_while_a_run_works_grows_with_its_events(client: Client, comparison: Comparison) -> None:
    address = f"/comparisons/{comparison.id}/state.json"
    assert client.get(address).json()["one_device_us"] is None
    [first, *_] = ComparedRun.objects.filter(comparison=comparison)
    place_run(first.run_id)
    state = client.get(address).json()
    assert (state["ended"], state["methods"][0]["ended"], state["methods"][0]["feasible"]) == (1, 1, 1)
    assert state["one_device_us"] >= state["methods"][0]["least_us"]


def test_the_table_is_there_by_itself_to_be_renewed(client: Client, comparison: Comparison) -> None:
    address = f"/comparisons/{comparison.id}/"
    before = client.get(f"{address}table.html").content.decode()
    carry_out(comparison)
    after = client.get(f"{address}table.html").content.decode()
    assert before != after
    assert after.strip() in client.get(address).content.decode()


@pytest.mark.usefixtures("transactional_db")
def test_report_and_table_are_those_of_the_command_line(client: Client, comparison: Comparison) -> None:
    carry_out(comparison)
    answer = client.get(f"/comparisons/{comparison.id}/comparison.json")
    assert answer.headers["Content-Disposition"] == 'attachment; filename="my-graph-1-comparison.json"'
    report = json.loads(answer.content)
    assert [(row["method"], row["seed"], row["feasible"]) for row in report["rows"]] == [
        *(("random", 0, True), ("random", 1, True)),
        ("cpu_only", 0, False),
    ]
    prepared = api.PreparedGraph.from_bytes(bytes(comparison.graph.prepared.blob))
    row = report["rows"][0]
    [simulated] = api.simulate(prepared, api.parse_cluster("2xK80"), [row["placement"]])
    assert isinstance(simulated, dict)
    assert simulated["step_time_us"] == row["step_time_us"]
    assert simulated["peak_bytes"] == row["peak_bytes"]
    table = client.get(f"/comparisons/{comparison.id}/comparison.md").content.decode()
    assert table.splitlines()[2].startswith("| Random | 2 |")


@pytest.mark.usefixtures("transactional_db")
def test_the_verdict_on_the_fastest_run_stands_above_the_table(client: Client, comparison: Comparison) -> None:
    address = f"/comparisons/{comparison.id}/"
    assert 'data-part="verdict"' not in client.get(f"{address}table.html").content.decode()
    carry_out(comparison)
    rows = json.loads(client.get(f"{address}comparison.json").content)["rows"]
    fastest = min((row for row in rows if row["feasible"]), key=lambda row: row["step_time_us"])
    sentence = fastest["verdict"]["sentence"]
    for name in ("", "table.html", "comparison.md"):
        assert sentence in client.get(address + name).content.decode()


@pytest.mark.usefixtures("transactional_db")
def test_where_nothing_fits_the_verdict_says_so(client: Client, real_graph: Graph) -> None:
    small = [{"name": f"/device:GPU:{index}", "kind": "K80", "memory_bytes": 1} for index in range(2)]
    cluster = api.parse_cluster(json.dumps({"devices": small}))
    comparison = lifecycle.start(real_graph, api.ComparisonRequest(cluster, ("random",), api.Budget(5), 1))
    carry_out(comparison)
    [row] = json.loads(client.get(f"/comparisons/{comparison.id}/comparison.json").content)["rows"]
    assert (row["verdict"]["kind"], row["feasible"]) == ("infeasible", False)
    page = html.unescape(client.get(f"/comparisons/{comparison.id}/").content.decode())
    assert row["verdict"]["sentence"] in page


def test_the_figure_is_that_of_the_command_line(client: Client, comparison: Comparison) -> None:
    comparison.graph.name = "$\\frac{$ <b>.pb"  # text, and no formula
    comparison.graph.save()
    carry_out(comparison)
    for suffix, begin, content_type in (("svg", b"<?xml", "image/svg+xml"), ("png", b"\x89PNG", "image/png")):
        answer = client.get(f"/comparisons/{comparison.id}/comparison.{suffix}")
        assert answer.content.startswith(begin)
        assert answer.headers["Content-Type"] == content_type
        assert answer.headers["Content-Disposition"] == f'attachment; filename="frac-b-comparison.{suffix}"'


def test_a_method_has_the_preset_that_was_chosen(client: Client, ready_graph: Graph) -> None:
    chosen = {"methods": ["placeto", "rnn", "random"], "preset_placeto": "paper", "preset_rnn": "fast"}
    address = start(client, ready_graph, seeds="1", **chosen).url
    assert {run.method: run.settings for run in lifecycle.runs_of(only_comparison())} == {
        "placeto": {"preset": "paper"},
        "rnn": {},  # fast is its default
        "random": {},
    }
    assert request_of(only_comparison()).settings == {"placeto": {"preset": "paper"}}
    assert "Placeto with preset paper" in client.get(address).content.decode()
    refused = start(client, ready_graph, methods=["placeto"], preset_placeto="magic")
    assert list(refused.json()["errors"]) == ["preset_placeto"]


@pytest.mark.usefixtures("transactional_db")
def test_a_list_of_runs_has_one_line_for_all_of_it(client: Client, comparison: Comparison) -> None:
    graph = comparison.graph
    for address in (f"/graphs/{graph.id}/", f"/projects/{graph.project_id}/"):
        page = client.get(address).content.decode()
        assert page.count(f'data-job-id="{comparison.id.hex}"') == 1
        assert "0 of 3 ended" in page
        assert f'<time datetime="{localtime(comparison.created_at).isoformat()}"' in page
        assert "/runs/" not in page.partition('id="runs-title"')[2]
    assert state_of(client, "comparison", comparison.id)["status"] == "queued"
    [first, *_] = ComparedRun.objects.filter(comparison=comparison)
    place_run(first.run_id)
    [best_us] = Run.objects.filter(id=first.run_id).values_list("best_step_time_us", flat=True)
    expected = {"status": "running", "stage": "1 of 3 ended", "best_step_time_us": best_us, "evaluations_used": 30}
    assert state_of(client, "comparison", comparison.id) == expected
    carry_out(comparison)
    done = state_of(client, "comparison", comparison.id)
    assert (done["status"], done["stage"], done["evaluations_used"]) == ("done", "", 60)


def test_all_of_it_is_cancelled(client: Client, comparison: Comparison) -> None:
    [first, *_] = ComparedRun.objects.filter(comparison=comparison)
    assert Claim.take(Run, first.run_id) is not None
    response = client.post(f"/comparisons/{comparison.id}/cancel/")
    assert (response.status_code, response.headers["Location"]) == (302, f"/comparisons/{comparison.id}/")
    by_status = [(run.status, run.cancel_requested) for run in Run.objects.all()]
    assert sorted(by_status) == [(Run.CANCELLED, False)] * 2 + [(Run.RUNNING, True)]
    page = client.get(f"/comparisons/{comparison.id}/").content.decode()
    assert "2 of 3 runs ended" in page
    assert "cancelled before it found a placement" in page


def test_what_has_ended_is_not_cancelled(client: Client, comparison: Comparison) -> None:
    Run.objects.update(status=Run.DONE)
    address = f"/comparisons/{comparison.id}/cancel/"
    response = client.post(address, headers={"accept": "application/json"})
    assert (response.status_code, response.json()) == (
        409,
        {"errors": {"": ["All runs of this comparison had already ended."]}},
    )
    assert "had already ended" in client.post(address, follow=True).content.decode()


def test_it_is_deleted_with_its_runs_and_no_others(client: Client, comparison: Comparison, run: Run) -> None:
    response = client.post(f"/comparisons/{comparison.id}/delete/")
    assert response.headers["Location"] == f"/graphs/{comparison.graph_id}/"
    assert list(Run.objects.all()) == [run]
    assert not Comparison.objects.exists()
    assert client.get(f"/comparisons/{comparison.id}/").status_code == 404


def test_a_run_can_be_deleted_from_it(client: Client, comparison: Comparison) -> None:
    for run in lifecycle.runs_of(comparison):
        client.post(f"/runs/{run.id}/delete/")
        assert client.get(f"/comparisons/{comparison.id}/").status_code == 200
        assert client.get(f"/comparisons/{comparison.id}/comparison.md").status_code == 200
    assert "have been deleted" in client.get(f"/comparisons/{comparison.id}/").content.decode()


BAD_FIELDS = [
    ({"methods": []}, "methods", "required"),
    ({"methods": ["magic"]}, "methods", "magic is not one of the available choices"),
    ({"methods": ["heft", "heft"]}, "methods", "heft is listed twice; allowed: each method once"),
    ({"seeds": "0"}, "seeds", "seeds: 0; allowed: 1 to 1000"),
    ({"seeds": "200"}, "seeds", "201 runs in all; allowed: at most 200"),
    ({"seeds": "x"}, "seeds", "whole number"),
    ({"evaluations": "0"}, "evaluations", "evaluations: 0 evaluations; allowed: 1 to 100000000"),
    ({"seconds": "-1"}, "seconds", "allowed: a number above 0"),
    ({"cluster": ""}, "cluster", "Describe the devices, such as 2xH100+CPU."),
    ({"cluster": "0xK80"}, "cluster", "0 devices; allowed: 1 to 256 devices"),
]


@pytest.mark.parametrize(("changes", "field", "sentence"), BAD_FIELDS)
def test_nonsense_is_a_sentence_at_its_field(
    client: Client, ready_graph: Graph, broker: MemoryBroker, changes: dict[str, Any], field: str, sentence: str
) -> None:
    response = start(client, ready_graph, **changes)
    assert response.status_code == 400
    errors = response.json()["errors"]
    assert list(errors) == [field]
    assert sentence in " ".join(errors[field])
    assert not Run.objects.exists()
    assert broker.messages("gpu") == []


def test_the_form_offers_all_methods_and_comes_again_with_what_was_entered(client: Client, ready_graph: Graph) -> None:
    page = client.get(f"/graphs/{ready_graph.id}/compare/").content.decode()
    names = [method.name for method in api.methods()]
    for name in names:
        assert f'value="{name}"' in page
    assert "Pipeline DP (throughput only)" in page
    response = client.post(f"/graphs/{ready_graph.id}/compare/", FORM | {"seeds": "0"})
    assert response.status_code == 400
    page = response.content.decode()
    assert page.count('type="checkbox" name="methods"') == len(names)
    assert "allowed: 1 to 1000" in page


def test_a_graph_that_is_not_ready_takes_none(client: Client, graph: Graph) -> None:
    response = start(client, graph)
    assert response.status_code == 400
    assert "once it is ready" in response.json()["errors"][""][0]
    assert not Comparison.objects.exists()
