"""Runs that begin from a trained policy: what they evaluate, tell and answer, and what is refused."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from engine import api
from engine.child.parent import Results
from engine.comparing.child import carry_out
from engine.errors import SettingsError
from engine.events import Checkpoint, Emitted, Episode, Finished, Json, NumberedEvent, Started
from engine.placers.auto import Auto
from engine.placers.registry import PLACERS, make_placer, policy_takers
from engine.placeto.learning.graph_training import GraphTraining
from engine.placeto.seeing.features import GroupGraph, group_graph
from engine.policies.proposals import proposals
from engine.problem import PlacementProblem, RunContext
from engine.problem.trivial import one_device_placements
from tests.engine.placers.small_problems import small_cluster, small_problem
from tests.engine.placeto.problems import graph_of, problem_of
from tests.engine.policies.small_policies import SMALL, small_policy
from tests.engine.small_runs import events_of, prepared_graph, without_times

POLICY = api.GivenPolicy(small_policy().to_bytes())
ON_CPU: dict[str, Json] = {"torch_device": "cpu"}
PASSES = 17
Heard = list[Emitted]


def request(method: str, evaluations: int, settings: Mapping[str, Json] | None = None) -> api.RunRequest:
    own = {**(ON_CPU if method == "placeto" else {}), **(settings or {})}
    return api.RunRequest(
        small_cluster(3),
        method,
        api.Budget(evaluations),
        0,
        own,
        baselines=(),
        policy=POLICY,
    )


def told(asked: api.RunRequest, *, ops: int = 20) -> tuple[dict[str, Json], list[Episode], Heard]:
    heard: Heard = []
    report = api.place(prepared_graph(ops), asked, heard.append, lambda: False)
    return report, [event for event in events_of(heard) if isinstance(event, Episode)], heard


def started_of(heard: Heard) -> Started:
    """The first event."""
    first = events_of(heard)[0]
    assert isinstance(first, Started)
    return first


def test_zero_shot_spends_the_trivial_placements_and_one() -> None:
    asked = request("placeto", api.zero_shot_evaluations(small_cluster(3)))
    report, episodes, heard = told(asked)
    assert (report["evaluations"], len(episodes)) == (4, 1)
    assert report["policy"] == "small"
    assert started_of(heard).policy == "small"
    best_us = episodes[0].best_step_time_us
    assert best_us is not None and report["step_time_us"] == best_us <= episodes[0].step_time_us


@pytest.mark.parametrize("method", policy_takers())
def test_a_report_says_in_what_the_problem_is_beyond_the_training(method: str) -> None:
    asked, policy = request(method, 40), small_policy()
    assert [told(asked)[0][name] for name in ("policy_beyond", "policy_left_out")] == [[], False], "it does not know"
    for groups, is_far in ((15.0, False), (5.0, True)):
        card = dataclasses.replace(policy.card, ranges={"groups": (2.0, groups), "devices": (3.0, 3.0)})
        given = api.GivenPolicy(dataclasses.replace(policy, card=card).to_bytes())
        report, _, _ = told(dataclasses.replace(asked, policy=given))
        assert report["policy_beyond"] == [f"Groups: 2 to {groups:g} in its training, 20 here."]
        assert report["policy_left_out"] is (is_far and method == "auto")


def test_a_run_without_a_policy_says_so() -> None:
    report, _, heard = told(dataclasses.replace(request("placeto", 4), policy=None))
    assert report["policy"] is None and "policy_beyond" not in report
    assert started_of(heard).policy is None


@pytest.mark.parametrize("method", policy_takers())
def test_each_proposal_is_an_episode_and_the_greedy_pass_comes_first(method: str) -> None:
    report, episodes, _ = told(request(method, 40))
    assert report["evaluations"] == 40
    prepared = prepared_graph(20)
    allowed = np.ones((20, 3), dtype=bool)
    problem = PlacementProblem(
        prepared.graph, prepared.costs, prepared.grouping, small_cluster(3), allowed, RunContext.of(api.Budget(1))
    )
    greedy = proposals(small_policy(), problem, np.random.default_rng(9), 0)[0].tolist()
    first = next(index for index, event in enumerate(episodes) if event.placement == greedy)
    assert first == (0 if method == "placeto" else 1)  # auto tells the best single device before
    used = [event.evaluations for event in episodes[first : first + PASSES]]
    assert used == list(range(4, 4 + PASSES))


@pytest.mark.parametrize(("method", "evaluations"), [("placeto", 3), ("placeto", 9), ("auto", 3), ("auto", 9)])
def test_a_small_budget_is_not_exceeded(method: str, evaluations: int) -> None:
    assert told(request(method, evaluations))[0]["evaluations"] == evaluations


def test_the_same_seed_gives_the_same_episodes() -> None:
    first, second = (told(request("placeto", 60))[1] for _ in range(2))
    assert list(map(without_times, first)) == list(map(without_times, second))


def test_after_the_passes_learning_goes_on_from_the_weights_of_the_policy() -> None:
    """With a rate of almost 0 and no exploration, what is sampled later is as probable as what was sampled at first."""
    still: dict[str, Json] = {
        "learning_rate": 1e-9,
        "learning_rate_end": 0.0,
        "exploration": 0.0,
        "start": "fastest_device",
    }
    _, episodes, _ = told(request("placeto", 300, still))
    learning, sampled = episodes[PASSES:], episodes[1:PASSES]
    fresh = told(dataclasses.replace(request("placeto", 300, still), policy=None))[1]
    shares = [_share_on_each(rows) for rows in (sampled, learning, fresh)]
    assert np.abs(shares[0] - shares[1]).max() < np.abs(shares[0] - shares[2]).max()


def _share_on_each(episodes: list[Episode]) -> NDArray[np.float64]:
    placements = np.array([event.placement for event in episodes])
    return np.stack([(placements == device).mean(axis=0) for device in range(3)])


@pytest.mark.parametrize(("method", "evaluations"), [("placeto", 120), ("auto", 3000)])
def test_going_on_from_each_checkpoint_equals_never_stopping(method: str, evaluations: int) -> None:
    asked = request(method, evaluations, {"checkpoint_seconds": 0.0})
    report, _, whole = told(asked)
    checkpoints = [item for item in whole if isinstance(item, Checkpoint)]
    assert checkpoints
    for checkpoint in checkpoints[:: max(1, len(checkpoints) // 4)]:
        rest: Heard = []
        again = api.place(prepared_graph(20), asked, rest.append, lambda: False, checkpoint.state)
        expected = [item for item in whole if isinstance(item, NumberedEvent) and item.seq > checkpoint.seq]
        assert [without_times(event) for event in events_of(rest) if not isinstance(event, Finished)] == [
            without_times(item.event) for item in expected if not isinstance(item.event, Finished)
        ]
        assert again["device_of_group"] == report["device_of_group"]
        assert again["policy"] == "small"


def test_the_sizes_of_the_network_come_from_the_policy_and_the_rest_from_the_user() -> None:
    settings = told(request("placeto", 4, {"learning_rate": 0.001}))[0]["settings"]
    assert isinstance(settings, dict)
    assert (settings["embedding_width"], settings["hidden_width"], settings["learning_rate"]) == (4, 8, 0.001)


@pytest.mark.parametrize("method", policy_takers())
def test_a_policy_does_not_decide_on_what_part_of_this_machine_it_runs(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was trained on CUDA with eight threads; there is none here, and nobody has asked for eight."""
    threads: list[int] = []
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr("engine.placeto.torch_threads.torch.set_num_threads", threads.append)
    elsewhere = api.GivenPolicy(small_policy({**SMALL, "torch_device": "cuda", "torch_threads": 8}).to_bytes())
    asked = dataclasses.replace(request(method, 9), settings={}, policy=elsewhere)
    assert told(asked)[0]["evaluations"] == 9
    assert 8 not in threads


