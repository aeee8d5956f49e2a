"""A person starts a run."""

import re
from typing import Any

import pytest
from django.test import Client

from engine import api
from tests.webapp.conftest import MemoryBroker
from webapp.celery import app
from webapp.graphs.models import Graph
from webapp.runs.models import Run
from webapp.runs.requests import request_of

FORM = {
    "cluster": "2xK80",
    "method": "placeto",
    "preset": "",
    "evaluations": "100",
    "seconds": "",
    "seed": "0",
}


def start(client: Client, graph: Graph, **changes: str) -> Any:
    """Send the form."""
    return client.post(f"/graphs/{graph.id}/runs/", FORM | changes, headers={"accept": "application/json"})


def only_run() -> Run:
    """The one that was started."""
    return Run.objects.get()


def test_the_run_is_queued(client: Client, ready_graph: Graph, broker: MemoryBroker) -> None:
    response = start(client, ready_graph, seconds="60", seed="7", cluster="2xK80+CPU")
    run = only_run()
    assert response.status_code == 302
    assert response.url == f"/runs/{run.id}/"
    assert (run.status, run.method, run.evaluations, run.seconds, run.seed) == (Run.QUEUED, "placeto", 100, 60.0, 7)
    assert broker.messages("gpu") == [["gpu"]]
    request = request_of(run)
    assert api.cluster_to_json(request.cluster) == api.cluster_to_json(api.parse_cluster("2xK80+CPU"))
    assert (request.budget, request.seed, request.settings) == (api.Budget(100, 60.0), 7, {})
    assert client.get(response.url).status_code == 200


def test_the_first_method_of_the_engine_is_offered_first(client: Client, ready_graph: Graph) -> None:
    page = client.get(f"/graphs/{ready_graph.id}/").content.decode()
    methods = page.partition('name="method"')[2].partition("</select>")[0]
    assert re.findall(r'value="(\w+)" selected', methods) == [api.methods()[0].name] == ["auto"]


def test_devices_that_cannot_hold_the_variables_are_refused_with_how_many_would(
    client: Client, ready_graph: Graph
) -> None:
    assert isinstance(ready_graph.summary, dict)
    ready_graph.summary = ready_graph.summary | {"persistent_bytes": 5 * 1024**3}
    ready_graph.save(update_fields=["summary"])
    answer = start(client, ready_graph, cluster="2xK80:1.5")
    assert answer.status_code == 400
    assert answer.json()["errors"]["cluster"] == [
        "the variables need 5.00 GiB, more than the 3.00 GiB of all devices together; use more or larger devices: at "
        "least 4 × K80 with 1.50 GiB each, and more for what is computed"
    ]
    assert not Run.objects.exists()
    start(client, ready_graph, cluster="2xK80:2.5")
    assert only_run().graph == ready_graph


OWN_KIND = """{"devices": [{"name": "/device:GPU:0", "kind": "Wafer"}], "kinds": {"Wafer": {"class": "GPU",
    "peak_gflops": {"float32": 1e5, "float16": 8e5}, "memory_bandwidth_bytes_per_us": 2e6, "memory_bytes": 6e10}}}"""


@pytest.mark.parametrize(
    "text",
    [
        "4xV100+cpu",
        "2xA100:1.5GiB+cpu@infiniband",
        '{"devices": [{"name": "/device:GPU:0", "kind": "A100"}]}',
        OWN_KIND,
    ],
)
def test_the_cluster_is_the_one_that_is_written(client: Client, ready_graph: Graph, text: str) -> None:
    start(client, ready_graph, cluster=text)
    expected = api.cluster_to_json(api.parse_cluster(text))
    assert api.cluster_to_json(request_of(only_run()).cluster) == expected


def test_presets_of_several_methods_are_offered_once(client: Client, ready_graph: Graph) -> None:
    page = client.get(f"/graphs/{ready_graph.id}/").content.decode()
    presets = {preset for method in api.methods() for preset in method.presets}
    assert sum(preset in method.presets for method in api.methods() for preset in presets) > len(presets)
    assert [page.count(f'<option value="{preset}">') for preset in sorted(presets)] == [1] * len(presets)


