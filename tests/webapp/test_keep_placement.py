"""A person keeps placements on the page of a run: by hand, from an event, from a file; renames, downloads, deletes."""

import dataclasses
import json
import re
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from engine import api
from engine.files.tensor_file import unpack_tensors
from engine.graphs.grouping.nesting import Levels
from experiments.problems import regrouped
from tests.webapp.downloads import content_of
from tests.webapp.purge import purge
from tests.webapp.scripted_engine import CLUSTER
from webapp import capacity
from webapp.backups.schema import applied_migrations, tables_at
from webapp.graphs.models import Graph, PreparedBlob
from webapp.jobs import deletion
from webapp.jobs.models import Event
from webapp.placements import keeping
from webapp.placements.models import Placement
from webapp.runs.models import Answer, Run
from webapp.runs.placing import place_run
from webapp.runs.sessions import session_of

JSON = {"accept": "application/json"}
GPUS = ("/device:GPU:0", "/device:GPU:1")


@pytest.fixture
def run(real_graph: Graph) -> Run:
    """A run that has ended, with one episode."""
    Graph.objects.filter(id=real_graph.id).update(op_count=5)
    run = Run.objects.create(
        graph=real_graph, cluster=CLUSTER, method="heft", settings={}, evaluations=9, seed=0, status=Run.DONE
    )
    Event.objects.create(job_id=run.id, seq=1, type="episode", data=json.dumps({"type": "episode"}))
    return run


def groups_of(run: Run) -> int:
    return api.PreparedGraph.from_bytes(bytes(run.graph.prepared.blob)).grouping.group_count


def kept(client: Client, run: Run, **fields: Any) -> Any:
    """The answer to a request to keep a placement, by default one with all groups on the second device."""
    texts = {"placement": [1] * groups_of(run), "name": "mine"} | fields
    sent = {name: value if isinstance(value, str) else json.dumps(value) for name, value in texts.items()}
    return client.post(f"/runs/{run.id}/placements/", sent, headers=JSON)


def uploaded(client: Client, run: Run, content: object) -> Any:
    text = content if isinstance(content, bytes) else json.dumps(content).encode()
    file = SimpleUploadedFile("expert.json", text)
    return client.post(f"/runs/{run.id}/placements/upload", {"file": file}, headers=JSON)


def error_of(answer: Any) -> str:
    assert answer.status_code == 400, answer.content
    [sentences] = answer.json()["errors"].values()
    return str(sentences[0])


def names_of(run: Run) -> tuple[str, ...]:
    return api.PreparedGraph.from_bytes(bytes(run.graph.prepared.blob)).graph.op_names


def test_a_placement_by_hand_is_kept_with_its_simulation(client: Client, run: Run) -> None:
    answer = kept(client, run, base="event-1", locked=[0])
    assert answer.status_code == 201
    row = answer.json()
    assert (row["name"], row["origin"], row["run"], row["run_seq"]) == ("mine", "hand", str(run.id), 1)
    [listed] = client.get(f"/runs/{run.id}/placements.json").json()["placements"]
    assert listed == row
    whole = client.get(row["urls"]["json"]).json()
    assert whole["device_of_group"] == [1] * groups_of(run)
    assert whole["locked_groups"] == [0]
    explained = client.get(row["urls"]["explanation"])
    arrays, texts = unpack_tensors(explained.content, "answer")
    assert texts["step_time_us"] == row["step_time_us"]
    assert set(arrays["op.device"].tolist()) == {1}
    by_hand = client.post(f"/runs/{run.id}/step", {"placement": json.dumps([1] * groups_of(run))})
    assert by_hand.content == explained.content


def test_a_group_that_is_moved_by_hand_may_go_where_a_run_may_put_it(
    client: Client, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = session_of(run)
    monkeypatch.setattr(session, "allowed", session.allowed & np.array([[True, False]]))
    monkeypatch.setattr("webapp.pages.explorer.views.session_of", lambda _: session)
    sent = {"placement": json.dumps([1] * groups_of(run))}
    assert client.post(f"/runs/{run.id}/step", sent, headers=JSON).status_code == 200, "another run may have made it"
    refused = error_of(client.post(f"/runs/{run.id}/step", {**sent, "moved": "[0]"}, headers=JSON))
    assert "its group may not go to /device:GPU:1; allowed: /device:GPU:0" in refused
    assert "no such group" in error_of(client.post(f"/runs/{run.id}/step", {**sent, "moved": "[99]"}, headers=JSON))


def test_a_placement_of_an_event_is_kept_as_from_the_run(client: Client, run: Run) -> None:
    assert kept(client, run, base="event-1", is_moved="false").json()["origin"] == "run"


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"name": " "}, "a name of 0 characters"),
        ({"name": "x" * 201}, "a name of 201 characters"),
        ({"placement": "[7]"}, "placement: "),
        ({"locked": "[99]"}, "no such group"),
        ({"locked": "no"}, "no list of integers"),
        ({"base": "event-77"}, "no such event"),
        ({"base": "event-²"}, "no such event"),
    ],
)
def test_what_cannot_be_kept_is_refused_and_not_stored(
    client: Client, run: Run, fields: dict[str, str], sentence: str
) -> None:
    assert sentence in error_of(kept(client, run, **fields))
    assert not Placement.objects.exists()


