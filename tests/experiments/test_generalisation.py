"""The experiment on one policy for all: graphs of other kinds, its page from results by hand, a small training."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.policies.drawn.shapes import LIKE_A_FAMILY
from engine.policies.settings import make_training_settings
from engine.policies.trained_policy import TrainedPolicy
from engine.prepared import PreparedGraph
from experiments.grid import KeptResults
from experiments.policies.generalisation import measuring, table
from experiments.policies.generalisation.measuring import (
    BEST,
    COLD_SECONDS,
    COLUMNS,
    GREEDY,
    LISTED,
    ONE_DEVICE,
    OTHER,
    PASS_SECONDS,
    PLACES,
    RECIPE,
    SEARCH,
    SHIPPED,
    TRAINING_CLUSTERS,
    WITH_POLICY,
    GeneralisationScope,
    PolicyTraining,
    places,
    policy_row,
    trainings,
)
from experiments.policies.generalisation.other_kinds import OTHER_KINDS, SIZES, graph_of_kind
from experiments.policies.generalisation.table import (
    alone_key,
    make_generalisation_scope,
    page,
    policy_key,
    policy_path,
)
from experiments.policies.shipped import FAMILIES, FILE
from tests.conftest import TESTS
from tests.engine.placers.small_problems import small_problem
from tests.engine.policies.small_trainings import COUNTED

SCOPE = GeneralisationScope(seeds=1, graphs=1)


@pytest.mark.parametrize("kind", OTHER_KINDS)
@pytest.mark.parametrize("number", range(4))
def test_a_graph_of_another_kind_has_about_its_size_and_is_drawn_by_its_number_alone(kind: str, number: int) -> None:
    prepared = graph_of_kind(kind, number, 7)
    graph = prepared.graph
    assert SIZES[number] / 2.5 <= graph.op_count <= 1.6 * SIZES[number]
    assert prepared.grouping.group_count == graph.op_count and (graph.edge_source < graph.edge_target).all()
    touched = np.unique(np.concatenate([graph.edge_source, graph.edge_target]))
    assert len(touched) == graph.op_count, "every op has an edge"
    again = graph_of_kind(kind, number, 7)
    assert np.array_equal(again.costs.time_us, prepared.costs.time_us)
    assert not np.array_equal(graph_of_kind(kind, number, 8).costs.time_us, prepared.costs.time_us)


def test_a_wide_graph_is_wide_and_a_narrow_one_deep() -> None:
    def depth(kind: str) -> int:
        graph = graph_of_kind(kind, 0, 7).graph
        longest = np.zeros(graph.op_count, dtype=int)
        for source, target in zip(graph.edge_source, graph.edge_target, strict=True):  # sorted by target
            longest[target] = max(longest[target], longest[source] + 1)
        return int(longest.max())

    assert depth("wide") < 10 < 25 < depth("narrow")


def test_there_are_forty_places_of_other_kinds_on_clusters_in_turn() -> None:
    found = dict(places(OTHER, 1))
    assert len(found) == 40
    assert {problem.device_count for problem in found.values()} == {2, 4, 8}


def test_trainings_are_the_shipped_one_those_on_all_and_those_without_each_family() -> None:
    assert trainings(make_generalisation_scope({"seeds": 2})) == [
        PolicyTraining(SHIPPED, 0),
        PolicyTraining("", 0),
        PolicyTraining("", 1),
        *(PolicyTraining(family, 0) for family in FAMILIES),
    ]


def test_the_page_speaks_of_trainings_only_where_there_are_some(tmp_path: Path) -> None:
    scope = make_generalisation_scope({"seeds": 0, "left_out_seeds": 0, "graphs": 1})
    kept = KeptResults(tmp_path / "kept.jsonl")
    for column in COLUMNS:
        places_there = [f"{kind}/0 on 2xK80" for kind in OTHER_KINDS] if column == OTHER else ["0 on 2xK80"]
        alone: Any = {place: {ONE_DEVICE: 200.0, LISTED: 120.0, SEARCH: 105.0} for place in places_there}
        found: Any = dict.fromkeys(places_there, row(110.0, 100.0, 100.0))
        kept.add(alone_key(scope, column), alone)
        kept.add(policy_key(scope, PolicyTraining(SHIPPED, 0), column), {PLACES: found, COLD_SECONDS: 2.0})
    text = page(kept, scope)
    assert "shipped: greedy pass" in text and "all families" not in text and "family left out" not in text


def row(greedy: float | None, swept: float, auto: float) -> dict[str, Any]:
    return {GREEDY: [greedy, swept], BEST: [swept, swept], WITH_POLICY: auto, PASS_SECONDS: 0.05}


def cells(text: str, answer: str) -> list[str]:
    [line] = [line for line in text.splitlines() if line.startswith(f"| {answer} |")]
    return [cell.strip() for cell in line.split("|")[2:-1]]


def test_gaps_are_to_the_best_of_all_and_a_left_out_familys_column_is_of_the_policy_without_it(tmp_path: Path) -> None:
    kept = KeptResults(tmp_path / "kept.jsonl")
    names = {
        column: [f"{kind}/0 on 2xK80" for kind in OTHER_KINDS] if column == OTHER else ["0 on 2xK80"]
        for column in COLUMNS
    }
    for column in COLUMNS:
        alone: Any = {place: {ONE_DEVICE: 200.0, LISTED: 120.0, SEARCH: 105.0} for place in names[column]}
        kept.add(alone_key(SCOPE, column), alone)
        for training in trainings(SCOPE):
            of_policy = row(110.0, 100.0, 100.0)
            if training.without in FAMILIES:
                of_policy = row(130.0 if training.without == column else None, 115.0, 110.0)
            found: Any = dict.fromkeys(names[column], of_policy)
            kept.add(policy_key(SCOPE, training, column), {PLACES: found, COLD_SECONDS: 2.0})
    text = page(kept, SCOPE)
    assert [cell.split()[0] for cell in cells(text, ONE_DEVICE)] == ["+100.0"] * 5
    assert [cell.split()[0] for cell in cells(text, SEARCH)] == ["+5.0"] * 5
    assert [cell.split()[0] for cell in cells(text, f"all families: {GREEDY}")] == ["+10.0"] * 5
    assert cells(text, f"all families: {GREEDY}")[0].endswith("[10.0%]")
    assert [cell.split()[0] for cell in cells(text, f"family left out: {GREEDY}")] == ["+30.0"] * 3 + ["+100.0"] * 2
    assert [cell.split()[0] for cell in cells(text, f"shipped: {GREEDY}, swept")] == ["+0.0"] * 5
    beside = cells(text, "all families: greedy pass, best list schedule")
    assert [cell.split()[0] for cell in beside] == ["-8.3"] * 5
    assert [cell.split()[0] for cell in cells(text, "all families")] == ["-8.3"] * len(OTHER_KINDS)
    assert cells(text, "family left out") == ["–"] * len(OTHER_KINDS), "no pass fits there"
    searched = cells(text, "shipped: auto with it, 1 s, search alone, 10 s")
    assert [cell.split()[0] for cell in searched] == ["-4.8"] * 5


def test_a_policys_file_depends_on_its_training_and_not_on_where_it_is_tried() -> None:
    one = policy_path(SCOPE, PolicyTraining("", 0))
    assert one == policy_path(make_generalisation_scope({"graphs": 3, "processes": 1}), PolicyTraining("", 0))
    others = [PolicyTraining("", 1), PolicyTraining("nmt", 0)]
    assert len({one, *(policy_path(SCOPE, each) for each in others)}) == 3
    assert one != policy_path(make_generalisation_scope({"train_seconds": 5}), PolicyTraining("", 0))


def test_a_policy_is_trained_without_the_family_and_its_like_and_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def few(values: dict[str, Any]) -> Any:
        asked.append(values)
        return make({**COUNTED, "drawn": 2, "drawn_without": values["drawn_without"]})

    def graphs(family: str, *_: object) -> list[PreparedGraph]:
        asked.append(family)
        return [graph_of_kind("narrow", 0, 1)]

    make = make_training_settings
    monkeypatch.setattr(measuring, "make_training_settings", few)
    monkeypatch.setattr(measuring, "first_graphs", graphs)
    path = tmp_path / "policies" / "one.safetensors"
    order: dict[str, Any] = {"scope": {"train_graphs": 1}, "without": "ptb", "seed": 3, "path": str(path)}
    measuring.train_in_child(order, tmp_path, lambda *_: None)
    assert [each for each in asked if isinstance(each, str)] == ["nmt", "cifar10"]
    [settings] = [each for each in asked if isinstance(each, dict)]
    assert settings["drawn_without"] == "ptb" and LIKE_A_FAMILY["ptb"]
    policy = TrainedPolicy.from_bytes(path.read_bytes(), path.name)
    assert policy.card.seed == 3 and policy.card.drawn > 0
    assert policy.card.clusters == TRAINING_CLUSTERS
    found = policy_row(policy, small_problem(0, ops=12, devices=3), 0.02)
    assert found.keys() == row(None, 1.0, 1.0).keys() and found[GREEDY][1] <= found[GREEDY][0]
    assert FILE.exists() and table.NAME in table.COMMAND


def test_the_trainings_follow_the_recipe_of_the_policy_that_ships() -> None:
    makefile = (TESTS.parent / "Makefile").read_text()
    [recipe] = re.findall(r"^policy:.*\n((?:\t.*\n)+)", makefile, flags=re.MULTILINE)
    assert {name: json.loads(value) for name, value in re.findall(r"--set (\w+)=(\S+)", recipe)} == {
        **RECIPE,
        "learners": 2,
        "search_seconds": 3,
    }, "each training of the experiment has one processor, and none writes a card with a search beside it"
    assert re.findall(r"^POLICY_CLUSTERS := (.*)$", makefile, flags=re.MULTILINE) == [" ".join(TRAINING_CLUSTERS)]
