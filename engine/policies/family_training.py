"""Training of one policy on many problems: the same weights on each of them in turn."""

import dataclasses
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from engine.events import ShouldStop
from engine.policies.card import PolicyCard
from engine.policies.held_out import measure_held_out
from engine.policies.settings import PolicyTrainingSettings
from engine.policies.trained_policy import TrainedPolicy
from engine.policies.training_problem import TellProgress, TrainingProblem, TrainingProgress

if TYPE_CHECKING:
    from engine.policies.round_robin import RoundRobin


def train_policy(
    problems: Sequence[TrainingProblem],
    held_out: Sequence[TrainingProblem],
    settings: PolicyTrainingSettings,
    seed: int,
    tell: TellProgress,
    should_stop: ShouldStop,
    checkpoint: bytes | None = None,
    keep: Callable[[bytes], None] | None = None,
) -> TrainedPolicy:
    """A policy that has learned on `problems`; its card says what it did on `held_out`.

    Where `should_stop` ends it, the policy is what was learned until then, and nothing is held out. `keep` gets states
    to go on from with `checkpoint`; where the settings count steps, the answer is as if it had never stopped.
    """
    from engine.policies.round_robin import RoundRobin  # torch takes seconds to load

    training = RoundRobin(problems, settings, seed)
    if checkpoint is not None:
        training.restore(checkpoint)
    told = kept = time.monotonic()
    while training.done < 1.0 and not should_stop():
        training.run_batch()
        now = time.monotonic()
        if now - told >= SECONDS_BETWEEN_SIGNS:
            told = now
            tell(TrainingProgress("reinforcement", training.done, training.seconds))
        if keep is not None and now - kept >= settings.checkpoint_seconds:
            kept = now
            keep(training.state())
    policy = TrainedPolicy(training.weights(), training.placeto_settings, _card(problems, seed, training))
    rows = measure_held_out(policy, held_out, settings, seed, tell, training.seconds, should_stop)
    return dataclasses.replace(policy, card=dataclasses.replace(policy.card, held_out=rows))


SECONDS_BETWEEN_SIGNS = 1.0


def _card(problems: Sequence[TrainingProblem], seed: int, training: "RoundRobin") -> PolicyCard:
    from engine import VERSION

    def each(names: Sequence[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for name in names if name))

    return PolicyCard(
        name="",
        engine_version=VERSION,
        seed=seed,
        families=(),
        graphs=each([problem.name for problem in problems]),
        clusters=each([problem.cluster_name for problem in problems]),
        imitation_steps=0,
        episodes=training.episodes,
        evaluations=training.evaluations,
        seconds=training.seconds,
    )