def test_a_graph_keeps_a_bounded_number(client: Client, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "MOST_OF_A_GRAPH", 1)
    assert kept(client, run).status_code == 201
    answer = kept(client, run)
    assert answer.status_code == 413
    assert "delete some first" in answer.content.decode()
    assert Placement.objects.count() == 1


def test_a_name_is_changed_and_is_text(client: Client, run: Run) -> None:
    urls = kept(client, run).json()["urls"]
    name = "<b>best\x00</b> __proto__"
    assert client.post(urls["rename"], {"name": name}, headers=JSON).json()["name"] == "<b>best </b> __proto__"
    assert "a name of 0" in error_of(client.post(urls["rename"], {"name": ""}, headers=JSON))


def test_a_deleted_placement_is_gone(client: Client, run: Run) -> None:
    row = kept(client, run).json()
    assert client.post(row["urls"]["delete"]).status_code == 200
    for name in ("json", "explanation"):
        assert client.get(row["urls"][name]).status_code == 404
    assert client.get(f"/runs/{run.id}/placements.json").json() == {"placements": []}


def test_a_graph_takes_its_placements_along_a_run_does_not(client: Client, run: Run) -> None:
    row = kept(client, run).json()
    deletion.delete(run)
    purge()
    assert client.get(row["urls"]["json"]).json()["run"] is None
    deletion.delete(run.graph)
    assert client.get(row["urls"]["json"]).status_code == 404
    purge()
    assert not Placement.all_rows.exists()


def test_a_backup_holds_them() -> None:
    assert Placement._meta.db_table in {table._meta.db_table for table in tables_at(applied_migrations())}


def test_placements_on_another_cluster_are_not_shown(client: Client, run: Run) -> None:
    other = Run.objects.create(
        graph=run.graph,
        cluster=api.cluster_to_json(api.parse_cluster("4xK80")),
        method="heft",
        settings={},
        evaluations=9,
        seed=0,
    )
    row = kept(client, other).json()
    assert client.get(f"/runs/{run.id}/placements.json").json() == {"placements": []}
    answer = kept(client, run, base=row["id"])
    assert answer.status_code == 400
    assert "of another graph or cluster" in error_of(answer)
    whole = [client.get(row["urls"]["json"], {"run": str(each.id)}, headers=JSON) for each in (other, run)]
    assert [answer.status_code for answer in whole] == [200, 404], "an address that names it opens no picture here"
    assert client.get(row["urls"]["json"], {"run": "no"}, headers=JSON).status_code == 404


def test_downloads_of_kept_and_hand_made_placements_have_the_same_content(client: Client, run: Run) -> None:
    row = kept(client, run).json()
    placement = client.get(row["urls"]["downloads"]["placement.json"])
    assert placement.json() == dict.fromkeys(names_of(run), GPUS[1])
    assert 'filename="my-graph-1-placement.json"' in placement["Content-Disposition"]
    sent = {"placement": json.dumps([1] * groups_of(run))}
    assert client.post(f"/runs/{run.id}/hand/placement.json", sent).content == placement.content
    text = content_of(client.get(row["urls"]["downloads"]["placed.pbtxt"]))
    assert text.count(b'"/device:GPU:1"') == len(names_of(run))
    assert content_of(client.post(f"/runs/{run.id}/hand/placed.pbtxt", sent)) == text
    assert client.get(row["urls"]["downloads"]["placed.zip"]).status_code == 409
    assert client.post(f"/runs/{run.id}/hand/report.json", sent).status_code == 404


