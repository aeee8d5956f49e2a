"""Networks that see less: hidden features get no weight, the others learn; features in their own units and back."""

import numpy as np

from engine.placeto.device_view import FINISH_LATER, LOAD_DECIDED, PARENT_TIME
from engine.placeto.features import USUAL, group_features, group_graph
from engine.policies.family_training import train_policy
from engine.policies.settings import make_training_settings
from engine.policy_training import problems_of
from experiments.blinded import blinded, features_as_they_come
from tests.engine.placers.small_problems import small_cluster
from tests.engine.small_runs import prepared_graph


def test_a_hidden_feature_gets_no_weight() -> None:
    settings = make_training_settings(
        {"teacher_evaluations": 40, "imitation_steps": 3, "reinforcement_batches": 3, "torch_device": "cpu"}
    )
    problems = problems_of((prepared_graph(8),), (small_cluster(2),))
    with blinded((LOAD_DECIDED, FINISH_LATER)):
        blind = train_policy(problems, (), settings, 0, lambda _: None, lambda: False).weights
    seeing = train_policy(problems, (), settings, 0, lambda _: None, lambda: False).weights
    assert np.flatnonzero((blind["view.weight"] == 0).all(axis=0)).tolist() == [LOAD_DECIDED, FINISH_LATER]
    scores, seen = blind["view_score.weight"][0], seeing["view_score.weight"][0]
    assert scores[[LOAD_DECIDED, FINISH_LATER]].tolist() == [0.0, 0.0] and scores[PARENT_TIME] != 0
    assert seen[[LOAD_DECIDED, FINISH_LATER, PARENT_TIME]].all()


def test_features_are_in_their_own_units_within_the_context() -> None:
    graph = group_graph(problems_of((prepared_graph(8),), (small_cluster(2),))[0].problem)
    in_units = group_features(graph)
    with features_as_they_come():
        as_they_come = group_features(graph)
    np.testing.assert_allclose(as_they_come, in_units * USUAL[:, 1] + USUAL[:, 0], atol=1e-6)
    assert as_they_come.min() >= 0
    np.testing.assert_array_equal(group_features(graph), in_units)
