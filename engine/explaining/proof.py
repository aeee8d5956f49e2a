"""What is proven of a run's answer: that no placement beats it, by the step, the period, or in a stream the batch.

The bound is the greater of the one that holds for any placement and the one that the run's method has proven for those
that the run may make. A batch of M micro-batches takes at least M periods, so a batch that takes no longer than M times
the bound is proven too.
"""

from dataclasses import dataclass
from enum import StrEnum

from engine.events import Json
from engine.number_words import percent_words, time_words
from engine.problem import PlacementProblem

CLOSE = 1e-3
"""relative; an answer this near its bound counts as proven"""
EXACT = 1e-9
"""relative; an answer this near its bound is the optimum, apart from rounding"""


class ProvenOf(StrEnum):
    """The time that is proven to be the least."""

    STEP = "step"
    PERIOD = "period"
    BATCH = "batch"


@dataclass(frozen=True, slots=True)
class Proof:
    """That no placement has a time below `bound_us`, which the answer's exceeds by `CLOSE` at most."""

    of: ProvenOf
    bound_us: float
    gap: float
    """relative, of the answer's time to the bound"""
    sentence: str

    def to_json(self) -> dict[str, Json]:
        """The field `proof` of docs/formats/reports.md."""
        return {"of": str(self.of), "bound_us": self.bound_us, "gap": self.gap, "sentence": self.sentence}


def proof_of(
    problem: PlacementProblem, lower_bound_us: float, time_us: float, batch_time_us: float | None = None
) -> Proof | None:
    """What is proven of a feasible answer, whose step or period takes `time_us`; None where nothing is.

    `lower_bound_us`: that of any placement, as the problem has it; `batch_time_us`: the answer's batch, in a stream.
    """
    if problem.context.timer is not None:  # bounds are simulated, and its times are measured
        return None
    bound_us, none = lower_bound_us, "no placement"
    if _gap(time_us, bound_us) > CLOSE:
        bound_us, none = problem.ledger.lower_bound_us or 0.0, "no placement that this run may make"
    gap = _gap(time_us, bound_us)
    if gap > CLOSE:
        return None
    if problem.stream is None or batch_time_us is None:
        sentence = f"Proven optimal{_within(gap)}: {none} has a shorter step than {_us(bound_us)}."
        return Proof(ProvenOf.STEP, bound_us, gap, sentence)
    batch_bound_us = problem.stream.micro_batches * bound_us
    batch_gap = _gap(batch_time_us, batch_bound_us)
    if batch_gap <= CLOSE:
        sentence = f"Proven optimal{_within(batch_gap)}: {none} has a shorter batch than {_us(batch_bound_us)}."
        return Proof(ProvenOf.BATCH, batch_bound_us, batch_gap, sentence)
    sentence = (
        f"The period is proven optimal{_within(gap)}: {none} has a shorter one than {_us(bound_us)}. The batch is not: "
        f"fill, drain and the optimizer make it {percent_words(batch_gap)} longer than its periods, "
        f"and another may take less."
    )
    return Proof(ProvenOf.PERIOD, bound_us, gap, sentence)


def _gap(time_us: float, bound_us: float) -> float:
    """The relative gap of a time to a bound, 0 where rounding puts it below; infinite without a bound."""
    return max(0.0, time_us / bound_us - 1) if bound_us > 0 else float("inf")


def _within(gap: float) -> str:
    return "" if gap <= EXACT else f" within {100 * gap:.1g} %"


def _us(bound_us: float) -> str:
    return time_words(bound_us, 4)
