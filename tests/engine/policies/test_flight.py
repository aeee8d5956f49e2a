"""Graphs in flight together learn what each would alone, in the mean; in lockstep or side by side."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch

from engine.policies.flight import Flight
from engine.policies.learner import Learner
from engine.policies.problem_learner import advantages_of
from engine.policies.settings import make_training_settings
from engine.policies.training_problem import TrainingProblem
from tests.engine.placers.small_problems import small_problem
from tests.engine.policies.small_trainings import COUNTED


def learner(**changes: int) -> Learner:
    """One that has been taught and has imitated, on graphs of three sizes."""
    problems = [TrainingProblem("small", "GPUs", small_problem(n, ops=9 + 4 * n, devices=2 + n)) for n in range(3)]
    settings = make_training_settings({**COUNTED, "batch_episodes": 4, "varied_share": 0.0, **changes})
    made = Learner(problems, settings, 5, lambda: False)
    while made.stage != "reinforcement":
        made.step()
    return made


def flight_of(made: Learner) -> Flight:
    return Flight(made._network, made._optimiser, made.placeto_settings)


def test_a_flight_of_one_graph_is_a_batch_of_it() -> None:
    alone, flight = learner(), learner()
    for share in (1.0, 0.3):
        rng = np.random.default_rng(7)
        alone._bound[2].explore("topological", 0.4, rng, share)
        bound = flight._bound[2]
        plan = bound.plan("topological", np.random.default_rng(7), share)
        assert flight_of(flight).explore([bound], [plan], 0.4) == 4
        assert bound.gap == alone._bound[2].gap
        for name, array in alone.weights().items():
            one, other = (np.asarray(each, dtype=np.float64) for each in (array, flight.weights()[name]))
            np.testing.assert_allclose(other, one, rtol=1e-4, atol=1e-6)


def test_an_update_is_the_mean_of_what_each_graph_says() -> None:
    made = learner(epochs=1)
    plans = [bound.plan("topological", np.random.default_rng(number), 1.0) for number, bound in enumerate(made._bound)]
    gradients = []
    for bound, plan in zip(made._bound, plans, strict=True):
        episodes = bound.actor.sample(plan, lambda: None)
        advantages = torch.from_numpy(advantages_of(episodes, bound.values(episodes.ends())))
        made._optimiser.begin()
        for part in bound.actor.score(episodes, lambda: None):
            taken = torch.from_numpy(episodes.actions.astype(np.int64))[..., None]
            entropy = -(part.log_probabilities.exp() * part.log_probabilities).sum(-1)
            gains = part.log_probabilities.gather(-1, taken)[..., 0] * advantages
            loss = -(gains + made.placeto_settings.entropy_weight * entropy).mean()
            loss.backward()  # type: ignore[no-untyped-call]  # torch's own
        gradients.append([parameter.grad for parameter in made._network.parameters()])
    flight_of(made).explore(made._bound, plans, 0.0)
    found = [parameter.grad for parameter in made._network.parameters()]
    means = [
        torch.stack([each for each in several if each is not None]).mean(0) for several in zip(*gradients, strict=True)
    ]
    norm = torch.cat([mean.flatten() for mean in means]).norm()
    for mean, grad in zip(means, found, strict=True):
        assert grad is not None
        clipped = mean * min(1.0, made.placeto_settings.gradient_norm / (float(norm) + 1e-6))
        torch.testing.assert_close(grad, clipped.to(grad.dtype), rtol=1e-3, atol=1e-6)


def test_in_lockstep_and_side_by_side_are_the_same() -> None:
    made = learner()
    plans = [bound.plan("topological", np.random.default_rng(number), 0.5) for number, bound in enumerate(made._bound)]
    with ThreadPoolExecutor(2) as threads:
        one = flight_of(made)._side_by_side(made._bound, plans, threads)
        other = flight_of(made)._in_lockstep(made._bound, plans, threads)
    for (alone, values), (together, same) in zip(one, other, strict=True):
        np.testing.assert_array_equal(alone.actions, together.actions)
        np.testing.assert_array_equal(values, same)


def test_a_training_with_flights_counts_each_graphs_batch_and_is_the_same_with_the_same_seed() -> None:
    weights = []
    for _ in range(2):
        made = learner(graphs_together=3, reinforcement_batches=7)
        while made.done < 1.0:
            made.step()
        assert (made.batches, made.episodes) == (7, 28)
        weights.append(made.weights())
    for name, array in weights[0].items():
        np.testing.assert_array_equal(array, weights[1][name])
