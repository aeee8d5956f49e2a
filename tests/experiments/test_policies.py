"""The experiments with policies on small graphs: finished work is kept, the page shows its settings."""

import dataclasses
import json
import time
from pathlib import Path
from typing import Any

import pytest

from engine.errors import SettingsError
from engine.events import Json
from engine.policies.settings import PolicyTrainingSettings
from engine.problem import Budget
from engine.zoo.families.family import PreparedFamily
from engine.zoo.families.members import members
from experiments.grid import KEYS, RESULT
from experiments.keeping.yardstick import BestKnown, Yardstick
from experiments.policies import making as policy_making
from experiments.policies import measuring as policy_measuring
from experiments.policies import problems as policy_problems
from experiments.policies import rnn as policy_rnn
from experiments.policies import scope as policy_scope
from experiments.policies.measuring import Compared, PolicyCell, Proposed
from experiments.policies.page import PolicyRows, gaps, tables, tables_by_graph, to_the_best_known, to_the_search
from experiments.policies.rows import draw_shares
from experiments.policies.scope import ExperimentScope, make_scope
from tests.engine.small_runs import prepared_graph

SMALL = ExperimentScope(
    families="nmt", clusters="2xK80,4xK80", seeds=1, graphs=1, search_seconds=60.0, slow_methods=False
)


def rows() -> PolicyRows:
    reached: dict[str, float | None] = {
        "search_60": 100.0,
        "search_1": 120.0,
        "search_10": 110.0,
        "m_etf": None,
        "heft": 150.0,
        "single_device": 200.0,
        "random": 300.0,
    }
    compared = [Compared("nmt-02", cluster, reached, f"problem {cluster}") for cluster in SMALL.cluster_names]
    proposed = [
        Proposed("nmt-02", cluster, ("nmt",), 0, 110.0 + 10 * index, 105.0, 99.0, 0.1)
        for index, cluster in enumerate(SMALL.cluster_names)
    ]
    return PolicyRows(compared, proposed)


def test_a_gap_is_the_share_behind_the_long_search() -> None:
    measure = to_the_search(rows(), SMALL)
    found = {each.label: each for each in gaps(rows(), SMALL, measure)}
    assert found["greedy pass"].values == pytest.approx([0.1, 0.2]) and found["greedy pass"].mean == pytest.approx(0.15)
    assert found["greedy pass"].nine_in_ten == pytest.approx(0.19)
    assert found["Auto with it, 1 s"].mean == pytest.approx(-0.01)
    assert found["m-ETF"].values == [] and found["m-ETF"].missing == 2
    assert [each.mean for each in gaps(rows(), SMALL, measure, "4xK80")[:2]] == pytest.approx([0.2, 0.05])


def test_the_page_and_its_picture(tmp_path: Path) -> None:
    text = tables("a command", "A title", {"nmt": rows()}, SMALL)
    assert "`a command`" in text and SMALL.words() in text
    assert "| nmt | all | +15.0% (+19.0%) | +5.0% (+5.0%) | -1.0% (-1.0%) | +20.0% (+20.0%) |" in text
    assert "| none fits |" in text
    by_graph = tables_by_graph({"nmt": rows()}, SMALL).splitlines()
    assert by_graph[0].startswith("| | graph | greedy pass | best of 17 |") and by_graph[1].startswith("| --- | --- ")
    assert by_graph[2].startswith("| nmt | nmt-02 | +15.0% (+19.0%) | +5.0% (+5.0%) |") and len(by_graph) == 3
    draw_shares({"nmt": rows()}, SMALL, tmp_path / "shares.png")
    assert (tmp_path / "shares.png").stat().st_size > 1000


def known(cluster: str, step_time_us: float) -> BestKnown:
    return BestKnown(f"problem {cluster}", f"nmt-02 on {cluster}", 1, "full", step_time_us, "0", "", {}, "2026-11-23")


