"""What every method in the registry must hold; the tests run over the registry itself."""

import contextlib
import dataclasses
import itertools
import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.errors import InfeasibleError, SettingsError
from engine.events import Baseline, Emitted, Episode, FromPlacer, Json, Update
from engine.graphs.grouping.nesting import SplitPlacement
from engine.placers.registry import PLACERS, make_placer, placer_class, settings_of
from engine.problem import Budget, PlacementProblem
from engine.problem.trivial import all_on, best_one_device, one_device_placements
from engine.run.request import RunRequest
from engine.run.run import Run
from engine.simulator import Evaluations
from engine.simulator.streams.stream import Pipeline, Stream
from tests.engine.placers.small_problems import small_cluster, small_problem
from tests.engine.small_runs import events_of, prepared_graph

EVERY_METHOD = pytest.mark.parametrize("method", list(PLACERS))
ENOUGH_FOR_ALL = {"exhaustive": 20_000}
"""evaluations of a method that refuses to work with fewer: all placements of the small problems here"""
STREAM = Stream(4, Pipeline.INFERENCE)
"""for methods that make its period small, and nothing else"""
Heard = list[FromPlacer]


def evaluations_for(method: str) -> int:
    return ENOUGH_FOR_ALL.get(method, 200)


def problem_for(method: str, seed: int, **asked: Any) -> PlacementProblem:
    """A small problem with an objective that the method has."""
    problem = small_problem(seed, **asked)
    return dataclasses.replace(problem, stream=STREAM) if PLACERS[method].streams_only else problem


def place(
    method: str,
    problem: PlacementProblem,
    seed: int = 0,
    stop_after: int | None = None,
    settings: dict[str, Json] | None = None,
) -> tuple[NDArray[np.int32], Heard]:
    heard: Heard = []

    def should_stop() -> bool:
        return stop_after is not None and len(heard) >= stop_after

    rng = np.random.default_rng(seed)
    problem = problem.reporting_to(heard.append)
    make_placer(method, settings or {}).place(problem, rng, should_stop)
    return problem.ledger.answer(), heard


@EVERY_METHOD
@pytest.mark.parametrize("pins", [False, True])
def test_placement_is_complete_and_respects_pins(method: str, pins: bool) -> None:
    problem = problem_for(method, 1, devices=3, pins=pins, evaluations=evaluations_for(method))
    placement, _ = place(method, problem)
    assert placement.shape == (problem.group_count,)
    assert problem.respects(placement[None, :]).all()


@pytest.mark.parametrize(
    ("method", "lacks"),
    [
        ("placeto", ()),
        ("rnn", ("memory_penalty",)),
        ("hierarchical", ("memory_penalty",)),
        ("post", ("return_baseline", "gradient_norm")),
        ("spotlight", ("return_baseline",)),
        ("regal", ("memory_penalty", "gradient_norm")),
    ],
)
def test_a_method_that_learns_says_what_it_learned(method: str, lacks: tuple[str, ...]) -> None:
    _, heard = place(method, problem_for(method, 1, evaluations=300))
    updates = [event for event in heard if isinstance(event, Update)]
    assert updates
    for update in updates:
        numbers = dataclasses.asdict(update)
        assert tuple(name for name, number in numbers.items() if number is None) == lacks
        assert all(math.isfinite(number) for number in numbers.values() if number is not None)
        assert update.entropy is not None and update.entropy >= 0.0
        assert update.mean_return is not None and update.mean_return < 0.0
    assert [update.evaluations for update in updates] == sorted({update.evaluations for update in updates})