def test_an_uploaded_placement_is_judged_as_a_download_of_it_says(client: Client, run: Run) -> None:
    names = names_of(run)
    answer = uploaded(client, run, dict.fromkeys(names, GPUS[1]))
    assert answer.status_code == 201
    row = answer.json()
    assert (row["name"], row["origin"], row["split_groups"]) == ("expert.json", "upload", 0)
    assert row["step_time_us"] == kept(client, run).json()["step_time_us"]
    again = client.get(row["urls"]["downloads"]["placement.json"]).json()
    assert again == dict.fromkeys(names, GPUS[1])


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "the file is empty"),
        ({"nobody": GPUS[0]}, "nobody: no such op in the graph"),
    ],
)
def test_a_file_that_is_no_placement_is_refused(client: Client, run: Run, content: object, sentence: str) -> None:
    assert sentence in error_of(uploaded(client, run, content))
    assert not Placement.objects.exists()


def test_without_a_file_the_answer_says_so(client: Client, run: Run) -> None:
    answer = client.post(f"/runs/{run.id}/placements/upload", {}, headers=JSON)
    assert "No file was chosen" in error_of(answer)


def test_a_group_on_several_devices_is_kept_op_by_op_and_moved_around(client: Client, run: Run) -> None:
    prepared = api.PreparedGraph.from_bytes(bytes(run.graph.prepared.blob))
    merged = regrouped(prepared, 2)
    PreparedBlob.objects.update(blob=merged.to_bytes())
    groups, group_of_op = merged.grouping.group_count, merged.grouping.group_of_op
    assert groups < len(group_of_op)
    split = int(np.argmax(np.bincount(group_of_op)))
    names = names_of(run)
    placement = dict.fromkeys(names, GPUS[0])
    placement[names[np.flatnonzero(group_of_op == split)[0]]] = GPUS[1]
    row = uploaded(client, run, placement).json()
    assert row["split_groups"] == 1
    whole = client.get(row["urls"]["json"]).json()["device_of_group"]
    assert whole == [api.SPLIT if group == split else 0 for group in range(groups)]
    assert client.get(row["urls"]["downloads"]["placement.json"]).json() == placement

    whole[1 - split] = 1
    moved = kept(client, run, placement=whole, base=row["id"]).json()
    assert (moved["parent"], moved["split_groups"]) == (row["id"], 1)
    explained = client.post(f"/runs/{run.id}/step", {"placement": json.dumps(whole), "base": row["id"]})
    assert unpack_tensors(explained.content, "answer")[1]["step_time_us"] == moved["step_time_us"]
    assert "-1 is not in the cluster" in error_of(kept(client, run, placement=whole))


def test_split_groups_of_an_event_and_of_another_run_stay_where_they_are(client: Client, run: Run) -> None:
    prepared = api.PreparedGraph.from_bytes(bytes(run.graph.prepared.blob))
    merged, single = regrouped(prepared, 1), regrouped(prepared, None)
    levels = Levels.of(merged.graph, [merged.grouping, single.grouping], merged.grouping)
    PreparedBlob.objects.update(blob=dataclasses.replace(merged, levels=levels).to_bytes())
    assert merged.grouping.group_count == 1
    parts: list[list[int]] = [[0] * (single.grouping.group_count - 1) + [1]]
    device_of_op = [parts[0][group] for group in single.grouping.group_of_op]
    event = {"type": "episode", "placement": [api.SPLIT], "parts": parts}
    Event.objects.create(job_id=run.id, seq=2, type="episode", data=json.dumps(event))
    other = Run.objects.create(graph=run.graph, cluster=CLUSTER, method="heft", settings={}, evaluations=9, seed=1)
    Answer.objects.create(run=other, step_time_us=9.0, device_of_group=[api.SPLIT], parts=[[*part] for part in parts])
    for base in ("event-2", f"run-{other.id}"):
        explained = client.post(f"/runs/{run.id}/step", {"placement": json.dumps([api.SPLIT]), "base": base})
        assert unpack_tensors(explained.content, "answer")[0]["op.device"].tolist() == device_of_op
    row = kept(client, run, placement=[api.SPLIT], base="event-2", is_moved="false").json()
    assert (row["run_seq"], row["origin"], row["parent"], row["split_groups"]) == (2, "run", None, 1)
    gains = client.post(f"/runs/{run.id}/gains.json", {"placement": json.dumps([api.SPLIT]), "base": "event-2"}).json()
    assert None not in gains["step_time_us"][0], "it may go to each device as a whole"


