"""The controls: sweeps, placements copied by scope, and a page whose gaps are to the best of all answers."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.errors import SettingsError
from experiments.grid import KeptResults
from experiments.policies.controls import answers, measuring, table
from experiments.policies.controls.answers import best_of, copied, listed, nearest, one_device, swept
from experiments.policies.controls.measuring import (
    CHANGES,
    CLUSTERS,
    COLUMNS,
    DRAWN,
    KINDS,
    KNOWN,
    OF_POLICIES,
    WITHOUT_POLICY,
    ControlsScope,
    TriedPlace,
    places,
    problem_at,
    quick_in_child,
    settings_of,
    tried_digest,
)
from experiments.policies.controls.table import make_controls_scope, page, policy_key, quick_key
from tests.engine.placers.small_problems import small_problem
from tests.engine.small_runs import prepared_graph

SCOPE = ControlsScope(seeds=1, train_seconds=1.0, train_graphs=2, graphs=2, drawn=3, evaluations=50)


@pytest.mark.parametrize("seed", range(3))
def test_after_a_sweep_no_answer_is_slower_and_its_last_group_is_where_it_is_best(seed: int) -> None:
    problem = small_problem(seed, ops=12, devices=3)
    before = one_device(problem)
    after = swept(problem, before)
    assert after.rank <= before.rank
    assert after.evaluations == before.evaluations + int((problem.allowed.sum(axis=1) - 1).sum())
    moved = np.tile(after.placement, (problem.device_count, 1))
    moved[:, -1] = np.arange(problem.device_count)
    assert best_of(problem, moved[problem.allowed[-1]]).rank == after.rank


def test_a_list_schedule_is_the_best_of_those_asked_for() -> None:
    problem = small_problem(0, ops=12, devices=2)
    alone = [listed(problem, [method]) for method in answers.LISTS]
    together = listed(problem, answers.LISTS)
    assert together is not None and together.rank == min(each.rank for each in alone if each is not None)


def test_a_graphs_own_placement_copied_by_scope_is_that_placement() -> None:
    problem = small_problem(1, ops=12, devices=2)
    placement = np.random.default_rng(0).integers(0, 2, problem.group_count).astype(np.int32)
    placement = np.where(problem.allowed[np.arange(problem.group_count), placement], placement, 0)
    answer = copied(problem, problem.graph, placement[problem.grouping.group_of_op])
    assert np.array_equal(answer.placement, placement)


def test_the_nearest_graph_has_most_names_in_common() -> None:
    graphs = [prepared_graph(ops) for ops in (20, 60, 90)]
    assert [nearest(graph, graphs) for graph in graphs] == [0, 1, 2]


def test_every_kind_of_training_has_settings_and_an_untrained_one_learns_nothing() -> None:
    assert all(settings_of(SCOPE, kind) for kind in KINDS)
    assert settings_of(SCOPE, "untrained")["learning_rate_end"] == 0.0
    assert CHANGES.keys() < set(KINDS) and settings_of(SCOPE, "wider network") == {"seconds": 1.0, "hidden_width": 128}
    assert settings_of(SCOPE, "two learners") == {"seconds": 1.0, "learners": 2}, "each counts its own processor"


def test_gaps_are_to_the_best_of_all_answers_and_what_does_not_fit_counts_double(tmp_path: Path) -> None:
    kept = KeptResults(tmp_path / "kept.jsonl")
    for column in COLUMNS:
        names = WITHOUT_POLICY[:-1] if column == DRAWN else WITHOUT_POLICY
        rows: Any = {
            place.name: {KNOWN: [100.0, 50, 100.0, 50]} | {name: [150.0, 2, 120.0, 14] for name in names}
            for place in places(SCOPE, (column,))
        }
        kept.add(quick_key(SCOPE, column), rows)
    for kind in KINDS:
        greedy = {"trained": 90.0, "imitation alone": 99.0}.get(kind)
        kept.add(
            policy_key(SCOPE, kind, 0),
            {place.name: {name: [greedy, 1, 90.0, 9] for name in OF_POLICIES} for place in places(SCOPE)},
        )
    lines = page(kept, SCOPE).splitlines()
    row = {
        line.split("|")[1].strip(): [cell.strip() for cell in line.split("|")[2:-1]] for line in lines if "| " in line
    }
    assert row["one device"][0] == "2" and row["one device"][1].startswith("+66.7 %")
    assert row["one device"][6].startswith("+33.3 %") and row["greedy pass, trained"][1].startswith("+0.0 %")
    assert row["greedy pass, imitation alone"][3].startswith("+10.0 %")
    assert row["greedy pass, untrained"][2].startswith("+100.0 %")
    assert row["nearest graph's placement"][4] == "–" != row["one device"][4]
    assert len(CLUSTERS) == 4 and table.NAME in table.COMMAND


def test_problems_on_which_nothing_fits_are_left_out(tmp_path: Path) -> None:
    scope = make_controls_scope({"kinds": "trained", "seeds": 1, "graphs": 1, "drawn": 2})
    kept = KeptResults(tmp_path / "kept.jsonl")

    def row(place: TriedPlace, us: float, names: tuple[str, ...]) -> dict[str, Any]:
        fits = place.column != DRAWN or place.graph == 0
        return {name: [us if fits else None, 1, us if fits else None, 1] for name in names}

    for column in COLUMNS:
        quick: Any = {each.name: row(each, 100.0, (KNOWN, *WITHOUT_POLICY)) for each in places(scope, (column,))}
        kept.add(quick_key(scope, column), quick)
    found: Any = {each.name: row(each, 120.0, OF_POLICIES) for each in places(scope)}
    kept.add(policy_key(scope, "trained", 0), found)
    [line] = [line for line in page(kept, scope).splitlines() if line.startswith("| greedy pass, trained |")]
    assert [cell.strip().split()[0] for cell in line.split("|")[3:7]] == ["+20.0"] * 4


def test_a_child_measures_what_its_key_says(tmp_path: Path) -> None:
    scope = ControlsScope(seeds=1, train_seconds=1.0, train_graphs=2, graphs=1, drawn=1, evaluations=20)
    _, texts = quick_in_child(dict(quick_key(scope, DRAWN)), tmp_path, lambda *_: None)
    found: Any = texts["result"]
    assert list(found) == [place.name for place in places(scope, (DRAWN,))]
    assert {KNOWN, *WITHOUT_POLICY[:-1]} == found[places(scope, (DRAWN,))[0].name].keys()


def test_what_is_tried_is_known_by_its_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    before = quick_key(SCOPE, DRAWN)
    assert tried_digest() in str(before)
    monkeypatch.setattr(measuring, "TRIED_SEED", 100)
    tried_digest.cache_clear()
    assert quick_key(SCOPE, DRAWN) != before
    tried_digest.cache_clear()


def test_kinds_are_names_with_commas() -> None:
    assert make_controls_scope({"kinds": "trained,untrained"}).kinds == "trained,untrained"
    with pytest.raises(SettingsError, match=r"kinds: 'tamed'; allowed: trained, imitation alone"):
        make_controls_scope({"kinds": "trained,tamed"})


def test_the_problems_to_try_are_drawn_by_their_number_alone() -> None:
    found = [problem_at(SCOPE, place) for place in places(SCOPE, (DRAWN,)) + places(SCOPE, (DRAWN,))]
    assert len(found) == 6 and found[0].graph.op_names == found[3].graph.op_names
    assert len({problem.graph.op_count for problem in found}) > 1
