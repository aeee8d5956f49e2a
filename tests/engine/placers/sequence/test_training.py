"""REINFORCE: closed forms of its parts, the toy that must be solved, refusals, a stop in the middle."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.errors import SettingsError, shortened
from engine.events import Episode, FromPlacer, Json, PlacerState, Update
from engine.placers.placer import resumable
from engine.placers.registry import make_placer, settings_of
from engine.placers.sequence.network import MOST_OUTPUTS, group_contents, group_embedding
from engine.placers.sequence.settings import HierarchicalSettings, RnnSettings
from engine.placers.sequence.training import SPREAD_FLOOR, MovingAverage, learning_rate, normalised
from engine.problem import MOST_EVALUATIONS, Budget, LedgerState, PlacementProblem
from engine.settings.making import make_settings
from engine.simulator import Evaluations
from tests.engine.placers.small_problems import clock_of_evaluations, small_cluster, small_problem
from tests.engine.placeto.problems import graph_of, problem_of, two_chains

METHODS = pytest.mark.parametrize("method", ["rnn", "hierarchical"])
Heard = list[FromPlacer]


def place(method: str, problem: PlacementProblem, settings: dict[str, Json] | None = None, seed: int = 0) -> Heard:
    heard: Heard = []
    placer = make_placer(method, settings or {})
    problem = problem.reporting_to(heard.append)
    placer.place(problem, np.random.default_rng(seed), lambda: False)
    return heard


def reported(events: Heard) -> Heard:
    """The events without their seconds."""
    return [replace(event, elapsed_seconds=0.0) if isinstance(event, Episode | Update) else event for event in events]


def test_the_baseline_is_a_moving_average() -> None:
    baseline = MovingAverage(0.9, 10.0)
    costs = np.array([1.0, 3.0])
    assert np.array_equal(baseline.differences(costs), [-9.0, -7.0])
    baseline.add(costs)
    assert baseline.value == pytest.approx(0.9 * 10.0 + 0.1 * 2.0)
    baseline.add(costs)
    assert baseline.value == pytest.approx(0.9 * 9.2 + 0.1 * 2.0)


def test_without_a_start_the_first_batch_is_its_own_baseline() -> None:
    baseline = MovingAverage(0.9, None)
    assert np.array_equal(baseline.differences(np.array([1.0, 3.0])), [-1.0, 1.0])
    baseline.add(np.array([1.0, 3.0]))
    assert baseline.value == 2.0


def test_the_learning_rate_falls_in_steps() -> None:
    settings = make_settings("rnn", RnnSettings, {"preset": "paper"})
    assert learning_rate(settings, 0) == learning_rate(settings, 449) == 0.1
    assert learning_rate(settings, 450) == pytest.approx(0.095)
    assert learning_rate(settings, 500) == pytest.approx(0.1 * 0.95**2)


@METHODS
@pytest.mark.parametrize("seed", [0, 1])
def test_two_chains_are_placed_better_than_at_random(method: str, seed: int) -> None:
    """The RNN finds better ones than chance does; the other learns where to look, and finds nearly as good ones."""
    learned, drawn = two_chains(length=8, evaluations=800), two_chains(length=8, evaluations=800)
    reported = place(method, learned, seed=seed)
    place("random", drawn, seed=seed)
    assert learned.ledger.best_step_time_us is not None and drawn.ledger.best_step_time_us is not None
    most = {"rnn": 0.8, "hierarchical": 1.2}[method]
    assert learned.ledger.best_step_time_us < most * drawn.ledger.best_step_time_us
    late = [event.step_time_us for event in reported if isinstance(event, Episode)][-100:]
    assert np.mean(late) < 0.85 * drawn.ledger.mean_step_time_us


@METHODS
def test_the_policy_does_not_collapse(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even where one device is best it draws new placements to the end, and its choices stay open."""
    chain = graph_of([(op, op + 1) for op in range(63)], [100.0] * 64, [10**6] * 64)
    problem = problem_of(*chain, small_cluster(2), evaluations=1200)
    drawn: list[NDArray[np.int32]] = []
    evaluate = PlacementProblem.evaluate_episodes

    def noted(problem: PlacementProblem, placements: NDArray[np.int32]) -> Evaluations:
        drawn.extend(placements)
        return evaluate(problem, placements)

    monkeypatch.setattr(PlacementProblem, "evaluate_episodes", noted)
    reported = place(method, problem, {"hidden_width": 16})
    for tenth in np.array_split(np.array(drawn), 10):
        assert len(np.unique(tenth, axis=0)) >= 0.5 * len(tenth)
    entropies = [event.entropy for event in reported if isinstance(event, Update) and event.entropy is not None]
    assert min(entropies[: round(0.9 * len(entropies))]) >= 0.05


