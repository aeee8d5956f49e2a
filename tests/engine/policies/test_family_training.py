"""Training over several problems: what the card says, the same seed, going on after an interruption."""

import dataclasses
import gc
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from engine import api
from engine.errors import GraphError, SettingsError
from engine.events import Json
from engine.placeto.networks.shared_head_actor import SampledEpisodes
from engine.policies import course as family_training
from engine.policies.card import HeldOut, PolicyCard
from engine.policies.course import measure_held_out, train_policy
from engine.policies.drawn.pool import DrawnPool
from engine.policies.drawn.shapes import LIKE_A_FAMILY, SHAPES, shapes_without
from engine.policies.fitting import policy_fit
from engine.policies.learner import Learner
from engine.policies.problem_learner import ProblemLearner
from engine.policies.settings import make_training_settings
from engine.policies.trained_policy import TrainedPolicy
from engine.policies.training_problem import STAGES, TrainingProblem, TrainingProgress
from engine.policy_training import problems_of
from tests.engine.placers.small_problems import small_cluster, small_problem
from tests.engine.placeto.problems import graph_of, problem_of
from tests.engine.policies.small_policies import small_card
from tests.engine.policies.small_trainings import CLUSTERS, COUNTED, request
from tests.engine.small_runs import prepared_graph

Trained = tuple[TrainedPolicy, list[TrainingProgress], list[bytes]]
"""a policy, what its training told, and what it kept"""


@pytest.fixture(scope="module")
def trained() -> Trained:
    told: list[TrainingProgress] = []
    kept: list[bytes] = []
    blob = api.train(request(), told.append, lambda: False, None, kept.append)
    return api.read_policy(blob, "first.safetensors"), told, kept


def without_times(policy: TrainedPolicy) -> TrainedPolicy:
    return dataclasses.replace(policy, card=dataclasses.replace(policy.card, seconds=0.0))


def test_the_card_says_what_it_was_trained_on(
    trained: Trained,
) -> None:
    card = trained[0].card
    assert (card.name, card.seed, card.families, card.graphs) == ("first", 3, ("nmt",), ("small",))
    assert card.clusters == ("2xGPU (own links or memory)", "3xGPU (own links or memory)")
    assert card.evaluations > 0 and card.episodes > 0
    assert card.training == dataclasses.asdict(make_training_settings(request().settings))
    assert [(row.cluster, row.samples) for row in card.held_out] == [(name, 3) for name in card.clusters]
    for row in card.held_out:
        assert row.best_of_us is not None and row.greedy_us is not None and row.best_of_us <= row.greedy_us
        assert row.search_seconds == 0.0 and 3 < row.search_evaluations <= 200
    assert card.worst_gap is not None and card.mean_gap is not None and card.worst_gap >= card.mean_gap


def test_it_tells_its_stages_in_their_order(
    trained: Trained,
) -> None:
    told = trained[1]
    stages = [STAGES.index(progress.stage) for progress in told]
    assert stages == sorted(stages) and told[-1].stage == "held_out"
    done = [progress.done for progress in told]
    assert done == sorted(done) and done[0] >= 0 and done[-1] == 1.0
    assert all(isinstance(progress.to_json()["held_out"], list) for progress in told)


