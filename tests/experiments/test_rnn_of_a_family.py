"""One RNN over several graphs: it shares its network, learns, and refuses other problems."""

import numpy as np
import pytest

from engine.errors import SettingsError
from engine.placers.sequence.network import MOST_OUTPUTS, group_contents, group_embedding
from engine.placers.sequence.settings import RnnSettings
from engine.problem import PlacementProblem
from engine.settings.making import make_settings
from experiments.policies.rnn_of_a_family import RnnFamily
from tests.engine.placers.small_problems import small_problem
from tests.engine.placeto.problems import two_chains

SETTINGS = make_settings("rnn", RnnSettings, {"hidden_width": 8})


def family_of(*problems: PlacementProblem, seed: int = 0) -> RnnFamily:
    return RnnFamily(problems, SETTINGS, np.random.default_rng(seed))


def test_a_padded_embedding_is_the_embedding_with_columns_of_zeros() -> None:
    problem = small_problem(3)
    groups = problem.group_count
    seen = group_contents(problem)
    plain, padded = group_embedding(seen), group_embedding(seen, groups + 2)
    zeros = np.zeros((groups, 2), dtype=np.float32)
    parts = [plain[:, :groups], zeros, plain[:, groups : 2 * groups], zeros, plain[:, 2 * groups :]]
    assert np.array_equal(padded, np.hstack(parts))


def test_unknown_types_are_ignored() -> None:
    problem = small_problem(3)
    types = sorted(set(problem.graph.op_types))
    whole, part = group_contents(problem), group_contents(problem, [*types[1:], "Unheard"])
    assert np.array_equal(part.contents[:, : len(types) - 1], whole.contents[:, 1 : len(types)])
    assert not part.contents[:, len(types) - 1].any()
    assert part.contents.shape[1] == len(types) + MOST_OUTPUTS


def test_all_budgets_are_spent_to_the_last_evaluation() -> None:
    problems = [two_chains(length=4, evaluations=20), two_chains(length=6, evaluations=33)]
    family_of(*problems).train(lambda: False)
    assert [problem.ledger.used for problem in problems] == [20, 33]


def test_a_stop_ends_the_training() -> None:
    problem = two_chains(length=4, evaluations=1000)
    family_of(problem).train(lambda: problem.ledger.used >= 16)
    assert problem.ledger.used == 16


def test_the_same_seed_gives_the_same_proposals_and_the_greedy_one_is_never_random() -> None:
    proposals = []
    for seed in (1, 1, 2):
        family = family_of(two_chains(length=4, evaluations=40), two_chains(length=6, evaluations=40))
        family.train(lambda: False)
        proposals.append(family.propose(two_chains(length=5, evaluations=1), 5, np.random.default_rng(seed)))
    assert proposals[0].shape == (6, two_chains(length=5, evaluations=1).group_count)
    assert np.array_equal(proposals[0], proposals[1])
    assert np.array_equal(proposals[0][0], proposals[2][0])
    assert not np.array_equal(proposals[0][1:], proposals[2][1:])


def test_proposals_keep_pins() -> None:
    trained, unseen = small_problem(1, devices=3, pins=True), small_problem(2, devices=3, pins=True)
    family = RnnFamily([trained, unseen], SETTINGS, np.random.default_rng(0))
    assert unseen.respects(family.propose(unseen, 20, np.random.default_rng(0))).all()


def test_training_on_some_graphs_helps_on_another_of_the_family() -> None:
    """Two chains side by side: after training, draws for a length between are better than before."""
    problems = [two_chains(length=length, evaluations=600) for length in (6, 8)]
    family = family_of(*problems)
    unseen = two_chains(length=7, evaluations=128)

    def mean_us() -> float:
        drawn = family.propose(unseen, 63, np.random.default_rng(5))
        return float(unseen.evaluate(drawn).step_time_us.mean())

    before = mean_us()
    family.train(lambda: False)
    assert mean_us() < before


def test_another_number_of_devices_and_more_groups_are_refused() -> None:
    few, many = small_problem(1, devices=2), small_problem(1, devices=3)
    with pytest.raises(SettingsError, match="an RNN for 3 and 4 devices"):
        family_of(few, many)
    with pytest.raises(SettingsError, match="at most"):
        family_of(two_chains(length=4, evaluations=1)).propose(
            two_chains(length=40, evaluations=1), 1, np.random.default_rng(0)
        )