def test_a_gap_to_the_best_known_keeps_a_graph_together(tmp_path: Path) -> None:
    measure = to_the_best_known(rows(), {"problem 2xK80": known("2xK80", 50.0)})
    greedy, *_, random = gaps(rows(), SMALL, measure)
    assert greedy.of_graph == {"nmt-02": [pytest.approx(1.2)]} and greedy.missing == 1
    assert random.values == [pytest.approx(5.0)]
    path = tmp_path / "yardstick.jsonl"
    scope = dataclasses.replace(SMALL, yardstick=str(path))
    assert "No step time of these problems is in the yardstick yet." in tables("", "", {"nmt": rows()}, scope)
    path.write_text("".join(json.dumps(dataclasses.asdict(known(each, 50.0))) + "\n" for each in scope.cluster_names))
    text = tables("", "", {"nmt": rows()}, scope)
    assert "(`yardstick.jsonl`: 2 of 2 problems, found on\n2026-11-23)" in text
    assert "| nmt | greedy pass | +15.0 % (+15.0 to +15.0) | +130.0 % (+130.0 to +130.0) | +140.0% |" in text


def test_a_policy_is_trained_and_measured_on_what_it_has_not_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graphs = {"train": [("nmt-00", prepared_graph(10))], "test": [("nmt-02", prepared_graph(9))]}
    for module in (policy_making, policy_measuring, policy_rnn):
        monkeypatch.setattr(module, "graphs_of", lambda _scope, _family, split: graphs[split])
    monkeypatch.setattr(policy_measuring, "SHORT_SECONDS", 0.05)
    monkeypatch.setattr(policy_measuring, "MIDDLE_SECONDS", 0.05)
    settings: dict[str, Json] = {
        "families": "nmt",
        "clusters": "2xK80",
        "seeds": 1,
        "train_seconds": 0.3,
        "search_seconds": 0.1,
        "rnn_seconds": 0.1,
        "slow_methods": False,
        "yardstick": str(tmp_path / "yardstick.jsonl"),
        "work": str(tmp_path),
    }
    scope = make_scope(settings)
    policy_making.in_child({"settings": settings, "families": ["nmt"], "seed": 0}, tmp_path, lambda *_: None)
    policy = policy_making.read_policy(scope, ("nmt",), 0)
    assert policy.card.graphs == ("nmt-00",) and policy.card.clusters == ("2xK80",)
    cells = [PolicyCell("nmt", 0, "nmt-02", "2xK80"), PolicyCell("nmt", 0, "nmt-02", "2xK80", ("nmt",), 0)]
    of_graph: dict[str, Json] = {"settings": settings, "family": "nmt", "index": 0}
    of_graph[KEYS] = [dict(cell.key(scope)) for cell in cells]
    found: Any = policy_measuring.in_child(of_graph, tmp_path, lambda *_: None)[1][RESULT]
    compared, proposed = Compared(**found[0]), policy_measuring.proposed_of(found[1])
    assert set(compared.reached) == {"single_device", "m_etf", "heft", "random", "search_0.05", "search_0.1"}
    assert proposed.greedy_us is not None and proposed.best_of_us is not None and proposed.searched_us is not None
    of_family: dict[str, Json] = {"settings": settings, "family": "nmt", "cluster": "2xK80"}
    of_family[KEYS] = [dict(policy_rnn.RnnCell("nmt", "nmt-02", "2xK80").key(scope))]
    times: Any = policy_rnn.in_child(of_family, tmp_path, lambda *_: None)[1][RESULT]
    assert len(times) == 1 and times[0] > 0
    assert proposed.searched_us <= (compared.reached["single_device"] or 0.0)
    assert proposed.best_of_us <= proposed.greedy_us
    (line,) = Yardstick(Path(scope.yardstick)).lines().values()
    assert line.problem == compared.problem and line.name == "nmt-02 on 2xK80"
    assert line.step_time_us == min(proposed.searched_us, *filter(None, compared.reached.values()))


def test_a_scope_depends_on_what_it_is_asked() -> None:
    assert ExperimentScope().key("clusters", "train_seconds") == ExperimentScope(seeds=2).key(
        "clusters", "train_seconds"
    )
    assert ExperimentScope(search_seconds=7).key("search_seconds") == ExperimentScope(search_seconds=7.0).key(
        "search_seconds"
    )
    assert ExperimentScope().key("train_seconds") != dataclasses.replace(SMALL, train_seconds=1.0).key("train_seconds")