@EVERY_METHOD
def test_a_method_that_learns_can_be_frozen(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every method that reports learning has the setting; with it nothing moves, and the rest is as ever."""
    enough = Budget(max(300, evaluations_for(method)))
    problem = problem_for(method, 1).with_budget(enough)
    _, heard = place(method, problem)
    learns = any(isinstance(event, Update) for event in heard)
    assert learns == ("frozen" in settings_of(make_placer(method, {})))
    if not learns:
        return
    moved = moves_of(monkeypatch)
    frozen = problem.with_budget(enough)
    _, heard_frozen = place(method, frozen, settings={"frozen": True})
    assert moved == [] and frozen.ledger.used == problem.ledger.used
    updates = [event for event in heard_frozen if isinstance(event, Update)]
    assert updates and all(event.learning_rate == 0.0 for event in updates)
    place(method, problem.with_budget(enough))
    assert moved, "without it weights or choices do move"


FIRST_SAMPLES: dict[str, list[dict[str, Json]]] = {
    "placeto": [{}, {"preset": "paper", "reward": "terminal", "message_rounds": 1, "greedy_every_batches": 0}],
    "rnn": [{}, {"preset": "paper", "hidden_width": 16}],
}
"""method → settings with which its first samples are looked at, beside its defaults"""


@EVERY_METHOD
def test_a_method_that_learns_can_begin_from_the_shared_prior(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four fifths of the groups are then on the best single device, pins apart, and no two samples are the same."""
    learns = "frozen" in settings_of(make_placer(method, {}))
    has_it = "prior" in settings_of(make_placer(method, {}))
    assert has_it == (learns or method == "brkga")
    if not has_it:
        return
    problem = problem_for(method, 3, ops=60, devices=3, pins=True)
    trivial = all_on(problem.allowed, best_one_device(problem))
    free = problem.allowed.sum(axis=1) > 1
    for settings in FIRST_SAMPLES.get(method, [{}]):
        sampled = first_samples(method, problem, {"prior": "best_trivial", "frozen": True, **settings}, monkeypatch)
        shares = (sampled == trivial)[:, free].mean(axis=1)
        assert shares.mean() == pytest.approx(0.8, abs=0.05) and shares.max() < 1.0
        assert len(np.unique(sampled, axis=0)) == len(sampled)
        sampled = first_samples(method, problem, {"prior": "published", **settings}, monkeypatch)
        if method != "placeto":
            assert (sampled == trivial)[:, free].mean() < 0.5, "their own start is about uniform"


def first_samples(
    method: str, problem: PlacementProblem, settings: dict[str, Json], monkeypatch: pytest.MonkeyPatch
) -> NDArray[np.int32]:
    """[32, groups] the first placements that are no single device."""
    if method == "brkga":
        settings.pop("frozen", None)
    evaluated: list[NDArray[np.int32]] = []
    evaluate = PlacementProblem.evaluate

    def noted(self: PlacementProblem, placements: NDArray[np.int32]) -> Evaluations:
        evaluated.append(placements.copy())
        return evaluate(self, placements)

    with monkeypatch.context() as patched:
        patched.setattr(PlacementProblem, "evaluate", noted)
        place(method, problem.with_budget(Budget(40)), settings=settings)
    trivial = {placement.tobytes() for placement in one_device_placements(problem)}
    first = [row for batch in evaluated for row in batch if row.tobytes() not in trivial]
    return np.array(first[:32])


def moves_of(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What moves from now on: weights in a step of Adam, or Post's choices."""
    import torch

    from engine.placers.post import IndependentChoices

    moved: list[str] = []
    step, sample = torch.optim.Adam.step, IndependentChoices.sample

    def stepped(self: torch.optim.Adam, *args: Any, **settings: Any) -> Any:
        weights = [weight for group in self.param_groups for weight in group["params"]]
        before = [weight.detach().clone() for weight in weights]
        step(self, *args, **settings)
        moved.extend("Adam" for one, other in zip(before, weights, strict=True) if not torch.equal(one, other))

    def sampled(self: IndependentChoices, count: int, rng: np.random.Generator) -> NDArray[np.int32]:
        moved.extend(["Post"] * bool(self.parameters.any()))
        return sample(self, count, rng)

    monkeypatch.setattr(torch.optim.Adam, "step", stepped)
    monkeypatch.setattr(IndependentChoices, "sample", sampled)
    return moved


@EVERY_METHOD
@pytest.mark.parametrize("evaluations", [1, 2, 37, 200])
def test_it_never_exceeds_its_evaluations(method: str, evaluations: int) -> None:
    problem = problem_for(method, 2, evaluations=evaluations)
    if method in ENOUGH_FOR_ALL:
        with pytest.raises(SettingsError, match=f"{evaluations} evaluations left"):
            place(method, problem)
        assert problem.ledger.used == 0
        return
    place(method, problem)
    assert 1 <= problem.ledger.used <= evaluations


@EVERY_METHOD
def test_the_same_seed_gives_the_same_answer(method: str) -> None:
    first, second = (
        place(method, problem_for(method, 3, evaluations=evaluations_for(method)), seed=5) for _ in range(2)
    )
    assert np.array_equal(first[0], second[0])
    episodes = [[event.placement for event in heard if isinstance(event, Episode)] for _, heard in (first, second)]
    assert episodes[0] == episodes[1]


@pytest.mark.parametrize("method", [method.name for method in PLACERS.values() if method.deterministic])
def test_what_is_called_deterministic_draws_nothing_at_random(method: str) -> None:
    problem, rng = problem_for(method, 3, evaluations=evaluations_for(method)), np.random.default_rng(0)
    before = rng.bit_generator.state
    with contextlib.suppress(InfeasibleError):  # no rule for this graph
        make_placer(method, {}).place(problem, rng, lambda: False)
    assert rng.bit_generator.state == before


@EVERY_METHOD
def test_it_is_never_better_than_exhaustive_search(method: str) -> None:
    problem = problem_for(method, 4, ops=6, evaluations=evaluations_for(method))
    placement, _ = place(method, problem)
    every = np.array(list(itertools.product(range(problem.device_count), repeat=6)), dtype=np.int32)
    optimum_us = problem.simulator.evaluate(every).step_time_us.min()
    step_time_us = problem.simulator.evaluate(placement[None, :]).step_time_us[0]
    assert step_time_us >= optimum_us
    assert step_time_us == problem.ledger.best_step_time_us


@EVERY_METHOD
@pytest.mark.parametrize(
    ("devices", "pins", "memory_bytes"), [(3, False, 10**9), (2, True, 10**9), (2, False, 8 * 10**6)]
)
def test_it_is_never_better_than_the_exhaustive_method(
    method: str, devices: int, pins: bool, memory_bytes: int
) -> None:
    problem = problem_for(
        method,
        10,
        ops=6,
        devices=devices,
        pins=pins,
        memory_bytes=memory_bytes,
        cpu=method == "cpu_only",
        evaluations=evaluations_for(method),
    )
    oracle = problem.with_budget(Budget(ENOUGH_FOR_ALL["exhaustive"]))
    place("exhaustive", oracle)
    place(method, problem)
    if oracle.ledger.best_step_time_us is None:
        assert problem.ledger.best_step_time_us is None
        assert (problem.ledger.missing_bytes or 0) >= (oracle.ledger.missing_bytes or 0)
    elif problem.ledger.best_step_time_us is not None:
        assert problem.ledger.best_step_time_us >= oracle.ledger.best_step_time_us


@EVERY_METHOD
def test_it_is_within_memory_where_it_finds_room(method: str) -> None:
    problem = problem_for(method, 5, ops=8, memory_bytes=12_000_000, evaluations=evaluations_for(method))
    place(method, problem)
    if problem.ledger.best_step_time_us is not None:
        peaks = problem.simulator.evaluate(problem.ledger.answer()[None, :]).peak_bytes[0]
        assert (peaks <= problem.memory_bytes).all()


@EVERY_METHOD
def test_without_room_the_ledger_says_how_much_is_missing(method: str) -> None:
    problem = problem_for(method, 6, memory_bytes=1000, evaluations=evaluations_for(method))
    place(method, problem)
    assert problem.ledger.best_step_time_us is None
    assert problem.ledger.missing_bytes is not None and problem.ledger.missing_bytes > 0


@EVERY_METHOD
def test_episodes_are_numbered_and_hold_the_best_so_far(method: str) -> None:
    problem = problem_for(method, 7, evaluations=evaluations_for(method))
    _, heard = place(method, problem)
    episodes = [event for event in heard if isinstance(event, Episode)]
    numbers = [event.episode for event in episodes]
    assert numbers == sorted(set(numbers)) and numbers[0] >= 1
    best = [event.best_step_time_us for event in episodes if event.best_step_time_us is not None]
    assert best == sorted(best, reverse=True)
    assert best[-1] == problem.ledger.best_step_time_us
    used = [event.evaluations for event in episodes]
    assert used == sorted(used) and used[-1] <= problem.ledger.used
    for event in episodes:
        evaluated = problem.simulator.evaluate(np.array([event.placement], dtype=np.int32))
        assert evaluated.step_time_us[0] == event.step_time_us


@EVERY_METHOD
def test_it_stops_soon_when_asked(method: str) -> None:
    problem = problem_for(method, 8, evaluations=100_000)
    placement, _ = place(method, problem, stop_after=1)
    assert problem.ledger.used < 10_000
    assert problem.respects(placement[None, :]).all()


@EVERY_METHOD
def test_an_unknown_setting_is_refused(method: str) -> None:
    with pytest.raises(SettingsError, match="no_such_setting"):
        make_placer(method, {"no_such_setting": 1})


@EVERY_METHOD
def test_its_settings_are_reported(method: str) -> None:
    assert isinstance(settings_of(make_placer(method, {})), dict)


@EVERY_METHOD
def test_it_has_a_docstring_with_its_source(method: str) -> None:
    module = __import__(placer_class(method).__module__, fromlist=["__doc__"])
    assert module.__doc__ and "Source:" in module.__doc__


def test_an_unknown_method_is_refused_with_the_known_ones() -> None:
    with pytest.raises(SettingsError) as caught:
        make_placer("magic", {})
    assert str(caught.value) == f"method: there is no method 'magic'; allowed: {', '.join(PLACERS)}"


def test_cpu_only_without_a_cpu_says_so() -> None:
    with pytest.raises(InfeasibleError, match="the cluster has no CPU"):
        place("cpu_only", small_problem(9, cpu=False))


@EVERY_METHOD
def test_the_registry_says_which_methods_search_from_a_start(method: str) -> None:
    """From the best of all placements and from the worst, evaluated first as a run does: do its episodes differ?"""
    every = np.array(list(itertools.product(range(3), repeat=7)), dtype=np.int32)
    times_us = problem_for(method, 3).simulator.evaluate(every).step_time_us
    found = []
    for start in (every[times_us.argmin()], every[times_us.argmax()]):
        problem = problem_for(method, 3, evaluations=ENOUGH_FOR_ALL.get(method, 120))
        problem = problem.in_context(dataclasses.replace(problem.context, start=start))
        problem.evaluate(start[None, :])
        _, heard = place(method, problem)
        found.append([event.placement for event in heard if isinstance(event, Episode)])
    assert (found[0] != found[1]) == PLACERS[method].searches_from_start


class Backwards:
    """Measures a placement as the faster the slower it is simulated."""

    def __init__(self, problem: PlacementProblem) -> None:
        self._simulator = problem.simulator.with_groups(np.arange(problem.graph.op_count, dtype=np.int32))

    def step_time_us(self, device_of_op: NDArray[np.int32]) -> NDArray[np.float64]:
        times_us: NDArray[np.float64] = 1e9 / self._simulator.evaluate(device_of_op).step_time_us
        return times_us


@EVERY_METHOD
def test_its_rewards_can_be_measured_unless_the_registry_says_that_it_only_simulates(method: str) -> None:
    """All that it is told of placements is measured; compiled code, which would simulate, is never reached."""
    problem = problem_for(method, 3, evaluations=evaluations_for(method))
    problem = problem.in_context(dataclasses.replace(problem.context, timer=Backwards(problem)))
    if PLACERS[method].evaluates_in_compiled_code:
        with pytest.raises(AssertionError, match="compiled code cannot measure"):
            place(method, problem)
        return
    answer, heard = place(method, problem)
    simulated_us = float(problem.simulator.evaluate(answer[None, :]).step_time_us[0])
    assert problem.ledger.best_step_time_us == pytest.approx(1e9 / simulated_us)
    for event in heard:
        if isinstance(event, Episode):
            us = problem.simulator.evaluate(np.array([event.placement], dtype=np.int32)).step_time_us[0]
            assert event.step_time_us == pytest.approx(1e9 / us)


@EVERY_METHOD
def test_a_request_with_a_start_and_pins_is_respected(method: str) -> None:
    """Through a run: no evaluated placement breaks a pin, and the answer is never worse than the start."""
    pins, start = {0: 1, 4: 0}, [1, 0, 1, 2, 0, 1]
    heard: list[Emitted] = []
    evaluations = ENOUGH_FOR_ALL.get(method, 120)
    cluster, begun = small_cluster(2, cpu=True), SplitPlacement(start)
    stream = STREAM if PLACERS[method].streams_only else None
    asked = RunRequest(cluster, method, Budget(evaluations), 0, start=begun, pins=pins, stream=stream)
    report = Run(prepared_graph(6), asked, heard.append, lambda: False).execute(None)
    placements = [event.placement for event in events_of(heard) if isinstance(event, Episode | Baseline)]
    assert all(placement[group] == device for placement in placements if placement for group, device in pins.items())
    first = next(event for event in events_of(heard) if isinstance(event, Episode))
    assert (first.placement, first.evaluations, first.feasible) == (start, 1, True)
    assert (report["start_step_time_us"], report["pinned_groups"]) == (first.step_time_us, 2)
    step_time_us, used = report["step_time_us"], report["evaluations"]
    assert isinstance(step_time_us, float) and step_time_us <= first.step_time_us
    assert isinstance(used, int) and used <= evaluations