def test_what_waits_for_a_child_too_simulates_in_a_slot_of_the_explanations(
    client: Client, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    slots = threading.BoundedSemaphore(1)
    free: list[bool] = []

    def noting(simulate: Any) -> Any:
        def simulated(*given: Any) -> Any:
            is_free = slots.acquire(blocking=False)
            if is_free:
                slots.release()
            free.append(is_free)
            return simulate(*given)

        return simulated

    for name in ("evaluate", "by_parts"):
        monkeypatch.setattr(api.Session, name, noting(getattr(api.Session, name)))
    monkeypatch.setattr(capacity, "_slots", slots)
    row = uploaded(client, run, dict.fromkeys(names_of(run), GPUS[0])).json()
    assert free and not any(free)
    free.clear()
    assert client.get(row["urls"]["downloads"]["placement.json"]).status_code == 200
    assert free and not any(free)


def test_nothing_of_an_upload_stays_on_the_disk(client: Client, run: Run, data_folder: Path) -> None:
    uploaded(client, run, dict.fromkeys(names_of(run), GPUS[0]))
    uploaded(client, run, b"{")
    assert list((data_folder / "incoming").iterdir()) == []


def gone_on(client: Client, run: Run, **fields: Any) -> Any:
    texts = {
        "placement": [1] * groups_of(run),
        "locked": [0, 2],
        "method": "local_search",
        "evaluations": "30",
        "words": "episode 1, <b>changed</b>",
        "token": "episode-1",
    } | fields
    sent = {name: value if isinstance(value, str) else json.dumps(value) for name, value in texts.items()}
    return client.post(f"/runs/{run.id}/go-on/", sent, headers=JSON)


def test_a_run_goes_on_from_a_placement_with_its_locks_as_pins(
    transactional_db: None, client: Client, run: Run, broker: object
) -> None:
    answer = gone_on(client, run)
    assert answer.status_code == 201
    started = Run.objects.exclude(id=run.id).get()
    page = client.get(answer.json()["url"]).content.decode()
    assert f"/runs/{run.id}/?show=episode-1" in page
    assert "episode 1, &lt;b&gt;changed&lt;/b&gt;" in page
    assert "2 locked groups stay where they are, in the baselines of this page too" in page
    place_run(started.id)
    started.refresh_from_db()
    assert (started.status, started.error) == (Run.DONE, "")
    report = client.get(f"/runs/{started.id}/report.json").json()
    assert report["pinned_groups"] == 2
    assert report["step_time_us"] <= report["start_step_time_us"]
    placements = [
        event["placement"]
        for event in client.get(f"/runs/{started.id}/events.json").json()["events"]
        if event["type"] == "episode"
    ]
    assert placements[0] == [1] * groups_of(run)
    baselines = [
        event["placement"]
        for event in client.get(f"/runs/{started.id}/events.json").json()["events"]
        if event["type"] == "baseline" and event["placement"]
    ]
    assert baselines
    assert all(placement[0] == placement[2] == 1 for placement in [*placements, *baselines])
    methods = client.get(f"/runs/{started.id}/exports/run/methods.csv").content.decode()
    assert '"this run: done, 2 locked groups kept, by the baselines too"' in methods
    assert "it and its baselines keep the locked groups" in client.get(f"/graphs/{run.graph_id}/").content.decode()
    deletion.delete(run)
    purge()
    assert client.get(f"/runs/{started.id}/").status_code == 200


def test_the_form_says_which_methods_search_from_there(client: Client, run: Run) -> None:
    page = client.get(f"/runs/{run.id}/").content.decode()
    searching, others = re.findall(r"<optgroup[^>]*>(.*?)</optgroup>", page.partition('data-kept="go-on"')[2])[:2]
    by_name = {method.name: method for method in api.methods()}
    for names, searches in ((searching, True), (others, False)):
        assert {by_name[name].searches_from_start for name in re.findall(r'value="(\w+)"', names)} == {searches}
    assert set(re.findall(r'value="(\w+)"', searching + others)) == set(by_name)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"placement": "[0]"}, "1 devices"),
        ({"locked": "[99]"}, "no such group"),
        ({"method": "magic"}, "magic"),
        ({"evaluations": "0"}, "0 evaluations"),
        ({"evaluations": "x"}, "whole number"),
        ({"token": "<script>"}, "valid"),
    ],
)
def test_a_run_that_cannot_go_on_is_not_started(
    client: Client, run: Run, fields: dict[str, str], sentence: str
) -> None:
    assert sentence in error_of(gone_on(client, run, **fields))
    assert Run.objects.count() == 1
