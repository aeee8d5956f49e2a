"""Placeto: a policy learns by reinforcement to place one group after the other. Loads torch only when it places.

It has two presets: `paper`, the published form, and `fast`, whose differences are in `engine/placeto/settings.py`. With
a trained policy it evaluates the greedy pass and sampled ones, then continues to learn from the policy's weights.
Source: Addanki, Bojja Venkatakrishnan, Gupta, Mao, Alizadeh: Placeto, NeurIPS 2019, arXiv 1906.08879.
"""

import numpy as np

from engine.events import Json, ShouldStop
from engine.placers.policy_passes import evaluate_passes
from engine.placeto.settings import make_settings
from engine.policies.trained_policy import TrainedPolicy
from engine.policies.using import on_this_machine, settings_with_policy
from engine.problem import PlacementProblem


class Placeto:
    """Trains a policy on the problem; the ledger keeps the best placement that it finds."""

    def __init__(self, **settings: Json) -> None:
        """`settings` as in `PlacetoSettings`; `preset` sets the defaults of the others. Raises SettingsError."""
        self.settings = make_settings(settings)
        self._given = settings
        self._policy: TrainedPolicy | None = None
        self._state: bytes | None = None

    def use_policy(self, policy: TrainedPolicy) -> None:
        """Begin from `policy`; its network's sizes become settings. Raises SettingsError if the settings differ."""
        self.settings = settings_with_policy(policy, self._given)
        self._policy = on_this_machine(policy, self.settings)

    def resume(self, state: bytes) -> None:
        """Load the state of an earlier `PlacerState`: the next `place` continues from there."""
        self._state = state

    def place(self, problem: PlacementProblem, rng: np.random.Generator, should_stop: ShouldStop) -> None:
        from engine.placeto.training import PlacetoTraining  # torch takes seconds to load

        passes = None
        if self._policy is not None and self._state is None:
            passes = evaluate_passes(self._policy, problem, rng)
            if problem.ledger.spent or should_stop():
                return
        weights = None if self._policy is None else self._policy.weights
        training = PlacetoTraining(problem, self.settings, rng, should_stop, weights)
        if self._state is not None:
            training.restore(self._state)
        elif passes is not None:
            training.begin_from(passes.placements, passes.evaluations)
        elif problem.context.start is not None:
            training.begin_from(problem.context.start[None, :], problem.times_of(problem.context.start[None, :]))
        training.run()