def test_what_one_family_has_of_its_own_changes_its_policies_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    own: dict[str, dict[str, int | float]] = {"nmt": {"train_seconds": 7.0, "train_graphs": 30}}
    plain, scope = ExperimentScope(), ExperimentScope(of_family=own)
    assert scope.training_key(("nmt",)) == ExperimentScope(train_seconds=7, train_graphs=30).training_key(("nmt",))
    for others in (("ptb",), ("nmt", "ptb")):
        assert scope.training_key(others) == plain.training_key(others) != scope.training_key(("nmt",))
    assert "(nmt: 7 s on 30 graphs)" in scope.words()
    before = scope.training_key(("ptb",))
    changed = PolicyTrainingSettings(epochs=3)
    monkeypatch.setattr(policy_scope, "make_training_settings", lambda _given: changed)
    assert scope.training_key(("ptb",)) != before  # a default that changes makes other policies


def test_more_graphs_than_a_family_s_32_are_further_members(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def prepared(family: str, *_: object, seed: int, count: int, only: str) -> PreparedFamily:
        asked.append((family, count, only))
        kept = sum(member.split == only for member in members(family, seed, count))
        graphs = tuple(prepared_graph(8) for _ in range(kept))
        return PreparedFamily(family, graphs, graphs)

    monkeypatch.setattr(policy_problems, "prepared_family", prepared)
    few, many = ExperimentScope(train_graphs=22, graphs=10), ExperimentScope(train_graphs=40, graphs=10)
    assert len(policy_problems.graphs_of(few, "cifar10", "train")) == 22
    more = [name for name, _ in policy_problems.graphs_of(many, "cifar10", "train")]
    assert len(more) == 40 and more[:22] == [name for name, _ in policy_problems.graphs_of(few, "cifar10", "train")]
    assert len(policy_problems.graphs_of(ExperimentScope(train_graphs=700), "nmt", "train")) == 72
    assert asked[:2] == [("cifar10", 32, "train"), ("cifar10", 64, "train")]
    held_out = [name for name, _ in policy_problems.graphs_of(many, "cifar10", "test")]
    assert held_out == policy_problems.held_out_names(many, "cifar10") and not set(held_out) & set(more)


def test_processor_seconds_count_in_the_place_of_those_on_the_wall() -> None:
    training = policy_problems.problem_of(("small", prepared_graph(8)), "2xK80", time.process_time)
    own = training.problem.with_budget(Budget(10, seconds=0.02))
    time.sleep(0.05)
    assert not own.ledger.spent
    while not own.ledger.spent:
        pass


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"families": "nmt,rnn"}, "families: rnn; allowed: nmt, ptb, cifar10, nmt_by_length, nmt_by_form"),
        ({"families": ["nmt"]}, "families: ['nmt']; allowed: nmt, ptb, cifar10, nmt_by_length, nmt_by_form"),
        ({"clusters": 2}, "clusters: 2; allowed: a text"),
        ({"cache": None}, "cache: None; allowed: a text"),
        ({"samples": -1}, "samples: -1; allowed: an integer from 0 to 4096"),
        ({"rnn_seconds": "0"}, "rnn_seconds: '0'; allowed: a number from 0 to 1e+07"),
        ({"slow_methods": 0}, "slow_methods: 0; allowed: true, false"),
        ({"seeds": 0}, "seeds: 0; allowed: an integer from 1 to 1000"),
        ({"train_seconds": "long"}, "train_seconds: 'long'; allowed: a number from 0.001 to 1e+07"),
        ({"of_family": 3}, "of_family: 3; allowed: train_seconds and train_graphs of families that are covered"),
        (
            {"families": "ptb", "of_family": {"nmt": {}}},
            "of_family: {'nmt': {}}; allowed: train_seconds and train_graphs of families that are covered",
        ),
        (
            {"of_family": {"nmt": {"seeds": 3}}},
            "of_family: {'nmt': {'seeds': 3}}; allowed: train_seconds and train_graphs of families that are covered",
        ),
        ({"of_family": {"nmt": {"train_graphs": 0}}}, "train_graphs: 0; allowed: an integer from 1 to 700"),
    ],
)
def test_a_scope_that_cannot_be_is_refused(settings: dict[str, Json], line: str) -> None:
    with pytest.raises(SettingsError) as caught:
        make_scope(settings)
    assert str(caught.value) == line
