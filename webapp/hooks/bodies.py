"""What is told of an event, as docs/formats/webhooks.md describes it: names, a figure and an address, no more."""

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeAlias

from engine import api
from webapp.comparisons.models import Comparison
from webapp.hooks.events import RUN_BETTER, RUN_FAILED, RUN_FINISHED, event_words
from webapp.hooks.models import Webhook
from webapp.json_field import to_text
from webapp.plans.models import PlanSearch
from webapp.policies.models import Policy
from webapp.projects.models import Project
from webapp.runs.models import Run

ToldRow: TypeAlias = Run | Comparison | PlanSearch | Policy

ADDRESSES: dict[type[ToldRow], str] = {
    Run: "/runs/{}/",
    Comparison: "/comparisons/{}/",
    PlanSearch: "/plans/{}/",
    Policy: "/policies/{}/",
}
"""of the page of each; the pages stand higher than this module, and a test compares them"""
WORDS: dict[type[ToldRow], str] = {
    Run: "run",
    Comparison: "comparison",
    PlanSearch: "plan",
    Policy: "training",
}


@dataclass(frozen=True, slots=True)
class Occurrence:
    """Something that has happened in a project."""

    event: str
    key: str
    """the same for each look at it"""
    at: datetime
    project: Project
    subject: ToldRow | None
    """None of a test"""


def body_of(occurrence: Occurrence, hook: Webhook) -> str:
    """The JSON that `hook` gets."""
    content: dict[str, api.Json] = {
        "event": occurrence.event,
        "at": occurrence.at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        "project": {"id": str(occurrence.project.id), "name": occurrence.project.name},
    }
    if occurrence.subject is not None:
        subject = occurrence.subject
        content[WORDS[type(subject)]] = _facts(subject) | {"address": address_of_page(subject, hook.origin)}
    return to_text(content)


def address_of_page(subject: ToldRow, origin: str) -> str:
    """Where people open it."""
    return origin + ADDRESSES[type(subject)].format(subject.id)


def _facts(subject: ToldRow) -> dict[str, api.Json]:
    facts: dict[str, api.Json] = {"id": str(subject.id), "name": str(subject)}
    if isinstance(subject, Run):
        facts["method"] = subject.method
    if not isinstance(subject, Policy):
        facts["graph"] = subject.graph.name
    if isinstance(subject, Run):
        facts["step_time_us"] = subject.best_step_time_us
    return facts


def message_of(content: dict[str, api.Json]) -> tuple[str, str]:
    """The title and the text for people of a body."""
    event = str(content["event"])
    project = _dict(content["project"])
    lines = [f"{event_words(event)} in the project {project['name']}."]
    title = event_words(event)
    for word in WORDS.values():
        if word in content:
            facts = _dict(content[word])
            title = f"{event_words(event)}: {facts['name']}"
            lines += _lines_of(event, facts)
    return title, "\n".join(lines)


def _lines_of(event: str, facts: dict[str, api.Json]) -> list[str]:
    lines = [f"Graph: {facts['graph']}"] if "graph" in facts else []
    time_us = facts.get("step_time_us")
    if isinstance(time_us, int | float) and math.isfinite(time_us) and event in (RUN_FINISHED, RUN_BETTER, RUN_FAILED):
        lines.append(f"Best step time: {time_us / 1000:.4g} ms")
    return [*lines, str(facts["address"])]


def _dict(value: api.Json) -> dict[str, api.Json]:
    assert isinstance(value, dict)
    return value
