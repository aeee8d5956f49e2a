"""A request as JSON: drawn ones come back equal, what does not belong is refused; the files of kept outcomes."""

import dataclasses
import hashlib
import json
from pathlib import Path
from typing import Any, cast

import pytest

from engine import VERSION
from engine.clusters.cluster_json import cluster_to_json
from engine.comparing.comparison import ComparisonRequest
from engine.comparing.work_folder import WorkFolder
from engine.errors import PlacetoError, SettingsError
from engine.events import Json
from engine.problem import Budget
from engine.run.request import GivenPolicy, RunRequest
from engine.search.preference import Preference
from tests.engine.drawn_requests import POLICY, drawn_request
from tests.engine.placers.small_problems import small_cluster
from tests.engine.policies.small_policies import changed


@pytest.mark.parametrize("seed", range(60))
def test_a_request_comes_back_from_its_json(seed: int) -> None:
    asked = drawn_request(seed)
    told = json.loads(json.dumps(asked.to_json()))
    again = RunRequest.from_json(told, asked.policy)
    for field in dataclasses.fields(RunRequest):
        if field.compare and field.name != "cluster":
            assert getattr(again, field.name) == getattr(asked, field.name), field.name
    assert cluster_to_json(again.cluster) == cluster_to_json(asked.cluster)
    assert again.to_json() == told


def test_what_is_left_out_is_as_in_a_new_request() -> None:
    new = RunRequest(small_cluster(2), "random", Budget(40), 7)
    told = new.to_json()
    for name in told.keys() - {"cluster", "method", "evaluations", "seed"}:
        del told[name]
    assert RunRequest.from_json(told).to_json() == new.to_json()


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (
            {"colour": 1},
            "request: the field colour is not known; allowed: cluster, method, evaluations, seconds, seed,",
        ),
        ({"a\nb": 1}, "request: the field a\N{REPLACEMENT CHARACTER}b is not known; allowed: cluster, "),
        ({"cluster": "2xK80"}, "request.cluster: '2xK80'; allowed: cluster JSON"),
        ({"cluster": {}}, "devices: "),
        ({"method": None}, "request.method: nothing; allowed: the name of a method"),
        ({"method": "magic"}, "method: there is no method 'magic'; allowed: auto, "),
        ({"evaluations": 4.5}, "request.evaluations: 4.5; allowed: an integer"),
        ({"evaluations": True}, "request.evaluations: true; allowed: an integer"),
        ({"evaluations": 0}, "evaluations: 0 evaluations; allowed: 1 to "),
        ({"seconds": "3"}, "request.seconds: '3'; allowed: a number, or null"),
        ({"seed": -1}, "seed: -1; allowed: an integer from 0 to "),
        ({"settings": []}, "request.settings: an empty list; allowed: an object"),
        ({"settings": {"colour": 1}}, "settings: random has no setting 'colour'; allowed: batch"),
        ({"drop_devices": 0}, "request.drop_devices: 0; allowed: true or false"),
        ({"baselines": [1]}, "request.baselines: a list; allowed: a list of methods"),
        ({"policy": 1}, "request.policy: 1; allowed: the SHA-256 of a policy's file, or null"),
        ({"policy": "0f"}, "request.policy: this is another policy, or none; allowed: the file with the SHA-256 that"),
        ({"start": {"device_of_group": [0]}}, "request.start: an object; allowed: an object with device_of_group and"),
        ({"start": {"device_of_group": [0], "parts": [0]}}, "request.start: an object; allowed: "),
        ({"pins": {"-1": 0}}, "request.pins: an object; allowed: an object {group: device}"),
        ({"pins": {"1": "0"}}, "request.pins: an object; allowed: an object {group: device}"),
        ({"robust": None}, "request.robust: nothing; allowed: true or false"),
        ({"prefer": "slowest"}, "prefer: slowest; allowed: fastest, simplest, "),
    ],
)
def test_a_field_that_does_not_belong_is_refused_in_one_line(changes: dict[str, Json], line: str) -> None:
    told = RunRequest(small_cluster(2), "random", Budget(40), 7).to_json()
    with pytest.raises(PlacetoError) as caught:
        RunRequest.from_json(told | changes)
    assert str(caught.value).startswith(line)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["cluster", "method", "evaluations", "seed"])
def test_a_field_that_a_request_needs_is_not_left_out(name: str) -> None:
    told = RunRequest(small_cluster(2), "random", Budget(40), 7).to_json()
    del told[name]
    with pytest.raises(SettingsError, match=rf"^request\.{name}: nothing; allowed: "):
        RunRequest.from_json(told)


@pytest.mark.parametrize("value", [None, [], "random", 1])
def test_what_is_no_object_is_no_request(value: Json) -> None:
    with pytest.raises(SettingsError, match=r"^request: .*; allowed: an object$"):
        RunRequest.from_json(value)


def test_a_policy_goes_beside_the_json() -> None:
    asked = RunRequest(small_cluster(2), "placeto", Budget(40), 7, policy=POLICY)
    assert asked.to_json()["policy"] == hashlib.sha256(POLICY.blob).hexdigest()
    for other in (None, GivenPolicy(changed("card.seed", 1))):
        with pytest.raises(SettingsError, match=r"^request\.policy: this is another policy, or none; "):
            RunRequest.from_json(asked.to_json(), other)


@pytest.mark.parametrize("more", [{}, {"prefer": Preference.of_words("simplest=2.5%")}, {"policy": POLICY}])
def test_outcomes_of_earlier_comparisons_have_the_same_files(more: dict[str, Any], tmp_path: Path) -> None:
    """The name is the digest of the fields that the children of earlier versions got, written out here."""
    settings: dict[str, dict[str, Json]] = {"placeto": {"torch_device": "cpu"}}
    asked = ComparisonRequest(small_cluster(2), ("placeto", "random"), Budget(40, 2.5), 2, settings, **more)
    work = WorkFolder(tmp_path)
    graph = work.keep_graph(b"a graph")
    for method, seed in asked.members():
        known: dict[str, Json] = {
            "graph": f"graph-{hashlib.sha256(b'a graph').hexdigest()[:24]}.npz",
            "cluster": json.dumps(cluster_to_json(asked.cluster)),
            "method": method,
            "seed": seed,
            "settings": cast(Json, settings.get(method, {})),
            "evaluations": 40,
            "seconds": 2.5,
            "drop_devices": False,
            "version": VERSION,
        }
        if "prefer" in more:
            known["prefer"] = "simplest=2.5%"
        if "policy" in more and method == "placeto":
            known["policy"] = work.keep_policy(POLICY).name
            assert known["policy"] == f"policy-{hashlib.sha256(POLICY.blob).hexdigest()[:24]}.safetensors"
        digest = hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()[:24]
        assert work.path_of(work.key(graph, asked.run_request(method, seed))).name == f"{method}-{seed}-{digest}.json"
