"""Trains one policy on many problems in turn: a teacher first, then imitation, then reinforcement.

Then measures it on graphs that it was not trained on, by comparing its passes with a search.
"""

import dataclasses
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from engine.events import ShouldStop
from engine.policies.card import HeldOut, PolicyCard
from engine.policies.proposals import proposals
from engine.policies.settings import PolicyTrainingSettings
from engine.policies.teacher import taught_placement
from engine.policies.team_plan import team_plan
from engine.policies.trained_policy import TrainedPolicy
from engine.policies.training_problem import ReportTraining, TrainingProblem, TrainingProgress
from engine.problem import MOST_EVALUATIONS, Budget, PlacementProblem

if TYPE_CHECKING:
    from engine.policies.learner import Learner
    from engine.policies.team import LearnerTeam


def train_policy(
    problems: Sequence[TrainingProblem],
    held_out: Sequence[TrainingProblem],
    settings: PolicyTrainingSettings,
    seed: int,
    report_training: ReportTraining,
    should_stop: ShouldStop,
    checkpoint: bytes | None = None,
    keep: Callable[[bytes], None] | None = None,
    learner_type: "type[Learner] | None" = None,
) -> TrainedPolicy:
    """Train a policy on `problems`; its card has its results on `held_out`.

    If `should_stop` ends the training, the policy has learned until then and has no held-out results. `keep` gets
    states to continue from with `checkpoint`; if the settings count steps, the result is the same as without a stop.
    `learner_type` is another way to learn, for experiments. Started by torchrun, the processes train one policy
    together: the first reports and measures, the first of each host keeps states, and all return the policy.
    """
    from torch.distributed import get_node_local_rank, is_torchelastic_launched  # torch takes seconds to load

    from engine.policies.learner import Learner
    from engine.policies.processes import OwnProcesses, meet_by_torchrun
    from engine.policies.team import LearnerTeam

    make_learner = learner_type or Learner
    if not _counts_steps(settings):
        _rehearse(make_learner, problems, settings, should_stop)
    plan, team = team_plan(problems, settings, seed, make_learner), None
    learner: Learner | LearnerTeam
    with ExitStack() as stack:
        if is_torchelastic_launched():
            learner = team = LearnerTeam(plan, partial(meet_by_torchrun, plan), should_stop, checkpoint)
            keep = keep if get_node_local_rank() == 0 else None
            report_training = report_training if team.rank == 0 else _no_report
        elif settings.learners > 1:
            processes = stack.enter_context(closing(OwnProcesses(plan)))
            learner = LearnerTeam(plan, processes.meet, should_stop, checkpoint, replaces=True)
        else:
            learner = make_learner(problems, settings, seed, should_stop)
            if checkpoint is not None:
                learner.restore(checkpoint)
        _learn(learner, problems, settings, seed, report_training, keep)
    policy = _learned(problems, settings, seed, learner)
    if team is None or team.rank == 0:
        rows = measure_held_out(policy, held_out, settings, seed, report_training, learner.numbers.seconds, should_stop)
        policy = dataclasses.replace(policy, card=dataclasses.replace(policy.card, held_out=rows))
    if team is None:
        return policy
    return TrainedPolicy.from_bytes(team.told_by_the_first(policy.to_bytes() if team.rank == 0 else b""), "the policy")


def _learn(
    learner: "Learner | LearnerTeam",
    problems: Sequence[TrainingProblem],
    settings: PolicyTrainingSettings,
    seed: int,
    report_training: ReportTraining,
    keep: Callable[[bytes], None] | None,
) -> None:
    """Let `learner` learn until it is done or stopped; its progress is reported, and its states are kept."""
    reported = kept = time.monotonic()
    until_kept = min(FIRST_STATE_SECONDS, settings.checkpoint_seconds)
    while learner.done < 1.0 and not learner.stopped:
        learner.step()
        now, numbers = time.monotonic(), learner.numbers
        if now - reported >= SECONDS_BETWEEN_SIGNS and numbers.stage != "done":
            reported = now
            report_training(TrainingProgress(numbers.stage, numbers.done, numbers.seconds, numbers.mean_gap))
        interrupted = learner.stopped  # perhaps in the middle of a teacher's search, whose state is not worth saving
        if keep is not None and not interrupted and now - kept >= until_kept:
            kept, until_kept = now, min(2 * until_kept, settings.checkpoint_seconds)
            keep(learner.state(_learned(problems, settings, seed, learner).texts()))


def _no_report(progress: TrainingProgress) -> None:
    """Report nothing."""