def test_placements_that_are_nearly_alike_teach_little() -> None:
    differences = np.array([SPREAD_FLOOR, -SPREAD_FLOOR]) / 10
    assert np.allclose(normalised(differences), [0.1, -0.1])
    assert np.allclose(normalised(1000 * differences), [1.0, -1.0])


@METHODS
def test_seconds_are_spent_as_evaluations_are(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What falls with the budget falls alike: here each of 160 evaluations takes its share."""
    clock_of_evaluations(monkeypatch, 160)
    drawn: list[list[list[int]]] = []
    evaluate = PlacementProblem.evaluate

    def noted(self: PlacementProblem, placements: NDArray[np.int32]) -> Evaluations:
        drawn[-1].extend(placements.tolist())
        return evaluate(self, placements)

    monkeypatch.setattr(PlacementProblem, "evaluate", noted)
    for budget in (Budget(160), Budget(MOST_EVALUATIONS, 1.0)):
        drawn.append([])
        place(method, small_problem(2).with_budget(budget))
    assert drawn[0] == drawn[1] and len(drawn[0]) == 160


@METHODS
def test_failed_placements_teach_to_avoid_them(method: str) -> None:
    problem = small_problem(5, ops=8, memory_bytes=12_000_000, evaluations=600)
    heard = place(method, problem)
    feasible = [event.feasible for event in heard if isinstance(event, Episode)]
    assert np.mean(feasible[-150:]) > np.mean(feasible[:150])


@METHODS
def test_the_preset_paper_runs_too(method: str) -> None:
    problem = small_problem(2, evaluations=20)
    place(method, problem, {"preset": "paper"})
    assert problem.ledger.used == 20


@METHODS
@pytest.mark.parametrize("preset", ["fast", "paper"])
def test_going_on_from_a_state_equals_never_having_stopped(method: str, preset: str) -> None:
    settings: dict[str, Json] = {"preset": preset, "hidden_width": 16, "checkpoint_seconds": 0.0}
    problem = small_problem(2, evaluations=100)
    ledgers: list[tuple[LedgerState, int]] = []
    heard: Heard = []

    def note(event: FromPlacer) -> None:
        heard.append(event)
        if isinstance(event, PlacerState):
            ledgers.append((problem.ledger.state(), len(heard)))

    problem = problem.reporting_to(note)
    make_placer(method, settings).place(problem, np.random.default_rng(3), lambda: False)
    assert len(ledgers) == 13
    for ledger, before in (ledgers[0], ledgers[5]):
        state = heard[before - 1]
        assert isinstance(state, PlacerState)
        other = small_problem(2, evaluations=100)
        other.ledger.restore(ledger)
        rest: Heard = []
        other = other.reporting_to(rest.append)
        placer = resumable(make_placer(method, settings))
        placer.resume(state.state)
        placer.place(other, np.random.default_rng(99), lambda: False)  # the state's generator counts
        assert reported(rest) == reported(heard[before:])


@METHODS
def test_a_state_of_other_settings_is_refused(method: str) -> None:
    heard = place(method, small_problem(2, evaluations=20), {"checkpoint_seconds": 0.0})
    placer = resumable(make_placer(method, {"checkpoint_seconds": 0.0, "noise": 0.25}))
    placer.resume(next(event.state for event in heard if isinstance(event, PlacerState)))
    with pytest.raises(SettingsError, match="made with other settings"):
        placer.place(small_problem(2, evaluations=20), np.random.default_rng(0), lambda: False)


def test_a_very_wide_network_saves_no_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.placers.sequence.training.MOST_STATE_WEIGHTS", 1000)
    heard = place("rnn", small_problem(2, evaluations=20), {"checkpoint_seconds": 0.0})
    assert not any(isinstance(event, PlacerState) for event in heard)


@METHODS
def test_a_stop_in_the_first_batch_leaves_an_answer(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.placeto.interruption.LOOK_SECONDS", 0.0)
    problem = small_problem(2, evaluations=20)
    placer = make_placer(method, {})
    rng = np.random.default_rng(0)
    placer.place(problem, rng, lambda: True)
    placement = problem.ledger.answer()
    assert problem.ledger.used == 1
    assert problem.respects(placement[None, :]).all()


def test_contents_count_types_and_take_the_largest_outputs() -> None:
    seen = group_contents(small_problem(3))
    types = seen.contents[:, :-MOST_OUTPUTS]
    assert types.shape == (7, 3)
    assert np.array_equal(types.argmax(axis=1), [[1, 2, 0][index % 3] for index in range(7)])  # Add, MatMul, Relu
    assert np.array_equal(types.sum(axis=1), np.ones(7))
    problem = small_problem(3)
    logarithms = np.log1p(problem.costs.output_bytes / 1e3)
    assert seen.contents[:, -MOST_OUTPUTS] == pytest.approx(logarithms / logarithms.max())
    assert not seen.contents[:, 1 - MOST_OUTPUTS :].any()


def test_embeddings_are_of_unit_size() -> None:
    embedding = group_embedding(group_contents(small_problem(3)))
    assert embedding.shape == (7, 2 * 7 + 3 + MOST_OUTPUTS)
    assert embedding.min() == 0.0 and embedding.max() < 1.0


REFUSED: list[tuple[dict[str, Json], str]] = [
    ({"preset": "slow"}, "preset: 'slow'; allowed: fast, paper"),
    ({"preset": None}, "preset: None; allowed: fast, paper"),
    ({"hidden_width": 7}, "hidden_width: 7; allowed: a multiple of 2"),
    ({"hidden_width": True}, "hidden_width: True; allowed: an integer from 2 to 4096"),
    ({"batch_episodes": 0}, "batch_episodes: 0; allowed: an integer from 1 to 4096"),
    ({"learning_rate": float("nan")}, "learning_rate: nan; allowed: a number from 1e-09 to 1"),
    ({"learning_rate": 10**400}, f"learning_rate: {shortened(str(10**400))}; allowed: a number from 1e-09 to 1"),
    ({"learning_rate": "quick"}, "learning_rate: 'quick'; allowed: a number from 1e-09 to 1"),
    ({"normalise_advantages": 1}, "normalise_advantages: 1; allowed: true, false"),
    ({"reward_unit": []}, "reward_unit: []; allowed: reference, second"),
    ({"torch_device": "tpu"}, "torch_device: 'tpu'; allowed: cpu, auto, cuda"),
]


@METHODS
@pytest.mark.parametrize(("settings", "message"), REFUSED)
def test_a_bad_setting_is_refused_at_its_field(method: str, settings: dict[str, Json], message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        make_placer(method, settings)
    assert str(caught.value) == message
    assert caught.value.field == next(iter(settings))


def test_the_preset_paper_has_the_published_values() -> None:
    settings = make_settings("hierarchical", HierarchicalSettings, {"preset": "paper"})
    assert (settings.hidden_width, settings.temperature, settings.tanh_constant, settings.noise) == (512, 1.0, 1.0, 0.5)
    assert (settings.learning_rate, settings.learning_rate_decay, settings.baseline_decay) == (0.1, 0.95, 0.9)
    assert (settings.reward_unit, settings.failed_time, settings.grouper_width, settings.grouper_gain) == (
        "second",
        100.0,
        64,
        1.0,
    )
    assert (settings.entropy_weight, settings.normalise_advantages) == (0.0, False)


@METHODS
def test_stored_settings_make_the_same_settings(method: str) -> None:
    stored = settings_of(make_placer(method, {"preset": "paper", "hidden_width": 32}))
    assert settings_of(make_placer(method, stored)) == stored
    assert stored["hidden_width"] == 32 and stored["batch_episodes"] == 8


@pytest.mark.slow
@METHODS
def test_checking_settings_loads_no_torch(method: str) -> None:
    code = (
        f"import sys; from engine.placers.registry import make_placer; make_placer({method!r}, {{}});"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
