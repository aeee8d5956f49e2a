"""Lists of runs, with the runs of a comparison folded into one line."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Min, Q, QuerySet, Sum

from engine import api
from webapp.comparisons.models import Comparison
from webapp.runs.models import Run

ENDED = Q(members__run__status__in=(Run.DONE, Run.FAILED, Run.CANCELLED))
BEGUN = Q(members__run__status=Run.RUNNING) | ENDED


@dataclass(frozen=True, slots=True)
class RunLine:
    """A run of its own."""

    run: Run

    @property
    def created_at(self) -> datetime:
        """For the order."""
        return self.run.created_at


@dataclass(frozen=True, slots=True)
class ComparisonLine:
    """A comparison with all of its runs."""

    comparison: Comparison
    total: int
    ended: int
    begun: int
    """running or ended"""
    best_step_time_us: float | None
    evaluations_used: int
    evaluations: int
    """the budgets of all runs"""

    @property
    def created_at(self) -> datetime:
        """For the order."""
        return self.comparison.created_at

    @property
    def status(self) -> str:
        """In the words of a run."""
        if self.ended == self.total:
            return Run.DONE
        return Run.RUNNING if self.begun else Run.QUEUED

    @property
    def words(self) -> str:
        """`7 of 12 ended`; empty once all have."""
        return "" if self.ended == self.total else f"{self.ended} of {self.total} ended"

    def to_json(self) -> dict[str, api.Json]:
        """For the script that keeps the line up to date."""
        return {
            "status": self.status,
            "stage": self.words,
            "best_step_time_us": self.best_step_time_us,
            "evaluations_used": self.evaluations_used,
        }


def lines_of(runs: QuerySet[Run], comparisons: QuerySet[Comparison]) -> list[RunLine | ComparisonLine]:
    """The newest first: `runs` that belong to no comparison, and `comparisons`."""
    lines: list[RunLine | ComparisonLine] = [RunLine(run) for run in runs.filter(member=None).select_related("graph")]
    lines += comparison_lines(comparisons.select_related("graph"))
    return sorted(lines, key=lambda line: line.created_at, reverse=True)


def comparison_lines(comparisons: QuerySet[Comparison]) -> list[ComparisonLine]:
    """One for each."""
    rows = comparisons.annotate(
        total=Count("members"),
        ended=Count("members", filter=ENDED),
        begun=Count("members", filter=BEGUN),
        best_us=Min("members__run__best_step_time_us"),
        used=Sum("members__run__evaluations_used", default=0),
        budgets=Sum("members__run__evaluations", default=0),
    )
    return [ComparisonLine(row, row.total, row.ended, row.begun, row.best_us, row.used, row.budgets) for row in rows]