@pytest.mark.parametrize(
    "method", [name for name, row in PLACERS.items() if not (row.takes_policy or row.streams_only)]
)
def test_other_methods_take_no_policy(method: str) -> None:
    with pytest.raises(SettingsError) as caught:
        request(method, 5)
    assert str(caught.value) == f"policy: {method} takes no policy; allowed: none, or one of the methods auto, placeto"
    assert caught.value.field == "policy"


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        (
            {"preset": "paper"},
            "preset: 'paper' with a policy; allowed: fast, as in the policy, or no policy",
        ),
        ({"network": "published"}, "network: 'published' with a policy; allowed: shared_head, as in the policy"),
        ({"hidden_width": 32}, "hidden_width: 32 with a policy; allowed: 8, as in the policy"),
        ({"prior": "best_trivial"}, "prior: 'best_trivial' with a policy; allowed: published, or no policy"),
        ({"magic": 1}, "settings: placeto has no setting 'magic'"),
    ],
)
def test_settings_that_do_not_go_with_the_policy_are_refused(settings: dict[str, Json], line: str) -> None:
    with pytest.raises(SettingsError) as caught:
        request("placeto", 5, settings)
    assert str(caught.value).startswith(line)


def test_a_reward_of_every_step_needs_a_start_where_the_policy_has_none() -> None:
    """The line is on what was given: nobody has asked for that start."""
    policy = api.GivenPolicy(small_policy({**SMALL, "start": "nowhere"}).to_bytes())
    asked = dataclasses.replace(request("placeto", 60), policy=policy)
    with pytest.raises(SettingsError) as caught:
        dataclasses.replace(asked, settings={**ON_CPU, "reward": "intermediate"})
    assert (str(caught.value), caught.value.field) == (
        "reward: 'intermediate' with a policy whose episodes start from nowhere; "
        "allowed: terminal, or one of the starts best, fastest_device, random",
        "reward",
    )
    both: dict[str, Json] = {**ON_CPU, "reward": "intermediate", "start": "best"}
    assert told(dataclasses.replace(asked, settings=both))[0]["evaluations"] == 60