def test_drawn_problems_take_part_and_going_on_from_a_state_draws_the_same() -> None:
    drawn: dict[str, Json] = {"drawn": 2, "drawn_share": 0.7, "drawn_uses": 2, "drawn_teacher_evaluations": 30}
    asked = request(held_out=(), settings={**COUNTED, **drawn, "imitation_steps": 6, "reinforcement_batches": 6})
    kept: list[bytes] = []
    policy = api.read_policy(api.train(asked, lambda _: None, lambda: False, None, kept.append), "drawn")
    assert 3 <= policy.card.drawn <= 12, "each of two places more than one"
    assert "problems drawn at random" in policy_fit(policy.card, "any", CLUSTERS[0]).sentences
    for state in (kept[len(kept) // 2], kept[-1]):
        again = api.read_policy(api.train(asked, lambda _: None, lambda: False, state), "again")
        assert without_times(again).to_bytes() == without_times(policy).to_bytes()
    without = api.read_policy(api.train(request(held_out=()), lambda _: None, lambda: False), "without")
    assert without.card.drawn == 0 and "drawn" not in policy_fit(without.card, "any", CLUSTERS[0]).sentences


def test_no_drawn_network_is_like_the_family_that_is_left_out() -> None:
    assert shapes_without("") == tuple(SHAPES)
    for family, like in LIKE_A_FAMILY.items():
        assert set(shapes_without(family)) == set(SHAPES) - set(like)
        settings = make_training_settings({"drawn": 1, "drawn_without": family})
        assert DrawnPool(settings, [], 0, lambda _: pytest.fail("drawn"), lambda: False).shapes == shapes_without(
            family
        )


def test_the_same_seed_gives_the_same_file(
    trained: Trained,
) -> None:
    again = api.read_policy(api.train(request(), lambda _: None, lambda: False), "again")
    assert without_times(again).to_bytes() == without_times(trained[0]).to_bytes()


def test_another_seed_gives_other_weights(
    trained: Trained,
) -> None:
    other = api.read_policy(api.train(request(seed=4, held_out=()), lambda _: None, lambda: False), "other")
    assert any(not np.array_equal(other.weights[name], array) for name, array in trained[0].weights.items())
    assert other.card.mean_gap is None


def test_going_on_from_a_checkpoint_equals_never_stopping(
    trained: Trained,
) -> None:
    whole, _, kept = trained
    assert len(kept) >= 2
    for checkpoint in (kept[0], kept[len(kept) // 2], kept[-1]):
        again = api.read_policy(api.train(request(), lambda _: None, lambda: False, checkpoint), "again")
        assert without_times(again).to_bytes() == without_times(whole).to_bytes()


def test_the_first_states_come_soon_and_the_next_ones_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """So a training whose process is killed every few seconds still goes on."""
    now, kept = [0], list[int]()

    def a_second_later() -> int:
        now.append(now[-1] + 1)
        return now[-1]

    monkeypatch.setattr(family_training, "time", SimpleNamespace(monotonic=a_second_later))
    asked = request(held_out=(), settings={**COUNTED, "reinforcement_batches": 40, "checkpoint_seconds": 8.0})
    api.train(asked, lambda _: None, lambda: False, None, lambda _: kept.append(now[-1]))
    between = np.diff([now[1], *kept]).tolist()
    assert between[:6] == [1, 2, 4, 8, 8, 8]


def test_a_kept_state_holds_the_policy_that_was_learned_until_then(
    trained: Trained,
) -> None:
    whole, _, kept = trained
    found = [api.learned_until(state, "mine", ("ptb", "nmt", "ptb")) for state in kept]
    assert found[0] is None, "only the teacher had worked"
    blob = found[-1]
    assert blob is not None
    policy = api.read_policy(blob, "kept")
    assert all(np.array_equal(policy.weights[name], array) for name, array in whole.weights.items())
    assert policy.settings == whole.settings
    changes = {"name": "mine", "families": ("nmt", "ptb"), "held_out": (), "seconds": policy.card.seconds}
    assert policy.card == dataclasses.replace(whole.card, **changes)  # type: ignore[arg-type]  # by name
    with pytest.raises(SettingsError, match="the state of the training: this is not a file of Placeto"):
        api.learned_until(kept[0][:-9], "mine", ())


def test_a_training_s_identity_is_of_all_that_it_depends_on() -> None:
    same = api.training_identity(request())
    assert api.training_identity(request(name="another", families=())) == same
    others = [
        request(graphs=(prepared_graph(8), prepared_graph(11))),
        request(graphs=(prepared_graph(10), prepared_graph(8))),
        request(held_out=()),
        request(clusters=CLUSTERS[:1]),
        request(seed=4),
        request(settings={**COUNTED, "epochs": 3}),
    ]
    assert len({same, *map(api.training_identity, others)}) == 1 + len(others)


def test_a_stopped_training_gives_what_was_learned_until_then() -> None:
    looks = iter([False, False])
    policy = api.read_policy(api.train(request(), lambda _: None, lambda: next(looks, True)), "stopped")
    assert policy.card.held_out == ()


@pytest.mark.parametrize("looks", range(2, 8))
def test_going_on_after_a_stop_in_the_middle_of_a_search_equals_never_stopping(looks: int) -> None:
    """The states of a training that is stopped while its teacher searches: none has a search that was cut short."""
    settings = make_training_settings(COUNTED | {"teacher_evaluations": 3000})

    def problems() -> list[TrainingProblem]:
        return [TrainingProblem(name, "2xGPU", small_problem(seed, ops=40)) for seed, name in enumerate("ab")]

    kept: list[bytes] = []
    left = iter([False] * looks)
    train_policy(problems(), (), settings, 3, lambda _: None, lambda: next(left, True), None, kept.append)
    whole = train_policy(problems(), (), settings, 3, lambda _: None, lambda: False)
    for state in kept:
        again = train_policy(problems(), (), settings, 3, lambda _: None, lambda: False, state)
        assert without_times(again).to_bytes() == without_times(whole).to_bytes()


def test_costs_too_large_to_be_varied_are_learned_on_as_they_are() -> None:
    graph, costs = graph_of([(0, 1), (1, 2)], [0.9 * 2.0**62 / 3] * 3, [8] * 3)
    problem = TrainingProblem("vast", "2xGPU", problem_of(graph, costs, small_cluster(2)))
    settings = make_training_settings(COUNTED | {"reinforcement_batches": 20, "varied_share": 1.0})
    policy = train_policy([problem], (), settings, 0, lambda _: None, lambda: False)
    assert policy.card.episodes == 20 * 16


def test_a_search_that_is_stopped_is_no_measure_of_a_gap(
    trained: Trained,
) -> None:
    settings = make_training_settings(COUNTED)
    held_out = problems_of(request().held_out, CLUSTERS)

    def rows(stopped_after: int) -> int:
        looks = iter([False] * stopped_after)
        found = measure_held_out(trained[0], held_out, settings, 0, lambda _: None, 0.0, lambda: next(looks, True))
        return len(found)

    assert [rows(looks) for looks in (0, 1, 2, 1000)] == [0, 0, 0, len(CLUSTERS)]


def test_a_pass_that_does_not_fit_is_held_out_too(trained: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    one_device, spread = np.zeros((1, 6), np.int32), np.arange(6, dtype=np.int32)[None, :] % 2
    peak_bytes = small_problem(0, ops=6, devices=2).simulator.evaluate(one_device).peak_bytes.max()
    tight = small_problem(0, ops=6, devices=2, memory_bytes=int(peak_bytes) - 1)
    settings = make_training_settings({"search_evaluations": 200, "torch_device": "cpu"})

    def row(placements: NDArray[np.int32]) -> HeldOut:
        monkeypatch.setattr("engine.policies.course.proposals", lambda *_: placements)
        problem = TrainingProblem("tight", "2 small", tight)
        [found] = measure_held_out(trained[0], [problem], settings, 0, lambda _: None, 0.0, lambda: False)
        return found

    alone, both, fits = row(one_device), row(np.concatenate([one_device, spread])), row(spread)
    assert (alone.greedy_us, alone.best_of_us) == (None, None)
    assert both.greedy_us is None and both.best_of_us == fits.greedy_us == fits.best_of_us is not None


def test_what_was_trained_places_a_graph_it_has_not_seen_on_a_cluster_it_has_not_seen(
    trained: Trained,
) -> None:
    cluster = small_cluster(4, cpu=True)
    budget = api.Budget(api.zero_shot_evaluations(cluster))
    asked = api.RunRequest(cluster, "placeto", budget, 0, policy=api.GivenPolicy(trained[0].to_bytes()), baselines=())
    report = api.place(prepared_graph(16), asked, lambda _: None, lambda: False)
    assert (report["evaluations"], report["policy"]) == (6, "first")


@pytest.mark.parametrize(("varied_share", "explored"), [(0.0, 2), (1.0, None)])
def test_the_mean_gap_is_of_problems_with_their_own_costs(varied_share: float, explored: int | None) -> None:
    problems = problems_of((prepared_graph(8), prepared_graph(10)), CLUSTERS)
    settings = make_training_settings({**COUNTED, "reinforcement_batches": 20, "varied_share": varied_share})
    learner = Learner(problems, settings, 1, lambda: False)
    while learner.done < 1.0 and learner.mean_gap is None:
        learner.step()
    assert (None if learner.mean_gap is None else learner.batches) == explored, "half of four problems"


@pytest.mark.parametrize("imitated_gap", [0.0, 1e6])
def test_no_episodes_stay_in_memory(imitated_gap: float) -> None:
    settings = make_training_settings({**COUNTED, "imitated_gap": imitated_gap})
    learner = Learner(problems_of((prepared_graph(8),), CLUSTERS), settings, 0, lambda: False)
    before = _held_episodes()
    while learner.done < 1.0:
        learner.step()
    assert _held_episodes() == before


def _held_episodes() -> int:
    return sum(type(each) is SampledEpisodes for each in gc.get_objects())


def test_a_cluster_of_a_long_name_has_a_shorter_one_on_the_card() -> None:
    mixed = api.parse_cluster("+".join(["K80", "V100"] * 32))
    [problem] = problems_of((prepared_graph(4),), (mixed,))
    card = dataclasses.replace(small_card(), clusters=(problem.cluster_name,))
    assert PolicyCard.from_json(card.to_json(), "card") == card
    assert problem.cluster_name.startswith("K80+V100+K80+")


def test_what_takes_long_the_first_time_alone_takes_none_of_a_training_s_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits = iter([1.0])

    def imitate(self: ProblemLearner, *arguments: Any) -> float:
        time.sleep(next(waits, 0.0))  # as where it is compiled
        return earlier(self, *arguments)

    earlier = ProblemLearner.imitate
    monkeypatch.setattr(ProblemLearner, "imitate", imitate)
    in_seconds = {"seconds": 0.9, "imitation_steps": 0, "reinforcement_batches": 0}
    policy = api.read_policy(
        api.train(request(held_out=(), settings=COUNTED | in_seconds), lambda _: None, lambda: False), "quick"
    )
    assert policy.card.episodes > 0


def test_the_budget_of_seconds_alone_ends_it() -> None:
    settings = make_training_settings({"seconds": 0.2, "torch_device": "cpu", "embedding_width": 4, "hidden_width": 8})
    problems = problems_of((prepared_graph(8),), CLUSTERS)
    assert train_policy(problems, (), settings, 0, lambda _: None, lambda: False).card.graphs == ("small",)


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"graphs": ()}, "graphs: there is none; allowed: at least one of the graphs to train on"),
        ({"clusters": ()}, "clusters: there is none; allowed: at least one of the clusters to train on"),
        ({"name": " "}, "name: ' '; allowed: 1 to 200 printable characters"),
        ({"name": "a\nb"}, "name: 'a\ufffdb'; allowed: 1 to 200 printable characters"),
        ({"seed": -1}, f"seed: -1; allowed: an integer from 0 to {2**63 - 1}"),
        ({"settings": {"seconds": 0}}, "seconds: 0; allowed: a number from 0.001 to 1e+07"),
        ({"settings": {"seconds": 10**400}}, f"seconds: {10**78}…; allowed: a number from 0.001 to 1e+07"),
        ({"settings": {"hidden_width": True}}, "hidden_width: True; allowed: an integer from 1 to 512"),
        ({"settings": {"torch_device": "tpu"}}, "torch_device: 'tpu'; allowed: auto, cpu, cuda"),
        ({"clusters": CLUSTERS * 33}, "clusters: 66 clusters; allowed: at most 64"),
        (
            {"graphs": (prepared_graph(8),) * 33, "clusters": CLUSTERS * 32},
            "graphs: 33 × 64 clusters are 2112; allowed: at most 2048",
        ),
    ],
)
def test_what_cannot_be_trained_is_refused(changes: dict[str, object], line: str) -> None:
    with pytest.raises(SettingsError) as caught:
        request(**changes)
    assert str(caught.value) == line


@pytest.mark.parametrize(("time_us", "said"), [(0.0, "its ops take no time"), (1e-12, "its ops take 4e-12 µs")])
@pytest.mark.parametrize("role", ["graphs", "held_out"])
def test_a_graph_that_takes_no_time_is_refused_before_the_training(role: str, time_us: float, said: str) -> None:
    prepared = prepared_graph(4)
    idle = dataclasses.replace(prepared.costs, time_us=np.full_like(prepared.costs.time_us, time_us))
    told: list[TrainingProgress] = []
    with pytest.raises(GraphError) as caught:
        api.train(request(**{role: (dataclasses.replace(prepared, costs=idle),)}), told.append, lambda: False)
    assert str(caught.value) == (f"small on 2xGPU (own links or memory): {said}; allowed: a graph with work to place")
    assert told == []


def test_an_unknown_setting_is_refused_with_the_known_ones() -> None:
    with pytest.raises(SettingsError, match="training has no setting 'magic'; allowed: seconds, "):
        request(settings={"magic": 1})
