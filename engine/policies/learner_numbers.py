"""How far a learner is, or several together."""

from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

from engine.policies.training_problem import STAGES
from engine.policies.traits import Ranges, widened


class LearnerNumbers(NamedTuple):
    """How far a training is."""

    stage: str
    """one of the first three of `STAGES`, or done"""
    done: float
    """the share of the training that is done, from 0 to 1"""
    seconds: float
    """since the training began, earlier calls included"""
    evaluations: int
    """simulated placements, those of the teachers included"""
    drawn: int
    """problems drawn at random that took part so far"""
    imitation_steps: int
    episodes: int
    ranges: Ranges
    """of the traits of all problems so far"""
    mean_gap: float | None
    """mean relative gap of the latest batches to the best placements known; None until there are enough of them"""


def numbers_together(each: Sequence[LearnerNumbers]) -> LearnerNumbers:
    """Those of several learners: the stage and share are of the one that is furthest behind."""
    order = (*STAGES[:3], "done")
    ranges: Ranges = {}
    for numbers in each:
        for end in (0, 1):
            ranges = widened(ranges, {name: ends[end] for name, ends in numbers.ranges.items()})
    gaps = [numbers.mean_gap for numbers in each if numbers.mean_gap is not None]
    return LearnerNumbers(
        min((numbers.stage for numbers in each), key=order.index),
        min(numbers.done for numbers in each),
        max(numbers.seconds for numbers in each),
        sum(numbers.evaluations for numbers in each),
        sum(numbers.drawn for numbers in each),
        sum(numbers.imitation_steps for numbers in each),
        sum(numbers.episodes for numbers in each),
        ranges,
        fmean(gaps) if gaps else None,
    )