def test_a_preset_is_a_setting_of_the_method(client: Client, ready_graph: Graph) -> None:
    method = next(method for method in api.methods() if method.presets)
    start(client, ready_graph, method=method.name, preset=method.presets[-1])
    assert only_run().settings == {"preset": method.presets[-1]}


def test_the_placement_to_offer_first_is_the_fastest_unless_a_person_says_otherwise(
    client: Client, ready_graph: Graph
) -> None:
    for fields, prefer in (({}, "fastest"), ({"prefer": "simplest=2%"}, "simplest=2%")):
        response = start(client, ready_graph, **fields)
        assert request_of(only_run()).prefer.words == prefer
        assert client.get(f"{response.url}run.json").json()["prefer"] == prefer
        only_run().delete()


def test_devices_that_the_file_fixes_count_unless_they_are_to_be_ignored(client: Client, ready_graph: Graph) -> None:
    for fields, dropped in (({}, False), ({"drop_devices": "on"}, True)):
        response = start(client, ready_graph, **fields)
        run = only_run()
        assert request_of(run).drop_devices is dropped
        assert client.get(f"{response.url}run.json").json()["drop_devices"] is dropped
        assert ("ignored" in client.get(response.url).content.decode()) is dropped
        run.delete()


def test_ops_that_need_a_cpu_are_shown_where_there_is_none(client: Client, ready_graph: Graph) -> None:
    def is_shown(fields: dict[str, str]) -> bool:
        page = client.post(f"/graphs/{ready_graph.id}/runs/", FORM | {"seed": "x"} | fields).content.decode()
        [notice] = [line for line in page.splitlines() if 'data-part="no-cpu"' in line]
        return "hidden>" not in notice

    cpu_ops = {"ops": 2, "reasons": [["its inputs are texts", 2, ["a", "b"]]]}
    Graph.objects.update(summary={"groups": 3, "ops": 3, "cpu_ops": cpu_ops})
    assert is_shown({})
    assert not is_shown({"cluster": "2xK80+CPU"})
    Graph.objects.update(summary={"groups": 3, "ops": 3, "cpu_ops": {"ops": 0, "reasons": []}})
    assert 'data-part="no-cpu"' not in client.get(f"/graphs/{ready_graph.id}/").content.decode()


def test_pressing_twice_starts_two_runs_that_are_whole(client: Client, ready_graph: Graph) -> None:
    start(client, ready_graph)
    start(client, ready_graph)
    assert Run.objects.filter(status=Run.QUEUED).count() == 2


BAD_FIELDS = [
    ({"cluster": ""}, "cluster", "Describe the devices, such as 2xH100+CPU."),
    ({"cluster": "257xK80"}, "cluster", "257 devices; allowed: 1 to 256 devices"),
    ({"cluster": "256xK80+CPU"}, "cluster", "257 devices; allowed: 1 to 256 devices"),
    ({"cluster": "2xTPU"}, "cluster", "TPU: this device kind is not known"),
    ({"cluster": "2xK80:0GiB"}, "cluster", "memory of K80: 0 GiB; allowed: a number of GiB above 0"),
    ({"cluster": "2xK80@nvlink"}, "cluster", "@nvlink: K80 has no NVLink"),
    ({"cluster": "this-machine"}, "cluster", "it is not offered now"),
    ({"cluster": "0xK80"}, "cluster", "0 devices; allowed: 1 to 256 devices"),
    ({"cluster": "nonsense!"}, "cluster", "this is not a number of devices"),
    ({"cluster": '{"devices": []}'}, "cluster", "devices"),
    ({"cluster": "{"}, "cluster", ""),
    ({"cluster": '{"devices": [{"name": "a", "kind": "K80", "memory_bytes": NaN}]}'}, "cluster", ""),
    ({"method": "magic"}, "method", "magic is not one of the available choices"),
    ({"method": "magic" * 99}, "method", f"{('magic' * 16)[:79]}… is not one of the available choices"),
    ({"method": ""}, "method", "required"),
    ({"preset": "magic"}, "preset", "There is no preset 'magic'; allowed: "),
    ({"preset": "magic" * 99}, "preset", f"There is no preset '{('magic' * 16)[:79]}…'; allowed: "),
    ({"evaluations": "0"}, "evaluations", "evaluations: 0 evaluations; allowed: 1 to 100000000"),
    ({"evaluations": "1000000000"}, "evaluations", "allowed: 1 to 100000000"),
    ({"evaluations": ""}, "evaluations", "required"),
    ({"evaluations": "1.5"}, "evaluations", "whole number"),
    ({"seconds": "0"}, "seconds", "allowed: a number above 0"),
    ({"seconds": "-5"}, "seconds", "allowed: a number above 0"),
    ({"seconds": "nan"}, "seconds", "Enter a number"),
    ({"seed": "abc"}, "seed", "whole number"),
    ({"prefer": "simplest=3%"}, "prefer", "simplest=3% is not one of the available choices"),
    ({"seed": "-1"}, "seed", "greater than or equal to 0"),
    ({"seed": str(2**63)}, "seed", "less than or equal to 9223372036854775807"),
]


