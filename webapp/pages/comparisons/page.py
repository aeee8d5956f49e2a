"""The context and the report of a comparison."""

import uuid

from engine import api
from webapp.comparisons.lifecycle import runs_of
from webapp.comparisons.models import Comparison
from webapp.comparisons.outcomes import outcome_of
from webapp.comparisons.requests import request_of
from webapp.comparisons.state import state_of
from webapp.graphs.prepared import prepared_of
from webapp.http.user_errors import row_or_404
from webapp.pages.run_lines import LARGE, RunLine


def comparison_or_404(comparison_id: uuid.UUID) -> Comparison:
    """The comparison with its graph and project; raises Http404 with a sentence."""
    return row_or_404(Comparison.objects.select_related("graph__project").defer(LARGE), comparison_id, "comparison")


def outcomes_of(comparison: Comparison) -> list[api.Outcome]:
    """The outcome of each of its runs."""
    return [outcome_of(run) for run in runs_of(comparison)]


def context_of(comparison: Comparison) -> dict[str, object]:
    """Context: comparison, graph, project, runs, runs_as_lines, summaries, verdict, in_stream, ended, working,
    to_cancel, comparison_json
    (for json_script).
    """
    runs = runs_of(comparison)
    outcomes = [outcome_of(run) for run in runs]
    return {
        "comparison": comparison,
        "graph": comparison.graph,
        "project": comparison.graph.project,
        "runs": runs,
        "runs_as_lines": [RunLine(run) for run in runs],
        "summaries": api.comparison_summaries(outcomes),
        "verdict": api.comparison_verdict(outcomes),
        "in_stream": comparison.stream is not None,
        "ended": sum(outcome.ended for outcome in outcomes),
        "working": not all(outcome.ended for outcome in outcomes),
        "to_cancel": any(not run.has_ended and not run.cancel_requested for run in runs),
        "comparison_json": state_of(runs, outcomes),
    }


def report_of(comparison: Comparison) -> dict[str, api.Json]:
    """The report of `python -m engine compare`, with the policies' names and digests from the rows."""
    prepared = prepared_of(comparison.graph)
    runs = runs_of(comparison)
    report = api.comparison_report(prepared, request_of(comparison), [outcome_of(run) for run in runs])
    rows = report["rows"]
    assert isinstance(rows, list)
    for row, run in zip(rows, runs, strict=True):
        assert isinstance(row, dict)
        row["policy"] = run.policy_name or None
    if comparison.policy_digest:
        report |= {"policy": comparison.policy_name, "policy_digest": comparison.policy_digest}
    return report