def test_a_file_that_is_no_policy_is_refused_before_any_work() -> None:
    with pytest.raises(SettingsError) as caught:
        api.GivenPolicy(b"no policy")
    assert str(caught.value) == "policy: this is not a file of Placeto; allowed: a file written by Placeto"


@pytest.mark.parametrize("samples", [0, 2])
def test_a_policy_whose_scores_overflow_is_one_line(samples: int) -> None:
    """Its file is right, but so many rounds with such weights leave no number."""
    deep = small_policy({**SMALL, "message_rounds": 16})
    weights = {name: np.copysign(np.float32(1e6), array) for name, array in deep.weights.items()}
    given = api.GivenPolicy(dataclasses.replace(deep, weights=weights).to_bytes())
    with pytest.raises(SettingsError) as caught:
        told(dataclasses.replace(request("placeto", 4 + samples), policy=given))
    assert str(caught.value) == (
        "the network: its scores are not finite numbers; allowed: smaller weights: another policy, or a smaller "
        "learning_rate"
    )


@pytest.mark.parametrize(("devices", "pins"), [(1, False), (2, True), (7, False)])
def test_proposals_fit_any_number_of_devices_and_every_pin(devices: int, pins: bool) -> None:
    problem = small_problem(3, ops=9, devices=devices, cpu=False, pins=pins)
    placements = proposals(small_policy(), problem, np.random.default_rng(0), 5)
    assert placements.shape == (6, 9)
    assert problem.respects(placements).all()
    assert problem.ledger.used == 0


def test_auto_makes_the_graph_of_the_policy_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[PlacementProblem] = []

    def counted(problem: PlacementProblem, *more: Any) -> GroupGraph:
        made.append(problem)
        return group_graph(problem, *more)

    for where in ("engine.placers.auto", "engine.placeto.passes", "engine.placers.policy_passes"):
        monkeypatch.setattr(f"{where}.group_graph", counted)
    problem = small_problem(3, ops=9, devices=3).with_budget(api.Budget(30))
    auto = Auto()
    auto.use_policy(small_policy())
    auto.place(problem, np.random.default_rng(0), lambda: False)
    assert len(made) == 1 and problem.ledger.used == 30


def test_a_comparison_gives_the_policy_to_those_that_take_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    carried_out = []

    def in_this_process(_name: str, arguments: dict[str, Json], *_: Any, **told: Any) -> Results:
        carried_out.append(cast(dict[str, Json], arguments["request"])["method"])
        return carry_out(arguments, tmp_path, told["report_progress"])

    monkeypatch.setattr("engine.comparing.child.run_in_child", in_this_process)
    settings = {"placeto": ON_CPU}
    asked = api.ComparisonRequest(small_cluster(2), ("placeto", "random"), api.Budget(8), 1, settings, policy=POLICY)
    prepared = prepared_graph(8)
    outcomes = api.compare(prepared, asked, tmp_path, lambda _: None, 1)
    report = api.comparison_report(prepared, asked, outcomes)
    rows = report["rows"]
    assert isinstance(rows, list)
    assert [report["policy"], *[row["policy"] for row in rows if isinstance(row, dict)]] == ["small", "small", None]
    without = api.compare(prepared, dataclasses.replace(asked, policy=None), tmp_path, lambda _: None, 1)
    assert [rows[0].settings["hidden_width"] for rows in (outcomes, without)] == [8, 32]
    assert carried_out == ["placeto", "random", "placeto"]  # random is as before


def test_a_comparison_without_a_method_that_takes_it_refuses_a_policy() -> None:
    with pytest.raises(SettingsError) as caught:
        api.ComparisonRequest(small_cluster(2), ("random", "heft"), api.Budget(8), 1, policy=POLICY)
    assert str(caught.value) == (
        "policy: no method takes it; allowed: one of the methods auto, placeto among those compared"
    )


def test_learning_that_starts_from_the_best_starts_from_one_device_where_no_pass_is_better(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph, costs = graph_of([(op, op + 1) for op in range(19)], [100.0] * 20, [20_000_000] * 20)
    problem = problem_of(graph, costs, small_cluster(2), evaluations=60)
    problem.evaluate(one_device_placements(problem))
    starts: list[list[int]] = []

    def begin_from(self: GraphTraining, *passes: Any) -> None:
        earlier(self, *passes)
        starts.append(self.start.tolist())

    earlier = GraphTraining.begin_from
    monkeypatch.setattr(GraphTraining, "begin_from", begin_from)
    placer = make_placer("placeto", {**ON_CPU, "start": "best"}, small_policy())
    placer.place(problem, np.random.default_rng(0), lambda: False)
    assert starts[-1] == [0] * 20