@pytest.mark.parametrize(("changes", "field", "sentence"), BAD_FIELDS)
def test_nonsense_is_a_sentence_at_its_field(
    client: Client, ready_graph: Graph, broker: MemoryBroker, changes: dict[str, str], field: str, sentence: str
) -> None:
    response = start(client, ready_graph, **changes)
    assert response.status_code == 400
    errors = response.json()["errors"]
    assert list(errors) == [field]
    assert sentence in " ".join(errors[field])
    assert not Run.objects.exists()
    assert broker.messages("gpu") == []


def test_the_page_comes_again_with_what_was_entered(client: Client, ready_graph: Graph) -> None:
    response = client.post(f"/graphs/{ready_graph.id}/runs/", FORM | {"evaluations": "-3", "seed": "11"})
    assert response.status_code == 400
    assert response.context["run_form"]["seed"].value() == "11"
    assert "evaluations" in response.context["run_form"].errors


@pytest.mark.parametrize("status", [Graph.QUEUED, Graph.READING, Graph.FAILED])
def test_a_graph_that_is_not_ready_takes_no_run(client: Client, graph: Graph, status: str) -> None:
    Graph.objects.update(status=status)
    response = start(client, graph)
    assert response.status_code == 400
    assert "once it is ready" in response.json()["errors"][""][0]
    assert not Run.objects.exists()


def test_a_graph_that_does_not_exist_takes_no_run(client: Client, ready_graph: Graph) -> None:
    graph_id = ready_graph.id
    ready_graph.delete()
    ready_graph.id = graph_id
    response = start(client, ready_graph)
    assert response.status_code == 404
    assert response.json() == {"errors": {"": ["This graph does not exist, or it has been deleted."]}}


def test_a_broker_that_is_away_does_not_lose_the_run(
    client: Client, ready_graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(app.conf, "broker_write_url", "redis+socket:///nowhere/redis.sock")
        assert start(client, ready_graph).status_code == 302
    assert only_run().status == Run.QUEUED


def test_the_run_tells_scripts_all_they_need(client: Client, run_of_blob: Run) -> None:
    run = run_of_blob
    answer = client.get(f"/runs/{run.id}/run.json").json()
    assert set(answer) >= {
        *("id", "status", "method", "settings", "evaluations", "seed", "seconds", "cluster", "devices", "groups"),
        *("last_seq", "attempts", "error", "created_at", "started_at", "finished_at", "urls"),
    }
    assert answer["devices"][0] == {
        "name": "/device:GPU:0",
        "kind": "K80",
        "class": "GPU",
        "memory_bytes": 12 * 1024**3,
    }
    assert (answer["groups"], answer["last_seq"]) == (3, 0)
    for address in (answer["urls"]["detail"], answer["urls"]["graph"], answer["urls"]["events"]):
        assert client.get(address).status_code == 200
    assert answer["urls"]["downloads"]["placed.pb"] == f"/runs/{run.id}/placed.pb"
