"""Pages and streams of events, as the OpenAPI document describes what the views of the pages read and answer."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from webapp.pages.events import LARGEST_SEQ, MOST_EVENTS_A_PAGE


class EventsOut(BaseModel):
    """A page of events, and the state of the job; docs/formats/events.md describes each event."""

    model_config = ConfigDict(extra="allow")

    events: list[dict[str, Any]]
    last_seq: int = Field(description="The number of the job's last event.")
    status: str
    error: str


def _parameter(where: str, name: str, words: str, **schema: object) -> dict[str, Any]:
    return {"in": where, "name": name, "description": words, "required": False, "schema": schema}


_NUMBER = {"type": "integer", "minimum": 0, "maximum": LARGEST_SEQ}
_AFTER = _parameter("query", "after", "Events after this number.", **_NUMBER, default=0)
_LIMIT = _parameter("query", "limit", "How many.", type="integer", minimum=1, maximum=MOST_EVENTS_A_PAGE, default=500)
_LAST = _parameter("header", "Last-Event-ID", "In place of `after`.", **_NUMBER)

PAGE: dict[str, Any] = {"parameters": [_AFTER, _LIMIT]}
STREAM: dict[str, Any] = {
    "parameters": [_AFTER, _LAST],
    "responses": {200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
}