SECONDS_BETWEEN_SIGNS = 1.0
FIRST_STATE_SECONDS = 1.0
"""until the first state, from the start or from where it goes on; the time between two doubles up to
`checkpoint_seconds`, so that a training makes progress even where its process is killed again and again"""
REHEARSAL: dict[str, int | float] = {
    "teacher_evaluations": 200,
    "imitation_steps": 1,
    "reinforcement_batches": 1,
    "varied_share": 1.0,
}
"""settings of a training that goes through every stage once"""


def _counts_steps(settings: PolicyTrainingSettings) -> bool:
    return bool(settings.teacher_evaluations and settings.imitation_steps and settings.reinforcement_batches)


def _rehearse(
    make_learner: "type[Learner]",
    problems: Sequence[TrainingProblem],
    settings: PolicyTrainingSettings,
    should_stop: ShouldStop,
) -> None:
    """Run every stage once with a learner that is thrown away, before the training's seconds count.

    Compiling on first use takes a minute in a new checkout, which could be all of a short training.
    """
    few = dataclasses.replace(settings, **REHEARSAL)  # type: ignore[arg-type]  # fields by name
    learner = make_learner(problems[:1], few, 0, should_stop)
    while learner.done < 1.0 and not should_stop():
        learner.step()


def _learned(
    problems: Sequence[TrainingProblem],
    settings: PolicyTrainingSettings,
    seed: int,
    learner: "Learner | LearnerTeam",
) -> TrainedPolicy:
    return TrainedPolicy(learner.weights(), learner.placeto_settings, _card(problems, settings, seed, learner))


def _card(
    problems: Sequence[TrainingProblem],
    settings: PolicyTrainingSettings,
    seed: int,
    learner: "Learner | LearnerTeam",
) -> PolicyCard:
    from engine import VERSION

    def distinct(names: Sequence[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for name in names if name))

    numbers = learner.numbers
    return PolicyCard(
        name="",
        engine_version=VERSION,
        seed=seed,
        families=(),
        graphs=distinct([problem.name for problem in problems]),
        clusters=distinct([problem.cluster_name for problem in problems]),
        imitation_steps=numbers.imitation_steps,
        episodes=numbers.episodes,
        evaluations=numbers.evaluations,
        seconds=numbers.seconds,
        drawn=numbers.drawn,
        training=dataclasses.asdict(settings),
        ranges=numbers.ranges,
    )


def measure_held_out(
    policy: TrainedPolicy,
    held_out: Sequence[TrainingProblem],
    settings: PolicyTrainingSettings,
    seed: int,
    report_training: ReportTraining,
    seconds: float,
    should_stop: ShouldStop,
) -> tuple[HeldOut, ...]:
    """A row for each problem where the search found a feasible placement.

    A search that `should_stop` ended before its budget gives no row: the gap to it would flatter the policy.
    """
    rows: list[HeldOut] = []
    for index, problem in enumerate(held_out):
        if should_stop():
            break
        rng = np.random.default_rng([seed, index])
        row = _row(policy, problem, settings, rng, should_stop)
        if row is not None:
            rows.append(row)
        report_training(TrainingProgress("held_out", 1.0, seconds, held_out=tuple(rows)))
    return tuple(rows)


def _row(
    policy: TrainedPolicy,
    held_out: TrainingProblem,
    settings: PolicyTrainingSettings,
    rng: np.random.Generator,
    should_stop: ShouldStop,
) -> HeldOut | None:
    problem = held_out.problem
    placements = proposals(policy, problem, rng, settings.samples)
    evaluations = problem.simulator.evaluate(placements)
    feasible, step_time_us = problem.feasible(evaluations), evaluations.step_time_us
    search_us, search_evaluations = _searched(problem, settings, rng, should_stop)
    if search_us is None or should_stop():
        return None
    return HeldOut(
        graph=held_out.name,
        cluster=held_out.cluster_name,
        greedy_us=float(step_time_us[0]) if feasible[0] else None,
        best_of_us=float(step_time_us[feasible].min()) if feasible.any() else None,
        samples=settings.samples,
        search_us=search_us,
        search_seconds=0.0 if settings.search_evaluations else settings.search_seconds,
        search_evaluations=search_evaluations,
        ops=problem.graph.op_count,
    )


def _searched(
    problem: PlacementProblem,
    settings: PolicyTrainingSettings,
    rng: np.random.Generator,
    should_stop: ShouldStop,
) -> tuple[float | None, int]:
    """(step time in µs of the search's best placement, None if infeasible; number of evaluations)."""
    by_count = settings.search_evaluations
    budget = Budget(by_count or MOST_EVALUATIONS, None if by_count else settings.search_seconds)
    placement, used = taught_placement(problem, budget, rng, should_stop)
    evaluations = problem.simulator.evaluate(placement[None, :])
    return (float(evaluations.step_time_us[0]) if problem.feasible(evaluations)[0] else None), used
