"""Runs one method with one seed in a child process: `outcome_in_child` starts it, `carry_out` is its function."""

import threading
import time
from pathlib import Path
from typing import Any

from engine.child.parent import BUDGETED_LIMITS, ReportProgress, Results, no_progress, run_in_child
from engine.comparing.listener import Listener
from engine.comparing.outcome import Outcome, outcome_from_json
from engine.errors import PlacetoError
from engine.events import Json
from engine.prepared import PreparedGraph
from engine.run.request import GivenPolicy, RunRequest
from engine.run.run import Run

SECONDS_BETWEEN_SIGNS = 0.5
"""seconds between two reports of a child to its parent, which can then end it"""


def outcome_in_child(
    graph: Path, request: RunRequest, policy: Path | None, report_progress: ReportProgress = no_progress
) -> Outcome:
    """The outcome of `request` on the prepared graph in a file, run in a bounded child.

    `policy`: the file of the request's policy. Raises ChildError, LimitError.
    """
    arguments: dict[str, Json] = {
        "graph": str(graph.absolute()),
        "policy": None if policy is None else str(policy.absolute()),
        "request": request.to_json(),
    }
    task = f"{request.method} with seed {request.seed}"
    _, texts = run_in_child(
        "engine.comparing.child:carry_out", arguments, BUDGETED_LIMITS, task=task, report_progress=report_progress
    )
    outcome: Any = texts["outcome"]
    return outcome_from_json(outcome)


def carry_out(arguments: dict[str, Json], _folder: Path, report_progress: ReportProgress) -> Results:
    """The child's function; `arguments` as `outcome_in_child` makes them. Its result is an `Outcome` as JSON."""
    given: dict[str, Any] = dict(arguments)
    prepared = PreparedGraph.from_bytes(Path(given["graph"]).read_bytes())
    policy = None if given["policy"] is None else GivenPolicy(Path(given["policy"]).read_bytes())
    request = RunRequest.from_json(given["request"], policy)
    listener = Listener()
    ended = threading.Event()
    signs = threading.Thread(target=_give_signs, args=(listener, request, report_progress, ended), daemon=True)
    signs.start()
    outcome = outcome_of(prepared, request, listener)
    ended.set()
    signs.join()
    return {}, {"outcome": outcome.to_json()}


def outcome_of(prepared: PreparedGraph, request: RunRequest, listener: Listener) -> Outcome:
    """Run the method to its end. A method's own failure becomes the outcome's reason.

    An error that any method would meet is raised.
    """
    run = Run(prepared, request, listener.add, lambda: False)
    began = time.monotonic()
    reason = ""
    report: dict[str, Json] | None
    try:
        report = run.execute(None)
    except PlacetoError as error:
        report, reason = run.closest(), str(error)
    reported: dict[str, Any] = {"wall_seconds": time.monotonic() - began, **(report or {})}
    if not reason:
        listener.curve.note(reported["evaluations"], reported["step_time_us"])
    return listener.outcome(request.method, request.seed, reported, feasible=not reason, reason=reason)


def _give_signs(
    listener: Listener, request: RunRequest, report_progress: ReportProgress, ended: threading.Event
) -> None:
    """Report the run's progress to the parent at regular intervals until it has ended."""
    while not ended.wait(SECONDS_BETWEEN_SIGNS):
        report_progress(request.method, listener.curve.evaluations, request.budget.evaluations)
